"""Consumers that read another tensor: all or some of them, by turns, and never across a loop."""

from __future__ import annotations

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.plan import Plan
from tests.plan.edits import after, net
from tests.refusal import reads


def test_reroute_all_consumers_or_some():
    g = net()
    assert after(Plan(g).reroute("a", to="b"))["z"] == ["b:0", "y:0"]
    only = after(Plan(g).reroute("a:0", to="b:0", only="y"))
    assert (only["y"], only["z"]) == (["b:0"], ["a:0", "y:0"])
    but = after(Plan(g).reroute("a:0", to="b:0", exclude=select(g, name="y")))
    assert (but["y"], but["z"]) == (["a:0"], ["b:0", "y:0"])
    plan = Plan(g).reroute("a:0", to="b:0")
    assert plan.mode == "materialize"
    assert [(c.to, c.input, c.previous) for c in plan.effect.connections] == [("y", 0, "a:0"), ("z", 0, "a:0")]
    assert str(plan.preview()).splitlines()[1] == "  1. reroute the consumers of a:0 to b:0"


def test_edges_into_a_loop():
    g = Graph.from_ops(
        [("x", "Placeholder", []), ("in", "Enter", ["x"]), ("m", "Merge", ["in", "n"]), ("s", "Switch", ["m", "m"]),
         ("body", "Neg", ["s:1"]), ("n", "NextIteration", ["body"]), ("out", "Exit", ["s"]), ("z", "Neg", ["out"])]
    )  # fmt: skip
    reads(Plan(g).reroute("s:1", to="x").check()[0], "'body' is inside a loop, and the other end of the edge is not",
          "Rewire the input of an Enter of the loop")  # fmt: skip
    assert Plan(g).reroute("out", to="x").check() == ()
    assert Plan(g).insert("Neg", on="s:1", name="more").check() == ()
