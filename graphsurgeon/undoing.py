"""Undoing: what an editor does with its history: it takes plans back, does them again, and clears up after them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import PlanError
from .history import Event, History, Log

if TYPE_CHECKING:
    from .applied import Applied
    from .graph.graph import Graph
    from .plan.plan import Plan


class Undoing:
    """The part of an `Editor` that is about its history."""

    graph: Any
    _log: Log
    _snapshot: Graph | None
    _watchers: list[weakref.WeakMethod[Callable[[], None]]]
    _litter: weakref.WeakKeyDictionary[Any, dict[str, int]]

    if TYPE_CHECKING:

        @property
        def snapshot(self) -> Graph:
            """The graph as it is now."""

        def plan(self) -> Plan:
            """Returns an empty plan."""

        def apply(self, plan: Plan) -> Applied:
            """Carries out a plan."""

    @property
    def _events(self) -> list[Event]:
        return self._log.events

    @property
    def history(self) -> History:
        """The applied plans, oldest first; undone ones say so. Printed, a table."""
        return History(self._events)

    @property
    def orphans(self) -> frozenset[str]:
        """Names of ops left without a role by an undo or a late failure; TensorFlow cannot delete ops."""
        return frozenset(self._left(self.graph))

    def _left(self, graph: Any) -> dict[str, int]:
        """The orphans of a graph, each with the step that made it."""
        found = dict(self._litter.get(graph, {}))
        for event in self._events:
            if event.applied is not None and event.applied.graph is graph:
                if event.before is not None:
                    found |= event.carried
                elif event.undone:
                    found |= dict.fromkeys(event.applied.made.ops, event.number)
        return found

    def _add(self, event: Event) -> None:
        """Enters an applied plan; what was undone before can then no longer be done again."""
        for old in [e for e in self._events if e.undone and not e.dropped]:
            if old.before is None:
                self._leave(old.applied.graph, old.applied.made.ops, old.number)
            old.drop()
        self._events.append(event)

    def _leave(self, graph: Any, names: Any, step: int) -> None:
        """Notes ops that stay in a graph as orphans."""
        self._litter[graph] = {**self._litter.get(graph, {}), **dict.fromkeys(names, step)}

    def undo(self) -> Event:
        """Takes the last applied plan back.

        An appended copy leaves the collections, pictures and saves (its ops stay in TensorFlow's graph as orphans);
        a materialised plan gives the graph from before back. The next `session` has the values of now: a variable
        keeps the value it last had in any session of this editor, whatever it was called there.

        Raises:
            PlanError: there is nothing to undo.
        """
        from .tf.copy.append import withdraw

        event = next((e for e in reversed(self._events) if not e.undone), None)
        if event is None:
            raise PlanError("undo()", "there is nothing to undo", "Apply a plan first")
        turns = event.turned()
        if event.before is not None:
            self.graph, self._snapshot = event.before, None
        else:
            self._forget_state()
            withdraw(event.applied.made, event.record)
        event.undone, event.turns = True, turns
        self._tell()
        return event

    def redo(self) -> Event:
        """Does the plan that was undone last again.

        The next `session` has the values of now: a variable keeps the value it last had in any session of this editor,
        also one that the plan makes; it gets what the plan gives it only where no session has held it yet.

        Raises:
            PlanError: there is nothing to redo.
        """
        from .tf.copy.append import restore

        live = max((e.number for e in self._events if not e.undone), default=0)
        event = next((e for e in self._events if e.undone and not e.dropped and e.number > live), None)
        if event is None:
            raise PlanError("redo()", "there is nothing to redo", "Undo a plan first")
        turns = event.turned()
        if event.before is not None:
            self.graph, self._snapshot = event.applied.graph, None
        else:
            self._forget_state()
            restore(event.applied.made, event.record)
        event.undone, event.turns = False, turns
        self._tell()
        return event

    def _tell(self) -> None:
        self._watchers = [watcher for watcher in self._watchers if watcher() is not None]
        for watcher in self._watchers:
            changed = watcher()
            if changed is not None:
                changed()

    def _forget_state(self) -> None:
        """Collections have changed: the snapshot's variables and collections are read again."""
        from dataclasses import replace

        if self._snapshot is not None:
            self._snapshot = replace(self._snapshot)

    def rebuild(self) -> Applied:
        """Builds a clean graph: all that has a role, without orphans, and makes it the graph of this editor.

        Every op that stays keeps its name, its variables and its place in collections; the old graph stays as it is.
        `session` hands the values over, by the rule that is written there. An orphan that something reads stays, with
        what it needs. It is one more step of the history: `undo` gives the old graph back.

        Returns:
            an `Applied`: ``done[old]`` is the new op, tensor or variable, ``done.original(new)`` the old one.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.square(tf.constant(3.0, name="x"), name="y")
            >>> ed = gs.open(graph)
            >>> done = ed.apply(ed.plan().copy(ed.select(name=["x", "y"]), to="copy"))
            >>> event, done = ed.undo(), ed.rebuild()
            >>> len(graph.get_operations()), len(ed.graph.get_operations()), done[y].graph is ed.graph
            (4, 2, True)
            >>> done.original(done[y]) is y
            True
        """
        from .plan.rebuilding import RebuildStep

        return self.apply(self.plan().added(RebuildStep(tuple(sorted(self.orphans)))))

    def to_code(self, path: Any = None, *, arrays: bool = False) -> str:
        r"""Returns one Python script that does the whole history again, from the files it began with.

        The script has a function ``redo`` that opens each graph again, its own and those that were copied from, and
        applies the plans that are in force; undone ones are left out. What came from no file, as a live `tf.Graph`,
        is an argument of ``redo``, and a comment says which. An editor that gave the values of its file gives them
        again; other values, as those that were trained since, are written as arrays.

        Args:
            path: where to write the script, if anywhere.
            arrays: arrays too long to be printed are written beside the script, as ``.npz``; without it they are
                an argument of ``redo`` too.

        Raises:
            PlanError: a plan uses what an undone one has made; `arrays` without a `path`.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.square(tf.constant(3.0, name="x"), name="y")
            >>> ed = gs.open(graph)
            >>> done = ed.apply(ed.plan().copy(ed.select(name=["x", "y"]), to="copy"))
            >>> print(ed.to_code().partition("\n\n\n")[2])
            def redo(graph):
                # graph: a live tf.Graph, opened as 'graph'
                ed = gs.open(graph)
                # step 1
                block = ed.select(name=['x', 'y'])
                plan = ed.plan().copy(block, to='copy')
                ed.apply(plan)
                return ed
            <BLANKLINE>
        """
        from .script import write

        return write(self._log, self.snapshot, path, arrays)
