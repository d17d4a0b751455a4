"""Wires: one edge for all tensors between two boxes; control edges where they say something new."""

from __future__ import annotations

from graphsurgeon.graph.graph import Graph, TensorInfo
from graphsurgeon.view.edge_paths import CROSSROADS, HUB
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree
from tests.view.graphs import edges


def test_meta_edges_count_tensors_once():
    graph = Graph.from_ops(
        [
            ("a/x", "Split", []),
            ("a/y", "Neg", ["a/x"]),
            ("b/p", "Add", ["a/x:0", "a/x:1"]),
            ("b/q", "Add", ["a/x:0", "a/y"]),
            ("b/r", "NoOp", ["^a/x"]),
        ]
    )
    scene = build(Tree(graph))
    (edge,) = scene.edges
    assert (edge.count, edge.label, edge.control) == (3, "×3", False)
    assert edge.tensor == "a/x:0"
    assert scene.tensors_between(graph, "a/", "b/", False) == [(0, 0), (0, 1), (1, 0)]
    assert scene.tensors_between(graph, "a/", "b/", True) == [(0, 0)]
    assert scene.tensors_between(graph, "b/", "a/", False) == scene.tensors_between(graph, "?", "b/", False) == []
    assert build(Tree(graph)).stats["hidden"] == {"control edges": 1}


def test_one_tensor_tells_dtype_and_shape():
    graph = Graph.from_ops(
        [("a", "Placeholder", []), ("b", "Neg", ["a"])], outputs_of=lambda i: [TensorInfo("int32", (2,))]
    )
    assert build(Tree(graph)).edges[0].label == "int32 (2,)"
    assert build(Tree(graph)).boxes[0].outputs == 1


def test_control_edges_are_drawn_where_alone_and_few():
    ops = [("a", "Foo", []), ("b", "Foo", ["^a"]), ("c", "Foo", ["a", "^a"])]
    found = edges(build(Tree(Graph.from_ops(ops))))
    assert found["a", "b"].control
    assert found["a", "b"].tensor == "^a"
    assert not found["a", "c"].control
    many = build(Tree(Graph.from_ops([("a", "Foo", []), *((f"b{i}q", "Foo", ["^a"]) for i in range(10))])))
    assert (len(many.edges), many.stats["hidden"]) == (4, {"control edges": 6})


def test_edges_of_hubs_are_quiet_and_those_of_gradients_sooner():
    def fan(leaf, count):
        ops = [(f"s{chr(97 + i)}/x", f"Type{i}", []) for i in range(count)]
        ends = [(f"{leaf}/sum", "AddN", [name for name, *_ in ops]), (f"{leaf}/end", "Neg", [f"{leaf}/sum"])]
        more = [(f"s{chr(97 + i)}/y", "Neg", [f"s{chr(97 + i)}/x"]) for i in range(count)]
        return [e.quiet for e in build(Tree(Graph.from_ops([*ops, *more, *ends]))).edges]

    assert fan("gradients", HUB - 1) == [False] * (HUB - 1)
    assert fan("gradients", HUB) == [True] * HUB
    assert fan("head", HUB) == [False] * HUB
    assert fan("head", CROSSROADS - 1) == [False] * (CROSSROADS - 1)
    assert fan("head", CROSSROADS) == [True] * CROSSROADS
