"""Values: what the variables of an editor hold, and the session that holds it."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from functools import partial
from typing import Any

from .errors import PlanError
from .graph.graph import Graph
from .graph.live import TFGraph, TFSession
from .graph.opened import Opened
from .history import Timeline
from .ledger import Ledger


class Values:
    """The values of an editor's variables: of the session or file that was opened, of plans, of its sessions since.

    Args:
        opened: what was opened.
        timeline: the graph of now, and the plans that made it.
    """

    def __init__(self, opened: Opened, timeline: Timeline) -> None:
        self._session, self._file = opened.session, opened.values
        self._timeline = timeline
        self._ledger = Ledger(opened.graph, opened.values, opened.lack, timeline.log.size)
        if opened.session is not None:
            timeline.log.session = weakref.ref(opened.session)
        if hasattr(opened.values, "stored"):
            timeline.log.stored = opened.values.stored

    def __repr__(self) -> str:
        return f"<Values of {self.snapshot.title}>"

    @property
    def snapshot(self) -> Graph:
        """The graph whose values these are."""
        return self._timeline.snapshot

    @property
    def given(self) -> bool:
        """Whether there is a session, or a file with values."""
        return self._session is not None or self._file is not None

    @property
    def known(self) -> bool:
        """Whether the variables have values of their own, from a session, a file or a plan: not only initial ones."""
        return self.given or bool(self._timeline.events)

    def handles(self) -> Mapping[str, Any]:
        """Returns the objects whose values these are, by variable name, where a TF2 object was opened."""
        found: Mapping[str, Any] = getattr(self._file, "handles", dict)()
        return found

    @property
    def init_ops(self) -> tuple[list[str], dict[str, Any]]:
        """Names of ops that the file wants run once, after its values are there; and what they are fed."""
        return list(getattr(self._file, "init_ops", ())), dict(getattr(self._file, "asset_feeds", {}))

    @property
    def graph(self) -> Any:
        """The live graph of the variables."""
        return self._timeline.live

    @property
    def uninitialized(self) -> frozenset[str]:
        """Names of variables that nothing gives a value: no initialiser that can run, and not in the checkpoint."""
        from .tf.values.variables import must_be_fed

        if self._file is None:
            return frozenset()  # a session of the caller's may have got values in any way
        graph, known = self._timeline.live, self.snapshot.state.variables
        held = self._ledger.filed(graph, known)
        missing = [v for v in known.values() if v.op not in held]
        return frozenset(v.op for v in missing if not v.initializer or must_be_fed(graph, v))

    def stored(self) -> Mapping[str, Any] | None:
        """Returns the values of variables as they lie in the file that was opened, unread, by op name.

        None where they are elsewhere: in a session, or where a plan has changed the graph since.
        """
        if self._session is not None or self._timeline.events or not hasattr(self._file, "stored"):
            return None
        found: Mapping[str, Any] | None = self._file.stored()
        return found

    def session(self, session: TFSession | None = None, config: Any = None, *, initialise: bool = True) -> Any:
        """Returns a session with all values, as `Editor.session` does.

        Without `initialise`, what a session of the caller's has never held stays without a value.
        """
        if session is not None and not (hasattr(session, "run") and hasattr(session, "graph")):
            wrong = f"an object of type {type(session).__name__} is not a session"
            raise PlanError(f"session({session!r})", wrong, "Give a tf.compat.v1.Session, or nothing")
        own, timeline = session if session is not None else self._session, self._timeline
        new, handover = self._ledger.session(
            timeline.live, own, config, timeline.log.now(), timeline.leftovers, initialise
        )
        timeline.log.tell(str(handover))
        timeline.log.sessions.add(new)
        if session is None or self._session is None or session is self._session:
            self._session = new
        return new

    def reader(self) -> Any:
        """Returns the session to read values from: in one of the caller's nothing is initialised."""
        return self.session(initialise=False)

    def untrained(self, local: bool = False) -> dict[str, str]:
        """Returns the variables that have no value but their initial one, as `Editor.untrained` does.

        With `local`, local ones too.
        """
        timeline = self._timeline
        return self._ledger.untrained(timeline.live, self._session, timeline.log.now(), timeline.leftovers, local)

    def value(self, name: str) -> Any:
        """Returns what a constant or variable holds, as `Editor.value` does."""
        from .tf.open.facts import value

        return value(self.snapshot, name, self.uninitialized, self.reader)

    def moved(self, before: Any, after: Any, names: Mapping[str, str]) -> None:
        """Notes that a plan has built a graph anew; see `Ledger.moved`."""
        self._ledger.moved(before, after, names)

    def in_other(self, graph: TFGraph) -> Any:
        """Returns the values for the variables of the same names in another graph, as what a file gives."""
        from .tf.values.sessions import SessionValues

        return SessionValues(self.reader, self._file, partial(self.untrained, local=True), graph, self.uninitialized)
