"""Stages: the graph before the plan, after it, or both."""

from __future__ import annotations

from ..errors import PlanError
from .stage import Stage
from .state import State

STAGES = {
    "before": "Before: the current graph",
    "after": "After: the graph with the plan applied",
    "both": "Both: the current graph, and the graph with the plan applied",
}


def set_stage(stage: Stage, state: State, show: str = "both") -> State:
    """Shows the graph ``before`` the plan, ``after`` it, or ``both``: ops in both have the same place.

    Args:
        show: ``before``, ``after`` or ``both``.

    Raises:
        PlanError: if there is no plan, or it joins two graphs, which are shown next to each other.
    """
    if not stage.staged(state):
        request = f"set_stage({show!r})"
        if stage.draft(state).steps:
            raise PlanError(
                request,
                "the plan joins two graphs, which are both shown",
                "Hide one with the button of its pane, or make the plan in one graph",
            )
        raise PlanError(request, "there is no plan: before and after are the same", "Copy or edit something first")
    return state.but(stage=show).saying(STAGES[show])
