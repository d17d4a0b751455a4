"""Pictures in notebooks are compared by what they show; where TensorFlow is the one that drew them, by bytes too."""

from __future__ import annotations

import base64
import subprocess
import sys
from importlib.metadata import version

import nbformat
import pytest

from graphsurgeon.errors import counted
from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.layout import place
from graphsurgeon.view.scene import build
from graphsurgeon.view.svg import panes, to_svg
from graphsurgeon.view.tree import Tree
from tests.needs import ROOT
from tests.pictures import compared, meaning
from tests.view.graphs import network, towers

OPS = [("net/x", "Placeholder", []), ("net/y", "Neg", ["net/x"]), ("net/z", "Exp", ["net/y"]), ("w", "Abs", ["net/z"])]
BOUNDARY = {"inputs": [{"tensor": "net/y:0"}], "outputs": [{"tensor": "w:0"}], "boxes": {}}


def picture(ops=OPS, unfolded=("net/",), marks=None, direction="auto", **options):
    scene = build(Tree(Graph.from_ops(ops)), frozenset(unfolded), marks or {})
    return to_svg(place(scene, direction=direction).to_dict(), **options)


def test_places_do_not_count():
    down, across = picture(direction="TB"), picture(direction="LR")
    assert down != across
    assert meaning(down) == meaning(across)
    assert compared(down, exact=False) == compared(across, exact=False)
    assert compared(down, exact=True) != compared(across, exact=True)


@pytest.mark.parametrize(
    "other",
    [
        picture([*OPS[:3], ("w", "Relu", ["net/z"])]),
        picture([*OPS[:3], ("v", "Abs", ["net/z"])]),
        picture([*OPS[:3], ("w", "Abs", ["net/y"])]),
        picture([*OPS[:3], ("w", "Abs", ["net/z", "^net/x"])]),
        picture(OPS[:3]),
        picture(unfolded=()),
        picture(marks={3: "new"}),
        picture(marks={3: "changed"}),
        picture(marks={0: "new", 1: "new", 2: "new"}),
        picture(selected=["w"]),
        picture(boundary=BOUNDARY),
        picture(title="another"),
        panes([("before", picture()), ("after", picture())]),
    ],
    ids=[
        *("op-type", "name", "edge", "control-edge", "box", "fold", "new", "changed", "frame"),
        *("selected", "boundary", "title", "panes"),
    ],
)  # fmt: skip
def test_what_is_shown_counts(other):
    assert meaning(other) != meaning(picture())


def test_a_mark_is_that_of_its_box():
    moved = {**BOUNDARY, "inputs": [{"tensor": "net/z:0"}]}
    assert meaning(picture(boundary=BOUNDARY)) != meaning(picture(boundary=moved))
    assert "mark in 1 on net/y · Neg" in meaning(picture(boundary=BOUNDARY))


@pytest.mark.parametrize(("graph", "unfolded"), [(network(), {"densea/"}), (towers(), ())], ids=["network", "towers"])
@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_edges_lead_where_they_do(graph, unfolded, direction):
    placed = place(build(Tree(graph), frozenset(unfolded)), direction=direction).to_dict()
    helped = {box["id"]: ", ".join(counted(n, kind) for kind, n in box["hidden"].items()) for box in placed["boxes"]}
    named = {
        box["id"]: " · ".join([box["name"], box["subtitle"], *[f"with {helped[box['id']]}"] * bool(helped[box["id"]])])
        for box in placed["boxes"]
    }
    wanted = sorted(f"{named[e['from']]} -> {named[e['to']]}" for e in placed["edges"])
    lines = [line for line in meaning(to_svg(placed)) if line.startswith("edge ")]
    assert wanted
    assert sorted(line[5:].partition(": ")[0] for line in lines) == wanted


def test_the_text_and_the_style_after_a_picture_do_not_count():
    html = page(picture())
    assert compared(f"{html}<p>Run the cell.</p><style>p {{color: red}}</style>", exact=True) == compared(
        html, exact=True
    )
    assert compared(f"{html} and more", exact=True) != compared(html, exact=True)


def test_what_is_no_picture_is_left_as_it_is():
    for other in ("55 ops", "", None, {"a": 1}):
        assert compared(other, exact=True) is other


def page(svg):
    return f'<img alt="net" src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}">'


def notebook(stored, shown, tensorflow):
    """Returns a notebook with a picture that was stored, whose cell shows another one now."""
    cell = nbformat.v4.new_code_cell(f"from IPython.display import HTML\nHTML({page(shown)!r})", execution_count=1)
    data = {"text/html": page(stored), "text/plain": "<IPython.core.display.HTML object>"}
    cell.outputs = [nbformat.v4.new_output("execute_result", data, execution_count=1)]
    return nbformat.v4.new_notebook(cells=[cell], metadata={"tensorflow": tensorflow})


@pytest.mark.deep
def test_nbval_compares_so(tmp_path):
    here = version("tensorflow").rpartition(".")[0]
    down, across, other = picture(direction="TB"), picture(direction="LR"), picture(OPS[:3])
    made = {
        "same": notebook(down, down, here),
        "moved_by_another_tensorflow": notebook(down, across, "2.0"),
        "moved": notebook(down, across, here),
        "another_by_another_tensorflow": notebook(down, other, "2.0"),
    }
    for name, one in made.items():
        nbformat.write(one, tmp_path / f"{name}.ipynb")
    options = ["-q", "-c", "pyproject.toml", "-p", "conftest", "-p", "no:cacheprovider", "-rA"]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(("PASSED ", "FAILED "))]
    assert {line[1].rpartition("/")[2].partition(".")[0]: line[0] for line in lines} == {
        "same": "PASSED",
        "moved_by_another_tensorflow": "PASSED",
        "moved": "FAILED",
        "another_by_another_tensorflow": "FAILED",
    }, done.stdout + done.stderr
