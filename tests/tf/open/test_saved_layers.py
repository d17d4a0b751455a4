"""A SavedModel of Keras 2 lists its layers; that of another says whose variables ops read, or none, and why."""

from __future__ import annotations

import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tensorflow.core.protobuf import saved_object_graph_pb2

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.layers import scopes_of
from graphsurgeon.tf.open.layers import _keras_metadata, saved_layers
from graphsurgeon.ui.inspector import layer_rows
from tests import modules
from tests.cost import growth
from tests.refusal import refuses


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    layers = tf_keras.layers
    inner = [tf_keras.Input((8,)), layers.Dense(4, name="dense"), layers.Dropout(0.1, name="drop")]
    x = tf_keras.Input((8,), name="x")
    shared = layers.Dense(4, name="shared")
    y = layers.Activation("relu", name="act")(shared(shared(tf_keras.Sequential(inner, name="encoder")(x))))
    model = tf_keras.Model(x, layers.Dense(2, name="head")(y), name="net")
    path = tmp_path_factory.mktemp("saved") / "net"
    model.save(path)
    return str(path), model


def test_layers_of_a_saved_model_of_keras_2(folder):
    path, model = folder
    ed = gs.open(path)
    assert [(one.path, one.class_name) for one in ed.layers] == [
        ("x", "InputLayer"), ("encoder", "Sequential"), ("encoder/dense", "Dense"), ("encoder/drop", "Dropout"),
        ("shared", "Dense"), ("act", "Activation"), ("head", "Dense"),
    ]  # fmt: skip
    assert "  layers       7 (Dense 3, InputLayer, Sequential, Dropout, Activation)" in str(ed).splitlines()
    assert ed.layer("encoder").inputs == ed.layer("x").outputs == ("x:0",)
    assert ed.layer("shared").inputs == ed.layer("encoder").outputs
    assert ed.layer("head").inputs == ed.layer("act").outputs
    assert [len(ed.layer(name).variables) for name in ("dense", "shared", "act")] == [2, 2, 0]
    x = np.random.RandomState(0).rand(3, 8).astype("float32")
    got = ed.session().run(ed.layer("encoder").outputs[0], {"x:0": x})
    np.testing.assert_allclose(got, model.get_layer("encoder")(x), rtol=1e-5)


def test_a_list_that_is_damaged_or_of_another_model(folder, tmp_path):
    for data in (b"\xff\xff", b""):
        path = shutil.copytree(folder[0], tmp_path / str(len(data)))
        (path / "keras_metadata.pb").write_bytes(data)
        assert len(gs.open(path).layers) == 0
    other = tf_keras.Sequential([tf_keras.Input((2,)), tf_keras.layers.Dense(1)], name="other")
    other.save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "keras_metadata.pb", path)
    with refuses(SelectionError, "this SavedModel does not state which ops belong to which layer: none of the 1 that "
                 "Keras lists is a scope of its graph"):  # fmt: skip
        gs.open(path).layer("dense")


def test_layers_of_a_saved_model_of_keras_3(tmp_path):
    """The file holds no list of layers: those are certain whose variables are read in a scope of their name."""
    k = keras.layers
    x = keras.Input((8,), name="x")
    shared = k.Dense(4, name="shared")
    inner = keras.Sequential([keras.Input((8,)), k.Dense(4, name="dense"), k.ReLU(name="relu")], name="encoder")
    model = keras.Model(x, k.Dense(2, name="head")(shared(shared(inner(x)))), name="net")
    model.export(tmp_path / "net", verbose=False)
    ed, live = gs.open(tmp_path / "net"), gs.open(model)
    assert [(one.path, one.class_name) for one in ed.layers] == [
        ("encoder", ""), ("encoder/dense", ""), ("shared", ""), ("head", "")
    ]  # fmt: skip
    for path in ("encoder/dense", "shared", "head"):
        assert [len(call.ops) for call in ed.layer(path).calls] == [len(call.ops) for call in live.layer(path).calls]
        assert ed.layer(path).variables == live.layer(path).variables == (f"{path}/kernel", f"{path}/bias")
    assert ed.layer("dense").inputs == ("x:0",)
    assert ed.layer("head").inputs == ed.layer("shared").calls[1].outputs
    assert "  layers       4 (class unknown 4)" in str(ed).splitlines()
    assert str(ed.layer("head")).startswith("head: 4 ops, 2 variables, ")
    x = np.random.RandomState(0).rand(3, 8).astype("float32")
    got = ed.session().run(ed.layer("encoder/dense").outputs[0], {"x:0": x})
    np.testing.assert_allclose(got, inner.layers[0](x), rtol=1e-5)
    assert "shared/kernel" in ed.find("layer:shared")
    assert ed.select(layer="enc*") == ed.select(layer="encoder")
    box = next(scope for scope, (layer, _) in scopes_of(ed.snapshot, ed.layers).items() if layer.path == "head")
    assert layer_rows(ed.snapshot, ed.layers, box) == (
        [["layer", "head"], ["variable", "head/kernel"], ["variable", "head/bias"]], "ed.layer('head')",
    )  # fmt: skip
    assert layer_rows(ed.snapshot, ed.layers, ed.layer("head").ops[0]) == ([["of layer", "head"]], "")


