"""The history of an editor: its current graph, and the plans that were applied, undone and redone."""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from .. import tf
from ..errors import Kind, PlanError, StalePlanError, SurgeryError, counted
from ..graph.calls import CallTree
from ..graph.concurrency import gc_paused
from ..graph.graph import Graph
from ..graph.layers import NO_LAYERS, Layers, copy_layers, update_layers
from ..graph.lazy_graph import LiveGraphAttribute, graph_identity, lazy_graph_of, materialize, materialized_graph
from ..graph.names import compose_renamings, free_name, op_name
from ..graph.open_graph import OpenedFile, OpenedGraph
from ..graph.provenance import OpOrigin, mark_orphans, orphans_of, unmark_orphans
from ..graph.types import TFGraph, TFOp
from ..plan.editor_like import EditorLike
from ..plan.plan import Plan, without_muted
from ..plan.plan_result import AppliedOps, PlanResult
from ..plan.steps.base import steps_text
from ..plan.steps.copy import CopyStep
from .applied import Applied
from .transfer import transfer


def before(editor: EditorLike) -> Any:
    """Returns an editor of the graph before the last plan, as `Editor.before` does."""
    live_events = [event for event in editor.history if not event.undone]
    if not live_events:
        raise PlanError("before()", "no plan is applied", "Apply a plan first, or redo an undone one: ed.redo()")
    event = live_events[-1]
    if event.replaced_graph is None:
        return editor
    renamed = event.result.effect.renamed
    title = f"{editor.title} before step {event.number}"
    make: Any = type(editor)
    older = make(editor.opened_graph.renamed(History(live_events[:-1]).renamed).for_graph(event.replaced_graph, title))
    then, now = (one.snapshot.state.variables for one in (older, editor))
    current_names = {renamed.get(name, name): name for name in then}
    pairs = {new: old for new, old in current_names.items() if new in now}
    if pairs:
        transfer(editor, older, names=pairs)
    return older


_CLOCK = itertools.count(1)
_LOGS = "graphsurgeon_logs"
"""The attribute of a live graph for the logs of its editors."""


@dataclass(eq=False)
class Event:
    """One entry of the history: an applied plan.

    Args:
        number: the number of the step; no number is used twice.
        result: the result of the plan; None once the plan can no longer be redone.
        seconds: the duration of the apply.
        undone: whether the plan is undone.
        replaced_graph: the graph that a materialized plan replaced.
        applied_at: the time of the apply, in seconds since 1970.
        text: the plan in words.
        counts: how many ops it added and removed, and how many variables it made.
        record: its provenance record, which the graph keeps and saves.
        names: the ops that it made.
        layers: the Keras layers of the graph after it.
        moments: the moments of its apply, undo, redo, and so on, from one clock for all editors.
        values: a sentence about the sources of the variables' values after the last apply, undo or redo.
    """

    number: int
    result: Any
    seconds: float
    undone: bool = False
    replaced_graph: Any = None
    applied_at: float = field(default_factory=time.time)
    text: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    record: bytes = b""
    names: frozenset[str] = frozenset()
    layers: Layers = NO_LAYERS
    moments: list[int] = field(default_factory=lambda: [next(_CLOCK)])
    values: str = ""

    @classmethod
    def from_applied(cls, number: int, result: Applied, seconds: float, **fields: Any) -> Event:
        """Returns the entry of a plan that was just applied."""
        effect = result.effect
        counts = {
            "added": len(result.applied_ops.ops),
            "removed": len(effect.removed),
            "variables": len(result.applied_ops.variable_infos),
        }
        text = steps_text(effect.steps)
        return cls(number, result, seconds, text=text, counts=counts, names=frozenset(result.applied_ops.ops), **fields)

    @property
    def discarded(self) -> bool:
        """Whether it was undone and another plan was applied since, so that it cannot be redone."""
        return self.result is None

    def moments_until_now(self) -> list[int]:
        """Returns its turns, followed by the current moment."""
        return [*self.moments, next(_CLOCK)]

    def discard(self) -> None:
        """Releases the graphs and the provenance record; the entry stays in the history."""
        if self.replaced_graph is not None:
            self.names = frozenset()  # they were in the graph that is released, and are not orphans
        self.result = self.replaced_graph = None
        self.record = b""

    def is_applied_at(self, moment: int) -> bool:
        """Returns whether the plan was applied, and not undone, at a moment."""
        return sum(turn < moment for turn in self.moments) % 2 == 1

    def __repr__(self) -> str:
        state = " (undone)" if self.undone else ""
        less = f", {self.counts['removed']} removed" if self.counts.get("removed") else ""
        lost = self.result.warnings if self.result is not None else []
        lost_too = f"; warning: {'; '.join(lost)}" if lost else ""
        return f"{self.number}. {self.text}: {counted(self.counts.get('added', 0), 'ops')}{less}{state}{lost_too}"


