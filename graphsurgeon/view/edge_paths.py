"""The edges of a picture: their boxes, their routes around boxes, and where their labels are; `svg` draws them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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


def routes(
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
    remaining = np.arange(count)
    while len(remaining):
        free = to[remaining] <= at[remaining] + 1
        tested = remaining[~free]
        if len(tested):
            start, end = table[tested, at[tested]], table[tested, to[tested]]
            free[~free] = ~_meets(start, end, grown, skip[tested, :-1])
        for i in remaining[free].tolist():
            chosen[i].append(int(to[i]))
        at[remaining[free]] = to[remaining[free]]
        to[remaining] = np.where(free, last[remaining], (at[remaining] + to[remaining]) // 2)
        to[remaining] = np.maximum(to[remaining], at[remaining] + 1)
        remaining = remaining[at[remaining] < last[remaining]]
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
    out: NDArray[np.bool_] = (inside.any(axis=1) & ~skip).any(axis=1)
    return out


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
    out: Points = a + (b - a) * min(_RADIUS, far / 2) / far
    return out


Point = tuple[float, float]
Rect = tuple[float, float, float, float]

MAX_PLACES = 12
"""The number of places that are tried for a label, near the middle of its edge."""


def path_data(paths: Sequence[Any], start: Any, down: bool) -> Iterator[tuple[str, str]]:
    """Yields SVG path data of curves: the first point, and the rest.

    Args:
        paths: the control points of each curve, across and along.
        start: the corner of their level, across and along.
        down: whether across is x.
    """
    if not paths:
        return
    points = np.round(np.concatenate(paths) + start, 1)[:, :: 1 if down else -1]
    words, end = ("%g,%g " * len(points) % tuple(points.ravel().tolist())).split(), 0
    for path in paths:
        begin, end = end, end + len(path)
        yield words[begin], f"C{' '.join(words[begin + 1 : end])}" if len(path) > 1 else ""


def _pieces(d: str) -> Iterator[tuple[str, str]]:
    """Yields the curves of SVG path data that one command draws, each after the point at which they start."""
    start, *pieces = d[1:].split("C")
    for piece in pieces:
        yield start, piece
        start = piece[piece.rfind(" ") + 1 :]


Samples = dict[tuple[str, str], Points]
"""Points along parts of paths."""


def sample_paths(paths: Iterable[str], per_curve: int = 12) -> Samples:
    """Returns points along all parts of SVG path data of the form ``M.. C.. C..``. Many paths have parts in common.

    Example:
        >>> path = "M0,0C0,5 0,5 0,10"
        >>> sampled(path, sample_paths([path], 2)).tolist()
        [[0.0, 0.0], [0.0, 5.0], [0.0, 10.0]]
    """
    pieces = list(dict.fromkeys(piece for d in paths for piece in _pieces(d)))
    if not pieces:
        return {}
    flat = np.array(" ".join(map(" ".join, pieces)).replace(",", " ").split(), float).reshape(-1, 2)
    curves = np.array([piece.count(",") // 3 for _, piece in pieces])
    before = np.cumsum(curves) - curves
    firsts = np.repeat(np.arange(len(pieces)), curves) + 3 * np.arange(curves.sum())
    a, b, c, d = (flat[firsts + i][:, None] for i in range(4))
    t = np.arange(1, per_curve + 1)[:, None] / per_curve
    u = 1 - t
    points = (u * u * u * a + 3 * u * u * t * b + 3 * u * t * t * c + t * t * t * d).reshape(-1, 2)
    whole = np.insert(points, before * per_curve, flat[3 * before + np.arange(len(pieces))], axis=0)
    return dict(zip(pieces, np.split(whole, np.cumsum(curves * per_curve + 1)[:-1]), strict=True))


def sampled(d: str, parts: Samples) -> Points:
    """Returns the points along a path, from its `sample_paths`."""
    first, *rest = (parts[piece] for piece in _pieces(d))
    return np.concatenate([first, *(piece[1:] for piece in rest)]) if rest else first


def place_labels(boxes: Sequence[Box], groups: Sequence[Group], edges: Sequence[Edge], picture_width: float) -> None:
    """Places edge labels next to their edges, with the center at (lx, ly), in a picture of width `picture_width`.

    If there is no free place, or the edge is quiet, the label is removed; the inspector still shows it. The label of a
    changed edge always stays: without a free place it is drawn over the middle of the edge.
    """
    for edge in edges:
        if edge.quiet:
            edge.label = ""
    if not any(edge.label or edge.state for edge in edges):
        return
    frames = [(b.x - 2, b.y - 1, b.x + b.w + 2, b.y + b.h + 1) for b in boxes]
    frames += [(g.x, g.y, g.x + g.w, g.y + 22) for g in groups]
    frames += [side for g in groups for side in _sides(g)]
    parts = sample_paths((edge.path for edge in edges), 6)
    labeled: list[tuple[Edge, Points]] = []
    for edge in edges:
        if not edge.label and not edge.state:
            continue
        points = sampled(edge.path, parts)
        x, y = points[len(points) // 2].tolist()
        edge.label_x, edge.label_y = round(x, 1), round(y, 1)
        if edge.label:
            labeled.append((edge, points))
    labeled.sort(key=lambda one: (not one[0].state, not one[0].label.startswith("×"), one[0].id))
    sizes = [(width(edge.label, SUBLABEL) + 2, SUBLABEL + 2) for edge, _ in labeled]
    found = _free_places([points for _, points in labeled], sizes, frames, [*parts.values()], picture_width)
    for (edge, _), place in zip(labeled, found, strict=True):
        if place is None:
            edge.label = edge.label if edge.state == "changed" else ""
        else:
            edge.label_x, edge.label_y = round(place[0], 1), round(place[1], 1)


def _free_places(
    paths: Sequence[Points], sizes: Sequence[Point], frames: Sequence[Rect], lines: Sequence[Points], width: float
) -> Iterator[Point | None]:
    """Yields for each label the center of the first free place next to its path; None if there is none.

    Args:
        paths: for each label, points of its edge.
        sizes: the width and height of each label.
        frames: left, top, right and bottom of occupied rectangles.
        lines: points that must stay visible.
        width: the width of the picture.
    """
    if not paths:
        return
    near = np.full((len(paths), MAX_PLACES // 2, 2), np.nan)
    for i, points in enumerate(paths):
        order = _nearest(len(points))
        near[i, : len(order)] = points[order]
    w, h = (np.array(side)[:, None] for side in zip(*sizes, strict=True))
    x, y = (np.repeat(near[:, :, axis], 2, axis=1) for axis in (0, 1))
    x = x + np.tile([1, -1], MAX_PLACES // 2) * (w / 2 + 4)
    rects = left, top, right, bottom = np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2])
    free = (left >= 0) & (right <= width)
    occupied = np.array(frames).reshape(-1, 4).T
    around = np.concatenate([np.nanmin(rects[:2], axis=2), np.nanmax(rects[2:], axis=2)])
    label, frame = np.nonzero(_overlap(around[:, :, None], occupied[:, None]))
    if len(label):
        some, first = np.unique(label, return_index=True)
        met = _overlap(rects[:, label], occupied[:, frame, None])
        free[some] &= ~np.logical_or.reduceat(met, first)
    across, along = np.concatenate(lines).T
    order = np.argsort(along)  # few points are at the height of a label
    across, along = across[order], along[order]
    label, place = np.nonzero(free)
    begin, end = np.searchsorted(along, top[free]), np.searchsorted(along, bottom[free], "right")
    count = end - begin
    tried = np.repeat(np.arange(len(count)), count)
    points = np.arange(count.sum()) + np.repeat(begin - np.cumsum(count) + count, count)
    beside = tried[(left[free][tried] <= across[points]) & (across[points] <= right[free][tried])]
    free[label[beside], place[beside]] = False
    labels, used = np.empty((4, len(paths))), 0
    for i, row in enumerate(free):
        places = np.flatnonzero(row)
        clear = places[~_overlap(rects[:, i, places, None], labels[:, :used]).any(axis=1)] if len(places) else places
        if not len(clear):
            yield None
            continue
        at = i, clear[0]
        labels[:, used] = rects[:, *at]
        used += 1
        yield float(x[at]), float(y[at])


def _overlap(a: Points, b: Points) -> NDArray[np.bool_]:
    """Returns whether rectangles overlap; the first axis is left, top, right and bottom."""
    out: NDArray[np.bool_] = (a[0] < b[2]) & (b[0] < a[2]) & (a[1] < b[3]) & (b[1] < a[3])
    return out


def _sides(g: Group) -> list[Rect]:
    """Returns the lines of a frame as rectangles, so that no label covers them."""
    right, bottom = g.x + g.w, g.y + g.h
    return [
        (g.x - 1, g.y, g.x + 1, bottom),
        (right - 1, g.y, right + 1, bottom),
        (g.x, bottom - 1, right, bottom + 1),
    ]


@cache
def _nearest(count: int) -> NDArray[np.int64]:
    """Returns the numbers of the points between both ends that are nearest to the middle."""
    order = sorted(range(1, count - 1), key=lambda i: abs(i - count // 2))
    return np.array(order[: MAX_PLACES // 2], np.int64)


CONTROL_MOST = 4
"""The maximum number of control edges drawn at a box."""
HUB = 4
"""The number of edges from which the edges of a box of gradients or of an optimizer are drawn faint."""
CROSSROADS = 10
"""The number of edges from which the edges of any box are drawn faint."""
WIDTHS = tuple(round(1.1 + 0.15 * n, 2) for n in range(9))
"""Width of the line of an edge with 1, 2, ... tensors, px; edges with more tensors have the last width."""
QUIET_WIDTH = 0.9
"""Width of the line of a quiet edge, px."""
TENSORS = 8
"""The maximum number of tensor names of an edge."""


def wires(graph: Graph, boxes: list[Box], op_box: Ints) -> tuple[list[Edge], int]:
    """Returns an edge for each pair of boxes, and the number of control inputs that are not drawn."""
    n = max(1, len(boxes))
    out: list[Edge] = []
    hidden, at = 0, [0] * n

    def add(a: int, b: int, count: int, control: bool, names: list[str]) -> Edge:
        label = f"×{count}" if count > 1 else ""
        out.append(Edge(f"e{len(out)}", boxes[a].id, boxes[b].id, count, control, names, label=label))
        return out[-1]

    wires_by_end: dict[tuple[int, int], tuple[str, TensorInfo | None, str]] = {}  # many edges have the same tensor

    def tensor(op: int, port: int) -> tuple[str, TensorInfo | None, str]:
        if (op, port) not in wires_by_end:
            info = output_at(graph.declared_outputs(op), port)
            wires_by_end[op, port] = f"{graph.names[op]}:{port}", info, str(info) if info else ""
        return wires_by_end[op, port]

    between: set[tuple[int, int]] = set()
    for (a, b), tensors in _pairs(graph.data, op_box, n):
        between |= {(a, b), (b, a)}
        found = [tensor(*one) for one in tensors[:TENSORS]]
        edge = add(a, b, len(tensors), False, [name for name, _, _ in found])
        edge.texts = [text for _, _, text in found]
        if not edge.label and (info := found[0][1]) and info.shape is not None:
            edge.label = edge.texts[0]
    for (a, b), tensors in _pairs(graph.control, op_box, n):
        if (a, b) in between or at[a] >= CONTROL_MOST or at[b] >= CONTROL_MOST:
            hidden += len(tensors)
            continue
        at[a] += 1
        at[b] += 1
        add(a, b, len(tensors), True, [f"^{graph.names[op]}" for op, _ in tensors[:TENSORS]])
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
