"""Collections of a copy: ops, tensors, variables, structures and values, in the order of the source.

`plan/resolve/copy.py` decides which collections a copy has, and their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from google.protobuf.message import Message

from ...graph.live import TFGraph, TFOp, TFVariable
from ...graph.names import op_name
from ...graph.variables import Entry
from ...plan.copied import Copied
from ...plan.made import Made
from ..importing import tf
from ..private.graphs import PLAIN, TENSOR, collections_of, is_composite
from ..private.variables import from_parts, is_partitioned, is_variable, unwrapped
from ..values.variables import join_collection
from .resources import is_runner, moved_runner, queue_of

tf1 = tf.compat.v1
#: Finds the copy of a tensor, op or variable; None if it was not copied.
Move = Callable[[Any], Any]
_VALUES = (str, bytes, bool, int, float, complex, type(None), np.ndarray, np.generic, Message, tf.DType, tf.TensorShape)


def keep_collections(
    copied: Copied, graph: TFGraph, made: Made, contexts: dict[int, Any], originals: dict[str, TFVariable]
) -> None:
    """Adds copies of the items of the source's collections to collections of the destination, in order.

    Args:
        copied: the copy.
        graph: the destination.
        made: what the plan has made so far; it notes what is added.
        contexts: id of a control-flow context of the source -> its copy.
        originals: op name -> variable object of the source.
    """
    targets = {c.was: c.name for c in copied.collections}
    if not targets:
        return
    source, move = copied.source.live, _Copies(copied, made, originals)
    whole = bool(copied.step.selection.mask.all())
    for was, items in collections_of(source).items():
        if was not in targets:
            continue
        found = []
        for item in items:
            if (type(item) in PLAIN and item.graph is source) or id(item) in move.variables:
                new = move(item)  # the most frequent kind: no other check is needed
            else:
                kind = entry(source, item).kind
                if kind == "other" or (kind == "value" and not whole):
                    continue
                new = contexts.get(id(item))
                if new is None:
                    single = kind in ("variable", "op", "tensor")
                    new = move(item) if single else moved(item, graph, move, move.name)
            if new is not None:
                found.append(new)
        # Only now: a copy within one graph adds to the lists that it reads.
        if found:
            join_collection(graph, targets[was], found)
            made.collections += [(targets[was], new) for new in found]


class _Copies:
    """Finds the copy of an op, tensor or variable of the source; None if it was not copied."""

    def __init__(self, copied: Copied, made: Made, originals: dict[str, TFVariable]) -> None:
        self._copied, self._live = copied, made.live
        self._variables = {v.was: made.variables.get(v.name) for v in copied.variables}
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
        return self._op(unwrapped(item).name)

    def _op(self, name: str) -> TFOp | None:
        return self._live[self._copied.renamed(name)] if self._copied.has(name) else None

    def name(self, name: str) -> str | None:
        """Returns the new name of an op or tensor."""
        return self._copied.renamed(name) if self._copied.has(op_name(name)) else None


def entry(graph: TFGraph, item: Any) -> Entry:
    """Describes an item of a collection in plain values."""
    if is_variable(item):
        return Entry("variable", item.op.name)
    item = unwrapped(item)
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
    """Returns the component tensors of a sparse or ragged tensor, or of a list; any other item is its only part."""
    if isinstance(thing, str) or hasattr(thing, "name"):
        return [thing]
    if not is_composite(thing) and isinstance(thing, Iterable):
        return [part for item in thing for part in parts_of(item)]
    return _parts(thing) or [thing]


def moved(item: Any, graph: TFGraph, move: Move, rename: Callable[[str], str | None]) -> Any:
    """Returns the item for the copy, or None if a part of it was not copied.

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
    """The tensors and variables in a structure; empty if the item is not a structure."""
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
