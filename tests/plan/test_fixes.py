"""Which adapters a fault carries, as data and in its text; that they make it go: tests/tf/edit/test_adapters.py."""

from __future__ import annotations

import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.graph.graph import TensorInfo
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.adapters import AdapterSpec
from graphsurgeon.plan.edge_checks import fitting_adapters
from graphsurgeon.plan.mutable_graph import MutableGraph
from graphsurgeon.plan.plan import Plan
from graphsurgeon.plan.steps.insert import AdaptStep
from graphsurgeon.plan.steps.wiring import ConnectStep, RerouteStep
from tests.plain import plain
from tests.refusal import reads, refuses

F = "float32"
BASE = plain(
    ("x", "Placeholder", []), ("y", "Placeholder", []), ("text", "Placeholder", []), ("use", "Neg", ["y"]),
    ("below", "Neg", ["use"]), ("other", "Neg", ["y"]), ("save/SaveV2", "SaveV2", ["y"]),
    ("gradients/g", "Neg", ["x"]), ("start", "Const", []), ("enter", "Enter", ["start"]),
    ("merge", "Merge", ["enter", "next"]), ("switch", "Switch", ["merge", "merge"]), ("turn", "Neg", ["switch:1"]),
    ("next", "NextIteration", ["turn"]), ("exit", "Exit", ["switch"]), ("inside", "Neg", ["switch:1"]),
    outputs={
        "x": [(F, (None, 7, 7, 8))], "y": [(F, (None, 4))], "text": [("string", (None,))], "use": [(F, (None, 6))],
        "below": [(F, (None, 5))], "other": [(F, (None, 4))], "save/SaveV2": [], "gradients/g": [(F, (None, 7, 7, 8))],
        **{name: [(F, (3,))] for name in ("start", "enter", "next", "exit")}, "merge": [(F, (3,)), ("int32", ())],
        "switch": [(F, (3,)), (F, (3,))], "turn": [(F, (3,))], "inside": [("int32", (3,))],
    },
)  # fmt: skip
PLAN = Plan(BASE)
BOTH = [("pool", "dense"), ("reshape", "dense")]


def cures(plan):
    (fault,) = plan.check()
    return fault.fixes


def test_a_connection_is_adapted():
    plan = PLAN.connect("x", to="use")
    (fault,) = plan.check()
    reads(fault, "Or adapt it: plan.adapt('x:0', to='use', input=0, kinds=['pool', 'dense'])")
    assert [cure.kinds for cure in fault.fixes] == BOTH
    assert fault.fixes[0].text == "mean of each channel, then dense to 4"
    assert plan.with_fix(fault.fixes[0]).steps == (AdaptStep("x:0", "use", 0, "", AdapterSpec(("pool", "dense"))),)


def test_what_reads_a_tensor_reads_an_adapted_one():
    plan = PLAN.add_control("other", "x").reroute("y", to="x", exclude="other")
    (fault,) = plan.check()
    reads(fault, "plan.adapt('x:0', to='y:0', kinds=['pool', 'dense'], exclude='other')")
    first, second = plan.with_fix(fault.fixes[1]).steps
    assert first is plan.steps[0]
    assert second == AdaptStep("x:0", "y:0", None, "", AdapterSpec(("reshape", "dense")), None, ("other",))
    only = cures(PLAN.bypass("use"))[-1]
    assert only.new_steps == (AdaptStep("y:0", "use:0", None, "", AdapterSpec(("dense",))),)


def test_of_several_the_one_that_does_not_fit_is_adapted_first():
    plan = PLAN.reroute(["other", "y"], to=["y", "x"])
    cure = cures(plan)[0]
    adapted, rest = plan.with_fix(cure).steps
    assert adapted == AdaptStep("x:0", None, None, "adapter", AdapterSpec(("pool", "dense"), F, (None, 4)))
    assert rest == RerouteStep(("other:0", "y:0"), ("y:0", "adapter:0"))
    assert cure.code == (
        "plan.adapt('x:0', kinds=['pool', 'dense'], name='adapter', dtype='float32', shape=[None, 4])"
    )  # fmt: skip


def test_what_feeds_a_copy_is_adapted():
    whole = plain(("a", "Placeholder", []), ("conv", "Conv2D", ["a"]), outputs={"a": [("int32", (None, 7, 7, 8))]})
    copied = Plan(BASE).copy(select(whole, name="conv"), to="adapter", inputs={"a:0": "x:0"})
    fault = copied.check()[0]
    reads(fault, "plan.adapt('x:0', kinds='cast', name='adapter_2', dtype='int32', shape=[None, 7, 7, 8])",
          "then inputs={'a:0': 'adapter_2:0'}")  # fmt: skip
    adapted, copy = copied.with_fix(fault.fixes[0]).steps
    assert adapted == AdaptStep("x:0", None, None, "adapter_2", AdapterSpec(("cast",), "int32", (None, 7, 7, 8)))
    assert copy.inputs == (("a:0", "adapter_2:0"),)


@pytest.mark.parametrize(
    "plan",
    [
        PLAN.connect("text", to="use"),
        PLAN.connect("gradients/g", to="use"),  # of a gradient, for data
        PLAN.connect("x", to="save/SaveV2"),
        PLAN.connect("below", to="use"),  # it would be computed from itself
        PLAN.connect("inside", to="use"),  # another loop
        PLAN.swap("x", "y"),
        PLAN.connect("x", to="use", input=3),
    ],
)
def test_what_makes_no_sense_is_not_proposed(plan):
    (fault,) = plan.check()
    assert not fault.fixes
    assert "adapt" not in str(fault)


def test_no_variable_is_made_inside_a_loop():
    graph, wanted = MutableGraph(BASE), TensorInfo(F, (4,))
    wide = TensorInfo(F, (1, 3))
    inside, turn = BASE.index["inside"], BASE.index["turn"]
    assert [one.kinds for one in fitting_adapters(graph, (turn, 0), wide, [inside])] == [("reshape",)]
    assert all("dense" not in one.kinds for one in fitting_adapters(graph, (turn, 0), wanted, [inside]))
    assert fitting_adapters(graph, (turn, 0), wide, [BASE.index["use"]]) == ()


def test_a_cure_of_another_plan_is_refused():
    (first, *_), other = cures(PLAN.connect("x", to="use")), PLAN.connect("x", to="other")
    assert isinstance(first.step, ConnectStep)
    with refuses(PlanError, "with_fix(", "no step of this plan has the fault", "plan.check()"):
        other.with_fix(first)
