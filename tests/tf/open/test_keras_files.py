"""A `.keras` file opens as its model does, and no code that it holds or names is run."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
import zipfile

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import graphsurgeon as gs
from graphsurgeon.errors import OpenError
from graphsurgeon.tf.open import layers
from tests.refusal import refuses

KERAS = pytest.mark.parametrize("k", [keras, tf_keras], ids=["keras 3", "keras 2"])


def nothing(wanted, given):
    """A loss of a user."""
    return 0.0 * given


def net(k, *more):
    """Returns a compiled model of some layers."""
    model = k.Sequential([k.Input((4,), name="x"), k.layers.Dense(3, "relu", name="body"), *more], name="net")
    model.compile("sgd", loss=nothing)  # how it is trained is not asked for
    return model


def saved(model, tmp_path, name="net.keras"):
    """Returns the path of the file of a model."""
    path = str(tmp_path / name)
    model.save(path)
    return path


def rewritten(path, change):
    """Changes the description in a file, given as text."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["config.json"] = change(parts["config.json"].decode()).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


@KERAS
def test_a_file_opens_as_its_model_does(k, tmp_path):
    model = net(k, k.layers.BatchNormalization(name="norm"), k.layers.Dense(2, name="head"))
    path = saved(model, tmp_path)
    ed, live = gs.open(path), gs.open(model)
    assert ed.title == "net.keras"
    assert f"ed = gs.open({path!r})" in ed.plan().to_code()
    assert [(one.path, one.class_name) for one in ed.layers] == [(one.path, one.class_name) for one in live.layers]
    for layer, other in zip(ed.layers, live.layers, strict=True):  # Keras may put the model's name before a variable's
        own = ([name.removeprefix("net/") for name in one.variables] for one in (layer, other))
        assert next(own) == next(own)
    x = np.random.RandomState(0).rand(5, 4).astype("float32")
    (fed,) = ed.inputs.values()
    (got,) = ed.session().run(list(ed.outputs.values()), {fed: x})
    np.testing.assert_allclose(got, model(x), rtol=1e-6)


def test_what_a_model_is_opened_with_goes_for_its_file_too(tmp_path):
    path = saved(net(keras, keras.layers.Dropout(0.5, seed=1, name="drop")), tmp_path)
    assert len(gs.open(path, training=True).layer("drop").ops) > len(gs.open(path).layer("drop").ops) == 0
    ed = gs.open(path, signature=tf.TensorSpec([7, 4]))
    assert ed.tensor(next(iter(ed.inputs.values()))).shape == [7, 4]
    assert f"gs.open({path!r}, signature=" in ed.plan().to_code()
    for word in ("tags", "function"):
        with refuses(OpenError, f"{word}='a'): a .keras file holds one model only", f"Leave out {word}="):
            gs.open(path, **{word: "a"})


def refused(path, *words):
    """Returns the editor of a file that can only be looked at; what needs TensorFlow says why, with all of `words`."""
    ed = gs.open(path)
    with refuses(OpenError, f"open({path!r}): ", *words):
        ed.session()
    assert f"to look at only: {words[0]}" in str(ed)
    return ed


