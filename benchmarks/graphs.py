"""Graphs to measure on: scoped layers with variables of both kinds, at any size."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1


def layered(size: int, every: int = 40) -> Any:
    """Returns a `tf.Graph` of about `size` ops: dense layers in scopes, one in `every` with a variable of its own.

    The variables are reference and resource variables in turn; the input is ``x:0``, the output ``out:0``.
    """
    graph = tf.Graph()
    count = 0
    with graph.as_default():
        h = tf1.placeholder(tf.float32, [None, 8], name="x")
        eye = np.eye(8, dtype=np.float32)
        while len(graph.get_operations()) < size - 1:
            with tf1.name_scope(f"block_{count // 10}/layer_{count}"):
                if count % every == 0:
                    w = tf1.Variable(eye, name="w", use_resource=bool(count // every % 2))
                else:
                    w = tf.constant(eye)
                h = tf.nn.relu(tf.nn.bias_add(tf.matmul(h, w), tf.zeros([8])))
                h = h + tf.tanh(h)
            count += 1
        tf.identity(h, name="out")
    return graph
