"""Sizes: bytes of variables by dtype and shape, and numbers of bytes as people write them."""

from __future__ import annotations

import numpy as np
import pytest

from graphsurgeon.graph.arrays import bytes_of, size_text, variable_bytes
from graphsurgeon.graph.variables import VariableInfo
from tests.plain import plain, variable

NAMES = ["float64", "float32", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool",
         "complex64", "complex128"]  # fmt: skip


@pytest.mark.parametrize("dtype", NAMES)
def test_a_variable_is_as_large_as_its_array(dtype):
    assert variable_bytes(VariableInfo("w", dtype=dtype, shape="(2, 3)")) == np.zeros((2, 3), dtype).nbytes


@pytest.mark.parametrize(("dtype", "bits"), [("bfloat16", 16), ("half", 16), ("float8_e5m2", 8), ("int4", 4)])
def test_dtypes_that_numpy_does_not_have(dtype, bits):
    assert variable_bytes(VariableInfo("w", dtype=dtype, shape="(4, 2)")) == bits


@pytest.mark.parametrize(("dtype", "shape"), [("float32", "unknown shape"), ("float32", "(?, 3)"), ("string", "(2,)")])
def test_what_nobody_can_say_counts_as_nothing(dtype, shape):
    assert variable_bytes(VariableInfo("w", dtype=dtype, shape=shape)) == 0


def test_a_part_holds_its_variables():
    (ops, one), (more, other) = variable("v"), variable("w")
    graph = plain(*ops, *more, variables=[one, other])
    assert bytes_of(graph, [graph.index["v"]]) == variable_bytes(one) > 0
    both = [graph.index["v"], graph.index["w"]]
    assert bytes_of(graph, both) == variable_bytes(one) + variable_bytes(other)


def test_sizes_in_words():
    assert [size_text(n) for n in (0, 1, 999, 1000, 1_234_567, 2 * 10**9)] == [
        "0 bytes", "1 byte", "999 bytes", "1 kB", "1.23 MB", "2 GB"
    ]  # fmt: skip
