"""A part of a graph as a Keras layer: equal to what it was cut from; trained, frozen, saved, loaded."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import warnings
import zlib

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from graphsurgeon.tf.functions.keras_layer import _filled_table
from tests.graphs import KINDS, tiny
from tests.needs import ROOT
from tests.refusal import refuses
from tests.tf2 import FEEDS, Words, keras_model

tf1 = tf.compat.v1
IMAGES = np.random.RandomState(0).rand(8, 6, 6, 3).astype(np.float32)
TARGETS = np.random.RandomState(1).rand(8, 3).astype(np.float32)


def blocks(dropout=0.0):
    """Returns a small residual network with batch normalization: b0, b1, b2, head."""
    import keras

    layers = keras.layers
    keras.utils.set_random_seed(1)
    x = image = keras.Input((6, 6, 3), name="image")
    for n in range(3):
        y = layers.Conv2D(4, 3, padding="same", use_bias=False, name=f"b{n}_conv")(x)
        y = layers.BatchNormalization(name=f"b{n}_bn")(y)
        y = layers.ReLU(6.0, name=f"b{n}_relu")(y)
        y = layers.Dropout(dropout, seed=n, name=f"b{n}_drop")(y) if dropout else y
        x = layers.Add(name=f"b{n}_add")([x, y]) if n else y
    return keras.Model(image, layers.Dense(3, name="head")(layers.GlobalAveragePooling2D()(x)), name="net")


@pytest.fixture(scope="module")
def net():
    """A model, and editors of it in inference and in training."""
    model = blocks()
    return model, gs.open(model), gs.open(model, training=True)


def around(layer, shape, head=True):
    """Returns a compiled Keras model of a layer and a head that is always the same."""
    import keras

    keras.utils.set_random_seed(7)
    start = keras.Input(shape)
    x = layer(start)
    if head:
        x = keras.layers.Dense(3, name="new_head")(keras.layers.GlobalAveragePooling2D()(x))
    model = keras.Model(start, x)
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model


def trained(model, x=IMAGES, epochs=3):
    """Trains; returns the losses."""
    return model.fit(x, TARGETS, batch_size=8, epochs=epochs, shuffle=False, verbose=0).history["loss"]


def weights(layer):
    return {w.name: w.numpy() for w in layer.weights}


def test_a_whole_model_computes_and_learns_as_the_model_itself(net):
    model, ed, training = net
    layer = ed.keras_layer(training=training, name="whole")
    assert type(layer) is gs.GraphLayer
    np.testing.assert_array_equal(layer(IMAGES), model(IMAGES))
    assert {(w.name, w.trainable, str(w.dtype)) for w in layer.weights} == {
        (w.path.replace("/", "."), w.trainable, str(w.dtype)) for w in model.weights
    }
    other = blocks()
    other.compile("sgd", "mse")
    other.optimizer.learning_rate = 0.1
    assert trained(around(layer, (6, 6, 3), head=False)) == trained(other)
    for weight in other.weights:
        np.testing.assert_array_equal(weights(layer)[weight.path.replace("/", ".")], weight)


def test_a_region_has_its_own_updates_and_no_others(net):
    import keras

    model, ed, training = net
    layer = ed.keras_layer("b0_relu", "b1_add", training=training)
    names = ["b1_conv.kernel", "b1_bn.gamma", "b1_bn.beta", "b1_bn.moving_mean", "b1_bn.moving_variance"]
    assert [w.name for w in layer.weights] == names
    by_hand = blocks()
    part = keras.Model(by_hand.get_layer("b0_relu").output, by_hand.get_layer("b1_add").output)
    x = np.random.RandomState(2).rand(8, 6, 6, 4).astype(np.float32)
    assert trained(around(layer, (6, 6, 4)), x) == trained(around(part, (6, 6, 4)), x)
    for mine, wanted in zip(layer.weights, part.weights, strict=True):
        np.testing.assert_array_equal(mine, wanted)
    assert (layer.weights[3].numpy() != model.get_layer("b1_bn").moving_mean.numpy()).all()


def test_a_graph_opened_for_training_alone_changes_its_averages_in_training_only(net):
    model, _, training = net
    layer = training.keras_layer("b0_relu", "b1_add")
    x = np.random.RandomState(2).rand(8, 6, 6, 4).astype(np.float32)
    before = weights(layer)
    layer(x)
    assert all((before[name] == now).all() for name, now in weights(layer).items())
    layer(x, training=True)
    moved = [name for name, now in weights(layer).items() if (before[name] != now).any()]
    assert moved == ["b1_bn.moving_mean", "b1_bn.moving_variance"]
    whole = training.keras_layer()
    before = weights(whole)
    whole(IMAGES)
    assert all((before[name] == now).all() for name, now in weights(whole).items())
    # The model itself is as it was.
    assert not model.get_layer("b0_bn").moving_mean.numpy().any()


def test_frozen_it_stays_as_it_is(net):
    _, ed, training = net
    layer = ed.keras_layer("b0_relu", "b1_add", training=training, trainable=False)
    assert not layer.trainable_weights
    x = np.random.RandomState(2).rand(8, 6, 6, 4).astype(np.float32)
    model, before = around(layer, (6, 6, 4)), weights(layer)
    losses = trained(model, x)
    assert losses[-1] < losses[0]
    assert all((before[name] == now).all() for name, now in weights(layer).items())
    layer.trainable = True
    model.compile("sgd", "mse")
    trained(model, x)
    assert all((before[name] != now).any() for name, now in weights(layer).items())


def test_gradients_reach_its_inputs(net):
    model, ed, _ = net
    layer, x = ed.keras_layer(), tf.constant(IMAGES)
    slopes = []
    for f in (layer, model):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(f(x) ** 2)
        slopes.append(tape.gradient(y, x))
    np.testing.assert_allclose(*slopes, rtol=1e-5, atol=1e-7)


LOAD = """
import sys, numpy as np
folder, x = sys.argv[1], np.load(sys.argv[1] + "/x.npy")
import tensorflow as tf
exported, saved = (tf.saved_model.load(f"{folder}/{name}") for name in ("exported", "saved"))
found = [exported.serve(x), *saved.signatures["serving_default"](tf.constant(x)).values()]
assert "graphsurgeon" not in sys.modules
import graphsurgeon as gs
ed = gs.open(f"{folder}/model.keras")
(start,), (end,) = ed.inputs.values(), ed.outputs.values()
found.append(ed.session().run(end, {start: x}))
from graphsurgeon import GraphLayer
model = tf.keras.models.load_model(f"{folder}/model.keras")
found.append(model(x))
losses = model.fit(x, np.load(folder + "/y.npy"), batch_size=8, epochs=2, shuffle=False, verbose=0).history["loss"]
model.get_layer("region").trainable = False
model.save(f"{folder}/again.keras")
np.savez(f"{folder}/found.npz", *found, losses=losses)
"""


def test_saved_and_loaded_in_a_fresh_process(net, tmp_path):
    import keras

    _, ed, training = net
    layer = ed.keras_layer(training=training, name="region")
    model = around(layer, (6, 6, 3), head=False)
    trained(model, epochs=1)
    np.save(tmp_path / "x.npy", IMAGES)
    np.save(tmp_path / "y.npy", TARGETS)
    model.save(tmp_path / "model.keras")
    model.export(tmp_path / "exported", verbose=False)
    tf.saved_model.save(model, str(tmp_path / "saved"))
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = np.load(tmp_path / "found.npz")
    np.testing.assert_allclose(found["arr_2"], model(IMAGES), rtol=1e-5, atol=1e-6)
    for key in ("arr_0", "arr_1", "arr_3"):
        np.testing.assert_array_equal(found[key], model(IMAGES))
    np.testing.assert_array_equal(found["losses"], trained(model, epochs=2))
    again = keras.models.load_model(tmp_path / "again.keras")
    assert not again.get_layer("region").trainable_weights
    np.testing.assert_array_equal(again(IMAGES), model(IMAGES))
    copy = keras.models.clone_model(model)
    copy.set_weights(model.get_weights())
    np.testing.assert_array_equal(copy(IMAGES), model(IMAGES))


def test_random_numbers_go_on():
    model = blocks(dropout=0.5)
    ed, training = gs.open(model), gs.open(model, training=True)
    layer = ed.keras_layer(training=training)
    assert trained(around(layer, (6, 6, 3), head=False)) == trained(_compiled(model))
    assert [w.name for w in layer.non_trainable_weights if "seed" in w.name]
    np.testing.assert_array_equal(layer(IMAGES), model(IMAGES))


def _compiled(model):
    import keras

    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model


def test_several_inputs_and_outputs():
    import keras

    model = keras_model("several")
    ed = gs.open(model)
    a, b = np.ones((3, 2), np.float32), np.full((3, 3), 2.0, np.float32)
    layer = ed.keras_layer()
    wanted = model({"a": a, "b": b})
    for given in ({"a": a, "b": b}, [a, b]):
        got = layer(given)
        assert isinstance(got, list)
        for one, two in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(one, two)
    ends = {"sum": ed.outputs["output_0"], "twice": ed.outputs["output_1"]}
    layer = ed.keras_layer({"left": ed.inputs["a"], "right": ed.inputs["b"]}, ends)
    inputs = {name: keras.Input((n,), name=name) for name, n in (("left", 2), ("right", 3))}
    outer = keras.Model(inputs, layer(inputs))
    assert {name: tuple(t.shape) for name, t in outer.output.items()} == {"sum": (None, 2), "twice": (None, 2)}
    np.testing.assert_array_equal(outer({"left": a, "right": b})["twice"], a * 2.0)
    with refuses(PlanError, f"layer {layer.name!r}: its inputs are ['left', 'right'], but it is given ['left', "
                 "'rihgt']", "Give it left: float32 (?, 2), right: float32 (?, 3)"):  # fmt: skip
        layer._arguments({"left": a, "rihgt": b})
    with refuses(PlanError, "it takes 2, but is given 1 tensor"):
        layer._arguments([a])


def test_what_is_wrong_with_an_argument_is_read_in_what_keras_says():
    """Keras makes an error again, of its text and more."""
    import keras

    layer = gs.open(keras_model("dense")).keras_layer()
    with pytest.raises(
        PlanError, match=r"(?s)'x' has dtype float32, but is given string\.\nGive float32: keras\.Input"
    ):
        layer(keras.Input((2,), dtype="string"))


def test_recurrent(tmp_path):
    import keras

    model = keras_model("lstm")
    x = FEEDS["lstm"]
    layer = gs.open(model).keras_layer()
    np.testing.assert_array_equal(layer(x), model(x))
    other = keras.models.clone_model(model)
    other.set_weights(model.get_weights())
    mine = keras.Sequential([keras.Input((6, 4)), layer])
    losses = [
        _compiled(m).fit(x, TARGETS[:3], epochs=3, shuffle=False, verbose=0).history["loss"] for m in (mine, other)
    ]
    np.testing.assert_allclose(*losses, rtol=1e-6)
    mine.save(tmp_path / "lstm.keras")
    again = keras.models.load_model(tmp_path / "lstm.keras")
    np.testing.assert_array_equal(again(x), mine(x))
    assert _compiled(again).fit(x, TARGETS[:3], epochs=1, verbose=0)


def normalized(kind):
    """Returns a TF1 graph as people wrote them: batch normalization with a flag and a collection of updates."""
    with tf.Graph().as_default() as graph, tf1.variable_scope("net", use_resource=kind == "resource"):
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        flag = tf1.placeholder_with_default(False, [], name="is_training")
        w = tf1.get_variable("w", initializer=[[1.0, 2.0], [3.0, 4.0]])
        mean = tf1.get_variable("mean", initializer=[0.5, 0.25], trainable=False)
        y = tf.matmul(x, w)
        now = tf.reduce_mean(y, 0)
        tf1.add_to_collection("update_ops", tf1.assign_sub(mean, (mean - now) * 0.1))
        y = tf.subtract(y, tf.where(flag, now, mean), name="y")
        with tf1.control_dependencies(tf1.get_collection("update_ops")):
            tf.identity(y, name="with_updates")
        step = tf1.train.get_or_create_global_step()
        loss = tf.reduce_mean(y**2) * tf.cast(step + 1, tf.float32)
        tf1.train.GradientDescentOptimizer(0.1).minimize(loss, step)
    return graph


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("output", ["net/y:0", "net/with_updates:0"])
def test_a_graph_of_tf1_with_its_checkpoint_its_flag_and_its_updates(tmp_path, kind, output):
    graph, x = normalized(kind), np.array([[1.0, 2.0], [0.5, -1.0]], np.float32)
    with tf1.Session(graph=graph) as session, graph.as_default():
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(session, str(tmp_path / "net"))
        wanted = session.run("net/y:0", {"net/x:0": x})
        in_training = session.run("net/y:0", {"net/x:0": x, "net/is_training:0": True})
        session.run(tf1.get_collection("update_ops"), {"net/x:0": x})
        mean = session.run(tf1.global_variables()[1])
    layer = gs.open(tmp_path / "net.meta").keras_layer("net/x:0", output, training="net/is_training:0")
    np.testing.assert_array_equal(layer(x), wanted)
    assert [w.name for w in layer.trainable_weights] == ["net.w"]
    assert weights(layer)["net.mean"].tolist() == [0.5, 0.25]
    np.testing.assert_allclose(layer(x, training=True), in_training, rtol=1e-6)
    np.testing.assert_allclose(weights(layer)["net.mean"], mean, rtol=1e-6)
    config = layer.get_config()
    again = gs.GraphLayer.from_config(config)
    again.set_weights(layer.get_weights())
    np.testing.assert_array_equal(again(x), layer(x))
    again(x, training=True)
    layer(x, training=True)
    np.testing.assert_array_equal(weights(again)["net.mean"], weights(layer)["net.mean"])


def test_a_frozen_graph_has_no_weights_and_lets_gradients_through(tmp_path):
    import keras

    path = tmp_path / "frozen.pb"
    gs.open(normalized("ref")).save(path, outputs="net/y:0", freeze=True, values="initial")
    layer = gs.open(path).keras_layer("net/x:0", "net/y:0")
    assert not layer.weights
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2), layer, keras.layers.Dense(3)])
    losses = _compiled(model).fit(TARGETS[:, :2], TARGETS, epochs=5, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    model.save(tmp_path / "model.keras")
    x = TARGETS[:, :2]
    np.testing.assert_array_equal(keras.models.load_model(tmp_path / "model.keras")(x), model(x))


def test_updates_that_need_more_than_the_inputs_give_are_named():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        weight = tf1.placeholder(tf.float32, [], name="weight")
        seen = tf1.get_variable("seen", initializer=0.0, trainable=False, use_resource=True)
        y = tf.square(x, name="y")
        tf1.assign_add(seen, tf.reduce_sum(y) * weight)
    ed = gs.open(graph)
    with pytest.warns(UserWarning, match=r"'AssignAddVariableOp' .*needs 'weight:0', which is not an input"):
        layer = ed.keras_layer("x:0", "y:0")
    assert not layer.weights
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer = ed.keras_layer(["x:0", "weight:0"], "y:0")
        layer([tf.constant([1.0, 2.0]), tf.constant(3.0)], training=True)
    assert weights(layer) == {"seen": 15.0}


def test_strings_and_tables_come_along(tmp_path):
    import keras

    given = tf.constant(["b", "?", "a"])
    words = Words()
    rows = words.vectors.numpy()
    layer = gs.open(words, function="__call__").keras_layer(outputs="Identity:0")
    np.testing.assert_array_equal(layer(given), words(given)[0])
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.string, [None], name="x")
        filled = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        vectors = tf1.get_variable("vectors", initializer=rows)
        tf.gather(vectors, tf.lookup.StaticHashTable(filled, 0).lookup(x), name="y")
    layer = gs.open(graph).keras_layer("x:0", "y:0")
    start = keras.Input((), dtype="string")
    model = keras.Model(start, layer(start))
    model.save(tmp_path / "words.keras")
    model.export(tmp_path / "words", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "words"))
    for again in (keras.models.load_model(tmp_path / "words.keras"), loaded.serve):
        np.testing.assert_array_equal(again(given), words(given)[0])


def test_a_table_that_a_file_has_made_up_is_refused():
    proto = tf.make_tensor_proto([1, 2])
    proto.tensor_shape.dim[0].size = -1
    texts = [base64.b64encode(one.SerializeToString()).decode() for one in (tf.make_tensor_proto([1, 2]), proto)]
    with refuses(
        PlanError, "build()", "a table of the layer is damaged, or too large to unpack", "Save the model again"
    ):
        _filled_table(*texts)


def test_a_gradient_of_its_own_works_here_and_is_said_to_stay_behind_in_a_file():
    @tf.custom_gradient
    def reversed_slope(x):
        return tf.identity(x, name="same"), lambda dy: -dy

    f = tf.function(lambda x: reversed_slope(x) * 2.0)
    layer = gs.open(f, signature=tf.TensorSpec([None], tf.float32, name="x")).keras_layer(name="turned")

    def slope(layer):
        with tf.GradientTape() as tape:
            tape.watch(x := tf.constant([1.0]))
            y = layer(x)
        return tape.gradient(y, x).numpy().tolist()

    assert slope(layer) == [-2.0]
    with pytest.warns(UserWarning, match="had a gradient by tf.custom_gradient, which no file keeps"):
        again = gs.GraphLayer.from_config(layer.get_config())
    assert slope(again) == [2.0]


def test_what_is_given_is_made_to_fit():
    layer = gs.open(tiny()).keras_layer("x:0", "z:0", name="fit")
    np.testing.assert_array_equal(layer(np.array([[1, 2]])), [[2.0, 5.0]])
    np.testing.assert_array_equal(layer(np.array([[1.0, 2.0]], np.float64)), [[2.0, 5.0]])
    with refuses(PlanError, "layer 'fit': 'x' has shape (?, 2), but is given shape (1, 3)",
                 "sizes that are static in the graph are static in the layer"):  # fmt: skip
        layer._arguments(tf.zeros([1, 3]))
    with refuses(PlanError, "'x' has dtype float32, but is given string", "keras.Input(shape, dtype='float32')"):
        layer._arguments(tf.constant([["a", "b"]]))


def test_mixed_precision_is_that_of_the_graph(net):
    import keras

    _, ed, _ = net
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        layer = ed.keras_layer()
        mine = around(layer, (6, 6, 3), head=False)
        assert trained(mine)
    finally:
        keras.mixed_precision.set_global_policy("float32")
    assert {str(w.dtype) for w in layer.weights} == {"float32"}


def test_what_is_refused(monkeypatch):
    ed = gs.open(tiny())
    with refuses(SelectionError, "keras_layer(outputs='q:0')", "no op has that name"):
        ed.keras_layer("x:0", "q:0")
    with refuses(PlanError, "keras_layer(outputs='z:0'): it needs 'x:0', which is not an input", "Type inputs="):
        ed.keras_layer([], "z:0")
    with refuses(PlanError, "keras_layer(): no outputs are given", "outputs='softmax:0'"):
        ed.keras_layer("x:0")
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.string, [], name="x")
        tf.add(tf1.get_variable("s", initializer="a", dtype=tf.string), x, name="y")
    with refuses(PlanError, "keras_layer(outputs='y:0'): variable 's' has dtype string, but a Keras weight is a number",
                 "use ed.function"):  # fmt: skip
        gs.open(graph).keras_layer("x:0", "y:0")
    with refuses(
        PlanError, "training='x:0' has dtype string, which is not bool or a number", "training='is_training:0'"
    ):
        gs.open(graph).keras_layer((), "s:0", training="x:0")
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        tf1.py_func(lambda v: v, [x], tf.float32, name="y")
    layer = gs.open(graph).keras_layer("x:0", "y:0", name="python")
    assert layer(tf.constant(2.0)).numpy() == 2.0
    with refuses(PlanError, "layer 'python': ", "calls a Python function of the process that made the layer",
                 "Make the layer from a region without this op"):  # fmt: skip
        gs.GraphLayer.from_config(layer.get_config())
    monkeypatch.setattr(tf.keras.backend, "backend", lambda: "jax")
    with refuses(PlanError, "Keras runs on 'jax' here", "KERAS_BACKEND=tensorflow"):
        ed.keras_layer("x:0", "z:0")


@pytest.mark.parametrize("how", ["damaged", "unknown"])
def test_a_graph_that_cannot_be_loaded_is_told(how):
    config = gs.open(tiny()).keras_layer("x:0", "z:0", name="tiny").get_config()
    body = config["graph"]["programs"]["inference"]
    if how == "damaged":
        body["graph"] = body["graph"][:40]
        problem = "the description of its graph is damaged"
    else:
        graph_def = tf1.GraphDef.FromString(zlib.decompress(base64.b64decode(body["graph"])))
        next(node for node in graph_def.node if node.name == "y").op = "OpOfAnotherLibrary"
        body["graph"] = base64.b64encode(zlib.compress(graph_def.SerializeToString())).decode()
        problem = "TensorFlow refuses its graph"
    with refuses(PlanError, f"layer 'tiny': {problem}"):
        gs.GraphLayer.from_config(config)


KERAS_2 = """
import sys, numpy as np, tensorflow as tf, graphsurgeon as gs
keras, folder = tf.keras, sys.argv[1]
keras.utils.set_random_seed(1)
start = keras.Input((4,), name="x")
model = keras.Model(start, keras.layers.Dense(3)(keras.layers.BatchNormalization()(keras.layers.Dense(
    5, kernel_regularizer="l2", activity_regularizer="l1", kernel_constraint="non_neg")(start))))
