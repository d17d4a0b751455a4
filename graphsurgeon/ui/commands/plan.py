"""Commands that build the plan of a screen and apply it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import LayoutError, PlanError, counted
from ...graph.graph import TensorInfo
from ...graph.names import free_name, op_name, tensor_name
from ...plan.plan import Plan
from ...plan.plan_result import PlanResult
from ...plan.steps.copy import CopyStep
from ...view import page_types
from ..page_data import receipt
from ..pane import keys_above_ops, keys_at
from ..render_context import RenderContext
from ..state import State
from .specs import (
    Anything,
    ControlPolicy,
    Count,
    NameOrNone,
    Names,
    Policy,
    ScopeName,
    Text,
    Unmapped,
    edit,
    parse_literal,
)


@edit("copy the region or the selection", gesture="menu")
def copy(
    context: RenderContext,
    state: State,
    to: NameOrNone = None,
    unmapped: Unmapped = "placeholder",
    control: ControlPolicy = "auto",
) -> State:
    """Adds a copy of the region (or of the selection) to the plan, under `to` or a free scope.

    Args:
        to: the scope of the copy. Default: a free one.
        unmapped: the rule for boundary inputs without a source, the same as in `Plan.copy`.
        control: the rule for control inputs from outside, the same as in `Plan.copy`. With ``auto``, a copy within one
            graph keeps them, and a copy to another graph drops them.
    """
    plan, region = context.draft(state), context.region(state)[0]
    selection = context.selection(state) if region is None else region
    if not selection:
        raise PlanError("copy()", "there is nothing to copy", "Mark boundary tensors, or select boxes first")
    scope = to or free_name("copy", plan.after().is_name_used)
    if control == "auto":
        control = "keep" if context.is_single_graph else "drop"
    values = context.source if context.source.values.has_values else None
    plan = plan.copy(selection, to=scope, unmapped=unmapped, control=control, values=values)
    return with_plan(context, state, plan, _copy_text(plan, scope, len(selection)))


def _copy_text(plan: Plan, scope: str, count: int) -> str:
    """Returns a text about the last copy of a plan, with the number of new ops and its parts."""
    if not plan.effect.copies:
        return f"{counted(count, 'ops')} will be copied to {scope}/"
    copied = plan.effect.copies[-1]
    along = int((~copied.step.selection.mask[copied.ops]).sum())
    parts = [f"{counted(along, 'ops')} that they need"] if along else []
    parts += [counted(len(copied.placeholders), "placeholders")] if copied.placeholders else []
    text = f"{counted(len(copied.names) - along, 'ops')} will be copied to {scope}/"
    new_ops_text = counted(len(copied.names) + len(copied.placeholders), "new ops")
    return text + (f", plus {' and '.join(parts)}: {new_ops_text}" if parts else "")


@edit("connect a tensor to an input of an op", gesture="drag from a port or an edge to a box")
def connect(context: RenderContext, state: State, tensor: Text, to: Text, input: Count = 0) -> State:
    """Adds a connection to the plan: input `input` of op `to` reads `tensor`.

    Args:
        tensor: the name of the tensor, in the destination.
        to: the name of the op that should read it.
        input: the number of its input.
    """
    draft, name, op = context.draft(state), tensor_name(tensor), op_name(to)
    plan, graph = draft.connect(tensor, to=to, input=input), context.around(draft.after(), [to]).graph
    if op in graph.index and graph.input_names(graph.index[op])[input : input + 1] == [name]:
        return state.with_status(f"{name} already feeds input {input} of {op}", "warn")
    return with_edit(context, state, plan, f"{name} will feed input {input} of {op}")


@edit("connect a tensor to an input through an adapter", gesture="drop it on an input that it does not fit")
def adapt(context: RenderContext, state: State, tensor: Text, to: Text, input: Count = 0, kinds: Names = ()) -> State:
    """Connects a tensor through adapters that make it fit.

    Args:
        tensor: the tensor.
        to: the new consumer. Or a tensor, or an op without inputs: its consumers will read the tensor instead.
        input: the number of the input of the new consumer.
        kinds: the kinds of adapters, as for `Plan.adapt`; default: the best fit.
    """
    plan, op = context.draft(state), op_name(to)
    graph = context.around(plan.after(), [to]).graph
    reads = ":" not in to and op in graph.index and len(graph.data.row(graph.index[op]))
    plan = plan.adapt(tensor, to=to if ":" in to else op, input=input if reads else None, kinds=kinds)
    return with_edit(context, state, plan, plan.steps[-1].describe())


@edit("fix an error with an adapter", gesture="button")
def apply_fix(context: RenderContext, state: State, fault: Count, fix: Count = 0) -> State:
    """Fixes an error of the plan: an adapter replaces the step that has the error.

    Args:
        fault: the number of the error, from 0.
        fix: the number of the fix; 0 is the best one.

    Raises:
        PlanError: if the error or the fix does not exist.
    """
    plan = context.draft(state)
    faults, request = plan.check() if plan.steps else (), f"apply_fix({fault}, {fix})"
    if fault >= len(faults):
        raise PlanError(request, f"the plan has {counted(len(faults), 'errors')}", "They are numbered from 0")
    fixes = faults[fault].fixes
    if fix >= len(fixes):
        raise PlanError(request, f"this error has {counted(len(fixes), 'fixes')}", faults[fault].suggestion)
    return with_edit(context, state, plan.with_fix(fixes[fix]), fixes[fix].text)


@edit("set the policy of a variable in a copy", gesture="tab Variables")
def set_policy(context: RenderContext, state: State, step: Count, variable: Text, policy: Policy) -> State:
    """Sets the policy of a variable in a copy of the plan; ``"*"`` means all variables without a separate policy.

    Args:
        step: the number of the step, from 0.
        variable: the name of its op in the source.
        policy: ``copy``, ``initial``, ``share`` or ``freeze``.
    """
    whom = "other variables" if variable == "*" else variable
    return with_plan(context, state, context.draft(state).with_policy(step, variable, policy), f"{whom}: {policy}")


@edit("set the source of an input of a copy", gesture="tab Mapping")
def set_input(context: RenderContext, state: State, step: Count, tensor: Text, replacement: Anything) -> State:
    """Sets the source of an input of a copy of the plan.

    Args:
        step: the number of the step, from 0.
        tensor: the boundary input, a tensor of the source.
        replacement: a tensor of the destination; ``placeholder``; ``keep``, for the original tensor; or a number or
            array, also as a string, for a constant. A single number fills the shape of the tensor, if it is known.
    """
    plan = context.draft(state)
    value = parse_literal(replacement)
    if not isinstance(value, str):
        old_step = plan.steps[step] if 0 <= step < len(plan.steps) else None
        graph = old_step.selection.graph if isinstance(old_step, CopyStep) else plan.base
        value, replacement = (
            constant_like(graph.info(*graph.tensor(tensor_name(tensor), f"set_input({tensor!r})")), value),
            "a constant",
        )
    name = tensor_name(tensor)
    message = {
        "placeholder": f"{name} of the copy is fed by a placeholder",
        "keep": f"the copy reads the original {name}",
    }.get(replacement, f"{name} of the copy is fed by {replacement}")
    new_plan = plan.with_input(step, tensor, value)
    if isinstance(value, str) and _inputs_of(plan, step, name) == _inputs_of(new_plan, step, name):
        return state.with_status(f"{message} already", "warn")
    return with_edit(context, state, new_plan, message)


def _inputs_of(plan: Plan, step: int, tensor: str) -> tuple[dict[str, str], set[str]]:
    """Returns the sources of the inputs of a copy, with that of `tensor` if it is kept, and the constant inputs."""
    copy_step = plan.steps[step]
    assert isinstance(copy_step, CopyStep)
    kept = {tensor: tensor} if copy_step.unmapped == "keep" else {}
    return kept | dict(copy_step.inputs), {name for name, _ in copy_step.constants}


def constant_like(info: TensorInfo | None, value: Any) -> Any:
    """Returns a value as an array with the dtype of a tensor. A single number also gets its shape.

    Example:
        >>> constant_like(TensorInfo("float32", (2,)), 3).tolist(), constant_like(None, [1]).tolist()
        ([3.0, 3.0], [1])
    """
    try:
        array = np.asarray(value, None if info is None else info.dtype.removesuffix("_ref"))
    except (TypeError, ValueError):  # the check of the plan reports it
        array = np.asarray(value)
    whole = array.ndim == 0 and info is not None and info.shape is not None and None not in info.shape
    return np.full(info.shape, array) if whole and info is not None and info.shape is not None else array


@edit("set the scope of a copy", gesture="tab Mapping")
def set_scope(context: RenderContext, state: State, step: Count, to: ScopeName) -> State:
    """Sets the scope of a copy of the plan.

    Args:
        step: the number of the step, from 0.
        to: the new scope.
    """
    plan = context.draft(state).with_scope(step, to)
    return with_plan(context, state, plan, f"the copy will be under {to.strip('/')}/")


@edit("apply the plan", gesture="button")
def apply(context: RenderContext, state: State) -> tuple[State, page_types.Applied]:
    """Applies the plan completely, or not at all."""
    plan = context.draft(state)
    if not plan.steps:
        raise PlanError("apply()", "the plan is empty", "Copy a region or connect a tensor first")
    effect = context.destination.apply(plan).effect
    unfolded = state.after or frozenset()
    message = receipt(effect)
    state = _at_new_ops(context, state.replace(draft=None, undo_entries=(), redo_entries=()), effect, unfolded)
    return state.with_status(message), {"applied": message}


def _at_new_ops(context: RenderContext, state: State, effect: PlanResult, open_folds: frozenset[str]) -> State:
    """Unfolds the new copies in the source pane the same way as in the preview, selects them, and shows new ops."""
    scopes = tuple(f"{c.step.to}/" for c in effect.copies if c.step.to)
    if not context.is_single_graph or not (scopes or effect.added):
        return state
    state = context.current_state(state)
    tree = context.tree_of(state, context.expanded(context.source))
    keys = keys_at(tree, scopes, open_folds) | open_folds & keys_above_ops(tree, effect.added)
    state = state.with_view(selected=scopes) if scopes else state
    there = state.with_view(unfolded=(state.view.unfolded or frozenset()) | keys)
    try:
        context.draw(there, "source")
    except LayoutError:
        return state
    return there


def with_edit(context: RenderContext, state: State, plan: Plan, text: str) -> State:
    """Returns the state with another plan and a message. The message mentions if the graph will be built anew."""
    return with_plan(context, state, plan, text + (", in a new graph" if plan.mode == "materialize" else ""))


def with_plan(context: RenderContext, state: State, plan: Plan, text: str) -> State:
    """Returns the state with another plan, and a message about its effect."""
    return with_message(context, state.replace(draft=plan), text)


def with_message(context: RenderContext, state: State, text: str, warn: bool = True) -> State:
    """Returns the state with a message and the warnings of its plan, or its first error, in the status line."""
    plan = context.draft(state)
    faults = plan.check()
    if faults:
        # if an earlier step has the error, the effect of this step is shown too
        prefix = f"{text} · " if not warn or without_last(plan).check() else ""
        return state.with_status(f"{prefix}{faults[0].request}: {faults[0].problem}", "error")
    warnings = plan.effect.warnings if warn else []
    more = warnings if len(warnings) < 2 else [counted(len(warnings), "warnings")]
    return state.with_status(" · ".join([text, *more]), "warn" if warnings else "info")


def without_last(plan: Plan) -> Plan:
    """Returns a plan without its last step."""
    return replace(plan, steps=plan.steps[:-1])
