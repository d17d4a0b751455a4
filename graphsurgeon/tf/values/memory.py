"""Memory: memory of our own for values, which TensorFlow takes as it is, so that none is there twice."""

from __future__ import annotations

import ctypes
import mmap
import weakref
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

#: TensorFlow takes an array that begins at a multiple of this as it is, and copies any other.
_ALIGNED = 64
#: A value of so many bytes has a room of its own; smaller ones share one of so many; the smallest are left to
#: TensorFlow: a room is given back only when none of those in it is in use any more.
_LARGE, _SHARED, _LEAST = 16 << 20, 4 << 20, 1 << 18


class Rooms:
    """Rooms for values, in the order in which they come."""

    def __init__(self) -> None:
        self._room: Any = None
        self._used = 0
        self._lent: tuple[Any, Any] = (None, lambda: None)  # a room, and what is in it as long as it is in use

    def fit(self, value: Any, stays: bool = True) -> Any:
        """Returns a value as an array that TensorFlow takes as it is; where that is not worth it, the value itself.

        Args:
            value: the value.
            stays: a resource variable keeps the memory; a reference variable has a copy.
        """
        if not isinstance(value, np.ndarray) or value.nbytes < _LEAST or value.dtype.hasobject:
            return value
        fits = value.ctypes.data % _ALIGNED == 0 and value.flags.c_contiguous
        if value.nbytes >= _LARGE and not stays:
            fit: np.ndarray = self._again(value)  # also where it fits: TensorFlow lets go of it late
        elif fits:
            return value
        elif value.nbytes >= _LARGE:
            fit = np.frombuffer(_room(value.nbytes), value.dtype).reshape(value.shape)
        else:
            fit = self._shared(value.nbytes).view(value.dtype).reshape(value.shape)
        fit[...] = value
        return fit

    def _again(self, value: np.ndarray) -> np.ndarray:
        """A part of the room before, where TensorFlow has let go of it."""
        room, tenant = self._lent
        if room is None or len(room) < value.nbytes or tenant() is not None:
            room = np.frombuffer(_room(value.nbytes), np.uint8)
        part: np.ndarray = np.frombuffer(room, value.dtype, value.size).reshape(value.shape)
        self._lent = room, weakref.ref(part)
        return part

    def _shared(self, size: int) -> np.ndarray:
        if self._room is None or self._used + size > len(self._room):
            self._room, self._used = np.frombuffer(_room(max(_SHARED, size)), np.uint8), 0
        part: np.ndarray = self._room[self._used : self._used + size]
        self._used += -(-size // _ALIGNED) * _ALIGNED
        return part


def give_back() -> None:
    """Gives memory that is free back to the system, where its allocator would keep it for the next array.

    Without it, carrying variables of 25 MB holds three of them beside both sets of values, with it one.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None  # not the GNU library


def _room(size: int) -> Any:
    """Memory that begins with a page, and goes back to the system at once when it is done."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size)
    room = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # in pages of 4 kB it takes three times as long
            room.madvise(mmap.MADV_HUGEPAGE)
    return room