@pytest.mark.parametrize("trained", ["compiled", "fitted", "scheduled", "scaled"])
def test_an_optimizer_hides_no_layer(trained, tmp_path):
    """Its variables include those that it trains, but it is not a layer."""
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="d1"), keras.layers.Dense(2, name="d2")])
    tf.saved_model.save(model, tmp_path / "untrained")
    optimizers = keras.optimizers
    schedule = optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)
    optimizer = {
        "scheduled": optimizers.SGD(schedule, momentum=0.9), "scaled": optimizers.LossScaleOptimizer(optimizers.Adam())
    }.get(trained, "adam")  # fmt: skip
    model.compile(optimizer, "mse")
    if trained != "compiled":
        model.fit(np.zeros((2, 4)), np.zeros((2, 2)), verbose=0)
    tf.saved_model.save(model, tmp_path / "trained")
    before, after = (gs.open(tmp_path / name) for name in ("untrained", "trained"))
    assert [layer.path for layer in after.layers] == [layer.path for layer in before.layers] == ["d1", "d2"]
    assert [layer.variables for layer in after.layers] == [layer.variables for layer in before.layers]


def test_layers_of_a_saved_module(tmp_path):
    net = modules.Net()
    tf.saved_model.save(net, tmp_path, signatures=net.forward)
    ed, live = gs.open(tmp_path), gs.open(net, function="forward")
    assert [one.path for one in ed.layers] == ["enc", "enc/first", "head"]  # of enc/more two share a scope
    for path in ("enc", "head"):
        assert ed.layer(path).calls == live.layer(path).calls
    assert (
        ed.layer("enc/first").ops == live.layer("enc/first").ops
    )  # its two calls share a scope, and are listed as one
    assert ed.layer("first").variables == ("encoder/dense/w",)
    assert ed.find("layer:head") == ["w", *ed.layer("head").ops]


def test_layers_are_looked_for_when_somebody_asks(tmp_path, monkeypatch):
    net = modules.Net()
    tf.saved_model.save(net, tmp_path, signatures=net.forward)
    calls = []
    monkeypatch.setattr("graphsurgeon.tf.open.layers.layers_from_variables", lambda *args: calls.append(args) or ())
    ed = gs.open(tmp_path)
    assert (ed.snapshot.size > 0, calls) == (True, [])
    assert (len(ed.layers), len(ed.layers), len(calls)) == (0, 0, 1)


def test_a_layer_is_named_as_in_the_model_though_a_class_makes_it(tmp_path):
    """The names of its variables begin with that of the model, which is not a layer of itself."""
    inside = {"a/b/w": "a_1/b_1", "a/c/w": "a_1/c_1"}
    nodes = [(name, "VarHandleOp", []) for name in inside]
    nodes += [(f"{scope}/read", "ReadVariableOp", [name]) for name, scope in inside.items()]
    objects = saved_object_graph_pb2.SavedObjectGraph()
    root = objects.nodes.add()
    root.user_object.identifier = "_generic_user_object"
    held = {}
    for name in inside:
        held[name] = len(objects.nodes)
        objects.nodes.add().variable.name = name
        root.children.add(node_id=held[name], local_name=name[2])
    layers = saved_layers(None, Graph.from_ops(nodes), objects, held)
    assert [one.path for one in layers] == ["b", "c"]


class Late(keras.Model):
    """Its layers are built when it is first called: Keras gives their variables no name of their own."""

    def __init__(self):
        super().__init__(name="late")
        self.body, self.head = keras.layers.Dense(3), keras.layers.Dense(2)

    def call(self, x):
        """Returns what it computes."""
        return self.head(self.body(x))


def test_a_saved_model_that_does_not_say(tmp_path):
    model = Late()
    model(np.ones((1, 2), "float32"))
    model.export(tmp_path / "net", verbose=False)
    problem = (
        "this SavedModel does not state which ops belong to which layer, and no name scope that reads variables has "
        "the name of a layer; a .keras file lists them"
    )
    with refuses(SelectionError, problem, "Open the keras.Model or tf.Module itself"):
        gs.open(tmp_path / "net").layer("dense")


