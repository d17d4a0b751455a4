"""A graph is run by hand: what it is fed, where the first NaN comes from, numbers of tensors, shapes on edges."""

from __future__ import annotations

import re
from typing import Any

from tests.browser.hands import BUILD, IMPORTS, answered, apply, box, fit, said, shot
from tests.lab import open_notebook
from tests.until import until

#: Eight towers of one function with a loop in it; in one of them the body takes the logarithm of zero.
FAULT = """
@tf.function
def tower(x, start):
    def body(i, a):
        return i + 1, a + tf.math.log(tf.maximum(start - tf.cast(i, tf.float32), 0.0), name="ln")
    _, a = tf.while_loop(lambda i, _: i < 4, body, [0, x], name="loop")
    return a

graph = tf.Graph()
with graph.as_default():
    x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
    ends = []
    for k in range(8):
        with tf.name_scope(f"tower_{k}"):
            ends.append(tower(x, 3.0 if k == 5 else 20.0))
    tf.multiply(tf.add_n(ends), 0.0, name="loss")
with open("fault.pb", "wb") as file:
    file.write(graph.as_graph_def().SerializeToString())
"""


def test_a_hidden_fault_is_found_with_three_actions_from_opening_the_file(page: Any, lab: Any) -> None:
    opened = open_notebook(
        page, lab, [f"{IMPORTS}\n{FAULT}", "ed = gs.open('fault.pb')\ned"]
    )  # the first is to open it
    box(page, "x").wait_for()
    page.get_by_role("button", name="Run", exact=True).click()  # the second
    dialog = page.get_by_role("dialog", name="Run the graph")
    dialog.get_by_label("x:0").wait_for()
    shot(page, "run-form")
    dialog.get_by_role("button", name="Run").click()  # and the third
    said(page, "first not finite: tower_5/")
    page.locator(".gs-inspector", has_text="Log").wait_for()
    (selected,) = opened.ask("list(ed.screen.state.view.selected)")
    assert re.fullmatch(r"tower_5/.*/loop/body/ln", selected)
    assert box(page, selected).is_visible()
    held = page.locator(".gs-held")
    assert "round3 of 4 noted" in held.text_content()
    assert "infinite1" in held.text_content()
    panel = page.locator(".gs-panel")
    assert "first not finite" in panel.text_content()
    assert "100 % zeros" in panel.text_content()  # its input
    shot(page, "run-found")
    panel.get_by_role("button", name="Time").click()
    said(page, "coloured by ms")
    panel.get_by_role("button", name="Forget the run").click()
    said(page, "the run is forgotten")
    page.locator(".gs-held").wait_for(state="detached")
    opened.close()


def test_numbers_shapes_and_colours_of_a_run(page: Any, lab: Any) -> None:
    batch = "batch = np.arange(6, dtype=np.float32).reshape(3, 2)"
    opened = open_notebook(page, lab, [f"{IMPORTS}\n{BUILD}", batch, "ed = gs.open(build())\ned"])
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
    said(page, "not a name of the notebook")
    page.keyboard.press("x")
    dialog.get_by_label("x:0 float32 (?, 2)").fill("batch")
    dialog.get_by_label("other:0").fill("[[1, 2], [3, 4], [5, 6]]")
    page.keyboard.press("Enter")
    said(page, "all is finite")
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
    want = opened.ask("ed.trace({'x:0': batch, 'other:0': [[1, 2], [3, 4], [5, 6]]}).results['total:0'].tolist()")
    assert all(f"{value:.6g}" in page.locator(".gs-held").text_content() for value in want)
    page.locator(".gs-panel").get_by_role("button", name="Share of zeros").click()
    said(page, "coloured by zeros")
    opened.close()


ENDLESS = """
with tf.Graph().as_default() as graph:
    x = tf.compat.v1.placeholder(tf.float32, [], name="x")
    y = tf.exp(x, name="before")
    tf.while_loop(lambda i: i >= 0, lambda i: tf.math.floormod(i + 1, 7), [tf.cast(y, tf.int32)], name="turns")
"""


def test_a_run_without_an_end_is_called_off(page: Any, lab: Any) -> None:
    opened = open_notebook(page, lab, [f"{IMPORTS}\n{ENDLESS}", "ed = gs.open(graph)\ned"])
    box(page, "before").click()
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("dialog", name="Run the graph").get_by_role("button", name="Run").click()
    page.locator(".gs-status-text", has_text="round after round").wait_for()
    shot(page, "run-running")
    assert opened.ask("6 * 7") == 42  # the kernel is free
    page.get_by_role("button", name="Cancel").click()
    said(page, "stopped: it was stopped by hand")
    assert until(
        lambda: "float32 ()" in (page.locator(".gs-held").text_content() if page.locator(".gs-held").count() else "")
    )
    opened.close()


def test_a_plan_is_tried_then_applied_and_compared(page: Any, lab: Any) -> None:
    opened = open_notebook(
        page, lab, [f"{IMPORTS}\n{BUILD}", "x = np.float32([[1, -9], [-9, 1]])", "ed = gs.open(build())\ned"]
    )
    box(page, "y").wait_for()
    assert page.get_by_role("button", name="Compare").count() == 0
    opened.run("ed.screen.bypass('net/h')")
    page.get_by_role("button", name="Try", exact=True).click()
    dialog = page.get_by_role("dialog", name="Try the plan")
    dialog.get_by_label("x:0 float32 (?, 2)").fill("x")
    page.keyboard.press("Enter")
    said(page, "first other value: y")
    answered(page)
    assert "first other value" in page.locator(".gs-panel").text_content()
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
    said(page, "first other value: y")
    answered(page)
    shot(page, "run-compared")
    assert opened.ask("list(ed.screen.state.view.selected)") == ["y"]
    opened.close()


#: A file whose graph writes another file when it is run.
STRANGER = """
graph = tf.Graph()
with graph.as_default():
    x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
    with tf.control_dependencies([tf.raw_ops.WriteFile(filename="owned.txt", contents="owned", name="evil")]):
        y = tf.square(x, name="y")
with tf.compat.v1.Session(graph=graph) as session:
    tf.compat.v1.saved_model.simple_save(session, "stranger", {"x": x}, {"y": y})
"""


def test_a_stranger_s_graph_is_run_when_somebody_says_so(page: Any, lab: Any) -> None:
    opened = open_notebook(page, lab, [f"{IMPORTS}\n{STRANGER}", "import os\ned = gs.open('stranger')\ned"])
    box(page, "y").wait_for()
    page.get_by_role("button", name="Run", exact=True).click()
    dialog = page.get_by_role("dialog", name="Run the graph")
    alert = dialog.get_by_role("alert")
    assert "stranger came from a file. It holds 1 op that writes files, 'evil' (WriteFile)." in alert.text_content()
    shot(page, "run-stranger")
    dialog.get_by_role("button", name="Cancel").click()
    assert opened.ask("[os.path.exists('owned.txt'), ed.trusted]") == [False, False]
    page.get_by_role("button", name="Run", exact=True).click()
    dialog.get_by_role("button", name="Run it anyway").click()
    said(page, "all is finite")
    until(lambda: opened.ask("[os.path.exists('owned.txt'), ed.trusted]") == [True, True])
    page.get_by_role("button", name="Run", exact=True).click()
    dialog.get_by_role("button", name="Run", exact=True).wait_for()  # once is enough
    assert dialog.get_by_role("alert").count() == 0
    opened.close()
