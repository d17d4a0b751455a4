"""Resources that come into a copy by a placeholder: what they hold is known, so shapes are."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import run

tf1 = tf.compat.v1


def reader():
    graph = tf.Graph()
    with graph.as_default():
        v = tf1.get_variable("v", [2, 3], use_resource=True)
        read = tf.raw_ops.ReadVariableOp(resource=v.handle, dtype=tf.float32, name="r")
        tf.identity(read, name="y")
    return graph


def test_a_stand_in_for_a_variable_says_its_shape():
    src, dst = gs.open(reader()), gs.open(tf.Graph())
    block = src.select(name=["r", "y"])
    done = dst.apply(dst.plan().copy(block, to="t", unmapped="placeholder"))
    handle = done["v:0"]
    assert handle.op.type == "Placeholder"
    assert done["y:0"].shape == (2, 3)
    with dst.graph.as_default():
        assert tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32).shape == (2, 3)
        v = tf1.get_variable("other", initializer=tf.ones([2, 3]), use_resource=True)
    again = gs.open(tf.Graph())
    second = again.apply(again.plan().copy(dst.select(scope="t"), to="u"))
    with again.graph.as_default():
        assert tf.raw_ops.ReadVariableOp(resource=second["t/v:0"], dtype=tf.float32).shape == (2, 3)
    wired = dst.apply(dst.plan().copy(block, to="w", inputs={"v:0": v.handle}))
    with tf1.Session(graph=dst.graph) as session:
        session.run(v.initializer)
        assert session.run(wired["y:0"]).sum() == 6.0


def test_captured_variables_of_a_function():
    v = tf.Variable([[1.0, 2.0]])
    concrete = tf.function(lambda: v * 2.0).get_concrete_function()
    src, dst = gs.open(concrete.graph), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(src.select(), to="t"))
    handle = next(op for op in concrete.graph.get_operations() if op.type == "Placeholder")
    with dst.graph.as_default():
        assert tf.raw_ops.ReadVariableOp(resource=done[handle.outputs[0]], dtype=tf.float32).shape == (1, 2)


def test_shapes_set_by_hand_are_kept():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, None, name="x")
        y = tf.square(x, name="y")
        y.set_shape([None, 3])
        (z,) = tf1.py_func(lambda a: a, [y], [tf.float32], name="z")
        z.set_shape([4, 3])
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(gs.open(graph).select(), to="t"))
    assert done[y].shape.as_list() == [None, 3]
    assert done[z].shape == (4, 3)
    assert run(dst.graph, done[z], {done[x]: [[1.0, 2.0, 3.0]] * 4}).shape == (4, 3)
