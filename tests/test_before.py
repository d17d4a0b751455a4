"""The graph before the last plan, beside the graph as it is now."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.graphs import trained
from tests.refusal import refuses

tf1 = tf.compat.v1


def test_it_has_the_graph_of_then_and_the_values_of_now():
    ed = gs.open(trained())
    names = ed.snapshot.names
    ed.apply(ed.plan().bypass("net/b").rename("net/w", "net/kernel"))
    was = ed.before()
    assert was is not ed
    assert was.snapshot.names == names
    x = {"x:0": [[1.0, 0.0]]}
    assert was.session().run("y:0", x).tolist() == [1.0]
    assert ed.session().run("y:0", x).tolist() == [-1.0]
    assert [event.undone for event in ed.history] == [False]
    assert was.title == "graph before step 1"
    found = gs.compare(was, ed, x, "y:0")
    assert not found
    assert found.first_difference.op == "y"


def test_values_that_are_trained_on_are_seen_in_it_and_what_is_run_in_it_is_its_own():
    ed = gs.open(trained())
    ed.apply(ed.plan().bypass("net/b"))
    now = ed.session()
    with ed.graph.as_default():
        (w,) = ed.graph.get_collection("variables")
        now.run(tf1.assign(w, [[5.0, 0.0], [0.0, 0.0]]))
    was = ed.before()
    assert was.session().run("y:0", {"x:0": [[1.0, 0.0]]}).tolist() == [5.0]
    with was.graph.as_default():
        (own,) = was.graph.get_collection("variables")
        was.session().run(tf1.assign(own, [[7.0, 0.0], [0.0, 0.0]]))
    assert now.run("y:0", {"x:0": [[1.0, 0.0]]}).tolist() == [5.0]


def test_of_two_steps_it_is_the_last_and_names_follow():
    ed = gs.open(trained())
    ed.apply(ed.plan().rename("y", "total"))
    ed.apply(ed.plan().bypass("net/b"))
    was = ed.before().snapshot
    assert "net/b" in {was.names[i] for i in was.data.row(was.index["total"]).tolist()}
    ed.undo()
    assert "y" in ed.before().snapshot.index


def test_where_ops_were_only_added_it_is_the_same_editor():
    ed = gs.open(trained())
    with refuses(PlanError, "before()", "no plan is applied", "Apply a plan first"):
        ed.before()
    ed.apply(ed.plan().copy(ed.select(), to="again"))
    assert ed.before() is ed
