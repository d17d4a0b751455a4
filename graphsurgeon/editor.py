"""Editor: the object a user holds: a graph, its picture, its history."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .applied import Applied
from .errors import PlanError, SelectionError, StalePlanError
from .explaining import Explaining
from .exporting import Exporting
from .functions import Functions
from .graph.collector import gc_paused
from .graph.graph import Graph
from .graph.selection import OpView, Selection, select
from .history import Event, Log, late_failure
from .keeping import Keeping, source_of
from .ledger import Ledger
from .origins import Origins
from .plan.plan import Plan
from .summary import summary
from .undoing import Undoing
from .words import counted

if TYPE_CHECKING:
    from .screen.screen import Screen


class Editor(Functions, Explaining, Exporting, Undoing, Origins, Keeping):
    """A graph under the knife: select, plan, apply, undo. Make one with `gs.open`.

    Everything before `apply` is a value: selecting and planning change nothing.

    Of an opened TF2 function, `inputs` and `outputs` are its arguments and results: name -> name of the tensor.
    With an earlier `snapshot` of the same graph, only what has been added since is read.
    """

    def __init__(
        self,
        graph: Any,
        title: str = "graph",
        code: str = "gs.open(graph)",
        session: Any = None,
        values: Any = None,
        inputs: Mapping[str, str] | None = None,
        outputs: Mapping[str, str] | None = None,
        snapshot: Graph | None = None,
        lack: str = "",
    ) -> None:
        self.graph = graph
        self.inputs, self.outputs = dict(inputs or {}), dict(outputs or {})
        self.ends = (tuple(self.inputs.values()), tuple(self.outputs.values()))  # shown wherever they lie
        self.served: tuple[str, str] | None = None  # folder and signature of a SavedModel of TF2, opened as it lies
        self.packed: Callable[[Sequence[Any]], Any] | None = None  # makes of `outputs` what the opened function returns
        self._results = tuple(self.outputs)
        self.title = title
        self._code = code
        self._session = session
        self._values = values
        self._snapshot = snapshot
        live = code in ("gs.open(graph)", "gs.open(session)")
        self._log = Log(code, title, len(graph.get_operations()), live, graph=weakref.ref(graph))
        if session is not None:
            self._log.session = weakref.ref(session)
        if hasattr(values, "stored"):
            self._log.stored = values.stored
        self._litter: weakref.WeakKeyDictionary[Any, dict[str, int]] = weakref.WeakKeyDictionary()
        self._ledger = Ledger(graph, values, lack)
        self._screen: Screen | None = None
        self._watchers: list[weakref.WeakMethod[Callable[[], None]]] = []

    # -- looking ------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Graph:
        """The graph as it is now, as an immutable value; read again when the live graph has grown."""
        from .tf.open.snapshot import snapshot

        previous = self._snapshot
        current = snapshot(self.graph, previous, self.title)
        if current is not previous:
            self._snapshot = current = replace(current, opened_by=self._code, log=self._log)
        return current

    def __str__(self) -> str:
        lost = [text for event in self._events if not event.undone and event.applied for text in event.applied.warnings]
        return summary(self.snapshot, self.orphans, lost)

    def __repr__(self) -> str:
        return f"<Editor of {self.title}: {counted(self.snapshot.size, 'ops')}>"

    def __len__(self) -> int:
        return self.snapshot.size

    def find(self, text: str, most: int = 20) -> list[str]:
        """Returns names of ops that fit a query, as in the widget: ``"conv"``, ``"net/* op:Conv2D shape:...x64"``.

        Args:
            text: words: parts of names, patterns with ``*``, ``/regular expressions/``, and ``op:``, ``dtype:``,
                ``shape:``, ``device:``, ``attr:name=value``; all must fit, those after a ``-`` must not.
            most: at most so many.

        Raises:
            SelectionError: a regular expression does not compile, or there is no such key.
        """
        from .graph.search import search
        from .tf.open.describe import attribute_text

        return search(self.snapshot, text, attribute_text)[:most]

    def op(self, name: str) -> Any:
        """Returns the live op called `name`; raises SelectionError with the nearest names."""
        self.snapshot.find(name, f"op({name!r})")
        return self.graph.get_operation_by_name(name)

    def tensor(self, name: str) -> Any:
        """Returns the live tensor called `name`; raises SelectionError with the nearest names."""
        number, port = self.snapshot.tensor(name, f"tensor({name!r})")
        return self.graph.get_operation_by_name(self.snapshot.names[number]).outputs[port]

    # -- selecting ------------------------------------------------------------------------------

    def select(
        self,
        *things: Any,
        scope: str | None = None,
        op: str | Iterable[str] | None = None,
        name: str | Iterable[str] | None = None,
        inputs: Iterable[Any] | Any = None,
        outputs: Iterable[Any] | Any = None,
        where: Callable[[OpView], bool] | None = None,
    ) -> Selection:
        """Returns the ops that fit all that is given; all ops where nothing is given. Orphans fit only by name.

        Args:
            scope: a name scope, with all below it.
            op: an op type, or several.
            name: op names or patterns (``"conv*/W"``).
            inputs, outputs: boundary tensors, by name or object: the ops that compute `outputs` from `inputs`,
                with the constants and variables they need.
            where: a test called with an `OpView` of each op.

        Raises:
            SelectionError: a name is not there (the nearest are proposed), or the boundary does not connect.
        """
        if things:
            wrong = "it does not say what that is: a name, a scope, an op type"
            how = f"Type select(name={things[0]!r}), select(scope=...) or select(op=...)"
            raise SelectionError(f"select({', '.join(map(repr, things))})", wrong, how)
        given, wanted = (None if ends is None else _parts(ends) for ends in (inputs, outputs))
        found = select(self.snapshot, scope=scope, op=op, name=name, inputs=given, outputs=wanted)
        if name is None and wanted is None and self.orphans:
            index = found.graph.index
            found = replace(found, mask=found.mask & ~found.graph.mask(index[n] for n in self.orphans if n in index))
        return found if where is None else found.where(where)

    @property
    def selection(self) -> Selection:
        """What is highlighted in the widget; nothing where there is no widget yet."""
        return self.screen.selection

    # -- planning and applying ------------------------------------------------------------------

    def plan(self) -> Plan:
        """Returns an empty plan for this graph."""
        from .planning import new_plan

        return new_plan(self.snapshot)

    @property
    def draft(self) -> Plan:
        """The plan being made on screen, by hand."""
        return self.screen.draft

    @gc_paused()
    def apply(self, plan: Plan, *, record: bool = True) -> Applied:
        """Carries out a plan: all of it, or nothing.

        Args:
            plan: a plan made by `plan()` of this editor.
            record: keep in the graph where its new ops come from, so that it is saved with the graph: one entry in
                the collection ``graphsurgeon/provenance``, which copies and previews leave out.

        Returns:
            what was made; ``done[name or object]`` gives the copy of a source op, tensor or variable.

        Raises:
            PlanError: the plan has a fault, or TensorFlow refuses it; the graph is as it was.
            StalePlanError: the graph has changed since the plan was made.
        """
        from .tf.copy.append import carry_out
        from .tf.copy.materialise import materialise
        from .tf.copy.provenance import next_step, noted
        from .tf.copy.rollback import Held
        from .tf.run.progress import Phases, phase

        self._refuse_foreign(plan)
        bar = Phases("applying", 5)
        faults = plan.check()
        if faults:
            raise faults[0].error(len(faults) - 1)
        start, effect, before, previous = time.perf_counter(), plan.effect, self.graph, self._snapshot
        held = Held(before)
        try:
            with bar:
                made = carry_out(effect, before, source_of) if plan.mode == "append" else materialise(effect, source_of)
                self.graph = made.graph
                phase("reading back")
                wrong = self._read_back(plan, made)
                if wrong:
                    what = f"the result is not what was previewed: {wrong[0]}"
                    raise PlanError("apply(plan)", what, "Report this, with plan.to_code()")
                applied, number = Applied(effect, made.graph, made, self), next_step(before, self._events)
                kept = noted(effect, before, made.graph, number) if record else b""
                about: dict[str, Any] = {"record": kept}
                if made.graph is not before:
                    left = self._left(before).items()
                    about |= {"before": before, "carried": {op: n for op, n in left if op in effect.after.index}}
                event = Event.of(number, applied, time.perf_counter() - start, **about)
                if made.graph is not before:
                    self._ledger.moved(before, made.graph, made.origins)
            # From here on it is done: nothing may fail after this line.
            self._add(event)
        except BaseException as error:
            self.graph, self._snapshot = before, previous
            orphans = held.put_back(c.step.to for c in effect.copies)
            if not orphans:
                raise
            self._leave(before, orphans, next_step(before, self._events))
            late = late_failure(error, plan, orphans, self.snapshot)
            if isinstance(error, Exception):
                raise late from error
            error.add_note(str(late))
            raise
        self._tell()
        return applied

    def _read_back(self, plan: Plan, made: Any) -> list[str]:
        """Reads what was made, and returns where it is not what the plan predicted."""
        from .tf.copy.append import differences
        from .tf.open.snapshot import confirmed

        nodes, made.nodes = made.nodes, ()
        if plan.mode == "materialise":
            self._snapshot = None
        else:
            found = confirmed(self.graph, plan.base, plan.after(), nodes, made.ops)
            if found is not None:
                self._snapshot = found
                return []
        return differences(plan.effect, self.snapshot)

    def _refuse_foreign(self, plan: Plan) -> None:
        if not isinstance(plan, Plan):
            raise PlanError(f"apply({plan!r})", "this is not a plan", "Make one with ed.plan().copy(...)")
        if plan.base.owner is not self.graph:
            raise PlanError(
                "apply(plan)",
                f"the plan was made for {plan.base.title}, not for this graph",
                "Apply it to its own editor",
            )
        if plan.base.size != self.snapshot.size:
            grown = self.snapshot.size - plan.base.size
            raise StalePlanError(
                "apply(plan)",
                f"the graph has {counted(grown, 'ops')} more than when the plan was made",
                "Make the plan again: run the cell that makes it",
            )

    # -- running ----------------------------------------------------------------------------------

    def session(self, session: Any = None, config: Any = None) -> Any:
        """Returns a session that sees all edits, with all values.

        One rule says what a variable holds, also after `undo`, `redo` and `rebuild`: it keeps the value it last had in
        any session of this editor, whatever it is called now, and also where a plan had taken it out for a while. One
        that no session has held yet gets what its plan gave it, else what the file holds that was opened, else its
        initial value. So variables that TensorFlow code has added to `graph` are initialised by the next call, and
        what holds a value is never initialised. `history` tells what came from where.

        Args:
            session: a session to bring up to date. One of an older graph (before a plan that builds the graph anew)
                stays as it is: its values are carried into a new one. Default: the one this editor has, else a new one.
            config: a `tf.compat.v1.ConfigProto` for a new session.

        Raises:
            PlanError: a value cannot be read or set, a device is not there, or a table cannot be filled.
            OpenError: the file with the values cannot be read.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     w = tf.compat.v1.get_variable("w", initializer=10.0)
            ...     learn, y = w.assign_add(32.0), tf.identity(w, name="y")
            >>> ed = gs.open(graph)
            >>> _ = ed.session().run(learn)
            >>> done = ed.apply(ed.plan().rename("w", to="v"))
            >>> print(ed.session().run("y:0"))
            42.0
            >>> print(ed.history[0].values)
            1 variable keeps its value ('w' as 'v')
        """
        return self._handed_over(session, config)

    def values_session(self) -> Any:
        """Returns what `session` returns, to read values from: in a session of the caller's nothing is initialised."""
        return self._handed_over(None, None, initialise=False)

    def _handed_over(self, session: Any, config: Any, initialise: bool = True) -> Any:
        own = session if session is not None else self._session
        live = [event for event in self._events if not event.undone]
        new, handover = self._ledger.session(self.graph, own, config, live, self._left, initialise)
        if self._events and str(handover):
            max(self._events, key=lambda event: event.turns[-1]).values = str(handover)
        self._log.sessions.add(new)
        if session is None or self._session is None or session is self._session:
            self._session = new
        return new

    def untrained(self) -> dict[str, str]:
        """Returns the variables that have no value but their initial one, each with the reason.

        A value of a session that was given, of a checkpoint or of a plan is one. In a session that this editor has
        made, all variables have one as soon as one of those that it has initialised was changed. Local variables are
        meant to have none.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     learn = tf.compat.v1.get_variable("w", initializer=10.0).assign_add(1.0)
            >>> ed = gs.open(graph)
            >>> ed.untrained()
            {'w': 'no session or checkpoint was given'}
            >>> _ = ed.session().run(learn)
            >>> ed.untrained()
            {}
        """
        live = [event for event in self._events if not event.undone]
        return self._ledger.untrained(self.graph, self._session, live, self._left)

    @property
    def void(self) -> frozenset[str]:
        """Names of variables that nothing gives a value: no initialiser that can run, and not in the checkpoint."""
        from .tf.values.variables import must_be_fed

        if self._values is None:
            return frozenset()  # a session of the caller's may have got values in any way
        known = self.snapshot.state.variables
        held = self._ledger.filed(self.graph, known)
        missing = [v for v in known.values() if v.op not in held]
        return frozenset(v.op for v in missing if not v.initializer or must_be_fed(self.graph, v))

    @property
    def starters(self) -> tuple[list[str], dict[str, Any]]:
        """Names of ops that the file wants run once, after its values are there; and what they are fed."""
        return list(getattr(self._values, "starters", ())), dict(getattr(self._values, "asset_feeds", {}))

    def value(self, name: str) -> Any:
        """Returns what a constant or variable holds now, as an array.

        Raises:
            SelectionError: it is neither, or nothing gives it a value.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     w = tf.compat.v1.get_variable("w", initializer=[1.0, 2.0])
            >>> gs.open(graph).value("w").tolist()
            [1.0, 2.0]
        """
        from .tf.open.facts import value

        return value(self.snapshot, name, self.void, self.values_session)

    # -- showing ------------------------------------------------------------------------------------

    @property
    def screen(self) -> Screen:
        """What the widget shows, as an object: every gesture is a method of it."""
        if self._screen is None:
            from .screen.screen import Screen

            self._screen = Screen(self)
        return self._screen

    @property
    def facts(self) -> Any:
        """What TensorFlow says of ops, for a screen."""
        from .tf.open import facts

        return facts

    def watch(self, changed: Callable[[], None]) -> None:
        """Calls a method after each apply, undo and redo, for as long as the object lives whose method it is."""
        self._watchers.append(weakref.WeakMethod(changed))

    def view(self, source: Editor | None = None) -> Any:
        """Returns the widget. With `source`, that graph is at the left, and its parts are copied into this one."""
        from .widget.widget import GraphWidget

        if source is not None and source is not self:
            from .screen.screen import Screen

            self._screen = Screen(self, source)
        with gc_paused():  # or a full collection of the graph just opened stands before its first picture
            return GraphWidget(self.screen)

    def paint(
        self, values: Mapping[Any, float] | str, name: str = "value", how: str = "auto", scale: str = "auto"
    ) -> Editor:
        """Colours the picture; returns this editor, so that the last line of a cell shows it.

        Args:
            values: a number for ops, by name or object; or ``family``, ``device``, ``scope``, ``dtype`` or
                ``structure``.
            name: what the numbers are, with their unit, as ``"ms"``.
            how: ``sum``, ``max`` (furthest from zero) or ``mean`` of the numbers in a folded scope; ``auto``: the sum,
                or ``max`` where sums of many small numbers would hide the op with the largest one.
            scale: ``linear`` or ``log``; ``auto``: ``log`` where numbers differ a thousand times or more. Zero has a
                colour of its own, and so has what is not finite; the legend says all of it.

        Example:
            ``ed.paint({"conv1/Conv2D": 3.2, "fc/MatMul": 0.4}, "ms")``
        """
        if isinstance(values, str):
            self.screen.paint(values)
        else:
            self.screen.paint(values=values, name=name, how=how, scale=scale)
        return self

    def _repr_mimebundle_(self, **options: Any) -> Any:
        with gc_paused():
            return self.view()._repr_mimebundle_(**options)


def _parts(things: Any) -> list[Any]:
    from .tf.copy.collection_items import parts_of

    return parts_of(things)
