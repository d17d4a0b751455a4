"""Places: where one has been in the source picture, and the views one has saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.graph import Graph
from ..errors import SelectionError, did_you_mean
from ..view.items import ops_named

if TYPE_CHECKING:
    from ..editor import Editor
    from ..view.tree import Tree

MOST = 100
"""So many steps back are kept."""


@dataclass(frozen=True)
class Place:
    """What is unfolded and picked, and where the page looks: x, y and scale, or nothing."""

    unfolded: frozenset[str]
    picked: tuple[str, ...] = ()
    at: tuple[float, ...] = ()


@dataclass(frozen=True)
class Outside:
    """What is left behind while the inside of a function is shown: all of it counts in the graph around alone."""

    unfolded: frozenset[str] | None
    picked: tuple[str, ...] = ()
    rows: frozenset[str] = frozenset()
    back: list[Place] = field(default_factory=list)
    forward: list[Place] = field(default_factory=list)


class Places:
    """The part of a screen that goes back and forward and keeps views."""

    if TYPE_CHECKING:
        source: Editor
        _picked: tuple[str, ...]
        _inside: list[tuple[str, Graph]]

        def _tree(self, pane: str) -> Tree: ...

        @property
        def unfolded(self) -> frozenset[str]:
            """Fold keys that are open in the source pane."""

        def _refold(self, pane: str, change: Callable[[frozenset[str]], frozenset[str]]) -> None: ...

        def _say(self, text: str, level: str = "info") -> None: ...

    def __init__(self) -> None:
        self._back: list[Place] = []
        self._forward: list[Place] = []
        self._views: dict[str, dict[str, Place]] = {}

    @property
    def views(self) -> dict[str, Place]:
        """The saved views by name: of the function whose inside is shown, else of the graph."""
        return self._views.setdefault(self._inside[-1][0] if self._inside else "", {})

    def back(self) -> None:
        """Goes to where the source picture was before: what was unfolded, and what was picked."""
        self._step(self._back, self._forward, "back()", "there is nothing before this", "Unfold or reveal something")

    def forward(self) -> None:
        """Goes to where the source picture was before going back."""
        self._step(self._forward, self._back, "forward()", "there is nothing after this", "Go back first")

    def save_view(self, name: str | None = None, at: Sequence[float] = ()) -> str:
        """Keeps what is unfolded and picked under a name, and returns the name.

        Args:
            name: what to call it; a view of that name is replaced. By default ``view 1`` and so on.
            at: where the page looks: x, y and scale.
        """
        free = next(f"view {i}" for i in range(1, len(self.views) + 2) if f"view {i}" not in self.views)
        called = (name or "").strip() or free
        self.views[called] = Place(self.unfolded, self._picked, tuple(at))
        self._say(f"saved as {called!r}")
        return called

    def show_view(self, name: str) -> list[float]:
        """Goes to a saved view and returns where the page shall look.

        Raises:
            SelectionError: there is no view of that name.
        """
        view = self._view(name, "show_view")
        self._leave()
        self._go(view)
        self._say(f"{name!r} is shown")
        return list(view.at)

    def forget_view(self, name: str) -> None:
        """Takes a saved view away.

        Raises:
            SelectionError: there is no view of that name.
        """
        self._view(name, "forget_view")
        del self.views[name]
        self._say(f"{name!r} is forgotten")

    def places_shown(self) -> dict[str, Any]:
        """Returns what the page shows: how far one can go back and forward, and the names of the views."""
        return {"back": len(self._back), "forward": len(self._forward), "saved": list(self.views)}

    def _view(self, name: str, verb: str) -> Place:
        if name not in self.views:
            raise SelectionError(
                f"{verb}({name!r})",
                "there is no view of that name",
                did_you_mean(name, self.views) if self.views else "Save one first, with save_view(name)",
            )
        return self.views[name]

    def _leave(self) -> None:
        """Remembers this place, because another is gone to."""
        here = Place(self.unfolded, self._picked)
        if not self._back or self._back[-1] != here:
            self._back = [*self._back[-MOST + 1 :], here]
        self._forward = []

    def _step(self, these: list[Place], others: list[Place], asked: str, wrong: str, instead: str) -> None:
        here = Place(self.unfolded, self._picked)
        while these and these[-1] == here:
            these.pop()
        if not these:
            raise SelectionError(asked, wrong, instead)
        place = these.pop()
        others.append(here)
        self._go(place)

    def _go(self, place: Place) -> None:
        tree = self._tree("source")
        self._picked = tuple(name for name in place.picked if ops_named(tree, name) is not None)
        self._refold("source", lambda _: place.unfolded)
