"""Edges: the edges between ops, as compressed rows of NumPy arrays."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]


class Edges(NamedTuple):
    """Edges in compressed rows: row i is ``node[ptr[i]:ptr[i+1]]``; `port` is the tensor index at the producer."""

    ptr: Ints
    node: Ints
    port: Ints

    @classmethod
    def from_rows(cls, rows: Ints, node: Ints, size: int, port: Ints | None = None) -> Edges:
        """Returns `size` rows of edges.

        Args:
            rows: for each edge the number of its row, in ascending order.
            node, port: the far ends of the edges; without `port`, control edges.
            size: number of rows.

        Example:
            >>> Edges.from_rows(np.array([0, 2]), np.array([1, 1]), 3).ptr.tolist()
            [0, 1, 1, 2]
        """
        ptr = np.zeros(size + 1, np.int32)
        np.cumsum(np.bincount(rows, minlength=size), out=ptr[1:])
        ports = np.zeros(len(node), np.int32) if port is None else port.astype(np.int32, copy=False)
        return cls(ptr, node.astype(np.int32, copy=False), ports)

    def row(self, i: int) -> Ints:
        """Returns the far ends of row i."""
        return self.node[self.ptr[i] : self.ptr[i + 1]]

    def ports(self, i: int) -> Ints:
        """Returns the ports of row i."""
        return self.port[self.ptr[i] : self.ptr[i + 1]]

    def ends(self, i: int) -> list[tuple[int, int]]:
        """Returns the far ends of row i, each with its port.

        Example:
            >>> Edges.from_rows(np.array([1]), np.array([0]), 2, np.array([2])).ends(1)
            [(0, 2)]
        """
        return list(zip(self.row(i).tolist(), self.ports(i).tolist(), strict=True))

    def end(self, i: int, at: int) -> tuple[int, int]:
        """Returns one far end of row i, with its port.

        Example:
            >>> Edges.from_rows(np.array([1, 1]), np.array([0, 2]), 2, np.array([2, 0])).end(1, 1)
            (2, 0)
        """
        k = self.ptr[i] + at
        return int(self.node[k]), int(self.port[k])

    @property
    def degrees(self) -> Ints:
        """For each row, the number of its ends.

        Example:
            >>> Edges.from_rows(np.array([0, 2]), np.array([1, 1]), 3).degrees.tolist()
            [1, 0, 1]
        """
        return self.ptr[1:] - self.ptr[:-1]

    @property
    def rows(self) -> Ints:
        """For each edge, the number of its row."""
        return np.repeat(np.arange(len(self.ptr) - 1, dtype=np.int32), self.degrees)

    def gather(self, targets: NDArray[np.integer[Any]]) -> tuple[Ints, Ints]:
        """Returns, for each edge in the target rows, the index of its row in `targets` and its place in the arrays."""
        if len(targets) == len(self.ptr) - 1 and (targets[1:] - targets[:-1] == 1).all():
            return self.rows, np.arange(len(self.node), dtype=np.int32)
        begin = self.ptr[targets]
        length = self.ptr[targets + 1] - begin
        rows = np.arange(len(targets), dtype=np.int32).repeat(length)
        start = length.cumsum(dtype=np.int32) - length
        return rows, np.arange(len(rows), dtype=np.int32) + (begin - start)[rows]

    def crossing(self, parts: Sequence[NDArray[np.integer[Any]]]) -> list[list[tuple[int, int, int]]]:
        """Returns, for each part, its edges to ends outside it, as (row, far end, port), in the order of its rows.

        Args:
            parts: the rows of each part; rows are also the far ends.

        Example:
            >>> edges = Edges.from_rows(np.array([1, 2, 2]), np.array([0, 0, 1]), 3)
            >>> edges.crossing([np.array([1, 2]), np.array([2])])
            [[(1, 0, 0), (2, 0, 0)], [(2, 0, 0), (2, 1, 0)]]
        """
        size, rows = len(self.ptr) - 1, np.concatenate(parts) if parts else np.empty(0, np.int32)
        part = np.arange(len(parts)).repeat([len(some) for some in parts])
        row, at = self.gather(rows)
        within, ends = np.sort(part * size + rows), part[row] * size + self.node[at]
        outside = np.searchsorted(within, ends) == np.searchsorted(within, ends, "right")
        row, at = row[outside], at[outside]
        out: list[list[tuple[int, int, int]]] = [[] for _ in parts]
        edges = zip(rows[row].tolist(), self.node[at].tolist(), self.port[at].tolist(), strict=True)
        for number, edge in zip(part[row].tolist(), edges, strict=True):
            out[number].append(edge)
        return out

    def positions_in(self, tensors: Collection[tuple[int, int]]) -> Ints:
        """Returns, for each edge, the position of its far end and port in a list of tensors; -1 if it is not there.

        Example:
            >>> edges = Edges.from_rows(np.array([1, 1]), np.array([0, 0]), 2, np.array([2, 0]))
            >>> edges.positions_in([(0, 0), (0, 1)]).tolist()
            [-1, 0]
        """
        if not tensors:
            return np.full(len(self.node), -1, np.int32)
        op, port = np.array(list(tensors), np.int64).T
        width = int(max(port.max(), self.port.max(initial=0))) + 1
        keys, mine = op * width + port, self.node.astype(np.int64) * width + self.port
        order = np.argsort(keys)
        at = order[np.minimum(np.searchsorted(keys, mine, sorter=order), len(keys) - 1)]
        return np.where(keys[at] == mine, at, -1).astype(np.int32)

    def remap(self, rows: Ints, place: Ints) -> Edges:
        """Returns some rows, in the given order, with new numbers of the far ends; a far end at -1 is removed.

        Args:
            rows: the numbers of the rows.
            place: number of a far end -> its new number.

        Example:
            >>> edges = Edges.from_rows(np.array([0, 1, 1]), np.array([2, 0, 2]), 3)
            >>> edges.remap(np.array([1, 0]), np.array([1, 0, -1])).row(0).tolist()
            [1]
        """
        row, at = self.gather(rows)
        node = place[self.node[at]]
        stay = node >= 0
        return Edges.from_rows(row[stay], node[stay], len(rows), self.port[at][stay])

    def without_rows(self, rows: Sequence[int]) -> Edges:
        """Returns the same edges, but with empty rows at these numbers.

        Example:
            >>> Edges.from_rows(np.array([0, 1]), np.array([1, 0]), 2).without_rows([0]).degrees.tolist()
            [0, 1]
        """
        row = self.rows
        stay = ~np.isin(row, rows)
        return Edges.from_rows(row[stay], self.node[stay], len(self.ptr) - 1, self.port[stay])

    def row_range(self, first: int, end: int) -> Edges:
        """Returns the rows from `first` up to, but not including, `end`.

        Example:
            >>> Edges.from_rows(np.array([0, 2]), np.array([1, 7]), 3).row_range(1, 3).row(1).tolist()
            [7]
        """
        begin, until = int(self.ptr[first]), int(self.ptr[end])
        return Edges(self.ptr[first : end + 1] - begin, self.node[begin:until], self.port[begin:until])


def stack_edges(*parts: Edges) -> Edges:
    """Returns the rows of several `Edges`, one after another."""
    if len(parts) == 1:
        return parts[0]
    counts = np.concatenate([part.degrees for part in parts])
    ptr = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=ptr[1:])
    return Edges(ptr, *(np.concatenate(ends) for ends in zip(*((p.node, p.port) for p in parts), strict=True)))


def merge_edges(a: Edges, b: Edges) -> Edges:
    """Returns rows with the ends of `a`, then the ends of `b`."""
    order = np.argsort(np.concatenate([a.rows, b.rows]), kind="stable")
    node, port = np.concatenate([a.node, b.node])[order], np.concatenate([a.port, b.port])[order]
    return Edges(a.ptr + b.ptr, node, port)


def reversed_edges(edges: Edges, size: int) -> Edges:
    """Returns the same edges by their other ends: row i contains the rows of `edges` that contain i.

    Args:
        edges: the edges.
        size: number of rows of the result.

    Example:
        >>> reversed_edges(Edges.from_rows(np.array([1]), np.array([0]), 2), 2).row(0).tolist()
        [1]
    """
    order = np.argsort(edges.node, kind="stable")
    return Edges.from_rows(edges.node[order], edges.rows[order], size, edges.port[order])
