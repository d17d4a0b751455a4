from __future__ import annotations

import json

import pytest

from graphsurgeon.errors import LayoutError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.view import layout, levels
from graphsurgeon.view.boxes import LABEL, SUBLABEL, width
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree
from tests.view.graphs import Limited, chain, network, samples, towers


def overlaps(boxes):
    return [
        (a.name, b.name)
        for i, a in enumerate(boxes)
        for b in boxes[:i]
        if a.x < b.x + b.w and b.x < a.x + a.w and a.y < b.y + b.h and b.y < a.y + a.h
    ]


def test_places_all_within_the_picture():
    placed = layout.place(build(Tree(network()), {"densea/"}))
    for thing in [*placed.boxes, *placed.groups]:
        assert thing.x >= 0
        assert thing.y >= 0
        assert thing.x + thing.w <= placed.w
        assert thing.y + thing.h <= placed.h
    assert not overlaps(placed.boxes)
    (group,) = placed.groups
    for box in placed.boxes:
        inside = group.x < box.x and box.x + box.w < group.x + group.w
        assert (inside and group.y + 20 < box.y and box.y + box.h < group.y + group.h) == (box.group == 0)


def test_boxes_are_as_wide_as_their_words():
    names = ["a_name_of_more_than_forty_characters_on_two_lines", "x", "漢字漢字漢字漢字漢字"]
    placed = layout.place(build(Tree(Graph.from_ops([(n, "Placeholder", []) for n in names]))))
    for box in placed.boxes:
        assert box.w >= max(*(width(line, LABEL) for line in box.lines), width(box.subtitle, SUBLABEL)) + 12


def test_edges_run_from_box_to_box():
    placed = layout.place(build(Tree(towers()), {"~tower_[0..15]"}))
    at = {b.id: b for b in placed.boxes}
    for edge in placed.edges:
        points = samples(placed, edge)
        for (x, y), box in ((points[0], at[edge.source]), (points[-1], at[edge.target])):
            assert box.x - 2 <= x <= box.x + box.w + 2
            assert box.y - 2 <= y <= box.y + box.h + 2


def test_directions():
    scene = build(Tree(chain(5)))
    down = layout.place(scene, direction="TB")
    right = layout.place(scene, direction="LR")
    assert (down.direction, right.direction) == ("TB", "LR")
    assert [b.y for b in down.boxes] == sorted(b.y for b in down.boxes)
    assert [b.x for b in right.boxes] == sorted(b.x for b in right.boxes)
    with pytest.raises(LayoutError, match="direction='up': this direction does not exist"):
        layout.place(scene, direction="up")


def test_boxes_without_edges_stand_in_rows():
    placed = layout.place(
        build(Tree(Graph.from_ops([(f"{chr(97 + i % 26)}{i}x", "Placeholder", []) for i in range(40)])))
    )
    assert max(placed.w / placed.h, placed.h / placed.w) < 3


def test_a_wide_fan_is_not_one_line():
    ops = [(f"{chr(97 + i % 26)}{i}x", "Placeholder", []) for i in range(30)]
    placed = layout.place(build(Tree(Graph.from_ops([*ops, ("sum", "AddN", [o[0] for o in ops])]))))
    assert max(placed.w / placed.h, placed.h / placed.w) <= 4
    assert not overlaps(placed.boxes)


def test_a_coarser_layout_is_made_if_the_time_runs_out():
    scene = build(Tree(network()), {"densea/"})
    full = layout.place(scene)
    assert full.stats["degraded"] == ""
    coarse = layout.place(scene, engine=Limited("nslimit=2"))
    assert coarse.stats["degraded"] == "a coarser layout, because a better one took too long"
    assert [b.name for b in coarse.boxes] == [b.name for b in full.boxes]
    assert not overlaps(coarse.boxes)
    with pytest.raises(LayoutError) as error:
        layout.place(scene, engine=Limited("digraph"))
    assert "laying out 6 boxes and 5 edges: Graphviz did not finish within" in str(error.value)
    assert "Fold a scope, or set a longer timeout=" in str(error.value)
    assert layout.place(scene).stats["degraded"] == ""


