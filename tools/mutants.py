"""Measures how many small faults the tests find: python tools/mutants.py [--number 152] [--seed 0] [--only TEXT].

Takes a seeded sample of mutants (a comparison turned round, a constant changed, a call removed, ...) of the modules in
TARGETS. Each mutant is judged by the tests of its package that execute its line: first those of the quick tier, then
those of the deep one. Prints each mutant that no test finds, and the score of both tiers. Works on Linux: it forks.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import os
import random
import resource
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import coverage
import pytest

ROOT = Path(__file__).resolve().parent.parent
#: The modules that are mutated -> the tests that judge them.
TARGETS = {
    "graphsurgeon/graph/selection.py": ["tests/graph/test_selection.py", "tests/graph/test_boundary.py", "tests/plan"],
    "graphsurgeon/plan/steps": ["tests/plan", "tests/tf/edit", "tests/test_edit_properties.py"],
    "graphsurgeon/tf/copy": ["tests/tf/copy"],
    "graphsurgeon/ui": ["tests/screen"],
}
#: Seconds of processor time for the tests of one mutant; a mutant that needs more counts as found.
LIMIT = 200
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


class Mutant(NamedTuple):
    """One change of one node; the node is given by its number in the order of `ast.walk`."""

    file: str
    line: int
    node: int
    change: str


def change_of(node: ast.AST) -> tuple[str, Callable[[], None]] | None:
    """Returns how a node can be changed, as text and as a function that does it; None if it cannot."""
    about: Any = node
    if isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp):
        old = type(about.ops[0] if isinstance(node, ast.Compare) else about.op)
        if old not in SWAPS:
            return None
        new = SWAPS[old]()
        field, value = ("ops", [new, *about.ops[1:]]) if isinstance(node, ast.Compare) else ("op", new)
        return f"{old.__name__} becomes {type(new).__name__}", lambda: setattr(node, field, value)
    if isinstance(node, ast.If | ast.IfExp):
        return "condition negated", lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), about.test))
    if isinstance(node, ast.Constant) and type(node.value) in (bool, int):
        value = not node.value if isinstance(node.value, bool) else about.value + 1
        return f"{node.value} becomes {value}", lambda: setattr(node, "value", value)
    if isinstance(node, ast.Return) and node.value and not isinstance(node.value, ast.Constant):
        return "None returned", lambda: setattr(node, "value", ast.Constant(None))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return "call removed", lambda: setattr(node, "value", ast.Constant(None))
    return None


def mutants_of(target: str) -> list[Mutant]:
    """Returns all mutants of a module or a package."""
    path = ROOT / target
    return [
        Mutant(str(file.relative_to(ROOT)), about.lineno, number, found[0])
        for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))
        for number, about in enumerate(ast.walk(ast.parse(file.read_text())))
        if (found := change_of(about)) and not isinstance(about, ast.expr_context)
    ]


def mutated(mutant: Mutant) -> ast.Module:
    """Returns the module of a mutant, changed."""
    tree = ast.parse((ROOT / mutant.file).read_text())
    node = next(node for number, node in enumerate(ast.walk(tree)) if number == mutant.node)
    found = change_of(node)
    assert found
    found[1]()
    return ast.fix_missing_locations(tree)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a file as the mutant has it."""

    mutant: Mutant

    def get_code(self, fullname: str) -> Any:
        return compile(mutated(self.mutant), self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module as its mutant, all others as they are."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.name = ".".join(Path(mutant.file).with_suffix("").parts).removesuffix(".__init__")

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        assert spec
        assert spec.origin
        loader = _Loader(name, spec.origin)
        loader.mutant = self.mutant
        spec.loader = loader
        return spec


class _Contexts:
    """Notes the lines of each test."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self.measured = measured

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        self.measured.switch_context(item.nodeid)
        result = yield
        self.measured.switch_context("")
        return result


def tests_by_line(target: str, tier: str, data: Path) -> dict[tuple[str, int], list[str]]:
    """Runs the tests of a target; returns (file, line) -> the tests that execute it, in the order in which they ran."""
    lines_of = [f"{ROOT}/{target}", f"{ROOT}/{target}/**"]
    measured = coverage.Coverage(data_file=str(data), include=lines_of, config_file=False)

    def run() -> int:
        measured.start()
        code = pytest.main([*_OPTIONS, "--tier", tier, *TARGETS[target]], plugins=[_Contexts(measured)])
        measured.stop()
        measured.save()
        return int(code)

    code, printed = in_child(run)
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise SystemExit(f"The tests of {target} fail without a mutant:\n{printed[-3000:]}")
    found: dict[tuple[str, int], list[str]] = defaultdict(list)
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        return found
    held = coverage.CoverageData(basename=str(data))
    held.read()
    for file in held.measured_files():
        for line, tests in held.contexts_by_lineno(file).items():
            found[str(Path(file).relative_to(ROOT)), line] += [test for test in tests if test]
    if not found:
        raise SystemExit(f"No test of {target} executes a line of it.")
    return found


_OPTIONS = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "-W", "ignore"]


def in_child(work: Callable[[], int]) -> tuple[int, str]:
    """Does work in a child of this process; returns its exit code, which is negative after a signal, and its output."""
    with tempfile.TemporaryFile("w+") as output:
        child = os.fork()
        if not child:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            resource.setrlimit(resource.RLIMIT_CPU, (LIMIT * 10, LIMIT * 10))
            try:
                code = work()
            except BaseException as error:
                print(repr(error))
                code = 70
            sys.stdout.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        return code, output.read()


def is_found(mutant: Mutant, tests: Sequence[str], tier: str) -> bool:
    """Whether one of the tests fails with the mutant."""

    def run() -> int:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
        sys.meta_path.insert(0, _Finder(mutant))
        return int(pytest.main([*_OPTIONS, "--tier", tier, *tests]))

    return bool(tests) and in_child(run)[0] != 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Judges the sample; returns 0."""
    parser = argparse.ArgumentParser(prog="python tools/mutants.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--number", type=int, default=152, help="how many mutants, the same number of each target")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--only", default="", help="take targets with this text in their path only")
    given = parser.parse_args(arguments)
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    os.environ |= {"CI": "true", "PYTHONDONTWRITEBYTECODE": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    import tensorflow  # noqa: F401  each child has it already

    targets = [target for target in TARGETS if given.only in target]
    totals = dict.fromkeys(("mutants", "quick", "all"), 0)
    with tempfile.TemporaryDirectory() as folder:
        for target in targets:
            score = judge(target, max(1, given.number // len(TARGETS)), given.seed, Path(folder))
            print(f"{target}: " + ", ".join(f"{name} {number}" for name, number in score.items()), flush=True)
            totals = {name: totals[name] + score[name] for name in totals}
    for tier in ("quick", "all"):
        print(f"{tier}: {totals[tier]} of {totals['mutants']} found, {100 * totals[tier] / totals['mutants']:.1f} %")
    return 0


def judge(target: str, number: int, seed: int, folder: Path) -> dict[str, int]:
    """Returns how many mutants of a target there were, and how many of them each tier found."""
    sample = sorted(random.Random(f"{seed} {target}").sample(mutants_of(target), number))
    quick = tests_by_line(target, "quick", folder / f"quick{len(target)}")
    rest = [m for m in sample if not is_found(m, ordered(quick, m), "quick")]
    found = {"mutants": len(sample), "quick": len(sample) - len(rest)}
    deep = tests_by_line(target, "deep", folder / f"deep{len(target)}") if rest else {}
    missed = [m for m in rest if not is_found(m, ordered(deep, m), "deep")]
    for mutant in missed:
        print(f"not found: {mutant.file}:{mutant.line}: {mutant.change}", flush=True)
    return {**found, "all": len(sample) - len(missed)}


def ordered(tests: dict[tuple[str, int], list[str]], mutant: Mutant) -> list[str]:
    """Returns the tests of a mutant's line: those of the file that has most of them first."""
    names = tests.get((mutant.file, mutant.line), [])
    files: dict[str, int] = defaultdict(int)
    for name in names:
        files[name.partition("::")[0]] += 1
    return sorted(names, key=lambda name: (-files[name.partition("::")[0]], name))


if __name__ == "__main__":
    sys.exit(main())
