"""compare: equal copies are equal to the last bit, a changed one says by how much."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import OpenError, PlanError, SelectionError
from tests.graphs import tf1, tiny
from tests.refusal import refuses


def test_a_copy_is_equal_on_random_and_given_feeds():
    ed, dst = gs.open(tiny()), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(ed.select(inputs=["x:0"], outputs=["z:0"]), to="c", unmapped="placeholder"))
    assert gs.compare(ed, done)
    outcome = gs.compare(ed, done, feeds={"x:0": np.ones((3, 2), np.float32)})
    assert outcome.relative == 0
    assert repr(outcome) == "output  max |difference|  relative\nz:0     equal to the last bit"


def test_by_a_boundary_in_the_middle():
    ed, dst = gs.open(tiny()), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(ed.select(inputs=["y:0"], outputs=["z:0"]), to="c", unmapped="placeholder"))
    assert gs.compare(ed, done)


def test_a_difference_is_measured():
    graph = tf.Graph()
    with graph.as_default():
        w = tf1.get_variable("w", initializer=tf.constant([2.0, 4.0]))
        tf.multiply(w, 1.0, name="y")
    ed, dst = gs.open(graph), gs.open(tf.Graph())
    values = {"w": np.array([2.0, 5.0], np.float32)}
    done = dst.apply(dst.plan().copy(ed.select(outputs=["y:0"]), to="c", values=values))
    outcome = gs.compare(ed, done)
    assert not outcome
    assert outcome.rows[0].absolute == 1.0
    assert outcome.rows[0].relative == 0.25
    assert "0.25" in repr(outcome)


def test_each_copy_of_a_plan_is_compared():
    graph = tf.Graph()
    with graph.as_default():
        tf.multiply(tf1.get_variable("w", initializer=2.0), 3.0, name="y")
    ed, dst = gs.open(graph), gs.open(tf.Graph())
    plan = dst.plan().copy(ed.select(outputs=["y:0"]), to="a", values={"w": 5.0})
    done = dst.apply(plan.copy(ed.select(outputs=["y:0"]), to="b", values={"w": 2.0}))
    outcome = gs.compare(ed, done)
    assert [(row.output, row.absolute) for row in outcome.rows] == [("a/y:0", 9.0), ("b/y:0", 0.0)]
    assert gs.compare(ed, done.in_scope("b"))
    assert gs.compare(ed, done.in_scope("b")).rows[0].output == "y:0"
    assert not gs.compare(ed, done, outputs=["y"])


def test_copies_of_other_graphs_are_left_alone():
    one, two, dst = gs.open(tiny()), gs.open(tiny()), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(one.select(outputs=["z:0"]), to="a").copy(two.select(outputs=["z:0"]), to="b"))
    assert [row.output for row in gs.compare(one, done).rows] == ["z:0"]


def test_texts_and_shapes():
    from graphsurgeon.editor.compare import _difference

    assert _difference("t", np.array([b"a"], object), np.array([b"a"], object)).equal
    assert _difference("t", np.array([b"a"], object), np.array([b"b"], object)).absolute == float("inf")
    assert _difference("t", np.zeros(2), np.zeros(3)).relative == float("inf")
    assert _difference("t", np.array([np.nan, 1.0]), np.array([np.nan, 1.0])).equal
    assert _difference("t", np.array([np.nan, 1.0]), np.array([0.0, 1.0])).absolute == float("inf")


def test_a_feed_that_cannot_be_made_up():
    graph = tf.Graph()
    with graph.as_default():
        tf.strings.length(tf1.placeholder(tf.string, [None], name="text"), name="n")
    ed = gs.open(graph)
    done = ed.apply(ed.plan().copy(ed.select(), to="c"))
    with refuses(gs.PlanError, "'text:0' (string (?)) needs a feed", "feeds={'text:0': array}"):
        gs.compare(ed, done)
    assert gs.compare(ed, done, feeds={"text:0": [b"abc"]})


def test_nothing_to_compare():
    graph = tf.Graph()
    with graph.as_default():
        tf.no_op(name="nothing")
    ed = gs.open(graph)
    done = ed.apply(ed.plan().copy(ed.select(), to="c"))
    with refuses(gs.PlanError, "nothing that was copied has an output"):
        gs.compare(ed, done)


@pytest.mark.parametrize("outputs", [["z"], ["z:0"]])
def test_outputs_by_name(outputs):
    ed = gs.open(tiny())
    done = ed.apply(ed.plan().copy(ed.select(outputs=["z:0"]), to="c"))
    assert gs.compare(ed, done, outputs=outputs).rows[0].output == "z:0"


def scaled(scale):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        tf.multiply(x, tf1.get_variable("w", initializer=scale, use_resource=False), name="y")
        tf.add(x, 1.0, name="z")
    return graph


def test_two_graphs_are_compared_by_names(tmp_path):
    a, b = gs.open(scaled(2.0)), gs.open(scaled(3.0))
    every = gs.compare(a, b, {"x:0": [[1.0, 2.0]]})  # what sets the variable is no output
    assert [row.output for row in every.rows] == ["y:0", "z:0"]
    outcome = gs.compare(a, b, {"x:0": [[1.0, 2.0]]}, outputs=["y:0", "z:0"])
    assert [(row.output, row.absolute) for row in outcome.rows] == [("y:0", 2.0), ("z:0", 0.0)]
    assert gs.compare(a, scaled(2.0), outputs="y:0")
    for number, ed in enumerate((a, b)):
        ed.save(tmp_path / f"{number}.pb", outputs=["y:0", "z:0"], freeze=True, values="initial")
    plain = gs.compare(tmp_path / "0.pb", str(tmp_path / "1.pb"), {"x:0": [[1.0, 2.0]]})
    assert {row.output for row in plain.rows} == {"y:0", "z:0"}
    assert not plain


def test_what_cannot_be_compared_is_told():
    ed = gs.open(tiny())
    with refuses(SelectionError, "compare('nosuch:0'): there is no tensor 'nosuch:0'", "Feed one of: 'x:0', 'k:0'"):
        gs.compare(ed, ed, {"nosuch:0": 1})
    with refuses(SelectionError, "compare('nosuch:0'): there is no tensor 'nosuch:0'", "ed.find("):
        gs.compare(ed, ed, outputs="nosuch:0")
    with refuses(PlanError, "compare('x:0'): the value is text", "Give numbers of float32"):
        gs.compare(ed, ed, {"x:0": "one"})
    with refuses(SelectionError, "compare('y:3'): op 'y' (Square) has 1 output", "It has 'y:0'"):
        gs.compare(ed, ed, outputs="y:3")
    with refuses(PlanError, "compare(feeds=3)", "an object of type int is not a mapping", "Give {'x:0': array}"):
        gs.compare(ed, ed, 3)
    problem = "compare(plan): a plan can only be compared after it is applied"
    with refuses(PlanError, problem, "ed.trace(feeds, plan=plan)"):
        gs.compare(ed, ed.plan())
    with tf.Graph().as_default() as graph:
        tf1.get_variable("w", initializer=1.0).assign_add(1.0)
    with refuses(PlanError, "compare(): all ops without consumers set variables", "outputs=[...], for example"):
        gs.compare(graph, graph)
    with refuses(OpenError, "open(3): an object of type int cannot be opened as a graph", "Give a tf.Graph"):
        gs.compare(ed, 3)


def test_feeds_are_those_of_a_trace(tmp_path):
    function = tf.function(lambda v: tf.exp(v, name="up")).get_concrete_function(tf.TensorSpec([2], name="v"))
    assert gs.compare(function, function, {"v": [1, 2]})
    ed = gs.open(scaled(2.0))
    np.savez(tmp_path / "feeds.npz", **{"x:0": np.ones([1, 2])})
    assert gs.compare(ed, scaled(4.0), tmp_path / "feeds.npz", outputs="y:0").rows[0].absolute == 2.0


def test_ops_of_other_names_are_compared_in_the_same_places():
    def made(scope, scale):
        @tf.function
        def inner(v):
            return tf.multiply(v, scale, name="product")

        with tf.Graph().as_default() as graph, tf.name_scope(scope):
            x = tf1.placeholder(tf.float32, [2], name="x")
            tf.tanh(inner(tf.exp(x, name="up")), name="y")
        return graph

    assert gs.compare(made("a", 2.0), made("b", 2.0), {"a/x:0": [0.1, 0.2]})
    outcome = gs.compare(made("a", 2.0), made("b", 3.0), {"a/x:0": [0.1, 0.2]})
    assert [row.output for row in outcome.rows] == ["a/y:0"]
    found = outcome.first_difference
    assert (found.stats.mean, found.other_stats.mean) == (2.0, 3.0)
    assert found.op.startswith("a/")
    assert found.other_stats.tensor.startswith("b/")


# -- a plan that changed the graph ------------------------------------------------------------------


def test_what_a_plan_changed_is_compared_with_what_was_before():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        tf.negative(tf.nn.relu(x, name="act"), name="y")
    ed, feeds = gs.open(graph), {"x:0": [-1.0, 2.0]}
    done = ed.apply(ed.plan().bypass("act"))
    for source in (ed, graph):  # the editor that has changed, and what it was opened from
        outcome = gs.compare(source, done, feeds)
        assert [(row.output, row.absolute) for row in outcome.rows] == [("y:0", 1.0)]
        assert outcome.first_difference.op == "y"
    later = ed.apply(ed.plan().rename("y", "z"))
    assert gs.compare(ed, later, feeds).first_difference is None
    gone = "compare(ed, done): it was undone, or another plan was applied since"
    for source in (ed, graph):
        with refuses(PlanError, gone, "ed.undo() and ed.redo()", "gs.compare(old, ed)"):
            gs.compare(source, done, feeds)
    ed.undo()
    assert gs.compare(ed, done, feeds).rows[0].absolute == 1.0
    ed.undo()
    with refuses(PlanError, gone):
        gs.compare(ed, done, feeds)


def test_a_session_of_another_graph_is_refused():
    ed = gs.open(tf.Graph())
    with ed.graph.as_default():
        tf.constant(1.0, name="x")
    done = ed.apply(ed.plan().copy(ed.select(), to="t"))
    for session in (tf.compat.v1.Session(graph=tf.Graph()), "no session"):
        with refuses(
            PlanError, "compare(session=...)", "not a session of the original's graph", "session of that graph"
        ):
            gs.compare(ed, done, session=session)


# -- where numbers first part -----------------------------------------------------------------------


def deep(second=2.0, inner=tf.exp):
    """Three products by variables, the second one inside of a function."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        a = tf1.get_variable("a", initializer=1.0, use_resource=True)
        b = tf1.get_variable("b", initializer=second, use_resource=True)

        @tf.function
        def between(v):
            return tf.multiply(inner(v, name="up"), b, name="product")

        tf.identity(tf.tanh(between(tf.multiply(x, a, name="first"))), name="y")
    return graph


