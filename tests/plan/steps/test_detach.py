"""Ops that are detached read placeholders, and what read them does."""

from __future__ import annotations

from graphsurgeon.errors import PlanError
from graphsurgeon.plan.function_source import Sources
from graphsurgeon.plan.plan import Plan
from tests.plan.edits import after, fault, net
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


def test_some_consumers_keep_their_inputs():
    g = net()
    plan = Plan(g).detach(["a", "y"], side="outputs", only="z")
    cut = after(plan)
    assert (cut["y"], cut["z"]) == (["a:0"], ["a_0_detached:0", "y_0_detached:0"])
    assert after(Plan(g).detach(["a", "y"], side="outputs", exclude="y"))["z"] == cut["z"]
    assert "detach the outputs of a, y for z" in str(plan)
    assert eval(f"Plan(g){plan.steps[0].code(Sources())}").steps == plan.steps
    fault(Plan(g).detach("y", only="end"), "no chosen op reads a detached tensor", "Widen only=")
    fault(Plan(g).detach("y", only="odd"), "no op is called 'odd'")
