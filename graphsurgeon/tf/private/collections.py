"""Collections: reads the live collections of a graph, in an order that does not change; tried on TF 2.16 to 2.21."""

from __future__ import annotations

from typing import Any

from tensorflow.python.framework import ops

from ...graph.provenance import COLLECTION


def all_collections(graph: Any) -> dict[Any, list[Any]]:
    """Returns the live table of collections, not a copy, including keys that are not text."""
    return graph._collections


def collections_of(graph: Any) -> dict[str, list[Any]]:
    """Returns the live collections of a graph, sorted by name, because their order in TensorFlow changes.

    The collection of this package is left out: it is never copied or listed.
    """
    names = sorted(n for n in graph.get_all_collection_keys() if isinstance(n, str) and n != COLLECTION)
    return {name: graph.get_collection_ref(name) for name in names}


def collection_reader(name: str) -> tuple[Any, Any]:
    """Returns the proto type for items of a collection, and the function that reads it; None if there is none."""
    return ops.get_collection_proto_type(name), ops.get_from_proto_function(name)
