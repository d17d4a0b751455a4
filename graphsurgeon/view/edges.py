"""The edges of a picture: the boxes that they connect, their routes around boxes, and the positions of their labels."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.edges import Edges
from ..graph.graph import Graph, Ints, TensorInfo, output_at
from .boxes import SUBLABEL, Box, Edge, Group, Item, width
from .helper_ops import behind

Points = NDArray[np.float64]
"""Points of a path: the start, then three points for each curve: two control points and its end."""

CLEAR = 5.0, 2.0
"""The distance of a line from boxes, across and along, px."""
SPACING = 14.0
"""The largest distance between two points of a line that are tested, px."""
_RADIUS = 8.0  # of corners


def ways(
    stops: Sequence[Sequence[tuple[float, float]]], boxes: Points, ends: Sequence[tuple[int, int]]
) -> list[Points]:
    """Returns a path for each line, with as few curves as possible that meet no box.

    Args:
        stops: for each line, points from one end to the other. Curves between consecutive points meet no box.
        boxes: left, top, right and bottom of each box.
        ends: for each line, the numbers of two boxes that it may meet.
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
    return [_curves(table[i, places]) for i, places in enumerate(chosen)]


def _meets(start: Points, end: Points, boxes: Points, skip: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns for each curve whether it meets a box."""
    far = float(np.abs(end - start).max())
    t = np.linspace(0, 1, int(max(8, min(96, far / SPACING))))[1:-1]
    u = 1 - t
    across, along = 3 * u * t * t + t**3, 1.5 * u * t + t**3  # with the control points of _curved
    x = start[:, :1] + (end - start)[:, :1] * across
    y = start[:, 1:] + (end - start)[:, 1:] * along
    x, y = x[:, :, None], y[:, :, None]
    left, top, right, bottom = boxes.T
    inside = (x > left) & (x < right) & (y > top) & (y < bottom)
    found: NDArray[np.bool_] = (inside.any(axis=1) & ~skip).any(axis=1)
    return found


def _curves(points: Points) -> Points:
    """Returns curves through points; the ends of each curve are parallel to the flow."""
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


def bend(points: Sequence[Any]) -> Points:
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


Point = tuple[float, float]
Rect = tuple[float, float, float, float]

MAX_PLACES = 12
"""The number of places that are tried for a label, near the middle of its edge."""

_NUMBERS = str.maketrans("MC,", "   ")


def samples(d: str, per_curve: int = 12) -> list[Point]:
    """Returns points along SVG path data of the form ``M.. L.. C.. L..``.

    Example:
        >>> samples("M0,0L10,0", 2)
        [(0.0, 0.0), (5.0, 0.0), (10.0, 0.0)]
    """
    out: list[Point] = []
    at: Point = (0.0, 0.0)
    shares = _shares(per_curve)
    for command, body in re.findall(r"([MLC])([^MLC]*)", d):
        flat = [float(v) for v in body.replace(",", " ").split()]
        points = list(zip(flat[::2], flat[1::2], strict=True))
        if command == "M":
            at = points[0]
            out.append(at)
        elif command == "L":
            for end in points:
                (x, y), (dx, dy) = at, (end[0] - at[0], end[1] - at[1])
                out += [(x + dx * t, y + dy * t) for t, _ in shares]
                at = end
        else:
            for (x1, y1), (x2, y2), end in zip(points[::3], points[1::3], points[2::3], strict=True):
                (x, y), (x3, y3) = at, end
                out += [
                    (a * x + b * x1 + c * x2 + e * x3, a * y + b * y1 + c * y2 + e * y3) for _, (a, b, c, e) in shares
                ]
                at = end
    return out


def sample_paths(paths: Sequence[str], per_curve: int) -> list[NDArray[np.float64]]:
    """Returns the `samples` of each path; faster if the paths consist only of curves."""
    if not paths or any("L" in d for d in paths):
        return [np.array(samples(d, per_curve)) for d in paths]
    counts = np.array([d.count(",") for d in paths])
    flat = np.array(" ".join(paths).translate(_NUMBERS).split(), float).reshape(-1, 2)
    curves, starts = (counts - 1) // 3, np.cumsum(counts) - counts
    before = np.cumsum(curves) - curves
    firsts = np.repeat(starts - 3 * before, curves) + 3 * np.arange(curves.sum())
    weights = np.array([each for _, each in _shares(per_curve)])
    points = np.einsum("tk,skx->stx", weights, flat[firsts[:, None] + np.arange(4)]).reshape(-1, 2)
    whole = np.insert(points, before * per_curve, flat[starts], axis=0)
    return np.split(whole, np.cumsum(curves * per_curve + 1)[:-1])


@cache
def _shares(count: int) -> list[tuple[float, tuple[float, float, float, float]]]:
    """Returns for each of `count` steps along a curve its position from 0 to 1, and the weights of the four points."""
    found = []
    for i in range(1, count + 1):
        t = i / count
        u = 1 - t
        found.append((t, (u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t)))
    return found


def place_labels(boxes: Sequence[Box], groups: Sequence[Group], edges: Sequence[Edge], picture_width: float) -> None:
    """Places edge labels next to their edges, with the center at (lx, ly), in a picture of width `picture_width`.

    If there is no free place, or the edge is quiet, the label is removed; the page still shows it on hover. The label
    of a changed edge always stays: without a free place it is drawn over the middle of the edge.
    """
    frames = [(b.x - 2, b.y - 1, b.x + b.w + 2, b.y + b.h + 1) for b in boxes]
    frames += [(g.x, g.y, g.x + g.w, g.y + 22) for g in groups]
    frames += [side for g in groups for side in _sides(g)]
    paths = dict(zip((edge.id for edge in edges), sample_paths([edge.d for edge in edges], 6), strict=True))
    room = _Room(frames, np.concatenate([np.empty((0, 2)), *paths.values()]))
    for edge in sorted(edges, key=lambda e: (not e.state, not e.label.startswith("×"), e.id)):
        points = paths[edge.id]
        middle = points[len(points) // 2].tolist()
        edge.lx, edge.ly = round(middle[0], 1), round(middle[1], 1)
        if edge.quiet:
            edge.label = ""
        if not edge.label:
            continue
        size = width(edge.label, SUBLABEL) + 2, SUBLABEL + 2
        found = room.first(_places(points, size[0]), size, picture_width)
        if found is None:
            edge.label = edge.label if edge.state == "changed" else ""
        else:
            edge.lx, edge.ly = round(found[0], 1), round(found[1], 1)


class _Room:
    """The occupied rectangles of a picture, and points of lines that must stay visible.

    Args:
        frames: left, top, right and bottom of each rectangle.
        points: the points.
    """

    def __init__(self, frames: Sequence[Rect], points: NDArray[np.float64]) -> None:
        self._occupied = np.array(frames).reshape(-1, 4).T
        self._x, y = points[np.argsort(points[:, 1])].T  # sorted by y: few points are at the height of a label
        self._y: list[float] = y.tolist()

    def first(self, places: Points, size: Point, width: float) -> Point | None:
        """Occupies the first place with enough space for a rectangle, and returns its center; None if there is none."""
        w, h = size
        x, y = places.T
        left, top, right, bottom = x - w / 2, y - h / 2, x + w / 2, y + h / 2
        a, b, c, d = self._occupied[:, :, None]
        free = (left >= 0) & (right <= width) & ~((left < c) & (a < right) & (top < d) & (b < bottom)).any(axis=0)
        for i in np.flatnonzero(free).tolist():
            begin, end = bisect_left(self._y, top[i]), bisect_right(self._y, bottom[i])
            beside = self._x[begin:end]
            if not ((left[i] <= beside) & (beside <= right[i])).any():
                self._occupied = np.column_stack([self._occupied, (left[i], top[i], right[i], bottom[i])])
                return float(x[i]), float(y[i])
        return None


def _sides(g: Group) -> list[Rect]:
    """Returns the lines of a frame as rectangles, so that no label covers them."""
    right, bottom = g.x + g.w, g.y + g.h
    return [
        (g.x - 1, g.y, g.x + 1, bottom),
        (right - 1, g.y, right + 1, bottom),
        (g.x, bottom - 1, right, bottom + 1),
    ]


def _places(points: Points, w: float) -> Points:
    """Returns the places to try, from the middle of the edge towards both ends."""
    found = np.repeat(points[_nearest(len(points))], 2, axis=0)
    found[:, 0] += np.tile((w / 2 + 4, -w / 2 - 4), len(found) // 2)
    return found


@cache
def _nearest(count: int) -> NDArray[np.int64]:
    """Returns the numbers of the points between both ends that are nearest to the middle."""
    order = sorted(range(1, count - 1), key=lambda i: abs(i - count // 2))
    return np.array(order[: MAX_PLACES // 2], np.int64)


def without_far(boxes: list[Box], edges: list[Edge]) -> tuple[list[Edge], int]:
    """Returns the edges without most edges of gradients, and the number of edges left out.

    The remaining edges of gradients connect a gradient to its forward box, or reverse a forward edge.
    """
    of = {box.id: box.beside for box in boxes if box.beside}
    forward = {(e.source, e.target) for e in edges if e.source not in of and e.target not in of}
    near_edges = []
    for edge in edges:
        a, b = of.get(edge.source), of.get(edge.target)
        own = edge.source == b or edge.target == a
        if (a is None and b is None) or own or (a and b and (b, a) in forward):
            near_edges.append(edge)
    return near_edges, len(edges) - len(near_edges)


CONTROL_MOST = 4
"""The maximum number of control edges drawn at a box."""
HUB = 4
"""The number of edges from which the edges of a box of gradients or of an optimizer are drawn faint."""
CROSSROADS = 10
"""The number of edges from which the edges of any box are drawn faint."""
TENSORS = 8
"""The maximum number of tensor names of an edge."""


def wires(graph: Graph, boxes: list[Box], op_box: Ints) -> tuple[list[Edge], int]:
    """Returns an edge for each pair of boxes, and the number of control inputs that are not drawn."""
    n = max(1, len(boxes))
    out: list[Edge] = []
    hidden, at = 0, [0] * n

    def add(a: int, b: int, found: list[tuple[int, int]], control: bool) -> Edge:
        names = [f"^{graph.names[op]}" if control else f"{graph.names[op]}:{port}" for op, port in found[:TENSORS]]
        label = f"×{len(found)}" if len(found) > 1 else ""
        out.append(Edge(f"e{len(out)}", boxes[a].id, boxes[b].id, len(found), control, names, label=label))
        return out[-1]

    infos_of: dict[int, Sequence[TensorInfo] | None] = {}  # many edges have the same producer

    def info_of(op: int, port: int) -> TensorInfo | None:
        if op not in infos_of:
            infos_of[op] = graph.stated(op)
        return output_at(infos_of[op], port)

    between: set[tuple[int, int]] = set()
    for (a, b), tensors in _pairs(graph.data, op_box, n):
        between |= {(a, b), (b, a)}
        edge, infos = add(a, b, tensors, False), [info_of(*tensor) for tensor in tensors[:TENSORS]]
        if not edge.label and infos[0] and infos[0].shape is not None:
            edge.label = str(infos[0])
        edge.texts = [str(info) if info else "" for info in infos]
    for (a, b), tensors in _pairs(graph.control, op_box, n):
        if (a, b) in between or at[a] >= CONTROL_MOST or at[b] >= CONTROL_MOST:
            hidden += len(tensors)
            continue
        at[a] += 1
        at[b] += 1
        add(a, b, tensors, True)
    return out, hidden


def hush(boxes: Sequence[Box], items: Sequence[Item], edges: list[Edge]) -> None:
    """Makes the edges of boxes with many edges quiet; for gradients and optimizers, with fewer edges."""
    back = {b.id for b, item in zip(boxes, items, strict=True) if behind(item.leaf)}
    ends = Counter(end for e in edges for end in (e.source, e.target))
    for edge in edges:
        pair = (edge.source, edge.target)
        edge.quiet = any(ends[end] >= (HUB if end in back else CROSSROADS) for end in pair)


Pair = tuple[tuple[int, int], list[tuple[int, int]]]
"""Two boxes, and the outputs of the first that the second reads: (op, port)."""


def _pairs(edges: Edges, op_box: Ints, n: int) -> Iterator[Pair]:
    a, b = op_box[edges.node], op_box[edges.rows]
    keep = (a >= 0) & (b >= 0) & (a != b)
    return by_pair(a[keep], b[keep], edges.node[keep], edges.port[keep], n)


def by_pair(sources: Ints, targets: Ints, ops: Ints, ports: Ints, n: int) -> Iterator[Pair]:
    """Yields each pair of boxes with an edge, in order, and each of its tensors once.

    Args:
        sources, targets: for each edge, the number of its first and of its second box.
        ops, ports: its tensor.
        n: the number of boxes.
    """
    if not len(ops):
        return
    table = np.empty((len(ops), 3), np.int64)
    table[:, 0] = sources.astype(np.int64) * n + targets
    table[:, 1], table[:, 2] = ops, ports
    table = table[np.lexsort((table[:, 2], table[:, 1], table[:, 0]))]
    new = np.ones(len(table), np.bool_)
    new[1:] = (table[1:] != table[:-1]).any(axis=1)
    table = table[new]
    starts = np.flatnonzero(np.r_[True, table[1:, 0] != table[:-1, 0]]).tolist()
    for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
        pair = int(table[start, 0])
        rows = table[start:end, 1:].tolist()
        yield (pair // n, pair % n), [(int(op), int(port)) for op, port in rows]
