"""Labels: the words on edges cover nothing and stay in the picture."""

from __future__ import annotations

import pytest

from graphsurgeon.view import edge_labels
from graphsurgeon.view.boxes import Edge
from graphsurgeon.view.layout import place
from graphsurgeon.view.scene import build
from graphsurgeon.view.text import SUB, width
from graphsurgeon.view.tree import Tree
from tests.view.graphs import towers


def test_edge_labels_cover_nothing():
    placed = place(build(Tree(towers(6)), {"~tower_[0..5]"}))
    for edge in placed.edges:
        if edge.label:
            w = width(edge.label, SUB) / 2
            for box in placed.boxes:
                apart = edge.lx + w <= box.x or edge.lx - w >= box.x + box.w
                assert apart or edge.ly + 5 <= box.y or edge.ly - 5 >= box.y + box.h


def test_edge_labels_stay_in_the_picture():
    edge = Edge("e", "b0", "b1", 1, False, ["a:0"], label="float32 (?, 128)")
    edge.d = "M90,0L90,60"
    half = width(edge.label, SUB) / 2
    edge_labels.put([], [], [edge], 100.0)
    assert edge.label
    assert edge.lx + half <= 100
    edge.label = "float32 (?, 128)"
    edge_labels.put([], [], [edge], 95.0)
    assert edge.lx - half >= 0
    edge.d = "M30,0L30,60"
    edge_labels.put([], [], [edge], 60.0)
    assert edge.label == ""


@pytest.mark.parametrize(
    ("d", "points"),
    [
        ("M0,0L10,0", [(0, 0), (5, 0), (10, 0)]),
        ("M0,0C0,8 8,8 8,0", [(0, 0), (4, 6), (8, 0)]),
        ("M1,1L3,1C3,1 5,1 5,1L5,3", [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (5, 2), (5, 3)]),
    ],
)
def test_points_along_a_path(d, points):
    assert edge_labels.samples(d, 2) == points
