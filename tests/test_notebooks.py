"""nbval passes over a cell without stored outputs, so a cleared notebook would be green. Not here."""

from __future__ import annotations

import configparser
from typing import Any

import nbformat
import pytest

from tests.needs import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
SWITCHES = ("NBVAL_IGNORE_OUTPUT", "NBVAL_SKIP", "nbval-ignore-output", "nbval-skip", "NBVAL_RAISES")


def faults(notebook: Any) -> list[str]:
    """Returns what keeps nbval from comparing a notebook as strictly as it should."""
    cells = [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]
    said = []
    if [c.execution_count for c in cells] != list(range(1, len(cells) + 1)):
        said.append("not every cell was run in order: make notebooks")
    if not any(c.outputs for c in cells):
        said.append("saved without any output: make notebooks")
    if "widgets" in notebook.metadata:
        said.append("holds widget state; the static picture is enough")
    for number, cell in enumerate(cells, 1):
        tags = " ".join(cell.metadata.get("tags", []))
        if any(word in cell.source or word in tags for word in SWITCHES):
            said.append(f"cell {number} switches a check off")
        for output in cell.outputs:
            data = output.get("data", {})
            if output.output_type == "error":
                said.append(f"cell {number} ends in {output.ename}")
            if output.output_type == "stream" and output.name == "stderr":
                said.append(f"cell {number} writes to stderr: {output.text[:80]!r}")
            if WIDGET_VIEW in data:
                said.append(f"cell {number} stores a widget view: make notebooks")
            if " object at 0x" in str(data.get("text/plain", "")):
                said.append(f"cell {number} prints an address")
            if "GraphWidget" in str(data) and "image/svg+xml" not in data:
                said.append(f"cell {number} shows a widget without its static picture")
    return said


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_notebook_is_stored_with_its_outputs(path):
    assert faults(nbformat.read(path, as_version=4)) == []


def test_there_are_notebooks():
    assert NOTEBOOKS


def test_every_sanitising_rule_says_why():
    file = ROOT / "notebooks" / "sanitize.cfg"
    rules = configparser.ConfigParser(interpolation=None)
    rules.read(file)
    lines = file.read_text().splitlines()
    for rule in rules.sections():
        above = lines[lines.index(f"[{rule}]") - 1]
        assert above.startswith("#"), f"rule [{rule}] of sanitize.cfg has no reason above it"


def cell(source: str = "1", count: int | None = 1, outputs: list[Any] | None = None) -> Any:
    """Returns a code cell."""
    printed = nbformat.v4.new_output("stream", text="1\n")
    kept = [printed] if outputs is None else outputs
    return nbformat.v4.new_code_cell(source, execution_count=count, outputs=kept)


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        ([cell(count=None, outputs=[])], "not every cell was run in order"),
        ([cell(), cell(count=3)], "not every cell was run in order"),
        ([cell(outputs=[])], "saved without any output"),
        ([cell("# NBVAL_SKIP")], "cell 1 switches a check off"),
        (
            [cell(outputs=[nbformat.v4.new_output("stream", name="stderr", text="W")])],
            "cell 1 writes to stderr",
        ),
        ([cell(outputs=[nbformat.v4.new_output("display_data", {WIDGET_VIEW: {}})])], "stores a widget view"),
        (
            [cell(outputs=[nbformat.v4.new_output("display_data", {"text/plain": "<A object at 0x7f>"})])],
            "cell 1 prints an address",
        ),
    ],
)
def test_guard_sees(cells, fault):
    assert any(fault in text for text in faults(nbformat.v4.new_notebook(cells=cells)))


def test_guard_passes_a_good_notebook():
    assert faults(nbformat.v4.new_notebook(cells=[cell(), cell(count=2, outputs=[])])) == []
