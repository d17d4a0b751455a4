"""Copies the collections of a graph: the collections by name, and the items of each in their order.

`plan/steps/copy.py` decides which collections a copy has, and their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from google.protobuf.message import Message

from ...graph.names import op_name
from ...graph.types import TFGraph, TFOp, TFVariable
from ...graph.variables import CollectionEntry
from ...plan.copy_result import CopyResult
from ...plan.plan_result import AppliedOps
from ..import_tensorflow import tf
from ..private.c_api import TENSOR
from ..private.graphs import ELEMENT_TYPES, collections_of, is_composite
from ..private.sessions import from_parts, is_partitioned, is_variable, unwrap_update
from ..values.variables import join_collection
from .tables_and_queues import copy_runner, is_runner, queue_of

tf1 = tf.compat.v1
#: Finds the copy of a tensor, op or variable; None if it was not copied.
Move = Callable[[Any], Any]
_VALUES = (str, bytes, bool, int, float, complex, type(None), np.ndarray, np.generic, Message, tf.DType, tf.TensorShape)


def copy_collections(
    copy_result: CopyResult,
    graph: TFGraph,
    result: AppliedOps,
    contexts: dict[int, Any],
    originals: dict[str, TFVariable],
) -> None:
    """Adds copies of the items of the source's collections to collections of the destination, in order.

    Args:
        copy_result: the copy.
        graph: the destination.
        result: the results of the plan so far; the new items are added to it.
        contexts: id of a control-flow context of the source -> its copy.
        originals: op name -> variable object of the source.
    """
    targets = {c.original: c.name for c in copy_result.collections}
    if not targets:
        return
    source, move = copy_result.source.live_graph, _CopyFinder(copy_result, result, originals)
    is_whole_graph = bool(copy_result.step.selection.mask.all())
    lists = collections_of(source)
    for was in sorted(targets.keys() & lists):
        items, new_items = lists[was], []
        for item in items:
            if (type(item) in ELEMENT_TYPES and item.graph is source) or id(item) in move.variables:
                new = move(item)  # the most frequent type of item, which needs no other check
            else:
                kind = describe_item(source, item).kind
                if kind == "other" or (kind == "value" and not is_whole_graph):
                    continue
                new = contexts.get(id(item))
                if new is None:
                    single = kind in ("variable", "op", "tensor")
                    new = move(item) if single else copy_item(item, graph, move, move.name)
            if new is not None:
                new_items.append(new)
        # Added after the loop, because a copy within one graph adds to the lists that it reads.
        if new_items:
            join_collection(graph, targets[was], new_items)
            result.collections += [(targets[was], new) for new in new_items]


class _CopyFinder:
    """Finds the copy of an op, tensor or variable of the source; None if it was not copied."""

    def __init__(self, copy_result: CopyResult, result: AppliedOps, originals: dict[str, TFVariable]) -> None:
        self._copy_result, self._ops = copy_result, result.live_ops
        self._variables = {v.original: result.variables.get(v.name) for v in copy_result.variables}
        self.variables = {id(old): self._variables[name] for name, old in originals.items() if name in self._variables}

    def __call__(self, item: Any) -> Any:
        kind = type(item)
        if id(item) in self.variables:
            return self.variables[id(item)]
        if kind is TENSOR or (kind is not tf.Operation and hasattr(item, "value_index")):
            op = self._op(item.op.name)
            return None if op is None else op.outputs[item.value_index]
        if kind is not tf.Operation and is_variable(item):
            return self._variables.get(item.op.name)
        return self._op(unwrap_update(item).name)

    def _op(self, name: str) -> TFOp | None:
        return self._ops[self._copy_result.renamed(name)] if self._copy_result.contains(name) else None

    def name(self, name: str) -> str | None:
        """Returns the new name of an op or tensor."""
        return self._copy_result.renamed(name) if self._copy_result.contains(op_name(name)) else None


def describe_item(graph: TFGraph, item: Any) -> CollectionEntry:
    """Describes an item of a collection in plain values."""
    if is_variable(item):
        return CollectionEntry("variable", item.op.name)
    item = unwrap_update(item)
    if is_runner(item):
        return CollectionEntry("runner", queue_of(item))
    if getattr(item, "graph", None) is graph:
        if hasattr(item, "node_def"):
            return CollectionEntry("op", item.name)
        if hasattr(item, "value_index"):
            return CollectionEntry("tensor", item.name)
    if isinstance(item, tf1.train.Saver):
        return CollectionEntry("structure", "Saver", tuple(n.partition(":")[0] for n in _saver_names(item) if n))
    if _is_context(item):
        return CollectionEntry(
            "structure", type(item).__name__, (str(item.pivot.op.name),) if item.pivot is not None else ()
        )
    parts = _parts(item)
    if parts and all(getattr(part, "graph", None) is graph for part in parts):
        return CollectionEntry(
            "structure", type(item).__name__, tuple(str(getattr(part, "op", part).name) for part in parts)
        )
    if is_value(item, graph):
        return CollectionEntry("value", repr(item)[:80])
    return CollectionEntry("other", repr(item)[:80])


def is_value(item: Any, graph: TFGraph) -> bool:
    """Returns whether an item does not depend on `graph`: text, numbers, messages, or objects without its tensors."""
    if isinstance(item, _VALUES):
        return True
    values = list(vars(item).values()) if hasattr(item, "__dict__") else []
    leaves = tf.nest.flatten([item, values])
    return not any(leaf is graph or getattr(leaf, "graph", None) is graph for leaf in leaves)


def parts_of(obj: Any) -> list[Any]:
    """Returns the component tensors of a sparse or ragged tensor, or of a list; for other items, the item itself."""
    if isinstance(obj, str) or hasattr(obj, "name"):
        return [obj]
    if not is_composite(obj) and isinstance(obj, Iterable):
        return [part for item in obj for part in parts_of(item)]
    return _parts(obj) or [obj]


def copy_item(item: Any, graph: TFGraph, move: Move, rename: Callable[[str], str | None]) -> Any:
    """Returns the item for the copy, or None if a part of it was not copied.

    Structures keep their type: SparseTensor, RaggedTensor, IndexedSlices, tuple, dict, PartitionedVariable.

    Args:
        item: a queue runner, a Saver, a structure of tensors or variables, or a value.
        graph: the destination.
        move: finds the copy of a tensor, op or variable.
        rename: finds the new name of an op or tensor.
    """
    if is_runner(item):
        return copy_runner(item, graph, rename)
    if isinstance(item, tf1.train.Saver):
        return _copy_saver(item, graph, rename)
    parts = _parts(item)
    if not parts:
        return None if _is_context(item) else item
    copies = {id(part): move(part) for part in parts}
    if any(new is None for new in copies.values()):
        return None
    if is_partitioned(item):
        return from_parts(item, copies)
    leaves = tf.nest.flatten(item, expand_composites=True)
    return tf.nest.pack_sequence_as(item, [copies.get(id(leaf), leaf) for leaf in leaves], expand_composites=True)


def _parts(item: Any) -> list[Any]:
    """Returns the tensors and variables in a structure; empty if the item is not a structure."""
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


def _copy_saver(saver: Any, graph: TFGraph, rename: Callable[[str], str | None]) -> Any:
    names = _saver_names(saver)
    new = [rename(name) for name in names]
    if not names or None in new:
        return None
    about = type(saver.saver_def)()
    about.CopyFrom(saver.saver_def)
    about.filename_tensor_name, about.save_tensor_name, about.restore_op_name = new
    with graph.as_default():
        return tf1.train.Saver(saver_def=about)
