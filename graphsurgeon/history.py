"""History: the plans that were applied to a graph, as a person reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .applied import Applied


@dataclass
class Event:
    """One entry of the history: an applied plan."""

    number: int
    applied: Applied
    seconds: float
    undone: bool = False
    before: Any = None  # the graph that a materialised plan replaced

    @property
    def text(self) -> str:
        """The plan in words."""
        return "; ".join(step.text for step in self.applied.effect.plan.steps)

    def __repr__(self) -> str:
        state = " (undone)" if self.undone else ""
        return f"{self.number}. {self.text}: {len(self.applied.made.ops)} ops{state}"
