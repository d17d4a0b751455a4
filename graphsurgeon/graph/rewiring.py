"""Makes snapshots with other edges or without some ops, and finds the cycles that new edges close."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .graph import DerivedOrigin, Edges, Graph, Ints, Mask, TensorInfo
from .traversal import backward, strong_components

#: Returns the outputs of an op, by its number.
OutputsOf = Callable[[int], Sequence[TensorInfo] | None]


class _OutputRange(NamedTuple):
    """Consecutive ops with outputs from one function.

    Args:
        first: the number of the first op.
        outputs_of: the function; None if the outputs are not known.
        numbers: for each op its number in the function; None if it is its number minus `first`.
    """

    first: int
    outputs_of: OutputsOf | None
    numbers: Ints | None


class OutputTable:
    """Returns the outputs of ops. Steps of a plan add and remove ops without nesting one function in another.

    Args:
        parts: the ranges of ops, in order.

    Example:
        >>> one, two = TensorInfo("float32", (1,)), TensorInfo("int32", (2,))
        >>> graph = Graph.from_ops([("a", "Const", [])], outputs_of=lambda i: [one])
        >>> known = OutputTable.from_graph(graph).with_ops((1, lambda i: [two]))
        >>> known(0) == [one], known(1) == [two], known.subset(np.array([1], np.int32), 2)(0) == [two]
        (True, True, True)
    """

    def __init__(self, parts: Sequence[_OutputRange]) -> None:
        self._ranges = parts
        self._starts = [part.first for part in parts]

    @classmethod
    def from_graph(cls, graph: Graph) -> OutputTable:
        """Returns the known outputs of the ops of a graph."""
        outputs = graph.outputs_of
        return outputs if isinstance(outputs, OutputTable) else cls([_OutputRange(0, outputs, None)])

    def __call__(self, number: int) -> Sequence[TensorInfo] | None:
        at = bisect_right(self._starts, number) - 1
        first, lookup, numbers = self._ranges[at]
        if lookup is None:
            return None
        return lookup(number - first if numbers is None else int(numbers[number - first]))

    def with_ops(self, *ranges: tuple[int, OutputsOf | None]) -> OutputTable:
        """Returns a table with more ops.

        Args:
            ranges: (number of the first op, function that numbers its ops from 0).
        """
        return OutputTable([*self._ranges, *(_OutputRange(first, lookup, None) for first, lookup in ranges)])

    def subset(self, remaining: NDArray[np.integer], size: int) -> OutputTable:
        """Returns a table for a graph with only some of the ops.

        Args:
            remaining: the numbers of the remaining ops, in ascending order.
            size: the old number of ops.
        """
        ends = [*self._starts[1:], size]
        parts = []
        for (first, lookup, numbers), end in zip(self._ranges, ends, strict=True):
            begin, until = np.searchsorted(remaining, [first, end]).tolist()
            mine = (remaining[begin:until] - first).astype(np.int32)
            if len(mine):
                parts.append(_OutputRange(begin, lookup, mine if numbers is None else numbers[mine]))
        return OutputTable(parts or [_OutputRange(0, None, None)])


#: The ops that close a TF1 loop: the ops of the next round, and the ops that read their values.
TURNING, MERGING = ("NextIteration", "RefNextIteration"), ("Merge", "RefMerge")
#: op, position of its input, (producer, output).
Edge = tuple[int, int, tuple[int, int]]


def import_order(graph: Graph) -> list[int] | None:
    """Returns the numbers of all ops in the order in which TensorFlow imports them; None if it is the current order.

    TensorFlow always imports the first op with only imported inputs next. A ``Merge`` that closes a loop waits for only
    one of its inputs. Ops on a cycle that is not a loop come last, and TensorFlow refuses them.

    Example:
        >>> import_order(Graph.from_ops([("b", "Neg", ["a"]), ("a", "Const", [])]))
        [1, 0]
    """
    loops = graph.type_mask(MERGING)
    back_edges = loops[graph.data.rows] & graph.type_mask(TURNING)[graph.data.node]
    late = (graph.data.node >= graph.data.rows) & ~back_edges
    if not late.any() and not (graph.control.node >= graph.control.rows).any():
        return None
    waits = graph.data.degrees + graph.control.degrees
    closing = np.unique(graph.data.rows[back_edges])
    waits[closing] = 1 + graph.control.degrees[closing]
    remaining: list[int] = waits.tolist()
    readers: list[list[int]] = [[] for _ in range(graph.size)]
    for edges in (graph.data, graph.control):
        for reader, op in zip(edges.rows.tolist(), edges.node.tolist(), strict=True):
            readers[op].append(reader)
    ready = [i for i, count in enumerate(remaining) if not count]
    order = []
    while ready:
        op = heapq.heappop(ready)
        order.append(op)
        for reader in readers[op]:
            remaining[reader] -= 1
            if not remaining[reader]:
                heapq.heappush(ready, reader)
    if len(order) < graph.size:
        ordered = set(order)
        order += [i for i in range(graph.size) if i not in ordered]
    return order


def reorder_ops(graph: Graph, order: Sequence[int]) -> Graph:
    """Returns a snapshot with its ops in another order; no other snapshot may have its owner.

    Args:
        graph: the snapshot.
        order: the numbers of all its ops, in the new order.

    Example:
        >>> g = reorder_ops(Graph.from_ops([("b", "Neg", ["a:1"]), ("a", "Split", [])]), [1, 0])
        >>> g.names, g.input_names(1)
        (['a', 'b'], ['a:1'])
    """
    rows = np.asarray(order, np.int32)
    place = np.empty_like(rows)
    place[rows] = np.arange(graph.size, dtype=np.int32)
    names = [graph.names[i] for i in order]
    return replace(
        graph, names=names, types=[graph.types[i] for i in order], nodes=[graph.nodes[i] for i in order],
        data=graph.data.remap(rows, place), control=graph.control.remap(rows, place),
        index=dict(zip(names, range(graph.size), strict=True)),
    )  # fmt: skip


def rewire_inputs(graph: Graph, edges: Sequence[Edge]) -> Graph:
    """Returns a snapshot in which some inputs read other tensors.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Const", []), ("c", "Neg", ["a"])])
        >>> rewire_inputs(g, [(2, 0, (1, 0))]).input_names(2)
        ['b:0']
    """
    node, port = graph.data.node.copy(), graph.data.port.copy()
    for op, position, tensor in edges:
        at = int(graph.data.ptr[op]) + position
        node[at], port[at] = tensor
    return replace(graph, data=Edges(graph.data.ptr, node, port))


def set_control_inputs(graph: Graph, control_inputs: Mapping[int, Sequence[int]]) -> Graph:
    """Returns a snapshot in which each of these ops has exactly these control inputs.

    Example:
        >>> g = Graph.from_ops([("a", "NoOp", []), ("b", "NoOp", ["^a"]), ("c", "NoOp", ["^b"])])
        >>> h = set_control_inputs(g, {1: [], 2: [0, 1]})
        >>> h.control_names(1), h.control_names(2)
        ([], ['a', 'b'])
    """
    control = graph.control
    counts = control.degrees
    reordered = np.zeros(graph.size, np.bool_)
    for op, new in control_inputs.items():
        counts[op], reordered[op] = len(new), True
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    node = np.empty(int(ptr[-1]), np.int32)
    rows = control.rows
    stay = ~reordered[rows]
    node[(np.arange(len(rows)) - control.ptr[rows] + ptr[rows])[stay]] = control.node[stay]
    for op, new in control_inputs.items():
        node[ptr[op] : ptr[op + 1]] = new
    return replace(graph, control=Edges(ptr, node, np.zeros(len(node), np.int32)))


def graph_without_ops(graph: Graph, removed: Sequence[int]) -> Graph:
    """Returns a snapshot without some ops. No remaining op may read them.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["a"])])
        >>> h = graph_without_ops(g, [1])
        >>> h.names, h.input_names(1)
        (['a', 'c'], ['a:0'])
    """
    keep = ~graph.mask(removed)
    stay = np.flatnonzero(keep)
    place = np.cumsum(keep, dtype=np.int32) - 1
    flags = keep.tolist()
    names = list(compress(graph.names, flags))
    return replace(
        graph,
        names=names,
        types=list(compress(graph.types, flags)),
        nodes=list(compress(graph.nodes, flags)),
        data=_kept_edges(graph.data, keep, place),
        control=_kept_edges(graph.control, keep, place),
        index=dict(zip(names, range(len(names)), strict=True)),
        owner=DerivedOrigin(graph.origin),
        outputs_of=OutputTable.from_graph(graph).subset(stay, graph.size) if graph.outputs_of else None,
    )


def _kept_edges(edges: Edges, mask: np.ndarray, place: np.ndarray) -> Edges:
    rows = edges.rows
    inside = mask[rows] & mask[edges.node]
    return Edges.from_rows(place[rows[inside]], place[edges.node[inside]], int(mask.sum()), edges.port[inside])


def ops_on_new_cycles(after: Graph, edges: Sequence[tuple[int, int]]) -> Mask:
    """Returns a mask of the ops on cycles that edges (op, its input or control input) close.

    Args:
        after: the graph, including these edges.
        edges: the edges to check; back edges of loops close no cycle.

    Example:
        >>> g = Graph.from_ops([("a", "Neg", ["b"]), ("b", "Neg", ["a"]), ("c", "Neg", ["b"])])
        >>> ops_on_new_cycles(g, [(0, 1)]).tolist()
        [True, True, False]
    """
    out = np.zeros(after.size, np.bool_)
    if not edges:
        return out
    if len({source for _, source in edges}) == 1:
        # All edges have the same source. It is faster to look only at the ops above it.
        source = edges[0][1]
        looping = any(kind in after.types for kind in TURNING)  # searching a list is faster than `typed`
        turning = np.flatnonzero(after.type_mask(TURNING)).tolist() if looping else ()
        above = backward(after, after.mask([source]), frozenset((i, 0) for i in turning))
        out[[end for op, _ in edges if above[op] for end in (op, source)]] = True
        return out
    parts = strong_components(after, after.type_mask(TURNING))
    ends = np.asarray(edges, np.int64)
    hit = parts[ends[:, 0]] == parts[ends[:, 1]]
    result: Mask = np.isin(parts, parts[ends[hit, 0]]) if hit.any() else out
    return result
