"""Small graphs whose edits are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from tests.random_graphs import flow_version

tf1 = tf.compat.v1


def holder(name: str, *shape: int | None, dtype: Any = tf.float32) -> Any:
    return tf1.placeholder(dtype, shape, name=name)


def opened(graph: Any) -> Any:
    """An editor of a session in which the variables have their initial values."""
    with graph.as_default():
        ready = tf1.global_variables_initializer()
    session = tf1.Session(graph=graph)
    session.run(ready)
    return gs.open(session)


def net() -> Any:
    """X -> net/h -> net/y; z = x + net/y; end waits for z; x is split; wide and whole have another shape and dtype."""
    with tf.Graph().as_default() as graph:
        x, _ = holder("x", 2, 4), holder("other", 2, 4)
        holder("wide", 2, 3)
        tf.exp(holder("narrow", 2, 3), name="few")
        holder("whole", 2, 4, dtype=tf.int32)
        h = tf.nn.relu(x, name="net/h")
        z = tf.add(x, tf.negative(h, name="net/y"), name="z")
        with tf.control_dependencies([z]):
            tf.no_op(name="end")
        tf.add(*tf.split(x, 2, axis=1, name="pair"), name="sum")
        tf.exp(tf.cast(holder("loose", 2, 4), tf.float32), name="apart")
    return gs.open(graph)


def two() -> Any:
    """Left + right -> join -> last; more = join + third."""
    with tf.Graph().as_default() as graph:
        left, right, third = (holder(name, 2, 4) for name in ("left", "right", "third"))
        join = tf.add(left, right, name="net/join")
        tf.exp(join, name="last")
        tf.reduce_sum(tf.add(join, third, name="net/more"), 1, name="net/short")
        tf.exp(graph.get_tensor_by_name("net/short:0"), name="end")
    return gs.open(graph)


def held(*, resource: bool = True) -> Any:
    """X w -> y; set adds to w; v and u are variables of other shapes."""
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=resource):
        x = holder("x", 2, 4)
        w = tf1.get_variable("w", initializer=np.ones([4, 3], np.float32))
        tf1.get_variable("v", initializer=np.ones([3, 4], np.float32))
        tf1.get_variable("u", initializer=np.ones([4, 3], np.float32))
        tf.matmul(x, w, name="y")
        more = tf.ones_like(w, name="more")
        _ = w.assign_add(more, name="set") if resource else tf1.assign_add(w, more, name="set")
        holder("plain", 4, 3)
    return opened(graph)


def referenced() -> Any:
    """The same with reference variables."""
    return held(resource=False)


def looped(kind: str = "v1", slope: bool = False) -> Any:
    """Y = x w + x, again and again, n times, in a loop called loop."""
    with tf.Graph().as_default() as graph, flow_version(kind):
        x, n = holder("x", 2), holder("n", dtype=tf.int32)
        w = tf.constant([2.0, 3.0], name="w")
        y = tf.while_loop(lambda i, _: i < n, lambda i, v: (i + 1, v * w + x), [0, x], name="loop")[1]
        tf.identity(y, name="y")
        holder("other", 2)
        tf.exp(x, name="before")
        if slope:
            tf1.gradients(y, x)
    return gs.open(graph)


def branched(kind: str = "v1") -> Any:
    """Y = cond(p, x + 1, -x)."""
    with tf.Graph().as_default() as graph, flow_version(kind):
        x, p = holder("x", 2), holder("p", dtype=tf.bool)
        holder("other", 2)
        tf.identity(tf.cond(p, lambda: tf.add(x, 1.0, name="yes"), lambda: tf.negative(x, name="no")), name="y")
    return gs.open(graph)


def tangled() -> Any:
    """Conds of TF1 by hand: which reads the number of the branch; all merges three branches of two conditions."""
    with tf.Graph().as_default() as graph:
        x = holder("x", 2)
        off, on = tf.raw_ops.Switch(data=x, pred=holder("r", dtype=tf.bool), name="switch")
        merged = tf.raw_ops.Merge(inputs=[tf.negative(off), tf.square(on)], name="merge")
        tf.identity(merged.value_index, name="which")
        three = tf.raw_ops.Switch(data=x, pred=holder("t", dtype=tf.bool), name="three")
        more = tf.raw_ops.Switch(data=three[0], pred=holder("s", dtype=tf.bool), name="more")
        tf.raw_ops.Merge(inputs=[three[1], *more], name="all")
        tf.constant(1, name="number")
        tf.constant(False, name="constant")
    return gs.open(graph)


def counting() -> Any:
    """Y = -a; z = a + y; w is set to exp(y); b is another placeholder."""
    with tf.Graph().as_default() as graph:
        a, _ = holder("a", 2), holder("b", 2)
        y = tf.negative(a, name="y")
        tf.add(a, y, name="z")
        w = tf1.get_variable("w", initializer=np.ones([2], np.float32), use_resource=False)
        tf1.assign(w, tf.exp(y, name="only"), name="set")
    return opened(graph)


def array_read(x: Any) -> Any:
    """A tensor that is written into a TensorArray, and read."""
    array = tf.raw_ops.TensorArrayV3(size=1, dtype=tf.float32, name="array")
    flow = tf.raw_ops.TensorArrayWriteV3(handle=array[0], index=0, value=x, flow_in=array[1], name="write")
    return tf.raw_ops.TensorArrayReadV3(handle=array[0], index=0, flow_in=flow, dtype=tf.float32, name="read")
