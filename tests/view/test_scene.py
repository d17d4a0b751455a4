from __future__ import annotations

import numpy as np
import pytest

from graphsurgeon.errors import LayoutError
from graphsurgeon.graph.graph import Graph, TensorInfo
from graphsurgeon.graph.layers import Layer
from graphsurgeon.view.first_picture import first_unfolded
from graphsurgeon.view.layout import place
from graphsurgeon.view.scene import build
from graphsurgeon.view.svg import to_svg
from graphsurgeon.view.tree import Tree
from tests.view.graphs import boxes, chain, network, node


def test_folded_network():
    scene = build(Tree(network()))
    assert boxes(scene) == ["x", "densea/", "denseb/", "densec/", "gradients/"]
    assert boxes(scene, "subtitle") == ["Placeholder", "7 ops", "7 ops", "7 ops", "2 ops"]
    assert scene.stats["ops"] == 28
    assert scene.stats["hidden"] == {"saving ops": 3, "no-ops": 1}


def test_helpers_are_hidden_and_are_counted_where_they_help():
    scene = build(Tree(network()), {"densea/"})
    assert boxes(scene)[1:3] == ["densea/MatMul", "densea/Reshape"]
    assert scene.boxes[1].hidden == {"variables": 1}
    assert scene.boxes[2].hidden == {"constants": 1}
    assert scene.stats["hidden"] == {"constants": 1, "variables": 1, "saving ops": 3, "no-ops": 1}
    assert "<title>densea/MatMul · MatMul · with 1 variable</title>" in to_svg(place(scene).to_dict())


def test_every_op_is_in_a_box_or_counted():
    graph = network()
    for unfolded in (set(), {"densea/"}, {"densea/", "denseb/", "gradients/"}, {"densea/", "densea/+", "+"}):
        scene = build(Tree(graph), unfolded)
        shown = int((scene.op_box >= 0).sum())
        things = sum(scene.stats["hidden"].values()) - scene.stats["hidden"].get("control edges", 0)
        hidden = np.flatnonzero(scene.op_box < 0)
        from graphsurgeon.view.helper_ops import Helpers

        assert things == len(set(Helpers.from_graph(graph).owner[hidden].tolist()))
        assert shown + len(hidden) == graph.size


def test_plus_shows_what_is_hidden():
    scene = build(Tree(network()), {"densea/+"})
    assert "densea/shape" in boxes(scene)
    variable = next(b for b in scene.boxes if b.kind == "variable")
    assert (variable.name, variable.family) == ("densea/w", "state")
    scene = build(Tree(network()), {"densea/+", "densea/w/"})
    assert {"densea/w", "densea/w/read", "densea/w/Assign"} <= set(boxes(scene))


def test_variable_tells_dtype_and_shape():
    nodes = [node("w", "VariableV2", [], dtype=1, shape=[3, 3, 64]), node("w/read", "Identity", ["w"])]
    assert build(Tree(Graph.from_nodes(nodes))).boxes[0].subtitle == "VariableV2 · float32 (3, 3, 64)"
    graph = Graph.from_ops([("v", "VariableV2", [])], outputs_of=lambda i: [TensorInfo("float32_ref", (2, None))])
    assert build(Tree(graph)).boxes[0].subtitle == "VariableV2 · float32 (2, ?)"


def test_small_graphs_are_shown_whole():
    scene = build(Tree(Graph.from_ops([("a", "Const", []), ("b", "Const", []), ("c", "Add", ["a", "b"])])))
    assert boxes(scene) == ["a", "b", "c"]
    assert scene.stats["hidden"] == {}


def test_a_graph_of_constants_only_shows_them():
    scene = build(Tree(Graph.from_ops([(f"{chr(97 + i)}x", "Const", []) for i in range(20)])))
    assert len(scene.boxes) == 20


