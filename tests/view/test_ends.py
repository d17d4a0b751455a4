"""The ends of a model: what feeds it and what it gives, and that both have boxes wherever they lie."""

from __future__ import annotations

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.first_picture import MOST, ends, first_unfolded, pinned_ops
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree


def deep(extra=()):
    """Returns x -> a deep net -> y, a loss and its gradients."""
    ops = [("in/deep/x", "Placeholder", []), ("in/deep/w", "Foo", ["in/deep/x"])]
    names = ["in/deep/w"]
    for i in range(30):
        ops.append((f"net/part{chr(97 + i % 26)}{i}z/op", "Neg", [names[-1]]))
        ops.append((f"net/part{chr(97 + i % 26)}{i}z/more", "Exp", [ops[-1][0]]))
        names.append(ops[-1][0])
    ops += [("out/head/logits", "MatMul", [names[-1]]), ("out/head/y", "Softmax", ["out/head/logits"])]
    ops += [("gradients/g/mul", "Mul", ["out/head/y"]), ("save/Save", "SaveV2", ["out/head/logits"])]
    return Graph.from_ops([*ops, *extra])


def names(graph, numbers):
    return [graph.names[int(i)] for i in numbers]


def test_inputs_are_fed_and_outputs_are_read_by_training_alone():
    graph = deep()
    fed, given = ends(Tree(graph))
    assert names(graph, fed) == ["in/deep/x"]
    assert names(graph, given) == ["out/head/y"]


def test_updates_shapes_and_guards_are_no_outputs():
    extra = [
        ("net/moving", "AssignSub", ["out/head/y"]), ("net/shape", "Shape", ["out/head/y"]), ("c/switch_t", "Identity",
        ["out/head/y"]), ("check", "Assert", ["out/head/y"]),
    ]  # fmt: skip
    graph = deep(extra)
    assert "out/head/y" not in names(graph, ends(Tree(graph))[1])  # it is read now: only what is unread ends a model
    assert names(graph, ends(Tree(graph))[1]) == []


def test_signatures_know_better():
    graph = deep()
    fed, given = ends(Tree(graph), (["in/deep/x:0", "gone:0"], ["out/head/logits:0"]))
    assert (names(graph, fed), names(graph, given)) == (["in/deep/x"], ["out/head/logits"])


def test_of_many_the_highest_few_count():
    ops = [(f"a/b/{chr(97 + i)}", "Placeholder", []) for i in range(10)] + [("top", "Placeholder", [])]
    ops += [("y", "AddN", [name for name, *_ in ops])]
    graph = Graph.from_ops(ops)
    found = names(graph, ends(Tree(graph))[0])
    assert len(found) == MOST
    assert "top" in found


def test_pinned_ops_have_boxes_of_their_own_and_are_counted_once():
    graph = deep()
    pins = pinned_ops(Tree(graph))
    scene = build(Tree(graph), frozenset(), pins=pins)
    at = {box.name: box for box in scene.boxes}
    assert at["out/head/y"].label == "out/head/y"
    assert at["out/head/"].subtitle == "1 op"
    plain = build(Tree(graph), frozenset())
    assert sum(b.count for b in scene.boxes) == sum(b.count for b in plain.boxes)
    assert [e.tensor for e in scene.edges if e.target == at["out/head/y"].id] == ["out/head/logits:0"]


def test_a_pin_in_an_open_scope_is_inside_its_frame():
    graph = deep([("out/other", "Neg", ["net/partd3z/op"])])
    scene = build(Tree(graph), {"out/"}, pins=[graph.index["out/head/y"]])
    box = next(b for b in scene.boxes if b.name == "out/head/y")
    assert box.label == "head/y"
    assert scene.groups[box.group].name == "out/"


def test_a_first_picture_opens_what_holds_little_but_ends():
    graph = deep()
    opened = first_unfolded(Tree(graph), pinned_ops(Tree(graph)))
    assert any(key.startswith("out/") for key in opened)


def test_a_series_of_inputs_names_them_all():
    ops = [(f"in_{i}", "Placeholder", []) for i in range(6)] + [("y", "AddN", [f"in_{i}" for i in range(6)])]
    ops += [(f"{chr(97 + i)}x", "Neg", ["y"]) for i in range(14)]
    scene = build(Tree(Graph.from_ops(ops)), pins=range(6))
    assert scene.boxes[0].name == "~in_[0..5]"
    assert scene.boxes[0].subtitle == "Placeholder ×6"
