"""Ops that are detached read placeholders, and what read them does."""

from __future__ import annotations

from graphsurgeon.errors import PlanError
from graphsurgeon.plan.plan import Plan
from tests.plan.edits import after, net
from tests.refusal import refuses


def test_detach():
    g = net()
    cut = after(Plan(g).detach("z", side="inputs"))
    assert cut["z"] == ["a_0_detached:0", "y_0_detached:0"]
    cut = after(Plan(g).detach(["y"]))
    assert (cut["y"], cut["z"]) == (["a_0_detached:0"], ["a:0", "y_0_detached:0"])
    plan = Plan(g).detach("y", side="outputs")
    info = plan.after().info(*plan.after().tensor("y_0_detached:0"))
    assert str(info) == "float32 (2,)"


def test_a_side_that_is_none():
    with refuses(PlanError, "detach('y')", "side='left' is not known", "Choose one of 'both', 'inputs', 'outputs'"):
        Plan(net()).detach("y", side="left")
