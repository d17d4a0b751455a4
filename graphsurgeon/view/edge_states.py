"""Edge states: which edges a plan adds or removes, and the state of the drawn edge that combines them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..graph.edges import Edges
from ..graph.graph import Graph, Ints
from .boxes import Box, Edge
from .ghosts import count_text

SAME, NEW, REMOVED, JOINED = range(4)
"""Kinds of an edge: in both graphs, only in the later one, only in the earlier one, new at an op that stays."""


class Kinds(NamedTuple):
    """The kind of each data edge and of each control edge of a graph."""

    data: Ints
    control: Ints


def added(after: Graph, before: Graph, same: tuple[Ints, Ints], joins: Iterable[tuple[str, int]] = ()) -> Kinds:
    """Returns the kinds of the edges of the later of two graphs.

    Args:
        after, before: the graphs.
        same: the numbers of the ops of `before` that stay, and their numbers in `after`.
        joins: (op, input) pairs that a plan connects, by the names of the ops in `after`.

    Example:
        >>> a = Graph.of([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Exp", ["y"])])
        >>> b = Graph.of([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Exp", ["x"])])
        >>> added(b, a, (np.arange(3), np.arange(3))).data.tolist()
        [0, 3]
    """
    place = np.full(after.size, -1, np.int32)
    place[same[1]] = same[0]
    data, control = _added(after.data, before.data, place), _added(after.control, before.control, place)
    for name, position in joins:
        op = after.index.get(name)
        if op is not None and position < after.data.degrees[op]:
            at = int(after.data.ptr[op]) + position
            data[at] = JOINED if data[at] else SAME
    return Kinds(data, control)


def lost(before: Graph, after: Graph, same: tuple[Ints, Ints]) -> Kinds:
    """Returns the kinds of the edges of the earlier of two graphs; the arguments are those of `added`."""
    data, control = added(before, after, same[::-1])
    return Kinds(np.where(data, REMOVED, SAME), np.where(control, REMOVED, SAME))


def of_marks(graph: Graph, marks: Mapping[int, str]) -> Kinds:
    """Returns the kinds of edges that follow from the states of the ops at their ends."""
    kind = np.zeros(graph.size, np.int32)
    for op, state in marks.items():
        kind[op] = {"new": NEW, "removed": REMOVED}.get(state, SAME)
    found = (np.maximum(kind[edges.rows], kind[edges.node]) for edges in (graph.data, graph.control))
    return Kinds(*found)


def mark_edges(graph: Graph, kinds: Kinds, boxes: Sequence[Box], edges: Sequence[Edge], op_box: Ints) -> None:
    """Gives each drawn edge the state of the edges that it combines; if only some changed, it counts them."""
    number = {box.id: at for at, box in enumerate(boxes)}
    data, control = (
        _between(some, kind, op_box) for some, kind in ((graph.data, kinds.data), (graph.control, kinds.control))
    )
    for edge in edges:
        found = (control if edge.control else data).get((number[edge.source], number[edge.target]))
        if found:
            _mark_edge(edge, found)


def edge_keys(rows: Ints, node: Ints, port: Ints, size: int) -> np.ndarray:
    """Returns a number for each edge that only equal edges share, for graphs of up to `size` ops."""
    return (rows.astype(np.int64) * max(size, 1) + node) * 64 + np.minimum(port, 63)


def _added(now: Edges, then: Edges, place: Ints) -> Ints:
    """Returns the kinds of the edges `now`; `place` has the number that each op had then, or -1."""
    rows, node, size = place[now.rows], place[now.node], len(then.ptr) - 1
    reader, maker = rows >= 0, node >= 0
    known = reader & maker
    known[known] = np.isin(
        edge_keys(rows[known], node[known], now.port[known], size), edge_keys(then.rows, then.node, then.port, size)
    )
    return np.where(known, SAME, np.where(reader | maker, JOINED, NEW)).astype(np.int32)


def _between(edges: Edges, kinds: Ints, op_box: Ints) -> dict[tuple[int, int], Counter[int]]:
    """Returns for each pair of boxes with a changed edge how many edges there are of each kind."""
    a, b = op_box[edges.node], op_box[edges.rows]
    keep = (a >= 0) & (b >= 0) & (a != b)
    if not kinds[keep].any():
        return {}
    table, counts = np.unique(np.stack([a[keep], b[keep], kinds[keep]], axis=1), axis=0, return_counts=True)
    out: dict[tuple[int, int], Counter[int]] = {}
    for (source, target, kind), count in zip(table.tolist(), counts.tolist(), strict=True):
        out.setdefault((source, target), Counter())[kind] += count
    return out


def _mark_edge(edge: Edge, found: Counter[int]) -> None:
    new, gone = found[NEW] + found[JOINED], found[REMOVED]
    if not new and not gone:
        return
    edge.quiet = False
    if found[SAME] or (new and gone):
        edge.state = "changed"
        edge.label = count_text({"new": new, "removed": gone})
    elif gone:
        edge.state, edge.label = "removed", ""  # its sign is there
    else:
        edge.state = "joined" if found[JOINED] else "new"
