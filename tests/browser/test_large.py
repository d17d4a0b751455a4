"""The largest real graph: a picture that can be clicked; looking around never asks the kernel.

How long the picture takes is measured in benchmarks/bench_view.py.
"""

from __future__ import annotations

from typing import Any

import graphsurgeon as gs
from tests.browser.hands import Traffic, painted, shot
from tests.until import until
from tests.widget.page import WidgetPage


def test_a_picture_to_click_and_silent_looking(page: Any, corpus: Any) -> None:
    traffic = Traffic(page)
    ed = gs.open(corpus.path("slim_resnet152_16tower_train"))
    WidgetPage(page, ed.screen)
    page.locator(".gs-box").first.click()
    page.locator(".gs-box.gs-selected").wait_for()
    page.locator(".gs-inspect-list").first.wait_for()
    assert 8 <= page.locator(".gs-box").count() <= 60
    assert ed.snapshot.size > 40_000
    shot(page, "large")

    traffic.settle()
    assert until(lambda: painted(page) or set(traffic.asked) == {"infer", "select", "details"})
    traffic.asked.clear()
    at = page.locator(".gs-pane-source .gs-root")
    seen = {at.get_attribute("transform")}
    area = page.locator(".gs-pane-source .gs-canvas").bounding_box()
    x, y = area["x"] + 12, area["y"] + area["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down(button="middle")
    for step in range(1, 21):
        page.mouse.move(x + 6 * step, y + 3 * step)
    page.mouse.up(button="middle")
    seen.add(at.get_attribute("transform"))
    page.keyboard.down("Control")
    for _ in range(10):
        page.mouse.wheel(0, -60)
    page.keyboard.up("Control")
    seen.add(at.get_attribute("transform"))
    page.locator(".gs-pane-source .gs-item[tabindex='0']").focus()
    for key in ["+", "-", "0", "f", "ArrowDown", "ArrowUp"]:
        page.keyboard.press(key)
    seen.add(at.get_attribute("transform"))
    assert len(seen) == 4, "the picture did not move"
    painted(page)
    # what is asked next is the first that the kernel hears
    page.locator(".gs-box").last.click()
    page.locator(".gs-box.gs-selected").last.wait_for()
    until(lambda: painted(page) or traffic.asked)
    assert traffic.asked[0] == "select", f"looking around asked the kernel: {traffic.asked}"
