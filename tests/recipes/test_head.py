"""A classifier gets a dense layer with another number of classes; all else of it stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.refusal import refuses
from tests.tf2 import tf1

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def classifier(bias=True, softmax=True, more=lambda logits: None):
    """A graph of two dense layers with variables, the last to 10 classes."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        features = tf.nn.relu(tf.matmul(x, tf.eye(4)), name="features")
        logits = tf.matmul(features, tf1.get_variable("dense/kernel", [4, 10]), name="logits" if not bias else None)
        if bias:
            logits = tf.nn.bias_add(logits, tf1.get_variable("dense/bias", [10]), name="logits")
        if softmax:
            tf.nn.softmax(logits, name="y")
        more(logits)
    return graph


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("softmax", [True, False])
def test_the_new_layer_reads_the_features_and_has_the_name_of_the_output(bias, softmax):
    ed = gs.open(classifier(bias, softmax))
    end = "y:0" if softmax else "logits:0"
    plan = gs.recipes.replace_head(ed, 3)
    assert plan.check() == ()
    ed.apply(plan)
    graph = ed.snapshot
    parts = [f"head/{part}/Read/ReadVariableOp:0" for part in ("kernel", "bias")]
    found = ed.trace({"x:0": X}, [end, "features:0", *parts]).results
    logits = found["features:0"] @ found[parts[0]] + found[parts[1]]
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True) if softmax else logits
    assert found[end].shape == (2, 3)
    np.testing.assert_allclose(found[end], expected, rtol=1e-5)
    assert ("logits" in graph.index) is not softmax
    assert not [name for name in graph.names if "before" in name or name.startswith("head_after")]
    again: dict[str, Any] = {}
    exec(ed.to_code(), again)
    assert again["redo"](classifier(bias, softmax)).snapshot.names == graph.names
    # an undone plan may have made an op with the name of another op
    ed.undo()
    ed.apply(ed.plan().insert("Abs", on=end, name="positive"))
    assert "positive" in ed.to_code()


def test_the_signature_of_a_keras_model_keeps_its_output(tmp_path):
    model = tf.keras.Sequential(
        [tf.keras.Input((4,)), tf.keras.layers.Dense(5), tf.keras.layers.Dense(10, activation="softmax")]
    )
    ed = gs.open(model)
    before = ed.outputs
    ed.apply(gs.recipes.replace_head(ed, 2))
    assert ed.outputs == before
    ed.save(tmp_path / "saved")
    again = gs.open(tmp_path / "saved")
    (end,) = again.outputs.values()
    (fed,) = again.inputs.values()
    assert again.trace({fed: X}, [end]).results[end].shape == (2, 2)


def test_of_several_outputs_one_is_chosen_and_what_chooses_the_class_stays():
    graph = classifier(more=lambda logits: tf.argmax(logits, 1, name="best"))
    with refuses(PlanError, "replace_head(3): the model has 2 outputs: y:0, best:0", "Type output="):
        gs.recipes.replace_head(gs.open(graph), 3)
    ed = gs.open(graph)
    ed.apply(gs.recipes.replace_head(ed, 3, output="best", name="new"))
    found = ed.trace({"x:0": X}, ["y:0", "best:0"]).results
    assert (found["y:0"].argmax(1) == found["best:0"]).all()
    assert "new/kernel" in ed.snapshot.index


def towers():
    """The similarity of two inputs: a product of features, which has no weights."""
    with tf.Graph().as_default() as graph:
        x, z = (tf1.placeholder(tf.float32, [None, 4], name=name) for name in "xz")
        tf.matmul(x, z, transpose_b=True, name="y")
    return graph


def wide_and_deep():
    """The sum of two dense layers."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        deep, wide = (tf.matmul(x, tf.ones([4, 10]), name=name) for name in ("deep", "wide"))
        tf.add(deep, wide, name="y")
    return graph


@pytest.mark.parametrize(
    ("make", "arguments", "words"),
    [
        (towers, {"units": 3}, ("'y' is not a dense layer: it does not multiply features by weights",)),
        (wide_and_deep, {"units": 3}, ("'y' (AddV2) is not a dense layer",)),
        (wide_and_deep, {"units": 3, "output": "deep"}, ("'deep' is also used by 'y'",)),
        (classifier, {"units": 0}, ("units=0 is not a positive whole number", "Type units=10")),
        (classifier, {"units": "ten"}, ("units='ten'", "Type units=10")),
        (
            lambda: classifier(softmax=False, more=lambda logits: tf.reshape(logits, [-1, 2, 5], name="pairs")),
            {"units": 3},
            ("'pairs' (Reshape) is not a dense layer", "adapt(features, kinds='dense'"),
        ),
        (
            lambda: classifier(more=lambda logits: tf.reduce_mean(logits, name="loss")),
            {"units": 3, "output": "y"},
            ("'logits' is also used by 'loss'", "strip_training"),
        ),
        (classifier, {"units": 3, "output": "features"}, ("'features' (Relu)", "kinds='dense'")),
    ],
)
def test_what_is_not_a_classifier_is_refused(make, arguments, words):
    with refuses(PlanError, *words):
        gs.recipes.replace_head(gs.open(make()), **arguments)


def test_an_output_whose_op_is_replaced_keeps_its_name(tmp_path):
    """A recipe renames the old op and gives its name to the new one: the signature follows the name."""
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        y = tf.quantization.fake_quant_with_min_max_args(tf.nn.relu(x), name="y")
        with tf1.Session() as session:
            tf1.saved_model.simple_save(session, str(tmp_path / "saved"), {"x": x}, {"y": y})
    ed = gs.open(tmp_path / "saved")
    ed.apply(gs.recipes.strip_quantization(ed))
    assert ed.outputs == {"y": "y:0"}
    ed.undo()
    assert ed.outputs == {"y": "y:0"}


def test_the_weights_of_the_old_head_go_even_if_a_noop_waits_for_their_reads():
    """As in a frozen TF2 function, whose last op waits for all reads of variables."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        weights, bias = (tf.identity(tf.ones(shape), name=name) for name, shape in (("w", [4, 5]), ("b", [5])))
        y = tf.nn.softmax(tf.nn.bias_add(tf.matmul(x, weights, name="logits"), bias), name="y")
        with tf.control_dependencies([tf.group(weights.op, bias.op, name="done")]):
            tf.identity(y, name="answer")
    after = gs.recipes.replace_head(gs.open(graph), 3).after()
    assert {"w", "b", "logits"}.isdisjoint(after.names)
    assert {"done", "y", "answer"} <= set(after.names)
