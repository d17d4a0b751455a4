"""A plan is run before it is applied: what it would compute, and where that first parts from what there is."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import LayoutError, PlanError
from tests.graphs import model, trained
from tests.refusal import refuses
from tests.screen.screens import row_of_ops, traits

tf1 = tf.compat.v1


def test_a_plan_is_run_and_nothing_is_changed():
    session = trained()
    ed = gs.open(session)
    before = ed.graph.as_graph_def().SerializeToString(deterministic=True)
    screen = ed.screen
    screen.insert("Abs", on="net/mm:0", name="positive")
    screen.run({"x:0": "[[1, 0]]"}, target="plan")
    shown = traits(screen)
    assert shown["run"]["pane"] == "destination"
    assert shown["run"]["first_difference"]["op"] == "net/b"  # the first that is there before and after, and is another
    assert "max 2" in shown["run"]["first_difference"]["text"]
    assert shown["scenes"]["destination"]["legend"]["title"].startswith("difference")
    assert shown["scenes"]["source"]["legend"]["by"] == "family"
    assert shown["run"]["code"] == "trace = ed.trace({'x:0': [[1, 0]]}, random=0, plan=ed.screen.draft)"
    assert shown["status"]["text"].endswith("first difference: net/b")
    held = screen.details("positive", "destination")["run"][0]
    assert dict(held["rows"])["values"] == "1, 2"
    assert "run" not in screen.details("net/b")
    assert ed.graph.as_graph_def().SerializeToString(deterministic=True) == before
    assert screen.draft.steps
    assert not ed.history
    screen.apply()
    assert traits(screen)["run"] == {}
    assert ed.session().run("y:0", {"x:0": [[1, 0]]}).tolist() == [3.0]


def test_a_copy_that_is_tried_reads_what_the_original_reads():
    ed = gs.open(trained())
    screen = ed.screen
    screen.mark_input("net/mm:0")
    screen.mark_output("y:0")
    screen.copy("again")
    screen.run(target="plan", seed=5)
    shown = traits(screen)
    assert shown["status"]["text"].endswith("no values differ")
    assert shown["run"]["first_difference"] == {"op": "", "text": "all compared values are equal", "before": ""}
    apart = screen.state.run.distances
    assert apart["again/y"] == apart["y"] == 0.0
    screen.paint("ms")
    assert traits(screen)["scenes"]["destination"]["legend"]["title"].startswith("ms")


def test_a_copy_with_values_of_its_own_parts_where_they_are_read():
    ed = gs.open(trained())
    screen = ed.screen
    screen.select(["net/", "y"])
    screen.copy("again", unmapped="keep")
    (step,) = {row["step"] for row in traits(screen)["plan"]["variables"]}
    screen.set_policy(step, "net/w", "initial")
    screen.run({"x:0": "[[1, 1]]"}, target="plan")
    assert traits(screen)["run"]["first_difference"]["op"].startswith("again/")
    assert screen.state.run.distances["y"] == 0.0
    assert screen.state.run.distances["again/y"] > 0.0


def test_names_that_a_plan_changes_are_followed():
    screen = gs.open(trained()).screen
    screen.rename("net/b", "net/active")
    screen.run({"x:0": "[[1, 1]]"}, target="plan")
    assert screen.state.run.distances["net/active"] == 0.0
    assert screen.state.run.first is None


def test_a_part_of_another_graph_is_run_in_its_new_place():
    m = model("resource")
    screen = gs.open(tf.Graph())
    screen.view(gs.open(m.session))
    screen = screen.screen
    screen.select(["net/"])
    screen.copy("got")
    form = screen.run_form("plan")
    assert [feed["name"].partition("/")[0] for feed in form["feeds"]] == ["got"]
    screen.run(target="plan")
    shown = traits(screen)
    assert shown["run"]["pane"] == "destination"
    assert shown["run"]["first_difference"] is None
    assert len(screen.state.run.trace) > 1


def test_a_plan_that_cannot_be_tried_says_why():
    screen = row_of_ops()
    with refuses(PlanError, "run(target='plan')", "there is no plan", "Copy or change something first"):
        screen.run(target="plan")
    screen.run()
    with refuses(LayoutError, "paint('difference')", "this run has no comparison", "Try the plan"):
        screen.paint("difference")
    screen.reroute("a:0", "in/b:0")  # a cycle
    with pytest.raises(PlanError):
        screen.run(target="plan")
    assert screen.state.run.pane == "source"


def test_another_step_takes_the_run_of_a_plan_away():
    screen = row_of_ops()
    screen.bypass("in/c")
    screen.run({"a:0": "[1, 2]"}, target="plan")
    assert traits(screen)["run"]["first_difference"]["op"] == "d"
    screen.bypass("in/b")
    assert traits(screen)["run"] == {}


def test_an_applied_plan_is_compared_with_what_was_before():
    ed = gs.open(trained())
    screen = ed.screen
    with refuses(PlanError, "before()", "no plan is applied", "Apply a plan first"):
        screen.run(target="applied")
    screen.bypass("net/b")
    screen.apply()
    assert [feed["name"] for feed in screen.run_form("applied")["feeds"]] == ["x:0"]
    screen.run({"x:0": "[[1, 0]]"}, target="applied")
    shown = traits(screen)
    assert shown["run"]["pane"] == "source"
    assert shown["run"]["first_difference"]["op"] == shown["selected"][0] == "y"
    assert shown["run"]["code"] == "gs.compare(ed.before(), ed, {'x:0': [[1, 0]]}, seed=0)"
    assert shown["scenes"]["source"]["legend"]["title"].startswith("difference")
    assert len(ed.history) == 1


def test_an_applied_copy_is_compared_with_its_original():
    ed = gs.open(trained())
    screen = ed.screen
    screen.mark_input("x:0")
    screen.mark_output("y:0")
    screen.copy("again")
    screen.apply()
    screen.run(target="applied", seed=3)
    assert screen.state.run.distances["again/y"] == 0.0
    assert traits(screen)["status"]["text"].endswith("no values differ")


def test_an_input_that_a_plan_takes_away_is_fed_before_it_alone():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        tf.constant([1.0, 2.0], name="fixed")
        tf.negative(x, name="y")
    screen = gs.open(graph).screen
    screen.reroute("x:0", "fixed:0")
    screen.remove(["x"])
    screen.run({}, target="plan", seed=1)
    assert traits(screen)["run"]["first_difference"]["op"] == "y"
    assert screen.state.run.trace.results["y:0"].tolist() == [-1.0, -2.0]
