"""Steps as plain data, and back: nothing is lost, and nothing else is read."""

from __future__ import annotations

import json
from dataclasses import fields

import numpy as np
import pytest

from graphsurgeon.editor.serialization import NotDeserializable, NotSerializable, deserialize, serialize
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.adapters import AdapterSpec
from graphsurgeon.plan.steps.base import MutedStep, step_kinds
from graphsurgeon.plan.steps.condition import ConditionStep
from graphsurgeon.plan.steps.copy import CopyStep
from graphsurgeon.plan.steps.edit import BypassStep, RebuildStep, RemoveStep, RenameStep, SetStep
from graphsurgeon.plan.steps.functions import CollapseStep, InlineStep, UnrollStep
from graphsurgeon.plan.steps.insert import AdaptStep, InsertStep
from graphsurgeon.plan.steps.on_copies import OnCopiesStep
from graphsurgeon.plan.steps.replace import ReplaceStep
from graphsurgeon.plan.steps.wiring import (
    ConnectStep,
    ControlStep,
    DetachStep,
    RerouteControlStep,
    RerouteStep,
    SwapStep,
)

GRAPH = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"])])
BLOCK = select(GRAPH, name="b")


def held(value):
    if value is BLOCK:
        return {"block": None}
    raise NotSerializable(f"a value of type {type(value).__name__}")


def given(data):
    if data == {"block": None}:
        return BLOCK
    raise NotDeserializable(f"{data} is nothing")


STEPS = [
    CopyStep(
        BLOCK, "c", inputs=(("a:0", "b:0"),), device=(("/gpu:0", "/cpu:0"),), reuse={"a": "b"}, names={},
        constants=(("a:0", 1.5),), trainable=False,
    ),
    CopyStep(BLOCK, "c", values={"w": [1, 2.5], "v": (True, b"\x00\xff", None)}),
    ConnectStep("a:0", "b", 0),
    RerouteStep(("a:0",), ("b:0",), only=("b",)),
    SwapStep(("a:0",), ("b:0",)),
    DetachStep(("b",), "both"),
    InsertStep("Neg", ("a:0",), ("n", "m"), (("alpha", float("inf")), ("T", "float32"))),
    AdaptStep("a:0", "b", 0, "", AdapterSpec(("cast",), "int32", (None, 3), (("axis", -1),))),
    BypassStep(("b",), "a:0", None, BLOCK),
    RemoveStep(("b",), True),
    SetStep(("a",), (("value", 7),)),
    SetStep(("a",), device="/cpu:0"),
    ControlStep("a", None, True),
    RerouteControlStep("a", ("b",)),
    RenameStep((("a", "\u2028'\"\\\n"),)),
    CollapseStep(("b",), "f", BLOCK),
    InlineStep(("b",), True),
    UnrollStep("b", 3),
    ConditionStep("a:0", True),
    OnCopiesStep("s", ("b:0",)),
    MutedStep(RemoveStep(("b",))),
    RebuildStep(("a",)),
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_a_step_comes_back_as_it_was(step):
    data = json.loads(json.dumps(serialize(step, held)))
    assert deserialize(data, given) == step


def test_each_kind_of_step_is_tried():
    kinds = {type(step) for step in STEPS}
    assert set(step_kinds()) - kinds == {ReplaceStep}  # what it looks for is asked for again: see recover


ARRAYS = {
    "numbers": np.arange(6, dtype=np.float32).reshape(2, 3), "empty": np.zeros((0, 2), np.int64),
    "booleans": np.array([True, False]), "bytes": np.array([b"a\x00", b""], object),
    "surrogate": np.array([["x", "\ud800y"]], object), "scalar": np.float16(1.5), "nan": np.array(np.nan),
    "complex": np.array([1 + 2j]), "text": np.array(["text", "x"]),
}  # fmt: skip


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_arrays_come_back_to_the_last_bit(array):
    found = deserialize(json.loads(json.dumps(serialize(array, held))), given)
    want = array.astype(object) if getattr(array, "dtype", None) is not None and array.dtype.kind == "U" else array
    assert type(found) is type(want)
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    if want.dtype.hasobject:
        assert found.tolist() == want.tolist()
    else:
        assert found.tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.dtype("int8")])
def test_dtypes_come_back(dtype):
    assert deserialize(serialize(dtype, held), given) == np.dtype(dtype)


@pytest.mark.parametrize(
    "value", [len, object(), np.array([{}], object), np.zeros(1, [("a", "i4")]), {"a": {1, 2}}, (b"", 1j)]
)
def test_what_is_no_data_is_not_written(value):
    with pytest.raises(NotSerializable):
        serialize(value, held)


CONNECT = {"tensor": "a:0", "to": "b", "input": 0}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"step": ["ConnectStep", {**CONNECT, "more": 1}]}, "has the fields tensor, to, input, not"),
        ({"step": ["ConnectStep", {"tensor": "a:0", "to": "b"}]}, "has the fields tensor, to, input, not"),
        ({"step": ["ConnectStep", {**CONNECT, "input": True}]}, "input of ConnectStep cannot be True"),
        ({"step": ["ConnectStep", {**CONNECT, "tensor": ["a"]}]}, "tensor of ConnectStep cannot be"),
        ({"step": ["InsertStep", {f.name: None for f in fields(InsertStep)}]}, "op of InsertStep cannot be None"),
        ({"step": ["eval", {}]}, "there is no step 'eval'"),
        ({"step": "ConnectStep"}, "cannot be read as step"),
        ({"step": ["MutedStep", {"step": "x"}]}, "step of MutedStep cannot be 'x'"),
        ({"float": "zero"}, "cannot be read as float"),
        ({"bytes": "?"}, "cannot be read as bytes"),
        ({"array": ["object", [1], ""]}, "cannot be read as array"),
        ({"array": ["i4,O", [1], ""]}, "cannot be read as array"),
        ({"array": ["float32", [-1], "AAAAAA=="]}, "cannot be read as array"),
        ({"array": ["float32", [1 << 40], "AAAAAA=="]}, "cannot be read as array"),
        ({"texts": [[2], ["YQ=="]]}, "cannot be read as texts"),
        ({"map": [[["list"], 1, 2]]}, "cannot be read as map"),
        ({"a": 1, "b": 2}, "is not a value"),
        (1.5, "is not a value"),
        ({"pickle": "gASV"}, "is nothing"),
    ],
)  # fmt: skip
def test_anything_else_is_refused(data, words):
    with pytest.raises(NotDeserializable, match=words.replace("(", r"\(")):
        deserialize(data, given)


def test_values_that_lie_too_deep_are_refused():
    data: object = None
    for _ in range(100):
        data = [data]
    with pytest.raises(NotDeserializable, match="too deep"):
        deserialize(data, given)
