"""Walks over a graph: ancestors, descendants and cycles, with compiled library algorithms and without recursion."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from .graph import Edges, Graph, Ints, Mask

if TYPE_CHECKING:
    from scipy import sparse

Thing = TypeVar("Thing")

FEW_EDGES = 20_000
"""The number of edges below which a walk does not import SciPy: the import takes longer than 30 such walks."""


def reachable_from(start: Iterable[Thing], successors: Callable[[Thing], Iterable[Thing]]) -> dict[Thing, None]:
    """Returns the start things and all things that they lead to, without duplicates. A walk without arrays of edges.

    Args:
        start: the things at which the walk begins.
        successors: returns the things that a thing leads to; it is called once for each thing.

    Example:
        >>> list(reachable_from([6], lambda n: [n // 2, n // 3] if n else []))
        [6, 2, 0, 1, 3]
    """
    visited: dict[Thing, None] = {}
    todo = list(start)
    while todo:
        one = todo.pop()
        if one not in visited:
            visited[one] = None
            todo.extend(successors(one))
    return visited


def follow_chain(start: Thing, successor: Callable[[Thing], Thing | None]) -> Thing:
    """Returns the end of a chain. A cyclic chain, for example in a damaged file, ends before it repeats.

    Args:
        start: the first thing.
        successor: returns the next thing, or None.

    Example:
        >>> follow_chain(40, lambda n: n // 2 if n % 2 == 0 else None), follow_chain(7, lambda n: (n + 1) % 3)
        (5, 1)
    """
    return next(reversed(reachable_from([start], lambda one: [after] if (after := successor(one)) is not None else ())))


def backward(
    graph: Graph,
    start: Mask,
    cuts: frozenset[tuple[int, int]] = frozenset(),
    control: bool = True,
    within: Mask | None = None,
    control_edges: Mask | None = None,
) -> Mask:
    """Returns the ops in `start` and all ops that they need.

    Args:
        graph: the snapshot to walk.
        start: mask of the ops to start from.
        cuts: tensors (op, output) at which the walk stops, because they are fed. Their edges are not followed. Control
            edges from their ops are not followed either.
        control: whether to follow control inputs too.
        within: walk only through these ops.
        control_edges: follow only these control edges.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["b"])])
        >>> backward(g, g.mask([1])).tolist()
        [True, True, False]
        >>> g = Graph.from_ops([("a", "NoOp", []), ("b", "NoOp", []), ("c", "NoOp", ["^a", "^b"])])
        >>> backward(g, g.mask([2]), control_edges=np.array([True, False])).tolist()
        [True, False, True]
    """
    if not cuts and within is None and control_edges is None:
        return _walk(graph.all_inputs if control else graph.data, start)
    if cuts and control:
        there = ~np.isin(graph.control.node, [op for op, _ in cuts])
        control_edges = there if control_edges is None else control_edges & there
    row, col = walk_edges(graph, uncut_edges(graph, cuts), control, within, control_edges)
    return reachable_mask(row, col, start)


def forward(
    graph: Graph, start: Mask, control: bool = True, within: Mask | None = None, edges: Mask | None = None
) -> Mask:
    """Returns the ops in `start` and all ops that need them.

    Args:
        graph: the snapshot to walk.
        start: mask of the ops to start from.
        control: whether to follow control edges too.
        within: walk only through these ops.
        edges: follow only these data edges.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["b"])])
        >>> forward(g, g.mask([1])).tolist()
        [False, True, True]
    """
    row, col = walk_edges(graph, edges, control, within)
    return reachable_mask(col, row, start)


def nearest_first(rows: Ints, targets: Ints, seeds: Ints, size: int) -> Ints:
    """Returns the ops that are reached from seeds: first the seeds, then wave by wave in the order of the edges.

    Args:
        rows: the op at the start of each edge, in ascending order.
        targets: the op at the end of each edge.
        seeds: the ops to start from, without duplicates.
        size: the number of ops.

    Example:
        >>> ints = lambda *numbers: np.array(numbers, np.int32)
        >>> nearest_first(ints(0, 0, 1, 3), ints(2, 1, 3, 0), ints(0), 4).tolist()
        [0, 2, 1, 3]
    """
    return _order(Edges.from_rows(rows, targets, size, targets), seeds)[1:]


def producers(graph: Graph, tensors: Iterable[tuple[int, int]], cuts: Container[tuple[int, int]] = frozenset()) -> Mask:
    """Returns the ops that compute some tensors. A tensor that is fed needs no op.

    Args:
        graph: the snapshot.
        tensors: the tensors, as pairs (op, output).
        cuts: the tensors that are fed.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"])])
        >>> producers(g, [(0, 0), (1, 0)]).tolist(), producers(g, [(0, 0), (1, 0)], {(0, 0)}).tolist()
        ([True, True], [False, True])
    """
    return graph.mask(op for op, port in tensors if (op, port) not in cuts)


def uncut_edges(graph: Graph, cuts: frozenset[tuple[int, int]]) -> Mask | None:
    """Returns a mask over data edges that is false for edges with a tensor of `cuts`; None without cuts."""
    return graph.data.positions_in(cuts) < 0 if cuts else None


def components(graph: Graph, into: Mask, out_of: Mask, control: bool = True) -> NDArray[np.int32]:
    """Returns for each op the number of its connected part, if edges into some ops and out of others are ignored.

    Args:
        graph: the snapshot.
        into, out_of: masks of the ops with ignored incoming and outgoing edges.
        control: whether control edges connect parts too.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["b"])])
        >>> components(g, g.mask([2]), g.mask([])).tolist()
        [0, 0, 1]
    """
    row, col = walk_edges(graph, None, control, None)
    keep = ~into[row] & ~out_of[col]
    return connected_parts(row[keep], col[keep], graph.size)


def strong_components(graph: Graph, out_of: Mask) -> NDArray[np.int32]:
    """Returns for each op the number of the cycle that contains it; an op on no cycle has a separate number.

    Args:
        graph: the snapshot.
        out_of: ops whose data edges do not count; control edges from them do.

    Example:
        >>> g = Graph.from_ops([("a", "Neg", ["b"]), ("b", "Neg", ["a"]), ("c", "Neg", ["b"])])
        >>> a, b, c = strong_components(g, g.mask([]))
        >>> bool(a == b), bool(a == c)
        (True, False)
    """
    return strong_parts(*walk_edges(graph, ~out_of[graph.data.node], True, None), graph.size)


def strong_parts(row: Ints, col: Ints, size: int) -> NDArray[np.int32]:
    """Returns for each of `size` things the number of the cycle that contains it, by edges from `row` to `col`.

    A thing on no cycle has a separate number.

    Args:
        row, col: the ends of the edges.
        size: the number of things.
    """
    if (row <= col).all() or (row >= col).all():  # no edge leads back
        return np.arange(size, dtype=np.int32)
    from scipy.sparse import csgraph

    labels: Ints = csgraph.connected_components(_matrix(row, col, size), directed=True, connection="strong")[1]
    return labels.astype(np.int32)


def connected_parts(row: Ints, col: Ints, size: int) -> NDArray[np.int32]:
    """Returns for each of `size` things the number of its connected part, by edges between `row` and `col`.

    Args:
        row, col: the ends of the edges.
        size: the number of things.

    Example:
        >>> connected_parts(np.array([0, 3]), np.array([2, 2]), 5).tolist()
        [0, 1, 0, 0, 2]
    """
    first = np.arange(size, dtype=np.int32)  # for each thing, the first known thing of its part
    while True:
        a, b = first[row], first[col]
        apart = a != b
        if not apart.any():
            break
        row, col, a, b = row[apart], col[apart], a[apart], b[apart]
        np.minimum.at(first, np.maximum(a, b), np.minimum(a, b))
        while (first[first] != first).any():
            first = first[first]
    numbers: Ints = np.cumsum(first == np.arange(size), dtype=np.int32) - np.int32(1)
    return numbers[first]


def shortest(row: Ints, col: Ints, start: int, goals: Mask) -> list[int]:
    """Returns a shortest path of ops from `start` to one of `goals`, by edges from `row` to `col`; or nothing."""
    from scipy.sparse import csgraph

    matrix = _matrix(row, col, len(goals))
    order, before = csgraph.breadth_first_order(matrix, start, directed=True, return_predecessors=True)
    hits = order[goals[order]]
    if not len(hits):
        return []
    chain = [int(hits[0])]
    while chain[-1] != start:
        chain.append(int(before[chain[-1]]))
    return chain[::-1]


def shortest_between(graph: Graph, starts: Mask, goals: Mask, control: bool = True) -> list[int]:
    """Returns a shortest path of ops from some ops to others downstream; empty if there is none.

    Args:
        graph: the snapshot.
        starts: the ops at which the path may begin.
        goals: the ops at which the path may end.
        control: whether control edges count too.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["b"]), ("d", "Add", ["a", "c"])])
        >>> shortest_between(g, g.mask([0]), g.mask([2])), shortest_between(g, g.mask([2]), g.mask([0]))
        ([0, 1, 2], [])
    """
    reader, target = walk_edges(graph, None, control, None)
    first = np.flatnonzero(starts).astype(target.dtype)
    # one additional op before all starts makes one search enough
    row, col = np.concatenate([target, np.full_like(first, graph.size)]), np.concatenate([reader, first])
    return shortest(row, col, graph.size, np.append(goals, False))[1:]


def walk_edges(
    graph: Graph, edges: Mask | None, control: bool, within: Mask | None, control_edges: Mask | None = None
) -> tuple[Ints, Ints]:
    """Returns the edges of a walk, as two arrays: the consumers, and the ops that they need.

    Args:
        graph: the snapshot.
        edges: include only these data edges; None for all.
        control: whether to include control edges.
        within: include only edges with both ends in this mask.
        control_edges: include only these control edges; None for all.
    """
    row, col = graph.data.rows, graph.data.node
    if edges is not None:
        row, col = row[edges], col[edges]
    if control:
        later, before = graph.control.rows, graph.control.node
        if control_edges is not None:
            later, before = later[control_edges], before[control_edges]
        row, col = np.concatenate([row, later]), np.concatenate([col, before])
    if within is not None:
        keep = within[row] & within[col]
        row, col = row[keep], col[keep]
    return row, col


def _matrix(row: Ints, col: Ints, size: int) -> sparse.csr_matrix:
    from scipy import sparse

    return sparse.csr_matrix((np.ones(len(row), np.int8), (row, col)), shape=(size, size))


def reachable_mask(row: Ints, col: Ints, start: Mask) -> Mask:
    """Returns the ops in `start` and all ops that edges from `row` to `col` lead to."""
    if _without_scipy(len(row)):
        order = np.argsort(row, kind="stable")
        return _walk(Edges.from_rows(row[order], col[order], len(start)), start)
    rows = _matrix(row, col, len(start))
    return _walk(Edges(rows.indptr, rows.indices, rows.indices), start)


def _walk(edges: Edges, start: Mask) -> Mask:
    out, first = np.zeros(len(start) + 1, np.bool_), np.flatnonzero(start)
    if _without_scipy(len(edges.node)):
        ptr, node = edges.ptr.tolist(), edges.node.tolist()
        out[list(reachable_from(first.tolist(), lambda i: node[ptr[i] : ptr[i + 1]]))] = True
    else:
        out[_order(edges, first.astype(np.int32))] = True
    return out[:-1]


def _without_scipy(edges: int) -> bool:
    """Returns whether SciPy is not imported yet, and its import takes longer than walks over this number of edges."""
    return edges < FEW_EDGES and "scipy.sparse.csgraph" not in sys.modules


def _order(edges: Edges, first: Ints) -> Ints:
    """Returns the reached ops in order, after a virtual op before all starts, which makes one walk enough."""
    from scipy import sparse
    from scipy.sparse import csgraph

    size, node = len(edges.ptr) - 1, np.concatenate([edges.node, first])
    ptr = np.append(edges.ptr, np.int32(len(node)))
    matrix = sparse.csr_matrix((np.ones(len(node)), node, ptr), shape=(size + 1, size + 1))
    order: Ints = csgraph.breadth_first_order(matrix, size, directed=True, return_predecessors=False)
    return order
