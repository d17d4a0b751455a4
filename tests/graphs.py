"""Small TensorFlow graphs, and the state of a graph as a value to compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from graphsurgeon.graph.provenance import COLLECTION

tf1 = tf.compat.v1
KINDS = ("ref", "resource")


def look(graph: Any) -> dict[str, Any]:
    """Returns all that an edit could change: nodes, order, version, collections, names in use, functions."""
    return {
        "nodes": graph.as_graph_def().SerializeToString(deterministic=True),
        "ops": [id(op) for op in graph.get_operations()],
        "version": graph.version,
        "collections": collections(graph),
        "records": [id(item) for item in graph.get_collection(COLLECTION)],
        "names": dict(graph._names_in_use),
        "functions": sorted(graph._functions),
    }


def collections(graph: Any) -> dict[str, list[int]]:
    """Returns the collections of a graph with their entries by identity, but for the records of the package."""
    return {name: [id(item) for item in graph.get_collection(name)] for name in keys(graph)}


def keys(graph: Any) -> list[str]:
    """Returns the names of the collections, but for that of the package's own records."""
    return [name for name in graph.get_all_collection_keys() if name != COLLECTION]


def tiny() -> Any:
    """Returns x float32 (?, 2) -> y = x² -> z = y + 1, and k int32 (?,)."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        tf1.placeholder(tf.int32, [None], name="k")
        y = tf.square(x, name="y")
        tf.add(y, 1.0, name="z")
    return graph


def run(graph: Any, fetches: Any, feeds: dict[Any, Any] | None = None) -> Any:
    """Returns what a fresh session gives."""
    with tf1.Session(graph=graph) as session:
        return session.run(fetches, feeds or {})


@dataclass
class Model:
    """A small net with a loss and, where asked, an optimizer; its session is initialized."""

    graph: Any
    x: Any
    target: Any
    w: Any
    b: Any
    y: Any
    loss: Any
    train: Any
    session: Any

    def feed(self, count: int = 8) -> dict[Any, np.ndarray]:
        """Returns seeded data to feed."""
        rng = np.random.RandomState(1)
        return {self.x: rng.rand(count, 2).astype(np.float32), self.target: rng.rand(count, 3).astype(np.float32)}

    def train_steps(self, steps: int = 3) -> None:
        """Trains, so that the values are not the initial ones."""
        for _ in range(steps):
            self.session.run(self.train, self.feed())


OPTIMIZERS = {
    "sgd": lambda: tf1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf1.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf1.train.AdamOptimizer(0.05),
}


def model(kind: str = "resource", optimizer: str | None = "adam", graph: Any = None) -> Model:
    """Returns a net ``y = tanh(x w + b)`` with variables of a kind, its loss and its training op."""
    graph = graph or tf.Graph()
    with graph.as_default(), tf1.variable_scope("", use_resource=kind == "resource"):
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        target = tf1.placeholder(tf.float32, [None, 3], name="target")
        with tf1.variable_scope("net"):
            w = tf1.get_variable("w", [2, 3], initializer=tf1.random_uniform_initializer(-1, 1, seed=3))
            b = tf1.get_variable("b", [3], initializer=tf1.zeros_initializer())
            y = tf.tanh(tf.matmul(x, w) + b, name="y")
        loss = tf.reduce_mean(tf1.squared_difference(y, target), name="loss")
        graph.add_to_collection("mine", y)
        graph.add_to_collection("mine", w)
        graph.add_to_collection("losses", loss)
        train = None
        if optimizer:
            step = tf1.train.get_or_create_global_step()
            train = OPTIMIZERS[optimizer]().minimize(loss, global_step=step, name="train")
        session = tf1.Session(graph=graph)
        session.run(tf1.global_variables_initializer())
    return Model(graph, x, target, w, b, y, loss, train, session)


def put(variable: Any, value: Any, session: Any) -> None:
    """Sets a variable to `value` everywhere, through its own initializer."""
    session.run(variable.initializer, {variable.initializer.inputs[1]: np.full(variable.shape, value, np.float32)})


def trained():
    """A session of x -> net/mm (with the weight net/w, trained) -> net/b -> y."""
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        with tf1.variable_scope("net", use_resource=True):
            w = tf1.get_variable("w", initializer=np.float32([[1, 2], [3, 4]]))
            b = tf.nn.relu(tf.matmul(x, w, name="mm"), name="b")
        tf.reduce_sum(b, 1, name="y")
        session = tf1.Session()
        session.run(tf1.global_variables_initializer())
        session.run(tf1.assign(w, [[1.0, -2.0], [3.0, 4.0]]))
    return session
