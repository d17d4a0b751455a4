"""A graph as a Keras model again: the layers that no plan touched are the same objects, and the rest is said."""

from __future__ import annotations

import random
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from tests.graphs import tiny
from tests.needs import ROOT
from tests.refusal import refuses
from tests.tf.functions.test_keras_layer import IMAGES, TARGETS, blocks, trained

tf1 = tf.compat.v1


def rerouted(model, old, new):
    """Returns an editor of a model in which what reads the result of one layer reads that of another."""
    ed = gs.open(model)
    a, b = (ed.layer(name).outputs[0] for name in (old, new))
    ed.apply(ed.plan().reroute(a, to=b))
    return ed


def inserted(model, layer, kind="Tanh"):
    """Returns an editor of a model with an op behind a layer."""
    ed = gs.open(model)
    ed.apply(ed.plan().insert(kind, on=ed.layer(layer).outputs[0], name="new"))
    return ed


def same(new, ed, *given):
    """Asserts that a model gives what the graph gives."""
    feeds = dict(zip(ed.inputs.values(), given, strict=True))
    got = tf.nest.flatten(new(given[0] if len(given) == 1 else list(given)))
    for a, b in zip(got, ed.session().run(list(ed.outputs.values()), feeds), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def kept(new, model):
    """Returns the names of the layers of a model that are in another, and asserts that the model says the same."""
    names = tuple(one.name for one in model.layers if any(one is other for other in new.layers))
    assert new.surgery.kept_layers == names
    assert set(new.surgery.rebuilt_layers) == {one.name for one in model.layers} - set(names)
    return names


def test_of_a_graph_that_nobody_touched_all_layers_are_kept():
    model, other = blocks(dropout=0.5), blocks(dropout=0.5)
    new = gs.open(model).keras_model()
    assert kept(new, model) == tuple(one.name for one in model.layers)
    assert all(a is b for a, b in zip(new.layers, model.layers, strict=True))
    assert not new.surgery.new_layers
    for one in (new, other):
        one.compile(keras.optimizers.SGD(0.1), "mse")
    assert trained(new) == trained(other)
    np.testing.assert_array_equal(new(IMAGES), other(IMAGES))
    np.testing.assert_array_equal(model(IMAGES), other(IMAGES))


def test_what_is_before_and_behind_an_op_that_is_inserted_is_kept():
    model = blocks()
    ed = inserted(model, "b1_add")
    new = ed.keras_model(name="cut")
    assert kept(new, model) == tuple(one.name for one in model.layers)
    assert (new.name, new.surgery.new_layers) == ("cut", ("rebuilt",))
    assert new.get_layer("rebuilt").weights == []
    same(new, ed, IMAGES)
    assert str(new.surgery).splitlines()[1] == "'rebuilt' computes the rest"


def test_a_layer_that_is_bypassed_is_not_there_and_nothing_is_rebuilt():
    model = blocks()
    ed = rerouted(model, "b1_relu", "b1_conv")
    new = ed.keras_model()
    assert set(new.surgery.rebuilt_layers) == {"b1_bn", "b1_relu"}
    assert not new.surgery.new_layers
    assert new.surgery.rebuilt_layers["b1_bn"] == "the outputs do not need it"
    same(new, ed, IMAGES)


FRESH = """
import sys, numpy as np, keras
from graphsurgeon import GraphLayer
folder = sys.argv[1]
model = keras.models.load_model(folder + "/model.keras")
x, y = np.load(folder + "/x.npy"), np.load(folder + "/y.npy")
np.save(folder + "/found.npy", model(x))
model.compile(keras.optimizers.SGD(0.1), "mse")
np.save(folder + "/losses.npy", model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history["loss"])
"""


def opened_up(model):
    """Returns an editor of a model with an op inside a layer that changes nothing."""
    ed = gs.open(model)
    ed.apply(ed.plan().insert("Identity", on=f"{ed.layer('b1_bn').ops[-2]}:0", name="inside"))
    return ed


@pytest.mark.deep
def test_a_part_is_rebuilt_trained_saved_and_loaded_in_a_fresh_process(tmp_path):
    model = blocks()
    ed = opened_up(model)
    new = ed.keras_model()
    assert set(new.surgery.rebuilt_layers) == {"b1_bn"}
    assert "/batchnorm/" in new.surgery.rebuilt_layers["b1_bn"]
    assert "computed in training as in inference: 'b1_bn'" in str(new.surgery)
    rebuilt = new.get_layer("rebuilt")
    assert (len(rebuilt.weights), len(rebuilt.trainable_weights), new.count_params()) == (4, 2, model.count_params())
    same(new, ed, IMAGES)
    before = [w.numpy() for w in new.trainable_weights]
    losses = trained(compiled(new))
    assert losses[-1] < losses[0]
    assert all((a != w.numpy()).any() for a, w in zip(before, new.trainable_weights, strict=True))
    new.save(tmp_path / "model.keras")
    np.save(tmp_path / "x.npy", IMAGES)
    np.save(tmp_path / "y.npy", TARGETS)
    done = subprocess.run(
        [sys.executable, "-c", FRESH, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    np.testing.assert_array_equal(np.load(tmp_path / "found.npy"), new(IMAGES))
    np.testing.assert_array_equal(np.load(tmp_path / "losses.npy"), trained(compiled(new), epochs=2))


def compiled(model):
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model


@pytest.mark.parametrize("layer", ["b1_bn", "b1_drop", "b2_add"])
def test_what_is_rebuilt_does_in_training_what_an_editor_of_that_says(layer):
    """Training steps are those of the model, its moving averages and its random numbers included."""
    model, by_hand = blocks(dropout=0.5), blocks(dropout=0.5)
    ed = opened_up(model)
    if layer != "b1_bn":
        ed.apply(ed.plan().insert("Identity", on=ed.layer(layer).outputs[0], only=ed.layer("b2_add").ops, name="more"))
    new = ed.keras_model(training=gs.open(model, training=True))
    assert "in training" not in str(new.surgery)
    np.testing.assert_allclose(trained(compiled(new)), trained(compiled(by_hand)), rtol=1e-6)
    np.testing.assert_allclose(new(IMAGES), by_hand(IMAGES), rtol=1e-5)


def test_a_layer_that_was_frozen_stays_frozen_where_it_is_rebuilt():
    model = blocks()
    model.get_layer("b1_bn").trainable = False
    new = opened_up(model).keras_model()
    assert not new.get_layer("rebuilt").trainable_weights
    assert len(new.get_layer("rebuilt").weights) == 4


def test_a_layer_whose_variables_hold_something_else_by_now_is_rebuilt():
    model = blocks()
    ed = gs.open(model)
    want = model(IMAGES).numpy()
    model.get_layer("b1_bn").gamma.assign(tf.zeros([4]))
    new = ed.keras_model()
    assert set(new.surgery.rebuilt_layers) == {"b1_bn"}
    assert "gamma' has another value in the model than in the graph" in new.surgery.rebuilt_layers["b1_bn"]
    np.testing.assert_allclose(new(IMAGES), want, rtol=1e-5)


def test_names_do_not_matter():
    model = blocks()
    ed = gs.open(model)
    scope = ed.layer("b1_bn").ops[0].split("/")[0]
    ed.apply(ed.plan().rename(scope, "renamed").rename("image", "picture"))
    assert ed.layer("b1_bn").ops[0].startswith("renamed/")
    new = ed.keras_model()
    assert not new.surgery.rebuilt_layers
    np.testing.assert_array_equal(new(IMAGES), model(IMAGES))


def operators(k=keras):
    """Returns a model with operators, a layer that is called twice, one that gives two tensors, and a nested model."""
    k.utils.set_random_seed(3)
    inner = k.Sequential([k.Input((4,)), k.layers.Dense(4, name="deep"), k.layers.ReLU(name="bend")], name="inner")
    a, b = k.Input((4,), name="a"), k.Input((4,), name="b")
    shared = k.layers.Dense(4, name="shared")
    x = shared(a) + shared(b) * 2.0
    y = k.layers.LeakyReLU(name="leaky")(inner(x)) - x
    ends = [k.layers.Dense(2, name="left")(y), k.layers.Dense(3, name="right")(x)]
    return k.Model({"a": a, "b": b}, ends, name="ops")


ROWS = [np.random.RandomState(n).rand(5, 4).astype(np.float32) for n in range(2)]
PACKAGES = pytest.mark.parametrize("k", [keras, tf_keras], ids=["keras 3", "keras 2"])


@PACKAGES
def test_operators_are_kept_as_layers_are(k):
    model = operators(k)
    ed = rerouted(model, "leaky", "inner")
    new = ed.keras_model()
    assert new.surgery.rebuilt_layers == {"leaky": "the outputs do not need it"}
    assert isinstance(new, k.Model)
    for got, want in zip(new({"a": ROWS[0], "b": ROWS[1]}), ed.session().run(
        list(ed.outputs.values()), {"a:0": ROWS[0], "b:0": ROWS[1]}
    ), strict=True):  # fmt: skip
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_a_layer_is_kept_only_where_all_its_calls_are():
    """Else its weights would be there twice, and be trained apart."""
    model = operators()
    ed = gs.open(model)
    first = ed.layer("shared").calls[0]
    ed.apply(ed.plan().insert("Identity", on=f"{first.ops[-2]}:0", name="inside"))
    new = ed.keras_model()
    assert "shared" in new.surgery.rebuilt_layers
    assert set(new.surgery.kept_layers) >= {"a", "b", "left", "right"}
    assert len(new.weights) == len(model.weights)


def test_a_nested_model_is_kept_or_rebuilt_as_one():
    model = operators()
    new = inserted(model, "inner/deep").keras_model()
    assert "inner" in new.surgery.rebuilt_layers
    assert "bend" in new.surgery.rebuilt_layers["inner"]
    assert "leaky" in new.surgery.kept_layers


def test_other_inputs_and_outputs():
    model = blocks()
    ed = gs.open(model)
    tail = ed.keras_model("b0_relu", "head")
    head = ed.keras_model(outputs={"cut": "b0_relu", "all": "head"})
    got = head(IMAGES)
    assert head.surgery.kept_layers == tuple(one.name for one in model.layers)
    np.testing.assert_allclose(tail(got["cut"]), got["all"], rtol=1e-5)
    assert tail.surgery.rebuilt_layers["b0_conv"] == "the outputs do not need it"
    assert tail.surgery.rebuilt_layers["image"] == "another input of the model replaces it"
    assert not tail.surgery.new_layers
    np.testing.assert_allclose(got["all"], model(IMAGES), rtol=1e-5)


@PACKAGES
def test_a_mask_that_goes_past_what_is_rebuilt_is_not_lost(k):
    """Keras 3 passes it on as an argument, so that the layer behind is kept; in Keras 2 that is rebuilt."""
    k.utils.set_random_seed(1)
    steps = [k.Input((5,), dtype="int32", name="ids"), k.layers.Embedding(9, 4, mask_zero=True, name="words"),
             k.layers.Dense(4, name="dense"), k.layers.LSTM(3, name="lstm"), k.layers.Dense(2, name="out")]  # fmt: skip
    model = k.Sequential(steps, name="masked")
    ids = np.array([[1, 2, 3, 0, 0], [4, 5, 0, 0, 0]], np.int32)
    assert gs.open(model).keras_model().surgery.rebuilt_layers == {}
    ed = inserted(model, "dense", "Tanh")
    if k is tf_keras:
        with refuses(PlanError, "the model is a Keras 2 model"):  # there is something to rebuild
            ed.keras_model()
        return
    new = ed.keras_model()
    assert set(new.surgery.kept_layers) == {"words", "dense", "lstm", "out"}
    same(new, ed, ids)


class Written(keras.Model):
    """A model that is written as a class."""

    def __init__(self):
        super().__init__(name="written")
        self.dense = keras.layers.Dense(3)

    def call(self, x):
        return self.dense(x) * 2.0


def test_where_nothing_says_how_layers_are_connected_one_layer_computes_it_all():
    model = Written()
    model(ROWS[0])
    new = gs.open(model).keras_model()
    assert str(new.surgery) == (
        "'rebuilt' computes everything\nno layers are kept: it is not known how the layers of 'written' are connected: "
        "it is written as a class, or not built\nthe class 'Written' is not kept: the new model is a keras.Model"
    )
    np.testing.assert_array_equal(new(ROWS[0]), model(ROWS[0]))
    assert [w.name for w in new.weights] == [w.path.replace("/", ".") for w in model.weights]
    new = gs.open(tiny()).keras_model("x:0", "z:0")
    assert "was not opened from a Keras model" in str(new.surgery)
    np.testing.assert_array_equal(new(np.array([[1.0, 2.0]])), [[2.0, 5.0]])


def test_a_keras_file_gives_a_model_of_its_own(tmp_path):
    model = blocks()
    model.save(tmp_path / "net.keras")
    ed = inserted(tmp_path / "net.keras", "b1_add")
    new = ed.keras_model()
    assert new.surgery.kept_layers == tuple(one.name for one in model.layers)
    assert new.get_layer("head") is not model.get_layer("head")
    same(new, ed, IMAGES)


def test_what_is_refused():
    ed = gs.open(blocks())
    with refuses(SelectionError, "keras_model(outputs='hed')", "'head'"):
        ed.keras_model(outputs="hed")
    with refuses(PlanError, "keras_model(outputs='", "do not depend on any input", "name other outputs"):
        ed.keras_model(outputs=ed.layer("b1_bn").variables[0])
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        tf.square(x, name="y")
    with refuses(PlanError, "keras_model(outputs='y'): the input 'x:0' has no dimension", "use ed.keras_layer"):
        gs.open(graph).keras_model("x", "y")
    old = operators(tf_keras)
    ed = inserted(old, "leaky")
    with refuses(PlanError, "the model is a Keras 2 model, but tf.keras is Keras 3 here",
                 "TF_USE_LEGACY_KERAS=1"):  # fmt: skip
        ed.keras_model()


@pytest.mark.parametrize("seed", range(6))
def test_any_edit_of_any_tensors_gives_what_the_graph_gives(seed):
    """Tensors of one shape change places or get ops behind them, anywhere: inside layers too."""
    chance = random.Random(seed)
    model = blocks()
    ed = gs.open(model)
    shape = (None, 6, 6, 4)
    for number in range(chance.randint(1, 3)):
        graph = ed.snapshot
        live = [i for i in ed.select(outputs=list(ed.outputs.values())).numbers if graph.types[i] != "Placeholder"]
        fit = [graph.names[i] for i in live if (known := graph.info(i, 0)) and known.shape == shape]
        if chance.random() < 0.5:
            plan = ed.plan().insert("Softplus", on=f"{chance.choice(fit)}:0", name=f"new{number}")
        else:
            first, second = sorted(chance.sample(range(len(fit)), 2))
            plan = ed.plan().reroute(f"{fit[second]}:0", to=f"{fit[first]}:0")
        if not plan.check():
            ed.apply(plan)
    new = ed.keras_model()
    kept(new, model)
    same(new, ed, IMAGES)
    assert len(new.weights) <= len(model.weights)
    here = {id(v) for one in model.layers if any(one is other for other in new.layers) for v in one.variables}
    assert here <= {id(v) for v in new.variables}


def test_a_layer_that_gives_another_dtype_than_keras_foretells_is_kept_before_what_is_rebuilt():
    """Of one-hot words Keras says that they are float32, and they are int64."""
    word = keras.Input((1,), dtype="string", name="word")
    which = keras.layers.StringLookup(vocabulary=["a", "b"], output_mode="one_hot", name="which")
    model = keras.Model(word, keras.layers.Dense(2, name="dense")(which(word)))
    assert model.get_layer("which").output.dtype == "float32"
    ed = gs.open(model)
    model.get_layer("dense").kernel.assign(tf.ones([3, 2]))
    new = ed.keras_model()
    assert (set(new.surgery.kept_layers), set(new.surgery.rebuilt_layers)) == ({"word", "which"}, {"dense"})
    feeds = {"word:0": [["a"], ["x"]]}
    np.testing.assert_array_equal(new(tf.constant([["a"], ["x"]])), ed.session().run(ed.outputs["output"], feeds))


class Unregistered(keras.layers.Layer):
    """A layer that a program must have to load it."""

    def call(self, x):
        """Doubles its input."""
        return 2 * x


@pytest.mark.parametrize("several", [False, True], ids=["one", "dicts"])
def test_an_edited_model_is_saved_as_a_keras_file(several, tmp_path):
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="a")
    body = keras.layers.ReLU(name="relu")(Unregistered()(x))
    out = keras.layers.Dense(2, name="head")(body)
    if several:
        model = keras.Model({"x": x, "a": y}, {"z": out, "b": keras.layers.Subtract(name="less")([x, y])})
    else:
        model = keras.Model(x, out)
    ed, path = inserted(model, "relu"), tmp_path / "edited.keras"
    saved = ed.save(path)
    assert (saved.format, len(saved.variables)) == ("keras", 2)
    assert saved.proof.startswith(f"loaded again by Keras: {1 + several} output")
    assert "a program that loads it must give these classes as custom_objects: Unregistered, GraphLayer" in saved.notes
    again = keras.models.load_model(path, custom_objects={"Unregistered": Unregistered})
    given = {"x": IMAGES[:3, :4, 0, 0], "a": np.ones((3, 4), np.float32)}
    got, want = (one(given if several else given["x"]) for one in (again, ed.keras_model()))
    tf.nest.map_structure(np.testing.assert_array_equal, got, want)
    assert list(tmp_path.iterdir()) == [path]


def test_a_keras_file_needs_its_suffix_and_is_fed_at_its_inputs(tmp_path):
    ed = gs.open(keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, "relu"), keras.layers.Dense(2)]))
    with refuses(PlanError, "Keras only loads files whose names end in .keras", f"path='{tmp_path / 'b.keras'}'"):
        ed.save(tmp_path / "b", format="keras")
    inner = next(name for name in ed.snapshot.names if name.endswith("Relu"))
    with refuses(PlanError, f"'{inner}:0' cannot be fed: the inputs of the model are ", "Leave it out of feeds="):
        ed.save(tmp_path / "b.keras", feeds={f"{inner}:0": np.ones((1, 3), np.float32)})
    assert not list(tmp_path.iterdir())


