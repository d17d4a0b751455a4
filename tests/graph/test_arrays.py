"""What is packed comes back as it was, without pickles."""

from __future__ import annotations

import io

import ml_dtypes
import numpy as np
import pytest

from graphsurgeon.graph.arrays import packed, unpacked

VALUES = {
    "number:0": np.float32(2.5),
    "empty:0": np.zeros((0, 3), np.int64),
    "flags:1": np.array([[True, False]]),
    "complex:0": np.array([1 + 2j], np.complex64),
    "text:0": np.array([[b"a", b""], [b"nul\0", "häß".encode()]], object),
    "one text:0": np.array(b"alone", object),
    "no text:0": np.zeros((0, 2), object),
    "half:0": np.array([[1.5, -2.0]], ml_dtypes.bfloat16),
    "scalar half:0": np.array(3.0, ml_dtypes.bfloat16),
    "cut:0": np.arange(12, dtype=np.float64).reshape(3, 4)[:, ::2],
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back_as_it_was(name):
    archive = io.BytesIO()
    np.savez(archive, **packed({name: VALUES[name]}, "result"), **packed({name: np.float32(1)}, "feed"))
    archive.seek(0)
    with np.load(archive, allow_pickle=False) as held:
        back = unpacked(dict(held), "result")
    assert [*back] == [name]
    assert back[name].dtype == np.asarray(VALUES[name]).dtype
    assert back[name].shape == np.shape(VALUES[name])
    np.testing.assert_array_equal(back[name], VALUES[name])


def test_texts_come_back_as_bytes():
    back = unpacked(packed({"a": np.array(["x", "yz"])}, "feed"), "feed")
    assert back["a"].tolist() == [b"x", b"yz"]
