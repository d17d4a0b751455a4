"""Watched run: an op that fails is named, and what does not need it still runs."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.graphs import tf1
from tests.refusal import refuses


def test_of_several_ops_that_fail_each_is_left_out():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.int32, [], name="x")
        for k in range(3):
            with tf.control_dependencies([tf.debugging.Assert(x > 5, [x], name=f"must_{k}")]):
                tf.identity(x, name=f"after_{k}")
        tf.add(x, 1, name="y")
    trace = gs.open(graph).trace({"x:0": 1}, [*(f"after_{k}:0" for k in range(3)), "y:0"])
    assert "must_" in trace.stopped
    assert "(Assert)" in trace.stopped
    assert dict(trace.results) == {"y:0": 2}
    assert trace["y:0"].mean == 2.0


def test_a_variable_without_a_value_is_named():
    with tf.Graph().as_default():
        tf.negative(tf1.get_variable("w", shape=[2], use_resource=True), name="y")
        session = tf1.Session()
    with refuses(PlanError, "variable 'w' has no value in the session given", "session.run(variable.initializer)"):
        gs.open(session).trace(fetches="y:0")
