"""Recipes by hand: what does not apply says why, dropout goes, and TFLite is asked what it lacks."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.plan.recipe_registry import PLAN, registered_recipes
from tests.browser.hands import answered, apply, box, painted, said, shot
from tests.tf2 import tf1
from tests.widget.page import WidgetPage


def net() -> Any:
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        h = tf.nn.relu(tf.nn.softplus(x, name="soft"), name="act")
        h = tf1.nn.dropout(h, rate=0.5, seed=1, name="dropout")
        y = tf.raw_ops.Betainc(a=h, b=h, x=h, name="beta")
        tf.identity(y, name="y")
    return graph


def test_a_menu_of_recipes_and_the_way_to_tflite(page: Any, notebook: Any) -> None:
    notebook.gs, notebook.ed = gs, gs.open(net())
    WidgetPage(page, notebook.ed.screen)
    box(page, "x").click()
    button = page.get_by_role("button", name="Recipes (Shift+R)")
    button.click()
    menu = page.get_by_role("menu", name="Recipes")
    menu.wait_for()
    painted(page)
    at = button.bounding_box()
    assert 0 <= menu.bounding_box()["y"] - at["y"] - at["height"] < 8, "below its button"
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+R")
    menu.wait_for()
    shot(page, "recipes-menu")
    off = menu.get_by_role("menuitem", name="Remove FakeQuant")
    assert off.count() == 0
    menu.get_by_role("menuitem", name="not apply").click()
    assert off.is_disabled()
    assert "the graph has no FakeQuant" in off.text_content()
    shot(page, "recipes-others")
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+R")
    menu.get_by_role("menuitem", name="Remove dropout").click()
    said(page, "strip_dropout: ")
    answered(page)
    painted(page)
    shot(page, "recipes-preview")
    apply(page)
    page.get_by_role("button", name="Recipes (Shift+R)").click()
    menu.get_by_role("menuitem", name="Rename inputs").click()
    table = page.get_by_role("dialog", name="Rename inputs")
    assert table.get_by_label("y", exact=True).input_value() == "y"
    table.get_by_label("x", exact=True).fill("image")
    shot(page, "recipes-rename")
    table.get_by_role("button", name="Add to plan").click()
    said(page, "rename: 1 step in the plan")
    apply(page)
    page.get_by_role("button", name="Recipes (Shift+R)").click()
    menu.get_by_role("menuitem", name="Merge with another model").click()
    form = page.get_by_role("dialog", name="Merge with")
    form.get_by_label("With", exact=True).fill("ed")
    form.get_by_label("How").select_option("shared")
    shot(page, "recipes-merge")
    form.get_by_role("button", name="Run recipe").click()
    page.locator(".gs-panel", has_text="merged = gs.recipes.merge(ed, other=ed, how='shared')").wait_for()
    assert [sorted(notebook.merged.inputs), sorted(notebook.merged.outputs)] == [["image"], ["first_y", "second_y"]]
    page.get_by_role("button", name="Recipes (Shift+R)").click()
    menu.get_by_role("menuitem", name="Check for TFLite").click()
    dialog = page.get_by_role("dialog", name="Check for TFLite")
    shot(page, "recipes-form")
    dialog.get_by_role("button", name="Check").click()
    panel = page.locator(".gs-panel", has_text="'beta' (Betainc)")
    panel.wait_for()
    said(page, "1 of ")
    painted(page)
    shot(page, "recipes-checked")
    assert "Cut it off: outputs='act:0'" in panel.text_content()


def trained() -> Any:
    """Returns a net with something for most recipes."""
    graph = tf.Graph()
    with graph.as_default(), tf1.variable_scope("", use_resource=False):
        x = tf1.placeholder(tf.float32, [None, 4, 4, 1], name="x")
        h = tf.nn.conv2d(tf.debugging.check_numerics(x, "x"), tf.ones([1, 1, 1, 2]), 1, "SAME", name="conv")
        kept = [tf1.get_variable(n, [2], initializer=tf1.ones_initializer()) for n in ("mean", "variance")]
        h, mean, variance = tf1.nn.fused_batch_norm(h, [1.0, 1.0], [0.0, 0.0], name="bn")
        for average, value in zip(kept, (mean, variance), strict=True):
            tf1.assign(average, 0.9 * average + 0.1 * value)
        w = tf1.get_variable("w", [2], initializer=tf1.ones_initializer())
        h = tf.quantization.fake_quant_with_min_max_args(tf.nn.relu(h * w, name="act"))
        h = tf.identity(tf1.nn.dropout(h, rate=0.5, seed=1))
        y = tf.nn.softmax(tf.reduce_sum(h, [1, 2]), name="y")
        loss = tf.reduce_sum(y, name="loss")
        tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
    return graph


#: What is typed so that a recipe does something to it; of the others, their forms are looked at and left.
TYPED = {
    "insert_after": {"After each": "Conv2D", "Op type to insert": "FakeQuantWithMinMaxArgs"},
    "set_input": {"Input": "x:0", "Shape": "[2, 4, 4, 1]"},
    "add_output": {"Tensor": "act:0", "Name": "taken"},
    "set_signature": {"Outputs": "y:0"},
    "recompute": {"Loss": "loss:0"},
    "split_at": {"At": "act:0", "Outputs": "y:0", "Inputs": "x:0"},
    "frozen": {"Outputs": "y:0", "Values": "initial"},
    "for_inference": {"Outputs": "y:0"},
    "strip_training": {"Outputs": "y:0"},
}


def detector() -> Any:
    """Returns a net that begins and ends as a detector does, and writes its checkpoint with averages."""
    graph = tf.Graph()
    with graph.as_default():
        data = tf1.placeholder(tf.string, [], name="x")
        image = tf.image.resize(tf.cast(tf.image.decode_jpeg(data, 3), tf.float32)[None], [4, 4])
        h = tf.nn.conv2d(tf.multiply(image, 0.1), tf.ones([1, 1, 3, 4]), 1, "SAME", name="conv")
        h, *_ = tf1.nn.fused_batch_norm(h, [1.0] * 4, [0.0] * 4, [0.0] * 4, [1.0] * 4, is_training=False)
        h = tf1.nn.dropout(tf.identity(tf.reduce_mean(h, [1, 2])), rate=0.5, seed=1)
        w = tf1.get_variable("w", [4, 6], initializer=tf1.ones_initializer())
        h = tf.matmul(h, w, name="logits")
        boxes, scores = tf.sigmoid(h[:, :4]), tf.nn.softmax(h[:, 4:])
        tf.argmax(scores, 1, name="best")
        tf.identity(tf.image.non_max_suppression(boxes, scores[:, 0], 5), name="kept")
        tf.train.ExponentialMovingAverage(0.5).apply([w])
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            tf1.train.Saver().save(session, "averages.ckpt", write_meta_graph=False)
    return graph


OF_A_DETECTOR = {
    "strip_identities": {"Outputs": "best:0"},
    "fold_batch_norm": {"Outputs": "best:0"},
    "cut_preprocessing": {"Patterns": ""},
    "cut_postprocessing": {"Patterns": ""},
    "rename": {"x": "jpeg"},
    "use_averages": {"Outputs": "best:0"},
    "restore_averages": {"Checkpoint": "averages.ckpt"},
    "rename_checkpoint": {"Checkpoint": "averages.ckpt", "To": "renamed.ckpt", "Names": '{"w": "v"}'},
    "merge": {"With": "ed", "How": "beside", "Values": "initial"},
}


def walk(page: Any, typed: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    """Chooses each recipe of the menu, fills in its form, and takes its plan back; returns what came of it."""
    menu = page.get_by_role("menu", name="Recipes")
    outcome: dict[str, list[str]] = {"steps": [], "editors": [], "report": [], "form": [], "off": [], "refused": []}
    for recipe in registered_recipes():
        page.get_by_role("button", name="Recipes (Shift+R)").click()
        entry = menu.get_by_role("menuitem", name=recipe.summary)
        menu.wait_for()
        if not entry.count():
            menu.get_by_role("menuitem", name="not apply").click()
            assert entry.is_disabled()
            assert entry.text_content().partition(recipe.summary)[2].strip(" …"), "it says why"
            outcome["off"].append(recipe.name)
            page.keyboard.press("Escape")
            continue
        entry.click()
        if recipe.parameters or recipe.table_parameter:
            form = page.get_by_role("dialog", name=recipe.summary)
            form.wait_for()
            for wish in recipe.parameters:
                assert form.get_by_label(wish.label, exact=True).count() == 1
            if recipe.name not in typed:
                outcome["form"].append(recipe.name)
                page.keyboard.press("Escape")
                continue
            chosen = [wish.label for wish in recipe.parameters if wish.choices]
            for label, text in typed[recipe.name].items():
                field = form.get_by_label(label, exact=True)
                field.select_option(text) if label in chosen else field.fill(text)
            form.get_by_role("button", name="Add to plan" if recipe.result_kind == PLAN else "Run recipe").click()
        answered(page)
        line = page.locator(".gs-status").inner_text()
        kind = recipe.result_kind if line.startswith((f"{recipe.name}: ", *recipe.editor_names)) else "refused"
        outcome["steps" if kind == "plan" else kind].append(recipe.name)
        if kind == "plan":
            page.get_by_role("button", name="Undo").first.click()
            answered(page)
    return outcome


@pytest.mark.deep
def test_each_entry_of_the_menu_is_done_or_says_why_not(page: Any, notebook: Any) -> None:
    notebook.gs, notebook.ed = gs, gs.open(trained())
    WidgetPage(page, notebook.ed.screen)
    box(page, "x").click()
    assert walk(page, TYPED) == {
        "steps": ["for_inference", "strip_training", "strip_checks", "settle_batch_norm", "strip_quantization",
                  "insert_after", "set_input", "add_output", "recompute"],
        "editors": ["set_signature", "frozen", "split_at"],
        "report": [],
        "form": ["strip_identities", "rename", "restore_averages", "rename_checkpoint", "merge"],
        "off": ["strip_dropout", "fold_batch_norm", "cut_preprocessing", "cut_postprocessing", "cut_nms",
                "replace_head", "use_averages"],
        "refused": [],
    }  # fmt: skip


@pytest.mark.deep
def test_what_a_detector_begins_and_ends_with_is_cut_and_its_averages_are_read(page: Any, notebook: Any) -> None:
    notebook.gs, notebook.ed = gs, gs.open(detector())
    WidgetPage(page, notebook.ed.screen)
    box(page, "x").click()
    found = walk(page, OF_A_DETECTOR)
    assert found["steps"] == ["strip_dropout", "strip_identities", "fold_batch_norm", "cut_preprocessing",
                              "cut_postprocessing", "cut_nms", "rename", "use_averages"]  # fmt: skip
    assert found["report"] == ["restore_averages", "rename_checkpoint"]
    assert found["editors"] == ["merge"]
    assert found["refused"] == []
    assert tf.train.load_checkpoint("renamed.ckpt").has_tensor("v")
