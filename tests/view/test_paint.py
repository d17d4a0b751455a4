"""Colors: what they mean, that words and shares show them as well, and the legend."""

from __future__ import annotations

import re
from typing import Any

import pytest

from graphsurgeon.errors import LayoutError
from graphsurgeon.graph.graph import Graph, TensorInfo
from graphsurgeon.view.layout import place
from graphsurgeon.view.paint import GREY, HUES, ODD, STEPS, ZERO, Paint, dtypes_of, paint_scene
from graphsurgeon.view.scene import build
from graphsurgeon.view.svg import blend, to_svg
from graphsurgeon.view.tree import Tree
from tests.refusal import refuses
from tests.view.graphs import node, towers


def picture(graph, paint, unfolded=()):
    scene = build(Tree(graph), frozenset(unfolded))
    return paint_scene(scene, Tree(graph), place(scene).to_dict(), paint)


def by_name(shown):
    return {b["name"]: b["paint"] for b in shown["boxes"]}


def devices():
    nodes = [node("x", "Placeholder", [])]
    for scope, device in (("a", "/cpu:0"), ("b", "/gpu:0")):
        for i in range(4):
            one = node(f"{scope}/n{chr(97 + i)}", "Neg", ["x"], T=1 if i else 3)
            one.device = device if i < 3 else "/cpu:0"
            nodes.append(one)
    return Graph.from_nodes(nodes)


def test_devices_have_shares_where_a_fold_mixes_them():
    shown = picture(devices(), Paint("device"))
    found = by_name(shown)
    assert found["a/"]["text"] == "/cpu:0"
    assert found["a/"]["bars"] == []
    assert found["b/"]["text"] == "/gpu:0 75%, /cpu:0 25%"
    assert [share for _, share in found["b/"]["bars"]] == [0.75, 0.25]
    assert found["x"]["text"] == "no device"
    assert shown["legend"]["title"] == "device"
    assert {i["text"]: i["boxes"] for i in shown["legend"]["items"]} == {"/cpu:0": 1, "/gpu:0": 1, "no device": 1}


def test_dtypes_and_scopes():
    graph = devices()
    assert by_name(picture(graph, Paint("dtype")))["a/"]["text"] == "float32 75%, int32 25%"
    assert [i["text"] for i in picture(graph, Paint("scope"))["legend"]["items"]] == ["a", "b", "top level"]
    inner = Graph.from_ops([("m/x/p", "Neg", []), ("m/x/q", "Neg", []), ("m/y/p", "Neg", []), ("m/y/q", "Neg", [])])
    assert {i["text"] for i in picture(inner, Paint("scope"), ["m/"])["legend"]["items"]} == {"m/x", "m/y"}


def test_dtype_of_nodes_and_of_what_tensorflow_says():
    graph = devices()
    assert dtypes_of(graph)[graph.index["a/na"]] == "int32"
    live = Graph.from_ops([("v", "VariableV2", [])], outputs_of=lambda i: [TensorInfo("float32_ref", (2,))])
    assert dtypes_of(live) == ["float32"]


def test_numbers_become_steps_and_bars():
    graph = towers(2, 3)
    values = {name: float(i) for i, name in enumerate(graph.names)}
    shown = picture(graph, Paint("values", values, "ms"))
    boxes = [b["paint"] for b in shown["boxes"]]
    assert {STEPS[0], STEPS[-1], ZERO} <= {p["color"] for p in boxes}
    assert all(p["text"].endswith(" ms") for p in boxes)
    assert max(share for p in boxes for _, share in p["bars"]) == 1
    assert shown["legend"]["title"] == "ms"
    few = picture(graph, Paint("values", {"x": 2.0, "gone": 1.0}, "ms"))
    assert few["legend"]["items"][-1] == {
        "key": "c10",
        "text": "no value",
        "color": GREY,
        "boxes": len(few["boxes"]) - 1,
    }


def test_each_number_has_its_place_on_one_ramp_of_colors():
    shown = picture(ROW, Paint("values", {name: float(i) for i, name in enumerate("abcdefgh", 1)}, "ms"))
    colors = [box["paint"]["color"] for box in shown["boxes"]]
    assert len(set(colors)) == len(colors)
    assert (colors[0], colors[-1]) == (STEPS[0], STEPS[-1])
    green = [int(color[3:5], 16) for color in colors]
    assert green == [*sorted(green[:5]), *sorted(green[5:], reverse=True)], "each color is beside the next"


