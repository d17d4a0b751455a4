"""Nesting: every box of a graph and every edge that a picture can show, in the layouts of Python."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.edge_paths import TENSORS
from graphsurgeon.view.layout import place
from graphsurgeon.view.nesting import nest
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree, find_item
from tests.view.graphs import chain, network, towers

GRAPHS = [network(), towers(), chain(60), chain(5, "a/b/c/")]
IDS = ["net", "towers", "flat", "deep"]


def nested(graph, keys=(), marks=None, limit=10_000):
    tree = Tree(graph)
    first = build(tree, keys, marks)
    return tree, nest(tree, first, place(first), marks, limit)


@pytest.mark.parametrize("graph", GRAPHS, ids=IDS)
def test_the_rows_are_the_boxes_of_all_scenes(graph):
    tree, nesting = nested(graph)
    rows = {row.name: row for row in nesting.rows}
    assert len(rows) == len(nesting.rows)
    assert nesting.closed_count == 0
    assert [name for name, row in rows.items() if row.group < 0] == [box.name for box in build(tree).boxes]
    for box in build(tree, {"densea/", "~tower_[0..15]/"}).boxes:
        row = rows[box.name]
        texts = [row.kind, row.label, row.subtitle, row.count, row.family, row.outputs]
        assert texts == [box.kind, box.label, box.subtitle, box.count, box.family, box.outputs]


@pytest.mark.parametrize("graph", GRAPHS, ids=IDS)
def test_the_edges_are_those_of_every_scene(graph):
    tree, nesting = nested(graph)
    names, folds = (
        [row.name for row in nesting.rows],
        [nesting.rows[row].name for row in nesting.inside if row >= 0],
    )
    tensors = {
        (names[a], names[b], n, tuple(nesting.tensors.rows[t][0] for t in some)) for a, b, n, *some in nesting.edges
    }

    def of(scene, edge):
        ends = (drawn[edge.source], drawn[edge.target])
        found = scene.tensors_between(graph, *ends, False)
        return *ends, edge.count, tuple(f"{graph.names[op]}:{port}" for op, port in found[:TENSORS])

    for some in itertools.chain.from_iterable(itertools.combinations(folds, n) for n in range(3)):
        scene = build(tree, [find_item(tree, name).keys[0] for name in some])
        drawn = {box.id: box.name for box in scene.boxes}
        there = {one for one in tensors if {one[0], one[1]} <= set(drawn.values())}
        data = [edge for edge in scene.edges if not edge.control]
        assert {of(scene, edge) for edge in data} == there


def test_the_first_picture_is_laid_out_as_it_is_drawn():
    _, nesting = nested(network(), {"densea/"})
    placed = place(build(Tree(network()), {"densea/"}))
    (frame,) = placed.groups
    at = {**{box.name: (box.x, box.y) for box in placed.boxes}, frame.name: (frame.x, frame.y)}
    names = [row.name for row in nesting.rows]
    for row, x, y, *_ in nesting.inside[-1]["rects"]:
        assert at[names[row]] == (x, y)
    for row, x, y, *_ in nesting.inside[names.index("densea/")]["rects"]:
        assert at[names[row]] == pytest.approx((frame.x + x, frame.y + y), abs=0.11)


@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_boxes_lie_in_their_frame_and_lines_end_at_boxes_or_at_the_border(direction):
    tree = Tree(network())
    first = build(tree)
    nesting = nest(tree, first, place(first, direction=direction), None, 1000)
    assert len(nesting.inside) > 3
    for inside in nesting.inside.values():
        w, h = inside["size"]
        rects = {row: rect for row, *rect in inside["rects"]}
        assert all(x >= 0 and y >= 0 and x + a <= w and y + b <= h for x, y, a, b in rects.values())
        for tail, head, points, *_ in inside["lines"]:
            assert {tail, head} & set(rects)
            for row, x, y in ((tail, *points[:2]), (head, *points[-2:])):
                left, top, a, b = rects.get(row, (0, 0, w, h))
                on = [abs(x - left), abs(x - left - a), abs(y - top), abs(y - top - b)]
                assert min(on) < 0.2


def test_what_does_not_fit_stays_folded_and_is_counted():
    whole, part = nested(towers())[1], nested(towers(), limit=20)[1]
    assert len(part.rows) <= 20 < len(whole.rows)
    assert part.closed_count > 0
    names = [row.name for row in whole.rows]
    assert [row.name for row in part.rows] == names[: len(part.rows)]


def test_what_is_open_in_the_first_picture_is_always_there():
    _, nesting = nested(towers(), {"~tower_[0..15]/", "tower_3/"}, limit=5)
    names = {nesting.rows[row].name for row in nesting.inside if row >= 0}
    assert names == {"~tower_[0..15]/", "tower_3/"}


def test_marks_and_holders():
    graph = network()
    _, nesting = nested(graph, marks={graph.index["x"]: "orphan"})
    assert {row.name: row.state for row in nesting.rows if row.state} == {"x": "orphan"}
    held = {
        name: nesting.rows[row].name for name, row in zip(graph.names, nesting.holder.tolist(), strict=True) if row >= 0
    }
    assert held["x"] == "x"
    assert held["densea/MatMul"] == "densea/MatMul"
    assert held["densea/w"] == held["densea/w/Initializer/zeros"] == "densea/MatMul"


def test_hidden_ops_are_counted_in_the_fold_that_they_are_in():
    tree, nesting = nested(network())
    names = {row.name: at for at, row in enumerate(nesting.rows)}
    for opened in ([], ["densea/"], ["densea/", "denseb/"]):
        total = Counter[str]()
        for fold in (-1, *(names[name] for name in opened)):
            total.update(nesting.inside[fold]["hidden"])
        hidden = build(tree, opened).stats["hidden"]
        assert total == {kind: n for kind, n in hidden.items() if kind != "control edges"}


def test_control_inputs_are_edges_where_no_tensor_joins_their_ends():
    graph = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x", "^x"]), ("z", "Neg", ["y", "^x"])])
    _, nesting = nested(graph)
    assert [(a, b) for a, b, *_ in nesting.controls] == [(0, 2)]
    assert nesting.tensors.rows[nesting.controls[0][3]] == ("^x", "")


def test_a_graph_without_ops():
    _, nesting = nested(Graph.from_ops([]))
    assert nesting.rows == []
    assert nesting.edges == nesting.controls == []
