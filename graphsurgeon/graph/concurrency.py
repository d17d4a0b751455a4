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


# One condition for all locks. A thread that waits for several locks acquires all of them at once, so no thread waits
# while it holds a lock that another thread needs. The condition is held only for a few comparisons.
_lock_condition = threading.Condition()
_waiting_requests: list[_LockRequest] = []  # the waiting requests, in order of arrival
_lock_counts: dict[int, int] = {}  # thread -> the number of its granted requests


class BusyError(Exception):
    """Raised if other threads held a lock until the timeout."""


class RWLock:
    """A lock for values that many threads read and one thread updates.

    Conflicting threads acquire the lock in order of arrival, so neither readers nor writers wait forever. A thread that
    already holds a lock does not wait for threads in the queue.

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
        self._read_counts: dict[int, int] = {}  # thread -> how often it holds the lock for reading
        self._open_ended: dict[int, int] = {}  # the readers that may need another thread to read before they finish
        self._writer: int | None = None

    def reading(self) -> AbstractContextManager[None]:
        """Acquires the lock for reading, together with other readers; waits while another thread writes."""
        return acquire_all([self])

    def writing(self) -> AbstractContextManager[None]:
        """Acquires the lock for writing; waits until all other threads have released it.

        Raises:
            PlanError: if this thread already holds the lock, because it would wait for itself.
        """
        self.refuse_reader()
        return acquire_all(exclusive=[self])

    def admits(self, thread: int, exclusive: bool) -> bool:
        """Returns whether a thread could acquire the lock now. Only `acquire_all` uses this method and the next two."""
        return self._writer in (None, thread) and not (exclusive and self._read_counts.keys() - {thread})

    @property
    def needs_others(self) -> bool:
        """Whether a reader may need another thread to acquire the lock before the reader can finish."""
        return bool(self._open_ended)

    def count(self, thread: int, change: int, exclusive: bool, open_ended: bool) -> None:
        """Records that a thread has acquired (1) or released (-1) the lock."""
        if exclusive:
            self._writer = thread if change > 0 else None
        for counts in () if exclusive else (self._read_counts, self._open_ended)[: 1 + open_ended]:
            _count(counts, thread, change)

    def is_reader(self) -> bool:
        """Returns whether this thread holds the lock for reading."""
        return threading.get_ident() in self._read_counts

    def is_alone(self) -> bool:
        """Returns whether this thread holds the lock for writing."""
        return self._writer == threading.get_ident()

    def refuse_reader(self) -> None:
        """Refuses a writer that already holds the lock.

        Raises:
            PlanError: if this thread holds the lock.
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
        """Whether no holder of a lock blocks the request."""
        shared = all(door.admits(self.thread, exclusive=False) for door in self.shared)
        return shared and all(door.admits(self.thread, exclusive=True) for door in self.alone)

    def waits_for(self, other: _LockRequest) -> bool:
        """Whether an earlier request, which also waits, must be granted first."""
        if any(door.needs_others for door in other.alone):
            return False  # the holder of that lock may need this request before it can finish
        return bool({*self.shared, *self.alone}.intersection(other.alone) or set(self.alone).intersection(other.shared))

    def ready(self) -> bool:
        if not self.fits():
            return False
        before = _waiting_requests[: _waiting_requests.index(self)] if self in _waiting_requests else _waiting_requests
        return bool(_lock_counts.get(self.thread)) or not any(self.waits_for(other) for other in before)

    def count(self, change: int) -> None:
        """Records that the request was granted (1) or has ended (-1)."""
        _count(_lock_counts, self.thread, change)
        for door in self.shared:
            door.count(self.thread, change, False, self.open_ended)
        for door in self.alone:
            door.count(self.thread, change, True, self.open_ended)


def _count(counts: dict[int, int], thread: int, change: int) -> None:
    counts[thread] = counts.get(thread, 0) + change
    if not counts[thread]:
        del counts[thread]


@contextmanager
def acquire_all(
    shared: Sequence[RWLock] = (),
    exclusive: Sequence[RWLock] = (),
    *,
    open_ended: bool = False,
    timeout: float | None = None,
) -> Iterator[None]:
    """Acquires several locks at once, and releases them at the end.

    Args:
        shared: the locks to acquire for reading.
        exclusive: the locks to acquire for writing; this thread itself may already hold them.
        open_ended: whether the code inside may wait for other readers of these locks. Such readers are admitted even if
            a writer arrived earlier.
        timeout: the longest time to wait, in seconds; None for no limit.

    Raises:
        BusyError: if other threads held a lock until the timeout.
    """
    entry = _LockRequest(threading.get_ident(), shared, exclusive, open_ended)
    with _lock_condition:
        if not entry.ready():
            _waiting_requests.append(entry)
            try:
                if not _lock_condition.wait_for(entry.ready, timeout):
                    raise BusyError
            finally:
                _waiting_requests.remove(entry)
                _lock_condition.notify_all()
        entry.count(1)
    try:
        yield
    finally:
        with _lock_condition:
            entry.count(-1)
            _lock_condition.notify_all()


_T = TypeVar("_T")


class LockedObject(Protocol):
    """An object whose cached properties are computed under one reentrant lock."""

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """The lock, a `threading.RLock`."""


class once(Generic[_T]):
    """A cached property that is computed at most once. Its computation may read the property itself.

    No thread gets an incomplete value. The computation runs under the object's `lock`, so other threads wait for its
    result. If the computation itself reads the property, it gets the value of `recursive_value`.

    Args:
        recursive_value: returns the value that the computation itself gets, for an object.

    Example:
        >>> import threading
        >>> class Number:
        ...     lock = threading.RLock()
        ...     @once(recursive_value=lambda number: 1)
        ...     def value(self):
        ...         return self.value + 1
        >>> Number().value
        2
    """

    def __init__(self, *, recursive_value: Callable[[Any], _T]) -> None:
        self._recursive_value = recursive_value

    def __call__(self, compute: Callable[[Any], _T]) -> once[_T]:
        """Decorates the method that computes the value."""
        self._compute, self.__doc__ = compute, compute.__doc__
        return self

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._computing_key = name, f"computing {name}"

    @overload
    def __get__(self, obj: None, owner: type) -> once[_T]: ...
    @overload
    def __get__(self, obj: LockedObject, owner: type) -> _T: ...
    def __get__(self, obj: Any, owner: type) -> Any:
        if obj is None:
            return self
        cache = obj.__dict__
        with obj.lock:
            if self._name in cache:
                return cache[self._name]
            if self._computing_key in cache:  # the lock is reentrant: only the computing thread comes here
                return self._recursive_value(obj)
            cache[self._computing_key] = True
            try:
                value = self._compute(obj)
            finally:
                del cache[self._computing_key]
            cache[self._name] = value
            return value
