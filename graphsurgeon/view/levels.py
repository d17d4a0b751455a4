"""Lays out levels with Graphviz. A level consists of the boxes and frames directly inside one frame.

If a frame of a level is unfolded, it only becomes larger. The order in its level stays, and only changed levels are
laid out. Coordinates are across and along the flow, independent of the direction of the picture.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..graph.traversal import connected_parts
from .edge_paths import Points, bend, routes, straight
from .graphviz import Engine

SPACING = {"TB": (20.0, 26.0), "LR": (14.0, 36.0)}
"""Space between neighbors, and between ranks, px."""
COLUMN_LIMITS = ((700.0, 3.0), (1000.0, 2.0))
"""(height in px, ratio): a level that is higher, and whose height is a larger multiple of its width, gets columns."""
GAP = 2.0
"""The space between unconnected parts of a level: a factor for the space between neighbors."""
COLUMN = 1.2
"""The ratio of height to width of a level in columns."""
GUTTER = 44.0
"""Space between two columns, px."""
COLUMN_MARGIN = 32.0
"""Space above and below columns for the lines between columns, px."""
MAX_CROSSINGS = 6
"""The maximum number of lines from a column to the next."""
TRACK = 5.0
"""The distance between two lines from a column to the next, px."""
FAN = 8
"""The maximum number of neighbors without other lines that a box has on one rank."""
BUSY = 10
"""The number of lines of a box from which they get a lower weight."""
CACHE_SIZE = 400
"""The number of cached levels."""

_ALLOWED = re.compile(r'[\sA-Za-z0-9_.,;={}\[\]">-]*')


@dataclass(frozen=True)
class Run:
    """Runs Graphviz.

    Args:
        engine: the layout engine.
        effort: DOT attributes that limit the work.
        end: the time at which the run must end.
        cancelled: called every few ms; true stops the run.
    """

    engine: Engine
    effort: str
    end: float
    cancelled: Callable[[], bool]

    def values(self, dot: str, attribute: str) -> Iterator[tuple[int, str]]:
        """Runs DOT text, and yields the number of each node with the value, or the x value, of one attribute."""
        if not _ALLOWED.fullmatch(dot):
            raise AssertionError("a name reached the layout engine")
        # Graphviz takes a fifth longer to write JSON, which also repeats the attributes that all nodes share
        output = self.engine.run(dot, max(0.05, self.end - time.monotonic()), self.cancelled, "dot").decode()
        for node in re.finditer(rf'^\s*n(\d+)\s*\[[^]]*\b{attribute}="?([^",\]]+)', output, re.MULTILINE):
            yield int(node[1]), node[2]


class Line(NamedTuple):
    """An edge of a level. A line of weight -1 is not drawn."""

    tail: int
    head: int
    weight: int


class Structure(NamedTuple):
    """A level without sizes.

    Args:
        items: the number of boxes and frames, which have the first numbers.
        gates: the numbers of gates at the start and at the end of the frame; gates have the next numbers.
        lines: the edges, in order.
    """

    items: int
    gates: tuple[int, int]
    lines: tuple[Line, ...]


@dataclass(frozen=True, eq=False)
class Level:
    """A level that is laid out.

    Args:
        size: the size across and along.
        positions: the corner of each item.
        gates: the position of each gate, across.
        paths: the control points of each line, from its tail to its head.
        starts: the items that begin a new column.
    """

    size: tuple[float, float]
    positions: NDArray[np.float64]
    gates: list[float]
    paths: list[Points]
    starts: list[int]


def rank_items(structure: Structure, run: Run) -> list[int]:
    """Returns the rank of each item and gate.

    Args:
        structure: the level.
        run: runs Graphviz.
    """

    def rank() -> list[int]:
        ranks = [0] * (structure.items + sum(structure.gates))
        for name, value in run.values(_rank_dot(structure, run.effort), "rank"):
            ranks[name] = int(value)
        return ranks

    return _cached((structure, run.effort), rank)


def laid_out(
    structure: Structure,
    ranks: Sequence[int],
    sizes: tuple[tuple[float, float], ...],
    ends: tuple[tuple[float | None, float | None], ...],
    spacing: tuple[float, float],
    border: tuple[float, float],
    columns: tuple[int, ...] | None,
    run: Run,
    height_factor: float = 1.0,
) -> Level:
    """Returns the level with coordinates.

    Args:
        structure: the level.
        ranks: the ranks of its items and gates.
        sizes: the sizes of its items, across and along.
        ends: for each line, the offsets of its ends across their items; None for near the middle.
        spacing: the space between neighbors, and between ranks.
        border: the distance of gates from the level, at its start and at its end.
        columns: the items that begin a new column; None to choose them if the level is long and thin.
        run: runs Graphviz.
        height_factor: a factor for the heights in `COLUMN_LIMITS`.
    """

    def place() -> Level:
        parts = [_part(structure, nodes) for nodes in _parts(structure)]
        layouts = [part.layout(ranks, sizes, spacing, columns, run, height_factor) for part in parts]
        along = max(layout.along for layout in layouts)
        at = np.zeros((structure.items, 2))
        gates, paths = np.zeros(sum(structure.gates)), [np.zeros((1, 2)) for _ in structure.lines]
        starts, offset = list[int](), 0.0
        for part, layout in zip(parts, layouts, strict=True):
            far = border[0], border[1] + along - layout.along
            level = layout.level(tuple(ends[number] for number in part.lines), far)
            items, aside = part.structure.items, np.array([offset, 0.0])
            at[part.nodes[:items]] = level.positions + aside
            gates[part.nodes[items:] - structure.items] = np.array(level.gates) + offset
            for number, path in zip(part.lines, level.paths, strict=True):
                paths[number] = path + aside
            starts += part.nodes[level.starts].tolist()
            offset += level.size[0] + GAP * spacing[0]
        return Level((offset - GAP * spacing[0], along), at, gates.tolist(), paths, starts)

    return _cached((structure, sizes, ends, spacing, border, columns, run.effort, height_factor), place)


class _Part(NamedTuple):
    """A part of a level without lines to other parts.

    Args:
        structure: the part, in the form of a level.
        nodes: the numbers of its items and gates in the level.
        lines: the numbers of its lines in the level.
    """

    structure: Structure
    nodes: NDArray[np.int64]
    lines: tuple[int, ...]

    def layout(
        self,
        ranks: Sequence[int],
        sizes: tuple[tuple[float, float], ...],
        spacing: tuple[float, float],
        columns: tuple[int, ...] | None,
        run: Run,
        height_factor: float,
    ) -> _Layout:
        """Returns the layout of the part; the arguments are the same as for `laid_out`."""
        mine = [ranks[node] - min(ranks[n] for n in self.nodes.tolist()) for node in self.nodes.tolist()]
        wide = tuple(sizes[node] for node in self.nodes[: self.structure.items].tolist())
        number = {node: i for i, node in enumerate(self.nodes.tolist())}
        starts = None if columns is None else tuple(number[item] for item in columns if item in number)
        key = (self.structure, wide, spacing, starts, run.effort, height_factor)
        return _cached(key, lambda: _Layout(self.structure, mine, wide, spacing, starts, run, height_factor))


def _parts(s: Structure) -> list[list[int]]:
    """Returns the nodes of each part of a level, in order. All items without lines form one part."""
    count = s.items + sum(s.gates)
    joins = [line[:2] for line in s.lines]
    touched = {end for line in s.lines if line.weight >= 0 for end in line[:2]}
    joins += pairwise(node for node in range(count) if node not in touched)
    a, b = np.array(joins, np.int32).reshape(-1, 2).T
    parts = defaultdict[int, list[int]](list)
    for node, part in enumerate(connected_parts(a, b, count).tolist()):
        parts[part].append(node)
    return list(parts.values())


def _part(s: Structure, nodes: list[int]) -> _Part:
    number = {node: i for i, node in enumerate(nodes)}
    lines = tuple(i for i, line in enumerate(s.lines) if line.tail in number)
    items, start = (sum(node < end for node in nodes) for end in (s.items, s.items + s.gates[0]))
    structure = Structure(
        items,
        (start - items, len(nodes) - start),
        tuple(line._replace(tail=number[line.tail], head=number[line.head]) for line in (s.lines[i] for i in lines)),
    )
    return _Part(structure, np.array(nodes), lines)


class _Layout:
    """The layout of a part of a level, without its lines."""

    def __init__(
        self,
        structure: Structure,
        ranks: Sequence[int],
        sizes: Sequence[tuple[float, float]],
        spacing: tuple[float, float],
        columns: tuple[int, ...] | None,
        run: Run,
        height_factor: float,
    ) -> None:
        self.structure, self.sizes, self.height_factor = structure, sizes, height_factor
        count = structure.items + sum(structure.gates)
        self.rank = list(ranks)
        self.chains: list[list[int]] = []  # the nodes of each line, from the lower rank to the higher rank
        for line in structure.lines:
            low, high = sorted(line[:2], key=lambda n: self.rank[n])
            between = range(self.rank[low] + 1, self.rank[high])
            self.chains.append([low, *range(len(self.rank), len(self.rank) + len(between)), high])
            self.rank += between
        self.x = np.zeros(len(self.rank))
        for name, value in run.values(self._order_dot(spacing[0], run.effort), "pos"):
            self.x[name] = float(value)
        half = np.zeros(len(self.rank))
        half[: structure.items] = [w / 2 for w, _ in sizes]
        self.half, self.count = half, count
        self._bands(spacing[1], columns)
        self.at = np.zeros((structure.items, 2))
        for node, (wide, _) in enumerate(sizes):
            self.at[node] = self.x[node] - wide / 2, self.band[self.rank[node]][0]

    def _order_dot(self, separation: float, effort: str) -> str:
        """Returns the DOT text to order the nodes in their ranks. Lines have a node in each rank between their ends."""
        s, ranks = self.structure, defaultdict[int, list[str]](list)
        for node, rank in enumerate(self.rank):
            wide = self.sizes[node][0] if node < s.items else 0.7
            ranks[rank].append(f"n{node} [width={wide / 72:.4f}];")
        out = [f"digraph g {{ graph [nodesep={separation / 72:.3f} ranksep=0.1 {effort} splines=none];"]
        out.append('node [shape=box fixedsize=true label="" height=0.1];')
        out += [f"{{ graph [rank=same]; {' '.join(ranks[rank])} }}" for rank in sorted(ranks)]
        for line, chain in zip(s.lines, self.chains, strict=True):
            if self.rank[chain[0]] == self.rank[chain[-1]]:
                continue
            for a, b in pairwise(chain):
                inner = a >= s.items and b >= s.items  # like Graphviz itself, to keep long lines straight
                out.append(f"n{a} -> n{b} [weight={max(1, 4 * line.weight) if inner else abs(line.weight)}];")
        return "\n".join([*out, "}"])

    def _bands(self, spacing: float, columns: tuple[int, ...] | None) -> None:
        """Computes the column of each rank, and its band along the flow."""
        s, count = self.structure, max(self.rank) + 1
        high, heights = [0.0] * count, [spacing] * count
        for node in range(s.items):
            high[self.rank[node]] = max(high[self.rank[node]], self.sizes[node][1])
        for rank, lines in Counter(self.rank[a] for chain in self.chains for a in chain[:-1]).items():
            gates = (rank == 0 and s.gates[0]) or (rank == count - 2 and s.gates[1])
            heights[rank] = (0.25 if gates else 1.0) * spacing + min(30.0, 2.0 * max(0, lines - 4))
        pitch = [a + b for a, b in zip(high, heights, strict=True)]
        wide = float((self.x + self.half).max() - (self.x - self.half).min())
        cuts = self._cuts(pitch, wide) if columns is None else sorted({self.rank[item] for item in columns})
        self.starts = [self.rank.index(cut) for cut in cuts]
        self.column = [sum(rank >= cut for cut in cuts) for rank in range(count)]
        self.band: list[tuple[float, float]] = []
        at = over = COLUMN_MARGIN if cuts else 0.0
        for rank in range(count):
            at = over if rank in cuts else at
            self.band.append((at, at + high[rank]))
            at += pitch[rank]
        self.along = max(end for _, end in self.band) + over
        offset, self.gutters = 0.0, list[float]()
        column = np.array(self.column)[self.rank]
        for number in range(len(cuts) + 1):
            here = column == number
            low, top = float((self.x - self.half)[here].min()), float((self.x + self.half)[here].max())
            self.x[here] += offset - low
            self.gutters.append(offset + top - low + GUTTER / 2)
            offset += top - low + GUTTER
        self.across = offset - GUTTER

    def _cuts(self, pitch: Sequence[float], width: float) -> list[int]:
        """Returns the ranks at which a long thin level begins a new column. Few lines cross these ranks."""
        high = sum(pitch)
        if not any(high > self.height_factor * least and high > times * width for least, times in COLUMN_LIMITS):
            return []
        crossing = Counter[int]()
        for line in self.structure.lines:
            low, top = sorted(self.rank[end] for end in line[:2])
            crossing.update(range(low + 1, top + 1))
        items = self.rank[: self.structure.items]
        starts = {r: sum(pitch[:r]) for r in set(items) if r > min(items) and crossing[r] <= MAX_CROSSINGS}
        columns, breaks = max(2, round(math.sqrt(high / (COLUMN * width)))), list[int]()
        for k in range(1, columns):
            ideal = high * k / columns
            near = [r for r, at in starts.items() if abs(at - ideal) < high / columns / 3 and r not in breaks]
            if near:
                breaks.append(min(near, key=lambda r: (crossing[r], abs(starts[r] - ideal))))
        return sorted(breaks)

    def level(self, ends: Sequence[tuple[float | None, float | None]], border: tuple[float, float]) -> Level:
        s, at = self.structure, self.at
        rects = np.array([(*at[i], at[i][0] + w, at[i][1] + h) for i, (w, h) in enumerate(self.sizes)]).reshape(-1, 4)
        parts: list[tuple[int, list[tuple[float, float]], tuple[int, int]]] = []
        paths: list[list[Points]] = [[] for _ in s.lines]
        for number, (line, chain) in enumerate(zip(s.lines, self.chains, strict=True)):
            if line.weight < 0:
                continue
            low, high = chain[0], chain[-1]
            offsets = ends[number] if low == line.tail else ends[number][::-1]
            if self.rank[low] == self.rank[high]:
                paths[number].append(self._flat(low, high, offsets))
                continue
            for part in self._stops(chain, offsets, border):
                parts.append((number, part, (low, high)))
        curves = routes([part for _, part, _ in parts], rects, [ends for _, _, ends in parts])
        for (number, _, _), path in zip(parts, curves, strict=True):
            paths[number].append(path)
        joins = [
            (sum(x < before[-1][0] for x in self.gutters), float(before[-1][0]), number, place)
            for number, pieces in enumerate(paths)
            for place, before in enumerate(pieces[:-1])
        ]
        beside, rank = Counter(column for column, *_ in joins), Counter[int]()
        for column, _, number, place in sorted(joins, reverse=True):  # from the innermost line to the outermost
            aside = TRACK * (rank[column] - (beside[column] - 1) / 2)
            rank[column] += 1
            paths[number][place + 1] = np.concatenate(
                [
                    self._over(column, paths[number][place][-1], paths[number][place + 1][0], aside),
                    paths[number][place + 1][1:],
                ]
            )
        whole = []
        for line, chain, pieces in zip(s.lines, self.chains, paths, strict=True):
            joined = np.concatenate([pieces[0], *(piece[1:] for piece in pieces[1:])]) if pieces else np.zeros((1, 2))
            whole.append(joined if chain[0] == line.tail else joined[::-1])
        return Level((self.across, self.along), at, self.x[s.items : self.count].tolist(), whole, self.starts)

    def _stops(
        self, chain: list[int], offsets: tuple[float | None, float | None], border: tuple[float, float]
    ) -> Iterator[list[tuple[float, float]]]:
        """Yields the points of a line in each column. No box is between consecutive points."""
        points: list[tuple[float, float]] = []
        for place, node in enumerate(chain):
            top, bottom = self.band[self.rank[node]]
            x = float(self.x[node])
            first, last = place == 0, place == len(chain) - 1
            if node < self.structure.items:
                x = self._end(node, offsets[0] if first else offsets[1], chain[1] if first else chain[-2])
                y, high = float(self.at[node][1]), self.sizes[node][1]
                top, bottom = (y + high, bottom) if first else (top, y)
            elif first:
                top = -border[0]
            elif last:
                bottom = self.along + border[1]
            if not first and self.column[self.rank[node]] != self.column[self.rank[chain[place - 1]]]:
                yield points
                points = []
            points += [(x, top), (x, bottom)] if bottom > top else [(x, top)]
        yield points

    def _end(self, node: int, offset: float | None, other: int) -> float:
        """Returns the end of a line at an item: a gate, or near the middle, shifted towards its other end."""
        if offset is not None:
            return float(self.at[node][0]) + offset
        most = 0.6 * self.half[node]
        aside = (
            0.25 * (self.x[other] - self.x[node])
            if self.column[self.rank[other]] == self.column[self.rank[node]]
            else 0
        )
        return float(self.x[node] + max(-most, min(most, aside)))

    def _flat(self, a: int, b: int, offsets: tuple[float | None, float | None]) -> Points:
        """Returns a line between two items of one rank: straight between neighbors, else below other items."""
        left, right = sorted((a, b), key=lambda n: self.x[n])
        between = [
            n for n, rank in enumerate(self.rank[: self.structure.items])
            if rank == self.rank[a] and self.x[left] < self.x[n] < self.x[right]
        ]  # fmt: skip
        low = self.band[self.rank[a]][1]
        if between or offsets != (None, None):
            (xa, ya), (xb, yb) = [
                (self.x[n] if off is None else self.at[n][0] + off, self.at[n][1] + self.sizes[n][1])
                for n, off in zip((a, b), offsets, strict=True)
            ]
            return np.array([(xa, ya), (xa, low + 20), (xb, low + 20), (xb, yb)])
        y = min(self.at[n][1] + self.sizes[n][1] / 2 for n in (a, b))
        points = straight((self.x[left] + self.half[left], y), (self.x[right] - self.half[right], y))
        return points if left == a else points[::-1]

    def _over(self, column: int, start: Points, end: Points, offset: float) -> Points:
        """Returns the path of a line from the end of a column to the start of the next column."""
        gutter, low, top = (
            self.gutters[column] + offset,
            self.along - COLUMN_MARGIN / 2 + offset,
            COLUMN_MARGIN / 2 + offset,
        )
        return bend([tuple(start), (start[0], low), (gutter, low), (gutter, top), (end[0], top), tuple(end)])


def grid(items: Sequence[int], top_down: bool) -> list[tuple[int, int]]:
    """Returns pairs that arrange items without edges in rows and columns: the second item is below the first."""
    columns = max(1, round(math.sqrt((0.8 if top_down else 2.0) * len(items))))
    return list(zip(items, items[columns:], strict=False)) if len(items) > 2 else []


def _rank_dot(s: Structure, effort: str) -> str:
    """Returns the DOT text to compute ranks."""
    count = s.items + sum(s.gates)
    out = [f"digraph g {{ graph [phase=1 {effort}];", *(f"n{i};" for i in range(count))]
    start, end = range(s.items, s.items + s.gates[0]), range(s.items + s.gates[0], count)
    for where, gates in (("source", start), ("sink", end)):
        if gates:
            out.append(f"{{ graph [rank={where}]; {' '.join(f'n{i};' for i in gates)} }}")
    far = _fans(s)
    for line in s.lines:
        a, b = line[:2]
        if a in end or b in start:
            a, b = b, a
        out.append(f"n{a} -> n{b} [weight={abs(line.weight)} minlen={far.get(line[:2], 1)}];")
    return "\n".join([*out, "}"])


def _fans(s: Structure) -> dict[tuple[int, int], int]:
    """Returns line -> its length in ranks, for fans: many items that have only a line to the same item."""
    degree = Counter(end for line in s.lines for end in line[:2])
    fans = defaultdict[tuple[int, bool], list[tuple[int, int]]](list)
    for line in s.lines:
        a, b = line[:2]
        if degree[b] == 1 and b < s.items:
            fans[a, True].append((a, b))
        elif degree[a] == 1 and a < s.items:
            fans[b, False].append((a, b))
    out = dict[tuple[int, int], int]()
    for lines in fans.values():
        levels = max(1, round(math.sqrt(len(lines) / 1.5))) if len(lines) > FAN else 1
        out |= {pair: 1 + i % levels for i, pair in enumerate(lines)}
    return out


_T = TypeVar("_T")
_memory: OrderedDict[Hashable, Any] = OrderedDict()
_lock = threading.Lock()


def _cached(key: Hashable, compute: Callable[[], _T]) -> _T:
    """Returns the value of a key, from a cache of the last values."""
    with _lock:
        if key in _memory:
            _memory.move_to_end(key)
            value: _T = _memory[key]
            return value
    value = compute()
    with _lock:
        _memory[key] = value
        while len(_memory) > CACHE_SIZE:
            _memory.popitem(last=False)
    return value
