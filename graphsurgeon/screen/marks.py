"""Marks: the selection and the marked boundary tensors, as values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import SelectionError, did_you_mean
from ..graph.graph import Graph, Mask
from ..graph.names import tensor_name
from ..graph.selection import Selection, listed
from ..graph.variables import ASKING_TYPES, VARIABLE_TYPES
from ..view.tree import Tree, ops_named

_HELPERS = VARIABLE_TYPES | ASKING_TYPES | {"Assign", "Const", "ReadVariableOp"}


@dataclass(frozen=True)
class Marks:
    """Names of the marked tensors, in the order they were marked; each method returns new marks.

    Args:
        inputs, outputs: the boundary.
        included: leaks whose producers are part of the region; ``^op``: an op that the region waits for.

    Example:
        >>> g = Graph.of([("x", "Placeholder", []), ("y", "Neg", ["x"])])
        >>> Marks().with_input(g, "x").with_output(g, "y:0")
        Marks(inputs=('x:0',), outputs=('y:0',), included=())
    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    included: tuple[str, ...] = ()

    def with_input(self, graph: Graph, tensor: Any) -> Marks:
        """Returns marks with one input more; raises SelectionError where there is no such tensor."""
        name = _checked(graph, tensor, "mark_input")
        less = self.without(name) if name in self.outputs else self
        return less if name in less.inputs else replace(less, inputs=(*less.inputs, name))

    def with_output(self, graph: Graph, tensor: Any) -> Marks:
        """Returns marks with one output more; raises SelectionError where there is no such tensor."""
        name = _checked(graph, tensor, "mark_output")
        less = self.without(name) if name in self.inputs else self
        return less if name in less.outputs else replace(less, outputs=(*less.outputs, name))

    def without(self, tensor: Any) -> Marks:
        """Returns marks without this tensor, or without ``^op``, which is waited for."""
        name = tensor if str(tensor).startswith("^") else tensor_name(tensor)
        return Marks(*(tuple(t for t in some if t != name) for some in (self.inputs, self.outputs, self.included)))

    def renamed(self, new: Callable[[str], str]) -> Marks:
        """Returns the marks after tensors got other names."""
        return Marks(*(tuple(map(new, some)) for some in (self.inputs, self.outputs, self.included)))

    @property
    def swapped(self) -> Marks:
        """The marks with inputs and outputs in each other's place."""
        return replace(self, inputs=self.outputs, outputs=self.inputs)

    @classmethod
    def around(cls, selection: Selection) -> Marks:
        """Returns the tensors that enter and leave a selection; constants and the helpers of variables do not count."""
        graph = selection.graph

        def given(tensor: str) -> bool:
            op = graph.tensor(tensor)[0]
            above = graph.data.row(op)
            read = graph.types[op] == "Identity" and len(above) == 1 and graph.types[int(above[0])] in VARIABLE_TYPES
            return graph.types[op] not in _HELPERS and not read

        crossing = selection.boundary
        outputs = tuple(t for t in crossing.outputs if given(t))
        return cls(tuple(t for t in crossing.inputs if given(t)), outputs or crossing.outputs)


def selected_after(old: Sequence[str], names: Sequence[str], mode: str) -> tuple[str, ...]:
    """Returns the new selection; `mode` is ``set``, ``add`` or ``toggle``.

    Example:
        >>> selected_after(("a", "b"), ["b", "c"], "toggle")
        ('a', 'c')
    """
    kept = {"set": [], "add": list(old)}.get(mode, [n for n in old if n not in names])
    return tuple(dict.fromkeys([*kept, *(n for n in names if mode == "set" or n not in old)]))


def ops_of(tree: Tree, names: Sequence[str], verb: str) -> Mask:
    """Returns a mask of the ops of all boxes of these names; raises SelectionError where there is no such box."""
    graph = tree.graph
    mask = np.zeros(graph.size, np.bool_)
    for name in names:
        found = ops_named(tree, name)
        if found is None:
            if graph.call_around(name.rstrip("/")):
                graph.find(name.rstrip("/"), f"{verb}({name!r})")
            problem = f"nothing in {graph.title} has this name"
            raise SelectionError(f"{verb}({name!r})", problem, did_you_mean(name, graph.index))
        mask |= found
    return mask


def selection_of(tree: Tree, names: Sequence[str]) -> Selection:
    """Returns the ops of all boxes of these names; names that are gone count for nothing."""
    graph = tree.graph
    mask = np.zeros(graph.size, np.bool_)
    for name in names:
        found = ops_named(tree, name)
        if found is not None:
            mask |= found
    return listed(graph, mask)


def _checked(graph: Graph, tensor: Any, verb: str) -> str:
    name = tensor_name(tensor)
    op, port = graph.tensor(name, f"{verb}({name!r})")
    return f"{graph.names[op]}:{port}"
