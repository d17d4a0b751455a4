"""The default handlers of a `Transformer`, and transformation op by op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..graph.tf_types import TFOp
from ..tf import graph_parts
from ..tf.copy.imports import all_or_nothing
from ..tf.edit import rewire as rewiring
from . import reroute, util
from .info import TensorMap, unique_name
from .util import WrongType, WrongValue, as_values, tell


def replace_t_with_placeholder_handler(info: Any, t: Any) -> Any:
    """Returns the placeholder for a tensor, which all its consumers share.

    Args:
        info: the `TransformerInfo` of the copy.
        t: the tensor from outside.
    """
    if t not in info.placeholders:
        name = unique_name(info.graph_, util.placeholder_name(t, scope=info.scope_))
        info.placeholders[t] = graph_parts.placeholder(info.graph_, t.dtype, t.shape, name)
    return info.placeholders[t]


def keep_t_if_possible_handler(info: Any, t: Any) -> Any:
    """Returns the tensor itself for a copy within one graph, else a placeholder.

    Args:
        info: the `TransformerInfo` of the copy.
        t: the tensor from outside.
    """
    return t if info.graph is info.graph_ else replace_t_with_placeholder_handler(info, t)


def assign_renamed_collections_handler(info: Any, elem: Any, elem_: Any) -> None:
    """Adds an op or tensor to the collections of its original. Names of custom collections get the scope as prefix.

    Args:
        info: the `TmpInfo`.
        elem, elem_: the original, and the new op or tensor.
    """
    for name in info.homes(elem):
        info.graph_.add_to_collection(info.new_collection(name), elem_)


def transform_op_if_inside_handler(info: Any, op: TFOp, keep_if_possible: bool = True) -> Any:
    """Returns the copy of an op of the view. An op outside is returned itself within one graph, else None.

    Args:
        info: the `TmpInfo`.
        op: the op.
        keep_if_possible: False to return None for any op outside.
    """
    if op in info.ops or op in info.transformed_ops:  # ops that were also copied are not in the view
        return info.transformed_ops[op]
    return op if keep_if_possible and info.graph is info.graph_ else None


def copy_op_handler(
    info: Any, op: TFOp, new_inputs: Any, copy_shape: bool = True, nodedef_fn: Callable[[Any], Any] | None = None
) -> tuple[Any, Any]:
    """Copies an op.

    Args:
        info: the `TmpInfo`.
        op: the op.
        new_inputs: the tensors of the destination for the copy to read.
        copy_shape: whether to keep static shapes that were set by hand, if the inputs have the same shapes.
        nodedef_fn: called with the NodeDef of the copy; returns the NodeDef to use.

    Returns:
        the new op, and its outputs.

    Raises:
        TypeError: `new_inputs` is a bool, as in very old code.
    """
    if isinstance(new_inputs, bool):
        raise WrongType("copy_op_handler(info, op, new_inputs)", "new_inputs must be an iterable of tensors",
                        "Give copy_shape by its name")  # fmt: skip
    new_inputs = list(new_inputs)
    name, places = unique_name(info.graph_, info.new_name(op.name)), {}
    if graph_parts.is_placed(op):
        places = {op.name: name, **{old.name: new.name for old, new in info.transformed_ops.items()}}
    node = graph_parts.copy_node(op, name, info.key, places)
    node = node if nodedef_fn is None else nodedef_fn(node)
    new = graph_parts.add_op(info.graph_, node, new_inputs)
    if copy_shape and graph_parts.same_shapes(op.inputs, new_inputs):
        for old, output in zip(op.outputs, new.outputs, strict=False):
            output.set_shape(old.shape)
    return new, new.outputs


# -- calling handlers -----------------------------------------------------------------------------


def place(info: Any, transformer: Any, pairs: Iterable[tuple[Any, Any]]) -> None:
    """Calls the handler that adds new ops and their outputs to collections.

    Args:
        info: the `TmpInfo`.
        transformer: the `Transformer`.
        pairs: pairs of an op and its copy.
    """
    handler = transformer.assign_collections_handler
    for old, new in pairs:
        handler(info, old, new)
        for t, t_ in zip(old.outputs, new.outputs, strict=True):
            handler(info, t, t_)


def note_originals(info: Any, transformer: Any, pairs: Sequence[tuple[Any, Any]]) -> None:
    """Sets the original ops of new ops; the arguments are the same as for `place`."""
    handler = transformer.transform_original_op_handler
    originals = graph_parts.originals_of([old for old, _ in pairs])
    for (_, new), original in originals and zip(pairs, originals, strict=True):
        original_copy = None if original is None else handler(info, original)
        if original_copy is not None:
            graph_parts.set_original(new, original_copy)


def run(info: Any, transformer: Any, replaced: Mapping[Any, Any]) -> list[Any]:
    """Transforms the view of an info with the handlers of a transformer.

    If a handler fails, the Python state of the ops is restored. Ops that were already made stay, because TensorFlow
    cannot delete ops.

    Args:
        info: the `TmpInfo`, to which the copies of ops and tensors are added.
        transformer: the handlers.
        replaced: tensors of the source -> tensors of the destination.

    Returns:
        the new ops in order.

    Raises:
        ValueError: a handler returns its argument instead of a new op.
    """
    with all_or_nothing(info.graph_):
        return _run(info, transformer, replaced)


def _run(info: Any, transformer: Any, replaced: Mapping[Any, Any]) -> list[Any]:
    info.given = mapping = TensorMap(replaced.items())
    waiting: list[tuple[Any, Any, Any]] = []
    ops = sorted(info.sgv.ops, key=graph_parts.number_of)
    first = unique_name(info.graph_, info.new_name(ops[0].name)) if ops else ""
    info.key = info.scope_ if info.fresh and info.scope_ else f"{first}/"
    graph_parts.adopt_functions(info.graph, info.graph_)
    for op in ops:
        inputs = [_tensor(info, transformer, mapping, waiting, t, op) for t in op.inputs]
        new, outputs = transformer.transform_op_handler(info, op, inputs)
        new = graph_parts.unwrap(new)
        if new is op:
            raise WrongValue(f"transform_op_handler(info, {op.name!r})", "in-place transformation is not allowed",
                             "Return a new op")  # fmt: skip
        info.transformed_ops[op] = new
        transformer.assign_collections_handler(info, op, new)
        for t, t_ in zip(op.outputs, outputs, strict=False):
            info.transformed_ts[t] = t_ = graph_parts.unwrap(t_)
            transformer.assign_collections_handler(info, t, t_)
    _close_loops(info, waiting)
    note_originals(info, transformer, [(op, info.transformed_ops[op]) for op in ops])
    for op in ops:
        _order(info, transformer, op)
    names = {old.name: new.name for old, new in info.transformed_ops.items()}
    graph_parts.rebuild_variables(info.graph, info.graph_, names, info.scope_.rstrip("/"), info.new_collection)
    if any(graph_parts.context_of(op) is not None for op in ops):
        tell("loops and conds that a transform_op_handler makes have no gradients: use copy for these")
    return list(info.transformed_ops.values())


def _tensor(info: Any, transformer: Any, mapping: Any, waiting: list[Any], t: Any, consumer: Any) -> Any:
    """Returns the tensor that a new op reads instead of `t`. Handlers are called once for each tensor from outside."""
    if t in mapping:
        return mapping[t]
    if t in info.transformed_ts:
        return info.transformed_ts[t]
    if t.op in info.ops:  # the op follows later: this edge closes a loop
        if consumer.type in ("Merge", "RefMerge") and t is not consumer.inputs[0]:
            stand_in = _tensor(info, transformer, mapping, waiting, consumer.inputs[0], consumer)
        else:
            stand_in = graph_parts.placeholder(info.graph_, t.dtype, t.shape, unique_name(
                info.graph_, f"{info.scope_}geph_tmp__{t.op.name.rpartition('/')[2]}_{t.value_index}"))  # fmt: skip
        waiting.append((t, consumer, list(consumer.inputs)))
        return stand_in
    mapping[t] = transformer.external_handler(t in info.sgv_inputs_set)(info, t)
    return mapping[t]


def _close_loops(info: Any, waiting: list[tuple[Any, Any, Any]]) -> None:
    changes = []
    for t, consumer, inputs in waiting:
        at = next(i for i, own in enumerate(inputs) if own is t)
        changes.append((info.transformed_ops[consumer], at, info.transformed_ts[t]))
    with as_values():
        rewiring.connect(changes, "closing the loops of a copy")


def _order(info: Any, transformer: Any, op: TFOp) -> None:
    new = info.transformed_ops[op]
    controls = [transformer.transform_control_input_handler(info, control) for control in op.control_inputs]
    there = set(new.control_inputs)
    reroute.add_control_inputs(new, [c for c in dict.fromkeys(controls) if c is not None and c not in there])
