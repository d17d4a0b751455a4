"""Recipes by hand in a real notebook: what does not apply says why, dropout goes, and TFLite is asked what it lacks."""

from __future__ import annotations

from typing import Any

from tests.browser.hands import IMPORTS, answered, apply, box, painted, said, shot
from tests.lab import open_notebook

NET = """
graph = tf.Graph()
with graph.as_default():
    x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
    h = tf.nn.relu(tf.nn.softplus(x, name="soft"), name="act")
    h = tf.compat.v1.nn.dropout(h, rate=0.5, seed=1, name="dropout")
    y = tf.raw_ops.Betainc(a=h, b=h, x=h, name="beta")
    tf.identity(y, name="y")
"""


def test_a_menu_of_recipes_and_the_way_to_tflite(page: Any, lab: Any) -> None:
    opened = open_notebook(page, lab, [f"{IMPORTS}\n{NET}", "ed = gs.open(graph)\ned"])
    box(page, "x").click()
    page.keyboard.press("Shift+R")
    menu = page.get_by_role("menu", name="Recipes")
    menu.wait_for()
    painted(page)
    shot(page, "recipes-menu")
    off = menu.get_by_role("menuitem", name="Take out FakeQuant")
    assert off.is_disabled()
    assert "it has no FakeQuant" in off.text_content()
    menu.get_by_role("menuitem", name="Take out dropout").click()
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
    table.get_by_role("button", name="Do it").click()
    said(page, "rename: 1 step in the plan")
    apply(page)
    page.get_by_role("button", name="Recipes (Shift+R)").click()
    menu.get_by_role("menuitem", name="Merge it with another model").click()
    form = page.get_by_role("dialog", name="Merge it")
    form.get_by_label("With", exact=True).fill("ed")
    form.get_by_label("How").fill("shared")
    shot(page, "recipes-merge")
    form.get_by_role("button", name="Do it").click()
    page.locator(".gs-panel", has_text="merged = gs.recipes.merge(ed, other=ed, how='shared')").wait_for()
    assert opened.ask("[sorted(merged.inputs), sorted(merged.outputs)]") == [["image"], ["first_y", "second_y"]]
    page.get_by_role("button", name="Recipes (Shift+R)").click()
    menu.get_by_role("menuitem", name="Check it for TFLite").click()
    dialog = page.get_by_role("dialog", name="Check it for TFLite")
    shot(page, "recipes-form")
    dialog.get_by_role("button", name="Check").click()
    panel = page.locator(".gs-panel", has_text="'beta' (Betainc)")
    panel.wait_for()
    said(page, "1 of ")
    painted(page)
    shot(page, "recipes-checked")
    assert "Cut it off: outputs='act:0'" in panel.text_content()
    opened.close()
