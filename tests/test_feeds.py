"""Feeds: looked up, made to fit, made up; and what can be asked for where nobody says it."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.feeds import given, last_outputs, made_up, only_computes
from tests.graphs import tf1
from tests.refusal import refuses


def test_an_array_takes_the_dtype_of_its_tensor():
    with tf.Graph().as_default() as graph:
        tf1.placeholder(tf.float16, [None, 2], name="x")
    fed = given(gs.open(graph), {"x": [[1, 2]]}, "trace")
    assert fed["x:0"].dtype == np.float16
    with refuses(PlanError, "trace('x:0')", "the shape (2,)", "(?, 2) of float16"):
        given(gs.open(graph), {"x:0": [1, 2]}, "trace")


def test_what_is_made_up_has_dtype_and_shape():
    with tf.Graph().as_default() as graph:
        tf1.placeholder(tf.int64, [None, 2], name="x")
        tf1.placeholder(tf.float32, name="any")
    ed, random = gs.open(graph), np.random.RandomState(0)
    made = made_up(ed, "x:0", random, "trace")
    assert (made.shape, made.dtype) == ((1, 2), np.int64)
    with refuses(PlanError, "'any:0' (float32) needs a feed"):
        made_up(ed, "any:0", random, "trace")


def test_what_is_in_a_branch_is_no_output():
    on = tf1.control_flow_v2_enabled()
    tf1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = tf1.placeholder(tf.float32, [], name="x")
            tf.identity(tf1.cond(x > 0.0, lambda: tf.sqrt(x), lambda: x), name="y")
            tf1.while_loop(lambda i: i < 3, lambda i: i + 1, [0], name="loop")
    finally:
        if on:
            tf1.enable_control_flow_v2()
    found = last_outputs(gs.open(graph))
    assert "y:0" in found
    assert all(name == "y:0" or name.startswith("loop/Exit") for name in found), found


def test_what_sets_a_variable_does_not_only_compute():
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=1.0, use_resource=True)
        with tf.control_dependencies([w.assign_add(1.0)]):
            tf.constant(1.0, name="after")
        tf.negative(w, name="y")
    ed = gs.open(graph)
    assert only_computes(ed, "y:0")
    assert not only_computes(ed, "after:0")


def test_what_checks_draws_looks_up_and_gathers_only_computes():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [3, 2], name="x")
        checked = tf1.Assert(tf.reduce_all(x > 0), [x], name="is_positive")
        with tf.control_dependencies([checked]):
            tf.identity(x, name="checked")
        tf.random.uniform([2], name="drawn")
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1.0]), 0.0)
        tf.identity(table.lookup(tf.constant(["a"])), name="looked_up")
        was = tf1.control_flow_v2_enabled()
        tf1.disable_control_flow_v2()
        try:
            cell = lambda a, b: a + b  # noqa: E731
            tf.identity(tf.scan(cell, x), name="scanned")
        finally:
            (tf1.enable_control_flow_v2 if was else tf1.disable_control_flow_v2)()
        queue = tf.queue.FIFOQueue(1, tf.float32, shapes=[[]])
        tf.identity(queue.dequeue(), name="taken")
    ed = gs.open(graph)
    assert {"TensorArrayV3", "Enter"} <= set(ed.snapshot.types)
    for name in ("checked", "drawn/RandomUniform", "looked_up", "scanned"):
        assert only_computes(ed, f"{name}:0"), name
    assert not only_computes(ed, "taken:0")


def test_a_graph_with_a_loop_of_arrays_runs_without_being_told_what():
    was = tf1.control_flow_v2_enabled()
    tf1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            tf.identity(tf.scan(lambda a, b: a + b, tf1.placeholder(tf.float32, [3, 2], name="x")), name="y")
    finally:
        (tf1.enable_control_flow_v2 if was else tf1.disable_control_flow_v2)()
    assert gs.open(graph).trace({"x:0": np.ones([3, 2])}).results["y:0"].tolist() == [[1, 1], [2, 2], [3, 3]]
