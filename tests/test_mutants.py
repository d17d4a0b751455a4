"""The tool that measures the detection of faults: what it changes, and that a child sees the change."""

from __future__ import annotations

import ast
import importlib
import inspect
import runpy
import sys
from typing import Any

import pytest

from graphsurgeon import errors
from tests.needs import ROOT

pytest.importorskip("coverage")
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "mutants.py"))


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("a < b", "a <= b"),
        ("a is None", "a is not None"),
        ("a and b", "a or b"),
        ("a + b", "a - b"),
        ("x = True", "x = False"),
        ("x = 3", "x = 4"),
        ("a if b else c", "a if not b else c"),
        ("f(a)", "None"),
    ],
)
def test_a_node_is_changed(code, changed):
    tree = ast.parse(code)
    found = next(filter(None, map(TOOL["change_of"], ast.walk(tree))))
    found[1]()
    assert ast.unparse(ast.fix_missing_locations(tree)) == changed


@pytest.mark.skipif(sys.platform != "linux", reason="it forks")
def test_a_module_is_loaded_as_its_mutant():
    target = "graphsurgeon/errors.py"
    counted_at = inspect.getsourcelines(errors.counted)[1]
    mutant = next(m for m in TOOL["mutants_of"](target) if m.change == "None returned" and m.line > counted_at)

    def run() -> int:
        sys.meta_path.insert(0, TOOL["_Finder"](mutant))
        del sys.modules["graphsurgeon.errors"]
        return int(importlib.import_module("graphsurgeon.errors").counted(2, "ops") is None)

    assert TOOL["in_child"](run)[0] == 1
