"""The widget in a real JupyterLab and Notebook 7: a round trip, and keys that the notebook would like to have."""

from __future__ import annotations

import pytest

from tests.browser.hands import BUILD, IMPORTS, box
from tests.lab import open_notebook, set_theme
from tests.until import until

pytestmark = pytest.mark.deep

CELLS = [
    "from tests.widget.subject import plain_screen\nfrom graphsurgeon.ui.widget import GraphWidget\n"
    "screen = plain_screen(destination=None); w = GraphWidget(screen); w"
]


@pytest.fixture(params=["lab", "notebook7"], scope="module")
def server(request):
    return request.getfixturevalue(request.param)


def test_round_trip(page, server):
    opened = open_notebook(page, server, CELLS)
    page.wait_for_selector(".gs-box")
    page.locator('.gs-box[aria-label^="split"]').click()
    page.wait_for_selector(".gs-inspector h3")
    until(lambda: opened.ask("w.selected") == ["split"])  # what only looks is done beside the kernel
    for key in ("i", "ArrowDown", "ArrowLeft", "ArrowRight", "x", "d", "d", "0"):
        page.keyboard.press(key)
    page.wait_for_selector(".gs-chip-in")
    assert opened.ask("list(screen.state.marks.inputs)") == ["split:0"]
    # none of those keys cut, deleted, moved or restarted anything in the notebook
    assert page.locator(".jp-CodeCell:visible").count() == 1
    assert page.locator(".jp-Dialog").count() == 0
    page.locator('.gs-box[aria-label*="mixed/"]').dblclick()
    page.wait_for_selector('.gs-group[aria-label*="mixed/"]')
    opened.run("screen.select(['images'], 'set')")
    page.wait_for_selector('.gs-box.gs-selected[aria-label^="images"]')
    opened.close()


def test_keys_for_a_cell_do_nothing_to_the_widget_under_the_pointer(page, server):
    opened = open_notebook(page, server, [*CELLS, "runs = globals().get('runs', 0) + 1"])
    page.wait_for_selector(".gs-box")
    opened.run("heard = []; w.on_msg(lambda _widget, message, _buffers: heard.append(message['verb']))")
    opened.run("screen.mark_output('softmax2:0'); screen.copy('copy')")
    page.wait_for_selector(".gs-pane-destination .gs-box")
    cells = page.locator(".jp-CodeCell:visible")
    cells.nth(1).locator(".jp-InputPrompt").click()
    page.locator(".gs-pane-source .gs-box").first.hover()
    for key in ("Delete", "Control+z", "c", "Control+Enter"):
        page.keyboard.press(key)
    until(lambda: opened.ask("runs") == 2)
    assert page.locator(".gs-tab[data-tab=steps]").is_visible()
    page.keyboard.press("x")  # cuts the cell
    until(lambda: cells.count() == 1)
    assert opened.ask("heard") == []
    opened.close()


def test_the_theme_is_followed_live(page, lab):
    opened = open_notebook(page, lab, CELLS)
    page.wait_for_selector(".gs-box")

    def ground(color: str) -> None:  # the colors of a theme come some time after its name
        page.wait_for_function(
            "is => getComputedStyle(document.querySelector('.gs')).backgroundColor === is", arg=color
        )

    ground("rgb(255, 255, 255)")
    set_theme(page, "Dark")
    page.wait_for_selector(".gs.gs-dark")
    ground("rgb(17, 17, 17)")
    set_theme(page, "Light")
    opened.close()


def test_keys_and_menus_stay_in_the_widget_wherever_in_it_somebody_has_clicked(page, lab):
    opened = open_notebook(page, lab, [IMPORTS + BUILD, "gs.open(build())"])
    box(page, "x").click()
    for place in (".gs-title", ".gs-inspect-title", ".gs-status-text"):
        page.locator(place).first.click()
        page.keyboard.press("Control+a")
        page.keyboard.press("m")
        assert page.evaluate("() => getSelection().toString()") == ""
    assert page.locator(".jp-MarkdownCell").count() == 0
    page.keyboard.press("Escape")
    box(page, "x").click()
    for place in (".gs-outline", ".gs-status-text", ".gs-title"):
        page.locator(place).first.click(button="right")
    assert page.locator(".lm-Menu-item").count() == 0
    opened.close()
