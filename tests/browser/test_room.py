"""Nothing leaves the widget or hides in it: bars, legend and inspector in cells of all widths."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.browser.hands import box, painted, shot
from tests.tf2 import tf1
from tests.widget.page import WidgetPage

# what sticks out of the frame it is in, at the right or at the left
OUTSIDE = """([inside, frame]) => {
  const f = document.querySelector(frame).getBoundingClientRect();
  return [...document.querySelectorAll(inside)].map(e => [e.title || e.textContent, e.getBoundingClientRect()])
    .filter(([, r]) => r.width && (r.right > f.right + 1 || r.left < f.left - 1)).map(([name]) => name);
}"""


def towers() -> Any:
    graph_def = tf1.GraphDef()
    for i in range(9):
        node = graph_def.node.add(name=f"tower/of_{'abcdefghi'[i]}", op="Placeholder", device=f"/device:GPU:{i}")
        node.attr["dtype"].type = 1
    return gs.open(graph_def, title="a_title_as_long_as_those_of_real_files.pbtxt")


@pytest.mark.parametrize("width", [480, 700, 1000, 1600])
def test_bars_and_legend_stay_in_cells_of_all_widths(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width + 16, "height": 800})
    ed = towers()
    ed.screen.set_depth(1)
    ed.paint("device")
    WidgetPage(page, ed.screen)
    painted(page)
    shot(page, f"room-{width}")
    assert page.locator(".gs-legend-entry").count() == 9
    assert page.locator(".gs-legend-entry").last.is_visible()
    assert page.evaluate(OUTSIDE, [".gs-top *, .gs-status *", ".gs"]) == []


def test_the_keyboard_stays_in_the_picture_where_a_call_opens_and_folds(page: Any) -> None:
    graph = tf.Graph()

    @tf.function
    def part(a: Any) -> Any:
        return tf.nn.relu(a) + 1.0

    with graph.as_default():
        x = tf1.placeholder(tf.float32, [4], name="x")
        tf.identity(part(x), name="y")
    ed = gs.open(graph)
    WidgetPage(page, ed.screen)
    focus = "() => document.activeElement.closest('.gs-canvas')?.className"
    call = next(n for n, t in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if "PartitionedCall" in t)
    box(page, call).click()
    page.keyboard.press("Enter")
    box(page, f"{call}/Relu").wait_for()
    assert page.evaluate(focus) == "gs-canvas"
    page.keyboard.press("/")
    page.keyboard.type("op:Relu")
    page.locator(".gs-hit").wait_for()
    page.keyboard.press("Enter")
    page.locator(f".gs-selected[data-name='{call}/Relu']").wait_for()
    box(page, f"{call}/").focus()
    page.keyboard.press("Enter")
    box(page, call).wait_for()
    assert page.evaluate(focus) == "gs-canvas"


def test_what_has_the_focus_is_never_under_the_map(page: Any) -> None:
    page.set_viewport_size({"width": 1016, "height": 800})
    ed = towers()
    ed.screen.set_depth(1)
    WidgetPage(page, ed.screen)
    box(page, "tower/of_a").focus()
    for _ in range(6):
        page.keyboard.press("+")
    page.keyboard.press("End")
    assert page.locator(".gs-pane-source .gs-map").is_visible()
    shot(page, "room-map")
    focused = page.locator(".gs-item:focus .gs-body").bounding_box()
    area = page.locator(".gs-pane-source .gs-map").bounding_box()
    assert focused["x"] + focused["width"] > area["x"], "the map is elsewhere: this shows nothing"
    assert focused["y"] + focused["height"] <= area["y"]


def test_long_attributes_and_functions_fit_the_inspector(page: Any) -> None:
    graph = tf.Graph()

    @tf.function
    def a_function_with_a_name_that_is_longer_than_the_inspector_is_wide(a: Any) -> Any:
        return tf.nn.relu(a) + 1.0

    with graph.as_default():
        x = tf1.placeholder(tf.float32, [4], name="x")
        tf.identity(a_function_with_a_name_that_is_longer_than_the_inspector_is_wide(x), name="y")
    ed = gs.open(graph)
    WidgetPage(page, ed.screen)
    call = next(n for n, t in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if "PartitionedCall" in t)
    box(page, call).click()
    page.locator(".gs-inspector", has_text="call of a_function").wait_for()
    shot(page, "room-inspector")
    sizes = page.evaluate(
        """() => [document.querySelector(".gs-inspector"), ...document.querySelectorAll(".gs-facts dd")]
          .map(e => [e.clientWidth, e.scrollWidth])"""
    )
    assert [(a, b) for a, b in sizes if b > a] == []
    assert min(a for a, _ in sizes[1:]) > 90, "no room for what an attribute is"
    assert page.evaluate(OUTSIDE, [".gs-inspector button", ".gs-inspector"]) == []
