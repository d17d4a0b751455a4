"""What part of a graph holds whatever it is fed."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.recipes.recipe_context import recipe_context
from graphsurgeon.recipes.variables import constant

KNOWN = {
    "Identity": lambda a, b: tf.identity(a),
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "RealDiv": lambda a, b: a / b,
    "Neg": lambda a, b: -a,
    "Sqrt": lambda a, b: tf.sqrt(a),
    "Rsqrt": lambda a, b: tf.math.rsqrt(a),
    "Square": lambda a, b: tf.square(a),
    "Reciprocal": lambda a, b: tf.math.reciprocal(a),
    "Reshape": lambda a, b: tf.reshape(a, [3, 1]),
    "ExpandDims": lambda a, b: tf.expand_dims(a, 1),
    "Squeeze": lambda a, b: tf.squeeze(tf.expand_dims(a, 0), [0]),
    "Pack": lambda a, b: tf.stack([a, b], axis=1),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_arithmetic_of_constants_is_what_tensorflow_computes(kind):
    with tf.Graph().as_default() as graph:
        made = KNOWN[kind](tf.constant([1.0, 2.0, 4.0]), tf.constant([2.0, 0.5, 3.0]))
    ed = gs.open(graph)
    found = recipe_context(ed, "test()")
    got = constant(found, found.graph.tensor(made.name))
    np.testing.assert_allclose(got, ed.session().run(made), rtol=1e-6)
    assert got.dtype == np.float32


def test_what_is_fed_or_drawn_or_ordered_is_no_constant():
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        fed = tf.constant([1.0, 2.0]) * x
        drawn = tf.random.uniform([2]) + 1.0
        held = tf.constant([1.0, 2.0])
        with tf.control_dependencies([x]):
            later = tf.identity(held)
    found = recipe_context(gs.open(graph), "test()")
    assert all(constant(found, found.graph.tensor(one.name)) is None for one in (fed, drawn, later))
