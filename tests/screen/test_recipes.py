"""The menu of recipes: what applies, what does not and why, and what each does: steps of the plan, or new editors."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.conversion_verdict import Blocker, Compatibility
from graphsurgeon.plan.recipe_registry import registered_recipes
from graphsurgeon.ui.commands.recipes import KINDS
from graphsurgeon.ui.state import State
from tests.refusal import reads, refuses
from tests.screen.screens import traits

tf1 = tf.compat.v1


@pytest.fixture
def ed():
    """X -> conv -> dropout -> features -> y, in constants."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4, 4, 1], name="x")
        h = tf.nn.conv2d(x, np.ones((2, 2, 1, 2), np.float32), 1, "SAME", name="conv")
        h = tf.nn.dropout(h, rate=0.5, name="dropout")
        tf.reduce_sum(tf.nn.relu(h, name="features"), [1, 2, 3], name="y")
    return gs.open(graph, title="net")


@pytest.fixture
def notebook(monkeypatch):
    """The names of a notebook, which a test leaves as they were."""
    held = vars(sys.modules["__main__"])
    before = dict(held)
    yield held
    for name in set(held) - set(before):
        del held[name]


def entry(screen, name):
    return next(one for one in screen.recipes() if one["name"] == name)


def test_what_does_not_apply_says_why(ed):
    off = {one["name"]: one["unavailable_reason"] for one in ed.screen.recipes()}
    assert list(off) == [name for name in off if name in gs.recipes.__all__]
    assert off["strip_dropout"] == off["for_inference"] == off["split_at"] == ""
    assert off["strip_quantization"] == "the graph has no FakeQuant and no QuantizeAndDequantize"
    assert off["restore_averages"] == "the graph has no variable"
    assert not ed.draft.steps  # what is tried is not kept
    assert entry(ed.screen, "for_inference")["form"][0] == {
        "name": "outputs", "label": "Outputs", "value": "y:0", "hint": "default: outputs of the opened graph",
    }  # fmt: skip


def test_the_one_input_is_filled_in(ed):
    assert [row["value"] for row in entry(ed.screen, "set_input")["form"]] == ["x:0", "", "", "y:0"]
    with ed.graph.as_default():
        tf.sqrt(tf1.placeholder(tf.float32, name="other"), name="z")
    assert [entry(ed.screen, "set_input")["form"][0][key] for key in ("value", "hint")] == ["", "x:0, other:0"]


def test_an_entry_says_what_it_does_and_whether_it_adds_steps(ed):
    one, other = entry(ed.screen, "strip_dropout"), entry(ed.screen, "split_at")
    assert one["description"] == "Removes dropout: the consumers of its result read its input instead."
    assert (one["adds_steps"], other["adds_steps"]) == (True, False)
    assert all("`" not in each["description"] and each["description"].endswith(".") for each in ed.screen.recipes())


def test_a_value_that_cannot_be_read_names_its_argument(ed):
    for values, argument in (({"tensor": "x:0", "shape": "abc"}, "shape"), ({"tensor": "", "shape": "[2]"}, "tensor")):
        with pytest.raises(gs.PlanError) as caught:
            ed.screen.run_recipe("set_input", values)
        assert caught.value.argument == argument
    with pytest.raises(gs.PlanError) as caught:
        ed.screen.rename("x", to="b c")
    assert caught.value.argument == "to"


def test_a_recipe_is_steps_of_the_plan(ed):
    done = ed.screen.run_recipe("strip_dropout")
    assert ed.draft.to_code() == gs.recipes.strip_dropout(ed).to_code()
    assert done["line"].startswith("strip_dropout: ")
    assert ed.draft.steps
    assert entry(ed.screen, "strip_dropout")["unavailable_reason"]  # after the plan there is none
    assert entry(ed.screen, "for_inference")["unavailable_reason"] == "it is in inference form already"
    ed.screen.run_recipe("insert_after", {"pattern": "Conv2D", "op": "Relu", "name": ""})
    ed.screen.apply()
    assert "dropout/Mul" not in ed.snapshot.names
    assert ed.snapshot.types.count("Relu") == 2
    ed.screen.undo()
    assert ed.snapshot.types.count("Relu") == 1


