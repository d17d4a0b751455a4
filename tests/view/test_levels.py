"""Levels: whatever the graph, boxes lie in their frames, beside each other, and lines run around them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view import edge_paths, layout
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree
from tests.view.graphs import samples

SCOPES = ["", "a/", "a/b/", "a/b/c/", "d/", "d/e/"]
OPS = st.lists(
    st.tuples(st.sampled_from(SCOPES), st.lists(st.integers(0, 30), max_size=3)), min_size=1, max_size=24
)  # fmt: skip


def graph(ops):
    """Returns a graph whose ops read earlier ones, and have names that do not fold."""
    names = [f"{scope}{chr(97 + i)}{'xyz'[i % 3] * (1 + i % 7)}" for i, (scope, _) in enumerate(ops)]
    return Graph.from_ops(
        [(name, f"T{i}", sorted({names[r % i] for r in reads}) if i else []) for i, (name, (_, reads)) in
         enumerate(zip(names, ops, strict=True))]
    )  # fmt: skip


def inside(thing, frame):
    return (
        frame.x <= thing.x
        and frame.y + 20 <= thing.y
        and thing.x + thing.w <= frame.x + frame.w + 0.2
        and thing.y + thing.h <= frame.y + frame.h + 0.2
    )


def apart(a, b):
    return a.x + a.w <= b.x + 0.2 or b.x + b.w <= a.x + 0.2 or a.y + a.h <= b.y + 0.2 or b.y + b.h <= a.y + 0.2


@pytest.mark.parametrize("direction", ["TB", "LR", "auto"])
@settings(max_examples=25, deadline=None)
@given(ops=OPS, unfolded=st.sets(st.sampled_from(SCOPES[1:])))
def test_boxes_frames_and_lines_never_meet(direction, ops, unfolded):
    placed = layout.place(build(Tree(graph(ops)), unfolded), direction=direction)
    for thing in (*placed.boxes, *placed.groups):
        assert thing.x >= 0
        assert thing.y >= 0
        assert thing.x + thing.w <= placed.w
        assert thing.y + thing.h <= placed.h
        if thing.group >= 0:
            assert inside(thing, placed.groups[thing.group])
        for other in (*placed.boxes, *placed.groups):
            assert other is thing or other.group != thing.group or apart(thing, other)
    at = {box.id: box for box in placed.boxes}
    for edge in placed.edges:
        points = samples(placed, edge, 24)
        for (x, y), box in ((points[0], at[edge.source]), (points[-1], at[edge.target])):
            assert box.x - 1 <= x <= box.x + box.w + 1
            assert box.y - 1 <= y <= box.y + box.h + 1
        for box in placed.boxes:
            if box.id not in (edge.source, edge.target):
                assert not [p for p in points if box.x < p[0] < box.x + box.w and box.y < p[1] < box.y + box.h]


def test_a_line_is_one_curve_if_nothing_is_in_its_way():
    stops = [(0.0, 0.0), (0.0, 20.0), (60.0, 40.0), (60.0, 80.0), (10.0, 100.0)]
    nothing = np.empty((0, 4))
    (free,) = edge_paths.routes([stops], nothing, [(0, 0)])
    assert len(free) == 4
    (around,) = edge_paths.routes([stops], np.array([[-30.0, 45.0, 40.0, 75.0]]), [(5, 6)])
    assert len(around) > 4
    assert (around[0].tolist(), around[-1].tolist()) == ([0, 0], [10, 100])
    (through,) = edge_paths.routes([stops], np.array([[-30.0, 45.0, 40.0, 75.0]]), [(0, 6)])
    assert len(through) == 4
