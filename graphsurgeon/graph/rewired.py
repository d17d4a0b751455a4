"""Rewired: a snapshot with other edges, or without some ops, and the cycles that new edges close."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress

import numpy as np

from .graph import Derived, Edges, Graph, Mask
from .known_outputs import KnownOutputs
from .traversal import backward, strong_components

#: The ops that close a loop of TF1: those of the next round, and those that take its value.
TURNING, MERGING = ("NextIteration", "RefNextIteration"), ("Merge", "RefMerge")
#: op, position of its input, (producer, output).
Edge = tuple[int, int, tuple[int, int]]


def in_order(graph: Graph, order: Sequence[int]) -> Graph:
    """Returns a snapshot with its ops in another order; no other snapshot may have its owner.

    Args:
        graph: the snapshot.
        order: the numbers of all its ops, as they are to stand.

    Example:
        >>> g = in_order(Graph.of([("b", "Neg", ["a:1"]), ("a", "Split", [])]), [1, 0])
        >>> g.names, g.input_names(1)
        (['a', 'b'], ['a:1'])
    """
    rows = np.asarray(order, np.int32)
    place = np.empty_like(rows)
    place[rows] = np.arange(graph.size, dtype=np.int32)
    names = [graph.names[i] for i in order]
    return replace(
        graph, names=names, types=[graph.types[i] for i in order], nodes=[graph.nodes[i] for i in order],
        data=graph.data.moved(rows, place), control=graph.control.moved(rows, place),
        index=dict(zip(names, range(graph.size), strict=True)),
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
        owner=Derived(graph.origin),
        outputs_of=KnownOutputs.of(graph).cut(stay, graph.size) if graph.outputs_of else None,
    )


def _kept(edges: Edges, keep: np.ndarray, place: np.ndarray) -> Edges:
    rows = edges.rows
    inside = keep[rows] & keep[edges.node]
    return Edges.of(place[rows[inside]], place[edges.node[inside]], int(keep.sum()), edges.port[inside])


def closed_cycle(after: Graph, edges: Sequence[tuple[int, int]]) -> Mask:
    """Returns a mask of the ops on cycles that edges (op, its input or control input) close.

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
