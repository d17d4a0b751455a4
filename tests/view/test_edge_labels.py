"""Labels: the words on edges cover nothing and stay in the picture."""

from __future__ import annotations

from itertools import product
from math import hypot

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from graphsurgeon.graph.graph import Graph, TensorInfo
from graphsurgeon.view.boxes import SUBLABEL, Box, Edge, width
from graphsurgeon.view.edge_paths import LABEL_DISTANCE, Points, _dense, place_labels, sample_lines, straight
from graphsurgeon.view.layout import place
from graphsurgeon.view.nesting import nest
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree
from tests.view.graphs import towers


def line(a: float, b: float, c: float, d: float) -> Points:
    """A straight line from (a, b) to (c, d) as a curve."""
    return straight((a, b), (c, d))


def test_edge_labels_cover_nothing():
    placed = place(build(Tree(towers(6)), {"~tower_[0..5]"}))
    for edge in placed.edges:
        if edge.label:
            w = width(edge.label, SUBLABEL) / 2
            for box in placed.boxes:
                apart = edge.label_x + w <= box.x or edge.label_x - w >= box.x + box.w
                assert apart or edge.label_y + 5 <= box.y or edge.label_y - 5 >= box.y + box.h


def test_edge_labels_stay_in_the_picture():
    edge = Edge("e", "b0", "b1", 1, False, "a:0", label="float32 (?, 128)")
    edge.path = [0]
    half = width(edge.label, SUBLABEL) / 2
    place_labels([], [], [edge], [line(90, 0, 90, 60)], 100.0)
    assert edge.label
    assert edge.label_x + half <= 100
    edge.label = "float32 (?, 128)"
    place_labels([], [], [edge], [line(90, 0, 90, 60)], 95.0)
    assert edge.label_x - half >= 0
    place_labels([], [], [edge], [line(30, 0, 30, 60)], 60.0)
    assert edge.label == ""


def test_a_narrow_picture_gets_wider_for_its_labels():
    ops = [("x", "Placeholder", []), ("y", "Relu", ["x"]), ("z", "Relu", ["y"])]
    tree = Tree(Graph.from_ops(ops, outputs_of=lambda i: [TensorInfo("float32", (None, 32, 32, 32))]))
    scene = build(tree)
    placed = place(scene, direction="TB")
    assert [edge.label for edge in placed.edges] == ["float32 (?, 32, 32, 32)"] * 2
    ends = [edge.label_x + width(edge.label, SUBLABEL) / 2 for edge in placed.edges]
    assert max(box.x + box.w for box in placed.boxes) < max(ends) < placed.w
    assert nest(tree, scene, placed, None, 100).inside[-1]["size"] == [placed.w, placed.h]


@pytest.mark.parametrize("far", [0.0, 7.0, 13.0])
def test_a_label_avoids_a_long_line_between_its_sampled_points(far):
    edge, long = (Edge(f"e{i}", "a", "b", 1, False, "a:0", label="int32 (2,)" * (1 - i), path=[i]) for i in (0, 1))
    beside = 200 + width("int32 (2,)", SUBLABEL) / 2
    place_labels([], [], [edge, long], [line(200, 300 + far, 200, 360 + far), line(beside, 0, beside, 900)], 600.0)
    assert edge.label_x < 200


@pytest.mark.parametrize(("length", "far"), [(900, LABEL_DISTANCE), (60, 30)])
def test_the_label_of_a_long_edge_is_near_its_consumer(length, far):
    edge = Edge("e", "a", "b", 1, False, "a:0", label="int32 (2,)", path=[0])
    place_labels([], [], [edge], [line(200, 10, 200, 10 + length)], 600.0)
    assert edge.label_y == pytest.approx(10 + length - far, abs=0.1)


