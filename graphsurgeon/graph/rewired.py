"""Rewired: a snapshot with other edges, or without some ops, and the cycles that new edges close."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .graph import Edges, Graph, Ints, Mask
from .known_outputs import Told
from .traversal import backward, strong_components

#: What closes a loop of TF1: what goes round, and where it comes in again.
TURNING, MERGING = ("NextIteration", "RefNextIteration"), ("Merge", "RefMerge")
#: op, position of its input, (producer, output).
Edge = tuple[int, int, tuple[int, int]]


def in_order(graph: Graph, order: Sequence[int] | Ints) -> Graph:
    """Returns a snapshot that was not read from a live graph with its ops in another order, or with some of them.

    Args:
        graph: the snapshot.
        order: the numbers of the ops, as they are to stand; those that are left out go with all their edges.

    Example:
        >>> g = in_order(Graph.of([("b", "Neg", ["a:1"]), ("a", "Split", [])]), [1, 0])
        >>> g.names, g.input_names(1)
        (['a', 'b'], ['a:1'])
    """
    old = np.asarray(order, np.int32)
    place = np.full(graph.size, -1, np.int32)
    place[old] = np.arange(len(old), dtype=np.int32)
    numbers = old.tolist()
    names, types, nodes = (list(map(of.__getitem__, numbers)) for of in (graph.names, graph.types, graph.nodes))
    return replace(
        graph, names=names, types=types, nodes=nodes, data=graph.data.moved(old, place),
        control=graph.control.moved(old, place), index=dict(zip(names, range(len(names)), strict=True)),
    )  # fmt: skip


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
    counts = control.degrees
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
    stay = np.flatnonzero(~graph.mask(gone)).astype(np.int32)
    told = Told.of(graph).cut(stay, graph.size) if graph.outputs_of else None
    return replace(in_order(graph, stay), outputs_of=told)


def closed_cycle(after: Graph, edges: Sequence[tuple[int, int]]) -> Mask:
    """Returns a mask of the ops on cycles that edges (op, what it reads or waits for) close.

    Args:
        after: the graph with these edges in it.
        edges: the edges to judge; back edges of loops close no cycle.

    Example:
        >>> g = Graph.of([("a", "Neg", ["b"]), ("b", "Neg", ["a"]), ("c", "Neg", ["b"])])
        >>> closed_cycle(g, [(0, 1)]).tolist()
        [True, True, False]
    """
    out = np.zeros(after.size, np.bool_)
    if not edges:
        return out
    if len({source for _, source in edges}) == 1:
        # What is above their one end decides, which is quicker.
        source = edges[0][1]
        looping = any(kind in after.types for kind in TURNING)  # to look through a list is quicker than to number it
        turning = np.flatnonzero(after.typed(TURNING)).tolist() if looping else ()
        above = backward(after, after.mask([source]), frozenset((i, 0) for i in turning))
        out[[end for op, _ in edges if above[op] for end in (op, source)]] = True
        return out
    parts = strong_components(after, after.typed(TURNING))
    ends = np.asarray(edges, np.int64)
    hit = parts[ends[:, 0]] == parts[ends[:, 1]]
    result: Mask = np.isin(parts, parts[ends[hit, 0]]) if hit.any() else out
    return result
