"""Batch normalization written as single ops reads its averages, or says which op does not."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.recipes.models import numbers, refusal

tf1 = tf.compat.v1


def test_a_keras_model_opened_in_training_gives_what_it_gives_in_inference():
    keras = tf.keras
    x = keras.Input((6, 6, 3))
    y = skip = keras.layers.BatchNormalization(name="bn")(keras.layers.Conv2D(4, 3, padding="same")(x))
    y = keras.layers.Dropout(0.3)(keras.layers.ReLU()(y))
    y = keras.layers.Conv2D(4, 3, padding="same", use_bias=False)(y)
    y = keras.layers.Add()([skip, keras.layers.BatchNormalization(momentum=0.5)(y)])
    model = keras.Model(x, keras.layers.Dense(5)(keras.layers.GlobalAveragePooling2D()(y)))
    for seed, weight in enumerate(model.weights):
        value = numbers(*weight.shape, seed=seed)
        weight.assign(np.abs(value) + 0.5 if "variance" in weight.path else value)
    images = numbers(4, 6, 6, 3, seed=99)
    wanted = model(images, training=False).numpy()
    ed = gs.open(model, training=True)
    plan = gs.recipes.for_inference(ed)
    assert plan.check() == ()
    ed.apply(plan)
    (fed,), (got,) = ed.inputs.values(), ed.outputs.values()
    for some in (images, images[1:2]):
        one = ed.session().run(got, {fed: some})
        np.testing.assert_allclose(one, wanted[1:2] if len(some) == 1 else wanted, rtol=1e-5, atol=1e-5)
    ed.undo()
    assert "SquaredDifference" in ed.snapshot.types


def averaged(how: str, *, resource: bool = False, kept: bool = True):
    """Returns a graph y = (x - mean) / sqrt(variance + 0.001) of the batch; averages of these are kept."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4, 3], name="x")
        if how == "squares":
            mean = tf.reduce_mean(x, [0, 1], keepdims=True, name="m")
            variance = tf.subtract(tf.reduce_mean(x * x, [0, 1], keepdims=True), mean * mean, name="v")
        elif how == "weighted":
            mean, variance = tf1.nn.weighted_moments(x, [0, 1], tf.fill([tf.shape(x)[0], 4, 1], 2.0), keep_dims=True)
        else:
            mean, variance = tf1.nn.moments(x, [0, 1], keep_dims=how != "flat", name="now")
        tf.identity(tf.nn.batch_normalization(x, mean, variance, None, None, 0.001), name="y")
        for name, value, now in (("kept_mean", 2.0, mean), ("kept_variance", 4.0, variance)) if kept else ():
            start = tf.constant([value, value + 1, value + 2])
            held = tf1.get_variable(name, initializer=start, use_resource=resource, trainable=False)
            now = tf.squeeze(now)
            if how == "unbiased":
                biased = tf1.get_variable(f"{name}/biased", [3], use_resource=resource, trainable=False)
                below = biased.assign_sub((biased - now) * 0.1)
                held.assign(tf.divide(below, 1 - 0.9**2))
            elif how == "squares":
                held.assign(held * 0.9 + now * 0.1)
            else:
                held.assign_sub((held - now * (4 / 3)) * 0.1)
    return graph


def inferred(x):
    mean, variance = np.float32([2, 3, 4]), np.float32([4, 5, 6])
    return (x - mean) / np.sqrt(variance + 0.001)


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("how", ["flat", "kept dimensions", "squares", "weighted", "unbiased"])
def test_averages_are_read_however_they_are_kept(how, resource):
    ed = gs.open(averaged(how, resource=resource))
    plan = gs.recipes.settle_batch_norm(ed)
    assert plan.check() == ()
    assert "'kept_variance" in plan.to_code()
    assert "no batch normalization reads the statistics of the batch" in refusal(
        gs.PlanError, gs.recipes.settle_batch_norm, plan
    )
    ed.apply(plan)
    session = ed.session()
    session.run([f"{name}/Assign" for name in ("kept_mean", "kept_variance")])
    x = numbers(5, 4, 3)
    np.testing.assert_allclose(session.run("y:0", {"x:0": x}), inferred(x), rtol=1e-5)
    ed.apply(gs.recipes.for_inference(ed, "y:0"))
    assert not {"Mean", "SquaredDifference"} & set(ed.snapshot.types)