def test_the_first_op_that_gives_other_numbers_in_a_copy_is_named():
    ed, dst = gs.open(deep()), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(ed.select(outputs="y:0"), to="c", values={"a": 1.0, "b": 3.0}))
    outcome = gs.compare(ed, done, {"x:0": [0.1, 0.2]})
    found = outcome.first_difference
    assert (found.type, found.stats.mean, found.other_stats.mean) == ("ReadVariableOp", 2.0, 3.0)
    assert found.op == "StatefulPartitionedCall/product/ReadVariableOp"
    assert found.other_stats.tensor == f"c/{found.stats.tensor}"
    assert outcome.reason == ""
    assert f"first apart: {found!r}" in repr(outcome)
    assert f"instead of  c/{found.op}" in repr(outcome)


def test_two_graphs_of_the_same_names_part_inside_of_a_function():
    outcome = gs.compare(deep(), deep(inner=tf.sin), {"x:0": [0.1, 0.2]}, outputs="y:0")
    assert outcome.first_difference.op.endswith("/up")
    assert outcome.first_difference.type == "Exp"
    assert outcome.first_difference.tensors > 1


def test_two_checkpoints_and_two_files_part_where_their_values_do(tmp_path):
    metas = []
    for number, second in enumerate((2.0, 2.5)):
        graph = deep(second)
        with graph.as_default(), tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            metas.append(tf1.train.Saver().save(session, str(tmp_path / f"{number}" / "model")) + ".meta")
    outcome = gs.compare(*metas, {"x:0": [0.1, 0.2]}, outputs="y:0")
    assert outcome.first_difference.stats.mean == 2.0
    assert outcome.first_difference.other_stats.mean == 2.5
    assert outcome.first_difference.type == "ReadVariableOp"
    for number, meta in enumerate(metas):
        gs.open(meta).save(tmp_path / f"{number}.pb", outputs=["y:0"], freeze=True)
    frozen = gs.compare(tmp_path / "0.pb", tmp_path / "1.pb", {"x:0": [0.1, 0.2]}, outputs="y:0")
    assert frozen.first_difference.difference == 0.25
    assert frozen.first_difference.type in ("Const", "Identity")


