"""Wiring: the data edges of a large graph as arrays, kept for repeated walks as long as no edge changes.

A walk reads the neighbors of each op from TensorFlow, which takes most of its time. If a graph is walked repeatedly,
its edges are read once. Each time they are used, all ops are asked whether their inputs are still the same.

Measured with TensorFlow 2.21 on a graph of 60,000 ops: 30 ms instead of 75 ms for a walk that comes again, 33 ms
instead of 149 ms for two that are intersected, 34 ms instead of 127 ms for a flood. `python -m benchmarks graph_editor`
has such rows. Walks by chains of C calls over the live ops were not faster than from op to op.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from itertools import chain
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.collector import gc_paused
from ..graph.live import TFGraph
from ..graph.traversal import nearest_first
from ..tf import elements
from ..tf.edit import rewire as rewiring

#: a walk is large if it meets more ops than the first number, and more than one of SHARE ops of the graph
LARGE, SHARE = 4_000, 24
#: so many large walks are done op by op: to read the whole graph takes as long as some of them
FIRST = 2

Numbers = NDArray[np.int32]


class Wiring:
    """The ops of a graph by number, and their data edges.

    Args:
        graph: a `tf.Graph`.
    """

    def __init__(self, graph: TFGraph) -> None:
        with gc_paused():
            self.ops: list[Any] = graph.get_operations()
            inputs = [op.inputs for op in self.ops]
            outputs = [op.outputs for op in self.ops]
            self._marks = elements.input_marks(self.ops)
            tensors = list(chain.from_iterable(outputs))
            self._tensor = dict(zip(map(id, tensors), range(len(tensors)), strict=True))
            self._number = dict(zip(self.ops, range(len(self.ops)), strict=True))
            owner = np.repeat(np.arange(len(self.ops), dtype=np.int32), list(map(len, outputs)))
            read = np.asarray([self._tensor[id(t)] for t in chain.from_iterable(inputs)], np.int32)
            rows = np.repeat(np.arange(len(self.ops), dtype=np.int32), list(map(len, inputs)))
            consumers = [t.consumers() for t in tensors]
            carry = np.repeat(np.arange(len(tensors), dtype=np.int32), list(map(len, consumers)))
            ends = np.asarray([self._number[op] for op in chain.from_iterable(consumers)], np.int32)
            # From which op, to which op, by which tensor.
            self._behind, self._ahead = (rows, owner[read], read), (owner[carry], ends, carry)
            rows, ends = (np.concatenate([self._ahead[i], self._behind[i]]) for i in (0, 1))
            order = np.argsort(rows, kind="stable")
            self._near = rows[order], ends[order]

    def fresh(self) -> bool:
        """Returns whether all ops read what they read when this was made; the graph has not grown."""
        return all(map(is_, elements.input_marks(self.ops), self._marks))

    def numbers(self, ops: Iterable[Any]) -> Numbers:
        """Returns the numbers of ops."""
        return np.fromiter((self._number[op] for op in ops), np.int32)

    def mask(self, ops: Iterable[Any] | None) -> NDArray[np.bool_] | None:
        """Returns a mask of ops; None for None, which means all."""
        if ops is None:
            return None
        out = np.zeros(len(self.ops), np.bool_)
        out[self.numbers(ops)] = True
        return out

    def walk(self, seeds: list[Any], ahead: bool, stop: Iterable[int], within: Iterable[Any] | None) -> Numbers:
        """Returns the ops that need the seeds, or that the seeds need, nearest first, the seeds among them.

        Args:
            seeds: ops, each once.
            ahead: those that need the seeds.
            stop: ids of tensors that are not followed.
            within: ops to stay within, or None.
        """
        rows, ends, carry = self._ahead if ahead else self._behind
        stopped = [self._tensor[key] for key in stop if key in self._tensor]
        keep = ~np.isin(carry, stopped)
        inside = self.mask(within)
        if inside is not None:
            keep &= inside[ends]
        return nearest_first(rows[keep], ends[keep], self.numbers(seeds), len(self.ops))

    def around(self, seeds: list[Any], boundary: Iterable[Any], within: Any) -> NDArray[np.bool_]:
        """Returns a mask of what is reached along and against the edges; ops of the boundary are reached, not left."""
        stay, inside = self.mask(boundary), self.mask(within)
        assert stay is not None
        rows, ends = self._near
        keep = ~stay[rows] if inside is None else ~stay[rows] & inside[ends]
        out = np.zeros(len(self.ops), np.bool_)
        out[nearest_first(rows[keep], ends[keep], self.numbers(seeds), len(self.ops))] = True
        return out


class Found:
    """What a walk has met, in order.

    Args:
        wiring: the wiring that was used, or None.
        order: numbers of its ops; the ops themselves if there was none.
    """

    def __init__(self, wiring: Wiring | None, order: Any) -> None:
        self.wiring, self.order = wiring, order

    @cached_property
    def ops(self) -> list[Any]:
        """The ops."""
        return self.order if self.wiring is None else [self.wiring.ops[i] for i in self.order.tolist()]

    def also_in(self, other: Found) -> list[Any]:
        """Returns those that the other has met, too."""
        if self.wiring is None or self.wiring is not other.wiring:
            kept = set(other.ops)
            return [op for op in self.ops if op in kept]
        there = np.zeros(len(self.wiring.ops), np.bool_)
        there[other.order] = True
        return Found(self.wiring, self.order[there[self.order]]).ops


_TRUSTED: ContextVar[dict[int, Wiring] | None] = ContextVar("_TRUSTED", default=None)


@contextmanager
def one_look() -> Iterator[None]:
    """Within it, a graph is asked once only whether it is what it was: for the walks of one call."""
    token = _TRUSTED.set({})
    try:
        yield
    finally:
        _TRUSTED.reset(token)


def is_worth(found: int, graph: TFGraph) -> bool:
    """Returns whether a walk that has met this number of ops is large, or a part of a call with one."""
    return (found > LARGE and found * SHARE > graph.version) or id(graph) in (_TRUSTED.get() or ())


def wiring_of(graph: TFGraph) -> Wiring | None:
    """Returns the wiring of a graph for a large walk; None for the first such walks of a graph as it is now."""
    trusted = _TRUSTED.get()
    if trusted and id(graph) in trusted:
        return trusted[id(graph)]
    held = rewiring.journal(graph)
    state = (graph.version, held.count)
    known = held.wiring if held.wiring is not None and held.wiring[0] == state else (state, 0, None)
    _, walks, wiring = known
    if wiring is not None and not wiring.fresh():
        walks, wiring = 0, None
    elif wiring is None and walks >= FIRST and elements.MARKS_INPUTS:
        wiring = Wiring(graph)
    held.wiring = (state, walks + 1, wiring)
    if trusted is not None and wiring is not None:
        trusted[id(graph)] = wiring
    return wiring
