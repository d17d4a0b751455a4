"""Ghosts: the effect of a plan on the ops in a box, in one word for the box.

The ghost of a copy is a box that is "new".

From the plan to the ghost: `Preview.marks` has the state of each op of `Plan.after()`. `Stage.draw` and `plan_picture`
give it to `mark`; svg.py and the page's drawing.css draw the result. edge_states.py does the same for edges.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from ..graph.graph import Ints
from .boxes import Box, Group, frames

Marks = Mapping[int, str]
"""Op number -> "new", "orphan", "removed", "changed", "shape" or "conflict"."""

STATES: dict[str, tuple[str, str]] = {
    "new": ("#00795A", "5 3"),
    "orphan": ("#6E6E6E", "2 3"),
    "removed": ("#6E6E6E", "2 3"),
    "changed": ("#A3467C", ""),
    "joined": ("#A3467C", ""),
    "shape": ("#7A6400", "8 2"),
    "conflict": ("#C44F00", ""),
}
"""Color and dash pattern of a state; each has a second sign besides. A joined edge is new, at an op that stays."""
SIGNS = {"new": "+", "joined": "→", "orphan": "×", "removed": "×", "changed": "Δ", "shape": "↔", "conflict": "⚠"}
"""The sign on a box of a state, on the page too: its signs.ts is written from this."""
MEANINGS = {
    "new": "new",
    "joined": "new connection",
    "changed": "other inputs or attributes",
    "removed": "removed",
    "orphan": "no longer used",
    "shape": "another dtype or shape",
    "conflict": "cannot be done",
}
"""The text of each state in the legend, in order."""
_WORST = ("conflict", "changed", "new", "removed", "shape", "orphan")
_COUNTED = {"new": "+", "removed": "\u2212", "changed": SIGNS["changed"]}  # before a count, × would multiply


def mark(marks: Marks, boxes: Sequence[Box], groups: Sequence[Group], op_box: Ints) -> None:
    """Gives boxes and groups the state of the ops that are drawn in them."""
    inside: dict[int, Counter[str]] = defaultdict(Counter)
    around: dict[int, Counter[str]] = defaultdict(Counter)
    members: Counter[int] = Counter()
    drawn = np.bincount(op_box[op_box >= 0], minlength=len(boxes)).tolist()
    for box, count in zip(boxes, drawn, strict=True):
        for group in frames(groups, box.group):
            members[group] += count
    for op, state in marks.items():
        at = int(op_box[op])
        if at >= 0:
            inside[at][state] += 1
            for group in frames(groups, boxes[at].group):
                around[group][state] += 1
    for at, states in inside.items():
        boxes[at].state = _state(states, drawn[at])
    for group, states in around.items():
        groups[group].state = _state(states, members[group])


def _state(states: Mapping[str, int], count: int) -> str:
    """Returns the worst state of the drawn ops of a box; new, removed and orphan must be the state of them all."""
    worst = next((s for s in _WORST if s in states), "")
    if worst in ("new", "removed", "orphan") and states[worst] < count:
        return "" if worst == "orphan" else "changed"
    return worst


def count_text(found: Mapping[str, int]) -> str:
    """Returns counts of states, each with its sign.

    Example:
        >>> count_text({"new": 2, "removed": 1})
        '+2 −1'
    """
    return " ".join(f"{sign}{found[state]:,}" for state, sign in _COUNTED.items() if found.get(state))
