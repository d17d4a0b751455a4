"""A model as two that run one after the other."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.recipes import split_and_merge
from tests.recipes.models import numbers, ran, refusal

tf1 = tf.compat.v1


def network():
    """A residual network with variables, dropout, a flag and two outputs."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        rate = tf1.placeholder(tf.float32, [], name="rate")
        w = tf1.get_variable("w", [4, 4], initializer=tf1.random_normal_initializer(seed=1))
        a = tf.nn.relu(tf.matmul(x, w), name="a")
        tf.reduce_mean(a, name="how_much")
        b = tf.nn.dropout(tf.nn.relu(tf.matmul(a, w, transpose_b=True), name="b"), rate=rate)
        pair = tf.split(tf.add(a, b, name="sum"), 2, 1, name="pair")
        tf.nn.softmax(pair[1] - pair[0], name="y")
    return graph


def test_two_halves_are_the_whole():
    ed = gs.open(network())
    first, second = gs.recipes.split_at(ed, "sum:0", ["how_much:0", "y:0"])
    assert first.inputs == {"x": "x:0", "rate": "rate:0"}
    assert first.outputs == {"sum": "sum:0", "how_much": "how_much:0"}
    assert second.inputs == {"sum": "sum:0"}
    assert second.outputs == {"y": "y:0"}
    assert not {"w", "a", "x"} & set(second.snapshot.names)
    x = numbers(3, 4)
    np.testing.assert_array_equal(first.value("w"), ed.value("w"))
    got = ran(second, sum=ran(first, "sum:0", x=x, rate=0.0))
    np.testing.assert_allclose(got, ran(ed, x=x, rate=0.0), rtol=1e-6)
    again = gs.connect({"one": first, "two": second}, {"one/sum": "two/sum"}, values="initial")
    assert again.inputs == {"x": "one/x:0", "rate": "one/rate:0"}


def test_a_flag_and_a_variable_that_both_need_are_in_both():
    first, second = gs.recipes.split_at(gs.open(network()), "a:0", "y:0")
    assert second.inputs == {"a": "a:0", "rate": "rate:0"}
    assert [list(half.snapshot.state.variables) for half in (first, second)] == [["w"], ["w"]]


def test_at_several_outputs_of_one_op():
    first, second = gs.recipes.split_at(gs.open(network()), ["pair:1", "pair:0"], "y:0")
    assert list(first.outputs) == list(second.inputs) == ["pair_1", "pair"]
    pair = dict(zip(("pair_1", "pair"), (numbers(2, 2), numbers(2, 2, seed=1)), strict=True))
    feeds = {second.inputs[key]: value for key, value in pair.items()}
    assert second.session().run("y:0", feeds).shape == (2, 2)
    assert first.inputs.keys() == {"x", "rate"}


def test_what_the_second_half_reads_too_is_named():
    ed = gs.open(network())
    assert refusal(gs.PlanError, gs.recipes.split_at, ed, "b:0", "y:0") == (
        "split_at(): the second half would not run alone: it also reads 'a:0' for 'sum', which the first half "
        "computes.\nSplit there too: at=['b:0', 'a:0']."
    )
    assert list(gs.recipes.split_at(ed, ["b:0", "a:0"], "y:0").second.inputs) == ["b", "a", "rate"]


@pytest.mark.parametrize(
    ("at", "outputs", "why"),
    [
        ([], "y:0", "at= is empty"),
        ("how_much:0", "y:0", "none of the outputs 'y:0' is computed from 'how_much:0'"),
        (["a:0", "how_much:0"], "y:0", "the second half does not read 'how_much:0'"),
        ("x:0", None, "no outputs were given"),
    ],
)
def test_what_cannot_be_split_says_why(at, outputs, why):
    assert refusal(gs.PlanError, gs.recipes.split_at, gs.open(network()), at, outputs).startswith(f"split_at(): {why}")


