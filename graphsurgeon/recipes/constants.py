"""Constants: the tensors that do not depend on the inputs of a graph, computed here without running the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..graph.traversal import met_from
from .subject import Subject

#: Constants larger than this are weights and never shapes. They are not computed.
_TOO_LARGE = 1 << 26


def _attr(subject: Subject, op: int, name: str) -> Any:
    return subject.graph.nodes[op].attr[name]


def _squeezed(subject: Subject, op: int, value: Any) -> Any:
    axes = tuple(_attr(subject, op, "squeeze_dims").list.i)
    return np.squeeze(value, axis=axes or None)


def _packed(subject: Subject, op: int, *values: Any) -> Any:
    return np.stack(values, axis=_attr(subject, op, "axis").i)


_COMPUTED: dict[str, Callable[..., Any]] = {
    "Identity": lambda s, op, x: x,
    "StopGradient": lambda s, op, x: x,
    "Add": lambda s, op, x, y: x + y,
    "AddV2": lambda s, op, x, y: x + y,
    "Sub": lambda s, op, x, y: x - y,
    "Mul": lambda s, op, x, y: x * y,
    "RealDiv": lambda s, op, x, y: x / y,
    "Neg": lambda s, op, x: -x,
    "Sqrt": lambda s, op, x: np.sqrt(x),
    "Rsqrt": lambda s, op, x: (1 / np.sqrt(x)).astype(x.dtype),
    "Square": lambda s, op, x: x * x,
    "Reciprocal": lambda s, op, x: (1 / x).astype(x.dtype),
    "Reshape": lambda s, op, x, shape: np.reshape(x, shape.tolist()),
    "ExpandDims": lambda s, op, x, axis: np.expand_dims(x, int(axis)),
    "Squeeze": _squeezed,
    "Pack": _packed,
}


def constant(subject: Subject, tensor: tuple[int, int], given: Mapping[int, Any] | None = None) -> Any:
    """Returns the array of a tensor that does not depend on the inputs of the graph; None if that is not certain.

    Handles constants and arithmetic on constants. An op with control inputs is left alone.

    Args:
        subject: the subject of the recipe.
        tensor: (op, output), by numbers.
        given: arrays to assume as the outputs of some ops, for a trial.
    """
    known: dict[int, Any] = dict(given or {})
    todo = [tensor[0]]
    graph = subject.graph
    while todo:
        op = todo[-1]
        if op in known:
            todo.pop()
            continue
        kind, reads = graph.types[op], subject.reads(op)
        if kind == "Const":
            known[op] = subject.array(op)
        elif kind not in _COMPUTED or len(graph.control.row(op)) or any(port for _, port in reads):
            known[op] = None
        elif missing := [one for one, _ in reads if one not in known]:
            todo += missing[:1]
            continue
        else:
            values = [known[one] for one, _ in reads]
            fine = all(value is not None and value.size < _TOO_LARGE and value.dtype.kind in "fiu" for value in values)
            known[op] = np.asarray(_COMPUTED[kind](subject, op, *values)) if fine else None
        if known[op] is None:
            return None
        todo.pop()
    return known[tensor[0]] if tensor[1] == 0 else None


def unknowns(subject: Subject, tensors: Iterable[tuple[int, int]]) -> set[int]:
    """Returns the ops that prevent some tensors from being constants."""
    types, data = subject.graph.types, subject.graph.data
    start = (op for op, _ in tensors)
    above = met_from(start, lambda op: data.row(op).tolist() if types[op] in _COMPUTED else ())
    return {op for op in above if types[op] not in _COMPUTED and types[op] != "Const"}
