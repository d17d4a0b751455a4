"""Same structure: scopes of the same structure, each pair proved alike by a mapping of their ops."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from ..graph.traversal import joined_parts
from .tree import Tree

_TELLING = ("T", "dtype", "DstT", "strides", "padding", "ksize", "dilations", "axis", "transpose_a", "transpose_b", "N")


def repeated(tree: Tree, scopes: Iterable[str]) -> list[list[str]]:
    """Returns groups of scopes with the same structure, the largest group first; scopes that are alone are left out.

    Two scopes are the same if their ops, in the order of the graph or in the order of their names, have the same
    types and relevant attributes and read each other the same way: the order itself is the mapping that proves it.

    Args:
        tree: the graph.
        scopes: names with a slash at the end; others are ignored.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> ops = [op for s in "xy" for op in [(f"{s}/a", "Foo", []), (f"{s}/b", "Neg", [f"{s}/a"])]]
        >>> repeated(Tree(Graph.of([*ops, ("z/a", "Foo", []), ("z/b", "Foo", [])])), ["x/", "y/", "z/"])
        [['x/', 'y/']]
    """
    graph, index = tree.graph, tree.graph.scopes.index
    rough: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name in scopes:
        at = index.get(name.rstrip("/"))
        if name.endswith("/") and at:
            rough[int(tree.signature[at]), int(graph.scopes.counts[at])].append(name)
    out: list[list[str]] = []
    for names in rough.values():
        if len(names) > 1:
            out.extend(_proved(tree, names))
    return sorted(out, key=lambda group: -len(group))


def _proved(tree: Tree, names: Sequence[str]) -> list[list[str]]:
    """Puts together scopes that are equal in one of the two orders."""
    first: list[int] = []
    for by_name in (False, True):
        seen: dict[bytes, int] = {}
        first += [seen.setdefault(_written(tree, name, by_name), i) for i, name in enumerate(names)]
    parts = joined_parts(np.array(first), np.tile(np.arange(len(names)), 2), len(names))
    groups: dict[int, list[str]] = defaultdict(list)
    for part, name in zip(parts.tolist(), names, strict=True):
        groups[part].append(name)
    return [group for group in groups.values() if len(group) > 1]


def _written(tree: Tree, name: str, by_name: bool) -> bytes:
    """Returns the whole structure of a scope in one order of its ops, as 256 bits."""
    graph = tree.graph
    ops = np.sort(tree.ops_below(graph.scopes.index[name.rstrip("/")]))
    if by_name:
        ops = np.array(sorted(ops.tolist(), key=lambda op: graph.names[op][len(name) :]), np.int32)
    place: dict[int, int] = {op: i for i, op in enumerate(ops.tolist())}
    digest = hashlib.blake2b(digest_size=32)
    for op in ops.tolist():
        read = [(place.get(maker, -1), port) for maker, port in graph.data.ends(op)]
        waits = sorted(place.get(maker, -1) for maker in graph.control.row(op).tolist())
        attr = getattr(graph.nodes[op], "attr", None) or {}
        attributes = [(key, str(attr[key])) for key in _TELLING if key in attr]
        digest.update(repr((graph.types[op], read, waits, attributes)).encode("utf-8", "surrogatepass"))
    return digest.digest()
