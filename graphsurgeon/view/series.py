"""Series: sibling items that are alike fold into one; a list too long to read folds into sections."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from ..core.graph import Ints
from . import chains
from .asides import behind
from .text import elide

if TYPE_CHECKING:
    from .tree import Item, Tree

FEWEST = 5
"""Siblings that make a series."""
APART = 8
"""Most items that stay beside the sections because they are not the model itself."""
BUSY = 24
"""More items than this on one level, and siblings that are told apart by nothing and chains are folded, too."""
CROWD = 48
"""More items than this on one level are folded into sections."""

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


def folded(tree: Tree, items: list[Item], path: str) -> list[Item]:
    """Returns the items of one level with series and sections folded.

    Args:
        tree: where the items come from.
        items: ops and scopes of one scope, in graph order.
        path: that scope with a slash at its end, or "" for the root.
    """
    groups = _alike(tree, items)
    if groups or len(items) > BUSY:
        edges = _sibling_edges(tree, items)
        items, edges = _with_series(items, groups, edges, path)
        for fold in (chains.siblings, chains.chains):
            if len(items) > BUSY:
                items, edges = fold(tree.graph, items, edges, path)
        if len(items) > CROWD:
            items = with_sections(items, edges, path)
    return items


def _alike(tree: Tree, items: list[Item]) -> list[tuple[str, list[tuple[int, int]]]]:
    """Returns (stem, [(number, place)]) of items with the same stem and the same ops inside."""
    found: dict[tuple[object, ...], list[tuple[int, int]]] = defaultdict(list)
    graph, stems, names = tree.graph, set(), {item.leaf for item in items}
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
                int(tree.signature[item.tops[0]]),
                int(graph.scopes.counts[item.tops[0]]),
            )
        else:
            like = (graph.types[item.op],)
        found[(stem, item.kind, *like)].append((number, place))
    out = [(str(key[0]), sorted(members)) for key, members in found.items() if len(members) >= FEWEST]
    return [(stem, m) for stem, m in out if len({n for n, _ in m}) == len(m)]


def _sibling_edges(tree: Tree, items: list[Item]) -> Ints:
    """Returns the edges between items as an array of shape (edges, 2), each pair once."""
    graph = tree.graph
    place = np.full(graph.size, -1, np.int32)
    parts = []
    for i, item in enumerate(items):
        ops = tree.ops_of(item)
        place[ops] = i
        parts.append(ops)
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
    joined = np.unique(a[keep].astype(np.int64) * len(items) + b[keep])
    return np.stack([joined // len(items), joined % len(items)], axis=1).astype(np.int32)


def _rows(edges: Ints, size: int, back: bool = False) -> list[list[int]]:
    out: list[list[int]] = [[] for _ in range(size)]
    for a, b in edges.tolist():
        if back:
            out[b].append(a)
        else:
            out[a].append(b)
    return out


def _with_series(
    items: list[Item], groups: list[tuple[str, list[tuple[int, int]]]], edges: Ints, path: str
) -> tuple[list[Item], Ints]:
    from .tree import Item

    if not groups:
        return items, edges
    ahead, behind = _rows(edges, len(items)), _rows(edges, len(items), back=True)
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


def merged(items: list[Item], edges: Ints, into: list[int], made: dict[int, Item]) -> tuple[list[Item], Ints]:
    """Returns items and edges with each item drawn into another: item i becomes part of `made[into[i]]`."""
    kept = [i for i in range(len(items)) if into[i] == i]
    number = {old: new for new, old in enumerate(kept)}
    to = np.array([number[i] for i in into], np.int32)
    moved = np.unique(to[edges], axis=0) if len(edges) else edges
    return [made.get(i, items[i]) for i in kept], moved[moved[:, 0] != moved[:, 1]]


def among(edges: Ints, places: list[int]) -> Ints:
    """Returns the edges between these items, numbered anew in their order."""
    number = np.full(int(edges.max(initial=max(places))) + 1, -1, np.int32)
    number[places] = np.arange(len(places), dtype=np.int32)
    moved = number[edges]
    return moved[(moved >= 0).all(axis=1)]


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


def with_sections(items: list[Item], edges: Ints, path: str) -> list[Item]:
    """Returns a long list cut, in the order of the flow, where the fewest tensors cross."""
    from .tree import Item

    order = _flow(len(items), edges)
    apart = [i for i in order if behind(items[i].leaf)]
    apart = apart if len(apart) <= APART else []  # gradients and optimisers stay boxes of their own
    lone = set(apart)
    order = [i for i in order if i not in lone]
    if len(order) <= CROWD:
        return items
    n = len(order)
    place = np.full(len(items), -1, np.int64)
    place[order] = np.arange(n)
    crossing = np.zeros(n + 1, np.int64)
    edges = edges[(place[edges] >= 0).all(axis=1)]
    if len(edges):
        last = np.full(n, -1, np.int64)
        np.maximum.at(last, place[edges[:, 0]], place[edges[:, 1]])
        start = np.flatnonzero(last > np.arange(n))
        np.add.at(crossing, start, 1)
        np.add.at(crossing, last[start], -1)
    crossing = np.cumsum(crossing)
    ideal = n / min(24, max(8, round(n**0.5)))
    out, at = [], 0
    while at < n:
        low, high = at + max(1, int(ideal * 0.5)), at + int(ideal * 1.6) + 1
        if n - at <= ideal * 1.6:
            end = n
        else:
            choices = np.arange(low, min(high, n))
            cost = crossing[choices - 1] * 1000 + np.abs(choices - at - ideal)
            end = int(choices[int(np.argmin(cost))])
        part = [items[i] for i in order[at:end]]
        at = end
        if len(part) == 1:
            out.append(part[0])
            continue
        pattern = f"{part[0].leaf} … {part[-1].leaf}"
        short = f"{elide(part[0].leaf, 36)} … {elide(part[-1].leaf, 36)}"
        key = f"~{path}{pattern}"
        out.append(Item("series", key, short, keys=(key,), members=tuple(part), first=part[0].first, leaf=pattern))
    return out + [items[i] for i in apart]


def _flow(size: int, edges: Ints) -> list[int]:
    """Returns an order in which makers come before readers, otherwise that of the graph; loops are cut.

    What has no maker (inputs) comes just before its first reader.
    """
    behind = _rows(edges, size, back=True)
    read = set(edges[:, 0].tolist()) if len(edges) else set()
    roots = [i for i in range(size) if behind[i] or i not in read]
    met, order = [False] * size, []
    for root in [*roots, *range(size)]:
        if met[root]:
            continue
        met[root] = True
        stack = [(root, iter(behind[root]))]
        while stack:
            i, makers = stack[-1]
            for j in makers:
                if not met[j]:
                    met[j] = True
                    stack.append((j, iter(behind[j])))
                    break
            else:
                stack.pop()
                order.append(i)
    return order
