"""Noted: the numbers of a tensor read from TensorFlow's summary of it."""

from __future__ import annotations

import math

import numpy as np

from graphsurgeon.graph.noted import Cost, Noted


def held(numbers: list[float], sample: list[float] = (), dtype: str = "float32", rounds: tuple[int, ...] = ()) -> Noted:  # type: ignore[assignment]
    return Noted("y:0", rounds, np.array(numbers), np.array(sample, np.float32), dtype)


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
    assert repr(Cost("y", 12e-6, 2048, 3, "CPU:0")).startswith("y  12 us, 2")
    assert ", 3 times on CPU:0" in repr(Cost("y", 12e-6, 2048, 3, "CPU:0"))
