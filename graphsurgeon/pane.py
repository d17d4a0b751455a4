"""Pane: one picture on the screen: a graph, what is unfolded in it, and its layout."""

from __future__ import annotations

from typing import Any

from .core.graph import Graph
from .view.layout import place
from .view.scene import Scene, build, first_unfolded


class Pane:
    """One picture: a graph, what is unfolded in it, and the layout of that."""

    def __init__(self) -> None:
        self.unfolded: frozenset[str] | None = None
        self.scene: Scene | None = None
        self.placed: dict[str, Any] | None = None
        self._key: Any = None

    def draw(self, graph: Graph, marks: dict[int, str], direction: str) -> dict[str, Any]:
        """Returns the placed scene; laid out again only where something has changed."""
        if self.unfolded is None:
            self.unfolded = first_unfolded(graph)
        key = (id(graph), self.unfolded, tuple(sorted(marks.items())), direction)
        if key != self._key or self.placed is None:
            scene = build(graph, self.unfolded, marks)
            placed = place(scene, direction=direction)
            self.scene, self.placed, self._key = scene, placed.to_dict(), key
        return self.placed
