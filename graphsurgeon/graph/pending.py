"""Pending: the live graph of a file before it is needed: empty, with the content to fill it with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from ..errors import OpenError

_MARK = "graphsurgeon_pending"
_Live = TypeVar("_Live")


class Pending:
    """The content of a live graph that is still empty.

    The graph exists from the beginning and owns all its snapshots. Its ops are added when they are first needed.

    Args:
        read: the snapshot, read from the file without TensorFlow.
        fill: puts the ops of the file into the graph; raises OpenError if TensorFlow refuses them. If a refusal is
            given, stand-ins replace the refused ops. None: no ops can be put in.
        records: the records of applied plans in the file.
        refusal: why TensorFlow will refuse the graph as a whole, if that is known already.
        infer: finds the shapes that TensorFlow infers without filling the graph. Returns the snapshot with these
            shapes, and why TensorFlow would not survive that here, or None if it would. Returns None if it was stopped.
            Default: shapes are inferred when the graph is filled.
        leave: stops `infer`, which can then be called again.
        judge: returns why no ops can be put in, or None if no reason is known. It takes time, and is called at most
            once, before ops are put in. Default: no reason is known.

    Attributes:
        read: the snapshot, with the shapes that have been inferred.
        records: see above.
        refusal: why TensorFlow refuses the graph; None as long as no reason is known.
        filled: whether the ops are in the graph, including stand-ins for refused ones.
        inferred: whether the shapes are known that can be inferred.
        leave: see above; callable from any thread.
    """

    def __init__(
        self,
        read: Any,
        fill: Callable[[Any], None] | None,
        records: Sequence[bytes] = (),
        refusal: OpenError | None = None,
        infer: Callable[[], tuple[Any, OpenError | None] | None] | None = None,
        leave: Callable[[], None] = lambda: None,
        judge: Callable[[], OpenError | None] = lambda: None,
    ) -> None:
        self.read, self.records, self.refusal, self.filled = read, records, refusal, False
        self._fill, self._infer, self._answered, self._lock = fill, infer, False, threading.RLock()
        self.leave = leave
        self._judge: Callable[[], OpenError | None] | None = judge

    @property
    def hopeless(self) -> bool:
        """Whether it is known by now that nothing of the graph can be made: it can only be looked at."""
        return self._fill is None

    @property
    def inferred(self) -> bool:
        return self.filled or self.hopeless or self._answered

    def judge(self) -> None:
        """Finds out whether it is hopeless, as far as that can be known before; callable from any thread."""
        with self._lock:
            if self._judge is not None:
                danger, self._judge = self._judge(), None
                if danger is not None:
                    self.spoil(danger)

    def infer(self, graph: Any) -> None:
        """Infers the shapes, once; callable from any thread, and may take long."""
        self.judge()
        if self.inferred:
            return
        if self._infer is None:
            with suppress(OpenError):
                self.fill(graph, whole=False)
            return
        found = self._infer()
        if found is None:
            return
        with self._lock:
            (self.read, refusal), self._answered = found, True
            if refusal is not None and not self.filled:
                self.spoil(refusal)

    def wait_in(self, graph: Any) -> None:
        """Attaches this to an empty live graph."""
        setattr(graph, _MARK, self)

    def fill(self, graph: Any, whole: bool = True) -> None:
        """Fills the graph, once. If `whole` is not set, stand-ins replace the ops that TensorFlow refuses.

        Raises:
            OpenError: TensorFlow refuses the graph, now or at an earlier call.
        """
        with self._lock:
            if pending(graph) is not self:
                return
            self.judge()
            if self._fill is not None and not self.filled and not (whole and self.refusal is not None):
                try:
                    self._fill(graph)
                    self.filled = True
                except OpenError as error:
                    self.spoil(error)
            if self.refusal is not None and (whole or not self.filled):
                raise OpenError(self.refusal.request, self.refusal.problem, self.refusal.suggestion) from self.refusal
            if self.refusal is None:
                delattr(graph, _MARK)

    def spoil(self, refusal: OpenError) -> None:
        """Notes that nothing of the graph can be made, and why."""
        self.refusal, self._fill = refusal, None


def pending(graph: Any) -> Pending | None:
    """Returns the pending content of a live graph; None if the graph is not pending."""
    found: Pending | None = getattr(graph, _MARK, None)
    return found


def made(graph: _Live, whole: bool = True) -> _Live:
    """Returns a live graph with its ops: one that waits is filled now.

    Args:
        graph: the live graph.
        whole: not with stand-ins for ops that TensorFlow refuses.

    Raises:
        OpenError: TensorFlow refuses it.
    """
    waiting = pending(graph)
    if waiting is not None:
        waiting.fill(graph, whole)
    return graph


def filled(graph: Any) -> bool:
    """Returns whether the ops of a live graph are there, stand-ins for some of them perhaps."""
    waiting = pending(graph)
    return waiting is None or waiting.filled
