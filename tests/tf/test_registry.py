"""What is known of op types, collections and dtypes before TensorFlow is imported is what TensorFlow itself says."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import ops

from graphsurgeon.tf import op_types
from graphsurgeon.tf.open.outputs import array_in, dtype_name
from tools.write_op_definitions import definitions


def test_the_table_of_op_types_is_that_of_the_installed_tensorflow():
    known = op_types.table(op_types.installed_version())
    assert known, "run tools/write_op_definitions.py"
    assert list(known.values()) == list(definitions().op)


def test_a_version_without_a_table_has_an_empty_one():
    assert op_types.table("1.15") == {} == op_types.table("")


def test_the_collections_have_the_messages_that_tensorflow_has_registered(monkeypatch):
    monkeypatch.setattr(op_types, "is_loaded", lambda: False)
    known = {name: ops.get_collection_proto_type(name) for name in ops._proto_function_registry.list()}
    assert {name: op_types.collection_message(name) for name in known} == known
    assert op_types.collection_message("no_such_collection") is None


def test_dtypes_have_the_names_of_tensorflow():
    for number in types_pb2.DataType.values():
        try:
            name = tf.as_dtype(number).name
        except TypeError:
            name = f"dtype {number}"
        assert dtype_name(number) == name, number
    assert dtype_name(999) == "dtype 999"


ARRAYS = [
    np.array([[1.5, -2.0]], kind) for kind in (np.float16, np.float32, np.float64, np.complex64, np.complex128)
] + [
    np.array([1, 0, 3], kind)
    for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_)
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: array.dtype.name)
def test_the_values_of_constants_are_those_that_tensorflow_reads(array):
    whole, repeated = tf.make_tensor_proto(array), tf.make_tensor_proto(array.ravel()[0], shape=[2, 2])
    listed = tf.make_tensor_proto(array.ravel()[:2].tolist(), array.dtype)
    for proto in (whole, listed, repeated, tf.make_tensor_proto(array[:0])):
        found, wanted = array_in(proto), tf.make_ndarray(proto)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("texts", [[], [b"a"], [b"a", b"bc\0"]])
def test_texts_are_those_that_tensorflow_reads(texts):
    proto = tf.make_tensor_proto(texts, tf.string, shape=[len(texts)])
    proto.tensor_shape.dim[0].size = 3
    np.testing.assert_array_equal(array_in(proto), tf.make_ndarray(proto))


def test_more_values_than_elements_are_no_array():
    proto = tf.make_tensor_proto([1, 2, 3])
    proto.ClearField("tensor_content")
    proto.int_val[:] = [1, 2, 3]
    proto.tensor_shape.dim[0].size = 2
    assert array_in(proto) is None
