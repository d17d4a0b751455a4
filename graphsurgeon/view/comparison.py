"""Two graphs in one picture: aligned scenes before and after a plan, and the differences between two graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import LayoutError
from ..graph.diff import Diff, OpDifference
from ..graph.edges import Edges
from ..graph.graph import Graph, Ints, Mask
from . import page_types
from .boxes import Box, Edge, Group, Item, elide, frames, size_of
from .edge_paths import place_labels
from .first_picture import first_unfolded, open_item
from .layout import PlacedScene
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
        >>> a = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Exp", ["y"])])
        >>> b = Graph.from_ops([("x", "Placeholder", []), ("z", "Exp", ["x"]), ("w", "Abs", ["z"])])
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
    spot = diff.partners.copy()
    spot[spot < 0] = np.arange(diff.b.size, whole.size)
    data, kinds = _edges(whole.data, a.data, diff.b.size, spot, whole.size)
    control, waits = _edges(whole.control, a.control, diff.b.size, spot, whole.size)
    return replace(whole, data=data, control=control, owner=object()), EdgeKinds(kinds, waits)


def _edges(new_edges: Edges, old_edges: Edges, count: int, place: Ints, size: int) -> tuple[Edges, Ints]:
    """Returns the new edges of the first `count` ops, the edges that were removed, and their kinds."""
    mine = new_edges.rows < count
    rows, node, port = new_edges.rows[mine], new_edges.node[mine], new_edges.port[mine]
    old_rows, old_node, old_port = place[old_edges.rows], place[old_edges.node], old_edges.port
    keys, old = edge_keys(rows, node, port, size), edge_keys(old_rows, old_node, old_port, size)
    removed = ~np.isin(old, keys)
    kind = np.concatenate([np.where(np.isin(keys, old), SAME, NEW), np.full(int(removed.sum()), REMOVED)])
    rows = np.concatenate([rows, old_rows[removed]])
    order = np.argsort(rows, kind="stable")
    node, port = np.concatenate([node, old_node[removed]])[order], np.concatenate([port, old_port[removed]])[order]
    return Edges.from_rows(rows[order], node, size, port), kind.astype(np.int32)[order]


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
    by_op: dict[int, list[OpDifference]] = {}
    for change in diff.changes:
        by_op.setdefault(diff.b.index[change.op], []).append(change)
    return {op: _word(changes) for op, changes in by_op.items()}


def _word(changes: list[OpDifference]) -> str:
    words = []
    for change in changes:
        plain = {"type": f"was {change.old}", "input": "rewired", "attribute": change.detail, "output": "shape"}
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


def _mark_box(box: Box, states: Counter[str], neighbor_states: Counter[str], text: str) -> None:
    kinds = set(states)
    uniform = (
        len(kinds) == 1 and sum(states.values()) >= box.count - sum(neighbor_states.values()) and kinds != {"changed"}
    )
    box.state = "changed" if not uniform else "new" if kinds == {"new"} else "removed"
    texts = []
    if states and not uniform and box.kind not in ("op", "variable"):
        texts.append(count_text(states + neighbor_states))
    elif text and states:
        texts.append(text)
    elif neighbor_states and not uniform:
        texts.append(f"{count_text(neighbor_states)} hidden")
    if texts:
        box.subtitle = " · ".join([box.subtitle, *texts])


def _mark_groups(scene: Scene) -> None:
    """Marks frames as new or removed if all their boxes are."""
    states: dict[int, set[page_types.Mark]] = {}
    for box in scene.boxes:
        for group in frames(scene.groups, box.group):
            states.setdefault(group, set()).add(box.state)
    for group, group_states in states.items():
        if group_states in ({"new"}, {"removed"}):
            scene.groups[group].state = group_states.pop()


@dataclass(frozen=True, eq=False)
class Aligned:
    """Two scenes and their union.

    Args:
        scenes: before and after.
        whole: the union: all items of both scenes.
        boxes, groups, edges: for each scene, the number in `whole` of each of its boxes, groups and edges.
    """

    scenes: tuple[Scene, Scene]
    whole: Scene
    boxes: tuple[list[int], list[int]]
    groups: tuple[list[int], list[int]]
    edges: tuple[list[int], list[int]]

    def split(self, placed: PlacedScene) -> tuple[PlacedScene, PlacedScene]:
        """Returns both scenes with their places in a placed `whole`."""
        return self._part(placed, 0), self._part(placed, 1)

    def _part(self, layout: PlacedScene, side: int) -> PlacedScene:
        scene = self.scenes[side]
        frame_of = {group.id: group for group in layout.groups}  # empty if the layout has no frames
        boxes = [
            replace(box, hidden=dict(box.hidden), x=at.x, y=at.y, w=at.w, h=at.h)
            for box, at in ((box, layout.boxes[i]) for box, i in zip(scene.boxes, self.boxes[side], strict=True))
        ]
        groups = [
            replace(group, x=at.x, y=at.y, w=at.w, h=at.h)
            for group, i in zip(scene.groups, self.groups[side], strict=True)
            if (at := frame_of.get(f"g{i}")) is not None
        ]
        edges = [
            replace(edge, path=layout.edges[i].path) for edge, i in zip(scene.edges, self.edges[side], strict=True)
        ]
        used = sorted({number for edge in edges for number in edge.path})
        lines, renumbered = [layout.lines[i] for i in used], {old: new for new, old in enumerate(used)}
        for edge in edges:
            edge.path = [renumbered[number] for number in edge.path]
        place_labels(boxes, groups, edges, lines, layout.w)  # `layout` has room for labels
        stats: page_types.SceneStats = {**scene.stats, "degraded": layout.stats["degraded"]}
        return PlacedScene(
            scene.rev, layout.w, layout.h, layout.direction, boxes, groups, edges, lines, stats, layout.columns
        )


def align_scenes(before: Scene, after: Scene, common_ops: tuple[Ints, Ints]) -> Aligned:
    """Returns two scenes and their union. Boxes are paired by name, or else by most of their ops.

    Args:
        before, after: the scenes; paired boxes get the larger size of both.
        common_ops: the numbers of ops before, and their numbers after.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> from .scene import build
        >>> from .tree import Tree
        >>> one = build(Tree(Graph.from_ops([("a", "Placeholder", []), ("b", "Neg", ["a"])])))
        >>> two = build(Tree(Graph.from_ops([("a", "Placeholder", []), ("c", "Neg", ["a"]), ("b", "Neg", ["c"])])))
        >>> both = align_scenes(one, two, (np.array([0, 1]), np.array([0, 2])))
        >>> [box.name for box in both.whole.boxes], both.boxes
        (['a', 'c', 'b'], ([0, 2], [0, 1, 2]))
    """
    twins = _twins(before, after, common_ops)
    frame_twins = _frame_twins(before, after, twins)
    groups, place_of_group = _union_groups(before, after, frame_twins)
    twins = {  # a box that moved to another frame has two places
        a: b
        for a, b in twins.items()
        if _at(place_of_group[0], before.boxes[a].group) == _at(place_of_group[1], after.boxes[b].group)
    }
    boxes, place = _union_boxes(before, after, twins, place_of_group)
    edges, place_of_edge = _union_edges(before, after, place)
    stats: page_types.SceneStats = {
        "ops": after.stats["ops"], "boxes": len(boxes), "edges": len(edges), "hidden": {}, "degraded": "",
    }  # fmt: skip
    nowhere = np.empty(0, np.int32)
    whole = Scene(f"{before.rev}-{after.rev}", boxes, groups, edges, stats, nowhere, nowhere)
    return Aligned((before, after), whole, place, place_of_group, place_of_edge)


def _at(places: Sequence[int], number: int) -> int:
    return places[number] if number >= 0 else -1


def _twins(before: Scene, after: Scene, common_ops: tuple[Ints, Ints]) -> dict[int, int]:
    """Returns box before -> box after, paired by name, or else by most of their ops."""
    here = {(box.kind, box.name): i for i, box in enumerate(after.boxes)}
    out = {i: here[box.kind, box.name] for i, box in enumerate(before.boxes) if (box.kind, box.name) in here}
    unpaired = [set(range(len(s.boxes))) - set(box_pairs) for s, box_pairs in ((before, out), (after, out.values()))]
    if not unpaired[0] or not unpaired[1]:
        return out
    was, now = before.op_box[common_ops[0]], after.op_box[common_ops[1]]
    drawn = (was >= 0) & (now >= 0)
    wide = len(after.boxes)
    pairs, counts = np.unique(was[drawn].astype(np.int64) * wide + now[drawn], return_counts=True)
    totals = [np.bincount(of[drawn], minlength=n) for of, n in ((was, len(before.boxes)), (now, wide))]
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        a, b = divmod(pair, wide)
        if a in unpaired[0] and b in unpaired[1] and 2 * count > max(totals[0][a], totals[1][b]):
            out[a] = b
    return out


def _frame_twins(before: Scene, after: Scene, box_partners: dict[int, int]) -> dict[int, int]:
    """Returns frame before -> frame after, paired by name, or else by the boxes in them."""
    here = {group.name: i for i, group in enumerate(after.groups)}
    out = {i: here[group.name] for i, group in enumerate(before.groups) if group.name in here}
    partners = set(out.values())
    for a, b in box_partners.items():
        pairs = zip(
            frames(before.groups, before.boxes[a].group), frames(after.groups, after.boxes[b].group), strict=False
        )
        for one, other in pairs:
            if one not in out and other not in partners:
                out[one] = other
                partners.add(other)
    return out


def _union_groups(
    before: Scene, after: Scene, partners: dict[int, int]
) -> tuple[list[Group], tuple[list[int], list[int]]]:
    """Returns the frames of both scenes, outer frames first, and their numbers for each scene."""
    groups: list[Group] = []
    places: tuple[list[int], list[int]] = ([], [])

    def add(group: Group, mine: list[int]) -> int:
        groups.append(replace(group, id=f"g{len(groups)}", group=_at(mine, group.group)))
        return len(groups) - 1

    for group in before.groups:
        places[0].append(add(group, places[0]))
    targets = {b: places[0][a] for a, b in partners.items()}
    for i, group in enumerate(after.groups):
        at = targets.get(i, -1)
        if at >= 0 and groups[at].group != _at(places[1], group.group):
            at = -1  # it has moved to another frame
        places[1].append(at if at >= 0 else add(group, places[1]))
    return groups, places


def _union_boxes(
    before: Scene, after: Scene, partners: dict[int, int], in_group: tuple[list[int], list[int]]
) -> tuple[list[Box], tuple[list[int], list[int]]]:
    """Returns the boxes of both scenes in the order of the first. A box of only the second follows its predecessor."""
    was = {b: a for a, b in partners.items()}
    order: list[tuple[tuple[int, int], int, int]] = []  # place, number before, number after
    last = (-1, 0)
    for b in range(len(after.boxes)):
        last = (was[b], 0) if b in was else (last[0], last[1] + 1)
        order.append((last, was.get(b, -1), b))
    order += [((a, 0), a, -1) for a in range(len(before.boxes)) if a not in partners]
    boxes: list[Box] = []
    places = ([-1] * len(before.boxes), [-1] * len(after.boxes))
    for _, a, b in sorted(order, key=lambda entry: entry[0]):
        both = [scene.boxes[i] for scene, i in ((before, a), (after, b)) if i >= 0]
        box = both[-1]
        for number, mine in ((a, places[0]), (b, places[1])):
            if number >= 0:
                mine[number] = len(boxes)
        w, h = map(max, zip(*map(size_of, both), strict=True))
        boxes.append(replace(box, id=f"b{len(boxes)}", group=_at(in_group[1 if b >= 0 else 0], box.group), w=w, h=h))
    return boxes, places


def _union_edges(
    before: Scene, after: Scene, places: tuple[list[int], list[int]]
) -> tuple[list[Edge], tuple[list[int], list[int]]]:
    """Returns the edges of both scenes. An edge is only quiet if it is quiet in both."""
    numbers: dict[tuple[str, str], int] = {}
    edges: list[Edge] = []
    out: tuple[list[int], list[int]] = ([], [])
    for which, scene in enumerate((before, after)):
        at = {box.id: f"b{i}" for box, i in zip(scene.boxes, places[which], strict=True)}
        for edge in scene.edges:
            ends = at[edge.source], at[edge.target]
            if ends not in numbers:
                numbers[ends] = len(edges)
                edges.append(replace(edge, id=f"e{len(edges)}", source=ends[0], target=ends[1], label=""))
            one = edges[numbers[ends]]
            one.quiet, one.control = one.quiet and edge.quiet, one.control and edge.control
            out[which].append(numbers[ends])
    return edges, out
