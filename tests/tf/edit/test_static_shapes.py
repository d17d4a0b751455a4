"""Static shapes after an edge that is changed in place."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from graphsurgeon.errors import PlanError
from graphsurgeon.tf.edit.edit_in_place import downstream, infer_outputs, reshape, specificity
from tests.graphs import tf1
from tests.refusal import refuses


def chain():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, None], name="x")
        y = tf.square(x, name="y")
        z = tf.reshape(y, tf.constant([4, -1]), name="z")
        side = tf.constant(1.0, name="side")
        narrow = tf1.placeholder(tf.float32, [2, 6], name="narrow")
    return graph, x, y, z, side, narrow


def test_downstream_is_all_that_depends():
    _graph, x, y, _z, side, _ = chain()
    assert [op.name for op in downstream([y.op])] == ["y", "z"]
    assert [op.name for op in downstream([side.op, x.op])] == ["x", "y", "z", "side"]


def test_shapes_are_inferred_with_constants_and_nothing_is_changed():
    graph, _x, y, z, _, narrow = chain()
    count = len(graph.get_operations())
    found = infer_outputs([y.op, z.op], {(id(y.op), 0): narrow}, "asked")
    assert [(t.name, shape.as_list()) for t, shape in found] == [("y:0", [2, 6]), ("z:0", [4, 3])]
    assert y.shape.as_list() == [None, None]
    assert len(graph.get_operations()) == count


def test_what_tensorflow_refuses_is_said():
    graph, _x, y, z, _, _ = chain()
    with graph.as_default():
        odd = tf1.placeholder(tf.float32, [3, 3])
    with refuses(PlanError, "asked", "do not fit", "divisible by 4", "Nothing was changed"):
        infer_outputs([y.op, z.op], {(id(y.op), 0): odd}, "asked")


def test_shapes_get_narrower_and_what_is_not_sure_is_named():
    _graph, _x, y, z, _, narrow = chain()
    wide = infer_outputs([y.op, z.op], {}, "asked")
    now = infer_outputs([y.op, z.op], {(id(y.op), 0): narrow}, "asked")
    assert reshape(now, wide) == []
    assert (y.shape, z.shape) == ([2, 6], [4, 3])
    assert reshape(wide, now) == ["y:0", "z:0"]
    assert (y.shape, z.shape) == ([2, 6], [4, 3])


def test_functions_and_variables_are_known_there():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 3], name="x")
        called = tf.function(lambda t: t + 1.0)(x)
        v = tf1.get_variable("v", initializer=np.ones([3, 5], np.float32), use_resource=True)
        out = tf.matmul(called, v, name="out")
        four = tf1.placeholder(tf.float32, [4, 3])
    ops = downstream([called.op, v.op])
    shapes = {t.name: shape for t, shape in infer_outputs(ops, {(id(called.op), 0): four}, "asked")}
    assert shapes["out:0"].as_list()[1] == 5
    assert shapes[out.name].as_list() == [4, 5]


def test_how_much_a_shape_says():
    assert [specificity(tf.TensorShape(s)) for s in (None, [], [None], [2, None, 3])] == [-1, 0, 0, 2]
