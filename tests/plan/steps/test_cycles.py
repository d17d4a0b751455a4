"""Cycles: the steps that close one are named, and looking for them comes to an end."""

from __future__ import annotations

from graphsurgeon.graph.graph import Graph
from graphsurgeon.plan.plan import Plan
from tests.refusal import reads


def test_an_edge_that_is_set_to_what_it_was_in_a_cycle_is_looked_at_once():
    g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["b"])])
    swapped, rerouted = Plan(g).swap("a:0", "b:0").reroute("b:0", to="b:0").check()
    reads(swapped, "swap('a:0', 'b:0')", "that makes a cycle: 'b:0' is computed from 'b'", "Choose a tensor above it")
    reads(rerouted, "reroute('b:0', to='b:0')", "that makes a cycle: 'b:0' is computed from 'b'")
