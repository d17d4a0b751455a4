"""Sketch: a scene as DOT text, and how large its boxes are."""

from __future__ import annotations

import re

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.scene import build
from graphsurgeon.view.sketch import HEIGHT, Sketch, draw, size_of
from graphsurgeon.view.text import LABEL, LEADING, width
from graphsurgeon.view.tree import Tree
from tests.view.graphs import network


def test_only_ids_and_sizes_reach_graphviz():
    dot = draw(build(Tree(network()), {"densea/"}), Sketch())
    words = set(re.findall(r"[A-Za-z_]+\d*", dot))
    ours = (
        "digraph graph rankdir TB nodesep ranksep nslimit nslimit1 splines spline node shape box fixedsize true label"
    )
    ours += " edge arrowsize subgraph fontname Courier fontsize labeljust l margin weight width height g style invis"
    assert {w for w in words if not re.fullmatch(r"n\d+|cluster_\d+|M+", w)} <= set(ours.split())


def test_a_box_has_room_for_what_it_says_and_hides():
    plain, hiding = build(Tree(Graph.of([("x", "AQuiteLongOpType", []), ("y", "AQuiteLongOpType", ["x"])]))).boxes
    hiding.hidden = {"constants": 1200}
    long = build(Tree(Graph.of([("a_name_of_more_than_thirty_characters", "Neg", [])]))).boxes[0]
    assert size_of(plain)[1] == size_of(hiding)[1] == HEIGHT
    assert size_of(hiding)[0] > size_of(plain)[0] > width("AQuiteLongOpType", LABEL) * 0.9
    assert size_of(long)[1] == HEIGHT + LEADING
