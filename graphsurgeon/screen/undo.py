"""Undo and redo of changes to the plan, the marks and the selection, in that order; and of applied plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import PlanError
from ..plan.step_text import steps_text
from ..plan.steps import Step
from ..words import few
from .drafts import with_message
from .shown import receipt
from .stage import Stage
from .state import State, Was

#: Verbs that restore an earlier state.
_RESTORING = frozenset({"back", "forward", "redo", "stand", "undo"})


def remembered(stage: Stage, before: State, after: State, verb: str) -> State:
    """Returns the state after a verb, with the data that undo needs.

    Undone actions can be redone after a selection, but not after another mark or step.

    Args:
        stage: the graphs.
        before, after: the state then and now.
        verb: its name.
    """
    if verb in _RESTORING:
        return after.but(restored=before.restored + 1)
    if verb == "apply" or not (changed := _changed(before, after)):
        return after
    past = (*after.past, _was(stage, before))
    return after.but(past=past, undone=after.undone if changed == {"selected"} else ())


def undo(stage: Stage, state: State) -> State:
    """Undoes the last action: a step of the plan, a mark, a selection, or an applied plan."""
    if not state.past or _applied(stage) > state.past[-1].applied:
        event = stage.destination.undo()
        return state.but(undone=(*undone(state), event)).saying(f"undone: {event.text}")
    now = _back(stage, state, state.past[-1]).but(past=state.past[:-1], undone=(*state.undone, _was(stage, state)))
    return with_message(stage, now, f"undone: {_difference(now, state)}", warn=False)


def redo(stage: Stage, state: State) -> State:
    """Redoes the last undone action: a step of the plan, a mark, a selection, or an applied plan."""
    left = undone(state)
    if left and isinstance(left[-1], Was):
        now = _back(stage, state, left[-1]).but(past=(*state.past, _was(stage, state)), undone=left[:-1])
        return with_message(stage, now, f"redone: {_difference(state, now)}", warn=False)
    if not left and stage.draft(state).steps:
        raise PlanError("redo()", "no step of this plan was undone", "Apply the plan or undo its steps first")
    event = stage.destination.redo()
    return state.but(undone=left[:-1]).saying(f"redone: {event.text}")


def stand(stage: Stage, state: State, step: int) -> State:
    """Shows the graph as it was after a step of the history. Later steps stay in the history.

    Args:
        step: the number of the step; 0: the graph as it was opened.

    Raises:
        PlanError: if the history does not have the step.
    """
    known = {0: "as it was opened", **{one["step"]: f"after {one['text']}" for one in history_shown(stage)}}
    if step not in known:
        there = ", ".join(map(str, sorted(known)))
        raise PlanError(f"stand({step})", "the history has no such step", f"Choose one of {there}")
    taken = undone(state)
    while _applied(stage) > step:
        taken = (*taken, stage.destination.undo())
    while _applied(stage) < step:
        stage.destination.redo()
    return state.but(undone=taken).saying(f"the graph {known[step]}")


def history_shown(stage: Stage) -> list[dict[str, Any]]:
    """Returns the steps of the history that can be shown, and which of them are ahead of the current graph."""
    events = [event for event in stage.destination.history if not event.dropped]
    return [{"step": event.number, "text": event.text, "ahead": event.undone} for event in events]


def undo_shown(stage: Stage, state: State) -> dict[str, int]:
    """Returns the number of actions that undo and redo have left, with applied plans, and how often they ran."""
    gone, left = [event.undone for event in stage.destination.history], len(undone(state))
    again = int(gone[-1:] == [True] and not stage.draft(state).steps)
    return {"undo": len(state.past) + gone.count(False), "redo": left or again, "restored": state.restored}


def last_applied(stage: Stage) -> str:
    """Returns the effect of the last applied plan that is not undone, in one line; empty without one."""
    done = [event for event in stage.destination.history if not event.undone]
    return receipt(done[-1].applied.effect) if done and done[-1].applied is not None else ""


def undone(state: State) -> tuple[Any, ...]:
    """Returns the actions undone here, oldest first, without those that code has redone or dropped since."""
    return tuple(one for one in state.undone if isinstance(one, Was) or (one.undone and not one.dropped))


def _was(stage: Stage, state: State) -> Was:
    """The data of a state for undo; the effect of its plan is computed again then."""
    draft = None if state.draft is None else replace(state.draft)
    return Was(draft, state.marks, state.view.selected, _applied(stage))


def _applied(stage: Stage) -> int:
    """The number of the plan that was applied last and not undone."""
    return max((event.number for event in stage.destination.history if not event.undone), default=0)


def _back(stage: Stage, state: State, was: Was) -> State:
    """The state as it was then; removed boxes are not selected."""
    return stage.there(state.but(draft=was.draft, marks=was.marks).seen(selected=was.selected))


def _steps(state: State) -> tuple[Step, ...]:
    return () if state.draft is None else state.draft.steps


def _changed(a: State, b: State) -> set[str]:
    """Which of plan, marks and selection are not the same in two states."""
    found = {"marks"} if a.marks != b.marks else set[str]()
    found |= {"selected"} if a.view.selected != b.view.selected else set()
    return found | ({"draft"} if [*map(id, _steps(a))] != [*map(id, _steps(b))] else set())


def _difference(a: State, b: State) -> str:
    """The action between two states, in words."""
    changed = _changed(a, b)
    if "draft" in changed:
        old, new = (dict(zip(map(id, steps), steps, strict=True)) for steps in (_steps(a), _steps(b)))
        made = [new[key] for key in new if key not in old] or [old[key] for key in old if key not in new]
        return steps_text(made) if made else "the order of the steps"
    if "marks" in changed:
        before, now = ({*m.inputs, *m.outputs, *m.included} for m in (a.marks, b.marks))
        return f"the marks of {few(sorted(before ^ now or now))}"
    return f"select {few(b.view.selected)}" if b.view.selected else "select nothing"
