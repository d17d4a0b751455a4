"""The list of signatures and functions of a SavedModel: choosing one shows it, in the same editor."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.refusal import reads


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    class Module(tf.Module):
        def __init__(self):
            self.w = tf.Variable(3.0, name="w")

        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
        def double(self, x):
            return {"twice": tf.multiply(x, 2.0, name="twice")}

        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
        def scale(self, x):
            return {"scaled": tf.multiply(x, self.w, name="scaled")}

        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
        def beside(self, x):
            return tf.negative(x, name="minus")

    module, path = Module(), str(tmp_path_factory.mktemp("served") / "model")
    tf.saved_model.save(module, path, signatures={"double": module.double, "scale": module.scale})
    return path


def test_a_signature_is_chosen_in_the_same_editor(folder):
    ed = gs.open(folder)
    assert ed.opened_graph.serving.names == ["double", "scale", "beside"]
    assert "twice" in ed.snapshot.index
    ed.show_signature("scale")
    assert "scale; others: double" in str(ed)
    assert ed.value("w") == 3.0
    assert ed.session().run(ed.outputs["scaled"], {ed.inputs["x"]: [1.0, 2.0]}).tolist() == [3.0, 6.0]
    ed.show_signature("beside")
    assert "minus" in ed.snapshot.index
    assert "function='beside'" in ed.opened_graph.code
    ed.show_signature("double")
    assert ed.opened_graph.code == f"gs.open({folder!r}, signature='double')"


def test_what_cannot_be_shown_is_refused(folder):
    ed = gs.open(folder)
    with pytest.raises(gs.SelectionError) as found:
        ed.show_signature("duoble")
    reads(found.value, "show_signature('duoble')", "no signature or function 'duoble'", "Did you mean 'double'")
    with pytest.raises(gs.SelectionError) as found:
        gs.open(tf.Graph()).show_signature("double")
    reads(found.value, "show_signature('double')", "was not opened as a SavedModel's folder", "gs.open(folder)")
    ed.apply(ed.plan().insert("Identity", on="twice:0", name="more"))
    with pytest.raises(gs.PlanError) as found:
        ed.show_signature("scale")
    reads(found.value, "1 plan applied here would be lost", "gs.open(folder, signature='scale')", "ed.undo()")
    ed.undo()
    ed.show_signature("scale")
    assert "scaled" in ed.snapshot.index


def test_by_hand_the_list_shows_what_is_chosen(folder):
    ed = gs.open(folder)
    screen, reported = ed.screen, []
    screen.on_change(lambda: reported.append(screen.traits()["views"]["signature"]))
    views = screen.traits()["views"]
    assert (views["signatures"], views["signature"]) == (["double", "scale", "beside"], "double")
    screen.insert("Identity", "twice:0")
    with pytest.raises(gs.PlanError) as found:
        screen.show_signature("scale")
    reads(found.value, "a plan of 1 step is being made for the graph on screen", "undo the plan first")
    screen.undo()
    screen.show_signature("scale")
    shown = screen.traits()
    assert reported[-1] == shown["views"]["signature"] == "scale"
    assert "scaled" in {box["name"] for box in shown["scenes"]["source"]["boxes"]}
    assert shown["status"]["text"].startswith("scale of ")
    screen.insert("Identity", "scaled:0")
    screen.apply()
    assert ed.session().run(ed.outputs["scaled"], {ed.inputs["x"]: [1.0, 2.0]}).tolist() == [3.0, 6.0]
