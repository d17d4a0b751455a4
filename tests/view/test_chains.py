"""Chains and plain siblings: what folds where a level is full, and what it says of itself."""

from __future__ import annotations

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree, find_item, keys_to
from tests.view.graphs import chain

TYPES = ["Conv2D", "BiasAdd", "Relu"]


def word(i):
    return f"{chr(97 + i % 26)}{i}x"


def with_chain(length=9, others=30):
    """Returns ops of which some feed each other, one after the other, beside as many that do not."""
    ops = [("x", "Placeholder", [])]
    for i in range(length):
        ops.append((f"c{word(i)}", TYPES[i % 3], [ops[-1][0]]))
    ops += [(f"o{word(i)}", f"Type{i}", ["x", ops[length][0]]) for i in range(others)]
    return Graph.of(ops)


def test_a_chain_says_how_it_begins_and_how_long_it_is():
    graph = with_chain()
    (fold,) = [b for b in build(Tree(graph)).boxes if b.kind == "series"]
    assert (fold.label, fold.sub, fold.count) == ("Conv2D→BiasAdd→Relu … (9)", "ca0x … ci8x", 9)


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
    scene = build(Tree(Graph.of(ops)))
    (fold,) = [b for b in scene.boxes if b.kind == "series"]
    assert (fold.label, fold.sub, fold.count, fold.family) == ("AddN ×411", "na0x … nu410x", 411, "math")
    opened = build(Tree(Graph.of(ops)), {fold.name})
    assert len(opened.boxes) <= 60
    assert sum(b.count for b in opened.boxes) == len(ops)


def test_sections_say_what_they_hold():
    ops = []
    for i in range(300):
        ops.append((word(i), "Conv2D" if i % 2 else "Identity", [word(i - 1)] if i else []))
    sections = build(Tree(Graph.of(ops))).boxes
    assert all(b.kind == "series" for b in sections)
    assert all(b.sub.startswith("Conv2D ×") for b in sections)
    assert all(" … " in b.label for b in sections)
