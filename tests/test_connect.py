"""Connecting: trained graphs from files and from memory become one, with their values, and are trained as one."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.editor.connect import removable_ops
from graphsurgeon.errors import OpenError, PlanError, SelectionError
from graphsurgeon.graph.graph import Graph
from tests.graphs import KINDS
from tests.refusal import refuses

tf1 = tf.compat.v1
X = np.array([[0.1, 0.2], [0.3, 0.4]], np.float32)


def net(kind, wide, out, seed, device=""):
    """Returns a session of a trained-looking net ``out = tanh(in w + b)`` with a global step and a loss."""
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=kind == "resource"), tf1.device(device):
        x = tf1.placeholder(tf.float32, [None, wide], name="in")
        w = tf1.get_variable("w", [wide, out], initializer=tf1.random_normal_initializer(seed=seed))
        b = tf1.get_variable("b", [out], initializer=tf1.random_normal_initializer(seed=seed + 1))
        y = tf.tanh(tf.matmul(x, w) + b, name="out")
        tf1.train.get_or_create_global_step()
        tf1.add_to_collection("mine", y)
        session = tf1.Session(graph=graph, config=tf1.ConfigProto(allow_soft_placement=True))
        session.run(tf1.global_variables_initializer())
    return session


def files(session, path, form):
    """Saves a model as a .meta file with its checkpoint, or as a SavedModel, by plain TensorFlow."""
    graph = session.graph
    if form == "meta":
        with graph.as_default():
            tf1.train.Saver().save(session, str(path))
        return f"{path}.meta"
    if form == "saved_model":
        with graph.as_default():
            tf1.saved_model.simple_save(
                session, str(path), {"in": graph.get_tensor_by_name("in:0")}, {"out": graph.get_tensor_by_name("out:0")}
            )
        return str(path)
    return session if form == "session" else gs.open(session)


def chained(enc, dec):
    """Returns what two sessions compute one after the other."""
    return dec.run("out:0", {"in:0": enc.run("out:0", {"in:0": X})})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["meta", "saved_model", "session", "editor"])
def test_two_trained_models_become_one_and_learn_as_one(tmp_path, kind, form):
    enc, dec = net(kind, 2, 3, 1, "/gpu:3"), net(kind, 3, 1, 5)
    things = {"enc": files(enc, tmp_path / "enc", form), "dec": files(dec, tmp_path / "dec", "meta")}
    sup = gs.connect(things, {"enc/out:0": "dec/in:0"})
    session = sup.session()
    np.testing.assert_array_equal(session.run("dec/out:0", {"enc/in:0": X}), chained(enc, dec))
    assert "dec/in" not in sup.snapshot.index
    assert {op.device for op in sup.graph.get_operations()} == {""}
    assert {v.op.name for v in sup.graph.get_collection("trainable_variables")} == {"enc/w", "enc/b", "dec/w", "dec/b"}
    with sup.graph.as_default():
        loss = tf.reduce_mean(tf.square(sup.tensor("dec/out:0") - 0.5))
        train = tf1.train.GradientDescentOptimizer(0.5).minimize(loss)
    before = session.run(
        ["enc/w:0", "dec/w:0"] if kind == "ref" else ["enc/w/Read/ReadVariableOp:0", "dec/b/Read/ReadVariableOp:0"]
    )
    first = session.run(loss, {"enc/in:0": X})
    for _ in range(20):
        session.run(train, {"enc/in:0": X})
    assert session.run(loss, {"enc/in:0": X}) < 0.3 * first
    after = session.run(
        ["enc/w:0", "dec/w:0"] if kind == "ref" else ["enc/w/Read/ReadVariableOp:0", "dec/b/Read/ReadVariableOp:0"]
    )
    assert all(np.abs(a - b).max() > 1e-4 for a, b in zip(before, after, strict=True))


def test_checkpoints_go_both_ways(tmp_path):
    enc, dec = net("ref", 2, 3, 1), net("resource", 3, 1, 5)
    things = {"a/enc": files(enc, tmp_path / "enc", "meta"), "dec": files(dec, tmp_path / "dec", "meta")}
    sup = gs.connect(things, {"a/enc/out:0": "dec/in:0"})
    newer = net("ref", 2, 3, 77)
    files(newer, tmp_path / "newer", "meta")
    sup.restore(tmp_path / "newer", scope="a/enc")
    np.testing.assert_array_equal(sup.session().run("dec/out:0", {"a/enc/in:0": X}), chained(newer, dec))
    sup.save(tmp_path / "back.ckpt", scope="a/enc")
    with enc.graph.as_default():
        tf1.train.Saver().restore(enc, str(tmp_path / "back.ckpt"))
    np.testing.assert_array_equal(enc.run("w:0"), newer.run("w:0"))


def test_collections_are_kept_apart():
    enc, dec = net("ref", 2, 3, 1), net("ref", 3, 1, 5)
    sup = gs.connect({"enc": enc, "dec": dec}, {"enc/out:0": "dec/in:0"})
    names = [name for name in sup.graph.get_all_collection_keys() if name != "graphsurgeon/provenance"]
    lists = {name: [item.name for item in sup.graph.get_collection(name)] for name in names}
    assert lists["enc/mine"] == ["enc/out:0"]
    assert lists["dec/mine"] == ["dec/out:0"]
    assert lists["global_step"] == ["enc/global_step:0"]
    assert lists["dec/global_step"] == ["dec/global_step:0"]
    assert len(lists["variables"]) == 6
    with refuses(PlanError, "the collection 'global_step' of enc clashes with that of dec", "collections='rename'"):
        gs.connect({"enc": enc, "dec": dec}, {"enc/out:0": "dec/in:0"}, collections="keep")


def test_one_output_feeds_several_and_three_graphs_are_ordered():
    enc, one, two = net("ref", 2, 3, 1), net("resource", 3, 3, 5), net("ref", 3, 1, 9)
    sup = gs.connect(
        {"two": two, "one": one, "enc": enc}, {"enc/out": ["one/in"], one.graph.get_tensor_by_name("out:0"): "two/in:0"}
    )
    middle = one.run("out:0", {"in:0": enc.run("out:0", {"in:0": X})})
    np.testing.assert_array_equal(sup.session().run("two/out:0", {"enc/in:0": X}), two.run("out:0", {"in:0": middle}))


def test_a_keras_model_feeds_a_graph_of_tf1():
    keras = tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Dense(3)])
    enc, dec = gs.open(keras), net("ref", 3, 1, 5)
    (into,), (out,) = enc.inputs.values(), enc.outputs.values()
    sup = gs.connect({"enc": enc, "dec": dec}, {f"enc/{out}": "dec/in:0"})
    want = dec.run("out:0", {"in:0": keras(X).numpy()})
    np.testing.assert_allclose(sup.session().run("dec/out:0", {f"enc/{into}": X}), want, rtol=1e-5)


def fed_by_queues():
    """Returns a session of a model whose input comes from a queue that a second queue fills, with summaries."""
    with tf.Graph().as_default() as graph:
        rows = tf.data.Dataset.from_tensor_slices(np.ones([6, 2], np.float32)).repeat()
        row = tf1.data.make_one_shot_iterator(rows).get_next()
        batch = tf1.train.shuffle_batch([row], 2, 10, 4, name="batch")
        batch = tf1.train.batch([batch], 1, enqueue_many=True, name="second")
        w = tf1.get_variable("w", initializer=[[2.0], [3.0]])
        y = tf.matmul(batch, w, name="out")
        tf1.summary.scalar("mean", tf.reduce_mean(y))
        tf1.summary.merge_all(name="merged")
        session = tf1.Session(graph=graph)
        session.run(tf1.global_variables_initializer())
    return session


def test_queues_and_their_runners_give_way_to_a_new_input():
    session = fed_by_queues()
    assert len(session.graph.get_collection("queue_runners")) == 2
    sup = gs.connect({"enc": session}, inputs={"enc/second:0": "images"})
    assert not [t for t in sup.snapshot.types if "Queue" in t or "Iterator" in t or "Dataset" in t]
    assert sup.graph.get_collection("queue_runners") == []
    run = sup.session()
    np.testing.assert_array_equal(run.run("enc/out:0", {"images:0": [[1, 1]]}), [[5]])
    assert run.run(
        "enc/merged/merged:0" if "enc/merged/merged" in sup.snapshot.index else "enc/merged:0", {"images:0": [[1, 1]]}
    )


def test_datasets_go_with_a_one_shot_iterator():
    """Its own datasets are in a function; those of the program stay in the graph, and nobody reads them."""
    with tf.Graph().as_default() as graph:
        rows = tf.data.Dataset.range(5).map(lambda i: tf.cast(i, tf.float32)).repeat()
        tf.identity(tf1.data.make_one_shot_iterator(rows).get_next(), name="out")
    assert [t for t in gs.open(graph).snapshot.types if "Dataset" in t]
    sup = gs.connect({"a": graph}, inputs={"a/IteratorGetNext:0": "x"})
    assert not [t for t in sup.snapshot.types if "Iterator" in t or "Dataset" in t]
    with tf1.Session(graph=sup.graph) as session:
        assert session.run("a/out:0", {"x:0": 3.0}) == 3.0


def test_an_iterator_gives_way_to_the_output_of_another_graph():
    with tf.Graph().as_default() as graph:
        data = tf1.data.make_initializable_iterator(tf.data.Dataset.range(5).map(lambda i: tf.cast(i, tf.float32)))
        graph.add_to_collection("table_initializer", data.initializer)
        tf.multiply(data.get_next(), tf1.get_variable("w", initializer=2.0), name="out")
    with tf.Graph().as_default() as other:
        tf1.placeholder(tf.float32, [], name="in")
        tf.add(other.get_tensor_by_name("in:0"), 1.0, name="plus")
    sup = gs.connect({"a": other, "b": graph}, {"a/plus:0": "b/IteratorGetNext:0"}, values="initial")
    assert not [t for t in sup.snapshot.types if "Iterator" in t or "Dataset" in t]
    assert sup.session().run("b/out:0", {"a/in:0": 4.0}) == 10


def test_a_feed_that_something_else_reads_too_stays():
    g = Graph.from_ops(
        [("file", "Const", []), ("x", "Identity", ["file"]), ("y", "Neg", ["x"]), ("z", "Neg", ["file"])]
    )
    assert removable_ops(g, [(1, 0)]).mask.tolist() == [False, True, False, False]
    assert removable_ops(g, [(1, 0)], needed_ops=[1]).mask.tolist() == [False, False, False, False]


def test_an_input_that_is_replaced_and_read_elsewhere_is_passed_through():
    enc, dec = net("ref", 2, 3, 1), net("ref", 2, 1, 5)
    with tf.Graph().as_default() as pipe:
        tf.multiply(tf1.placeholder(tf.float32, [None, 2], name="raw"), 2.0, name="twice")
    sup = gs.connect({"enc": enc, "dec": dec, "pipe": pipe}, {"pipe/twice:0": "enc/in:0", "enc/in:0": "dec/in:0"})
    want = dec.run("out:0", {"in:0": 2 * X})
    np.testing.assert_array_equal(sup.session().run("dec/out:0", {"pipe/raw:0": X}), want)


def test_a_mapping_the_wrong_way_round_is_told_with_what_to_type():
    with tf.Graph().as_default() as first:
        tf.square(tf1.placeholder(tf.float32, [None], name="x"), name="out")
        tf.negative(first.get_tensor_by_name("out:0"), name="end")
    with tf.Graph().as_default() as second:
        tf.add(tf1.placeholder(tf.float32, [None], name="x"), 1.0, name="out")
    with pytest.warns(UserWarning, match="which is computed") as reported:
        gs.connect({"a": first, "b": second}, {"b/x:0": "a/out:0"})
    (text,) = [str(one.message) for one in reported]
    assert "connect(['a', 'b']): 'b/x:0', a placeholder, replaces 'a/out:0', which is computed" in text
    assert "If 'a/out:0' is to feed 'b/x:0', type {'a/out:0': 'b/x:0'}" in text


@pytest.mark.parametrize(
    "pairs",
    [{"a/out:0": "b/x:0"}, {"a/x:0": "b/x:0"}, {"a/end:0": "b/x:0", "b/x:0": "c/out:0"}],
    ids=["forward", "shared_input", "passed_through"],
)
def test_a_mapping_that_can_be_meant_is_not_told(pairs, recwarn):
    def line():
        with tf.Graph().as_default() as graph:
            tf.square(tf1.placeholder(tf.float32, [None], name="x"), name="out")
            tf.negative(graph.get_tensor_by_name("out:0"), name="end")
        return graph

    gs.connect({"a": line(), "b": line(), "c": line()}, pairs)
    assert not [one for one in recwarn if "placeholder" in str(one.message)]


def test_a_device_that_is_not_there_is_a_clear_error():
    enc = net("ref", 2, 3, 1)
    sup = gs.connect({"enc": enc}, device="/job:ps/task:7")
    with refuses(PlanError, "'enc/", "requires the device '/job:ps/task:7'", "there are CPU:0", "device='clear'"):
        sup.session()
    assert gs.connect({"enc": enc}, device="/cpu:0").session().run("enc/w:0").shape == (2, 3)


def test_a_live_graph_without_values_starts_from_initial_ones_when_asked():
    enc = net("ref", 2, 3, 1)
    with refuses(PlanError, "connect(['enc'])", "3 variables have initial values", "values={'enc': 'initial'}"):
        gs.connect({"enc": enc.graph})
    sup = gs.connect({"enc": enc.graph}, values={"enc": "initial"})
    assert "3 new variables will start" in str(sup.history[0].result.effect.warnings)
    given = gs.connect({"enc": enc.graph}, values={"enc": enc})
    np.testing.assert_array_equal(given.session().run("enc/w:0"), enc.run("w:0"))


@pytest.mark.parametrize(
    ("connections", "options", "kind", "words"),
    [
        ({"enc/out:0": "dec/in:0", "dec/out:0": "enc/in:0"}, {}, PlanError,
         ["that is a cycle between the graphs: enc -> dec -> enc"]),
        ({"enc/out:0": "enc/in:0"}, {}, PlanError, ["that is a cycle between the graphs: enc -> enc"]),
        ({"enc/out:0": "dec/in:0", "enc/in:0": "dec/in:0"}, {}, PlanError, ["'dec/in:0' is fed twice"]),
        (
            {"out:0": "dec/in:0"},
            {},
            PlanError,
            ["'out:0' does not begin with the name of a graph", "'enc/out:0' or 'dec/out"],
        ),
        ({"enc/outt:0": "dec/in:0"}, {}, SelectionError, ["outt", "Did you mean"]),
        ({"enc/in:0": "dec/in:0"}, {}, PlanError, ["connect(['enc', 'dec'])", "2", "3"]),
        ({"enc/out:0": "dec/global_step:0"}, {}, PlanError, ["float32", "int64"]),
        ({"enc/out:0": "dec/out:0"}, {}, PlanError, ["connect(['enc', 'dec'])", "out:0"]),
        ({}, {"values": {"enk": 1}}, PlanError, ["values= names 'enk'", "'enc' or 'dec'"]),
        ({}, {"inputs": {"enc/in:0": "enc/x"}}, PlanError, ["the name 'enc/x' for the new input 'enc/in:0' is taken"]),
        ({}, {"inputs": {"enc/in:0": "a b"}}, PlanError, ["'a b' is not a name of an op"]),
    ],
)  # fmt: skip
def test_what_does_not_connect(connections, options, kind, words):
    with refuses(kind, *words):
        gs.connect({"enc": net("ref", 2, 3, 1), "dec": net("ref", 3, 1, 5)}, connections, **options)


def test_names_and_things_that_are_no_graphs(tmp_path):
    enc = net("ref", 2, 3, 1)
    with refuses(PlanError, "there are no graphs to connect"):
        gs.connect({})
    for name in ("a b", "", "/"):
        with refuses(PlanError, f"{name!r} is not a name for a graph", "It becomes a scope: use letters"):
            gs.connect({name: enc})
    with refuses(PlanError, "may belong to one or two", "graph/name:0"):
        gs.connect({"one": enc, "two": enc}, {enc.graph.get_tensor_by_name("out:0"): "two/in:0"})
    with refuses(OpenError, "nothing.meta"):
        gs.connect({"enc": str(tmp_path / "nothing.meta")})


def test_a_checkpoint_without_a_shard(tmp_path):
    path = files(net("ref", 2, 3, 1), tmp_path / "enc", "meta")
    (tmp_path / "enc.data-00000-of-00001").unlink()
    with refuses(PlanError, "data file is missing"):
        gs.connect({"enc": path})


@pytest.mark.parametrize(
    ("names", "connections", "kind", "words"),
    [
        ((1, "dec"), {}, PlanError, ["1 is not a name for a graph", "'g1'"]),
        (("dec", "Dec"), {}, PlanError, ["'dec' and 'Dec' are the same scope in TensorFlow", "another name"]),
        (("enc", "dec"), [("enc/out:0", "dec/in:0")], PlanError, ["is not a mapping", "{'enc/out:0': 'dec/in:0'}"]),
        (("enc", "dec"), {"enc/out:0": "dec/out:0"}, PlanError, ["nothing in dec reads 'dec/out:0'", "as 'dec/in:0'"]),
        (
            ("enc", "dec"),
            {"enc/out:0": "in:0"},
            PlanError,
            ["does not begin with the name", "'enc/in:0' or 'dec/in:0'"],
        ),
        (
            ("enc", "dec"),
            {"enc/out:0": "Dec/in:0"},
            PlanError,
            ["does not begin with the name", "'enc/in:0' or 'dec/in:0'"],
        ),
        (("enc", "dec"), {"enc/out:1": "dec/in:0"}, SelectionError, ["'enc/out:1'", "has 1 output", "'enc/out:0'"]),
        (("enc", "dec"), {"enc/uot:0": "dec/in:0"}, SelectionError, ["'enc/uot:0'", "no op has", "'enc/out'"]),
    ],
)
def test_what_is_proposed_can_be_typed(names, connections, kind, words):
    with refuses(kind, *words):
        gs.connect(dict(zip(names, (net("ref", 2, 3, 1), net("ref", 3, 1, 5)), strict=True)), connections)


def test_inputs_and_outputs_of_what_is_joined_are_kept(tmp_path):
    vector = tf.TensorSpec([None, 2], tf.float32, name="x")
    first = tf.function(lambda x: {"y": x * 2.0, "sum": tf.reduce_sum(x)}).get_concrete_function(vector)
    second = tf.function(lambda x, scale: {"y": x * scale}).get_concrete_function(
        vector, tf.TensorSpec([], tf.float32, name="scale")
    )
    a, b = gs.open(first), gs.open(second)
    sup = gs.connect({"a": a, "b": b}, {f"a/{a.outputs['y']}": "b/x:0"})
    assert sup.inputs == {"x": "a/x:0", "scale": "b/scale:0"}
    assert sup.outputs == {"sum": f"a/{a.outputs['sum']}", "y": f"b/{b.outputs['y']}"}
    sup.save(tmp_path / "served", format="saved_model_tf2")
    f = tf.saved_model.load(str(tmp_path / "served")).signatures["serving_default"]
    got = f(x=tf.constant([[1.0, 2.0]]), scale=tf.constant(3.0))
    assert (got["y"].numpy().tolist(), float(got["sum"])) == ([[6.0, 12.0]], 3.0)
    # Beside each other, the names of the graphs keep equal ones apart.
    both = gs.connect({"a": a, "b": b})
    assert both.inputs == {"a_x": "a/x:0", "b_x": "b/x:0", "scale": "b/scale:0"}
    assert set(both.outputs) == {"a_y", "sum", "b_y"}
    # What takes the place of an input is one.
    fed = gs.connect({"a": a}, inputs={"a/x:0": "rows"})
    assert fed.inputs == {"rows": "rows:0"}


def test_a_new_input_has_the_shape_that_is_given_for_it():
    with tf.Graph().as_default() as graph:
        rows = tf.data.Dataset.from_tensor_slices(np.ones([6, 2], np.float32)).repeat()
        batch = tf1.train.batch([tf1.data.make_one_shot_iterator(rows).get_next()], 16, name="batch")
        w = tf1.get_variable("w", initializer=[[2.0], [3.0]])
        tf.tanh(tf.matmul(batch, w), name="out")
    assert graph.get_tensor_by_name("out:0").shape == (16, 1)
    images = tf.TensorSpec([None, 2], tf.float32, "images")
    sup = gs.connect({"enc": graph}, inputs={"enc/batch:0": images}, values="initial")
    assert [sup.tensor(name).shape.as_list() for name in ("images:0", "enc/out:0")] == [[None, 2], [None, 1]]
    found = sup.session().run("enc/out:0", {"images:0": np.ones([3, 2])})
    np.testing.assert_allclose(found, np.tanh(np.full([3, 1], 5.0)), rtol=1e-6)
    unnamed = tf.TensorSpec([None, 2], tf.float32)
    sup = gs.connect({"enc": graph}, inputs={"enc/batch": unnamed}, values="initial")
    assert sup.tensor("enc_batch:0").shape.as_list() == [None, 2]
    for spec, words in (
        (tf.TensorSpec([None, 3], tf.float32, "images"), ["'images:0'", "(?, 3)", "(16, 2)"]),
        (tf.TensorSpec([None, 2], tf.int32, "images"), ["int32", "float32"]),
    ):
        with refuses(PlanError, "connect(['enc'])", *words):
            gs.connect({"enc": graph}, inputs={"enc/batch:0": spec}, values="initial")


def text_models():
    """Returns a Keras model of words to numbers, and one of numbers to a result."""
    import keras

    keras.utils.set_random_seed(3)
    layers = keras.layers
    numbers = layers.TextVectorization(max_tokens=10, output_sequence_length=4, name="numbers")
    numbers.adapt(["a b c", "b c d"])
    words, ids = keras.Input((), dtype="string", name="words"), keras.Input((4,), dtype="int64", name="ids")
    rows = layers.Flatten(name="rows")(layers.Embedding(10, 3, name="vectors")(ids))
    before = keras.Model(words, numbers(words), name="before")
    return before, keras.Model(ids, layers.Dense(2, name="head")(rows), name="after")


WORDS = tf.constant(["a b", "d c q"])


def test_words_and_tables_come_along_and_ends_are_names_of_arguments_results_and_layers():
    before, after = text_models()
    wanted = after(before(WORDS))
    by_layer = gs.connect({"text": before, "net": after}, {"text/numbers": "net/ids"})
    np.testing.assert_array_equal(by_layer.function()(WORDS)["net_output"], wanted)
    sup = gs.connect({"text": before, "net": after}, {"text/output": "net/ids"})
    assert (list(sup.inputs), list(sup.outputs)) == (["words"], ["output"])
    np.testing.assert_array_equal(sup.function()(WORDS)["output"], wanted)
    found = sup.session().run(sup.outputs, {sup.inputs["words"]: WORDS.numpy()})
    np.testing.assert_allclose(found["output"], wanted, rtol=1e-6)
    layer = sup.keras_layer()
    np.testing.assert_array_equal(layer(WORDS), wanted)
    assert [w.name for w in layer.trainable_weights] == [
        "net.vectors.embeddings", "net.head.kernel", "net.head.bias"
    ]  # fmt: skip
    found = [(one.path, one.class_name) for one in sup.layers]
    assert found.pop(2)[1] == "StringLookup"  # what the vectorization holds; Keras counts their names
    assert found == [
        ("text/words", "InputLayer"), ("text/numbers", "TextVectorization"), ("net/vectors", "Embedding"),
        ("net/rows", "Flatten"), ("net/head", "Dense"),
    ]  # fmt: skip
    assert by_layer.layer("net/vectors").inputs == by_layer.layer("numbers").outputs
    assert sup.layer("head").variables == ("net/head/kernel", "net/head/bias")
    head = sup.keras_layer("net/vectors", "net/head")
    np.testing.assert_allclose(head(after.get_layer("vectors")(before(WORDS))), wanted, rtol=1e-6)
    # What a layer gives is given by another graph.
    with tf.Graph().as_default() as graph:
        tf.zeros([2, 12], name="none")
    sup = gs.connect({"net": after, "no": graph}, {"no/none": "net/rows"})
    assert "net/ids" not in sup.snapshot.index
    np.testing.assert_array_equal(sup.session().run(sup.outputs)["output"], np.zeros([2, 2]))
    with refuses(SelectionError, "'net/headd': there is no layer 'headd'", "Did you mean 'net/head'?"):
        gs.connect({"net": after, "no": graph}, {"no/none": "net/headd"})


# -- SavedModels of TF2: their ops, variables and gradients are there, or a message says how ------------------

FRAMES = np.linspace(-1.0, 1.0, 72).reshape(3, 6, 4).astype(np.float32)
LAYERS = ["dense", "lstm", "depthwise"]


def encoder():
    """Returns a session of ``out = in * w``."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 6, 4], name="in")
        tf.multiply(x, tf1.get_variable("w", initializer=1.5, use_resource=True), name="out")
        session = tf1.Session(graph=graph)
        session.run(tf1.global_variables_initializer())
    return session


