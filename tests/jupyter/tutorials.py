"""The steps that tutorials ask their readers to do by hand: done in a real JupyterLab, checked, and pictured.

A cell with the tag `step-NAME` begins with an `if`: it does the step in code if it was not done with the mouse. The
stored outputs are those of the code. Both ways must give the same result.
"""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from tests.browser.hands import answered, box, painted
from tests.lab import open_file
from tests.needs import ROOT

NOTEBOOKS = ROOT / "notebooks"
IMAGES = NOTEBOOKS / "images"

_RUN = """async (i) => {
    const panel = window.jupyterapp.shell.currentWidget;
    panel.content.activeCellIndex = i;
    panel.content.deselectAll();
    await window.jupyterapp.commands.execute('notebook:run-cell');
    const cell = panel.content.widgets[i];
    const printed = (o) => o.output_type === 'stream' && o.name === 'stdout' ? [o.text].flat().join('') : '';
    return (cell.model.sharedModel.outputs ?? [])
        .map((o) => o.output_type === 'error' ? o.ename + ': ' + o.evalue : printed(o)).join('');
}"""
_SCROLL = "i => window.jupyterapp.shell.currentWidget.content.scrollToItem(i, 'start')"


@dataclass
class Reader:
    """Somebody at the widget of a cell.

    Args:
        page: the Playwright page.
        cell: the cell.
    """

    page: Any
    cell: Any

    def click(self, name: str, pane: str = "source") -> None:
        """Clicks a box; what is open is clicked at its name."""
        self._of(name, pane).click()
        self.settle()

    def unfold(self, name: str, pane: str = "source") -> None:
        """Double clicks a box, or the name of one that is open."""
        self._of(name, pane).dblclick()
        self.settle()

    def _of(self, name: str, pane: str) -> Any:
        found = box(self.cell, name, pane)
        heading = found.locator(".gs-heading")
        return heading if heading.count() else found

    def press(self, key: str) -> None:
        """Presses a key where the keyboard is: in the picture."""
        self.page.keyboard.press(key)
        self.settle()

    def button(self, name: str) -> None:
        """Presses a button of the widget."""
        self.cell.locator(".gs").get_by_role("button", name=name, exact=True).first.click()
        self.settle()

    def tab(self, name: str) -> None:
        """Opens a tab of the plan; its name may have a count behind it."""
        self.cell.get_by_role("tab", name=name).click()
        self.settle()

    def choose(self, field: str, option: str) -> None:
        """Chooses an entry of a menu field."""
        self.cell.get_by_label(field, exact=True).select_option(option)
        self.settle()

    def fill(self, field: str, text: str) -> None:
        """Types a text into a field."""
        self.cell.get_by_label(field, exact=True).fill(text)

    def enter(self, field: str, text: str) -> None:
        """Types a text into a field, and Enter."""
        self.fill(field, text)
        self.press("Enter")

    def search(self, text: str) -> None:
        """Types a text into the search field, and clicks the first hit."""
        self.cell.get_by_role("combobox", name="Search ops").click()
        self.page.keyboard.type(text)
        self.settle()
        self.cell.locator(".gs-hit").first.click()
        self.settle()

    def mark(self, name: str, key: str) -> None:
        """Marks what a box gives: `i` as an input of the boundary, `o` as an output."""
        self.click(name)
        self.press(key)

    def copy(self, scope: str) -> None:
        """Plans a copy under a scope."""
        self.fill("Scope to copy to", scope)
        self.button("Copy to scope\u2026")

    def recipe(self, what: str, **given: str) -> None:
        """Does a recipe of the menu with these in its fields."""
        self.press("Shift+R")
        self.page.get_by_role("menu", name="Recipes").get_by_role("menuitem", name=what).click()
        dialog = self.page.get_by_role("dialog", name=what)
        for label, text in given.items():
            dialog.get_by_label(label).fill(text)
        dialog.locator(".gs-primary").click()
        self.settle()

    def settle(self) -> None:
        """Waits until the kernel has answered, and the page has drawn it."""
        answered(self.page)
        painted(self.page)


Steps = dict[str, Callable[[Reader], None]]


def _apply(reader: Reader) -> None:
    reader.button("Apply")
    asked = reader.page.get_by_role("alertdialog")
    if asked.count():
        asked.get_by_role("button", name="Apply").click()
        reader.settle()


def _marks_of_00(reader: Reader) -> None:
    reader.unfold("sorter_1/conv1_1/")
    reader.mark("images", "i")
    reader.mark("sorter_1/pool2_1/MaxPool2d", "o")


def _mark_of_01(reader: Reader) -> None:
    reader.mark("image", "i")
    reader.mark("classifier/features/Max", "o")


def _look_of_01(reader: Reader) -> None:
    reader.unfold("new_1/eye_1/StatefulPartitionedCall")
    reader.unfold("new_1/eye_1/StatefulPartitionedCall/classifier/")


def _marks_of_02(reader: Reader) -> None:
    reader.mark("pictures", "i")
    reader.unfold("~sorter_1/block_2/")
    reader.mark("sorter_1/block_2_add_1/Add", "o")


def _look_of_02(reader: Reader) -> None:
    reader.unfold("new_sorter_1/eye_1/")
    reader.unfold("new_sorter_1/eye_1/StatefulPartitionedCall")


def _serve_of_03(reader: Reader) -> None:
    reader.click("image")
    reader.recipe("Set the serving signature (new editor)", Outputs="scores=scores:0", Inputs="image=image:0")


def _save_of_03(reader: Reader) -> None:
    reader.button("Save")
    reader.page.keyboard.type("model")
    reader.page.locator(".gs-dialog").get_by_role("button", name="Save", exact=True).click()
    reader.settle()


