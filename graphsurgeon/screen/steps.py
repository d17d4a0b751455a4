"""Steps: the verbs that change one step of the plan: they remove, move, mute or edit it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import PlanError
from ..plan.plan import Plan
from ..plan.step_names import later_steps, scope_change
from ..plan.step_text import step_text
from ..plan.steps import InsertStep, MutedStep, SetStep, Step, bare
from ..words import counted
from .drafts import with_message
from .stage import Stage
from .state import State
from .step_form import form_of, with_arguments


def drop_step(stage: Stage, state: State, step: int) -> State:
    """Removes one step of the plan.

    Args:
        step: the number of the step, from 0.
    """
    plan = stage.draft(state)
    gone = _step(plan, step, f"drop_step({step})")
    return with_message(stage, state.but(draft=plan.with_step(step, None)), f"removed: {step_text(gone)}", warn=False)


def move_step(stage: Stage, state: State, step: int, before: int) -> State:
    """Moves a step of the plan before another one.

    Args:
        step: which step, from 0.
        before: the number of the next step, before the move; the number of steps for the end.

    Raises:
        PlanError: if the step does not exist, or the move would add an error to the plan.
    """
    plan, request = stage.draft(state), f"move_step({step}, {before})"
    moved = _step(plan, step, request)
    other = plan.with_step(step, moved, before)
    faults = other.check()
    if faults and not plan.check():
        raise PlanError(request, f"{step_text(moved)} cannot be there: {faults[0].problem}", "Move it to another place")
    return with_message(stage, state.but(draft=other), f"moved: {step_text(moved)}", warn=False)


def mute_step(stage: Stage, state: State, step: int, on: bool = True) -> State:
    """Mutes a step of the plan: it keeps its place, but has no effect until it is switched on again.

    Args:
        step: which step, from 0.
        on: false: the step has its effect again.
    """
    plan = stage.draft(state)
    text = step_text(bare(_step(plan, step, f"mute_step({step}, on={on})")))
    state = state.but(draft=plan.with_muted(step, on))
    return with_message(stage, state, f"{'muted' if on else 'no longer muted'}: {text}", warn=False)


def step_form(stage: Stage, state: State, step: int) -> tuple[State, list[dict[str, Any]]]:
    """Returns the arguments of a step of the plan that can be changed.

    Args:
        step: which step, from 0.

    Returns:
        for each its ``name``, its ``label``, its ``value`` as text, and its ``choices`` if these are few.
    """
    plan = stage.draft(state)
    one = bare(_step(plan, step, f"step_form({step})"))

    def choices(op: str, name: str) -> list[str]:
        graph = stage.around(plan.after(), [op]).graph
        held = stage.facts.attributes(graph.nodes[graph.index[op]]) if op in graph.index else ()
        return next((known for key, _, known in held if key == name), [])

    return state, form_of(one, choices)


def edit_step(stage: Stage, state: State, step: int, values: Mapping[str, str]) -> State:
    """Changes the arguments of a step of the plan; later steps follow if its result gets another name.

    Args:
        step: which step, from 0.
        values: texts by the names that `step_form` gives; other arguments stay.

    Raises:
        PlanError: if the step or the argument does not exist, or a value does not fit.
    """
    plan, request = stage.draft(state), f"edit_step({step})"
    old = _step(plan, step, request)
    new, made = with_arguments(bare(old), values, request)
    if isinstance(new, SetStep) and "attributes" in values:
        graph, (name, value) = stage.around(plan.after(), new.ops).graph, new.attributes[0]
        for op in new.ops:
            if op in graph.index:
                stage.facts.check_attribute(graph.types[graph.index[op]], op, name, value)
    if isinstance(new, InsertStep) and isinstance(new.op, str) and isinstance(new.name, str):
        stage.facts.check_inserted(new.op, new.name)
    plan = plan.with_step(step, MutedStep(new) if isinstance(old, MutedStep) else new)
    if made is not None:
        there = replace(plan, steps=plan.steps[:step]).after().index
        later = later_steps(plan.steps[step + 1 :], made[0], scope_change(*made, there))
        plan = replace(plan, steps=(*plan.steps[: step + 1], *later))
    return with_message(stage, state.but(draft=plan), f"edited: {step_text(new)}")


def _step(plan: Plan, step: int, request: str) -> Step:
    if not 0 <= step < len(plan.steps):
        raise PlanError(request, f"the plan has {counted(len(plan.steps), 'steps')}", "They are numbered from 0")
    return plan.steps[step]
