"""Values as rows and histograms."""

from __future__ import annotations

import numpy as np

from graphsurgeon.ui.run_results import BINS, numbers


def rows(array):
    return dict(numbers(array)["rows"])


def test_few_numbers_are_shown_as_they_are():
    assert rows(np.array([1.5, -2.0], np.float32)) == {"value": "float32 (2,), 8 bytes", "values": "1.5, -2"}
    assert numbers(np.array([1.5]))["histogram"] is None


def test_many_numbers_have_a_range_and_a_histogram():
    got = numbers(np.linspace(-1, 1, 1000))
    found = dict(got["rows"])
    assert found["range"] == "-1 to 1"
    assert found["first values"].endswith(" …")
    assert len(got["histogram"]["counts"]) == BINS
    assert sum(got["histogram"]["counts"]) == 1000
    assert (got["histogram"]["low"], got["histogram"]["high"]) == (-1.0, 1.0)


def test_what_is_not_finite_is_counted_apart():
    values = np.array([np.nan, np.inf, *range(20)], np.float32)
    assert rows(values)["not finite"] == "2"
    assert sum(numbers(values)["histogram"]["counts"]) == 20
    assert numbers(np.full(20, np.nan))["histogram"] is None


def test_equal_numbers_and_empty_arrays():
    assert sum(numbers(np.zeros(50))["histogram"]["counts"]) == 50
    assert numbers(np.zeros((0, 3)))["histogram"] is None


def test_texts_are_quoted_and_cut():
    got = rows(np.array([b"a" * 100, b"<script>"], object))
    assert got["value"].startswith("string (2,)")
    assert "…" in got["values"]
    assert "b'<script>'" in got["values"]


def test_texts_take_what_they_are_long():
    assert numbers(np.array([b"abc", b"d"], object))["rows"][0] == ["value", "string (2,), 4 bytes"]
