"""Commands that undo and redo steps, marks, selections and applied plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...errors import PlanError, few
from ...plan.step_code import steps_text
from ...plan.steps import Step
from ..page_data import receipt
from ..stage import Stage
from ..state import State, UndoEntry
from .plan import with_message

#: Verbs that restore an earlier state.
_RESTORING = frozenset({"back", "forward", "redo", "stand", "undo"})


def with_undo_entry(stage: Stage, old_state: State, after: State, verb: str) -> State:
    """Returns the state after a verb, with an entry for undo.

    Undone actions can still be redone after a selection, but not after another mark or step.

    Args:
        stage: the graphs.
        old_state, after: the states before and after the verb.
        verb: the name of the verb.
    """
    if verb in _RESTORING:
        return after.replace(restored=old_state.restored + 1)
    if verb == "apply" or not (changed_parts := _changed_parts(old_state, after)):
        return after
    past = (*after.past, _undo_entry(stage, old_state))
    return after.replace(past=past, undone=after.undone if changed_parts == {"selected"} else ())


def undo(stage: Stage, state: State) -> State:
    """Undoes the last action: a step of the plan, a mark, a selection, or an applied plan."""
    if not state.past or _last_applied_number(stage) > state.past[-1].applied:
        event = stage.destination.undo()
        return state.replace(undone=(*undone(state), event)).with_status(f"undone: {event.text}")
    now = _back(stage, state, state.past[-1]).replace(
        past=state.past[:-1], undone=(*state.undone, _undo_entry(stage, state))
    )
    return with_message(stage, now, f"undone: {_difference(now, state)}", warn=False)


def redo(stage: Stage, state: State) -> State:
    """Redoes the last undone action: a step of the plan, a mark, a selection, or an applied plan."""
    redo_entries = undone(state)
    if redo_entries and isinstance(redo_entries[-1], UndoEntry):
        now = _back(stage, state, redo_entries[-1]).replace(
            past=(*state.past, _undo_entry(stage, state)), undone=redo_entries[:-1]
        )
        return with_message(stage, now, f"redone: {_difference(state, now)}", warn=False)
    if not redo_entries and stage.draft(state).steps:
        raise PlanError("redo()", "no step of this plan was undone", "Apply the plan or undo its steps first")
    event = stage.destination.redo()
    return state.replace(undone=redo_entries[:-1]).with_status(f"redone: {event.text}")


def stand(stage: Stage, state: State, step: int) -> State:
    """Shows the graph as it was after a step of the history. Later steps stay in the history.

    Args:
        step: the number of the step; 0: the graph as it was opened.

    Raises:
        PlanError: if the history does not have the step.
    """
    descriptions = {0: "as it was opened", **{one["step"]: f"after {one['text']}" for one in history_data(stage)}}
    if step not in descriptions:
        there = ", ".join(map(str, sorted(descriptions)))
        raise PlanError(f"stand({step})", "the history has no such step", f"Choose one of {there}")
    redo_entries = undone(state)
    while _last_applied_number(stage) > step:
        redo_entries = (*redo_entries, stage.destination.undo())
    while _last_applied_number(stage) < step:
        stage.destination.redo()
    return state.replace(undone=redo_entries).with_status(f"the graph {descriptions[step]}")


def history_data(stage: Stage) -> list[dict[str, Any]]:
    """Returns the steps of the history that can be shown; ``ahead`` is true for undone steps."""
    events = [event for event in stage.destination.history if not event.dropped]
    return [{"step": event.number, "text": event.text, "ahead": event.undone} for event in events]


def undo_data(stage: Stage, state: State) -> dict[str, int]:
    """Returns how many actions, with applied plans, can be undone and redone, and how often a state was restored."""
    undone_flags, redo_count = [event.undone for event in stage.destination.history], len(undone(state))
    again = int(undone_flags[-1:] == [True] and not stage.draft(state).steps)
    return {
        "undo": len(state.past) + undone_flags.count(False),
        "redo": redo_count or again,
        "restored": state.restored,
    }


def last_applied(stage: Stage) -> str:
    """Returns the effect of the last applied plan that is not undone, in one line; empty without one."""
    events = [event for event in stage.destination.history if not event.undone]
    return receipt(events[-1].applied.effect) if events and events[-1].applied is not None else ""


def undone(state: State) -> tuple[Any, ...]:
    """Returns the actions undone here, oldest first, without those that code has redone or dropped since."""
    return tuple(one for one in state.undone if isinstance(one, UndoEntry) or (one.undone and not one.dropped))


def _undo_entry(stage: Stage, state: State) -> UndoEntry:
    """Returns the undo entry of a state. The plan is stored without its computed effect."""
    draft = None if state.draft is None else replace(state.draft)
    return UndoEntry(draft, state.marks, state.view.selected, _last_applied_number(stage))


def _last_applied_number(stage: Stage) -> int:
    """Returns the number of the last applied plan that is not undone."""
    return max((event.number for event in stage.destination.history if not event.undone), default=0)


def _back(stage: Stage, state: State, was: UndoEntry) -> State:
    """Returns the state of an undo entry; removed boxes are not selected."""
    return stage.prune_selection(state.replace(draft=was.draft, marks=was.marks).with_view(selected=was.selected))


def _steps(state: State) -> tuple[Step, ...]:
    return () if state.draft is None else state.draft.steps


def _changed_parts(a: State, b: State) -> set[str]:
    """Returns which of plan, marks and selection differ between two states."""
    parts = {"marks"} if a.marks != b.marks else set[str]()
    parts |= {"selected"} if a.view.selected != b.view.selected else set()
    return parts | ({"draft"} if [*map(id, _steps(a))] != [*map(id, _steps(b))] else set())


def _difference(a: State, b: State) -> str:
    """Returns the action between two states, in words."""
    changed_parts = _changed_parts(a, b)
    if "draft" in changed_parts:
        old, new = (dict(zip(map(id, steps), steps, strict=True)) for steps in (_steps(a), _steps(b)))
        step_list = [new[key] for key in new if key not in old] or [old[key] for key in old if key not in new]
        return steps_text(step_list) if step_list else "the order of the steps"
    if "marks" in changed_parts:
        before, now = ({*m.inputs, *m.outputs, *m.included} for m in (a.marks, b.marks))
        return f"the marks of {few(sorted(before ^ now or now))}"
    return f"select {few(b.view.selected)}" if b.view.selected else "select nothing"