def test_a_keras_file_of_a_graph_that_was_not_a_model(tmp_path):
    ed, path = gs.open(tiny()), tmp_path / "graph.keras"
    saved = ed.save(path, inputs={"image": "x:0"}, outputs="z:0")
    assert "no layers are kept: the graph was not opened from a Keras model" in saved.notes
    given = IMAGES[:3, :2, 0, 0]
    np.testing.assert_allclose(keras.models.load_model(path)({"image": given}), given**2 + 1, rtol=1e-6)


def test_a_model_that_keras_cannot_hold_is_refused_and_nothing_is_written(tmp_path):
    graph = tf.Graph()
    with graph.as_default():
        tf.multiply(tf1.placeholder(tf.float32, [], name="x"), 2.0, name="y")
    with refuses(PlanError, "a.keras'): the input 'x:0' has no dimension", "or save format='saved_model_tf2'"):
        gs.open(graph).save(tmp_path / "a.keras", inputs="x:0", outputs="y:0")
    with refuses(PlanError, "scope= cannot be combined with the format 'keras'"):
        gs.open(graph).save(tmp_path / "a.keras", scope="net")

    class NoConfig(keras.layers.Layer):
        """A layer that no file can hold."""

        def call(self, x):
            """Returns its input."""
            return x

        def get_config(self):
            """Raises an error."""
            raise NotImplementedError("it has no config")

    with refuses(PlanError, "Keras cannot save or load the model: it has no config"):
        gs.open(keras.Sequential([keras.Input((2,)), NoConfig()])).save(tmp_path / "a.keras")
    assert not list(tmp_path.iterdir())
