"""Graphs to measure on: scoped layers with variables of both kinds, at any size."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1


def layered(size: int, every: int = 40, variables: int | None = None, kept: int = 0) -> Any:
    """Returns a `tf.Graph` of about `size` ops: dense layers in scopes, some with a variable.

    The variables are reference and resource variables in turn; the input is ``x:0``, the output ``out:0``.

    Args:
        size: number of ops; more if the variables need more.
        every: one of this number of layers has a variable, if `variables` is not given.
        variables: the exact number of variables, spread evenly.
        kept: the number of tensors in the collection ``kept``.
    """
    graph = tf.Graph()
    count = made = 0
    with graph.as_default():
        h = tf1.placeholder(tf.float32, [None, 8], name="x")
        eye = np.eye(8, dtype=np.float32)
        while (ops := len(graph.get_operations())) < size - 1 or made < (variables or 0):
            due = count % every == 0 if variables is None else made < variables and made * size <= variables * ops
            with tf1.name_scope(f"block_{count // 10}/layer_{count}"):
                if due:
                    w = tf1.Variable(eye, name="w", use_resource=bool(made % 2))
                    made += 1
                else:
                    w = tf.constant(eye)
                h = tf.nn.relu(tf.nn.bias_add(tf.matmul(h, w), tf.zeros([8])))
                h = h + tf.tanh(h)
            count += 1
        tf.identity(h, name="out")
        for tensor in [t for op in graph.get_operations() for t in op.outputs][:kept]:
            graph.add_to_collection("kept", tensor)
    return graph


def heavy(constants: int, megabytes: int) -> Any:
    """Returns a `tf.Graph` that adds up constants of some megabytes each; the output is ``out:0``."""
    graph = tf.Graph()
    with graph.as_default():
        parts = [tf.constant(np.full([megabytes << 18], i, np.float32)) for i in range(constants)]
        tf.identity(tf.add_n(parts), name="out")
    return graph


def valued(count: int, megabytes: int, resource: bool) -> Any:
    """Returns a `tf.Graph` of float32 variables of some megabytes each, and nothing else."""
    graph = tf.Graph()
    with graph.as_default():
        for i in range(count):
            tf1.Variable(tf.fill([megabytes << 18], float(i)), name=f"v{i}", use_resource=resource)
    return graph
