"""Aligns the scenes before and after a plan: one layout, in which items of both scenes have the same place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..graph.graph import Ints
from . import edge_routes
from .boxes import Box, Edge, Group, frames
from .dot import size_of
from .layout import PlacedScene
from .scene import Scene


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

    def _part(self, placed: PlacedScene, which: int) -> PlacedScene:
        scene = self.scenes[which]
        frame_of = {group.id: group for group in placed.groups}  # empty if the layout has no frames
        boxes = [
            replace(box, hidden=dict(box.hidden), x=at.x, y=at.y, w=at.w, h=at.h)
            for box, at in ((box, placed.boxes[i]) for box, i in zip(scene.boxes, self.boxes[which], strict=True))
        ]
        groups = [
            replace(group, x=at.x, y=at.y, w=at.w, h=at.h)
            for group, i in zip(scene.groups, self.groups[which], strict=True)
            if (at := frame_of.get(f"g{i}")) is not None
        ]
        edges = [replace(edge, d=placed.edges[i].d) for edge, i in zip(scene.edges, self.edges[which], strict=True)]
        edge_routes.place_labels(boxes, groups, edges, placed.w)
        stats = dict(scene.stats, degraded=placed.stats["degraded"])
        return PlacedScene(scene.rev, placed.w, placed.h, placed.direction, boxes, groups, edges, stats, placed.columns)


def align_scenes(before: Scene, after: Scene, same: tuple[Ints, Ints]) -> Aligned:
    """Returns two scenes and their union. Boxes are paired by name, or else by most of their ops.

    Args:
        before, after: the scenes; paired boxes get the larger size of both.
        same: the numbers of ops before, and their numbers after.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> from .scene import build
        >>> from .tree import Tree
        >>> one = build(Tree(Graph.of([("a", "Placeholder", []), ("b", "Neg", ["a"])])))
        >>> two = build(Tree(Graph.of([("a", "Placeholder", []), ("c", "Neg", ["a"]), ("b", "Neg", ["c"])])))
        >>> both = align_scenes(one, two, (np.array([0, 1]), np.array([0, 2])))
        >>> [box.name for box in both.whole.boxes], both.boxes
        (['a', 'c', 'b'], ([0, 2], [0, 1, 2]))
    """
    twins = _twins(before, after, same)
    frame_twins = _frame_twins(before, after, twins)
    groups, place_of_group = _groups(before, after, frame_twins)
    twins = {  # a box that moved to another frame has two places
        a: b
        for a, b in twins.items()
        if _at(place_of_group[0], before.boxes[a].group) == _at(place_of_group[1], after.boxes[b].group)
    }
    boxes, place = _boxes(before, after, twins, place_of_group)
    edges, place_of_edge = _edges(before, after, place)
    stats = {"ops": after.stats["ops"], "boxes": len(boxes), "edges": len(edges), "hidden": {}, "degraded": ""}
    nowhere = np.empty(0, np.int32)
    whole = Scene(f"{before.rev}-{after.rev}", boxes, groups, edges, stats, nowhere, nowhere)
    return Aligned((before, after), whole, place, place_of_group, place_of_edge)


def _at(places: Sequence[int], number: int) -> int:
    return places[number] if number >= 0 else -1


def _twins(before: Scene, after: Scene, same: tuple[Ints, Ints]) -> dict[int, int]:
    """Returns box before -> box after, paired by name, or else by most of their ops."""
    here = {(box.kind, box.name): i for i, box in enumerate(after.boxes)}
    out = {i: here[box.kind, box.name] for i, box in enumerate(before.boxes) if (box.kind, box.name) in here}
    unpaired = [set(range(len(s.boxes))) - set(box_pairs) for s, box_pairs in ((before, out), (after, out.values()))]
    if not unpaired[0] or not unpaired[1]:
        return out
    was, now = before.op_box[same[0]], after.op_box[same[1]]
    drawn = (was >= 0) & (now >= 0)
    wide = len(after.boxes)
    pairs, counts = np.unique(was[drawn].astype(np.int64) * wide + now[drawn], return_counts=True)
    totals = [np.bincount(of[drawn], minlength=n) for of, n in ((was, len(before.boxes)), (now, wide))]
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        a, b = divmod(pair, wide)
        if a in unpaired[0] and b in unpaired[1] and 2 * count > max(totals[0][a], totals[1][b]):
            out[a] = b
    return out


def _frame_twins(before: Scene, after: Scene, twins: dict[int, int]) -> dict[int, int]:
    """Returns frame before -> frame after, paired by name, or else by the boxes in them."""
    here = {group.name: i for i, group in enumerate(after.groups)}
    out = {i: here[group.name] for i, group in enumerate(before.groups) if group.name in here}
    partners = set(out.values())
    for a, b in twins.items():
        pairs = zip(
            frames(before.groups, before.boxes[a].group), frames(after.groups, after.boxes[b].group), strict=False
        )
        for one, other in pairs:
            if one not in out and other not in partners:
                out[one] = other
                partners.add(other)
    return out


def _groups(before: Scene, after: Scene, twins: dict[int, int]) -> tuple[list[Group], tuple[list[int], list[int]]]:
    """Returns the frames of both scenes, outer frames first, and their numbers for each scene."""
    groups: list[Group] = []
    places: tuple[list[int], list[int]] = ([], [])

    def add(group: Group, mine: list[int]) -> int:
        groups.append(replace(group, id=f"g{len(groups)}", group=_at(mine, group.group)))
        return len(groups) - 1

    for group in before.groups:
        places[0].append(add(group, places[0]))
    targets = {b: places[0][a] for a, b in twins.items()}
    for i, group in enumerate(after.groups):
        at = targets.get(i, -1)
        if at >= 0 and groups[at].group != _at(places[1], group.group):
            at = -1  # it has moved to another frame
        places[1].append(at if at >= 0 else add(group, places[1]))
    return groups, places


def _boxes(
    before: Scene, after: Scene, twins: dict[int, int], in_group: tuple[list[int], list[int]]
) -> tuple[list[Box], tuple[list[int], list[int]]]:
    """Returns the boxes of both scenes in the order of the first. A box of only the second follows its predecessor."""
    was = {b: a for a, b in twins.items()}
    order: list[tuple[tuple[int, int], int, int]] = []  # place, number before, number after
    last = (-1, 0)
    for b in range(len(after.boxes)):
        last = (was[b], 0) if b in was else (last[0], last[1] + 1)
        order.append((last, was.get(b, -1), b))
    order += [((a, 0), a, -1) for a in range(len(before.boxes)) if a not in twins]
    boxes: list[Box] = []
    places = ([-1] * len(before.boxes), [-1] * len(after.boxes))
    beside: list[str] = []
    for _, a, b in sorted(order, key=lambda entry: entry[0]):
        both = [scene.boxes[i] for scene, i in ((before, a), (after, b)) if i >= 0]
        box, which = both[-1], 1 if b >= 0 else 0
        for number, mine in ((a, places[0]), (b, places[1])):
            if number >= 0:
                mine[number] = len(boxes)
        w, h = map(max, zip(*map(size_of, both), strict=True))
        boxes.append(replace(box, id=f"b{len(boxes)}", group=_at(in_group[which], box.group), w=w, h=h))
        beside.append(box.beside and f"{which}{box.beside}")
    new_ids = {
        f"{which}{box.id}": boxes[at].id
        for which, scene in enumerate((before, after))
        for box, at in zip(scene.boxes, places[which], strict=True)
    }
    for box, of in zip(boxes, beside, strict=True):
        box.beside = new_ids[of] if of else ""
    return boxes, places


def _edges(
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
