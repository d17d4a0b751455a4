from __future__ import annotations

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.layout import place
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree
from tests.view.graphs import chain, samples


def test_a_long_chain_is_set_in_columns():
    placed = place(build(Tree(chain(40))))
    assert max(placed.w / placed.h, placed.h / placed.w) <= 2.5
    columns = [b for i, b in enumerate(placed.boxes) if i and b.y < placed.boxes[i - 1].y]
    assert 1 <= len(columns) <= 4
    assert all(0 <= x <= placed.w and 0 <= y <= placed.h for e in placed.edges for x, y in samples(placed, e))
    at = {b.id: b for b in placed.boxes}
    for edge in placed.edges:
        for x, y in samples(placed, edge):
            assert not any(b.x < x < b.x + b.w and b.y + 1 < y < b.y + b.h - 1 for b in at.values())
        (x, y), box = samples(placed, edge)[-1], at[edge.target]
        assert abs(x - box.x - box.w / 2) < 2
        assert abs(y - box.y) < 2


def test_a_direction_that_was_asked_for_is_kept():
    placed = place(build(Tree(chain(40))), direction="TB")
    assert [b.y for b in placed.boxes] == sorted(b.y for b in placed.boxes)
    assert placed.h > 10 * placed.w


def test_a_frame_is_never_cut():
    graph = chain(40, "net/")
    placed = place(build(Tree(graph), {"net/"}))
    (frame,) = placed.groups
    assert all(frame.x < b.x and b.x + b.w < frame.x + frame.w for b in placed.boxes)
    assert all(frame.y < b.y and b.y + b.h < frame.y + frame.h for b in placed.boxes)


def test_a_long_frame_has_columns_inside():
    graph = chain(40, "net/")
    ops = [("x", "Placeholder", []), *((n, t, [graph.names[i - 1]] if i else ["x"]) for i, (n, t) in enumerate(
        zip(graph.names, graph.types, strict=True)))]  # fmt: skip
    ops.append(("y", "Exp", [graph.names[-1]]))
    placed = place(build(Tree(Graph.from_ops(ops)), {"net/"}))
    (frame,) = placed.groups
    assert max(placed.w / placed.h, placed.h / placed.w) <= 4
    first, *inside, last = placed.boxes
    assert (first.name, last.name) == ("x", "y")
    assert first.y + first.h < frame.y
    assert frame.y + frame.h < last.y
    assert first.x < last.x  # above the first column, below the last one
    assert len({b.x + b.w / 2 for b in inside}) > 1
    assert all(frame.x < b.x and b.x + b.w < frame.x + frame.w for b in inside)
    assert all(frame.y < b.y and b.y + b.h < frame.y + frame.h for b in inside)
    at = {b.id: b for b in placed.boxes}
    for edge in placed.edges:
        points = samples(placed, edge, 24)
        assert not any(b.x < x < b.x + b.w and b.y + 1 < y < b.y + b.h - 1 for x, y in points for b in at.values())
        for (x, y), box in ((points[0], at[edge.source]), (points[-1], at[edge.target])):
            assert box.x <= x <= box.x + box.w
            assert min(abs(y - box.y), abs(y - box.y - box.h)) < 3


def test_what_hangs_together_by_many_edges_is_not_cut():
    names = [f"{chr(97 + i % 26)}{i}x" for i in range(40)]
    ops = [(n, "Foo", [*names[i - 1 : i], *names[: min(i, 1)]]) for i, n in enumerate(names)]
    placed = place(build(Tree(Graph.from_ops(ops))))
    assert len(placed.boxes) == 40
    assert all(b.x >= 0 and b.x + b.w <= placed.w and b.y + b.h <= placed.h for b in placed.boxes)
