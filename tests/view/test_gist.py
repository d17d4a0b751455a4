"""Gist: what a block is said to do."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.boxes import Item
from graphsurgeon.view.scene import gist
from graphsurgeon.view.tree import Tree


def of(*ops, outside=1):
    """Returns the gist of all but the first ops of a graph."""
    graph = Graph.from_ops(list(ops))
    members = tuple(Item("op", name, name, i) for i, name in enumerate(graph.names) if i >= outside)
    return gist(Tree(graph), Item("block", "~b/", "b", members=members))


X, Y = ("x", "Placeholder", []), ("y", "Placeholder", [])


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ("Conv2D Relu DepthwiseConv2dNative _FusedConv2D", "Conv·DepthwiseConv·Conv"),
        ("BatchMatMulV2 Einsum Softmax MatMul", "MatMul ×2·Softmax·MatMul"),
        ("Conv2D MaxPool Conv2D AvgPool Conv2D Conv2DBackpropInput", "Conv ×3·MaxPool·AvgPool·ConvTranspose"),
        ("Neg Relu", ""),
    ],
    ids=["conv", "attention", "many", "nothing"],
)
def test_layers_that_count_are_told_in_order(types, said):
    assert of(X, *((f"o{i}", kind, ["x"]) for i, kind in enumerate(types.split()))) == said


def test_a_sum_of_what_came_in_and_what_was_made_of_it_is_a_residual():
    conv = ("c", "Conv2D", ["x"])
    assert of(X, conv, ("s", "AddV2", ["c", "x"])) == "Conv + residual"
    assert of(X, conv, ("d", "Conv2D", ["x"]), ("s", "Add", ["c", "d"])) == "Conv ×2 + residual"
    assert of(X, conv, ("s", "Mul", ["c", "x"])) == "Conv"
    assert of(X, conv, ("k", "Const", []), ("s", "AddV2", ["c", "k"])) == "Conv"
    assert of(X, Y, conv, ("s", "AddV2", ["c", "y"]), outside=2) == "Conv"  # another input: no way past the block


def test_sums_inside_a_layer_are_its_own():
    graph = Graph.from_ops([X, ("c", "Conv2D", ["x"]), ("norm/a", "Neg", ["x"]), ("norm/s", "AddV2", ["norm/a", "x"])])
    tree = Tree(graph)
    layer = Item("scope", "norm/", "norm", tops=(graph.scopes.index["norm"],))
    assert gist(tree, Item("block", "~b/", "b", members=(Item("op", "c", "c", 1), layer))) == "Conv"