def test_new_editors_get_names_in_the_notebook(ed, notebook):
    notebook["first"] = 1
    done = ed.screen.run_recipe("frozen", {"outputs": "features:0"})
    assert done["line"].startswith("frozen: ")
    assert isinstance(notebook["frozen"], gs.Editor)
    ed.screen.run_recipe("strip_dropout")
    with refuses(gs.PlanError, "run_recipe('split_at')", "it starts from the current graph", "Apply the plan first"):
        ed.screen.run_recipe("split_at", {"at": "features:0"})
    off = {one["name"]: one["unavailable_reason"] for one in ed.screen.recipes()}
    steps = f"{len(ed.draft.steps)} steps"
    assert off["split_at"] == off["merge"] == f"it starts from the current graph, without the {steps} of the plan"
    assert off["rename"] == ""
    ed.screen.apply()
    assert entry(ed.screen, "split_at")["unavailable_reason"] == ""
    ed.screen.run_recipe("split_at", {"at": "features:0", "outputs": "y:0"})
    assert list(notebook["first_2"].outputs) == list(notebook["second"].inputs) == ["features"]
    saved = traits(ed.screen)["plan"]["saved"]
    assert saved["title"] == "Recipe"
    assert saved["code"] == "first_2, second = gs.recipes.split_at(ed, at=['features:0'], outputs=['y:0'])"
    assert saved["lines"][1].endswith("type second in a cell to open it")
    assert ed.screen.state.status.text == "; ".join(saved["lines"])


def test_a_table_of_names_is_a_rename(ed):
    form = entry(ed.screen, "rename")["form"]
    assert [(row["label"], row["value"]) for row in form] == [
        ("Patterns", ""), ("y", "y"), ("x", "x"), ("conv", "conv"), ("dropout", "dropout"),
    ]  # fmt: skip
    values = {"names": "{'dropout/*': 'noise/*'}", "row:x": "image", "row:y": "y", "row:dropout": ""}
    ed.screen.run_recipe("rename", values)
    assert ed.draft.to_code() == gs.recipes.rename(ed, {"dropout/*": "noise/*", "x": "image"}).to_code()
    ed.screen.apply()
    assert {"image", "y", "noise/Mul"} <= set(ed.snapshot.names)
    with refuses(gs.PlanError, "rename()", "names= is empty", "Type names="):
        ed.screen.run_recipe("rename", {"row:y": "y"})
    for typed in ("block*", "['a']", "{'a': 1}", "a="):
        with refuses(gs.PlanError, f"{typed!r} is not valid", "Type pairs of names such as old=new"):
            ed.screen.run_recipe("rename", {"names": typed})


def test_a_table_that_is_cut_short_says_so():
    with tf.Graph().as_default() as graph:
        for i in range(70):
            tf1.placeholder(tf.float32, name=f"x{i}")
    form = entry(gs.open(graph).screen, "rename")["form"]
    assert len(form) == 61
    assert form[0]["label"] == "Patterns (below: 60 of 70 names)"


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("dropout/*=noise/*", {"dropout/*": "noise/*"}),
        ("x = image, y=scores,", {"x": "image", "y": "scores"}),
        ("x=image\ny=scores", {"x": "image", "y": "scores"}),
    ],
)
def test_names_are_typed_as_pairs(ed, typed, names):
    ed.screen.run_recipe("rename", {"names": typed})
    assert ed.draft.to_code() == gs.recipes.rename(ed, names).to_code()


