"""Rooms: TensorFlow takes what is in them as it is, and no room is given to a second value while it is in use."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest

from graphsurgeon.tf.values import transfer as rooms
from graphsurgeon.tf.values.transfer import AlignedBuffers


def unaligned(size, value=1.0):
    """An array of our own that TensorFlow would copy."""
    raw = np.empty(size * 4 + 128, np.uint8)
    at = -raw.ctypes.data % 64 + 4
    out = raw[at : at + size * 4].view(np.float32)
    out[...] = value
    return out


@pytest.mark.parametrize("size", [1 << 16, 1 << 17, (3 << 20) // 4, 5 << 20])
@pytest.mark.parametrize("stays", [True, False])
def test_what_is_worth_it_begins_where_tensorflow_wants_it(size, stays):
    several = AlignedBuffers()
    values = [several.align(unaligned(size, i), stays) for i in range(5)]
    for i, value in enumerate(values):
        assert (value == i).all()
        assert value.ctypes.data % 64 == 0


def test_what_is_small_or_fits_already_or_is_no_array_stays_as_it_is():
    several = AlignedBuffers()
    small, text = unaligned(16), np.array(["a"] * (1 << 17), object)
    fit = several.align(unaligned(1 << 18))
    assert [several.align(v) is v for v in (small, text, fit, 3.0)] == [True] * 4


def test_a_room_is_lent_again_only_when_nothing_is_in_it():
    several = AlignedBuffers()
    first = several.align(unaligned(5 << 20, 1.0), keeps_memory=False)
    at = first.ctypes.data
    second = several.align(unaligned(5 << 20, 2.0), keeps_memory=False)
    assert second.ctypes.data != at
    assert (first == 1.0).all()
    at = second.ctypes.data
    del second
    gc.collect()
    assert several.align(unaligned(5 << 20, 3.0), keeps_memory=False).ctypes.data == at


@pytest.mark.parametrize("error", [AttributeError, OSError])
def test_another_system_library_has_nothing_to_give_back_with(monkeypatch, error):
    def none(name):
        raise error

    monkeypatch.setattr(ctypes, "CDLL", none)
    rooms._trim.cache_clear()
    rooms.release_memory()
    assert rooms._trim() is None
    rooms._trim.cache_clear()
