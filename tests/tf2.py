"""Small TF2 objects: modules and Keras models, and what must stay as it is when they are opened."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.function import Defun

import graphsurgeon as gs

tf1 = tf.compat.v1
ROWS = np.random.RandomState(0).rand(3, 2).astype(np.float32)
SEQUENCES = np.random.RandomState(1).rand(3, 6, 4).astype(np.float32)
IMAGES = np.random.RandomState(2).rand(2, 8, 8, 3).astype(np.float32)
X = tf.TensorSpec([None, 2], tf.float32, name="x")


def sine() -> Any:
    """Returns a function of TF1 with a gradient of its own."""

    @Defun(tf.float32, tf.float32, func_name="slope")
    def slope(x, dy):
        return dy * tf.cos(x)

    @Defun(tf.float32, func_name="sine", grad_func=slope)
    def sine(x):
        return tf.sin(x)

    return sine


class Net(tf.Module):
    """tanh(x w + b), with a call inside the call, a captured constant and a variable that two functions share."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]], name="layer/w")
        self.b = tf.Variable([0.1, 0.2, 0.3], name="layer/b")
        self.steps = tf.Variable(0, trainable=False, name="steps")
        self.scale = tf.constant(np.linspace(1.0, 2.0, 200, dtype=np.float32).reshape(1, 200)[:, :3])

    @tf.function(input_signature=[X])
    def forward(self, x):
        """Calls `inner` twice: both calls capture w."""
        return {"y": tf.tanh(self.inner(x) + self.b, name="out"), "twice": self.inner(x) * 2.0 * self.scale}

    @tf.function
    def inner(self, x):
        return tf.matmul(x, self.w, name="product")

    @tf.function(input_signature=[X])
    def counted(self, x):
        """Changes a variable in a call."""
        return self.count(x) + 0.0

    @tf.function
    def count(self, x):
        self.steps.assign_add(1)
        return x * tf.cast(self.steps, tf.float32)


class Loop(tf.Module):
    """A While of TF2 with a call in its body, and an If."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(1.5, name="w")

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="x")])
    def __call__(self, x):
        for _ in tf.range(3):
            x = self.step(x)
        return x if x > 1.0 else -x * self.w

    @tf.function
    def step(self, x):
        return tf.sin(x) * self.w


class Words(tf.Module):
    """Words to vectors, through a captured table that two functions read."""

    def __init__(self) -> None:
        super().__init__()
        self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), 0)
        self.vectors = tf.Variable([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]], name="vectors")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def __call__(self, words):
        return self.look(words), self.table.lookup(words)

    @tf.function
    def look(self, words):
        return tf.gather(self.vectors, self.table.lookup(words))


def calling_twice_deep() -> Any:
    """Returns a graph with a call of a function, ``less``, that calls a function of two results, ``parts``."""

    @tf.function
    def inner(a):
        return tf.split(a, 2, name="parts")

    @tf.function
    def outer(a):
        left, right = inner(a)
        with tf.control_dependencies([left]):
            return tf.subtract(right, left, name="less")

    graph = tf.Graph()
    with graph.as_default():
        tf.identity(outer(tf1.placeholder(tf.float32, [4], name="x")), name="y")
    return graph


def values(thing: Any) -> list[np.ndarray]:
    """Returns the values of the variables of a module or model."""
    return [v.numpy() for v in thing.variables]


def gained(ed: Any) -> Any:
    """Puts a copy of a plain part, a gain with a variable of its own, behind result ``y`` of an opened `Net`."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 3], name="x")
        tf.multiply(x, tf1.get_variable("gain", initializer=[2.0, 3.0, 4.0]), name="gained")
    part = gs.open(graph)
    return ed.apply(ed.plan().copy(part.select(inputs="x:0", outputs="gained:0"), to="more",
                                   inputs={"x:0": ed.outputs["y"]}, values=part))  # fmt: skip


@cache
def keras_model(kind: str) -> Any:
    """Returns a built Keras model, always the same: dense, conv, lstm, several (inputs) or subclassed."""
    import keras

    keras.utils.set_random_seed(3)
    layers = keras.layers
    if kind == "dense":
        return keras.Sequential(
            [keras.Input((2,), name="x"), layers.Dense(4, "relu"), layers.BatchNormalization(), layers.Dropout(0.5),
             layers.Dense(3)], name="dense"
        )  # fmt: skip
    if kind == "conv":
        return keras.Sequential(
            [keras.Input((8, 8, 3), name="x"), layers.Conv2D(4, 3, activation="relu"), layers.GlobalAveragePooling2D(),
             layers.Dense(2)], name="conv"
        )  # fmt: skip
    if kind == "lstm":
        return keras.Sequential([keras.Input((6, 4), name="x"), layers.LSTM(5), layers.Dense(3)], name="lstm")
    if kind == "several":
        a, b = keras.Input((2,), name="a"), keras.Input((3,), name="b")
        return keras.Model({"a": a, "b": b}, [layers.Dense(2)(layers.concatenate([a, b])), a * 2.0], name="several")

    class Sub(keras.Model):
        def __init__(self) -> None:
            super().__init__(name="sub")
            self.dense = layers.Dense(2, name="dense")  # whatever layers the process has made before

        def call(self, x):
            return {"out": self.dense(x), "square": x * x}

    model = Sub()
    model(ROWS)
    return model


FEEDS = {"dense": ROWS, "conv": IMAGES, "lstm": SEQUENCES, "sub": ROWS}
