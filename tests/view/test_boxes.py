"""Shapes: a box knows the lines of its label."""

from __future__ import annotations

from graphsurgeon.view.boxes import Box


def test_a_long_label_has_two_lines():
    def box(label):
        return Box("b0", "op", label, label, "Neg", 1, "math")

    assert box("short").lines == ["short"]
    assert box("InceptionV3/Predictions/Reshape_1").lines == ["InceptionV3/", "Predictions/Reshape_1"]
