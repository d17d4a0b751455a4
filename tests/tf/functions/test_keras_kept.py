"""The table of the guide to saving: what a layer or model made from a Keras model keeps, and what its notes name."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import graphsurgeon as gs
from tests.keras_things import CELLS, DEEP, DOORS, QUICK, ROWS, THINGS, Scaled, cell, chain, dense, freeze, trained

layers = keras.layers

QUICK_DOORS = [*QUICK, *(pytest.param(door, marks=pytest.mark.deep) for door in DEEP)]


@pytest.mark.parametrize("door", QUICK_DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("name", THINGS)
def test_each_is_kept_or_named(name, door, tmp_path):
    assert cell(name, door, tmp_path)[0] == CELLS[name][DOORS.index(door)]


def test_a_layer_learns_as_the_model_does():
    def model():
        keras.utils.set_random_seed(0)
        body = dense(kernel_regularizer="l2", activity_regularizer="l1", kernel_constraint="non_neg")
        made = chain(body, Scaled(name="scaled"), layers.Dense(6, name="adapted"), layers.Dense(6, name="frozen"))
        made.get_layer("adapted").enable_lora(2)
        freeze(made.get_layer("frozen"))
        return made

    histories = []
    for one in (model(), keras.Sequential([keras.Input((6,)), gs.open(model()).keras_layer()])):
        one.compile(keras.optimizers.SGD(0.01), "mse")
        histories.append(one.fit(ROWS, np.ones((4, 2)), epochs=3, shuffle=False, verbose=0).history["loss"])
    np.testing.assert_allclose(*histories, rtol=1e-5)
    assert histories[0][0] != histories[0][-1]


def test_a_model_of_keras_2_in_a_layer_of_keras_3():
    keras_2 = tf_keras.layers
    body = keras_2.Dense(8, activity_regularizer="l2", kernel_regularizer="l2", kernel_constraint="non_neg")
    made = gs.open(tf_keras.Sequential([tf_keras.Input((6,), name="x"), body])).keras_layer()
    made(ROWS)
    assert len(made.losses) == 1
    assert [note.split(",")[0] for note in made.notes] == [
        "'dense/kernel' loses its regularizer 'L2'",
        "'dense/kernel' loses its constraint 'NonNeg'",
    ]


FROZEN = [name for name, thing in THINGS.items() if thing.probe is trained]


@pytest.mark.parametrize("name", FROZEN)
def test_functions_and_saved_folders_train_the_same_weights(name, tmp_path):
    model = THINGS[name].make()
    want = sorted(tuple(w.shape) for w in model.trainable_weights)
    ed = gs.open(model)
    assert sorted(tuple(v.shape) for v in ed.function().trainable_variables) == want
    ed.save(tmp_path / "folder")
    again = gs.open(tmp_path / "folder").keras_layer()
    assert sorted(tuple(w.shape) for w in again.trainable_weights) == want


def test_a_function_that_calls_a_frozen_layer_does_not_train_it():
    body = dense()
    body(ROWS)
    freeze(body)
    weight = tf.Variable(2.0)
    ed = gs.open(tf.function(lambda x: body(x) * weight), signature=tf.TensorSpec([None, 6], name="x"))
    assert [v.shape.rank for v in ed.function().trainable_variables] == [0]


def test_a_loss_of_a_region_is_that_of_its_layers():
    model = chain(dense(activity_regularizer=lambda y: keras.ops.sum(y) * 1.0, activation="relu"))
    ed = gs.open(model)
    assert ed.keras_layer("body", "head").notes == ()
    inside = next(name for name in ed.layer("body").ops if name.endswith("MatMul"))
    part = ed.keras_layer(f"{inside}:0", "head")
    assert len(part.losses) == 0
    part(np.ones((2, 8), np.float32))
    assert len(part.losses) == 1


class Watches(layers.Layer):
    """Adds a loss, and returns its input."""

    def call(self, x):
        self.add_loss(keras.ops.sum(x))
        return x


def test_a_layer_that_only_adds_a_loss_still_adds_it():
    made = gs.open(chain(Watches(name="watches"))).keras_layer()
    made(ROWS)
    np.testing.assert_allclose(made.losses, [ROWS.sum()], rtol=1e-5)


def plan_of_three(model, places):
    ed = gs.open(model)
    plan = ed.plan()
    for place in places:
        plan = plan.insert("Tanh", on=ed.layer(place).outputs[0], name=f"new_{place}")
    ed.apply(plan)
    return ed


def test_ops_in_three_places_keep_every_layer_between_them():
    x = hidden = keras.Input((6,), name="x")
    for n in range(5):
        hidden = layers.Dense(6, "relu", name=f"d{n}")(hidden)
    hidden = layers.Dropout(0.5, name="drop")(hidden)
    side = layers.Dense(6, name="side")(x)
    model = keras.Model(x, layers.Dense(2, name="head")(layers.Add(name="add")([hidden, side])))
    ed = plan_of_three(model, ("d0", "d2", "d4"))
    new = ed.keras_model()
    assert all(any(one is other for other in new.layers) for one in model.layers)
    assert new.surgery.new_layers == ("rebuilt", "rebuilt_2", "rebuilt_3")
    assert not new.surgery.rebuilt_layers
    want = ed.session().run(next(iter(ed.outputs.values())), {"x:0": ROWS})
    np.testing.assert_allclose(new(ROWS), want, rtol=1e-5)
    assert np.abs(np.asarray(new(ROWS, training=True)) - want).max() > 1e-3


def test_a_layer_with_a_custom_gradient_is_kept_next_to_a_change():
    """A changed graph has its own copy of the gradient, under another name."""
    model = chain(layers.Dense(6, "silu", name="first"), layers.Dense(6, "silu", name="second"))
    new = plan_of_three(model, ("first",)).keras_model()
    assert not new.surgery.rebuilt_layers
    assert new.surgery.kept_layers == ("first", "second", "head")


def test_regions_with_the_same_variable_are_one_layer():
    x = keras.Input((4,), name="x")
    shared, rest = layers.Dense(4, name="shared"), layers.Dense(4, name="middle")
    model = keras.Model(x, layers.Dense(2, name="head")(shared(rest(shared(x)))))
    ed = gs.open(model)
    ed.apply(ed.plan().insert("Tanh", on=f"{ed.layer('shared').calls[0].ops[-2]}:0", name="new"))
    new = ed.keras_model()
    assert new.surgery.new_layers == ("rebuilt",)
    assert "both need 'shared/kernel'" in new.surgery.rebuilt_layers["middle"]
    assert len(new.weights) == len(model.weights)
    rows = ROWS[:, :4]
    want = ed.session().run(next(iter(ed.outputs.values())), {"x:0": rows})
    np.testing.assert_allclose(new(rows), want, rtol=1e-5)


class Mine(keras.Model):
    """A model with its own class."""


def test_the_class_of_a_model_is_named_and_its_dtype_policy_is_kept():
    x = keras.Input((6,), name="x")
    model = Mine(x, layers.Dense(2, name="head", dtype="mixed_float16")(x), name="mine")
    model.dtype_policy = "mixed_float16"
    new = gs.open(model).keras_model()
    assert new.dtype_policy.name == "mixed_float16"
    assert new.surgery.notes == ("the class 'Mine' is not kept: the new model is a keras.Model",)


def two_ends():
    """Returns a model of two inputs and two outputs that share a layer."""
    a, b = keras.Input((6,), name="a"), keras.Input((6,), name="b")
    shared = layers.Dense(3, name="shared")
    return keras.Model([a, b], [layers.Dense(2, name="left")(shared(a)), layers.Dense(2, name="right")(shared(b))])


def count(ed, folder):
    """Returns the number of variables that each door gives."""
    ed.save(folder / "saved")
    ways = [ed.keras_layer(), ed.keras_model(), ed.function(), tf.saved_model.load(str(folder / "saved"))]
    return [len(one.variables) for one in ways]


def test_two_ends_stay_shared(tmp_path):
    model = two_ends()
    ed = gs.open(model)
    assert count(ed, tmp_path) == [6] * 4
    left, right = ed.keras_model("a", "left"), ed.keras_model("b", "right")
    assert left.get_layer("shared") is right.get_layer("shared") is model.get_layer("shared")


@pytest.mark.parametrize("how", ["connect", "merge"])
def test_models_that_share_a_layer_share_it_after_they_are_joined(how, tmp_path):
    model = two_ends()
    one, two = (gs.open(keras.Model(x, y)) for x, y in zip(model.inputs, model.outputs, strict=True))
    whole = gs.connect({"first": one, "second": two}) if how == "connect" else gs.recipes.merge(one, two, "beside")
    assert [name for name in whole.snapshot.names if name.startswith("second/shared/")] == []
    feeds = {"first/a:0": ROWS, "second/b:0": ROWS}
    for got, want in zip(whole.session().run(list(whole.outputs.values()), feeds), model([ROWS, ROWS]), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
    assert count(whole, tmp_path) == [6] * 4
    apart = gs.connect({"first": one, "second": two}, variables={"*": "copy"})
    assert len(apart.snapshot.state.variables) == 8


def test_a_shared_variable_with_two_values_is_copied_and_named():
    model = two_ends()
    parts = [keras.Model(x, y) for x, y in zip(model.inputs, model.outputs, strict=True)]
    one = gs.open(parts[0])
    model.get_layer("shared").bias.assign(tf.ones([3]))
    with pytest.warns(UserWarning, match="'second/shared/bias' of several models, with different values"):
        whole = gs.connect({"first": one, "second": gs.open(parts[1])})
    assert len(whole.snapshot.state.variables) == 7


@pytest.mark.parametrize(("call", "kind"), [("keras_layer", "layer"), ("function", "function")])
def test_a_second_layer_or_function_of_the_same_variables_names_the_first(call, kind):
    make = getattr(gs.open(two_ends()), call)
    first, second = make("a", "left", name="one"), make("b", "right", name="two")
    assert first.notes == ()
    assert second.notes == (
        f"separate from the weights of {kind} 'one', which has the same: 'shared.kernel', 'shared.bias'. "
        f"For shared weights, make one {kind} with all outputs",
    )


def test_a_layer_of_the_graph_of_training_names_what_it_computes_in_inference():
    model = THINGS["dropout and noise in training"].make()
    inference, training = gs.open(model), gs.open(model, training=True)
    assert training.keras_layer().notes[0] == (
        "computed in inference as in training: 'body'. To change this, apply the same plan to gs.open(model), and "
        "call its keras_layer with this editor as training="
    )
    layer = inference.keras_layer(training=training)
    assert layer.notes == ()
    assert np.abs(np.asarray(layer(ROWS, training=True)) - np.asarray(layer(ROWS))).max() > 1e-3
