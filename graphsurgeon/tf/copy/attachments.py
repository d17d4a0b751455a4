"""Attachments: what Python keeps in addition to the nodes: shapes, gradients, guards, variables, collections."""

from __future__ import annotations

from itertools import compress

import numpy as np

from ...graph.graph import Mask
from ...graph.live import TFGraph, TFOp
from ...graph.traversal import met_from
from ...plan.copied import Copied
from ...plan.made import Made
from ..functions import library as functions
from ..importing import tf
from ..private.contexts import innermost_context
from ..private.graphs import (
    callbacks,
    copy_handle_data,
    differently_shaped,
    guarded_ops,
    guarded_tensors,
    set_callbacks,
)
from ..values.variables import rebuilt, take_slots, variable_objects
from .collections import keep_collections
from .contexts import keep_contexts

_HANDLES = (tf.resource, tf.variant)


def attach(copied: Copied, graph: TFGraph, made: Made, loose: Mask | None = None) -> None:
    """Gives the copy what Python keeps in addition to the nodes: shapes, gradients, variables, collections.

    Args:
        copied: the copy.
        graph: the destination.
        made: what the plan has made so far.
        loose: a mask of the ops after the plan whose shapes TensorFlow infers anew, because their inputs changed.
    """
    source = copied.source.live
    numbers = copied.ops.tolist()
    old, new = source.get_operations(), made.live
    pairs = [(old[i], new[name]) for i, name in zip(numbers, copied.names, strict=True)]
    inferred = ~copied.source.typed(["Const"])[copied.ops]  # the shape of a constant is in its node
    same = np.ones(len(pairs), np.bool_) if loose is None else ~loose[copied.place[copied.ops]]
    keep_shapes(list(compress(pairs, (inferred & same).tolist())))
    _keep_handles(copied, graph, pairs, same)
    functions.keep_gradients(pairs)
    _keep_callbacks(copied, source, graph)
    contexts, missed = keep_contexts(copied, graph, pairs)
    _keep_guards(source, graph, pairs)
    made.missed += missed
    originals = variable_objects(source)
    with graph.as_default():
        for variable in copied.variables:
            built = rebuilt(graph, variable.made, originals.get(variable.was), copied.step.trainable)
            if built is not None:
                made.variables[variable.name] = built
    take_slots(graph, made.variables)
    keep_collections(copied, graph, made, contexts, originals)


def _keep_callbacks(copied: Copied, source: TFGraph, graph: TFGraph) -> None:
    """Keeps the Python functions of `py_func` ops alive as long as the copy."""
    calls = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
    held = callbacks(source)
    if held and any(copied.source.types[i] in calls for i in copied.ops.tolist()):
        set_callbacks(graph, [*callbacks(graph), *held])


def keep_shapes(pairs: list[tuple[TFOp, TFOp]]) -> None:
    """Sets on copies the shapes that were set by hand (`set_shape`), which are not in the nodes.

    A shape is left out if it contradicts the shape that TensorFlow infers for the copy. It is also left out if the
    copy has another dtype: then the value of a variable replaces its handle, which is a scalar.
    """
    for old, new in differently_shaped(pairs):
        if new.dtype == old.dtype and new.shape.is_compatible_with(old.shape):
            new.set_shape(old.shape)


def _keep_handles(copied: Copied, graph: TFGraph, pairs: list[tuple[TFOp, TFOp]], same: Mask) -> None:
    """Records the contents of resources that a placeholder supplies: TensorFlow has no attribute for them.

    TensorFlow cannot have inferred them for the ops that pass such a resource on either.
    """
    source, old, find = copied.source, copied.source.live.get_operations(), graph.get_operation_by_name
    fed = source.typed([kind for kind in source.kinds[0] if kind.startswith("Placeholder")])
    numbers = copied.ops[fed[copied.ops]].tolist()
    comes = [(old[i].outputs[0], find(copied.renamed(old[i].name)).outputs[0]) for i in numbers]
    for p in copied.placeholders:
        comes.append((source.live.as_graph_element(p.was), graph.get_tensor_by_name(f"{p.name}:0")))
    comes = [(was, new) for was, new in comes if was.dtype in _HANDLES]
    if not comes:
        return
    there = dict(zip(copied.ops[same].tolist(), compress(pairs, same.tolist()), strict=True))
    made = dict.fromkeys(source.index[was.op.name] for was, _ in comes)

    def hand_on(op: int) -> list[int]:
        return [reader for reader in source.consumers.row(op).tolist() if _gives_handle(old[reader])]

    for op in met_from(made, hand_on):
        if op in there and op not in made:
            comes += zip(there[op][0].outputs, there[op][1].outputs, strict=True)
    for was, new in comes:
        if was.dtype in _HANDLES:
            copy_handle_data(was, new)


def _gives_handle(op: TFOp) -> bool:
    return any(tensor.dtype in _HANDLES for tensor in op.outputs)


def _keep_guards(source: TFGraph, graph: TFGraph, pairs: list[tuple[TFOp, TFOp]]) -> None:
    """Forbids feeding and fetching in the copy if TensorFlow forbids it in the original.

    An op that is no longer in the loop or cond that was the reason can be fed and fetched.
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