@dataclass(eq=False)
class Log:
    """How a graph was opened, and the plans that an editor has applied since. `Editor.to_code` uses it.

    Args:
        code: the Python that opens the graph.
        title: the name of the graph.
        from_live_graph: whether it was opened from a live graph or session, not from a file.
        size: its number of ops when it was opened.
        graph: the live graph that was opened.
        events: the entries, oldest first.
        parent: if another editor made this one: the log of that editor, the moment, and the call.
        sessions: sessions that the editor has returned.
        session: returns the session that was opened, or None.
        stored_values: returns the stored, unread values of variables in the opened file, by op name.
        snapshots: the snapshots that the editor has taken.
        editor: returns the timeline of the editor; None once that is deleted.
        file: the file that was opened, or None.
        first_layers: the Keras layers of the graph as it was opened.
    """

    code: str
    title: str
    from_live_graph: bool
    size: int
    graph: weakref.ref[Any]
    parent: tuple[Log, int, str] | None = None
    events: list[Event] = field(default_factory=list)
    sessions: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet)
    session: weakref.ref[Any] = lambda: None  # type: ignore[assignment]
    stored_values: Callable[[], Mapping[str, Any] | None] = dict
    snapshots: weakref.WeakSet[Graph] = field(default_factory=weakref.WeakSet)
    editor: Callable[[], Any] = lambda: None
    file: OpenedFile | None = None
    first_layers: Layers = NO_LAYERS

    @property
    def layers(self) -> Layers:
        """The Keras layers of the current graph."""
        live = self.current_events()
        return live[-1].layers if live else self.first_layers

    def reproduces(self, graph: Graph) -> bool:
        """Returns whether opening the graph again gives the same graph as a snapshot, as nothing was changed since."""
        if self.parent is not None and self.parent[0].events_at(self.parent[1]):
            return False
        return graph.owner is materialized_graph(self.graph()) and (
            graph.size == self.size or (self.from_live_graph and not self.events)
        )

    def events_at(self, moment: int) -> list[Event]:
        """Returns the plans that were applied, and not undone, at a moment, oldest first."""
        return [event for event in self.events if event.is_applied_at(moment)]

    def current_events(self) -> list[Event]:
        """Returns the plans that are applied and not undone, oldest first."""
        return [event for event in self.events if not event.undone]

    def note_value_sources(self, values: str) -> None:
        """Notes the sources of a session's values in the entry that was applied, undone or redone last."""
        if values and self.events:
            max(self.events, key=lambda event: event.moments[-1]).values = values


def moment() -> int:
    """Returns the current moment, to compare with the turns of events."""
    return next(_CLOCK)


def log_of(graph: Graph) -> Log | None:
    """Returns the log of the editor that a snapshot belongs to, even if the editor is deleted; else None."""
    logs = logs_of(graph.owner)
    return next((log for log in logs if graph in log.snapshots), logs[-1] if logs else None)


def logs_of(graph: TFGraph | None) -> list[Log]:
    """Returns the logs of the editors of a live graph, the newest last."""
    return list(getattr(graph, _LOGS, ()))


def layers_of(graph: Graph) -> Layers:
    """Returns the Keras layers of the graph of a snapshot. For a preview, these are the layers before the plan."""
    logs = logs_of(graph.origin)
    log = next((log for log in logs if graph.folded in log.snapshots), logs[-1] if logs else None)
    return NO_LAYERS if log is None else log.layers


def _register(log: Log, graph: TFGraph) -> None:
    """Attaches the log to a live graph. A global table of logs would keep every graph alive."""
    others = (other for other in getattr(graph, _LOGS, ()) if not other.from_live_graph or other.editor() is not None)
    setattr(graph, _LOGS, [*others, log])


