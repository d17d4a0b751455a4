"""The tests stand where the modules do: each module of this room has its tests, by name or through a public door."""

from __future__ import annotations

import ast
import re

import pytest

from tests.needs import ROOT

ROOM, TESTS = ROOT / "graphsurgeon" / "tf", ROOT / "tests"
PRIVATE = sorted((ROOM / "private").glob("[!_]*.py"))
#: Modules that have no tests of their own name -> where they are tested, through what calls them.
DOORS = {
    "elements": "test_recursive_copy.py",
    "copy/node_defs": "tf/copy/test_append.py",
    "functions/calls": "tf/functions/test_inline.py",
    "open/nodes": "tf/open/test_snapshot.py",
    "run/devices": "replica/test_cluster.py",
    "run/growth": "evolve/test_evolution.py",
    "run/hooks": "replica/test_replica.py",
    "run/trials": "evolve/test_evolution.py",
    "save/export": "tf/save/test_save.py",
    "save/saved_model": "tf/save/test_save.py",
    "save/write": "tf/save/test_save.py",
    "values/givers": "tf/values/test_untrained.py",
    "values/holders": "test_transfer.py",
    "values/links": "replica/test_replica.py",
    "values/stored": "tf/values/test_sessions.py",
}
MODULES = {str(p.relative_to(ROOM).with_suffix("")) for p in ROOM.rglob("*.py") if p.stem != "__init__"}


def own_tests(module: str) -> str:
    """Returns where the tests of a module stand, in the folder of all tests."""
    folder, _, name = f"tf/{module}".rpartition("/")
    return f"{folder}/test_{name}.py"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_is_tested(module):
    assert (TESTS / own_tests(module)).exists() != (module in DOORS), "by its name, or through a door, and not both"
    assert (TESTS / DOORS.get(module, own_tests(module))).exists()


def test_doors_lead_to_modules():
    assert set(DOORS) <= MODULES


def test_tests_of_a_part_are_of_its_modules():
    found = {str(p.relative_to(TESTS)) for p in (TESTS / "tf").rglob("*/test_*.py")}
    assert found <= set(map(own_tests, MODULES)), "what crosses several modules stands in tests/tf itself"


@pytest.mark.parametrize("path", PRIVATE, ids=lambda path: path.stem)
def test_each_name_of_what_is_private_in_tensorflow_is_tried(path):
    tree, test = ast.parse(path.read_text()), TESTS / own_tests(f"private/{path.stem}")
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    used = set(re.findall(rf"\b{path.stem}\.(\w+)", test.read_text()))
    assert {name for name in names if not name.startswith("_")} <= used
    assert re.search(r"tried on TF 2\.16 to 2\.\d+", ast.get_docstring(tree))
