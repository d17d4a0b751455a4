"""Locks for many readers or one writer, properties that one thread computes, and pauses of the garbage collector."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, overload

from ..errors import PlanError


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pauses the garbage collector, which doubles the cost of making many small objects at once.

    Example:
        >>> with gc_paused():
        ...     gc.isenabled()
        False
    """
    enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if enabled:
            gc.enable()


# One lock for all doors: a thread that waits for several doors takes all of them at once, so no thread waits while
# holding a door that another one needs. It is held for a few comparisons only.
_changed = threading.Condition()
_queue: list[_LockRequest] = []  # those who wait, in the order in which they came
_held: dict[int, int] = {}  # thread -> how many requests of it are inside


class BusyError(Exception):
    """Others were inside all the time."""


class RWLock:
    """A lock for values that many threads read and one thread renews.

    Threads get in in the order in which they came, as far as they are in each other's way: neither readers nor a
    writer are kept out for good. A thread that is inside of some door does not wait for waiting threads.

    Example:
        >>> door = RWLock()
        >>> with door.reading(), door.reading():
        ...     "one thread may go in twice"
        'one thread may go in twice'
        >>> with door.writing():
        ...     "alone"
        'alone'
    """

    def __init__(self) -> None:
        self._inside: dict[int, int] = {}  # thread -> how often it went in
        self._open_ended: dict[int, int] = {}  # those of them that may need another thread to go in before they end
        self._alone: int | None = None

    def reading(self) -> AbstractContextManager[None]:
        """Enters together with others; waits while another thread is alone inside."""
        return entered([self])

    def writing(self) -> AbstractContextManager[None]:
        """Goes in alone; waits until all others are out.

        Raises:
            PlanError: this very thread is reading: it would wait for itself.
        """
        self.refuse_reader()
        return entered(alone=[self])

    def admits(self, thread: int, alone: bool) -> bool:
        """Returns whether no thread inside blocks a thread; only for `entered`, like the two below."""
        return self._alone in (None, thread) and not (alone and self._inside.keys() - {thread})

    @property
    def needs_others(self) -> bool:
        """Whether who is inside may need another thread to go in before it comes out."""
        return bool(self._open_ended)

    def count(self, thread: int, more: int, alone: bool, open_ended: bool) -> None:
        """Notes that a thread has gone in, with 1, or come out, with -1."""
        if alone:
            self._alone = thread if more > 0 else None
        for counts in () if alone else (self._inside, self._open_ended)[: 1 + open_ended]:
            _count(counts, thread, more)

    def is_reader(self) -> bool:
        """Returns whether this very thread is inside."""
        return threading.get_ident() in self._inside

    def is_alone(self) -> bool:
        """Returns whether this very thread is alone inside."""
        return self._alone == threading.get_ident()

    def refuse_reader(self) -> None:
        """Refuses to let in alone a thread that is inside already.

        Raises:
            PlanError: it is.
        """
        if self.is_reader() or self.is_alone():
            raise PlanError(
                "update()", "this thread is reading the values right now", "Update outside of `with reading()`"
            )


@dataclass(eq=False)
class _LockRequest:
    thread: int
    shared: Sequence[RWLock]
    alone: Sequence[RWLock]
    open_ended: bool

    def fits(self) -> bool:
        """Whether no thread inside blocks it."""
        shared = all(door.admits(self.thread, alone=False) for door in self.shared)
        return shared and all(door.admits(self.thread, alone=True) for door in self.alone)

    def waits_for(self, other: _LockRequest) -> bool:
        """Whether another one, who came before and waits, is to go in first."""
        if any(door.needs_others for door in other.alone):
            return False  # who is inside there may need this one to come out
        return bool({*self.shared, *self.alone}.intersection(other.alone) or set(self.alone).intersection(other.shared))

    def ready(self) -> bool:
        if not self.fits():
            return False
        before = _queue[: _queue.index(self)] if self in _queue else _queue
        return bool(_held.get(self.thread)) or not any(self.waits_for(other) for other in before)

    def count(self, more: int) -> None:
        """Notes that it has gone in, with 1, or come out, with -1."""
        _count(_held, self.thread, more)
        for door in self.shared:
            door.count(self.thread, more, False, self.open_ended)
        for door in self.alone:
            door.count(self.thread, more, True, self.open_ended)


def _count(counts: dict[int, int], thread: int, more: int) -> None:
    counts[thread] = counts.get(thread, 0) + more
    if not counts[thread]:
        del counts[thread]


@contextmanager
def entered(
    shared: Sequence[RWLock] = (),
    alone: Sequence[RWLock] = (),
    *,
    open_ended: bool = False,
    timeout: float | None = None,
) -> Iterator[None]:
    """Goes through several doors at once, and out of them again.

    Args:
        shared: doors to be inside of together with others.
        alone: doors to be alone inside of; this thread itself may be inside already.
        open_ended: what is done inside may have to wait for other threads that want to go in too: they are let in
            even if a thread that wants to be alone came first.
        timeout: how long to wait, in seconds; None for as long as it takes.

    Raises:
        BusyError: others were inside all the time.
    """
    entry = _LockRequest(threading.get_ident(), shared, alone, open_ended)
    with _changed:
        if not entry.ready():
            _queue.append(entry)
            try:
                if not _changed.wait_for(entry.ready, timeout):
                    raise BusyError
            finally:
                _queue.remove(entry)
                _changed.notify_all()
        entry.count(1)
    try:
        yield
    finally:
        with _changed:
            entry.count(-1)
            _changed.notify_all()


_T = TypeVar("_T")


class LockedObject(Protocol):
    """An object whose cached properties are computed under one reentrant lock."""

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """The lock, a `threading.RLock`."""


class once(Generic[_T]):
    """A cached property that is computed at most once, and whose computation may read the property itself.

    No thread gets a value that is not complete. The computation runs under the object's `lock`, so other threads wait
    for its result. A read of the property by the computation itself gets the value of `during`.

    Args:
        during: returns, for the object, the value that the computation itself gets.

    Example:
        >>> import threading
        >>> class Number:
        ...     lock = threading.RLock()
        ...     @once(during=lambda number: 1)
        ...     def value(self):
        ...         return self.value + 1
        >>> Number().value
        2
    """

    def __init__(self, *, during: Callable[[Any], _T]) -> None:
        self._during = during

    def __call__(self, compute: Callable[[Any], _T]) -> once[_T]:
        """Decorates the method that computes the value."""
        self._compute, self.__doc__ = compute, compute.__doc__
        return self

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._running = name, f"computing {name}"

    @overload
    def __get__(self, thing: None, owner: type) -> once[_T]: ...
    @overload
    def __get__(self, thing: LockedObject, owner: type) -> _T: ...
    def __get__(self, thing: Any, owner: type) -> Any:
        if thing is None:
            return self
        cache = thing.__dict__
        with thing.lock:
            if self._name in cache:
                return cache[self._name]
            if self._running in cache:  # the lock is reentrant: only the computing thread comes here
                return self._during(thing)
            cache[self._running] = True
            try:
                value = self._compute(thing)
            finally:
                del cache[self._running]
            cache[self._name] = value
            return value
