from __future__ import annotations

import json

from graphsurgeon.core.graph import Graph
from graphsurgeon.view import wasm
from graphsurgeon.view.dot import quoted, to_dot
from graphsurgeon.view.scene import build
from tests.view.graphs import network


def test_boxes_clusters_and_edges():
    dot = to_dot(network(), {"densea/"})
    found = json.loads(wasm.render(dot.source))
    names = [thing["name"] for thing in found["objects"]]
    assert names[0] == "cluster_0"
    assert sorted(n for n in names if n[0] == "b") == [b.id for b in build(network(), {"densea/"}).boxes]
    assert found["objects"][0]["label"] == "densea"
    assert len(found["edges"]) == 5


def test_names_that_look_like_dot():
    names = ["<b>html</b>", 'say "hi"', "ends with \\", "\\N \\G \\n", 'x", URL="javascript:alert(1)', "a\nb", "nul\0"]
    names += ["b0 -> b1;", "//comment", "#x", "漢 😀", "\u202eabc", "-1.5", "node", "\ud800"]
    graph = Graph.of([(n, "Foo", []) for n in names])
    found = json.loads(wasm.render(to_dot(graph, {"+"}).source))
    things = [t for t in found["objects"] if t["name"].startswith("b")]
    assert len(things) == len(found["objects"]) == len(build(graph, {"+"}).boxes)
    assert all("URL" not in t and "href" not in t for t in things)
    assert "<b>html</b>" in things[0]["tooltip"] or "&lt;b&gt;" in things[0]["tooltip"]


def test_quoted_is_one_place():
    assert str(quoted("a\\N")) == "a\\\\N"
    assert str(quoted("a\0b")) == "a\ufffdb"
