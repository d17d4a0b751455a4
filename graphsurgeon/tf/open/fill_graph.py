"""Fills a live graph with the ops, functions and collections of a file."""

from __future__ import annotations

from typing import Any

from ...errors import OpenError
from ...graph.types import TFGraph, TFGraphDef
from ..copy.imports import import_nodes
from ..functions.definitions import adopt, set_fallback_gradients
from ..private.graphs import collection_reader
from ..protos import decode
from ..run.errors import errors_as


def import_graph(graph: TFGraph, graph_def: TFGraphDef, request: str) -> None:
    """Imports a GraphDef into a live graph; raises OpenError if TensorFlow refuses it."""
    with errors_as(OpenError, request, "TensorFlow refuses the graph", "Fix the graph in the code that made it"):
        import_nodes(graph, graph_def)
        if graph_def.library.function:
            adopt(graph, graph_def.library)
            set_fallback_gradients(graph, graph_def.library)


def fill_collections(graph: TFGraph, meta: Any, request: str) -> None:
    """Restores the collections of a MetaGraph, if there is one."""
    items: dict[bytes, Any] = {}
    suggestion = "Give the GraphDef alone, gs.open(meta.graph_def), to open it without its collections"
    with graph.as_default():
        for name, collection in sorted(meta.collection_def.items()) if meta is not None else ():
            with errors_as(OpenError, request, f"collection {name!r} is damaged", suggestion):
                _fill_collection(graph, name, collection, items)


def _fill_collection(graph: TFGraph, name: str, collection: Any, items: dict[bytes, Any]) -> None:
    """Restores a collection of a MetaGraph; values in an unknown encoding stay bytes, like in TensorFlow."""
    list_kind = collection.WhichOneof("kind")
    if list_kind == "node_list":
        for value in collection.node_list.value:
            graph.add_to_collection(name, graph.as_graph_element(value))
    elif list_kind == "bytes_list":
        proto_type, from_proto = collection_reader(name)
        for value in collection.bytes_list.value:
            if proto_type is None or from_proto is None:
                graph.add_to_collection(name, value)
                continue
            item = items.get(value)
            if item is None:
                item = items[value] = from_proto(decode(proto_type, value))
            graph.add_to_collection(name, item)
    elif list_kind is not None:
        for value in getattr(collection, list_kind).value:
            graph.add_to_collection(name, value)
