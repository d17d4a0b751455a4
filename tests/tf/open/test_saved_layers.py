"""A SavedModel of Keras 2 lists its layers; that of another says none, and why."""

from __future__ import annotations

import shutil

import keras
import numpy as np
import pytest
import tf_keras

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError
from tests.refusal import refuses


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    layers = tf_keras.layers
    inner = [tf_keras.Input((8,)), layers.Dense(4, name="dense"), layers.Dropout(0.1, name="drop")]
    x = tf_keras.Input((8,), name="x")
    shared = layers.Dense(4, name="shared")
    y = layers.Activation("relu", name="act")(shared(shared(tf_keras.Sequential(inner, name="encoder")(x))))
    model = tf_keras.Model(x, layers.Dense(2, name="head")(y), name="net")
    path = tmp_path_factory.mktemp("saved") / "net"
    model.save(path)
    return str(path), model


def test_layers_of_a_saved_model_of_keras_2(folder):
    path, model = folder
    ed = gs.open(path)
    assert [(one.path, one.class_name) for one in ed.layers] == [
        ("x", "InputLayer"), ("encoder", "Sequential"), ("encoder/dense", "Dense"), ("encoder/drop", "Dropout"),
        ("shared", "Dense"), ("act", "Activation"), ("head", "Dense"),
    ]  # fmt: skip
    assert "  layers       7 (Dense 3, InputLayer, Sequential, Dropout, Activation)" in str(ed).splitlines()
    assert ed.layer("encoder").inputs == ed.layer("x").outputs == ("x:0",)
    assert ed.layer("shared").inputs == ed.layer("encoder").outputs
    assert ed.layer("head").inputs == ed.layer("act").outputs
    assert [len(ed.layer(name).variables) for name in ("dense", "shared", "act")] == [2, 2, 0]
    x = np.random.RandomState(0).rand(3, 8).astype("float32")
    got = ed.session().run(ed.layer("encoder").outputs[0], {"x:0": x})
    np.testing.assert_allclose(got, model.get_layer("encoder")(x), rtol=1e-5)


def test_a_list_that_is_damaged_or_of_another_model(folder, tmp_path):
    for data in (b"\xff\xff", b""):
        path = shutil.copytree(folder[0], tmp_path / str(len(data)))
        (path / "keras_metadata.pb").write_bytes(data)
        assert len(gs.open(path).layers) == 0
    other = tf_keras.Sequential([tf_keras.Input((2,)), tf_keras.layers.Dense(1)], name="other")
    other.save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "keras_metadata.pb", path)
    with refuses(SelectionError, "this SavedModel does not say which ops are of which layer: none of the 1 that Keras "
                 "lists is a scope of its graph"):  # fmt: skip
        gs.open(path).layer("dense")


def test_a_saved_model_of_keras_3_does_not_say(tmp_path):
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="dense")]).export(tmp_path / "net", verbose=False)
    wrong = "this SavedModel does not say which ops are of which layer; Keras writes that to .keras files"
    with refuses(SelectionError, wrong, "Open the keras.Model itself"):
        gs.open(tmp_path / "net").layer("dense")