class History(list[Event]):
    """The applied plans, oldest first; prints as a table.

    Below a plan, the table shows the sources of the variables' values in the first `session` after it was applied,
    undone or redone. A variable keeps the last value that it had in any session of the editor, under any name, also if
    a plan had removed it for a while. A variable that no session has held gets the value from its plan, else from the
    opened file, else its initial value.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.square(tf.constant(3.0, name="x"), name="y")
        >>> ed = gs.open(graph)
        >>> for to in ("a", "b"):
        ...     done = ed.apply(ed.plan().copy(ed.select(name=["x", "y"]), to=to))
        >>> event = ed.undo()
        >>> print(ed.history.text(times=False))
        step  what                       +ops  -ops  variables  state
           1  copy 2 ops of graph to a/     2     0          0
           2  copy 2 ops of graph to b/     2     0          0  undone
    """

    @property
    def renamed(self) -> dict[str, str]:
        """Op of the opened graph -> its current name, if plans that are not undone have renamed it."""
        names: dict[str, str] = {}
        for event in self:
            if not event.undone and event.replaced_graph is not None:
                effect = event.result.effect
                # recipes rename an op, give another op its name, and remove the first op: such a rename does not count
                there = {old: new for old, new in effect.renamed.items() if new in effect.after.index}
                names = compose_renamings(names, there)
        return names

    def table(self) -> list[dict[str, Any]]:
        """Returns one row for each plan: step, when, what, ops added and removed, variables, seconds, state."""
        return [
            {
                "step": event.number,
                "when": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event.applied_at)),
                "what": event.text,
                "+ops": event.counts.get("added", 0),
                "-ops": event.counts.get("removed", 0),
                "variables": event.counts.get("variables", 0),
                "seconds": round(event.seconds, 3),
                "state": "dropped" if event.discarded else "undone" if event.undone else "",
            }
            for event in self
        ]

    def text(self, times: bool = True) -> str:
        """Returns the table as text; without `times`, it is the same each time a notebook runs.

        Args:
            times: whether to show the time and duration of each step.
        """
        if not self:
            return "no plan was applied yet"
        cells = self._cells(times)
        wide = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
        right = [k not in ("when", "what", "state") for k in cells[0]]
        lines = []
        for row, event in zip(cells, [None, *self], strict=True):
            filled = (cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(row, wide, right, strict=True))
            lines.append("  ".join(filled).rstrip())
            lines += [f"{' ' * wide[0]}  {event.values}"] if event is not None and event.values else []
        return "\n".join(lines)

    def _cells(self, times: bool) -> list[list[str]]:
        rows = self.table()
        keys = [key for key in rows[0] if times or key not in ("when", "seconds")]
        return [keys, *([_cell(row[key]) for key in keys] for row in rows)]

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from ..view.svg import escape

        if not self:
            return f"<pre>{escape(self.text())}</pre>"
        head, *rows = ([escape(cell) for cell in row] for row in self._cells(True))
        more = f'<tr><td></td><td colspan="{len(head) - 1}">'
        notes = [f"{more}{escape(event.values)}</td></tr>" if event.values else "" for event in self]
        cells = ("<tr><td>" + "</td><td>".join(row) + "</td></tr>" for row in rows)
        body = "".join(row + below for row, below in zip(cells, notes, strict=True))
        return f"<table><thead><tr><th>{'</th><th>'.join(head)}</th></tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text if len(text) <= 90 else f"{text[:89]}…"


def _layers_copied(effect: PlanResult) -> list[tuple[Layers, dict[str, str], str]]:
    """Returns for each copy: the layers of its source graph, source op or tensor -> name in the copy, and the scope.

    Copies from graphs without known layers are left out.
    """
    copies = []
    for one in effect.copies:
        log = log_of(one.source.folded) if one.role != "graft" else None
        timeline = log.editor() if log is not None else None
        if timeline is None or not timeline.layers or timeline.snapshot.owner is not one.source.folded.owner:
            continue
        names = {one.source.names[i]: name for i, name in zip(one.ops.tolist(), one.names, strict=True)}
        copies.append((timeline.layers, names | one.mapped_tensors, one.step.to))
    return copies