def test_what_waits_for_the_averages_keeps_none():
    graph = averaged("flat")
    with graph.as_default():
        power = tf1.get_variable("power", [], use_resource=False)
        updates = [op for op in graph.get_operations() if op.type == "AssignSub"]
        with tf.control_dependencies(updates):  # as an optimizer that runs after them
            power.assign(power * 0.9)
    plan = gs.recipes.settle_batch_norm(gs.open(graph))
    assert "'kept_mean" in plan.to_code()
    assert "power" not in plan.to_code()


@pytest.mark.parametrize("how", ["squares", "weighted", "kept dimensions"])
def test_averages_that_nobody_keeps_are_seen_however_the_moments_are_written(how):
    said = refusal(gs.PlanError, gs.recipes.settle_batch_norm, gs.open(averaged(how, kept=False)))
    assert "'batchnorm/Rsqrt' normalizes by the statistics of the batch, and no variable keeps an average" in said


def test_averages_that_nobody_keeps_are_said():
    ed = gs.open(averaged("flat", kept=False))
    said = refusal(gs.PlanError, gs.recipes.for_inference, ed, "y:0")
    assert said == (
        "for_inference(): 'batchnorm/Rsqrt' normalizes by the statistics of the batch, and no variable keeps an "
        "average of them.\nOpen the model for inference, gs.open(model, training=False); or connect the "
        "averages yourself, plan.reroute({'now/mean:0': mean, 'now/variance:0': variance})."
    )
    graph = averaged("squares")
    with graph.as_default():
        other = tf1.get_variable("other", [3], use_resource=False)
        other.assign(other * 0.5 + 0.5 * tf.squeeze(graph.get_tensor_by_name("v:0")))
    said = refusal(gs.PlanError, gs.recipes.settle_batch_norm, gs.open(graph))
    assert "and its variance is averaged into kept_variance/read:0, other/read:0.\nOpen the model" in said


def test_other_norms_stay_as_they_are():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4, 4, 3], name="x")
        w = tf1.get_variable("w", [3, 3, 3, 2], use_resource=False)
        weights = tf.nn.batch_normalization(w, *tf1.nn.moments(w, [0, 1, 2]), None, None, 0.001)
        y = tf.nn.batch_normalization(x, *tf1.nn.moments(x, [3], keep_dims=True), None, None, 0.001)  # layer
        y = tf.nn.batch_normalization(y, *tf1.nn.moments(y, [1, 2], keep_dims=True), None, None, 0.001)  # instance
        y = tf.image.per_image_standardization(tf.nn.conv2d(y, weights, 1, "SAME")[0])
        tf.identity(y, name="y")
        seen = tf1.get_variable("seen", [], use_resource=False)  # the average of a loss
        seen.assign_sub((seen - tf.sqrt(tf.reduce_mean(y))) * 0.1)
    ed = gs.open(graph)
    assert "no batch normalization reads" in refusal(gs.PlanError, gs.recipes.settle_batch_norm, ed)
    x = numbers(2, 4, 4, 3)
    session = ed.session()
    session.run("w/Assign")
    w = session.run("w:0")
    before = session.run("y:0", {"x:0": x})
    ed.apply(gs.recipes.for_inference(ed, "y:0"))
    session = ed.session(session)
    np.testing.assert_array_equal(session.run("w:0"), w)
    np.testing.assert_allclose(session.run("y:0", {"x:0": x}), before, rtol=1e-5)
