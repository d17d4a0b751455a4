"""Two models as one: one after the other, side by side, and on the same inputs."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.recipes.models import numbers, refusal

tf1 = tf.compat.v1


def bare(wide, out, *, taken="x", given="y"):
    """The editor of a graph that has no signature."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, wide], name=taken)
        tf.matmul(x, tf.constant(numbers(wide, out, seed=out)), name=given)
    return gs.open(graph)


def served(path, wide, out):
    """Writes a SavedModel of TF2 with a variable, and returns where it lies."""

    class Dense(tf.Module):
        @tf.function
        def __call__(self, x):
            return {"scores": tf.nn.relu(tf.matmul(x, self.w))}

    module = Dense()
    module.w = tf.Variable(numbers(wide, out, seed=7))
    call = module.__call__.get_concrete_function(tf.TensorSpec([None, wide], tf.float32, name="x"))
    tf.saved_model.save(module, str(path), signatures=call)
    return str(path)


def run(ed, **feeds):
    """What a merged model gives, by the names of its signature."""
    given = ed.session().run(ed.outputs, {ed.inputs[key]: value for key, value in feeds.items()})
    return dict(given)


def test_one_after_the_other_with_a_saved_model_of_tf2(tmp_path):
    x, two = numbers(5, 4), served(tmp_path / "two", 3, 2)
    whole = gs.recipes.merge(bare(4, 3, given="features"), two)
    assert (list(whole.inputs), list(whole.outputs)) == (["x"], ["scores"])
    want = np.maximum(x @ numbers(4, 3, seed=3) @ numbers(3, 2, seed=7), 0)
    np.testing.assert_allclose(run(whole, x=x)["scores"], want, rtol=1e-5)
    whole.save(tmp_path / "whole")
    again = tf.saved_model.load(str(tmp_path / "whole")).signatures["serving_default"]
    np.testing.assert_allclose(again(x=tf.constant(x))["scores"], want, rtol=1e-5)


def test_side_by_side_each_keeps_its_inputs():
    whole = gs.recipes.merge(bare(4, 3), bare(4, 2), "beside", names=("a", "b"))
    assert whole.inputs == {"a_x": "a/x:0", "b_x": "b/x:0"}
    assert whole.outputs == {"a_y": "a/y:0", "b_y": "b/y:0"}
    got = run(whole, a_x=numbers(1, 4), b_x=numbers(2, 4))
    assert [value.shape for value in got.values()] == [(1, 3), (2, 2)]


def test_side_by_side_on_one_input():
    whole = gs.recipes.merge(bare(4, 3), bare(4, 2), "shared")
    assert whole.inputs == {"x": "first/x:0"}
    got = run(whole, x=numbers(2, 4))
    np.testing.assert_allclose(got["second_y"], numbers(2, 4) @ numbers(4, 2, seed=2), rtol=1e-5)
    np.testing.assert_allclose(got["first_y"], numbers(2, 4) @ numbers(4, 3, seed=3), rtol=1e-5)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"how": "behind"}, "how='behind' is not valid"),
        ({"names": "ab"}, "names='ab' is not a pair of names"),
        ({"how": "beside", "connections": {"y": "other"}}, "how='beside' connects nothing, but connections are given"),
        ({"how": "shared"}, "no input of 'first', 'x', has the same name as an input of 'second'"),
    ],
    ids=["no way", "no names", "joined and not", "nothing shared"],
)
def test_what_does_not_fit_says_why(more, why):
    first, second = bare(4, 3), bare(3, 2, taken="other")
    assert refusal(gs.PlanError, lambda: gs.recipes.merge(first, second, **more)).startswith(f"merge(): {why}")


def test_which_output_feeds_which_input_is_asked():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        tf.negative(x, name="a")
        tf.exp(x, name="b")
    said = refusal(gs.PlanError, gs.recipes.merge, gs.open(graph), bare(4, 2, taken="into"))
    assert said == (
        "merge(): the connections are ambiguous between the outputs 'a', 'b' and the inputs 'into'.\n"
        "Type connections={'a': 'into'}."
    )
    whole = gs.recipes.merge(gs.open(graph), bare(4, 2, taken="into"), connections={"b": "into"})
    assert list(whole.outputs) == ["a", "y"]
