"""Small graphs for the tests of recipes, written in plain TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.refusal import refuses

tf1 = tf.compat.v1


def refusal(kind: Any, call: Any, *args: Any) -> str:
    """Returns what an error of exactly this kind says, which has its three parts."""
    with refuses(kind) as caught:
        call(*args)
    return str(caught.value)


def numbers(*shape: int, seed: int = 0) -> Any:
    """Returns some numbers that look random."""
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def ran(ed: Any, output: str = "y:0", **feeds: Any) -> Any:
    """Returns what a tensor of an editor's graph holds."""
    return ed.session().run(output, {f"{name}:0": value for name, value in feeds.items()})


def dropped(how: str) -> Any:
    """Returns a graph y = relu(dropout(x)), as it is written in different years."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        if how == "TF 1.0":  # x / keep * floor(keep + random)
            keep = tf.constant(0.8, name="keep")
            mask = tf.floor(tf.random.uniform(tf.shape(x)) + keep, name="mask")
            kept = tf.multiply(tf.divide(x, keep), mask, name="kept")
        elif how == "fed":
            keep = tf1.placeholder_with_default(0.8, [], name="keep")
            kept = tf.multiply(tf.divide(x, keep), tf.floor(keep + tf.random.uniform(tf.shape(x))), name="kept")
        elif how == "TF 1.13":  # cast(random >= rate)
            mask = tf.cast(tf.random.uniform(tf.shape(x)) >= 0.2, tf.float32)
            kept = tf.multiply(x * (1 / 0.8), mask, name="kept")
        elif how == "TF 2":
            kept = tf.nn.dropout(x, rate=0.2, name="kept")
        else:
            kept = tf.nn.experimental.stateless_dropout(x, 0.2, seed=[1, 2])
        tf.nn.relu(kept, name="y")
    return graph


def normed(how: str, *, format: str = "NHWC") -> Any:
    """Returns a graph of a weighted op with a batch normalization after it, all of constants."""
    gamma, beta, mean, variance = numbers(6), numbers(6, seed=1), numbers(6, seed=2), np.abs(numbers(6, seed=3)) + 0.5
    first = format.startswith("NC")
    with tf.Graph().as_default() as graph:
        if how == "MatMul":
            x = tf1.placeholder(tf.float32, [None, 5], name="x")
            y = tf.matmul(x, tf.constant(numbers(6, 5)), transpose_b=True)
        else:
            x = tf1.placeholder(tf.float32, [2, 3, 8, 8] if first else [None, 8, 8, 3], name="x")
            w = tf.constant(numbers(3, 3, 3, 2 if how == "Depthwise" else 6, seed=4), name="w")
            if how == "Depthwise":
                y = tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME")
            else:
                y = tf.nn.conv2d(x, w, 1, "SAME", data_format=format)
        if how in ("fused", "Depthwise"):
            y, _, _ = tf1.nn.fused_batch_norm(
                y, gamma, beta, mean, variance, is_training=False, data_format=format, name="bn"
            )
        elif how == "biased":
            y = tf.nn.bias_add(y, beta)
            y, _, _ = tf1.nn.fused_batch_norm(y, gamma, beta, mean, variance, is_training=False, name="bn")
        elif how == "minus":
            y = (beta - y) / gamma * 0.5
        else:
            y = tf.nn.batch_normalization(y, mean, variance, beta, gamma, 1e-3)
        tf.nn.relu(y, name="y")
    return graph


def looked_up() -> Any:
    """Returns words -> y through a table that functions within functions make and fill, as Keras exports one; "start"
    waits for what fills it, as the main op of a SavedModel does.
    """

    @tf.function
    def table() -> Any:
        return tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name="words")

    @tf.function
    def filled(handle: Any) -> Any:
        values = tf.constant([7, 9], tf.int64)
        tf.raw_ops.InitializeTableV2(table_handle=handle, keys=tf.constant(["a", "b"]), values=values)
        return tf.constant(True)

    with tf.Graph().as_default() as graph:
        words = tf1.placeholder(tf.string, [None], name="words")
        handle = tf.function(lambda: table())()
        fill = tf.function(lambda handle: filled(handle))(handle)
        tf.group(fill, name="start")
        found = tf.raw_ops.LookupTableFindV2(
            table_handle=handle, keys=tf.identity(words), default_value=tf.constant(-1, tf.int64), name="found"
        )
        tf.identity(found, name="y")
        tf.negative(found, name="loss")
    return graph
