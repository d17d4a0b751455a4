"""Each public name of what is private in TensorFlow is tried by the tests of its module."""

from __future__ import annotations

import ast
import re

import pytest

from tests.needs import ROOT

MODULES = sorted((ROOT / "graphsurgeon" / "tf" / "private").glob("[!_]*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_each_name_is_tried(path):
    tree, test = ast.parse(path.read_text()), ROOT / "tests" / "tf" / "private" / f"test_{path.stem}.py"
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    used = set(re.findall(rf"\b{path.stem}\.(\w+)", test.read_text()))
    assert {name for name in names if not name.startswith("_")} <= used
    assert re.search(r"tried on TF 2\.16 to 2\.\d+", ast.get_docstring(tree))
