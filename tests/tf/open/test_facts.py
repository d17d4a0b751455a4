"""Attributes and constants in words, cut to a readable size."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from graphsurgeon.tf.open.op_facts import attribute_text, documentation

tf1 = tf.compat.v1


def attribute(**parts):
    value = tf1.AttrValue()
    for key, part in parts.items():
        if key == "list":
            value.list.SetInParent()
            for field, items in part.items():
                getattr(value.list, field).extend(items)
        elif key in ("s", "i", "f", "b", "type"):
            setattr(value, key, part)
        else:
            getattr(value, key).CopyFrom(part)
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (attribute(s=b"SAME"), "'SAME'"),
        (attribute(s=b"\xff<b>"), "'\\xff<b>'"),
        (attribute(i=3), "3"),
        (attribute(b=True), "True"),
        (attribute(type=1), "float32"),
        (attribute(type=9999), "dtype 9999"),
        (attribute(shape=tf.TensorShape([None, 3]).as_proto()), "(?, 3)"),
        (attribute(shape=tf.TensorShape(None).as_proto()), "unknown shape"),
        (attribute(list={"i": [1, 2, 2, 1]}), "[1, 2, 2, 1]"),
        (attribute(list={"f": [0.5, 0.1]}), "[0.5, 0.1]"),
        (attribute(f=0.001), "0.001"),
        (attribute(f=1e-9), "1e-09"),
        (attribute(f=float("nan")), "nan"),
        (attribute(list={"s": [b"loc:@a"]}), "['loc:@a']"),
        (attribute(list={"type": [1, 3]}), "[float32, int32]"),
        (attribute(list={}), "[]"),
        (tf1.AttrValue(), "none"),
        (attribute(tensor=tf.make_tensor_proto([1.0, 2.0])), "float32 (2): 1, 2"),
        (attribute(tensor=tf.make_tensor_proto(np.zeros([0, 3], np.float32))), "float32 (0, 3)"),
        (attribute(tensor=tf.make_tensor_proto([b"a", b"b"])), "string (2): b'a', b'b'"),
        (attribute(tensor=tf.make_tensor_proto(np.arange(99))), "int64 (99): 0, 1, 2, 3, 4, 5, 6, 7, … 99 in all"),
    ],
)  # fmt: skip
def test_attributes(value, text):
    assert attribute_text(value) == text


def test_what_is_long_is_cut_with_its_size():
    text = attribute_text(attribute(s=b"x" * 5000))
    assert len(text) < 200
    assert "5,00" in text
    text = attribute_text(attribute(list={"i": range(5000)}))
    assert len(text) < 200
    assert "characters" in text


def test_a_constant_that_cannot_be_read():
    broken = tf.make_tensor_proto([1.0, 2.0])
    broken.tensor_content = b"123"
    assert attribute_text(attribute(tensor=broken)) == "float32 (2), not shown: it is damaged, or of more than 268 MB"


def test_documentation():
    assert "matrix" in documentation("MatMul").lower()
    assert "\n" not in documentation("MatMul")
    assert documentation("NoSuchOp") == ""
