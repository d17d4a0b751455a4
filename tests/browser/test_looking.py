"""What is shown and in which colors, by hand: menus, keys, legend, values, functions."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

import graphsurgeon as gs
from tests.browser.hands import answered, box, fit, said, shot
from tests.widget.page import WidgetPage


def build() -> Any:
    graph = tf.Graph()

    @tf.function
    def scaled(a: Any) -> Any:
        return tf.nn.relu(a) * 2.0

    with graph.as_default():
        h = tf.compat.v1.placeholder(tf.float32, [8, 4], name="x")
        for i in range(3):
            with tf.compat.v1.variable_scope("layer" + "abc"[i], use_resource=True):
                w = tf.compat.v1.get_variable("w", [4, 4], initializer=tf.compat.v1.ones_initializer())
                h = tf.nn.relu(tf.matmul(h, w, name="mm"), name="relu")
        loss = tf.reduce_mean(scaled(h), name="loss")
        tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss)
    return graph


def choose(page: Any, button: str, item: str) -> None:
    """Opens a menu of the top bar and takes an item."""
    page.get_by_role("button", name=button).first.click()
    page.locator(".gs-menu .gs-choice", has_text=item).click()


def test_looking_by_hand(page: Any) -> None:
    ed = gs.open(build())
    WidgetPage(page, ed.screen)
    box(page, "gradients/").wait_for()
    before = ed.snapshot.fingerprint

    # depth, gradients and helpers, from the menu and by a key
    choose(page, "View options", "Fold all scopes")
    box(page, "layera/").wait_for()
    choose(page, "View options", "Unfold to depth 1")
    box(page, "layera/mm").wait_for()
    choose(page, "View options", "Fold all scopes")
    box(page, "layera/").focus()
    page.keyboard.press("g")
    said(page, "gradients and updates are hidden")
    box(page, "gradients/").wait_for(state="detached")
    page.get_by_role("button", name="View options").first.click()
    shot(page, "looking-menu")
    page.keyboard.press("Escape")
    choose(page, "View options", "Show gradients and updates")
    said(page, "gradients and updates are drawn")
    box(page, "gradients/").wait_for()
    choose(page, "View options", "Show gradients and updates")
    said(page, "gradients and updates are hidden")

    # colors, and a legend that filters
    choose(page, "Colors", "Repeated structure")
    said(page, "colored by structure")
    page.locator(".gs-legend-title", has_text="same structure").wait_for()
    tinted = page.locator(".gs-pane-source .gs-tinted")
    assert tinted.count() == 3
    page.locator(".gs-legend-entry", has_text="3 ×").click()
    page.wait_for_function("document.querySelectorAll('.gs-box.gs-faded').length === 3")
    answered(page)  # the page fades at once
    assert ed.screen.traits()["look"]["faded"] == ["c0"]
    shot(page, "looking-structure")
    page.locator(".gs-legend-entry", has_text="3 ×").click()
    page.wait_for_function("document.querySelectorAll('.gs-box.gs-faded').length === 0")
    ed.paint({"layera/mm": 3.0, "layerb/mm": 1.0, "layerc/mm": 0.5}, "ms")
    page.locator(".gs-legend-title", has_text="ms").wait_for()
    assert "3 ms" in box(page, "layera/").get_attribute("aria-label")
    shot(page, "looking-values")

    # the inspector: a value on request; a call unfolded and folded again
    choose(page, "View options", "Unfold to depth 1")
    box(page, "layera/mm").wait_for()
    choose(page, "View options", "Show variables")
    box(page, "layera/w").wait_for()
    fit(page)
    box(page, "layera/w").click()
    page.get_by_role("button", name="Fetch the value").click()
    page.locator(".gs-value", has_text="first values").wait_for()
    shot(page, "looking-inspector")
    call = next(
        name for name, kind in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if "PartitionedCall" in kind
    )
    fit(page)
    box(page, call).click()
    box(page, call).dblclick()
    box(page, f"{call}/Relu").wait_for()
    fit(page)
    box(page, f"{call}/Relu").click()
    said(page, f"1 op selected, inside {call}")
    page.keyboard.press("i")
    said(page, "Mark an output")
    assert list(ed.screen.state.marks.inputs) == [f"{call}/Relu:0"]
    shot(page, "looking-inside")
    box(page, f"{call}/").focus()
    page.keyboard.press("Enter")
    box(page, call).wait_for()
    assert ed.snapshot.fingerprint == before
    # a key marks no text of the page, wherever in the widget it is pressed
    box(page, "x").click()
    for place in (".gs-title", ".gs-inspect-title", ".gs-status-text"):
        page.locator(place).first.click()
        page.keyboard.press("Control+a")
        page.keyboard.press("m")
        assert page.evaluate("() => getSelection().toString()") == ""
    page.keyboard.press("Escape")
    box(page, "x").click()
    about = {"bubbles": True, "cancelable": True, "clientX": 200, "clientY": 200}
    page.locator(".gs-pane-source .gs-canvas").dispatch_event("contextmenu", about)  # beside all boxes
    page.get_by_role("menu", name="View options").wait_for()
    page.keyboard.press("Control+a")
    assert page.evaluate("() => getSelection().toString()") == ""
    page.keyboard.press("Escape")
