"""Tables: the op types that make tables and iterators, and the op types that fill them."""

from __future__ import annotations

from collections.abc import Container, Iterable

from .functions import CALLS

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


def holds(kind: str, inner: Iterable[str]) -> bool:
    """Returns whether an op makes a table or iterator, by itself or in the functions it calls.

    Args:
        kind: its op type.
        inner: the op types in the functions that it calls.
    """
    return kind in HOLDERS or (kind in CALLS and any(one in HOLDERS for one in inner))


def fills(kind: str, inner: Container[str], inputs: Iterable[str]) -> bool:
    """Returns whether an op that reads a table or iterator fills it, by itself or in the functions it calls.

    Args:
        kind: its op type.
        inner: the op types in the functions that it calls.
        inputs: the op types of its inputs.
    """
    if kind in _STARTERS:
        return not (kind.startswith("LookupTableImport") and any(one.startswith("Restore") for one in inputs))
    return kind in CALLS and any(one in inner for one in _STARTERS) and "RestoreV2" not in inner
