"""The places of the package that make a suggestion: each error, each fault, each pair of a problem and a suggestion."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import graphsurgeon.errors as errors
from graphsurgeon.errors import SurgeryError
from graphsurgeon.plan.fault import Fault
from graphsurgeon.recipes.recipe_context import RecipeContext
from tests.needs import ROOT

PACKAGE = ROOT / "graphsurgeon"
#: The classes that have the three parts of a message.
CLASSES = {"Fault", *(name for name, one in vars(errors).items() if isinstance(one, type) and "Error" in name)}
_MAKERS = {
    SurgeryError.__init__.__code__,
    Fault.__init__.__code__,
    RecipeContext.precondition_error.__code__,
    errors.unknown_name.__code__,
}


class Site(NamedTuple):
    """A statement or call that makes a suggestion: its file in the package, its function, its lines."""

    file: str
    function: str
    first: int
    last: int


@cache
def sites(folder: str = "") -> dict[str, Site]:
    """Returns the places of a folder of the package; the later ones of a function have a number.

    A place that passes on the suggestion of another is not among them.
    """
    return {name: site for path in sorted((PACKAGE / folder).rglob("*.py")) for name, site in _sites_of(path)}


def _sites_of(path: Any) -> Iterator[tuple[str, Site]]:
    file, count = str(path.relative_to(PACKAGE)), Counter[str]()
    for node, function in _walk(ast.parse(path.read_text()), ""):
        count[function] += 1
        number = f"#{count[function]}" if count[function] > 1 else ""
        yield f"{file}:{function}{number}", Site(file, function, node.lineno, node.end_lineno or node.lineno)


def _walk(node: ast.AST, function: str, pairs: bool = False) -> Iterator[tuple[Any, str]]:
    for child in ast.iter_child_nodes(node):
        inside, tells = function, pairs
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            inside = f"{function}.{child.name}".strip(".")
            returns = getattr(child, "returns", None)
            tells = returns is not None and "tuple[str, str]" in ast.unparse(returns)
        made = isinstance(child, ast.Call) and _is_source(child) and function != "unknown_name"
        if made or (pairs and isinstance(child, ast.Return) and _has_pair(child)):
            yield child, inside
        yield from _walk(child, inside, tells)


def _is_source(call: ast.Call) -> bool:
    if getattr(call.func, "attr", "") == "refused":
        given = call.args[1:2]
    elif getattr(call.func, "id", "") in CLASSES:
        given = [*call.args[2:3], *(word.value for word in call.keywords if word.arg == "suggestion")]
    else:
        return getattr(call.func, "id", "") == "unknown_name"
    passed = any(isinstance(one, ast.Starred) for one in call.args)
    return bool(given) and not passed and not (isinstance(given[0], ast.Attribute) and given[0].attr == "suggestion")


def _has_pair(statement: ast.Return) -> bool:
    found = [statement.value]
    while found and isinstance(found[-1], ast.IfExp):
        last: Any = found.pop()
        found += [last.body, last.orelse]
        if isinstance(last.body, ast.Tuple):
            return True
    return bool(found) and isinstance(found[-1], ast.Tuple) and len(found[-1].elts) == 2


@contextmanager
def noted() -> Iterator[Callable[[str], set[str]]]:
    """Gives a function that returns the places which made a suggestion inside the block."""
    seen: list[tuple[str, str, int]] = []

    def note(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code in _MAKERS:
            made, frame = frame.f_locals.get("suggestion", ""), frame.f_back
            while frame.f_code in _MAKERS:
                frame = frame.f_back
        elif event == "return" and isinstance(arg, tuple) and len(arg) == 2 and isinstance(arg[1], str):
            made = arg[1]
        else:
            return
        file = frame.f_code.co_filename
        if file.startswith(str(PACKAGE)):
            seen.append((made, file[len(str(PACKAGE)) + 1 :], frame.f_lineno))

    def made(suggestion: str) -> set[str]:
        at = {(file, line) for text, file, line in seen if text and text in suggestion}
        near = {file.partition("/")[0] for file, _ in at}
        return {
            name
            for folder in near
            for name, site in sites("" if folder.endswith(".py") else folder).items()
            if any(site.file == file and site.first <= line <= site.last for file, line in at)
        }

    sys.setprofile(note)
    try:
        yield made
    finally:
        sys.setprofile(None)
