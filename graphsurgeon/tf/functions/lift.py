"""Lifting: the body of a traced function as a plain graph, with variables and values of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from ...errors import OpenError
from ...graph.live import TFGraph
from ...graph.selection import Query, Selection
from ...plan.plan import Plan
from ..copy.append import carry_out
from ..open.snapshot import snapshot
from .captures import OpenedValues, capture


@dataclass
class Lifted:
    """A function as a plain graph.

    Args:
        graph: the graph: its ops have the names they had in the function.
        values: where the values of its variables and tables come from.
        inputs: argument -> name of its placeholder's tensor.
        outputs: result -> name of its tensor.
        packed: makes of the results, in that order, what the function returns.
    """

    graph: TFGraph
    values: OpenedValues
    inputs: dict[str, str]
    outputs: dict[str, str]
    packed: Callable[[Sequence[Any]], Any]


def lift(concrete: Any, asked: str, named: Iterable[tuple[Any, str]] = ()) -> Lifted:
    """Returns the body of a ConcreteFunction as a new `tf.Graph`; the function stays as it is.

    Args:
        concrete: the function. Its arguments become placeholders, its captured variables resource variables,
            captured tables tables, all other captured tensors constants.
        asked: the request, for messages.
        named: (variable, name) pairs, where the caller knows better names than the variables have.

    Raises:
        OpenError: it captures what no plain graph can hold, or TensorFlow refuses the body.

    Example:
        >>> w = tf.Variable(2.0, name="w")
        >>> f = tf.function(lambda x: x * w).get_concrete_function(tf.TensorSpec([], tf.float32, name="x"))
        >>> lifted = lift(f, "open(f)")
        >>> lifted.inputs, lifted.outputs, [v.name for v in lifted.graph.get_collection("variables")]
        ({'x': 'x:0'}, {'output': 'Identity:0'}, ['w:0'])
    """
    body, graph = concrete.graph, tf.Graph()
    taken = capture(concrete, graph, named, asked)
    source = snapshot(body, title="function")
    mask = np.ones(source.size, np.bool_)
    for name in (*taken.tensors, *taken.constants):
        mask[source.index[name.partition(":")[0]]] = False
    read = {f"{source.names[op]}:{port}" for op, port in zip(source.data.node, source.data.port, strict=True)}
    plan = Plan(snapshot(graph)).copy(
        Selection(source, mask, Query("select")),
        inputs={name: tensor.name for name, tensor in taken.tensors.items() if name in read},
        constants={name: value for name, value in taken.constants.items() if name in read},
        collections="none",
    )
    if plan.effect.faults:
        fault = plan.effect.faults[0]
        raise OpenError(asked, fault.wrong, fault.instead)
    values = OpenedValues(graph, taken.values, taken.handles)
    carry_out(plan.effect, graph)
    copied = plan.effect.copies[0]
    moved = {f"{source.names[op]}:{port}": f"{new}:{to}" for (op, port), (new, to) in copied.external.items()}
    arguments = list(body.inputs)[: len(body.inputs) - len(concrete.captured_inputs)]
    return Lifted(
        graph,
        values,
        {t.op.name: t.name for t in arguments},
        {key: moved.get(t.name, t.name) for key, t in _results(concrete)},
        partial(_packed, concrete.structured_outputs),
    )


def _packed(structure: Any, results: Sequence[Any]) -> Any:
    """What a function returns, made of its results."""
    left = iter(results)
    flat = [None if item is None else next(left) for item in tf.nest.flatten(structure, expand_composites=True)]
    return tf.nest.pack_sequence_as(structure, flat, expand_composites=True)


def _results(concrete: Any) -> list[tuple[str, Any]]:
    """The results by name: keys and positions in what the function returns, and parts of a composite, joined by "_"."""
    structure = concrete.structured_outputs
    flat = [item for item in tf.nest.flatten(structure, expand_composites=True) if item is not None]
    tensors = list(concrete.graph.outputs)[: len(flat)]  # a tape adds what a gradient needs behind them
    names: list[str] = []
    todo: list[tuple[str, Any]] = [("", structure)]
    while todo:
        path, item = todo.pop()
        if isinstance(item, dict):
            todo += [(f"{path}_{key}", item[key]) for key in sorted(item, reverse=True)]
        elif isinstance(item, (list, tuple)):
            todo += [(f"{path}_{i}", value) for i, value in reversed(list(enumerate(item)))]
        elif item is not None:
            lead = path.removeprefix("_") or "output"
            names += [f"{lead}_{part}" if part else lead for part in _parts(item)]
    if isinstance(structure, (list, tuple)):
        names = [f"output_{name}" for name in names]
    if len(names) != len(tensors) or len(set(names)) != len(tensors):
        names = [f"output_{i}" for i in range(len(tensors))]
    return list(zip(names, tensors, strict=True))


def _parts(item: Any) -> list[str]:
    """What the tensors are called that a result is made of, in TensorFlow's order; one, without a name, as a rule."""
    count = len(tf.nest.flatten(item, expand_composites=True))
    if count == 1:
        return [""]
    if isinstance(item, (tf.RaggedTensor, tf.RaggedTensorSpec)):
        splits = [f"row_splits_{i}" for i in range(count - 1)] if count > 2 else ["row_splits"]
        return ["values", *splits]
    if isinstance(item, (tf.SparseTensor, tf.SparseTensorSpec)):
        return ["indices", "values", "dense_shape"]
    if isinstance(item, (tf.IndexedSlices, tf.IndexedSlicesSpec)):
        return ["values", "indices", "dense_shape"][:count]
    return [str(i) for i in range(count)]
