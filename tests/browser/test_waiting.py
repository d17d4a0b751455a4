"""While a picture or the shapes of a file take long, the kernel answers, and the picture can be called off."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.tf.open import source
from graphsurgeon.ui import pane
from graphsurgeon.view.graphviz import cancelled_error
from tests.browser.hands import Traffic, answered, box, build, painted, said, shot
from tests.until import until
from tests.widget.page import WidgetPage


def test_shapes_are_inferred_once_somebody_sees_the_picture_and_nobody_waits_for_them(
    page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried, begun, go = source.try_import, threading.Event(), threading.Event()

    def held(*given: Any) -> Any:
        begun.set()
        go.wait()
        return tried(*given)

    monkeypatch.setattr(source, "try_import", held)
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 2], name="x")
        tf.nn.relu(tf.matmul(x, tf.ones([2, 3]), name="y"), name="z")
    traffic = Traffic(page)
    ed = gs.open(graph.as_graph_def())
    ed._repr_mimebundle_()
    assert not begun.is_set()
    WidgetPage(page, ed.screen)
    assert until(begun.is_set)
    until(lambda: painted(page) or traffic.asked)
    assert traffic.asked == ["infer"]
    box(page, "x").click()
    page.locator(".gs-inspect-list").first.wait_for()
    assert "float32 (?, 3)" not in page.locator(".gs-edge-label").all_text_contents()
    go.set()
    page.locator(".gs-edge-label", has_text="float32 (?, 3)").wait_for()
    assert ed.screen.inferred is True
    shot(page, "shapes-there")


def test_a_long_layout_is_called_off_while_the_kernel_is_free(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out = threading.Event()

    def slow(scene: Any, *, direction: Any, previous: Any, cancelled: Any) -> Any:
        laid_out.set()
        while not cancelled():
            time.sleep(0)
        raise cancelled_error()

    ed = gs.open(build(), title="small")
    shown = WidgetPage(page, ed.screen)
    with monkeypatch.context() as patch:
        patch.setattr(pane, "place", slow)
        box(page, "net/").focus()
        page.keyboard.press("Enter")
        assert until(lambda: painted(page) or laid_out.is_set())
        assert shown.cell(lambda: 6 * 7) == 42  # the kernel is free
        page.get_by_role("button", name="Cancel").wait_for()
        shot(page, "waiting")
        page.get_by_role("button", name="Cancel").click()
        said(page, "it was cancelled. Draw it again.")
        answered(page)
    shot(page, "called-off")
    folded = "net/" not in ed.screen.unfolded
    box(page, "net/").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => !/cancelled/.test(document.querySelector('.gs-status-text').textContent)")
    answered(page)
    assert ("net/" not in ed.screen.unfolded) is not folded
