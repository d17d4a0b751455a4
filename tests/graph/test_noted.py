"""Noted: the numbers of a tensor, taken of its value and read."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphsurgeon.graph.tensor_stats import OpCost, TensorStats, summarize


def held(
    numbers: list[float], sample: list[float] = (), dtype: str = "float32", rounds: tuple[int, ...] = ()
) -> TensorStats:  # type: ignore[assignment]
    return TensorStats("y:0", rounds, np.array(numbers), np.array(sample, np.float32), dtype)


def test_shape_counts_and_moments():
    note = held([1, 6, 1, 1, 1, 2, 1, 0, -2.0, 4.0, 0.5, 9.0, 1, 2, 2.0, 3.0], [0.0, 0.0, 1.0, np.nan], rounds=(2, 0))
    assert (note.shape, note.size, note.nans, note.infinite, note.zeros, note.bad) == ((2, 3), 6, 1, 1, 2, True)
    assert (note.min, note.max, note.mean, note.std) == (-2.0, 4.0, 0.5, 3.0)
    assert note.histogram[0].sum() == 3
    assert repr(note) == (
        "y:0 in round 2.0  float32 (2, 3), min -2, max 4, mean 0.5, std 3, 33 % zeros, 1 NaN, 1 infinite"
    )


def test_of_what_has_no_finite_element_there_is_no_mean():
    note = held([1, 2, 2, 0, 0, 0, 0, 0, math.inf, -math.inf, math.nan, math.nan, 1, 1, 2.0])
    assert all(math.isnan(value) for value in (note.min, note.max, note.mean, note.std))
    assert note.histogram[0].size == 0
    assert repr(note) == "y:0  float32 (2), 2 NaN"


def test_text_has_a_shape_alone():
    note = held([3.0, 1.0], dtype="string")
    assert (note.shape, note.bad, note.zeros) == ((3, 1), False, 0)


def test_a_cost_reads_as_a_line():
    assert repr(OpCost("y", 12e-6, 2048, 3, "CPU:0")).startswith("y  12 us, 2")
    assert ", 3 times on CPU:0" in repr(OpCost("y", 12e-6, 2048, 3, "CPU:0"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint64", "bool", "complex64"])
@pytest.mark.parametrize("size", [0, 1, 100, 100_001])
def test_the_numbers_are_those_of_the_finite_elements(dtype, size):
    values = (np.random.RandomState(0).standard_normal(size) * 3).astype(dtype)
    if size > 10 and np.dtype(dtype).kind in "fc":
        values[:6] = [np.nan, np.nan, np.inf, np.inf, np.inf, -np.inf]
    note = summarize("y:0", values.reshape(size, 1), dtype, (4,))
    real = np.abs(values) if dtype == "complex64" else values
    finite = real[np.isfinite(real)].astype(np.float64)
    assert (note.shape, note.rounds, note.dtype) == ((size, 1), (4,), dtype)
    assert (note.nans, note.infinite, note.zeros) == (np.isnan(real).sum(), np.isinf(real).sum(), (finite == 0).sum())
    reported = [float(number) for number in note.numbers[1:8]]
    assert reported[0] == sum(reported[1:]) == size
    assert reported[3:6] == [(finite < 0).sum(), (finite == 0).sum(), (finite > 0).sum()]
    if size:
        assert (note.min, note.max) == (finite.min(), finite.max())
        assert note.mean == pytest.approx(finite.mean(), rel=1e-9, abs=1e-12)
        assert note.std == pytest.approx(finite.std(), rel=1e-9)
    else:
        assert math.isnan(note.mean)
    assert len(summarize("y:0", values, dtype, sampling=False).sample) == 0


def test_a_spread_that_is_small_beside_the_mean_keeps_its_digits():
    values = 1e8 + np.linspace(0, 1, 200_000)
    note = summarize("y:0", values, "float64")
    assert note.std == pytest.approx(values.std(), rel=1e-6)
    assert summarize("y:0", np.full(70_000, 1000.1, np.float32), "float32").std == 0.0
    assert summarize("y:0", np.array([1e300, -1e300]), "float64").std == math.inf


def test_nothing_of_a_value_is_kept():
    values = np.zeros(8, np.float32)
    note = summarize("y:0", values, "float32")
    values[:] = 1
    assert note.sample.tolist() == [0.0] * 8
