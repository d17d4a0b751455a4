"""Ghosts: what a plan does to the ops in a box, as one word for the box. The ghost of a copy is a box that is "new".

From the plan to the ghost: `Preview.marks` numbers the new ops of `Plan.after()`, `Stage.draw` on screen and
`plan_picture` of screen/pane.py give them to `mark`, and svg.py and the page's drawing.css draw what it says.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from ..graph.graph import Ints
from .boxes import Box, Edge, Group, frames

Marks = Mapping[int, str]
"""Op number -> "new", "orphan", "removed", "changed", "shape" or "conflict"."""

STATES: dict[str, tuple[str, str]] = {
    "new": ("#00795A", "5 3"),
    "orphan": ("#6E6E6E", "2 3"),
    "removed": ("#6E6E6E", "2 3"),
    "changed": ("#A3467C", ""),
    "shape": ("#7A6400", "8 2"),
    "conflict": ("#C44F00", ""),
}
"""Colour and dash pattern of a state; each has a second sign besides."""
SIGNS = {"new": "+", "orphan": "×", "removed": "×", "changed": "Δ", "shape": "↔", "conflict": "⚠"}
"""The sign on a box of a state, on the page too: its signs.ts is written from this."""
MEANINGS = {
    "new": "new",
    "changed": "reads something else, or has other attributes",
    "removed": "removed",
    "orphan": "left without a reader",
    "shape": "another dtype or shape",
    "conflict": "cannot be done",
}
"""What the legend says of a state, in its order."""
_WORST = ("conflict", "changed", "new", "removed", "shape", "orphan")


def mark(marks: Marks, boxes: Sequence[Box], groups: Sequence[Group], edges: Sequence[Edge], op_box: Ints) -> None:
    """Gives boxes, groups and edges the state of the ops in them."""
    inside: dict[int, Counter[str]] = defaultdict(Counter)
    around: dict[int, Counter[str]] = defaultdict(Counter)
    members: Counter[int] = Counter()
    for box in boxes:
        for group in frames(groups, box.group):
            members[group] += box.count
    for op, state in marks.items():
        at = int(op_box[op])
        if at >= 0:
            inside[at][state] += 1
            for group in frames(groups, boxes[at].group):
                around[group][state] += 1
    for at, states in inside.items():
        boxes[at].state = _state(states, boxes[at].count)
    for group, states in around.items():
        groups[group].state = _state(states, members[group])
    by_id = {box.id: box for box in boxes}
    for edge in edges:
        a, b = by_id[edge.source].state, by_id[edge.target].state
        if "new" in (a, b) and "orphan" not in (a, b):
            edge.state = "new"
        elif "removed" in (a, b):
            edge.state, edge.label = "removed", ""  # its sign is there


def _state(states: Mapping[str, int], count: int) -> str:
    """Returns the state of a box: the worst one inside; new, removed or orphan only where all of it is."""
    worst = next((s for s in _WORST if s in states), "")
    if worst in ("new", "removed", "orphan") and states[worst] < count:
        return "" if worst == "orphan" else "changed"
    return worst
