"""Rooms: memory of our own for values, which TensorFlow takes as it is, so that none is there twice."""

from __future__ import annotations

import mmap
from contextlib import suppress
from typing import Any

import numpy as np

#: TensorFlow takes an array that begins at a multiple of this as it is, and copies any other.
_ALIGNED = 64
#: A value of so many bytes has a room of its own; smaller ones share one of so many; the smallest are left to
#: TensorFlow: a room is given back only when none of those in it is in use any more.
_LARGE, _SHARED, _LEAST = 16 << 20, 4 << 20, 1 << 18
#: The system's allocator does not give back what has fewer bytes than this, but keeps it for the next.
_KEPT = 32 << 20
#: An array is moved so many bytes at a time: they stay in the processor's cache.
_STEP = 1 << 18


class Rooms:
    """Rooms for values that become the memory of resource variables, in the order in which they come."""

    def __init__(self) -> None:
        self._room: Any = None
        self._used = 0

    def fit(self, value: Any, ours: bool = True, stays: bool = True) -> Any:
        """Returns a value as an array that TensorFlow takes as it is; where that is not worth it, the value itself.

        Args:
            value: the value.
            ours: nobody else has it: it may be moved within its own memory.
            stays: the variable keeps the memory; else it is given back once the variable has a copy.
        """
        if not isinstance(value, np.ndarray) or value.nbytes < _LEAST or value.dtype.hasobject:
            return value
        if value.ctypes.data % _ALIGNED == 0 and value.flags.c_contiguous:
            return value
        if value.nbytes >= _LARGE:
            moved = _moved(value, stays) if ours else None
            if moved is not None:
                return moved
            fit: np.ndarray = np.frombuffer(_room(value.nbytes), value.dtype).reshape(value.shape)
        else:
            fit = self._shared(value.nbytes).view(value.dtype).reshape(value.shape)
        fit[...] = value
        return fit

    def _shared(self, size: int) -> np.ndarray:
        if self._room is None or self._used + size > len(self._room):
            self._room, self._used = np.frombuffer(_room(max(_SHARED, size)), np.uint8), 0
        part: np.ndarray = self._room[self._used : self._used + size]
        self._used += -(-size // _ALIGNED) * _ALIGNED
        return part


def _moved(value: np.ndarray, stays: bool) -> np.ndarray | None:
    """Returns an array that was moved on by some bytes in its own memory; None where that memory cannot grow."""
    if not (value.flags.owndata and value.flags.c_contiguous and value.dtype.itemsize <= _ALIGNED):
        return None
    size, shape, dtype = value.nbytes, value.shape, value.dtype
    room = size + _ALIGNED if stays or not _KEPT * 5 // 8 < size < _KEPT else _KEPT + _LEAST
    try:
        value.resize(room // dtype.itemsize, refcheck=False)
    except (ValueError, MemoryError):
        return None
    raw = value.view(np.uint8)
    at = -value.ctypes.data % _ALIGNED
    for end in range(size, 0, -_STEP):  # from the end, so that nothing is written over before it was moved
        start = max(0, end - _STEP)
        raw[at + start : at + end] = raw[start:end]
    return raw[at : at + size].view(dtype).reshape(shape)


def _room(size: int) -> Any:
    """Memory that begins with a page, and goes back to the system at once when it is done."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size)
    room = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # in pages of 4 kB it takes three times as long
            room.madvise(mmap.MADV_HUGEPAGE)
    return room
