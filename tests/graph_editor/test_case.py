"""What people came with: a network copied by its boundary, then both trained apart; and other programs of the time."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from graphsurgeon import graph_editor as ge
from tests.graphs import KINDS, tf1


def network(kind):
    """Returns x -> two dense layers -> y; the first names are those of the issue."""
    graph = tf.Graph()
    with graph.as_default():
        tf1.set_random_seed(1)
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        h = x
        for layer, size in enumerate((4, 1)):
            with tf1.variable_scope(f"layer_{layer}", use_resource=kind == "resource"):
                w = tf1.get_variable("w", [h.shape[1], size], initializer=tf1.glorot_uniform_initializer(seed=layer))
                b = tf1.get_variable("b", [size], initializer=tf1.zeros_initializer())
                h = tf.tanh(tf.matmul(h, w) + b, name="out")
    return graph, x, h


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", ["ops", "lists of ops", "tensors"])
def test_the_case_from_which_users_came(kind, given):
    graph, x, y = network(kind)
    ends = {"ops": (y.op, x.op), "lists of ops": ([y.op], [x.op]), "tensors": ([y], [x])}[given]
    sgv = ge.make_view(ge.get_within_boundary_ops(graph, *ends))
    with graph.as_default():
        new_x = tf1.placeholder(tf.float32, [None, 2], name="new_x")
    _, info = ge.copy_with_input_replacements(sgv, {x: new_x}, dst_scope="copy")
    new_y = info.transformed(y)
    with graph.as_default():
        old, new = tf1.trainable_variables("layer"), tf1.trainable_variables("copy")
        assert [v.op.name for v in new] == [f"copy/{v.op.name}" for v in old]
        steps = []
        for out, target, variables in ((y, 0.5, old), (new_y, -0.5, new)):
            loss = tf.reduce_mean(tf.square(out - target))
            steps.append(tf1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=variables))
        start = tf1.global_variables_initializer()
    data = np.random.RandomState(0).rand(8, 2).astype(np.float32)
    with tf1.Session(graph=graph) as session:
        session.run(start)
        before = session.run(new)
        for _ in range(50):
            session.run(steps[0], {x: data})
        np.testing.assert_array_equal(session.run(new[0]), before[0])
        held = session.run(old)
        for _ in range(50):
            session.run(steps[1], {new_x: data})
        for mine, then in zip(session.run(old), held, strict=True):
            np.testing.assert_array_equal(mine, then)
        assert abs(session.run(y, {x: data}).mean() - 0.5) < 0.1
        assert abs(session.run(new_y, {new_x: data}).mean() + 0.5) < 0.1


def test_without_the_boundary_ops_the_input_is_one_of_the_view():
    graph, x, y = network("resource")
    sgv = ge.make_view(ge.get_within_boundary_ops(graph, y.op, x.op, inclusive=False))
    assert [t.name for t in sgv.inputs] == ["x:0"]
    new, info = ge.copy(sgv, dst_scope="copy")
    assert [t.name for t in new.inputs] == ["copy/geph__x_0:0"]
    assert info.transformed(x) is new.inputs[0]
    assert info.original(new.inputs[0]) is x


def test_activations_are_computed_again_for_gradients():
    """As programs that save memory do: copy between checkpoints, stop gradients, move control edges."""
    graph, x, y = network("resource")
    checkpoint = graph.get_tensor_by_name("layer_0/out:0")
    ops = ge.get_forward_walk_ops(checkpoint.op, inclusive=False)
    between = [op for op in ge.get_backward_walk_ops(y.op, within_ops=ops) if op.type != "ReadVariableOp"]
    with graph.as_default():
        stopped = tf.stop_gradient(checkpoint, name="stopped")
    _new, info = ge.copy_with_input_replacements(ge.sgv(between), {}, dst_scope="again")
    copied = info._transformed_ops.values()
    assert ge.reroute_ts([stopped], [checkpoint], can_modify=copied) == 1
    ge.add_control_inputs(info.transformed(between[0]), [graph.get_operation_by_name("layer_0/b")])
    assert stopped.consumers() == [info.transformed(op) for op in between if checkpoint in op.inputs]
    with graph.as_default():
        slopes = tf1.gradients(info.transformed(y), [stopped])
        start = tf1.global_variables_initializer()
    with tf1.Session(graph=graph) as session:
        session.run(start)
        ours, theirs, _ = session.run([info.transformed(y), y, slopes], {x: [[1.0, 2.0]]})
        np.testing.assert_array_equal(ours, theirs)


def test_a_network_is_unrolled_over_its_own_updates():
    """As unrolled networks did: the loss after some steps of descent, by replacing variables."""
    graph = tf.Graph()
    with graph.as_default():
        w = tf1.get_variable("w", initializer=np.float32(3.0), use_resource=True)
        value = w.read_value()
        loss = tf.square(value, name="loss")
        moved = value - 0.25 * tf1.gradients(loss, value)[0]
        now = loss
        for step in range(2):
            now = ge.graph_replace(now, {value: moved}, dst_scope=f"step_{step}")
        start = tf1.global_variables_initializer()
    with tf1.Session(graph=graph) as session:
        session.run(start)
        assert session.run(now) == (3.0 / 4) ** 2


def test_a_frozen_input_is_exchanged_and_the_rest_goes_on():
    """As for a graph from a file: its placeholder gives way to a pipeline."""
    graph, x, y = network("resource")
    with graph.as_default():
        batch = tf.constant([[1.0, 1.0]], name="batch")
    ge.swap_inputs(ge.sgv(x.consumers()[0]).remap_inputs([x]), [batch])
    assert [op.name for op in batch.consumers()] == ["layer_0/MatMul"]
    with graph.as_default():
        start = tf1.global_variables_initializer()
    with tf1.Session(graph=graph) as session:
        session.run(start)
        assert session.run(y).shape == (1, 1)
