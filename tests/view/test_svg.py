from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.boxes import SUBLABEL, width
from graphsurgeon.view.layout import place
from graphsurgeon.view.plan_marks import MEANINGS, STATES
from graphsurgeon.view.scene import build
from graphsurgeon.view.svg import escape, panes, to_svg
from graphsurgeon.view.tree import Tree
from tests.view.graphs import chain, network, towers

NS = "{http://www.w3.org/2000/svg}"


def picture(graph, unfolded=(), marks=None, **how):
    return to_svg(place(build(Tree(graph), unfolded, marks)).to_dict(), **how)


def three():
    return Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Abs", ["y"])])


def texts(svg):
    return [e.text for e in ET.fromstring(svg).iter(f"{NS}text")]


def test_labels_and_counts_are_there():
    said = texts(picture(network(), {"densea/"}))
    assert {"MatMul", "MatMul · 1 hidden", "denseb", "7 ops", "densea", "x", "Placeholder"} <= set(said)
    assert said[-1] == "28 ops in 6 boxes · hidden: 1 constant, 1 variable, 3 saving ops, 1 no-op"


def test_it_is_read_aloud():
    root = ET.fromstring(picture(network(), title="my <net>"))
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.find(f"{NS}title").text == "my <net>"
    assert ET.fromstring(picture(network())).get("aria-label") == "graph of 5 boxes and 4 edges"


def test_tooltips_hold_full_names():
    name = "a_name_of_more_than_forty_characters_that_is_cut_in_the_middle"
    root = ET.fromstring(picture(Graph.from_ops([(name, "Placeholder", [])])))
    assert any(name in (t.text or "") for t in root.iter(f"{NS}title"))


def test_same_scene_same_text():
    assert picture(network(), {"densea/"}) == picture(network(), {"densea/"})


def test_marker_ids_differ_between_pictures():
    one, two = picture(network()), picture(towers())
    ids = [{m.get("id") for m in ET.fromstring(s).iter(f"{NS}marker")} for s in (one, two)]
    assert not ids[0] & ids[1]


def test_nothing_from_outside():
    svg = picture(network(), {"densea/"})
    for word in ("href", "http", "<style", "<script", "<image", "foreignObject", " on"):
        assert word not in svg.replace('xmlns="http://www.w3.org/2000/svg"', "").replace("graph of", "")


@pytest.mark.parametrize(
    ("state", "sign", "dash"),
    [("new", "+", "5 3"), ("orphan", "×", "2 3"), ("changed", "Δ", None), ("conflict", "⚠", None)],
)
def test_states_have_a_color_and_a_sign(state, sign, dash):
    plain, svg = picture(chain(3)), picture(chain(3), marks={1: state})
    assert sign in texts(svg)
    assert sign not in texts(plain)
    if dash:
        assert f'stroke-dasharray="{dash}"' in svg
    if state == "conflict":  # a double outline
        assert svg.count("<rect") == plain.count("<rect") + 1


def test_selected_boxes_have_a_ring():
    plain, svg = picture(chain(3)), picture(chain(3), selected=["op_b1x"])
    assert svg.count("<rect") == plain.count("<rect") + 1


def test_boundary_is_marked():
    boundary = {"inputs": [{"tensor": "densea/MatMul:0"}], "outputs": [{"tensor": "denseb/Reshape:0"}], "boxes": {}}
    svg = picture(network(), {"densea/"}, boundary=boundary)
    assert {"in 1", "out 1"} <= set(texts(svg))  # the second is inside a folded scope
    boundary = {"inputs": [{"tensor": "no/such:0"}], "outputs": [], "boxes": {"densea/": 3}}
    assert 'fill-opacity="0.1"' in picture(network(), boundary=boundary)


def test_removed_edges_have_a_cross():
    scene = place(build(Tree(chain(3)))).to_dict()
    scene["edges"][0] |= {"state": "removed", "label_x": 50.0, "label_y": 60.0}
    assert "×" in texts(to_svg(scene))


def test_series_variables_and_degraded_layouts():
    scene = place(build(Tree(towers()))).to_dict()
    scene["stats"]["degraded"] = "straight lines, because curves took too long"
    assert texts(to_svg(scene))[-1].endswith("straight lines, because curves took too long")
    assert "tower_[0..15]" in texts(to_svg(scene))


def test_words_keep_their_width_in_any_font():
    for text in ET.fromstring(picture(network())).iter(f"{NS}text"):
        assert float(text.get("textLength")) > 0


def test_escape():
    assert escape("""<a b="c" d='e'>&\0""") == "&lt;a b=&quot;c&quot; d=&#x27;e&#x27;&gt;&amp;\ufffd"


def test_empty_picture():
    assert ET.fromstring(picture(Graph.from_ops([]))).tag == f"{NS}svg"


def test_no_entry_of_the_legend_leaves_a_narrow_picture():
    placed = place(build(Tree(Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"])])))).to_dict()
    items = [{"key": f"k{i}", "text": f"a family of ops {i}", "color": "#336699", "boxes": 1} for i in range(5)]
    placed["legend"] = {"by": "family", "title": "", "items": items, "faded": []}
    root = ET.fromstring(to_svg(placed))
    said = [e for e in root.iter(f"{NS}text") if (e.text or "").startswith("a family")]
    assert len(said) == 5
    assert max(float(e.get("x")) + width(e.text, SUBLABEL) for e in said) <= float(root.get("width"))


def test_ops_of_unknown_types_are_hatched_and_folds_count_them():
    ops = [("net/x", "Placeholder", []), ("net/tok", "Mine", ["net/x"]), ("y", "Neg", ["net/tok"])]
    graph = Graph.from_ops(ops, unknown_types=frozenset({"Mine"}))
    hatched = [picture(graph, unfolded).count('stroke-opacity="0.4"') for unfolded in ((), {"net/"})]
    assert hatched == [1, 1]
    assert "2 ops · 1 unknown" in texts(picture(graph))
    assert "Mine" in texts(picture(graph, {"net/"}))
    assert picture(Graph.from_ops(ops)).count("stroke-opacity") == 0


def test_signs_are_explained_below_the_picture():
    marks = {0: "new", 1: "changed", 2: "removed"}
    said = texts(picture(three(), marks=marks))
    assert {"+", "Δ", "×", *(MEANINGS[state] for state in marks.values())} <= set(said)
    assert not set(texts(picture(three()))) & set(MEANINGS.values())
    assert set(MEANINGS) == set(STATES)


def test_leaks_are_marked():
    boundary = {"inputs": [{"tensor": "y:0"}], "leaks": [{"tensor": "x:0"}]}
    assert {"in 1", "leak 1"} <= set(texts(picture(three(), boundary=boundary)))


@pytest.mark.parametrize(("count", "abreast"), [(2, True), (9, False)])
def test_panes_stand_beside_one_another_as_far_as_they_fit(count, abreast):
    one = picture(network())
    wide = float(ET.fromstring(one).get("width"))
    root = ET.fromstring(panes([(f"pane <{i}>", one) for i in range(count)]))
    inner = root.findall(f"{NS}svg")
    assert len(inner) == count
    assert (float(root.get("width")) > 1.5 * wide) == abreast
    assert len({e.get("x") for e in inner}) == (count if abreast else 1)
    assert len({e.get("y") for e in inner}) == (1 if abreast else count)
    assert [e.text for e in root.findall(f"{NS}text")] == [f"pane <{i}>" for i in range(count)]