def _apply_of_04(reader: Reader) -> None:
    reader.click("image")
    reader.recipe("Prepare for inference", Outputs="sorter_1/kinds_1/BiasAdd:0")
    _apply(reader)


def _join_of_05(reader: Reader) -> None:
    reader.button("Fit to window (f)")
    reader.mark("readings", "i")
    reader.mark("code/out", "o")
    reader.copy("enc")
    reader.button("Replace another tensor with it\u2026")
    reader.button("Fit to window (f)")
    reader.click("quantities", "destination")


def _apply_of_05(reader: Reader) -> None:
    _apply(reader)
    reader.button("Fit to window (f)")


def _run_of_06(reader: Reader) -> None:
    reader.button("Run")
    field = reader.page.get_by_role("dialog", name="Run the graph").get_by_label("topics:0")
    field.fill("texts")
    reader.press("Enter")
    reader.page.locator(".gs-held").wait_for()


def _copy_of_08(reader: Reader) -> None:
    reader.button("Fit to window (f)")
    for name, key in (("words", "i"), ("desks", "i"), ("Identity", "o")):
        reader.mark(name, key)
    reader.copy("customer")


def _cross_of_09(reader: Reader) -> None:
    for name, key in (("a", "i"), ("b", "i"), ("add", "o")):
        reader.mark(name, key)
    reader.copy("his")
    reader.enter("Tensor or value that feeds a:0", "a:0")
    reader.enter("Tensor or value that feeds b:0", "b:0")
    reader.button("Replace another tensor with it\u2026")
    reader.click("mul_1", "destination")


#: Notebook -> its steps, in their order.
TUTORIALS: dict[str, Steps] = {
    "00": {
        "unfold": lambda reader: reader.unfold("sorter_1/conv1_1/"),
        "mark": _marks_of_00,
        "preview": lambda reader: reader.button("Copy to scope\u2026"),
        "apply": _apply,
        "undo": lambda reader: reader.button("Undo (Ctrl+Z)"),
    },
    "01": {"mark": _mark_of_01, "look": _look_of_01},
    "02": {"mark": _marks_of_02, "look": _look_of_02},
    "03": {"serve": _serve_of_03, "save": _save_of_03},
    "04": {"apply": _apply_of_04},
    "05": {"join": _join_of_05, "apply": _apply_of_05},
    "06": {"run": _run_of_06},
    "07": {"search": lambda reader: reader.search("dtype:float16")},
    "08": {"copy": _copy_of_08, "apply": _apply},
    "09": {"cross": _cross_of_09, "apply": _apply},
}


#: The shortest notebook, which is followed in each run of the tests.
SHORTEST = "00"


def path_of(number: str) -> Path:
    """The file of a notebook."""
    (file,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
    return file


def condition(source: str) -> str:
    """Returns the condition of a step's cell: true if the step was not done with the mouse."""
    first = ast.parse(source).body[0]
    assert isinstance(first, ast.If), f"a step begins with `if`: {source}"
    assert "  # not done with the mouse" in source.partition("\n")[0]
    return ast.unparse(first.test)


def follow(page: Any, lab: Any, number: str, images: Path | None = None) -> None:
    """Goes through a notebook as a reader does: runs a cell, does a step by hand, checks what the next cell prints.

    It ends with the last step. What comes after it needs no hand, and is run with all notebooks.

    Args:
        page: the Playwright page.
        lab: the server.
        number: the notebook's.
        images: where the pictures that the notebook shows are kept, each of the widget after a step: `NUMBER_STEP.png`.
    """
    file, steps = path_of(number), TUTORIALS[number]
    text = file.read_text(encoding="utf-8")
    shutil.copy(file, lab.root / file.name)
    shutil.copytree(IMAGES, lab.root / IMAGES.name, dirs_exist_ok=True)
    opened = open_file(page, lab, file.name, run=False)
    page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    opened.run("import os; os.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'")
    shown, left = -1, list(steps)
    for index, cell in enumerate(nbformat.read(file, as_version=4).cells):
        if not left:
            break
        if cell.cell_type != "code":
            continue
        (step,) = [tag.partition("-")[2] for tag in cell.metadata.get("tags", []) if tag.startswith("step-")] or [""]
        if step:
            assert step == left.pop(0)
            left_to_do = f"bool({condition(cell.source)})"
            assert opened.ask(left_to_do), f"step {step} of {file.name} is done before it begins"
            name = f"{number}_{step}.png"
            _by_hand(page, shown, steps[step], images / name if images and f"images/{name}" in text else None)
            assert not opened.ask(left_to_do), f"step {step} of {file.name} is not done by its gestures"
        printed = page.evaluate(_RUN, index)
        assert printed == _text(cell), f"cell {index} of {file.name} prints {printed}"
        if any("image/svg+xml" in output.get("data", {}) for output in cell.outputs):
            shown = index
    assert not left, f"no cell of {file.name} has the tags of the steps {left}"
    opened.close()


def _by_hand(page: Any, index: int, gestures: Callable[[Reader], None], image: Path | None) -> None:
    """Does a step at the widget of a cell, and takes its picture."""
    page.evaluate(_SCROLL, index)
    cell = page.locator(f".jp-Notebook .jp-Cell[data-windowed-list-index='{index}']")
    cell.locator(".gs-pane-source .gs-box").first.wait_for()
    cell.locator(".gs").scroll_into_view_if_needed()
    gestures(Reader(page, cell))
    if image is not None:
        page.mouse.move(0, 0)
        painted(page)
        cell.locator(".gs").screenshot(path=str(image))


def _text(cell: Any) -> str:
    """What a cell prints, as it is stored."""
    return "".join(output.text for output in cell.outputs if output.output_type == "stream" and output.name == "stdout")
