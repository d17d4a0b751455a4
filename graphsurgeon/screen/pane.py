"""Pane: one picture on the screen: a graph, what is unfolded in it, and its layout."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import LayoutError
from ..graph.graph import Graph
from ..plan.effect import Effect
from ..view.ends import Known, pinned
from ..view.first_picture import first_unfolded
from ..view.layout import place
from ..view.paint import Paint, painted
from ..view.scene import MOST, Scene, build
from ..view.svg import to_svg
from ..view.tree import Tree, find_item, keys_to, ops_named
from ..words import counted


class Pane:
    """One picture: what was laid out last, and how it was coloured."""

    def __init__(self) -> None:
        self.scene: Scene | None = None
        self.placed: dict[str, Any] | None = None
        self._key: Any = None
        self._coloured: tuple[Any, dict[str, Any]] | None = None
        self._ends: tuple[tuple[Graph, Known], tuple[int, ...]] | None = None

    def draw(
        self,
        tree: Tree,
        unfolded: frozenset[str],
        marks: dict[int, str],
        direction: str,
        known: Known,
        budget: int = MOST,
        most: int = MOST,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Lays a scene out, `scene` and `placed` from then on; only where something has changed.

        Args:
            tree: the graph, as filtered.
            unfolded: fold keys that are open.
            marks: op number -> state.
            direction: TB, LR or auto.
            known: names of the inputs and outputs that always have a box, see `graphsurgeon.view.ends`.
            budget: so many boxes read well, the message says.
            most: more than these are refused.
            cancelled: asked now and then during the layout.

        Raises:
            LayoutError: there would be too many boxes, or no layout ends in time; the last one stays.
        """
        pins = self.pins(tree, known)
        key = (tree, unfolded, tuple(sorted(marks.items())), direction, pins)
        if key == self._key and self.placed is not None:
            return
        scene = build(tree, unfolded, marks, pins=pins)
        if len(scene.boxes) > most:  # before the layout: that takes long for what nobody will see
            raise LayoutError(
                f"a picture of {counted(len(scene.boxes), 'boxes')}",
                f"{counted(budget, 'boxes')} read well, and this is {len(scene.boxes) - budget} more",
                f"Fold something first, select a part with ed.select(scope=...), or allow it: set_budget({MOST})",
            )
        placed = place(scene, direction=direction, cancelled=cancelled)
        self.scene, self.placed, self._key = scene, placed.to_dict(), key

    def pins(self, tree: Tree, known: Known) -> tuple[int, ...]:
        """Returns the ops that have a box of their own in any case, whatever is put away."""
        if self._ends is None or self._ends[0] != (tree.graph, known):
            self._ends = ((tree.graph, known), pinned(tree, known))
        return self._ends[1]

    def coloured(self, tree: Tree, paint: Paint, faded: tuple[str, ...]) -> dict[str, Any]:
        """Returns the placed scene with its colours and legend; nothing is laid out anew for them."""
        assert self.scene is not None
        assert self.placed is not None
        if self._coloured is None or self._coloured[0] != (self._key, id(self.placed), paint):
            key = (self._key, id(self.placed), paint)
            self._coloured = (key, painted(self.scene, tree, self.placed, paint))
        shown = self._coloured[1]
        return {**shown, "legend": {**shown["legend"], "faded": list(faded)}}


def opening_of_copies(tree: Tree, effect: Effect, unfolded: frozenset[str], same: bool) -> frozenset[str]:
    """Returns what to unfold in a first picture of a destination: the copies, as far as the source shows them.

    Args:
        tree: the destination after the plan.
        effect: what the plan makes.
        unfolded: fold keys open in the source pane.
        same: the copies go into the source itself: then the rest of it stays folded.
    """
    keys = set() if same else set(first_unfolded(tree))
    for copied in effect.copies:
        lead = f"{copied.step.to}/" if copied.step.to else ""
        inside = {lead} | {_under(lead, key) for key in unfolded if not key.endswith("+")}
        keys |= {key for key in inside if key.rstrip("/") in tree.graph.scopes.index}
        keys |= {key for key in inside if key.startswith("~") and find_item(tree, key) is not None}
    return frozenset(keys - {""})


def _under(lead: str, key: str) -> str:
    return f"~{lead}{key[1:]}" if key.startswith("~") else lead + key


def keys_above(tree: Tree, name: str) -> list[str]:
    """Returns the fold keys that must be open so that the scope, series or block `name` has a box of its own."""
    mask, item = ops_named(tree, name), find_item(tree, name)
    if mask is None or not mask.any():
        return []
    return keys_to(tree, int(mask.argmax()), item.name if item is not None else name)


def keys_at(tree: Tree, scopes: tuple[str, ...], shown: frozenset[str]) -> frozenset[str]:
    """Returns the fold keys that show `scopes`, open inside as in another picture, whose keys are `shown`."""
    inside = {key for key in shown if key.lstrip("~").startswith(scopes)}
    return frozenset(inside.union(*(keys_above(tree, scope) for scope in scopes)))


def static_picture(tree: Tree, unfolded: frozenset[str], direction: str = "auto", pins: tuple[int, ...] = ()) -> str:
    """Returns a static SVG of a graph with these scopes open."""
    return to_svg(place(build(tree, unfolded, pins=pins), direction=direction).to_dict(), title=tree.graph.title)


def plan_picture(effect: Effect, marks: Mapping[int, str], text: str) -> dict[str, str]:
    """Returns a plan drawn over its destination, as mime type -> text; nothing where it cannot be drawn.

    Args:
        effect: what the plan does.
        marks: op number -> how it is marked.
        text: stands for the picture where it is not shown.
    """
    try:
        same = any(c.source.folded.owner is effect.base.owner for c in effect.copies)
        shown = first_unfolded(Tree(effect.copies[0].source)) if effect.copies else frozenset()
        tree = Tree(effect.after)
        keys = opening_of_copies(tree, effect, shown, same)
        scene = build(tree, keys, marks)
        svg = to_svg(place(scene).to_dict(), title=f"{effect.base.title} after the plan")
    except LayoutError:
        return {}
    return {"image/svg+xml": svg, "text/html": picture_html(svg, text)}


def picture_html(svg: str, text: str) -> str:
    """Returns an <img> of an SVG text: no script in it can run, and it shows in a notebook nobody trusts yet."""
    data = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    return f'<img alt="{html.escape(text)}" src="data:image/svg+xml;base64,{data}">'
