"""Items: what a collection can hold beside ops, tensors and variables, and how it comes into a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import Message

from ...graph.live import TFGraph
from ...graph.variables import Entry
from ..private.graphs import is_composite
from ..private.variables import from_parts, is_partitioned, is_variable
from .resources import is_runner, moved_runner, queue_of

tf1 = tf.compat.v1
#: Finds the copy of a tensor, op or variable; None where there is none.
Move = Callable[[Any], Any]
_VALUES = (str, bytes, bool, int, float, complex, type(None), np.ndarray, np.generic, Message, tf.DType, tf.TensorShape)


def entry(graph: TFGraph, item: Any) -> Entry:
    """Returns what an item of a collection is, in plain values."""
    if is_variable(item):
        return Entry("variable", item.op.name)
    if is_runner(item):
        return Entry("runner", queue_of(item))
    if getattr(item, "graph", None) is graph:
        if hasattr(item, "node_def"):
            return Entry("op", item.name)
        if hasattr(item, "value_index"):
            return Entry("tensor", item.name)
    if isinstance(item, tf1.train.Saver):
        return Entry("structure", "Saver", tuple(n.partition(":")[0] for n in _saver_names(item) if n))
    if _is_context(item):
        return Entry("structure", type(item).__name__, (str(item.pivot.op.name),) if item.pivot is not None else ())
    parts = _parts(item)
    if parts and all(getattr(part, "graph", None) is graph for part in parts):
        return Entry("structure", type(item).__name__, tuple(str(getattr(part, "op", part).name) for part in parts))
    if is_value(item, graph):
        return Entry("value", repr(item)[:80])
    return Entry("other", repr(item)[:80])


def is_value(item: Any, graph: TFGraph) -> bool:
    """Returns whether an item can be in any graph: text, numbers, messages, objects that hold nothing of `graph`."""
    if isinstance(item, _VALUES):
        return True
    held = list(vars(item).values()) if hasattr(item, "__dict__") else []
    leaves = tf.nest.flatten([item, held])
    return not any(leaf is graph or getattr(leaf, "graph", None) is graph for leaf in leaves)


def parts_of(thing: Any) -> list[Any]:
    """Returns the tensors that a sparse or ragged tensor, or a list of any, is made of; another is its only part."""
    if isinstance(thing, str) or hasattr(thing, "name"):
        return [thing]
    if not is_composite(thing) and isinstance(thing, Iterable):
        return [part for item in thing for part in parts_of(item)]
    return _parts(thing) or [thing]


def moved(item: Any, graph: TFGraph, move: Move, rename: Callable[[str], str | None]) -> Any:
    """Returns the item for the copy, or None where a part of it was not copied.

    A structure keeps its kind: SparseTensor, RaggedTensor, IndexedSlices, tuple, dict, PartitionedVariable.

    Args:
        item: a queue runner, a Saver, a structure of tensors or variables, or a value.
        graph: the destination.
        move: finds the copy of a tensor, op or variable.
        rename: finds the new name of an op or tensor.
    """
    if is_runner(item):
        return moved_runner(item, graph, rename)
    if isinstance(item, tf1.train.Saver):
        return _moved_saver(item, graph, rename)
    parts = _parts(item)
    if not parts:
        return None if _is_context(item) else item
    found = {id(part): move(part) for part in parts}
    if any(new is None for new in found.values()):
        return None
    if is_partitioned(item):
        return from_parts(item, found)
    leaves = tf.nest.flatten(item, expand_composites=True)
    return tf.nest.pack_sequence_as(item, [found.get(id(leaf), leaf) for leaf in leaves], expand_composites=True)


def _parts(item: Any) -> list[Any]:
    """The tensors and variables a structure is made of; empty where it is none."""
    if is_partitioned(item):
        return list(item)
    if isinstance(item, (list, tuple, dict)) or (is_composite(item) and not isinstance(item, tf.Tensor)):
        return [leaf for leaf in tf.nest.flatten(item, expand_composites=True) if _in_a_graph(leaf)]
    return []


def _in_a_graph(leaf: Any) -> bool:
    return not isinstance(leaf, str) and (hasattr(leaf, "node_def") or getattr(leaf, "op", None) is not None)


def _is_context(item: Any) -> bool:
    return hasattr(item, "pivot") and hasattr(item, "to_control_flow_context_def")


def _saver_names(saver: Any) -> list[str]:
    about = saver.saver_def
    return [about.filename_tensor_name, about.save_tensor_name, about.restore_op_name] if about else []


def _moved_saver(saver: Any, graph: TFGraph, rename: Callable[[str], str | None]) -> Any:
    names = _saver_names(saver)
    new = [rename(name) for name in names]
    if not names or None in new:
        return None
    about = type(saver.saver_def)()
    about.CopyFrom(saver.saver_def)
    about.filename_tensor_name, about.save_tensor_name, about.restore_op_name = new
    with graph.as_default():
        return tf1.train.Saver(saver_def=about)
