"""What is packed comes back as it was, without pickles."""

from __future__ import annotations

import io

import ml_dtypes
import numpy as np
import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.graph.arrays import can_be_random, load_arrays, pack_arrays, unpack_arrays
from graphsurgeon.graph.graph import TensorInfo
from tests.refusal import refuses

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
    np.savez(archive, **pack_arrays({name: VALUES[name]}, "result"), **pack_arrays({name: np.float32(1)}, "feed"))
    archive.seek(0)
    with np.load(archive, allow_pickle=False) as held:
        back = unpack_arrays(dict(held), "result")
    assert [*back] == [name]
    assert back[name].dtype == np.asarray(VALUES[name]).dtype
    assert back[name].shape == np.shape(VALUES[name])
    np.testing.assert_array_equal(back[name], VALUES[name])


def test_texts_come_back_as_bytes():
    back = unpack_arrays(pack_arrays({"a": np.array(["x", "yz"])}, "feed"), "feed")
    assert back["a"].tolist() == [b"x", b"yz"]


def test_arrays_of_files(tmp_path):
    np.save(tmp_path / "one.npy", np.arange(3))
    np.savez(tmp_path / "two.npz", a=np.arange(2), b=np.array(["x"]))
    assert load_arrays(tmp_path / "one.npy", "", "").tolist() == [0, 1, 2]
    assert {name: held.tolist() for name, held in load_arrays(tmp_path / "two.npz", "", "").items()} == {
        "a": [0, 1],
        "b": ["x"],
    }


def test_a_file_of_something_else_is_refused(tmp_path):
    request, suggestion = "trace(feeds='a.npz')", "np.savez(path, x=array)"
    np.savez(tmp_path / "whole.npz", a=np.arange(1000))
    whole = (tmp_path / "whole.npz").read_bytes()
    spoilt = {"none": b"", "text": b"x,y", "cut": whole[:400], "zip": b"PK\x03\x04" + bytes(60)}
    for name, data in spoilt.items():
        (tmp_path / name).write_bytes(data)
        with refuses(PlanError, request, "the file is not a NumPy file (.npz)", suggestion):
            load_arrays(tmp_path / name, request, suggestion)
    np.save(tmp_path / "objects.npy", np.array([{}, None], object), allow_pickle=True)
    with refuses(PlanError, request, "the file is not a NumPy file (.npz)", suggestion):
        load_arrays(tmp_path / "objects.npy", request, suggestion)
    with refuses(PlanError, request, "the file cannot be read: No such file or directory", suggestion):
        load_arrays(tmp_path / "nothing.npz", request, suggestion)


def test_what_can_be_made_up():
    known = [("float16", ()), ("bfloat16", (None,)), ("uint8", (2,)), ("bool", ())]
    unknown = [("float32", None), ("string", ()), ("resource", ()), ("complex64", (2,)), ("qint8", ())]
    assert all(can_be_random(TensorInfo(*one)) for one in known)
    assert not any(can_be_random(TensorInfo(*one)) for one in unknown)
