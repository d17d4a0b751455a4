"""Fills a live graph with the ops, functions and collections of a file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from ...errors import OpenError
from ...graph.functions import BRANCHING, CALLS, op_types_finder, reachable_functions
from ...graph.types import TFGraph, TFGraphDef, TFOp
from ..copy.imports import import_nodes
from ..effects import CONTENT, effect_finder
from ..functions.definitions import Library, adopt, import_functions, with_handles
from ..private.c_api import functions_of
from ..private.functions import gradient_of, restore_gradients, set_gradients, traced_gradient
from ..private.graphs import collection_reader, gradient_function, op_finder, set_gradient_function
from ..protos import decode
from ..run.errors import errors_as


def set_fallback_gradients(graph: TFGraph, library: Any) -> None:
    """Sets a gradient, which is made on first use, for calls of functions with loops or branches.

    TensorFlow derives no gradient for these calls if the function was not traced in this process. Without an error, the
    gradient would be zero.

    Args:
        graph: a live graph from a file, with its functions.
        library: the FunctionDefLibrary of the file.
    """
    definitions = {definition.signature.name: definition for definition in library.function}
    branching = any(node.op in BRANCHING for definition in library.function for node in definition.node_def)
    types_in = op_types_finder(definitions)
    with_gradient = {definition.function_name for definition in library.gradient}
    fallbacks: dict[str, _FallbackGradient | None] = {}
    for op in graph.get_operations() if branching else ():
        name = op.get_attr("f").name if op.type in CALLS else ""
        if name not in definitions or name in with_gradient or gradient_function(op) is not None:
            continue
        if name not in fallbacks:
            leads = not BRANCHING.isdisjoint(types_in(name))
            fallbacks[name] = _FallbackGradient(op, name, definitions) if leads else None
        if fallbacks[name] is not None:
            set_gradient_function(op, fallbacks[name])


class _FallbackGradient:
    """The gradient of a function, the same as for a traced function.

    Args:
        call: an op that calls the function; the gradient may also be needed for other calls, such as copies.
        name: the name of the function.
        definitions: name -> FunctionDef, for all functions of the file.
    """

    def __init__(self, call: TFOp, name: str, definitions: Mapping[str, Any]) -> None:
        self._graph, self._call, self._name, self._definitions = call.graph, call.name, name, definitions

    def __call__(self, op: TFOp, *slopes: Any) -> Any:
        """Returns the gradients of the inputs of a call, given the gradients of its outputs."""
        return self._gradient(op, *slopes)

    @cached_property
    def _gradient(self) -> Any:
        order, functions, out = (
            reachable_functions([self._name], self._definitions),
            functions_of(self._graph),
            Library(),
        )
        handles = with_handles(order, [op_finder(self._graph)(self._call)], functions, self._definitions)
        new_names = import_functions(out, order, handles, functions)
        for concrete in out.loaded.values():
            restore_gradients(concrete.graph, out.loaded)
            set_gradients(concrete.graph, out.loaded, out.custom_gradients)
        concrete = out.loaded[new_names[self._name]]
        effects_of = effect_finder(self._definitions)
        # A second run of the functions must have no effect and the same results: no changes, no random numbers.
        if not any(effects_of(node) - {CONTENT} for name in order for node in self._definitions[name].node_def):
            return gradient_of(concrete, None)
        # This adds outputs to the call, which its gradient needs. So existing sessions of the graph must be replaced.
        return traced_gradient(concrete)


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
