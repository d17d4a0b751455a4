"""Edge labels: where the words on edges go, so that they cover nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from .boxes import Box, Edge, Group
from .text import SUB, width

Point = tuple[float, float]
Rect = tuple[float, float, float, float]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def samples(d: str, per_curve: int = 12) -> list[Point]:
    """Returns points along SVG path data of the form ``M.. L.. C.. L..``.

    Example:
        >>> samples("M0,0L10,0", 2)
        [(0.0, 0.0), (5.0, 0.0), (10.0, 0.0)]
    """
    out: list[Point] = []
    at: Point = (0.0, 0.0)
    for command, body in re.findall(r"([MLC])([^MLC]*)", d):
        flat = [float(v) for v in NUMBER.findall(body)]
        points = list(zip(flat[::2], flat[1::2], strict=True))
        if command == "M":
            at = points[0]
            out.append(at)
        elif command == "L":
            for end in points:
                for i in range(1, per_curve + 1):
                    t = i / per_curve
                    out.append((at[0] + (end[0] - at[0]) * t, at[1] + (end[1] - at[1]) * t))
                at = end
        else:
            for k in range(0, len(points), 3):
                p1, p2, p3 = points[k : k + 3]
                for i in range(1, per_curve + 1):
                    t = i / per_curve
                    u = 1 - t
                    a, b, c, e = u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t
                    out.append((
                        a * at[0] + b * p1[0] + c * p2[0] + e * p3[0],
                        a * at[1] + b * p1[1] + c * p2[1] + e * p3[1],
                    ))  # fmt: skip
                at = p3
    return out


def put(boxes: Sequence[Box], groups: Sequence[Group], edges: Sequence[Edge], wide: float) -> None:
    """Gives each edge label a free place beside its edge, centre in (lx, ly), inside a picture `wide` points wide.

    A label without room, or of a quiet edge, goes; the page still tells it when the edge is touched.
    """
    frames = [(b.x - 2, b.y - 1, b.x + b.w + 2, b.y + b.h + 1) for b in boxes]
    frames += [(g.x, g.y, g.x + g.w, g.y + 22) for g in groups]
    frames += [side for g in groups for side in _sides(g)]
    paths = {edge.id: samples(edge.d, 6) for edge in edges}
    room = _Room(frames, [point for path in paths.values() for point in path])
    for edge in sorted(edges, key=lambda e: (not e.label.startswith("×"), e.id)):
        points = paths[edge.id]
        middle = points[len(points) // 2]
        edge.lx, edge.ly = round(middle[0], 1), round(middle[1], 1)
        if edge.quiet:
            edge.label = ""
        if not edge.label:
            continue
        w, h = width(edge.label, SUB) + 2, SUB + 2
        for x, y in _places(points, w):
            spot = (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
            if spot[0] >= 0 and spot[2] <= wide and room.free(spot):
                edge.lx, edge.ly = round(x, 1), round(y, 1)
                room.take(spot)
                break
        else:
            edge.label = ""


class _Room:
    """Knows which rectangles of a picture are taken, and which points of lines have to stay in sight.

    Args:
        frames: left, top, right and bottom of each rectangle.
        points: the points.
    """

    def __init__(self, frames: Sequence[Rect], points: Sequence[Point]) -> None:
        self._taken = [np.array(frames).reshape(-1, 4).T]
        self._points = np.array(points).reshape(-1, 2).T

    def free(self, spot: Rect) -> bool:
        """Returns whether nothing is there."""
        left, top, right, bottom = spot
        x, y = self._points
        if ((left <= x) & (x <= right) & (top <= y) & (y <= bottom)).any():
            return False
        return not any(((left < c) & (a < right) & (top < d) & (b < bottom)).any() for a, b, c, d in self._taken)

    def take(self, spot: Rect) -> None:
        """Notes that this is taken now."""
        self._taken.append(np.array(spot).reshape(4, 1))


def _sides(g: Group) -> list[Rect]:
    """Returns the lines of a frame: a word across one is read as part of it."""
    right, bottom = g.x + g.w, g.y + g.h
    return [
        (g.x - 1, g.y, g.x + 1, bottom),
        (right - 1, g.y, right + 1, bottom),
        (g.x, bottom - 1, right, bottom + 1),
    ]


def _places(points: list[Point], w: float) -> list[Point]:
    """Returns places to try: beside the middle first, then towards both ends."""
    n = len(points)
    order = sorted(range(1, n - 1), key=lambda i: abs(i - n // 2))
    return [(points[i][0] + side * (w / 2 + 4), points[i][1]) for i in order for side in (1, -1)]