def test_the_first_layout_gets_half_of_the_time():
    engine = Limited("digraph")
    with pytest.raises(LayoutError):
        layout.place(build(Tree(network())), timeout=100, engine=engine)
    full, coarse = engine.given
    assert full <= 50
    assert 50 < coarse <= 100


def test_only_changed_levels_are_laid_out():
    scene = build(Tree(towers(6)), {"~tower_[0..5]"})
    first = Limited()
    layout.place(scene, engine=first)
    again = Limited.__new__(Limited)
    again.slow, again.seen, again.given = ("digraph",), [], []
    layout.place(build(Tree(towers(6)), {"~tower_[0..5]"}), engine=again)
    assert first.seen
    assert again.seen == []


def test_equal_frames_are_laid_out_once():
    one, six = Limited(), None
    layout.place(build(Tree(towers(6)), {"~tower_[0..5]", "tower_0/"}), engine=one)
    six = Limited()
    layout.place(build(Tree(towers(6)), {"~tower_[0..5]", *(f"tower_{i}/" for i in range(6))}), engine=six)
    assert len(six.seen) == len(one.seen)


def test_an_unfolded_frame_moves_nothing_beside_its_column():
    folded, unfolded = (
        {b.name: b for b in layout.place(build(Tree(towers(6)), {"~tower_[0..5]", *more}), direction="TB").boxes}
        for more in ((), ("tower_2/",))
    )
    others = [f"tower_{i}/" for i in (0, 1, 3, 4, 5)]
    for boxes in (folded, unfolded):
        assert sorted(others, key=lambda name: boxes[name].x) == sorted(others, key=lambda name: folded[name].x)
    assert {name: folded[name].y for name in others} == {name: unfolded[name].y for name in others}


def test_cancel():
    with pytest.raises(layout.LayoutCancelled, match="it was cancelled"):
        layout.place(build(Tree(network())), cancelled=lambda: True)


def test_dict_is_json_and_always_the_same():
    one, two = (layout.place(build(Tree(network()), {"densea/"})).to_dict() for _ in range(2))
    assert json.dumps(one) == json.dumps(two)
    assert set(one) == {"rev", "w", "h", "direction", "boxes", "groups", "edges", "lines", "stats", "columns"}
    keys = "id kind name label subtitle count family x y w h state outputs hidden"
    assert set(one["boxes"][0]) == set(keys.split())
    assert set(one["groups"][0]) == {"id", "name", "label", "count", "x", "y", "w", "h", "depth", "state"}
    assert set(one["edges"][0]) >= {"from", "to", "path", "count", "tensor"}
    more = {"control", "quiet", "state", "label", "label_x", "label_y"}
    assert all(set(edge) - set(one["edges"][0]) <= more and all(edge.values()) for edge in one["edges"])


def test_nothing_to_place():
    placed = layout.place(build(Tree(Graph.from_ops([]))))
    assert placed.to_dict()["boxes"] == []


def test_a_name_that_would_reach_graphviz_is_a_bug(monkeypatch):
    levels._memory.clear()
    monkeypatch.setattr(levels, "_rank_dot", lambda structure, effort: 'digraph { "a/b" }')
    with pytest.raises(AssertionError, match="a name reached the layout engine"):
        layout.place(build(Tree(network())))


def test_the_largest_picture_is_a_small_message():
    ops = [("x" * 60 + "/in", "Placeholder", [])]
    for i in range(399):
        scope = f"a_scope_with_a_name_as_long_as_they_are_{'abcdefghijklmnopqrst'[i // 20]}/block_{i % 20}"
        ops.append((f"{scope}/an_operation_{i}", f"T{i}", [ops[i // 2][0], ops[i][0]]))
    graph = Graph.from_ops(ops)
    scene = build(Tree(graph), {f"{name}/" for name in graph.scopes.names if name})
    assert len(scene.boxes) > 200
    assert len(json.dumps(layout.place(scene).to_dict())) < 1_000_000


def test_a_picture_keeps_the_direction_of_the_one_before():
    scene = build(Tree(chain(6)))
    across = layout.place(scene, direction="LR").to_dict()
    assert layout.place(scene, previous=across).direction == "LR"
    assert layout.place(scene, direction="TB", previous=across).direction == "TB"
