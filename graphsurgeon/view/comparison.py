"""Two graphs in one picture, with added, removed and changed ops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..errors import LayoutError
from ..graph.diff import Diff, OpChange
from ..graph.edges import Edges
from ..graph.graph import Graph, Ints, Mask
from .boxes import Box, Item, elide, frames
from .first_picture import first_unfolded, open_item
from .plan_marks import NEW, REMOVED, SAME, EdgeKinds, count_text, edge_keys, mark_edges
from .scene import Scene, build
from .tree import Tree

GOOD, FULL = 26, 60
"""Scopes with differences are opened up to `GOOD` boxes, and scopes with one or two items up to `FULL` boxes."""


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
    both, kinds = unite_graphs(diff)
    marks = diff.marks
    tree = Tree(both)
    scene = build(tree, _open_folds(tree, marks))
    _mark_boxes(scene, marks, _texts(diff))
    _mark_groups(scene)
    mark_edges(both, kinds, scene.boxes, scene.edges, scene.op_box)
    return scene


def unite_graphs(diff: Diff) -> tuple[Graph, EdgeKinds]:
    """Returns the union of both graphs, and the kinds of its edges.

    Args:
        diff: the difference. Its `picture` has the ops of both graphs, with the numbers of the second graph.
    """
    whole, a = diff.picture, diff.a
    spot = diff.place.copy()
    spot[spot < 0] = np.arange(diff.b.size, whole.size)
    data, kinds = _edges(whole.data, a.data, diff.b.size, spot, whole.size)
    control, waits = _edges(whole.control, a.control, diff.b.size, spot, whole.size)
    return replace(whole, data=data, control=control, owner=object()), EdgeKinds(kinds, waits)


def _edges(now: Edges, then: Edges, count: int, spot: Ints, size: int) -> tuple[Edges, Ints]:
    """Returns the edges of the first `count` ops of `now`, the edges of `then` that `now` lacks, and their kinds."""
    mine = now.rows < count
    rows, node, port = now.rows[mine], now.node[mine], now.port[mine]
    old_rows, old_node, old_port = spot[then.rows], spot[then.node], then.port
    keys, old = edge_keys(rows, node, port, size), edge_keys(old_rows, old_node, old_port, size)
    removed = ~np.isin(old, keys)
    kind = np.concatenate([np.where(np.isin(keys, old), SAME, NEW), np.full(int(removed.sum()), REMOVED)])
    rows = np.concatenate([rows, old_rows[removed]])
    order = np.argsort(rows, kind="stable")
    node, port = np.concatenate([node, old_node[removed]])[order], np.concatenate([port, old_port[removed]])[order]
    return Edges.of(rows[order], node, size, port), kind.astype(np.int32)[order]


def _open_folds(tree: Tree, marks: Mapping[int, str]) -> frozenset[str]:
    """Returns the folds to open: scopes with differences that are not completely new or removed, the smallest first."""
    touched = np.zeros(tree.graph.size, np.bool_)
    touched[list(marks)] = True
    items, opened = list(tree.inside(tree.root)), set[str]()
    while True:
        ranked = []
        for item in items:
            inner = len(tree.inside(item)) if item.keys and item.kind != "variable" else 0
            if inner and _is_mixed(tree, item, marks, touched):
                count = len(items) - 1 + inner
                if count <= GOOD or (inner <= 2 and count <= FULL):
                    ranked.append((inner, item.first, item))
        if not ranked:
            break
        open_item(tree, min(ranked, key=lambda r: r[:2])[-1], items, opened)
    if len(items) <= GOOD // 2:  # there is room for the surroundings
        try:
            wider = opened | first_unfolded(tree)
            if len(build(tree, wider).boxes) <= GOOD:
                return frozenset(wider)
        except LayoutError:
            pass
    return frozenset(opened)


def _is_mixed(tree: Tree, item: Item, marks: Mapping[int, str], touched: Mask) -> bool:
    ops = tree.ops_of(item)
    hit = ops[touched[ops]].tolist()
    kinds = {marks[op] for op in hit}
    return bool(hit) and (len(kinds) > 1 or "changed" in kinds or len(hit) < len(ops))


def _texts(diff: Diff) -> dict[int, str]:
    """Returns changed op -> a short text about its change."""
    by_op: dict[int, list[OpChange]] = {}
    for change in diff.changes:
        by_op.setdefault(diff.b.index[change.op], []).append(change)
    return {op: _word(changes) for op, changes in by_op.items()}


def _word(changes: list[OpChange]) -> str:
    words = []
    for change in changes:
        plain = {"type": f"was {change.was}", "input": "rewired", "attribute": change.what, "output": "shape"}
        words.append(plain.get(change.kind, change.kind))
    words = list(dict.fromkeys(words))
    if len(words) > 1 and "shape" in words:  # the other changes cause it
        words.remove("shape")
    return elide(", ".join(words[:2]) + (" …" if len(words) > 2 else ""), 34)


def _mark_boxes(scene: Scene, marks: Mapping[int, str], texts: Mapping[int, str]) -> None:
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
            _mark_box(box, mine, near, texts.get(last.get(at, -1), ""))


def _mark_box(box: Box, mine: Counter[str], near: Counter[str], text: str) -> None:
    kinds = set(mine)
    whole = len(kinds) == 1 and sum(mine.values()) >= box.count - sum(near.values()) and kinds != {"changed"}
    box.state = kinds.pop() if whole else "changed"
    texts = []
    if mine and not whole and box.kind not in ("op", "variable"):
        texts.append(count_text(mine + near))
    elif text and mine:
        texts.append(text)
    elif near and not whole:
        texts.append(f"{count_text(near)} hidden")
    if texts:
        box.sub = " · ".join([box.sub, *texts])
        box.detail = " · ".join([box.detail, *texts])


def _mark_groups(scene: Scene) -> None:
    """Marks frames as new or removed if all their boxes are."""
    states: dict[int, set[str]] = {}
    for box in scene.boxes:
        for group in frames(scene.groups, box.group):
            states.setdefault(group, set()).add(box.state)
    for group, group_states in states.items():
        if group_states in ({"new"}, {"removed"}):
            scene.groups[group].state = group_states.pop()
