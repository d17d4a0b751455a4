"""Attributes and devices that are set, on what is there and on what the plan makes."""

from __future__ import annotations

from graphsurgeon.graph.selection import select
from graphsurgeon.plan.plan import Plan
from tests.plan.edits import after, net


def test_attributes_and_devices():
    effect = (
        Plan(net()).set_attr("y", "_mark", b"x").set_device(["y", "z"], "/cpu:0").set_attr("z", "_old", None).effect
    )
    assert effect.mode == "materialize"
    assert effect.changes["y"].attributes == {"_mark": b"x"}
    assert effect.changes["z"].attributes == {"_old": None}
    assert {effect.changes[n].device for n in "yz"} == {"/cpu:0"}


def test_edits_of_what_the_plan_itself_makes_touch_nothing_else():
    g = net()
    plan = Plan(g).copy(select(g, name="y"), to="t", unmapped="keep").reroute("a:0", to="b:0", only="t/y")
    plan = plan.set_device("t/y", "/cpu:0")
    assert plan.mode == "append"
    assert after(plan)["t/y"] == ["b:0"]
    assert after(plan)["y"] == ["a:0"]
