"""Door: many may read at once, one may write, and nobody reads while someone writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import PlanError


class Door:
    """A lock for values that many threads read and one thread renews.

    A writer that waits goes before readers that come later, and readers that waited for it before the next writer: none
    is kept out for good.

    Example:
        >>> door = Door()
        >>> with door.reading(), door.reading():
        ...     "one thread may go in twice"
        'one thread may go in twice'
        >>> with door.writing():
        ...     "alone"
        'alone'
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers: dict[int, int] = {}  # thread -> how often it went in
        self._writer: int | None = None
        self._waiting = 0
        self._queued = self._owed = 0  # readers that wait, and those of them that go before the next writer

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Goes in beside other readers; waits while someone writes. The writer itself may read."""
        me = threading.get_ident()
        with self._changed:
            mine = me == self._writer
            if not mine and me not in self._readers:
                self._queue()
            if not mine:
                self._readers[me] = self._readers.get(me, 0) + 1
        try:
            yield
        finally:
            with self._changed:
                if not mine:
                    self._readers[me] -= 1
                    if not self._readers[me]:
                        del self._readers[me]
                self._changed.notify_all()

    def _queue(self) -> None:
        """Waits for one's turn to read."""
        self._queued += 1
        try:
            self._changed.wait_for(lambda: self._writer is None and (self._owed > 0 or not self._waiting))
        finally:
            self._queued -= 1
            self._owed = min(max(0, self._owed - 1), self._queued)
            self._changed.notify_all()

    def is_reader(self) -> bool:
        """Returns whether this very thread is reading."""
        return threading.get_ident() in self._readers

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Goes in alone; waits until all readers are out.

        Raises:
            PlanError: this very thread is reading: it would wait for itself.
        """
        me = threading.get_ident()
        with self._changed:
            if me in self._readers or me == self._writer:
                raise PlanError(
                    "update()", "this thread is reading the values right now", "Update outside of `with reading()`"
                )
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: self._writer is None and not self._readers and not self._owed)
                self._writer = me
            finally:
                self._waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._writer, self._owed = None, self._queued
                self._changed.notify_all()
