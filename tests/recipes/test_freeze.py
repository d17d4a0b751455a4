"""A graph with its variables as constants, in an editor of its own."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from tests.recipes.models import numbers, ran, refusal


def test_a_trained_keras_model_is_frozen_with_its_values():
    import keras

    x = keras.Input((4,), name="x")
    model = keras.Model(x, keras.layers.Dense(2, name="head")(keras.layers.Dropout(0.5)(x)))
    ed = gs.open(model)
    small = gs.recipes.frozen(ed)
    assert not small.snapshot.state.variables
    assert set(ed.snapshot.state.variables)  # the editor that was given stays as it is
    (taken,), (given,) = ed.inputs.values(), ed.outputs.values()
    got = small.session().run(given, {taken: numbers(3, 4)})
    np.testing.assert_allclose(got, model(numbers(3, 4)), rtol=1e-6)


def test_variables_that_nobody_trained_are_refused():
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        tf.multiply(x, tf.compat.v1.get_variable("w", initializer=3.0), name="y")
    assert 'values="initial"' in refusal(gs.PlanError, lambda: gs.recipes.frozen(gs.open(graph), "y:0")).replace(
        "'", '"'
    )
    small = gs.recipes.frozen(gs.open(graph), "y:0", values="initial")
    assert ran(small, x=[1.0, 2.0]).tolist() == [3.0, 6.0]
