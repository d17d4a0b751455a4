"""While a picture takes long the kernel answers, cells run, and the picture can be called off."""

from __future__ import annotations

from typing import Any

from tests.browser.hands import BUILD, IMPORTS, Traffic, box, painted, said, shot
from tests.lab import open_notebook
from tests.until import until

CELLS = [f"{IMPORTS}\n{BUILD}", "ed = gs.open(build(), title='small')\nview = ed.view()\nview"]
SLOW = """
import threading, time
import graphsurgeon.screen.pane as pane
from graphsurgeon.view.graphviz_wasm import cancelled_error
quick, laid_out = pane.place, threading.Event()

def slow(scene, *, direction, like, cancelled):
    laid_out.set()
    while not cancelled():
        time.sleep(0)
    raise cancelled_error()

pane.place = slow
"""

HELD = """
import threading
from graphsurgeon.tf.open.trial import Trial
tried, begun, go = Trial._tried, threading.Event(), threading.Event()

def held(self, graph_def):
    begun.set()
    go.wait()
    return tried(self, graph_def)

Trial._tried = held

with tf.Graph().as_default() as graph:
    x = tf.compat.v1.placeholder(tf.float32, [None, 2], name="x")
    tf.nn.relu(tf.matmul(x, tf.ones([2, 3]), name="y"), name="z")
"""


def test_shapes_are_inferred_once_somebody_sees_the_picture_and_nobody_waits_for_them(page: Any, lab: Any) -> None:
    traffic = Traffic(page)
    unseen = "ed = gs.open(graph.as_graph_def())\nmade = ed._repr_mimebundle_()\nearly = begun.is_set()"
    opened = open_notebook(page, lab, [f"{IMPORTS}\n{HELD}", unseen, "ed"])
    assert opened.ask("early") is False
    box(page, "x").wait_for()
    assert until(lambda: opened.ask("begun.is_set()"))
    until(lambda: painted(page) or traffic.asked)
    assert traffic.asked == ["infer"]
    box(page, "x").click()
    page.locator(".gs-inspect-list").first.wait_for()
    assert "float32 (?, 3)" not in page.locator(".gs-edge-label").all_text_contents()
    opened.run("go.set()")
    page.locator(".gs-edge-label", has_text="float32 (?, 3)").wait_for()
    assert opened.ask("ed.screen.inferred") is True
    shot(page, "shapes-there")
    opened.close()


def test_a_long_layout_is_called_off_while_cells_run(page: Any, lab: Any) -> None:
    opened = open_notebook(page, lab, CELLS)
    box(page, "net/").wait_for()
    opened.run(SLOW)
    box(page, "net/").focus()
    page.keyboard.press("Enter")
    # the kernel is free: what it is asked in the meantime is answered
    assert until(lambda: opened.ask("laid_out.is_set()"))
    assert opened.ask("6 * 7") == 42
    page.get_by_role("button", name="Cancel").wait_for()
    shot(page, "waiting")
    page.get_by_role("button", name="Cancel").click()
    said(page, "it was called off. Ask again to draw it.")
    shot(page, "called-off")
    folded = opened.ask("'net/' not in ed.screen.unfolded")
    opened.run("pane.place = quick")
    box(page, "net/").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => !/called off/.test(document.querySelector('.gs-status-text').textContent)")
    assert opened.ask("'net/' not in ed.screen.unfolded") is not folded
    opened.close()
