"""Tree: which items there are, and which one a name means."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree, find_item, keys_to, ops_named
from tests.view.graphs import chain, network, towers


@pytest.mark.parametrize(
    "graph", [network(), towers(), chain(60), chain(5, "a/b/c/")], ids=["net", "towers", "flat", "deep"]
)
def test_each_op_is_reached_by_its_keys_and_by_the_name_of_its_box(graph):
    for op in range(graph.size):
        tree = Tree(graph)
        scene = build(tree, keys_to(tree, op))
        box = scene.boxes[int(scene.op_box[op])]
        assert box.name == graph.names[op]
        assert ops_named(tree, box.name)[op]


def test_all_boxes_are_found_by_name_and_together_hold_what_is_drawn():
    tree = Tree(towers())
    for unfolded in ((), ("~tower_[0..15]/",), ("~tower_[0..15]/", "tower_3/")):
        scene = build(tree, unfolded)
        held = [set(tree.ops_of(find_item(tree, box.name)).tolist()) for box in scene.boxes]
        assert sum(map(len, held)) == len(set().union(*held)) == tree.graph.size


def test_what_is_not_there_has_no_item():
    tree = Tree(network())
    assert find_item(tree, "nothing/at/all") is None
    assert ops_named(tree, "nothing") is None
    assert ops_named(tree, "nothing/") is None
    assert ops_named(tree, "~nothing_[0..4]") is None


def test_the_order_of_data_does_not_depend_on_the_places_of_constants():
    ops = [
        ("x", "Placeholder", []),
        ("b/c", "Const", []),
        ("b/d", "Const", []),
        ("a/y", "Neg", ["x"]),
        ("a/z", "Neg", ["a/y"]),
    ]
    tree = Tree(Graph.from_ops([*ops, ("b/y", "Add", ["a/z", "b/c"]), ("b/z", "Add", ["b/y", "b/d"])]))
    assert [item.name for item in tree.inside(tree.root)] == ["x", "b/", "a/"]
    assert [item.name for item in tree.in_flow_order(tree.root)] == ["x", "a/", "b/"]
