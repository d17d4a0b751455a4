"""Resources: tables, iterators and queues, and the ops that must run before they can be used."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any

import tensorflow as tf

from ...graph.live import TFGraph, TFOp
from ..functions.library import CALLS, definition
from ..private.functions import functions_of

HOLDERS = frozenset(
    {
        "HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensors",
        "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2", "AnonymousHashTable",
        "Iterator", "IteratorV2", "MultiDeviceIterator",
    }
)  # fmt: skip

_STARTERS = frozenset(
    {
        "InitializeTable", "InitializeTableV2", "InitializeTableFromTextFile", "InitializeTableFromTextFileV2",
        "InitializeTableFromDataset", "LookupTableImport", "LookupTableImportV2", "MakeIterator",
        "MultiDeviceIteratorInit",
    }
)  # fmt: skip


def init_ops(graph: TFGraph) -> dict[str, tuple[str, ...]]:
    """Returns for each table, iterator and queue the ops that fill it: they read it, so no ancestor walk finds them.

    The import ops of a Saver, which only a checkpoint can feed, are left out.
    """
    found = {}
    for op in graph.get_operations():
        if op.type in HOLDERS:
            readers = [r for t in op.outputs for r in t.consumers()]
            names = [r.name for r in readers if _starts(r)]
            if names:
                found[op.name] = tuple(names)
    for runner in graph.get_collection_ref("queue_runners") if "queue_runners" in graph.collections else ():
        if is_runner(runner):
            ops = [*runner.enqueue_ops, runner.close_op, runner.cancel_op]
            found[queue_of(runner)] = tuple(o.name for o in ops if o is not None)
    return found


def is_runner(item: Any) -> bool:
    """Returns whether this is a `QueueRunner`."""
    return isinstance(item, tf.compat.v1.train.QueueRunner)


def queue_of(runner: Any) -> str:
    """Returns the name of the queue op that a runner fills."""
    queue = getattr(runner.queue, "queue_ref", runner.queue)
    return str(getattr(queue, "op", queue).name)


def moved_runner(runner: Any, graph: TFGraph, rename: Callable[[str], str | None]) -> Any:
    """Returns a runner for the copy of a queue, or None where a part of it was not copied."""
    proto = runner.to_proto()
    # A queue object knows only the last part of its name.
    proto.queue_name = queue_of(runner)
    names = [proto.queue_name, proto.close_op_name, proto.cancel_op_name, *proto.enqueue_op_name]
    moved = [rename(name) if name else "" for name in names]
    if None in moved:
        return None
    proto.queue_name, proto.close_op_name, proto.cancel_op_name = moved[:3]
    proto.enqueue_op_name[:] = moved[3:]
    with graph.as_default():
        return tf.compat.v1.train.QueueRunner.from_proto(proto)


def _starts(op: TFOp) -> bool:
    """Whether an op that reads a table or iterator fills it: by itself, or by the function it calls."""
    called = functions_of(op.graph).get(op.get_attr("f").name) if op.type in CALLS else None
    inner = {node.op for node in definition(called).node_def} if called is not None else set()
    return fills(op.type, inner, [t.op.type for t in op.inputs])


def fills(kind: str, inner: Container[str], inputs: Iterable[str]) -> bool:
    """Returns whether an op that reads a table or iterator fills it, by itself or by the function it calls.

    Args:
        kind: its op type.
        inner: the op types in the function that it calls.
        inputs: the op types of what it reads.
    """
    if kind in _STARTERS:
        return not (kind.startswith("LookupTableImport") and any(one.startswith("Restore") for one in inputs))
    return kind in CALLS and any(one in inner for one in _STARTERS) and "RestoreV2" not in inner
