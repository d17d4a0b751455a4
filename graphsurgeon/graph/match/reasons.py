"""Reasons: why a search for a pattern stopped, put into words only when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..boundary import Tensor
from ..graph import Graph
from .pattern import Pattern

#: A task of the search: what it does, and the ops, inputs or tensors of the pattern it is about.
Task = tuple[Any, ...]
Why = Callable[[], str]


class Said:
    """A reason, put into words only when it is asked for."""

    def __init__(self, graph: Graph, pattern: Pattern, kind: str, about: tuple[Any, ...]) -> None:
        self.graph, self.pattern, self.kind, self.about = graph, pattern, kind, about

    def __call__(self) -> str:
        graph, about = self.graph, self.about

        def op(number: int) -> str:
            return f"{graph.names[number]!r} ({graph.types[number]})"

        def tensor(pair: Tensor) -> str:
            return f"'{graph.name(pair)}'"

        if self.kind == "kind":
            wanted = " or ".join(sorted(self.pattern.kinds(about[0])))
            right = graph.types[about[1]] in self.pattern.kinds(about[0])
            return f"{op(about[1])} is " + ("outside the ops to look in" if right else f"not of type {wanted}")
        if self.kind == "port":
            return f"input {about[2]} of {op(about[0])} reads output {about[1][1]} of its source, not {about[3]}"
        if self.kind == "other":
            return f"input {about[2]} of {op(about[0])} reads {tensor(about[1])}, not {graph.names[about[3]]!r}"
        if self.kind == "shared":
            return f"input {about[2]} of {op(about[0])} reads {tensor(about[1])}, not {tensor(about[3])} as before"
        if self.kind == "inside":
            return f"input {about[2]} of {op(about[0])} reads {tensor(about[1])}, which the match computes itself"
        if self.kind == "order":
            return f"{op(about[0])} does not wait for {op(about[1])}"
        if self.kind == "condition":
            return f"{op(about[0])} does not fit: {about[1]}"
        words = {"twice": "stands for another op of the pattern already", "taken": "is part of another match"}
        return f"{op(about[0])} {words[self.kind]}"


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
