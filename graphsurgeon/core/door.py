"""Door: many may read at once, one may write, and nobody reads while someone writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import PlanError


class Door:
    """A lock for values that many threads read and one thread renews.

    A writer that waits goes before readers that come later, so that it is never kept out for good.

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

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Goes in beside other readers; waits while someone writes. The writer itself may read."""
        me = threading.get_ident()
        with self._changed:
            mine = me == self._writer
            if not mine and me not in self._readers:
                self._changed.wait_for(lambda: self._writer is None and not self._waiting)
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
                self._changed.wait_for(lambda: self._writer is None and not self._readers)
                self._writer = me
            finally:
                self._waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._writer = None
                self._changed.notify_all()
