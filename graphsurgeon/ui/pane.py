"""A picture on the screen: a graph, its open scopes, and its layout."""

from __future__ import annotations

import base64
import html
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import LayoutError, counted
from ..graph.concurrency import gc_paused
from ..graph.graph import Graph, Ints
from ..graph.names import begins_with
from ..plan.plan_result import NewNode, PlanResult
from ..view import page_types
from ..view.comparison import align_scenes
from ..view.first_picture import Endpoints, first_unfolded, pinned_ops
from ..view.layout import LayoutCancelled, PlacedScene, place
from ..view.paint import Paint, paint_scene
from ..view.plan_marks import EdgeKinds, added_edges, lost_edges
from ..view.scene import MAX_BOXES, Scene, boxes_shown, build
from ..view.svg import panes, to_svg
from ..view.tree import Tree, find_item, keys_to, ops_named
from .run_results import RunOverlay

LAYOUTS = 4
"""The number of layouts that a pane keeps."""
_MOST_ADDED = 12
"""The maximum number of new ops that are not in copies and whose folds are opened."""


@dataclass(frozen=True, eq=False)
class PaneSpec:
    """The subject of a picture in a pane.

    Args:
        tree: the graph, as filtered.
        unfolded: fold keys that are open.
        marks: op number -> state.
        pins: ops that have a separate box.
        step: the effect of a plan on the edges; None: the graph is shown without a plan.
    """

    tree: Tree
    unfolded: frozenset[str]
    marks: Mapping[int, str]
    pins: tuple[int, ...] = ()
    step: EdgeStep | None = None

    @property
    def key(self) -> Any:
        """A value that is equal if two pictures are equal."""
        return (self.tree, self.unfolded, tuple(sorted(self.marks.items())), self.pins, self.step)

    def scene(self) -> Scene:
        """Returns the drawn scene."""
        kinds = None if self.step is None else self.step.kinds(self.tree.graph)
        return build(self.tree, self.unfolded, self.marks, pins=self.pins, kinds=kinds)


@dataclass(frozen=True)
class EdgeStep:
    """The graph that the edges of a picture are compared with: before a plan, or after it.

    Args:
        effect: the effect of the plan.
        other: the graph on the other side of the plan, with the same calls unfolded as in the picture.
        later: whether the picture shows the graph after the plan.
    """

    effect: PlanResult
    other: Graph
    later: bool

    def kinds(self, graph: Graph) -> EdgeKinds:
        """Returns the kinds of the edges of the graph in the picture."""
        effect = self.effect
        if not self.later:
            return lost_edges(graph, self.other, unchanged_ops(effect, graph, self.other))
        joins = [(join.to, join.input) for join in effect.connections]
        return added_edges(graph, self.other, unchanged_ops(effect, self.other, graph), joins)


