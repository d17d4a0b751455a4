"""Consumers of two tensors that change places."""

from __future__ import annotations

from graphsurgeon.graph.graph import Graph
from graphsurgeon.plan.plan import Plan
from tests.plan.edits import after, net


def test_consumers_of_two_tensors_change_places():
    g = net()
    swapped = after(Plan(g).reroute("a:0", to="b:0", only="z").swap("a:0", "b:0"))
    assert (swapped["y"], swapped["z"]) == (["b:0"], ["a:0", "y:0"])


def test_a_tensor_does_not_change_places_with_itself():
    (fault,) = Plan(Graph.from_ops([("a", "X", []), ("y", "Y", ["a"])])).swap("a:0", "a").check()
    assert (fault.problem, fault.suggestion) == (
        "both are 'a:0', which changes nothing", "Give two tensors: swap('a:0', 'b:0')"
    )  # fmt: skip
