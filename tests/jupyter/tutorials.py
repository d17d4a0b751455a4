"""The steps that tutorials ask their readers to do by hand: done in a real JupyterLab, checked, and pictured.

A cell with the tag `step-NAME` shows the result of a step. Its first line shows whether the step was done by hand. The
stored outputs are those of a step that was not: the cell did it by code. Both ways must give the same result.
"""

from __future__ import annotations

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


def _marks_of_00(reader: Reader) -> None:
    reader.unfold("features/conv1/")
    reader.mark("images", "i")
    reader.mark("features/pool2", "o")


def _marks_of_01(reader: Reader) -> None:
    reader.mark("images", "i")
    reader.mark("features/flat", "o")


def _leak_of_01(reader: Reader) -> None:
    reader.tab("Boundary")
    reader.button("Add as input rate:0")


def _preview_of_01(reader: Reader) -> None:
    reader.copy("encoder")
    reader.enter("Tensor or value that feeds images:0", "photos:0")
    reader.enter("Tensor or value that feeds rate:0", "0.0")
    reader.button("Replace another tensor with it\u2026")
    reader.click("finder/stand_in", "destination")


def _apply(reader: Reader) -> None:
    reader.button("Apply")
    asked = reader.page.get_by_role("alertdialog")
    if asked.count():
        asked.get_by_role("button", name="Apply").click()
        reader.settle()


def _copy_of_02(reader: Reader) -> None:
    reader.mark("loss", "o")
    reader.copy("CopiedOps")


def _connect_of_07(reader: Reader) -> None:
    reader.unfold("first/")
    for name in ("other", "first/product"):
        reader.click(name)
        reader.press("m")
    reader.page.locator(".gs-choice").first.click()
    reader.settle()


def _remove_of_06(reader: Reader) -> None:
    reader.search("layer0/mul_3")
    reader.click("layer0/mul_3")
    reader.press("Delete")


def _copy_of_03(reader: Reader) -> None:
    reader.mark("words", "i")
    reader.unfold("net/head/")
    reader.mark("net/head/logits", "o")
    reader.copy("customer")
    reader.enter("Tensor or value that feeds words:0", "their_words:0")


def _variables_of_03(reader: Reader) -> None:
    reader.tab("Variables")
    reader.choose("Policy of net/vectors", "share")


def _copy_of_04(reader: Reader) -> None:
    for name, key in (("outside", "i"), ("evening", "i"), ("night/morning", "o"), ("night/burnt", "o")):
        reader.mark(name, key)
    reader.copy("north")


def _copy_of_15(reader: Reader) -> None:
    reader.mark("rows", "i")
    reader.mark("head/logits", "o")
    reader.copy("model")
    reader.enter("Tensor or value that feeds rows:0", "points:0")


def _recompute_of_14(reader: Reader) -> None:
    reader.click("loss")
    reader.recipe("Recompute activations to save memory", Loss="loss:0")


def _marks_of_05(reader: Reader) -> None:
    reader.mark("pictures", "i")
    reader.unfold("~sorter_1/block_3/")
    reader.mark("sorter_1/block_3_add_1/Add", "o")


def _join_of_08(reader: Reader) -> None:
    reader.mark("readings", "i")
    reader.mark("code/out", "o")
    reader.copy("enc")
    reader.button("Replace another tensor with it\u2026")
    reader.button("Fit to window (f)")
    reader.click("quantities", "destination")


def _copy_of_10(reader: Reader) -> None:
    reader.mark("points", "i")
    reader.unfold("second/")
    reader.mark("second/out", "o")
    reader.copy("body")
    reader.enter("Tensor or value that feeds points:0", "points:0")


def _cross_of_11(reader: Reader) -> None:
    for name, key in (("a", "i"), ("b", "i"), ("add", "o")):
        reader.mark(name, key)
    reader.copy("his")
    reader.enter("Tensor or value that feeds a:0", "a:0")
    reader.enter("Tensor or value that feeds b:0", "b:0")
    reader.button("Replace another tensor with it\u2026")
    reader.click("mul_1", "destination")


def _serve_of_16(reader: Reader) -> None:
    reader.click("image")
    reader.recipe("Set the serving signature (new editor)", Outputs="scores=scores:0", Inputs="image=image:0")


def _mark_of_17(reader: Reader) -> None:
    reader.mark("image", "i")
    reader.mark("features", "o")


def _run_of_13(reader: Reader) -> None:
    reader.button("Run")
    field = reader.page.get_by_role("dialog", name="Run the graph").get_by_label("topics:0")
    field.fill("texts")
    reader.press("Enter")
    reader.page.locator(".gs-held").wait_for()


def _marks_of_09(reader: Reader) -> None:
    reader.mark("flat", "i")
    reader.mark("model/price", "o")


def _marks_of_18(reader: Reader) -> None:
    reader.mark("cell", "i")
    reader.unfold("network/")
    reader.mark("network/q", "o")


#: Notebook -> its steps, in their order.
TUTORIALS: dict[str, Steps] = {
    "00": {
        "unfold": lambda reader: reader.unfold("features/conv1/"),
        "mark": _marks_of_00,
        "preview": lambda reader: reader.button("Copy to scope\u2026"),
        "apply": _apply,
        "undo": lambda reader: reader.button("Undo (Ctrl+Z)"),
    },
    "01": {
        "mark": _marks_of_01,
        "leak": _leak_of_01,
        "preview": _preview_of_01,
        "apply": _apply,
    },
    "02": {"copy": _copy_of_02},
    "03": {"copy": _copy_of_03, "variables": _variables_of_03},
    "04": {"copy": _copy_of_04},
    "05": {"mark": _marks_of_05},
    "06": {"remove": _remove_of_06},
    "07": {"connect": _connect_of_07},
    "08": {"join": _join_of_08, "apply": _apply},
    "09": {"mark": _marks_of_09},
    "10": {"copy": _copy_of_10},
    "11": {"cross": _cross_of_11},
    "12": {"search": lambda reader: reader.search("dtype:float16")},
    "13": {"run": _run_of_13},
    "14": {"recompute": _recompute_of_14},
    "15": {"copy": _copy_of_15},
    "16": {"serve": _serve_of_16},
    "17": {"mark": _mark_of_17},
    "18": {"mark": _marks_of_18},
}


#: The notebook with no training, which is followed in each run of the tests.
SHORTEST = "00"


def path_of(number: str) -> Path:
    """The file of a notebook."""
    (file,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
    return file


def follow(page: Any, lab: Any, number: str, images: Path | None = None) -> None:
    """Goes through a notebook as a reader does: runs a cell, does a step by hand, checks what the next cell prints.

    It ends with the last step. What comes after it needs no hand, and is run with all notebooks.

    Args:
        page: the Playwright page.
        lab: the server.
        number: the notebook's.
        images: where the widget's picture after each step is kept, as `NUMBER_STEP.png`.
    """
    file, steps = path_of(number), TUTORIALS[number]
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
            _by_hand(page, shown, steps[step], images and images / f"{number}_{step}.png")
        said, stored = page.evaluate(_RUN, index), _text(cell)
        if step:
            first, _, rest = stored.partition("\n")
            assert first.startswith("Not done by hand, so this cell does it: ")
            stored = f"Done by hand.\n{rest}"
        assert said == stored, f"cell {index} of {file.name} prints {said}"
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
