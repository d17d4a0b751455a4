"""Dangers: what is known to end the Python process inside TensorFlow, found before TensorFlow sees it."""

from __future__ import annotations

from typing import Any

from ..errors import OpenError
from .functions import referred


def refuse_deadly(graph_def: Any, asked: str) -> None:
    """Refuses a GraphDef that TensorFlow's importer would not survive.

    Args:
        graph_def: what is to be imported.
        asked: the request, for messages.

    Raises:
        OpenError: a function calls itself, directly or through others; or an op claims more inputs than it has.
    """
    circle = _circle({f.signature.name: f for f in graph_def.library.function})
    if circle:
        raise OpenError(
            asked,
            f"function {circle[0]!r} calls itself: {' -> '.join(circle)}",
            "TensorFlow cannot run such a function; write it as a loop where it was made",
        )
    counted: dict[str, bool] = {}  # op type -> whether it says how many inputs it has
    for node in graph_def.node:
        says = counted.get(node.op)
        if says is None:
            says = counted[node.op] = "N" in node.attr
        count = node.attr["N"].i if says else 0
        if count > max(len(node.input), 1) and count > 1000:
            raise OpenError(
                asked,
                f"op {node.name!r} ({node.op}) says it has {count:,} inputs, and has {len(node.input)}",
                "The file is damaged: write it again",
            )


def _circle(library: dict[str, Any]) -> list[str]:
    """Returns a chain of functions that comes back to its start; empty where there is none."""
    calls = {
        name: sorted(set().union(*(referred(node, library) for node in f.node_def)) if f.node_def else [])
        for name, f in library.items()
    }
    done: set[str] = set()
    for start in calls:
        path: list[str] = []
        stack = [(start, False)]
        while stack:  # depth first, without recursion: the file says how deep it goes
            name, leaving = stack.pop()
            if leaving:
                done.add(path.pop())
            elif name in path:
                return [*path[path.index(name) :], name]
            elif name not in done:
                path.append(name)
                stack.append((name, True))
                stack.extend((other, False) for other in calls[name])
    return []