@pytest.mark.parametrize(
    ("name", "typed", "code"),
    [
        ("set_input", {"shape": "shape=[None, 8, 8, 1]"}, 'set_input(ed, "x:0", [None, 8, 8, 1], outputs="y")'),
        ("set_input", {"dtype": "dtype='float16'"}, 'set_input(ed, "x:0", dtype="float16", outputs="y")'),
        ("set_input", {"dtype": "'float16'"}, 'set_input(ed, "x:0", dtype="float16", outputs="y")'),
        ("for_inference", {"outputs": "outputs=['features']"}, 'for_inference(ed, "features")'),
        ("for_inference", {"outputs": "{'outputs': 'features'}"}, 'for_inference(ed, "features")'),
        ("for_inference", {"outputs": "outputs=features"}, 'for_inference(ed, "features")'),
        ("rename", {"names": "names={'x': 'image'}"}, 'rename(ed, {"x": "image"})'),
        ("insert_after", {"pattern": "'Conv2D'", "op": "op=Relu"}, 'insert_after(ed, "Conv2D", "Relu")'),
    ],
)
def test_what_a_message_proposes_can_be_typed(ed, name, typed, code):
    given = {row["name"]: row["value"] for row in entry(ed.screen, name)["form"]}
    ed.screen.run_recipe(name, {**given, **typed})
    assert ed.draft.to_code() == eval(f"gs.recipes.{code}").to_code()


def test_tensors_are_typed_as_a_message_has_them(ed, notebook):
    ed.screen.run_recipe("split_at", {"at": "at=['features:0']", "outputs": "y:0"})
    assert list(notebook["first"].outputs) == ["features"]
    with refuses(gs.PlanError, "no op and no scope is called 'names'"):  # a pair may be called like the field
        ed.screen.run_recipe("rename", {"names": "names=x"})


ODD = ("x", "a=b", "['a']", "{", "1", "None", "{[]: 1}", "a=", ",", "i4,i4", "(" * 3000)


