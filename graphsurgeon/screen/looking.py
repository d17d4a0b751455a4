"""Looking: how a screen shows a graph: how deep, what is put away, in which colours, what a function holds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.plan import op_name
from ..errors import LayoutError, SelectionError, did_you_mean
from ..view.asides import KINDS, Filters
from ..view.opening import unfolded_to
from ..view.paint import Paint
from ..view.scene import MOST
from .facts import told, value_of
from .places import Outside
from .verbs import VERBS

if TYPE_CHECKING:
    from ..core.graph import Graph
    from ..editor import Editor
    from ..view.tree import Tree
    from .pane import Pane

TRAINING = ("away", "beside", "scopes")


class Looking:
    """The part of a `Screen` that changes what is seen, never the graph."""

    source: Editor
    destination: Editor
    _panes: dict[str, Pane]
    _filters: Filters
    _paint: Paint
    _faded: tuple[str, ...]
    _budget: int
    _inside: list[tuple[str, Graph]]
    _outside: list[Outside]
    _picked: tuple[str, ...]
    _open_rows: set[str]
    lock: threading.RLock
    _stop: threading.Event

    if TYPE_CHECKING:

        def _say(self, text: str, level: str = "info") -> None: ...

        def _draw(self, pane: str) -> dict[str, Any]: ...

        def _graph(self, pane: str) -> Graph: ...

        def _tree(self, pane: str) -> Tree: ...

        def _refold(self, pane: str, change: Callable[[frozenset[str]], frozenset[str]]) -> None: ...

    def guard(self, verb: str) -> None:
        """Refuses what operates on the graph while the body of a function is shown: its names mean other ops there."""
        if self._inside and not (VERBS[verb].looks and not VERBS[verb].outside):
            raise SelectionError(
                verb,
                f"the screen shows the inside of function {self._inside[-1][0]!r}, which can only be looked at",
                "Go back first (leave()); ed.inlined(...) takes a call apart, to operate inside",
            )

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Lets one thread at a time do what a page asks; `cancel` ends the layout in it."""
        with self.lock:
            self._stop.clear()
            try:
                yield
            finally:
                self._stop.clear()

    def cancel(self) -> None:
        """Stops the layout that is going on; pictures stay as they are."""
        if self.lock.acquire(blocking=False):
            try:
                self._say("")
            finally:
                self.lock.release()
        else:
            self._stop.set()  # whoever is at work says how it ended

    # -- how much ---------------------------------------------------------------------------------

    def set_depth(self, depth: int, pane: str = "source") -> None:
        """Opens all scopes down to `depth` levels and folds what lies deeper; 0 folds all."""
        self._refold(pane, lambda keys: unfolded_to(self._tree(pane), depth))

    def set_budget(self, boxes: int) -> None:
        """Allows pictures of so many boxes, 400 at most; 200 is the default."""
        if not 1 <= boxes <= MOST:
            raise LayoutError(
                f"set_budget({boxes!r})",
                f"a picture of so many boxes cannot be drawn: {MOST} is the most that can be read",
                f"Choose a number from 1 to {MOST}",
            )
        self._budget = boxes
        self._say(f"up to {boxes} boxes")

    # -- what -------------------------------------------------------------------------------------

    def show_aside(self, kind: str, on: bool = True) -> None:
        """Draws helpers of one kind (constants, variables, ...) as any other op, or lets them step aside again."""
        if kind not in KINDS[1:]:
            known = ", ".join(sorted(KINDS[1:]))
            raise SelectionError(f"show_aside({kind!r})", "nothing steps aside as that", f"Choose one of {known}")
        shown = self._filters.shown | {kind} if on else self._filters.shown - {kind}
        self._refilter(replace(self._filters, shown=shown), f"{kind} {'are drawn' if on else 'step aside'}")

    def hide_ops(self, types: Iterable[str]) -> None:
        """Puts all ops of these types away, and calls all others back; none are hidden after ``hide_ops([])``."""
        wanted = frozenset(types)
        graph = self._graph("source")
        for kind in sorted(wanted):
            if kind not in graph.types:
                raise SelectionError(
                    f"hide_ops([{kind!r}])",
                    f"{graph.title} has no op of that type",
                    did_you_mean(kind, set(graph.types)),
                )
        said = f"hidden: {', '.join(sorted(wanted))}" if wanted else "no op type is hidden"
        self._refilter(replace(self._filters, hidden=wanted), said)

    def set_training(self, how: str) -> None:
        """Shows gradients and updates in their ``scopes``, puts them ``away``, or ``beside`` their forward ops."""
        if how not in TRAINING:
            raise SelectionError(
                f"set_training({how!r})", "gradients cannot be shown like that", f"Choose one of {', '.join(TRAINING)}"
            )
        words = {"away": "are put away", "beside": "stand beside their ops", "scopes": "are in their scopes"}
        self._refilter(replace(self._filters, training=how), f"gradients and updates {words[how]}")

    def _refilter(self, filters: Filters, said: str) -> None:
        before, self._filters = self._filters, filters
        if filters.hidden - before.hidden or (filters.training != before.training and filters.training == "away"):
            # a scope opened with all its helpers would go on showing what is now put away
            here = self._panes["source"]
            here.unfolded = here.unfolded and frozenset(k.removesuffix("+") for k in here.unfolded) - {""}
        try:
            for pane in self._panes:
                if pane == "source" or self._panes[pane].placed is not None:
                    scene = self._draw(pane)
                    if pane == "source":
                        hidden = sum(scene["stats"]["aside"].values())
                        said += f": {len(scene['boxes'])} boxes, {hidden:,} things aside"
        except LayoutError:
            self._filters = before
            raise
        self._say(said)

    # -- in which colours -------------------------------------------------------------------------

    def paint(
        self,
        by: str = "family",
        values: Mapping[Any, float] | None = None,
        name: str = "value",
        how: str = "auto",
        scale: str = "auto",
    ) -> None:
        """Colours the boxes.

        Args:
            by: ``family`` (of the op type), ``device``, ``scope``, ``dtype``, ``structure`` (repeated scopes, proved
                to be alike) or ``values``.
            values: a number for ops, by name or object: a time, a size, a norm of a gradient.
            name: what the numbers are, with their unit.
            how: ``sum``, ``max`` (furthest from zero) or ``mean`` of the numbers in a fold; ``auto``: the sum, or
                ``max`` where sums of many small numbers would hide the op with the largest one.
            scale: ``linear`` or ``log``; ``auto``: ``log`` where numbers differ a thousand times or more. Zero has a
                colour of its own, and so has what is not finite.
        """
        graph, numbers = self._graph("source"), {}
        for key, value in (values or {}).items():
            numbers[graph.names[graph.find(op_name(key), f"paint({{{op_name(key)!r}: ...}})")]] = float(value)
        self._paint = Paint("values" if values is not None else by, numbers, name, how, scale)
        self._faded = ()
        said = f"coloured by {name if values is not None else by}"
        if self._paint.by == "structure" and not self._draw("source")["legend"]["items"]:
            said = "no two scopes of this picture are alike inside: unfold one to see what is repeated in it"
        self._say(said)

    def fade(self, keys: Iterable[str]) -> None:
        """Lets boxes of these entries of the legend fade; ``fade([])`` shows all plainly."""
        legend = self._draw("source")["legend"]
        known = {item["key"]: item["text"] for item in legend["items"]}
        wanted = tuple(dict.fromkeys(keys))
        for key in wanted:
            if key not in known:
                entries = ", ".join(f"{k} ({text})" for k, text in known.items())
                raise SelectionError(f"fade([{key!r}])", "the legend has no such entry", f"It has {entries or 'none'}")
        self._faded = wanted
        self._say(f"faded: {', '.join(known[k] for k in wanted)}" if wanted else "nothing is faded")

    # -- what is inside ---------------------------------------------------------------------------

    def look_inside(self, name: str, function: str | None = None) -> None:
        """Shows the body of a function that an op calls; `leave` goes back.

        Args:
            name: an op, as a PartitionedCall, a While or an If.
            function: which one, where it calls several: a While has a condition and a body.
        """
        from ..tf.insides import body, called_functions

        graph = self._graph("source")
        number = graph.find(op_name(name), f"look_inside({name!r})")
        called = called_functions(graph, number)
        if not called:
            raise SelectionError(
                f"look_inside({name!r})", f"a {graph.types[number]} calls no function of the graph", "Pick a call op"
            )
        if function is None and len(called) > 1:
            choices = " or ".join(f"function={f!r}" for f in called)
            raise SelectionError(f"look_inside({name!r})", f"it calls {len(called)} functions", f"Choose {choices}")
        chosen = function or called[0]
        inner = body(graph, chosen, number)
        here = Outside(
            self._panes["source"].unfolded, self._picked, frozenset(self._open_rows), self._back, self._forward
        )
        self._inside.append((chosen, inner))
        self._outside.append(here)
        self._place(Outside(None))
        try:
            self._draw("source")
        except LayoutError:
            self._inside.pop()
            self._place(self._outside.pop())
            raise
        self._say(f"inside function {chosen}")

    def leave(self) -> None:
        """Goes back from the body of a function to what calls it."""
        if not self._inside:
            raise SelectionError("leave()", "no function is open", "look_inside(name) opens one")
        self._inside.pop()
        self._place(self._outside.pop())
        self._say(f"back in {self._graph('source').title}")

    def _place(self, there: Outside) -> None:
        """Takes up what was left behind at the border of a function."""
        self._panes["source"].unfolded, self._picked = there.unfolded, there.picked
        self._open_rows, self._back, self._forward = set(there.rows), there.back, there.forward

    def value(self, name: str) -> dict[str, Any]:
        """Returns what a constant or variable holds, as rows and a histogram; only fetched when asked for."""
        return told(value_of(self.source, name))
