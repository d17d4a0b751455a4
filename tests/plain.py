"""Small graphs without TensorFlow: ops, what is known of their outputs, variables and collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphsurgeon.graph.graph import Graph, TensorInfo
from graphsurgeon.graph.variables import CollectionEntry, GraphState, VariableInfo
from graphsurgeon.plan.plan import Plan
from graphsurgeon.plan.plan_result import InferenceResult

Shape = tuple[int | None, ...] | None
SILENT = ("NoOp", "AssignVariableOp")


def plain(
    *ops: tuple[str, str, Sequence[str]],
    outputs: Mapping[str, Sequence[tuple[str, Shape] | None]] | None = None,
    variables: Sequence[VariableInfo] = (),
    collections: Mapping[str, Sequence[CollectionEntry]] | None = None,
    **about: Any,
) -> Graph:
    """Returns a snapshot; an op that `outputs` does not name has one float32 scalar, a NoOp has none.

    Of an output that is None there nothing is known.
    """
    known = outputs or {}

    def outputs_of(i: int) -> list[TensorInfo | None]:
        name, kind, _ = ops[i]
        default = [] if kind in SILENT else [("float32", ())]
        return [o and TensorInfo(*o) for o in known.get(name, default)]

    state = GraphState({v.op: v for v in variables}, {k: tuple(v) for k, v in (collections or {}).items()})
    about.setdefault("title", "tiny")
    return Graph.from_ops(ops, outputs_of=outputs_of, state_of=lambda: state, **about)


def chain(count: int) -> Graph:
    """Returns one constant and `count` ops in a row behind it."""
    return Graph.from_ops([("op0", "Const", []), *((f"op{i}", "Neg", [f"op{i - 1}"]) for i in range(1, count + 1))])


def variable(name: str, kind: str = "VariableV2", deps: Sequence[str] = ()) -> tuple[list[Any], VariableInfo]:
    """Returns the ops of a float32 (2, 3) variable as TensorFlow makes them, and what it is made of."""
    resource = kind == "VarHandleOp"
    reader, assign = ("ReadVariableOp", "AssignVariableOp") if resource else ("Identity", "Assign")
    read = f"{name}/Read/ReadVariableOp" if resource else f"{name}/read"
    ops = [
        (f"{name}/start", "Const" if not deps else "Neg", list(deps)),
        (name, kind, []),
        (f"{name}/Assign", assign, [name, f"{name}/start"]),
        (read, reader, [name]),
    ]
    info = VariableInfo(
        op=name,
        initializer=f"{name}/Assign",
        initial_value=f"{name}/start:0",
        snapshot=f"{read}:0",
        dtype="float32",
        shape="(2, 3)",
        resource=resource,
        trainable=True,
        collections=("variables", "trainable_variables"),
    )
    return ops, info


def net(**about: Any) -> Graph:
    """Returns x -> MatMul with a variable -> Mul with a second feed -> Relu, which waits for a NoOp."""
    weights, info = variable("net/w")
    matrix = [("float32", (2, 3))]
    return plain(
        ("x", "Placeholder", []),
        ("rate", "Placeholder", []),
        *weights,
        ("net/mm", "MatMul", ["x", "net/w/read"]),
        ("net/drop", "Mul", ["net/mm", "rate"]),
        ("side", "NoOp", ["^rate"]),
        ("out", "Relu", ["net/drop", "^side"]),
        ("parts", "Unpack", ["net/mm"]),
        outputs={
            "x": [("float32", (None, 2))],
            "net/w": [("float32_ref", (2, 3))],
            "net/w/start": matrix,
            "net/w/Assign": [("float32_ref", (2, 3))],
            "net/w/read": matrix,
            **{name: [("float32", (None, 3))] for name in ("net/mm", "net/drop", "out")},
            "parts": [("float32", (3,)), ("float32", (3,))],
        },
        variables=[info],
        collections={
            "variables": [CollectionEntry("variable", "net/w")],
            "trainable_variables": [CollectionEntry("variable", "net/w")],
            "losses": [CollectionEntry("tensor", "out:0")],
            "mine": [
                CollectionEntry("op", "out"),
                CollectionEntry("tensor", "net/mm:0"),
                CollectionEntry("other", "3"),
            ],
        },
        title="net",
        **about,
    )


def unjudged(plan: Plan) -> Plan:
    """Returns the same plan, of which no shape inference is asked."""
    kind = type("Unjudged", (type(plan.backend),), {"infer_shapes": lambda self, effect: InferenceResult()})
    return replace(plan, backend=kind())
