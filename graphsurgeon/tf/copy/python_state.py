"""Copies the Python data of a graph that is not in its nodes: shapes, variables, gradients, collections."""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from google.protobuf.message import Message

from ...errors import PlanError
from ...graph.graph import Mask
from ...graph.names import op_name
from ...graph.traversal import reachable_from
from ...graph.types import TFGraph, TFOp, TFVariable
from ...graph.variables import INPUT_TYPES, CollectionEntry
from ...plan.copy_result import CopyResult
from ...plan.plan_result import AppliedOps
from ...plan.static_checks import custom_gradients
from ..functions import definitions as functions
from ..import_tensorflow import tf
from ..private.c_api import TENSOR
from ..private.contexts import innermost_context
from ..private.graphs import (
    ELEMENT_TYPES,
    callbacks,
    collections_of,
    copy_handle_data,
    differently_shaped,
    from_parts,
    guarded_ops,
    guarded_tensors,
    is_composite,
    is_partitioned,
    is_variable,
    registered_gradient,
    set_callbacks,
    unwrap_update,
)
from ..values.variables import join_collection, rebuild_variable, reserve_slot_names, variable_objects
from .contexts import Renamer, copy_contexts
from .tables_and_queues import copy_runner, is_runner, queue_of

_HANDLES = (tf.resource, tf.variant)


def attach_python_state(copy_result: CopyResult, graph: TFGraph, result: AppliedOps, stale: Mask | None = None) -> None:
    """Adds the Python data to a copy that is not in its nodes: shapes, gradients, variables, collections.

    Args:
        copy_result: the copy.
        graph: the destination.
        result: the results of the plan so far.
        stale: a mask of the ops whose shapes TensorFlow infers again after the plan, because their inputs changed.
    """
    source = copy_result.source.live_graph
    numbers = copy_result.ops.tolist()
    old, new = source.get_operations(), result.live_ops
    pairs = [(old[i], new[name]) for i, name in zip(numbers, copy_result.names, strict=True)]
    inferred = ~copy_result.source.type_mask(["Const"])[copy_result.ops]  # the shape of a constant is in its node
    same = np.ones(len(pairs), np.bool_) if stale is None else ~stale[copy_result.positions[copy_result.ops]]
    copy_shapes(list(compress(pairs, (inferred & same).tolist())))
    _copy_handle_data(copy_result, graph, pairs, same)
    functions.copy_gradients(pairs)
    _copy_callbacks(copy_result, source, graph)
    contexts, missed = copy_contexts(copy_result, graph, pairs)
    _copy_guards(source, graph, pairs)
    result.partial_contexts += missed
    originals = variable_objects(source)
    with graph.as_default():
        for variable in copy_result.variables:
            new_variable = rebuild_variable(
                graph, variable.new_info, originals.get(variable.original), copy_result.step.trainable
            )
            if new_variable is not None:
                result.variables[variable.name] = new_variable
    reserve_slot_names(graph, result.variables)
    _copy_collections(copy_result, graph, result, contexts, originals)


def _copy_callbacks(copy_result: CopyResult, source: TFGraph, graph: TFGraph) -> None:
    """Keeps the Python functions of `py_func` ops alive as long as the copy."""
    calls = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
    source_callbacks = callbacks(source)
    if source_callbacks and any(copy_result.source.types[i] in calls for i in copy_result.ops.tolist()):
        set_callbacks(graph, [*callbacks(graph), *source_callbacks])


def copy_shapes(pairs: list[tuple[TFOp, TFOp]]) -> None:
    """Copies the shapes that were set by `set_shape`, which are not in the nodes.

    A shape is left out if it contradicts the shape that TensorFlow infers for the copy. It is also left out if the
    dtype of the copy differs. In this case, the value of a variable replaces its handle, which is a scalar.
    """
    for old, new in differently_shaped(pairs):
        if new.dtype == old.dtype and new.shape.is_compatible_with(old.shape):
            new.set_shape(old.shape)


