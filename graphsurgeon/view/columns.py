"""Columns: a picture that is one long thin line is set in columns, as newspapers do."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .boxes import Box, Edge, Group, frames
from .edge_labels import Point, samples

GUTTER = 44.0
"""Room between two columns, px."""
HEADING = 20.0
"""Room for the heading of a frame, px."""
TOP = 26.0
"""Room above and below the columns for the lines that lead on, px."""
_RADIUS = 8.0  # of the corners of an edge
_SHAPE = 1.2  # how many times as high as wide a picture in columns should be


def in_columns(
    w: float,
    h: float,
    boxes: Sequence[Box],
    groups: Sequence[Group],
    edges: Sequence[Edge],
    fixed: Sequence[Edge] = (),
) -> tuple[float, float] | None:
    """Moves the boxes of a long thin picture into columns and returns its new width and height.

    It is cut only between frames, at a place that at most one edge crosses; without such a place,
    nothing moves and None is returned.

    Args:
        w: width of the picture, px.
        h: its height.
        boxes: moved in place, as are groups and edges.
        groups: frames; none is ever cut.
        edges: paths; one that crosses a cut is led over the top of the next column.
        fixed: paths that no cut may cross.
    """
    cuts = [y for y in _cuts(boxes, groups, edges) if not any(_between(samples(e.d, 4), y) for e in fixed)]
    count = max(2, round(math.sqrt(h * _SHAPE / (w * _SHAPE * _SHAPE))))
    chosen: list[float] = []
    for k in range(1, count):
        near = [c for c in cuts if abs(c - h * k / count) < h / count / 3 and c not in chosen]
        if near:
            chosen.append(min(near, key=lambda c: abs(c - h * k / count)))
    if not chosen:
        return None
    starts = [0.0, *chosen]
    heights = [end - start for start, end in zip(starts, [*chosen, h], strict=True)]

    def column(y: float) -> int:
        return sum(y > cut for cut in chosen)

    lines = {e.id: samples(e.d) for e in edges}
    across = {e.id: (column(p[0][1]), column(p[-1][1])) for e in edges if (p := lines[e.id])}
    things: list[Box | Group] = [*boxes, *groups]
    for thing in things:
        k = column(thing.y)
        thing.x, thing.y = _moved(thing.x, thing.y, k, w, starts)
    bottom = max(heights) + TOP
    for edge in edges:
        a, b = across[edge.id]
        first, last = lines[edge.id][0], lines[edge.id][-1]
        if a == b:
            edge.d = _shift(edge.d, *_moved(0, 0, a, w, starts))
            continue
        (x0, y0), (x1, y1) = _moved(*first, a, w, starts), _moved(*last, b, w, starts)
        gutter = b * (w + GUTTER) - GUTTER / 2
        edge.d = _rounded([(x0, y0), (x0, bottom), (gutter, bottom), (gutter, TOP / 2), (x1, TOP / 2), (x1, y1)])
    return round(len(starts) * (w + GUTTER) - GUTTER, 1), round(bottom + TOP, 1)


def frame_in_columns(
    w: float, h: float, boxes: Sequence[Box], groups: Sequence[Group], edges: Sequence[Edge], frame: int
) -> tuple[float, float] | None:
    """Moves the contents of a frame of a long thin picture into columns, and returns its new width and height.

    Boxes above the frame stay above its first column, and boxes below it come below its last one.
    If a box is next to the frame, or there is no place to cut it, None is returned; the moved boxes then
    are of no use.

    Args:
        w: width of the picture, px.
        h: its height.
        boxes: moved in place, as are groups and edges.
        groups: frames.
        edges: paths.
        frame: the place in `groups` of the frame.
    """
    at = groups[frame]
    top, bottom = at.y + HEADING, at.y + at.h
    around = set(frames(groups, frame))
    inside = [b for b in boxes if frame in frames(groups, b.group)]
    inner = [g for i, g in enumerate(groups) if i not in around and frame in frames(groups, i)]
    things: list[Box | Group] = [*boxes, *groups]
    held = {id(thing) for thing in (*inside, *inner, *(groups[i] for i in around))}
    others = [thing for thing in things if id(thing) not in held]
    if any(thing.y < bottom and thing.y + thing.h > at.y for thing in others):
        return None
    ids = {b.id for b in inside}
    own = [e for e in edges if e.source in ids and e.target in ids]
    ways = [e for e in edges if (e.source in ids) != (e.target in ids)]
    rest = [e for e in edges if e.source not in ids and e.target not in ids]
    if any(_between(samples(e.d, 4), y) for e in rest for y in (at.y, bottom)):
        return None
    ends = {e.id: (p[0], p[-1]) for e in ways if (p := samples(e.d))}
    before = {b.id: (b.x, b.y) for b in boxes}
    _move([*inside, *inner], [*own, *ways], -at.x, -top)
    size = in_columns(at.w, bottom - top, inside, inner, own, ways)
    if size is None:
        return None
    _move([*inside, *inner], own, at.x, top)
    wider, lower = size[0] - at.w, size[1] - (bottom - top)
    below = [thing for thing in others if thing.y >= bottom]
    _move(below, [e for e in rest if samples(e.d)[0][1] >= bottom], wider, lower)
    for i in around:
        groups[i].w, groups[i].h = round(groups[i].w + wider, 1), round(groups[i].h + lower, 1)
    now = {b.id: b for b in boxes}
    for edge in ways:
        (x0, y0), (x1, y1) = (
            (x + now[end].x - before[end][0], y + now[end].y - before[end][1])
            for end, (x, y) in zip((edge.source, edge.target), ends[edge.id], strict=True)
        )
        edge.d = f"M{x0:g},{y0:g}L{x1:g},{y1:g}"
        if any(_within(point, b) for point in samples(edge.d, 40) for b in boxes):
            return None
    return round(w + wider, 1), round(h + lower, 1)


def _move(things: Sequence[Box | Group], edges: Sequence[Edge], dx: float, dy: float) -> None:
    for thing in things:
        thing.x, thing.y = round(thing.x + dx, 1), round(thing.y + dy, 1)
    for edge in edges:
        edge.d = _shift(edge.d, dx, dy)


def _within(point: Point, box: Box) -> bool:
    return box.x + 1 < point[0] < box.x + box.w - 1 and box.y + 1 < point[1] < box.y + box.h - 1


def _moved(x: float, y: float, k: int, w: float, starts: Sequence[float]) -> tuple[float, float]:
    return round(x + k * (w + GUTTER), 1), round(y - starts[k] + TOP, 1)


def _cuts(boxes: Sequence[Box], groups: Sequence[Group], edges: Sequence[Edge]) -> list[float]:
    """Returns heights between boxes, outside of frames, that one edge at most crosses."""
    things: list[Box | Group] = [*boxes, *groups]
    ends = sorted({b.y + b.h + 8 for b in boxes} | {g.y + g.h + 4 for g in groups})
    paths = [p for e in edges if (p := samples(e.d, 4))]
    out = []
    for y in ends[:-1]:
        if any(t.y - 4 < y < t.y + t.h + 4 for t in things):
            continue
        crossing = [p for p in paths if _between(p, y)]
        if len(crossing) <= 1 and all(_free(p, y, boxes) for p in crossing):
            out.append(y)
    return out


def _between(points: Sequence[Point], y: float) -> bool:
    heights = [p[1] for p in points]
    return min(heights) < y < max(heights)


def _free(points: Sequence[Point], y: float, boxes: Sequence[Box]) -> bool:
    """Returns whether nothing stands between the ends of an edge and the cut at height y."""
    (x0, y0), (x1, y1) = points[0], points[-1]
    return not any(
        (b.x - 4 < x0 < b.x + b.w + 4 and y0 < b.y + 1 < y) or (b.x - 4 < x1 < b.x + b.w + 4 and y < b.y + b.h - 1 < y1)
        for b in boxes
    )


def _shift(d: str, dx: float, dy: float) -> str:
    """Returns path data moved by (dx, dy)."""
    out, number = [], ""
    flat = d.replace("M", " M ").replace("L", " L ").replace("C", " C ").split()
    for word in flat:
        if word in "MLC":
            out.append(number + word)
            number = ""
        else:
            x, y = word.split(",")
            out.append(f"{number}{round(float(x) + dx, 1):g},{round(float(y) + dy, 1):g}")
            number = " "
    return "".join(out).replace(" M", "M").replace(" L", "L").replace(" C", "C")


def _rounded(points: Sequence[tuple[float, float]]) -> str:
    """Returns path data of straight lines with round corners."""
    d = f"M{points[0][0]:g},{points[0][1]:g}"
    for before, at, after in zip(points, points[1:], points[2:], strict=False):
        (ax, ay), (bx, by) = _towards(at, before), _towards(at, after)
        d += f"L{ax:g},{ay:g}C{at[0]:g},{at[1]:g} {at[0]:g},{at[1]:g} {bx:g},{by:g}"
    return d + f"L{points[-1][0]:g},{points[-1][1]:g}"


def _towards(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    far = math.hypot(b[0] - a[0], b[1] - a[1]) or 1.0
    share = min(_RADIUS, far / 2) / far
    return round(a[0] + (b[0] - a[0]) * share, 1), round(a[1] + (b[1] - a[1]) * share, 1)
