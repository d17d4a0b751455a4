"""Commands that remove, move, mute or edit steps of the plan, and the forms of the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from ...errors import PlanError, counted
from ...graph.names import op_name, tensor_name
from ...plan.plan import Plan
from ...plan.steps.base import (
    Attributes,
    DestinationName,
    DestinationNames,
    MutedStep,
    NewName,
    NewNames,
    NewScope,
    OpName,
    OpNames,
    OpType,
    PlainText,
    Step,
    TensorName,
    TensorNames,
    form_types,
    names_of,
    roles_of,
    scope_change,
    unwrap_muted,
)
from ...plan.steps.edit import SetStep, later_steps
from ...plan.steps.insert import InsertStep
from ...view import page_types
from ..render_context import RenderContext
from ..state import State
from .plan import with_message
from .specs import (
    COUNT,
    NAME,
    SCOPE,
    TEXT,
    YES_OR_NO,
    Count,
    FeedTexts,
    FieldType,
    YesOrNo,
    choice_of,
    edit,
    look,
    parse_literal,
    parse_names,
)


def _parse_name(text: str) -> str:
    if not text.strip("/"):
        raise ValueError(text)
    return text.strip("/")


def _parse_branch(text: str) -> int:
    value = parse_literal(text)
    if not isinstance(value, int):
        raise ValueError(text)
    return value


def _names_type(description: str, name: Callable[[str], str]) -> FieldType:
    """Returns the type of several names with commas between them."""
    return FieldType(description, parse=lambda text: tuple(map(name, parse_names(text))), to_text=", ".join)


TENSOR = FieldType("a tensor such as 'x:0'", parse=lambda text: tensor_name(_parse_name(text)))
TENSORS = _names_type("tensors, with commas between them", tensor_name)
OP = FieldType("an op", parse=lambda text: op_name(_parse_name(text)))
OPS = _names_type("ops, with commas between them", op_name)
ANY_OPS = replace(OPS, parse=lambda text: OPS.parse(text) if text else ())
ONE_NAME = FieldType("a name", parse=_parse_name)
VALUE = FieldType("a Python value", parse=parse_literal)
BRANCH = FieldType("True, False or the number of a branch", parse=_parse_branch)


#: The types of texts that name results of a step, with the types of the fields.
NEW_NAMES: dict[Any, FieldType] = {
    NewName: NAME,
    NewNames: NAME,
    NewScope: SCOPE,
    tuple[tuple[DestinationName, NewName], ...]: NAME,
}
#: Type of a field of a step -> the type of its text.
FIELD_TYPES: dict[Any, FieldType] = NEW_NAMES | {
    TensorName: TENSOR,
    TensorNames: TENSORS,
    OpName: OP,
    OpNames: OPS,
    OpNames | None: OPS,
    DestinationName: NAME,
    DestinationNames: ANY_OPS,
    OpType: NAME,
    Attributes: VALUE,
    PlainText | None: TEXT,
    int: COUNT,
    bool: replace(YES_OR_NO, description="yes or no"),
    bool | int: BRANCH,
}


@cache
def fields_of(kind: type[Step]) -> dict[str, tuple[str, FieldType]]:
    """Returns the fields of a kind of step that a form can change, with their labels and the types of their texts."""
    types = {name: (hint, *marks) for name, (hint, *marks) in form_types(kind).items() if marks}
    return {
        name: (label, choice_of(*choices[0]) if choices else FIELD_TYPES[hint])
        for name, (hint, label, *choices) in types.items()
    }


def _has_pairs(value: Any) -> bool:
    """Whether a value consists of pairs: the names of ops or attributes, and their values."""
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], tuple)


def form_of(step: Step, choices: Callable[[str, str], list[str]] = lambda op, name: []) -> list[page_types.Field]:
    """Returns the form of a step: a field for each argument that can be changed.

    Args:
        step: the step.
        choices: a function of op and attribute that returns all possible values, if these are few.

    Example:
        >>> from graphsurgeon.plan.steps.wiring import ConnectStep
        >>> [(row["label"], row["value"]) for row in form_of(ConnectStep("a:0", "b", 1))]
        [('Tensor', 'a:0'), ('Consumer', 'b'), ('Input', '1')]
    """
    out = list[page_types.Field]()
    for name, (label, kind) in fields_of(type(step)).items():
        value, values = getattr(step, name), list[str]()
        if _has_pairs(value):
            if len(value) > 1:
                continue
            ((key, value),) = value
            if kind is VALUE:
                label, values = key, choices(names_of(step)[0], key)
        if value is None or (value == () and kind is not ANY_OPS) or callable(value):
            continue  # it was not given, or it cannot be edited as text
        if kind is NAME and not isinstance(value, str):
            continue
        out.append((choice_of(*values) if values else kind).field(name, label, kind.to_text(value)))
    return out


def with_arguments(step: Step, texts: Mapping[str, str], request: str) -> tuple[Step, tuple[str, str] | None]:
    """Returns a step with other arguments, and the old and new name of its result, if the name changes.

    Args:
        step: the step.
        texts: name of an argument, as in `form_of` -> its new value as text.
        request: the request, for messages.

    Raises:
        PlanError: an argument does not exist, or a text is not valid.

    Example:
        >>> from graphsurgeon.plan.steps.functions import UnrollStep
        >>> with_arguments(UnrollStep("loop", 2), {"times": "3"}, "edit_step(0)")
        (UnrollStep(loop='loop', times=3), None)
    """
    old_values, rename_pair = {row["name"]: row["value"] for row in form_of(step)}, None
    fields = {name: kind for name, (_, kind) in fields_of(type(step)).items() if name in old_values}
    for name, text in texts.items():
        kind = fields.get(name)
        if kind is None:
            problem, these = f"{step.describe()!r} has no argument {name!r}", ", ".join(sorted(fields))
            raise PlanError(request, problem, f"Its arguments are: {these or 'none'}")
        if text == old_values[name]:
            continue
        old = getattr(step, name)
        new = value = kind.read_field(name, text, request)
        if _has_pairs(old):
            ((key, old),) = old
            value = ((key, value),)
        if roles_of(type(step))[name] in NEW_NAMES:
            rename_pair = (old, new)
        more = {"code_argument": None} if name == "ops" and hasattr(step, "code_argument") else {}
        step = replace(step, **{name: value, **more})
    return step, rename_pair if rename_pair and all(rename_pair) else None


@edit("remove a step of the plan", gesture="button")
def remove_step(context: RenderContext, state: State, step: Count) -> State:
    """Removes one step of the plan.

    Args:
        step: the number of the step, from 0.
    """
    plan = context.draft(state)
    removed_step = _step(plan, step, f"remove_step({step})")
    return with_message(
        context, state.replace(draft=plan.with_step(step, None)), f"removed: {removed_step.describe()}", warn=False
    )


@edit("move a step of the plan", gesture="button")
def move_step(context: RenderContext, state: State, step: Count, before: Count) -> State:
    """Moves a step of the plan before another one.

    Args:
        step: the number of the step, from 0.
        before: the number of the step to move it before; the number of steps for the end.

    Raises:
        PlanError: if the step does not exist, or the move would add an error to the plan.
    """
    plan, request = context.draft(state), f"move_step({step}, {before})"
    moved_step = _step(plan, step, request)
    other = plan.with_step(step, moved_step, before)
    faults = other.check()
    if faults and not plan.check():
        raise PlanError(
            request, f"{moved_step.describe()} cannot be there: {faults[0].problem}", "Move it to another place"
        )
    return with_message(context, state.replace(draft=other), f"moved: {moved_step.describe()}", warn=False)


@edit("mute a step of the plan", gesture="button")
def mute_step(context: RenderContext, state: State, step: Count, on: YesOrNo = True) -> State:
    """Mutes a step of the plan: it keeps its place, but has no effect until it is unmuted.

    Args:
        step: the number of the step, from 0.
        on: false to unmute the step.
    """
    plan = context.draft(state)
    text = unwrap_muted(_step(plan, step, f"mute_step({step}, on={on})")).describe()
    state = state.replace(draft=plan.with_muted(step, on))
    return with_message(context, state, f"{'muted' if on else 'no longer muted'}: {text}", warn=False)


@look("list the arguments of a step of the plan", gesture="button")
def step_form(context: RenderContext, state: State, step: Count) -> tuple[State, list[page_types.Field]]:
    """Returns the arguments of a step of the plan that can be changed.

    Args:
        step: the number of the step, from 0.

    Returns:
        for each argument its ``name``, its ``label``, its ``value`` as text, and ``options`` if it has few values.
    """
    plan = context.draft(state)
    one = unwrap_muted(_step(plan, step, f"step_form({step})"))

    def choices(op: str, name: str) -> list[str]:
        graph = context.around(plan.after(), [op]).graph
        attributes = context.facts.attributes(graph.nodes[graph.index[op]]) if op in graph.index else ()
        return next((options for key, _, options in attributes if key == name), [])

    return state, form_of(one, choices)


@edit("edit the arguments of a step of the plan", gesture="button")
def edit_step(context: RenderContext, state: State, step: Count, values: FeedTexts) -> State:
    """Changes the arguments of a step of the plan. If its result is renamed, later steps use the new name.

    Args:
        step: the number of the step, from 0.
        values: name of an argument, as in `step_form` -> its new value as text; other arguments do not change.

    Raises:
        PlanError: if the step or the argument does not exist, or a value does not fit.
    """
    plan, request = context.draft(state), f"edit_step({step})"
    old = _step(plan, step, request)
    new, rename_pair = with_arguments(unwrap_muted(old), values, request)
    if isinstance(new, SetStep) and "attributes" in values:
        graph, (name, value) = context.around(plan.after(), new.ops).graph, new.attributes[0]
        for op in new.ops:
            if op in graph.index:
                context.facts.check_attribute(graph.types[graph.index[op]], op, name, value)
    if isinstance(new, InsertStep) and isinstance(new.op, str) and isinstance(new.name, str):
        context.facts.check_inserted(new.op, new.name)
    plan = plan.with_step(step, MutedStep(new) if isinstance(old, MutedStep) else new)
    if rename_pair is not None:
        there = replace(plan, steps=plan.steps[:step]).after().index
        later = later_steps(plan.steps[step + 1 :], rename_pair[0], scope_change(*rename_pair, there))
        plan = replace(plan, steps=(*plan.steps[: step + 1], *later))
    return with_message(context, state.replace(draft=plan), f"edited: {new.describe()}")


def _step(plan: Plan, step: int, request: str) -> Step:
    if not 0 <= step < len(plan.steps):
        raise PlanError(request, f"the plan has {counted(len(plan.steps), 'steps')}", "They are numbered from 0")
    return plan.steps[step]
