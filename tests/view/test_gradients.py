"""What a person hides and shows again."""

from __future__ import annotations

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.helper_ops import KINDS, Filters, training_ops
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
    scene = shown(graph, Filters(training=False))
    names = [b.name for b in scene.boxes]
    assert "gradients/" not in names
    assert "a/" in names
    assert scene.stats["hidden"]["training ops"] == int(training_ops(graph).sum())
    assert "training ops" in next(b for b in scene.boxes if b.name == "a/").hidden
    assert [b.name for b in shown(graph, Filters()).boxes] == [b.name for b in before.boxes]


def test_every_op_is_drawn_or_counted_whatever_is_put_away():
    graph = trained()
    for filters in (Filters(training=False), Filters(hidden=frozenset({"Relu", "Tile"}))):
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
    away, drawn = (Tree(graph, Filters(training=how)) for how in (False, True))
    before = [box.name for box in build(away).boxes]
    assert "gradients/" in [box.name for box in build(drawn).boxes]
    assert [box.name for box in build(away).boxes] == before
