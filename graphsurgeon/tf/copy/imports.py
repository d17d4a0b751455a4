"""Imports new nodes into a live graph under their exact names, and restores the graph when an import fails.

It also fills a live graph with the ops, functions and collections of a file.

Nodes cannot be removed from a graph. So append.py carries out all steps that can fail before it adds nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ...errors import OpenError, counted
from ...graph.types import TFGraph, TFGraphDef, TFNodeDef, TFOp, TFTensor
from ...plan.copy_result import CopyResult
from ..functions.definitions import adopt, set_fallback_gradients
from ..import_tensorflow import tf
from ..private.c_api import TooLarge, adopt_ops, functions_of, names_in_use, raw_import, raw_import_works
from ..private.contexts import outside_contexts
from ..private.eager import mode_restorer
from ..private.functions import remove_function
from ..private.graphs import (
    all_collections,
    callbacks,
    collection_reader,
    free_lock,
    guarded_ops,
    guarded_tensors,
    set_attribute,
    set_callbacks,
    set_control_inputs,
)
from ..protos import decode, lacks_memory
from ..run.errors import errors_as

tf1 = tf.compat.v1


def import_nodes(
    graph: TFGraph,
    graph_def: TFGraphDef,
    tensors: Mapping[tuple[str, int], TFTensor] | None = None,
    controls: Mapping[str, TFOp] | None = None,
    *,
    within: str = "",
) -> dict[str, TFOp]:
    """Adds nodes under exactly their names, all of them or none.

    Args:
        graph: the destination `tf.Graph`.
        graph_def: the new nodes with their full names.
        tensors: (op name, output) of an input from outside the GraphDef -> tensor of `graph`.
        controls: op name of a control input from outside the GraphDef -> op of `graph`.
        within: a scope that contains all names. TensorFlow refuses an op with the name of an existing scope, unless
            the scope around both is given as a prefix.

    Returns:
        name -> new Python operation.

    Raises:
        the error of TensorFlow if it refuses the nodes. The graph then has no new nodes. Exception: the constants of a
        GraphDef above 2 GB are imported first, and stay.
    """
    one_piece = raw_import if raw_import_works() else _public_import
    try:
        return one_piece(graph, graph_def, tensors or {}, controls or {}, within, LIMIT)
    except TooLarge:
        large, rest = split_constants(graph_def, LIMIT // 2)
    ops: dict[str, TFOp] = {}
    for part in large:
        ops |= one_piece(graph, part, {}, {}, "", LIMIT)
    outside = {**(tensors or {}), **{(name, 0): op.outputs[0] for name, op in ops.items()}}
    return ops | one_piece(graph, rest, outside, {**(controls or {}), **ops}, within, LIMIT)


def import_with_shapes(
    graph: TFGraph,
    graph_def: TFGraphDef,
    nodes_with_shapes: Iterable[TFNodeDef],
    tensors: Mapping[tuple[str, int], TFTensor] | None = None,
    controls: Mapping[str, TFOp] | None = None,
    *,
    within: str = "",
) -> dict[str, TFOp]:
    """Imports nodes, some of them with an attribute for their shapes; without it if the shapes are contradictory.

    Args:
        graph, graph_def, tensors, controls, within: as for `import_nodes`.
        nodes_with_shapes: the nodes with the attribute. It is removed after the import.

    Raises:
        as `import_nodes`.
    """
    nodes_with_shapes = list(nodes_with_shapes)
    try:
        return import_nodes(graph, graph_def, tensors, controls, within=within)
    except Exception as error:
        if not nodes_with_shapes or lacks_memory(error):
            raise
    finally:
        for node in nodes_with_shapes:
            del node.attr["_output_shapes"]
    return import_nodes(graph, graph_def, tensors, controls, within=within)


#: TensorFlow cannot import a larger GraphDef in one piece, in bytes.
LIMIT = 2**31 - 1


def _public_import(
    graph: TFGraph,
    graph_def: TFGraphDef,
    tensors: Mapping[tuple[str, int], TFTensor],
    controls: Mapping[str, TFOp],
    _within: str,
    limit: int,
) -> dict[str, TFOp]:
    if graph_def.ByteSize() > limit:
        raise TooLarge(f"a GraphDef of {counted(graph_def.ByteSize(), 'bytes')}")
    mapping: dict[str, Any] = {f"{name}:{port}": tensor for (name, port), tensor in tensors.items()}
    mapping.update({f"^{name}": op.outputs[0] for name, op in controls.items() if op.outputs})
    graph_def, places = without_outer_colocations(graph_def)
    control_edges = []  # the public import supports control inputs only from ops with outputs
    for node in graph_def.node:
        mute = [t for t in node.input if t[0] == "^" and t[1:] in controls and not controls[t[1:]].outputs]
        if mute:
            control_edges.append((node.name, [controls[text[1:]] for text in mute]))
            node.input[:] = [text for text in node.input if text not in mute]
    with graph.as_default(), clear_stacks():
        tf1.import_graph_def(graph_def, input_map=mapping or None, name="")
    for name, value in places.items():
        set_attribute(graph.get_operation_by_name(name), "_class", value)
    for name, ops_before in control_edges:
        set_control_inputs(graph.get_operation_by_name(name), (), ops_before)
    return {node.name: graph.get_operation_by_name(node.name) for node in graph_def.node}


@contextmanager
def clear_stacks() -> Iterator[None]:
    """Clears the caller's context, which would add control inputs, name scopes and devices to new ops."""
    with tf1.control_dependencies(None), tf1.name_scope(None), tf1.device(None):
        yield


