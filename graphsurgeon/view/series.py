"""Series: sibling items that are alike fold into one; a list too long to read folds into sections."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..graph.graph import Graph, Ints
from . import chains
from .item import Item
from .sections import CROWD, among, merged, neighbours, with_sections
from .text import elide

FEWEST = 5
"""Siblings that make a series."""
BUSY = 24
"""More items than this on one level, and siblings that are told apart by nothing and chains are folded, too."""

_NUMBERED = re.compile(r"(.*?)(\d{1,9})", re.DOTALL)


def hashed(text: str) -> int:
    """Returns a 64 bit number for a text, the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def ranges(numbers: list[int]) -> str:
    """Returns sorted numbers as people write them.

    Example:
        >>> ranges([0, 1, 2, 5, 7, 8])
        '0..2,5,7..8'
    """
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ",".join(str(a) if a == b else f"{a}..{b}" for a, b in runs)


def folded(
    graph: Graph, items: list[Item], ops_of: Callable[[Item], Ints], signature: NDArray[np.uint64], path: str
) -> list[Item]:
    """Returns the items of one level with series and sections folded.

    Args:
        graph: the snapshot.
        items: ops and scopes of one scope, in graph order.
        ops_of: the ops that an item stands for.
        signature: for each scope a number that scopes of the same op types share.
        path: that scope with a slash at its end, or "" for the root.
    """
    groups = _alike(graph, items, signature)
    if groups or len(items) > BUSY:
        edges = _sibling_edges(graph, [ops_of(item) for item in items])
        items, edges = _with_series(items, groups, edges, path)
        for fold in (chains.siblings, chains.chains):
            if len(items) > BUSY:
                items, edges = fold(graph, items, edges, path)
        if len(items) > CROWD:
            items = with_sections(items, edges, path)
    return items


def _alike(graph: Graph, items: list[Item], signature: NDArray[np.uint64]) -> list[tuple[str, list[tuple[int, int]]]]:
    """Returns (stem, [(number, place)]) of items with the same stem and the same ops inside."""
    found: dict[tuple[object, ...], list[tuple[int, int]]] = defaultdict(list)
    stems, names = set(), {item.leaf for item in items}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match:
            stems.add(match[1])
    for place, item in enumerate(items):
        match = _NUMBERED.fullmatch(item.leaf)
        if match:
            stem, number = match[1], int(match[2])
            if match[2] != str(number):  # x_007 is a name of its own
                continue
        elif item.leaf + "_" in stems and item.leaf + "_0" not in names:  # x, x_1, x_2: TensorFlow's own numbering
            stem, number = item.leaf + "_", 0
        else:
            continue
        if item.kind == "scope":
            like: tuple[object, ...] = (
                int(signature[item.tops[0]]),
                int(graph.scopes.counts[item.tops[0]]),
            )
        else:
            like = (graph.types[item.op],)
        found[(stem, item.kind, *like)].append((number, place))
    out = [(str(key[0]), sorted(members)) for key, members in found.items() if len(members) >= FEWEST]
    return [(stem, m) for stem, m in out if len({n for n, _ in m}) == len(m)]


def _sibling_edges(graph: Graph, parts: list[Ints]) -> Ints:
    """Returns the edges between items, each given by its ops, as an array of shape (edges, 2), each pair once."""
    place = np.full(graph.size, -1, np.int32)
    for i, ops in enumerate(parts):
        place[ops] = i
    readers = np.concatenate(parts)
    ptr = graph.data.ptr
    counts = ptr[readers + 1] - ptr[readers]
    ends = np.cumsum(counts)
    at = (
        np.arange(int(ends[-1]) if len(ends) else 0)
        - np.repeat(ends - counts, counts)
        + np.repeat(ptr[readers], counts)
    )
    a, b = place[graph.data.node[at]], np.repeat(place[readers], counts)
    keep = (a >= 0) & (a != b)
    joined = np.unique(a[keep].astype(np.int64) * len(parts) + b[keep])
    return np.stack([joined // len(parts), joined % len(parts)], axis=1).astype(np.int32)


def _with_series(
    items: list[Item], groups: list[tuple[str, list[tuple[int, int]]]], edges: Ints, path: str
) -> tuple[list[Item], Ints]:
    if not groups:
        return items, edges
    ahead, behind = neighbours(edges, len(items)), neighbours(edges, len(items), back=True)
    into = list(range(len(items)))
    made: dict[int, Item] = {}
    for stem, members in groups:
        places = {place for _, place in members}
        if _reach(places, ahead) & _reach(places, behind):
            continue  # others lie between its members: folded, it would hide which way things go
        some = [items[place] for _, place in members]
        if len(some) > CROWD:
            some = with_sections(some, among(edges, [place for _, place in members]), path)
        pattern = f"{stem}[{ranges([n for n, _ in members])}]"
        tail = "/" if items[members[0][1]].kind == "scope" else ""
        key = f"~{path}{pattern}{tail}"
        first = min(places)
        for place in places:
            into[place] = first
        made[first] = Item(
            "series", key, elide(pattern), keys=(key,), members=tuple(some), alike=True,
            first=items[first].first, leaf=pattern,
        )  # fmt: skip
    return merged(items, edges, into, made)


def _reach(start: set[int], rows: list[list[int]]) -> set[int]:
    """Returns what is reached from `start` without passing through it again."""
    seen: set[int] = set()
    stack = [n for s in start for n in rows[s]]
    while stack:
        n = stack.pop()
        if n not in seen and n not in start:
            seen.add(n)
            stack.extend(rows[n])
    return seen
