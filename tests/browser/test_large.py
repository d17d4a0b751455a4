"""Large graphs: a picture that can be clicked; looking around never asks the kernel.

How long the picture takes is measured in benchmarks/bench_view.py.
"""

from __future__ import annotations

from typing import Any

import pytest

import graphsurgeon as gs
from tests.browser.hands import Traffic, painted, said, shot
from tests.tf2 import tf1
from tests.until import until
from tests.widget.page import WidgetPage

pytestmark = pytest.mark.deep


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


def huge() -> Any:
    """Returns an editor of 50,000 nodes in towers, blocks and layers, with a loss that reads them all."""
    graph_def = tf1.GraphDef()

    def node(name: str, op: str, *inputs: str) -> str:
        made = graph_def.node.add(name=name, op=op, input=inputs)
        made.attr["dtype" if op == "Placeholder" else "T"].type = 1
        return name

    x, ends = node("x", "Placeholder"), []
    for t, letter in enumerate("abcdefghij"):
        last = x
        for b in range(50):
            for i in range(100):
                kind = ("Neg", "Exp", "Tanh", "Abs", "Relu")[(i + i // 9 + t) % 5]
                last = node(f"tower_{letter}/block{b}/op{i}", kind, last)
        ends.append(last)
    total = graph_def.node.add(name="total", op="AddN", input=ends)
    total.attr["T"].type, total.attr["N"].i = 1, len(ends)
    return gs.open(graph_def, title="huge")


_RECT = """name => { const all = [...document.querySelectorAll('.gs-pane-source .gs-item')];
    const body = all.find(g => g.dataset.name === name).querySelector('.gs-body').getBoundingClientRect();
    return [body.x, body.y, body.width, body.height]; }"""
_TOGGLE = """name => {
    const all = [...document.querySelectorAll('.gs-pane-source .gs-item')];
    const item = all.find(g => g.dataset.name === name);
    const was = item.classList.contains('gs-box');
    (was ? item : item.querySelector('.gs-heading')).dispatchEvent(new MouseEvent('dblclick', {bubbles: true}));
    return was;
}"""
_IS_BOX = """([name, box]) => [...document.querySelectorAll('.gs-pane-source .gs-item')]
    .find(g => g.dataset.name === name)?.classList.contains('gs-box') === box"""


def test_fifty_thousand_nodes_are_opened_searched_and_cut(page: Any) -> None:
    frames: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(len(frame))))
    ed = huge()
    WidgetPage(page, ed.screen)
    page.locator(".gs-pane-source .gs-box").first.wait_for()
    assert len(ed) == 50_002
    assert 8 <= page.locator(".gs-pane-source .gs-box").count() <= 60

    # find and reveal by keys
    page.locator(".gs-pane-source .gs-item[tabindex='0']").focus()
    for query, name, key in (
        ("tower_d block17 op50", "tower_d/block17/op50", "i"),
        ("/tower_d\\/block17\\/op62$/", "tower_d/block17/op62", "o"),
    ):
        page.keyboard.press("/")
        page.keyboard.press("Control+a")
        page.keyboard.type(query)
        page.locator(".gs-hit", has_text=name.rpartition("/")[2]).first.wait_for()
        page.keyboard.press("Enter")
        page.wait_for_function("name => document.activeElement.dataset.name === name", arg=name)
        page.keyboard.press(key)
    said(page, "Boundary: 1 in, 1 out, 12 ops")
    shot(page, "fifty-thousand")

    # what is folded and unfolded is in sight, with its beginning: it is wider than the pane
    canvas = page.locator(".gs-pane-source .gs-canvas").bounding_box()
    for _ in range(2):
        was = page.evaluate(_TOGGLE, "tower_d/block17/")
        page.wait_for_function(_IS_BOX, arg=["tower_d/block17/", not was])
        painted(page)
        x, y, _, _ = page.evaluate(_RECT, "tower_d/block17/")
        assert 0 <= x - canvas["x"] < canvas["width"], (x, canvas)
        assert 0 <= y - canvas["y"] < canvas["height"], (y, canvas)
    assert max(frames) < 1_000_000
