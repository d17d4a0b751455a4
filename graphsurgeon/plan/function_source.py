"""The source code of Python functions, for plans that are written as code."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import os
import re
import sys
import textwrap
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from keyword import iskeyword, kwlist
from typing import Any

import numpy as np

from ..graph.graph import Graph
from ..graph.selection import Query, Selection
from ..graph.traversal import reachable_from

_OPERATORS = {"or": "|", "and": "&", "minus": "-"}
#: Names that the written code itself uses, so parameters and functions cannot have them.
RESERVED = frozenset(
    {"gs", "np", "tf", "os", "arrays", "plan", "done", "redo", "ed", "dst", "src", "block", *dir(builtins), *kwlist}
)
#: Name in the code -> module that the code imports under this name.
MODULES = {"gs": "graphsurgeon", "np": "numpy", "tf": "tensorflow", "os": "os"}


class CodeNames:
    """Names the graphs, values and arrays of a plan in code."""

    short = True

    def editor_name(self, graph: Graph) -> str:
        """Returns the name of the variable for the editor of a graph."""
        return "ed"

    def query(self, selection: Selection) -> Query:
        """Returns the query that selects the ops of a selection."""
        return selection.query

    def values_code(self, step: Any) -> str:
        """Returns the code for the values of a copy or of renamed variables."""
        return "values"

    def constants_code(self, step: Any) -> str:
        """Returns the code for the arrays that replace tensors in a copy."""
        return "constants"


@dataclass
class Sources:
    """The context of the code of plans: imports, functions, and parameters for values that cannot be written down.

    Args:
        names: the names of graphs, values and arrays.
        owner: the owner of the graph that the plan is for.
        block: the name of the next selection of ops to copy.
        selections: statements that make selections of ops to copy.
        imports: lines that import modules.
        lines: statements that define functions.
        parameters: name -> a description of its value.
        used_names: names that are in use, besides the reserved names.

    Example:
        >>> sources = Sources()
        >>> sources.code_name(len, "f"), sources.parameter(object(), "values", "an array"), sources.free_name("values")
        ('len', 'values', 'values2')
    """

    names: CodeNames = field(default_factory=CodeNames)
    owner: object = None
    block: str = "block"
    selections: list[str] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    used_names: set[str] = field(default_factory=set)
    _modules: dict[str, str] = field(default_factory=lambda: dict(MODULES))
    _parameters: dict[int, tuple[Any, str]] = field(default_factory=dict)

    def _is_used(self, name: str) -> bool:
        return name in self.used_names or name in RESERVED

    def free_name(self, preferred: str) -> str:
        """Returns a name that is not in use: the wish, or the wish with a number."""
        preferred = (
            f"{preferred}_" if re.fullmatch(r"(src|block)\d*", preferred) else preferred
        )  # the code itself uses such names
        name, n = preferred, 1
        while self._is_used(name):
            n += 1
            name = f"{preferred}{n}"
        self.used_names.add(name)
        return name

    def selection(self, selection: Selection) -> str:
        """Returns the Python that makes a selection."""
        return query_code(self.names.query(selection), self.names.editor_name(selection.graph))

    def parameter(self, obj: Any, preferred: str, comment: str) -> str:
        """Returns the name of the parameter for an object; the same object always has the same name."""
        if id(obj) not in self._parameters:
            self._parameters[id(obj)] = obj, self.free_name(preferred)
            self.parameters[self._parameters[id(obj)][1]] = comment
        return self._parameters[id(obj)][1]

    def code_name(self, function: Callable[..., Any], preferred: str) -> str:
        """Returns the name of a function in the code: of its definition there, its public name, or a parameter."""
        if id(function) in self._parameters:
            return self._parameters[id(function)][1]
        public = _public(function)
        if public:
            if public.startswith("tf."):
                self.imports += ["import tensorflow as tf"] * ("import tensorflow as tf" not in self.imports)
            return public
        preferred = function_name(function, preferred)
        name = self.free_name(preferred)
        source = source_of(function, name)
        if source is None or not self._import(source[1]):
            self.used_names.discard(name)
            return self.parameter(function, preferred, f"the function {_description(function)}")
        self._parameters[id(function)] = function, name
        self.lines.append(source[0])
        return name

    def _import(self, modules: Mapping[str, str]) -> bool:
        """Adds imports, name -> module; returns False if a name means something else here."""
        for name, path in modules.items():
            if self._modules.get(name, path) != path or (self._is_used(name) and name not in self._modules):
                return False
        for name, path in modules.items():
            self._modules[name] = path
            self.used_names.add(name)
            head, _, leaf = path.rpartition(".")
            line = f"import {path}" + ("" if path == name else f" as {name}")
            if head.partition(".")[0] == "tensorflow":  # most of its modules are attributes only
                line = f"from {head} import {leaf}" + ("" if leaf == name else f" as {name}")
            self.imports += [line] if line not in self.imports else []
        return True


def _public(function: Callable[..., Any]) -> str:
    """The public name of a function: a Python built-in, or a name such as ``tf.nn.relu``; empty for none."""
    name = getattr(function, "__name__", "")
    if isinstance(name, str) and getattr(builtins, name, None) is function:
        return name
    for path in getattr(function, "_tf_api_names", ()):
        value: Any = sys.modules.get("tensorflow")
        for part in str(path).split("."):
            value = getattr(value, part, None)
        if value is function:
            return f"tf.{path}"
    return ""


def _description(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", type(function).__name__)
    module = getattr(function, "__module__", None)
    return f"{name} of {module}" if module else str(name)


def function_name(function: Callable[..., Any], default: str) -> str:
    """Returns the name by which code can call a function: its own, or another for a lambda.

    Example:
        >>> function_name(len, "f"), function_name(lambda x: x, "f")
        ('len', 'f')
    """
    name = getattr(getattr(function, "python_function", function), "__name__", "")
    return name if isinstance(name, str) and name.isidentifier() and not iskeyword(name) else default


def source_of(function: Callable[..., Any], word: str) -> tuple[str, dict[str, str]] | None:
    """Returns the statement that defines a function as `word`, and the modules that it needs; None if not possible.

    It is not possible in these cases:

    - the file of the function is missing or has changed,
    - the function uses names of an outer function, or global names that are not modules,
    - a default value has no code.
    """
    plain = getattr(function, "python_function", function)
    if not isinstance(plain, types.FunctionType) or plain.__closure__ or plain is not function:
        return None
    node = _node(plain)
    if node is None or not _is_of(node, plain) or not _defaults(node, plain):
        return None
    modules = {}
    inside = reachable_from([plain.__code__], lambda code: (c for c in code.co_consts if isinstance(c, types.CodeType)))
    for name in sorted({name for code in inside for name in code.co_names}):
        if name not in plain.__globals__:
            continue
        module = plain.__globals__[name]
        if not inspect.ismodule(module) or module.__name__ == "__main__":
            return None
        modules[name] = module.__name__.replace("tensorflow._api.v2.", "tensorflow.")
    if isinstance(node, ast.Lambda):
        text = f"{word} = {ast.unparse(node)}"
    else:
        node.name = word
        node.body = node.body[ast.get_docstring(node) is not None :] or [ast.Pass()]
        text = ast.unparse(node)
    # A text of several lines changes if the code is indented.
    return (
        (text, modules)
        if _function_behavior(text) == _function_behavior("if 1:\n" + textwrap.indent(text, "    "))
        else None
    )


def _defaults(node: ast.Lambda | ast.FunctionDef, function: types.FunctionType) -> bool:
    """Replaces defaults by the code of their values, and removes annotations; False if a default has no code."""
    arguments = node.args
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    texts = [code_of(value) for value in defaults]
    if any(text is None for text in texts):
        return False
    nodes = [ast.parse(text or "", mode="eval").body for text in texts]
    arguments.defaults = nodes[: len(arguments.defaults)]
    rest = iter(nodes[len(arguments.defaults) :])
    arguments.kw_defaults = [None if old is None else next(rest) for old in arguments.kw_defaults]
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if one is not None:
            one.annotation = None
    if isinstance(node, ast.FunctionDef):
        node.returns = None
    return True


def _is_of(node: ast.Lambda | ast.FunctionDef, function: types.FunctionType) -> bool:
    """Whether this is the source of the function: its file may have changed since."""
    modules = [name for name in function.__code__.co_names if inspect.ismodule(function.__globals__.get(name))]
    text = ast.unparse(node)
    # Python compiles a method of an imported module in another way if the import is in the same source.
    candidates = (
        _function_behavior(text),
        _function_behavior(f"import {', '.join(modules)}\n{text}" if modules else text),
    )
    return _essence(function.__code__) in candidates


def _function_behavior(text: str) -> Any:
    """The behavior of the first function that a statement makes."""
    code = next(constant for constant in compile(text, "", "exec").co_consts if isinstance(constant, types.CodeType))
    return _essence(code)


def _essence(code: types.CodeType) -> Any:
    """The behavior of a function, which does not depend on its place in a file."""
    constants = [_essence(c) if isinstance(c, types.CodeType) else (type(c), repr(c)) for c in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, constants


def _node(function: types.FunctionType) -> ast.Lambda | ast.FunctionDef | None:
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return None
    if function.__name__ == "<lambda>":
        return _lambda("".join(lines), max(first, 1), function)
    try:
        node = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except SyntaxError:
        return None
    return node if isinstance(node, ast.FunctionDef) and not node.decorator_list else None


def _lambda(text: str, first: int, function: types.FunctionType) -> ast.Lambda | None:
    """Finds a lambda in the lines around it, which may be only a part of a statement, by the position of its code."""
    places = [p for p in function.__code__.co_positions() if None not in p and p[2:] != (0, 0)]
    start = text.find("lambda")
    while start >= 0:
        for end in range(len(text), start, -1):
            try:
                tree = ast.parse(f"({text[start:end]})", mode="eval").body
            except (SyntaxError, ValueError):
                continue
            # The text may contain more than the lambda, such as the next argument. The innermost lambda is used.
            lambdas = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda)]
            fitting = [n for n in lambdas if _contains(_place(n.body, text[:start], first), places)]
            if fitting:
                return fitting[-1]
            break
        start = text.find("lambda", start + 6)
    return None


def _contains(place: tuple[int, int, int, int], inner: list[Any]) -> bool:
    """Whether a place, given by lines and columns, contains all inner places."""
    begin, end = (place[0], place[2]), (place[1], place[3])
    return bool(inner) and all(begin <= (p[0], p[2]) and (p[1], p[3]) <= end for p in inner)


def _place(node: ast.expr, prefix: str, first: int) -> tuple[int, int, int, int]:
    """Returns line and column of the start and end of an expression in the file; it was parsed after a bracket."""
    above, indent = prefix.count("\n"), len(prefix.rpartition("\n")[2].encode()) - 1
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    begin, end = node.lineno, node.end_lineno
    return (
        first + above + begin - 1,
        first + above + end - 1,
        node.col_offset + indent * (begin == 1),
        node.end_col_offset + indent * (end == 1),
    )


class _NotLiteral(Exception):
    """Raised if a value has no code."""


def code_of(value: Any) -> str | None:
    """Returns Python code that makes a value again: numbers, texts, arrays, dtypes, shapes, specs, and lists, tuples,
    sets and dicts of them; None if there is no such code.

    Example:
        >>> code_of([1, "a", np.float32(0.5)]), code_of(np.array([np.inf])), code_of({"x": object()})
        ("[1, 'a', np.float32(0.5)]", "np.array([np.inf], 'float64')", None)
    """
    try:
        return _code_of(value)
    except _NotLiteral:
        return None


def literal(value: Any, sources: Sources | None = None) -> str:
    """Returns a value as code, like `code_of`; a value without code is a parameter of `sources`, or shown as it is."""
    text = code_of(value)
    if text is not None:
        return text
    return repr(value) if sources is None else sources.parameter(value, "value", f"the {type(value).__name__} given")


def _code_of(value: Any) -> str:
    if isinstance(value, np.ndarray | np.generic):
        return _array_or_scalar_code(value)
    if value is None or value is Ellipsis or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int | str | bytes):  # a subclass is written as its base class
        plain: Any = next(kind for kind in (int, str, bytes) if isinstance(value, kind))
        return repr(plain(value))
    if isinstance(value, float | complex):
        return _number(value, f"float({str(value)!r})")
    if isinstance(value, list | tuple | set | frozenset):
        items = [_code_of(item) for item in value]
        if isinstance(value, set | frozenset):
            return f"{type(value).__name__}([{', '.join(sorted(items))}])"
        inner = ", ".join(items)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_code_of(key)}: {_code_of(item)}" for key, item in value.items()) + "}"
    if isinstance(value, os.PathLike):
        return repr(os.fspath(value))
    return _of_tensorflow(value)


def _of_tensorflow(value: Any) -> str:
    """Returns the code of TensorFlow dtypes, shapes and specs, without importing TensorFlow, and of NumPy dtypes."""
    if hasattr(value, "as_datatype_enum"):
        return f"tf.{value.name}"
    if hasattr(value, "as_list") and hasattr(value, "rank"):
        return f"tf.TensorShape({value.as_list() if value.rank is not None else None})"
    if type(value).__name__ == "TensorSpec":
        shape = None if value.shape.rank is None else value.shape.as_list()
        name = f", name={value.name!r}" if value.name is not None else ""
        return f"tf.TensorSpec({shape!r}, {value.dtype.name!r}{name})"
    if isinstance(value, np.dtype) and value.names is None:
        return repr(value.name)
    if isinstance(value, type) and issubclass(value, np.generic):
        return f"np.{value.__name__}"
    if value in (bool, int, float, str, bytes, complex):
        return str(value.__name__)
    raise _NotLiteral


def array_code(array: Any) -> str | None:
    """Returns an array as code for a place of known dtype: a list, or a call if no list can express it.

    Example:
        >>> array_code(np.array([1.5], np.float32)), array_code(np.array([np.inf], np.float32))
        ('[1.5]', "np.array([np.inf], 'float32')")
        >>> array_code(np.zeros([0, 2], np.int8))
        "np.zeros((0, 2), 'int8')"
    """
    if array.dtype.kind in "OUS" and not all(isinstance(item, str | bytes) for item in array.ravel().tolist()):
        return None
    if not array.size and array.ndim > 1:
        return f"np.zeros({array.shape!r}, {_dtype(array)})"
    plain = _items(array.tolist())
    return f"np.array({plain}, {_dtype(array)})" if "np." in plain and array.dtype.kind in "fcV" else plain


def _array_or_scalar_code(value: Any) -> str:
    """An array or a number of NumPy, which keeps its dtype."""
    array = np.asarray(value)
    plain = array_code(array)
    if plain is None:
        raise _NotLiteral
    if isinstance(value, np.generic) and array.dtype.kind in "bUS":
        return plain
    if isinstance(value, np.generic) and array.dtype.kind in "iufc":
        return f"np.{array.dtype.name}({plain if 'np.array' not in plain else _items(array.tolist())})"
    return plain if plain.startswith("np.") else f"np.array({plain}, {_dtype(array)})"


def _dtype(array: Any) -> str:
    return repr(
        "object" if array.dtype.kind == "O" else array.dtype.str if array.dtype.kind in "US" else array.dtype.name
    )


def _items(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_items, value))}]"
    return _number(value, "") if isinstance(value, float | complex) else repr(value)


def _number(value: Any, default: str) -> str:
    """Returns a number as code; a number that is not finite is written as `default`, or by its name in NumPy."""
    if isinstance(value, complex):
        return f"complex({_number(value.real, default)}, {_number(value.imag, default)})"
    if math.isfinite(value):
        return repr(float(value))
    return default or ("np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf")


def query_code(query: Query, owner: str) -> str:
    """Returns the Python that makes a selection.

    Example:
        >>> from graphsurgeon.graph.selection import Query
        >>> query_code(Query("or", (), (Query("select", (("op", "Neg"),)), Query("select", (("scope", "a"),)))), "ed")
        "(ed.select(op='Neg') | ed.select(scope='a'))"
    """
    parts = [query_code(q, owner) for q in query.operands]
    if query.method == "select":
        return f"{owner}.select({', '.join(f'{key}={literal(value)}' for key, value in query.args)})"
    if query.method == "names":
        return f"{owner}.select(name={list(query.args)!r})"
    if query.method in _OPERATORS:
        return f"({parts[0]} {_OPERATORS[query.method]} {parts[1]})"
    if query.method == "not":
        return f"~{parts[0]}"
    control = "" if query.args[0] else "control=False"
    over = f"({parts[0]})" if query.operands[0].method == "not" else parts[0]
    return f"{over}.{query.method}({control})"


def option_code(value: Any, sources: Sources) -> str:
    """Returns an argument as code; a function in it is defined, or a parameter.

    Example:
        >>> option_code({"x": "float32", "n": [1, 2]}, Sources())
        "{'x': 'float32', 'n': [1, 2]}"
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {option_code(item, sources)}" for key, item in value.items()) + "}"
    if code_of(value) is None and callable(value):
        return sources.code_name(value, "test")
    return literal(value, sources)
