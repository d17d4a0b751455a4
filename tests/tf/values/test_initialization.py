"""First values: variables start in an order in which none needs one that has no value, or both are named."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.tf.values.initialization import missing_checkpoint
from tests.graphs import KINDS, put
from tests.hostile import word_rows
from tests.refusal import refuses

tf1 = tf.compat.v1


def chain(kind):
    """Three variables and their product; the last one made is the first one that others are to need."""
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=kind == "resource"):
        made = [tf1.get_variable(name, initializer=value) for name, value in (("a", 2.0), ("b", 3.0), ("c", 5.0))]
        for variable in made:
            tf.identity(variable, name=f"now_{variable.op.name}")
        tf.constant(1.0, name="one")
        tf.multiply(made[0], made[1] * made[2], name="out")
    return graph


def reads(plan):
    return plan.connect("now_b:0", to="a/Assign", input=1).connect("now_c:0", to="b/Assign", input=1)


def waits(plan):
    return plan.add_control("a/Assign", "now_b").add_control("b/Assign", "now_c")


def handles(plan):
    return plan.add_control("a", "now_b").add_control("b", "now_c")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("edit", "want"), [(reads, 125.0), (waits, 30.0), (handles, 30.0)])
def test_a_new_session_initializes_first_what_others_need(kind, edit, want):
    ed = gs.open(chain(kind))
    ed.apply(edit(ed.plan()))
    assert ed.session().run("out:0") == want


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edit", [reads, waits, handles])
def test_values_are_carried_first_to_what_others_until(kind, edit):
    graph = chain(kind)
    ed = gs.open(graph)
    with tf1.Session(graph=graph) as session:
        for number, variable in enumerate(graph.get_collection("variables")):
            put(variable, 10.0**number, session)
        ed.apply(edit(ed.plan()))
        assert ed.session(session).run(["now_a:0", "now_b:0", "now_c:0", "out:0"]) == [1.0, 10.0, 100.0, 1000.0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_variable_without_a_value_starts_where_a_carried_one_waits_for_it(kind):
    graph = chain(kind)
    ed, new = gs.open(graph), gs.open(chain(kind))
    ed.apply(ed.plan().copy(new.select(name=["now_c"]).ancestors(), to="new").add_control("b/Assign", "new/now_c"))
    with tf1.Session(graph=graph) as session:
        for variable in graph.get_collection("variables"):
            put(variable, 7.0, session)
        got = ed.session(session)
        assert got.run(["now_b:0", "new/now_c:0"]) == [7.0, 5.0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("edit", "problem", "suggestion"),
    [
        (
            lambda p: p.connect("now_b:0", to="a/Assign", input=1).connect("now_a:0", to="b/Assign", input=1),
            "variable 'a' cannot get a value: 'a/Assign' assigns a tensor that depends on 'b', which needs 'a'",
            "Make it assign another tensor: ed.plan().connect(tensor, to='a/Assign', input=1)",
        ),
        (
            lambda p: p.add_control("a/Assign", "now_b").add_control("b", "now_a"),
            "variable 'a' cannot get a value: 'a/Assign' waits for 'b', which needs 'a'",
            "Remove the control input: ed.plan().remove_control('a/Assign')",
        ),
    ],
)
def test_two_that_need_each_other_are_named_and_what_is_proposed_helps(kind, edit, problem, suggestion):
    graph = chain(kind)
    ed = gs.open(graph)
    ed.apply(edit(ed.plan()))
    with refuses(PlanError, "session()", problem, suggestion):
        ed.session()
    if "remove_control" in suggestion:
        ed.apply(ed.plan().remove_control("a/Assign"))
    else:
        ed.apply(ed.plan().connect("one:0", to="a/Assign", input=1))
    assert np.isfinite(ed.session().run("out:0"))


def test_initial_values_may_come_from_tables():
    with tf.Graph().as_default() as graph:
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["k"], [7]), -1)
        tf1.get_variable("v", initializer=table.lookup(tf.constant("k")), use_resource=True)
        tf1.add_to_collection("table_initializer", table._init_op) if not tf1.get_collection("table_initializer") else 0
    assert gs.open(graph).session().run("v/Read/ReadVariableOp:0") == 7


def test_a_table_whose_file_is_not_there_is_named_and_may_read_another(tmp_path):
    (tmp_path / "words.txt").write_text("a\nb\n")
    with tf.Graph().as_default() as graph:
        tf.constant(str(tmp_path / "words.txt"), name="there")
        table = tf.lookup.StaticVocabularyTable(word_rows(tmp_path / "gone.txt"), 1)
        tf.identity(table.lookup(tf.constant("b")), name="out")
        (init_op,) = tf1.get_collection(tf1.GraphKeys.TABLE_INITIALIZERS)
    ed = gs.open(graph)
    with tf1.Session(graph=graph) as old:
        ed.apply(ed.plan().set_attr("out", "_mark", 1))
        problem = f"{init_op.name!r} fills a table from a file that is not there: {tmp_path}/gone.txt"
        for source in (None, old):
            with refuses(PlanError, "session()", problem, f".connect(name, to={init_op.name!r}, input=1)"):
                ed.session(source)
        ed.apply(ed.plan().connect("there:0", to=init_op.name, input=1))
        assert ed.session().run("out:0") == 1


def test_a_file_whose_table_lacks_its_own_file_opens_with_a_warning(tmp_path):
    (tmp_path / "words.txt").write_text("a\nb\n")
    with tf.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
        w = tf1.get_variable("w", initializer=3.0, use_resource=True)
        table = tf.lookup.StaticHashTable(word_rows(tmp_path / "words.txt"), -1)
        tf.identity(table.lookup(tf.constant("b")), name="out")
        session.run([w.initializer, *tf1.get_collection(tf1.GraphKeys.TABLE_INITIALIZERS)])
        tf1.train.Saver().save(session, str(tmp_path / "m"))
    (tmp_path / "words.txt").unlink()
    with pytest.warns(UserWarning, match="fills a table from a file that is not there"):
        opened = gs.open(str(tmp_path / "m.meta")).trust().session()
    assert opened.run("w/Read/ReadVariableOp:0") == 3.0
    with pytest.raises(tf.errors.FailedPreconditionError, match="able not initialized"):
        opened.run("out:0")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edit", ["rename", "remove"])
def test_variables_that_a_later_plan_renames_or_removes_keep_no_session_from_opening(kind, edit):
    graph = chain(kind)
    with tf1.Session(graph=graph) as session:
        for variable in graph.get_collection("variables"):
            put(variable, 2.0, session)
        ed = gs.open(graph)
        ed.apply(ed.plan().copy(ed.select(name=["out"]).ancestors(), to="new", variables="copy", values=session))
        if edit == "rename":
            ed.apply(ed.plan().rename("new/a", to="new/z"))
            assert ed.session().run("new/out:0") == 8.0
        else:
            ed.apply(ed.plan().remove(ed.select(scope="new")))
            assert ed.session().run("out:0") == 30.0


def test_an_initializer_that_tensorflow_does_not_run_is_said_in_our_words():
    with tf.Graph().as_default() as graph:
        bad = tf.raw_ops.Reshape(tensor=[1.0, 2.0], shape=tf1.placeholder_with_default([3], [1]))
        tf1.add_to_collection(tf1.GraphKeys.TABLE_INITIALIZERS, bad.op)
    problem = "TensorFlow cannot run the ops that set the variables and tables: Input to reshape"
    with refuses(PlanError, "session()", problem, "Correct that op in its program, or remove it with a plan"):
        gs.open(graph).session()


def test_a_collection_of_tables_that_names_what_is_no_op_is_named():
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="x")
        tf1.add_to_collection(tf1.GraphKeys.TABLE_INITIALIZERS, b"\xff")
    problem = "collection 'table_initializer' holds b'\\xff', which is not an op of the graph"
    with refuses(PlanError, "session()", problem, "Give the GraphDef alone, gs.open(meta.graph_def)"):
        gs.open(graph).session()


@pytest.fixture(params=KINDS)
def from_checkpoint(request, tmp_path):
    """A graph whose variables start from a checkpoint, as fine-tuned models do; its checkpoint; and a file of it."""
    resource, place = request.param == "resource", tmp_path / "here" / "model"
    place.parent.mkdir()
    with tf.Graph().as_default(), tf1.Session() as session:
        w = tf1.get_variable("w", initializer=[1.0, 2.0, 3.0])
        b = tf1.get_variable("b", initializer=[4.0])
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver([w, b]).save(session, str(place), write_meta_graph=False)
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=resource):
        x = tf1.placeholder(tf.float32, [3], name="x")
        w, b = tf1.get_variable("w", [3]), tf1.get_variable("b", [1])
        tf1.train.init_from_checkpoint(str(place), {"w": "w", "b": "b"})
        tf.add(x * w, b, name="y")
        tf1.train.export_meta_graph(str(tmp_path / "m.meta"))
    return graph, place, tmp_path / "m.meta"


def test_variables_that_start_from_a_checkpoint_are_like_others(from_checkpoint, tmp_path):
    graph, _, meta = from_checkpoint
    feeds = {"x:0": [1.0, 1.0, 1.0]}
    for ed in (gs.open(graph), gs.open(meta, trust=True)):
        assert {info.initializer for info in ed.snapshot.state.variables.values()} < set(ed.snapshot.index)
        assert ed.session().run("y:0", feeds).tolist() == [5.0, 6.0, 7.0]
        other = gs.open(tf.Graph())
        other.apply(other.plan().copy(ed.select(), to="copy", values=ed))
        assert other.session().run("copy/y:0", {"copy/x:0": feeds["x:0"]}).tolist() == [5.0, 6.0, 7.0]
        ed.save(tmp_path / "again.meta", overwrite=True)
        assert gs.open(tmp_path / "again.meta", trust=True).session().run("y:0", feeds).tolist() == [5.0, 6.0, 7.0]


def test_a_checkpoint_that_is_not_there_any_more_is_named_and_another_is_restored(from_checkpoint, tmp_path):
    graph, place, meta = from_checkpoint
    moved = place.parent.rename(tmp_path / "there") / "model"
    feeds = {"x:0": [1.0, 1.0, 1.0]}
    for thing in (graph, meta):
        ed = gs.open(thing, trust=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ed.restore(moved)
        assert ed.session().run("y:0", feeds).tolist() == [5.0, 6.0, 7.0]
        ed = gs.open(thing, trust=True)
        lost = re.escape(
            f"session(): 2 variables have no value: their initializers read {str(place)!r}, which does not"
        )
        with pytest.warns(UserWarning, match=rf"^{lost} exist: w, b\.\nGive them values: ed\.restore\(checkpoint\)\."):
            session = ed.session()
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"uninitialized|Could not find variable"):
            session.run("y:0", feeds)
        ed.restore(moved)
        assert session.run("y:0", feeds).tolist() == [5.0, 6.0, 7.0]


def test_no_other_machine_is_asked_for_a_checkpoint():
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=True):
        for i, place in enumerate(("gs://bucket/model", "//server/share/model", r"\\server\share\model", "gone/model")):
            about = {"tensor_names": ["w"], "shape_and_slices": [""], "dtypes": [tf.float32]}
            (value,) = tf.raw_ops.RestoreV2(prefix=place, **about)
            tf1.get_variable(f"v{i}", initializer=tf.ensure_shape(value, [2]))
    infos = gs.open(graph).snapshot.state.variables
    assert [missing_checkpoint(graph, info) for info in infos.values()] == ["", "", "", "gone/model"]