def decoder(kind, folder):
    """Saves a Keras model of (batch, 6, 4) to a folder; returns it."""
    import keras

    keras.utils.set_random_seed(3)
    layers = {
        "dense": [keras.layers.Flatten()],
        "lstm": [keras.layers.LSTM(4)],
        "depthwise": [keras.layers.Reshape((6, 4, 1)), keras.layers.DepthwiseConv2D(3), keras.layers.Flatten()],
    }[kind]
    model = keras.Sequential([keras.Input((6, 4), name="x"), *layers, keras.layers.Dense(2)])
    model.export(str(folder), verbose=False)
    return model


@pytest.mark.parametrize("kind", LAYERS)
def test_a_folder_given_by_names_behind_its_signature_is_trained_as_one_with_what_feeds_it(tmp_path, kind):
    model, enc = decoder(kind, tmp_path), encoder()
    inside = gs.open(str(tmp_path), signature="serving_default")
    (start,), (end,) = inside.inputs.values(), inside.outputs.values()
    sup = gs.connect({"enc": enc, "dec": str(tmp_path)}, {"enc/out:0": f"dec/{start}"})
    (warning,) = (line for line in str(sup).splitlines() if "warning" in line)
    assert warning == "  warning: the other signatures of 'dec' are not in this model: 'serve'"
    feed = {"enc/in:0": FRAMES}
    with sup.graph.as_default():
        variables = tf1.trainable_variables()
        loss = tf.reduce_mean(tf.square(sup.tensor(f"dec/{end}") - 0.5))
        step = tf1.train.GradientDescentOptimizer(0.003).minimize(loss)
    session = sup.session()  # TensorFlow gives a loop that has run no gradient in the same session any more
    np.testing.assert_allclose(session.run(f"dec/{end}", feed), model(1.5 * FRAMES), rtol=1e-5, atol=1e-6)
    assert len(variables) == 1 + len(model.trainable_variables)
    before, first = session.run(variables), session.run(loss, feed)
    for _ in range(5):
        session.run(step, feed)
    assert session.run(loss, feed) < first
    assert all(np.abs(a - b).max() > 1e-6 for a, b in zip(before, session.run(variables), strict=True))


