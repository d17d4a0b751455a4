"""Functions of a graph: which ones a copy needs, and how it gets them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.effect import Effect
from .internals import function_names


def referred(node: Any, known: set[str]) -> set[str]:
    """Returns the functions of `known` that a NodeDef calls: as its op, or in its attributes."""
    found = {node.op} & known
    for value in node.attr.values():
        kind = value.WhichOneof("value")
        if kind == "func":
            found.add(value.func.name)
        elif kind == "list":
            found.update(f.name for f in value.list.func)
    return found & known


def needed(effect: Effect, graph: Any) -> list[Any]:
    """Returns the Python functions that the copies call and `graph` lacks, callees before callers."""
    have = set(function_names(graph))
    out: dict[str, Any] = {}
    for copied in effect.copies:
        source = copied.source.owner
        library = dict(getattr(source, "_functions", {}))
        known = set(library)
        if not known or source is graph:
            continue
        todo = set()
        for i in copied.ops.tolist():
            node = copied.source.nodes[i]
            if node.op in known or node.attr:
                todo |= referred(node, known)
        stack = sorted(todo)
        order: list[str] = []
        while stack:
            name = stack.pop()
            if name in order:
                continue
            order.append(name)
            for node in definition(library[name]).node_def:
                stack.extend(sorted(referred(node, known)))
        for name in reversed(order):
            if name not in have:
                out[name] = library[name]
    return list(out.values())


def definition(function: Any) -> Any:
    """Returns the FunctionDef of a Python function object of either kind."""
    found = getattr(function, "function_def", None)
    return found if found is not None else function.definition


@contextmanager
def added(new: list[Any], graph: Any) -> Iterator[None]:
    """Adds functions to a graph; takes them out again if the block fails."""
    done: list[str] = []
    try:
        for function in new:
            name = definition(function).signature.name
            if name not in function_names(graph):
                graph._add_function_recursive(function)
                done.append(name)
        yield
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
