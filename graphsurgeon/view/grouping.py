"""Groups the items of a crowded level: blocks, similar siblings, chains, and sections of a long list."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..errors import counted
from ..graph.graph import Graph, Ints
from .boxes import MAX_UNFOLDED, Item, blocks, elide
from .helper_ops import behind

MIN_SIBLINGS = 5
"""The minimum number of siblings to fold."""
SHORTEST = 6
"""The minimum number of ops of a chain to fold."""
MIN_ITEMS = 8
"""The minimum number of items that remain after folding chains and siblings."""
MAX_OUTSIDE = 8
"""The maximum number of items, such as gradients, that stay outside sections."""
CROWD = 48
"""The maximum number of items of a level without sections."""
BUSY = 24
"""The maximum number of items of a level in which chains and equal siblings are not folded."""

_NUMBERED = re.compile(r"(.*?)(\d{1,9})", re.DOTALL)
_REPEATED_NAME = re.compile(r"(.*?)(\d{1,9})_", re.DOTALL)

Likeness = Callable[[Item], tuple[int, int]]


def hash_text(text: str) -> int:
    """Returns a 64 bit number for a text, the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def ranges(numbers: list[int]) -> str:
    """Returns sorted numbers as a text of ranges.

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


def fold_items(
    graph: Graph, items: list[Item], ops_of: Callable[[Item], Ints], likeness: Likeness, path: str
) -> list[Item]:
    """Returns the items of one level with blocks, series and sections folded.

    Args:
        graph: the snapshot.
        items: ops and scopes of one scope, in graph order.
        ops_of: the ops of an item.
        likeness: returns a value that is equal for items with the same op types.
        path: the scope with a slash at its end, or "" for the root.
    """
    if len(items) <= MAX_UNFOLDED and not _alike(graph, items, likeness):
        return items
    edges = _sibling_edges(graph, [ops_of(item) for item in items])
    return _level(graph, items, edges, likeness, path)


def _level(graph: Graph, items: list[Item], edges: Ints, likeness: Likeness, path: str, prefix: str = "") -> list[Item]:
    """Returns the items of a level, or of its block `prefix`, folded."""
    if len(items) > MAX_UNFOLDED:
        items, edges = _with_blocks(graph, items, edges, likeness, path, prefix)
    items, edges = _with_series(items, _alike(graph, items, likeness), edges, likeness, path)
    for fold in (_siblings, _chains):
        if len(items) > BUSY:
            items, edges = fold(graph, items, edges, path)
    return with_sections(items, edges, path) if len(items) > CROWD else items


def _with_blocks(
    graph: Graph, items: list[Item], edges: Ints, likeness: Likeness, path: str, prefix: str
) -> tuple[list[Item], Ints]:
    """Folds items into blocks by their names."""
    into, block_items = list(range(len(items))), {}
    for head, places in blocks([item.leaf for item in items], edges, prefix).items():
        some = [items[i] for i in places]
        inner = _level(graph, some, among(edges, places), likeness, path, head)
        if len(inner) == 1:  # a series with all items of the block
            inner = list(inner[0].members)
        first, key = min(places), f"~{path}{head}/"
        block_items[first] = Item(
            "block", key, elide(head), keys=(key,), members=tuple(inner), first=items[first].first, leaf=head
        )
        for i in places:
            into[i] = first
    return merge_items(items, edges, into, block_items) if block_items else (items, edges)


def _alike(graph: Graph, items: list[Item], likeness: Likeness) -> list[tuple[str, list[tuple[int, int]]]]:
    """Returns (pattern of a name, [(number, place)]) of items with similar names and the same op types.

    Blocks with similar names may have different ops, because they are stages of one model.
    """
    groups: dict[tuple[object, ...], list[tuple[int, int]]] = defaultdict(list)
    names = {item.leaf for item in items}
    stems = Counter(match[1] for match in map(_NUMBERED.fullmatch, names) if match)
    for place, item in enumerate(items):
        match, tail = _NUMBERED.fullmatch(item.leaf), ""
        outer = _REPEATED_NAME.fullmatch(match[1]) if match and stems[match[1]] == 1 else None
        if match and outer:  # layer_0_1, layer_1_1: a model that was called a second time
            match, tail = outer, item.leaf[len(outer[0]) - 1 :]
        if match:
            stem, number = match[1], int(match[2])
            if match[2] != str(number):  # x_007 is a separate name
                continue
        elif item.leaf + "_" in stems and item.leaf + "_0" not in names:  # x, x_1, x_2: TensorFlow's own numbering
            stem, number = item.leaf + "_", 0
        else:
            continue
        like: tuple[object, ...] = ()
        if item.kind != "block":
            like = likeness(item) if item.kind == "scope" else (graph.types[item.op],)
        groups[(stem, tail, item.kind, *like)].append((number, place))
    out = [(f"{key[0]}[]{key[1]}", sorted(members)) for key, members in groups.items() if len(members) >= MIN_SIBLINGS]
    return [(stem, m) for stem, m in out if len({n for n, _ in m}) == len(m)]


def _sibling_edges(graph: Graph, parts: list[Ints]) -> Ints:
    """Returns the edges between items, given by their ops, as an array of shape (edges, 2) without duplicates."""
    place = np.full(graph.size, -1, np.int32)
    for i, ops in enumerate(parts):
        place[ops] = i
    readers = np.concatenate(parts)
    rows, at = graph.data.gather(readers)
    a, b = place[graph.data.node[at]], place[readers][rows]
    inside = a >= 0
    return _edges_between(a[inside], b[inside], len(parts))


def _with_series(
    items: list[Item], groups: list[tuple[str, list[tuple[int, int]]]], edges: Ints, likeness: Likeness, path: str
) -> tuple[list[Item], Ints]:
    if not groups:
        return items, edges
    ahead, back = neighbors(edges, len(items)), neighbors(edges, len(items), back=True)
    folds = []
    for name, members in groups:
        places = [place for _, place in members]
        between = _reach(set(places), ahead) & _reach(set(places), back)
        if between and not (items[places[0]].kind == "scope" and _on_one_cycle({*places, *between}, ahead, back)):
            continue  # with other items between its members, the fold would hide the direction of edges
        pattern = f"[{ranges([n for n, _ in members])}]".join(name.rsplit("[]", 1))
        tail = "/" if items[places[0]].kind in ("scope", "block") else ""
        alike = items[places[0]].kind != "block" or len({likeness(items[place]) for place in places}) == 1
        holds = "" if alike else counted(len(places), "blocks")
        folds.append(_FoldGroup(places, f"~{path}{pattern}{tail}", pattern, pattern, holds, alike))
    return _fold_items(items, edges, folds, path)


def _reach(start: set[int], rows: list[list[int]]) -> set[int]:
    """Returns the items that are reached from `start`, without following edges of `start` again."""
    visited: set[int] = set()
    stack = [n for s in start for n in rows[s]]
    while stack:
        n = stack.pop()
        if n not in visited and n not in start:
            visited.add(n)
            stack.extend(rows[n])
    return visited


def _on_one_cycle(some: set[int], ahead: list[list[int]], back: list[list[int]]) -> bool:
    """Returns whether each of some items is reached from each other."""
    first = {min(some)}
    return some - first <= _reach(first, ahead) & _reach(first, back)


def _chains(graph: Graph, items: list[Item], edges: Ints, path: str) -> tuple[list[Item], Ints]:
    """Folds chains of ops, which only feed the next op: ``Conv2D→BiasAdd→Relu … (9)``.

    Args:
        graph: the snapshot.
        items: the items of one level.
        edges: the edges between them, of shape (edges, 2).
        path: the scope with a slash at its end, or "" for the root.
    """
    ahead, back = neighbors(edges, len(items)), neighbors(edges, len(items), back=True)
    runs, visited = [], set()
    for i, item in enumerate(items):
        if item.kind != "op" or i in visited or _follows(items, ahead, back, i):
            continue
        run = [i]
        while len(ahead[run[-1]]) == 1:
            after = ahead[run[-1]][0]
            if items[after].kind != "op" or len(back[after]) != 1 or after in visited:
                break
            run.append(after)
            visited.add(after)
        if len(run) >= SHORTEST:
            runs.append(run)
    folds = []
    for run in runs:
        types = [graph.types[items[i].op] for i in run]
        pattern = f"{items[run[0]].leaf}→{items[run[-1]].leaf}"
        label = "→".join(types[:3]) + f" … ({len(run)})"
        holds = f"{items[run[0]].leaf} … {items[run[-1]].leaf}"
        folds.append(_FoldGroup(run, f"~{path}{pattern}", label, pattern, holds, alike=False))
    return _fold_items(items, edges, folds, path, MIN_ITEMS)


def _siblings(graph: Graph, items: list[Item], edges: Ints, path: str) -> tuple[list[Item], Ints]:
    """Folds ops of one type that read from the same items and feed the same items: ``AddN ×411``."""
    ahead, back = neighbors(edges, len(items)), neighbors(edges, len(items), back=True)
    alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for i, item in enumerate(items):
        if item.kind == "op":
            alike[graph.types[item.op], tuple(sorted(ahead[i])), tuple(sorted(back[i]))].append(i)
    folds = []
    for (kind, *_), group in alike.items():
        if len(group) >= MIN_SIBLINGS:
            label = f"{kind} ×{len(group):,}"
            pattern = f"{label} ({items[group[0]].leaf})"
            names = f"{items[group[0]].leaf} … {items[group[-1]].leaf}"
            folds.append(_FoldGroup(group, f"~{path}{pattern}", label, pattern, names))
    return _fold_items(items, edges, folds, path, MIN_ITEMS)


class _FoldGroup(NamedTuple):
    """Items to fold into one: their places, and the texts of the fold; see `Item`."""

    places: list[int]
    key: str
    label: str
    leaf: str
    holds: str = ""
    alike: bool = True


def _fold_items(
    items: list[Item], edges: Ints, folds: list[_FoldGroup], path: str, min_items: int = 0
) -> tuple[list[Item], Ints]:
    """Returns items and edges after folding, the largest folds first, if at least `min_items` items remain."""
    into, new = list(range(len(items))), {}
    count = len(items)
    for fold in sorted(folds, key=lambda f: -len(f.places)):
        if count - len(fold.places) + 1 < min_items:
            continue
        count -= len(fold.places) - 1
        some, first = [items[i] for i in fold.places], min(fold.places)
        if len(some) > CROWD:
            some = with_sections(some, among(edges, fold.places), path)
        for i in fold.places:
            into[i] = first
        new[first] = Item(
            "series", fold.key, elide(fold.label), keys=(fold.key,), members=tuple(some), alike=fold.alike,
            first=items[first].first, leaf=fold.leaf, holds=elide(fold.holds, 48),
        )  # fmt: skip
    return merge_items(items, edges, into, new) if new else (items, edges)


def _follows(items: list[Item], successors: list[list[int]], back: list[list[int]], i: int) -> bool:
    """Returns whether an op continues a chain that begins before it."""
    if len(back[i]) != 1:
        return False
    before = back[i][0]
    return len(successors[before]) == 1 and items[before].kind == "op"


def neighbors(edges: Ints, size: int, back: bool = False) -> list[list[int]]:
    """Returns for each item the items that it feeds; with `back`, the items that feed it."""
    out: list[list[int]] = [[] for _ in range(size)]
    for a, b in edges.tolist():
        if back:
            out[b].append(a)
        else:
            out[a].append(b)
    return out


def merge_items(
    items: list[Item], edges: Ints, block_of: list[int], blocks: dict[int, Item]
) -> tuple[list[Item], Ints]:
    """Returns items and edges after merging: item i becomes part of `blocks[into[i]]`."""
    survivors = [i for i in range(len(items)) if block_of[i] == i]
    number = {old: new for new, old in enumerate(survivors)}
    to = np.array([number[i] for i in block_of], np.int32)
    a, b = to[edges].T
    return [blocks.get(i, items[i]) for i in survivors], _edges_between(a, b, len(survivors))


def _edges_between(a: Ints, b: Ints, size: int) -> Ints:
    """Returns the edges between different items as an array of shape (edges, 2) without duplicates."""
    apart = a != b
    joined = np.array(sorted(set((a[apart].astype(np.int64) * size + b[apart]).tolist())), np.int64)
    return np.stack([joined // size, joined % size], axis=1).astype(np.int32)


def among(edges: Ints, places: list[int]) -> Ints:
    """Returns the edges between the items at these places, renumbered in this order."""
    number = np.full(int(edges.max(initial=max(places))) + 1, -1, np.int32)
    number[places] = np.arange(len(places), dtype=np.int32)
    new_edges = number[edges]
    return new_edges[(new_edges >= 0).all(axis=1)]


def with_sections(items: list[Item], edges: Ints, path: str) -> list[Item]:
    """Returns a long list folded into sections, in the order of the flow, cut at places that few tensors cross."""
    order = _flow(len(items), edges)
    apart = [i for i in order if behind(items[i].leaf)]
    apart = apart if len(apart) <= MAX_OUTSIDE else []  # gradients and optimizers stay separate boxes
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
    """Returns a topological order that otherwise follows the graph; loops are cut.

    An item without a producer comes directly before its first consumer.
    """
    makers = neighbors(edges, size, back=True)
    sources = set(edges[:, 0].tolist()) if len(edges) else set()
    roots = [i for i in range(size) if makers[i] or i not in sources]
    visited, order = [False] * size, []
    for root in [*roots, *range(size)]:
        if visited[root]:
            continue
        visited[root] = True
        stack = [(root, iter(makers[root]))]
        while stack:
            i, rest = stack[-1]
            for j in rest:
                if not visited[j]:
                    visited[j] = True
                    stack.append((j, iter(makers[j])))
                    break
            else:
                stack.pop()
                order.append(i)
    return order
