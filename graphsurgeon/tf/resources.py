"""Resources: tables, iterators and queues, and the ops that must run before they can be used."""

from __future__ import annotations

from typing import Any

_HOLDERS = frozenset(
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


def starters(graph: Any) -> dict[str, tuple[str, ...]]:
    """Returns for each table, iterator and queue the ops that fill it: they read it, so no ancestor walk finds them.

    The import ops of a Saver, which only a checkpoint can feed, are left out.
    """
    found = {}
    for op in graph.get_operations():
        if op.type in _HOLDERS:
            readers = [r for t in op.outputs for r in t.consumers() if r.type in _STARTERS]
            names = [r.name for r in readers if not _of_a_saver(r)]
            if names:
                found[op.name] = tuple(names)
    for runner in graph.get_collection_ref("queue_runners") if "queue_runners" in graph.collections else ():
        queue = getattr(runner, "queue", None)
        if queue is not None:
            ops = [*runner.enqueue_ops, runner.close_op, runner.cancel_op]
            found[queue.queue_ref.op.name] = tuple(o.name for o in ops if o is not None)
    return found


def _of_a_saver(op: Any) -> bool:
    return op.type.startswith("LookupTableImport") and any(t.op.type.startswith("Restore") for t in op.inputs)
