"""Turns: the requests of a page are done in their order; those that only look run parallel to the notebook's cells."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections import deque
from collections.abc import Callable

TIMEOUT = 0.05
"""How long the kernel waits for parallel work, in seconds: most work is done by then, and nothing overlaps."""


class Turns:
    """Works that are done one after another on a separate thread, which ends when all are done.

    Example:
        >>> turns, done = Turns(), []
        >>> turns.beside(lambda: done.append(1))
        >>> turns.wait()
        >>> done
        [1]
    """

    def __init__(self) -> None:
        self._works: deque[tuple[Callable[[], object], threading.Event]] = deque()
        self._changed = threading.Condition()
        self._busy = False

    def beside(self, work: Callable[[], object], timeout: float = TIMEOUT) -> None:
        """Does some work on the other thread, after earlier requests; returns when it is done, or soon."""
        here, done = contextvars.copy_context(), threading.Event()  # its messages belong to the cell of this one
        with self._changed:
            self._works.append((lambda: here.run(work), done))
            if not self._busy:
                self._busy = True
                threading.Thread(target=self._go, name="graphsurgeon-turns", daemon=True).start()
        done.wait(timeout)

    def wait(self) -> None:
        """Returns when all that was asked is done."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy)

    def _go(self) -> None:
        while True:
            with self._changed:
                if not self._works:
                    self._busy = False
                    self._changed.notify_all()
                    return
                work, done = self._works.popleft()
            try:
                work()
            except Exception:  # it is reported as of any thread, and the next one has its turn
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
            finally:
                done.set()
