"""A graph is run by hand: what it is fed, where the first NaN comes from, numbers of tensors, shapes on edges."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.browser.hands import answered, apply, box, build, fit, said, shot
from tests.tf2 import tf1
from tests.until import until
from tests.widget.page import WidgetPage


@tf.function
def tower(x: Any, start: Any) -> Any:
    """A loop whose body takes a logarithm: that of zero where `start` is too low."""

    def body(i: Any, a: Any) -> Any:
        return i + 1, a + tf.math.log(tf.maximum(start - tf.cast(i, tf.float32), 0.0), name="ln")

    _, a = tf.while_loop(lambda i, _: i < 4, body, [0, x], name="loop")
    return a


def towers() -> Any:
    """Returns the GraphDef of eight towers, one of which has a fault."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        ends = []
        for k in range(8):
            with tf.name_scope(f"tower_{k}"):
                ends.append(tower(x, 3.0 if k == 5 else 20.0))
        tf.multiply(tf.add_n(ends), 0.0, name="loss")
    return graph.as_graph_def()


def test_a_hidden_fault_is_found_with_three_actions_from_opening_the_file(page: Any, notebook: Any) -> None:
    Path("fault.pb").write_bytes(towers().SerializeToString())
    ed = gs.open("fault.pb")  # the first
    WidgetPage(page, ed.screen)
    box(page, "x").wait_for()
    page.get_by_role("button", name="Run", exact=True).click()  # the second
    dialog = page.get_by_role("dialog", name="Run the graph")
    dialog.get_by_label("x:0").wait_for()
    shot(page, "run-form")
    dialog.get_by_role("button", name="Run").click()  # and the third
    said(page, "first not finite: tower_5/")
    page.locator(".gs-inspector", has_text="Log").wait_for()
    (selected,) = ed.screen.state.view.selected
    assert re.fullmatch(r"tower_5/.*/loop/body/ln", selected)
    assert box(page, selected).is_visible()
    held = page.locator(".gs-held")
    assert "round3 of 4 recorded" in held.text_content()
    assert "infinite1" in held.text_content()
    panel = page.locator(".gs-panel")
    assert "first not finite" in panel.text_content()
    assert "100 % zeros" in panel.text_content()  # its input
    shot(page, "run-found")
    panel.get_by_role("button", name="Time").click()
    said(page, "colored by ms")
    panel.get_by_role("button", name="Clear the run").click()
    said(page, "the run is cleared")
    page.locator(".gs-held").wait_for(state="detached")


def test_numbers_shapes_and_colors_of_a_run(page: Any, notebook: Any) -> None:
    notebook.batch = np.arange(6, dtype=np.float32).reshape(3, 2)
    ed = gs.open(build())
    WidgetPage(page, ed.screen)
    box(page, "x").click()
    assert page.locator(".gs-held").count() == 0
    page.keyboard.press("x")
    dialog = page.get_by_role("dialog", name="Run the graph")
    field = dialog.get_by_label("x:0 float32 (?, 2)")
    assert field.get_attribute("placeholder") == "random (1, 2)"
    names = field.evaluate("e => [...e.list.options].map(o => o.value)")
    assert names == ["batch"]
    field.fill("batches")
    page.keyboard.press("Enter")
    said(page, "or a variable of the notebook")
    page.keyboard.press("x")
    dialog.get_by_label("x:0 float32 (?, 2)").fill("batch")
    dialog.get_by_label("other:0").fill("[[1, 2], [3, 4], [5, 6]]")
    page.keyboard.press("Enter")
    said(page, "all values are finite")
    answered(page)
    fit(page)
    held = page.locator(".gs-held")
    held.wait_for()
    assert "float32 (3, 2)" in held.text_content()
    assert held.locator("img.gs-picture").count() == 1
    assert page.locator(".gs-legend-title").text_content().startswith("ms")
    assert box(page, "net/mm").count() == 1  # open from the first: what leaves it has its label
    page.locator(".gs-edge-label", has_text="float32 (3, 3)").first.wait_for()
    shot(page, "run-numbers")
    box(page, "total").click()
    assert until(lambda: "values" in page.locator(".gs-held").text_content())
    want = ed.trace({"x:0": notebook.batch, "other:0": [[1, 2], [3, 4], [5, 6]]}).results["total:0"]
    assert all(f"{value:.6g}" in page.locator(".gs-held").text_content() for value in want)
    page.locator(".gs-panel").get_by_role("button", name="Share of zeros").click()
    said(page, "colored by zeros")