class Pane:
    """The last layouts of a picture, so that a step back costs nothing, and the colors of the current one."""

    def __init__(self) -> None:
        self.scene: Scene | None = None
        self.placed: page_types.Scene | None = None
        self._key: Any = None
        self._last: deque[tuple[Any, Scene, page_types.Scene]] = deque(maxlen=LAYOUTS)
        self._colored: tuple[Any, page_types.Scene] | None = None
        self._pinned: tuple[tuple[Graph, Endpoints, frozenset[str]], tuple[int, ...]] | None = None

    @gc_paused()
    def draw(
        self,
        spec: PaneSpec,
        direction: str,
        budget: int = MAX_BOXES,
        limit: int = MAX_BOXES,
        cancelled: Callable[[], bool] = lambda: False,
        like: Mapping[str, Any] | None = None,
    ) -> None:
        """Lays a scene out if it has changed. The results are `scene` and `placed`.

        Args:
            spec: the subject of the picture.
            direction: TB, LR or auto.
            budget: the limit of boxes for the message.
            limit: the maximum number of boxes.
            cancelled: called repeatedly during the layout; true stops it.
            like: a picture that a first picture should resemble. A later picture resembles the last one, unless the
                direction has changed.

        Raises:
            LayoutError: there would be too many boxes, or the layout takes too long. The last layout stays.
        """
        key = (spec.key, direction, None)
        if self.show(key):
            return
        scene = spec.scene()
        refuse_many(scene, budget, limit)
        placed = place(scene, direction=direction, previous=self.previous(direction, like), cancelled=cancelled)
        self.set_layout(scene, placed, key)

    def has(self, key: Any) -> bool:
        """Returns whether this is one of the last layouts."""
        return any(key == known for known, _, _ in self._last)

    def show(self, key: Any) -> bool:
        """Shows one of the last layouts; returns whether there is one with this key."""
        for i, (known, scene, placed) in enumerate(self._last):
            if key == known:
                self.scene, self.placed, self._key = scene, placed, known
                del self._last[i]
                self._last.append((known, scene, placed))  # the layout that was shown least recently is the first
                return True
        return False

    def set_layout(self, scene: Scene, layout: PlacedScene, key: Any) -> None:
        """Sets a scene and its layout.

        Args:
            scene, layout: the scene, and its layout.
            key: its subject, the direction, and the subject that was laid out with it.
        """
        if self._key is not None and self._key[1] != key[1]:  # the direction was chosen anew
            self._last.clear()
        self._last.append((key, scene, layout.to_dict()))
        self.show(key)

    def previous(self, direction: str, fallback: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Returns the picture that the next one should resemble: the last one, or `fallback` for a first picture."""
        if self._key is None:
            return fallback
        return self.placed if self._key[1] == direction else None

    def pins(self, tree: Tree, definitions: Endpoints) -> tuple[int, ...]:
        """Returns the ops that always have a separate box, even if their type is hidden."""
        key = (tree.graph, definitions, tree.filters.hidden_orphans)
        if self._pinned is None or self._pinned[0] != key:
            self._pinned = (key, pinned_ops(tree, definitions))
        return self._pinned[1]

    def colored(self, tree: Tree, paint: Paint, faded: tuple[str, ...], overlay: RunOverlay | None) -> page_types.Scene:
        """Returns the current layout with colors and a legend, and with the shapes of a run."""
        assert self.scene is not None
        assert self.placed is not None
        key = (self._key, id(self.placed), paint, overlay)
        if self._colored is None or self._colored[0] != key:
            painting = paint_scene(self.scene, tree, self.placed, paint)
            self._colored = (key, painting if overlay is None else overlay.with_run_shapes(painting))
        painting = self._colored[1]
        return {**painting, "legend": {**painting["legend"], "faded": list(faded)}}


def refuse_many(scene: Scene, budget: int, limit: int) -> None:
    """Refuses a scene with too many boxes before the slow layout.

    Raises:
        LayoutError: there are more than `limit`.
    """
    if len(scene.boxes) > limit:
        raise LayoutError(
            f"a picture of {counted(len(scene.boxes), 'boxes')}",
            f"the limit is {counted(budget, 'boxes')}",
            f"Fold something first, select a part with ed.select(scope=...), or allow it: set_budget({MAX_BOXES})",
        )


@gc_paused()
def draw_both(
    panes: tuple[Pane, Pane],
    specs: tuple[PaneSpec, PaneSpec],
    same: Callable[[], tuple[Ints, Ints]],
    direction: str,
    budget: int = MAX_BOXES,
    limits: tuple[int, int] = (MAX_BOXES, MAX_BOXES),
    cancelled: Callable[[], bool] = lambda: False,
) -> bool:
    """Lays out the pictures before and after a plan together, if they have changed.

    Args:
        panes: before and after.
        specs: the subjects of the pictures.
        same: returns the numbers of ops before the plan, and their numbers after it.
        direction: TB, LR or auto.
        budget: the limit of boxes for the message.
        limits: the maximum number of boxes, before and after.
        cancelled: called repeatedly during the layout; true stops it.

    Returns:
        whether they were laid out together. If not, because of too many boxes or because one cannot be drawn, they must
        be laid out separately.

    Raises:
        LayoutCancelled: `cancelled` returned true.
        LayoutError: there would be too many boxes in a picture.
    """
    keys = [(sight.key, direction, other.key) for sight, other in zip(specs, specs[::-1], strict=True)]
    if all(pane.has(key) for pane, key in zip(panes, keys, strict=True)):
        return all(pane.show(key) for pane, key in zip(panes, keys, strict=True))
    try:
        scenes = specs[0].scene(), specs[1].scene()
    except LayoutError:
        return False
    for scene, limit in zip(scenes, limits, strict=True):
        refuse_many(scene, budget, limit)
    try:
        both = align_scenes(*scenes, same())
        if len(both.whole.boxes) > MAX_BOXES:
            return False
        like = panes[0].previous(direction, None)
        placed = both.split(place(both.whole, direction=direction, previous=like, cancelled=cancelled))
    except LayoutCancelled:
        raise
    except LayoutError:
        return False
    for pane, scene, part, key in zip(panes, scenes, placed, keys, strict=True):
        pane.set_layout(scene, part, key)
    return True


def opening_of_new_ops(
    tree: Tree, effect: PlanResult, open_folds: frozenset[str], same_graph: bool, budget: int = MAX_BOXES
) -> frozenset[str]:
    """Returns the folds to open in a first picture of a destination.

    They are the copies, opened as their originals are, and the folds that would hide other new ops.

    Args:
        tree: the destination after the plan.
        effect: the effect of the plan.
        open_folds: fold keys open in the source pane.
        same_graph: whether source and destination are the same graph. Then the folds are only opened within the budget,
            and the rest is open as in the source.
        budget: the number of boxes up to which folds are opened.
    """
    keys = set() if same_graph else set(first_unfolded(tree))
    prefixes = {f"{copied.step.to}/" if copied.step.to else "" for copied in effect.copies}
    keys |= prefixes
    for lead in prefixes:
        keys |= {_under(lead, key) for key in open_folds if not key.endswith("+")}
    keys = {key for key in keys if _is_there(tree, key)} - {""}
    if not same_graph:
        return frozenset(keys)
    for some in (keys | keys_above_ops(tree, effect.added), keys, keys & prefixes):
        if boxes_shown(tree, some | open_folds) <= budget:
            return frozenset(some)
    return frozenset()


def keys_above_ops(tree: Tree, nodes: Sequence[NewNode]) -> frozenset[str]:
    """Returns the fold keys that must be open so that new ops have separate boxes, except those of hidden types."""
    ops = (tree.graph.index.get(node.name, -1) for node in nodes[:_MOST_ADDED])
    return frozenset(key for op in ops if op >= 0 and tree.helpers.kind[op] == 0 for key in keys_to(tree, op))


def _is_there(tree: Tree, key: str) -> bool:
    return find_item(tree, key) is not None if key.startswith("~") else key.rstrip("/") in tree.graph.scopes.index


def _under(prefix: str, key: str) -> str:
    return f"~{prefix}{key[1:]}" if key.startswith("~") else prefix + key


def keys_above(tree: Tree, name: str) -> list[str]:
    """Returns the fold keys that must be open so that the scope, series or block `name` has a separate box."""
    mask, item = ops_named(tree, name), find_item(tree, name)
    if mask is None or not mask.any():
        return []
    return keys_to(tree, int(mask.argmax()), item.name if item is not None else name)


def keys_at(tree: Tree, scopes: tuple[str, ...], open_folds: frozenset[str]) -> frozenset[str]:
    """Returns the fold keys that show `scopes`, with the folds in them open as in the fold keys `open_folds`."""
    inside = {key for key in open_folds if key.lstrip("~").startswith(scopes)}
    return frozenset(inside.union(*(keys_above(tree, scope) for scope in scopes)))


def static_picture(tree: Tree, open_folds: frozenset[str], direction: str = "auto", pins: tuple[int, ...] = ()) -> str:
    """Returns a static SVG of a graph with these scopes open."""
    return to_svg(place(build(tree, open_folds, pins=pins), direction=direction).to_dict(), title=tree.graph.title)


def plan_picture(effect: PlanResult, marks: Mapping[int, str], text: str) -> dict[str, str]:
    """Returns a plan drawn over its destination, as mime type -> text; nothing if it cannot be drawn.

    Args:
        effect: the effect of the plan.
        marks: op number -> mark.
        text: the alternative text of the picture.
    """
    title = effect.base.title
    try:
        same = any(c.source.folded.owner is effect.base.owner for c in effect.copies)
        unfolded = first_unfolded(Tree(effect.copies[0].source)) if effect.copies else frozenset()
        tree = Tree(effect.after)
        step = EdgeStep(effect, effect.base, later=True)
        after = PaneSpec(tree, opening_of_new_ops(tree, effect, unfolded, same), marks, step=step)
        pictures = _before_and_after(effect, after) if effect.removed else []
        svg = to_svg((pictures[-1] if pictures else place(after.scene()).to_dict()), title=f"{title} after the plan")
        if pictures:
            svg = panes([(title, to_svg(pictures[0], title=title)), (f"{title} after the plan", svg)])
    except LayoutError:
        return {}
    return {"image/svg+xml": svg, "text/html": picture_html(svg, text)}


def _before_and_after(effect: PlanResult, after: PaneSpec) -> list[page_types.Scene]:
    """Returns the scenes before and after a plan, laid out as one, with removed ops as ghosts in the first."""
    tree, both = Tree(effect.base), (Pane(), Pane())
    step = EdgeStep(effect, effect.after, later=False)
    before = PaneSpec(tree, first_unfolded(tree), dict.fromkeys(effect.removed, "removed"), step=step)
    drawn = draw_both(both, (before, after), lambda: unchanged_ops(effect, effect.base, effect.after), "auto")
    return [pane.placed for pane in both if pane.placed] if drawn else []


def unchanged_ops(effect: PlanResult, before: Graph, after: Graph) -> tuple[Ints, Ints]:
    """Returns the numbers of the ops that a plan keeps, before and after it.

    Args:
        effect: the effect of the plan.
        before, after: the graphs before and after it; calls may be unfolded.
    """
    if begins_with(after.names, before.names) and not effect.renamed:
        stay: Ints = np.arange(before.size, dtype=np.int32)
        return stay, stay
    places = (after.index.get(effect.renamed.get(name, name), -1) for name in before.names)
    now: Ints = np.fromiter(places, np.int32, before.size)
    there: Ints = np.flatnonzero(now >= 0).astype(np.int32)
    return there, now[there]


def picture_html(svg: str, text: str) -> str:
    """Returns an <img> element with an SVG text. Its scripts cannot run, and it shows in an untrusted notebook too."""
    data = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    return f'<img alt="{html.escape(text)}" src="data:image/svg+xml;base64,{data}">'
