"""What for_inference leaves of training is named, with the reason, and what it suggests about it helps."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.recipes.models import numbers, ran, refusal

tf1 = tf.compat.v1


def noisy(dropped: bool = False, called: bool = False):
    """A graph that adds random numbers to what it is fed: after a dropout, or in a function."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        kept = tf.nn.dropout(x, rate=0.3) if dropped else x

        def add(given):
            return tf.add(given, tf.random.normal(tf.shape(given), name="noise"), name="sum")

        made = tf.function(add)(kept) if called else add(kept)
        tf.square(made, name="y")
    return gs.open(graph)


def refused(ed) -> str:
    return refusal(gs.PlanError, gs.recipes.for_inference, ed, "y:0")


def carried_out(ed, said: str):
    """The editor after what a message suggests to type."""
    (code,) = re.findall(r"(?:ed = )?ed\.\S.*\)", said.splitlines()[-1])
    if code.startswith("ed = "):
        return eval(code.removeprefix("ed = "), {"ed": ed})
    ed.apply(eval(code, {"ed": ed}))
    return ed


def test_random_numbers_that_no_rule_takes_out_are_named_and_taken_out_as_suggested():
    ed = noisy()
    said = refused(ed)
    assert said == (
        "for_inference(): no other rule applies: 'noise/RandomStandardNormal' (RandomStandardNormal) still draws "
        "random numbers.\nRemove them: ed.plan().reroute('sum:0', to='x:0')."
    )
    ed = carried_out(ed, said)
    ed.apply(gs.recipes.for_inference(ed, "y:0"))
    x = numbers(3, 4)
    np.testing.assert_allclose(ran(ed, x=x), x * x)
    assert "it is in inference form already" in refused(ed)


def test_a_plan_that_takes_something_out_warns_of_what_stays():
    ed = noisy(dropped=True)
    plan = gs.recipes.for_inference(ed, "y:0")
    (warned,) = plan.effect.warnings
    assert warned.startswith("'noise/RandomStandardNormal' (RandomStandardNormal) still draws random numbers. Remove")
    assert warned in str(plan.preview())
    assert ed.apply(plan).warnings == [warned]
    ed = carried_out(ed, warned)
    ed.apply(gs.recipes.strip_training(ed, "y:0"))
    np.testing.assert_allclose(ran(ed, x=numbers(3, 4)), numbers(3, 4) ** 2)


def test_a_call_that_draws_random_numbers_is_opened_as_suggested():
    ed = noisy(called=True)
    said = refused(ed)
    assert "still draws random numbers, by RandomStandardNormal" in said
    ed = carried_out(ed, said)
    (warned,) = gs.recipes.for_inference(ed, "y:0").effect.warnings
    assert "(RandomStandardNormal) still draws random numbers. Remove them: ed.plan().reroute(" in warned
    ed = carried_out(ed, warned)
    assert not gs.recipes.for_inference(ed, "y:0").effect.warnings


def test_random_numbers_that_may_be_wanted_are_left_to_the_reader():
    with tf.Graph().as_default() as graph:
        mean = tf1.placeholder(tf.float32, [2], name="mean")
        tf.identity(tf.concat([mean, tf.random.normal([2], name="noise")], 0), name="y")
    assert refused(gs.open(graph)).endswith(
        "\nKeep them if the model needs them; otherwise open the model for inference, gs.open(model, training=False)."
    )


def normalized(how: str):
    """A convolution of constants, and a batch normalization that cannot be folded into it."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4, 4, 2], name="x")
        weights = tf.constant(numbers(3, 3, 2, 4), name="weights")

        def conv(given):
            return tf.nn.conv2d(given, weights, 1, "SAME", name="conv")

        y = tf.function(conv)(x) if how == "called" else conv(x)
        y = tf.nn.relu(y, name="relu") if how == "relu" else y
        parts = [tf.constant(np.abs(numbers(4, seed=seed)) + 0.5) for seed in range(4)]
        if how == "variable":
            parts[0] = tf1.get_variable("mean", initializer=parts[0])
        y = tf.nn.batch_normalization(y, *parts, 1e-3, name="bn")
        tf.nn.relu(tf.debugging.check_numerics(y, "y") if how != "called" else y, name="y")
    return gs.open(graph)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("relu", "the batch normalization 'bn/mul_1' (Mul) is not folded: 'bn/mul_1' reads 'relu' (Relu)"),
        ("variable", "batch normalization is not folded into weights that are variables: 'bn/mul_1' (Mul)"),
    ],
)
def test_batch_normalization_that_is_not_folded_is_named(how, why):
    ed = normalized(how)
    done = ed.apply(gs.recipes.for_inference(ed, "y:0"))
    assert [text.startswith(why) for text in done.warnings] == [True]


def test_batch_normalization_after_a_call_is_folded_as_suggested():
    ed, x = normalized("called"), numbers(2, 4, 4, 2)
    want = ran(ed, x=x)
    said = refused(ed)
    assert "is not folded: the weights before it are inside the call" in said
    ed = carried_out(ed, said)
    done = ed.apply(gs.recipes.for_inference(ed, "y:0"))
    assert not done.warnings
    assert "Mul" not in ed.snapshot.types
    np.testing.assert_allclose(ran(ed, x=x), want, rtol=1e-4, atol=1e-5)


def test_other_norms_and_random_initializers_are_not_named():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        mean, variance = tf.nn.moments(x, [1], keepdims=True)
        gain = tf1.get_variable("gain", [4], initializer=tf1.random_normal_initializer())
        y = tf.nn.batch_normalization(x, mean, variance, tf.constant(numbers(4)), gain, 1e-3)
        tf.identity(tf.nn.dropout(y, rate=0.5), name="y")
    ed = gs.open(graph)
    assert not gs.recipes.for_inference(ed, "y:0").effect.warnings


@pytest.mark.parametrize("door", ["select", "insert"])
def test_an_op_type_that_is_inside_a_call_is_found_as_suggested(door):
    ed = normalized("called")

    def ask(one):
        if door == "select":
            return one.select(op="Conv2D")
        return gs.recipes.insert_after(one, "Conv2D", "Relu")

    said = refusal(gs.SelectionError if door == "select" else gs.PlanError, ask, ed)
    assert "has no op of type 'Conv2D'.\nIt is inside '" in said
    assert said.endswith("ed.inlined() opens these calls.")
    assert len(ask(ed.inlined())) == 1
