"""Drafting: the plan that is made on screen, by hand: its steps, its policies, and carrying it out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.naming import free_scope
from ..core.plan import CopyStep, Plan, op_name, tensor_name
from ..errors import LayoutError, PlanError, SelectionError, SurgeryError
from ..view.asides import counted
from .pane import keys_at
from .shown import receipt

if TYPE_CHECKING:
    from ..core.effect import Effect
    from ..core.graph import Graph
    from ..core.selection import Selection
    from ..editor import Editor
    from ..view.tree import Tree
    from .marks import Marks
    from .pane import Pane


class Drafting:
    """The part of a `Screen` that is about the plan being made."""

    source: Editor
    destination: Editor
    _panes: dict[str, Pane]
    _picked: tuple[str, ...]
    _marks: Marks
    _region: Selection | None
    _problem: str
    _draft: Plan | None
    _redo: list[Any]
    _applied: str

    if TYPE_CHECKING:

        def _tree_of(self, graph: Graph) -> Tree: ...

        @property
        def same(self) -> bool:
            """Whether source and destination are one graph."""

        @property
        def region(self) -> Selection | None:
            """The ops between the marks."""

        @property
        def selection(self) -> Selection:
            """What is picked."""

        @property
        def draft(self) -> Plan:
            """The plan being made."""

        @property
        def unfolded(self) -> frozenset[str]:
            """What is unfolded in the source pane."""

        def _say(self, text: str, level: str = "info") -> None: ...

        def _draw(self, pane: str) -> dict[str, Any]: ...

    def copy(self, to: str | None = None, unmapped: str = "placeholder") -> None:
        """Adds a copy of the region (or of what is picked) to the plan, under `to` or a free scope."""
        chosen = self.selection if self.region is None else self.region
        if not chosen.count:
            raise PlanError("copy()", "there is nothing to copy", "Mark boundary tensors, or pick boxes first")
        scope = to or free_scope(self.draft.after(), "copy")
        control = None if self.same else "drop"
        values = self.source if self.source._values is not None or self.source._session is not None else None
        self._set(self.draft.copy(chosen, to=scope, unmapped=unmapped, control=control, values=values))
        made = self.draft.effect.copies[-1:]
        more = sum(len(c.names) + len(c.placeholders) for c in made) - chosen.count
        along = f", {more:,} more come along" if more > 0 else ""
        self._say_plan(f"{counted(chosen.count, 'ops')} will be copied to {scope}/{along}")

    def connect(self, tensor: Any, to: Any, input: int = 0) -> None:
        """Adds a connection to the plan: input `input` of op `to` reads `tensor`."""
        self._set(self.draft.connect(tensor, to=to, input=input))
        where = ", in a new graph" if self.draft.mode == "materialise" else ""
        self._say_plan(f"{tensor_name(tensor)} will feed input {input} of {op_name(to)}{where}")

    def set_policy(self, step: int, variable: str, policy: str) -> None:
        """Says what becomes of a variable in a copy of the plan; ``"*"`` means all that have no rule of their own.

        Args:
            step: which step of the plan, from 0.
            variable: its op in the source.
            policy: ``copy``, ``initial``, ``share`` or ``freeze``.
        """
        self._set(self.draft.with_policy(step, variable, policy))
        whom = "variables without a rule of their own" if variable == "*" else variable
        self._say_plan(f"{whom}: {policy}")

    def undo(self) -> None:
        """Takes back the last step of the plan; with an empty plan, the last applied plan."""
        if self.draft.steps:
            self._redo.append(self.draft.steps[-1])
            self._draft = replace(self.draft, steps=self.draft.steps[:-1])
            self._say_plan(f"taken back: {self._redo[-1].text}", warn=False)
        else:
            event = self.destination.undo()
            self._redo, self._applied = [*self._undone(), event], ""
            self._say(f"undone: {event.text}")

    def redo(self) -> None:
        """Does again what was undone last: a step of the plan, or an applied plan."""
        undone = self._redo = self._undone()
        if undone and not _applied(undone[-1]):
            step = undone.pop()
            self._draft = replace(self.draft, steps=(*self.draft.steps, step))
            self._say_plan(f"done again: {step.text}", warn=False)
        elif undone or not self.draft.steps:
            event = self.destination.redo()
            self._redo = undone[:-1]
            self._say(f"done again: {event.text}")
        else:
            raise PlanError("redo()", "no step of this plan was taken back", "Apply the plan, or take its steps back")

    def _undone(self) -> list[Any]:
        """What was taken back here, oldest first, without what code has done again or given up since."""
        return [u for u in self._redo if not _applied(u) or (u.undone and not u.dropped)]

    def apply(self) -> dict[str, Any]:
        """Applies the plan: all of it or nothing."""
        if not self.draft.steps:
            raise PlanError("apply()", "the plan is empty", "Copy a region or connect a tensor first")
        plan, shown, self._draft = self.draft, self._panes["destination"].unfolded, None
        try:
            done = self.destination.apply(plan)
        except SurgeryError:
            self._draft = plan
            raise
        self._redo = []
        self._applied = receipt(done.effect)
        self._go_to_copies(done.effect, shown or frozenset())
        self._region, self._problem = self._marks.region(self.source)
        self._say(self._applied)
        return {"applied": self._applied}

    def _go_to_copies(self, effect: Effect, shown: frozenset[str]) -> None:
        """Opens the source pane at what was copied into it, as the preview showed it, and picks it."""
        scopes = tuple(f"{c.step.to}/" for c in effect.copies if c.step.to)
        if self.same and scopes:
            before = self.unfolded
            self._panes["source"].unfolded = before | keys_at(self._tree_of(self.source.snapshot), scopes, shown)
            self._picked = scopes
            try:
                self._draw("source")
            except LayoutError:
                self._panes["source"].unfolded = before

    def _set(self, plan: Plan) -> None:
        self._draft, self._redo, self._applied = plan, [], ""

    def _say_plan(self, text: str, warn: bool = True) -> None:
        faults = self.draft.check()
        if faults:
            # a fault that the step did not bring does not hide what was done
            done = f"{text} · " if not warn or replace(self.draft, steps=self.draft.steps[:-1]).check() else ""
            self._say(f"{done}{faults[0].asked}: {faults[0].wrong}", "error")
        else:
            mind = self.draft.effect.warnings if warn else []
            more = mind if len(mind) < 2 else [counted(len(mind), "warnings")]
            self._say(" · ".join([text, *more]), "warn" if mind else "info")


def _applied(undone: Any) -> bool:
    """Whether something taken back was a whole plan, an event of the history, and not one step of the draft."""
    return hasattr(undone, "applied")


def moved(step: Any, old: Graph, new: Graph, source: Graph) -> Any:
    """Returns a step of a plan as it is over the graphs that have taken the place of those it was made with.

    Args:
        step: of a plan over `old`.
        old, new: the destination, then and now.
        source: the graph that is copied from, now. What is copied is what has its names there, if all of that is.
    """
    if not isinstance(step, CopyStep):
        return step
    owner = step.selection.graph.owner
    there = new if owner is old.owner else source
    if owner is there.owner or not all(name in there.index for name in step.selection.names):
        return step
    try:
        return replace(step, selection=step.selection.moved(there))
    except SelectionError:
        return step
