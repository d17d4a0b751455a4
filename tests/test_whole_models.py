"""A model that is opened and saved keeps what it has next to its graph, or the report names what is lost."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.hostile import word_rows
from tests.needs import ROOT
from tests.refusal import refuses
from tests.whole_models import CELLS, THINGS, cells

X = np.array([[1.0, 2.0], [3.0, -4.0]], np.float32)
FOLDERS = ("saved_model", "saved_model_tf2")


class Model(tf.Module):
    """Three signatures: two share a variable, one has a default, one has no input, and one reads a vocabulary."""

    def __init__(self, vocabulary: Path) -> None:
        super().__init__()
        self.w = tf.Variable([[2.0, 1.0], [0.5, -1.0]], name="w")
        self.b = tf.Variable([0.25, 0.5], name="b")
        self.table = tf.lookup.StaticHashTable(word_rows(vocabulary), -1)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x"), tf.TensorSpec([], name="scale")])
    def quality(self, x, scale=tf.constant(3.0)):  # noqa: B008
        return {"zeta": tf.matmul(x, self.w) * scale, "alpha": x}

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def shifted(self, x):
        return {"y": tf.matmul(x, self.w) + self.b}

    @tf.function(input_signature=[])
    def meta(self):
        return {"names": tf.constant(["a", "b"])}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def ids(self, words):
        return {"ids": self.table.lookup(words)}


CALLS: dict[str, dict[str, Any]] = {
    "image_quality": {"x": X, "scale": np.float32(2.0)},
    "shifted": {"x": X},
    "meta": {},
    "ids": {"words": np.array(["cat", "dog"])},
}


def by_module(folder: Path) -> dict[str, dict[str, Any]]:
    """Writes a module with four signatures; returns their calls."""
    vocabulary = folder.with_suffix(".txt")
    vocabulary.write_text("ant\nbee\ncat\n")
    model = Model(vocabulary)
    served = {"image_quality": model.quality, "shifted": model.shifted, "meta": model.meta, "ids": model.ids}
    tf.saved_model.save(model, str(folder), signatures=served)
    vocabulary.unlink()
    return CALLS


def by_one_signature(folder: Path) -> dict[str, dict[str, Any]]:
    """Writes a module with one signature, which is not called serving_default."""
    vocabulary = folder.with_suffix(".txt")
    vocabulary.write_text("ant\n")
    model = Model(vocabulary)
    tf.saved_model.save(model, str(folder), signatures={"image_quality": model.quality})
    return {"image_quality": CALLS["image_quality"]}


def by_keras(folder: Path) -> dict[str, dict[str, Any]]:
    """Exports a Keras model with two inputs."""
    import keras

    a, b = keras.Input((2,), name="a"), keras.Input((2,), name="b")
    keras.Model([a, b], keras.layers.Dense(2, name="d")(a) + b).export(str(folder), verbose=False)
    return {"serve": {"a": X, "b": X}, "serving_default": {"a": X, "b": X}}


def by_archive(folder: Path) -> dict[str, dict[str, Any]]:
    """Exports two endpoints of a Keras model, which share its layer."""
    import keras

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, name="d")])
    archive = keras.export.ExportArchive()
    archive.track(model)
    spec = [keras.InputSpec(shape=(None, 2), dtype="float32", name="x")]
    archive.add_endpoint("call", model.call, spec)
    archive.add_endpoint("doubled", lambda x: 2.0 * model(x), spec)
    archive.write_out(str(folder), verbose=False)
    return {name: {"x": X} for name in ("call", "doubled", "serving_default")}


def answers(folder: Any, calls: dict[str, dict[str, Any]]) -> dict[str, dict[str, bytes]]:
    """Returns the results of signatures in plain TensorFlow, bit for bit."""
    loaded = tf.saved_model.load(str(folder))
    results = {name: loaded.signatures[name](**{key: tf.constant(value) for key, value in feeds.items()})
               for name, feeds in calls.items()}  # fmt: skip
    return {name: {key: repr(value.numpy().tolist()).encode() for key, value in result.items()}
            for name, result in results.items()}  # fmt: skip


def described(folder: Any) -> dict[str, Any]:
    """Returns the arguments, results and defaults of each signature of a folder."""
    (meta,) = saved_model_pb2.SavedModel.FromString((Path(folder) / "saved_model.pb").read_bytes()).meta_graphs
    return {
        name: (sorted(one.inputs), sorted(one.outputs), {k: tf.make_ndarray(v) for k, v in one.defaults.items()})
        for name, one in meta.signature_def.items()
        if not name.startswith("__")
    }


def kept(saved: Any, source: Path, calls: dict[str, dict[str, Any]], chosen: str = "") -> None:
    """Checks that a written folder describes and answers each signature as its source does.

    Args:
        saved: the report on the folder.
        source: the folder that was opened.
        calls: the feeds of each signature.
        chosen: the signature that was chosen by name; if the source has no default signature, it is the default too.
    """
    want, there = described(source), {name: feeds for name, feeds in calls.items() if name in described(source)}
    if chosen and "serving_default" not in want:
        want["serving_default"] = want[chosen]
        assert f"signature {chosen!r} is also 'serving_default'" in str(saved)
        assert answers(saved.path, {"serving_default": calls[chosen]}) == {
            "serving_default": answers(source, {chosen: calls[chosen]})[chosen]
        }
    assert described(saved.path) == want
    assert answers(saved.path, there) == answers(source, there)


@pytest.mark.parametrize("format", FOLDERS)
def test_a_folder_keeps_all_signatures_and_each_variable_once(tmp_path, format):
    calls = by_module(tmp_path / "in")
    ed = gs.open(tmp_path / "in", signature="image_quality")
    assert "scale: float32 () = default" in str(next(one for one in ed.signatures if one.name == "image_quality"))
    saved = ed.save(tmp_path / "out", format=format)
    kept(saved, tmp_path / "in", calls, "image_quality")
    assert (
        len(tf.train.list_variables(str(tmp_path / "out" / "variables" / "variables")))
        - (
            format == "saved_model_tf2"  # the object graph is an entry too
        )
        == 2
    ), saved.variables


@pytest.mark.deep
@pytest.mark.parametrize("format", FOLDERS)
@pytest.mark.parametrize("write", [by_module, by_one_signature, by_keras, by_archive])
def test_each_signature_that_is_opened_keeps_the_others(tmp_path, write, format):
    calls = write(tmp_path / "in")
    for name in described(tmp_path / "in"):
        kept(
            gs.open(tmp_path / "in", signature=name).save(tmp_path / f"{name}_out", format=format),
            tmp_path / "in",
            calls,
            name,
        )
        again = gs.open(tmp_path / f"{name}_out", signature=name).save(tmp_path / f"{name}_again", format=format)
        kept(again, tmp_path / f"{name}_out", calls, name)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["m.pb", "m.meta", "m.tflite"])
@pytest.mark.parametrize("write", [by_module, by_archive])
def test_a_format_without_signatures_names_the_other_signatures(tmp_path, write, name):
    write(tmp_path / "in")
    *others, own = sorted(described(tmp_path / "in"))
    ed = gs.open(tmp_path / "in", signature=own)
    notes = " ".join(ed.save(tmp_path / name).notes)
    assert all(repr(other) in notes for other in others), notes


@pytest.mark.parametrize("format", FOLDERS)
def test_an_edit_of_one_signature_reaches_the_others_through_shared_variables(tmp_path, format):
    by_module(tmp_path / "in")
    ed = gs.open(tmp_path / "in", signature="shifted")
    ed.apply(ed.plan().rename({"w": "weights"}).insert("Neg", on=ed.outputs["y"], name="neg"))
    session = ed.session()
    session.run(ed.graph.get_operation_by_name("weights/Assign"), {"weights/Initializer/value:0": np.eye(2)})
    saved = ed.save(tmp_path / "out", format=format, outputs={"y": "neg:0"})
    loaded = tf.saved_model.load(saved.path).signatures
    assert set(loaded) >= set(CALLS), saved.notes
    np.testing.assert_array_equal(loaded["shifted"](x=tf.constant(X))["y"], -(X + np.float32([0.25, 0.5])))
    np.testing.assert_array_equal(loaded["image_quality"](x=tf.constant(X), scale=tf.constant(1.0))["zeta"], X)


def test_a_save_after_an_edit_names_the_signatures_that_it_did_not_reach(tmp_path):
    calls = by_keras(tmp_path / "in")
    ed = gs.open(tmp_path / "in")
    assert "not edited" not in str(ed.save(tmp_path / "same"))
    (output,) = ed.outputs.values()
    ed.apply(ed.plan().insert("Neg", on=output, name="neg"))
    saved = ed.save(tmp_path / "out", outputs="neg:0")
    assert "not edited: signature 'serve'; the plans changed 'serving_default'" in str(saved)
    was, now = (answers(folder, {"serve": calls["serve"]}) for folder in (tmp_path / "in", tmp_path / "out"))
    assert was == now
    ed.undo()
    assert "not edited" not in str(ed.save(tmp_path / "undone"))


def test_inputs_and_outputs_name_a_part_which_is_saved_alone(tmp_path):
    by_keras(tmp_path / "in")
    ed = gs.open(tmp_path / "in")
    saved = ed.save(tmp_path / "part", inputs={"a": ed.inputs["a"]}, outputs={"h": "d"})
    assert set(described(tmp_path / "part")) == {"serving_default"}
    assert "not included: signature 'serve', because inputs= and outputs= name the part to save" in str(saved)
    assert len(saved.variables) == 2


@pytest.mark.parametrize("format", FOLDERS)
def test_signatures_that_the_request_does_not_list_are_named(tmp_path, format):
    by_module(tmp_path / "in")
    ed = gs.open(tmp_path / "in", signature="shifted")
    saved = ed.save(tmp_path / "out", format=format, signatures={"other": ({"x": "x:0"}, {"y": ed.outputs["y"]})})
    assert "not included: signatures 'ids', 'image_quality', 'meta', 'shifted', because signatures=" in str(saved)


def test_a_graph_with_two_signatures_of_tf1_keeps_both(tmp_path):
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        y = tf.multiply(x, tf.compat.v1.get_variable("v", initializer=2.0), name="y")
        session.run(tf.compat.v1.global_variables_initializer())
        made = tf.compat.v1.saved_model.predict_signature_def
        builder = tf.compat.v1.saved_model.Builder(str(tmp_path / "in"))
        served = {"one": made({"a": x}, {"l": y}), "two": made({"b": x}, {"m": tf.negative(y, name="n")})}
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map=served)
        builder.save()
    del graph
    for options in ({}, {"raw": True}, {"signature": "two"}):
        ed = gs.open(tmp_path / "in", **options)
        ed.apply(ed.plan().rename({"y": "product"}))
        calls = {"one": {"a": X[0]}, "two": {"b": X[0]}}
        kept(ed.save(tmp_path / "out", overwrite=True), tmp_path / "in", calls, str(options.get("signature", "")))


@pytest.mark.parametrize("format", FOLDERS)
def test_outputs_alone_take_the_inputs_of_the_model_that_they_need(tmp_path, format):
    by_one_signature(tmp_path / "in")
    ed = gs.open(tmp_path / "in")
    ed.apply(ed.plan().insert("Neg", on=ed.outputs["alpha"], name="neg"))
    ed.save(tmp_path / "out", format=format, outputs={"y": "neg:0"})
    assert described(tmp_path / "out")["image_quality"] == (["x"], ["y"], {})
    with tf.Graph().as_default() as graph:
        tf.negative(tf.compat.v1.placeholder(tf.float32, [], name="x"), name="y")
    for verify in (True, False):
        with refuses(PlanError, "'x:0', which is not an input", "Type inputs=['x:0']"):
            gs.open(graph).save(tmp_path / "none", format=format, outputs="y:0", verify=verify)


@pytest.mark.parametrize("renamed", [False, True])
def test_an_inlined_model_keeps_the_other_signatures(tmp_path, renamed):
    calls = by_module(tmp_path / "in")
    ed = gs.open(tmp_path / "in", signature="shifted")
    if renamed:
        ed.apply(ed.plan().rename({"w": "weights"}))
    saved = ed.inlined().save(tmp_path / "out")
    kept(saved, tmp_path / "in", calls, "shifted")
    assert len(saved.variables) == 2


def test_a_function_of_a_signature_has_its_defaults(tmp_path):
    by_one_signature(tmp_path / "in")
    f = gs.open(tmp_path / "in").function()
    np.testing.assert_array_equal(f(x=X)["zeta"], f(x=X, scale=3.0)["zeta"])


@pytest.mark.deep
@pytest.mark.parametrize("way", ["own", "set_signature", "reordered"])
def test_a_tflite_file_has_the_signature_of_the_model(tmp_path, way):
    by_one_signature(tmp_path / "in")
    ed, outputs = gs.open(tmp_path / "in"), None
    if way == "set_signature":
        ed = gs.recipes.set_signature(ed, ed.outputs, ed.inputs)
    elif way == "reordered":
        outputs = {"zeta": ed.outputs["zeta"], "alpha": ed.outputs["alpha"]}
    saved = ed.save(tmp_path / "m.tflite", outputs=outputs)
    run = tf.lite.Interpreter(model_path=saved.path)
    assert set(run.get_signature_list()) == {"image_quality"}
    got = run.get_signature_runner("image_quality")(x=X, scale=np.float32(3.0))
    want = gs.open(tmp_path / "in").function()(x=X)
    for key in ("alpha", "zeta"):
        np.testing.assert_allclose(got[key], want[key], rtol=1e-6)
    assert "'scale'" in " ".join(saved.notes)


def test_variables_without_a_value_are_listed_with_the_ways_to_give_them(tmp_path):
    by_one_signature(tmp_path / "in")
    shutil.rmtree(tmp_path / "in" / "variables")
    ed = gs.open(tmp_path / "in")
    assert ed.untrained() == {"w": "there is no variables/variables.index"}
    assert "Initializer/value" not in str(ed).partition("scopes")[0]
    requests = [lambda f=f: ed.save(tmp_path / "out", format=f) for f in FOLDERS]
    requests += [lambda: ed.save(tmp_path / "m.pb", freeze=True), ed.function, ed.keras_layer]
    for request in requests:
        with refuses(
            PlanError, "1 variable has no value, there is no variables/variables.index: w", "values={'w': array"
        ):
            request()
    saved = ed.save(tmp_path / "out", values={"w": np.eye(2, dtype=np.float32)})
    got = tf.saved_model.load(saved.path).signatures["image_quality"](x=tf.constant(X), scale=tf.constant(1.0))
    np.testing.assert_array_equal(got["zeta"], X)


def test_a_new_signature_keeps_the_name_and_the_defaults_of_the_opened_one(tmp_path):
    by_module(tmp_path / "in")
    ed = gs.open(tmp_path / "in", signature="image_quality")
    model = gs.recipes.set_signature(ed, {"out": ed.outputs["zeta"]}, ed.inputs)
    assert "the other signatures of the file are not in this model: 'ids', 'meta', 'shifted'" in str(model)
    source = described(tmp_path / "in")["image_quality"]
    assert described(model.save(tmp_path / "out").path) == {"image_quality": (source[0], ["out"], source[2])}


@pytest.mark.parametrize("renamed", [False, True])
@pytest.mark.parametrize("format", ["saved_model", "meta_graph"])
def test_the_init_op_and_the_assets_of_a_file_follow_a_rename(tmp_path, renamed, format):
    vocabulary = tmp_path / "words.txt"
    vocabulary.write_text("ant\nbee\ncat\n")
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        words = tf.compat.v1.placeholder(tf.string, [None], name="words")
        table = tf.compat.v1.lookup.StaticHashTable(word_rows(vocabulary), -1)
        count = tf.compat.v1.get_variable("count", initializer=1.0)
        ids = tf.cast(table.lookup(words), tf.float32)
        ends = {"ids": tf.multiply(ids, count, name="ids")}
        session.run(tf.compat.v1.global_variables_initializer())
        fill = tf.group(table.initializer, name="fill")
        builder = tf.compat.v1.saved_model.Builder(str(tmp_path / "in"))
        made = tf.compat.v1.saved_model.predict_signature_def({"words": words}, ends)
        builder.add_meta_graph_and_variables(
            session, ["serve"], signature_def_map={"serving_default": made}, main_op=fill,
            assets_collection=graph.get_collection("asset_filepaths"),
        )  # fmt: skip
        builder.save()
    vocabulary.unlink()
    ed = gs.open(tmp_path / "in")
    (path,) = ed.values.init_ops[1]
    if renamed:
        ed.apply(ed.plan().rename({"fill": "first", path.removesuffix(":0"): "place"}))
        assert ed.values.init_ops == (["first"], {"place:0": str(tmp_path / "in" / "assets" / "words.txt")})
    feeds = {ed.inputs["words"]: ["cat", "dog"]}
    assert ed.session().run(ed.outputs["ids"], feeds).tolist() == [2.0, -1.0]
    assert ed.trace(feeds).results[ed.outputs["ids"]].tolist() == [2.0, -1.0]
    for source in (ed, ed.inlined()):
        assert source.session().run(ed.outputs["ids"], feeds).tolist() == [2.0, -1.0]
        saved = source.save(tmp_path / "out" if format == "saved_model" else tmp_path / "out.meta", overwrite=True)
        assert "1 outputs as in this graph" in str(saved) or "1 output as in this graph" in str(saved), saved
    if format == "saved_model":
        kept(saved, tmp_path / "in", {"serving_default": {"words": np.array(["cat", "dog"])}})
        assert (tmp_path / "out" / "assets" / "words.txt").read_text() == "ant\nbee\ncat\n"


def test_the_halves_of_a_split_keep_the_signature_and_its_defaults(tmp_path):
    by_module(tmp_path / "in")
    ed = gs.open(tmp_path / "in", signature="image_quality")
    product = next(ed.snapshot.name((op, 0)) for op in range(ed.snapshot.size) if ed.snapshot.types[op] == "MatMul")
    halves = gs.recipes.split_at(ed, {"product": product}, {"zeta": ed.outputs["zeta"]})
    for half, (takes, gives, optional) in zip(
        halves, ((["x"], ["product"], []), (["product", "scale"], ["zeta"], ["scale"])), strict=True
    ):
        assert "the other signatures of the file are not in this model: 'ids', 'meta', 'shifted'" in str(half)
        assert "each half has its own copy of 'w'" in str(half)
        written = described(half.save(tmp_path / gives[0]).path)["image_quality"]
        assert (*written[:2], list(written[2])) == (takes, gives, optional)


@pytest.mark.parametrize("how", ["connect", "merge"])
def test_two_signatures_of_a_file_share_their_variables_after_they_are_joined(tmp_path, how):
    by_module(tmp_path / "in")
    one, two = (gs.open(tmp_path / "in", signature=name) for name in ("image_quality", "shifted"))
    two.apply(two.plan().rename({"w": "weights"}))
    if how == "connect":
        whole = gs.connect({"first": one, "second": two.inlined()})
    else:
        whole = gs.recipes.merge(one, two, "shared")
    assert sorted(whole.snapshot.state.variables) == ["first/w", "second/b"]
    assert "the signatures 'image_quality', 'shifted' become one, which is saved as 'serving_default'" in str(whole)
    assert "the other signatures of 'second' are not in this model: 'ids', 'image_quality', 'meta'" in str(whole)
    saved = whole.save(tmp_path / "out")
    ((name, (takes, gives, optional)),) = described(saved.path).items()
    x = ["first_x", "second_x"] if how == "connect" else ["x"]
    assert (name, takes, gives, list(optional)) == (
        "serving_default",
        sorted([*x, "scale"]),
        ["alpha", "y", "zeta"],
        ["scale"],
    )
    loaded = tf.saved_model.load(saved.path).signatures["serving_default"]
    got = loaded(**dict.fromkeys(x, tf.constant(X)), scale=tf.constant(2.0))
    np.testing.assert_array_equal(got["zeta"], 2.0 * X @ np.float32([[2.0, 1.0], [0.5, -1.0]]))
    np.testing.assert_array_equal(got["y"], X @ np.float32([[2.0, 1.0], [0.5, -1.0]]) + np.float32([0.25, 0.5]))
    apart = gs.connect({"first": one, "second": two}, variables={"*": "copy"})
    assert len(apart.snapshot.state.variables) == 3


def test_reference_variables_that_two_graphs_share_are_copied_and_named():
    tf.compat.v1.disable_resource_variables()
    try:
        with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
            x = tf.compat.v1.placeholder(tf.float32, [], name="x")
            tf.multiply(x, tf.compat.v1.get_variable("v", initializer=2.0), name="y")
            session.run(tf.compat.v1.global_variables_initializer())
            with pytest.warns(
                UserWarning, match="'b/v' of several models, with different values, or reference variables"
            ):
                gs.connect({"a": session, "b": session}, {"a/y:0": "b/x:0"})
    finally:
        tf.compat.v1.enable_resource_variables()
    del graph


def test_variables_keep_their_attributes_in_a_folder_of_tf2(tmp_path):
    inner = tf.Module()
    inner.kernel = tf.Variable([2.0], name="k")
    model = tf.Module()
    model.inner, model.items, model.bias = inner, [tf.Variable([1.0], name="item")], tf.Variable([0.5], name="b")
    spec = [tf.TensorSpec([1], name="x")]
    one = tf.function(lambda x: {"y": x * inner.kernel + model.items[0]}, input_signature=spec)
    two = tf.function(lambda x: {"y": x + model.bias}, input_signature=spec)
    tf.saved_model.save(model, str(tmp_path / "in"), signatures={"one": one, "two": two})
    ed = gs.open(tmp_path / "in", signature="one")
    ed.apply(ed.plan().rename({"k": "weights"}))
    saved = ed.save(tmp_path / "out", format="saved_model_tf2")
    loaded = tf.saved_model.load(saved.path)
    kept = loaded.inner.kernel, loaded.bias, loaded.items[0]
    assert [variable.numpy().tolist() for variable in kept] == [[2.0], [0.5], [1.0]]
    loaded.inner.kernel.assign([3.0])
    assert loaded.signatures["one"](x=tf.constant([1.0]))["y"].numpy().tolist() == [4.0]
    assert "are not attributes" not in str(saved)


def test_variables_in_lists_keep_their_places_in_a_folder_of_tf2(tmp_path):
    """The first block has no variable that the signature reads, and the second has a list of its own."""
    model = tf.Module()
    model.blocks = [tf.Module(), tf.Module()]
    model.blocks[0].unused = tf.Variable([5.0])
    model.blocks[1].kernels = [tf.Variable([2.0], name="k"), tf.Variable([3.0], name="k")]
    model.variables_of = {"a": tf.Variable([1.0], name="a")}
    spec = [tf.TensorSpec([1], name="x")]
    kernels, bias = model.blocks[1].kernels, model.variables_of["a"]
    call = tf.function(lambda x: {"y": x * kernels[0] * kernels[1] + bias}, input_signature=spec)
    tf.saved_model.save(model, str(tmp_path / "in"), signatures={"one": call})
    saved = gs.open(tmp_path / "in").save(tmp_path / "out", format="saved_model_tf2")
    loaded = tf.saved_model.load(saved.path)
    assert [kernel.numpy().tolist() for kernel in loaded.blocks[1].kernels] == [[2.0], [3.0]]
    assert loaded.variables_of.a.numpy().tolist() == [1.0]
    loaded.blocks[1].kernels[1].assign([4.0])
    assert loaded.signatures["one"](x=tf.constant([1.0]))["y"].numpy().tolist() == [9.0]


def test_variables_of_a_live_module_keep_their_attributes_in_a_folder_of_tf2(tmp_path):
    """Also after a second save: the function that the first folder contains has all variables in a private list."""
    model = tf.Module()
    model.blocks = [tf.Module()]
    model.blocks[0].kernel, model.bias = tf.Variable([2.0], name="k"), tf.Variable([0.5], name="b")
    spec = [tf.TensorSpec([1], name="x")]
    model.call = tf.function(lambda x: {"y": x * model.blocks[0].kernel + model.bias}, input_signature=spec)
    model.other = tf.function(lambda x: {"y": x + model.bias}, input_signature=spec)
    saved = gs.open(model, function="call").save(tmp_path / "out", format="saved_model_tf2")
    assert "not included: functions 'other' of the opened object" in str(saved)
    again = gs.open(saved.path).save(tmp_path / "again", format="saved_model_tf2")
    for path in (saved.path, again.path):
        loaded = tf.saved_model.load(path)
        assert (loaded.blocks[0].kernel.numpy().tolist(), loaded.bias.numpy().tolist()) == ([2.0], [0.5])
    old = gs.open(saved.path).save(tmp_path / "old")
    assert "not attributes under the paths of the opened model: bias, blocks/0/kernel" in str(old)


def test_ends_without_a_name_get_the_same_name_at_every_door(tmp_path):
    """A tensor of the model keeps its name; other tensors have the name of their op, and the number of the output."""
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="in/x")
        parts = tf.split(x, 2, axis=1, name="net/pair")
        tf.add(*parts, name="net/sum")
    ed = gs.recipes.set_signature(gs.open(graph), {"total": "net/sum"}, {"image": "in/x"})
    outputs = ["net/sum:0", "net/pair:0", "net/pair:1"]
    model, (first, second) = gs.recipes.set_signature(ed, outputs), gs.recipes.split_at(ed, outputs[1:])
    ed.save(tmp_path / "out", outputs=outputs)
    _, results, _ = described(tmp_path / "out")["serving_default"]
    assert results == sorted(model.outputs) == ["pair", "pair_1", "total"]
    assert list(first.outputs) == list(second.inputs) == ["pair", "pair_1"]
    assert list(second.outputs) == ["total"]


@pytest.mark.parametrize("format", FOLDERS)
def test_the_default_of_an_argument_with_any_name_is_kept(tmp_path, format):
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        scale = tf.compat.v1.placeholder(tf.float32, [], name="scale")
        made = tf.compat.v1.saved_model.predict_signature_def({"a-b": scale, "x": x}, {"y": tf.multiply(x, scale)})
        made.defaults["a-b"].CopyFrom(tf.make_tensor_proto(3.0))
        builder = tf.compat.v1.saved_model.Builder(str(tmp_path / "in"))
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map={"serving_default": made})
        builder.save()
    del graph
    saved = gs.open(tmp_path / "in").save(tmp_path / "out", format=format)
    name = "a-b" if format == "saved_model" else "a_b"
    assert described(saved.path)["serving_default"] == ([name, "x"], ["y"], {name: 3.0})
    assert ("the argument 'a-b' is called 'a_b'" in str(saved)) == (name == "a_b")


ROWS = [(thing, way) for thing, about in THINGS.items() for way in about.ways]
QUICK = {("weights that are not trained", "Keras model"), ("defaults of arguments", "SavedModel")}


@pytest.mark.parametrize(
    ("thing", "way"), [pytest.param(*row, marks=[pytest.mark.deep] * (row not in QUICK)) for row in ROWS]
)
def test_each_thing_is_kept_or_named_at_every_door(tmp_path, thing, way):
    found, seen = cells(thing, way, tmp_path)
    assert found == CELLS[thing, way], seen


def test_the_guide_lists_the_same():
    assert list(CELLS) == ROWS
    spec = importlib.util.spec_from_file_location("write_whole_models", ROOT / "tools" / "write_whole_models.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PAGE.read_text() == tool.written(), "the guide is old: python tools/write_whole_models.py"


def test_the_signatures_of_a_meta_graph_are_kept_or_named(tmp_path):
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        y = tf.multiply(x, tf.compat.v1.get_variable("v", initializer=2.0), name="y")
        session.run(tf.compat.v1.global_variables_initializer())
        tf.compat.v1.train.Saver().save(session, str(tmp_path / "in"), write_meta_graph=False)
        meta = tf.compat.v1.train.export_meta_graph(graph=graph, saver_def=tf.compat.v1.train.Saver().as_saver_def())
        meta.signature_def["one"].CopyFrom(tf.compat.v1.saved_model.predict_signature_def({"a": x}, {"l": y}))
    (tmp_path / "in.meta").write_bytes(meta.SerializeToString())
    ed = gs.open(tmp_path / "in.meta")
    ed.apply(ed.plan().rename({"y": "product"}))
    saved = ed.save(tmp_path / "out")
    assert described(saved.path) == {"one": (["a"], ["l"], {})}
    got = tf.saved_model.load(saved.path).signatures["one"](a=tf.constant(X[0]))
    assert got["l"].numpy().tolist() == [2.0, 4.0]
    assert "not included: signature 'one', because the format 'graph_def'" in str(ed.save(tmp_path / "out.pb"))
