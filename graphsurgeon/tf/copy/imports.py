"""Imports: adds new nodes to a live graph under exactly their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...graph.live import TFGraph, TFGraphDef, TFNodeDef, TFOp, TFTensor
from ...words import counted
from ..importing import tf
from ..private.c_api import TooLarge, raw_import, raw_import_works
from ..private.graphs import set_attribute, set_control_inputs
from ..wire import lacks_memory

tf1 = tf.compat.v1


def import_nodes(
    graph: TFGraph,
    graph_def: TFGraphDef,
    tensors: Mapping[tuple[str, int], TFTensor] | None = None,
    controls: Mapping[str, TFOp] | None = None,
    *,
    within: str = "",
) -> dict[str, TFOp]:
    """Adds nodes with exactly the names they have; all of them or none.

    Args:
        graph: the destination `tf.Graph`.
        graph_def: only the new nodes, fully named.
        tensors: (op name, output) that the nodes read from outside the GraphDef -> tensor of `graph`.
        controls: op name that the nodes wait for outside the GraphDef -> op of `graph`.
        within: a scope that contains all names. TensorFlow refuses an op with the name of an existing scope, unless
            the scope around both is given as a prefix.

    Returns:
        name -> new Python operation.

    Raises:
        whatever TensorFlow raises if it refuses the nodes. The graph then has no new node, except for the constants of
        a GraphDef above 2 GB, which are imported first.
    """
    one_piece = raw_import if raw_import_works() else _public_import
    try:
        return one_piece(graph, graph_def, tensors or {}, controls or {}, within, LIMIT)
    except TooLarge:
        large, rest = constants_apart(graph_def, LIMIT // 2)
    made: dict[str, TFOp] = {}
    for part in large:
        made |= one_piece(graph, part, {}, {}, "", LIMIT)
    outside = {**(tensors or {}), **{(name, 0): op.outputs[0] for name, op in made.items()}}
    return made | one_piece(graph, rest, outside, {**(controls or {}), **made}, within, LIMIT)


def import_stated(
    graph: TFGraph,
    graph_def: TFGraphDef,
    stated: Iterable[TFNodeDef],
    tensors: Mapping[tuple[str, int], TFTensor] | None = None,
    controls: Mapping[str, TFOp] | None = None,
    *,
    within: str = "",
) -> dict[str, TFOp]:
    """Imports nodes, some of which state shapes. If the shapes contradict those inferred, imports without them.

    Args:
        graph, graph_def, tensors, controls, within: as `import_nodes`.
        stated: the nodes that state shapes. The statement is removed afterwards: no node of a graph has it.

    Raises:
        as `import_nodes`.
    """
    stated = list(stated)
    try:
        return import_nodes(graph, graph_def, tensors, controls, within=within)
    except Exception as error:
        if not stated or lacks_memory(error):
            raise
    finally:
        for node in stated:
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
    graph_def, places = without_far_places(graph_def)
    waits = []  # the public import does not accept control inputs from ops without outputs
    for node in graph_def.node:
        mute = [t for t in node.input if t[0] == "^" and t[1:] in controls and not controls[t[1:]].outputs]
        if mute:
            waits.append((node.name, [controls[text[1:]] for text in mute]))
            node.input[:] = [text for text in node.input if text not in mute]
    with graph.as_default(), quiet_stacks():
        tf1.import_graph_def(graph_def, input_map=mapping or None, name="")
    for name, value in places.items():
        set_attribute(graph.get_operation_by_name(name), "_class", value)
    for name, ops_before in waits:
        set_control_inputs(graph.get_operation_by_name(name), (), ops_before)
    return {node.name: graph.get_operation_by_name(node.name) for node in graph_def.node}


@contextmanager
def quiet_stacks() -> Iterator[None]:
    """Clears the caller's context, which would add control inputs, name scopes and devices to new ops."""
    with tf1.control_dependencies(None), tf1.name_scope(None), tf1.device(None):
        yield


# -- a GraphDef that cannot be imported as it is ---------------------------------------------------


def constants_apart(graph_def: TFGraphDef, limit: int) -> tuple[list[TFGraphDef], TFGraphDef]:
    """Moves the constants, the largest nodes, out of a GraphDef.

    Args:
        graph_def: a GraphDef that is too large.
        limit: the largest size of one piece in bytes; a single constant may be larger.

    Returns:
        GraphDefs of constants only, in order, and one of the rest, with the functions.
    """
    pieces: list[TFGraphDef] = []
    room = 0
    rest = tf1.GraphDef(versions=graph_def.versions)
    rest.library.CopyFrom(graph_def.library)
    for node in graph_def.node:
        if node.op != "Const" or node.input:
            rest.node.append(node)
            continue
        size = node.ByteSize()
        if not pieces or size > room:
            pieces.append(tf1.GraphDef(versions=graph_def.versions))
            room = limit
        pieces[-1].node.append(node)
        room -= size
    return pieces, rest


def without_far_places(graph_def: TFGraphDef) -> tuple[TFGraphDef, dict[str, Any]]:
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
