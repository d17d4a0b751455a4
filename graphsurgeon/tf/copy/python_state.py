"""Copies the Python data of a graph that is not in its nodes: shapes, variables, gradients, collections."""

from __future__ import annotations

from itertools import compress

import numpy as np

from ...graph.graph import Mask
from ...graph.traversal import reachable_from
from ...graph.types import TFGraph, TFOp
from ...graph.variables import INPUT_TYPES
from ...plan.copy_result import CopyResult
from ...plan.plan_result import AppliedOps
from ..functions import definitions as functions
from ..import_tensorflow import tf
from ..private.contexts import innermost_context
from ..private.graphs import (
    callbacks,
    copy_handle_data,
    differently_shaped,
    guarded_ops,
    guarded_tensors,
    set_callbacks,
)
from ..values.variables import rebuild_variable, reserve_slot_names, variable_objects
from .collections import copy_collections
from .contexts import copy_contexts

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
    copy_collections(copy_result, graph, result, contexts, originals)


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