def _copy_handle_data(copy_result: CopyResult, graph: TFGraph, pairs: list[tuple[TFOp, TFOp]], same: Mask) -> None:
    """Sets the handle data of resources that come from placeholders, because no attribute contains this data.

    TensorFlow cannot infer it for ops that pass on these resources either.
    """
    source, old, find = copy_result.source, copy_result.source.live_graph.get_operations(), graph.get_operation_by_name
    fed = source.type_mask(INPUT_TYPES)
    numbers = copy_result.ops[fed[copy_result.ops]].tolist()
    handle_pairs = [(old[i].outputs[0], find(copy_result.renamed(old[i].name)).outputs[0]) for i in numbers]
    for p in copy_result.placeholders:
        handle_pairs.append((source.live_graph.as_graph_element(p.original), graph.get_tensor_by_name(f"{p.name}:0")))
    handle_pairs = [(was, new) for was, new in handle_pairs if was.dtype in _HANDLES]
    if not handle_pairs:
        return
    pair_of = dict(zip(copy_result.ops[same].tolist(), compress(pairs, same.tolist()), strict=True))
    start = dict.fromkeys(source.index[was.op.name] for was, _ in handle_pairs)

    def handle_consumers(op: int) -> list[int]:
        return [consumer for consumer in source.consumers.row(op).tolist() if _has_handle_output(old[consumer])]

    for op in reachable_from(start, handle_consumers):
        if op in pair_of and op not in start:
            handle_pairs += zip(pair_of[op][0].outputs, pair_of[op][1].outputs, strict=True)
    for was, new in handle_pairs:
        if was.dtype in _HANDLES:
            copy_handle_data(was, new)


def _has_handle_output(op: TFOp) -> bool:
    return any(tensor.dtype in _HANDLES for tensor in op.outputs)


def _copy_guards(source: TFGraph, graph: TFGraph, pairs: list[tuple[TFOp, TFOp]]) -> None:
    """Forbids feeding and fetching in the copy if TensorFlow forbids it in the original.

    If the copy is not in the loop or cond that was the reason, it can be fed and fetched.
    """
    ops, tensors = guarded_ops(source), guarded_tensors(source)
    for old, new in pairs if ops or tensors else ():
        if innermost_context(old) is not None and innermost_context(new) is None:
            continue
        if ops and old in ops:
            graph.prevent_fetching(new)
        for a, b in zip(old.outputs, new.outputs, strict=True) if tensors else ():
            if any(a is t for t in tensors or ()):
                graph.prevent_feeding(b)


_numbers = itertools.count(1)
#: The types of values that cannot contain a tensor.
_PLAIN_TYPES = (type(None), bool, int, float, complex, str, bytes, np.ndarray, np.generic, tf.DType, tf.TensorShape,
                type,
          types.ModuleType, types.BuiltinFunctionType, slice, range, type(...))  # fmt: skip


class _NotCopied(Exception):
    """Raised if a gradient uses something that was not copied."""


@dataclass
class CopiedGradient:
    """The gradient of one copied op. It is registered before the import, and bound to its tensors after the import.

    Args:
        source: number of the source op.
        original: the gradient function of the original.
        name: the name under which the new gradient is registered.
    """

    source: int
    original: Callable[..., Any] | None
    name: str
    call: Callable[..., Any] | None = None
    reason: str = ""

    def __call__(self, op: TFOp, *slopes: Any) -> Any:
        """Returns the gradients of the op's inputs, in the form that TensorFlow requires."""
        if self.call is None:
            raise PlanError(
                f"gradient through {op.name!r}",
                f"its tf.custom_gradient {self.reason or 'was never given to this copy'}",
                "Compute the gradient before you copy, or also copy the tensors and variables that it uses",
            )
        return self.call(op, *slopes)


def register_gradients(copy_result: CopyResult) -> list[CopiedGradient]:
    """Registers a gradient for the copy of each op with a `tf.custom_gradient`; unknown gradients are left out."""
    mask = copy_result.positions >= 0
    gradients = []
    for number, name in custom_gradients(copy_result.source, mask).items():
        try:
            original = registered_gradient(name)
        except LookupError:  # the graph came from a file, which does not contain gradients
            continue
        why = ""
        if isinstance(original, CopiedGradient):  # a copy of a copy
            why, original = original.reason, original.call
        new = CopiedGradient(number, original, f"{name.partition('-copy-')[0]}-copy-{next(_numbers)}", reason=why)
        tf.RegisterGradient(new.name)(new)
        gradients.append(new)
    return gradients


