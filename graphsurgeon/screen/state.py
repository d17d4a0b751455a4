"""State: all that a screen shows, as one value; each verb makes another of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..plan.plan import Plan
from ..view.helpers import Filters
from ..view.paint import Paint
from .marks import Marks
from .ran import MEASURES, Ran

BUDGET = 200
"""Boxes that read well in one picture."""


@dataclass(frozen=True)
class Place:
    """A visited place: the unfolded and the selected boxes, and the camera: x, y and scale, or nothing."""

    unfolded: frozenset[str]
    selected: tuple[str, ...] = ()
    at: tuple[float, ...] = ()

    def renamed(self, new: Callable[[str], str]) -> Place:
        """Returns the place where names are others."""
        return replace(self, unfolded=frozenset(map(new, self.unfolded)), selected=tuple(map(new, self.selected)))


@dataclass(frozen=True)
class View:
    """How the source pane shows its graph.

    Args:
        unfolded: fold keys that are open; None: those of a first picture.
        selected: names of boxes.
        rows: names of the open rows of the outline.
        back, forward: the visited places, and the places that `back` left.
    """

    unfolded: frozenset[str] | None = None
    selected: tuple[str, ...] = ()
    rows: frozenset[str] = frozenset()
    back: tuple[Place, ...] = ()
    forward: tuple[Place, ...] = ()

    @property
    def place(self) -> Place:
        """The current place."""
        return Place(self.unfolded or frozenset(), self.selected)

    def renamed(self, new: Callable[[str], str]) -> View:
        """Returns the view with other names."""
        return View(
            None if self.unfolded is None else frozenset(map(new, self.unfolded)),
            tuple(map(new, self.selected)),
            frozenset(map(new, self.rows)),
            tuple(place.renamed(new) for place in self.back),
            tuple(place.renamed(new) for place in self.forward),
        )


@dataclass(frozen=True)
class Status:
    """The status line: a text, and info, warn or error."""

    text: str = ""
    level: str = "info"


@dataclass(frozen=True, eq=False)
class Was:
    """The state that undo restores: the plan, the marks and the selection.

    Args:
        draft, marks, selected: as the state had them.
        applied: number of the plan that was applied last by then; 0: none was.
    """

    draft: Plan | None
    marks: Marks
    selected: tuple[str, ...]
    applied: int

    def renamed(self, new: Callable[[str], str]) -> Was:
        """Returns the same with other names of the source."""
        return replace(self, marks=self.marks.renamed(new), selected=tuple(map(new, self.selected)))


@dataclass(frozen=True, eq=False)
class State:
    """The state of a screen.

    Args:
        view: the source pane.
        views: saved views by name.
        after: fold keys that are open in the destination pane; None: those of a first picture.
        copies: scopes of copies that the destination pane has been opened for.
        marks: the boundary.
        draft: the plan being made; None: an empty one.
        past: the states before each action since the last plan was applied here, oldest first.
        undone: the undone actions, oldest first: states as in `past`, and events of the history.
        restored: how often an earlier state was restored here: by undo, redo, back, forward, or a step of the history.
        status: the status line.
        direction: TB, LR or auto.
        filters, paint, faded: the hidden ops, the colors, entries of the legend that fade.
        budget: the largest number of boxes.
        stage: the visible part of a plan: the graph ``before`` it, ``after`` it, or ``both``.
        ran: the run that the picture shows; None: it shows none.
        saved: the report of the last save, and its call.
        called: op of the source, and of the destination, as they were opened -> its name here, if the name
            changed.
    """

    view: View = View()
    views: Mapping[str, Place] = field(default_factory=dict)
    after: frozenset[str] | None = None
    copies: frozenset[str] = frozenset()
    marks: Marks = field(default_factory=Marks)
    draft: Plan | None = None
    past: tuple[Was, ...] = ()
    undone: tuple[Any, ...] = ()
    restored: int = 0
    status: Status = Status()
    direction: str = "auto"
    filters: Filters = field(default_factory=Filters)
    paint: Paint = field(default_factory=Paint)
    faded: tuple[str, ...] = ()
    budget: int = BUDGET
    stage: str = "both"
    ran: Ran | None = None
    saved: Mapping[str, Any] = field(default_factory=dict)
    called: tuple[Mapping[str, str], ...] = ({}, {})

    @property
    def painted_by_run(self) -> bool:
        """Whether the colors are those of the run."""
        return self.ran is not None and self.paint.by == "values" and self.paint.name in MEASURES

    def without_run(self) -> State:
        """Returns the state without its run, and without the colors of that."""
        return self.but(ran=None, paint=Paint() if self.painted_by_run else self.paint, faded=())

    def but(self, **changes: Any) -> State:
        """Returns the state with some parts changed."""
        return replace(self, **changes)

    def renamed(self, source: Callable[[str], str], destination: Callable[[str], str]) -> State:
        """Returns the state with other names of ops, tensors, boxes and fold keys; a plan does not change.

        Args:
            source: gives the new name of one of the source.
            destination: gives that of one of the destination.
        """
        return self.but(
            view=self.view.renamed(source),
            views={name: place.renamed(source) for name, place in self.views.items()},
            after=None if self.after is None else frozenset(map(destination, self.after)),
            copies=frozenset(destination(f"{scope}/")[:-1] for scope in self.copies),
            marks=self.marks.renamed(source),
            past=tuple(was.renamed(source) for was in self.past),
            undone=tuple(one.renamed(source) if isinstance(one, Was) else one for one in self.undone),
        )

    def seen(self, **changes: Any) -> State:
        """Returns the state with parts of its source view changed."""
        return replace(self, view=replace(self.view, **changes))

    def saying(self, text: str, level: str = "info") -> State:
        """Returns the state with another status line."""
        return replace(self, status=Status(text, level))