# -- a GraphDef that cannot be imported as it is ---------------------------------------------------


def split_constants(graph_def: TFGraphDef, limit: int) -> tuple[list[TFGraphDef], TFGraphDef]:
    """Moves the constants, the largest nodes, out of a GraphDef.

    Args:
        graph_def: a GraphDef that is too large.
        limit: the maximum size of a piece in bytes; a single constant may be larger.

    Returns:
        the GraphDefs of the constants, in order; and the GraphDef of the remaining nodes and the functions.
    """
    pieces: list[TFGraphDef] = []
    remaining = 0
    rest = tf1.GraphDef(versions=graph_def.versions)
    rest.library.CopyFrom(graph_def.library)
    for node in graph_def.node:
        if node.op != "Const" or node.input:
            rest.node.append(node)
            continue
        size = node.ByteSize()
        if not pieces or size > remaining:
            pieces.append(tf1.GraphDef(versions=graph_def.versions))
            remaining = limit
        pieces[-1].node.append(node)
        remaining -= size
    return pieces, rest


def without_outer_colocations(graph_def: TFGraphDef) -> tuple[TFGraphDef, dict[str, Any]]:
    """Removes colocations with ops outside the GraphDef: the public import refuses them."""
    out = type(graph_def)()
    out.CopyFrom(graph_def)
    own = {b"loc:@" + n.name.encode() for n in out.node}
    places = {}
    for node in out.node:
        if "_class" in node.attr and any(p not in own for p in node.attr["_class"].list.s):
            places[node.name] = type(node.attr["_class"])()
            places[node.name].CopyFrom(node.attr["_class"])
            del node.attr["_class"]
    return out, places


class SavedState:
    """The current state of a live graph, without its nodes: TensorFlow itself adds all nodes of a plan or none.

    Args:
        graph: a `tf.Graph`.
    """

    def __init__(self, graph: TFGraph) -> None:
        self._graph = graph
        self._restore_mode = mode_restorer()
        self._size = len(graph.get_operations())
        self._collections = {name: list(items) for name, items in all_collections(graph).items()}
        self._names = dict(names_in_use(graph))
        self._functions = frozenset(functions_of(graph))
        self._guards = [list(guarded or ()) for guarded in _guards(graph)]
        self._callbacks = callbacks(graph)

    def restore(self, copies: Sequence[CopyResult] | None = None) -> list[str]:
        """Restores the graph, except for ops that were added.

        Args:
            copies: the copies of the plan: if ops were added, the scopes of these copies stay reserved. Default: the
                copies are not known.

        Returns:
            the names of the added ops. The functions that they call stay in the graph too: TensorFlow cannot run any
            op of a graph with a call of an unknown function.
        """
        self._restore_mode()
        graph = self._graph
        free_lock(graph)
        with outside_contexts(graph):
            adopt_ops(graph)
        orphans = [str(op.name) for op in graph.get_operations()[self._size :]]
        self._restore_collections()
        self._restore_names([*orphans, *(c.step.to for c in copies or ())] if orphans else [])
        if orphans:
            # If there is not enough memory for the whole graph, TensorFlow may keep it locked forever.
            if copies is None or any(functions_of(c.source.live_graph) for c in copies):
                with suppress(Exception):
                    adopt(graph, graph.as_graph_def().library)
            return orphans
        for name in [n for n in functions_of(graph) if n not in self._functions]:
            remove_function(graph, name)
        return []

    def _restore_collections(self) -> None:
        graph, lists = self._graph, all_collections(self._graph)
        for name in [n for n in lists if n not in self._collections]:
            del lists[name]
        for name, items in self._collections.items():
            lists.setdefault(name, [])[:] = items
        for guards, items in zip(_guards(graph), self._guards, strict=True):
            if guards is not None and len(guards) != len(items):
                guards.clear()
                for item in items:
                    guards.add(item)
        set_callbacks(graph, self._callbacks)

    def _restore_names(self, unused_names: list[str]) -> None:
        names = names_in_use(self._graph)
        names.clear()
        names.update({name.lower(): 1 for name in unused_names if name} | self._names)


def _guards(graph: TFGraph) -> tuple[Any, Any]:
    return guarded_ops(graph), guarded_tensors(graph)


@contextmanager
def rollback_on_error(graph: TFGraph) -> Iterator[None]:
    """Restores the state before the block if the block fails."""
    state = SavedState(graph)
    try:
        yield
    except BaseException:
        state.restore()
        raise


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
