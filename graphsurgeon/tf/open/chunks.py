"""Chunks: a GraphDef that cannot be imported as it is, taken apart: it is too large, or names ops that it has not."""

from __future__ import annotations

from typing import Any


def constants_apart(graph_def: Any, limit: int) -> tuple[list[Any], Any]:
    """Takes the constants out of a GraphDef, the largest things in it.

    Args:
        graph_def: what is too large.
        limit: bytes that one piece may have; a single constant may have more.

    Returns:
        GraphDefs of constants only, in order, and one of the rest, with the functions.
    """
    pieces: list[Any] = []
    room = 0
    rest = type(graph_def)(versions=graph_def.versions)
    rest.library.CopyFrom(graph_def.library)
    for node in graph_def.node:
        if node.op != "Const" or node.input:
            rest.node.append(node)
            continue
        size = node.ByteSize()
        if not pieces or size > room:
            pieces.append(type(graph_def)(versions=graph_def.versions))
            room = limit
        pieces[-1].node.append(node)
        room -= size
    return pieces, rest


def without_far_places(graph_def: Any) -> tuple[Any, dict[str, Any]]:
    """Takes out colocations with ops that are not among the nodes: the public import refuses them."""
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