def test_a_saved_module_without_name_scopes_lists_its_modules(tmp_path):
    class Part(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable([1.0, 2.0])

    class Whole(tf.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = Part(), Part()

        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
        def __call__(self, x):
            """Returns what it computes."""
            return x * self.encoder.w + self.decoder.w

    whole = Whole()
    tf.saved_model.save(whole, str(tmp_path / "whole"))
    layers = gs.open(tmp_path / "whole").layers
    assert len(layers) == 0
    assert "It has 2 modules with variables, 'encoder', 'decoder', but no name scope that reads" in str(layers)
    with refuses(SelectionError, "layers['encoder']: the graph has no layers: this SavedModel", "tf.Module itself"):
        layers["encoder"]


def test_what_layers_cost_grows_as_the_graph_does(tmp_path):
    def made(count):
        module = tf.Module()
        module.weights = [tf.Variable([1.0, 2.0], name=f"layer_{i}/w") for i in range(count)]

        def deep(x):
            for i, w in enumerate(module.weights):
                with tf.name_scope(f"layer_{i}"):
                    x = tf.tanh(x * w)
            return x

        module.deep = tf.function(deep, input_signature=[tf.TensorSpec([2], tf.float32)], autograph=False)
        tf.saved_model.save(module, tmp_path / str(count))
        assert len(gs.open(tmp_path / str(count)).layers) == count
        return lambda: gs.open(tmp_path / str(count))

    assert growth(made, 20, 100) < 5.2


# -- where loops, functions and wrappers stand between a layer and what it holds ------------------------


class Around(keras.layers.Layer):
    """A layer that calls another one in what a test gives."""

    def __init__(self, way, **options):
        super().__init__(**options)
        self.way, self.inner = way, keras.layers.Dense(3, "relu", name="inner")
        self.function = tf.function(lambda x: tf.while_loop(lambda _: True, lambda x: [self.inner(x)], [x], None, 10, 1,
                                                            maximum_iterations=2)[0])  # fmt: skip

    def build(self, shape):
        self.inner.build((None, 3))

    def call(self, x):
        return self.way(self, x)

    def compute_output_shape(self, shape):
        return shape


def scoped(around, x):
    with tf.name_scope("block"):
        return around.inner(x)


def scanned(around, x):
    return tf.transpose(tf.scan(lambda h, t: around.inner(h + t), tf.transpose(x, [1, 0, 2])), [1, 0, 2])


WAYS = {
    "map": lambda around, x: tf.map_fn(around.inner, x, fn_output_signature=tf.TensorSpec([None, 3], tf.float32)),
    "scan": scanned,
    "scope": scoped,
    "loop in a function traced before": lambda around, x: around.function(x),
    "branch": lambda around, x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: around.inner(x), lambda: x),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_layer_in_another_has_its_ops_whatever_stands_between(way, tmp_path):
    x = keras.Input((5, 3), name="x")
    model = keras.Model(x, keras.layers.Dense(2, name="head")(Around(WAYS[way], name="around")(x)), name="net")
    model.export(tmp_path / "net", verbose=False)
    for ed in (gs.open(model), gs.open(tmp_path / "net")):
        assert [one.path for one in ed.layers if one.path != "x"] == ["around", "around/inner", "head"]
        (call,) = ed.layer("inner").calls
        kinds = {ed.screen.whole.types[ed.screen.whole.index[op]] for op in call.ops}
        assert {"ReadVariableOp", "Relu"} <= kinds <= {*kinds} - {"While", "StatelessWhile", "StatefulPartitionedCall"}
        assert set(ed.find("layer:inner", 99)) == {*call.ops, *ed.layer("inner").variables}
        ed.screen.reveal(call.ops[-1])
        assert ed.screen.details(call.ops[-1])["rows"][0][1].startswith("around/inner")


@pytest.mark.parametrize("length", [2, None])
def test_a_model_that_is_called_at_each_step_has_its_layers(length, tmp_path):
    """`TimeDistributed` runs what a layer computes without a call of it, and so without a scope of its name."""
    x = keras.Input((length, 3), name="x")
    mini = keras.Sequential([keras.layers.Dense(4, name="one"), keras.layers.Dense(2, "relu", name="two")], name="mini")
    model = keras.Model(x, keras.layers.TimeDistributed(mini, name="steps")(x), name="net")
    model.export(tmp_path / "net", verbose=False)
    live, ed = gs.open(model), gs.open(tmp_path / "net")
    assert [one.path for one in live.layers] == ["x", "steps", "steps/mini", "steps/mini/one", "steps/mini/two"]
    assert [one.path for one in ed.layers] == ["steps", "steps/mini/one", "steps/mini/two"]
    rows = np.random.RandomState(0).rand(2, 2, 3).astype("float32")
    for one in (live, ed):
        calls = one.layer("two").calls
        got = one.session().run([call.outputs for call in calls], {"x:0": rows})
        steps = got[0][0] if length is None else np.stack([value for (value,) in got])
        np.testing.assert_allclose(np.swapaxes(steps, 0, 1), model(rows), rtol=1e-5)


def test_a_layer_alone_in_a_wrapper_is_known_while_it_is_traced():
    x = keras.Input((2, 3), name="x")
    model = keras.Model(x, keras.layers.TimeDistributed(keras.layers.Dense(4, name="inner"), name="steps")(x))
    ed = gs.open(model)
    assert len(ed.layer("steps/inner").calls) == 2
    assert ed.layer("inner").class_name == "Dense"
    assert ed.layer("inner").variables == ed.layer("steps").variables


def test_what_keras_2_lists_in_a_saved_model(tmp_path):
    tf_keras.Sequential([tf_keras.Input((2,)), tf_keras.layers.Dense(1, name="dense")]).save(tmp_path / "saved")
    listed = _keras_metadata((tmp_path / "saved" / "keras_metadata.pb").read_bytes())
    assert ("root.layer_with_weights-0", "_tf_keras_layer") in [one[:2] for one in listed]
    assert _keras_metadata(b"\xff") is None
    assert _keras_metadata(b"") == []
