"""Ops that a plan makes and removes again leave no trace in its other steps."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.refusal import refuses

tf1 = tf.compat.v1


def two(x):
    return tf.negative(tf.identity(x, name="i"), name="j")


@pytest.fixture
def ed():
    graph = tf.Graph()
    with graph.as_default():
        a = tf1.placeholder(tf.float32, [2], name="a")
        tf.identity(tf.exp(tf.negative(a, name="b"), name="c"), name="d")
    return gs.open(graph)


def applied(ed, plan) -> dict[str, list[str]]:
    """Applies a plan, and returns the inputs of each op; the graph must be as predicted."""
    assert plan.check() == ()
    assert "_removed" not in str(plan.preview()), str(plan.preview())
    after = plan.after()
    inputs = {name: after.input_names(i) for i, name in enumerate(after.names)}
    ed.apply(plan)
    now = ed.snapshot
    assert {name: now.input_names(i) for i, name in enumerate(now.names)} == inputs
    return inputs


@pytest.mark.parametrize(
    ("steps", "renamed"),
    [
        ([{"a": "x"}, {"b": "a"}, {"a": "b"}], {"a": "x"}),
        ([{"a": "b", "b": "a"}, {"a": "back"}], {"a": "b", "b": "back"}),
        ([{"a": "x"}, {"x": "a"}], {}),
    ],
)
def test_each_op_has_the_last_of_its_names(ed, steps, renamed):
    plan = ed.plan()
    for names in steps:
        plan = plan.rename(names)
    assert plan.effect.renamed == renamed
    assert plan.mode == ("materialize" if renamed else "append")
    applied(ed, plan)


def test_copies_follow_a_later_rename_of_the_ops_that_they_read(ed):
    plan = ed.plan().insert("Neg", on="a:0", name="new").on_copies(scope="live").rename("new", to="back")
    assert applied(ed, plan)["live/b"] == ["back:0"]


def test_a_removed_op_is_not_searched_for_cycles(ed):
    plan = ed.plan().insert(two, on="b:0", name="fn").insert("Neg", on="b:0", name="n")
    assert applied(ed, plan.remove(["fn/i", "fn/j"], stitch=True))["c"] == ["n:0"]


def test_a_rewired_op_can_be_removed(ed):
    plan = ed.plan().insert(two, on="b:0", name="fn").connect("a:0", to="fn/i").remove("fn/i", stitch=True)
    assert applied(ed, plan)["fn/j"] == ["a:0"]


def test_no_op_waits_for_a_removed_op(ed):
    plan = ed.plan().insert(two, on="b:0", name="fn").add_control("d", "fn/i").remove("fn/i", stitch=True)
    applied(ed, plan)
    assert not ed.snapshot.control.row(ed.snapshot.index["d"]).size


def test_the_number_of_a_removed_op_is_no_name(ed):
    plan = ed.plan().insert(two, on="b:0", name="fn").remove("fn/i", stitch=True)
    with refuses(gs.PlanError, "no op and no scope is called '_removed_4'") as caught:
        ed.apply(plan.rename("_removed_4", to="new"))
    assert "_removed" not in caught.value.suggestion


def test_a_cycle_through_a_removed_op_is_a_fault(ed):
    plan = ed.plan().insert(two, on="b:0", name="fn").connect("fn/j:0", to="fn/i").remove(["fn/j"], stitch=True)
    assert any("cycle" in fault.problem for fault in plan.check())


def test_on_copies_needs_an_edit_that_is_still_there(ed):
    plan = ed.plan().replace(lambda x: tf.identity(x), two).remove(["d/i", "d/j"])
    (fault,) = plan.on_copies(scope="live").check()
    assert "no earlier step changes an existing op" in fault.problem


def test_on_copies_refuses_a_former_name_that_a_new_op_has(ed):
    plan = ed.plan().rename("b", to="old").insert("Neg", on="old:0", name="b").on_copies(scope="live")
    (fault,) = plan.check()
    assert fault.problem == "the name 'b' now belongs to a new op"


def test_changes_are_in_the_order_of_the_steps(ed):
    plan = ed.plan().set_attr("c", "_m", b"x").add_control("d", "a").set_attr("b", "_m", b"x")
    assert list(plan.effect.changes) == ["c", "d", "b"]


def test_the_request_of_a_step_with_many_attributes(ed):
    more = {f"_{n}": n for n in range(9)}
    plan = ed.plan().insert("Conv2D", on="b:0", name="n", strides=[1, 1, 1, 1], padding="SAME", **more)
    assert plan.check()[0].request.startswith("insert('Conv2D'")
