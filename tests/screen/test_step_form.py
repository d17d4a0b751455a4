"""Forms of steps: each argument is a text that is read again as it was, or is refused."""

from __future__ import annotations

import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.plan import Plan
from graphsurgeon.plan.steps.base import MutedStep, step_kinds
from graphsurgeon.plan.steps.condition import ConditionStep
from graphsurgeon.plan.steps.edit import BypassStep, RebuildStep, RemoveStep, RenameStep, SetStep
from graphsurgeon.plan.steps.functions import CollapseStep, InlineStep, UnrollStep
from graphsurgeon.plan.steps.insert import InsertStep
from graphsurgeon.plan.steps.on_copies import OnCopiesStep
from graphsurgeon.plan.steps.replace import ReplaceStep
from graphsurgeon.plan.steps.wiring import (
    ConnectStep,
    ControlStep,
    DetachStep,
    RerouteControlStep,
    RerouteStep,
    SwapStep,
)
from graphsurgeon.ui.commands.steps import fields_of, form_of, with_arguments
from tests.plain import net
from tests.refusal import refuses

EACH = (
    ConnectStep("a:0", "b", 1),
    RerouteStep(("a:0", "b:1"), ("c:0", "d:0")),
    SwapStep(("a:0",), ("b:0",)),
    DetachStep(("a", "b"), "both"),
    InsertStep("Identity", ("a:0",), "id", ()),
    BypassStep(("a",), None, None),
    RemoveStep(("a", "b"), stitch=True),
    SetStep(("a",), (("padding", "SAME"),)),
    SetStep(("a",), device="/cpu:0"),
    ControlStep("a", ("b",), remove=False),
    RerouteControlStep("a", ("b",)),
    RenameStep((("a", "b"),)),
    CollapseStep(("a", "b"), "call"),
    InlineStep(("call",)),
    UnrollStep("loop", 2),
    ConditionStep("p:0", True),
    OnCopiesStep("new"),
    Plan(net()).copy(select(net(), scope="net"), to="copy").steps[0],
)


def test_each_kind_of_step_has_a_form():
    for kind in set(step_kinds()) - {MutedStep, RebuildStep}:
        assert fields_of(kind), kind


@pytest.mark.parametrize("step", EACH, ids=lambda step: type(step).__name__)
def test_what_is_not_changed_stays(step):
    rows = form_of(step)
    assert rows
    assert with_arguments(step, {row["name"]: row["value"] for row in rows}, "edit_step(0)") == (step, None)
    for row in rows:
        assert row["value"] in dict(row.get("options", [(row["value"], "")]))


@pytest.mark.parametrize(
    ("step", "name", "text", "words"),
    [
        (EACH[0], "input", "one", "a whole number, 0 or more"),
        (EACH[0], "input", "-1", "a whole number, 0 or more"),
        (EACH[0], "tensor", "", "a tensor such as 'x:0'"),
        (EACH[1], "old", " , ", "tensors, with commas between them"),
        (EACH[3], "side", "left", "one of 'both', 'inputs', 'outputs'"),
        (EACH[6], "stitch", "maybe", "yes or no"),
        (EACH[15], "value", "perhaps", "True, False or the number of a branch"),
    ],
)
def test_what_is_no_value_is_refused(step, name, text, words):
    with refuses(PlanError, f"edit_step(0, {name}={text!r}): {text!r} is not valid", f"Type {words}"):
        with_arguments(step, {name: text}, "edit_step(0)")


def test_the_new_name_of_what_a_step_makes_is_told():
    assert with_arguments(EACH[4], {"name": "other"}, "edit_step(0)")[1] == ("id", "other")
    assert with_arguments(EACH[11], {"names": "c/"}, "edit_step(0)") == (RenameStep((("a", "c"),)), ("b", "c"))
    assert with_arguments(ReplaceStep((), "Neg", to="r"), {"to": "s"}, "edit_step(0)")[1] == ("r", "s")
    given = CollapseStep(("a", "b"), "call", "scope")
    assert with_arguments(given, {"ops": "a"}, "edit_step(0)") == (CollapseStep(("a",), "call"), None)


def test_what_has_no_text_has_no_field():
    several = RenameStep((("a", "b"), ("c", "d")))
    assert form_of(several) == []
    with refuses(PlanError, "has no argument 'names'", "Its arguments are: none"):
        with_arguments(several, {"names": "x"}, "edit_step(0)")
