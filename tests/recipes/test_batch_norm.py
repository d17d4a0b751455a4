"""Batch normalization becomes part of the weights, and the numbers stay."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.recipes.models import normed, numbers, ran, refusal

tf1 = tf.compat.v1


@pytest.mark.parametrize("how", ["fused", "biased", "unfused", "minus", "Depthwise", "MatMul"])
def test_it_is_folded(how):
    ed = gs.open(normed(how))
    x = numbers(2, 5, seed=9) if how == "MatMul" else numbers(2, 8, 8, 3, seed=9)
    before = ran(ed, x=x)
    ed.apply(gs.recipes.fold_batch_norm(ed))
    left = {"Const", "Placeholder", "Conv2D", "DepthwiseConv2dNative", "MatMul"}
    assert sorted(set(ed.snapshot.types) - left) == ["AddV2", "Relu"]
    np.testing.assert_allclose(ran(ed, x=x), before, rtol=1e-4, atol=1e-5)
    ed.undo()
    np.testing.assert_array_equal(ran(ed, x=x), before)


def test_channels_may_come_first():
    plan = gs.recipes.fold_batch_norm(gs.open(normed("fused", format="NCHW")))
    assert plan.check() == ()
    after = plan.after()
    assert after.info(after.index["bn/offset"], 0).shape == (6, 1, 1)  # no kernel of that form runs on a CPU


def test_the_plan_prints_as_code_that_does_the_same():
    ed = gs.open(normed("unfused"))
    plan = gs.recipes.fold_batch_norm(ed)
    there: dict = {"graph": ed.graph}
    exec(plan.to_code(), there)
    x = numbers(2, 8, 8, 3)
    ed.apply(plan)
    np.testing.assert_array_equal(ran(there["ed"], x=x), ran(ed, x=x))


def test_weights_that_two_read_are_scaled_for_each():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 3], name="x")
        w = tf.constant(numbers(3, 4), name="w")
        one = tf.multiply(tf.matmul(x, w), numbers(4, seed=1), name="one")
        tf.add(one, tf.matmul(x + 1, w), name="y")
    ed = gs.open(graph)
    before = ran(ed, x=numbers(2, 3))
    ed.apply(gs.recipes.fold_batch_norm(ed))
    np.testing.assert_allclose(ran(ed, x=numbers(2, 3)), before, rtol=1e-5)


def test_an_inner_result_that_is_wanted_stays():
    ed = gs.open(normed("unfused"))
    inner = next(name for name in ed.snapshot.names if ed.snapshot.types[ed.snapshot.index[name]] == "Mul")
    assert inner in gs.recipes.fold_batch_norm(ed, outputs=f"{inner}:0").after().names


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("variables", "'bn' needs 'gamma/read:0' (Identity), which is not a constant"),
        ("training", "'bn' normalizes by the statistics of the batch"),
        ("first", "'bn' reads 'x' (Placeholder), which has no weights"),
        ("read twice", "other ops read 'conv' too, or an inner result of 'bn'"),
        ("none", "no weighted result is multiplied by one constant per channel"),
    ],
)
def test_what_cannot_be_folded_says_why(how, why):
    with tf.Graph().as_default() as graph:
        y = x = tf1.placeholder(tf.float32, [None, 2, 2, 1], name="x")
        if how != "first":
            y = tf.nn.conv2d(x, tf.constant(numbers(1, 1, 1, 1)), 1, "SAME", name="conv")
        gamma = tf1.get_variable("gamma", [1], use_resource=False) if how == "variables" else tf.constant([1.0])
        about = {} if how == "training" else {"mean": [0.0], "variance": [1.0]}
        if how != "none":
            tf1.nn.fused_batch_norm(y, gamma, [0.0], **about, is_training=how == "training", name="bn")
        if how == "read twice":
            tf.nn.relu(y)
    said = refusal(gs.PlanError, gs.recipes.fold_batch_norm, gs.open(graph))
    assert said.startswith(f"fold_batch_norm(): {why}.\n"), said


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize(
    ("how", "why"),
    [
        (
            "normed",
            "the ops after 'conv' could be folded, but 'w', 'mean', 'variance' and 2 more are variables, not con",
        ),
        ("scaled", "the ops after 'conv' could be folded, but 'w' is a variable, not constant"),
        ("biased", "no weighted result is multiplied by one constant per channel"),
        ("halved", "no weighted result is multiplied by one constant per channel"),
        ("gated", "no weighted result is multiplied by one constant per channel"),
    ],
)
def test_variables_are_to_be_frozen_first(how, why, resource):
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=resource):
        x = tf1.placeholder(tf.float32, [None, 2, 2, 1], name="x")
        y = tf.nn.conv2d(x, tf1.get_variable("w", [1, 1, 1, 2]), 1, "SAME", name="conv")
        mean, variance, beta, gamma = (tf1.get_variable(name, [2]) for name in ("mean", "variance", "beta", "gamma"))
        if how == "normed":
            tf.nn.batch_normalization(y, mean, variance, beta, gamma, 1e-3)
        elif how == "biased":
            tf.nn.relu(tf.nn.bias_add(y, beta)) * gamma
        else:
            y * {"scaled": tf.constant([2.0, 3.0]), "halved": 0.5, "gated": gamma * tf.reduce_mean(x)}[how]
    said = refusal(gs.PlanError, gs.recipes.fold_batch_norm, gs.open(graph))
    assert said.startswith(f"fold_batch_norm(): {why}"), said
    assert ("Freeze first: ed = gs.recipes.frozen(ed, outputs)" in said) == ("variable" in why)


def test_averages_that_nobody_keeps_are_named():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 2, 2, 1], name="x")
        tf1.nn.fused_batch_norm(x, [1.0], [0.0], name="bn")
    said = refusal(gs.PlanError, gs.recipes.settle_batch_norm, gs.open(graph))
    assert said.startswith(
        "settle_batch_norm(): 'bn' normalizes by the statistics of the batch, and its mean is averaged into no "
        "variable.\nConnect the averages yourself: plan.connect(mean, to='bn', input=3)"
    )
    said = refusal(gs.PlanError, gs.recipes.settle_batch_norm, gs.open(normed("fused")))
    assert "no batch normalization reads the statistics of the batch" in said
