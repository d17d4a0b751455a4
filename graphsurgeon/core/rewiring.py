"""Rewiring: a snapshot with other edges, and whether these edges may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .contexts import loops_of
from .graph import Edges, Graph, TensorInfo
from .walks import backward

if TYPE_CHECKING:
    from .edits import NewNode
    from .plan import Fault

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
    stay = np.flatnonzero(keep).tolist()
    place = np.cumsum(keep, dtype=np.int32) - 1
    names = [graph.names[i] for i in stay]
    before = graph.outputs_of
    return replace(
        graph,
        names=names,
        types=[graph.types[i] for i in stay],
        nodes=[graph.nodes[i] for i in stay],
        data=_kept(graph.data, keep, place),
        control=_kept(graph.control, keep, place),
        index={name: i for i, name in enumerate(names)},
        outputs_of=(lambda i: before(stay[i])) if before else None,
    )


def _kept(edges: Edges, keep: np.ndarray, place: np.ndarray) -> Edges:
    rows = np.repeat(np.arange(len(edges.ptr) - 1), np.diff(edges.ptr))
    inside = keep[rows] & keep[edges.node]
    counts = np.bincount(rows[inside], minlength=len(keep))[keep]
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return Edges(ptr, place[edges.node[inside]].astype(np.int32), edges.port[inside])


def cycle_fault(after: Graph, edges: Sequence[tuple[int, int]], asked: str) -> Fault | None:
    """Returns the fault of edges (op, what it reads or waits for) that close a circle; back edges of loops do not."""
    from .plan import Fault

    kinds = after.type_array
    turning = np.flatnonzero(np.isin(kinds, ("NextIteration", "RefNextIteration"))).tolist()
    cuts = frozenset((i, 0) for i in turning)
    for source in dict.fromkeys(source for _, source in edges):
        above = backward(after, after.mask([source]), cuts)
        for op, other in edges:
            if other == source and above[op]:
                return Fault(
                    asked,
                    f"that makes a cycle: {after.names[source]!r} is computed from {after.names[op]!r}",
                    "Choose a tensor above it",
                )
    return None


def frame_fault(graph: Graph, edges: Sequence[Edge], asked: str) -> Fault | None:
    """Returns the fault of an edge that goes into or out of a ``while_loop`` of TF1 without its Enter or Exit."""
    from .plan import Fault

    loop = loops_of(graph)
    if (loop < 0).all():
        return None
    for op, _, (source, port) in edges:
        reads = loop[op] if graph.types[op] not in ("Enter", "RefEnter") else -1
        comes = loop[source] if graph.types[source] not in ("Exit", "RefExit") else -1
        if reads != comes:
            inside = graph.names[op] if reads >= 0 else f"{graph.names[source]}:{port}"
            return Fault(
                asked,
                f"{inside!r} is inside a loop, and the other end of the edge is not",
                "Rewire what the loop takes (the input of its Enter) or gives (its Exit)",
            )
    return None


def reference_fault(graph: Graph, edge: Edge, asked: str) -> Fault | None:
    """Returns the fault of an op that changes a variable and would read a tensor that is none."""
    from .plan import Fault
    from .policies import writes

    op, at, new = edge
    old = graph.tensor(graph.input_names(op)[at])
    was, now = graph.info(*old), graph.info(*new)
    if at or was is None or now is None or not was.dtype.endswith("_ref") or now.dtype.endswith("_ref"):
        return None
    if not writes(graph.types[op]):
        return None
    return Fault(
        asked,
        f"{graph.names[op]!r} changes {graph.names[old[0]]!r}, and {graph.names[new[0]]}:{new[1]} is no variable",
        "Set another input of it, or the input of what reads the variable",
    )
