"""Colours: what they mean, that they are told in words and shares as well, and the legend."""

from __future__ import annotations

import re

import pytest

from graphsurgeon.core.graph import Graph, TensorInfo
from graphsurgeon.errors import LayoutError
from graphsurgeon.view.dtypes import dtypes_of
from graphsurgeon.view.layout import place
from graphsurgeon.view.paint import GREY, HUES, STEPS, Paint, painted
from graphsurgeon.view.scene import build
from graphsurgeon.view.svg import blend, to_svg
from graphsurgeon.view.tree import Tree
from tests.refusal import refuses
from tests.view.graphs import node, towers


def picture(graph, paint, unfolded=()):
    scene = build(Tree(graph), frozenset(unfolded))
    return painted(scene, Tree(graph), place(scene).to_dict(), paint)


def by_name(shown):
    return {b["name"]: b["paint"] for b in shown["boxes"]}


def devices():
    nodes = [node("x", "Placeholder", [])]
    for scope, device in (("a", "/cpu:0"), ("b", "/gpu:0")):
        for i in range(4):
            one = node(f"{scope}/n{chr(97 + i)}", "Neg", ["x"], T=1 if i else 3)
            one.device = device if i < 3 else "/cpu:0"
            nodes.append(one)
    return Graph.read(nodes)


def test_devices_have_shares_where_a_fold_mixes_them():
    shown = picture(devices(), Paint("device"))
    found = by_name(shown)
    assert found["a/"]["told"] == "/cpu:0"
    assert found["a/"]["bars"] == []
    assert found["b/"]["told"] == "/gpu:0 75%, /cpu:0 25%"
    assert [share for _, share in found["b/"]["bars"]] == [0.75, 0.25]
    assert found["x"]["told"] == "no device"
    assert shown["legend"]["title"] == "device"
    assert {i["text"]: i["boxes"] for i in shown["legend"]["items"]} == {"/cpu:0": 1, "/gpu:0": 1, "no device": 1}


def test_dtypes_and_scopes():
    graph = devices()
    assert by_name(picture(graph, Paint("dtype")))["a/"]["told"] == "float32 75%, int32 25%"
    assert [i["text"] for i in picture(graph, Paint("scope"))["legend"]["items"]] == ["a", "b", "top level"]
    inner = Graph.of([("m/x/p", "Neg", []), ("m/x/q", "Neg", []), ("m/y/p", "Neg", []), ("m/y/q", "Neg", [])])
    assert {i["text"] for i in picture(inner, Paint("scope"), ["m/"])["legend"]["items"]} == {"m/x", "m/y"}


def test_dtype_of_nodes_and_of_what_tensorflow_says():
    graph = devices()
    assert dtypes_of(graph)[graph.index["a/na"]] == "int32"
    live = Graph.of([("v", "VariableV2", [])], outputs_of=lambda i: [TensorInfo("float32_ref", (2,))])
    assert dtypes_of(live) == ["float32"]


def test_numbers_become_steps_and_bars():
    graph = towers(2, 3)
    values = {name: float(i) for i, name in enumerate(graph.names)}
    shown = picture(graph, Paint("values", values, "ms"))
    boxes = [b["paint"] for b in shown["boxes"]]
    assert {p["colour"] for p in boxes} <= set(STEPS)
    assert all(p["told"].endswith(" ms") for p in boxes)
    assert max(p["bars"][0][1] for p in boxes) == 1
    assert shown["legend"]["title"] == "ms"
    few = picture(graph, Paint("values", {"x": 2.0, "split": float("nan"), "gone": 1.0}, "ms"))
    assert few["legend"]["items"][-1] == {
        "key": "c10",
        "text": "no value",
        "colour": GREY,
        "boxes": len(few["boxes"]) - 1,
    }


def test_large_numbers_are_written_as_people_do():
    graph = Graph.of([("a", "Neg", []), ("b", "Neg", [])])
    shown = picture(graph, Paint("values", {"a": 12345.6, "b": 1.5e-7}, "bytes"))
    assert [b["paint"]["told"] for b in shown["boxes"]] == ["12,350 bytes", "1.5e-07 bytes"]
    assert [i["text"] for i in shown["legend"]["items"]] == ["1.5e-07 to 2,470", "9,880 to 12,300"]


@pytest.mark.parametrize(("how", "told"), [("sum", "6 ms"), ("max", "3 ms"), ("mean", "2 ms")])
def test_numbers_of_a_fold_become_one(how, told):
    graph = Graph.of([("s/a", "Neg", []), ("s/b", "Neg", []), ("s/c", "Neg", []), ("t", "Neg", [])])
    paint = Paint("values", {"s/a": 1.0, "s/b": 2.0, "s/c": 3.0}, "ms", how)
    assert by_name(picture(graph, paint))["s/"]["told"] == told


def test_families_are_what_they_were_and_have_a_legend():
    graph = towers(2, 3)
    plain = picture(graph, Paint())
    assert all("paint" not in b for b in plain["boxes"])
    assert sum(i["boxes"] for i in plain["legend"]["items"]) == len(plain["boxes"])


def test_more_kinds_than_colours():
    graph = Graph.of([(f"{chr(97 + i)}s/x", "Neg", []) for i in range(26) for _ in [0]])
    items = picture(graph, Paint("scope"))["legend"]["items"]
    assert len(items) == len(HUES) + 1
    assert items[-1]["text"] == f"{26 - len(HUES)} others"


def test_repeated_structure_is_coloured_alike():
    graph = towers(4, 3)
    shown = picture(graph, Paint("structure"))
    colours = {by_name(shown)[f"tower_{i}/"]["colour"] for i in range(4)}
    assert colours == {HUES[0]}
    assert by_name(shown)["tower_0/"]["told"] == "one of 4 of the same structure"
    assert shown["legend"]["items"][0]["text"] == "4 × 3 ops"
    many = picture(towers(16), Paint("structure"))
    assert by_name(many)["~tower_[0..15]/"]["told"] == "16 of the same structure"


def test_the_static_picture_has_the_colours_and_the_legend_in_it():
    shown = picture(devices(), Paint("device"))
    svg = to_svg(shown)
    assert blend(HUES[0], 0.3) in svg
    assert "/cpu:0 (1)" in svg
    assert "/gpu:0 75%" in svg
    key = by_name(shown)["b/"]["key"]
    faded = to_svg({**shown, "legend": {**shown["legend"], "faded": [key]}})
    assert faded.count('opacity="0.22"') == 1
    assert svg.count('opacity="0.22"') == 0
    tall, plain = (float(re.search(r'height="([\d.]+)"', s)[1]) for s in (svg, to_svg({**shown, "legend": {}})))
    assert tall > plain


def test_hostile_devices_are_text():
    hostile = Graph.read([node("x", "Neg", [])])
    hostile.nodes[0].device = "</text><script>alert(1)</script>"
    svg = to_svg(picture(hostile, Paint("device")))
    assert "<script" not in svg
    assert "&lt;script" in svg


def test_ways_that_there_are_not():
    with refuses(LayoutError, "paint(by='colour'): 'colour' is no such way", "device, dtype, family, scope, structure"):
        Paint("colour")
    with refuses(LayoutError, "paint(how='median'): 'median' is no such way", "max, mean, sum"):
        Paint("values", {}, "ms", "median")