def test_the_label_of_a_level_edge_is_below_or_above_it():
    edge, other = (Edge(f"e{i}", "a", "b", 1, False, "a:0", label="int32 (2,)", path=[i]) for i in (0, 1))
    place_labels([], [], [edge, other], [line(50, 40, 350, 40), line(50, 70, 350, 72)], 600.0)
    assert (edge.label_x, edge.label_y - 40) == (290, pytest.approx((SUBLABEL + 2) / 2 + 3))
    assert (other.label_x, other.label_y > 72) == (290, True)


def is_positive(distance):
    """Leaves out examples in which rounding decides on a distance."""
    assume(abs(distance) > 1e-6)
    return distance > 0


PLACES = st.integers(0, 30).map(lambda n: n * 10.0)
LINES = st.lists(st.tuples(PLACES, PLACES, PLACES, PLACES), min_size=1, max_size=12)


@example([(70.0, 40.0, 0.0, 0.0), (120.0, 0.0, 0.0, 90.0)], [])
@given(LINES, st.lists(st.tuples(PLACES, PLACES), max_size=6))
def test_a_label_stands_at_the_first_free_place_of_its_edge(lines, corners):
    boxes = [Box(f"b{i}", "op", f"b{i}", "b", "", 1, "other", x=x, y=y, w=64, h=40) for i, (x, y) in enumerate(corners)]
    edges = [Edge(f"e{i:02}", "a", "b", 1, False, "a:0", label="int32 (2,)") for i in range(len(lines))]
    for i, edge in enumerate(edges):
        edge.path = [i]
    curves = [line(*ends) for ends in lines]
    place_labels(boxes, [], edges, curves, 300.0)
    samples = sample_lines(curves, 6)
    paths = [points.tolist() for points in samples]
    dense = [_dense(samples).tolist()]
    taken = [(b.x - 2, b.y - 1, b.x + b.w + 2, b.y + b.h + 1) for b in boxes]
    w, h = width("int32 (2,)", SUBLABEL) + 2, SUBLABEL + 2
    for edge, points in zip(edges, paths, strict=True):
        (a, b), (c, d) = points[0], points[-1]
        half = hypot(c - a, d - b) / 2
        order = [near * n / 3 / (2 * half or 1) for near in (min(half, LABEL_DISTANCE), half) for n in (3, 4, 2, 5, 1)]
        level = is_positive(abs(c - a) - 5 * abs(d - b))
        right_by, below_by = (0, h / 2 + 3) if level else (w / 2 + 4, 0)
        tried = [
            (c + (a - c) * part + side * right_by, d + (b - d) * part + side * below_by)
            for part in order
            for side in (1, -1)
        ]
        for lines_there, (x, y) in product((dense, paths), tried):
            left, top, right, bottom = x - w / 2, y - h / 2, x + w / 2, y + h / 2
            if is_positive(-left) or is_positive(-top) or is_positive(right - 300):
                continue
            points_near = (point for p in (*paths, *lines_there) for point in p)
            if any(is_positive(min(u - left, right - u, v - top, bottom - v)) for u, v in points_near):
                continue
            if not any(is_positive(min(r - left, right - q, t - top, bottom - u)) for q, u, r, t in taken):
                taken.append((left, top, right, bottom))
                assert edge.label == "int32 (2,)"
                assert (edge.label_x, edge.label_y) == pytest.approx((x, y), abs=0.1)
                break
        else:
            assert edge.label == ""


@pytest.mark.parametrize(
    ("curves", "points"),
    [
        (line(0, 0, 12, 0), [(0, 0), (6, 0), (12, 0)]),
        ([(0, 0), (0, 8), (8, 8), (8, 0)], [(0, 0), (4, 6), (8, 0)]),
        (
            [(1, 1), (1, 1), (3, 1), (3, 1), (3, 1), (5, 1), (5, 1), (5, 2), (5, 2), (5, 3)],
            [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (5, 2), (5, 3)],
        ),
    ],
)
def test_points_along_a_line(curves, points):
    assert [tuple(point) for point in sample_lines([np.array(curves)], 2)[0].tolist()] == points