def _layers_after(
    event: Event, layers: Layers, copies: list[tuple[Layers, dict[str, str], str]], graph: Graph
) -> Layers:
    """Returns the layers after a plan: the earlier layers with their current ops, and the layers of copies."""
    calls, effect = CallTree(graph, tf.functions.expand.function_body), event.result.effect
    if event.replaced_graph is not None and layers:
        names = {old: new for one in effect.replacements for old, new in one.outputs.items()}
        how = f"step {event.number}, {event.text}"
        layers = update_layers(layers, effect.base, calls, {**effect.renamed, **names}, how)
    new = [layer for layers_before, names, scope in copies for layer in copy_layers(layers_before, calls, names, scope)]
    return replace(layers, items=(*layers.items, *new)) if new else layers


class Changes:
    """The watchers of an editor, which are called after each apply, undo and redo."""

    def __init__(self) -> None:
        self._watchers: list[weakref.WeakMethod[Callable[[], None]]] = []

    def watch(self, callback: Callable[[], None]) -> None:
        """Calls a bound method after each apply, undo and redo, until its object is deleted."""
        self._watchers.append(weakref.WeakMethod(callback))

    def notify(self) -> None:
        """Calls all watchers."""
        self._watchers = [watcher for watcher in self._watchers if watcher() is not None]
        for watcher in self._watchers:
            callback = watcher()
            if callback is not None:
                callback()


class VariableStore(Protocol):
    """The interface of `Values` that `Timeline` uses."""

    def session(self) -> Any:
        """Returns a session with all values."""

    def graph_rebuilt(self, old_graph: Any, after: Any, names: Mapping[str, str], new_names: Mapping[str, str]) -> None:
        """Notes that a plan has built a graph anew, as `Values.graph_rebuilt` does."""


