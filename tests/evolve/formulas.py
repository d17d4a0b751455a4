"""Candidates made of plain functions."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

import graphsurgeon as gs

tf1 = tf.compat.v1


SPEC = {"x": tf.TensorSpec([None], tf.float32)}


FUNCTIONS = [tf.add, tf.subtract, tf.multiply, tf.sin]


X = np.linspace(-1, 1, 20).astype(np.float32)


def made(function, **inputs):
    """A candidate made of a plain function."""
    with tf.Graph().as_default() as graph:
        specs = inputs or SPEC
        output = function(*(tf1.placeholder(s.dtype, s.shape, name=n) for n, s in specs.items()))
    return gs.candidate(graph, output)


def value(one, x=X):
    with tf1.Session(graph=one.graph) as session:
        return session.run(one.output, {f"{name}:0": x for name in one.inputs})
