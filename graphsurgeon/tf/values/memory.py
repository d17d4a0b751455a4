"""Memory: allocates memory for values that TensorFlow uses without a copy, so that no value is in memory twice."""

from __future__ import annotations

import ctypes
import mmap
import weakref
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

#: TensorFlow uses an array that begins at a multiple of this without a copy, and copies any other.
_ALIGNED = 64
#: Sizes in bytes: a value from the first size on has a separate room; smaller values share rooms of the second size;
#: values below the third size are left to TensorFlow. A room is freed when no value in it is in use any more.
_LARGE, _SHARED, _LEAST = 16 << 20, 4 << 20, 1 << 18


class Rooms:
    """Rooms for values, in order of arrival."""

    def __init__(self) -> None:
        self._room: Any = None
        self._used = 0
        self._lent: tuple[Any, Any] = (None, lambda: None)  # a room, and a weak reference to the value in it

    def fit(self, value: Any, stays: bool = True) -> Any:
        """Returns a value as an array that TensorFlow uses without a copy, or the value itself if it is too small.

        Args:
            value: the value.
            stays: True if a resource variable keeps the memory; a reference variable copies it.
        """
        if not isinstance(value, np.ndarray) or value.nbytes < _LEAST or value.dtype.hasobject:
            return value
        fits = value.ctypes.data % _ALIGNED == 0 and value.flags.c_contiguous
        if value.nbytes >= _LARGE and not stays:
            fit: np.ndarray = self._again(value)  # also if it fits, because TensorFlow releases it late
        elif fits:
            return value
        elif value.nbytes >= _LARGE:
            fit = np.frombuffer(_room(value.nbytes), value.dtype).reshape(value.shape)
        else:
            fit = self._shared(value.nbytes).view(value.dtype).reshape(value.shape)
        fit[...] = value
        return fit

    def _again(self, value: np.ndarray) -> np.ndarray:
        """A part of the last room, if TensorFlow has released it, else of a new one."""
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
    """Returns free memory to the system, which its allocator might otherwise keep for the next array.

    Carrying variables of 25 MB needs memory for one more of them than both sets of values; without this, for three.
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
    """Memory that begins at a page, and returns to the system as soon as it is freed."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size)
    room = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # pages of 4 kB would take three times as long
            room.madvise(mmap.MADV_HUGEPAGE)
    return room