def bind_gradients(
    copy_result: CopyResult, graph: TFGraph, variables: dict[str, TFVariable], gradients: list[CopiedGradient]
) -> None:
    """Binds the gradients of a copy to the tensors and variables of the copy, after these were made.

    Args:
        copy_result: the copy.
        graph: the destination.
        variables: new variable op name -> object.
        gradients: the result of `register_gradients`.
    """
    for new in gradients:
        if new.original is None:
            continue
        try:
            new.call = _GradientCopier(copy_result, graph, variables).function(new.original)
        except _NotCopied as stuck:
            new.reason = f"uses {stuck}"


class _GradientCopier:
    """Copies a Python function: the code stays the same, and captured tensors are replaced by their copies."""

    def __init__(self, copy_result: CopyResult, graph: TFGraph, variables: dict[str, TFVariable]) -> None:
        self._copy_result, self._graph, self._variables = copy_result, graph, variables
        self._source = copy_result.source.live_graph
        self._copies: dict[int, Any] = {}

    def function(self, old: Any) -> Any:
        if id(old) in self._copies:
            return self._copies[id(old)]
        module = str(getattr(old, "__module__", ""))
        if module.startswith(("tensorflow.", "keras.")) and not module.endswith("custom_gradient"):
            return old
        self._copies[id(old)] = old  # a function that calls itself
        cells = tuple(types.CellType(self.value(cell.cell_contents)) for cell in old.__closure__ or ())
        space = dict(old.__globals__)
        for name in old.__code__.co_names:
            if name in space and self._concerns(space[name]):
                space[name] = self.value(space[name])
        new = types.FunctionType(old.__code__, space, old.__name__, self.value(old.__defaults__), cells or None)
        new.__kwdefaults__ = self.value(old.__kwdefaults__)
        self._copies[id(old)] = new
        return new

    def _concerns(self, obj: Any) -> bool:
        """Whether a global variable of the module of the gradient is a tensor, a variable, or a plain container."""
        return isinstance(obj, (tf.Tensor, tf.Variable, list, tuple, dict)) or is_composite(obj)

    def value(self, old: Any) -> Any:
        if isinstance(old, _PLAIN_TYPES):
            return old
        if isinstance(old, tf.Variable):
            return self._variable(old)
        if isinstance(old, tf.Tensor):
            return self._tensor(old)
        if isinstance(old, types.FunctionType):
            return self.function(old)
        if isinstance(old, functools.partial):
            return functools.partial(self.value(old.func), *self.value(old.args), **self.value(old.keywords))
        if isinstance(old, (list, tuple, dict)) or is_composite(old):
            leaves = tf.nest.flatten(old, expand_composites=True)
            copies = [leaf if leaf is old else self.value(leaf) for leaf in leaves]
            return tf.nest.pack_sequence_as(old, copies, expand_composites=True)
        if isinstance(old, (set, frozenset)):
            return type(old)(self.value(item) for item in old)
        raise _NotCopied(f"an object of type {type(old).__name__}, which may hold anything")

    def _tensor(self, old: Any) -> Any:
        if getattr(old, "graph", None) is not self._source:
            return old
        new = Renamer(self._copy_result)(old.name)
        if new is None:
            raise _NotCopied(f"{old.name!r}, which was not copied")
        return self._graph.get_tensor_by_name(new)

    def _variable(self, old: Any) -> Any:
        if getattr(old, "graph", None) is not self._source:
            return old
        copied = self._copy_result
        new = self._variables.get(copied.renamed(old.op.name))
        if new is not None and copied.positions[copied.source.index[old.op.name]] >= 0:
            return new
        if copied.closure.shared[copied.source.index[old.op.name]]:
            return old
        raise _NotCopied(f"the variable {old.op.name!r}, which was not copied")


tf1 = tf.compat.v1
#: Finds the copy of a tensor, op or variable; None if it was not copied.
Move = Callable[[Any], Any]
_VALUES = (str, bytes, bool, int, float, complex, type(None), np.ndarray, np.generic, Message, tf.DType, tf.TensorShape)


def _copy_collections(
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
