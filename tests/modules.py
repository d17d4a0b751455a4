"""A small `tf.Module` of modules: one is called twice, two share a name, one is a `tf.function`, all have an `if`."""

from __future__ import annotations

import tensorflow as tf

X = tf.TensorSpec([None, 3], tf.float32, name="x")


class Dense(tf.Module):
    """One product, in a name scope of its own."""

    def __init__(self, name=None):
        super().__init__(name)
        with self.name_scope:
            self.w = tf.Variable(tf.eye(3) * 0.5, name="w")

    @tf.Module.with_name_scope
    def __call__(self, x):
        if tf.reduce_sum(x) > -1e9:  # graph code: TensorFlow's own `if`
            x = x + 1.0
        return tf.nn.relu(x @ self.w)


class Encoder(tf.Module):
    """Three of them, one called twice."""

    def __init__(self):
        super().__init__()
        with self.name_scope:
            self.first = Dense()
            self.more = [Dense("two"), Dense("two")]

    @tf.Module.with_name_scope
    def __call__(self, x):
        x = self.first(self.first(x))
        for one in self.more:
            x = one(x)
        return x


class Head(tf.Module):
    """A function of its own, in no scope."""

    def __init__(self):
        super().__init__()
        self.w = tf.Variable(tf.ones([3, 2]), name="w")

    @tf.function
    def __call__(self, x):
        return tf.tanh(x @ self.w)


class Net(tf.Module):
    """All of it."""

    def __init__(self):
        super().__init__()
        self.enc = Encoder()
        self.head = Head()

    @tf.function(input_signature=[X])
    def forward(self, x):
        """Returns what it computes."""
        return self.head(self.enc(x)) + 1.0
