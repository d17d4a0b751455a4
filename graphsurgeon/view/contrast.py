"""Contrast: two graphs in one picture: what was added, what is gone, what is another, counted where it is folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..errors import LayoutError
from ..graph.diff import Change, Diff
from ..graph.edges import Edges
from ..graph.graph import Graph, Ints, Mask
from .boxes import Box, Edge, frames
from .first_picture import first_unfolded, open_item
from .ghosts import SIGNS
from .item import Item
from .scene import Scene, build
from .text import elide
from .tree import Tree

GOOD, FULL = 26, 60
"""Boxes of the picture: scopes with differences open up to `GOOD` boxes, one that is nearly all there is, up to `FULL`.
"""
_WORDS = {**SIGNS, "removed": "\u2212"}  # before a count, × would multiply


def contrast(diff: Diff) -> Scene:
    """Returns the scene of both graphs at once, with boxes and edges marked; scopes with differences are open.

    Raises:
        LayoutError: there would be too many boxes.

    Example:
        >>> from graphsurgeon.graph.diff import diff
        >>> a = Graph.of([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Exp", ["y"])])
        >>> b = Graph.of([("x", "Placeholder", []), ("z", "Exp", ["x"]), ("w", "Abs", ["z"])])
        >>> [(box.label, box.state) for box in contrast(diff(a, b)).boxes]
        [('x', ''), ('z', 'changed'), ('w', 'new'), ('y', 'removed')]
    """
    both, kinds, waits = united(diff)
    marks = diff.marks
    tree = Tree(both)
    scene = build(tree, _opened(tree, marks))
    _mark_boxes(scene, marks, _told(diff))
    _mark_groups(scene)
    by_id = {box.id: number for number, box in enumerate(scene.boxes)}
    data, control = _between(scene, both.data, kinds), _between(scene, both.control, waits)
    for edge in scene.edges:
        found = (control if edge.control else data).get((by_id[edge.source], by_id[edge.target]), Counter())
        _mark_edge(edge, found)
    return scene


def united(diff: Diff) -> tuple[Graph, Ints, Ints]:
    """Returns both graphs as one, with the edges of both, and the kind of each data and control edge.

    A kind is 0 for an edge of both graphs, 1 for one of the second only, 2 for one of the first only.

    Args:
        diff: its `picture` has the ops of both; numbers of the second graph are the same there.
    """
    whole, a = diff.picture, diff.a
    spot = diff.place.copy()
    spot[spot < 0] = np.arange(diff.b.size, whole.size)
    data, kinds = _edges(whole.data, a.data, diff.b.size, spot, whole.size)
    control, waits = _edges(whole.control, a.control, diff.b.size, spot, whole.size)
    return replace(whole, data=data, control=control, owner=object()), kinds, waits


def _edges(now: Edges, then: Edges, known: int, spot: Ints, size: int) -> tuple[Edges, Ints]:
    """The edges of `now`, whose rows from `known` on are gone, and those of `then` that are in it no more."""
    mine = now.rows < known
    rows, node, port = now.rows[mine], now.node[mine], now.port[mine]
    old_rows, old_node, old_port = spot[then.rows], spot[then.node], then.port
    keys, old = _keys(rows, node, port, size), _keys(old_rows, old_node, old_port, size)
    gone = ~np.isin(old, keys)
    kind = np.concatenate([(~np.isin(keys, old)).astype(np.int32), np.full(int(gone.sum()), 2, np.int32)])
    rows = np.concatenate([rows, old_rows[gone]])
    order = np.argsort(rows, kind="stable")
    node, port = np.concatenate([node, old_node[gone]])[order], np.concatenate([port, old_port[gone]])[order]
    return Edges.of(rows[order], node, size, port), kind[order]


def _keys(rows: Ints, node: Ints, port: Ints, size: int) -> np.ndarray:
    wide = max(size, 1)
    return (rows.astype(np.int64) * wide + node) * 64 + np.minimum(port, 63)


def _opened(tree: Tree, marks: Mapping[int, str]) -> frozenset[str]:
    """What to unfold: scopes that hold differences and are not wholly new or gone, the smallest first."""
    touched = np.zeros(tree.graph.size, np.bool_)
    touched[list(marks)] = True
    shown, opened = list(tree.inside(tree.root)), set[str]()
    while True:
        ranked = []
        for item in shown:
            inner = len(tree.inside(item)) if item.keys and item.kind != "variable" else 0
            if inner and _mixed(tree, item, marks, touched):
                count = len(shown) - 1 + inner
                if count <= GOOD or (inner <= 2 and count <= FULL):
                    ranked.append((inner, item.first, item))
        if not ranked:
            break
        open_item(tree, min(ranked, key=lambda r: r[:2])[-1], shown, opened)
    if len(shown) <= GOOD // 2:  # there is room for what is around
        try:
            wider = opened | first_unfolded(tree)
            if len(build(tree, wider).boxes) <= GOOD:
                return frozenset(wider)
        except LayoutError:
            pass
    return frozenset(opened)


def _mixed(tree: Tree, item: Item, marks: Mapping[int, str], touched: Mask) -> bool:
    ops = tree.ops_of(item)
    hit = ops[touched[ops]].tolist()
    kinds = {marks[op] for op in hit}
    return bool(hit) and (len(kinds) > 1 or "changed" in kinds or len(hit) < len(ops))


def _told(diff: Diff) -> dict[int, str]:
    """For each changed op what is another there, in a word or two."""
    found: dict[int, list[Change]] = {}
    for change in diff.changes:
        found.setdefault(diff.b.index[change.op], []).append(change)
    return {op: _word(changes) for op, changes in found.items()}


def _word(changes: list[Change]) -> str:
    words = []
    for change in changes:
        plain = {"type": f"was {change.was}", "input": "rewired", "attribute": change.what, "output": "shape"}
        words.append(plain.get(change.kind, change.kind))
    words = list(dict.fromkeys(words))
    if len(words) > 1 and "shape" in words:  # it follows from the rest
        words.remove("shape")
    return elide(", ".join(words[:2]) + (" …" if len(words) > 2 else ""), 34)


def _mark_boxes(scene: Scene, marks: Mapping[int, str], told: Mapping[int, str]) -> None:
    inside: dict[int, Counter[str]] = {}
    beside: dict[int, Counter[str]] = {}
    last: dict[int, int] = {}
    for op, state in marks.items():
        at = int(scene.op_box[op])
        if at >= 0:
            inside.setdefault(at, Counter())[state] += 1
            last[at] = op
        elif int(scene.helped_box[op]) >= 0:
            beside.setdefault(int(scene.helped_box[op]), Counter())[state] += 1
    for at, box in enumerate(scene.boxes):
        mine, near = inside.get(at, Counter()), beside.get(at, Counter())
        if mine or near:
            _mark_box(box, mine, near, told.get(last.get(at, -1), ""))


def _mark_box(box: Box, mine: Counter[str], near: Counter[str], told: str) -> None:
    kinds = set(mine)
    whole = len(kinds) == 1 and sum(mine.values()) >= box.count - sum(near.values()) and kinds != {"changed"}
    box.state = kinds.pop() if whole else "changed"
    said = []
    if mine and not whole and box.kind not in ("op", "variable"):
        said.append(_counts(mine + near))
    elif told and mine:
        said.append(told)
    elif near and not whole:
        said.append(f"{_counts(near)} hidden")
    if said:
        box.sub = " · ".join([box.sub, *said])
        box.detail = " · ".join([box.detail, *said])


def _mark_groups(scene: Scene) -> None:
    """A frame is new or gone where all that is in it is."""
    states: dict[int, set[str]] = {}
    for box in scene.boxes:
        for group in frames(scene.groups, box.group):
            states.setdefault(group, set()).add(box.state)
    for group, found in states.items():
        if found in ({"new"}, {"removed"}):
            scene.groups[group].state = found.pop()


def _counts(found: Counter[str]) -> str:
    return " ".join(f"{sign}{found[state]:,}" for state, sign in _WORDS.items() if found[state])


def _between(scene: Scene, edges: Edges, kinds: Ints) -> dict[tuple[int, int], Counter[int]]:
    """For each pair of boxes, how many edges there are of each kind."""
    a, b = scene.op_box[edges.node], scene.op_box[edges.rows]
    keep = (a >= 0) & (b >= 0) & (a != b)
    table, counts = np.unique(np.stack([a[keep], b[keep], kinds[keep]], axis=1), axis=0, return_counts=True)
    out: dict[tuple[int, int], Counter[int]] = {}
    for (source, target, kind), count in zip(table.tolist(), counts.tolist(), strict=True):
        out.setdefault((source, target), Counter())[kind] += count
    return out


def _mark_edge(edge: Edge, found: Counter[int]) -> None:
    new, gone = found[1], found[2]
    if not new and not gone:
        return
    edge.quiet = False
    if not found[0] and not (new and gone):
        edge.state = "new" if new else "removed"
        edge.label = edge.label if new else ""  # its sign is there
        return
    edge.state = "changed"
    edge.label = _counts(Counter({"new": new, "removed": gone}))
