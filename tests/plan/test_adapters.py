"""Which adapters are proposed, in which order, and that what comes out of each fits."""

from __future__ import annotations

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from graphsurgeon.graph.graph import TensorInfo
from graphsurgeon.plan.adapters import (
    CASTABLE,
    FLOATS,
    KINDS,
    Adapter,
    AdapterSpec,
    Cast,
    Pad,
    Pool,
    Reshape,
    Transpose,
    as_tuples,
    data_format_of,
    kind_of,
    option_fault,
    proposals,
    requested_adapter,
)
from graphsurgeon.plan.type_check import fits
from tests.plain import plain

N = None
SIZES = st.sampled_from([None, None, 1, 2, 3, 4, 6, 7, 12, 32])
SHAPES = st.lists(SIZES, max_size=5).map(tuple)
DTYPES = st.sampled_from(["float32", "float32_ref", "float64", "float16", "int32", "uint8", "bool", "string"])
INFOS = st.builds(TensorInfo, DTYPES, SHAPES)


def reported(given, wanted, dtype="float32", into="float32", **about):
    return [str(one) for one in proposals(TensorInfo(dtype, given), TensorInfo(into, wanted), **about)]


@given(INFOS, INFOS, st.sampled_from(["", "NHWC", "NCHW"]))
def test_what_comes_out_of_a_proposal_fits(a, b, data_format):
    found = proposals(a, b, data_format)
    event(f"{len(found)} proposals")
    for adapter in found:
        assert fits(adapter.output_info(a), b), (str(adapter), adapter.output_info(a))
        again = requested_adapter(a, b, AdapterSpec(adapter.kinds), data_format)
        assert again == adapter  # what is typed is what was shown
    if fits(a, b):
        assert not found
    if found:
        assert requested_adapter(a, b, AdapterSpec(), data_format) == found[0]
        assert not any(set(one.kinds) == set(other.kinds) for one in found for other in found if one is not other)


@given(INFOS, INFOS, st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))
def test_what_is_asked_for_fits_or_there_is_none(a, b, kinds):
    found = requested_adapter(a, b, AdapterSpec(tuple(kinds)))
    event(str(found is None))
    if found is not None:
        assert fits(found.output_info(a), b)
        assert [kind_of(part) for part in found.parts if not isinstance(part, Cast)] == [
            k for k in kinds if k != "cast"
        ]


@given(INFOS, st.sampled_from(CASTABLE))
def test_a_cast_is_proposed_for_a_number_of_another_dtype(a, dtype):
    found = proposals(a, TensorInfo(dtype, a.shape))
    if a.dtype == "string" or a.dtype.startswith(dtype):
        assert not found
    else:
        assert found == (Adapter((Cast(dtype),)),)


@pytest.mark.parametrize(
    ("given", "wanted", "first"),
    [
        ((N, 7, 7, 512), (N, 64), "mean of each channel, then dense to 64"),
        ((N, 7, 7, 64), (N, 64), "mean of each channel"),
        ((N, N, N, 64), (N, 64), "mean of each channel"),
        ((N, 100), (N, 64), "dense to 64"),
        ((N, 14, 14, 64), (N, 7, 7, 64), "mean of 2 x 2"),
        ((N, 64, 14, 14), (N, 64, 7, 7), "mean of 2 x 2"),
        ((N, 64, 14, 14), (N, 32, 14, 14), "dense to 32"),
        ((N, 32, 32, 3), (N, 224, 224, 3), "resize to 224 x 224 (bilinear)"),
        ((N, 224, 224, 3), (N, 32, 32, 3), "resize to 32 x 32 (bilinear)"),
        ((N, 3, 32, 32), (N, 32, 32, 3), "transpose by [0, 2, 3, 1]"),
        ((N, 3, 32, 32), (N, 64, 64, 3), "transpose by [0, 2, 3, 1], then resize to 64 x 64 (bilinear)"),
        ((N, 28, 28), (N, 784), "reshape to (?, 784)"),
        ((N, 784), (N, 28, 28, 1), "reshape to (?, 28, 28, 1)"),
        ((N, 1, 1, 64), (N, 64), "reshape to (?, 64)"),
        ((N, N, 64), (N, 1, N, 64), "reshape to (?, 1, ?, 64)"),
        ((N, 100), (N, 8, 8, 3), "dense to 192, then reshape to (?, 8, 8, 3)"),
        ((N, N, 768), (N, N, 512), "dense to 512"),
        ((N, 10, 8), (N, 12, 8), "pad by [[0, 0], [1, 1], [0, 0]]"),
        ((2, 3), (3, 2), "transpose by [1, 0]"),
        ((), (1,), "reshape to (1,)"),
        ((8, 4), (16, 4), None),
        ((N, 0), (N, 4), "pad by [[0, 0], [0, 4]]"),
    ],
)
def test_the_most_sensible_comes_first(given, wanted, first):
    assert next(iter(reported(given, wanted)), None) == first


