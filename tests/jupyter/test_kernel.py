"""A kernel that is busy, and what stays without one, or without the widget extension: never an empty cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.hands import BUILD, IMPORTS, box, said, shot
from tests.lab import OPENING, open_file, open_notebook
from tests.until import until

pytestmark = pytest.mark.deep

CELLS = [f"{IMPORTS}\n{BUILD}", "ed = gs.open(build(), title='small')\ned"]
#: The page of a JupyterLab in whose environment neither ipywidgets nor anywidget is installed.
WITHOUT_WIDGETS = """
const parse = JSON.parse;
JSON.parse = (...given) => {
    const value = parse(...given);
    if (value?.federated_extensions)
        value.federated_extensions = value.federated_extensions.filter((one) => !one.name.includes('widget'));
    return value;
};"""
#: Settings, Save Widget State Automatically.
KEEP_WIDGETS = "() => window.jupyterapp.commands.execute('@jupyter-widgets/jupyterlab-manager:saveWidgetState')"
RESTART = "() => window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.restart()"


def save(page: Any, file: Path, holds: str = "widget-view") -> None:
    """Saves the notebook, and waits until its file has a word in it."""
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    until(lambda: holds in file.read_text())


SLOW = """
import threading, time
import graphsurgeon.ui.pane as pane
from graphsurgeon.view.graphviz import cancelled_error
quick, laid_out = pane.place, threading.Event()

def slow(scene, *, direction, previous, cancelled):
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
    said(page, "it was cancelled. Draw it again.")
    shot(page, "called-off")
    folded = opened.ask("'net/' not in ed.screen.unfolded")
    opened.run("pane.place = quick")
    box(page, "net/").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => !/cancelled/.test(document.querySelector('.gs-status-text').textContent)")
    assert opened.ask("'net/' not in ed.screen.unfolded") is not folded
    opened.close()


def test_a_dead_kernel_leaves_the_picture_and_a_sentence(page: Any, lab: Any) -> None:
    opened = open_notebook(page, lab, CELLS)
    box(page, "x").click()
    said(page, "1 op selected")
    page.errors.clear()
    page.evaluate(RESTART)
    box(page, "y").click()
    # JupyterLab does not always tell its widgets of a restart: then the page notices by itself
    page.wait_for_function(
        """() => /The kernel of this graph has stopped|The kernel has not answered for 10 s/i
          .test(document.querySelector(".gs-status-text").textContent)"""
    )
    assert "the picture no longer changes" in page.locator(".gs-status-text").inner_text()
    assert page.locator(".gs-box").count() >= 4
    shot(page, "dead-kernel")
    # looking around goes on
    box(page, "y").focus()
    page.keyboard.press("f")
    # the cells run again answer again
    opened.client.wait_for_ready(timeout=240)
    opened.run_all()
    box(page, "x").click()
    said(page, "1 op selected")
    page.errors.clear()
    opened.close()


def test_a_kernel_that_does_not_answer_is_said_to(page: Any, lab: Any) -> None:
    opened = open_notebook(page, lab, CELLS)
    box(page, "x").wait_for()
    page.errors.clear()
    lab.api(f"kernels/{opened.kernel}/restart", "POST")  # behind the notebook's back: nobody tells the page
    box(page, "x").click()
    said(page, "The kernel has not answered for 10 s: it is busy or has stopped. The picture does not change.")
    assert page.locator(".gs-box.gs-selected").count() == 1
    page.errors.clear()
    opened.close()


@pytest.mark.parametrize("kind", ["lab", "notebook7"])
def test_a_reopened_notebook_shows_the_picture(page: Any, kind: str, request: Any) -> None:
    server = request.getfixturevalue(kind)
    opened = open_notebook(page, server, CELLS, name="reopened.ipynb")
    picture = page.locator(".jp-OutputArea-output img[alt*='ops']")
    box(page, "x").wait_for()
    assert not picture.is_visible()
    save(page, server.root / "reopened.ipynb")
    opened.close(wait=True)
    again = open_file(page, server, "reopened.ipynb", run=False)
    error = page.get_by_text("Error displaying widget")
    error.wait_for(state="attached")
    shot(page, f"reopened-{kind}")
    assert picture.count() == 1
    assert picture.is_visible()
    assert page.get_by_text("Run the cell in JupyterLab").is_visible()
    assert not error.is_visible()
    page.errors.clear()  # the widget manager logs that the model is not found
    again.run_all()
    box(page, "x").wait_for()
    assert not picture.is_visible()
    again.close()


