"""What is asked of TensorFlow behind its public names."""

from __future__ import annotations

from graphsurgeon.tf import private as internals


def test_what_tensorflow_knows():
    assert internals.known_op("MatMul")
    assert not internals.known_op("NoSuchOp")