class Timeline:
    """The current live graph of an editor, and the plans that made it.

    Args:
        opened_graph: the opened graph.
        snapshot: an earlier snapshot of the graph, or None: only ops added since then are read.
        parent_log: see `Log`.
        changes: the existing watchers, or None.

    Attributes:
        log: how the graph was opened, and the plans applied since.
        changes: the watchers to call after each change.
    """

    _graph = LiveGraphAttribute()

    def __init__(
        self,
        opened_graph: OpenedGraph,
        snapshot: Graph | None = None,
        parent_log: tuple[Log, int, str] | None = None,
        changes: Changes | None = None,
    ) -> None:
        self._graph = opened_graph.graph
        waiting = lazy_graph_of(opened_graph.graph)
        size = len(opened_graph.graph.get_operations()) if waiting is None else waiting.read.size
        self.log = Log(
            opened_graph.code,
            opened_graph.title,
            opened_graph.from_live_graph,
            size,
            weakref.ref(graph_identity(opened_graph.graph)),
            parent_log,
        )
        self.log.editor, self.log.file = weakref.ref(self), opened_graph.file
        self._snapshot = snapshot
        self.log.first_layers = opened_graph.layers
        self.changes = Changes() if changes is None else changes
        if opened_graph.code:
            _register(self.log, self._graph)

    @property
    def graph(self) -> TFGraph:
        """The live graph. The graph of a file is made on first access."""
        live: TFGraph = materialize(self._graph)
        return live

    @property
    def live_graph(self) -> TFGraph:
        """The live graph. Stand-in ops replace ops unknown to TensorFlow, which `Graph.refused_ops` lists."""
        live: TFGraph = materialize(self._graph, complete=False)
        return live

    @property
    def events(self) -> list[Event]:
        """The entries, oldest first."""
        return self.log.events

    @property
    def snapshot(self) -> Graph:
        """The current graph as an immutable value; read from the file if the live graph was not needed yet."""
        waiting = lazy_graph_of(self._graph)
        if waiting is None:
            current = tf.open.snapshot.snapshot(self._graph, self._snapshot, self.log.title)
        else:
            current = waiting.snapshot(self._snapshot, self.log.title)
        self._snapshot = current
        self.log.snapshots.add(current)
        return current

    @property
    def layers(self) -> Layers:
        """The Keras layers of the current graph."""
        return self.log.layers

    @property
    def orphans(self) -> frozenset[str]:
        """Names of the orphans that this editor, or another editor of the graph, has left."""
        return frozenset(orphans_of(self._graph))

    def origin(self, op: TFOp) -> OpOrigin:
        """Returns the origin of an op, as `Editor.provenance` does."""
        name = op_name(getattr(op, "op", op))
        graph = self.snapshot
        graph.find(name, f"provenance({name!r})")
        source = tf.copy.append.origin(graph, self._graph, name)
        orphan_steps = orphans_of(self._graph)
        if source is None and name in orphan_steps:
            return OpOrigin(name, "orphan", orphan_steps[name])
        return source or OpOrigin(name)

    @gc_paused()
    def apply(self, plan: Plan, values: VariableStore, record: bool = True) -> Applied:
        """Carries out a plan, all of it or nothing, as `Editor.apply` does.

        Args:
            plan: the plan.
            values: the store of the variables' values, to be notified if the graph is built anew.
            record: whether to keep provenance in the graph.
        """
        with tf.protos.naming_memory("apply(plan)"):
            return self._apply_plan(plan, values, record)

    def _apply_plan(self, plan: Plan, values: VariableStore, record: bool) -> Applied:
        self._refuse_foreign(plan)
        plan = without_muted(plan)
        if not plan.steps:
            how = "Give it a step: ed.plan().copy(...)"
            raise PlanError("apply(plan)", "the plan is empty", how, kind=Kind.PLAN)
        bar = tf.run.progress.Phases("applying", 5)
        faults = plan.check()
        if faults:
            raise faults[0].to_error(len(faults) - 1)
        start, effect, before, previous = time.perf_counter(), plan.effect, self.live_graph, self._snapshot
        saved_state = tf.copy.imports.SavedState(before)
        layer_copies, event = (self.layers, _layers_copied(effect)), None
        try:
            with bar:
                append = tf.copy.append
                result = append.apply_effect(effect, before) if plan.mode == "append" else append.materialize(effect)
                self._graph = result.graph
                tf.run.progress.phase("reading back")
                differences = self._verify_prediction(plan, result)
                if differences:
                    what = f"the result differs from the preview: {differences[0]}"
                    raise PlanError("apply(plan)", what, "Report this, with plan.to_code()", kind=Kind.PLAN)
                applied = Applied(plan, result.graph, result, values.session)
                number = append.next_step(before, self.events)
                record_bytes = append.record_plan(effect, before, result.graph, number) if record else b""
                about: dict[str, Any] = {"record": record_bytes}
                if result.graph is not before:
                    about["replaced_graph"] = before
                    removed = {effect.base.names[i] for i in effect.removed}
                    for op, step in orphans_of(before).items():
                        mark_orphans(result.graph, [] if op in removed else [effect.renamed.get(op, op)], step)
                event = Event.from_applied(number, applied, time.perf_counter() - start, **about)
                event.layers = _layers_after(event, *layer_copies, self.snapshot)
                if result.graph is not before:
                    values.graph_rebuilt(before, result.graph, result.origins, effect.renamed)
                    if self.log.code:
                        _register(self.log, result.graph)
            # The plan is applied: nothing may fail after this line.
            self._add(event)
        except BaseException as error:
            self._graph, self._snapshot = before, previous
            self.events[:] = [other for other in self.events if other is not event]
            orphans = saved_state.restore(effect.copies)
            if not orphans:
                raise
            mark_orphans(before, orphans, tf.copy.append.next_step(before, self.events))
            late = late_failure(error, plan, orphans)
            if isinstance(error, Exception):
                raise late from error
            error.add_note(str(late))
            raise
        self.changes.notify()
        return applied

    def undo(self) -> Event:
        """Undoes the last applied plan, as `Editor.undo` does."""
        event = next((e for e in reversed(self.events) if not e.undone), None)
        if event is None:
            raise PlanError("undo()", "there is nothing to undo", "Apply a plan first")
        return self._turn(event, event.replaced_graph, tf.copy.append.remove_from_collections)

    def redo(self) -> Event:
        """Redoes the plan that was undone last, as `Editor.redo` does."""
        live = max((e.number for e in self.events if not e.undone), default=0)
        event = next((e for e in self.events if e.undone and not e.discarded and e.number > live), None)
        if event is None:
            raise PlanError("redo()", "there is nothing to redo", "Undo a plan first")
        return self._turn(event, event.result.graph, tf.copy.append.restore_collections)

    def _turn(self, event: Event, other: Any, change: Callable[[Any, bytes], None]) -> Event:
        """Undoes or redoes a plan.

        Args:
            event: the entry of the plan.
            other: the graph that becomes the current one, if the plan is materialized.
            change: removes or restores the additions of an appended plan, such as collection entries.
        """
        turns = event.moments_until_now()
        if event.replaced_graph is not None:
            self._graph, self._snapshot = other, None
        else:
            if self._snapshot is not None:
                self._snapshot = replace(self._snapshot)  # its variables and collections are read again
            change(event.result.applied_ops, event.record)
            graph, names = event.result.graph, event.result.applied_ops.ops
            if event.undone:
                unmark_orphans(graph, names)
            else:
                mark_orphans(graph, names, event.number)
        event.undone, event.moments = not event.undone, turns
        self.changes.notify()
        return event

    def _add(self, event: Event) -> None:
        """Adds an applied plan to the history; plans that are undone can then no longer be redone."""
        for old in [e for e in self.events if e.undone and not e.discarded]:
            old.discard()
        self.events.append(event)

    def _verify_prediction(self, plan: Plan, applied_ops: AppliedOps) -> list[str]:
        """Reads the resulting graph, and returns its differences from the prediction of the plan."""
        nodes, applied_ops.nodes = applied_ops.nodes, ()
        if plan.mode == "materialize":
            self._snapshot = None
        else:
            confirmed_graph = tf.open.snapshot.confirm_snapshot(
                self.live_graph, plan.base, plan.after(), nodes, applied_ops.ops
            )
            if confirmed_graph is not None:
                self._snapshot = confirmed_graph
                return []
        return tf.copy.append.differences(plan.effect, self.snapshot)

    def _refuse_foreign(self, plan: Plan) -> None:
        if not isinstance(plan, Plan):
            raise PlanError(f"apply({plan!r})", "this is not a plan", "Make one with ed.plan().copy(...)")
        if plan.base.owner is not self._graph:
            if any(
                event.replaced_graph is plan.base.owner for event in self.events if event.replaced_graph is not None
            ):
                problem = f"the plan was made for {plan.base.title} as it was before a step that has built it anew"
                how = "Make the plan again: run the cell that makes it"
                raise StalePlanError("apply(plan)", problem, how, kind=Kind.PLAN)
            raise PlanError(
                "apply(plan)",
                f"the plan was made for {plan.base.title}, not for this graph",
                "Apply it to its own editor",
                kind=Kind.FOREIGN_PLAN,
            )
        if plan.base.size != self.snapshot.size:
            grown = self.snapshot.size - plan.base.size
            raise StalePlanError(
                "apply(plan)",
                f"the graph has {counted(grown, 'ops')} more than when the plan was made",
                "Make the plan again: run the cell that makes it",
                kind=Kind.PLAN,
            )


