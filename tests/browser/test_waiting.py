"""While a picture takes long the kernel answers, cells run, and the picture can be called off."""

from __future__ import annotations

from typing import Any

from tests.browser.hands import BUILD, IMPORTS, box, said, shot
from tests.lab import open_notebook
from tests.until import until

CELLS = [f"{IMPORTS}\n{BUILD}", "ed = gs.open(build(), title='small')\nview = ed.view()\nview"]
SLOW = """
import threading, time
import graphsurgeon.screen.pane as pane
from graphsurgeon.view.wasm import cancelled_error
quick, laid_out = pane.place, threading.Event()

def slow(scene, direction, cancelled):
    laid_out.set()
    while not cancelled():
        time.sleep(0)
    raise cancelled_error()

pane.place = slow
"""


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