def endless() -> Any:
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf.exp(x, name="before")
        tf.while_loop(lambda i: i >= 0, lambda i: tf.math.floormod(i + 1, 7), [tf.cast(y, tf.int32)], name="turns")
    return graph


def test_a_run_without_an_end_is_called_off(page: Any, notebook: Any) -> None:
    shown = WidgetPage(page, gs.open(endless()).screen)
    box(page, "before").click()
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("dialog", name="Run the graph").get_by_role("button", name="Run").click()
    page.locator(".gs-status-text", has_text="loop iterations").wait_for()
    shot(page, "run-running")
    assert shown.cell(lambda: 6 * 7) == 42  # the kernel is free
    page.get_by_role("button", name="Cancel").click()
    said(page, "stopped: it was stopped by hand")
    assert until(
        lambda: "float32 ()" in (page.locator(".gs-held").text_content() if page.locator(".gs-held").count() else "")
    )


def test_a_plan_is_tried_then_applied_and_compared(page: Any, notebook: Any) -> None:
    notebook.x = np.float32([[1, -9], [-9, 1]])
    ed = gs.open(build())
    WidgetPage(page, ed.screen)
    box(page, "y").wait_for()
    assert page.get_by_role("button", name="Compare").count() == 0
    ed.screen.bypass("net/h")
    page.get_by_role("button", name="Try", exact=True).click()
    dialog = page.get_by_role("dialog", name="Try the plan")
    dialog.get_by_label("x:0 float32 (?, 2)").fill("x")
    page.keyboard.press("Enter")
    said(page, "first difference: y")
    answered(page)
    assert "first difference" in page.locator(".gs-panel").text_content()
    assert page.locator(".gs-legend-title").text_content().startswith("difference")
    shot(page, "run-tried")
    box(page, "y", "destination").click()
    page.locator(".gs-held", has_text="float32 (2,)").wait_for(state="attached")  # in a narrow cell it is a panel away
    apply(page)
    said(page, "applied:")
    assert page.get_by_role("button", name="Try", exact=True).count() == 0
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("dialog").get_by_label("x:0 float32 (?, 2)").fill("x")
    page.keyboard.press("Enter")
    said(page, "first difference: y")
    answered(page)
    shot(page, "run-compared")
    assert list(ed.screen.state.view.selected) == ["y"]


def save_stranger() -> None:
    """Saves a model whose graph writes another file when it is run."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        with tf.control_dependencies([tf.raw_ops.WriteFile(filename="owned.txt", contents="owned", name="evil")]):
            y = tf.square(x, name="y")
    with tf1.Session(graph=graph) as session:
        tf1.saved_model.simple_save(session, "stranger", {"x": x}, {"y": y})


@pytest.mark.deep
def test_a_stranger_s_graph_is_run_when_somebody_says_so(page: Any, notebook: Any) -> None:
    save_stranger()
    ed = gs.open("stranger")
    WidgetPage(page, ed.screen)
    box(page, "y").wait_for()
    page.get_by_role("button", name="Run", exact=True).click()
    dialog = page.get_by_role("dialog", name="Run the graph")
    alert = dialog.get_by_role("alert")
    assert "stranger came from a file. It holds 1 op that writes files, 'evil' (WriteFile)." in alert.text_content()
    shot(page, "run-stranger")
    dialog.get_by_role("button", name="Cancel").click()
    assert [Path("owned.txt").exists(), ed.trusted] == [False, False]
    page.get_by_role("button", name="Run", exact=True).click()
    dialog.get_by_role("button", name="Run anyway").click()
    said(page, "all values are finite")
    answered(page)
    assert [Path("owned.txt").exists(), ed.trusted] == [True, True]
    page.get_by_role("button", name="Run", exact=True).click()
    dialog.get_by_role("button", name="Run", exact=True).wait_for()  # once is enough
    assert dialog.get_by_role("alert").count() == 0