layer = gs.open(model).keras_layer(training=gs.open(model, training=True))
random = np.random.RandomState(0)
x, y = random.rand(8, 4).astype("float32"), random.rand(8, 3)
mine, losses = keras.Sequential([keras.Input((4,)), layer]), []
for one in (mine, model):
    one.compile(keras.optimizers.SGD(0.1), "mse")
    losses.append(one.fit(x, y, epochs=3, shuffle=False, verbose=0).history["loss"])
assert losses[0] == losses[1], losses
assert len(layer.non_trainable_weights) == 2
mine.save(folder + "/model.keras")
assert (keras.models.load_model(folder + "/model.keras")(x).numpy() == mine(x).numpy()).all()
"""


@pytest.mark.deep
def test_where_tensorflow_has_keras_2_it_is_a_layer_of_that(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KERAS_2, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "TF_USE_LEGACY_KERAS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_updates_of_two_blocks_of_a_real_training_graph(corpus):
    """ResNet v2-50 with 98 updates in its collection, reference variables, gradients, momentum and summaries."""
    from graphsurgeon.graph.open_graph import Ends
    from graphsurgeon.tf.functions.graph_function import updates_left_out

    ed = gs.open(corpus.path("slim_resnet_v2_50_train"))
    units = "resnet_v2_50/block1/unit_{}/bottleneck_v2/"
    left = updates_left_out(ed.snapshot, Ends().chosen(units.format(1) + "add:0", units.format(3) + "add:0"))
    assert len(left) == 12
    assert {name.rpartition("/")[0].rpartition("bottleneck_v2/")[2] for name in left} == {
        "preact", "conv1/BatchNorm", "conv2/BatchNorm"
    }  # fmt: skip
    assert all(name.startswith((units.format(2), units.format(3))) for name in left)
    ends = Ends().chosen("images:0", "resnet_v2_50/predictions/Reshape_1:0")
    assert len(updates_left_out(ed.snapshot, ends)) == 98


def test_a_layer_behind_arithmetic_that_keras_calls_sparse():
    import keras

    with tf.Graph().as_default() as graph:
        tf.square(tf1.placeholder(tf.float32, [None, 3], name="x"), name="y")
    layer = gs.open(graph).keras_layer("x:0", "y:0")
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    for sparse in (False, True):
        start = keras.Input((3,), sparse=sparse)
        for end, want in ((layer(start * 2), 4 * array**2), (layer(start), array**2)):
            assert end.shape == (None, 3)
            given = tf.sparse.from_dense(array) if sparse else array
            np.testing.assert_allclose(keras.Model(start, end)(given), want)
