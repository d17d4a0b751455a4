"""Rewiring: a snapshot with other edges, and whether these edges may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from .contexts import loops_of
from .graph import Edges, Graph, Mask, TensorInfo
from .walks import backward, strong_components

if TYPE_CHECKING:
    from .edits import NewNode
    from .steps import Fault

_TURNING = ("NextIteration", "RefNextIteration")
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


def reordered(graph: Graph, op: int, waits: Sequence[int]) -> Graph:
    """Returns a snapshot in which an op has exactly these control inputs.

    Example:
        >>> g = Graph.of([("a", "NoOp", []), ("b", "NoOp", [])])
        >>> reordered(g, 1, [0]).control_names(1)
        ['a']
    """
    begin, end = int(graph.control.ptr[op]), int(graph.control.ptr[op + 1])
    new = np.asarray(waits, np.int32)
    node = np.concatenate([graph.control.node[:begin], new, graph.control.node[end:]]).astype(np.int32)
    ptr = graph.control.ptr.copy()
    ptr[op + 1 :] += len(new) - (end - begin)
    return replace(graph, control=Edges(ptr, node, np.zeros(len(node), np.int32)))


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


def grown(graph: Graph, node: NewNode) -> Graph:
    """Returns a snapshot with one op more, at its end."""
    reads = [graph.tensor(name) for name in node.inputs]
    ends = np.array([op for op, _ in reads], np.int32), np.array([port for _, port in reads], np.int32)
    nothing = Edges(np.zeros(2, np.int32), np.empty(0, np.int32), np.empty(0, np.int32))
    after = graph.appended(
        [node.name], [node.op], [None], Edges(np.array([0, len(reads)], np.int32), *ends), nothing
    )  # fmt: skip
    last, before = graph.size, graph.outputs_of

    def outputs_of(i: int) -> Sequence[TensorInfo] | None:
        if i == last:
            return None if node.info is None else [node.info]
        return before(i) if before else None

    return replace(after, outputs_of=outputs_of)


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
    before = graph.outputs_of
    return replace(
        graph,
        names=names,
        types=list(compress(graph.types, wanted)),
        nodes=list(compress(graph.nodes, wanted)),
        data=_kept(graph.data, keep, place),
        control=_kept(graph.control, keep, place),
        index=dict(zip(names, range(len(names)), strict=True)),
        outputs_of=(lambda i: before(int(stay[i]))) if before else None,
    )


def _kept(edges: Edges, keep: np.ndarray, place: np.ndarray) -> Edges:
    rows = np.repeat(np.arange(len(edges.ptr) - 1), np.diff(edges.ptr))
    inside = keep[rows] & keep[edges.node]
    counts = np.bincount(rows[inside], minlength=len(keep))[keep]
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return Edges(ptr, place[edges.node[inside]].astype(np.int32), edges.port[inside])


def cycle_fault(
    after: Graph, edges: Sequence[tuple[int, int]], asked: str, before: Graph | None = None
) -> Fault | None:
    """Returns the fault of edges (op, what it reads or waits for) that close a circle; back edges of loops do not.

    Args:
        after: the graph with these edges.
        edges: the edges.
        asked: the request, for messages.
        before: the graph without them, where it is at hand.
    """
    from .steps import Fault

    ring = closed_circle(after, edges, before)
    for op, source in edges if ring.any() else ():
        if ring[op] and ring[source]:
            return Fault(
                asked,
                f"that makes a cycle: {after.names[source]!r} is computed from {after.names[op]!r}",
                "Choose a tensor above it" if asked[:3] != "add" else "Choose an op above it",
            )
    return None


def closed_circle(after: Graph, edges: Sequence[tuple[int, int]], before: Graph | None = None) -> Mask:
    """Returns a mask of the ops on circles that edges (op, what it reads or waits for) close.

    Args:
        after: the graph with these edges in it.
        edges: the edges to judge; back edges of loops close no circle.
        before: the graph without them, where it is at hand: that is quicker for edges from one op.

    Example:
        >>> g = Graph.of([("a", "Neg", ["b"]), ("b", "Neg", ["a"]), ("c", "Neg", ["b"])])
        >>> closed_circle(g, [(0, 1)]).tolist()
        [True, True, False]
    """
    out = np.zeros(after.size, np.bool_)
    if not edges:
        return out
    if before is not None and len({source for _, source in edges}) == 1:
        # A shortest circle has one of the new edges only: what is above their one end decides.
        source = edges[0][1]
        turning = np.flatnonzero(before.typed(_TURNING)).tolist()
        above = backward(before, before.mask([source]), frozenset((i, 0) for i in turning))
        out[[end for op, _ in edges if above[op] for end in (op, source)]] = True
        return out
    parts = strong_components(after, after.typed(_TURNING))
    ends = np.asarray(edges, np.int64)
    hit = parts[ends[:, 0]] == parts[ends[:, 1]]
    result: Mask = np.isin(parts, parts[ends[hit, 0]]) if hit.any() else out
    return result


def frame_fault(graph: Graph, edges: Sequence[Edge], asked: str) -> Fault | None:
    """Returns the fault of an edge that goes into or out of a ``while_loop`` of TF1 without its Enter or Exit."""
    from .steps import Fault

    loop = loops_of(graph)
    if (loop < 0).all():
        return None
    for op, at, (source, port) in edges:
        before = int(graph.data.node[int(graph.data.ptr[op]) + at])
        if graph.types[before] in _TURNING and graph.types[source] not in _TURNING:
            return Fault(
                asked,
                f"{graph.names[op]!r} takes what {graph.names[before]!r} gives to the next turn of the loop, "
                f"and {graph.names[source]!r} is no NextIteration",
                f"Rewire what {graph.names[before]!r} reads: {graph.input_names(before)[0]!r}",
            )
        reads, comes = _frames(graph, loop, op, source)
        if reads != comes:
            inside = graph.names[op] if reads >= 0 else f"{graph.names[source]}:{port}"
            return Fault(
                asked,
                f"{inside!r} is inside a loop, and the other end of the edge is not" + _another(reads, comes),
                "Rewire what the loop takes (the input of its Enter) or gives (its Exit)",
            )
    return None


def order_fault(graph: Graph, edges: Sequence[tuple[int, int]], asked: str) -> Fault | None:
    """Returns the fault of a control edge (op, what it waits for) into or out of a ``while_loop`` of TF1."""
    from .steps import Fault

    loop = loops_of(graph)
    for op, source in edges if (loop >= 0).any() else ():
        reads, comes = _frames(graph, loop, op, source)
        if reads != comes:
            inside, other = (op, source) if reads >= 0 else (source, op)
            return Fault(
                asked,
                f"{graph.names[inside]!r} is inside a loop, and {graph.names[other]!r} is not" + _another(reads, comes),
                "Let what the loop takes wait (its Enter), or wait for what it gives (its Exit)",
            )
    return None


def _frames(graph: Graph, loop: np.ndarray, op: int, source: int) -> tuple[int, int]:
    """The loop in which an op takes its inputs, and that in which another gives its outputs; -1 for none."""
    reads = -1 if graph.types[op] in ("Enter", "RefEnter") else int(loop[op])
    return reads, -1 if graph.types[source] in ("Exit", "RefExit") else int(loop[source])


def _another(reads: int, comes: int) -> str:
    return ", but in another one" if reads >= 0 and comes >= 0 else ""


def reference_fault(graph: Graph, edge: Edge, asked: str) -> Fault | None:
    """Returns the fault of an op that changes a variable and would read a tensor that is none."""
    from .plan import Fault
    from .policies import writes

    op, at, new = edge
    old = graph.tensor(graph.input_names(op)[at])
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
