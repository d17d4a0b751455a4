"""Repeated structure: what is the same is found, and what only looks the same is not."""

from __future__ import annotations

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.paint import repeated_scopes
from graphsurgeon.view.tree import Tree
from tests.view.graphs import node


def block(scope, source, names=("a", "b", "c"), types=("Conv2D", "Mul", "Relu"), wires=((-1,), (0, 0), (1,))):
    places = [f"{scope}/{n}" for n in names]
    return [
        (place, kind, [source if i < 0 else places[i] for i in read])
        for place, kind, read in zip(places, types, wires, strict=True)
    ]


def test_the_same_blocks_whatever_they_read_and_are_called():
    ops = [("x", "Placeholder", []), *block("one", "x"), *block("two", "one/c"), *block("odd", "x", names="pqr")]
    assert repeated_scopes(Tree(Graph.from_ops(ops)), ["one/", "two/", "odd/"]) == [["one/", "two/", "odd/"]]


def test_the_same_ops_in_another_order_are_matched_by_name():
    again = block("two", "x")
    ops = [("x", "Placeholder", []), *block("one", "x"), *reversed(again)]
    assert repeated_scopes(Tree(Graph.from_ops(ops)), ["one/", "two/"]) == [["one/", "two/"]]


def test_the_same_types_wired_differently_are_told_apart():
    wires = ((-1,), (-1, 0), (1,))
    ops = [("x", "Placeholder", []), *block("one", "x"), *block("two", "x", wires=wires), *block("three", "x")]
    assert repeated_scopes(Tree(Graph.from_ops(ops)), ["one/", "two/", "three/"]) == [["one/", "three/"]]


def test_another_dtype_or_another_output_is_another_structure():
    def pair(scope, dtype, port=0):
        return [node(f"{scope}/s", "Split", [], T=dtype), node(f"{scope}/n", "Neg", [f"{scope}/s:{port}"], T=dtype)]

    graph = Graph.from_nodes([*pair("a", 1), *pair("b", 2), *pair("c", 1), *pair("d", 1, 1)])
    assert repeated_scopes(Tree(graph), ["a/", "b/", "c/", "d/"]) == [["a/", "c/"]]


def test_what_is_no_scope_is_left_out():
    graph = Graph.from_ops([("x", "Placeholder", []), *block("one", "x")])
    assert repeated_scopes(Tree(graph), ["x", "one/", "gone/"]) == []
