"""Known outputs: dtypes and shapes in a graph that a plan has put together from any steps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .graph import Graph, Ints, TensorInfo

#: Tells the outputs of an op, by its number.
Telling = Callable[[int], Sequence[TensorInfo] | None]


class _Part(NamedTuple):
    """Consecutive ops whose outputs one call returns.

    Args:
        first: number of the first.
        tell: the call; None if the outputs are not known.
        numbers: the number of each op in that call; None: its number minus `first`.
    """

    first: int
    tell: Telling | None
    numbers: Ints | None


class KnownOutputs:
    """Tells the outputs of ops; it grows and shrinks without one call inside another for each step of a plan.

    Args:
        parts: the ops, part by part, in order.
        unshaped: ops of whose outputs only the dtypes are known.

    Example:
        >>> one, two = TensorInfo("float32", (1,)), TensorInfo("int32", (2,))
        >>> graph = Graph.of([("a", "Const", [])], outputs_of=lambda i: [one])
        >>> known = KnownOutputs.of(graph).longer((1, lambda i: [two]))
        >>> known(0) == [one], known(1) == [two], known.cut(np.array([1], np.int32), 2)(0) == [two]
        (True, True, True)
        >>> loose = known.without_shapes([1])
        >>> loose(0) == [one], loose(1)[0], loose.cut(np.array([1], np.int32), 2)(0)[0].shape
        (True, TensorInfo(dtype='int32', shape=None), None)
    """

    def __init__(self, parts: Sequence[_Part], unshaped: frozenset[int] = frozenset()) -> None:
        self._parts = parts
        self._firsts = [part.first for part in parts]
        self._unshaped = unshaped

    @classmethod
    def of(cls, graph: Graph) -> KnownOutputs:
        """Returns the known outputs of the ops of a graph."""
        known = graph.outputs_of
        return known if isinstance(known, KnownOutputs) else cls([_Part(0, known, None)])

    def __call__(self, number: int) -> Sequence[TensorInfo] | None:
        at = bisect_right(self._firsts, number) - 1
        first, tell, numbers = self._parts[at]
        if tell is None:
            return None
        found = tell(number - first if numbers is None else int(numbers[number - first]))
        return [TensorInfo(t.dtype, None) for t in found] if found and number in self._unshaped else found

    def longer(self, *more: tuple[int, Telling | None]) -> KnownOutputs:
        """Returns the same with more ops.

        Args:
            more: for each call the number of its first op, and the call, which counts its ops from 0.
        """
        return KnownOutputs([*self._parts, *(_Part(first, tell, None) for first, tell in more)], self._unshaped)

    def cut(self, stay: NDArray[np.integer], size: int) -> KnownOutputs:
        """Returns the known outputs of a graph that has only some of the ops.

        Args:
            stay: their numbers, rising.
            size: how many ops there were.
        """
        ends = [*self._firsts[1:], size]
        parts = []
        for (first, tell, numbers), end in zip(self._parts, ends, strict=True):
            begin, until = np.searchsorted(stay, [first, end]).tolist()
            mine = (stay[begin:until] - first).astype(np.int32)
            if len(mine):
                parts.append(_Part(begin, tell, mine if numbers is None else numbers[mine]))
        unshaped = np.flatnonzero(np.isin(stay, list(self._unshaped))) if self._unshaped else stay[:0]
        return KnownOutputs(parts or [_Part(0, None, None)], frozenset(unshaped.tolist()))

    def without_shapes(self, ops: Iterable[int]) -> KnownOutputs:
        """Returns the same, but with only the dtypes of the outputs of some ops."""
        return KnownOutputs(self._parts, self._unshaped.union(ops))
