"""First pictures of models that people know read like the figures of their papers: stem, blocks and head."""

from __future__ import annotations

import re

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.view.first_picture import first_unfolded, pinned_ops
from graphsurgeon.view.layout import WIDEST, place
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree, find_item, keys_to
from tests.view.graphs import edges

keras = tf.keras
layers = keras.layers


def transformer(count=6):
    """Returns an encoder of layers that only their names tell apart, as people write them."""
    x = y = keras.Input((8,), dtype="int32", name="tokens")
    y = layers.Embedding(20, 8, name="embedding")(y)
    for i in range(count):
        part = layers.MultiHeadAttention(2, 4, name=f"layer_{i}_attention")(y, y)
        part = layers.Add(name=f"layer_{i}_attention_add")([y, part])
        y = layers.LayerNormalization(name=f"layer_{i}_attention_norm")(part)
        part = layers.Dense(16, activation="relu", name=f"layer_{i}_ffn_up")(y)
        part = layers.Dense(8, name=f"layer_{i}_ffn_down")(part)
        part = layers.Add(name=f"layer_{i}_ffn_add")([y, part])
        y = layers.LayerNormalization(name=f"layer_{i}_ffn_norm")(part)
    y = layers.GlobalAveragePooling1D(name="pooler")(y)
    return keras.Model(x, layers.Dense(3, name="classifier")(y), name="encoder")


def lstm():
    x = y = keras.Input((6,), dtype="int32", name="tokens")
    y = layers.Embedding(20, 4, name="embedding")(y)
    y = layers.LSTM(4, return_sequences=True, name="lstm_1")(y)
    y = layers.LSTM(4, name="lstm_2")(y)
    return keras.Model(x, layers.Dense(1, name="classifier")(y), name="reader")


def application(name):
    return lambda: getattr(keras.applications, name)(weights=None, input_shape=(64, 64, 3), classes=10)


MODELS = {
    "mobilenet_v2": application("MobileNetV2"),
    "resnet50": application("ResNet50"),
    "efficientnet_b0": application("EfficientNetB0"),
    "mobilenet_v3_small": application("MobileNetV3Small"),
    "transformer": transformer,
    "lstm": lstm,
}
BLOCKS = {
    "mobilenet_v2": ["Conv1", "expanded_conv", *(f"block_{i}" for i in range(1, 17))],
    "resnet50": ["conv1", *(f"conv{s}_block{b}" for s, n in ((2, 3), (3, 4), (4, 6), (5, 3)) for b in range(1, n + 1))],
    "efficientnet_b0": [
        *("stem", "block1"),
        *(f"block{s}{'abcd'[b]}" for s, n in ((2, 2), (3, 2), (4, 3), (5, 3), (6, 4)) for b in range(n)),
        *("block7", "top"),
    ],
    "mobilenet_v3_small": ["expanded_conv", *(f"expanded_conv_{i}" for i in range(1, 11))],
    "transformer": [f"layer_{i}" for i in range(6)],
    "lstm": [],
}
SHORTCUTS = {
    "mobilenet_v2": [f"block_{i}" for i in (2, 4, 5, 7, 8, 9, 11, 12, 14, 15)],
    "resnet50": BLOCKS["resnet50"][1:],
    "efficientnet_b0": [name for name in BLOCKS["efficientnet_b0"] if name[-1] in "bcd"],
    "mobilenet_v3_small": [f"expanded_conv_{i}" for i in (2, 4, 5, 7, 9, 10)],
    "transformer": BLOCKS["transformer"],
    "lstm": [],
}


#: The largest model takes half a gigabyte.
DEEP = {"resnet50": pytest.mark.deep}


@pytest.fixture(scope="module", params=[pytest.param(name, marks=DEEP.get(name, ())) for name in MODELS])
def model(request):
    """Returns a model's name and its tree, with the ends it says it has."""
    keras.backend.clear_session()
    ed = gs.open(MODELS[request.param]())
    return request.param, Tree(ed.snapshot), (tuple(ed.inputs.values()), tuple(ed.outputs.values()))


def first(tree, ends):
    pins = pinned_ops(tree, ends)
    return build(tree, first_unfolded(tree, pins), pins=pins)


def test_a_first_picture_is_stem_blocks_and_head(model):
    name, tree, ends = model
    scene = first(tree, ends)
    assert len(scene.boxes) <= 60
    reported = [box.label for box in scene.boxes if box.name.startswith("~")]
    assert reported == BLOCKS[name]
    for box in scene.boxes:
        assert not re.search(r"PartitionedCall|Identity_\d| \u2026 ", box.label), box.label
    line = edges(scene)  # from the input to the output: nothing of a block lies outside of it
    assert len(line) == len({a for a, _ in line}) == len({b for _, b in line}) == len(scene.boxes) - 1


def test_blocks_say_where_something_goes_past_them(model):
    name, tree, _ = model
    said = {}
    for item in (_block(tree, leaf) for leaf in BLOCKS[name]):
        (box,) = [b for b in build(tree, keys_to(tree, item.first, item.name)).boxes if b.name == item.name]
        said[item.leaf] = box.subtitle
    assert [leaf for leaf, sub in said.items() if sub.endswith("+ residual")] == SHORTCUTS[name]
    for leaf in SHORTCUTS[name][:2]:  # unfolded, it is drawn as an edge
        item = _block(tree, leaf)
        scene = build(tree, [*keys_to(tree, item.first), item.name])
        sums = {b.id for b in scene.boxes if "add" in b.label}
        assert any(sum(e.target == box for e in scene.edges) == 2 for box in sums)


def _block(tree, leaf):
    (scope,) = [i for i in tree.inside(tree.root) if i.kind == "scope" and tree.core_of(i) > 20]
    item = find_item(tree, f"~{scope.name}{leaf}/")
    assert item is not None, leaf
    return item


def test_a_first_picture_fits_a_page(model):
    _, tree, ends = model
    placed = place(first(tree, ends), timeout=200)
    assert placed.stats["degraded"] == ""
    assert max(placed.w / placed.h, placed.h / placed.w) <= WIDEST
    assert placed.h <= 1400
