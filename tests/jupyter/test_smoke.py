"""The widget in real servers, in short: JupyterLab by mouse and keys, Notebook 7 by keys alone."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.browser.hands import BUILD, IMPORTS, apply, at_keys, box, said
from tests.lab import OPENING, open_notebook
from tests.until import until

#: The sources of the cells.
_SOURCES = "() => window.jupyterapp.shell.currentWidget.context.model.toJSON().cells.map(cell => cell.source)"


def walk(page: Any, name: str) -> None:
    """Goes to a box of the pane that has the focus by arrow keys alone: at each box, the arrow used least there."""
    here, used = "() => document.activeElement.dataset.name", Counter[tuple[str, str]]()
    page.keyboard.press("Home")
    for _ in range(60):
        at = page.evaluate(here)
        if at == name:
            return
        arrow = min(("ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp"), key=lambda key: used[at, key])
        used[at, arrow] += 1
        page.keyboard.press(arrow)
    raise AssertionError(f"no arrow leads to {name}: {sorted(used)}")


def test_notebook_7_with_keys_alone(page: Any, notebook7: Any) -> None:
    cells = [IMPORTS + BUILD, "ed = gs.open(build())\ned", "'the last cell'"]
    notebook = open_notebook(page, notebook7, cells)
    page.locator(".gs-pane-source .gs-item[tabindex='0']").focus()
    for name, key in (("x", "i"), ("y", "o")):
        page.keyboard.press("/")
        page.keyboard.type(name)
        page.locator(".gs-hit").first.wait_for()
        page.keyboard.press("Enter")
        page.wait_for_function("name => document.activeElement.dataset.name === name", arg=name)
        page.keyboard.press(key)
    said(page, "Boundary: 1 in, 1 out")
    page.keyboard.press("c")
    box(page, "copy/y", "destination").wait_for()
    at_keys(page.locator(".gs-entered"))
    page.keyboard.press("Escape")  # from what feeds the copy, which is asked next, back to the picture
    page.wait_for_function("() => document.activeElement.dataset.name === 'y'")
    page.keyboard.press("Control+z")
    said(page, "undone: copy")
    page.keyboard.press("Control+Shift+Z")
    said(page, "redone: copy")

    # connect: Tab goes to the preview, and arrows from box to box
    passed = []
    while not page.evaluate("() => !!document.activeElement.closest('.gs-pane-destination .gs-item')"):
        assert len(passed) < 5, f"Tab does not go from the source to the preview, but to {passed}"
        page.keyboard.press("Tab")
        passed.append(page.evaluate("() => document.activeElement.outerHTML.slice(0, 100)"))
    walk(page, "other")
    page.keyboard.press("m")
    walk(page, "copy/net/mm")
    page.keyboard.press("m")
    page.locator(".gs-choice").first.wait_for()
    page.keyboard.press("Enter")
    said(page, "will feed input 0 of copy/net/mm")
    apply(page)
    assert notebook.ask("'copy/y' in ed.snapshot.index and len(ed.history) == 1")
    assert notebook.ask("ed.snapshot.input_names(ed.snapshot.index['copy/net/mm'])[0]") == "other:0"
    # the notebook has done nothing of its own with those keys
    assert page.locator(".jp-CodeCell:visible").count() == len(cells)
    assert page.locator(".jp-Dialog").count() == 0

    page.get_by_role("tab", name="Code").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Insert into a new cell").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("count => document.querySelectorAll('.jp-CodeCell').length === count", arg=len(cells) + 1)
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    saved = json.loads((notebook7.root / notebook.name).read_text())
    sources = ["".join(cell["source"]) for cell in saved["cells"]]
    assert sources == [*cells[:2], notebook.ask("ed.to_code()").strip(), cells[2]]
    data, view = (output["data"] for output in saved["cells"][1]["outputs"])
    assert "".join(data["text/html"]).startswith("<img ")
    assert "data:image/svg+xml;base64," in "".join(data["text/html"])
    assert "".join(data["image/svg+xml"]).startswith("<svg ")
    assert "".join(data["text/plain"]).startswith("graph: ")
    assert "application/vnd.jupyter.widget-view+json" in view
    notebook.close()


def test_jupyterlab_from_opening_to_a_page_that_is_loaded_again(page: Any, lab: Any) -> None:
    cells = [IMPORTS + BUILD, "ed = gs.open(build())\ned", "'the last cell'"]
    notebook = open_notebook(page, lab, cells)
    for name, key in (("x", "i"), ("y", "o")):
        box(page, name).click()
        page.keyboard.press(key)
    said(page, "Boundary: 1 in, 1 out")
    page.keyboard.press("c")
    box(page, "copy/y", "destination").wait_for()
    at_keys(page.locator(".gs-entered"))
    page.keyboard.press("Escape")
    apply(page)
    assert notebook.ask("'copy/y' in ed.snapshot.index")
    page.keyboard.press("Control+z")
    said(page, "undone:")
    box(page, "copy/").wait_for(state="detached")
    assert notebook.ask("'copy/y' in ed.orphans")
    page.keyboard.press("Control+Shift+Z")
    said(page, "redone:")
    box(page, "copy/").wait_for()
    assert notebook.ask("not ed.orphans")
    page.get_by_role("tab", name="Code").click()
    page.get_by_role("button", name="Insert into a new cell").click()
    code = notebook.ask("ed.to_code()").strip()
    assert until(lambda: page.evaluate(_SOURCES) == [*cells[:2], code, cells[2]])
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    assert until(lambda: "widget-view" in (lab.root / notebook.name).read_text())

    # the kernel goes on while the page is loaded again: the widget is there, and is connected to it
    page.goto("about:blank")
    page.errors.clear()
    page.goto(lab.page_of(notebook.name), wait_until="domcontentloaded")
    box(page, "copy/").wait_for(timeout=OPENING)
    box(page, "x").click()
    said(page, "1 op selected")
    assert notebook.ask("list(ed.selection.names)") == ["x"]
    notebook.close()
