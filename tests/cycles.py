"""Cycles: modules that import one another, found in a graph of imports."""

from __future__ import annotations


def shortest_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Returns the modules of the shortest cycle, the first one again at the end; nothing where there is none."""
    best: list[str] = []
    for start in sorted(graph):
        came: dict[str, str] = {}
        ring = [start]
        while ring and start not in came:
            ring = [
                after
                for module in ring
                for after in sorted(graph[module])
                if after not in came and not came.update({after: module})
            ]
        if start in came:
            way = [start]
            while len(way) == 1 or way[-1] != start:
                way.append(came[way[-1]])
            if not best or len(way) < len(best):
                best = way[::-1]
    return best
