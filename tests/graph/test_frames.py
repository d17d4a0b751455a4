"""Frames: which loop each op runs in, the innermost one, and what is around it."""

from __future__ import annotations

from graphsurgeon.graph.control_flow import UNKNOWN, Frames
from graphsurgeon.graph.graph import Graph


def loop(name: str, start: str, inner: list[tuple[str, str, list[str]]], end: str) -> list[tuple[str, str, list[str]]]:
    """A loop of TF1 around some ops, which read ``name/s:1`` and give `end`."""
    return [
        (f"{name}/in", "Enter", [start]),
        (f"{name}/m", "Merge", [f"{name}/in", f"{name}/n"]),
        (f"{name}/c", "LoopCond", [f"{name}/m"]),
        (f"{name}/s", "Switch", [f"{name}/m", f"{name}/c"]),
        *inner,
        (f"{name}/n", "NextIteration", [end]),
        (f"{name}/out", "Exit", [f"{name}/s"]),
    ]


def test_a_loop_in_a_loop_is_told_from_the_one_around_it():
    within = loop("b", "up", [("low", "Neg", ["b/s:1"])], "low")
    rows = [("x", "Const", []), *loop("a", "x", [("up", "Exp", ["a/s:1"]), *within], "b/out"), ("y", "Neg", ["a/out"])]
    graph = Graph.from_ops(rows)
    frames = Frames(graph)
    of = {name: frames.innermost(op) for op, name in enumerate(graph.names)}
    assert (of["x"], of["y"], of["a/out"]) == (-1, -1, -1)
    assert of["up"] == of["b/out"] == of["a/m"] == 0
    assert of["low"] == of["b/m"] == 1
    inner = frames.frame(1)
    assert (inner.outer, inner.depth, graph.names[inner.loop_cond], graph.names[inner.external_op]) == (
        0,
        2,
        "b/c",
        "up",
    )


def test_a_loop_without_a_condition_is_not_followed():
    graph = Graph.from_ops([("x", "Const", []), ("in", "Enter", ["x"]), ("y", "Neg", ["in"])])
    assert [Frames(graph).innermost(op) for op in range(3)] == [-1, UNKNOWN, UNKNOWN]
