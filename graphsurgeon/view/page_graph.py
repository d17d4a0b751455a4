"""Page graph: a graph as plain lists, folds and all, from which a page alone can draw the unfolded boxes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..graph.edges import Edges
from ..graph.graph import Graph, Ints
from .families import WORDS
from .helpers import KINDS, behind
from .item import Item
from .scene import boxed, plain
from .sketch import size_of
from .text import elide
from .tree import Tree

ITEMS = 12_000
"""Most boxes a page can unfold to; deeper ones stay folded in it, and are counted."""
EDGES = 120_000
"""Most tensors with their readers in one page; with more, fewer boxes are taken."""


@dataclass
class Packed:
    """The boxes of a graph, level by level, and the box of each op.

    Args:
        rows: one for each box: parent, kind, name, label, second line, ops inside, family, outputs, width, flags.
        helpers: one for each thing that is hidden at a level: parent, thing, kind.
        row_of: for each op the row it is drawn in; for an op that is hidden, -1 minus the place in `helpers`.
        shut: number of boxes that have more inside than the page holds.
        open: names of the boxes that are open at first.
    """

    rows: list[list[Any]] = field(default_factory=list)
    helpers: list[list[int]] = field(default_factory=list)
    row_of: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    shut: int = 0
    open: list[str] = field(default_factory=list)


def pack(
    tree: Tree, unfolded: Iterable[str] = (), marks: Mapping[int, str] | None = None, most: int = ITEMS
) -> dict[str, Any]:
    """Returns all that a page needs to draw a graph and to unfold it: plain JSON values.

    Args:
        tree: the graph, with its hidden helpers.
        unfolded: keys of the folds that are open at first.
        marks: op number -> orphan and the like.
        most: the largest number of boxes, those of the upper levels first.

    Returns:
        ``rows`` (boxes, parents first), ``open`` (names of those open at first), ``helpers``, ``tensors`` with
        ``reads``, ``controls`` with ``waits``, ``kinds`` of hidden ops, the words of ``families``, and ``shut``,
        the number of boxes whose inside is left out.

    Example:
        >>> g = Graph.of([("a/x", "Placeholder", []), ("a/y", "Neg", ["a/x"]), ("z", "Neg", ["a/y"])])
        >>> [row[2] for row in pack(Tree(g))["rows"]], pack(Tree(g))["reads"]
        (['a/', 'z', 'a/x', 'a/y'], [[0, 3], [1, 1]])
    """
    graph, keys = tree.graph, frozenset(plain(key) for key in unfolded)
    while True:
        found = _boxes(tree, most, keys)
        tensors, reads = _readers(graph, graph.data, found, control=False)
        if len(reads) <= EDGES or most < 200:
            break
        most //= 2
    controls, waits = _readers(graph, graph.control, found, control=True)
    if marks:
        _mark(found, marks)
    return {
        "open": found.open,
        "ops": graph.size,
        "rows": found.rows,
        "helpers": found.helpers,
        "kinds": list(KINDS),
        "families": WORDS,
        "tensors": tensors,
        "reads": reads,
        "controls": controls,
        "waits": waits,
        "shut": found.shut,
    }


def _boxes(tree: Tree, most: int, keys: frozenset[str]) -> Packed:
    """Lists the boxes breadth first, so that the deepest are left out."""
    graph = tree.graph
    out = Packed(row_of=np.full(graph.size, -1, np.int32))
    owner = np.full(graph.size, -1, np.int32)  # the innermost fold that was opened around each op
    queue: deque[tuple[Item, int]] = deque()

    def add(item: Item, parent: int) -> None:
        box = boxed(tree, item, "", -1)
        flags = (1 if behind(item.leaf) else 0) | (2 if item.members else 0)
        width = size_of(box)[0]
        row = [parent, box.kind, box.name, box.label, box.sub, box.count, box.family, box.outputs, width, flags]
        out.rows.append(row)
        out.row_of[tree.ops_of(item, helpers=False)] = len(out.rows) - 1
        if item.keys:
            queue.append((item, len(out.rows) - 1))

    for item in tree.inside(tree.root):
        add(item, -1)
    while queue:
        item, at = queue.popleft()
        below = tree.inside(item)
        if not below:
            continue
        if len(out.rows) + len(below) > most:
            out.shut += 1
            continue
        inside = tree.ops_of(item)
        held = inside[out.row_of[inside] == at]
        out.rows[at][9] |= 4
        if any(plain(key) in keys for key in item.keys):
            out.open.append(item.name)
        owner[held] = at
        out.row_of[held] = -1
        for child in below:
            add(child, at)
    _hide(tree, out, owner)
    return out


def _mark(out: Packed, marks: Mapping[int, str]) -> None:
    """Gives a row the mark that all its own ops have."""
    marked: dict[int, set[str]] = {}
    for op, row in enumerate(out.row_of.tolist()):
        if row >= 0:
            marked.setdefault(row, set()).add(marks.get(op, ""))
    for i, row in enumerate(out.rows):
        states = marked.get(i, {""})
        row.append(next(iter(states)) if len(states) == 1 else "")


def _hide(tree: Tree, out: Packed, owner: Ints) -> None:
    """Gives each op without a separate box a place among the hidden ops of its fold."""
    helpers, known = tree.helpers, {}
    for op in np.flatnonzero(out.row_of < 0).tolist():
        key = int(owner[op]), int(helpers.thing[op])
        if key not in known:
            known[key] = len(out.helpers)
            out.helpers.append([key[0], key[1], int(helpers.kind[key[1]] or helpers.kind[op])])
        out.row_of[op] = -1 - known[key]


def _readers(graph: Graph, edges: Edges, found: Packed, control: bool) -> tuple[list[list[Any]], list[list[int]]]:
    """Returns the outputs of a row, in [row, name], of a tensor also dtype and shape, and their consumers."""
    row_of = found.row_of
    keep = row_of[edges.node] != row_of[edges.rows]
    table = np.stack([edges.node[keep], edges.port[keep], row_of[edges.rows[keep]]], axis=1)
    made: list[list[Any]] = []
    reads: list[list[int]] = []
    last: tuple[int, int] = (-1, -1)
    for op, port, reader in (np.unique(table, axis=0) if len(table) else table).tolist():
        if (op, port) != last:
            last = op, port
            name = graph.names[op]
            info = None if control else graph.stated_info(op, port)
            text = [] if control else [str(info) if info is not None and info.shape is not None else ""]
            made.append([int(row_of[op]), elide(name if control else f"{name}:{port}", 400), *text])
        reads.append([len(made) - 1, reader])
    return made, reads
