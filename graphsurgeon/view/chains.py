"""Chains: ops in a row, and siblings that nothing tells apart, fold into one box where a level is full."""

from __future__ import annotations

from collections import defaultdict

from ..graph.graph import Graph, Ints
from .item import Item
from .sections import CROWD, among, merged, with_sections
from .text import elide

SHORTEST, FEWEST = 6, 5
"""Ops of a chain, and siblings of one kind, that fold."""
LEAST = 8
"""A level is never folded to less than so many items."""


def chains(graph: Graph, items: list[Item], edges: Ints, path: str) -> tuple[list[Item], Ints]:
    """Folds runs of ops of which each feeds the next and nothing else: ``Conv2D→BiasAdd→Relu … (9)``.

    Args:
        graph: the snapshot.
        items: of one level.
        edges: between them, of shape (edges, 2).
        path: the scope with a slash at its end, or "".
    """
    ahead, behind = _ends(edges, len(items))
    runs, met = [], set()
    for i, item in enumerate(items):
        if item.kind != "op" or i in met or _follows(items, ahead, behind, i):
            continue
        run = [i]
        while len(ahead[run[-1]]) == 1:
            after = ahead[run[-1]][0]
            if items[after].kind != "op" or len(behind[after]) != 1 or after in met:
                break
            run.append(after)
            met.add(after)
        if len(run) >= SHORTEST:
            runs.append(run)
    made = []
    for run in runs:
        types = [graph.types[items[i].op] for i in run]
        pattern = f"{items[run[0]].leaf}→{items[run[-1]].leaf}"
        label = "→".join(types[:3]) + f" … ({len(run)})"
        made.append((run, f"~{path}{pattern}", label, pattern, f"{items[run[0]].leaf} … {items[run[-1]].leaf}", False))
    return _folded(items, edges, made, path)


def siblings(graph: Graph, items: list[Item], edges: Ints, path: str) -> tuple[list[Item], Ints]:
    """Folds ops of one type that read from the same items and feed the same ones: ``AddN ×411``."""
    ahead, behind = _ends(edges, len(items))
    alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for i, item in enumerate(items):
        if item.kind == "op":
            alike[graph.types[item.op], tuple(sorted(ahead[i])), tuple(sorted(behind[i]))].append(i)
    made = []
    for (kind, *_), group in alike.items():
        if len(group) >= FEWEST:
            label = f"{kind} ×{len(group):,}"
            pattern = f"{label} ({items[group[0]].leaf})"
            names = f"{items[group[0]].leaf} … {items[group[-1]].leaf}"
            made.append((group, f"~{path}{pattern}", label, pattern, names, True))
    return _folded(items, edges, made, path)


Made = tuple[list[int], str, str, str, str, bool]


def _folded(items: list[Item], edges: Ints, made: list[Made], path: str) -> tuple[list[Item], Ints]:
    into, new = list(range(len(items))), {}
    left = len(items)
    for places, key, label, pattern, holds, alike in sorted(made, key=lambda m: -len(m[0])):
        if left - len(places) + 1 < LEAST:
            continue
        left -= len(places) - 1
        some = [items[i] for i in places]
        if len(some) > CROWD:
            some = with_sections(some, among(edges, places), path)
        first = min(places)
        for i in places:
            into[i] = first
        new[first] = Item(
            "series", key, elide(label), keys=(key,), members=tuple(some), alike=alike, first=items[first].first,
            leaf=pattern, holds=elide(holds, 48),
        )  # fmt: skip
    return merged(items, edges, into, new) if new else (items, edges)


def _follows(items: list[Item], ahead: list[list[int]], behind: list[list[int]], i: int) -> bool:
    """Returns whether an op goes on with a chain that has begun before it."""
    if len(behind[i]) != 1:
        return False
    before = behind[i][0]
    return len(ahead[before]) == 1 and items[before].kind == "op"


def _ends(edges: Ints, size: int) -> tuple[list[list[int]], list[list[int]]]:
    ahead: list[list[int]] = [[] for _ in range(size)]
    behind: list[list[int]] = [[] for _ in range(size)]
    for a, b in edges.tolist():
        ahead[a].append(b)
        behind[b].append(a)
    return ahead, behind
