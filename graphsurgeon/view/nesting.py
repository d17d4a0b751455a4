"""Everything that a picture of a graph can show, laid out fold by fold, for a page that folds without Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..graph.edges import Edges
from ..graph.graph import Graph, Ints
from .boxes import Item
from .edge_paths import CROSSROADS, HUB, TENSORS, Pair, by_pair
from .helper_ops import KINDS, behind
from .layout import PlacedScene, box_data, inside_frames, measure
from .plan_marks import Marks
from .scene import Scene, build
from .tree import Tree

DEPTH = 40
"""The maximum number of folds inside each other."""
CONTROL = -1
"""The output of an op at the start of a control edge."""


@dataclass
class Nesting:
    """The boxes of all levels of a graph, and the layout of each level.

    Args:
        rows: the data of each box without its position, the row of its frame in ``parent`` (-1 for the picture), and in
            ``hub`` the number of edges from which its edges are quiet.
        inside: row of a fold, or -1 for the picture -> the layout of its contents. Other folds stay closed.
        row_at: for each depth, the row of each op if all folds above that depth are open, or -1 for a hidden op.
        holder: for each op, the innermost row that contains it, or that it helps if it is hidden, or -1.
        closed_count: number of folds whose contents are left out.
        open: the rows that are open in the first picture.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    inside: dict[int, dict[str, Any]] = field(default_factory=dict)
    row_at: list[Ints] = field(default_factory=list)
    holder: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    closed_count: int = 0
    open: list[int] = field(default_factory=list)


def nest(tree: Tree, first: Scene, layout: PlacedScene, marks: Marks | None, limit: int) -> Nesting:
    """Returns the boxes of all levels of a graph, with the layout of each level.

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
        >>> tree = Tree(Graph.from_ops([("a/x", "Placeholder", []), ("a/y", "Neg", ["a/x"]), ("z", "Neg", ["a/y"])]))
        >>> first = build(tree)
        >>> [row["name"] for row in nest(tree, first, place(first), None, 100).rows]
        ['a/', 'z', 'a/x', 'a/y']
    """
    out, number, opened = Nesting(), dict[str, int](), set[str]()
    open_first = {group.name for group in first.groups}
    items = tree.inside(tree.root)
    while True:
        depth, scene = len(out.row_at), build(tree, opened, marks, limit=tree.graph.size)
        measure(scene)
        leaves = {item.name: item.leaf for item in items}
        for box in scene.boxes:
            if box.name in leaves:
                number[box.name] = len(out.rows)
                parent = number[scene.groups[box.group].name] if box.group >= 0 else -1
                hub = HUB if behind(leaves[box.name]) else CROSSROADS
                out.rows.append({**box_data(box), "parent": parent, "hub": hub})
        row_of = np.array([*(number[box.name] for box in scene.boxes), -1], np.int32)
        out.row_at.append(row_of[scene.op_box])
        new = [i for i, group in enumerate(scene.groups) if group.depth == depth - 1 and group.name not in open_first]
        out.inside |= inside_frames(scene, new, layout.direction, number)
        items = _open(tree, items, out, opened, limit, open_first) if depth < DEPTH else []
        if not items:
            break
    out.open = [number[group.name] for group in first.groups]
    whole = range(-1, len(first.groups))
    out.inside |= inside_frames(first, whole, layout.direction, number, layout.to_dict())
    out.holder = row_of[scene.boxes_of(np.arange(tree.graph.size))]
    _count_hidden(tree, out)
    return out


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


def _open(
    tree: Tree, items: Iterable[Item], out: Nesting, opened: set[str], limit: int, always: Collection[str]
) -> list[Item]:
    """Adds keys of the folds among some items to `opened`, as far as they fit, and returns the items inside them."""
    rows = list[Item]()
    for item in items:
        below = tree.inside(item) if item.keys else []
        if below and item.name not in always and len(out.rows) + len(rows) + len(below) > limit:
            out.closed_count += 1
        elif below:
            opened.add(item.keys[0])
            rows += below
    return rows


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


def connections(graph: Graph, nesting: Nesting, tensors: TensorTable) -> dict[str, Any]:
    """Returns all edges between two rows that a picture can show together.

    Args:
        graph: the snapshot.
        nesting: its rows.
        tensors: the numbers of tensors.

    Returns:
        ``edges`` and ``controls``, each with the rows of both ends, the number of tensors, and the first of them.
    """

    def numbered(pair: Pair, control: bool) -> list[int]:
        (a, b), count, ends = pair
        return [a, b, count, *(tensors.number((op, CONTROL if control else port)) for op, port in ends)]

    edges = [numbered(pair, False) for pair in _pairs(graph.data, nesting)]
    between = {frozenset(edge[:2]) for edge in edges}
    controls = [numbered(pair, True) for pair in _pairs(graph.control, nesting) if frozenset(pair[0]) not in between]
    return {"edges": edges, "controls": controls}


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
