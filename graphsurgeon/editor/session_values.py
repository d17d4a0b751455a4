"""The values of an editor's variables, in all its graphs and sessions."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .. import tf
from ..errors import PlanError, counted, few, warn
from ..graph.graph import Graph
from ..graph.lazy_graph import graph_identity, materialized_graph
from ..graph.names import op_name, rename_input
from ..graph.open_graph import OpenedGraph
from ..graph.provenance import orphans_of
from ..graph.reports import only_initial_text
from ..graph.traversal import backward
from ..graph.types import TFGraph, TFSession
from ..graph.variables import NOT_IN_SESSION, VARIABLE_TYPES, VariableInfo
from .history import Event, History, Timeline


@dataclass
class ValueReport:
    """The sources of the values of the variables of a session.

    Args:
        transferred: variable -> its name in the session that held its value.
        from_plan: variables that got their value from a plan.
        initial: variables that start from their initial values.
        warnings: messages about variables whose values are missing.

    Example:
        >>> print(ValueReport({"v": "w", "b": "b"}, ["t/w"], []))
        2 variables keep their values ('w' as 'v'); 1 variable gets its value from a plan: t/w
    """

    transferred: dict[str, str] = field(default_factory=dict)
    from_plan: list[str] = field(default_factory=list)
    initial: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        renamed = [f"{old!r} as {new!r}" for new, old in self.transferred.items() if old != new]
        parts = []
        if self.transferred:
            one = len(self.transferred) == 1
            carried_text = (
                f"{counted(len(self.transferred), 'variables')} keep{'s its value' if one else ' their values'}"
            )
            parts.append(carried_text + (f" ({few(renamed)})" if renamed else ""))
        for names, single, plural in (
            (self.from_plan, "gets its value from a plan", "get their values from a plan"),
            (self.initial, "starts from its initial value", "start from their initial values"),
        ):
            if names:
                what = single if len(names) == 1 else plural
                parts.append(f"{counted(len(names), 'variables')} {what}: {few(names)}")
        return "; ".join(parts)


@dataclass(frozen=True)
class _DetachedValue:
    """The value of a variable in its last session. The current graph of the editor does not have the variable."""

    session: weakref.ref[TFSession]
    info: VariableInfo
    value: Any

    def read(self) -> Any:
        """Returns the current value if the session is still open, else the saved one."""
        session = self.session()
        now = None if session is None else tf.values.initialization.read_if_open(session, self.info)
        return self.value if now is None else now


class Values:
    """The values of an editor's variables, from the opened session or file, from plans and from later sessions.

    The rule: a variable keeps the last value that it had in any session of the editor, under any name, also if a plan
    had removed it for a while. A variable that no session has held gets the value from its plan, else from the opened
    file, else its initial value.

    Args:
        opened_graph: the opened graph, with its session or file.
        timeline: the current graph, and the plans that made it.
    """

    def __init__(self, opened_graph: OpenedGraph, timeline: Timeline) -> None:
        self._session, self._source = opened_graph.session, opened_graph.values
        self._model = opened_graph.for_graph(None, "")  # without the graph, which may be deleted
        self._timeline = timeline
        self._first = weakref.ref(graph_identity(opened_graph.graph))
        self._missing_file = opened_graph.missing_values_reason
        self._has_initial_source = opened_graph.values is not None or bool(self._missing_file)
        self._missing_reason = self._missing_file or (
            "no session or checkpoint was given" if opened_graph.values is None else "not in the checkpoint"
        )
        same = getattr(opened_graph.values, "same", {})
        self._names: weakref.WeakKeyDictionary[Any, dict[str, str]] = weakref.WeakKeyDictionary()
        self._ids: weakref.WeakKeyDictionary[Any, dict[str, int]] = weakref.WeakKeyDictionary(
            {graph_identity(opened_graph.graph): {}} | same
        )
        self._numbers = itertools.count(1 + max((n for names in same.values() for n in names.values()), default=-1))
        self._detached_values: dict[int, _DetachedValue] = {}
        self._initialized: weakref.WeakKeyDictionary[Any, frozenset[str]] = weakref.WeakKeyDictionary()
        self._applied_events: weakref.WeakKeyDictionary[Any, frozenset[int]] = weakref.WeakKeyDictionary()
        self._own_sessions: weakref.WeakSet[Any] = weakref.WeakSet()
        self._graph_versions: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._assigned_steps: frozenset[int] = frozenset()  # steps whose values a session has received
        if opened_graph.session is not None:
            timeline.log.session = weakref.ref(opened_graph.session)
        if hasattr(opened_graph.values, "stored_values"):
            timeline.log.stored_values = opened_graph.values.stored_values

    def __repr__(self) -> str:
        return f"<Values of {self.snapshot.title}>"

    @property
    def snapshot(self) -> Graph:
        """The current graph."""
        return self._timeline.snapshot

    @property
    def has_source(self) -> bool:
        """Whether there is a session, or a file with values."""
        return self._session is not None or self._source is not None

    @property
    def has_values(self) -> bool:
        """Whether the variables have values from a session, a file or a plan, not only initial ones."""
        return self.has_source or bool(self._timeline.events)

    @property
    def missing_text(self) -> str:
        """The variables without a stored value because a file is missing, in one sentence; see `note_assigned`."""
        count = sum(not info.local for info in self.snapshot.state.variables.values()) if self._missing_file else 0
        return f"no value for {counted(count, 'variables')}: {self._missing_file}" if count else ""

    def note_assigned(self) -> None:
        """Notes that variables have got values from another source than the opened file."""
        self._missing_file = ""

    @property
    def is_graph_changed(self) -> bool:
        """Whether plans have changed the graph since it was opened."""
        return bool(self._timeline.events)

    def handles(self) -> Mapping[str, Any]:
        """Returns the variable objects by name, if a TF2 object was opened."""
        values: Mapping[str, Any] = getattr(self._source, "handles", dict)()
        return values

    def identities(self) -> dict[str, Any]:
        """Returns variable -> its identity: the same for another editor of the same object or file; if it is known."""
        names = History(self._timeline.events).renamed
        known: Mapping[str, Any] = getattr(self._source, "identities", dict)()
        now = {names.get(was, was): identity for was, identity in known.items()}
        return {name: now[name] for name in self.snapshot.state.variables if name in now}

    @property
    def init_ops(self) -> tuple[list[str], dict[str, str]]:
        """The current init ops of the opened file and of files that plans have copied from, and their feeds."""
        model = self._model.renamed(History(self._timeline.events).renamed)
        names, paths = [*model.init_ops], {**model.asset_feeds}
        events = self._timeline.log.current_events()
        for number, event in enumerate(events, 1):
            now = History(events[number:]).renamed if event.result.applied_ops.init_ops else {}
            names += [now.get(op, op) for op, _ in event.result.applied_ops.init_ops]
            for _, feeds in event.result.applied_ops.init_ops:
                paths |= {rename_input(tensor, now): path for tensor, path in feeds.items()}
        return [op for op in dict.fromkeys(names) if op in self.snapshot.index], paths

    @property
    def graph(self) -> Any:
        """The live graph of the variables."""
        return self._timeline.live_graph

    @property
    def uninitialized(self) -> frozenset[str]:
        """Names of variables without a value: no session, file or plan has one, and no initializer can run."""
        if self._source is None:
            return frozenset()  # the caller's session may have got its values in any way
        graph, variables = self._timeline.live_graph, self.snapshot.state.variables
        initialized = self._variables_in_file(graph, variables)
        missing = [v for v in variables.values() if v.op not in initialized]
        missing = [v for v in missing if not v.initializer or tf.values.initialization.cannot_start(graph, v)]
        given = {*self._planned_values(self._timeline.log.current_events()), *self._detached_values}
        missing = [v for v in missing if self._id(graph, v.op) not in given]
        own, held = self._session, frozenset[str]()
        if missing and own is not None and own.graph is graph:
            held = tf.values.initialization.initialized_variables(own, missing, "untrained()")
        return frozenset(v.op for v in missing) - held

    def _without_value(self) -> frozenset[str]:
        """Returns the names of variables that surely have no value: the source lists all variables that it sets."""
        return self.uninitialized if self._source is not None and self._stored_values() is not None else frozenset()

    def refuse_missing(self, ends: Iterable[str], request: str) -> None:
        """Refuses a request that needs a variable without a value.

        Args:
            ends: the tensors that the request needs.
            request: the request, for messages.

        Raises:
            PlanError: a variable has no value. The message lists these variables, and the ways to give values.
        """
        graph, lacking = self.snapshot, self._without_value()
        if not lacking:
            return
        needed = backward(graph, graph.mask(graph.tensor(name, request)[0] for name in ends))
        names = [name for name in graph.state.variables if name in lacking and needed[graph.index[name]]]
        if names:
            have = "has" if len(names) == 1 else "have"
            problem = f"{counted(len(names), 'variables')} {have} no value, {self._missing_reason}: {few(names)}"
            how = f"Give values with ed.restore(checkpoint), or with values={{{names[0]!r}: array, ...}}"
            raise PlanError(request, problem, f"{how}, or put the checkpoint next to the graph and open it again")

    def stored_values(self) -> Mapping[str, Any] | None:
        """Returns the stored values of variables in the opened file, unread, by op name.

        Returns None if a session has the values, or if a plan has changed the graph since.
        """
        if self._session is not None or self._timeline.events or not hasattr(self._source, "stored_values"):
            return None
        values: Mapping[str, Any] | None = self._source.stored_values()
        return values

    def session(
        self, session: TFSession | None = None, config: Any = None, *, initialize: bool = True, quiet: bool = False
    ) -> Any:
        """Returns a session with all values, as `Editor.session` does.

        Without `initialize`, variables that the caller's session has not initialized stay without a value. With
        `quiet`, missing values give no warning, because the caller is about to set them.
        """
        if session is not None and not (hasattr(session, "run") and hasattr(session, "graph")):
            problem = f"an object of type {type(session).__name__} is not a session"
            raise PlanError(f"session({session!r})", problem, "Give a tf.compat.v1.Session, or nothing")
        tf.run.sessions.require_trusted(self.snapshot.owner, "session()")
        own, timeline = session if session is not None else self._session, self._timeline
        if own is not None and own.graph is not timeline.live_graph and graph_identity(own.graph) not in self._ids:
            raise PlanError(
                "session(session)",
                f"this is not a session of {timeline.log.title}, neither of its current graph nor of one before a plan",
                "Give a session of that graph, or nothing. Values of another model of the same names are copied by "
                "gs.transfer(session, ed), those of a file by ed.restore(checkpoint)",
            )
        new, handover = self._open_session(timeline.live_graph, own, config, timeline.log.current_events(), initialize)
        for sentence in () if quiet else handover.warnings:
            warn(sentence)
        timeline.log.note_value_sources(str(handover))
        timeline.log.sessions.add(new)
        if session is not None:
            self.note_assigned()
        if session is None or self._session is None or session is self._session:
            self._session = new
        return new

    def read_session(self) -> Any:
        """Returns the session to read values from; it initializes no variable in the caller's session."""
        return self.session(initialize=False)

    def untrained(self, local: bool = False, names: Collection[str] | None = None) -> dict[str, str]:
        """Returns the variables that have no value but their initial one, as `Editor.untrained` does.

        Args:
            local: whether to include local variables, which are not expected to have a trained value.
            names: the variables to check; the values of others are not looked up. None: all.
        """
        graph, own, events = self._timeline.live_graph, self._session, self._timeline.log.current_events()
        removed, infos = self._removed_variables(graph), tf.values.variables.variable_infos(graph)
        targets = [info for name, info in infos.items() if name not in removed and (names is None or name in names)]
        assignment, report = tf.values.assign_values.ValueAssignment(None, "untrained()"), ValueReport()
        before: dict[int, VariableInfo] = {}
        if own is None:  # a new session reads these from what was opened
            initialized = self._variables_in_file(graph, [info.op for info in targets])
        else:
            initialized, before = self._initialized_before(graph, own, targets, assignment.request)
        pending = self._pending_events(own, events) if own is not None and own.graph is graph else events
        self._decide(assignment, report, targets, initialized, events, pending, before, graph)
        filed = own is None and self._source is not None and graph is self._opened_graph()
        why = dict(self._source.untrained()) if filed else {}
        why |= dict.fromkeys(self._without_value(), self._missing_reason)
        why |= self._reasons(graph, report, events, own)
        if own is not None and own.graph is graph:
            why |= tf.values.initialization.only_initial_variables(own)
        return {info.op: why[info.op] for info in targets if info.op in why and (local or not info.local)}

    def value(self, name: str) -> Any:
        """Returns the value of a constant or variable, as `Editor.value` does."""
        stored = self._at_rest(op_name(name))
        if stored is not None:
            return stored.read()
        return tf.open.op_facts.value(self.snapshot, name, self.uninitialized, self.read_session)

    def _at_rest(self, name: str) -> Any:
        """Returns the value of a variable as stored in the file, unread; None if it may have changed since."""
        if (
            self._session is not None
            or self._assigned_steps
            or self._detached_values
            or name not in self.snapshot.state.variables
        ):
            return None
        number, filed = self._id(self._timeline.live_graph, name), self._stored_values() or {}
        return None if number in self._planned_values(self._timeline.log.current_events()) else filed.get(number)

    def for_graph(self, graph: TFGraph) -> Any:
        """Returns the values for variables of the same names in another graph, in the form of a source of values."""
        here, variables = self.graph, self.snapshot.state.variables
        both = {name: self._id(here, name) for name in tf.values.variables.variable_infos(graph) if name in variables}
        same = weakref.WeakKeyDictionary(
            {one: dict(names) for one, names in self._ids.items()} | {graph_identity(graph): both}
        )
        untrained = partial(self.untrained, local=True)
        fill = partial(
            tf.values.assign_values.fill_tables,
            init_ops=[] if self._model.init_ops else None,
            unchanged=self._source is not None,
        )
        return tf.values.assign_values.SessionValues(
            self.read_session,
            fill,
            untrained,
            partial(dict, self.identities()),
            graph,
            self.uninitialized,
            same,
            self.init_ops,
        )

    def graph_rebuilt(self, old_graph: Any, after: Any, names: Mapping[str, str], new_names: Mapping[str, str]) -> None:
        """Notes that a plan has built a graph anew.

        Args:
            old_graph, after: the graphs.
            names: variable of the new graph -> the same variable in the old graph.
            new_names: op of the old graph -> its name in the new one, if it differs.
        """
        old_names = self._names.get(old_graph, {})
        later = {first: new_names.get(now, now) for first, now in old_names.items()}
        self._names[after] = {old: new for old, new in new_names.items() if old not in old_names.values()} | later
        self._ids[after] = {new: self._id(old_graph, old) for new, old in names.items()}

    def _current_names(self, graph: TFGraph) -> Mapping[str, str]:
        """Returns op of the opened graph -> its name in `graph`, which plans have made, if the name differs."""
        return self._names.get(graph, {})

    def _variables_in_file(self, graph: TFGraph, names: Iterable[str]) -> frozenset[str]:
        """Returns those of the named variables of a graph that have a value in the opened file."""
        opened, covered = (
            self._opened_graph(),
            self._source.filled_variables() if self._source is not None else frozenset(),
        )
        if graph is opened or opened is None:
            return covered & frozenset(names)
        numbers = {self._id(opened, name) for name in covered}
        return frozenset(name for name in names if self._id(graph, name) in numbers)

    # -- the parts --------------------------------------------------------------------------------

    def _open_session(
        self, graph: Any, source_session: Any, config: Any, events: list[Event], initialize: bool = True
    ) -> tuple[Any, ValueReport]:
        """Returns a session of a graph in which every variable has the value that the rule gives it.

        Args:
            graph: the graph.
            source_session: the session to take values from, of this graph or another; None if there is no session.
            config: a ConfigProto for a new session.
            events: the applied steps that are not undone.
            initialize: whether variables without a value in `source_session` start from their initial values. If false
                and `source_session` is the caller's session, they stay without a value.

        Returns:
            `source_session` itself if it is a session of `graph`, else a new session; and the sources of the values.

        Raises:
            PlanError: a value cannot be read or set, or a table cannot be filled. A new session is then closed.
        """
        opened = self._opened_graph()
        if (
            source_session is None
            and self._source is not None
            and graph is not opened
            and self._stored_values() is None
        ):
            # Only a session of the opened graph can read the values.
            there = [event for event in events if event.result.graph is opened]
            first, transferred = self._open_session(opened, None, config, there)
            with closing(first):
                new, report = self._open_session(graph, first, config, events)
            report.warnings += transferred.warnings
            return new, report
        initialize = initialize or source_session is None or source_session in self._own_sessions
        request = "session()" if source_session is None or source_session.graph is graph else "session(old)"
        with tf.values.assign_values.translate_errors(
            lambda: source_session if source_session is not None else tf.values.assign_values.new_session(None, config),
            request,
        ):
            if source_session is not None and source_session.graph is graph:
                return source_session, self._assign_values(source_session, source_session, events, request, initialize)
            new = tf.values.assign_values.new_session(graph, config)
            self._own_sessions.add(new)
            try:
                return new, self._assign_values(new, source_session, events, request, initialize)
            except BaseException:
                new.close()  # no other code uses it yet: its memory is released at once
                raise

    def _reasons(self, graph: TFGraph, report: ValueReport, events: list[Event], source_session: Any) -> dict[str, str]:
        """Returns the reason for each variable of the report that holds only its initial value."""
        results = [event.result.applied_ops for event in events]
        copied = {self._id(one.graph, name): why for one in results for name, why in one.untrained.items()}
        lack = (
            NOT_IN_SESSION
            if source_session is not None and source_session not in self._own_sessions
            else self._missing_reason
        )
        why = {name: copied.get(self._id(graph, name), lack) for name in report.initial}
        why |= {n: copied[self._id(graph, n)] for n in report.from_plan if self._id(graph, n) in copied}
        if source_session is not None and source_session.graph is not graph:
            old = tf.values.initialization.only_initial_variables(source_session)
            why |= {name: old[was] for name, was in report.transferred.items() if was in old}
        return why

    def _missing_value_warnings(self, graph: TFGraph, initial: Iterable[str]) -> list[str]:
        """Returns warnings about variables of the file that start from initial values, for lack of other values."""
        if not self._has_initial_source:
            return []
        opened = self._opened_graph()
        ops = opened.get_operations()[: self._timeline.log.size] if opened is not None else []
        own = {self._id(opened, op.name) for op in ops if op.type in VARIABLE_TYPES}
        lacking = [name for name in initial if self._id(graph, name) in own]
        how = "Give them others: ed.restore(checkpoint, partial=True); ed.untrained() tells which are left"
        texts = only_initial_text(dict.fromkeys(lacking, self._missing_reason))
        return [str(PlanError("session()", problem, how)) for problem in texts]

    def _assign_values(
        self, session: TFSession, source_session: Any, events: list[Event], request: str, initialize: bool
    ) -> ValueReport:
        """Gives the variables of a session their values by the rule: all in a new session, missing ones in an open one.

        Args:
            session: the session.
            source_session: the session to take values from: `session` itself, or one of another graph; None for a first
                session.
            events, initialize: as for `_open_session`.
            request: the request, for messages.
        """
        graph, source, new = session.graph, self._source, session is not source_session
        model = self._model.renamed(self._current_names(graph))
        pending = self._pending_events(session, events)
        if not new and not pending and self._graph_versions.get(session) == graph.version:
            return ValueReport()
        infos, removed = tf.values.variables.variable_infos(graph), self._removed_variables(graph)
        targets = [info for name, info in infos.items() if name not in removed]
        assignment, report = tf.values.assign_values.ValueAssignment(session, request, source_session), ValueReport()
        filed = source_session is None and source is not None and graph is self._opened_graph()
        if filed:
            source.fill(session)
        initialized, before = self._initialized_before(graph, source_session, targets, request)
        settled_events = (
            frozenset() if source_session is None else self._applied_events.get(source_session, frozenset())
        )
        ran = model.init_ops if filed else ()
        if ran:  # the initialization ops of the file may have set more variables
            more = [info for info in targets if info.op not in initialized]
            initialized |= tf.values.initialization.initialized_variables(
                session, tf.values.initialization.within_reach(graph, [*initialized, *ran], more), request
            )
        if new and source_session is not None:
            bare = [(before[n], i) for i in targets if not i.initializer and (n := self._id(graph, i.op)) in before]
            initialized = tf.values.assign_values.set_without_initializers(
                source_session,
                session,
                bare,
                source,
                self._variables_in_file(graph, [info.op for _, info in bare]),
                self._current_names,
            )
            tf.values.assign_values.run_init_ops(session, model.init_ops, model.asset_feeds)
        for event in pending:
            if event.number in settled_events:
                tf.values.assign_values.fill_new_tables(session, event.result.applied_ops)
        self._decide(assignment, report, targets, initialized, events, pending, before, graph)
        if not initialize:
            assignment.initial, report.initial = [], []
        tf.values.assign_values.apply_assignment(assignment, [infos[name] for name in removed if name in infos])
        if new and source_session is None and not filed:
            tf.values.assign_values.run_init_ops(session, model.init_ops, model.asset_feeds)
        if new:
            tf.values.assign_values.fill_tables(session, unchanged=source is not None and graph is self._opened_graph())
        for event in pending:
            if event.number not in settled_events:
                tf.values.assign_values.fill_new_tables(session, event.result.applied_ops)
        initialized |= assignment.names
        why = self._reasons(graph, report, events, source_session)
        why |= source.untrained() if filed else {}
        if source_session is None:
            report.warnings += self._missing_value_warnings(
                graph, [name for name in report.initial if not infos[name].local]
            )
            report.warnings += _lost_warnings(graph, [info for info in targets if info.op not in initialized])
        tf.values.initialization.note_only_initial(session, infos.values(), why)
        if new and source_session is not None:
            self._detach(source_session, before, {self._id(graph, name) for name in initialized})
        self._record_session(session, initialized, events, initialize)
        return report

    def _initialized_before(
        self, graph: TFGraph, source_session: Any, targets: list[VariableInfo], request: str
    ) -> tuple[frozenset[str], dict[int, VariableInfo]]:
        """Returns the variables that hold a value, and variable -> its counterpart in another graph."""
        if source_session is None:
            return self._variables_in_file(
                graph, [info.op for info in targets]
            ) if graph is self._opened_graph() else frozenset(), {}
        if source_session.graph is graph:
            return self._initialized_in(source_session, targets, request), {}
        return frozenset(), self._before(source_session, request)

    def _pending_events(self, session: TFSession, events: list[Event]) -> list[Event]:
        """Returns the steps whose values a session has not received yet."""
        return [event for event in events if event.number not in self._applied_events.get(session, ())]

    def _decide(
        self,
        assignment: Any,
        report: ValueReport,
        targets: Iterable[VariableInfo],
        initialized: frozenset[str],
        events: list[Event],
        pending: list[Event],
        old_infos: Mapping[int, VariableInfo],
        graph: TFGraph,
    ) -> None:
        """Decides by the rule of `Values` which value each variable of a session gets."""
        planned, again = self._planned_values(events), self._planned_values(pending)
        first = self._planned_values([event for event in pending if event.number not in self._assigned_steps])
        filed: dict[int, Any] | None = None
        for info in targets:
            name, number = info.op, self._id(graph, info.op)
            if name in initialized and number not in again:
                continue
            if number in first or (
                number in planned and number not in old_infos and number not in self._detached_values
            ):
                assignment.arrays[info] = planned[number]
                report.from_plan.append(name)
            elif number in old_infos and info.initializer:
                assignment.pairs.append((old_infos[number], info))
                report.transferred[name] = old_infos[number].op
            elif number in self._detached_values and info.initializer:
                assignment.arrays[info] = self._detached_values[number].read()
                report.transferred[name] = self._detached_values[number].info.op
            elif info.initializer:
                filed = self._stored_values() or {} if filed is None else filed
                if number in filed:
                    assignment.arrays[info] = filed[number]
                elif not tf.values.initialization.cannot_start(graph, info):
                    assignment.initial.append(info)
                    report.initial.append(name)

    def _planned_values(self, events: Iterable[Event]) -> dict[int, Any]:
        """Returns variable -> the value that the steps give it: an array, or an unread value of a checkpoint."""
        results = [event.result.applied_ops for event in events]
        return {self._id(one.graph, name): value for one in results for name, value in one.values.items()}

    def _stored_values(self) -> dict[int, Any] | None:
        """Returns variable -> its value in the opened file, unread; None if only a session has the values."""
        stored = self._source.stored_values() if hasattr(self._source, "stored_values") else None
        return (
            None if stored is None else {self._id(self._opened_graph(), name): value for name, value in stored.items()}
        )

    def _before(self, old: Any, request: str) -> dict[int, VariableInfo]:
        """Returns variable -> its counterpart in an older session, for the variables that have a value there."""
        infos, removed = tf.values.variables.variable_infos(old.graph), self._removed_variables(old.graph)
        initialized = (
            self._initialized_in(old, [info for name, info in infos.items() if name not in removed], request)
            & infos.keys()
        )
        return {self._id(old.graph, name): infos[name] for name in initialized}

    def _initialized_in(self, session: TFSession, infos: Iterable[VariableInfo], request: str) -> frozenset[str]:
        """Returns the variables that hold a value in a session.

        The session is queried only for variables that had no value before: these may have been set since.
        """
        initialized = self._initialized.get(session, frozenset())
        initialized |= tf.values.initialization.initialized_variables(
            session, [info for info in infos if info.op not in initialized], request
        )
        self._initialized[session] = initialized
        return initialized

    def _detach(self, old: Any, old_infos: Mapping[int, VariableInfo], numbers: set[int]) -> None:
        """Keeps the values of variables that only the old session has, if an undo or a redo can bring them back."""
        alive = {number for names in self._ids.values() for number in names.values()}
        removed_infos = {number: info for number, info in old_infos.items() if number in alive - numbers}
        values = tf.values.initialization.read_all(old, list(removed_infos.values()))
        there = weakref.ref(old)
        self._detached_values = {
            number: alive_left for number, alive_left in self._detached_values.items() if number in alive - numbers
        }
        self._detached_values |= {
            n: _DetachedValue(there, info, values[info.op]) for n, info in removed_infos.items() if info.op in values
        }

    def _record_session(
        self, session: TFSession, initialized: frozenset[str], events: list[Event], complete: bool
    ) -> None:
        numbers = frozenset(event.number for event in events)
        self._initialized[session] = initialized
        self._applied_events[session] = self._applied_events.get(session, frozenset()) | numbers
        if complete:
            self._graph_versions[session] = session.graph.version
        self._assigned_steps |= numbers

    def _opened_graph(self) -> Any:
        """Returns the opened graph; None if it is deleted."""
        return materialized_graph(self._first())

    def _removed_variables(self, graph: TFGraph) -> frozenset[str]:
        return frozenset(orphans_of(graph))

    def _id(self, graph: Any, name: str) -> int:
        """Returns the number of a variable, which is the same in all graphs that contain it."""
        ids = self._ids.setdefault(graph_identity(graph), {})
        if name not in ids:
            ids[name] = next(self._numbers)
        return ids[name]


def _lost_warnings(graph: TFGraph, empty: Iterable[VariableInfo]) -> list[str]:
    """Returns warnings about variables without a value because the checkpoint of their initializers is missing."""
    checkpoints = {
        info.op: path
        for info in empty
        if info.initializer and (path := tf.values.initialization.missing_checkpoint(graph, info))
    }
    if not checkpoints:
        return []
    have = "has no value: its initializer reads" if len(checkpoints) == 1 else "have no value: their initializers read"
    paths = few(list(dict.fromkeys(map(repr, checkpoints.values()))))
    problem = f"{counted(len(checkpoints), 'variables')} {have} {paths}, which does not exist: {few(list(checkpoints))}"
    return [str(PlanError("session()", problem, "Give them values: ed.restore(checkpoint)"))]