def late_failure(error: BaseException, plan: Plan, orphans: Sequence[str]) -> PlanError:
    """Returns the error for a plan that failed after TensorFlow had added its ops.

    No op is read: constants can be large, and memory may have run out.

    Args:
        error: the original error.
        plan: the plan.
        orphans: names of the ops that stay in the graph.
    """
    request, problem, suggestion, kind = "apply(plan)", f"{type(error).__name__}: {error}", "", Kind.PLAN
    if isinstance(error, SurgeryError):
        request, problem, suggestion, kind = error.request, error.problem, f"{error.suggestion}. ", error.kind
    count, one = counted(len(orphans), "ops"), len(orphans) == 1
    stay = f"{count}, {orphans[0]!r} first, stay{'s' * one} in {plan.base.title} as {'an orphan' if one else 'orphans'}"
    wishes = [step.to for step in plan.steps if isinstance(step, CopyStep) and step.to]
    burnt = {scope for name in orphans for scope in itertools.accumulate(name.lower().split("/"), "{}/{}".format)}
    scopes = [f"to={free_name(w, lambda n: n.lower() in burnt or plan.base.is_name_used(n))!r}" for w in wishes]
    again = f"Make the plan again with {', '.join(scopes)}" if scopes else "Make the plan again under a scope"
    return PlanError(
        request,
        f"{problem.rstrip('.')}; TensorFlow cannot delete the ops that it had added by then: {stay}, "
        "and nothing else has changed",
        f"{suggestion}{again}",
        kind=kind,
    )
