"""Connecting SavedModels of TF2: their ops, their variables and their gradients come along, or a message says how."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError
from tests.refusal import refuses

tf1 = tf.compat.v1
X = np.linspace(-1.0, 1.0, 72).reshape(3, 6, 4).astype(np.float32)
KINDS = ["dense", "lstm", "depthwise"]


def encoder():
    """Returns a session of ``out = in * w``."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 6, 4], name="in")
        tf.multiply(x, tf1.get_variable("w", initializer=1.5, use_resource=True), name="out")
        session = tf1.Session(graph=graph)
        session.run(tf1.global_variables_initializer())
    return session


def decoder(kind, folder):
    """Saves a Keras model of (batch, 6, 4) to a folder; returns it."""
    import keras

    keras.utils.set_random_seed(3)
    layers = {
        "dense": [keras.layers.Flatten()],
        "lstm": [keras.layers.LSTM(4)],
        "depthwise": [keras.layers.Reshape((6, 4, 1)), keras.layers.DepthwiseConv2D(3), keras.layers.Flatten()],
    }[kind]
    model = keras.Sequential([keras.Input((6, 4), name="x"), *layers, keras.layers.Dense(2)])
    model.export(str(folder), verbose=False)
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_given_by_names_behind_its_signature_is_trained_as_one_with_what_feeds_it(tmp_path, kind):
    model, enc = decoder(kind, tmp_path), encoder()
    inside = gs.open(str(tmp_path), signature="serving_default")
    (start,), (end,) = inside.inputs.values(), inside.outputs.values()
    sup = gs.connect({"enc": enc, "dec": str(tmp_path)}, {"enc/out:0": f"dec/{start}"})
    assert "mind" not in str(sup)
    feed = {"enc/in:0": X}
    with sup.graph.as_default():
        variables = tf1.trainable_variables()
        loss = tf.reduce_mean(tf.square(sup.tensor(f"dec/{end}") - 0.5))
        step = tf1.train.GradientDescentOptimizer(0.003).minimize(loss)
    session = sup.session()  # TensorFlow gives a loop that has run no gradient in the same session any more
    np.testing.assert_allclose(session.run(f"dec/{end}", feed), model(1.5 * X), rtol=1e-5, atol=1e-6)
    assert len(variables) == 1 + len(model.trainable_variables)
    before, first = session.run(variables), session.run(loss, feed)
    for _ in range(5):
        session.run(step, feed)
    assert session.run(loss, feed) < first
    assert all(np.abs(a - b).max() > 1e-6 for a, b in zip(before, session.run(variables), strict=True))


def test_a_folder_given_by_its_own_names_stays_one_call_and_says_how_it_is_trained(tmp_path):
    model = decoder("dense", tmp_path)
    raw = gs.open(str(tmp_path))
    reads = raw.graph.get_tensor_by_name("serving_default_x:0").consumers()
    call = reads[0].outputs[0].name
    sup = gs.connect({"enc": encoder(), "dec": str(tmp_path)}, {"enc/out:0": "dec/serving_default_x:0"})
    found = sup.session().run(f"dec/{call}", {"enc/in:0": X})
    np.testing.assert_allclose(found, model(1.5 * X), rtol=1e-5, atol=1e-6)
    for text in (str(sup), str(sup.history[-1])):
        assert "dec is one call op, with its variables in no collection" in text
        assert f"give gs.open({str(tmp_path)!r}, signature='serving_default') and the names in that" in text
    assert "mind" not in str(gs.connect({"enc": encoder()}))


def test_a_name_that_is_nowhere_in_a_folder_is_told_of_the_signature(tmp_path):
    decoder("dense", tmp_path)
    proposed = f"{{'dec': gs.open({str(tmp_path)!r}, signature='serving_default')}}"
    for editor in (str(tmp_path), gs.open(str(tmp_path))):
        with refuses(SelectionError, "'dec/no:0'", proposed):
            gs.connect({"enc": encoder(), "dec": editor}, {"enc/out:0": "dec/no:0"})


class Two(tf.Module):
    """A module of two signatures."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def one(self, a):
        return {"r": a * 2.0}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def two(self, b):
        return {"r": b * 3.0}


def test_a_folder_whose_signature_is_not_clear_is_opened_as_it_lies(tmp_path):
    module = Two()
    tf.saved_model.save(module, str(tmp_path / "two"), signatures={"one": module.one, "two": module.two})
    tf.saved_model.save(module, str(tmp_path / "one"), signatures={"one": module.one})
    assert gs.open(str(tmp_path / "two")).opened.served is None
    assert gs.open(str(tmp_path / "one")).opened.served == (str(tmp_path / "one"), "one")
    sup = gs.connect({"m": str(tmp_path / "one")}, inputs=iter(["m/a:0"]))
    assert sup.session().run("m/Identity:0", {"m_a:0": [1.0]}).tolist() == [2.0]
