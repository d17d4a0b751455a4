"""Pending: the live graph of a file before anybody needs it: empty, with what it will be filled with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..errors import OpenError

_MARK = "graphsurgeon_pending"
_Live = TypeVar("_Live")


class Pending:
    """What an empty live graph waits for.

    The graph is there from the beginning, as what all snapshots of it are of; its ops come with the first need.

    Args:
        read: the snapshot, read from the file without TensorFlow.
        fill: puts the ops of the file into the graph; raises OpenError where TensorFlow refuses them. None where a
            refusal is given.
        records: what applied plans have noted in the file.
        refusal: why TensorFlow will refuse them, where that is known already.

    Attributes:
        read, records: see there.
        refusal: why TensorFlow refuses the graph; None as long as nobody knows of a reason.
    """

    def __init__(
        self,
        read: Any,
        fill: Callable[[Any], None] | None,
        records: Sequence[bytes] = (),
        refusal: OpenError | None = None,
    ) -> None:
        self.read, self.records, self.refusal = read, records, refusal
        self._fill, self._lock = fill, threading.RLock()

    def wait_in(self, graph: Any) -> None:
        """Lets an empty live graph wait for this."""
        setattr(graph, _MARK, self)

    def fill(self, graph: Any) -> None:
        """Fills the graph, once.

        Raises:
            OpenError: TensorFlow refuses it, now or when it was asked before.
        """
        with self._lock:
            if pending(graph) is not self:
                return
            if self.refusal is None and self._fill is not None:
                try:
                    self._fill(graph)
                except OpenError as error:
                    self.refusal = error
            if self.refusal is not None:
                raise OpenError(self.refusal.asked, self.refusal.wrong, self.refusal.instead) from self.refusal
            delattr(graph, _MARK)


def pending(graph: Any) -> Pending | None:
    """Returns what a live graph waits for; None where it is there."""
    found: Pending | None = getattr(graph, _MARK, None)
    return found


def made(graph: _Live) -> _Live:
    """Returns a live graph with its ops: one that waits is filled now; raises OpenError where TensorFlow refuses it."""
    waiting = pending(graph)
    if waiting is not None:
        waiting.fill(graph)
    return graph
