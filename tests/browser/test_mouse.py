"""Drags with the mouse: frames, the picture itself, boxes to the other pane and onto an edge."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

import graphsurgeon as gs
from tests.browser.hands import answered, box, build, fit, painted, said, shot
from tests.widget.page import WidgetPage

#: The middle of the edge between two boxes, in the window.
MIDDLE = """([a, b]) => {
    const pane = document.querySelector(".gs-pane-source");
    const end = name => pane.querySelector(`[data-name=${JSON.stringify(name)}] .gs-body`).getBoundingClientRect();
    const [from, to] = [end(a), end(b)];
    const out = (low, at, high) => Math.max(low - at, 0, at - high);
    const off = ({ x, y }, r) => Math.hypot(out(r.left, x, r.right), out(r.top, y, r.bottom));
    const lines = [...pane.querySelectorAll(".gs-edge .gs-line")];
    const paths = lines.flatMap(line => line.getAttribute("d").split(/(?=M)/).map(d => [line, d])).map(([line, d]) => {
        const path = line.cloneNode();
        path.setAttribute("d", d);
        const at = part => path.getPointAtLength(path.getTotalLength() * part).matrixTransform(line.getScreenCTM());
        return { at, far: off(at(0), from) + off(at(1), to) };
    });
    const { x, y } = paths.sort((p, q) => p.far - q.far)[0].at(0.5);
    return [x, y];
}"""


def shown(page: Any) -> None:
    """Brings the whole widget into sight: the mouse reaches nothing else."""
    page.set_default_timeout(20_000)
    page.locator(".gs-status").scroll_into_view_if_needed()
    painted(page)


def middle(what: Any) -> tuple[float, float]:
    """The middle of something on the page."""
    at = what.bounding_box()
    return at["x"] + at["width"] / 2, at["y"] + at["height"] / 2


def test_a_drag_moves_the_picture_and_with_shift_selects(page: Any) -> None:
    ed = gs.open(build())
    WidgetPage(page, ed.screen)
    shown(page)
    fit(page)
    hint = page.locator(".gs-pane-source .gs-hint")
    hint.wait_for()
    shot(page, "hint")
    area = page.locator(".gs-pane-source .gs-canvas").bounding_box()
    left, top = area["x"] + 3, area["y"] + 3

    page.mouse.wheel(0, 40)  # nothing in the picture has the focus: the page scrolls
    painted(page)
    before = middle(box(page, "x"))
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(left + 40, top + 25, steps=4)
    page.mouse.up()
    painted(page)
    after = middle(box(page, "x"))
    assert [round(b - a) for a, b in zip(before, after, strict=True)] == [40, 25]
    assert not hint.is_visible()

    box(page, "x").click()
    answered(page)
    before = middle(box(page, "x"))
    page.mouse.wheel(0, 40)
    painted(page)
    assert round(before[1] - middle(box(page, "x"))[1]) == 40
    page.mouse.wheel(0, -40)

    fit(page)
    painted(page)
    where = {
        name: middle(box(page, name))
        for name in page.locator(".gs-pane-source .gs-layer-boxes .gs-box").evaluate_all(
            "found => found.map(e => e.dataset.name)"
        )
    }
    half = area["x"] + area["width"] / 2
    page.keyboard.down("Shift")
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(half, area["y"] + area["height"] - 3, steps=6)
    page.locator(".gs-loop").wait_for()
    shot(page, "frame")
    page.mouse.up()
    page.keyboard.up("Shift")
    answered(page)
    chosen = set(
        page.locator(".gs-pane-source .gs-box.gs-selected").evaluate_all("found => found.map(e => e.dataset.name)")
    )
    assert {name for name, (x, _) in where.items() if x < half} <= chosen < set(where)


def test_a_box_dragged_to_the_other_pane_is_copied_there(page: Any) -> None:
    home = tf.Graph()
    with home.as_default():
        tf.compat.v1.placeholder(tf.float32, [None, 2], name="camera")
    net, app = gs.open(build(), title="net"), gs.open(home, title="app")
    WidgetPage(page, app.view(net))
    box(page, "rest").wait_for()
    shown(page)
    page.mouse.move(*middle(box(page, "rest")))
    page.mouse.down()
    page.mouse.move(*middle(page.locator(".gs-pane-destination .gs-canvas")), steps=8)
    page.locator(".gs-pane-destination .gs-canvas.gs-target").wait_for()
    shot(page, "carry")
    page.mouse.up()
    said(page, "will be copied to copy/")
    box(page, "copy/rest", "destination").wait_for()
    shot(page, "carried")
    assert "copy/rest" in app.draft.effect.new_names
    assert page.locator(".gs-canvas.gs-target").count() == 0


def test_a_region_dragged_onto_an_edge_is_copied_there(page: Any) -> None:
    ed = gs.open(build())
    WidgetPage(page, ed.screen)
    shown(page)
    box(page, "x").click()
    fit(page)

    # the region, dragged onto an edge, stands on it as a copy
    ed.screen.set_boundary(["net/mm:0"], ["net/h:0"])
    box(page, "net/h").and_(page.locator(".gs-region")).wait_for()
    page.mouse.move(*middle(box(page, "net/h")))
    page.mouse.down()
    page.mouse.move(*page.evaluate(MIDDLE, ["net/mm", "net/h"]), steps=8)
    page.get_by_text("a copy of the region after net/mm:0").wait_for()
    shot(page, "region-on-edge")
    page.mouse.up()
    said(page, "a copy of net/h will follow net/mm:0")
    assert list(ed.draft.effect.new_names) == ["copy/net/h"]
    page.keyboard.press("Control+z")
    said(page, "undone: ")


def test_an_op_type_dragged_onto_an_edge_is_inserted_there(page: Any) -> None:
    ed = gs.open(build())
    WidgetPage(page, ed.screen)
    shown(page)
    fit(page)
    box(page, "x").click()
    page.get_by_role("button", name="Insert op…").click()
    page.get_by_role("combobox", name="Op type (one input)").fill("Tanh")
    page.mouse.move(*middle(page.get_by_role("option").filter(has=page.get_by_text("Tanh", exact=True))))
    page.mouse.down()
    page.mouse.move(*page.evaluate(MIDDLE, ["net/mm", "net/h"]), steps=8)
    page.get_by_text("Tanh after net/mm:0").wait_for()
    page.locator(".gs-edge.gs-chosen").first.wait_for()
    shot(page, "type-on-edge")
    page.mouse.up()
    said(page, "net/mm_tanh will read net/mm:0")
    assert page.get_by_role("dialog").count() == 0
    after = ed.draft.after()
    made = after.index["net/mm_tanh"]
    assert (after.types[made], after.input_names(made)) == ("Tanh", ["net/mm:0"])
    assert after.input_names(after.index["net/h"]) == ["net/mm_tanh:0"]


def test_a_drop_on_nothing_boundaries_nearby_and_a_paste_in_another_widget(page: Any) -> None:
    page.set_viewport_size({"width": 1500, "height": 1800})
    ed, other = gs.open(build()), gs.open(build(), title="other")
    WidgetPage(page, ed.screen)
    WidgetPage(page, other.screen, more=True)
    first, second = page.locator(".gs").nth(0), page.locator(".gs").nth(1)

    def of(widget: Any, name: str) -> Any:
        return widget.locator(f".gs-pane-source .gs-box[data-name='{name}']")

    of(second, "rest").wait_for()
    page.mouse.move(*middle(of(first, "other")), steps=4)
    page.mouse.move(*middle(first.locator(".gs-pane-source .gs-port-out").first), steps=4)
    page.mouse.down()
    area = first.locator(".gs-pane-source .gs-canvas").bounding_box()
    page.mouse.move(area["x"] + area["width"] - 60, area["y"] + area["height"] - 60, steps=6)
    page.mouse.up()
    page.locator(".gs-choice", has_text="net/mm").first.wait_for()  # all that could read it
    shot(page, "drop-on-nothing")
    page.keyboard.press("Escape")

    of(first, "net/h").click()
    answered(page)
    page.keyboard.press("k")
    page.locator(".gs-choice", has_text="x:0").hover()
    first.locator(".gs-pane-source .gs-out[data-name='net/h']").wait_for()
    shot(page, "boundary-nearby")
    page.keyboard.press("Escape")
    assert list(ed.screen.state.marks.outputs) == []

    of(first, "rest").click()
    answered(page)
    page.keyboard.press("Control+c")
    said(page, "1 op copied")
    of(second, "y").click()
    answered(page)
    page.keyboard.press("Control+v")
    answered(page)
    assert "copy/rest" in other.draft.effect.new_names
