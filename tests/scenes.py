"""Scenes: graphs with all that Python keeps beside the nodes, and a plan to make in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.function import Defun

import graphsurgeon as gs
from tests.graphs import tf1, tiny

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


@cache
def everything() -> Any:
    """Returns x -> y through variables, loops and conds, functions, a table, a queue and Python code."""
    graph = tf.Graph()

    @Defun(tf.float32)
    def plus(a: Any) -> Any:
        return a + 5.0

    @tf.custom_gradient
    def clipped(a: Any) -> Any:
        return tf.identity(a), lambda slope: tf.clip_by_value(slope * w, -1.0, 1.0)

    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        w = tf1.get_variable("net/w", initializer=tf.constant([2.0, 3.0]), use_resource=True)
        b = tf1.get_variable("net/b", initializer=tf.constant([0.5, 0.25]), use_resource=False)
        tf1.disable_control_flow_v2()
        y = tf1.while_loop(
            lambda i, _: i < 2,
            lambda i, a: (i + 1, tf1.cond(i > 0, lambda: a * 2.0, lambda: a + b)),
            [0, tf.add(x * w, b, name="first")],
        )[1]
        tf1.enable_control_flow_v2()
        y = tf1.cond(tf.reduce_sum(y) > 0, lambda: y * w, lambda: y * 3.0)
        y = plus(tf.function(lambda a: tf.sin(a) + 1.0)(y))
        keys = tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([7], tf.int64))
        found = tf1.lookup.StaticHashTable(keys, -1).lookup(tf.constant(["a"]))
        y = tf.numpy_function(lambda a: a + np.float32(1), [y], tf.float32)
        y.set_shape([None, 2])
        queue = tf1.FIFOQueue(4, [tf.float32], [[2]], name="queue")
        tf1.train.add_queue_runner(tf1.train.QueueRunner(queue, [queue.enqueue([[1.0, 2.0]])]))
        y = clipped(y + tf.cast(found, tf.float32)) + tf.cast(queue.size(), tf.float32)
        y = tf.identity(y, name="y")
        for item in (y, w, y.op, "text", {"at": y}, tf1.train.Saver([w, b])):
            graph.add_to_collection("mine", item)
    return graph


@cache
def started() -> Any:
    """Returns a session in which the variables of `everything` have their values."""
    with everything().as_default():
        session = tf1.Session()
        session.run([v.initializer for v in tf1.global_variables()])
    return session


def again(graph: Any) -> Any:
    """Returns a copy of a graph, with all that Python keeps beside it."""
    ed = gs.open(tf.Graph())
    ed.apply(ed.plan().copy(gs.open(graph).select(), to="", collections="keep"))
    return ed.graph


@dataclass
class Scene:
    """A graph under the knife, and a plan that can be made under any scope."""

    ed: Any
    make: Callable[[str], Any]
    fed: str
    fetched: str  # with {} for the scope

    def runs(self, scope: str) -> np.ndarray:
        """Returns what the copy under a scope gives."""
        with self.ed.graph.as_default(), tf1.Session() as session:
            session.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
            return session.run(self.fetched.format(scope), {self.fed.format(scope): X})


def into_another() -> Scene:
    graph = tf.Graph()
    with graph.as_default():
        p = tf1.placeholder(tf.float32, [None, 2], name="p")
        tf1.get_variable("own", [2], initializer=tf1.zeros_initializer())
        graph.add_to_collection("mine", tf.function(lambda a: a * 2.0)(p))
    dst, src = gs.open(graph), gs.open(everything())
    block, values = src.select(outputs="y:0"), started()
    return Scene(dst, lambda to: dst.plan().copy(block, to=to, inputs={"x:0": "p:0"}, values=values), "p:0", "{}/y:0")


def inside_one() -> Scene:
    ed = gs.open(again(everything()))
    values, block = {"net/w": [2.0, 3.0], "net/b": [0.5, 0.25]}, ed.select()
    return Scene(
        ed, lambda to: ed.plan().copy(block.by_names_in(ed.snapshot), to=to, values=values), "{}/x:0", "{}/y:0"
    )


def into_a_new_one() -> Scene:
    ed = gs.open(again(everything()))

    def make(to: str) -> Any:
        plan = ed.plan().copy(ed.select(inputs="x:0", outputs="first:0"), to=to, unmapped="keep")
        return plan.connect(f"{to}/first:0", to="y", input=0)

    return Scene(ed, make, "x:0", "y:0")


def in_pieces() -> Scene:
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        tf.add_n([x, *(tf.reduce_sum(tf.constant(np.full(1000, n, np.float32))) + x for n in range(8))], name="y")
    dst, src = gs.open(tiny()), gs.open(graph)
    return Scene(dst, lambda to: dst.plan().copy(src.select(), to=to), "{}/x:0", "{}/y:0")


SCENES = {
    "into another graph": into_another,
    "inside one graph": inside_one,
    "into a new graph": into_a_new_one,
    "in pieces": in_pieces,
}
