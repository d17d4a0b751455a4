"""Models of Keras 2, as `tf_keras` has them, are Keras models: opened, run, made functions, saved."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import tf_keras as keras

import graphsurgeon as gs
from graphsurgeon.errors import OpenError
from tests.refusal import refuses
from tests.tf2 import ROWS, SEQUENCES

tf1 = tf.compat.v1
layers = keras.layers


class Sub(keras.Model):
    """A model that is written as a class, and returns a dict."""

    def __init__(self):
        super().__init__(name="sub")
        self.dense = layers.Dense(2)

    def call(self, x):
        return {"out": self.dense(x), "square": x * x}


def model(kind):
    """Returns a model of Keras 2 and what to call it with."""
    keras.utils.set_random_seed(3)
    if kind == "dense":
        steps = [keras.Input((2,), name="x"), layers.Dense(4, "relu"), layers.BatchNormalization(), layers.Dense(3)]
        return keras.Sequential(steps), ROWS
    if kind == "lstm":
        return keras.Sequential([keras.Input((6, 4), name="x"), layers.LSTM(5), layers.Dense(3)]), SEQUENCES
    if kind == "several":
        a, b = keras.Input((2,), name="a"), keras.Input((3,), name="b")
        made = keras.Model({"a": a, "b": b}, [layers.Dense(2)(layers.concatenate([a, b])), a * 2.0])
        return made, {"a": ROWS, "b": np.ones((3, 3), np.float32)}
    made = Sub()
    made(ROWS)
    return made, ROWS


@pytest.mark.parametrize("kind", ["dense", "lstm", "several", "sub"])
def test_models_of_keras_2(kind, tmp_path):
    made, x = model(kind)
    ed, want = gs.open(made), made(x)
    assert {v.op.name for v in ed.graph.get_collection("trainable_variables")} == {
        v.name.removesuffix(":0") for v in made.trainable_variables
    }
    feeds = {ed.inputs[key]: value for key, value in x.items()} if isinstance(x, dict) else {
        next(iter(ed.inputs.values())): x
    }  # fmt: skip
    got = ed.session().run(list(ed.outputs.values()), feeds)
    for a, b in zip(got, tf.nest.flatten(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    f = ed.function()
    again = f(**x) if isinstance(x, dict) else f(x)
    tf.nest.assert_same_structure(again, want)
    report = ed.save(tmp_path / "m.pb", outputs=ed.outputs, freeze=True)
    assert "as in this graph" in report.proof


def test_a_model_that_is_not_built_says_so():
    with refuses(OpenError, "its inputs are not known", "signature=tf.TensorSpec"):
        gs.open(keras.Sequential([layers.Dense(2)]))
