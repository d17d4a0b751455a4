"""Effects: the outcome of all steps is told, not each of them."""

from __future__ import annotations

import pytest

from graphsurgeon.plan.plan import Plan
from tests.plain import plain


def test_of_several_steps_on_one_input_the_outcome_is_told():
    g = plain(("a", "Const", []), ("b", "Const", []), ("y", "Neg", ["a"]), ("z", "Exp", ["b"]))
    plan = Plan(g).swap("a:0", "b:0").swap("a:0", "b:0")
    assert plan.check() == ()
    assert list(plan.effect.connections) == []
    assert plan.preview().marks == {}
    assert "because ops that exist were rewired, and back again" in str(plan)
    twice = Plan(g).insert("Neg", on="a:0", name="in").reroute("in:0", to="b:0")
    assert {c.was for c in twice.effect.connections if c.to in g.index} == {"a:0"}
    assert "(was in:0)" not in str(twice)


def test_control_inputs_that_go_with_a_removed_op_are_told_as_changes():
    g = plain(("a", "Const", []), ("first", "NoOp", []), ("end", "NoOp", ["^first", "^a"]), ("last", "NoOp", ["^end"]))
    plan = Plan(g).remove("first")
    assert plan.check() == ()
    preview = plan.preview()
    assert preview.counts["changed"] == 1
    assert {plan.after().names[i]: mark for i, mark in preview.marks.items()} == {"end": "changed"}
    assert "end: no longer after first" in str(plan)
    assert [row["name"] for row in preview.table() if row["kind"] == "change"] == ["end"]


@pytest.mark.parametrize("others", [(), ("c",), ("new",)])
def test_a_removal_with_a_fault_tells_of_no_change(others):
    g = plain(
        ("a", "Const", []), ("b", "Const", []), ("c", "Neg", ["a:0"]), ("d", "Identity", ["c:0", "^b"]),
        ("f", "Identity", ["c:0", "^d"]),
    )  # fmt: skip
    plan = Plan(g)
    if "new" in others:
        plan = plan.insert("Neg", on="f:0", name="new")
    plan = plan.remove(["a", *(name for name in others if name != "new")])
    assert len(plan.check()) == 1
    assert plan.effect.reordered == {}
    assert "changes" not in str(plan).splitlines()
    assert plan.preview().counts["changed"] == 0