def test_a_scope_of_helpers_only_shows_them_when_unfolded():
    scene = build(Tree(network()), {"save/"})
    assert "save/SaveV2" not in boxes(scene)  # it is hidden as a whole ...
    scene = build(Tree(network()), {"+", "save/"})
    assert {"save/Const", "save/SaveV2", "save/control"} <= set(boxes(scene))  # ... unless asked for


def test_scope_with_one_op_is_drawn_as_that_op():
    ops = [("x", "Placeholder", []), ("a/Relu/c", "Const", []), ("a/Relu", "Relu", ["x", "a/Relu/c"])]
    graph = Graph.from_ops(ops + [(f"y{i}q", "Neg", ["a/Relu"]) for i in range(12)])
    relu = build(Tree(graph)).boxes[1]
    assert (relu.kind, relu.name, relu.label, relu.subtitle) == ("op", "a/Relu", "a/Relu", "Relu")
    assert relu.hidden == {"constants": 1}


@pytest.mark.parametrize("call", ["PartitionedCall", "StatefulPartitionedCall_3"])
def test_a_call_that_nobody_named_is_called_as_the_scope_it_is_alone_in(call):
    ops = [("x", "Placeholder", []), (f"layer/{call}", call.partition("_")[0], ["x"]), ("b/mine", "Neg", ["x"])]
    labels = [box.label for box in build(Tree(Graph.from_ops(ops))).boxes]
    assert labels == ["x", "layer", "b/mine"]


def test_scope_in_scope_opens_at_once():
    graph = chain(20, "a/b/c/")
    (box,) = build(Tree(graph)).boxes
    assert (box.name, box.label) == ("a/b/c/", "a/b/c")
    for key in ("a/", "a/b/", "a/b/c/"):
        scene = build(Tree(graph), {key})
        assert len(scene.boxes) == 20
        assert [(g.name, g.label, g.depth) for g in scene.groups] == [("a/b/c/", "a/b/c", 0)]


def test_groups_are_nested():
    graph = Graph.from_ops(
        [("x", "Placeholder", []), ("a/y", "Neg", ["x"]), ("a/b/z", "Neg", ["a/y"]), ("a/b/u", "Neg", ["a/b/z"])]
    )
    scene = build(Tree(graph), {"a/", "a/b/"})
    assert [(g.name, g.depth, g.group, g.count) for g in scene.groups] == [("a/", 0, -1, 3), ("a/b/", 1, 0, 2)]
    assert [b.group for b in scene.boxes] == [-1, 0, 1, 1]


def test_boxes_of_ops_scopes_and_helpers():
    graph = network()
    scene = build(Tree(graph), {"densea/"})
    names = ["densea/MatMul", "densea/w/read", "denseb/MatMul", "save/SaveV2"]  # the second is of the box it helps
    found = scene.boxes_of([graph.index[name] for name in names])
    assert [scene.boxes[at].id if at >= 0 else None for at in found] == ["b1", "b1", "b3", None]


def test_more_than_400_boxes_are_refused():
    graph = Graph.from_ops([(f"s{i // 40}q/op{chr(97 + i % 40 % 26)}{i}z", "Neg", []) for i in range(480)])
    with pytest.raises(LayoutError) as error:
        build(Tree(graph), {f"s{k}q/" for k in range(12)})
    assert "unfolding 's9q/'" in str(error.value)
    assert "the picture would have 402 boxes or more, and the limit is 400" in str(error.value)
    assert "ed.select(scope=...)" in str(error.value)


def test_building_twice_gives_the_same():
    one, two = (build(Tree(network()), {"densea/"}) for _ in range(2))
    assert (one.rev, one.boxes, one.groups, one.edges) == (two.rev, two.boxes, two.groups, two.edges)
    assert one.rev != build(Tree(network()), {"denseb/"}).rev


