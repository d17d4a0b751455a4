"""What a model takes and gives."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.recipes.models import numbers, ran, refusal

tf1 = tf.compat.v1


def network():
    """A trained network with a flag, and its values."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        rate = tf1.placeholder_with_default(0.0, [], name="rate")
        scale = tf1.placeholder(tf.float32, [], name="scale")
        w = tf1.get_variable("w", [4, 3], initializer=tf1.random_normal_initializer(seed=1))
        a = tf.nn.relu(tf.matmul(x, w), name="block/a")
        tf.nn.softmax(tf.nn.dropout(a, rate=rate) * scale, name="y")
        session = tf1.Session()
        session.run(tf1.global_variables_initializer())
    return gs.open(session)


def served(path, **feeds):
    """What plain TensorFlow says that a SavedModel gives."""
    model = tf.saved_model.load(str(path))
    return {key: array.numpy() for key, array in model.signatures["serving_default"](**feeds).items()}


def test_a_tensor_within_is_an_output_of_its_own():
    ed = network()
    done = ed.apply(gs.recipes.add_output(ed, "block/a", "features"))
    assert done.plan.mode == "append"
    x = numbers(2, 4)
    np.testing.assert_array_equal(ran(ed, "features:0", x=x), ran(ed, "block/a:0", x=x))
    ed.undo()
    assert "features" in ed.orphans


def test_an_output_goes_into_what_tensorflow_serves(tmp_path):
    ed = network()
    ed.apply(gs.recipes.add_output(ed, "block/a:0", "features"))
    model = gs.recipes.set_signature(ed, {"scores": "y:0", "features": "features:0"})
    assert model.inputs == {"x": "x:0", "scale": "scale:0"}  # the rate keeps its default
    model.save(tmp_path / "model")
    x = numbers(3, 4)
    got = served(tmp_path / "model", x=tf.constant(x), scale=tf.constant(2.0))
    np.testing.assert_array_equal(got["features"], ran(ed, "block/a:0", x=x))
    np.testing.assert_allclose(got["scores"], ran(ed, x=x, scale=2.0), rtol=1e-6)
    again = gs.open(tmp_path / "model")
    assert set(again.outputs) == {"scores", "features"}
    both = gs.recipes.set_signature(again, {**again.outputs, "sum": again.outputs["features"]})
    assert set(both.outputs) == {"scores", "features", "sum"}  # one tensor under two names
    assert both.outputs["sum"] == both.outputs["features"]
    both.save(tmp_path / "both", format="saved_model_tf2")
    assert set(served(tmp_path / "both", x=tf.constant(x), scale=tf.constant(2.0))) == {
        "scores", "features", "sum",
    }  # fmt: skip


def test_inputs_are_named_and_what_computes_them_stays_out():
    ed = network()
    head = gs.recipes.set_signature(ed, {"scores": "y:0"}, {"features": "block/a:0", "by": "scale:0", "rate": "rate:0"})
    assert head.inputs == {"features": "block/a:0", "by": "scale:0", "rate": "rate:0"}
    assert not {"x", "w", "MatMul"} & set(head.snapshot.names)
    got = head.session().run("y:0", {"block/a:0": [[0.0, 0.0, 0.0]], "scale:0": 1.0, "rate:0": 0.0})
    np.testing.assert_allclose(got, np.full((1, 3), 1 / 3), rtol=1e-6)
    assert len(ed) > len(head)


def test_values_that_nobody_trained_stay_untrained():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        tf.identity(x * tf1.get_variable("w", initializer=2.0), name="y")
    assert set(gs.recipes.set_signature(gs.open(graph), "y:0").untrained()) == {"w"}


def test_a_result_that_a_plan_has_renamed_keeps_its_key(tmp_path):
    ed = network()
    model = gs.recipes.set_signature(ed, {"scores": "y:0"})
    model.apply(model.plan().rename({"y": "head/y", "x": "image"}))
    again = gs.recipes.set_signature(model, {"a": "block/a:0"})
    assert again.inputs == {"x": "image:0"}
    again = gs.recipes.set_signature(model, None)
    assert (again.outputs, again.inputs["x"]) == ({"scores": "head/y:0"}, "image:0")


@pytest.mark.parametrize(
    ("outputs", "inputs", "why"),
    [
        (
            "y:0",
            ["x:0"],
            "the ops that compute 'y:0' also read 'scale:0', which no input feeds.\nAdd it: inputs=['x:0', 'scale:0'].",
        ),
        ("block/a:0", ["x:0", "scale:0"], "no output needs 'scale:0'.\nLeave it out: inputs=['x:0']."),
        (None, None, "no outputs were given.\nType outputs=[...]; nothing reads"),
    ],
    ids=["more is needed", "not needed", "no outputs"],
)
def test_what_does_not_fit_is_named(outputs, inputs, why):
    said = refusal(gs.PlanError, gs.recipes.set_signature, network(), outputs, inputs)
    assert said.startswith(f"set_signature(): {why}"), said


def test_a_plan_has_no_signature():
    ed = network()
    plan = gs.recipes.add_output(ed, "block/a:0", "features")
    said = refusal(gs.PlanError, gs.recipes.set_signature, plan, "features:0")
    assert said == "set_signature(): a plan is not a model.\nGive the editor, after ed.apply(plan)."


@pytest.mark.parametrize(
    ("tensor", "name", "why"),
    [
        (
            "block/a",
            "y",
            "add_output('block/a:0', 'y'): the name 'y' is taken in graph.\nType name='y_2', which is free.",
        ),
        (
            "block/a",
            "a b",
            "add_output('block/a:0', 'a b'): 'a b' is not a name of an op: ' ' is not allowed in it.\n"
            "Use letters, digits, '_', '.', '-' and '/' between parts, for example 'a_b'.",
        ),
        (
            "block/a",
            "",
            "add_output('block/a:0', ''): '' is not a name of an op: it is empty.\n"
            "Use letters, digits, '_', '.', '-' and '/' between parts, for example 'other'.",
        ),
    ],
)
def test_a_name_that_is_no_name_is_refused(tensor, name, why):
    assert refusal(gs.PlanError, gs.recipes.add_output, network(), tensor, name) == why


def test_a_handle_is_no_output():
    with tf.Graph().as_default() as graph:
        tf1.get_variable("w", initializer=1.0, use_resource=True)
    said = refusal(gs.PlanError, gs.recipes.add_output, gs.open(graph), "w:0", "out")
    assert said.startswith("add_output('w:0', 'out'): 'w:0' is of dtype resource, which has no numbers to fetch.")


def test_a_tensor_that_is_not_there_is_refused():
    assert "'nowhere:0'" in refusal(gs.SelectionError, gs.recipes.add_output, network(), "nowhere", "out")
