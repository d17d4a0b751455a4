"""Rounds: the number of rounds of a loop, if only known numbers decide it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph.live import TFNodeDef

#: What a few op types do to scalars: enough for counters and limits.
_SCALAR: dict[str, Callable[..., Any]] = {
    "Add": np.add, "AddV2": np.add, "Sub": np.subtract, "Mul": np.multiply, "FloorDiv": np.floor_divide,
    "FloorMod": np.mod, "Maximum": np.maximum, "Minimum": np.minimum, "Neg": np.negative,
    "Less": np.less, "LessEqual": np.less_equal, "Greater": np.greater, "GreaterEqual": np.greater_equal,
    "Equal": np.equal, "NotEqual": np.not_equal,
    "LogicalAnd": np.logical_and, "LogicalOr": np.logical_or, "LogicalNot": np.logical_not,
}  # fmt: skip
_SAME = frozenset({"Identity", "Enter", "StopGradient"})


@dataclass(frozen=True)
class Turn:
    """A condition, or a body, of a loop, by names.

    Args:
        nodes: name -> NodeDef.
        given: for each loop variable, then for each constant of the loop, the name of its value.
        results: its results, in the form of NodeDef inputs.
    """

    nodes: Mapping[str, Any]
    given: Sequence[str]
    results: Sequence[str]


def scalar(nodes: Mapping[str, Any], text: str, known: Mapping[str, Any], array: Callable[[Any], Any]) -> Any:
    """Returns the value of a scalar tensor, computed from known values; None if that is not possible.

    Args:
        nodes: name -> NodeDef.
        text: the tensor, in the form of a NodeDef input.
        known: name of an op or argument -> its value, or None.
        array: returns the array of a constant.
    """
    found, todo, seen = dict(known), [text.partition(":")[0]], set[str]()
    while todo:
        name = todo[-1]
        node = nodes.get(name)
        if name in found or node is None:
            found.setdefault(name, None)
            todo.pop()
            continue
        reads = [one.partition(":")[0] for one in node.input if one[0] != "^"]
        waiting = [one for one in reads if one not in found] if node.op in _SCALAR or node.op in _SAME else []
        if waiting and name not in seen:  # else it leads to itself
            seen.add(name)
            todo += waiting
            continue
        todo.pop()
        found[name] = _computed(node, [found.get(one) for one in reads], array)
    return found[text.partition(":")[0]]


def _computed(node: TFNodeDef, values: list[Any], array: Callable[[Any], Any]) -> Any:
    if node.op == "Const":
        value = array(node)
    elif any(value is None for value in values) or not values:
        value = None
    else:
        value = values[0] if node.op in _SAME else _SCALAR[node.op](*values) if node.op in _SCALAR else None
    return value if value is not None and np.size(value) == 1 and np.asarray(value).dtype.kind in "biuf" else None


def rounds(test: Turn, body: Turn, start: Sequence[Any], most: int, array: Callable[[Any], Any]) -> int | None:
    """Returns the number of rounds of a loop, `most` + 1 if there are more; None if it is not known.

    Args:
        test, body: its condition and body.
        start: for each of their arguments its number at the start, or None.
        most: the largest number of rounds to follow.
        array: returns the array of a constant.
    """
    values = list(start)
    for done in range(most + 1):
        answer = scalar(test.nodes, test.results[0], dict(zip(test.given, values, strict=True)), array)
        if answer is None:
            return None
        if not bool(answer):
            return done
        known = dict(zip(body.given, values, strict=True))
        values[: len(body.results)] = [scalar(body.nodes, text, known, array) for text in body.results]
    return most + 1
