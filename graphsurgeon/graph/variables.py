"""Variables, collections, tables and iterators of a graph, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .functions import CALLS
from .names import op_name

RESOURCE_TYPES = frozenset(
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


def makes_table(kind: str, body_types: Iterable[str]) -> bool:
    """Returns whether an op makes a table or iterator, itself or in the functions that it calls.

    Args:
        kind: its op type.
        body_types: the op types in the functions that it calls.
    """
    return kind in RESOURCE_TYPES or (kind in CALLS and any(one in RESOURCE_TYPES for one in body_types))


def fills_table(kind: str, body_types: Container[str], inputs: Iterable[str]) -> bool:
    """Returns whether an op that reads a table or iterator fills it, itself or in the functions that it calls.

    Args:
        kind: its op type.
        body_types: the op types in the functions that it calls.
        inputs: the op types of its inputs.
    """
    if kind in _STARTERS:
        return not (kind.startswith("LookupTableImport") and any(one.startswith("Restore") for one in inputs))
    return kind in CALLS and any(one in body_types for one in _STARTERS) and "RestoreV2" not in body_types


VARIABLE_TYPES = frozenset({"Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable"})
#: Ops that set a variable.
ASSIGN_TYPES = frozenset({"Assign", "AssignVariableOp"})
PLACEHOLDER_TYPES = frozenset({"Placeholder", "PlaceholderV2"})
#: The same, and placeholders that a program may leave out.
INPUT_TYPES = PLACEHOLDER_TYPES | {"PlaceholderWithDefault"}

#: Ops that are stateful for TensorFlow, but only read a variable or a table, or facts about it.
READ_TYPES = frozenset(
    {
        "LookupTableFindV2", "LookupTableSizeV2", "ReadVariableOp", "ResourceGather", "ResourceGatherNd",
        "VarIsInitializedOp", "VariableShape",
    }
)  # fmt: skip

#: Ops that return whether a variable has a value.
QUERY_TYPES = frozenset({"VarIsInitializedOp", "IsVariableInitialized"})

#: Ops with a value from outside the graph. If a region depends on them, a copy of it would need another feed.
FEED_TYPES = frozenset(
    {
        "Placeholder", "PlaceholderV2", "_Arg", "IteratorGetNext", "IteratorGetNextSync", "IteratorGetNextAsOptional",
        "QueueDequeue", "QueueDequeueV2", "QueueDequeueMany", "QueueDequeueManyV2", "QueueDequeueUpTo",
        "QueueDequeueUpToV2", "ReaderRead", "ReaderReadV2", "ReaderReadUpTo", "ReaderReadUpToV2", "Unstage", "_Recv",
    }
)  # fmt: skip

_TABLES = ("MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable")
_QUEUES = ("FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue")

#: Tables and queues that ops fill while a session runs; their contents exist only in that session.
TABLE_TYPES = frozenset(kind + version for kind in _TABLES for version in ("", "V2"))
QUEUE_TYPES = frozenset(kind + version for kind in _QUEUES for version in ("", "V2"))


#: Why a variable has no value, if a session was given.
NOT_IN_SESSION = "not in the session"


@dataclass(frozen=True)
class VariableInfo:
    """A variable by the names of its parts.

    Args:
        op: name of the variable's op (``VariableV2``, ``VarHandleOp``).
        initializer: name of the op that assigns the initial value; empty if there is none.
        initial_value: name of the tensor with the initial value; empty if there is none.
        snapshot: name of the tensor that reads the value; empty if there is none.
        dtype, shape: as text.
        resource: True for resource variables.
        trainable: whether it is in a collection of trainable variables.
        collections: names of the collections that contain it.
    """

    op: str
    initializer: str = ""
    initial_value: str = ""
    snapshot: str = ""
    dtype: str = ""
    shape: str = ""
    resource: bool = False
    trainable: bool = False
    collections: tuple[str, ...] = ()

    @property
    def local(self) -> bool:
        """Whether it is a local variable, so that it normally has only its initial value."""
        return "local_variables" in self.collections


def variable_from_def(info: VariableInfo, proto: Any, assigned: str, collections: Iterable[str]) -> VariableInfo:
    """Returns the known facts of a variable, completed from its `VariableDef`.

    Args:
        info: the known facts: the op, dtype and shape.
        proto: the definition. Its initializer may be a tensor, if the variable starts from a checkpoint.
        assigned: the tensor that the initializer assigns, which may be missing from the definition.
        collections: the names of the collections that contain the variable.
    """
    inside = tuple(collections)
    return replace(
        info,
        initializer=op_name(proto.initializer_name),
        initial_value=assigned or proto.initial_value_name,
        snapshot=proto.snapshot_name,
        resource=proto.is_resource,
        trainable="trainable_variables" in inside,
        collections=inside,
    )


def variable_from_reads(op: str, readers: Iterable[tuple[str, str, str | None]], **facts: Any) -> VariableInfo:
    """Returns the facts of a variable that its consumers show.

    Args:
        op: name of the variable's op.
        readers: (op type, name, tensor that it assigns to the variable, or None) for each consumer.
        facts: the other known facts.

    Example:
        >>> info = variable_from_reads("w", [("Identity", "w/read", None), ("Assign", "w/Assign", "zeros:0")])
        >>> info.initializer, info.initial_value, info.snapshot
        ('w/Assign', 'zeros:0', 'w/read:0')
    """
    initializer = initial_value = snapshot = ""
    for kind, name, assigned in readers:
        if assigned is not None:
            if not initializer or name == f"{op}/Assign":
                initializer, initial_value = name, assigned
        elif kind in ("Identity", "ReadVariableOp") and name.startswith(f"{op}/"):
            snapshot = snapshot or f"{name}:0"
    return VariableInfo(op, initializer, initial_value, snapshot, **facts)


@dataclass(frozen=True)
class CollectionEntry:
    """One entry of a collection.

    Args:
        kind: ``op``, ``tensor``, ``variable``, ``runner``; ``structure`` for an object of several ops, such as a
            SparseTensor or a Saver; ``value`` for text, numbers and objects that belong to no graph; ``other``.
        name: its name, or its text.
        parts: the ops of a structure.
    """

    kind: str
    name: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class GraphState:
    """The state of a graph: its contents other than ops and edges.

    Args:
        variables: by op name.
        collections: in insertion order.
        contexts: for each outermost ``while_loop`` or ``cond`` of TF1, the names of all its ops.
        init_ops: op name -> ops that must run before it can be used (the initializer of a table or iterator).
    """

    variables: Mapping[str, VariableInfo] = field(default_factory=dict)
    collections: Mapping[str, tuple[CollectionEntry, ...]] = field(default_factory=dict)
    contexts: tuple[frozenset[str], ...] = ()
    init_ops: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def renamed(self, names: Mapping[str, str]) -> GraphState:
        """Returns the same state after ops are renamed: old name -> new name.

        Example:
            >>> GraphState({"w": VariableInfo("w", "w/Assign")}).renamed({"w": "v"}).variables["v"].initializer
            'w/Assign'
        """
        new = end_renamer(names)
        variables = [rename_variable(v, new) for v in self.variables.values()]
        collections = {
            key: tuple(_rename_entry(entry, new) for entry in entries) for key, entries in self.collections.items()
        }
        contexts = tuple(frozenset(map(new, ops)) for ops in self.contexts)
        init_ops = {new(op): tuple(map(new, ops)) for op, ops in self.init_ops.items()}
        return GraphState({v.op: v for v in variables}, collections, contexts, init_ops)


#: Entries of these kinds have the name of an op or a tensor.
_NAMED = frozenset({"op", "tensor", "variable"})


def _rename_entry(entry: CollectionEntry, new: Callable[[str], str]) -> CollectionEntry:
    name = new(entry.name) if entry.kind in _NAMED else entry.name
    return replace(entry, name=name, parts=tuple(map(new, entry.parts)))


def end_renamer(names: Mapping[str, str]) -> Callable[[str], str]:
    """Returns a function that returns the new name of an op or tensor, or the same name if it is not renamed.

    Example:
        >>> new = end_renamer({"a": "b"})
        >>> new("a:1"), new("a"), new("c")
        ('b:1', 'b', 'c')
    """

    def new(name: str) -> str:
        op, colon, port = name.partition(":")
        return names.get(op, op) + colon + port

    return new


def rename_variable(info: VariableInfo, new: Callable[[str], str]) -> VariableInfo:
    """Returns a variable with its parts after ops are renamed."""
    return replace(
        info,
        op=new(info.op),
        initializer=new(info.initializer),
        initial_value=new(info.initial_value),
        snapshot=new(info.snapshot),
    )
