"""Series, chains, plain siblings and sections: what folds, and what it says of itself."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree, find_item, keys_to
from tests.view.graphs import boxes, chain, towers

TYPES = ["Conv2D", "BiasAdd", "Relu"]


def word(i):
    return f"{chr(97 + i % 26)}{i}x"


def with_chain(length=9, others=30):
    """Returns ops of which some feed each other, one after the other, beside as many that do not."""
    ops = [("x", "Placeholder", [])]
    for i in range(length):
        ops.append((f"c{word(i)}", TYPES[i % 3], [ops[-1][0]]))
    ops += [(f"o{word(i)}", f"Type{i}", ["x", ops[length][0]]) for i in range(others)]
    return Graph.from_ops(ops)


def test_a_chain_says_how_it_begins_and_how_long_it_is():
    graph = with_chain()
    (fold,) = [b for b in build(Tree(graph)).boxes if b.kind == "series"]
    assert (fold.label, fold.subtitle, fold.count) == ("Conv2D→BiasAdd→Relu … (9)", "ca0x … ci8x", 9)


def test_a_chain_unfolds_and_its_ops_are_found():
    graph = with_chain()
    (fold,) = [b for b in build(Tree(graph)).boxes if b.kind == "series"]
    opened = build(Tree(graph), {fold.name})
    assert [g.name for g in opened.groups] == [fold.name]
    assert len(opened.boxes) == len(build(Tree(graph)).boxes) + 8
    assert keys_to(Tree(graph), graph.index["ce4x"]) == [fold.name]
    assert find_item(Tree(graph), fold.name).name == fold.name


def test_short_chains_and_levels_with_room_stay_open():
    assert all(b.kind == "op" for b in build(Tree(with_chain(5))).boxes)
    assert all(b.kind == "op" for b in build(Tree(with_chain(9, 8))).boxes)
    assert all(b.kind == "op" for b in build(Tree(chain(40))).boxes)  # it would be one box for all


def test_siblings_that_nothing_tells_apart_fold_with_their_count():
    ops = [("x", "Placeholder", [])] + [(f"n{word(i)}", "AddN", ["x"]) for i in range(411)]
    ops += [(f"o{word(i)}", f"Type{i}", ["x"]) for i in range(12)]
    scene = build(Tree(Graph.from_ops(ops)))
    (fold,) = [b for b in scene.boxes if b.kind == "series"]
    assert (fold.label, fold.subtitle, fold.count, fold.family) == ("AddN ×411", "na0x … nu410x", 411, "math")
    opened = build(Tree(Graph.from_ops(ops)), {fold.name})
    assert len(opened.boxes) <= 60
    assert sum(b.count for b in opened.boxes) == len(ops)


def test_sections_say_what_they_hold():
    ops = []
    for i in range(300):
        ops.append((word(i), "Conv2D" if i % 2 else "Identity", [word(i - 1)] if i else []))
    sections = build(Tree(Graph.from_ops(ops))).boxes
    assert all(b.kind == "series" for b in sections)
    assert all(b.subtitle.startswith("Conv2D ×") for b in sections)
    assert all(" … " in b.label for b in sections)


def test_towers_fold_into_a_series():
    scene = build(Tree(towers()))
    series = scene.boxes[2]
    assert (series.kind, series.name, series.label) == ("series", "~tower_[0..15]/", "tower_[0..15]")
    assert (series.subtitle, series.count) == ("9 ops ×16", 144)
    assert [(e.count, e.label) for e in scene.edges if e.target == "b3"] == [(16, "×16")]


@pytest.mark.parametrize("key", ["~tower_[0..15]/", "~tower_[0..15]"])
def test_series_unfold_by_their_key(key):
    scene = build(Tree(towers()), {key, "tower_3/"})
    assert [g.name for g in scene.groups] == ["~tower_[0..15]/", "tower_3/"]
    assert "tower_4/" in boxes(scene)
    assert "~tower_3/op[0..8]" in boxes(scene)


def test_series_inside_a_scope_and_numbering_without_a_first_number():
    ops = [("m/x", "Placeholder", [])]
    ops += [(f"m/Relu{'_' + str(i) if i else ''}", "Relu", ["m/x"]) for i in range(16)]
    scene = build(Tree(Graph.from_ops(ops)), {"m/"})
    assert boxes(scene) == ["m/x", "~m/Relu_[0..15]"]
    assert (scene.boxes[1].subtitle, scene.boxes[1].family) == ("Relu ×16", "activation")


def test_series_beside_a_name_without_number_and_one_with_zero():
    ops = [("m/k", "_Arg", []), *((f"m/k_{i}", "_Arg", []) for i in range(30))]
    ops.append(("m/sum", "AddN", [name for name, *_ in ops]))
    scene = build(Tree(Graph.from_ops(ops)), {"m/"})
    assert boxes(scene) == ["m/k", "~m/k_[0..29]", "m/sum"]


def test_too_few_or_different_or_interleaved_siblings_are_no_series():
    assert len(build(Tree(towers(4))).boxes) == 7
    different = [(f"b_{i}/op", f"Type{i}", []) for i in range(20)]
    assert all(b.kind != "series" for b in build(Tree(Graph.from_ops(different))).boxes)
    woven = [("x", "Placeholder", [])]
    for i in range(12):
        woven += [(f"conv_{i}", "Conv2D", [f"relu_{i - 1}" if i else "x"]), (f"relu_{i}", "Relu", [f"conv_{i}"])]
    assert all(b.kind == "op" for b in build(Tree(Graph.from_ops(woven))).boxes)


def test_series_in_parts_that_are_alike():
    ops = [(f"unit_{i}/op{k}", "Neg", ["x"]) for i in range(1, 9) for k in range(3 if i == 4 else 2)]
    ops.append(("x", "Placeholder", []))
    assert boxes(build(Tree(Graph.from_ops(ops)))) == ["~unit_[1..3,5..8]/", "unit_4/", "x"]


def test_a_series_of_thousands_unfolds_into_sections():
    scene = build(Tree(towers(1000, 2)), {"~tower_[0..999]/"})
    assert 10 < len(scene.boxes) < 60
    assert sum(b.count for b in scene.boxes) == scene.stats["ops"]


def test_a_long_flat_list_folds_into_sections_in_order_of_the_flow():
    scene = build(Tree(chain(3000)))
    assert 8 <= len(scene.boxes) <= 48
    assert all(b.kind == "series" for b in scene.boxes)
    assert len(scene.edges) == len(scene.boxes) - 1  # still one line, no way back
    assert all(e.count == 1 for e in scene.edges)
    one = build(Tree(chain(3000)), {scene.boxes[3].name})
    assert scene.boxes[3].name in [g.name for g in one.groups]
