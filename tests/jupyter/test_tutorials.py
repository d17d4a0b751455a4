"""What tutorials ask of their readers is done by mouse in a real JupyterLab, and gives what is stored."""

from __future__ import annotations

import os
import re
from typing import Any

import nbformat
import pytest

from tests.jupyter.tutorials import IMAGES, NOTEBOOKS, SHORTEST, TUTORIALS, follow, path_of


@pytest.mark.parametrize(
    "number", [number if number == SHORTEST else pytest.param(number, marks=pytest.mark.deep) for number in TUTORIALS]
)
def test_the_steps_of_a_tutorial_by_hand(page: Any, lab: Any, number: str) -> None:
    follow(page, lab, number, IMAGES if os.environ.get("GRAPHSURGEON_IMAGES") else None)


def test_all_pictures_of_the_tutorials_are_there_and_shown() -> None:
    shown = set()
    for file in NOTEBOOKS.glob("*.ipynb"):
        for cell in nbformat.read(file, as_version=4).cells:
            shown |= set(re.findall(r"\]\(images/([^)]+)\)", cell.source if cell.cell_type == "markdown" else ""))
    assert shown == {path.name for path in IMAGES.glob("*")}
    assert shown <= {f"{number}_{step}.png" for number, steps in TUTORIALS.items() for step in steps}


def test_each_step_by_hand_stands_in_the_table() -> None:
    for file in NOTEBOOKS.glob("*.ipynb"):
        cells = nbformat.read(file, as_version=4).cells
        tags = [tag.partition("-")[2] for c in cells for tag in c.metadata.get("tags", []) if tag.startswith("step-")]
        assert tags == list(TUTORIALS.get(file.name[:2], {})), file.name
        assert path_of(file.name[:2]) == file
