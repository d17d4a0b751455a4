"""Names of strangers' graphs never reach Graphviz, and reach the page as text only."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.first_picture import first_unfolded
from graphsurgeon.view.layout import place
from graphsurgeon.view.scene import build
from graphsurgeon.view.svg import to_svg
from graphsurgeon.view.tree import Tree
from tests.view.graphs import drawn

NAMES = [
    "<script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    '" onload="alert(1)',
    "' onmouseover='alert(1)",
    "]]><svg/onload=alert(1)>",
    "&lt;b&gt;&#60;",
    'x", URL="javascript:alert(1)", label="y',
    "<B>html label</B>",
    "a\\",
    "\\N\\G\\E",
    "n0 -> n1; }",
    "\u202eevil\u202c",
    "nul\0byte\x1b[31m",
    "\ud800lone\udfff",
    "emoji😀漢字",
    "a\nb\tc\r",
    "x" * 100_000,
    "",
    "//",
    "a//b/",
    "~series/",
    "+",
    "block_[0..11]/",
    "cluster_0",
    "n0",
]
ELEMENTS = {"svg", "title", "defs", "marker", "path", "rect", "g", "text", "circle"}


def graph_of(name):
    ops = [(name, "Foo", []), (f"{name}/in<side>", name or "T", [name]), (f"s/{name}/x", "Bar", [name])]
    return Graph.from_ops([(n, t, [i for i in inputs if i and ":" not in i]) for n, t, inputs in ops])


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_name(name):
    graph = graph_of(name)
    for keys in (frozenset(), first_unfolded(Tree(graph)), frozenset({f"{name}/", "s/", f"s/{name}/", "+"})):
        scene = build(Tree(graph), keys, {0: "new"})
        for dot in drawn(scene):
            assert re.fullmatch(r'[\sA-Za-z0-9_.,;={}\[\]">-]*', dot)
            assert len(dot) < 5000
        boundary = {"inputs": [{"tensor": f"{name}:0"}]}
        svg = to_svg(place(scene).to_dict(), selected=[name], title=name, boundary=boundary)
        assert len(svg) < 1_000_000
        root = ET.fromstring(svg)
        assert {e.tag.rpartition("}")[2] for e in root.iter()} <= ELEMENTS
        for element in root.iter():
            assert not [a for a in element.attrib if a.startswith("on") or "href" in a or a == "style"]
        assert not re.search("[\u202a-\u202e\0\x1b\ud800-\udfff]", svg)


def test_hostile_and_harmless_graphs_give_the_same_dot():
    bad = build(Tree(Graph.from_ops([("<script>", "Foo", []), ('"];x[', "Foo", ["<script>"])])))
    good = build(Tree(Graph.from_ops([("aaaaaaaa", "Foo", []), ("bbbbb", "Foo", ["aaaaaaaa"])])))
    strip = re.compile(r"(width|height)=[\d.]+")
    assert [strip.sub("", dot) for dot in drawn(bad)] == [strip.sub("", dot) for dot in drawn(good)]