def test_a_session_of_the_original_and_one_of_the_copy_are_what_is_traced():
    ed, dst = gs.open(deep()), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(ed.select(outputs="y:0"), to="c"))
    session = done.session()
    with dst.graph.as_default():
        session.run(tf1.assign(done["a"], 4.0))
    outcome = gs.compare(ed, done, {"x:0": [0.1, 0.2]}, session=ed.session())
    assert (outcome.first_difference.stats.mean, outcome.first_difference.other_stats.mean) == (1.0, 4.0)
    assert session.run(done["a"]) == 4.0


def test_an_op_that_hands_on_parts_from_one_that_computes():
    def made(op):
        with tf.Graph().as_default() as graph:
            tf.add(op(tf1.placeholder(tf.float32, [2], name="x"), name="m"), 1.0, name="y")
        return graph

    outcome = gs.compare(made(tf.identity), made(tf.negative), {"x:0": [1.0, 2.0]})
    assert (outcome.first_difference.op, outcome.first_difference.type) == ("m", "Identity")
    outcome = gs.compare(made(tf.negative), made(tf.identity), {"x:0": [1.0, 2.0]})
    assert (outcome.first_difference.op, outcome.first_difference.other_stats.tensor) == ("m", "m:0")


def test_nothing_is_traced_where_outputs_agree_or_nobody_asks(monkeypatch):
    def none(*about, **more):
        raise AssertionError("a trace")

    monkeypatch.setattr(sys.modules["graphsurgeon.editor.compare"], "trace", none)
    feeds = {"x:0": [[1.0, 2.0]]}
    assert gs.compare(scaled(2.0), scaled(2.0), feeds, outputs="y:0").first_difference is None
    plain = gs.compare(scaled(2.0), scaled(3.0), feeds, outputs="y:0", where=False)
    near = gs.compare(scaled(2.0), scaled(2.0001), feeds, outputs="y:0", tolerance=1e-3)
    for outcome in (plain, near):
        assert (bool(outcome), outcome.first_difference, outcome.reason) == (False, None, "")
        assert len(repr(outcome).splitlines()) == 2


