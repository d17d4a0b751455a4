"""Sketch: a scene as DOT text made of ids and sizes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from .boxes import Box, Edge
from .scene import Scene
from .text import LABEL, LEADING, SUB, width

PAD = 12.0
"""Room left and right of a label, px."""
HEIGHT = 40.0
"""Height of a box with one line of label, px."""
HEADING = 12.0
"""Size of the heading of a group, px."""


@dataclass(frozen=True)
class Sketch:
    """How to write a scene as DOT.

    Args:
        direction: TB or LR.
        curves: let Graphviz draw edges.
        clusters: keep the boxes of a scope together.
        tight: less room between levels, more between neighbors.
        stagger: put many single neighbors of one box on several levels rather than in one long line.
    """

    direction: str = "TB"
    curves: bool = True
    clusters: bool = True
    stagger: bool = False
    tight: bool = False


def second_line(box: Box) -> tuple[str, str]:
    """Returns the two parts of the second line of a box: its type, and the number of hidden ops."""
    hidden = sum(box.hidden.values())
    return box.sub, f"{hidden:,} hidden" if hidden else ""


def size_of(box: Box) -> tuple[float, float]:
    """Returns width and height of a box, px: as wide as its words need."""
    sub, hidden = second_line(box)
    second = width(sub, SUB) + (width(hidden, SUB) + 10 if hidden else 0)
    sign = 12 if box.kind in ("call", "scope", "series", "variable") else 0
    lines = box.lines
    words = max(*(width(line, LABEL, bold=True) + sign for line in lines), second)
    return math.ceil(max(64.0, words + 2 * PAD)), HEIGHT + LEADING * (len(lines) - 1)


def draw(scene: Scene, sketch: Sketch) -> str:
    """Returns DOT text of a scene: ids, sizes and our own keywords; no word of the graph is in it.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> from .scene import build
        >>> from .tree import Tree
        >>> scene = build(Tree(Graph.of([("a", "Placeholder", []), ("b", "Neg", ["a"])])))
        >>> "n0 -> n1" in draw(scene, Sketch())
        True
    """
    down = sketch.direction == "TB"
    beside, between = (0.28, 0.36) if down else (0.2, 0.5)
    if sketch.tight:
        beside, between = beside * 1.6, between * 0.55
    out = [
        f"digraph g {{ graph [rankdir={sketch.direction} nodesep={beside:.3f} ranksep={between:.3f} "
        f"nslimit=2 nslimit1=2 splines={'spline' if sketch.curves else 'none'}];",
        'node [shape=box fixedsize=true label=""]; edge [arrowsize=0.6];',
    ]
    place = {box.id: i for i, box in enumerate(scene.boxes)}
    inside: dict[int, list[int]] = defaultdict(list)
    for i, box in enumerate(scene.boxes):
        inside[box.group if sketch.clusters else -1].append(i)
    frames: dict[int, list[int]] = defaultdict(list)
    if sketch.clusters:
        for i, group in enumerate(scene.groups):
            frames[group.group].append(i)
    stack: list[tuple[str, int]] = [("open", -1)]
    while stack:
        what, g = stack.pop()
        if what == "close":
            out.append("}")
            continue
        if g >= 0:
            # room for the heading without fonts or data: fixed-pitch characters, 0.6 em each
            characters = max(1, math.ceil((width(scene.groups[g].label, HEADING, bold=True) + 34) / (0.6 * HEADING)))
            out.append(
                f'subgraph cluster_{g} {{ graph [label="{"M" * characters}" fontname=Courier fontsize=12 '
                "labeljust=l margin=10];"
            )
            stack.append(("close", g))
        for i in inside[g]:
            box = scene.boxes[i]
            out.append(f"n{i} [width={box.w / 72:.4f} height={box.h / 72:.4f}];")
            if box.beside:
                out.append(f"{{ graph [rank=same]; n{place[box.beside]} -> n{i} [style=invis weight=9]; }}")
        stack.extend(("open", f) for f in reversed(frames[g]))
    out.extend(_edges(scene, sketch, inside))
    out.append("}")
    return "\n".join(out)


def _edges(scene: Scene, sketch: Sketch, inside: dict[int, list[int]]) -> list[str]:
    place = {box.id: i for i, box in enumerate(scene.boxes)}
    pairs = [(place[e.source], place[e.target], e) for e in scene.edges]
    steps = _stagger(pairs, len(scene.boxes)) if sketch.stagger else {}
    out = []
    for a, b, edge in pairs:
        how = ["weight=0"] if edge.control or edge.quiet else ["weight=2"]
        if scene.boxes[a].beside or scene.boxes[b].beside:
            how = ["constraint=false"]
        if (a, b) in steps:
            how.append(f"minlen={steps[a, b]}")
        out.append(f"n{a} -> n{b} [{' '.join(how)}];")
    touched = {i for a, b, _ in pairs for i in (a, b)}
    for members in inside.values():
        out.extend(_grid(scene, [i for i in members if i not in touched], sketch.direction))
    return out


def _grid(scene: Scene, lone: list[int], direction: str) -> list[str]:
    """Stands boxes without edges in rows and columns by edges that are not drawn."""
    if len(lone) < 3:
        return []
    wide = sum(scene.boxes[i].w for i in lone) / len(lone) + 20
    tall = HEIGHT + 26
    columns = max(1, round(math.sqrt(1.8 * len(lone) * tall / wide)))
    if direction == "LR":
        columns = math.ceil(len(lone) / columns)
    return [f"n{a} -> n{b} [style=invis weight=1];" for a, b in zip(lone, lone[columns:], strict=False)]


def _stagger(pairs: Sequence[tuple[int, int, Edge]], size: int) -> dict[tuple[int, int], int]:
    """Returns a length for the edges to boxes with one neighbor, if a box has many of them."""
    degree = [0] * size
    for a, b, _ in pairs:
        degree[a] += 1
        degree[b] += 1
    leaves: dict[tuple[int, bool], list[tuple[int, int]]] = defaultdict(list)
    for a, b, _ in pairs:
        if degree[b] == 1:
            leaves[(a, True)].append((a, b))
        elif degree[a] == 1:
            leaves[(b, False)].append((a, b))
    out = {}
    for edges in leaves.values():
        levels = max(1, round(math.sqrt(len(edges) / 1.5)))
        for i, edge in enumerate(edges):
            out[edge] = 1 + i % levels
    return out
