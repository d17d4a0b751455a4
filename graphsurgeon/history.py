"""History: the plans that were applied to a graph, as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .applied import Applied
from .core.graph import Graph
from .core.naming import free_scope
from .core.plan import CopyStep, Plan
from .errors import PlanError, SurgeryError


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


def late_failure(error: BaseException, plan: Plan, orphans: Sequence[str], graph: Graph) -> PlanError:
    """Returns what to say of a plan that failed after TensorFlow had taken its nodes.

    Args:
        error: why it failed.
        plan: the plan.
        orphans: names of the ops that stay.
        graph: snapshot of the graph with them.
    """
    asked, wrong, instead = "apply(plan)", f"{type(error).__name__}: {error}", ""
    if isinstance(error, SurgeryError):
        asked, wrong, instead = error.asked, error.wrong, f"{error.instead}. "
    count, s = len(orphans), "s" * (len(orphans) > 1)
    stay = f"{count} op{s}, {orphans[0]!r} first, stay{'s' * (count == 1)} in {graph.title} as orphan{s}"
    scopes = [f"to={free_scope(graph, step.to)!r}" for step in plan.steps if isinstance(step, CopyStep) and step.to]
    again = f"Make the plan again with {', '.join(scopes)}" if scopes else "Make the plan again under a scope"
    return PlanError(
        asked,
        f"{wrong.rstrip('.')}; TensorFlow cannot give back the nodes it had taken by then: {stay}, "
        "and all else is as it was",
        f"{instead}{again}",
    )
