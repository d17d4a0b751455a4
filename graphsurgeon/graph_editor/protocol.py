"""Protocol: a view transformed op by op, with new ops made by a handler of the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..graph.live import TFOp
from ..tf import elements
from ..tf.copy.rollback import all_or_nothing
from ..tf.edit import rewire as rewiring
from . import reroute
from .faults import WrongValue, as_values, tell
from .handlers import note_originals
from .info import TensorMap, unique_name


def run(info: Any, transformer: Any, replaced: Mapping[Any, Any]) -> list[Any]:
    """Transforms the view of an info with the handlers of a transformer.

    If a handler fails, the state that Python keeps for the ops is restored. Ops made by then stay, because TensorFlow
    cannot delete ops.

    Args:
        info: the `TmpInfo`, which gets the new place of each op and tensor.
        transformer: the handlers.
        replaced: tensors of the source -> tensors of the destination.

    Returns:
        the new ops in order.

    Raises:
        ValueError: a handler returns the op it was given.
    """
    with all_or_nothing(info.graph_):
        return _run(info, transformer, replaced)


def _run(info: Any, transformer: Any, replaced: Mapping[Any, Any]) -> list[Any]:
    info.given = given = TensorMap(replaced.items())
    waiting: list[tuple[Any, Any, Any]] = []
    ops = sorted(info.sgv.ops, key=elements.number_of)
    first = unique_name(info.graph_, info.new_name(ops[0].name)) if ops else ""
    info.key = info.scope_ if info.fresh and info.scope_ else f"{first}/"
    elements.adopt_functions(info.graph, info.graph_)
    for op in ops:
        inputs = [_tensor(info, transformer, given, waiting, t, op) for t in op.inputs]
        new, outputs = transformer.transform_op_handler(info, op, inputs)
        new = elements.bare(new)
        if new is op:
            raise WrongValue(f"transform_op_handler(info, {op.name!r})", "in-place transformation is not allowed",
                             "Return a new op")  # fmt: skip
        info.transformed_ops[op] = new
        transformer.assign_collections_handler(info, op, new)
        for t, t_ in zip(op.outputs, outputs, strict=False):
            info.transformed_ts[t] = t_ = elements.bare(t_)
            transformer.assign_collections_handler(info, t, t_)
    _close_loops(info, waiting)
    note_originals(info, transformer, [(op, info.transformed_ops[op]) for op in ops])
    for op in ops:
        _order(info, transformer, op)
    names = {old.name: new.name for old, new in info.transformed_ops.items()}
    elements.rebuild_variables(info.graph, info.graph_, names, info.scope_.rstrip("/"), info.new_collection)
    if any(elements.context_of(op) is not None for op in ops):
        tell("loops and conds that a transform_op_handler makes have no gradients: use copy for these")
    return list(info.transformed_ops.values())


def _tensor(info: Any, transformer: Any, given: Any, waiting: list[Any], t: Any, consumer: Any) -> Any:
    """Returns the tensor that a new op reads in the place of `t`; each one from outside is made once."""
    if t in given:
        return given[t]
    if t in info.transformed_ts:
        return info.transformed_ts[t]
    if t.op in info.ops:  # the op comes later: this closes a loop
        if consumer.type in ("Merge", "RefMerge") and t is not consumer.inputs[0]:
            stand_in = _tensor(info, transformer, given, waiting, consumer.inputs[0], consumer)
        else:
            stand_in = elements.placeholder(info.graph_, t.dtype, t.shape, unique_name(
                info.graph_, f"{info.scope_}geph_tmp__{t.op.name.rpartition('/')[2]}_{t.value_index}"))  # fmt: skip
        waiting.append((t, consumer, list(consumer.inputs)))
        return stand_in
    given[t] = transformer.external_handler(t in info.sgv_inputs_set)(info, t)
    return given[t]


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
