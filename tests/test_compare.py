"""compare: equal copies are equal to the last bit, a changed one says by how much."""

from __future__ import annotations

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
    assert gs.compare(ed, done.under("b"))
    assert gs.compare(ed, done.under("b")).rows[0].output == "y:0"
    assert not gs.compare(ed, done, outputs=["y"])


def test_copies_of_other_graphs_are_left_alone():
    one, two, dst = gs.open(tiny()), gs.open(tiny()), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(one.select(outputs=["z:0"]), to="a").copy(two.select(outputs=["z:0"]), to="b"))
    assert [row.output for row in gs.compare(one, done).rows] == ["z:0"]


def test_texts_and_shapes():
    from graphsurgeon.compare import _difference

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
    with refuses(gs.PlanError, "'text:0' (string) needs a feed", "feeds={'text:0': array}"):
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
    with refuses(PlanError, "compare(): some of what nothing reads sets variables", "outputs=[...], as 'y:0', 'z:0'"):
        gs.compare(a, b)
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
    with refuses(SelectionError, "compare('nosuch:0'): there is no tensor 'nosuch:0'", "ed.find("):
        gs.compare(ed, ed, {"nosuch:0": 1})
    with refuses(SelectionError, "compare('y:3'): op 'y' (Square) has 1 output", "It has 'y:0'"):
        gs.compare(ed, ed, outputs="y:3")
    with refuses(PlanError, "compare(feeds=3): that is not a mapping", "Give {'x:0': array}"):
        gs.compare(ed, ed, 3)
    with refuses(OpenError, "open(3): an object of type int cannot be opened as a graph", "Give a tf.Graph"):
        gs.compare(ed, 3)


def test_a_session_of_another_graph_is_refused():
    ed = gs.open(tf.Graph())
    with ed.graph.as_default():
        tf.constant(1.0, name="x")
    done = ed.apply(ed.plan().copy(ed.select(), to="t"))
    for session in (tf.compat.v1.Session(graph=tf.Graph()), "no session"):
        with refuses(PlanError, "compare(session=...)", "not a session of the original's graph", "ed.session(session)"):
            gs.compare(ed, done, session=session)
