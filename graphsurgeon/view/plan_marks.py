"""Marks the effect of a plan on the boxes and edges of a picture.

`Preview.marks` has the state of each op of `Plan.after()`. `mark` gives these states to boxes, and `mark_edges` to
edges. The module `svg` and the style sheet `drawing.css` of the page draw them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..graph.edges import Edges
from ..graph.graph import Graph, Ints
from . import page_types
from .boxes import Box, Edge, Group, frames

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
"""State -> color and dash pattern. "joined" is a new edge of an op that stays."""
SIGNS = {"new": "+", "joined": "→", "orphan": "×", "removed": "×", "changed": "Δ", "shape": "↔", "conflict": "⚠"}
"""State -> sign on a box. The file drawing.generated.ts of the page is generated from it."""
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
_PRIORITY: tuple[page_types.Mark, ...] = ("conflict", "changed", "new", "removed", "shape", "orphan")
_COUNT_SIGNS = {"new": "+", "removed": "\u2212", "changed": SIGNS["changed"]}  # before a count, × would multiply


def mark(marks: Marks, boxes: Sequence[Box], groups: Sequence[Group] | Mapping[int, Group], op_box: Ints) -> None:
    """Sets the states of boxes and groups from the states of their ops."""
    inside: dict[int, Counter[str]] = defaultdict(Counter)
    around: dict[int, Counter[str]] = defaultdict(Counter)
    members: Counter[int] = Counter()
    op_counts = np.bincount(op_box[op_box >= 0], minlength=len(boxes)).tolist()
    for box, count in zip(boxes, op_counts, strict=True):
        for group in frames(groups, box.group):
            members[group] += count
    for op, state in marks.items():
        at = int(op_box[op])
        if at >= 0:
            inside[at][state] += 1
            for group in frames(groups, boxes[at].group):
                around[group][state] += 1
    for at, states in inside.items():
        boxes[at].state = _state(states, op_counts[at])
    for group, states in around.items():
        groups[group].state = _state(states, members[group])


def _state(states: Mapping[str, int], count: int) -> page_types.Mark:
    """Returns the worst state of the drawn ops of a box. All ops must have the states new, removed and orphan."""
    worst: page_types.Mark = next((s for s in _PRIORITY if s in states), "")
    if worst in ("new", "removed", "orphan") and states[worst] < count:
        return "" if worst == "orphan" else "changed"
    return worst


def count_text(counts: Mapping[str, int]) -> str:
    """Returns counts of states, each with its sign.

    Example:
        >>> count_text({"new": 2, "removed": 1})
        '+2 −1'
    """
    return " ".join(f"{sign}{counts[state]:,}" for state, sign in _COUNT_SIGNS.items() if counts.get(state))


SAME, NEW, REMOVED, JOINED = range(4)
"""Kinds of an edge: in both graphs, only in the later graph, only in the earlier graph, or new at an op that stays."""


class EdgeKinds(NamedTuple):
    """The kind of each data edge and of each control edge of a graph."""

    data: Ints
    control: Ints


def added_edges(
    after: Graph, before: Graph, common_ops: tuple[Ints, Ints], joins: Iterable[tuple[str, int]] = ()
) -> EdgeKinds:
    """Returns the kinds of the edges of the later of two graphs.

    Args:
        after, before: the graphs.
        common_ops: the numbers of the ops of `before` that stay, and their numbers in `after`.
        joins: (op, input) pairs that a plan connects, by the names of the ops in `after`.

    Example:
        >>> a = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Exp", ["y"])])
        >>> b = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Exp", ["x"])])
        >>> added_edges(b, a, (np.arange(3), np.arange(3))).data.tolist()
        [0, 3]
    """
    place = np.full(after.size, -1, np.int32)
    place[common_ops[1]] = common_ops[0]
    data, control = _edge_kinds(after.data, before.data, place), _edge_kinds(after.control, before.control, place)
    for name, position in joins:
        op = after.index.get(name)
        if op is not None and position < after.data.degrees[op]:
            at = int(after.data.ptr[op]) + position
            data[at] = JOINED if data[at] else SAME
    return EdgeKinds(data, control)


def lost_edges(before: Graph, after: Graph, common_ops: tuple[Ints, Ints]) -> EdgeKinds:
    """Returns the kinds of the edges of the earlier of two graphs; the arguments are the same as for `added_edges`."""
    data, control = added_edges(before, after, common_ops[::-1])
    return EdgeKinds(np.where(data, REMOVED, SAME), np.where(control, REMOVED, SAME))


def of_marks(graph: Graph, marks: Mapping[int, str]) -> EdgeKinds:
    """Returns the kinds of edges that follow from the states of the ops at their ends."""
    kind = np.zeros(graph.size, np.int32)
    for op, state in marks.items():
        kind[op] = {"new": NEW, "removed": REMOVED}.get(state, SAME)
    arrays = (np.maximum(kind[edges.rows], kind[edges.node]) for edges in (graph.data, graph.control))
    return EdgeKinds(*arrays)


def mark_edges(graph: Graph, kinds: EdgeKinds, boxes: Sequence[Box], edges: Sequence[Edge], op_box: Ints) -> None:
    """Sets the states of drawn edges from the edges that they combine, with counts if only some of these changed."""
    number = {box.id: at for at, box in enumerate(boxes)}
    data, control = (
        _between(some, kind, op_box) for some, kind in ((graph.data, kinds.data), (graph.control, kinds.control))
    )
    for edge in edges:
        counts = (control if edge.control else data).get((number[edge.source], number[edge.target]))
        if counts:
            _mark_edge(edge, counts)


def edge_keys(rows: Ints, node: Ints, port: Ints, size: int) -> np.ndarray:
    """Returns a number for each edge, which is equal only for equal edges, for graphs of up to `size` ops."""
    return (rows.astype(np.int64) * max(size, 1) + node) * 64 + np.minimum(port, 63)


def _edge_kinds(new: Edges, old: Edges, place: Ints) -> Ints:
    """Returns the kinds of the edges `new`; `place` has the earlier number of each op, or -1."""
    rows, node, size = place[new.rows], place[new.node], len(old.ptr) - 1
    reader, maker = rows >= 0, node >= 0
    carried = reader & maker
    carried[carried] = np.isin(
        edge_keys(rows[carried], node[carried], new.port[carried], size),
        edge_keys(old.rows, old.node, old.port, size),
    )
    return np.where(carried, SAME, np.where(reader | maker, JOINED, NEW)).astype(np.int32)


def _between(edges: Edges, kinds: Ints, op_box: Ints) -> dict[tuple[int, int], Counter[int]]:
    """Returns pair of boxes -> the number of edges of each kind."""
    a, b = op_box[edges.node], op_box[edges.rows]
    keep = (a >= 0) & (b >= 0) & (a != b)
    if not kinds[keep].any():
        return {}
    table, counts = np.unique(np.stack([a[keep], b[keep], kinds[keep]], axis=1), axis=0, return_counts=True)
    out: dict[tuple[int, int], Counter[int]] = {}
    for (source, target, kind), count in zip(table.tolist(), counts.tolist(), strict=True):
        out.setdefault((source, target), Counter())[kind] += count
    return out


def _mark_edge(edge: Edge, counts: Counter[int]) -> None:
    new, removed = counts[NEW] + counts[JOINED], counts[REMOVED]
    if not new and not removed:
        return
    edge.quiet = False
    if counts[SAME] or (new and removed):
        edge.state = "changed"
        edge.label = count_text({"new": new, "removed": removed})
    elif removed:
        edge.state, edge.label = "removed", ""  # its sign is there
    else:
        edge.state = "joined" if counts[JOINED] else "new"
