"""Plain Graphviz: a whole picture as one DOT text with a cluster for each frame."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import time
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from graphsurgeon.view import page_types
from graphsurgeon.view.boxes import HEADING, size_of, width
from graphsurgeon.view.edge_paths import place_labels
from graphsurgeon.view.graphviz import live
from graphsurgeon.view.layout import PlacedScene
from graphsurgeon.view.scene import Scene

MARGIN = 12.0


def dot_of(scene: Any, direction: str = "TB") -> str:
    """Returns the DOT text of a scene: ids, sizes and clusters.

    Args:
        scene: the result of `build`; its boxes get their sizes.
        direction: TB or LR.
    """
    beside, between = (0.28, 0.36) if direction == "TB" else (0.2, 0.5)
    out = [
        f"digraph g {{ graph [rankdir={direction} nodesep={beside} ranksep={between} nslimit=2 nslimit1=2];",
        'node [shape=box fixedsize=true label=""]; edge [arrowsize=0.6];',
    ]
    inside, frames = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for i, box in enumerate(scene.boxes):
        w, h = size_of(box)
        box.w, box.h = max(w, box.w), max(h, box.h)
        inside[box.group].append(i)
    for i, group in enumerate(scene.groups):
        frames[group.group].append(i)
    stack = [(True, -1)]
    while stack:
        opens, g = stack.pop()
        if not opens:
            out.append("}")
            continue
        if g >= 0:
            letters = math.ceil((width(scene.groups[g].label, HEADING, bold=True) + 34) / (0.6 * HEADING))
            label = f'label="{"M" * max(1, letters)}" fontname=Courier fontsize=12 labeljust=l margin=10'
            out.append(f"subgraph cluster_{g} {{ graph [{label}];")
            stack.append((False, g))
        for i in inside[g]:
            out.append(f"n{i} [width={scene.boxes[i].w / 72:.4f} height={scene.boxes[i].h / 72:.4f}];")
        stack.extend((True, f) for f in reversed(frames[g]))
    place = {box.id: i for i, box in enumerate(scene.boxes)}
    for edge in scene.edges:
        weight = 0 if edge.control or edge.quiet else 2
        out.append(f"n{place[edge.source]} -> n{place[edge.target]} [weight={weight}];")
    return "\n".join([*out, "}"])


def place(scene: Scene, *, direction: str = "auto", **_: Any) -> PlacedScene:
    """Returns a scene as plain Graphviz places it; takes the arguments of `graphsurgeon.view.layout.place`."""
    way: page_types.Direction = "LR" if direction == "LR" else "TB"
    boxes, groups = [replace(box) for box in scene.boxes], [replace(group) for group in scene.groups]
    if not boxes:
        return PlacedScene(scene.rev, 24, 24, way, [], [], [], [], scene.stats.copy(), {})
    engine = live()
    assert engine is not None
    found = json.loads(engine.run(dot_of(scene, way), 600, lambda: False))
    left, bottom, right, top = _numbers(found["bb"])

    def at(text: str) -> tuple[float, float]:
        x, y = _numbers(text)
        return round(x - left + MARGIN, 1), round(top - y + MARGIN, 1)

    number = {}
    for thing in found["objects"]:
        if thing["name"].startswith("cluster_"):
            x0, y0, x1, y1 = _numbers(thing["bb"])
            group = groups[int(thing["name"][8:])]
            group.x, group.y, group.w, group.h = x0 - left + MARGIN, top - y1 + MARGIN, x1 - x0, y1 - y0
        elif thing["name"][0] == "n":
            number[thing["_gvid"]] = at_box = int(thing["name"][1:])
            box, was = boxes[at_box], scene.boxes[at_box]
            x, y = at(thing["pos"])
            box.w, box.h, box.x, box.y = was.w, was.h, x - was.w / 2, y - was.h / 2
    paths, lines = {}, list[Any]()
    for line in found.get("edges", []):
        points = [at(token.removeprefix("e,")) for token in line["pos"].split()]
        first, rest = (points[1], points[2:]) if line["pos"].startswith("e,") else (points[0], points[1:])
        if line["pos"].startswith("e,"):  # the tip: a straight curve
            rest += [rest[-1], points[0], points[0]]
        paths[number[line["tail"]], number[line["head"]]] = [len(lines)]
        lines.append(np.array([first, *rest]))
    places = {box.id: i for i, box in enumerate(boxes)}
    edges = [replace(e, path=paths[places[e.source], places[e.target]]) for e in scene.edges]
    w, h = right - left + 2 * MARGIN, top - bottom + 2 * MARGIN
    place_labels(boxes, groups, edges, lines, w)
    return PlacedScene(scene.rev, w, h, way, boxes, groups, edges, lines, scene.stats.copy(), {})


def _numbers(text: str) -> list[float]:
    return [float(v) for v in text.split(",")]


def seconds_native(dot: str, times: int = 3) -> float | None:
    """Returns the seconds that the system's `dot -Tjson0` takes for DOT text; None without that program."""
    program = shutil.which(os.environ.get("GRAPHSURGEON_DOT", "dot"))
    if program is None:
        return None
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run([program, "-Tjson0"], input=dot.encode(), stdout=subprocess.PIPE, check=True)
        best = min(best, time.perf_counter() - start)
    return best
