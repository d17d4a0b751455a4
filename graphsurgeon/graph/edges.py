"""Edges: which ops read which, as compressed rows of NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]


class Edges(NamedTuple):
    """Edges in compressed rows: row i is ``node[ptr[i]:ptr[i+1]]``; `port` is the tensor index at the producer."""

    ptr: Ints
    node: Ints
    port: Ints

    def row(self, i: int) -> Ints:
        """Returns the far ends of row i."""
        return self.node[self.ptr[i] : self.ptr[i + 1]]

    @property
    def rows(self) -> Ints:
        """For each edge, the row it is in."""
        return np.repeat(np.arange(len(self.ptr) - 1, dtype=np.int32), np.diff(self.ptr))


def ends(edges: Edges, i: int) -> list[tuple[int, int]]:
    """Returns the far ends of row i, each with its port.

    Example:
        >>> ends(joined(None, [0, 0, 1], [0], [2]), 1)
        [(0, 2)]
    """
    begin, end = int(edges.ptr[i]), int(edges.ptr[i + 1])
    return list(zip(edges.node[begin:end].tolist(), edges.port[begin:end].tolist(), strict=True))


def joined(old: Edges | None, ptr: Sequence[int], node: Sequence[int], port: Sequence[int]) -> Edges:
    """Returns the rows of `old`, where there are any, and after them those of the lists.

    Example:
        >>> joined(None, [0, 0, 1], [0], [2]).row(1).tolist()
        [0]
    """
    new = Edges(np.asarray(ptr, np.int32), np.asarray(node, np.int32), np.asarray(port, np.int32))
    return stacked(old, new) if old is not None else new


def stacked(old: Edges, new: Edges) -> Edges:
    """Returns the rows of `old`, and after them those of `new`."""
    ptr = np.concatenate([old.ptr, new.ptr[1:] + old.ptr[-1]]).astype(np.int32)
    return Edges(ptr, np.concatenate([old.node, new.node]), np.concatenate([old.port, new.port]))


def side_by_side(a: Edges, b: Edges) -> Edges:
    """Returns rows that hold those of `a` and then those of `b`.

    Example:
        >>> a, b = joined(None, [0, 1, 1], [7], [0]), joined(None, [0, 1, 2], [8, 9], [0, 0])
        >>> side_by_side(a, b).row(0).tolist(), side_by_side(a, b).row(1).tolist()
        ([7, 8], [9])
    """
    order = np.argsort(np.concatenate([a.rows, b.rows]), kind="stable")
    node, port = np.concatenate([a.node, b.node])[order], np.concatenate([a.port, b.port])[order]
    return Edges(a.ptr + b.ptr, node, port)


def reversed_edges(edges: Edges, size: int) -> Edges:
    """Returns the same edges by their other ends: row i = the rows of `edges` that hold i.

    Args:
        edges: the edges.
        size: number of rows of the result.

    Example:
        >>> reversed_edges(joined(None, [0, 0, 1], [0], [2]), 2).row(0).tolist()
        [1]
    """
    order = np.argsort(edges.node, kind="stable")
    ptr = np.zeros(size + 1, np.int32)
    np.cumsum(np.bincount(edges.node, minlength=size), out=ptr[1:])
    return Edges(ptr, edges.rows[order], edges.port[order])
