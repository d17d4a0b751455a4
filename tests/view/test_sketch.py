"""Sketch: how large boxes are."""

from __future__ import annotations

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.boxes import HEIGHT, LABEL, LINE_HEIGHT, size_of, width
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree


def test_a_box_has_room_for_what_it_says_and_hides():
    plain, hiding = build(Tree(Graph.from_ops([("x", "AQuiteLongOpType", []), ("y", "AQuiteLongOpType", ["x"])]))).boxes
    hiding.hidden = {"constants": 1200}
    long = build(Tree(Graph.from_ops([("a_name_of_more_than_thirty_characters", "Neg", [])]))).boxes[0]
    assert size_of(plain)[1] == size_of(hiding)[1] == HEIGHT
    assert size_of(hiding)[0] > size_of(plain)[0] > width("AQuiteLongOpType", LABEL) * 0.9
    assert size_of(long)[1] == HEIGHT + LINE_HEIGHT
