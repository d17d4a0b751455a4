"""Turns a state into pictures: both graphs, the region, the plan and its effect."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import SelectionError, counted
from ..graph.calls import CallTree, ExpandedGraph
from ..graph.graph import Graph, Ints
from ..graph.layers import Layers, scopes_of
from ..graph.lazy_graph import materialized_graph
from ..graph.selection import Selection, select, selection_from
from ..plan.dependencies import needed_ops
from ..plan.editor_like import EditorLike, default_ends, described
from ..plan.plan import Plan
from ..plan.recipe_registry import Recipe
from ..plan.steps.base import MutedStep, unwrap_muted
from ..plan.steps.copy import CopyStep
from ..view import page_types
from ..view.first_picture import Endpoints, first_unfolded
from ..view.paint import Paint
from ..view.scene import MAX_BOXES
from ..view.tree import Tree, find_item, ops_named
from .inspector import model_text
from .pane import EdgeStep, Pane, PaneSpec, draw_both, opening_of_new_ops, unchanged_ops
from .state import Facts, Marks, State, name_changes, ops_of, renamed_keys, renamer

_TREES = 6
"""The number of cached trees: for two panes, before and after the plan, with calls folded and unfolded."""


class RenderContext:
    """The graphs of a screen, with cached results computed from them. A state determines the pictures.

    Args:
        destination: the editor that the plan changes.
        source: the editor whose graph is on the left; it may be the destination.
        facts: facts on ops beyond the snapshot.
        recipes: returns the recipes of the menu.
    """

    def __init__(
        self,
        destination: EditorLike,
        source: EditorLike,
        facts: Facts,
        recipes: Callable[[], Iterable[Recipe]] = tuple,
    ) -> None:
        self.destination, self.source, self.facts = destination, source, facts
        self._recipe_source = recipes
        self.panes = {"source": Pane(), "destination": Pane()}
        self.stop = threading.Event()
        self.progress: Callable[[str], None] = lambda text: None
        self._sources: list[Callable[[], Any]] = []
        self._trees: deque[Tree] = deque(maxlen=_TREES)
        self._calls: deque[CallTree] = deque(maxlen=_TREES)
        self._orphan_cache: deque[tuple[Graph, frozenset[str], frozenset[str]]] = deque(maxlen=_TREES)
        self._last_source: Graph | None = None
        self._names: dict[EditorLike, tuple[Graph, Mapping[str, str]]] = {}
        self._separate_key: Any = None  # the graphs that need separate layouts
        self._model_text: tuple[Graph | None, frozenset[str], str] = (None, frozenset(), "")
        self._region: tuple[tuple[Graph, Marks], tuple[Selection | None, str]] | None = None

    @cached_property
    def recipes(self) -> Mapping[str, Recipe]:
        """The recipes of the menu by name."""
        return {recipe.name: recipe for recipe in self._recipe_source()}

    @property
    def is_single_graph(self) -> bool:
        """True if source and destination are one graph."""
        return self.source is self.destination

    def editor(self, pane: str) -> EditorLike:
        """Returns the editor of a pane."""
        return self.source if pane == "source" else self.destination

    def graph(self, state: State, pane: str) -> Graph:
        """Returns the graph of a pane: the source, or the destination after the plan.

        Calls are not unfolded in it, because plans refer to this graph.
        """
        if pane == "source":
            return self.source.snapshot
        return self.draft(state).after()

    def layers(self, graph: Graph) -> Layers:
        """Returns the Keras layers of a graph on the screen."""
        return (self.source if graph.owner is self.source.snapshot.owner else self.destination).layers

    @property
    def model_text(self) -> str:
        """The model of the source in one line."""
        graph = self.source.snapshot
        undone = self._hidden_orphans(graph)
        if self._model_text[0] is not graph or self._model_text[1] != undone:
            text = model_text(graph, default_ends(self.source), self.source.layers, undone)
            self._model_text = graph, undone, text
        return " · ".join(filter(None, [self._model_text[2], self.source.values.missing_text]))

    def calls(self, state: State, pane: str) -> CallTree:
        """Returns the calls of the graph of a pane."""
        return self.calls_of(self.graph(state, pane))

    def calls_of(self, graph: Graph) -> CallTree:
        """Returns the calls of a graph, from a cache for the last few graphs."""
        calls = next((c for c in self._calls if c.base is graph), None)
        if calls is None:
            calls = CallTree(graph, self.facts.function_body)
            self._calls.appendleft(calls)
        return calls

    def picture(self, state: State, pane: str, also: Iterable[str] = ()) -> ExpandedGraph:
        """Returns the graph of a pane with its open calls unfolded.

        Args:
            state: the state on screen.
            pane: source or destination.
            also: fold keys of more calls.
        """
        return self.calls(state, pane).expanded(_scopes({*self.unfolded(state, pane), *also}))

    def expanded(self, subject: EditorLike, keys: Iterable[str] = ()) -> ExpandedGraph:
        """Returns the graph of an editor with the calls among these fold keys unfolded."""
        return self.calls_of(subject.snapshot).expanded(_scopes(keys))

    def tree(self, state: State, pane: str, also: Iterable[str] = ()) -> Tree:
        """Returns the tree of the graph of a pane with its open calls, and the calls `also`, unfolded."""
        return self.tree_of(state, self.picture(state, pane, also))

    def around(self, graph: Graph, names: Iterable[str]) -> ExpandedGraph:
        """Returns a graph with all calls unfolded that contain boxes, ops or tensors of these names.

        The name of a call, or of its frame, does not unfold the call itself. Missing names are ignored.
        """
        return self.calls_of(graph).expanded(self.scopes_to(graph, names))

    def scopes_to(self, graph: Graph, names: Iterable[str]) -> list[str]:
        """Returns the scopes of the calls that contain boxes, ops or tensors of these names."""
        calls, scopes = self.calls_of(graph), list[str]()
        for name in names:
            with suppress(SelectionError):
                scopes += calls.scopes_to(name.lstrip("~"))
        return scopes

    def tree_containing(self, state: State, pane: str, names: Sequence[str]) -> tuple[Tree, list[str]]:
        """Returns a tree of the graph of a pane that contains all boxes of these names, and their names in the tree.

        The frame of an unfolded call means the call.

        Args:
            state: the state on screen.
            pane: source or destination.
            names: names of boxes.
        """
        return self.tree_containing_in(state, self.graph(state, pane), names)

    def tree_containing_in(self, state: State, graph: Graph, names: Sequence[str]) -> tuple[Tree, list[str]]:
        """Returns the same as `holding`, for any graph."""
        calls = self.calls_of(graph)
        call_sites = [(name, calls.find(name.rstrip("/")) if name.endswith("/") else None) for name in names]
        boxes = [name if one is None else one[0].unfolded_name(one[1].op) for name, one in call_sites]
        return self.tree_of(state, self.around(graph, boxes)), boxes

    def tree_of(self, state: State, picture: ExpandedGraph) -> Tree:
        """Returns the tree of a graph under the filters of a state, from a cache for the last few trees."""
        filters = replace(state.filters, hidden_orphans=self._hidden_orphans(picture.instances[0].graph))
        tree = next((t for t in self._trees if t.graph is picture.graph and t.filters == filters), None)
        if tree is None:
            layer_scopes = scopes_of(picture.graph, self.layers(picture.instances[0].graph))
            layers = {scope: layer for scope, (layer, _) in layer_scopes.items()}
            tree = Tree(picture.graph, filters, layers, picture)
            self._trees.appendleft(tree)
        return tree

    def _hidden_orphans(self, graph: Graph) -> frozenset[str]:
        """Returns the orphans of a graph that no other op needs."""
        orphans = (self.source if graph.owner is self.source.snapshot.owner else self.destination).orphans
        if not orphans:
            return orphans
        hidden_ops = next((names for one, of, names in self._orphan_cache if one is graph and of == orphans), None)
        if hidden_ops is None:
            mask = graph.mask(graph.index[name] for name in orphans if name in graph.index)
            hidden_ops = frozenset(graph.names[i] for i in np.flatnonzero(mask & ~needed_ops(graph, ~mask)).tolist())
            self._orphan_cache.appendleft((graph, orphans, hidden_ops))
        return hidden_ops

    def ends(self, pane: str) -> Endpoints:
        """Returns the inputs and outputs that have separate boxes in a pane."""
        return described(self.editor(pane)).ends

    def draft(self, state: State) -> Plan:
        """Returns the plan being made, moved to the current graphs."""
        now, source, old = self.destination.snapshot, self.source.snapshot, state.draft
        if old is None:
            return self.destination.plan()
        if not self._was_source(source.owner):
            self._sources.append(_reference(source.owner))
        steps = tuple(
            _rebase_step(step, old.base, now, source) if self._is_rebasable(unwrap_muted(step), old.base) else step
            for step in old.steps
        )
        if old.base is now and all(a is b for a, b in zip(steps, old.steps, strict=True)):
            return old
        return replace(self.destination.plan(), steps=steps)

    def _is_rebasable(self, step: Any, base: Graph) -> bool:
        """Returns whether a step copies ops of a current or former graph of a pane, not ops pasted from elsewhere."""
        if not isinstance(step, CopyStep):
            return False
        owner = step.selection.graph.folded.owner
        return owner is base.owner or self._was_source(owner)

    def _was_source(self, owner: Any) -> bool:
        return any(materialized_graph(source_ref()) is owner for source_ref in self._sources)

    def region(self, state: State) -> tuple[Selection | None, str]:
        """Returns the ops between the marks, or None and the problem of the marks."""
        key = (self.source.snapshot, state.marks)
        if self._region is None or self._region[0][0] is not key[0] or self._region[0][1] != key[1]:
            self._region = (key, self._between(state.marks))
        return self._region[1]

    def _between(self, marks: Marks) -> tuple[Selection | None, str]:
        if not marks.outputs:
            return None, "Mark an output: the region is between the inputs and outputs" if marks.inputs else ""
        try:
            region = between = self.source.select(inputs=marks.inputs or None, outputs=marks.outputs)
            for one in marks.included:
                region = region | (
                    select(region.graph, name=[one[1:]]).ancestors()
                    if one.startswith("^")
                    else self.source.select(outputs=one)
                )
            if not region.mask[[op for op, _ in between.inputs]].any():  # its leaks are still those of the boundary
                region = replace(region, inputs=between.inputs, outputs=between.outputs)
            return region, ""
        except SelectionError as error:
            return None, f"{error.problem}. {error.suggestion}"

    def is_reversed(self, state: State) -> bool:
        """Returns whether the boundary is only valid if inputs and outputs are swapped."""
        marks = state.marks
        return bool(marks.inputs and marks.outputs and self.region(state)[1] and self._between(marks.swapped)[0])

    def visible_positions(self, state: State, region: Selection) -> Ints:
        """Returns the numbers that the ops of a region, and the ops inside its calls, have in the picture."""
        calls, picture = self.calls(state, "source"), self.picture(state, "source")
        own, open_ = (() if g.unfolded is None else g.unfolded.scopes for g in (region.graph, picture.graph))
        both = calls.expanded({*own, *open_})
        inside = both.positions_in(calls.expanded(own))
        positions: Ints = both.positions_in(picture)[(inside >= 0) & region.mask[inside]]
        return positions

    def selection(self, state: State) -> Selection:
        """Returns the ops of all selected boxes; the region, if a boundary is marked and nothing is selected.

        If ops are inside calls, the selection is of the graph with these calls unfolded.
        """
        selected = state.view.selected
        region = self.region(state)[0]
        if not selected and region is not None:
            return region
        tree, boxes = self.tree_containing(state, "source", selected)
        return selection_from(tree.graph, ops_of(tree, boxes))

    def current_state(self, state: State) -> State:
        """Returns the state, updated for the current graphs: names, plan, run, selection and first pictures."""
        state = self.apply_renames(state)
        draft = self.draft(state)
        if draft is not state.draft:
            state = state.replace(draft=draft)
        if state.run is not None and not state.run.fits(self.graph(state, state.run.pane)):
            state = state.without_run()
        if self._last_source is not self.source.snapshot:
            self._last_source = self.source.snapshot
            state = self.prune_selection(state)
        if state.view.unfolded is None:
            tree = self.tree(state, "source")
            keys = first_unfolded(tree, self.panes["source"].pins(tree, self.ends("source")))
            state = state.with_view(unfolded=keys, rows=state.view.rows | keys)
        if self.is_single_graph and not draft.steps:
            return state if state.after is None else state.replace(after=None, new_names=frozenset())
        effect = draft.effect
        opened = frozenset([*(copied.step.to for copied in effect.copies), *(node.name for node in effect.added)])
        if state.after is None or opened - state.new_names:
            keys = opening_of_new_ops(
                self.tree(state, "destination"),
                effect,
                state.view.unfolded or frozenset(),
                self.is_single_graph,
                state.budget,
            )
            return state.replace(after=keys | (state.after or frozenset()), new_names=opened)
        return state if opened == state.new_names else state.replace(new_names=opened)

    def apply_renames(self, state: State) -> State:
        """Returns the state with the current names of ops, after plans were applied, undone or redone."""
        subjects = (self.source, self.destination)
        now = tuple(map(self._names_of, subjects))
        if all(a is b for a, b in zip(now, state.op_names, strict=True)):
            return state
        changed_names = [name_changes(*both) for both in zip(state.op_names, now, strict=True)]
        if any(changed_names):
            ways = (renamer(names, one.snapshot) for names, one in zip(changed_names, subjects, strict=True))
            state = state.renamed(*ways)
        return state.replace(op_names=now)

    def _names_of(self, subject: EditorLike) -> Mapping[str, str]:
        """Returns op of the opened graph of an editor -> its current name, if plans have renamed it."""
        graph = subject.snapshot
        if self._names.get(subject, (None,))[0] is not graph:
            self._names[subject] = graph, subject.history.renamed
        return self._names[subject][1]

    def prune_selection(self, state: State) -> State:
        """Returns the state without selected boxes that are no longer in the graph or in the picture."""
        tree, boxes = self.tree_containing(state, "source", state.view.selected)
        alive = ~tree.graph.mask(
            tree.graph.index[name] for name in tree.filters.hidden_orphans if name in tree.graph.index
        )
        masks = [ops_named(tree, box) for box in boxes]
        stay = [mask is not None and bool((mask & alive).any()) for mask in masks]
        return state if all(stay) else state.with_view(selected=tuple(itertools.compress(state.view.selected, stay)))

    def unfolded(self, state: State, pane: str) -> frozenset[str]:
        """Returns the open fold keys of a pane; `state` is the result of `current_state`."""
        keys, after = state.view.unfolded or frozenset(), state.after or frozenset()
        if pane == "source":
            return keys
        if not self.shows_before_and_after(state):
            return after
        effect = self.draft(state).effect
        return renamed_keys(keys, effect.renamed, effect.after) | after

    def draw(self, state: State, pane: str, limit: int = MAX_BOXES) -> page_types.Scene:
        """Returns the placed and colored scene of a pane. It is only laid out again if it has changed.

        Args:
            state: the result of `current_state`.
            pane: source or destination.
            limit: the maximum number of boxes.

        Raises:
            LayoutError: there would be too many boxes, or the layout takes too long.
        """
        here, sight = self.panes[pane], self._pane_spec(state, pane)
        if not (self.shows_before_and_after(state) and self._draw_both(state, pane, sight, limit)):
            like = self.panes["source"].placed if self.is_single_graph else None
            here.draw(sight, state.direction, state.budget, limit, self.stop.is_set, like)
        tree = sight.tree
        ran, mine = state.run, pane == (state.run.pane if state.run and state.painted_by_run else "source")
        ran = ran if ran is not None and ran.pane == pane else None
        return here.colored(tree, state.paint if mine else Paint(), state.faded, ran)

    def shows_before_and_after(self, state: State) -> bool:
        """Returns whether the panes show one graph before and after the plan."""
        return self.is_single_graph and bool(self.draft(state).steps)

    def _pane_spec(self, state: State, pane: str) -> PaneSpec:
        """Returns the subject of the picture of a pane."""
        tree, draft = self.tree(state, pane), self.draft(state)
        marks, graph = dict(draft.preview().marks) if pane == "destination" else {}, self.graph(state, pane)
        for name in self.editor(pane).orphans:
            marks.setdefault(graph.index[name], "orphan")
        if pane == "source" and self.is_single_graph:
            marks |= dict.fromkeys(draft.effect.removed, "removed")
        marks = self.picture(state, pane).spread_marks(marks)
        pins = self.panes[pane].pins(tree, self.ends(pane))
        return PaneSpec(tree, self.unfolded(state, pane), marks, pins, self._edge_step(state, pane))

    def _edge_step(self, state: State, pane: str) -> EdgeStep | None:
        """Returns the graph that the edges in a pane are compared with; None if the plan does not change its graph."""
        draft = self.draft(state)
        if not draft.steps or (pane == "source" and not self.is_single_graph):
            return None
        effect, keys, later = draft.effect, self.unfolded(state, pane), pane == "destination"
        if later:
            old = {new: name for name, new in effect.renamed.items()}
            other, keys = effect.base, renamed_keys(keys, old, effect.base)
        else:
            other, keys = effect.after, renamed_keys(keys, effect.renamed, effect.after)
        return EdgeStep(effect, self.calls_of(other).expanded(_scopes(keys)).graph, later)

    def _draw_both(self, state: State, pane: str, spec: PaneSpec, limit: int) -> bool:
        """Lays out the graphs before and after the plan together, if possible."""
        other = self._pane_spec(state, "source" if pane == "destination" else "destination")
        sights = (spec, other) if pane == "source" else (other, spec)
        panes = self.panes["source"], self.panes["destination"]
        keys = (sights[0].key, sights[1].key, state.direction)
        if keys == self._separate_key:
            return False

        def same() -> tuple[Ints, Ints]:
            return unchanged_ops(self.draft(state).effect, *(one.tree.graph for one in sights))

        limits = (limit, MAX_BOXES) if pane == "source" else (MAX_BOXES, limit)
        drawn = draw_both(panes, sights, same, state.direction, state.budget, limits, self.stop.is_set)
        self._separate_key = None if drawn else keys
        return drawn

    def clear_layout(self, pane: str) -> None:
        """Drops the layout of an empty pane."""
        self.panes[pane] = Pane()

    def fold(self, state: State, pane: str, change: Callable[[frozenset[str]], frozenset[str]]) -> State:
        """Returns the state with other folds open in a pane, and the number of boxes in its status.

        Raises:
            LayoutError: there would be more boxes than allowed, and more than before.
        """
        state = self.current_state(state)
        boxes, before = self.draw(state, pane)["boxes"], self.unfolded(state, pane)
        now = frozenset(change(before))
        opened, closed = now - before, before - now
        if self.shows_before_and_after(state):
            return self._fold_both(state, pane, opened, closed, len(boxes))
        if pane == "source":
            state = state.with_view(unfolded=now, rows=(state.view.rows - closed) | opened)
        else:
            state = state.replace(after=now)
        return self._with_drawing(state, pane, len(boxes))

    def _fold_both(
        self, state: State, pane: str, opened_keys: frozenset[str], closed_keys: frozenset[str], boxes: int
    ) -> State:
        """Opens and closes the same folds in the graphs before and after the plan."""
        renamed = self.draft(state).effect.renamed
        if pane == "destination" and renamed:
            old = {new: name for name, new in renamed.items()}
            base = self.source.snapshot
            opened_keys, closed_keys = (
                renamed_keys(opened_keys, old, base),
                closed_keys | renamed_keys(closed_keys, old, base),
            )
        before = self.tree(state, "source", opened_keys)
        both = (
            opened_keys
            if pane == "source"
            else {k for k in opened_keys if find_item(before, k.removesuffix("+")) is not None}
        )
        keys = ((state.view.unfolded or frozenset()) - closed_keys) | both
        state = state.with_view(unfolded=keys, rows=(state.view.rows - closed_keys) | both)
        state = state.replace(after=((state.after or frozenset()) - closed_keys) | (opened_keys - both))
        self.draw(state, "source" if pane == "destination" else "destination")
        return self._with_drawing(state, pane, boxes)

    def _with_drawing(self, state: State, pane: str, boxes: int) -> State:
        """Returns the state, if it can be drawn with no more boxes than allowed, or than before."""
        scene = self.draw(state, pane, max(state.budget, boxes))
        degraded = scene["stats"].get("degraded")
        return state.with_status(counted(len(scene["boxes"]), "boxes") + (f" · {degraded}" if degraded else ""))


def _scopes(keys: Iterable[str]) -> list[str]:
    """Returns the scopes among fold keys."""
    return [key.removesuffix("+").rstrip("/") for key in keys if not key.startswith("~")]


def _reference(owner: Any) -> Callable[[], Any]:
    """Returns a function that returns an object, or None once the object is deleted."""
    try:
        return weakref.ref(owner)
    except TypeError:
        return lambda: owner


def _rebase_step(step: Any, old: Graph, new: Graph, source: Graph) -> Any:
    """Returns a step of a plan, moved to the current graphs.

    Args:
        step: a step of a plan for `old`.
        old, new: the former and the current destination.
        source: the current graph of the copied ops, in which they are found by their names.
    """
    if isinstance(step, MutedStep):
        inner = _rebase_step(step.step, old, new, source)
        return step if inner is step.step else MutedStep(inner)
    owner = step.selection.graph.folded.owner
    there = new if owner is old.owner else source
    if owner is there.owner or not all(name in there.index for name in step.selection.names):
        return step
    try:
        return replace(step, selection=step.selection.by_names_in(there))
    except SelectionError:
        return step