def test_first_picture_opens_the_model_and_leaves_gradients():
    graph = chain(30, "net/")
    more = [("gradients/" + n.removeprefix("net/"), "Neg", [n]) for n in graph.names]
    both = graph.with_nodes(Graph.from_ops([*((n, "Neg", []) for n in graph.names), *more]).nodes[30:])
    assert first_unfolded(Tree(both)) == {"net/"}


def test_first_picture_keeps_towers_folded_where_there_is_more_to_see():
    ops = [(f"model/part{chr(97 + i)}/op{k}", "Neg", []) for i in range(10) for k in range(3)]
    ops += [(f"tower_{t}/op{k}", "Neg", []) for t in range(16) for k in range(20)]
    scene = build(Tree(Graph.from_ops(ops)), first_unfolded(Tree(Graph.from_ops(ops))))
    assert boxes(scene)[-1] == "~tower_[0..15]/"
    assert 8 <= len(scene.boxes) <= 40


def test_empty_graph():
    scene = build(Tree(Graph.from_ops([])), first_unfolded(Tree(Graph.from_ops([]))))
    assert (scene.boxes, scene.edges, scene.stats["ops"]) == ([], [], 0)


def test_boxes_of_layers_say_the_class():
    ops = [("x", "Placeholder", [])]
    ops += [(f"m/d/op{i}", "Neg", [f"m/d/op{i - 1}" if i else "x"]) for i in range(8)]
    ops += [("m/r/Softplus", "Softplus", ["m/d/op7"]), ("m/t/Tanh", "Tanh", ["m/r/Softplus"])]
    classes = {"d": "Dense", "r": "Activation", "t": "tanh"}
    tree = Tree(Graph.from_ops(ops), layers={f"m/{name}/": Layer(name, kind, name) for name, kind in classes.items()})
    boxes = {box.label: box.subtitle for box in build(tree, ["m/"]).boxes}
    assert boxes == {"x": "Placeholder", "d": "Dense · 8 ops", "r/Softplus": "Activation · Softplus", "t/Tanh": "Tanh"}
    assert "d · Dense" in [group.label for group in build(tree, ["m/", "m/d/"]).groups]


def test_a_layer_has_its_own_name_without_the_number_of_its_scope():
    """A number stays where it tells calls of a shared layer apart, or belongs to the name."""
    ops = [("x", "Placeholder", [])]
    scopes = ["m_1/conv_3", "m_1/act_1", "m_1/shared_1", "m_1/shared_2", "m_1/dense_1"]
    for scope in scopes:
        ops += [(f"{scope}/op{i}", "Neg", [ops[-1][0]]) for i in range(1 if "act" in scope else 8)]
    names = ["conv", "act", "shared", "shared", "dense_1"]
    layers = {f"{scope}/": Layer(name, "Some", f"m/{name}") for scope, name in zip(scopes, names, strict=True)}
    tree = Tree(Graph.from_ops(ops), layers={"m_1/": Layer("m", "Functional", "m"), **layers})
    scene = build(tree, ["m_1/", "m_1/conv_3/"])
    assert [box.label for box in scene.boxes if box.name.endswith("/")] == ["shared_1", "shared_2", "dense_1"]
    assert [box.label for box in scene.boxes if "act" in box.name] == ["act/op0"]
    assert [group.label for group in scene.groups] == ["m · Functional", "conv · Some"]


def test_a_fold_has_the_color_of_the_ops_that_it_is_for():
    ops = [("x", "Placeholder", [])]
    for scope, kinds in (("layer", ["Conv2D", "BiasAdd", "Relu"]), ("rest", ["Relu", "Add"]), ("sum", ["Add", "Mul"])):
        for kind in kinds:
            ops.append((f"{scope}/{kind}", kind, [ops[-1][0]]))
    boxes = build(Tree(Graph.from_ops(ops))).boxes
    assert {box.name: box.family for box in boxes if box.name.endswith("/")} == {
        "layer/": "conv", "rest/": "activation", "sum/": "scope",
    }  # fmt: skip
