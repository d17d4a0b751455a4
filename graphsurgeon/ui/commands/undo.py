"""Commands that undo and redo steps, marks, selections and applied plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...errors import PlanError, few
from ...plan.steps.base import Step, steps_text
from ...view import page_types
from ..page_data import receipt
from ..render_context import RenderContext
from ..state import State, UndoEntry
from .plan import with_message
from .specs import Count, edit

#: Verbs that restore an earlier state.
_RESTORING = frozenset({"back", "forward", "go_to_step", "redo", "undo"})


def with_undo_entry(context: RenderContext, old_state: State, after: State, verb: str) -> State:
    """Returns the state after a verb, with an entry for undo.

    Undone actions can still be redone after a selection, but not after another mark or step.

    Args:
        context: the graphs.
        old_state, after: the states before and after the verb.
        verb: the name of the verb.
    """
    if verb in _RESTORING:
        return after.replace(restored=old_state.restored + 1)
    if verb == "apply" or not (changed_parts := _changed_parts(old_state, after)):
        return after
    past = (*after.undo_entries, _undo_entry(context, old_state))
    return after.replace(undo_entries=past, redo_entries=after.redo_entries if changed_parts == {"selected"} else ())


@edit("undo a step, mark or selection, or the last applied plan", gesture="button")
def undo(context: RenderContext, state: State) -> State:
    """Undoes the last action: a step of the plan, a mark, a selection, or an applied plan."""
    if not state.undo_entries or _last_applied_number(context) > state.undo_entries[-1].applied_count:
        event = context.destination.undo()
        return state.replace(redo_entries=(*undone(state), event)).with_status(f"undone: {event.text}")
    now = _back(context, state, state.undo_entries[-1]).replace(
        undo_entries=state.undo_entries[:-1], redo_entries=(*state.redo_entries, _undo_entry(context, state))
    )
    return with_message(context, now, f"undone: {_difference(now, state)}", warn=False)


@edit("redo the last undone action", gesture="button")
def redo(context: RenderContext, state: State) -> State:
    """Redoes the last undone action: a step of the plan, a mark, a selection, or an applied plan."""
    redo_entries = undone(state)
    if redo_entries and isinstance(redo_entries[-1], UndoEntry):
        now = _back(context, state, redo_entries[-1]).replace(
            undo_entries=(*state.undo_entries, _undo_entry(context, state)), redo_entries=redo_entries[:-1]
        )
        return with_message(context, now, f"redone: {_difference(state, now)}", warn=False)
    if not redo_entries and context.draft(state).steps:
        raise PlanError("redo()", "no step of this plan was undone", "Apply the plan or undo its steps first")
    event = context.destination.redo()
    return state.replace(redo_entries=redo_entries[:-1]).with_status(f"redone: {event.text}")


@edit("show the graph after a step of the history", gesture="button")
def go_to_step(context: RenderContext, state: State, step: Count) -> State:
    """Shows the graph as it was after a step of the history. Later steps stay in the history.

    Args:
        step: the number of the step; 0: the graph as it was opened.

    Raises:
        PlanError: if the history does not have the step.
    """
    descriptions = {0: "as it was opened", **{one["step"]: f"after {one['text']}" for one in history_data(context)}}
    if step not in descriptions:
        there = ", ".join(map(str, sorted(descriptions)))
        raise PlanError(f"go_to_step({step})", "the history has no such step", f"Choose one of {there}")
    redo_entries = undone(state)
    while _last_applied_number(context) > step:
        redo_entries = (*redo_entries, context.destination.undo())
    while _last_applied_number(context) < step:
        context.destination.redo()
    return state.replace(redo_entries=redo_entries).with_status(f"the graph {descriptions[step]}")


def history_data(context: RenderContext) -> list[page_types.Event]:
    """Returns the steps of the history that can be shown; ``ahead`` is true for undone steps."""
    events = [event for event in context.destination.history if not event.discarded]
    return [{"step": event.number, "text": event.text, "ahead": event.undone} for event in events]


def undo_data(context: RenderContext, state: State) -> page_types.UndoCounts:
    """Returns how many actions, with applied plans, can be undone and redone, and how often a state was restored."""
    undone_flags, redo_count = [event.undone for event in context.destination.history], len(undone(state))
    again = int(undone_flags[-1:] == [True] and not context.draft(state).steps)
    return {
        "undo": len(state.undo_entries) + undone_flags.count(False),
        "redo": redo_count or again,
        "restored": state.restored,
    }


def last_applied(context: RenderContext) -> str:
    """Returns the effect of the last applied plan that is not undone, in one line; empty without one."""
    events = [event for event in context.destination.history if not event.undone]
    return receipt(events[-1].result.effect) if events and events[-1].result is not None else ""


def undone(state: State) -> tuple[Any, ...]:
    """Returns the actions undone here, oldest first, without those that code has redone or dropped since."""
    return tuple(one for one in state.redo_entries if isinstance(one, UndoEntry) or (one.undone and not one.discarded))


def _undo_entry(context: RenderContext, state: State) -> UndoEntry:
    """Returns the undo entry of a state. The plan is stored without its computed effect."""
    draft = None if state.draft is None else replace(state.draft)
    return UndoEntry(draft, state.marks, state.view.selected, _last_applied_number(context))


def _last_applied_number(context: RenderContext) -> int:
    """Returns the number of the last applied plan that is not undone."""
    return max((event.number for event in context.destination.history if not event.undone), default=0)


def _back(context: RenderContext, state: State, was: UndoEntry) -> State:
    """Returns the state of an undo entry; removed boxes are not selected."""
    return context.prune_selection(state.replace(draft=was.draft, marks=was.marks).with_view(selected=was.selected))


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
        added, removed = [new[key] for key in new if key not in old], [old[key] for key in old if key not in new]
        if not added and not removed:
            return "the order of the steps"
        return "the change of a step: " * (len(added) == len(removed)) + steps_text(added or removed)
    if "marks" in changed_parts:
        before, now = ({*m.inputs, *m.outputs, *m.included} for m in (a.marks, b.marks))
        return f"the marks of {few(sorted(before ^ now or now))}"
    return f"select {few(b.view.selected)}" if b.view.selected else "select nothing"
