"""Sizes that shape inference would follow for minutes, or until the process ends, are refused before it does."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.refusal import refuses
from tests.tf.nodes import add, constant, empty, feed, function

INT, LONG, FLOAT = tf.int32, tf.int64, tf.float32


def start(shape: list[int | None] | None = None) -> Any:
    """Returns a GraphDef with a feed, its size, and what cutting and joining sizes need."""
    graph_def = empty()
    feed(graph_def, shape=[None, None] if shape is None else shape)
    add(graph_def, "size", "Shape", "x", T=FLOAT, out_type=INT)
    for name, value in (("begin", [0]), ("end", [2]), ("stride", [1]), ("axis", 0)):
        constant(graph_def, name, value)
    constant(graph_def, "one", 1.0, FLOAT)
    return graph_def


def casts(graph_def: Any, last: str, count: int) -> str:
    """Casts a size back and forth."""
    for i in range(count):
        kinds = {"SrcT": (INT, LONG)[i % 2], "DstT": (LONG, INT)[i % 2]}
        last = add(graph_def, f"cast{i}", "Cast", last, **kinds).name
    return last


def slices(graph_def: Any, last: str, count: int) -> str:
    """Cuts a size again and again."""
    for i in range(count):
        last = add(graph_def, f"cut{i}", "StridedSlice", last, "begin", "end", "stride", T=INT, Index=INT).name
    return last


def joins(graph_def: Any, last: str, count: int) -> str:
    """Joins a size with itself, and that with itself."""
    for i in range(count):
        last = add(graph_def, f"join{i}", "ConcatV2", last, last, "axis", N=2, T=INT, Tidx=INT).name
    return last


def fill(graph_def: Any, last: str, name: str = "y", dtype: tf.DType = INT) -> Any:
    """Adds an op that needs a size."""
    add(graph_def, name, "Fill", last, "one", T=FLOAT, index_type=dtype)
    return graph_def


@pytest.mark.parametrize("row", [casts, slices])
def test_rows_of_casts_and_slices(row):
    graph_def = start()
    last = row(graph_def, "size", 998)
    ed = gs.open(fill(graph_def, last))
    assert ed.snapshot.info(ed.snapshot.index["y"], 0).shape == (None, None)
    graph_def = start()
    last = row(graph_def, "size", 1_000)
    with refuses(gs.OpenError, f"the size {last!r} is computed by Cast, StridedSlice and Concat", "1,001 deep"):
        gs.open(fill(graph_def, last)).graph  # noqa: B018


def test_rows_of_joins():
    graph_def = start([None])
    assert len(gs.open(fill(graph_def, joins(graph_def, "size", 14)))) == 22
    graph_def = start([None])
    with refuses(gs.OpenError, "the size 'join59' is computed by", "in 1,000,000,000,000,000,000 steps"):
        gs.open(fill(graph_def, joins(graph_def, "size", 60))).graph  # noqa: B018


def test_joins_of_data_may_double_as_they_like():
    graph_def = start([None])
    graph_def.node[0].attr["shape"].shape.dim[0].size = 0
    last = "x"
    for i in range(60):
        last = add(graph_def, f"join{i}", "ConcatV2", last, last, "axis", N=2, T=FLOAT, Tidx=INT).name
    assert len(gs.open(graph_def)) == 67


def test_many_sizes_at_the_end_of_a_long_row():
    def graph(count: int) -> Any:
        graph_def, last = start(), "size"
        for i in range(count):
            last = add(graph_def, f"less{i}", "Neg", last, T=INT).name
        for i in range(count):
            fill(graph_def, last, f"y{i}")
        return graph_def

    assert len(gs.open(graph(700))) == 1_407
    with refuses(
        gs.OpenError, "20,000 sizes are at the end of long chains of ops, for example 'less19999'", "about 400,"
    ):
        gs.open(graph(20_000)).graph  # noqa: B018


def test_a_long_row_without_sizes_is_only_a_row():
    graph_def, last = start(), "x"
    for i in range(30_000):
        last = add(graph_def, f"o{i}", "Tanh", last, T=FLOAT).name
    assert len(gs.open(graph_def)) == 30_007


def ranged(count: int) -> Any:
    """Returns a graph with a size that is the largest of `count` numbers."""
    graph_def = empty()
    for name, value in (("from", 0), ("to", count), ("by", 1), ("axes", [0])):
        constant(graph_def, name, value, LONG)
    constant(graph_def, "one", 1.0, FLOAT)
    add(graph_def, "numbers", "Range", "from", "to", "by", Tidx=LONG)
    add(graph_def, "most", "Max", "numbers", "axes", T=LONG, Tidx=LONG).attr["keep_dims"].b = True
    return fill(graph_def, "most", dtype=LONG)


def test_numbers_that_the_import_itself_would_make():
    ed = gs.open(ranged(1_000))
    assert ed.snapshot.info(ed.snapshot.index["y"], 0).shape == (999,)
    with refuses(gs.OpenError, "op 'numbers' (Range) has 10,000,000,000 elements", "for the sizes in 'most'"):
        gs.open(ranged(10**10)).graph  # noqa: B018


def test_a_large_tensor_that_no_size_is_made_from():
    graph_def = empty()
    constant(graph_def, "dims", [100_000, 100_000])
    constant(graph_def, "one", 1.0, FLOAT)
    add(graph_def, "large", "Fill", "dims", "one", T=FLOAT, index_type=INT)
    add(graph_def, "size", "Shape", "large", T=FLOAT, out_type=INT)
    assert len(gs.open(fill(graph_def, "size"))) == 5


def test_a_size_of_more_dimensions_than_memory_holds():
    graph_def = empty()
    feed(graph_def, "dims", INT, [2**31 - 1])
    constant(graph_def, "one", 1.0, FLOAT)
    with refuses(gs.OpenError, "op 'dims' (Placeholder) has 2,147,483,647 elements", "for the sizes in 'dims'"):
        gs.open(fill(graph_def, "dims")).graph  # noqa: B018


def test_a_size_in_a_function():
    graph_def = empty()
    f = function(graph_def, "f")
    add(f, "size0", "Shape", "v", T=FLOAT, out_type=INT)
    for i in range(1, 2_000):
        add(f, f"size{i}", "Cast", f"size{i - 1}:y:0", SrcT=INT, DstT=INT)
    constant(f, "one", 1.0, FLOAT)
    add(f, "y", "Fill", "size1999:y:0", "one:output:0", T=FLOAT, index_type=INT)
    with refuses(gs.OpenError, "the size 'size1999' of function 'f' is computed by", "2,000 deep"):
        gs.open(graph_def).graph  # noqa: B018
