from __future__ import annotations

import pytest

from graphsurgeon.view.op_colors import COLORS, DESCRIPTIONS, family


@pytest.mark.parametrize(
    ("op", "kin"),
    [
        *(("Conv2D", "conv"), ("DepthwiseConv2dNative", "conv"), ("MatMul", "conv"), ("FusedBatchNormV3", "norm")),
        *(
            ("MaxPool", "pool"),
            ("AvgPoolGrad", "pool"),
            ("Relu", "activation"),
            ("SoftmaxCrossEntropyWithLogits", "activation"),
        ),
        *(("BiasAdd", "math"), ("AddV2", "math"), ("Reshape", "shape"), ("Identity", "shape"), ("Const", "state")),
        *(("VarHandleOp", "state"), ("HashTableV2", "state"), ("ResourceApplyAdam", "state"), ("While", "control")),
        *(("Switch", "control"), ("NoOp", "control"), ("DecodeJpeg", "other"), ("ReluGrad", "activation")),
    ],
)
def test_family(op, kin):
    assert family(op) == kin


def test_every_family_has_colors_and_words():
    assert set(COLORS) == set(DESCRIPTIONS)
    assert all(family(op) in COLORS for op in ("Conv2D", "Relu", "Add", "NoSuchOp", "Const", "If", "Shape", "LRN"))


@pytest.mark.parametrize("ink", COLORS.values(), ids=COLORS)
def test_words_can_be_read_on_their_fill(ink):
    assert contrast(ink.text, ink.fill) >= 7
    assert contrast("#5D6875", ink.fill) >= 4.5  # the second line
    assert contrast(ink.line, "#FFFFFF") >= 2.9  # the outline


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
