"""What converters say, as ops of a graph; and where to cut so that what they refuse is off."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.conversion_verdict import (
    VARIABLE,
    Compatibility,
    ConversionResult,
    ConverterMessage,
    blockers,
    cut,
    with_advice,
)
from graphsurgeon.graph.graph import Graph

#: wav -> mel -> a -> b (with weights) -> pick, and a constant that both ends read.
NET = Graph.from_ops([
    ("wav", "Placeholder", []), ("rate", "Const", []), ("mel", "Mfcc", ["wav", "rate"]), ("a", "Neg", ["mel"]),
    ("w", "Const", []), ("b", "MatMul", ["a", "w"]), ("pick", "Sort", ["b", "rate"]), ("top", "Neg", ["pick"]),
])  # fmt: skip


def test_each_error_is_an_op_of_the_graph():
    errors = (
        ConverterMessage(("b/inner", "b"), "Odd", "ERROR_NEEDS_CUSTOM_OPS", "neither"),
        ConverterMessage(("mel",), "Mfcc", "ERROR_NEEDS_FLEX_OPS", "neither"),
        ConverterMessage(("mel",), "Mfcc", "ERROR_NEEDS_FLEX_OPS", "said twice"),
        ConverterMessage(("made_up_by_the_converter",), "While", "ERROR_UNKNOWN", "it has a shape that is not known"),
    )
    found = blockers(NET, ConversionResult(error_text="failed", errors=errors))
    assert [(one.op, one.type, one.kind) for one in found] == [
        ("", "While", "refused"), ("mel", "Mfcc", "TF Select"), ("b", "Odd", "custom op"),
    ]  # fmt: skip
    assert found[0].reason == "it has a shape that is not known"


def test_a_failure_without_ops_is_one_blocker_and_a_model_is_none():
    (one,) = blockers(NET, ConversionResult(error_text="the converter died (SIGSEGV), in a separate process"))
    assert str(one) == "the converter died (SIGSEGV), in a separate process"
    assert blockers(NET, ConversionResult(model=b"model")) == ()
    reported = Compatibility("net", "tflite", "TensorFlow 2", (one,), 8)
    assert str(reported).splitlines()[0] == "net: it does not become TFLite, according to TensorFlow 2"
    assert reported
    assert not reported.passed


def test_what_cannot_be_frozen_is_said_before_a_converter_is_asked():
    said = (ConverterMessage(("mel",), "AssignAdd", VARIABLE, "'counted' (AssignAdd) in a function that 'mel' calls"),)
    found = blockers(NET, ConversionResult(error_text="failed", errors=said))
    assert str(Compatibility("net", "tfjs", "", found, 8)) == (
        "net: 1 of 8 ops keeps it from TF.js; the converter runs once it can be frozen\n"
        "  variable  'mel' (AssignAdd): it needs a variable, and freezing would make it a constant"
    )


@pytest.mark.parametrize(
    ("ops", "want"),
    [
        (["mel"], (["mel:0"], ["top:0"])),
        (["pick"], (["wav:0"], ["b:0"])),
        (["mel", "pick"], (["mel:0"], ["b:0"])),
        (["wav", "mel", "a", "b", "pick", "top"], (["wav:0"], ["top:0"])),
        ([], (["wav:0"], ["top:0"])),
    ],
)
def test_what_is_in_the_way_is_cut_off_at_its_side(ops, want):
    assert cut(NET, ops, ["wav:0"], ["top:0"]) == want


def test_each_blocker_says_what_to_type():
    found = blockers(
        NET,
        ConversionResult(
            error_text="x",
            errors=(ConverterMessage(("mel",), "Mfcc", "", "no"), ConverterMessage(("b",), "MatMul", "", "no")),
        ),
    )
    reported = with_advice(found, {"gs.recipes.strip(ed)": ["b"]}, {"mel": "Cut it off: inputs='mel:0'"})
    assert [one.replacement for one in reported] == ["Cut it off: inputs='mel:0'", "gs.recipes.strip(ed) removes it"]
    table = Compatibility("net", "tflite", "x", reported, 8).table()
    assert table[1] == {**vars(found[1]), "replacement": "gs.recipes.strip(ed) removes it"}
