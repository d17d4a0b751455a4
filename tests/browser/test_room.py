"""Nothing leaves the widget or hides in it: bars, legend and inspector in cells of all widths."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.browser.hands import apply, box, build, painted, shot
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


# what is too narrow for its text, and the text that the pointer shows
CUT = "e => [e.scrollWidth > e.clientWidth, e.title]"


# 846 and 1006 are what JupyterLab leaves beside its file browser where it is 1280 and 1440 wide
@pytest.mark.parametrize("width", [480, 700, 846, 1006, 1600])
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
    assert page.locator(".gs-title").evaluate(CUT) == [width == 480, "a_title_as_long_as_those_of_real_files.pbtxt"]
    assert page.locator(".gs-search input").evaluate("e => e.clientWidth") >= 100
    cut = page.locator(".gs-recipes span").evaluate(CUT)[0]
    assert not cut, "the word is there as a whole, or not at all"
    lows = page.locator(".gs-top-end > *").evaluate_all("all => all.map(e => e.getBoundingClientRect().bottom)")
    assert max(lows) - min(lows) < 5, "what wraps, wraps as a whole"


@pytest.mark.parametrize("width", [700, 900, 1600])
def test_without_a_plan_the_bottom_is_one_line(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width + 16, "height": 800})
    ed = gs.open(build())
    shown = WidgetPage(page, ed.screen)
    height = "() => document.querySelector('.gs-foot').offsetHeight"
    assert page.evaluate(height) < 45
    box(page, "x").click()
    shown.settle()
    assert page.evaluate(height) < 45, "a selection is in the bar at the selection"
    page.keyboard.press("i")
    shown.settle("mark_input")
    painted(page)
    assert page.evaluate(height) > 45
    page.keyboard.press("Delete")
    shown.settle("remove")
    painted(page)
    shot(page, f"bottom-{width}")
    for _ in range(2):
        page.keyboard.press("Control+z")
        shown.settle()
    painted(page)
    assert page.evaluate(height) < 45
    assert page.locator(".gs-doing .gs-primary").is_visible()


#: Where Apply is, and the picture.
PLACES = """() => [".gs-doing .gs-primary", ".gs-pane-source .gs-box .gs-body"]
  .map(at => document.querySelector(at).getBoundingClientRect()).map(r => [r.right, r.top])"""


@pytest.mark.parametrize("width", [846, 1006])
def test_marks_and_tabs_move_neither_the_picture_nor_the_buttons(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width + 16, "height": 800})
    ed = towers()
    ed.screen.set_depth(1)
    shown = WidgetPage(page, ed.screen)
    box(page, "tower/of_a").click()
    shown.settle()
    painted(page)
    before = page.evaluate(PLACES)
    for mark in "io":
        page.keyboard.press(mark)
        shown.settle("mark_input" if mark == "i" else "mark_output")
        painted(page)
        assert page.evaluate(PLACES) == before, mark
    page.get_by_role("button", name="Copy to scope").click()
    shown.settle("copy")
    painted(page)
    before = page.evaluate(PLACES)
    for tab in ("Steps", "New ops", "Code", "Boundary"):
        page.get_by_role("tab", name=tab).click()
        painted(page)
        shot(page, f"room-{width}-{tab}")
        assert page.evaluate(PLACES) == before, tab


def test_the_picture_keeps_half_of_the_width(page: Any) -> None:
    page.set_viewport_size({"width": 1400, "height": 800})
    WidgetPage(page, gs.open(build()).screen)
    share = "() => document.querySelector('.gs-panes').offsetWidth / document.querySelector('.gs').clientWidth"
    sides = ("Outline", "Inspector")
    for name in sides * 2:  # the user closes and opens both
        page.get_by_role("button", name=name, exact=True).click()
    for width, closed in ((1006, []), (700, ["Outline"]), (480, ["Outline", "Inspector"])):
        page.set_viewport_size({"width": width + 16, "height": 800})
        painted(page)
        pressed = {
            name: page.get_by_role("button", name=name, exact=True).get_attribute("aria-pressed") for name in sides
        }
        assert [name for name in sides if pressed[name] == "false"] == closed, width
        assert page.evaluate(share) >= 0.5, width
        for name in closed:
            page.get_by_role("button", name=name, exact=True).click()
            painted(page)
            shot(page, f"room-{width}-{name}")
            assert page.evaluate(share) >= 0.5, (width, name)


def chain() -> Any:
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [4], name="x")
        for i in range(16):
            x = tf.nn.relu(x, name=f"r{i}")
    return gs.open(graph)


def test_undo_and_redo_stay_in_their_places(page: Any) -> None:
    page.set_viewport_size({"width": 1400, "height": 800})
    shown = WidgetPage(page, chain().screen)
    box(page, "r1").click()
    shown.settle()
    places = "() => ['Undo', 'Redo'].map(of => document.querySelector(`.gs-doing [title^=${of}]`).offsetLeft)"
    before = page.evaluate(places)
    page.keyboard.press("Delete")
    shown.settle("remove")
    assert page.evaluate(places) == before, "with a plan"
    apply(page)
    page.get_by_role("button", name="Compare").wait_for()
    assert page.evaluate(places) == before, "with an applied plan"
    for way in ("undo", "redo"):
        page.locator(f".gs-doing [title^={way.capitalize()}]").click()
        shown.settle(way)
        painted(page)
        assert page.evaluate(places) == before, way


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
    page.wait_for_function("() => document.querySelectorAll('.gs-hit').length === 1")  # no longer those of "op"
    page.keyboard.press("Enter")
    page.locator(f".gs-selected[data-name='{call}/Relu']").wait_for()
    box(page, f"{call}/").focus()
    page.keyboard.press("Enter")
    box(page, call).wait_for()
    assert page.evaluate(focus) == "gs-canvas"


#: Boxes that lie below the map, and whether there is a map.
UNDER = """() => {
  const map = document.querySelector(".gs-map:not([hidden])"), m = map?.getBoundingClientRect();
  const c = document.querySelector(".gs-pane-source .gs-canvas").getBoundingClientRect();
  const over = r => Math.min(r.right, c.right) > m.left && Math.max(r.left, c.left) < m.right
    && Math.min(r.bottom, c.bottom) > m.top && Math.max(r.top, c.top) < m.bottom;
  const all = [...document.querySelectorAll(".gs-pane-source .gs-box .gs-body")].map(e => e.getBoundingClientRect());
  return [!!map, m ? all.filter(over).length : 0];
}"""


def test_the_map_covers_no_box(page: Any) -> None:
    page.set_viewport_size({"width": 1016, "height": 800})
    ed = towers()
    ed.screen.set_depth(1)
    WidgetPage(page, ed.screen)
    box(page, "tower/of_a").focus()
    for _ in range(6):
        page.keyboard.press("+")
    assert page.evaluate(UNDER) == [True, 0], "below the outline"
    page.get_by_role("button", name="Outline").click()
    painted(page)
    assert page.evaluate(UNDER)[1] == 0, "in a corner that is free, or nowhere"


#: What the widget takes of the window: its canvas and itself, from the top; and the scale of its picture.
ROOM = """() => {
  const [gs, canvas] = [".gs", ".gs-canvas"].map(at => document.querySelector(at).getBoundingClientRect());
  const texts = [...document.querySelectorAll(".gs-pane-source text")];
  return {
    canvas: canvas.height / innerHeight, width: gs.width / innerWidth, height: gs.height / innerHeight,
    scale: document.querySelector(".gs-pane-source .gs-root").getAttribute("transform").match(/scale.(.*)[)]/)[1],
    text: Math.min(...texts.map(text => parseInt(getComputedStyle(text).fontSize))),
  };
}"""


def test_the_widget_fills_the_window_and_keeps_the_height_that_was_chosen(page: Any) -> None:
    page.set_viewport_size({"width": 1900, "height": 1000})
    WidgetPage(page, towers().screen)
    painted(page)
    room = page.evaluate(ROOM)
    assert room["canvas"] >= 0.6
    page.locator(".gs-pane-source .gs-item").first.focus()
    page.keyboard.press("Shift+F")
    painted(page)
    full = page.evaluate(ROOM)
    assert (full["width"], full["height"]) == (1, 1)
    assert page.evaluate("() => document.elementFromPoint(4, 4).closest('.gs') !== null"), "nothing lies over it"
    page.keyboard.press("Escape")
    painted(page)
    assert page.evaluate(ROOM) == room

    # resized by hand, and so again in another view of the graph
    page.locator(".gs-grip").focus()
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    lower = page.evaluate(ROOM)["height"]
    assert lower < room["height"] - 0.1
    page.evaluate("() => { close(); again(host); }")
    painted(page)
    assert page.evaluate(ROOM)["height"] == pytest.approx(lower, abs=0.01)


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