def test_no_text_in_a_field_is_a_fault_of_ours(ed, notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ed.graph.as_default():
        tf1.get_variable("v", initializer=[1.0])
    some = {"tensor": "features", "name": "more", "op": "Relu", "pattern": "Conv2D", "at": "features:0", "loss": "y",
            "other": "none.pb", "checkpoint": "none", "path": "new"}  # fmt: skip
    fine = []
    for one in ed.screen.recipes():
        given = {row["name"]: row["value"] or some.get(row["name"], "") for row in one["form"]}
        for name in given:
            for text in ODD:
                try:
                    ed.screen.run_recipe(one["name"], {**given, name: text})
                    fine.append((one["name"], name, text))
                except gs.SurgeryError as error:
                    reads(error)
                ed.screen.restore(State())
    assert ("add_output", "name", "None") in fine


def test_what_a_hint_proposes_can_be_typed():
    for recipe in registered_recipes():
        for wish in recipe.parameters:
            assert wish.hint or not wish.required
            start, _, example = wish.hint.partition("such as ")
            if example and not start:
                assert KINDS[wish.kind].parse(example)


def test_another_model_is_an_editor_of_the_notebook_or_a_file(ed, notebook, tmp_path):
    with tf.Graph().as_default() as graph:
        tf.multiply(tf1.placeholder(tf.float32, [None], name="score"), 2.0, name="twice")
    notebook["head"] = gs.open(graph)
    ed.screen.run_recipe("merge", {"other": "head", "how": "", "connections": "{'y': 'score'}"})
    merged = notebook["merged"]
    assert (list(merged.inputs), list(merged.outputs)) == (["x"], ["twice"])
    code = traits(ed.screen)["plan"]["saved"]["code"]
    assert code == "merged = gs.recipes.merge(ed, other=head, connections={'y': 'score'})"
    gs.open(graph).save(tmp_path / "head.pb")
    ed.screen.run_recipe("merge", {"other": str(tmp_path / "head.pb"), "how": "beside"})
    assert sorted(notebook["merged_2"].inputs) == ["score", "x"]
    assert repr(str(tmp_path / "head.pb")) in traits(ed.screen)["plan"]["saved"]["code"]


def test_one_of_a_few_is_chosen(ed):
    how = next(row for row in entry(ed.screen, "merge")["form"] if row["name"] == "how")
    assert [value for value, _ in how["options"]] == ["after", "beside", "shared"]
    with refuses(gs.PlanError, "how='before'): 'before' is not valid", "Type one of 'after', 'beside', 'shared'"):
        ed.screen.run_recipe("merge", {"other": "x", "how": "before"})
    with refuses(gs.PlanError, "values='x'): 'x' is not valid.\nType one of 'initial'"):
        ed.screen.run_recipe("frozen", {"values": "x"})


def test_a_report_is_shown(ed, tmp_path):
    with tf.Graph().as_default(), tf1.Session() as session:
        v = tf1.get_variable("v", initializer=[1.0])
        session.run(v.initializer)
        tf1.train.Saver().save(session, str(tmp_path / "a"), write_state=False)
    values = {"checkpoint": str(tmp_path / "a"), "path": str(tmp_path / "b"), "names": "{'v': 'net/v'}"}
    ed.screen.run_recipe("rename_checkpoint", values)
    assert traits(ed.screen)["plan"]["saved"]["lines"] == [f"{str(tmp_path / 'b')!r}: 1 name", "  net/v was v"]


def test_what_is_typed_is_checked(ed):
    with refuses(gs.PlanError, "run_recipe('split')", "no recipe has this name", "'split_at'"):
        ed.screen.run_recipe("split")
    with refuses(
        gs.PlanError, "run_recipe('split_at', at=''): a value is required", "Type tensors, with commas between them"
    ):
        ed.screen.run_recipe("split_at", {"at": " "})
    with refuses(gs.PlanError, "run_recipe('split_at')", "it has no argument 'to'"):
        ed.screen.run_recipe("split_at", {"to": "y"})
    with refuses(gs.PlanError, "run_recipe('add_output', name='/'): '/' is not valid", "Type a name"):
        ed.screen.run_recipe("add_output", {"tensor": "features", "name": "/"})


def test_steps_that_cannot_be_carried_out_are_refused(ed):
    for name, values, *said in [
        ("insert_after", {"pattern": "Conv2D", "op": "Reluu"},
         "run_recipe('insert_after'): ", "TensorFlow has no op type 'Reluu'", "Did you mean 'Relu'"),
        ("insert_after", {"pattern": "Conv", "op": "Relu"},
         "insert_after('Conv', 'Relu')", "net has no op of type 'Conv'", "Did you mean 'Conv2D'"),
        ("rename", {"row:x": "my op"}, "'my op' is not a name of an op: ' ' is not allowed in it", "example 'my_op'"),
        ("rename", {"names": "x=y"}, "the name 'y' is taken in net", "Type a name that is free, such as 'y_2'"),
    ]:  # fmt: skip
        with refuses(gs.PlanError, *said):
            ed.screen.run_recipe(name, values)
        assert not ed.draft.steps
    ed.screen.connect("x:0", to="y", input=1)  # a fault that is there already is no reason
    ed.screen.run_recipe("rename", {"row:x": "image"})
    assert len(ed.draft.steps) == 2


def test_a_check_colors_what_is_in_the_way(ed, monkeypatch):
    asked = []

    def check(self, target, **given):
        asked.append((target, given))
        found = (Blocker("features", "Relu", "custom op", "no"),)
        return Compatibility("net", target, "a converter", found, 9)

    monkeypatch.setattr(gs.Editor, "check", check)
    reported = ed.screen.check("tflite", outputs="y:0", inputs="conv:0")
    assert asked == [("tflite", {"outputs": ["y:0"], "inputs": ["conv:0"], "verify": False})]
    assert reported["code"] == "ed.check('tflite', outputs='y:0', inputs='conv:0')"
    assert reported["lines"][0] == "net: 1 of 9 ops keeps it from TFLite, according to a converter"
    shown = traits(ed.screen)
    scene = shown["scenes"]["source"]
    paint = {box["name"]: box["paint"]["text"] for box in scene["boxes"]}
    assert paint["features"] == "custom op"
    assert paint["conv"] == ""
    assert next((one["text"], one["boxes"]) for one in scene["legend"]["items"]) == ("custom op", 1)
    assert scene["legend"]["title"] == "TFLite"
    assert shown["plan"]["saved"]["title"] == "Check"
    ed.screen.check("tfjs", verify=True)
    assert asked[1] == ("tfjs", {"verify": True})
