"""The edges of a picture: their boxes, their routes around boxes, and where their labels are; `svg` draws them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, compress, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.edges import Edges
from ..graph.graph import Graph, Ints
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


_CELL_WIDTH, _COLUMNS = 32.0, 1024
"""The width of the cells by which points are sorted, px, and their number in a row; the last one is wider."""

Point = tuple[float, float]
Rect = tuple[float, float, float, float]

LABEL_DISTANCE = 60.0
"""The distance of a label from the consumer of a long edge along the edge, px. On shorter edges it is in the middle."""
_PLACES = np.array([1, 4 / 3, 2 / 3, 5 / 3, 1 / 3])
"""The points of an edge that are tried for its label, near `LABEL_DISTANCE` and near the middle, as multiples of it."""
LABEL_ROOM, LABEL_MARGIN = 130.0, 6.0
"""How far labels may be right of the boxes of a picture, and their distance from its right border, px."""
_BAND = 40.0
"""The height of the bands of a picture by which placed labels are grouped, px."""


def placed_lines(paths: Sequence[Points], start: Any, down: bool) -> list[Points]:
    """Returns the lines of a level in the picture, as points with x and y, rounded to a tenth of a px.

    Args:
        paths: the control points of each line, across and along.
        start: the corner of the level, across and along.
        down: whether across is x.
    """
    if not len(paths):
        return []
    points = np.round(np.concatenate(paths) + start, 1)[:, :: 1 if down else -1]
    return _parted(points, map(len, paths))


def _parted(points: Points, counts: Iterable[int]) -> list[Points]:
    """Returns parts of these lengths; numpy.split takes ten times as long."""
    return [points[start:end] for start, end in pairwise(accumulate(counts, initial=0))]


def line_texts(lines: Sequence[Points]) -> list[str]:
    """Returns the SVG path data of lines, without the ``M`` at the start.

    Example:
        >>> line_texts([np.array([[0, 0], [0, 5], [0, 5.5], [0, 10]])])
        ['0,0C0,5 0,5.5 0,10']
    """
    if not lines:
        return []
    form = "\n".join(f"%g,%gC{'%g,%g ' * (len(points) - 1)}" for points in lines)
    texts = form % tuple(np.concatenate(lines).ravel().tolist())
    return [text.rstrip("C ") for text in texts.split("\n")]


def path_data(lines: Sequence[str], path: Iterable[int]) -> str:
    """Returns the SVG path data of an edge.

    Args:
        lines: the lines of the scene.
        path: the numbers of its lines, in order.

    Example:
        >>> path_data(["0,0C0,5 0,5 0,10", "0,10C0,15 0,15 0,20"], [0, 1])
        'M0,0C0,5 0,5 0,10C0,15 0,15 0,20'
    """
    first, *rest = (lines[number] for number in path)
    return f"M{first}" + "".join(f"C{curves}" for line in rest if (curves := line.partition("C")[2]))


def sample_lines(lines: Sequence[Points], per_curve: int = 12) -> list[Points]:
    """Returns points along each line of a scene.

    Example:
        >>> [points.tolist() for points in sample_lines([np.array([[0, 0], [0, 5], [0, 5], [0, 10]])], 2)]
        [[[0.0, 0.0], [0.0, 5.0], [0.0, 10.0]]]
    """
    if not lines:
        return []
    flat = np.concatenate(lines)
    curves = np.array([len(points) // 3 for points in lines])
    before = np.cumsum(curves) - curves
    firsts = np.repeat(np.arange(len(lines)), curves) + 3 * np.arange(curves.sum())
    a, b, c, d = (flat[firsts + i][:, None] for i in range(4))
    t = np.arange(1, per_curve + 1)[:, None] / per_curve
    u = 1 - t
    points = (u * u * u * a + 3 * u * u * t * b + 3 * u * t * t * c + t * t * t * d).reshape(-1, 2)
    whole = np.insert(points, before * per_curve, flat[3 * before + np.arange(len(lines))], axis=0)
    return _parted(whole, (curves * per_curve + 1).tolist())


def sampled(path: Iterable[int], samples: Sequence[Points]) -> Points:
    """Returns the points along an edge, from the `sample_lines` of its scene."""
    first, *rest = (samples[number] for number in path)
    return np.concatenate([first, *(piece[1:] for piece in rest)]) if rest else first


def place_labels(
    boxes: Sequence[Box],
    groups: Sequence[Group],
    edges: Sequence[Edge],
    lines: Sequence[Points],
    picture_width: float,
    room: float = 0.0,
) -> float:
    """Places the labels of edges next to them in a picture with these lines and of width `picture_width`.

    The label of a long edge is near its consumer. If there is no free place, or the edge is quiet, the label is
    removed; the inspector still shows it. The label of a changed edge always stays: without a free place it is drawn
    over the middle of the edge. A label may begin inside the picture and end right of it, at most by `room`, so that a
    narrow picture has labels too.

    Returns:
        the width of the picture with its labels.
    """
    for edge in edges:
        if edge.quiet:
            edge.label = ""
    if not any(edge.label or edge.state for edge in edges):
        return picture_width
    frames = [(b.x - 2, b.y - 1, b.x + b.w + 2, b.y + b.h + 1) for b in boxes]
    frames += [(g.x, g.y, g.x + g.w, g.y + 22) for g in groups]
    frames += [side for g in groups for side in _sides(g)]
    fine = sample_lines(lines, 12)
    samples = [points[::2] for points in fine]
    labeled: list[tuple[Edge, Points]] = []
    for edge in edges:
        if not edge.label and not edge.state:
            continue
        points = sampled(edge.path, fine)
        if edge.state:
            x, y = points[len(points) // 2].tolist()
            edge.label_x, edge.label_y = round(x, 1), round(y, 1)
        if edge.label:
            labeled.append((edge, points))
    labeled.sort(key=lambda one: (not one[0].state, not one[0].label.startswith("×"), one[0].id))
    sizes = [(width(edge.label, SUBLABEL) + 2, SUBLABEL + 2) for edge, _ in labeled]
    widest = picture_width
    found = _free_places([points for _, points in labeled], sizes, frames, samples, picture_width + room)
    for (edge, _), (w, _), place in zip(labeled, sizes, found, strict=True):
        if place is None:
            edge.label = edge.label if edge.state == "changed" else ""
        else:
            edge.label_x, edge.label_y = round(place[0], 1), round(place[1], 1)
            widest = max(widest, place[0] + w / 2 + LABEL_MARGIN)
    return round(widest, 1)


def _dense(lines: Sequence[Points]) -> Points:
    """Returns points on all lines, so close that no label fits between two of them."""
    starts, ends = (np.concatenate([points[part] for points in lines]) for part in (slice(-1), slice(1, None)))
    count = np.maximum(1, np.ceil(np.hypot(*(ends - starts).T) / SUBLABEL)).astype(np.int64)
    segment = np.repeat(np.arange(len(count)), count)
    place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    points: Points = starts[segment] + (ends - starts)[segment] * (place / count[segment])[:, None]
    return points


def _free_places(
    paths: Sequence[Points], sizes: Sequence[Point], frames: Sequence[Rect], lines: Sequence[Points], width: float
) -> Iterator[Point | None]:
    """Yields for each label the center of the first free place next to its path; None if there is none.

    A place that no line crosses comes first. A place that only the middle of a long line crosses is free, too.

    Args:
        paths: for each label, points of its edge.
        sizes: the width and height of each label.
        frames: left, top, right and bottom of occupied rectangles.
        lines: points along each line, which must stay visible.
        width: the width of the picture.
    """
    if not paths:
        return
    w, h = (np.array(side)[:, None] for side in zip(*sizes, strict=True))
    x, y, is_level = (np.repeat(near, 2, axis=1) for near in _near_consumers(paths))
    side = np.tile([1, -1], x.shape[1] // 2)
    x, y = x + side * np.where(is_level, 0, w / 2 + 4), y + side * np.where(is_level, h / 2 + 3, 0)
    rects = np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2])
    free = (rects[:2] >= 0).all(axis=0) & (rects[2] <= width)
    free &= ~_meet_points(rects, free, np.concatenate(lines))
    occupied = np.array(frames).reshape(-1, 4).T
    free[free] = ~_overlap(rects[:, free][:, :, None], occupied[:, None]).any(axis=1)
    clear = free & ~_meet_points(rects, free, _dense(lines))
    labels = defaultdict[int, list[Rect]](list)  # by the bands of the picture that they touch
    masks = np.stack([clear, free], axis=1).tolist()
    for mine, (is_clear, is_free) in zip(rects.transpose(1, 2, 0).tolist(), masks, strict=True):
        for place in chain(compress(mine, is_clear), compress(mine, is_free)):
            bands = range(int(place[1] // _BAND), int(place[3] // _BAND) + 1)
            if not any(_overlap(place, label) for band in bands for label in labels[band]):
                break
        else:
            yield None
            continue
        for band in bands:
            labels[band].append(place)
        yield (place[0] + place[2]) / 2, (place[1] + place[3]) / 2


def _meet_points(rects: Points, tried: NDArray[np.bool_], points: Points) -> NDArray[np.bool_]:
    """Returns which of the rectangles that are tried contain a point."""
    left, top, right, bottom = rects[:, tried]
    cells = _cell(*points.T)
    order = np.argsort(cells, kind="stable")  # fast, because the points of a line are in order
    (x, y), cells = points[order].T, cells[order]
    ends = np.stack([top, bottom])  # a label touches one row of cells, or two
    begin, end = np.searchsorted(cells, _cell(left, ends)), np.searchsorted(cells, _cell(right, ends), "right")
    begin, count = begin.ravel(), (end - begin).ravel()
    number = np.repeat(np.arange(len(count)), count) % len(left)
    at = np.arange(count.sum()) + np.repeat(begin - np.cumsum(count) + count, count)
    x, y, met = x[at], y[at], np.zeros(len(left), np.bool_)
    met[number[(left[number] <= x) & (x <= right[number]) & (top[number] <= y) & (y <= bottom[number])]] = True
    out = np.zeros_like(tried)
    out[tried] = met
    return out


def _cell(x: Points, y: Points) -> NDArray[np.int32]:
    """Returns the number of the cell of a grid that contains each point. Rows of cells are as high as a label."""
    row, column = (y * (1 / (SUBLABEL + 2))).astype(np.int32), (x * (1 / _CELL_WIDTH)).astype(np.int32)
    cells: NDArray[np.int32] = row * _COLUMNS + np.minimum(column, _COLUMNS - 1)
    return cells


def _overlap(a: Any, b: Any) -> Any:
    """Returns whether rectangles overlap; the first axis is left, top, right and bottom."""
    return (a[0] < b[2]) & (b[0] < a[2]) & (a[1] < b[3]) & (b[1] < a[3])


def _sides(g: Group) -> list[Rect]:
    """Returns the lines of a frame as rectangles, so that no label covers them."""
    right, bottom = g.x + g.w, g.y + g.h
    return [
        (g.x - 1, g.y, g.x + 1, bottom),
        (right - 1, g.y, right + 1, bottom),
        (g.x, bottom - 1, right, bottom + 1),
    ]


def _near_consumers(paths: Sequence[Points]) -> tuple[Points, Points, NDArray[np.bool_]]:
    """Returns the points of each edge that are tried for its label, in order.

    Returns:
        their coordinates across and along, and whether the edge is level there: a label is then above or below it.
    """
    points, counts = np.concatenate(paths), np.array([len(path) for path in paths])
    steps = np.hypot(*np.diff(points, axis=0, prepend=points[:1]).T)
    ends = np.cumsum(counts)
    steps[ends[:-1]] = 1  # from the end of an edge to the start of the next one
    passed = np.cumsum(steps)
    last = passed[ends - 1][:, None]
    start = passed[ends - counts][:, None]
    half = (last - start) / 2
    places = last - np.hstack([np.minimum(half, LABEL_DISTANCE) * _PLACES, half * _PLACES])
    (x, y), (old_x, old_y) = (
        [np.interp(at, passed, points[:, axis]) for axis in (0, 1)] for at in (places, np.maximum(places - 0.5, start))
    )
    return x, y, np.abs(x - old_x) > 5 * np.abs(y - old_y)


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
"""The maximum number of tensor names of an edge in a saved page."""


def wires(graph: Graph, boxes: Sequence[Box], items: Sequence[Item], op_box: Ints) -> tuple[list[Edge], int]:
    """Returns an edge for each pair of boxes, and the number of control inputs that are not drawn.

    The edges of boxes with many edges are quiet; for gradients and optimizers, with fewer edges.

    Args:
        graph: the graph.
        boxes, items: the boxes, and the item of each.
        op_box: for each op, the number of its box, or -1.
    """
    ends, at, hidden = list[tuple[int, int, int, bool, int, int]](), [0] * len(boxes), 0
    between: set[tuple[int, int]] = set()
    for (a, b), count, ((op, port),) in _pairs(graph.data, op_box, len(boxes)):
        between |= {(a, b), (b, a)}
        ends.append((a, b, count, False, op, port))
    for (a, b), count, ((op, port),) in _pairs(graph.control, op_box, len(boxes)):
        if (a, b) in between or at[a] >= CONTROL_MOST or at[b] >= CONTROL_MOST:
            hidden += count
            continue
        at[a] += 1
        at[b] += 1
        ends.append((a, b, count, True, op, port))
    crowd = Counter(box for a, b, *_ in ends for box in (a, b))
    hubs = [crowd[i] >= CROSSROADS or (crowd[i] >= HUB and behind(item.leaf)) for i, item in enumerate(items)]
    out = list[Edge]()
    for number, (a, b, count, control, op, port) in enumerate(ends):
        tensor, label, quiet = graph.names[op], f"×{count}" if count > 1 else "", hubs[a] or hubs[b]
        tensor = f"^{tensor}" if control else f"{tensor}:{port}"
        info = None if control or label else graph.declared_info(op, port)
        if info is not None and info.shape is not None:
            label = str(info)
        out.append(Edge(f"e{number}", boxes[a].id, boxes[b].id, count, control, tensor, label=label, quiet=quiet))
    return out, hidden


Pair = tuple[tuple[int, int], int, list[tuple[int, int]]]
"""Two boxes, the number of outputs of the first that the second reads, and the first of these: (op, port)."""


def _pairs(edges: Edges, op_box: Ints, n: int) -> Iterator[Pair]:
    """Yields the pairs of boxes with edges between them, and the first tensor of each."""
    a, b = op_box[edges.node], op_box[edges.rows]
    keep = (a >= 0) & (b >= 0) & (a != b)
    return by_pair(a[keep], b[keep], edges.node[keep], edges.port[keep], n, 1)


def by_pair(sources: Ints, targets: Ints, ops: Ints, ports: Ints, n: int, most: int) -> Iterator[Pair]:
    """Yields each pair of boxes with an edge, in order, with the number of its tensors and the first of them.

    Args:
        sources, targets: for each edge, the number of its first and of its second box.
        ops, ports: its tensor.
        n: the number of boxes.
        most: the maximum number of tensors of a pair.
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
    starts = np.flatnonzero(np.r_[True, table[1:, 0] != table[:-1, 0]])
    counts = np.diff(np.r_[starts, len(table)])
    first = table[np.arange(len(table)) - np.repeat(starts, counts) < most, 1:].tolist()
    tensors, end = list(map(tuple, first)), 0
    for pair, count in zip(table[starts, 0].tolist(), counts.tolist(), strict=True):
        begin, end = end, end + min(count, most)
        yield (pair // n, pair % n), count, tensors[begin:end]
