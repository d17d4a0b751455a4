"""Activations computed again for their gradients: the same numbers in less memory."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import KINDS
from tests.peaks import peak, plain
from tests.recipes.models import numbers, refusal

tf1 = tf.compat.v1
LAYERS = 16


def deep(kind="resource", *, towers=1):
    """A deep network in training, or two that share their weights."""
    with tf.Graph().as_default() as graph:
        losses = []
        for tower in range(towers):
            x = tf1.placeholder(tf.float32, [None, 64], name=f"x_{tower}")
            with tf.name_scope(f"tower_{tower}"):
                h = x
                for layer in range(LAYERS):
                    with tf1.variable_scope(f"layer_{layer}", use_resource=kind == "resource", reuse=tower > 0):
                        w = tf1.get_variable("w", [64, 64], initializer=tf1.glorot_uniform_initializer(seed=layer))
                        h = tf.tanh(tf.matmul(h, w)) + h
                losses.append(tf.reduce_mean(tf.square(h - 1.0), name="loss"))
        tf1.summary.histogram("activation", graph.get_tensor_by_name("tower_0/layer_3/Tanh:0"))
        tf1.summary.scalar("how_far", losses[0])
        tf1.summary.merge_all(name="summaries")
        loss = tf.add_n(losses, name="loss")
        optimizer = tf1.train.GradientDescentOptimizer(0.1)
        slopes = optimizer.compute_gradients(loss)
        optimizer.apply_gradients(slopes, name="train")
        for n, (slope, _) in enumerate(slopes):
            tf.identity(slope, name=f"slope_{n}")
        tf1.global_variables_initializer()
    return graph


def measured(graph, feeds, fetches):
    with tf1.Session(graph=graph, config=plain()) as session:
        session.run("init")
        return peak(session, fetches, feeds)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradients_are_the_same_and_hold_less(kind):
    ed = gs.open(deep(kind))
    feeds = {"x_0:0": numbers(1024, 64)}
    fetches = ["loss:0", *(f"slope_{n}:0" for n in range(LAYERS))]
    before, want = measured(ed.graph, feeds, fetches)
    plan = gs.recipes.recompute(ed, "loss:0")
    assert plan.check() == ()
    ed.apply(plan)
    after, got = measured(ed.graph, feeds, fetches)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)
    assert after < before / 2
    assert "recomputed/tower_0/layer_3/Tanh" in ed.snapshot.names
    ed.undo()
    assert "recomputed" not in ed.snapshot.scopes.index


def test_a_block_is_computed_when_its_gradient_comes():
    ed = gs.open(deep())
    ed.apply(gs.recipes.recompute(ed, "loss:0", ["tower_0/layer_3", "tower_0/layer_4"], to="again"))
    graph = ed.snapshot
    copies = [name for name in graph.names if name.startswith("again/")]
    assert sorted(copies) == [f"again/tower_0/layer_{n}/{op}" for n in (3, 4) for op in ("MatMul", "Tanh")]
    first = graph.index["again/tower_0/layer_3/MatMul"]
    assert graph.input_names(first)[0] == "tower_0/layer_2/add:0"  # what a block gives is kept
    assert graph.control_names(first) == ["gradients/tower_0/layer_3/add_grad/tuple/control_dependency"]
    read = {name for op in graph.names if "layer_3/Tanh_grad" in op for name in graph.input_names(graph.index[op])}
    assert "again/tower_0/layer_3/Tanh:0" in read
    assert graph.input_names(graph.index["activation"])[1] == "tower_0/layer_3/Tanh:0"  # a summary is no gradient


def test_training_goes_on_with_the_values_there_are():
    ed = gs.open(deep())
    feeds = {"x_0:0": numbers(8, 64)}
    session = ed.session()
    session.run("init")
    session.run("train", feeds)
    ed.apply(gs.recipes.recompute(ed, "loss:0"))
    again = ed.session(session)
    for _ in range(3):
        assert session.run("loss:0", feeds) == pytest.approx(again.run("loss:0", feeds), rel=1e-5)
        session.run("train", feeds)
        again.run("train", feeds)


def test_towers_do_not_wait_for_one_another():
    ed = gs.open(deep(towers=2))
    feeds = {f"x_{n}:0": numbers(4, 64, seed=n) for n in range(2)}
    fetches = [f"slope_{n}:0" for n in range(LAYERS)]
    _, want = measured(ed.graph, feeds, fetches)
    plan = gs.recipes.recompute(ed, "loss:0", [f"tower_{n}/layer_{m}" for n in range(2) for m in range(1, 5)])
    assert plan.check() == ()
    ed.apply(plan)
    graph = ed.snapshot
    waits = {name: graph.control_names(graph.index[name]) for name in graph.names if name.startswith("recomputed/")}
    for name, others in waits.items():
        assert all(name.split("/")[1] in other for other in others if "gradients" in other)
    _, got = measured(ed.graph, feeds, fetches)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_draws_or_lasts_is_not_computed_again():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 6, 6, 3], name="x")
        start = [tf1.glorot_uniform_initializer(seed=n) for n in range(3)]
        w = [tf1.get_variable(f"w{n}", [3, 3, 3, 3], initializer=start[n]) for n in range(3)]
        h = x
        for n in range(3):
            with tf.name_scope(f"block_{n}"):
                h = tf.nn.conv2d(h, w[n], 1, "SAME")
                h, mean, _ = tf1.nn.fused_batch_norm(h, [1.0] * 3, [0.1] * 3, is_training=True)
                moving = tf1.get_variable(f"moving_{n}", initializer=[0.0] * 3, trainable=False)
                tf1.assign_sub(moving, 0.1 * (moving - mean), name="update")
                h = tf.nn.relu(tf.nn.dropout(h, rate=0.4, seed=n + 1))
        loss = tf.reduce_sum(tf.square(h), name="loss")
        for n, slope in enumerate(tf1.gradients(loss, w)):
            tf.identity(slope, name=f"slope_{n}")
        tf1.global_variables_initializer()
    ed = gs.open(graph)
    ed.apply(gs.recipes.recompute(ed, "loss:0", ["block_0", "block_1"]))
    copied = {ed.snapshot.types[n] for n in ed.select(scope="recomputed").numbers}
    assert "FusedBatchNormV3" in copied
    assert not {"RandomUniform", "Const", "ReadVariableOp", "AssignSubVariableOp"} & copied
    feeds, fetches = {"x:0": numbers(2, 6, 6, 3)}, ["loss:0", *(f"slope_{n}:0" for n in range(3))]
    for one, other in zip(measured(ed.graph, feeds, fetches)[1], measured(graph, feeds, fetches)[1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_runs_in_a_loop_of_tf1_is_kept():
    with tf.Graph().as_default() as graph:
        tf1.disable_control_flow_v2()
        try:
            x = tf1.placeholder(tf.float32, [None, 4], name="x")
            w = tf1.get_variable("w", [4, 4], initializer=tf1.glorot_uniform_initializer(seed=1))
            with tf.name_scope("a"):
                h = tf.tanh(tf.tanh(tf.matmul(x, w)))
                _, h = tf1.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [0, h])
                h = tf.tanh(tf.tanh(h))
            loss = tf.reduce_sum(tf.square(tf.matmul(h, w)), name="loss")
            tf.identity(tf1.gradients(loss, w)[0], name="slope")
            tf1.global_variables_initializer()
        finally:
            tf1.enable_control_flow_v2()
    ed = gs.open(graph)
    ed.apply(gs.recipes.recompute(ed, "loss:0", "a"))
    assert {ed.snapshot.types[n] for n in ed.select(scope="recomputed").numbers} <= {"MatMul", "Tanh"}
    feeds = {"x:0": numbers(2, 4)}
    np.testing.assert_array_equal(measured(ed.graph, feeds, "slope:0")[1], measured(graph, feeds, "slope:0")[1])


def test_of_a_function_that_was_differentiated():
    w = [tf.Variable(numbers(8, 8, seed=n)) for n in range(4)]

    @tf.function(input_signature=[tf.TensorSpec([None, 8], name="x")])
    def slopes(x):
        with tf.GradientTape() as tape:
            h = x
            for n, one in enumerate(w):
                with tf.name_scope(f"layer_{n}"):
                    h = tf.tanh(tf.tanh(tf.matmul(h, one)))
            loss = tf.reduce_sum(tf.square(h), name="loss")
        return {"slope": tape.gradient(loss, w[0])}

    ed = gs.open(slopes)
    x = numbers(2, 8)
    want = ed.session().run(ed.outputs["slope"], {ed.inputs["x"]: x})
    plan = gs.recipes.recompute(ed, "loss:0", ["layer_0", "layer_1"])
    ed.apply(plan)
    assert "recomputed/layer_0/MatMul" in ed.snapshot.names
    np.testing.assert_allclose(ed.session().run(ed.outputs["slope"], {ed.inputs["x"]: x}), want, rtol=1e-5)


def test_what_does_not_fit_says_which():
    ed, recompute = gs.open(deep()), gs.recipes.recompute
    last = ed.select(name=f"tower_0/layer_{LAYERS - 1}/*") | ed.select(name=["tower_0/sub*", "tower_0/Square*"])
    said = refusal(gs.PlanError, recompute, ed, "loss:0", ["tower_0/layer_3", last])
    assert "block 1 cannot be recomputed: the gradient of its output" in said
    said = refusal(gs.PlanError, recompute, ed, "loss:0", "gradients")
    assert "'gradients' cannot be recomputed: no gradient reads an op that only the block itself uses" in said
    assert "without blocks= the graph is cut into parts" in said
    assert "no loss was given" in refusal(gs.PlanError, recompute, ed, [])
    assert "Did you mean" in refusal(gs.SelectionError, recompute, ed, "los:0")
    ed.apply(recompute(ed, "loss:0"))
    assert "could be recomputed" in refusal(gs.PlanError, recompute, ed, "loss:0")
    block = "tower_0/layer_3"
    assert "'tower_0'" in refusal(gs.PlanError, lambda: recompute(gs.open(deep()), "loss:0", block, to="tower_0"))
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [4], name="x")
        loss = tf.reduce_sum(tf.square(x), name="loss")
        assert "have no gradients" in refusal(gs.PlanError, recompute, gs.open(graph), "loss:0")
        tf1.gradients(loss, x)
    assert "could be recomputed" in refusal(gs.PlanError, recompute, gs.open(graph), "loss:0")
