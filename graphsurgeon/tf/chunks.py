"""Chunks: a GraphDef that is too large for one piece, taken apart."""

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
