"""Reasons: why a search for a pattern stopped, put into words only when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..graph import Graph

#: A task of the search: what it does, and the ops, inputs or tensors of the pattern it is about.
Task = tuple[Any, ...]
Why = Callable[[], str]


@dataclass(frozen=True, eq=False)
class Said:
    """A reason of a kind, put into words only when it is asked for."""

    kind: str
    words: Why

    def __call__(self) -> str:
        return self.words()


def nobody(graph: Graph, task: Task, placed: Mapping[int, int], read: Any) -> Why:
    """Returns why a task has nothing to choose from.

    Args:
        graph: where the search goes on.
        task: the task.
        placed: op of the pattern -> op of the graph.
        read: the tensor whose reader was looked for, for such a task.
    """
    image = {key: graph.names[op] for key, op in placed.items()}
    if task[0] == "input":
        return lambda: f"{image[task[1]]!r} has too few inputs"
    if task[0] == "reader":
        return lambda: f"no op reads '{graph.name(read)}'"
    if task[0] == "waited":
        return lambda: f"{image[task[2]]!r} waits for no op"
    return lambda: f"no op waits for {image.get(task[-1], '')!r}"
