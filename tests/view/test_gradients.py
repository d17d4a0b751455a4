"""What a person puts away or calls back, and gradients beside the ops they belong to."""

from __future__ import annotations

import pytest

from graphsurgeon.errors import counted
from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.helper_ops import KINDS, Filters, training_ops
from graphsurgeon.view.layout import place
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree
from tests.view.graphs import network


def trained():
    """Returns x -> a -> b -> loss with gradients as TensorFlow names them, and an update."""
    ops = [("x", "Placeholder", [])]
    source = "x"
    for scope in ("a", "b"):
        ops += [(f"{scope}/{n}", t, [p]) for n, t, p in (("mm", "MatMul", source), ("relu", "Relu", f"{scope}/mm"))]
        source = f"{scope}/relu"
    ops += [("loss", "Mean", [source]), ("gradients/Fill", "Fill", ["loss"])]
    last = "gradients/Fill"
    for name in ("loss", "b/relu", "b/mm", "a/relu", "a/mm"):
        ops.append((f"gradients/{name}_grad/g", "Mul", [last, name]))
        last = ops[-1][0]
    ops += [("GradientDescent/update_a/Apply", "ApplyGradientDescent", [last]), ("step", "ResourceApplyAdam", [last])]
    return Graph.from_ops([*ops, *((f"t{chr(97 + i)}q", "Tile", ["x"]) for i in range(4))])


def shown(graph, filters, unfolded=()):
    return build(Tree(graph, filters), frozenset(unfolded))


def test_training_ops_are_gradients_and_updates():
    graph = trained()
    found = {graph.names[i] for i in training_ops(graph).nonzero()[0].tolist()}
    assert found == {n for n in graph.names if n.startswith("gradients/") or "Apply" in n or n == "step"}


def test_gradients_are_put_away_and_counted():
    graph = trained()
    before = shown(graph, Filters())
    assert "gradients/" in [b.name for b in before.boxes]
    scene = shown(graph, Filters(training="away"))
    names = [b.name for b in scene.boxes]
    assert "gradients/" not in names
    assert "a/" in names
    assert scene.stats["hidden"]["training ops"] == int(training_ops(graph).sum())
    assert "training ops" in next(b for b in scene.boxes if b.name == "a/").hidden
    assert [b.name for b in shown(graph, Filters()).boxes] == [b.name for b in before.boxes]


def test_gradients_of_a_block_stand_beside_it():
    ops = [("x", "Placeholder", [])]
    for i in range(1, 8):
        ops += [(f"block_{i}_{name}", "Neg", [ops[-1][0]]) for name in ("up", "down")]
    ops.append(("gradients/Fill", "Fill", [ops[-1][0]]))
    for name, *_ in ops[-2:0:-1]:
        ops.append((f"gradients/{name}_grad/g", "Mul", [ops[-1][0], name]))
    scene = shown(Graph.from_ops(ops), Filters(training="beside"), {"~block_[1..7]/"})
    at = {b.name: b for b in scene.boxes}
    new = at["~gradients/block_3/"]
    assert (new.label, new.count, new.beside) == ("∇ block_3", 2, at["~block_3/"].id)


def test_gradients_stand_beside_their_ops():
    graph = trained()
    scene = shown(graph, Filters(training="beside"), {"a/"})
    at = {b.name: b for b in scene.boxes}
    assert at["gradients/a/mm_grad/"].label == "∇ mm"
    assert at["gradients/a/mm_grad/"].beside == at["a/mm"].id
    assert at["gradients/b/"].count == 2
    assert at["gradients/b/"].beside == at["b/"].id
    assert scene.stats["hidden"]["training ops"] == 3  # Fill and two updates belong to no op
    picture = place(scene)
    placed = {b.name: b for b in picture.boxes}
    for back, forward in (("gradients/a/mm_grad/", "a/mm"), ("gradients/b/", "b/")):
        assert abs(placed[back].y - placed[forward].y) < 1
        assert placed[back].x > placed[forward].x


def test_every_op_is_drawn_or_counted_whatever_is_put_away():
    graph = trained()
    for filters in (Filters(training="away"), Filters(training="beside"), Filters(hidden=frozenset({"Relu", "Tile"}))):
        scene = shown(graph, filters)
        reported = sum(n for kind, n in scene.stats["hidden"].items() if kind in KINDS)
        assert int((scene.op_box >= 0).sum()) + reported == graph.size


def test_hidden_types_go_and_come_back():
    graph = trained()
    scene = shown(graph, Filters(hidden=frozenset({"Tile"})))
    assert all(b.subtitle != "Tile" for b in scene.boxes)
    assert scene.stats["hidden"]["hidden ops"] == 4
    assert sum(b.subtitle == "Tile" for b in shown(graph, Filters()).boxes) == 4


def test_helpers_are_called_back_by_kind():
    graph = network()
    assert all(b.kind != "variable" for b in shown(graph, Filters(), {"densea/"}).boxes)
    scene = shown(graph, Filters(shown=frozenset({"variables"})), {"densea/"})
    (variable,) = [b for b in scene.boxes if b.kind == "variable"]
    assert variable.name == "densea/w"
    assert "variables" not in scene.stats["hidden"]


def test_two_views_of_one_graph_have_filters_of_their_own():
    graph = trained()
    away, beside = (Tree(graph, Filters(training=how)) for how in ("away", "beside"))
    before = [box.name for box in build(away).boxes]
    assert any(box.label.startswith("∇") for box in build(beside, {"a/"}).boxes)
    assert [box.name for box in build(away).boxes] == before


@pytest.mark.parametrize(("n", "text"), [(1, "1 edge of gradients"), (2, "2 edges of gradients")])
def test_edges_that_are_not_drawn_have_words(n, text):
    assert counted(n, "edges of gradients") == text


def test_gradients_inside_a_folded_scope_come_out_of_it():
    ops = [("x", "Placeholder", [])]
    source = "x"
    for scope in ("a", "b"):
        ops += [(f"{scope}/{n}", t, [p]) for n, t, p in (("mm", "MatMul", source), ("relu", "Relu", f"{scope}/mm"))]
        source = f"{scope}/relu"
    ops += [("loss/mean", "Mean", [source]), ("loss/square", "Square", ["loss/mean"])]
    last = "loss/square"
    for name in ("b/relu", "b/mm", "a/relu", "a/mm"):
        ops.append((f"loss/gradients/{name}_grad/g", "Mul", [last, name]))
        last = ops[-1][0]
    ops += [(f"t{chr(97 + i)}q", "Tile", ["x"]) for i in range(14)]
    scene = shown(Graph.from_ops(ops), Filters(training="beside"))
    assert "loss/" in [b.name for b in scene.boxes]
    assert {b.label: b.count for b in scene.boxes if b.beside} == {"∇ a": 2, "∇ b": 2}
