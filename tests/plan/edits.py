"""Small graphs to plan over, and what each op reads after a plan."""

from __future__ import annotations

from graphsurgeon.graph.graph import Graph
from graphsurgeon.plan.plan import Plan
from tests.plain import plain
from tests.refusal import reads

F2, F3, I2 = ("float32", (2,)), ("float32", (3,)), ("int32", (2,))


def net() -> Graph:
    """a, b, wide (3), whole (int); y = -a; z = a + y; end waits for z."""
    kinds = {"a": [F2], "b": [F2], "wide": [F3], "whole": [I2], "y": [F2], "z": [F2], "end": []}
    return plain(
        ("a", "Placeholder", []), ("b", "Placeholder", []), ("wide", "Placeholder", []), ("whole", "Placeholder", []),
        ("y", "Neg", ["a"]), ("z", "Add", ["a", "y"]), ("end", "NoOp", ["^z"]), outputs=kinds,
    )  # fmt: skip


def after(plan: Plan) -> dict[str, list[str]]:
    """Returns the inputs of each op after a plan that has no fault."""
    assert plan.check() == (), [str(f) for f in plan.check()]
    g = plan.after()
    return {n: [*g.input_names(i), *("^" + c for c in g.control_names(i))] for i, n in enumerate(g.names)}


def edges(g: Graph, prefix: str = "") -> dict[str, list[str]]:
    """Returns the inputs of each op under a prefix, control inputs with their mark, sorted."""
    return {
        n: [*g.input_names(i), *sorted("^" + c for c in g.control_names(i))]
        for n, i in g.index.items()
        if n.startswith(prefix)
    }


def clean(plan: Plan) -> Plan:
    assert plan.check() == ()
    return plan


def fault(plan: Plan, *words: str, count: int = 1) -> None:
    """Asserts that the plan has `count` faults, the first with these words, and that it changes nothing."""
    found = plan.check()
    assert len(found) == count, [str(f) for f in found]
    reads(found[0], *words)
    assert plan.effect.after.fingerprint == plan.base.fingerprint or len(plan.steps) > 1
    assert "cannot be applied" in str(plan)


FITTING = plain(
    ("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Neg", ["y"]), ("add", "Add", ["y", "z"]),
    ("k", "Placeholder", []), ("wide", "Placeholder", []), ("deep", "Placeholder", []), ("fits", "Placeholder", []),
    ("loose", "Placeholder", []),
    outputs={
        **{name: [("float32", (None, 64))] for name in ("x", "y", "z", "add")},
        "k": [("int32", (None, 64))], "wide": [("float32", (None, 128))], "deep": [("float32", (None, 64, 1))],
        "fits": [("float32", (8, 64))], "loose": [("float32", None)],
    },
    title="net",
)  # fmt: skip
