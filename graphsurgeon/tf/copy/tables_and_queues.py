"""Resources: tables, iterators and queues, and the ops that must run before they can be used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...graph.functions import CALLS, op_types_finder
from ...graph.traversal import reachable_from
from ...graph.types import TFGraph, TFOp
from ...graph.variables import PLACEHOLDER_TYPES, RESOURCE_TYPES, fills_table, makes_table
from ..functions.definitions import LiveFunctions
from ..import_tensorflow import tf


def init_ops(graph: TFGraph) -> dict[str, tuple[str, ...]]:
    """Returns table, iterator or queue -> the ops that fill it: these are its consumers, not its ancestors.

    The import ops of a Saver are left out, because only a checkpoint can feed them.
    """
    fillers = _fillers(graph, graph.get_operations())
    for runner in graph.get_collection_ref("queue_runners") if "queue_runners" in graph.collections else ():
        if is_runner(runner):
            ops = [*runner.enqueue_ops, runner.close_op, runner.cancel_op]
            fillers[queue_of(runner)] = tuple(o.name for o in ops if o is not None)
    return fillers


def _fillers(graph: TFGraph, ops: Iterable[TFOp]) -> dict[str, tuple[str, ...]]:
    """Returns the ops that fill the tables and iterators among some ops."""
    fillers, types_in = {}, op_types_finder(LiveFunctions(graph))

    def inner(op: TFOp) -> frozenset[str]:
        return types_in(op.get_attr("f").name if op.type in CALLS else "")

    for op in ops:
        if op.type not in RESOURCE_TYPES and op.type not in CALLS:
            continue
        handles = [t for t in op.outputs if op.type in RESOURCE_TYPES or t.dtype == tf.resource]
        if handles and makes_table(op.type, inner(op)):
            readers = dict.fromkeys(r for t in handles for r in t.consumers())
            names = [r.name for r in readers if fills_table(r.type, inner(r), [t.op.type for t in r.inputs])]
            if names:
                fillers[op.name] = tuple(names)
    return fillers


def table_fillers(graph: TFGraph, ops: Iterable[str] | None = None) -> dict[str, tuple[str, ...]]:
    """Returns table -> the ops that fill it, which a session must run once before the table is read.

    Args:
        graph: the graph.
        ops: the ops that may be tables; None for all ops.
    """
    those = graph.get_operations() if ops is None else [graph.get_operation_by_name(name) for name in ops]
    return _fillers(graph, [op for op in those if "Table" in op.type or op.type in CALLS])


def ready_fillers(graph: TFGraph, ops: Iterable[str] | None = None) -> list[TFOp]:
    """Returns the ops that fill tables and need no feed; arguments as in `table_fillers`."""
    names = dict.fromkeys(name for group in table_fillers(graph, ops).values() for name in group)
    fillers = [graph.get_operation_by_name(name) for name in names]
    return [
        op for op in fillers if not any(above.type in PLACEHOLDER_TYPES for above in reachable_from([op], _ancestors))
    ]


def _ancestors(op: TFOp) -> list[TFOp]:
    return [*(tensor.op for tensor in op.inputs), *op.control_inputs]


def is_runner(item: Any) -> bool:
    """Returns whether an item is a `QueueRunner`."""
    return isinstance(item, tf.compat.v1.train.QueueRunner)


def queue_of(runner: Any) -> str:
    """Returns the name of the queue op that a runner fills."""
    queue = getattr(runner.queue, "queue_ref", runner.queue)
    return str(getattr(queue, "op", queue).name)


def copy_runner(runner: Any, graph: TFGraph, rename: Callable[[str], str | None]) -> Any:
    """Returns a runner for the copy of a queue, or None if a part of the queue was not copied."""
    proto = runner.to_proto()
    # A queue object stores only the last part of its name.
    proto.queue_name = queue_of(runner)
    names = [proto.queue_name, proto.close_op_name, proto.cancel_op_name, *proto.enqueue_op_name]
    new_names = [rename(name) if name else "" for name in names]
    if None in new_names:
        return None
    proto.queue_name, proto.close_op_name, proto.cancel_op_name = new_names[:3]
    proto.enqueue_op_name[:] = new_names[3:]
    with graph.as_default():
        return tf.compat.v1.train.QueueRunner.from_proto(proto)
