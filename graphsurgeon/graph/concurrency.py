"""A lock for many readers or one writer, properties that one thread computes, and pauses of the garbage collector."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
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


class BusyError(Exception):
    """Raised if other threads held a lock until the timeout."""


class _Thread(threading.local):
    locks = 0  # how many locks this thread holds


_thread = _Thread()


class RWLock:
    """A lock for values that many threads read and one thread updates.

    Threads acquire the lock in order of arrival, so neither readers nor writers wait forever. A thread that already
    holds a lock does not wait for threads in the queue, because they may wait for this thread.

    Attributes:
        queue: (thread, whether it will write) for each waiting thread, in order of arrival.

    Example:
        >>> lock = RWLock()
        >>> with lock.reading(), lock.reading():
        ...     "one thread may read twice"
        'one thread may read twice'
        >>> with lock.writing():
        ...     "alone"
        'alone'
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers: list[int] = []  # the threads that hold the lock for reading, each as often as it holds it
        self._writer: int | None = None
        self.queue: list[tuple[int, bool]] = []

    def reading(self) -> AbstractContextManager[None]:
        """Acquires the lock for reading, together with other readers; waits while another thread writes."""
        return self._hold(exclusive=False)

    def writing(self) -> AbstractContextManager[None]:
        """Acquires the lock for writing; waits until all other threads have released it.

        Raises:
            PlanError: if this thread already holds the lock, because it would wait for itself.
        """
        self.refuse_reader()
        return self._hold(exclusive=True)

    def exclusive(self, timeout: float) -> AbstractContextManager[None]:
        """Acquires the lock for writing; this thread itself may already read.

        Raises:
            BusyError: if other threads held the lock until the timeout, in seconds.
        """
        return self._hold(exclusive=True, timeout=timeout)

    @contextmanager
    def _hold(self, exclusive: bool, timeout: float | None = None) -> Iterator[None]:
        thread = threading.get_ident()
        request = thread, exclusive

        def ready() -> bool:
            if self._writer not in (None, thread) or (exclusive and {*self._readers} - {thread}):
                return False
            earlier = self.queue[: self.queue.index(request)]
            return _thread.locks > 0 or not any(exclusive or other for _, other in earlier)

        with self._condition:
            self.queue.append(request)
            try:
                if not self._condition.wait_for(ready, timeout):
                    raise BusyError
                if exclusive:
                    self._writer = thread
                else:
                    self._readers.append(thread)
                _thread.locks += 1
            finally:
                self.queue.remove(request)
                self._condition.notify_all()
        try:
            yield
        finally:
            with self._condition:
                if exclusive:
                    self._writer = None
                else:
                    self._readers.remove(thread)
                _thread.locks -= 1
                self._condition.notify_all()

    def is_reader(self) -> bool:
        """Returns whether this thread holds the lock for reading."""
        return threading.get_ident() in self._readers

    def refuse_reader(self) -> None:
        """Refuses a writer that already holds the lock.

        Raises:
            PlanError: if this thread holds the lock.
        """
        if self.is_reader() or self._writer == threading.get_ident():
            raise PlanError(
                "update()", "this thread is reading the values right now", "Update outside of `with reading()`"
            )


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
