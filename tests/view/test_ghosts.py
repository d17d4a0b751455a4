"""States: what a plan does to the ops of a box or a frame, in one word."""

from __future__ import annotations

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree
from tests.view.graphs import boxes, chain, edges


def test_states_of_boxes():
    graph = chain(4, "s/")
    at = {name: i for i, name in enumerate(graph.names)}
    names = list(at)
    scene = build(Tree(graph), {"s/"}, {0: "new", 1: "conflict", 2: "orphan"})
    assert boxes(scene, "state") == ["new", "conflict", "orphan", ""]
    assert build(Tree(graph), set(), {0: "new"}).boxes[0].state == "changed"
    assert build(Tree(graph), set(), dict.fromkeys(range(4), "new")).boxes[0].state == "new"
    assert build(Tree(graph), set(), {0: "orphan"}).boxes[0].state == ""
    assert build(Tree(graph), set(), {0: "new", 3: "conflict"}).boxes[0].state == "conflict"
    assert edges(build(Tree(graph), {"s/"}, {1: "new"}))[names[0], names[1]].state == "new"


def test_states_of_frames_and_of_edges_that_go():
    graph = chain(4, "s/")
    assert build(Tree(graph), {"s/"}, dict.fromkeys(range(4), "removed")).groups[0].state == "removed"
    assert build(Tree(graph), {"s/"}, {0: "removed"}).groups[0].state == "changed"
    found = edges(build(Tree(graph), {"s/"}, {3: "removed"}))
    assert [edge.state for edge in found.values()] == ["", "", "removed"]


def test_the_sign_of_a_removed_edge_stands_alone():
    tree = Tree(Graph.from_ops([("x", "Split", []), ("y", "Pack", ["x:0", "x:1"])]))
    labels = [(edge.state, edge.label) for marks in ({}, {1: "removed"}) for edge in build(tree, (), marks).edges]
    assert labels == [("", "×2"), ("removed", "")]


def test_a_fold_whose_drawn_ops_are_all_new_is_new():
    """Helpers count for nothing: of a layer in a block, its constants are hidden."""
    ops = [("x", "Placeholder", [])]
    for i in range(6):
        for layer, kind in (("expand", "Conv2D"), ("project", "Conv2D"), ("act", "Relu")):
            scope = f"net/block_{i}_{layer}"
            ops += [(f"{scope}/w", "Const", []), (f"{scope}/{kind}", kind, [ops[-1][0], f"{scope}/w"])]
    graph = Graph.from_ops(ops)
    tree = Tree(graph)
    made = {op: "new" for op, name in enumerate(graph.names) if name.startswith("net/")}
    closed = build(tree, {"net/"}, made)
    folds = [box for box in closed.boxes if box.name.startswith("~")]
    assert folds
    assert {box.state for box in folds} == {"new"}
    opened = build(tree, {"net/", *(box.name for box in folds)}, made)
    assert {group.state for group in opened.groups} == {"new"}
    first = graph.index["net/block_0_act/Relu"]
    part = build(tree, {"net/"}, {op: state for op, state in made.items() if op != first})
    assert sorted(box.state for box in part.boxes if box.name.startswith("~"))[0] == "changed"
