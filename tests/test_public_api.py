"""The public surface: a change of a name or signature is seen, and is meant."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import graphsurgeon as gs
from tools.write_api import FILE, public_api

OBJECTS = {"ed": gs.Editor, "selection": gs.Selection, "plan": gs.Plan, "replica": gs.Replica, "trace": gs.Trace}


def test_the_public_surface_is_what_was_reviewed():
    assert public_api() == FILE.read_text(), "run tools/write_api.py and review the difference"


def test_sentences_name_only_members_that_exist():
    """A message with `selection.method(...)` is a suggestion: the user types it."""
    calls = re.compile(rf"\b({'|'.join(OBJECTS)})\.(\w+)\(")
    sentences = [
        (path.name, node.lineno, name, member)
        for path in Path(gs.__file__).parent.rglob("*.py")
        if "node_modules" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for name, member in calls.findall(node.value)
    ]
    assert len(sentences) > 100
    assert [one for one in sentences if not hasattr(OBJECTS[one[2]], one[3])] == []


def test_each_public_parameter_has_a_type():
    """An argument of type `Any` tells neither the reader nor a type checker what may be given."""
    functions = [
        (f"{name}.{member}" if member else name, function)
        for name in gs.__all__
        for member, function in [("", getattr(gs, name)), *inspect.getmembers(getattr(gs, name))]
        if inspect.isfunction(function) and (not member.startswith("_") or member == "__init__")
    ]
    parameters = [
        (name, key, str(parameter.annotation))
        for name, function in functions
        for key, parameter in inspect.signature(function).parameters.items()
    ]
    assert len(parameters) > 500
    assert [one for one in parameters if one[2] in ("Any", "typing.Any")] == []