def test_a_folder_opened_as_it_lies_is_connected_by_its_own_names(tmp_path):
    model = decoder("dense", tmp_path)
    raw = gs.open(str(tmp_path), raw=True)
    call = raw.graph.get_tensor_by_name("serving_default_x:0").consumers()[0].outputs[0].name
    sup = gs.connect({"enc": encoder(), "dec": raw}, {"enc/out:0": "dec/serving_default_x:0"})
    found = sup.session().run(f"dec/{call}", {"enc/in:0": FRAMES})
    np.testing.assert_allclose(found, model(1.5 * FRAMES), rtol=1e-5, atol=1e-6)


def test_a_name_that_is_not_in_a_signature_is_told_so(tmp_path):
    decoder("dense", tmp_path)
    how = "These are the names of signature 'serving_default'; with raw=True it has others"
    for editor in (str(tmp_path), gs.open(str(tmp_path))):
        with refuses(SelectionError, "'dec/no:0'", how):
            gs.connect({"enc": encoder(), "dec": editor}, {"enc/out:0": "dec/no:0"})


class Two(tf.Module):
    """A module of two signatures."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def one(self, a):
        return {"r": a * 2.0}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def two(self, b):
        return {"r": b * 3.0}


def test_a_folder_of_two_signatures_is_connected_by_the_first_or_the_one_that_is_given(tmp_path):
    module = Two()
    tf.saved_model.save(module, str(tmp_path / "two"), signatures={"one": module.one, "two": module.two})
    sup = gs.connect({"m": str(tmp_path / "two")}, inputs=iter(["m/a:0"]))
    assert sup.session().run("m/Identity:0", {"m_a:0": [1.0]}).tolist() == [2.0]
    sup = gs.connect({"m": gs.open(tmp_path / "two", signature="two")}, inputs=["m/b:0"])
    assert sup.session().run("m/Identity:0", {"m_b:0": [1.0]}).tolist() == [3.0]
