"""Routes: curves that lead lines around boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
"""Points of a path: the first, then three for each curve, the last of which is its end."""

CLEAR = 5.0, 2.0
"""The distance of a line from boxes, across and along, px."""
SPACING = 14.0
"""The largest distance between two points of a line that are tested, px."""
_RADIUS = 8.0  # of corners


def ways(
    stops: Sequence[Sequence[tuple[float, float]]], boxes: Points, ends: Sequence[tuple[int, int]]
) -> list[Points]:
    """Returns a path for each line: as few curves as possible, so that none meets a box.

    Args:
        stops: for each line the points from one end to the other; a curve from each to the next meets no box.
        boxes: left, top, right and bottom of each.
        ends: for each line the numbers of two boxes that it may meet.
    """
    count = len(stops)
    if not count:
        return []
    last = np.array([len(points) - 1 for points in stops])
    table = np.zeros((count, int(last.max()) + 1, 2))
    for i, points in enumerate(stops):
        table[i, : len(points)] = points
    grown = boxes + np.array([-CLEAR[0], -CLEAR[1], *CLEAR])
    skip = np.zeros((count, len(boxes) + 1), np.bool_)
    for side in (0, 1):
        skip[np.arange(count), np.minimum([pair[side] for pair in ends], len(boxes))] = True
    at, to, chosen = np.zeros(count, int), last.copy(), [[0] for _ in stops]
    left = np.arange(count)
    while len(left):
        free = to[left] <= at[left] + 1
        tested = left[~free]
        if len(tested):
            start, end = table[tested, at[tested]], table[tested, to[tested]]
            free[~free] = ~_meets(start, end, grown, skip[tested, :-1])
        for i in left[free].tolist():
            chosen[i].append(int(to[i]))
        at[left[free]] = to[left[free]]
        to[left] = np.where(free, last[left], (at[left] + to[left]) // 2)
        to[left] = np.maximum(to[left], at[left] + 1)
        left = left[at[left] < last[left]]
    return [_curved(table[i, places]) for i, places in enumerate(chosen)]


def _meets(start: Points, end: Points, boxes: Points, skip: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns for each curve whether it meets a box."""
    far = float(np.abs(end - start).max())
    t = np.linspace(0, 1, int(max(8, min(96, far / SPACING))))[1:-1]
    u = 1 - t
    across, along = 3 * u * t * t + t**3, 1.5 * u * t + t**3  # as _curved puts the control points
    x = start[:, :1] + (end - start)[:, :1] * across
    y = start[:, 1:] + (end - start)[:, 1:] * along
    x, y = x[:, :, None], y[:, :, None]
    left, top, right, bottom = boxes.T
    inside = (x > left) & (x < right) & (y > top) & (y < bottom)
    found: NDArray[np.bool_] = (inside.any(axis=1) & ~skip).any(axis=1)
    return found


def _curved(points: Points) -> Points:
    """Returns curves through points, each along the flow at its ends."""
    out = np.empty((3 * len(points) - 2, 2))
    out[0] = points[0]
    middle = (points[1:, 1] + points[:-1, 1]) / 2
    out[1::3, 0], out[1::3, 1] = points[:-1, 0], middle
    out[2::3, 0], out[2::3, 1] = points[1:, 0], middle
    out[3::3] = points[1:]
    return out


def straight(start: Any, end: Any) -> Points:
    """Returns a straight line as a curve."""
    a, b = np.array(start, float), np.array(end, float)
    return np.array([a, a + (b - a) / 3, b - (b - a) / 3, b])


def bent(points: Sequence[Any]) -> Points:
    """Returns straight lines with round corners."""
    out = [np.array([points[0]], float)]
    for before, at, after in zip(points, points[1:], points[2:], strict=False):
        corner = np.array(at)
        near, far = _towards(corner, np.array(before)), _towards(corner, np.array(after))
        out += [straight(out[-1][-1], near)[1:], np.array([corner, corner, far])]
    return np.concatenate([*out, straight(out[-1][-1], points[-1])[1:]])


def _towards(a: Points, b: Points) -> Points:
    far = float(np.hypot(*(b - a))) or 1.0
    found: Points = a + (b - a) * min(_RADIUS, far / 2) / far
    return found
