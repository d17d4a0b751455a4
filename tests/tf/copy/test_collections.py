"""Collections with more in them than ops: structures, savers, contexts, text, messages and objects."""

from __future__ import annotations

import collections as named

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops import resource_variable_ops

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.graphs import keys, look
from tests.refusal import refuses

tf1 = tf.compat.v1
Pair = named.namedtuple("Pair", "slope variable")


@pytest.fixture
def graph():
    made = tf.Graph()
    with made.as_default():
        x = tf1.placeholder(tf.float32, [None], name="x")
        tf.identity(x * 2.0, name="y")
    return made


def both(graph, to="t", **about):
    """Returns the destination of a copy of the whole graph."""
    before = look(graph)
    dst = gs.open(tf.Graph())
    plan = dst.plan().copy(gs.open(graph).select(), to=to, **about)
    done = dst.apply(plan)
    assert look(graph) == before
    counts = {c.name: c.count for c in plan.effect.copies[0].collections}
    assert counts == {name: len(dst.graph.get_collection(name)) for name in keys(dst.graph)}
    return dst, done


def test_composites_keep_their_kind(graph):
    with graph.as_default():
        x = graph.get_tensor_by_name("x:0")
        sparse = tf.SparseTensor(tf.constant([[1]], tf.int64), x, tf.constant([3], tf.int64))
        ragged = tf.RaggedTensor.from_row_splits(x, tf.constant([0, 1], tf.int64))
        slices = tf.IndexedSlices(x, tf.constant([0]), tf.constant([9]))
        for item in (sparse, ragged, slices, Pair(x, "w"), [x, {"k": x}]):
            graph.add_to_collection("mixed", item)
    dst, done = both(graph)
    new = dst.graph.get_collection("t/mixed")
    assert [type(i).__name__ for i in new[:3]] == ["SparseTensor", "RaggedTensor", "IndexedSlices"]
    assert new[0].values is done["x:0"]
    assert new[3] == Pair(done["x:0"], "w")
    assert type(new[3]) is Pair
    assert new[4] == [done["x:0"], {"k": done["x:0"]}]
    with tf1.Session(graph=dst.graph) as session:
        assert session.run(new[1], {"t/x:0": [7.0]}).to_list() == [[7.0]]
        assert session.run(new[0], {"t/x:0": [7.0]}).values.tolist() == [7.0]


def test_text_numbers_messages_and_objects_go_with_the_whole_graph(graph):
    plain = object()
    message = tf1.ConfigProto(allow_soft_placement=True)
    for item in ("hello", 3, b"x", np.arange(2), message, plain, ("a", 1)):
        graph.add_to_collection("notes", item)
    graph.add_to_collection("losses", "not a tensor")
    dst, _ = both(graph)
    notes = dst.graph.get_collection("t/notes")
    assert notes[:3] == ["hello", 3, b"x"]
    assert notes[4:] == [message, plain, ("a", 1)]
    assert dst.graph.get_collection("losses") == ["not a tensor"]


def test_text_stays_where_a_part_is_copied(graph):
    graph.add_to_collection("notes", "hello")
    dst = gs.open(tf.Graph())
    dst.apply(dst.plan().copy(gs.open(graph).select(inputs="x", outputs="y"), to="t", unmapped="placeholder"))
    assert keys(dst.graph) == []


def test_objects_that_hold_the_old_graph_stay(graph):
    class Holder:
        def __init__(self, held):
            self.held = held

    graph.add_to_collection("notes", Holder(graph))
    graph.add_to_collection("notes", Holder(graph.get_tensor_by_name("x:0")))
    graph.add_to_collection("notes", Holder([1, 2]))
    dst, _ = both(graph)
    assert [h.held for h in dst.graph.get_collection("t/notes")] == [[1, 2]]


def test_a_structure_of_which_a_part_is_missing_stays(graph):
    with graph.as_default():
        x = graph.get_tensor_by_name("x:0")
        graph.add_to_collection("mixed", tf.SparseTensor(tf.constant([[1]], tf.int64), x, tf.constant([3], tf.int64)))
    dst = gs.open(tf.Graph())
    dst.apply(dst.plan().copy(gs.open(graph).select(outputs="y"), to="t"))
    assert keys(dst.graph) == []


def test_partitioned_variables_as_one_thing():
    graph = tf.Graph()
    with graph.as_default(), tf1.variable_scope("net"):
        whole = tf1.get_variable("v", [4, 2], partitioner=tf1.fixed_size_partitioner(2))
        graph.add_to_collection("wholes", whole)
    dst, done = both(graph)
    (new,) = dst.graph.get_collection("t/wholes")
    assert list(new) == [done[v] for v in whole]
    assert (new.name, new.get_shape(), new._partitions) == ("t/net/v", whole.get_shape(), whole._partitions)
    assert list(done[whole]) == list(new)
    with dst.graph.as_default():
        assert new.as_tensor().shape == (4, 2)


def test_savers_go_along_and_read_old_checkpoints(tmp_path):
    graph = tf.Graph()
    with graph.as_default():
        w = tf1.get_variable("w", initializer=1.0)
        saver = tf1.train.Saver()
        graph.add_to_collection("savers", saver)
        with tf1.Session() as session:
            session.run(w.initializer)
            session.run(w.assign(5.0))
            path = saver.save(session, str(tmp_path / "c"))
    dst, done = both(graph)
    (new,) = dst.graph.get_collection("t/savers")
    assert new.saver_def.restore_op_name == "t/save/restore_all"
    with tf1.Session(graph=dst.graph) as session:
        new.restore(session, path)
        assert session.run(done[w]) == 5.0


