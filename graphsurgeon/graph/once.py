"""Once: a cached property that one thread computes while the other threads wait for its value."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, Protocol, TypeVar, overload

_T = TypeVar("_T")


class Locked(Protocol):
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
    def __get__(self, thing: Locked, owner: type) -> _T: ...
    def __get__(self, thing: Any, owner: type) -> Any:
        if thing is None:
            return self
        held = thing.__dict__
        with thing.lock:
            if self._name in held:
                return held[self._name]
            if self._running in held:  # the lock is reentrant: only the computing thread comes here
                return self._during(thing)
            held[self._running] = True
            try:
                value = self._compute(thing)
            finally:
                del held[self._running]
            held[self._name] = value
            return value
