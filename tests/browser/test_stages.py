"""Before, after and both: two pictures of one graph, by key and button, that stay aligned and move as one."""

from __future__ import annotations

from typing import Any

from tests.browser.hands import painted, shot
from tests.screen.screens import row_of_ops
from tests.widget.page import WidgetPage

WHERE = """(name) => [...document.querySelectorAll('.gs-pane')].map(pane => {
  const box = pane.querySelector(`[data-name='${name}']`);
  const frame = pane.querySelector('.gs-canvas').getBoundingClientRect();
  const r = box && box.getBoundingClientRect();
  return r && r.width ? [Math.round(r.left - frame.left), Math.round(r.top - frame.top)] : null;
})"""


def test_before_and_after_stay_aligned_and_move_as_one(page: Any) -> None:
    screen = row_of_ops()
    screen.connect("e:0", to="d")
    page.set_viewport_size({"width": 1500, "height": 900})
    shown = WidgetPage(page, screen)
    painted(page)
    stages = page.locator(".gs-pane-tabs button")
    assert stages.all_inner_texts() == ["Before", "After", "Both"]
    assert stages.nth(2).get_attribute("aria-pressed") == "true"
    for name in "ae":
        was, now = page.evaluate(WHERE, name)
        assert was == now, "what is in both stands at the same place, without anybody asking"
    stages.nth(2).click()
    before = page.evaluate(WHERE, "d")[0]
    shot(page, "stages-both")
    page.locator(".gs-pane-source .gs-canvas").hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    painted(page)
    now = page.evaluate(WHERE, "d")
    assert now[0] != before
    shot(page, "stages-zoomed")
    page.locator(".gs-pane-source [data-name='a']").click()
    page.keyboard.press("d")
    assert page.locator(".gs-pane-tabs [aria-pressed=true]").inner_text() == "Before"
    stood = page.evaluate(WHERE, "a")[0]
    page.keyboard.press("d")
    shot(page, "stages-after")
    assert page.evaluate(WHERE, "a") == [None, stood]
    shown.settle("set_plan_view")
    assert screen.state.plan_view == "after"


def test_a_fold_on_one_side_is_one_on_the_other_and_nothing_comes_apart(page: Any) -> None:
    screen = row_of_ops()
    screen.select(["in/"])
    screen.copy("twin")
    page.set_viewport_size({"width": 1500, "height": 900})
    subject = WidgetPage(page, screen)
    painted(page)
    shot(page, "stages-copy")
    left, right = ".gs-pane-source", ".gs-pane-destination"
    assert page.locator(f"{right} [data-name='twin/']").count() == 1
    page.locator(f"{right} [data-name='in/'] .gs-heading").dblclick(position={"x": 3, "y": 6})
    subject.settle("fold")
    painted(page)
    for pane in (left, right):
        assert page.locator(f"{pane} [data-name='in/b']").count() == 0
    shot(page, "stages-folded")
    for name in ("a", "d", "in/"):
        was, now = page.evaluate(WHERE, name)
        assert was == now
