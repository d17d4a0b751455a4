"""The examples: what each function writes, what it learned, and that it writes the same again."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs

MODELS = {
    "classifier": "classifier", "frozen": "frozen.pb", "training": "training.meta", "detector": "detector.pb",
    "transformer": "transformer.keras", "nan_loss": "nan_loss.meta", "large": "large.pb",
}  # fmt: skip
NEW = gs.examples.pictures(400, seed=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with all models, in a folder that did not exist."""
    where = tmp_path_factory.mktemp("examples") / "new"
    for name in MODELS:
        getattr(gs.examples, name)(where)
    return where


def test_the_list_has_every_function():
    assert {*MODELS, "pictures"} == set(gs.examples.__all__)


@pytest.mark.parametrize("name", MODELS)
def test_each_path_opens(name, folder):
    path = folder / MODELS[name]
    ed = gs.open(path)
    assert len(ed) > 10
    assert not ed.untrained()


@pytest.mark.parametrize("name", ["classifier", "frozen", "training", "detector", "nan_loss"])
def test_the_same_model_is_written_again(name, folder):
    path = Path(getattr(gs.examples, name)())
    assert path.name == MODELS[name]
    assert path.parent != folder
    one, two = gs.open(folder / MODELS[name]), gs.open(path)
    assert one.snapshot.names == two.snapshot.names
    assert list(one.snapshot.types) == list(two.snapshot.types)


@pytest.mark.parametrize(("name", "scores"), [("classifier", "Identity:0"), ("training", "scores:0")])
def test_a_trained_model_has_learned(name, scores, folder):
    images, labels = NEW
    got = gs.open(folder / MODELS[name]).session().run(scores, {"image:0": images})
    assert np.mean(got.argmax(1) == labels) > 0.95


def test_the_frozen_classifier_computes_the_scores_of_the_folder(folder):
    image = NEW[0][:1]
    one = gs.open(folder / "frozen.pb").session().run("scores:0", {"image:0": image})
    two = gs.open(folder / "classifier").session().run("Identity:0", {"image:0": image})
    np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-6)


def test_the_folder_has_the_form_of_keras_2(folder):
    path = folder / "classifier"
    assert {"keras_metadata.pb", "saved_model.pb", "variables"} <= {one.name for one in path.iterdir()}
    with pytest.raises(ValueError, match="File format not supported"):
        keras.models.load_model(path)
    layer = keras.layers.TFSMLayer(str(path), call_endpoint="serving_default")
    assert layer(NEW[0][:2])["scores"].shape == (2, 4)
    assert b"_tf_keras_network" in (path / "keras_metadata.pb").read_bytes()


def test_the_folder_is_written_inside_a_graph_too(tmp_path):
    with tf.Graph().as_default() as graph:
        path = gs.examples.classifier(tmp_path)
        gs.examples.transformer(tmp_path)
    assert len(gs.open(path).layers) == 6
    assert graph.get_operations() == []


def test_the_loss_is_nan_in_training(folder):
    ed = gs.open(folder / "nan_loss.meta")
    rows = np.random.RandomState(0).rand(6, 8).astype(np.float32)
    feeds = {"image:0": rows, "label:0": np.ones([6, 1])}
    session = ed.session()
    assert np.isnan(session.run("loss:0", feeds))
    assert np.isfinite(session.run("logits:0", feeds)).all()


@pytest.mark.deep
def test_one_tower_of_the_large_graph_differs(folder):
    ed = gs.open(folder / "large.pb")
    assert 38_000 < len(ed) < 42_000
    rows = np.random.RandomState(0).rand(3, 8).astype(np.float32)
    ends = [f"tower_{tower}/group_4/block_29/sum:0" for tower in range(8)]
    first, *others = ed.session().run(ends, {"features:0": rows})
    assert [i for i, value in enumerate(others, 1) if abs(value - first).max() > 1e-6] == [5]


def test_the_transformer_and_the_detector_run(folder):
    tokens = np.arange(24).reshape(2, 12)
    loaded = keras.models.load_model(folder / "transformer.keras")
    ed = gs.open(folder / "transformer.keras")
    (output,) = ed.outputs.values()
    got = ed.session().run(output, {next(iter(ed.inputs.values())): tokens})
    np.testing.assert_allclose(got, loaded(tokens), rtol=1e-5, atol=1e-6)
    image = np.random.RandomState(0).randint(0, 255, [1, 20, 30, 3], np.uint8)
    boxes, scores = gs.open(folder / "detector.pb").session().run(
        ["detections:0", "detection_scores:0"], {"image:0": image}
    )  # fmt: skip
    assert boxes.shape == (5, 4)
    assert (np.diff(scores) <= 0).all()


def test_labels_are_shapes():
    images, labels = gs.examples.pictures(64, seed=3)
    assert (images.shape, images.dtype, labels.dtype) == ((64, 16, 16, 1), np.float32, np.int32)
    assert set(labels.tolist()) == {0, 1, 2, 3}
    again, _ = gs.examples.pictures(64, seed=3)
    assert (images == again).all()
