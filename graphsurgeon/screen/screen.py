"""Screen: what the widget shows and does, as a plain object; every gesture is a method."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.plan import Plan, op_name
from ..core.search import hits
from ..core.selection import Selection
from ..errors import LayoutError, SelectionError, SurgeryError, did_you_mean
from ..view.asides import Filters, counted
from ..view.ends import pinned
from ..view.items import find_item, keys_to, ops_named
from ..view.opening import first_unfolded
from ..view.paint import Paint
from ..view.scene import MOST
from ..view.tree import Tree
from .alike import Alike
from .drafting import Drafting, moved
from .inspector import details, reasons
from .looking import Looking
from .marks import Marks, picked_after, selection_of
from .pane import Pane, keys_above, opening_of_copies, static_picture
from .places import Places
from .revising import Revising
from .shown import boundary_shown, boundary_text, hits_shown, look_shown, outline_shown, plan_shown

if TYPE_CHECKING:
    from ..core.graph import Graph
    from ..editor import Editor


_TREES = 6
"""So many trees are kept: of the two panes, before and after the plan, and of functions looked into."""


class Screen(Drafting, Revising, Alike, Places, Looking):
    """The state behind a widget: two panes, what is picked, the boundary, the plan being made.

    Args:
        destination: the editor that the plan changes.
        source: the editor whose graph is at the left; the destination itself by default.

    Example:
        ``screen.mark_input("x:0")``, ``screen.mark_output("y:0")``, ``screen.copy("twin")``, ``screen.apply()`` do
        what the keys i, o, c and Ctrl+Enter do.
    """

    def __init__(self, destination: Editor, source: Editor | None = None) -> None:
        super().__init__()
        self.destination = destination
        self.source = source or destination
        self._panes = {"source": Pane(), "destination": Pane()}
        self._picked: tuple[str, ...] = ()
        self._marks = Marks()
        self._region: Selection | None = None
        self._problem = ""
        self._draft: Plan | None = None
        self._redo: list[Any] = []
        self._applied = ""
        self._status = {"text": "", "level": "info"}
        self._open_rows: set[str] = set()
        self._opened: set[str] = set()  # scopes of copies that the destination pane has shown open
        self._direction = "auto"
        self._filters, self._paint, self._faded, self._budget = Filters(), Paint(), (), 200
        self._inside, self._outside = [], []
        self._callbacks: list[Callable[[], None]] = []
        self._trees: deque[Tree] = deque(maxlen=_TREES)
        self.lock, self._stop = threading.RLock(), threading.Event()
        for editor in {self.source, self.destination}:
            editor._screens.add(self)

    # -- what there is ------------------------------------------------------------------------

    @property
    def same(self) -> bool:
        """True where source and destination are one graph."""
        return self.source is self.destination

    @property
    def selection(self) -> Selection:
        """The ops of all boxes that are picked; the region, where a boundary is marked and nothing is picked.

        While the inside of a function is shown: what is picked in the graph around, for names mean other ops inside.
        """
        picked = self._outside[0].picked if self._outside else self._picked
        if not picked and self.region is not None:
            return self.region
        return selection_of(self._tree_of(self.source.snapshot), picked)

    @property
    def region(self) -> Selection | None:
        """The ops between the marked boundary tensors, or None; found anew where the graph has changed."""
        if self._region is not None and self._region.graph is not self.source.snapshot:
            self._region, self._problem = self._marks.region(self.source)
        return self._region

    @property
    def draft(self) -> Plan:
        """The plan being made."""
        now, source, old = self.destination.snapshot, self.source.snapshot, self._draft
        steps = () if old is None else tuple(moved(step, old.base, now, source) for step in old.steps)
        if old is None or old.base is not now or any(a is not b for a, b in zip(steps, old.steps, strict=True)):
            self._draft = replace(self.destination.plan(), steps=steps)
            return self._draft
        return old

    @property
    def unfolded(self) -> frozenset[str]:
        """Fold keys that are open in the source pane."""
        self._draw("source")
        return self._panes["source"].unfolded or frozenset()

    @property
    def direction(self) -> str:
        """The direction pictures are drawn in: TB, LR or auto."""
        return self._direction

    # -- what is picked and unfolded ------------------------------------------------------------

    def pick(self, names: list[str], mode: str = "set") -> None:
        """Picks boxes of the source pane by name; `mode` is ``set``, ``add`` or ``toggle``."""
        tree = self._tree("source")
        graph = tree.graph
        for name in names:
            if ops_named(tree, name) is None:
                raise SelectionError(
                    f"pick({name!r})",
                    f"there is nothing of that name in {graph.title}",
                    did_you_mean(name, graph.index),
                )
        self._picked = picked_after(self._picked, names, mode)
        count = selection_of(tree, self._picked).count
        self._say(f"{counted(count, 'ops')} picked" if self._picked else "nothing picked")

    def unfold(self, name: str, pane: str = "source") -> None:
        """Opens a closed scope or series in its place."""
        tree = self._tree(pane)
        graph, item = tree.graph, find_item(tree, name)
        if item is None or not item.keys:
            raise SelectionError(
                f"unfold({name!r})",
                "there is no scope or series of that name",
                did_you_mean(name.rstrip("/"), graph.scopes.names[1:]),
            )
        key = item.name if item.members else item.keys[-1]
        self._leaving(pane)
        self._refold(pane, lambda keys: keys | {key})

    def fold(self, name: str, pane: str = "source") -> None:
        """Closes an open scope or series, with all that is open inside."""
        item = find_item(self._tree(pane), name)
        gone = {name, name.rstrip("/")} | ({item.name, *item.keys} if item is not None else set())
        path = name.lstrip("~").rstrip("/") + "/"
        self._leaving(pane)
        self._refold(
            pane,
            lambda keys: frozenset(k for k in keys if k not in gone and not k.lstrip("~").startswith(path)),
        )

    def fold_all(self, pane: str = "source") -> None:
        """Goes back to the first picture."""
        self._leaving(pane)
        tree, editor = self._tree(pane), self.source if pane == "source" else self.destination
        self._refold(pane, lambda keys: first_unfolded(tree, pinned(tree, editor.ends)))

    def _refold(self, pane: str, change: Callable[[frozenset[str]], frozenset[str]]) -> None:
        before_boxes = self._draw(pane)["boxes"]
        here = self._panes[pane]
        before = here.unfolded or frozenset()
        here.unfolded = frozenset(change(before))
        here.budget, here.most = self._budget, max(self._budget, len(before_boxes))
        try:
            scene = self._draw(pane)
        except LayoutError:
            here.unfolded = before
            raise
        finally:
            here.most = MOST
        if pane == "source":
            self._open_rows = (self._open_rows - (before - here.unfolded)) | (here.unfolded - before)
        degraded = scene["stats"].get("degraded")
        self._say(f"{len(scene['boxes'])} boxes" + (f" · {degraded}" if degraded else ""))

    def _leaving(self, pane: str) -> None:
        if pane == "source":
            self._leave()

    def reveal(self, name: str, pane: str = "source") -> None:
        """Unfolds what hides an op or scope, and picks it."""
        tree = self._tree(pane)
        graph = tree.graph
        op = graph.index.get(op_name(name))
        if op is None and ops_named(tree, name) is None:
            graph.find(name, f"reveal({name!r})")
        keys = keys_above(tree, name) if op is None else keys_to(tree, op)
        self._leaving(pane)
        self._refold(pane, lambda open_keys: open_keys | set(keys))
        if pane == "source":
            self.pick([name])

    def set_direction(self, direction: str) -> None:
        """Draws top to bottom (``TB``), left to right (``LR``), or as fits best (``auto``)."""
        before, self._direction = self._direction, direction
        try:
            self._draw("source")
        except LayoutError:
            self._direction = before
            raise
        self._say({"TB": "top to bottom", "LR": "left to right"}.get(direction, "the direction that fits"))

    def outline_open(self, name: str) -> None:
        """Opens a row of the outline."""
        self._open_rows.add(name)
        self._changed()

    def outline_close(self, name: str) -> None:
        """Closes a row of the outline."""
        self._open_rows.discard(name)
        self._changed()

    def details(self, name: str, pane: str = "source") -> dict[str, Any]:
        """Returns what the inspector shows of a box; of an op also where it comes from, and why it is there."""
        found = details(self._tree(pane), name)
        if pane == "source" and self._inside:
            found["python"] = ""  # ed.op(...) would be an op of the graph around
        elif pane == "source":
            found["rows"] += reasons(self.source, name, self.region)
        return found

    def find(self, query: str) -> dict[str, Any]:
        """Returns the ops that fit a query, with the box that shows or holds each."""
        graph = self._graph("source")
        self._draw("source")
        from ..tf.describe import attribute_text

        return hits_shown(graph, hits(graph, query, attribute_text), self._panes["source"].scene)

    # -- the boundary -----------------------------------------------------------------------------

    def mark_input(self, tensor: Any) -> None:
        """Marks a tensor as boundary input."""
        self._mark(self._marks.with_input(self.source.snapshot, tensor))

    def mark_output(self, tensor: Any) -> None:
        """Marks a tensor as boundary output."""
        self._mark(self._marks.with_output(self.source.snapshot, tensor))

    def unmark(self, tensor: Any) -> None:
        """Takes a tensor out of the boundary."""
        self._mark(self._marks.without(tensor))

    def clear_boundary(self) -> None:
        """Takes all tensors out of the boundary."""
        self._mark(Marks())

    def boundary_of_picked(self) -> None:
        """Marks the tensors that enter and leave what is picked."""
        if not self._picked:
            raise SelectionError("boundary_of_picked()", "nothing is picked", "Click a box first")
        self._mark(Marks.around(self.selection))

    def add_leak(self, tensor: Any) -> None:
        """Makes a leak a boundary input."""
        self.mark_input(tensor)

    def _mark(self, marks: Marks) -> None:
        self._marks = marks
        self._region, self._problem = marks.region(self.source)
        if self._region is not None:
            leaks = len(self._region.boundary.leaks)
            self._say(boundary_text(self._marks, self._region), "warn" if leaks else "info")
        else:
            self._say(self._problem, "warn" if self._problem else "info")

    def graph_changed(self) -> None:
        """Called by the editor after an apply, undo or redo."""
        self._region, self._problem = self._marks.region(self.source)
        self._changed()

    # -- telling the page -----------------------------------------------------------------------------

    def on_change(self, callback: Callable[[], None]) -> None:
        """Calls `callback` after each change."""
        self._callbacks.append(callback)

    def _say(self, text: str, level: str = "info") -> None:
        self._status = {"text": text, "level": level}
        self._changed()

    def _changed(self) -> None:
        for callback in list(self._callbacks):
            callback()

    def _graph(self, pane: str) -> Graph:
        if pane == "source":
            return self._inside[-1][1] if self._inside else self.source.snapshot
        return self.draft.after()

    def _tree(self, pane: str) -> Tree:
        return self._tree_of(self._graph(pane))

    def _tree_of(self, graph: Graph) -> Tree:
        """The tree of a graph under the filters of this screen; the last few are kept."""
        tree = next((t for t in self._trees if t.graph is graph and t.filters == self._filters), None)
        if tree is None:
            tree = Tree(graph, self._filters)
            self._trees.appendleft(tree)
        return tree

    def _draw(self, pane: str) -> dict[str, Any]:
        tree = self._tree(pane)
        graph, marks = tree.graph, dict[int, str]()
        if pane == "destination":
            marks = self.draft.preview().marks
            effect, before = self.draft.effect, self._panes[pane].unfolded
            copies = {c.step.to for c in effect.copies}
            if before is None or copies - self._opened:
                opening = opening_of_copies(tree, effect, self.unfolded, self.same)
                self._panes[pane].unfolded = opening | (before or frozenset())
            self._opened = copies
        editor = self.source if pane == "source" else self.destination
        inside = bool(self._inside) and pane == "source"
        for name in () if inside else editor.orphans:
            marks.setdefault(graph.index[name], "orphan")
        if pane == "source" and self.same and not inside:
            marks |= dict.fromkeys(self.draft.effect.removed, "removed")
        here, new = self._panes[pane], self._panes[pane].unfolded is None
        here.draw(tree, marks, self._direction, ((), ()) if inside else editor.ends, self._stop.is_set)
        if pane == "source" and new:
            self._open_rows |= here.unfolded or frozenset()
        own = pane == "source" and not (inside and self._paint.by == "values")  # numbers are of the graph outside
        return here.coloured(tree, self._paint if own else Paint(), self._faded)

    def traits(self) -> dict[str, Any]:
        """Returns everything the page shows; callable from any thread."""
        with self.lock:
            return self._traits()

    def _traits(self) -> dict[str, Any]:
        status = dict(self._status)
        scenes: dict[str, Any] = {"source": None, "destination": None}
        for pane in ("source", "destination"):
            if pane == "destination" and self.same and not self.draft.steps:
                self._panes[pane] = Pane()
                continue
            try:
                scenes[pane] = self._draw(pane)
            except SurgeryError as error:
                scenes[pane] = self._panes[pane].placed
                status = {"text": str(error), "level": "error"}
        return {
            "scenes": scenes,
            "titles": {
                "source": self._inside[-1][1].title if self._inside else self.source.title,
                "destination": self.destination.title + (" after the plan" if self.draft.steps else ""),
            },
            "picked": list(self._picked),
            "boundary": boundary_shown(
                self.source.snapshot,
                self._marks.inputs,
                self._marks.outputs,
                self.region,
                self._problem,
                None if self._inside else self._panes["source"].scene,
            ),
            "plan": {
                **plan_shown(self.draft, len(self._undone()), self.destination.history, self._applied),
                "same": self.same,
            },
            "status": status,
            "outline": outline_shown(self._tree("source"), self._open_rows),
            "look": look_shown(self._filters, self._paint, self._faded, self._budget, [f for f, _ in self._inside]),
            "views": self.places_shown(),
            "theme": "auto",
        }

    def svg(self) -> str:
        """Returns the static picture of the pane that matters: the destination while there is a plan.

        Where it cannot be laid out, it says why.
        """
        from ..view.svg import to_svg, words

        shown = self.traits()
        pane = "destination" if shown["scenes"]["destination"] is not None and self.draft.steps else "source"
        scene = shown["scenes"][pane]
        if scene is None:
            return words(shown["titles"][pane], shown["status"]["text"])
        boundary = shown["boundary"] if pane == "source" else None
        picked = shown["picked"] if pane == "source" else ()
        return to_svg(scene, picked=picked, boundary=boundary, title=shown["titles"][pane])

    def svg_of(self, unfolded: frozenset[str]) -> str:
        """Returns a static picture with just these scopes open; the screen stays as it is."""
        tree = self._tree_of(self.source.snapshot)
        return static_picture(tree, unfolded, self._direction, pinned(tree, self.source.ends))

    def describe(self) -> str:
        """Returns the state in a few lines of text."""
        try:
            shown = f"{len(self._draw('source')['boxes'])} boxes"
        except LayoutError as error:
            shown = f"no picture: {error}"
        lines = [f"{self.source.title}: {self.source.snapshot.size:,} ops, {shown}"]
        if self._region is not None:
            lines.append(boundary_text(self._marks, self._region))
        if self.draft.steps:
            lines.append(str(self.draft))
        return "\n".join(lines)