def test_a_received_notebook_shows_the_picture(page: Any, lab: Any) -> None:
    opened = open_notebook(page, lab, CELLS, name="sent.ipynb")
    box(page, "x").wait_for()
    file = lab.root / "sent.ipynb"
    save(page, file)
    opened.close()
    # a copy that this machine has not signed, as it comes by mail or from a repository
    (lab.root / "received.ipynb").write_text(file.read_text().replace("build", "make"))
    received = open_file(page, lab, "received.ipynb", run=False)
    picture = page.locator(".jp-OutputArea-output img[alt*='ops']")
    picture.wait_for()
    until(lambda: picture.evaluate("image => image.complete && image.getBoundingClientRect().width > 50"))
    page.get_by_text("Run the cell in JupyterLab").wait_for()
    shot(page, "received")
    assert picture.count() == 1
    page.errors[:] = [one for one in page.errors if " 404" not in one]  # JupyterLab looks for the kernel that has ended
    received.close()


def test_a_jupyterlab_without_the_widget_extension_shows_the_picture_and_what_is_missing(
    fresh_page: Any, lab: Any
) -> None:
    page = fresh_page
    page.add_init_script(WITHOUT_WIDGETS)
    opened = open_notebook(page, lab, CELLS)
    picture = page.locator(".jp-OutputArea-output img[alt*='ops']")
    picture.wait_for()
    until(lambda: picture.evaluate("image => image.complete && image.getBoundingClientRect().width > 50"))
    page.get_by_text("with the package anywidget installed").wait_for()
    shot(page, "without-extension")
    assert page.locator(".gs").count() == 0
    page.errors.clear()  # JupyterLab's own: nobody answers the kernel's comm
    opened.close()


def test_a_notebook_saved_with_its_widgets_is_drawn_again_without_running_it(page: Any, lab: Any) -> None:
    opened = open_notebook(page, lab, CELLS, name="kept.ipynb")
    box(page, "x").wait_for()
    page.evaluate(KEEP_WIDGETS)
    save(page, lab.root / "kept.ipynb", "widget-state")
    page.evaluate(KEEP_WIDGETS)  # the menu item switches it off again
    opened.close(wait=True)
    page.errors.clear()
    page.goto(lab.page_of("kept.ipynb"))
    page.wait_for_function("() => window.jupyterapp?.restored", timeout=OPENING)
    box(page, "net/").wait_for(timeout=OPENING)
    assert page.locator(".gs-box").count() >= 4
    box(page, "x").click()
    page.wait_for_function(
        "() => /picture does not change/.test(document.querySelector('.gs-status-text').textContent)"
    )
    shot(page, "kept")
    page.goto("about:blank")
    page.errors.clear()


def test_plan_and_marks_survive_reloading_and_a_stopped_kernel_leaves_the_code(page: Any, lab: Any) -> None:
    page.set_default_timeout(30_000)
    opened = open_notebook(page, lab, CELLS, name="again.ipynb")
    for name, key in (("x", "i"), ("y", "o")):
        box(page, name).click()
        page.keyboard.press(key)
    page.keyboard.press("c")
    said(page, "will be copied to copy/")
    save(page, lab.root / "again.ipynb")

    # the page is loaded again: all is as it was
    page.goto("about:blank")
    page.errors.clear()
    page.goto(lab.page_of("again.ipynb"), wait_until="domcontentloaded")
    box(page, "copy/y", "destination").wait_for(timeout=OPENING)
    assert page.locator(".gs-tag-in").inner_text() == "▷ 1 in"
    # the kernel stops: the plan is shown as code
    page.errors.clear()
    page.evaluate(RESTART)
    box(page, "y").click()  # JupyterLab does not always tell its widgets of a restart
    page.get_by_role("tab", name="Code", selected=True).wait_for()
    assert ".copy(" in page.locator(".gs-code pre").inner_text()
    page.get_by_text("The kernel stopped.").wait_for()
    shot(page, "stopped")
    page.goto("about:blank")
    page.errors.clear()
    opened.client.stop_channels()
