"""Functions of a graph: which ones a copy needs, which need names of their own, and how it gets them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tensorflow.core.framework import function_pb2
from tensorflow.python.framework import function as function_module

from ..core.copied import Copied
from .internals import function_names

#: Differentiating one of these defines functions named after its branches, once in a process: two copies that
#: share branches cannot both be differentiated, and the failed one is left damaged.
BRANCHING = frozenset({"If", "StatelessIf", "While", "StatelessWhile", "Case", "StatelessCase"})


@dataclass
class Library:
    """The functions a plan brings along.

    Args:
        shared: Python function objects that the destination gets as they are, callees first.
        renamed: FunctionDefs under names of their own.
        gradients: GradientDefs of the renamed ones.
        names: for each copy, old function name -> new one.
    """

    shared: list[Any] = field(default_factory=list)
    renamed: list[Any] = field(default_factory=list)
    gradients: list[Any] = field(default_factory=list)
    names: list[dict[str, str]] = field(default_factory=list)


def library(copies: Iterable[Copied], graph: Any) -> Library:
    """Returns the functions that copies need in `graph`: branches of conds and loops under new names, others shared."""
    out = Library()
    have = set(function_names(graph))
    for copied in copies:
        source = copied.source.owner
        known = dict(getattr(source, "_functions", {}))
        out.names.append({})
        if not known:
            continue
        called: set[str] = set()
        branches: set[str] = set()
        for i in copied.ops.tolist():
            node = copied.source.nodes[i]
            if node.op in BRANCHING:
                branches |= referred(node, known)
            elif node.op in known or node.attr:
                called |= referred(node, known)
        renamed = _reachable(branches, known)
        for name in renamed:
            out.names[-1][name] = _free(f"{_plain(copied.step.to)}{name}", have)
            have.add(out.names[-1][name])
        for name in renamed:
            out.renamed.append(_renamed(definition(known[name]), out.names[-1]))
            gradient = getattr(known[name], "grad_func_name", None)
            if gradient:
                out.gradients.append(_gradient(name, gradient, out.names[-1]))
        if source is graph:
            continue
        for name in _reachable(called, known):
            if name not in have:
                out.shared.append(known[name])
                have.add(name)
    return out


def referred(node: Any, known: Iterable[str]) -> set[str]:
    """Returns the functions of `known` that a NodeDef calls: as its op, or in its attributes."""
    found = {node.op}
    for value in node.attr.values():
        kind = value.WhichOneof("value")
        if kind == "func":
            found.add(value.func.name)
        elif kind == "list":
            found.update(f.name for f in value.list.func)
    return found & set(known)


def _reachable(start: Iterable[str], known: Mapping[str, Any]) -> list[str]:
    """Functions that `start` leads to, callees before callers."""
    order: list[str] = []
    seen: set[str] = set()
    stack = [(name, False) for name in sorted(start, reverse=True)]
    while stack:
        name, done = stack.pop()
        if done:
            order.append(name)
        elif name not in seen:
            seen.add(name)
            stack.append((name, True))
            inner: set[str] = set()
            for node in definition(known[name]).node_def:
                inner |= referred(node, known)
            stack.extend((other, False) for other in sorted(inner - seen, reverse=True))
    return order


def rename_calls(node: Any, names: Mapping[str, str]) -> None:
    """Makes a NodeDef call functions by their new names."""
    if node.op in names:
        node.op = names[node.op]
    for value in node.attr.values():
        _rename_value(value, names)


def _rename_value(value: Any, names: Mapping[str, str]) -> None:
    kind = value.WhichOneof("value")
    functions = [value.func] if kind == "func" else list(value.list.func) if kind == "list" else []
    for called in functions:
        if called.name in names:
            called.name = names[called.name]
        for inner in called.attr.values():
            _rename_value(inner, names)


def _renamed(old: Any, names: Mapping[str, str]) -> Any:
    new = function_pb2.FunctionDef()
    new.CopyFrom(old)
    new.signature.name = names[old.signature.name]
    for node in new.node_def:
        rename_calls(node, names)
    for value in new.attr.values():
        _rename_value(value, names)
    return new


def _gradient(name: str, gradient: str, names: Mapping[str, str]) -> Any:
    return function_pb2.GradientDef(function_name=names.get(name, name), gradient_func=names.get(gradient, gradient))


def _plain(scope: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", scope) + "_" if scope else "copy_"


def _free(wish: str, taken: set[str]) -> str:
    name, n = wish, 1
    while name in taken:
        n += 1
        name = f"{wish}_{n}"
    return name


def definition(function: Any) -> Any:
    """Returns the FunctionDef of a Python function object of either kind."""
    for field_name in ("function_def", "cached_definition", "definition"):
        found = getattr(function, field_name, None)
        if found is not None:
            return found
    raise TypeError(f"{type(function).__name__} is no function of a graph")


@contextmanager
def added(new: Library, graph: Any) -> Iterator[None]:
    """Adds the functions to a graph; takes them out again if the block fails."""
    done: list[str] = []
    try:
        for function in new.shared:
            name = definition(function).signature.name
            if name not in function_names(graph):
                graph._add_function_recursive(function)
                done.append(name)
        yield
        # Gradients of loops and conds look the branches up among the Python objects.
        if new.renamed:
            proto = function_pb2.FunctionDefLibrary(function=new.renamed, gradient=new.gradients)
            with graph.as_default():
                for function in function_module.from_library(proto):
                    function.add_to_graph(graph)
                    done.append(definition(function).signature.name)
    except BaseException:
        for name in reversed(done):
            if name in function_names(graph):
                graph._remove_function(name)
        raise


def keep_gradients(pairs: list[tuple[Any, Any]]) -> None:
    """Gives copies of function calls the gradient function that Python keeps on the original op."""
    if not pairs or not function_names(pairs[0][0].graph):
        return
    for old, new in pairs:
        gradient = getattr(old, "_gradient_function", None)
        if gradient is not None:
            new._gradient_function = gradient
