"""Rules that no linter has: unused functions, machine paths, clocks in tests."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path

from graphsurgeon.screen.verbs import VERBS
from tests.needs import ROOT

PACKAGE = ROOT / "graphsurgeon"
# folders that exist on somebody's machine only; written so that this file does not match itself
MACHINE = re.compile(
    r"(?<![\w.])/(?:work|root|farm|home/\w+|Users/\w+|tmp/v|tmp/lab|tmp/bash_jobs)(?:/|\b(?=[\"'`\s]))"
)
TEXT = {
    ".py",
    ".md",
    ".toml",
    ".yml",
    ".yaml",
    ".cfg",
    ".sh",
    ".ts",
    ".js",
    ".mjs",
    ".css",
    ".json",
    ".ipynb",
    "",
}


def modules() -> list[Path]:
    """Returns the Python files of the package."""
    return sorted(p for p in PACKAGE.rglob("*.py") if "node_modules" not in p.parts)


def tracked() -> list[Path]:
    """Returns the text files that are, or would be, committed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        paths = [ROOT / name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):  # no checkout, or no git
        built = {".venv", "node_modules", "build", "dist", ".git"}
        paths = [p for p in ROOT.rglob("*") if not built & {*p.relative_to(ROOT).parts}]
    return [p for p in paths if p.is_file() and p.suffix in TEXT]


def public(tree: ast.Module) -> list[ast.FunctionDef | ast.ClassDef]:
    """Returns the functions and classes of a module that do not start with an underscore."""
    return [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name[0] != "_"]


def test_what_nobody_uses_is_not_kept():
    """An example in a docstring, or a test, keeps nothing alive: it is called here, by a person, or by the page."""
    trees = {path: ast.parse(path.read_text()) for path in modules()}
    used = set(re.findall(r"\w+", (ROOT / "tests" / "public_api.txt").read_text())) | set(VERBS)
    for node in (node for tree in trees.values() for node in ast.walk(tree)):
        if isinstance(node, ast.Name | ast.Attribute):
            used.add(node.id if isinstance(node, ast.Name) else node.attr)
    programs = ("__main__", "_child")  # their `main` is called by name
    kept = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path, tree in trees.items()
        for node in public(tree)
        if node.name not in used and not path.stem.endswith(programs)
    ]
    assert not kept, kept


def test_no_machine_path_is_committed():
    found = []
    for path in tracked():
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if MACHINE.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}")
    assert not found, "\n".join(found)


def test_the_path_check_sees_one():
    assert MACHINE.search("open('/" + "work/main/x.pb')")
    assert MACHINE.search('"/' + 'home/ann/x"')
    assert not MACHINE.search("https://example.org/home/ann/x, docs/home/ann/x, ./home/ann/x")


#: A test that waits for a time, or looks at a clock.
TIMES = re.compile(r"wait_for_timeout\(|\bsleep\((?!0\))|\b(?:perf_counter|monotonic|process_time)(?:_ns)?\(")


def test_tests_wait_for_conditions_and_look_at_no_clock():
    folder = ROOT / "tests"
    allowed = {
        folder / "until.py",
        folder / "test_house.py",
        folder / "tf" / "fuzzing.py",
        *(folder / "stress").iterdir(),
    }
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in sorted({*folder.rglob("*.py")} - allowed)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if TIMES.search(line)
    ]
    hint = "wait with tests/until.py, count with tests/cost.py, measure in benchmarks/"
    assert not found, "\n".join([hint, *found])


def test_the_clock_check_sees_one():
    for text in ("page.wait_for_timeout(60)", "time.sleep(0.5)", "sleep(1)", "time.perf_counter()", "monotonic_ns()"):
        assert TIMES.search(text), text
    assert not TIMES.search("time.sleep(0); until(lambda: done)")


def test_node_packages_come_from_the_public_registry():
    for lock in PACKAGE.glob("widget/frontend/package-lock.json"):
        packages = json.loads(lock.read_text()).get("packages", {})
        hosts = {p["resolved"].split("/")[2] for p in packages.values() if "://" in p.get("resolved", "")}
        assert hosts <= {"registry.npmjs.org"}, hosts
