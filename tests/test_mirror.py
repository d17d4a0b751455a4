"""The tests stand where the modules do: each module of the package has its tests, by name or through a public door."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.needs import ROOT

PACKAGE, TESTS = ROOT / "graphsurgeon", ROOT / "tests"
PRIVATE = sorted((PACKAGE / "tf" / "private").glob("[!_]*.py"))
#: Modules that have no tests of their own name -> where they are tested, through what calls them.
DOORS = {
    "files": "tf/save/test_save.py",
    "functions": "tf/functions/test_graph_function.py",
    "graph/downstream": "plan/resolve/test_on_copies.py",
    "graph/functions": "graph/test_calls.py",
    "graph/input_pipeline": "test_connect.py",
    "graph/known_outputs": "plan/test_workbench.py",
    "graph/match/backtracking": "graph/match/test_match.py",
    "graph/match/conditions": "graph/match/test_match.py",
    "graph/match/pattern": "graph/match/test_match.py",
    "graph/opened": "tf/open/test_source.py",
    "graph/pairs": "graph/test_diff.py",
    "graph/provenance": "tf/copy/test_provenance.py",
    "graph/reports": "tf/values/test_restore.py",
    "graph/risks": "tf/test_risks.py",
    "graph/risky_ops": "tf/test_risky_ops.py",
    "graph/signatures": "tf/open/test_signature.py",
    "graph/variables": "tf/test_renaming.py",
    "graph_editor/faults": "graph_editor/test_util.py",
    "graph_editor/handlers": "graph_editor/test_transform.py",
    "graph_editor/info": "graph_editor/test_transform.py",
    "graph_editor/protocol": "graph_editor/test_transform.py",
    "open": "tf/open/test_source.py",
    "plan/arguments": "plan/test_plan.py",
    "plan/backend": "plan/test_plan.py",
    "plan/copied": "plan/resolve/test_copy.py",
    "plan/delta": "plan/resolve/test_resolve.py",
    "plan/fault": "plan/test_plan.py",
    "plan/kept_shapes": "tf/test_shapes.py",
    "plan/made": "tf/copy/test_append.py",
    "plan/inlined_calls": "tf/test_opening.py",
    "plan/menu": "recipes/test_table.py",
    "plan/policies": "tf/test_substitutes.py",
    "plan/preflight": "tf/test_preflight.py",
    "plan/record": "tf/copy/test_provenance.py",
    "plan/resolve/collapse": "tf/edit/test_bodies.py",
    "plan/resolve/condition": "tf/test_conditions.py",
    "plan/resolve/graft": "tf/edit/test_subgraphs.py",
    "plan/resolve/inline": "tf/functions/test_inline.py",
    "plan/resolve/moves": "tf/edit/test_subgraphs.py",
    "plan/resolve/outcome": "plan/resolve/test_resolve.py",
    "plan/resolve/rebuild": "test_history.py",
    "plan/resolve/replace": "tf/edit/test_subgraphs.py",
    "plan/resolve/replace_matches": "tf/edit/test_subgraphs.py",
    "plan/resolve/unroll": "tf/test_unrolled.py",
    "plan/source_code": "plan/test_code.py",
    "plan/step_text": "plan/test_plan.py",
    "plan/steps": "plan/resolve/test_resolve.py",
    "plan/tally": "plan/resolve/test_resolve.py",
    "plan_backend": "test_editor.py",
    "recipes/parts": "recipes/test_split.py",
    "recipes/subject": "recipes/test_strip.py",
    "replica/duplicate": "replica/test_replica.py",
    "replica/update": "replica/test_replica.py",
    "screen/acts": "screen/test_verbs.py",
    "screen/keys": "screen/test_verbs.py",
    "screen/stage": "screen/test_screen.py",
    "screen/state": "screen/test_screen.py",
    "tf/copy/node_defs": "tf/copy/test_append.py",
    "tf/edit/unrolled": "tf/test_unrolled.py",
    "tf/elements": "test_recursive_copy.py",
    "tf/functions/calls": "tf/functions/test_inline.py",
    "tf/open/flops": "screen/test_inspector.py",
    "tf/open/nodes": "tf/open/test_snapshot.py",
    "tf/run/devices": "replica/test_cluster.py",
    "tf/run/growth": "evolve/test_evolution.py",
    "tf/run/hooks": "replica/test_replica.py",
    "tf/run/trials": "evolve/test_evolution.py",
    "tf/save/export": "tf/save/test_save.py",
    "tf/save/saved_model": "tf/save/test_save.py",
    "tf/save/targets": "test_check.py",
    "tf/save/tfjs": "test_check.py",
    "tf/values/checkpoint_names": "tf/values/test_restore.py",
    "tf/values/file_values": "tf/values/test_sessions.py",
    "tf/values/givers": "tf/values/test_untrained.py",
    "tf/values/holders": "test_transfer.py",
    "tf/values/replica_values": "replica/test_replica.py",
    "written": "test_recover.py",
}
#: Tests that cross the modules of their room; those of the whole package stand in the folder of all tests.
CROSSING = {
    "graph_editor/test_bugs.py", "graph_editor/test_case.py", "graph_editor/test_contrib.py",
    "graph_editor/test_memory.py", "graph_editor/test_record.py", "graph_editor/test_training.py",
    "recipes/test_corpus.py", "replica/test_consistency.py",
    "screen/test_blocks.py", "view/test_hostile.py",
    "view/test_models.py", "widget/test_frontend.py", "widget/test_in_lab.py",
}  # fmt: skip


def says_types_only(path: Path) -> bool:
    """Returns whether no function of a module does anything: they say what others have."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    return bool(functions) and all(len(node.body) == 1 and isinstance(node.body[0], ast.Expr) for node in functions)


