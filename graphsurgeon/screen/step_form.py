"""Step form: the arguments of a step of the plan as fields that are typed or chosen, and the step with other ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import PlanError
from ..graph.names import op_name, tensor_name
from ..plan import steps
from ..plan.plan import ASSIGN, COLLECTIONS, CONTROL, EXTERNAL, KEPT, SEEDS, SIDES, UNMAPPED
from ..plan.step_text import step_text
from ..plan.steps import Step
from .drafts import read
from .verbs import NAME as A_NAME
from .verbs import is_name, nothing_more


@dataclass(frozen=True)
class Kind:
    """How an argument is written in a form, and read again.

    Args:
        shown: the text of a value.
        read: the value of a text; raises ValueError if the text is not valid.
        words: its name in messages.
        choices: all that it may be; empty: any text.
        unfit: the problem of a text that is not valid, and a suggestion; None: the text is not of this kind.
    """

    shown: Callable[[Any], str]
    read: Callable[[str], Any]
    words: str
    choices: tuple[str, ...] = ()
    unfit: Callable[[str], tuple[str, str] | None] = nothing_more


def choice(*choices: str) -> Kind:
    """Returns the kind of an argument that is one of a few texts."""
    return Kind(str, _chosen(choices), f"one of {', '.join(map(repr, choices))}", choices)


def _chosen(choices: tuple[str, ...]) -> Callable[[str], str]:
    def chosen(text: str) -> str:
        if text not in choices:
            raise ValueError(text)
        return text

    return chosen


def _several(one: Callable[[str], str]) -> Callable[[str], tuple[str, ...]]:
    def several(text: str) -> tuple[str, ...]:
        found = tuple(one(part.strip()) for part in text.split(",") if part.strip())
        if not found:
            raise ValueError(text)
        return found

    return several


def _named(text: str) -> str:
    if not text.strip("/"):
        raise ValueError(text)
    return text.strip("/")


def _name(text: str) -> str:
    if not is_name(text):
        raise ValueError(text)
    return text.strip("/")


def _count(text: str) -> int:
    if int(text) < 0:
        raise ValueError(text)
    return int(text)


def _branch(text: str) -> int:
    value = read(text)
    if not isinstance(value, int):
        raise ValueError(text)
    return value


TENSOR = Kind(str, lambda text: tensor_name(_named(text)), "a tensor such as 'x:0'")
TENSORS = Kind(", ".join, _several(tensor_name), "tensors, with commas between them")
OP = Kind(str, lambda text: op_name(_named(text)), "an op")
OPS = Kind(", ".join, _several(op_name), "ops, with commas between them")
ANY_OPS = Kind(", ".join, lambda text: OPS.read(text) if text else (), OPS.words)
WORD = Kind(str, _named, "a name")
NAME = Kind(str, _name, A_NAME.words, unfit=A_NAME.unfit)
SCOPE = replace(NAME, read=lambda text: text and _name(text))
COUNT = Kind(str, _count, "a whole number, 0 or more")
YES_OR_NO = Kind(
    lambda value: "yes" if value else "no",
    lambda text: _chosen(("no", "yes"))(text) == "yes",
    "yes or no",
    ("no", "yes"),
)
TEXT = Kind(str, str, "a string")
VALUE = Kind(str, read, "a Python value")
BRANCH = Kind(str, _branch, "True, False or the number of a branch")


@dataclass(frozen=True)
class Field:
    """One argument of a step: its field, its label, its kind, and whether it names a result of the step."""

    name: str
    label: str
    kind: Kind
    makes: bool = False


#: The arguments of each kind of step that a form can change; the sources of a copy have a separate table.
FIELDS: dict[type, tuple[Field, ...]] = {
    steps.CopyStep: (
        Field("to", "Scope", SCOPE, makes=True),
        Field("unmapped", "Unmapped inputs", choice(*UNMAPPED)),
        Field("control", "Control inputs from outside", choice(*CONTROL)),
        Field("collections", "Collections", choice(*COLLECTIONS)),
        Field("seeds", "Seeds of random ops", choice(*SEEDS)),
    ),
    steps.ConnectStep: (
        Field("tensor", "Tensor", TENSOR),
        Field("to", "Consumer", OP),
        Field("input", "Input", COUNT),
    ),
    steps.RerouteStep: (Field("old", "Consumers of", TENSORS), Field("to", "New source", TENSORS)),
    steps.SwapStep: (Field("a", "Tensor", TENSORS), Field("b", "Swapped with", TENSORS)),
    steps.DetachStep: (Field("ops", "Ops", OPS), Field("side", "Side", choice(*SIDES))),
    steps.InsertStep: (
        Field("op", "Op type", NAME),
        Field("on", "After tensor", TENSORS),
        Field("name", "Name", NAME, makes=True),
    ),
    steps.AdaptStep: (Field("tensor", "Tensor", TENSOR), Field("name", "Name", SCOPE, makes=True)),
    steps.BypassStep: (Field("ops", "Ops", OPS),),
    steps.RemoveStep: (Field("ops", "Ops", OPS), Field("stitch", "Reconnect", YES_OR_NO)),
    steps.SetStep: (Field("ops", "Ops", OPS), Field("device", "Device", TEXT), Field("attributes", "Value", VALUE)),
    steps.OrderStep: (Field("op", "Op", OP), Field("others", "After", OPS)),
    steps.RerouteOrderStep: (Field("old", "Waiting ops of", OP), Field("to", "New op to wait for", OPS)),
    steps.RenameStep: (Field("names", "New name", NAME, makes=True),),
    steps.ReplaceStep: (
        Field("by", "Op type", NAME),
        Field("external", "If other ops read inner tensors", choice(*EXTERNAL)),
        Field("to", "Scope", SCOPE),
    ),
    steps.CollapseStep: (Field("ops", "Ops", OPS), Field("name", "Name", NAME, makes=True)),
    steps.InlineStep: (Field("ops", "Calls", OPS),),
    steps.UnrollStep: (Field("loop", "Loop", NAME), Field("times", "Rounds", COUNT)),
    steps.ConditionStep: (Field("tensor", "Tensor", TENSOR), Field("value", "Condition is", BRANCH)),
    steps.OnCopiesStep: (
        Field("to", "Scope", NAME, makes=True),
        Field("until", "Stop at ops", ANY_OPS),
        Field("assign", "Ops that set variables", choice(*ASSIGN)),
        Field("collections", "Collections", choice(*KEPT)),
    ),
}


def form_of(step: Step, choices: Callable[[str, str], list[str]] = lambda op, name: []) -> list[dict[str, Any]]:
    """Returns the arguments of a step that can be changed: for each its name, label, value as text, and choices.

    Args:
        step: the step.
        choices: returns all values of an attribute of an op, if these are few; by op and attribute.

    Example:
        >>> [(row["label"], row["value"]) for row in form_of(steps.ConnectStep("a:0", "b", 1))]
        [('Tensor', 'a:0'), ('Consumer', 'b'), ('Input', '1')]
    """
    out = []
    for field in FIELDS.get(type(step), ()):
        value, label, known = getattr(step, field.name), field.label, list(field.kind.choices)
        if isinstance(step, steps.SetStep) and field.name == "attributes" and value:
            (label, value), known = value[0], choices(step.ops[0], value[0][0])
        elif isinstance(step, steps.RenameStep):
            value = value[0][1] if len(value) == 1 else None
        if value is None or value == () != getattr(step, "until", None) or callable(value):
            continue  # it was not given, or it is not a text
        if isinstance(step, steps.InsertStep) and field.name == "name" and not isinstance(value, str):
            continue
        out.append({"name": field.name, "label": label, "value": field.kind.shown(value), "choices": known})
    return out


def with_arguments(step: Step, texts: Mapping[str, str], request: str) -> tuple[Step, tuple[str, str] | None]:
    """Returns a step with other arguments, and the old and new name of its result, if the name changes.

    Args:
        step: the step.
        texts: values as texts, by the names that `form_of` gives.
        request: the request, for messages.

    Raises:
        PlanError: it has no such argument, or a text is not a value of it.

    Example:
        >>> with_arguments(steps.UnrollStep("loop", 2), {"times": "3"}, "edit_step(0)")
        (UnrollStep(loop='loop', times=3), None)
    """
    known, made = {row["name"]: row["value"] for row in form_of(step)}, None
    fields = {field.name: field for field in FIELDS.get(type(step), ()) if field.name in known}
    for name, text in texts.items():
        field = fields.get(name)
        if field is None:
            problem, these = f"{step_text(step)!r} has no argument {name!r}", ", ".join(sorted(fields))
            raise PlanError(request, problem, f"Its arguments are: {these or 'none'}")
        if text == known[name]:
            continue
        try:
            value = field.kind.read(text.strip())
        except ValueError:
            said = field.kind.unfit(text.strip()) or (f"{text!r} is not valid", f"Type {field.kind.words}")
            raise PlanError(f"{request[:-1]}, {name}={text!r})", *said, name) from None
        old = getattr(step, name)
        if isinstance(step, steps.RenameStep):
            made, value = (old[0][1], value), ((old[0][0], value),)
        elif isinstance(step, steps.SetStep) and name == "attributes":
            value = ((old[0][0], value),)
        elif field.makes:
            made = (old, value)
        more = {"given": None} if name == "ops" and hasattr(step, "given") else {}
        step = replace(step, **{name: value, **more})
    return step, made if made and all(made) else None
