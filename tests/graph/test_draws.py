"""draws: random ops are known by their two seeds, and those without any."""

from __future__ import annotations

from types import SimpleNamespace

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.training import random_ops, unseeded_ops


def node(name, op, **seeds):
    attr = {key: SimpleNamespace(i=value) for key, value in seeds.items()}
    return SimpleNamespace(name=name, op=op, input=[], attr=attr, device="")


def test_random_ops_are_those_with_two_seeds():
    nodes = [
        node("c", "Const"),
        node("free", "RandomUniform", seed=0, seed2=0),
        node("state", "StatelessRandomUniform", seed=3),
        node("fixed", "RandomUniform", seed=0, seed2=7),
        node("other", "Multinomial", seed=0, seed2=0),
    ]
    graph = Graph.from_nodes(nodes, title="draws")
    assert [graph.names[op] for op in random_ops(graph)] == ["free", "fixed", "other"]
    assert [graph.names[op] for op in unseeded_ops(graph)] == ["free", "other"]
    assert unseeded_ops(Graph.from_ops([("x", "Placeholder", [])])) == []
    assert random_ops(Graph.from_ops([])) == []
