"""Blocks: flat names that begin alike are folded into what they mean, and stay one thing wherever they are met."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.boxes import Item, blocks, heads
from graphsurgeon.view.first_picture import first_unfolded
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree, find_item, keys_to, ops_named
from tests.cost import growth
from tests.view.graphs import boxes, edges

LAYERS = (("expand", "Conv2D"), ("depthwise", "DepthwiseConv2dNative"), ("project", "Conv2D"))


def mobile(count=16, scope="net/", start=1):
    """Returns a model of inverted residual blocks with flat names; every second one adds what it has read."""
    ops = [("x", "Placeholder", [])]
    ops += [(f"{scope}stem_{name}", "Neg", [ops[-1][0]]) for name in ("conv", "bn", "relu")]
    for i in range(start, start + count):
        before = ops[-1][0]
        for name, kind in LAYERS:
            ops.append((f"{scope}block_{i}_{name}", kind, [ops[-1][0]]))
        if i % 2 == 0:
            ops.append((f"{scope}block_{i}_add", "AddV2", [before, ops[-1][0]]))
    ops.append((f"{scope}predictions", "MatMul", [ops[-1][0]]))
    return Graph.from_ops(ops)


def staged(stages=(3, 4, 6, 3), scope="net/"):
    """Returns stages of blocks, as ResNet calls them."""
    ops = [("x", "Placeholder", [])]
    for s, count in enumerate(stages):
        for b in range(count):
            before = ops[-1][0]
            for name in ("pad", "conv", "bn", "relu"):
                ops.append((f"{scope}conv{s + 2}_block{b + 1}_{name}", name.title() + "2D", [ops[-1][0]]))
            ops.append((f"{scope}conv{s + 2}_block{b + 1}_add", "Add", [before, ops[-1][0]]))
    return Graph.from_ops([*ops, (f"{scope}predictions", "MatMul", [ops[-1][0]])])


def line(names):
    """Returns the edges of names that follow each other."""
    return np.array([[i, i + 1] for i in range(len(names) - 1)], np.int32).reshape(-1, 2)


def reached(tree, everything=False):
    """Returns how often each op is met where everything is unfolded."""
    met = np.zeros(tree.graph.size, np.int64)
    stack, names = [(item, 0) for item in tree.inside(tree.root, everything)], []
    while stack:
        item, depth = stack.pop()
        assert depth < 60
        names.append(item.name)
        below = tree.inside(item, everything)
        if below:
            stack.extend((inner, depth + 1) for inner in below)
        else:
            met[tree.ops_of(item)] += 1
    assert len(names) == len(set(names))
    return met


def test_heads_end_with_a_number_or_with_a_number_and_a_letter():
    assert heads("block_3_expand_BN") == ["block_3"]
    assert heads("conv2_block1_1_conv_1") == ["conv2", "conv2_block1", "conv2_block1_1", "conv2_block1_1_conv_1"]
    assert heads("block6d_se_reduce") == ["block6", "block6d"]
    assert heads("mixed4a") == ["mixed4", "mixed4a"]
    assert heads("1_x") == heads("relu") == heads("stem_conv") == []


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ("b_1_conv b_1_relu b_2_conv b_2_relu head", {"b_1": [0, 1], "b_2": [2, 3]}),
        ("b_1_conv b_1_relu x b_11_conv b_11_relu", {"b_1": [0, 1], "b_11": [3, 4]}),
        ("s_a s_b s_c b1_x b1_y b2_x b2_y", {"b1": [3, 4], "b2": [5, 6], "s": [0, 1, 2]}),
        ("b2a_x b2a_y b2d_x b2d_y b3a_x b3a_y b3c_x b3c_y", {"b2": [0, 1, 2, 3], "b3": [4, 5, 6, 7]}),
        ("conv2d conv2d_1 conv2d_2 relu relu_1 relu_2", {}),  # they are counted, not parts of one thing
        ("conv2d_a conv2d_b pool2d_a pool2d_b x y z", {}),  # two dimensions, not the second block
        ("m1_b1_x m1_b1_y m1_b2_x m1_b2_y", {"m1_b1": [0, 1], "m1_b2": [2, 3]}),  # m1 is all there is
        ("b1_x b2_x b1_y b2_y c1_x c1_y c2_x c2_y", {"c1": [4, 5], "c2": [6, 7]}),  # b1 and b2 lie in each other
        ("b1_x relu b1_y add b2_x relu_1 mul b2_y y", {"b1": [0, 1, 2], "b2": [4, 5, 6, 7]}),  # named by nobody
        ("b1_x b2_x relu b1_y b2_y c1_x c1_y c2_x c2_y", {"c1": [5, 6], "c2": [7, 8]}),
        ("b1_x b1_y", {}),
        ("", {}),
    ],
    ids=[
        "numbered",
        "digits",
        "words",
        "letters",
        "counted",
        "dimensions",
        "whole",
        "torn",
        "filled",
        "not filled",
        "alone",
        "none",
    ],
)
def test_blocks_of_a_line(names, found):
    assert blocks(names.split(), line(names.split())) == found


def test_a_block_in_the_way_of_others_gives_way():
    # two parts of conv2 stand at both ends: what lies between are blocks all the same
    names = ["conv2_in_a", "conv2_in_b", "b1_x", "b1_y", "b2_x", "b2_y", "b3_x", "b3_y", "conv2_out_a", "conv2_out_b"]
    assert blocks(names, line(names)) == {"b1": [2, 3], "b2": [4, 5], "b3": [6, 7]}


def test_a_model_reads_as_stem_blocks_and_head():
    tree = Tree(mobile())
    keys = first_unfolded(tree)
    scene = build(tree, keys)
    assert sorted(keys) == ["net/", "~net/block_[1..16]/"]
    named = [f"~net/block_{i}/" for i in range(1, 17)]
    assert boxes(scene) == ["x", "~net/stem/", *named, "net/predictions"]
    assert set(boxes(scene, "kind")) == {"op", "scope"}
    said = {b.label: b.subtitle for b in scene.boxes}
    assert said["block_1"] == "3 ops · Conv·DepthwiseConv·Conv"
    assert said["block_2"] == "4 ops · Conv·DepthwiseConv·Conv + residual"
    assert list(edges(scene)) == list(zip(boxes(scene), boxes(scene)[1:], strict=False))


def test_a_series_of_blocks_says_how_many_and_a_block_shows_its_residual_edge():
    tree = Tree(mobile())
    folded = build(tree, {"net/"})
    (series,) = [b for b in folded.boxes if b.kind == "series"]
    assert (series.name, series.subtitle, series.count) == ("~net/block_[1..16]/", "16 blocks", 56)
    opened = build(tree, {"net/", series.name, "~net/block_4/"})
    assert [g.name for g in opened.groups] == ["net/", "~net/block_[1..16]/", "~net/block_4/"]
    found = edges(opened)
    assert {("~net/block_3/", "net/block_4_expand"), ("~net/block_3/", "net/block_4_add")} <= set(found)


def test_blocks_that_are_alike_are_a_series_of_one_kind():
    ops = [("x", "Placeholder", [])]
    for i in range(12):
        ops += [(f"layer_{i}_{name}", "MatMul", [ops[-1][0]]) for name in ("attention", "ffn")]
    scene = build(Tree(Graph.from_ops(ops)))
    assert [(b.label, b.subtitle) for b in scene.boxes if b.kind == "series"] == [("layer_[0..11]", "2 ops ×12")]


def test_stages_hold_blocks_and_open_together():
    tree = Tree(staged())
    folded = build(tree, {"net/"})
    assert boxes(folded, "label") == ["x", "conv2", "conv3", "conv4", "conv5", "predictions"]
    assert folded.boxes[3].subtitle == "6 blocks of Conv + residual"
    more = [("x", "Placeholder", []), *((f"net/{c}", "Neg", ["x"]) for c in "abcd")]
    wide = Graph.from_ops([*more, *[(n, t, i) for n, t, i in _ops(staged()) if n != "x"]])
    keys = first_unfolded(Tree(wide))
    assert {f"~net/conv{i}/" for i in (2, 3, 4, 5)} <= keys
    assert "~net/conv4_block6/" in boxes(build(Tree(wide), keys))


def mixed(counts=(3, 5, 3)):
    """Returns stages whose blocks are scopes that are counted by letters, as InceptionV3 has them."""
    ops = [("images", "Placeholder", [])]
    for part in ("crop", "pad", "filter", "pool", "scale", "shift"):
        ops += [(f"net/{part}/{name}", "Neg", [ops[-1][0]]) for name in ("a", "b")]
    for stage, count in enumerate(counts, 5):
        for letter in "abcdefgh"[:count]:
            for branch in ("Branch_0", "Branch_1"):
                ops.append((f"net/Mixed_{stage}{letter}/{branch}/conv", "Conv2D", [ops[-1][0]]))
    return Graph.from_ops([*ops, ("net/logits/mul", "Mul", [ops[-1][0]])])


def test_scopes_that_are_counted_are_the_blocks_of_their_stage():
    tree = Tree(mixed())
    folded = build(tree, {"net/"})
    said = {box.label: box.subtitle for box in folded.boxes if box.label.startswith("Mixed")}
    assert said == {
        "Mixed_5": "3 blocks of Conv ×2",
        "Mixed_6": "5 blocks of Conv ×2",
        "Mixed_7": "3 blocks of Conv ×2",
    }
    shown = [label for label in boxes(build(tree, first_unfolded(tree)), "label") if label.startswith("Mixed")]
    assert shown == [f"Mixed_{s}{letter}" for s, n in ((5, 3), (6, 5), (7, 3)) for letter in "abcde"[:n]]


def test_scopes_of_a_block_that_do_different_things_are_not_its_blocks():
    ops = [("x", "Placeholder", [])]
    for i in range(14):
        for part in ("attention", "mlp"):
            ops += [(f"net/layer_{i}_{part}/{name}", "MatMul", [ops[-1][0]]) for name in ("a", "b")]
    tree = Tree(Graph.from_ops(ops))
    item = find_item(tree, "~net/layer_3/")
    assert item is not None
    assert item.blocks() == []


def test_a_second_tower_opens_before_the_stages_of_the_first():
    (x, _, _), *one = _ops(mixed())
    towers = [
        (f"{tower}/{n}", t, [i if i == x else f"{tower}/{i}" for i in ins]) for tower in ("a", "b") for n, t, ins in one
    ]
    scene = build(tree := Tree(Graph.from_ops([(x, "Placeholder", []), *towers])), first_unfolded(tree))
    names = [box.name.lstrip("~") for box in scene.boxes if "Mixed" in box.name]
    assert [n for n in names if n.startswith("b/")] == [n.replace("a/", "b/", 1) for n in names if n.startswith("a/")]
    assert len(names) > 2


def _ops(graph):
    return [
        (name, kind, [graph.names[i] for i in graph.data.row(op).tolist()])
        for op, (name, kind) in enumerate(zip(graph.names, graph.types, strict=True))
    ]


def test_a_chain_is_never_cut_inside_a_block():
    names = [f"{chr(97 + i % 26)}{i}x" for i in range(20)]
    ops = _ops(mobile())
    for name in names:
        ops.append((f"net/{name}", "Neg", [ops[-1][0]]))
    tree = Tree(Graph.from_ops(ops))
    for item in tree.inside(Item("scope", "net/", "", tops=(1,), bottom=tree.graph.scopes.index["net"])):
        held = {tree.graph.names[op].rpartition("_")[0] for op in tree.ops_of(item).tolist()}
        assert item.kind != "series" or item.leaf == "block_[1..16]" or not any("block" in name for name in held)


def test_a_block_is_found_by_its_key_and_by_its_plain_name():
    tree = Tree(mobile())
    whole = [tree.graph.names[i] for i in np.flatnonzero(ops_named(tree, "~net/block_4/")).tolist()]
    assert whole == [f"net/block_4_{name}" for name in ("expand", "depthwise", "project", "add")]
    for name in ("~net/block_4", "net/block_4/", "net/block_4"):
        assert find_item(tree, name) is find_item(tree, "~net/block_4/") or name == "~net/block_4"
    assert (ops_named(tree, "net/block_4") == ops_named(tree, "~net/block_4/")).all()
    op = tree.graph.index["net/block_4_add"]
    assert keys_to(tree, op) == ["net/", "~net/block_[1..16]/", "~net/block_4/"]
    assert keys_to(tree, op, "~net/block_4/") == ["net/", "~net/block_[1..16]/"]
    assert ops_named(tree, "net/block_40") is None


def test_small_levels_stay_as_they_are():
    assert all("~" not in name for name in boxes(build(Tree(mobile(2)), {"net/"})))


PARTS = ["b", "conv", "stem_", "x_", "layer", "_bn", "_add", "a", "/", "_1", "2", "_2", "3d", "0", "_0"]
WORDS = st.sampled_from(PARTS)


@given(
    st.lists(st.lists(WORDS, min_size=1, max_size=6).map("".join), min_size=13, max_size=60, unique=True),
    st.integers(0, 2**32 - 1),
)
def test_each_op_is_met_once_under_names_that_are_unique(names, seed):
    random = np.random.default_rng(seed)
    names = [name.strip("/").replace("//", "/") or "y" for name in names]
    names = list(dict.fromkeys(f"n{name}" for name in names))
    ops = []
    for i, name in enumerate(names):
        read = random.choice(i, size=min(i, int(random.integers(0, 3))), replace=False).tolist() if i else []
        ops.append((name, str(random.choice(["Neg", "Add", "Const"])), [names[j] for j in read]))
    graph = Graph.from_ops(ops)
    tree = Tree(graph)
    assert (reached(tree, everything=True) == 1).all()
    again = Tree(Graph.from_ops(ops))
    assert [i.name for i in again.inside(again.root)] == [i.name for i in tree.inside(tree.root)]
    for op in np.flatnonzero(tree.helpers.kind == 0).tolist()[::7]:
        scene = build(tree, keys_to(tree, op))
        assert scene.boxes[int(scene.op_box[op])].name == graph.names[op]


@given(
    st.lists(st.lists(WORDS, min_size=1, max_size=6).map("".join), min_size=5, max_size=40, unique=True),
    st.integers(0, 2**32 - 1),
)
def test_folded_blocks_hide_no_direction(names, seed):
    random = np.random.default_rng(seed)
    drawn = np.triu(random.random((len(names), len(names))) < 1.5 / len(names), 1)
    found = np.argwhere(drawn).astype(np.int32)
    into = list(range(len(names)))
    for places in blocks(names, found).values():
        assert len(places) > 1
        for place in places:
            assert into[place] == place  # in one block only
        for place in places[1:]:
            into[place] = places[0]
    ahead = {(into[a], into[b]) for a, b in found.tolist() if into[a] != into[b]}
    while ends := {a for a, _ in ahead} - {b for _, b in ahead}:
        ahead = {(a, b) for a, b in ahead if a not in ends}
    assert not ahead, "something goes in a circle"


def test_the_work_grows_with_the_names():
    def made(count):
        graph = mobile(count)
        return lambda: build(Tree(graph), {"net/"})

    assert growth(made, 100, 800) < 10


def test_the_ops_of_a_block_with_and_without_its_hidden_ops_are_not_mixed():
    """A block has the same name with and without hidden ops, but other members."""
    ops = [("x", "Placeholder", [])]
    for i in range(1, 9):
        for name in ("conv", "bn", "relu"):
            ops += [(f"net/block_{i}_{name}_w", "Const", [])]
            ops += [(f"net/block_{i}_{name}", "Mul", [ops[-2][0], ops[-1][0]])]
    graph = Graph.from_ops(ops)
    for order in ((False, True), (True, False)):
        tree = Tree(graph)
        for hidden in order:
            stack = list(tree.inside(tree.root, hidden))
            while stack:
                item = stack.pop()
                for helpers in (False, True):
                    assert sorted(tree.ops_of(item, helpers)) == sorted(tree._find_ops(item, helpers))
                stack += tree.inside(item, hidden)
