"""Undo and redo: steps of the plan that is made on screen, and plans that were applied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import PlanError
from ..plan.step_text import step_text
from .drafts import told, without_last
from .stage import Stage
from .state import State


def undo(stage: Stage, state: State) -> State:
    """Takes back the last step of the plan; with an empty plan, the last applied plan."""
    plan = stage.draft(state)
    if not plan.steps:
        event = stage.destination.undo()
        return state.but(undone=(*undone(state), event), applied="").saying(f"undone: {event.text}")
    last = plan.steps[-1]
    state = state.but(draft=without_last(plan), undone=(*state.undone, last))
    return told(stage, state, f"taken back: {step_text(last)}", warn=False)


def redo(stage: Stage, state: State) -> State:
    """Does again what was undone last: a step of the plan, or an applied plan."""
    left, plan = undone(state), stage.draft(state)
    if left and not _is_event(left[-1]):
        step = left[-1]
        state = state.but(draft=replace(plan, steps=(*plan.steps, step)), undone=left[:-1])
        return told(stage, state, f"done again: {step_text(step)}", warn=False)
    if not left and plan.steps:
        raise PlanError("redo()", "no step of this plan was taken back", "Apply the plan, or take its steps back")
    event = stage.destination.redo()
    return state.but(undone=left[:-1]).saying(f"done again: {event.text}")


def undone(state: State) -> tuple[Any, ...]:
    """Returns what was taken back here, oldest first, without what code has done again or given up since."""
    return tuple(u for u in state.undone if not _is_event(u) or (u.undone and not u.dropped))


def _is_event(thing: Any) -> bool:
    """Whether something taken back was a whole plan, an event of the history, and not one step of the draft."""
    return hasattr(thing, "applied")
