"""Rewiring: a snapshot with other edges, and whether these edges may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from ..graph.graph import Edges, Graph, Mask
from ..graph.told import Told
from ..graph.traversal import backward, strong_components

if TYPE_CHECKING:
    from .steps import Fault
    from .workbench import Workbench

TURNING = ("NextIteration", "RefNextIteration")
#: op, position of its input, (producer, output).
Edge = tuple[int, int, tuple[int, int]]


def rewired(graph: Graph, edges: Sequence[Edge]) -> Graph:
    """Returns a snapshot in which some inputs read other tensors.

    Example:
        >>> g = Graph.of([("a", "Const", []), ("b", "Const", []), ("c", "Neg", ["a"])])
        >>> rewired(g, [(2, 0, (1, 0))]).input_names(2)
        ['b:0']
    """
    node, port = graph.data.node.copy(), graph.data.port.copy()
    for op, position, tensor in edges:
        at = int(graph.data.ptr[op]) + position
        node[at], port[at] = tensor
    return replace(graph, data=Edges(graph.data.ptr, node, port))


def reordered_many(graph: Graph, waits: Mapping[int, Sequence[int]]) -> Graph:
    """Returns a snapshot in which each of these ops has exactly these control inputs.

    Example:
        >>> g = Graph.of([("a", "NoOp", []), ("b", "NoOp", ["^a"]), ("c", "NoOp", ["^b"])])
        >>> h = reordered_many(g, {1: [], 2: [0, 1]})
        >>> h.control_names(1), h.control_names(2)
        ([], ['a', 'b'])
    """
    control = graph.control
    counts = np.diff(control.ptr)
    changed = np.zeros(graph.size, np.bool_)
    for op, new in waits.items():
        counts[op], changed[op] = len(new), True
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    node = np.empty(int(ptr[-1]), np.int32)
    rows = control.rows
    stay = ~changed[rows]
    node[(np.arange(len(rows)) - control.ptr[rows] + ptr[rows])[stay]] = control.node[stay]
    for op, new in waits.items():
        node[ptr[op] : ptr[op + 1]] = new
    return replace(graph, control=Edges(ptr, node, np.zeros(len(node), np.int32)))


def cut_out(graph: Graph, gone: Sequence[int]) -> Graph:
    """Returns a snapshot without some ops, which nothing that stays may read.

    Example:
        >>> g = Graph.of([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["a"])])
        >>> h = cut_out(g, [1])
        >>> h.names, h.input_names(1)
        (['a', 'c'], ['a:0'])
    """
    keep = ~graph.mask(gone)
    stay = np.flatnonzero(keep)
    place = np.cumsum(keep, dtype=np.int32) - 1
    wanted = keep.tolist()
    names = list(compress(graph.names, wanted))
    return replace(
        graph,
        names=names,
        types=list(compress(graph.types, wanted)),
        nodes=list(compress(graph.nodes, wanted)),
        data=_kept(graph.data, keep, place),
        control=_kept(graph.control, keep, place),
        index=dict(zip(names, range(len(names)), strict=True)),
        outputs_of=Told.of(graph).cut(stay, graph.size) if graph.outputs_of else None,
    )


def _kept(edges: Edges, keep: np.ndarray, place: np.ndarray) -> Edges:
    rows = np.repeat(np.arange(len(edges.ptr) - 1), np.diff(edges.ptr))
    inside = keep[rows] & keep[edges.node]
    counts = np.bincount(rows[inside], minlength=len(keep))[keep]
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return Edges(ptr, place[edges.node[inside]].astype(np.int32), edges.port[inside])


def closed_circle(after: Graph, edges: Sequence[tuple[int, int]]) -> Mask:
    """Returns a mask of the ops on circles that edges (op, what it reads or waits for) close.

    Args:
        after: the graph with these edges in it.
        edges: the edges to judge; back edges of loops close no circle.

    Example:
        >>> g = Graph.of([("a", "Neg", ["b"]), ("b", "Neg", ["a"]), ("c", "Neg", ["b"])])
        >>> closed_circle(g, [(0, 1)]).tolist()
        [True, True, False]
    """
    out = np.zeros(after.size, np.bool_)
    if not edges:
        return out
    turning = after.typed(TURNING)
    if len({source for _, source in edges}) == 1:
        # What is above their one end decides, which is quicker.
        source = edges[0][1]
        above = backward(after, after.mask([source]), frozenset((i, 0) for i in np.flatnonzero(turning).tolist()))
        out[[end for op, _ in edges if above[op] for end in (op, source)]] = True
        return out
    parts = strong_components(after, turning)
    ends = np.asarray(edges, np.int64)
    hit = parts[ends[:, 0]] == parts[ends[:, 1]]
    result: Mask = np.isin(parts, parts[ends[hit, 0]]) if hit.any() else out
    return result


def frame_fault(graph: Workbench, edges: Sequence[Edge], asked: str) -> Fault | None:
    """Returns the fault of an edge that goes into or out of a ``while_loop`` of TF1 without its Enter or Exit."""
    from .steps import Fault

    for op, at, (source, port) in edges:
        if graph.loop(op) < 0 and graph.loop(source) < 0:
            continue
        before = graph.row(op)[at][0]
        if graph.types[before] in TURNING and graph.types[source] not in TURNING:
            return Fault(
                asked,
                f"{graph.names[op]!r} takes what {graph.names[before]!r} gives to the next turn of the loop, "
                f"and {graph.names[source]!r} is no NextIteration",
                f"Rewire what {graph.names[before]!r} reads: {graph.input_names(before)[0]!r}",
            )
        reads, comes = _frames(graph, op, source)
        if reads != comes:
            inside = graph.names[op] if reads >= 0 else f"{graph.names[source]}:{port}"
            return Fault(
                asked,
                f"{inside!r} is inside a loop, and the other end of the edge is not" + _another(reads, comes),
                "Rewire what the loop takes (the input of its Enter) or gives (its Exit)",
            )
    return None


def order_fault(graph: Workbench, edges: Sequence[tuple[int, int]], asked: str) -> Fault | None:
    """Returns the fault of a control edge (op, what it waits for) into or out of a ``while_loop`` of TF1."""
    from .steps import Fault

    for op, source in edges:
        reads, comes = _frames(graph, op, source)
        if reads != comes:
            inside, other = (op, source) if reads >= 0 else (source, op)
            return Fault(
                asked,
                f"{graph.names[inside]!r} is inside a loop, and {graph.names[other]!r} is not" + _another(reads, comes),
                "Let what the loop takes wait (its Enter), or wait for what it gives (its Exit)",
            )
    return None


def _frames(graph: Workbench, op: int, source: int) -> tuple[int, int]:
    """The loop in which an op takes its inputs, and that in which another gives its outputs; -1 for none."""
    reads = -1 if graph.types[op] in ("Enter", "RefEnter") else graph.loop(op)
    return reads, -1 if graph.types[source] in ("Exit", "RefExit") else graph.loop(source)


def _another(reads: int, comes: int) -> str:
    return ", but in another one" if reads >= 0 and comes >= 0 else ""


def reference_fault(graph: Workbench, edge: Edge, asked: str) -> Fault | None:
    """Returns the fault of an op that changes a variable and would read a tensor that is none."""
    from .plan import Fault
    from .policies import writes

    op, at, new = edge
    old = graph.row(op)[at]
    was, now = graph.info(*old), graph.info(*new)
    if at or was is None or not was.dtype.endswith("_ref"):
        return None
    # Of an op that the plan inserts nothing is known yet but its type.
    if now.dtype.endswith("_ref") if now is not None else graph.types[new[0]].startswith("Ref"):
        return None
    if not writes(graph.types[op]):
        return None
    name, several = graph.names[op], asked.startswith(("reroute(", "insert("))
    return Fault(
        asked,
        f"{name!r} changes {graph.names[old[0]]!r}, and {graph.names[new[0]]}:{new[1]} is no variable",
        "Set another input of it, or the input of what reads the variable"
        # Other requests cannot leave a consumer out.
        + (f"; of several consumers, leave {name!r} as it is: but=[{name!r}]" if several else ""),
    )
