"""Sections: a list of items too long to read is cut where the fewest tensors cross; and how items fold into one."""

from __future__ import annotations

import numpy as np

from ..graph.graph import Ints
from .helpers import behind
from .item import Item
from .text import elide

APART = 8
"""Most items that stay beside the sections because they are not the model itself."""
CROWD = 48
"""More items than this on one level are folded into sections."""


def neighbours(edges: Ints, size: int, back: bool = False) -> list[list[int]]:
    """Returns for each item the ones it feeds; going back, those that feed it."""
    out: list[list[int]] = [[] for _ in range(size)]
    for a, b in edges.tolist():
        if back:
            out[b].append(a)
        else:
            out[a].append(b)
    return out


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


def with_sections(items: list[Item], edges: Ints, path: str) -> list[Item]:
    """Returns a long list cut, in the order of the flow, where the fewest tensors cross."""
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
    behind = neighbours(edges, size, back=True)
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