def test_a_proof_that_needs_a_feed_says_so():
    with tf.Graph().as_default() as graph:
        text = tf1.placeholder(tf.string, [], name="text")
        tf.add(tf.strings.to_number(text, name="number"), 1.0, name="y")
    ed = gs.open(graph)
    assert refusal(gs.PlanError, gs.recipes.split_at, ed, "number:0", "y:0") == (
        "split_at(): the verification cannot run: 'text:0' (string ()) needs a feed: "
        "random values need a numeric dtype and a known rank.\n"
        "Give feeds={'text:0': array}; or type verify=False."
    )
    assert gs.recipes.split_at(ed, "number:0", "y:0", feeds={"text:0": "3"}).first.outputs == {"number": "number:0"}
    assert gs.recipes.split_at(ed, "number:0", "y:0", verify=False).second.inputs == {"number": "number:0"}


def test_a_proof_that_stops_says_where():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [4], name="x")
        tf.add(tf.reshape(x, tf1.placeholder(tf.int32, [2], name="to"), name="wide"), 1.0, name="y")
    ed = gs.open(graph)
    said = refusal(gs.PlanError, lambda: gs.recipes.split_at(ed, "wide:0", "y:0", feeds={"to:0": [3, 3]}))
    assert said.startswith("split_at(): the verification cannot run: 'wide' (Reshape):"), said
    assert said.endswith("Give inputs for the run: feeds={...}; or type verify=False.")


def test_what_changes_in_one_half_and_is_read_in_the_other_is_named():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        steps = tf1.get_variable("steps", initializer=1.0, use_resource=True)
        with tf.control_dependencies([steps.assign_add(1.0)]):
            seen = tf.identity(x, name="seen")
        with tf.control_dependencies([seen]):
            tf.multiply(seen, steps.read_value(), name="y")
    said = refusal(gs.PlanError, gs.recipes.split_at, gs.open(graph), "seen:0", "y:0")
    assert said == (
        "split_at(): 'Read/ReadVariableOp:0' reads 'steps' after 'AssignAddVariableOp' writes to it, "
        "which would not run.\nType at=['seen:0', 'Read/ReadVariableOp:0']."
    )
    ed = gs.open(graph)
    halves = gs.recipes.split_at(ed, ["seen:0", "Read/ReadVariableOp:0"], "y:0")
    assert "steps" not in halves.second.snapshot.index


@pytest.mark.parametrize(("factor", "accepted"), [(1.0000001, True), (1.01, False)])
def test_halves_may_round_as_another_run_does_and_no_more(monkeypatch, factor, accepted):
    once = split_and_merge._run

    def rounds_differently(*args):
        return {name: np.asarray(value) * np.float32(factor) for name, value in once(*args).items()}

    monkeypatch.setattr(split_and_merge, "_run", rounds_differently)
    with tf.Graph().as_default() as graph:
        tf.square(tf.nn.relu(tf1.placeholder(tf.float32, [2, 4], name="x"), name="a"), name="y")
    if accepted:
        assert gs.recipes.split_at(gs.open(graph), "a:0", "y:0").second.outputs == {"y": "y:0"}
    else:
        assert "the halves give other numbers" in refusal(
            gs.PlanError, gs.recipes.split_at, gs.open(graph), "a:0", "y:0"
        )


def test_a_loop_is_not_cut():
    was = tf1.control_flow_v2_enabled()
    tf1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        _, y = tf1.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.square(v, name="v")), [0, x], name="loop")
        tf.identity(y, name="y")
    if was:
        tf1.enable_control_flow_v2()
    said = refusal(gs.PlanError, gs.recipes.split_at, gs.open(graph), "loop/v:0", "y:0")
    assert said.startswith("split_at()"), said
    first, second = gs.recipes.split_at(gs.open(graph), "loop/Exit_1:0", "y:0")
    assert ran(second, **{"loop/Exit_1": ran(first, "loop/Exit_1:0", x=2.0)}) == 256.0


def test_a_keras_model_keeps_the_names_of_its_ends():
    import keras

    x = keras.Input((4,), name="x")
    model = keras.Model(x, keras.layers.Dense(2, name="head")(keras.layers.Dense(3, "relu", name="body")(x)))
    ed = gs.open(model)
    first, second = gs.recipes.split_at(ed, ed.layer("body").outputs[0])
    assert list(first.inputs) == list(ed.inputs)
    assert list(second.outputs) == list(ed.outputs)
    assert sorted(first.snapshot.state.variables) == ["body/bias", "body/kernel"]
    between = first.function()(numbers(2, 4))
    (got,) = second.function()(*between.values()).values()
    np.testing.assert_allclose(got, model(numbers(2, 4)), rtol=1e-5)
