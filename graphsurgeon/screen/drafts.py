"""Drafts: the plan that is made on screen, by hand: its steps, its policies, and carrying it out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import LayoutError, PlanError
from ..graph.names import free_name, op_name, tensor_name
from ..plan.effect import Effect
from ..plan.plan import Plan
from ..words import counted
from .pane import keys_at
from .shown import receipt
from .stage import Stage
from .state import State


def copy(stage: Stage, state: State, to: str | None = None, unmapped: str = "placeholder") -> State:
    """Adds a copy of the region (or of what is selected) to the plan, under `to` or a free scope."""
    plan, region = stage.draft(state), stage.region(state)[0]
    chosen = stage.selection(state) if region is None else region
    if not chosen:
        raise PlanError("copy()", "there is nothing to copy", "Mark boundary tensors, or select boxes first")
    scope = to or free_name("copy", plan.after().taken)
    control = None if stage.same else "drop"
    values = stage.source if stage.source.values.known else None
    plan = plan.copy(chosen, to=scope, unmapped=unmapped, control=control, values=values)
    made = plan.effect.copies[-1:]
    more = sum(len(c.names) + len(c.placeholders) for c in made) - len(chosen)
    also = f", {more:,} more are also copied" if more > 0 else ""
    return planned(stage, state, plan, f"{counted(len(chosen), 'ops')} will be copied to {scope}/{also}")


def connect(stage: Stage, state: State, tensor: str, to: str, input: int = 0) -> State:
    """Adds a connection to the plan: input `input` of op `to` reads `tensor`."""
    text = f"{tensor_name(tensor)} will feed input {input} of {op_name(to)}"
    return edited(stage, state, stage.draft(state).connect(tensor, to=to, input=input), text)


def set_policy(stage: Stage, state: State, step: int, variable: str, policy: str) -> State:
    """Says what becomes of a variable in a copy of the plan; ``"*"`` means all that have no rule of their own.

    Args:
        step: which step of the plan, from 0.
        variable: its op in the source.
        policy: ``copy``, ``initial``, ``share`` or ``freeze``.
    """
    whom = "variables without a rule of their own" if variable == "*" else variable
    return planned(stage, state, stage.draft(state).with_policy(step, variable, policy), f"{whom}: {policy}")


def apply(stage: Stage, state: State) -> tuple[State, dict[str, Any]]:
    """Applies the plan: all of it or nothing."""
    plan = stage.draft(state)
    if not plan.steps:
        raise PlanError("apply()", "the plan is empty", "Copy a region or connect a tensor first")
    effect = stage.destination.apply(plan).effect
    shown = state.after or frozenset()
    said = receipt(effect)
    state = _at_copies(stage, state.but(draft=None, undone=(), applied=said), effect, shown)
    return state.saying(said), {"applied": said}


def _at_copies(stage: Stage, state: State, effect: Effect, shown: frozenset[str]) -> State:
    """Opens the source pane at what was copied into it, as the preview showed it, and selects it."""
    scopes = tuple(f"{c.step.to}/" for c in effect.copies if c.step.to)
    if not stage.same or not scopes:
        return state
    state = stage.settled(state)
    keys = keys_at(stage.tree_of(state, stage.expanded(stage.source)), scopes, shown)
    state = state.seen(selected=scopes)
    there = state.seen(unfolded=(state.view.unfolded or frozenset()) | keys)
    try:
        stage.draw(there, "source")
    except LayoutError:
        return state
    return there


def edited(stage: Stage, state: State, plan: Plan, text: str) -> State:
    """Returns the state with another plan, and says what will be, and whether the graph is built anew."""
    return planned(stage, state, plan, text + (", in a new graph" if plan.mode == "materialise" else ""))


def planned(stage: Stage, state: State, plan: Plan, text: str) -> State:
    """Returns the state with another plan, and says what it will do."""
    return told(stage, state.but(draft=plan, undone=(), applied=""), text)


def told(stage: Stage, state: State, text: str, warn: bool = True) -> State:
    """Returns the state with what its plan will do in the status line, or what is wrong with it."""
    plan = stage.draft(state)
    faults = plan.check()
    if faults:
        # a fault that the step did not bring does not hide what was done
        done = f"{text} · " if not warn or without_last(plan).check() else ""
        return state.saying(f"{done}{faults[0].asked}: {faults[0].wrong}", "error")
    warnings = plan.effect.warnings if warn else []
    more = warnings if len(warnings) < 2 else [counted(len(warnings), "warnings")]
    return state.saying(" · ".join([text, *more]), "warn" if warnings else "info")


def without_last(plan: Plan) -> Plan:
    """Returns a plan without its last step."""
    return replace(plan, steps=plan.steps[:-1])