def test_why_it_is_not_known_where_numbers_part(monkeypatch):
    def one(at):
        with tf.Graph().as_default() as graph:
            tf.negative(tf.constant(np.eye(5000, dtype=np.float32)[at], name="c"), name="y")
        return graph

    outcome = gs.compare(one(1001), one(1002))  # neither is in the sample, and the summaries agree
    assert (outcome.first_difference, outcome.relative) == (None, 1.0)
    said = "no tensor that both traces have is apart by more than 1e-05 in its summary and its sample"
    assert outcome.reason == said
    monkeypatch.setattr(sys.modules["graphsurgeon.editor.compare"], "trace", refused)
    outcome = gs.compare(scaled(2.0), scaled(3.0), {"x:0": [[1.0, 2.0]]}, outputs="y:0")
    assert outcome.first_difference is None
    assert repr(outcome).endswith("the first difference is not known: they cannot be traced: x: y.\nz.")


def refused(*about, **more):
    raise PlanError("x", "y", "z")


@pytest.mark.parametrize("tolerance", [-1.0, float("nan"), "small", True, None])
def test_a_tolerance_that_is_none_is_refused(tolerance):
    ed = gs.open(tiny())
    with refuses(
        PlanError, f"compare(tolerance={tolerance!r}): the tolerance is not a fraction of the largest value", "1e-5"
    ):
        gs.compare(ed, ed, tolerance=tolerance)
