"""What is made by hand leaves as files, pictures and code."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.graph.open_graph import likely_ends
from graphsurgeon.ui.commands.save import save
from tests.refusal import refuses
from tests.screen.screens import X, opened, row_of_ops, tf1, traits


def filled(screen):
    """The values of the fields of the form for a save, and its note."""
    form = screen.save_form()
    return {field["name"]: field["value"] for field in form["fields"]} | {"note": form["note"]}


def formats(screen):
    """The formats of the form for a save, in their order."""
    return next(field["options"] for field in screen.save_form()["fields"] if field["name"] == "format")


def test_a_model_is_saved_with_its_signature_and_the_code_does_the_same(tmp_path):
    _, ed, screen = opened()
    form = filled(screen)
    assert "x:0" in form["inputs"]
    assert form["note"] == ""
    found = screen.save(str(tmp_path / "net"), signature="score", inputs="image=x:0", outputs="net/y")
    assert found["lines"][0].startswith(repr(str(tmp_path / "net")))
    assert traits(screen)["plan"]["saved"] == found
    again = gs.open(str(tmp_path / "net"))
    assert [(one.name, list(one.inputs)) for one in again.signatures] == [("score", ["image"])]
    assert found["code"].startswith("ed.save(")
    want = ed.session().run("net/y:0", {"x:0": X})
    exec(found["code"].replace("net')", "net2')").replace("net',", "net2',"), {"ed": ed})
    other = gs.open(str(tmp_path / "net2"))
    np.testing.assert_array_equal(
        other.session().run(next(iter(other.outputs.values())), {other.inputs["image"]: X}), want
    )


def test_a_marked_region_is_what_the_form_proposes_and_saving_cuts_it_out(tmp_path):
    screen = row_of_ops()
    screen.mark_input("in/b:0")
    assert filled(screen)["inputs"] == "a:0", "half a boundary is none"
    screen.mark_output("d:0")
    form = filled(screen)
    assert (form["inputs"], form["outputs"]) == ("in/b:0", "d:0")
    ops = len(screen.source.snapshot.names)
    note = (
        f"Only the marked region is saved: {len(screen.region)} of {ops} ops. For the whole graph, clear the boundary"
    )
    assert form["note"] == note
    screen.save(str(tmp_path / "part"), format="graph_def", inputs=form["inputs"], outputs=form["outputs"])
    part = gs.open(str(tmp_path / "part.pb"))
    assert "a" not in part.snapshot.names
    assert part.op("in/b").type == "Placeholder"
    names = {"inputs": form["inputs"], "outputs": form["outputs"]}
    screen.save(str(tmp_path / "served"), signature="serving_default", **names)
    served = gs.open(str(tmp_path / "served"))
    assert "a" not in served.snapshot.names
    assert list(served.inputs.values()) == ["in/b:0"]
    screen.clear_boundary()
    assert screen.save_form()["note"] == ""


def test_the_form_proposes_the_likely_ends_of_a_graph_without_a_signature():
    """All inputs, however many; and results that only gradients, summaries and checks read, without the loss."""
    with tf.Graph().as_default() as graph:
        parts = [tf1.placeholder(tf.float32, [2], name=f"in_{i}") for i in range(8)]
        y = tf.multiply(tf.add_n(parts), tf1.get_variable("w", [2]), name="net/y")
        tf1.gradients(tf.reduce_sum(tf.square(y), name="loss"), [graph.get_tensor_by_name("w:0")])
        tf1.summary.histogram("values", tf.identity(y, name="net/out"))
    form = filled(gs.open(graph).screen)
    assert form["inputs"] == ", ".join(f"in_{i}:0" for i in range(8))
    assert form["outputs"] == "net/out:0"
    names = likely_ends(gs.open(graph).snapshot)
    assert (list(names.inputs.values()), list(names.outputs.values())) == ([p.name for p in parts], ["net/out:0"])


@pytest.mark.parametrize(("trains", "answers"), [(True, True), (True, False), (False, True)])
def test_the_loss_of_a_graph_that_trains_is_an_output_only_without_other_results(trains, answers):
    with tf.Graph().as_default() as graph:
        x, labels = tf1.placeholder(tf.float32, [None, 2], name="x"), tf1.placeholder(tf.float32, [None, 2], name="y")
        logits = tf.matmul(x, tf1.get_variable("w", [2, 2]), name="logits")
        loss = tf.reduce_mean(tf.square(logits - labels), name="loss")
        if answers:
            tf.nn.softmax(logits, name="answer")
        if trains:
            tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
    ends = likely_ends(gs.open(graph).snapshot)
    loss_only = trains and not answers
    assert list(ends.inputs) == ["x", "y"] if loss_only or not trains else ["x"]
    assert set(ends.outputs) == ({"loss"} if loss_only else {"answer"} if trains else {"loss", "answer"})


def test_the_usual_format_of_the_opened_model_is_proposed_first():
    module = tf.Module()
    module.w = tf.Variable(2.0)
    module.double = tf.function(lambda x: x * module.w, input_signature=[tf.TensorSpec([None])])
    screen = gs.open(module).screen
    assert filled(screen)["format"] == "saved_model_tf2"
    assert [name for name, _ in formats(screen)][:3] == ["saved_model_tf2", "keras", "saved_model"]
    assert [name for name, _ in formats(row_of_ops())][:3] == ["saved_model", "keras", "saved_model_tf2"]


def test_a_keras_model_is_saved_as_a_keras_file(tmp_path):
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    ed = gs.open(keras.Model({"x": x, "y": y}, {"out": keras.layers.Dense(2)(keras.layers.add([x, y]))}))
    form = filled(ed.screen)
    assert form["inputs"] == "x:0, y:0"
    assert formats(ed.screen)[0] == ("keras", "Keras model")
    path = str(tmp_path / "model")
    found = ed.screen.save(path, format="keras", inputs=form["inputs"], outputs=form["outputs"])
    ends = "inputs=['x:0', 'y:0'], outputs={'out': 'Identity:0'}"
    assert found["code"] == f"ed.save('{path}.keras', format='keras', {ends})"
    assert "the model is not compiled" in found["lines"][2]
    again = keras.models.load_model(f"{path}.keras")
    feeds = {key: np.ones((3, 4), np.float32) for key in "xy"}
    np.testing.assert_array_equal(again(feeds)["out"], ed.keras_model()(feeds)["out"])
    assert [one.name for one in ed.keras_model(["y:0", "x:0"], "Identity:0").inputs] == ["y", "x"]
    with tf.Graph().as_default() as graph:
        tf.multiply(tf1.placeholder(tf.float32, [], name="x"), 2.0, name="y")
    with refuses(PlanError, "the input 'x:0' has no dimension"):
        gs.open(graph).screen.save(path + "2", format="keras", inputs="x", outputs="y")
    assert [file.name for file in tmp_path.iterdir()] == ["model.keras"]


@pytest.mark.parametrize(
    ("format", "suffix"),
    [("frozen", ".pb"), ("graph_def", ".pb"), ("meta_graph", ".meta"), ("picture", ".svg"), ("page", ".html")],
)
def test_each_format_has_its_suffix_and_its_code(tmp_path, format, suffix):
    screen = row_of_ops()
    said = screen.save(str(tmp_path / "row"), format=format)
    assert (tmp_path / f"row{suffix}").stat().st_size
    assert f"row{suffix}" in said["code"]
    assert screen.state.status.text.startswith("saved: ")


@pytest.mark.parametrize(("format", "suffix"), [("graph_def", ".pb"), ("picture", ".svg")])
def test_what_is_there_is_asked_about(tmp_path, format, suffix):
    screen, file = row_of_ops(), tmp_path / f"row{suffix}"
    file.write_text("somebody's")
    found = screen.save(str(file), format=format)
    assert found == {"title": "Saved", "lines": [], "code": "", "existing": f"{str(file)!r} already exists"}
    assert file.read_text() == "somebody's"
    assert "saved" not in screen.state.status.text
    found = screen.save(str(file), format=format, if_exists="replace")
    assert found["lines"]
    assert file.read_bytes() != b"somebody's"


def test_what_is_not_applied_is_not_saved_and_the_form_says_so():
    screen = row_of_ops()
    form = filled(screen)
    assert (form["inputs"], form["outputs"]) == ("a:0", "d:0, e:0")
    screen.rename("e", "f")
    assert screen.save_form()["note"] == "The plan, 1 step, is not applied and will not be saved"
    screen.apply()
    assert [one["step"] for one in traits(screen)["plan"]["history"]] == [1]
    assert "rename('e', to='f')" in screen.history_code()["code"]
    with refuses(PlanError, "save('x'): format='gif' is not known", "Choose one of keras, "):
        save(None, None, "x", "gif")
