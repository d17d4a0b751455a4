"""Forward slices in a live graph: open sessions see the copies, the original gives what it gave, loops and all."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from tests.graphs import KINDS, look, model
from tests.random_graphs import flow_version
from tests.refusal import reads, refuses
from tests.tf.edit.test_nodes import EDITS
from tests.tf.edit.test_nodes import graph as graph

tf1 = tf.compat.v1
X = [1.0, 2.0]


def forwarded(graph, edit, fetch, feed):
    """Applies a plan that must append; returns (the edited, the original) as an open session gives them."""
    with graph.as_default():
        start = [tf1.global_variables_initializer(), tf1.tables_initializer()]
    before = [op.node_def for op in graph.get_operations()]
    ed = gs.open(graph)
    plan = edit(ed.plan())
    assert plan.check() == (), [str(f) for f in plan.check()]
    assert plan.mode == "append"
    with tf1.Session(graph=graph) as session:
        session.run(start)
        original = session.run(fetch, feed)
        done = ed.apply(plan)
        assert [op.node_def for op in graph.get_operations()[: len(before)]] == before
        edited, again = session.run([done[fetch], fetch], feed)
    np.testing.assert_array_equal(original, again)
    return edited, original


@pytest.mark.parametrize("kind", [k for k in EDITS if k not in ("remove", "order", "with a copy")])
def test_each_edit_gives_the_same_numbers_on_copies(graph, kind):
    edit, want = EDITS[kind]
    assert edit(gs.open(graph).plan()).mode == "materialize"
    edited, original = forwarded(graph, lambda p: edit(p).on_copies(scope="new"), "out:0", {"x:0": X})
    assert edited.tolist() == want
    assert original.tolist() == [0.0, 0.0]


def test_what_the_copies_no_longer_read_is_itself_as_in_a_graph_built_anew():
    with tf.Graph().as_default() as graph:
        a, b = (tf1.placeholder(tf.float32, [], name=name) for name in "ab")
        w = tf1.get_variable("w", initializer=3.0, use_resource=False)
        tf.add_n([a * 2.0, w * b], name="out")
    ed = gs.open(graph)
    done = ed.apply(ed.plan().connect("b:0", to="mul", input=0).on_copies(scope="new"))
    assert [done[name].name for name in ("a:0", "b:0", "out:0")] == ["a:0", "b:0", "new/out:0"]
    assert done["w"] is w
    with tf1.Session(graph=graph) as session:
        session.run(w.initializer)
        assert session.run([done["out:0"], "out:0"], {done["a:0"]: 7.0, done["b:0"]: 1.0}) == [5.0, 17.0]
    ed.undo()
    again = ed.apply(ed.plan().connect("b:0", to="mul", input=0))
    assert [again[name].name for name in ("a:0", "b:0", "out:0")] == ["a:0", "b:0", "out:0"]
    assert isinstance(again["w"], tf.Variable)


def test_undo_redo_and_code(graph):
    ed, before = gs.open(graph), look(graph)
    plan = ed.plan().insert("Square", on="y", name="sq").on_copies(scope="new", until=["out"], collections="rename")
    done = ed.apply(plan)
    assert done.ops == ["sq", "new/z", "new/out"]
    assert ed.graph is graph
    assert [str(part) for part in (done["z"].name, done["out:0"].name, done["x"].name)] == ["new/z", "new/out:0", "x"]
    ed.undo()
    assert ed.orphans == {"sq", "new/z", "new/out"}
    assert look(graph)["collections"] == before["collections"]
    ed.redo()
    assert ed.orphans == set()
    again = tf.Graph()
    with again.as_default():
        tf1.import_graph_def(tf1.GraphDef.FromString(before["nodes"]), name="")
    space = {"graph": again}
    exec(plan.to_code(), space)
    assert space["ed"].snapshot.names == ed.snapshot.names
    with refuses(SelectionError, "no copy was made of 'no'"):
        done["no"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_goes_on_with_the_original(kind):
    """What sets variables is left, and so is what only feeds it: the gradients."""
    m = model(kind)
    ed = gs.open(m.graph)
    with m.graph.as_default():
        tf.multiply(m.target, 2.0, name="twice")
    plan = ed.plan().reroute("target:0", to="twice:0", exclude="twice").on_copies(scope="new")
    assert plan.preview().counts["ops"] == len(plan.effect.new_names)
    assert not any("Resource" in t or "Apply" in t for t in plan.after().types[plan.effect.first_new :])
    short = ed.plan().reroute("target:0", to="twice:0", exclude="twice").on_copies(scope="short", until="loss")
    assert short.effect.new_names == ["short/SquaredDifference", "short/loss"]
    assert any("set state still use the original" in w for w in plan.effect.warnings), plan.effect.warnings
    weights = m.session.run(m.w)
    done = ed.apply(plan)
    feed = m.feed()
    y, t = m.session.run([m.y, m.target], feed)
    np.testing.assert_allclose(m.session.run(done["loss:0"], feed), np.mean((y - 2 * t) ** 2), rtol=1e-6)
    np.testing.assert_array_equal(m.session.run(m.w), weights)
    assert [v.op.name for v in m.graph.get_collection("variables")] == [v.op.name for v in tf_variables(m.graph)]


def tf_variables(graph):
    with graph.as_default():
        return tf1.global_variables()


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_op_made_again_trains_the_same_variables(kind):
    m = model(kind, optimizer="sgd")
    with m.graph.as_default():
        tf.multiply(m.target, 2.0, name="twice")
    ed = gs.open(m.graph)
    plan = ed.plan().reroute("target:0", to="twice:0", exclude="twice")
    reads(plan.on_copies(scope="new", until="train").check()[0], "leads through ops that set state", "assign='copy'")
    plan = plan.on_copies(scope="new", until="train", assign="copy")
    assert plan.check() == (), [str(f) for f in plan.check()]
    assert any("set the same state as the original" in w for w in plan.effect.warnings)
    done = ed.apply(plan)
    before = m.session.run(m.loss, m.feed())
    first = m.session.run(done["loss:0"], m.feed())
    for _ in range(5):
        m.session.run(done["train"], m.feed())
    assert m.session.run(done["loss:0"], m.feed()) < first
    assert m.session.run(m.loss, m.feed()) != before
    assert len(tf_variables(m.graph)) == len({v.op.name for v in tf_variables(m.graph)}) == 3


def test_a_change_that_only_reaches_assignments():
    graph = tf.Graph()
    with graph.as_default():
        a, _ = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
        held = tf1.get_variable("w", initializer=3.0, use_resource=True)
        tf.raw_ops.AssignAddVariableOp(resource=held.handle, value=a * 2.0, name="more")
    plan = gs.open(graph).plan().reroute("a", to="b")
    reads(plan.on_copies(scope="n").check()[0], "only ops that set state depend on the edits: more", "'copy'")
    ed = gs.open(graph)
    done = ed.apply(plan.on_copies(scope="n", assign="copy"))
    session = ed.session()
    session.run(done["more"])
    assert session.run("w/Read/ReadVariableOp:0") == 7.0
    direct = ed.plan().connect("b:0", to="more", input=1)
    reads(direct.on_copies(scope="d").check()[0], "'more' (AssignAddVariableOp) sets state that the original also uses")


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("wide", [True, False])
def test_loops_and_conds_are_taken_whole_and_can_be_differentiated(version, wide):
    graph = tf.Graph()
    with graph.as_default(), flow_version(version):
        x = tf1.placeholder(tf.float32, [2], name="x")
        k = tf.constant([3.0, 4.0], name="k")
        scale = tf1.get_variable("s", initializer=2.0, use_resource=True)

        def body(i, t, arr):
            new = tf1.cond(tf.reduce_sum(t) > 3.0, lambda: t * scale, lambda: t + 1.0)
            return i + 1, new, arr.write(i, new)

        arr = tf.TensorArray(tf.float32, 3, element_shape=[2])
        _, end, arr = tf1.while_loop(lambda i, *_: i < 3, body, [0, x, arr])
        y = tf.add(end, tf.reduce_sum(arr.stack(), 0), name="y")
        (slope,) = tf1.gradients(y, k if not wide else x)
        tf.identity(slope if slope is not None else y, name="slope")
    edited, original = forwarded(graph, lambda p: p.reroute("x:0", to="k:0").on_copies(scope="n"), "y:0", {"x:0": X})
    with graph.as_default(), flow_version(version):
        once, more = (tf1.gradients(graph.get_tensor_by_name(n), [k])[0] for n in ("n/y:0", "y:0"))
    assert more is None
    with tf1.Session(graph=graph) as session:
        with graph.as_default():
            session.run(tf1.global_variables_initializer())
        np.testing.assert_array_equal(edited, session.run("y:0", {"x:0": [3.0, 4.0]}))
        if wide:
            got, want = session.run(["n/slope:0", "slope:0"], {"x:0": [3.0, 4.0]})
            np.testing.assert_array_equal(got, want)
        steps = session.run(once)
        assert steps.shape == (2,)
    assert not np.array_equal(edited, original)


def test_an_assertion_in_between_is_made_again():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        y = tf.negative(x, name="y")
        with tf.control_dependencies([tf1.assert_less(x, 10.0, name="small")]):
            tf.add(y, x, name="z")
        tf.constant([50.0, 1.0], name="k")
    ed = gs.open(graph)
    done = ed.apply(ed.plan().reroute("x", to="k").on_copies(scope="n", until="z"))
    with tf1.Session(graph=graph) as session:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(done["z:0"], {"x:0": X})
        assert session.run("z:0", {"x:0": X}).tolist() == [0.0, 0.0]


def test_shapes_of_copies_are_those_of_what_they_read():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2, 3], name="x")
        tf1.placeholder(tf.float32, name="any")
        tf.identity(tf.negative(x, name="y"), name="z")
    ed = gs.open(graph)
    done = ed.apply(ed.plan().reroute("x", to="any").on_copies(scope="n"))
    assert done["z:0"].shape.rank is None
    assert ed.tensor("z:0").shape == [2, 3]
    ed.apply(ed.plan().reroute("x", to="any"))
    assert ed.tensor("z:0").shape.rank is None


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (lambda p: p.on_copies(scope="n"), ("no earlier step changes an existing op", "Leave on_copies out")),
        (
            lambda p: p.reroute("y", to="k").on_copies(scope="n", until="k"),
            ("'k' does not depend on the changed ops (z)",),
        ),
        (lambda p: p.reroute("y", to="k").on_copies(scope="n", until="no"), ("no op is called 'no'",)),
        (lambda p: p.reroute("y", to="k").on_copies(scope="x"), ("the name 'x' is taken", "Type scope='x_2'")),
        (lambda p: p.remove("y").on_copies(scope="n"), ("no earlier step changes",)),
        (lambda p: p.set_attr("y", "_m", 1).remove("y").set_attr("x", "_m", 2).on_copies(scope="n"),
         ("'y:0' is still read by z",)),
    ],
)  # fmt: skip
def test_faults(graph, more, words):
    reads(more(gs.open(graph).plan()).check()[0], *words)


def test_choices_that_are_none(graph):
    plan = gs.open(graph).plan()
    with refuses(PlanError, "assign='no' is not known", "Choose one of 'copy', 'leave'"):
        plan.on_copies(scope="n", assign="no")
    with refuses(PlanError, "collections='no' is not known", "Choose one of 'keep', 'none', 'rename'"):
        plan.on_copies(scope="n", collections="no")


def test_an_edit_after_it_builds_a_new_graph(graph):
    ed = gs.open(graph)
    plan = ed.plan().reroute("y", to="k").on_copies(scope="n").remove("k", stitch=False)
    reads(plan.check()[0], "'k:0' is still read by n/z")
    plan = ed.plan().reroute("y", to="k").on_copies(scope="n").bypass("y").remove("y")
    assert plan.mode == "materialize"
    done = ed.apply(plan)
    assert ed.session().run([done["out:0"], "out:0"], {"x:0": X})[1].tolist() == [4.0, 12.0]
    assert ed.session().run("n/out:0", {"x:0": X}).tolist() == [12.0, 21.0]


def test_a_table_gets_no_other_name_in_place_of_its_own():
    with tf.Graph().as_default() as graph:
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2], name="fill"), 0)
        tf.identity(table.lookup(tf1.placeholder(tf.string, [None], name="x")), name="y")
    ed = gs.open(graph)
    name = ed.find("op:HashTableV2")[0]
    fault = ed.plan().rename(name, to="named").on_copies(scope="new").check()[0]
    reads(fault, "on_copies(scope='new')", "whose ops cannot be renamed one by one",
          "Rename the scope that contains all of it")  # fmt: skip
