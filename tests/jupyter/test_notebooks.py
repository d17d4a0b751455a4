"""The tutorials in a real JupyterLab: all cells run, each widget is painted, and answers to the mouse."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from tests.browser.hands import answered, shot
from tests.lab import open_file, open_notebook
from tests.needs import ROOT

pytestmark = pytest.mark.deep

CHOSEN = {"00": 1, "01": 2, "03": 2}
"""Notebook -> how many of its cells show a widget."""

_WIDGETS = """() => window.jupyterapp.shell.currentWidget.content.widgets.flatMap((cell, i) =>
    (cell.model.sharedModel.outputs ?? [])
        .some((o) => o.data && 'application/vnd.jupyter.widget-view+json' in o.data) ? [i] : [])"""
_SCROLL = "i => window.jupyterapp.shell.currentWidget.content.scrollToItem(i, 'start')"
# what a person could click: boxes that lie in the pane and under nothing else
_IN_SIGHT = """(boxes, kind) => boxes.filter(g => {
    const body = g.querySelector('.gs-body').getBoundingClientRect();
    const at = document.elementFromPoint(body.x + body.width / 2, body.y + body.height / 2);
    return g.classList.contains(kind) && at && g.contains(at);
}).map(g => g.dataset.name)"""


def seen(cell: Any, kind: str = "gs-box") -> list[str]:
    """Names of the boxes of a kind that can be clicked in the source pane of a cell's widget."""
    names: list[str] = cell.locator(".gs-pane-source .gs-box").evaluate_all(_IN_SIGHT, kind)
    return names


def named(cell: Any, name: str, what: str = ".gs-item") -> Any:
    """The box or open group of this name in the source pane of a cell's widget."""
    return cell.locator(f'.gs-pane-source {what}[data-name="{name}"]').first


@pytest.mark.parametrize("number", CHOSEN)
def test_the_widgets_of_a_tutorial(page: Any, lab: Any, number: str) -> None:
    (file,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
    shutil.copy(file, lab.root / file.name)
    shutil.copytree(file.parent / "images", lab.root / "images", dirs_exist_ok=True)
    opened = open_file(page, lab, file.name, timeout=240)
    page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    indexes = page.evaluate(_WIDGETS)
    assert len(indexes) == CHOSEN[number]
    for index in indexes:
        page.evaluate(_SCROLL, index)
        cell = page.locator(f".jp-Notebook .jp-Cell[data-windowed-list-index='{index}']")
        cell.locator(".gs-pane-source .gs-box").first.wait_for()
        cell.scroll_into_view_if_needed()
        cell.locator(".gs").scroll_into_view_if_needed()
        assert cell.locator(".gs-pane-source .gs-box").count() >= 5
        lines = cell.locator(".gs-pane-source .gs-line").evaluate_all("all => all.map(line => line.getAttribute('d'))")
        assert "".join(lines).count("M") >= 4
        cell.locator(".gs-pane-source .gs-canvas").click(position={"x": 4, "y": 4})
        click_and_unfold(page, cell)
        shot(page, f"notebook-{number}-{index}")
    assert not opened.ask(
        "[t.last_error and str(t.last_error) for t in [v for v in globals().values()"
        " if type(v).__name__ == 'GraphWidget'] if t.last_error and 'fault of' in str(t.last_error)]"
    )
    opened.close()


def click_and_unfold(page: Any, cell: Any) -> None:
    """Clicks a box and reads its name in the inspector; unfolds a folded scope."""
    cell.get_by_role("button", name="Fit to window").click()
    name = seen(cell)[0]
    named(cell, name).click()
    named(cell, name, ".gs-selected").wait_for()
    title = cell.locator(".gs-inspector h3")
    title.filter(has_text=name.rstrip("/").rpartition("/")[2]).wait_for()
    cell.locator(".gs-inspect-list").first.wait_for()
    folded = [name for name in seen(cell, "gs-scope") if not name.startswith("~")]
    if not folded:
        return
    named(cell, folded[-1]).dblclick()
    named(cell, folded[-1], ".gs-box").wait_for(state="detached")
    assert cell.locator(".gs-status-text").text_content().split()[1] == "boxes"


def test_the_clicks_that_tell_how_to_cut_a_keras_model_found_as_a_folder(page: Any, lab: Any) -> None:
    (file,) = (ROOT / "notebooks").glob("02_*.ipynb")
    sources = ["".join(cell["source"]) for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"]

    def only(text: str) -> str:
        (found,) = [source for source in sources if text in source]
        return found

    made = sources[: sources.index(only("ed = gs.open(model)"))]
    model = [source.partition("seen, kinds, _")[0] for source in made if "sharing" not in source]  # it need not learn
    opened = open_notebook(
        page, lab, [*model, "model.export('found', verbose=False)\nfound = gs.open('found')", "found"]
    )
    index = len(model) + 1
    page.evaluate(_SCROLL, index)
    cell = page.locator(f".jp-Notebook .jp-Cell[data-windowed-list-index='{index}']")
    named(cell, "pictures").wait_for()
    cell.locator(".gs").scroll_into_view_if_needed()
    cell.get_by_role("button", name="Fit to window").click()
    named(cell, "pictures").click()
    page.keyboard.press("i")
    named(cell, "~sorter_1/block_2/").dblclick()
    named(cell, "sorter_1/block_2_add_1/Add").click()
    page.keyboard.press("o")
    cell.locator(".gs-status-text", has_text="Boundary: 1 in, 1 out, 62 ops, 0 leaks").wait_for()
    answered(page)
    shot(page, "notebook-02-found")
    opened.run("part = gs.open(model).select(inputs='pictures:0', outputs='block_2_add')")
    opened.run("marked = found.screen.region.boundary")
    assert opened.ask("[str(marked.inputs), str(marked.outputs)]") == opened.ask(
        "[str(part.boundary.inputs), str(part.boundary.outputs)]"
    )
    opened.close()