def test_large_numbers_are_written_as_people_do():
    graph = Graph.from_ops([("a", "Neg", []), ("b", "Neg", [])])
    shown = picture(graph, Paint("values", {"a": 12345.6, "b": 1.5e-7}, "bytes", scale="linear"))
    assert [b["paint"]["text"] for b in shown["boxes"]] == ["12,350 bytes", "1.5e-07 bytes"]
    assert [i["text"] for i in shown["legend"]["items"]] == ["1.5e-07 to 2,470", "9,880 to 12,300"]


ROW = Graph.from_ops([(name, "Neg", []) for name in "abcdefgh"])


def colors(values: dict[str, float], graph: Graph = ROW, **about: str) -> dict[str, Any]:
    """Returns the color of each box that has a number, and the legend."""
    shown = picture(graph, Paint("values", values, "ms", **about))
    keys = {b["name"]: b["paint"]["key"] for b in shown["boxes"]}
    assert {item["key"] for item in shown["legend"]["items"]} == set(keys.values())
    entries = {item["key"]: (item["text"], item["color"]) for item in shown["legend"]["items"]}
    for box in shown["boxes"]:
        key, color = box["paint"]["key"], box["paint"]["color"]
        entry = entries[key][1]
        if entry in STEPS and color:  # a mix of the color of its range and of a range beside it
            at = STEPS.index(entry)
            ends = [STEPS[i] for i in (max(at - 1, 0), at, min(at + 1, len(STEPS) - 1))]
            for i in (1, 3, 5):
                shares = [int(one[i : i + 2], 16) for one in ends]
                assert min(shares) <= int(color[i : i + 2], 16) <= max(shares)
        else:
            assert color in (entry, "")
        assert not box["paint"]["text"] or box["paint"]["key"] != "c10"
    return {"keys": keys, "entries": entries, "title": shown["legend"]["title"], "svg": to_svg(shown)}


def test_zero_has_a_color_of_its_own():
    for small in (1.0, 1e-6, -1.0):
        shown = colors({"a": 0.0, "b": small, "c": 5.0, "d": -0.0})
        assert [shown["keys"][name] for name in "ad"] == ["zero", "zero"]
        assert "zero" not in [shown["keys"][name] for name in "bce"]
        assert shown["entries"]["zero"] == ("0", ZERO)
        assert blend(ZERO, 0.45) in shown["svg"]
        assert shown["keys"]["e"] == "c10"
    assert set(colors(dict.fromkeys("abcdefgh", 0.0))["keys"].values()) == {"zero"}


def test_wide_ranges_have_a_logarithmic_scale():
    wide = colors({name: 10.0**n for n, name in enumerate("abcdef")})
    assert [wide["keys"][name] for name in "abcdef"] == ["c0", "c1", "c2", "c3", "c4", "c4"]
    assert wide["title"] == "ms, log scale"
    assert "ms, log scale:" in wide["svg"]
    assert [wide["entries"][f"c{i}"][0] for i in range(5)] == [
        "1 to 10", "10 to 100", "100 to 1,000", "1,000 to 10,000", "10,000 to 100,000",
    ]  # fmt: skip
    assert colors({"a": 1.0, "b": 999.0})["title"] == "ms"
    assert colors({"a": 1.0, "b": 1000.0})["title"] == "ms, log scale"
    assert colors({"a": 1.0, "b": 1e6}, scale="linear")["title"] == "ms"
    assert colors({"a": 1.0, "b": 2.0}, scale="log")["title"] == "ms, log scale"
    assert colors({"a": 0.0}, scale="log")["title"] == "ms"


def test_a_logarithmic_scale_of_both_signs_is_in_order_and_its_legend_is_true():
    values = {"a": -1000.0, "b": -1.0, "c": 0.0, "d": 0.001, "e": 2.0, "f": 5000.0, "g": 1e-3, "h": -0.002}
    shown = colors(values)
    order = [shown["keys"][name] for name in sorted(values, key=values.__getitem__) if values[name]]
    assert order == sorted(order)
    for name, value in values.items():
        text = shown["entries"][shown["keys"][name]][0]
        if value:
            low, *_, high = (float(end.replace(",", "")) for end in text.split(" to ") * 2)
            assert low * (1 + 1e-2 * (-1 if low > 0 else 1)) <= value <= high * (1 + 1e-2 * (1 if high > 0 else -1))