def test_loop_contexts_are_in_their_collections():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [], name="x")
        control_flow = tf1.control_flow_v2_enabled()
        tf1.disable_control_flow_v2()
        try:
            y = tf1.while_loop(lambda i: i < 10.0, lambda i: tf1.cond(x > 0, lambda: i + x, lambda: i - x), [x])
            z = tf1.cond(y > 3.0, lambda: y, lambda: x)
        finally:
            if control_flow:
                tf1.enable_control_flow_v2()
    dst, done = both(graph)
    for name in ("while_context", "cond_context"):
        old, new = graph.get_collection(name), dst.graph.get_collection(name)
        assert [f"t/{c.name}" for c in old] == [c.name for c in new]
        assert new
    with dst.graph.as_default():
        meta = tf1.train.export_meta_graph()
    with tf.Graph().as_default() as again:
        tf1.train.import_meta_graph(meta)
        assert tf1.gradients(again.get_tensor_by_name(done[z].name), again.get_tensor_by_name("t/x:0"))[0] is not None


def test_sparse_and_ragged_tensors_at_every_door():
    graph = tf.Graph()
    with graph.as_default():
        sparse = tf1.sparse_placeholder(tf.float32, [None, 3], name="sparse")
        ragged = tf1.ragged.placeholder(tf.float32, 1, name="ragged")
        y = tf.sparse.reduce_sum(sparse) + tf.reduce_sum(ragged)
        doubled = ragged.with_flat_values(ragged.flat_values * 2.0)
    target = tf.Graph()
    with target.as_default():
        other = tf.sparse.from_dense([[0.0, 5.0, 0.0]])
        rows = tf.ragged.constant([[1.0], [2.0, 3.0]])
    src, dst = gs.open(graph), gs.open(target)
    block = src.select(inputs=[sparse, ragged], outputs=[y, doubled])
    done = dst.apply(dst.plan().copy(block, to="t", inputs={sparse: other, ragged: rows}))
    with tf1.Session(graph=target) as session:
        assert session.run(done[y]) == 11.0
        assert session.run(done[doubled]).to_list() == [[2.0], [4.0, 6.0]]
    assert done[sparse].values is other.values
    assert src.select(outputs=doubled)


def test_a_sparse_tensor_does_not_take_the_place_of_a_ragged_one():
    graph = tf.Graph()
    with graph.as_default():
        sparse = tf1.sparse_placeholder(tf.float32, name="sparse")
        ragged = tf1.ragged.placeholder(tf.float32, 1, name="ragged")
        tf.reduce_sum(ragged, name="y")
    ed = gs.open(graph)
    with refuses(PlanError, "RaggedTensor is made of 2 tensors, and SparseTensor of 3", "an object of the same kind"):
        ed.plan().copy(ed.select(), to="t", inputs={ragged: sparse})


@pytest.fixture
def updated():
    """A graph whose collections hold what TensorFlow wraps: updates of a variable, an assertion, no initial value."""
    made = tf.Graph()
    with made.as_default():
        v = tf1.get_variable("v", initializer=1.0, use_resource=True)
        update = v.assign_add(2.0, name="update")
        made.add_to_collection("update_ops", update)
        made.add_to_collection("pairs", (update, v))
        made.add_to_collection("checks", tf.debugging.Assert(tf.constant(True), [v], name="check"))
        resource_variable_ops.UninitializedVariable(dtype=tf.float32, shape=[], name="bare")
        tf.identity(v, name="y")
    return made


WAYS = {
    "copied": lambda dst, ed: dst.plan().copy(ed.select(), variables="initial"),
    "copied under a scope": lambda dst, ed: dst.plan().copy(ed.select(), to="c", collections="keep"),
    "renamed": lambda dst, ed: ed.plan().rename("y", to="z"),
    "in the same graph": lambda dst, ed: ed.plan().copy(ed.select(), to="c", collections="keep"),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_op_of_an_update_goes_along(updated, way):
    ed = gs.open(updated)
    dst = ed if way in ("renamed", "in the same graph") else gs.open(tf.Graph())
    dst.apply(WAYS[way](dst, ed))
    (update, held), check = dst.graph.get_collection("pairs")[-1], dst.graph.get_collection("checks")[-1]
    assert dst.graph.get_collection("update_ops")[-1] is update
    assert all(item.graph is dst.graph for item in (update, held, check))
    assert update.type == "AssignAddVariableOp"
    session = dst.session()
    session.run([held.initializer, check])
    session.run(update)
    assert session.run(held) == 3.0


def test_an_update_in_a_collection_stops_no_door(updated, tmp_path):
    ed = gs.open(updated)
    assert "update_ops  1" in str(ed)
    assert float(ed.function((), "y")()) == 1.0
    assert ed.trace({}, "y").results == {"y:0": 1.0}
    ed.save(tmp_path / "y.pb", outputs="y")
    assert gs.recipes.strip_training(ed, "y").check() == ()
    assert gs.duplicate(updated, variables="initial").run("v/Read/ReadVariableOp:0") == 1.0
