"""Sources: Python functions as the code that makes them, so that a plan that uses one can be printed."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Sources:
    """The functions that the code of a plan uses.

    Args:
        imports: lines that import modules.
        lines: lines that define functions.
        free: names that the code uses and does not define: functions whose source is not known.
    """

    imports: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    free: list[str] = field(default_factory=list)

    def add(self, function: Callable[..., Any], word: str) -> None:
        """Adds what is needed before a function can be written as `word`; a lambda is defined under that name."""
        found = source_of(function, word)
        if found is None:
            self.free += [word] if word not in self.free else []
            return
        text, modules = found
        for line in modules:
            self.imports += [line] if line not in self.imports else []
        name = function_word(function, word)
        text += "" if name == word else f"\n{word} = {name}"
        self.lines += [text] if text not in self.lines else []


def function_word(function: Callable[..., Any], otherwise: str) -> str:
    """Returns the name by which code can call a function: its own, or another for a lambda.

    Example:
        >>> function_word(len, "f"), function_word(lambda x: x, "f")
        ('len', 'f')
    """
    name = getattr(getattr(function, "python_function", function), "__name__", "")
    return name if name.isidentifier() else otherwise


def source_of(function: Callable[..., Any], word: str) -> tuple[str, list[str]] | None:
    """Returns the source of a function as statements, and the imports it needs; None where it cannot be written.

    That is so where its file is gone, and where it uses names of an outer function, or other than modules.
    """
    plain = getattr(function, "python_function", function)
    if not isinstance(plain, types.FunctionType) or plain.__closure__ or plain is not function:
        return None
    node = _node(plain)
    if node is None:
        return None
    imports = []
    for name in sorted(set(plain.__code__.co_names) | _inner_names(plain.__code__)):
        if name not in plain.__globals__ or (hasattr(builtins, name) and name not in plain.__globals__):
            continue
        held = plain.__globals__[name]
        if not inspect.ismodule(held):
            return None
        path = held.__name__.replace("tensorflow._api.v2.", "tensorflow.")
        imports.append(f"import {path}" + ("" if path == name else f" as {name}"))
    if isinstance(node, ast.Lambda):
        return f"{word} = {ast.unparse(node)}", imports
    return ast.unparse(node), imports


def _inner_names(code: types.CodeType) -> set[str]:
    """The global names that functions inside a function use."""
    out: set[str] = set()
    todo = [code]
    while todo:
        for held in todo.pop().co_consts:
            if isinstance(held, types.CodeType):
                out |= set(held.co_names)
                todo.append(held)
    return out


def _node(function: types.FunctionType) -> ast.Lambda | ast.FunctionDef | None:
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return None
    if function.__name__ == "<lambda>":
        return _lambda("".join(lines), max(first, 1), function)
    try:
        made = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except SyntaxError:
        return None
    return made if isinstance(made, ast.FunctionDef) and not made.decorator_list else None


def _lambda(text: str, first: int, function: types.FunctionType) -> ast.Lambda | None:
    """Finds a lambda in the lines around it, which may be a part of a statement only, by where its code stands."""
    places = set(function.__code__.co_positions())
    start = text.find("lambda")
    while start >= 0:
        for end in range(len(text), start, -1):
            try:
                made = ast.parse(f"({text[start:end]})", mode="eval").body
            except (SyntaxError, ValueError):
                continue
            made = made.elts[0] if isinstance(made, ast.Tuple) else made  # the next argument came along
            if isinstance(made, ast.Lambda) and _place(made.body, text[:start], first) in places:
                return made
            break
        start = text.find("lambda", start + 6)
    return None


def _place(node: ast.expr, before: str, first: int) -> tuple[int, int, int, int]:
    """Line and column of an expression, and of its end, in the file: it was read with a bracket before it."""
    above, indent = before.count("\n"), len(before.rpartition("\n")[2].encode()) - 1
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    begin, end = node.lineno, node.end_lineno
    return (
        first + above + begin - 1,
        first + above + end - 1,
        node.col_offset + indent * (begin == 1),
        node.end_col_offset + indent * (end == 1),
    )


def option_code(value: Any, sources: Sources) -> str:
    """Returns an argument as code; a dtype or TensorSpec as TensorFlow writes it.

    Example:
        >>> option_code({"x": "float32", "n": [1, 2]}, Sources())
        "{'x': 'float32', 'n': [1, 2]}"
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {option_code(item, sources)}" for key, item in value.items()) + "}"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        if "import tensorflow as tf" not in sources.imports:
            sources.imports.append("import tensorflow as tf")
        shape = None if value.shape.rank is None else value.shape.as_list()
        return f"tf.TensorSpec({shape!r}, {value.dtype.name!r})"
    if hasattr(value, "as_datatype_enum"):
        return repr(value.name)
    if callable(value):
        word = function_word(value, "test")
        sources.add(value, word)
        return word
    return repr(value)
