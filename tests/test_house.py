"""Rules that no linter has: unused functions, machine paths, clocks in tests, code that reads messages."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from graphsurgeon.ui.commands.specs import COMMAND_SPECS
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
    used = set(re.findall(r"\w+", (ROOT / "tests" / "public_api.txt").read_text())) | set(COMMAND_SPECS)
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


# -- code that reads messages ----------------------------------------------------------------------

#: Attributes and variables that hold the text of an error, a fault or a warning.
_MESSAGES = {"request", "problem", "suggestion", "message", "error_message", "warnings", "notes", "warning"}
_PARSES = {"startswith", "endswith", "partition", "rpartition", "split", "rsplit", "find", "rfind"}
_PARSES |= {"index", "count", "replace", "removeprefix", "removesuffix"}
_MATCHES = {"search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"}


class _MessageReads(ast.NodeVisitor):
    """Finds comparisons, containment, string methods and regular expressions on the text of messages."""

    def __init__(self) -> None:
        self.found: list[tuple[str, int, str]] = []
        self._place: list[str] = []
        self._errors: list[str] = []
        self._holds: list[set[str]] = [set()]

    def _is_message(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr in _MESSAGES
        if isinstance(node, ast.Name):
            return node.id in self._holds[-1] or node.id in _MESSAGES - {"notes", "warnings"}
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", "")
            if name == "str" and node.args:
                inner = node.args[0]
                return getattr(inner, "id", "") in {"error", *self._errors} or self._is_message(inner)
            if name == "getattr" and len(node.args) > 1:
                return isinstance(node.args[1], ast.Constant) and node.args[1].value in _MESSAGES
            if name == "error_text":
                return True
            return isinstance(node.func, ast.Attribute) and self._is_message(node.func.value)
        if isinstance(node, ast.IfExp):
            return self._is_message(node.body) or self._is_message(node.orelse)
        if isinstance(node, ast.JoinedStr):
            return any(isinstance(v, ast.FormattedValue) and self._is_message(v.value) for v in node.values)
        if isinstance(node, ast.BinOp):
            return self._is_message(node.left) or self._is_message(node.right)
        return isinstance(node, ast.Subscript) and self._is_message(node.value)

    def _note(self, node: ast.AST) -> None:
        self.found.append((".".join(self._place), node.lineno, ast.unparse(node)))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._place.append(node.name)
        self._holds.append(set())
        self.generic_visit(node)
        self._holds.pop()
        self._place.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._place.append(node.name)
        self.generic_visit(node)
        self._place.pop()

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._errors.append(node.name or "")
        self.generic_visit(node)
        self._errors.pop()

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        if self._is_message(node.value):
            self._holds[-1] |= {target.id for target in node.targets if isinstance(target, ast.Name)}

    def visit_For(self, node: ast.For) -> None:
        self._bind(node.target, node.iter)
        self.generic_visit(node)

    def _bind(self, target: ast.expr, values: ast.expr) -> None:
        if self._is_message(values) and isinstance(target, ast.Name):
            self._holds[-1].add(target.id)

    def _comprehension(self, node: Any) -> None:
        for part in node.generators:
            self._bind(part.target, part.iter)
        self.generic_visit(node)

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            equal = isinstance(op, ast.Eq | ast.NotEq) and not _is_empty(left) and not _is_empty(right)
            within = isinstance(op, ast.In | ast.NotIn) and self._is_message(right)
            if within or (equal and (self._is_message(left) or self._is_message(right))):
                self._note(node)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute):
            parses = node.func.attr in _PARSES and self._is_message(node.func.value)
            if parses or (node.func.attr in _MATCHES and any(map(self._is_message, node.args))):
                self._note(node)
        self.generic_visit(node)

    def visit_Match(self, node: ast.Match) -> None:
        if self._is_message(node.subject):
            self._note(node.subject)
        self.generic_visit(node)


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def message_reads(code: str) -> list[tuple[str, int, str]]:
    """Returns (function, line, expression) of the places where code reads the text of a message."""
    visitor = _MessageReads()
    visitor.visit(ast.parse(code))
    return visitor.found


#: The places that read a text of TensorFlow, Keras or protobuf, whose errors do not have the fact in another form.
_READS_OTHERS = {
    "tf/copy/append.py": {"_import_error"},
    "tf/edit/validation.py": {"Scratch._import_nodes"},
    "tf/open/layers.py": {"keras_model"},
    "tf/private/graphs.py": {"has_loaded"},
    "tf/run/errors.py": {"error_text", "failed_ops", "out_of_memory", "unfed_placeholder", "suggested_fix"},
    "tf/save/worker_main.py": {"_error_row"},
    "tf/values/checkpoint_reader.py": {"Checkpoint._read_tensor"},
    "tf/values/initialization.py": {"start", "_dependency_error"},
    "tf/values/assign_values.py": {"translate_errors", "fill_tables"},
    "tf/values/variables.py": {"errors_if_empty", "errors_if_closed"},
    "tf/protos.py": {"decode", "lacks_memory"},
    # It puts other names into a suggestion, and branches on nothing.
    "errors.py": {"SurgeryError.suggestion_with_names"},
}


def test_code_reads_no_message():
    """Errors, faults and warnings have a `kind` and `names`; their text is for people."""
    found = {
        (path.relative_to(PACKAGE).as_posix(), place): f"{path.relative_to(ROOT)}:{line}: {expression}"
        for path in modules()
        for place, line, expression in message_reads(path.read_text())
    }
    allowed = {(path, place) for path, places in _READS_OTHERS.items() for place in places}
    hint = "branch on error.kind, fault.kind, kind_of(warning), or on their names"
    assert not found.keys() - allowed, "\n".join([hint, *(found[key] for key in sorted(found.keys() - allowed))])
    assert not allowed - found.keys(), f"these read no text: {sorted(allowed - found.keys())}"


@pytest.mark.parametrize(
    "code",
    [
        "'needs a variable' in fault.problem",
        "error.request.startswith('copy(')",
        "request.startswith(('reroute(', 'insert('))",
        "error.suggestion != NOTHING_NEAR",
        "error.request == found.request",
        "error.problem.partition(' does not lead')[0]",
        "re.search('node (.*)', error.message)",
        "PATTERN.findall(str(error))",
        "f'{name!r}' in fault.problem",
        "[w for w in plan.effect.warnings if 'seed' in w]",
        "for w in done.notes:\n    w.startswith('leak')",
        "try: ...\nexcept ValueError as refusal:\n    'closed' in str(refusal)",
        "said = error_text(error)\n'closed' in said",
        "text = f'{error.problem}.'\ntext.endswith('gone.')",
        "match error.problem:\n    case 'gone': ...",
    ],
)
def test_the_check_of_message_reads_finds(code):
    assert message_reads(code)


@pytest.mark.parametrize(
    "code",
    [
        "error.kind is Kind.LEAK",
        "name in error.names",
        "'LEAK' in str(value)",
        "f'{error.problem}: {error.suggestion}'",
        "error.problem + others if error.suggestion else ''",
        "error.problem == ''",
        "line.startswith('x') and 'y' in names",
        "keep = error.suggestion[:1].lower() + error.suggestion[1:]",
    ],
)
def test_the_check_of_message_reads_passes(code):
    assert not message_reads(code)
