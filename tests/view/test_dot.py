from __future__ import annotations

import json
import xml.etree.ElementTree as ET

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view import graphviz
from graphsurgeon.view.scene import build, quote, to_dot
from graphsurgeon.view.tree import Tree
from tests.view.graphs import network


def test_boxes_clusters_and_edges():
    dot = to_dot(Tree(network()), {"densea/"})
    found = json.loads(graphviz.WASM.run(dot.source))
    names = [thing["name"] for thing in found["objects"]]
    assert names[0] == "cluster_0"
    assert sorted(n for n in names if n[0] == "b") == [b.id for b in build(Tree(network()), {"densea/"}).boxes]
    assert found["objects"][0]["label"] == "densea"
    assert len(found["edges"]) == 5


def test_names_that_look_like_dot():
    names = ["<b>html</b>", 'say "hi"', "ends with \\", "\\N \\G \\n", 'x", URL="javascript:alert(1)', "a\nb", "nul\0"]
    names += ["b0 -> b1;", "//comment", "#x", "漢 😀", "\u202eabc", "-1.5", "node", "\ud800"]
    graph = Graph.from_ops([(n, "Foo", []) for n in names])
    found = json.loads(graphviz.WASM.run(to_dot(Tree(graph), {"+"}).source))
    things = [t for t in found["objects"] if t["name"].startswith("b")]
    assert len(things) == len(found["objects"]) == len(build(Tree(graph), {"+"}).boxes)
    assert all("URL" not in t and "href" not in t for t in things)
    assert "<b>html</b>" in things[0]["tooltip"] or "&lt;b&gt;" in things[0]["tooltip"]


def test_quoted_is_one_place():
    assert str(quote("a\\N")) == "a\\\\N"
    assert str(quote("a\0b")) == "a\ufffdb"


def test_hostile_names_re_parse_to_the_same_nodes():
    from tests.view.test_hostile import NAMES

    graph = Graph.from_ops([(f"s{i % 3}/{name}", name[:3000] or "T", []) for i, name in enumerate(NAMES)])
    for keys in (set(), {"s0/", "s1/", "s2/", "s0/+", "s1/+", "s2/+"}):
        scene = build(Tree(graph), keys)
        source = to_dot(Tree(graph), keys).source
        assert len(source) < 200_000
        found = json.loads(graphviz.WASM.run(source))
        things = {t["name"]: t for t in found["objects"] if not t["name"].startswith("cluster_")}
        assert sorted(things) == sorted(box.id for box in scene.boxes)
        assert len(found["objects"]) == len(scene.boxes) + len(scene.groups)
        assert not [t for t in found["objects"] if {"URL", "href", "target", "image", "shapefile"} & set(t)]
        # laid out as a picture, the names are words: no element but those of a drawing, no address, no handler
        root = ET.fromstring(graphviz.WASM.run(source, form="svg"))
        assert {e.tag.rpartition("}")[2] for e in root.iter()} <= {"svg", "g", "title", "path", "polygon", "text", "a"}
        names = [name for e in root.iter() for name in e.attrib]
        assert not [name for name in names if name.startswith("on") or name.endswith("href")]


def test_edges_of_hostile_names_re_parse():
    names = ["a\\", 'b"', "<i>", "c\nd"]
    graph = Graph.from_ops([(n, "Neg", [names[i - 1]] if i else []) for i, n in enumerate(names)])
    found = json.loads(graphviz.WASM.run(to_dot(Tree(graph)).source))
    assert [(e["tail"], e["head"]) for e in found["edges"]] == [(0, 1), (1, 2), (2, 3)]
