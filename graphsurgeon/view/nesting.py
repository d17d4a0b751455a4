"""Everything that a picture of a graph can show, laid out fold by fold, for a page that folds without Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..graph.edges import Edges
from ..graph.graph import Graph, Ints
from .boxes import Box, Edge, Group, Item
from .edge_paths import CONTROL_MOST, CROSSROADS, HUB, TENSORS, Pair, by_pair
from .helper_ops import KINDS, behind
from .layout import Key, Lines, PlacedScene, insides, measure
from .plan_marks import Marks, mark
from .scene import Scene, boxed, framed, hidden_ops
from .tree import Tree

DEPTH = 40
"""The maximum number of folds inside each other."""
CONTROL = -1
"""The output of an op at the start of a control edge."""


class TensorTable:
    """The tensors of a page: each has a number, and its name and text are written once.

    Args:
        graph: the snapshot.

    Attributes:
        rows: the name and the text of each tensor, by number.

    Example:
        >>> table = TensorTable(Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a", "^a"])]))
        >>> table.number((0, 0)), table.number((0, CONTROL)), table.number((0, 0)), table.rows
        (0, 1, 0, [('a:0', ''), ('^a', '')])
    """

    def __init__(self, graph: Graph) -> None:
        self.rows: list[tuple[str, str]] = []
        self._graph, self._numbers = graph, dict[tuple[int, int], int]()

    def number(self, tensor: tuple[int, int]) -> int:
        """Returns the number of a tensor, given as (op, output); the output of a control edge is `CONTROL`."""
        if tensor not in self._numbers:
            self._numbers[tensor] = len(self.rows)
            if tensor[1] == CONTROL:
                self.rows.append((f"^{self._graph.names[tensor[0]]}", ""))
            else:
                self.rows.append((self._graph.name(tensor), str(self._graph.declared_info(*tensor) or "")))
        return self._numbers[tensor]


@dataclass
class Nesting:
    """The boxes of all levels of a graph, the edges between them, and the layout of each level.

    Args:
        tensors: the tensors of the edges.
        rows: the boxes; the `group` of a box is the row of the fold around it, or -1 for the picture.
        hubs: for each row, the number of edges from which its edges are quiet.
        edges: the edges between two rows that a picture can show together, each with the rows of both ends, the number
            of tensors, and the first of them.
        controls: the control edges between rows without other edges, in the same form.
        inside: row of a fold, or -1 for the picture -> the layout of its contents. Other folds stay closed.
        row_at: for each depth, the row of each op if all folds above that depth are open, or -1 for a hidden op.
        holder: for each op, the innermost row that contains it, or that it helps if it is hidden, or -1.
        closed_count: number of folds whose contents are left out.
        open: the rows that are open in the first picture.
    """

    tensors: TensorTable
    rows: list[Box] = field(default_factory=list)
    hubs: list[int] = field(default_factory=list)
    edges: list[list[int]] = field(default_factory=list)
    controls: list[list[int]] = field(default_factory=list)
    inside: dict[int, dict[str, Any]] = field(default_factory=dict)
    row_at: list[Ints] = field(default_factory=list)
    holder: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    closed_count: int = 0
    open: list[int] = field(default_factory=list)


def nest(tree: Tree, first: Scene, layout: PlacedScene, marks: Marks | None, limit: int) -> Nesting:
    """Returns the boxes of all levels of a graph, with the edges between them and the layout of each level.

    Levels of the first picture are laid out as there; in all other levels, the folds are closed.

    Args:
        tree: the graph, with its hidden helpers.
        first: the first picture.
        layout: its layout.
        marks: op number -> mark, such as ``orphan``.
        limit: the maximum number of boxes; boxes of upper levels come first.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> from .layout import place
        >>> from .scene import build
        >>> tree = Tree(Graph.from_ops([("a/x", "Placeholder", []), ("a/y", "Neg", ["a/x"]), ("z", "Neg", ["a/y"])]))
        >>> first = build(tree)
        >>> [row.name for row in nest(tree, first, place(first), None, 100).rows]
        ['a/', 'z', 'a/x', 'a/y']
    """
    graph = tree.graph
    out, folds = Nesting(TensorTable(graph)), dict[int, Group]()
    open_first = {group.name for group in first.groups}
    row_of, items = np.full(graph.size, -1, np.int32), [(item, -1) for item in tree.inside(tree.root)]
    while True:
        depth, start, inner = len(out.row_at), len(out.rows), list[tuple[Item, int]]()
        for row, (item, fold) in enumerate(items, start):
            row_of[item.op if item.one_op else tree.ops_of(item, helpers=False)] = row
            out.rows.append(boxed(tree, item, "", fold))
            out.hubs.append(HUB if behind(item.leaf) else CROSSROADS)
        out.row_at.append(row_of.copy())
        hidden = hidden_ops(tree, len(out.rows), row_of)[2]
        if marks:
            mark(marks, out.rows, folds, row_of)
        for row, (item, fold) in enumerate(items, start):
            box = out.rows[row]
            box.hidden = hidden.get(row, {})
            below = tree.inside(item) if item.keys and depth < DEPTH else []
            if below and item.name not in open_first and len(out.rows) + len(inner) + len(below) > limit:
                out.closed_count += 1
            elif below:
                row_of[tree.ops_of(item, helpers=False)] = -1
                folds[row] = framed(tree, item, "", depth, fold)
                inner += [(one, row) for one in below]
        if not inner:
            break
        items = inner
    number = {box.name: row for row, box in enumerate(out.rows)}
    out.open = [number[group.name] for group in first.groups]
    _connect(graph, out)
    measure(out.rows)
    out.inside = insides(first, layout, out.rows, folds, _lines(out, folds))
    _count_hidden(tree, out)
    order = np.array([*_reading_order(out, -1), -1])
    place = np.empty_like(order)
    place[order] = [*range(len(out.rows)), -1]
    helped = hidden_ops(tree, len(out.rows), place[row_of])[0]
    out.holder = np.where(row_of >= 0, row_of, order[helped])
    return out


def _reading_order(nesting: Nesting, fold: int) -> Iterator[int]:
    """Yields the rows in a fold, each before the rows in it."""
    for row, *_ in nesting.inside[fold]["rects"]:
        yield row
        if row in nesting.inside:
            yield from _reading_order(nesting, row)


def _connect(graph: Graph, out: Nesting) -> None:
    """Adds the edges between rows."""
    number, control = out.tensors.number, graph.control._replace(port=np.full_like(graph.control.port, CONTROL))
    out.edges = [[*pair, count, *map(number, ends)] for pair, count, ends in _pairs(graph.data, out)]
    joined = {frozenset(edge[:2]) for edge in out.edges} if len(control.node) else ()
    found = (found for found in _pairs(control, out) if frozenset(found[0]) not in joined)
    out.controls = [[*pair, count, *map(number, ends)] for pair, count, ends in found]


def _lines(nesting: Nesting, folds: Mapping[int, Group]) -> Lines:
    """Returns row of a fold, or -1 for the picture -> the lines in it. One end of a line may be a row outside."""
    rows, texts, around = nesting.rows, nesting.tensors.rows, {-1: frozenset([-1])}
    for row, fold in folds.items():
        around[row] = around[fold.group] | {row}
    drawn = defaultdict[int, list[tuple[int, int, str, bool]]](list)
    crowd = defaultdict[tuple[int, int], int](int)
    for edges, control in ((nesting.controls, True), (nesting.edges, False)):
        for a, b, count, tensor, *_ in edges:
            source, target = rows[a].group, rows[b].group
            level = source if target in around[source] else target
            if source not in around[level]:
                continue  # both ends are in a fold that the other end is not in
            if control and max(crowd[level, a], crowd[level, b]) >= CONTROL_MOST:
                continue
            crowd[level, a] += 1
            crowd[level, b] += 1
            text = texts[tensor][1]
            drawn[level].append((a, b, f"×{count}" if count > 1 else text if "(" in text else "", control))
    lines = dict[int, dict[tuple[Key, Key], Edge]]()
    for level, some in drawn.items():
        busy = {row for line in some for row in line[:2] if crowd[level, row] >= nesting.hubs[row]}
        lines[level] = {
            (("box", a), ("box", b)): Edge("", "", "", 1, control, "", label=label, quiet=a in busy or b in busy)
            for a, b, label, control in some
        }
    return lines


def _pairs(edges: Edges, nesting: Nesting) -> Iterator[Pair]:
    """Yields the pairs of rows with edges between them, and the outputs of the first that the second reads."""
    parts, row_at = [], nesting.row_at
    for i, above in enumerate(row_at):
        for j, below in enumerate(row_at):
            a, b, outer = above[edges.node], below[edges.rows], row_at[min(i, j)]
            keep = (a >= 0) & (b >= 0) & (outer[edges.node] != outer[edges.rows])
            if i:  # at each depth, only the rows that are new there
                keep &= a != row_at[i - 1][edges.node]
            if j:
                keep &= b != row_at[j - 1][edges.rows]
            parts.append(np.stack([a, b, edges.node, edges.port])[:, keep])
    a, b, ops, ports = np.concatenate(parts, axis=1)
    yield from by_pair(a, b, ops, ports, len(nesting.rows), TENSORS)


def _count_hidden(tree: Tree, out: Nesting) -> None:
    """Adds to the inside of each fold the number of hidden ops directly in it, by their kinds."""
    helpers, outside = tree.helpers, np.full(tree.graph.size, -1, np.int32)
    for inside in out.inside.values():
        inside["hidden"] = Counter[str]()
    for depth, (outer, inner) in enumerate(pairwise([outside, *out.row_at])):
        ops = np.flatnonzero((inner < 0) & ((outer >= 0) | (depth == 0)))
        keys = outer[ops].astype(np.int64) * tree.graph.size + helpers.owner[ops]
        some = ops[np.unique(keys, return_index=True)[1]]
        for fold, op in zip(outer[some].tolist(), some.tolist(), strict=True):
            out.inside[fold]["hidden"][KINDS[helpers.kind[op]]] += 1
