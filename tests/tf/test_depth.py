"""Chains of 100,000 ops: copied from their end, inside one graph and across, run, warned about; no recursion."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.concurrency import gc_paused

tf1 = tf.compat.v1
DEPTH = 100_000
# TensorFlow's graph optimizer takes minutes or ends the process on such rows.
PLAIN = tf1.ConfigProto()
PLAIN.graph_options.rewrite_options.disable_meta_optimizer = True


@gc_paused()
def chain(*kinds: str, depth: int = DEPTH) -> tf.Graph:
    """Returns ops of these types by turns, in one row behind the variable w and the feed x."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [], name="x")
        w = tf1.get_variable("w", [], initializer=tf1.constant_initializer(2.0), use_resource=True)
        tf.add(x, w, name="op0")
    some = tf1.GraphDef()
    some.node.add(name="op0", op="Placeholder").attr["dtype"].type = tf.float32.as_datatype_enum
    for i in range(1, depth + 1):
        node = some.node.add(name=f"op{i}", op=kinds[i % len(kinds)], input=[f"op{i - 1}"])
        node.attr["T"].type = tf.float32.as_datatype_enum
    del some.node[0]
    with graph.as_default():
        feed = graph.get_tensor_by_name("op0:0")
        tf.import_graph_def(some, input_map={"op0:0": feed}, name="")
    return graph


@pytest.fixture(scope="module")
def long():
    """A graph with a chain, from op0 to the op at its end; what is made beside that disturbs nobody."""
    return chain("Tanh", "Neg")


@pytest.mark.deep
def test_a_chain_is_copied_from_its_end_and_runs(long):
    graph = long
    limit = sys.getrecursionlimit()
    ed = gs.open(graph)
    end = f"op{DEPTH}:0"
    plan = ed.plan().copy(ed.select(outputs=[end]), to="copy", inputs={"x:0": "x:0"}, variables="initial")
    assert plan.check() == ()
    assert list(plan.effect.warnings) == []
    done = ed.apply(plan)
    assert len(done.ops) > DEPTH
    assert sys.getrecursionlimit() == limit
    with tf1.Session(graph=graph, config=PLAIN) as session, graph.as_default():
        session.run(tf1.global_variables_initializer())
        old, new = session.run([end, done[end]], {"x:0": 0.5})
    np.testing.assert_array_equal(old, new)
    assert np.isfinite(new)


@pytest.mark.deep  # half a gigabyte
def test_the_2016_copier_has_no_recursion_limit(long):
    into = tf.Graph()
    tensor = gs.copy_to_graph(long.get_tensor_by_name(f"op{DEPTH}:0"), into, namespace="deep")
    assert tensor.name == f"deep/op{DEPTH}:0"
    assert into.get_operation_by_name("deep/op0").type == "AddV2"
