"""Docstrings of what people call: every parameter is explained under its own name, and examples use public names."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import graphsurgeon as gs
from graphsurgeon import examples as example_graphs
from graphsurgeon import graph_editor, recipes
from graphsurgeon.editor.history import History
from graphsurgeon.ui.screen import Screen
from tests.needs import ROOT
from tests.test_house import modules

_ARGS = re.compile(r"^Args:\n((?:    .*\n|\n)+)", re.M)
_NAMES = re.compile(r"^    (\*{0,2}\w+(?:, \*{0,2}\w+)*):", re.M)


def explained(function: Callable[..., Any]) -> list[str]:
    """Returns the parameters that a docstring explains."""
    found = _ARGS.search((inspect.getdoc(function) or "") + "\n")
    return [name.strip("*") for names in _NAMES.findall(found[1] if found else "") for name in names.split(", ")]


def asked(function: Callable[..., Any], bound: bool) -> list[str]:
    """Returns the parameters that a caller gives."""
    return list(inspect.signature(function).parameters)[bound:]


def public() -> Iterator[tuple[str, Callable[..., Any], bool]]:
    """Yields (name, function, whether its first parameter is the object) of all that people call."""
    classes: dict[str, type] = {"Screen": Screen, "History": History}
    for module in (gs, recipes, example_graphs, graph_editor):
        short = module.__name__.removeprefix("graphsurgeon.").removeprefix("editor.")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                yield f"{short}.{name}", value, False
            elif inspect.isclass(value) and not issubclass(value, Exception):
                classes.setdefault(f"{short}.{name}", value)
    for where, each in classes.items():
        for name, value in vars(each).items():
            plain = getattr(value, "__func__", value)
            if not name.startswith("_") and inspect.isfunction(plain):
                yield f"{where}.{name}", plain, not isinstance(value, staticmethod)


PUBLIC = {name: (function, bound) for name, function, bound in public() if asked(function, bound)}


def test_the_list_has_what_people_call():
    names = {
        "graphsurgeon.open",
        "graphsurgeon.Plan.swap",
        "Screen.set_attr",
        "recipes.split_at",
        "graph_editor.swap_ts",
    }
    assert names <= set(PUBLIC)
    assert len(PUBLIC) > 300


def test_every_parameter_is_explained():
    different = {
        name: explained(function)
        for name, (function, bound) in PUBLIC.items()
        if sorted(explained(function)) != sorted(asked(function, bound))
    }
    assert not different, different


def test_no_function_explains_a_parameter_that_it_does_not_have():
    """A parameter that was renamed has its new name in the docstring too, in functions that only the package calls."""
    wrong = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                found = _ARGS.search((ast.get_docstring(node) or "") + "\n")
                names = {
                    one.strip("*") for some in _NAMES.findall(found[1] if found else "") for one in some.split(", ")
                }
                if extra := names - {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}:
                    wrong[f"{path.relative_to(ROOT)}:{node.name}"] = extra
    assert not wrong, wrong


def _of(args: str) -> Callable[..., Any]:
    def function(a: int, *more: int) -> None:
        pass

    function.__doc__ = f"Does it.\n\nArgs:\n{args}\n\nReturns:\n    c: nothing.\n"
    return function


def test_the_check_sees_what_is_missing_and_what_is_too_much():
    assert explained(_of("    a: one.\n    more: others:\n        b: no parameter.")) == ["a", "more"]
    assert explained(_of("    a, *more: numbers.")) == ["a", "more"]
    assert explained(_of("    b: one.")) == ["b"]


#: Rooms whose docstrings are on the site: an example there is what a reader types.
TAUGHT = ("graphsurgeon", "graphsurgeon.recipes", "graphsurgeon.graph_editor")


def examples() -> dict[str, list[str]]:
    """Returns the modules that public functions and classes are of, with what their examples import of the package."""
    values = [
        getattr(module, name) for module in (gs, recipes, example_graphs, graph_editor) for name in module.__all__
    ]
    things = [value for value in (*values, History) if inspect.isclass(value) or inspect.isfunction(value)]
    out: dict[str, list[str]] = {}
    for thing in things:
        text = [inspect.getdoc(thing) or ""]
        if inspect.isclass(thing):
            text += [inspect.getdoc(value) or "" for name, value in vars(thing).items() if name[0] != "_"]
        lines = [line[4:] for doc in text for line in doc.splitlines() if line.startswith((">>> ", "... "))]
        lines += [line[8:] for doc in text for line in doc.splitlines() if line.startswith(("    >>> ", "    ... "))]
        out[f"{thing.__module__}.{thing.__qualname__}"] = [line for line in lines if "graphsurgeon" in line]
    return out


def test_examples_use_public_names():
    odd = []
    for where, lines in examples().items():
        for line in lines:
            for node in ast.walk(_parsed(line)):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                odd += [
                    f"{where}: {line.strip()}"
                    for name in names
                    if name.startswith("graphsurgeon.") and name not in TAUGHT
                ]
    assert not odd, odd


def _parsed(line: str) -> ast.Module:
    try:
        return ast.parse(line.strip())
    except SyntaxError:  # the head of a block imports nothing
        return ast.Module([], [])


def test_the_readers_of_the_site_are_taught_from_this_folder():
    assert inspect.getfile(gs).startswith(str(ROOT))
