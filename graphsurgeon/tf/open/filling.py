"""Filling: a live graph gets the ops, functions and collections of a file."""

from __future__ import annotations

from typing import Any

from ...errors import OpenError
from ...graph.live import TFGraph, TFGraphDef
from ..copy.imports import import_nodes
from ..functions.lent_gradients import lend_gradients
from ..functions.library import adopt
from ..private.graphs import collection_reader
from ..run.errors import errors_as
from ..wire import decoded


def import_graph(graph: TFGraph, graph_def: TFGraphDef, request: str) -> None:
    """Imports a GraphDef into a live graph; raises OpenError if TensorFlow refuses it."""
    with errors_as(OpenError, request, "TensorFlow refuses the graph", "Fix the graph in the code that made it"):
        import_nodes(graph, graph_def)
        if graph_def.library.function:
            adopt(graph, graph_def.library)
            lend_gradients(graph, graph_def.library)


def fill_collections(graph: TFGraph, meta: Any, request: str) -> None:
    """Restores the collections of a MetaGraph, if there is one."""
    made: dict[bytes, Any] = {}
    suggestion = "Give the GraphDef alone, gs.open(meta.graph_def), to open it without its collections"
    with graph.as_default():
        for name, collection in sorted(meta.collection_def.items()) if meta is not None else ():
            with errors_as(OpenError, request, f"collection {name!r} is damaged", suggestion):
                _fill_collection(graph, name, collection, made)


def _fill_collection(graph: TFGraph, name: str, collection: Any, made: dict[bytes, Any]) -> None:
    """Restores a collection of a MetaGraph; values in an unknown encoding stay bytes, as in TensorFlow."""
    kind = collection.WhichOneof("kind")
    if kind == "node_list":
        for value in collection.node_list.value:
            graph.add_to_collection(name, graph.as_graph_element(value))
    elif kind == "bytes_list":
        proto_type, read = collection_reader(name)
        for value in collection.bytes_list.value:
            if proto_type is None or read is None:
                graph.add_to_collection(name, value)
                continue
            item = made.get(value)
            if item is None:
                item = made[value] = read(decoded(proto_type, value))
            graph.add_to_collection(name, item)
    elif kind is not None:
        for value in getattr(collection, kind).value:
            graph.add_to_collection(name, value)