def test_what_is_not_finite_is_seen_in_any_fold():
    graph = Graph.from_ops([("s/a", "Neg", []), ("s/b", "Neg", []), ("t", "Neg", []), ("u", "Neg", [])])
    values = {"s/a": 1.0, "s/b": float("nan"), "t": float("-inf"), "u": 4.0}
    for reduce in ("auto", "max", "mean", "sum"):
        shown = colors(values, graph, reduce=reduce)
        assert (shown["keys"]["s/"], shown["keys"]["t"], shown["keys"]["u"]) == ("odd", "odd", "c4")
        assert shown["entries"]["odd"] == ("not finite", ODD)
        assert "NaN ms" in shown["svg"]


def test_a_single_hit_is_not_hidden_by_sums_of_many_small_numbers():
    graph = Graph.from_ops(
        [(f"many/{i}", "Neg", []) for i in range(60)] + [(f"one/{i}", "Neg", []) for i in range(3)] + [("t", "Neg", [])]
    )
    values = {f"many/{i}": 0.1 for i in range(60)} | {"one/0": 1.0, "one/1": 0.0, "one/2": 0.0, "t": 0.3}
    shown = colors(values, graph)
    assert (shown["keys"]["one/"], shown["keys"]["many/"]) == ("c4", "c0")
    assert shown["title"] == "ms, max in each fold"
    assert "1 ms (max of 3)" in shown["svg"]
    summed = colors(values, graph, reduce="sum")
    assert (summed["keys"]["one/"], summed["keys"]["many/"], summed["title"]) == ("c0", "c4", "ms")
    assert colors(values | {"one/0": 5.0}, graph)["title"] == "ms"  # seen in the sums as well
    away = colors(values | {"one/0": 2.0, "one/1": -2.0}, graph)  # a sum of zero
    assert away["title"] == "ms, max in each fold"
    below = colors({"one/0": -3.0, "one/1": 1.0, "t": 1.0}, graph, reduce="max")
    assert below["keys"]["one/"] == "c0"


@pytest.mark.parametrize(
    ("reduce", "reported"),
    [("sum", "6 ms"), ("auto", "6 ms"), ("max", "3 ms (max of 3)"), ("mean", "2 ms (mean of 3)")],
)
def test_numbers_of_a_fold_become_one(reduce, reported):
    graph = Graph.from_ops([("s/a", "Neg", []), ("s/b", "Neg", []), ("s/c", "Neg", []), ("t", "Neg", [])])
    paint = Paint("values", {"s/a": 1.0, "s/b": 2.0, "s/c": 3.0}, "ms", reduce)
    assert by_name(picture(graph, paint))["s/"]["text"] == reported


def test_families_are_what_they_were_and_have_a_legend():
    graph = towers(2, 3)
    plain = picture(graph, Paint())
    assert all("paint" not in b for b in plain["boxes"])
    assert sum(i["boxes"] for i in plain["legend"]["items"]) == len(plain["boxes"])


def test_more_kinds_than_colors():
    graph = Graph.from_ops([(f"{chr(97 + i)}s/x", "Neg", []) for i in range(26) for _ in [0]])
    items = picture(graph, Paint("scope"))["legend"]["items"]
    assert len(items) == len(HUES) + 1
    assert items[-1]["text"] == f"{26 - len(HUES)} others"


def test_repeated_structure_is_colored_alike():
    graph = towers(4, 3)
    shown = picture(graph, Paint("structure"))
    colors = {by_name(shown)[f"tower_{i}/"]["color"] for i in range(4)}
    assert colors == {HUES[0]}
    assert by_name(shown)["tower_0/"]["text"] == "one of 4 of the same structure"
    assert shown["legend"]["items"][0]["text"] == "4 × 3 ops"
    many = picture(towers(16), Paint("structure"))
    assert by_name(many)["~tower_[0..15]/"]["text"] == "16 of the same structure"


def test_the_static_picture_has_the_colors_and_the_legend_in_it():
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
    hostile = Graph.from_nodes([node("x", "Neg", [])])
    hostile.nodes[0].device = "</text><script>alert(1)</script>"
    svg = to_svg(picture(hostile, Paint("device")))
    assert "<script" not in svg
    assert "&lt;script" in svg


def test_ways_that_there_are_not():
    with refuses(
        LayoutError, "paint(by='color'): 'color' is not a value of by", "device, dtype, family, scope, structure"
    ):
        Paint("color")
    with refuses(LayoutError, "paint(reduce='median'): 'median' is not a value of reduce", "auto, max, mean, sum"):
        Paint("values", {}, "ms", "median")
    with refuses(LayoutError, "paint(scale='cubic'): 'cubic' is not a value of scale", "auto, linear, log"):
        Paint("values", {}, "ms", scale="cubic")