@KERAS
def test_a_lambda_is_never_run_but_shown(k, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHSURGEON_RAN", "no")
    ran = lambda x: (__import__("os").environ.__setitem__("GRAPHSURGEON_RAN", "yes"), x)[1]  # noqa: E731
    code = k.layers.Lambda(ran, output_shape=(3,), name="sly")
    x = k.Input((4,), name="x")
    shared, body = k.layers.Dense(3, name="shared"), k.layers.Dense(3, name="body")(x)
    model = k.Model(x, k.layers.Add(name="sum")([shared(shared(code(body))), body]), name="net")
    with warnings.catch_warnings(action="ignore"):  # Keras, of the lambda
        path = saved(model, tmp_path)
    monkeypatch.setenv("GRAPHSURGEON_RAN", "no")
    ed = refused(
        path,
        "its layer 'sly' contains Python code (a lambda), which graphsurgeon never runs",
        f"If you trust the file: model = {k.__name__}.saving.load_model({path!r}, compile=False, safe_mode=False), "
        "then gs.open(model). If the code uses names of your program: make the model in Python, then type "
        f"model.load_weights({path!r}) and gs.open(model)",
    )
    assert os.environ["GRAPHSURGEON_RAN"] == "no"
    graph = ed.snapshot
    assert {name: (graph.types[i], graph.input_names(i)) for i, name in enumerate(graph.names)} == {
        "x": ("InputLayer", []), "body": ("Dense", ["x:0"]), "sly": ("Lambda", ["body:0"]),
        "shared": ("Dense", ["sly:0"]), "shared_1": ("Dense", ["shared:0"]), "sum": ("Add", ["shared_1:0", "body:0"]),
    }  # fmt: skip
    assert ed.layer("sly").class_name == "Lambda"
    assert ed.layer("shared").outputs == ("shared:0", "shared_1:0")
    assert ed.find("layer-type:lambda") == ["sly"]
    assert ed.title == "net.keras"
    assert "Lambda" in ed.to_svg()


PLACES = {
    "layer": lambda k: k.layers.Lambda(lambda x: x * 2.0, output_shape=(4,), name="sly"),
    "activation": lambda k: k.layers.Dense(4, activation=lambda x: x * 2.0, name="sly"),
    "constraint": lambda k: k.layers.Dense(4, kernel_constraint=lambda w: w * 1.0, name="sly"),
    "regularizer": lambda k: k.layers.Dense(4, kernel_regularizer=lambda w: 0.1, name="sly"),
}


@KERAS
@pytest.mark.parametrize("place", PLACES)
def test_the_suggestion_for_a_lambda_opens_the_model_at_every_door(k, place, tmp_path):
    model = k.Sequential([k.Input((4,), name="x"), PLACES[place](k), k.layers.Dense(2, name="head")])
    model.compile("sgd", loss=lambda y, z: z)  # what a suggestion need not load
    with warnings.catch_warnings(action="ignore"):  # Keras, of the lambda
        path = saved(model, tmp_path)
    rows = np.ones((2, 4), np.float32)
    ed = gs.open(path)
    for door in (ed.function, ed.keras_layer, ed.keras_model, lambda: ed.save(tmp_path / "out"), ed.session):
        with pytest.raises(OpenError) as error:
            door()
        *load, weights = re.findall(
            r"(?:\w+\.saving\.load_model|model\.load_weights)\('[^)]*\)", error.value.suggestion
        )
        assert len(load) == (place == "layer")  # Keras loads no other lambda
        models = [eval(code, {k.__name__: k}) for code in load]
        eval(weights, {"model": model})
    for one in (*models, model):
        np.testing.assert_allclose(gs.open(one).function()(rows), model(rows), rtol=1e-6)


@KERAS
def test_a_class_that_is_not_known_here(k, tmp_path):
    scale = type("Scale", (k.layers.Layer,), {"call": lambda self, x: x * 3.0})
    path = saved(net(k, scale(name="scaled")), tmp_path)
    how = f"with {k.__name__}.saving.custom_object_scope({{'Scale': Scale}}): ed = gs.open({path!r})"
    ed = refused(path, "it uses class 'Scale' (of 'scaled'), not known here", how)
    assert ed.layer("scaled").inputs == ed.layer("body").outputs
    with k.saving.custom_object_scope({"Scale": scale}):
        assert gs.open(path).layer("scaled").class_name == "Scale"


class Written(keras.Model):
    """A model that is written as a class: its file does not say how its layers are connected."""

    def __init__(self, **about):
        super().__init__(**about)
        self.dense = keras.layers.Dense(2)

    def call(self, x):
        return self.dense(x)


def test_a_model_that_is_written_as_a_class_is_shown_only_where_it_is_known(tmp_path):
    model = Written(name="written")
    model(np.ones((1, 3), np.float32))
    path = saved(model, tmp_path)
    with refuses(OpenError, "it uses class 'Written', not known here", "{'Written': Written}"):
        gs.open(path)
    with keras.saving.custom_object_scope({"Written": Written}):
        assert [one.class_name for one in gs.open(path).layers] == ["Dense"]


def test_a_description_that_does_not_hold_together_is_not_shown(tmp_path):
    path = saved(net(keras), tmp_path)
    for own in ({"layers": 3}, {"layers": [{"name": "a", "inbound_nodes": [[["b", 0, 0]]]}]}, {"layers": [{}, {}]}):
        rewritten(path, lambda text, own=own: json.dumps({"class_name": "Mine", "module": "mine", "config": own}))
        with refuses(OpenError, "it uses class 'Mine'"):
            gs.open(path)


def test_no_module_that_a_file_names_is_imported(tmp_path, monkeypatch):
    (tmp_path / "sly_module.py").write_text("class Dense: pass\ndef relu(x): return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = saved(net(keras), tmp_path)
    rewritten(path, lambda text: re.sub('"keras.layers"(, "class_name": "Dense")', r'"sly_module"\1', text))
    refused(path, "it uses class 'Dense' (of 'body')", "graphsurgeon does not import modules named in a file")
    assert "sly_module" not in sys.modules


def test_a_function_that_is_not_known_here(tmp_path):
    def gently(x):
        return x * 0.5

    path = saved(net(keras, keras.layers.Dense(2, activation=gently, name="head")), tmp_path)
    refused(path, "it uses function 'gently' (of 'head'), not known here", "{'gently': gently}")
    with keras.saving.custom_object_scope({"gently": gently}):
        assert gs.open(path).layer("head").outputs


def test_files_that_are_damaged_or_something_else(tmp_path):
    path = saved(net(keras), tmp_path)
    whole = (tmp_path / "net.keras").read_bytes()
    (tmp_path / "half.keras").write_bytes(whole[: len(whole) // 2])
    with refuses(OpenError, "the file is damaged (File is not a zip file)", "model.save('model.keras')"):
        gs.open(tmp_path / "half.keras")
    with zipfile.ZipFile(tmp_path / "other.keras", "w") as archive:
        archive.writestr("notes.txt", "")
    with refuses(OpenError, "it is not a Keras model: it contains notes.txt, but no config.json"):
        gs.open(tmp_path / "other.keras")
    with refuses(OpenError, "there is no such file", "Did you mean"):
        gs.open(tmp_path / "nett.keras")
    rewritten(path, lambda text: "[]")
    with refuses(OpenError, "its config.json describes no model"):
        gs.open(path)
    rewritten(path, lambda text: "{")
    with refuses(OpenError, "the file is damaged (Expecting property name"):
        gs.open(path)


def test_a_description_that_keras_refuses(tmp_path):
    path = saved(net(keras), tmp_path)
    rewritten(path, lambda text: text.replace('"units": 3', '"units": -3'))
    refused(path, f"Keras {keras.__version__} cannot build the model", "gs.open(model)")
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["metadata.json"] = json.dumps({"keras_version": "3.0.0"}).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    refused(path, f"Keras {keras.__version__} cannot build", "Keras 3.0.0 wrote the file", "pip install keras==3.0.0")


def test_a_file_of_a_keras_that_is_not_installed(tmp_path, monkeypatch):
    path = saved(net(tf_keras), tmp_path)
    monkeypatch.setitem(sys.modules, "tf_keras", None)
    refused(path, "Keras 2, which wrote it, is not installed", "pip install tf-keras")


def test_nothing_but_a_saved_model_is_shown_as_it_lies(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.save(tmp_path / "net.keras")
    problem = "raw=True opens the stored graph of a SavedModel, but this is a .keras file, which holds no graph"
    with refuses(OpenError, "net.keras', raw=True)", problem, "Leave out raw=True"):
        gs.open(str(tmp_path / "net.keras"), raw=True)
    with refuses(OpenError, "raw=True)", "but this is of type Sequential", "Leave out raw=True"):
        gs.open(model, raw=True)


def test_a_description_made_to_fill_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(layers, "_LARGEST", 1 << 20)
    file = tmp_path / "m.keras"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", " " * (2 << 20))
        archive.writestr("model.weights.h5", b"")
    with refuses(OpenError, "its description alone has more than 1.05 MB", "from a source you trust"):
        gs.open(file)