def modules() -> set[str]:
    """Returns the modules that have something to test; a package that does more than import is one by its name."""
    found = {path for path in PACKAGE.rglob("*.py") if "node_modules" not in path.parts and path.stem != "__init__"}
    found = {str(path.relative_to(PACKAGE).with_suffix("")) for path in found if not says_types_only(path)}
    return found | {"plan/resolve/resolve"}


MODULES = modules()


def own_tests(module: str) -> str:
    """Returns where the tests of a module stand, in the folder of all tests."""
    folder, _, name = module.rpartition("/")
    return str(Path(folder, f"test_{name.strip('_')}.py"))


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_is_tested(module):
    assert (TESTS / own_tests(module)).exists() != (module in DOORS), "by its name, or through a door, and not both"
    assert (TESTS / DOORS.get(module, own_tests(module))).exists()


def test_doors_lead_to_modules():
    assert set(DOORS) <= MODULES


def test_tests_of_a_room_are_of_its_modules():
    rooms = [folder for folder in TESTS.iterdir() if (PACKAGE / folder.name).is_dir()]
    found = {str(path.relative_to(TESTS)) for room in rooms for path in room.rglob("test_*.py")}
    crossing = CROSSING | {str(path.relative_to(TESTS)) for path in (TESTS / "tf").glob("test_*.py")}
    assert found - set(map(own_tests, MODULES)) - crossing == set()
    assert all((TESTS / name).exists() for name in CROSSING)


@pytest.mark.parametrize("path", PRIVATE, ids=lambda path: path.stem)
def test_each_name_of_what_is_private_in_tensorflow_is_tried(path):
    tree, test = ast.parse(path.read_text()), TESTS / own_tests(f"tf/private/{path.stem}")
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    used = set(re.findall(rf"\b{path.stem}\.(\w+)", test.read_text()))
    assert {name for name in names if not name.startswith("_")} <= used
    assert re.search(r"tried on TF 2\.16 to 2\.\d+", ast.get_docstring(tree))
