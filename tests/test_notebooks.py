"""nbval passes over a cell without stored outputs, so a cleared notebook would be green. Not here."""

from __future__ import annotations

import configparser
import re
import runpy
from typing import Any

import nbformat
import pytest

from tests.needs import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
SWITCHES = ("NBVAL_IGNORE_OUTPUT", "NBVAL_SKIP", "nbval-ignore-output", "nbval-skip", "NBVAL_RAISES")
WRITE = runpy.run_path(str(ROOT / "tools" / "write_references.py"))


def faults(notebook: Any) -> list[str]:
    """Returns what keeps nbval from comparing a notebook as strictly as it should."""
    cells = [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]
    said = WRITE["failed"](notebook)
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
            if output.output_type == "stream" and output.name == "stderr":
                said.append(f"cell {number} writes to stderr: {output.text[:80]!r}")
            if WIDGET_VIEW in data:
                said.append(f"cell {number} stores a widget view: make notebooks")
            if " object at 0x" in str(data.get("text/plain", "")):
                said.append(f"cell {number} prints an address")
            if "GraphWidget" in str(data) and "image/svg+xml" not in data:
                said.append(f"cell {number} shows a widget without its static picture")
    return said


def frame_faults(notebook: Any) -> list[str]:
    """Returns what the header of a notebook or its end lacks."""
    said, texts = [], [c.source for c in notebook.cells if c.cell_type == "markdown"]
    head = notebook.cells[0].source if notebook.cells[0].cell_type == "markdown" else ""
    first = head.splitlines()[:1]
    if not re.fullmatch(r"# \d\d · \S.*", "".join(first)):
        said.append("it does not begin with its number and title")
    places = [head.find(part) for part in ("![", "**Time:**", "**You need:**", "**You use:**")]
    if -1 in places or places != sorted(places):
        said.append("its header lacks a picture, the time, what it needs or what it uses, in this order")
    used = re.findall(r"`[\w.]+`", head.partition("**You use:**")[2].partition("\n")[0])
    if len(used) != 3:
        said.append(f"its header names {len(used)} methods, not three")
    if sum(text.count("**Next:**") for text in texts) != 1 or not re.search(r"^\*\*Next:\*\* .*\.\Z", texts[-1], re.M):
        said.append("it does not end with one Next")
    return said


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_notebook_begins_and_ends_as_all_do(path):
    assert frame_faults(nbformat.read(path, as_version=4)) == []


def test_notebooks_are_at_most_ten_and_each_leads_to_the_next():
    assert [path.name[:2] for path in NOTEBOOKS] == [f"{number:02}" for number in range(len(NOTEBOOKS))]
    assert len(NOTEBOOKS) <= 10
    for path, following in zip(NOTEBOOKS, [*NOTEBOOKS[1:], None], strict=True):
        last = nbformat.read(path, as_version=4).cells[-1].source.partition("**Next:**")[2]
        assert re.findall(r"\]\((\w+\.ipynb)\)", last) == ([following.name] if following else [])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_tf_compat_v1_is_used_where_the_subject_is_a_program_of_tf1(path):
    sources = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    used = any("compat.v1" in source for source in sources)
    assert used == (path.name[:2] in {"03", "05", "09"})  # `.meta` files, two of them, the copier of 2016


HEAD = "# 00 · A\n\nWhy.\n\n![b](images/b.png)\n\n**Time:** c. **You need:** d. **You use:** `e`, `f`, `g.h`."


@pytest.mark.parametrize(
    ("head", "end", "fault"),
    [
        (HEAD.removeprefix("# 00"), "i\n\n**Next:** j.", "begin with its number"),
        (HEAD.replace("![b]", "[b]"), "i\n\n**Next:** j.", "lacks a picture"),
        (HEAD.replace("**Time:** c. ", ""), "i\n\n**Next:** j.", "lacks a picture, the time"),
        (HEAD.replace("`f`, ", ""), "i\n\n**Next:** j.", "names 2 methods"),
        (HEAD, "i\n\nNext: j.", "end with one Next"),
        (HEAD, "i\n\n**Next:** j.\n\n**Next:** k.", "end with one Next"),
        (HEAD, "i\n\n**Next:** j.\n\nAnd more", "end with one Next"),
    ],
)
def test_frame_sees(head, end, fault):
    made = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_markdown_cell, (head, end))))
    assert any(fault in text for text in frame_faults(made))


def test_frame_passes_a_good_one():
    made = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_markdown_cell, (HEAD, "i\n\n**Next:** j."))))
    assert frame_faults(made) == []


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_notebook_is_stored_with_its_outputs(path):
    assert faults(nbformat.read(path, as_version=4)) == []


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_notebook_says_with_which_tensorflow_its_pictures_were_drawn(path):
    said = nbformat.read(path, as_version=4).metadata.get("tensorflow", "")
    assert re.fullmatch(r"\d+\.\d+", said), "make notebooks"


@pytest.mark.deep
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_its_first_to_its_last_cell_without_a_click(path, tmp_path):
    made = WRITE["run"](nbformat.read(path, as_version=4), tmp_path)  # in a new kernel; a cell that raises ends it
    assert WRITE["failed"](made) == []
    steps = [cell for cell in made.cells if any(tag.startswith("step-") for tag in cell.metadata.get("tags", []))]
    assert steps


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
        ([cell(outputs=[nbformat.v4.new_output("stream", text="equal\nFalse\n")])], "code cell 1 prints False"),
        ([cell(outputs=[nbformat.v4.new_output("execute_result", {"text/plain": "False"})])], "cell 1 prints False"),
        ([cell(outputs=[nbformat.v4.new_output("error", ename="ValueError", evalue="")])], "cell 1 ends in ValueError"),
    ],
)
def test_guard_sees(cells, fault):
    assert any(fault in text for text in faults(nbformat.v4.new_notebook(cells=cells)))


@pytest.mark.parametrize("source", ["print(1 == 2)", "1 == 2"])
def test_a_false_output_is_not_stored(source, tmp_path):
    path = tmp_path / "proof.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)]), path)
    before = path.read_text()
    with pytest.raises(SystemExit, match=r"proof\.ipynb is as it was: code cell 1 prints False: an assert would say"):
        WRITE["write"](path)
    assert path.read_text() == before


def test_live_views_are_not_stored_and_leave_no_empty_output():
    live, picture = ({WIDGET_VIEW: {"model_id": "1"}}, {"image/svg+xml": "<svg/>"})
    outputs = [nbformat.v4.new_output("display_data", data) for data in (picture, live)]
    printed = nbformat.v4.new_output("stream", text="2 ops")
    stored = WRITE["tidy"](nbformat.v4.new_notebook(cells=[cell(outputs=[*outputs, printed])]))
    assert stored.cells[0].outputs == [outputs[0], printed]


def test_guard_passes_a_good_notebook():
    assert faults(nbformat.v4.new_notebook(cells=[cell(), cell(count=2, outputs=[])])) == []