def test_casts_stand_where_numbers_stay_exact():
    assert reported((N, 28, 28), (N, 784), "uint8")[0] == "cast to float32, then reshape to (?, 784)"
    assert reported((N, 8, 8, 1), (N, 4, 4, 1), into="int32")[0] == "resize to 4 x 4 (nearest), then cast to int32"
    assert reported((N, 8, 8, 1), (N, 4, 4, 1), "float64", "float64")[0].endswith("(bilinear), then cast to float64")
    assert not any("dense" in one for one in reported((N, 7, 7, 5), (N, 4), into="int32"))
    assert reported((2,), (3,), "string") == []
    assert reported((2,), (2,), "complex64") == []


def test_what_reads_it_says_where_the_channels_are():
    assert reported((N, 5, 6, 7), (N, 4, 6, 7), data_format="NCHW")[0] == "dense to 4"
    image, head = TensorInfo("float32", (N, 8, 7, 7)), TensorInfo("float32", (N, 4))
    (_, dense) = requested_adapter(image, head, AdapterSpec(("pool", "dense")), "NCHW").parts
    assert dense.units == 4
    graph = plain(("x", "Placeholder", []), ("y", "Conv2D", ["x"]))
    assert data_format_of(graph, [0, 1]) == ""


def test_parts_say_what_they_give():
    images = TensorInfo("float32_ref", (2, 8, 6, 3))
    assert Pool((2, 3), (2, 3)).output_info(images) == ("float32", (2, 4, 2, 3))
    assert Pool(None, keep_dims=True).output_info(images).shape == (2, 1, 1, 3)
    assert Pool(None, mode="max", data_format="NCHW").output_info(images).shape == (2, 8)
    assert str(Pool(None, mode="max")) == "maximum of each channel"
    assert Reshape((None, 3)).output_info(images).shape == (96, 3)
    assert Transpose((0, 3, 1, 2)).output_info(images).shape == (2, 3, 8, 6)
    assert Pad(((0, 0), (1, 2), (0, 0), (0, 0)), 7).output_info(images).shape == (2, 11, 6, 3)
    assert str(Pad(((1, 0),), 7)) == "pad by [[1, 0]] with 7"
    unknown = TensorInfo("float32", None)
    for part in (Pool((2,), (2,)), Transpose((0,)), Pad(((0, 1),)), Cast("int32")):
        assert part.output_info(unknown).shape is None


def test_what_a_person_types_counts():
    a, b = TensorInfo("float32", (N, 4)), TensorInfo("float32", (N, 4))
    assert proposals(a, b) == ()
    assert str(requested_adapter(a, b, AdapterSpec(("dense",), options=(("bias", False), ("seed", 3))))) == "dense to 4"
    assert requested_adapter(a, b, AdapterSpec(("transpose",), options=(("perm", (1, 1)),))) is None
    pads = AdapterSpec(("pad",), options=(("paddings", ((0, 0), (2, 1))), ("value", 9)))
    assert str(requested_adapter(a, TensorInfo("float32", (N, 7)), pads)) == "pad by [[0, 0], [2, 1]] with 9"
    assert str(requested_adapter(TensorInfo("float32", None), b, AdapterSpec(("reshape",)))) == "reshape to (?, 4)"
    kept = requested_adapter(
        TensorInfo("float32", (N, N, N, 64)), TensorInfo("float32", (N, 1, 1, 64)), AdapterSpec(("pool",))
    )
    assert kept == Adapter((Pool(None, keep_dims=True),))
    assert AdapterSpec(dtype="int8", shape=(1,)).target_info(a) == ("int8", (1,))


def test_an_option_that_is_none_is_refused():
    assert option_fault(["warp"], ()) == ("kinds='warp' is not known", f"Choose one of {', '.join(map(repr, KINDS))}")
    problem, suggestion = option_fault(["pool", "dense"], [("method", "area")])
    assert problem == "pool and dense has no option 'method'"
    assert suggestion == "It has bias, data_format, mode, seed"
    assert "dtype= and shape=" in option_fault(["cast"], [("to", 1)])[1]
    assert option_fault([], [("mode", "sum")]) == ("mode='sum' is not known", "Choose one of 'avg', 'max'")
    assert option_fault([], [("perm", (0, 1))]) is None
    assert as_tuples([1, [2]]) == (1, (2,))
    assert set(FLOATS) < set(CASTABLE)
