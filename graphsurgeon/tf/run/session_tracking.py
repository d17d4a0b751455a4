"""Locks for runs of a session: a run in any thread takes the locks of the variables that it reads or sets.

A run is not atomic: it sets one variable after another. For consistent values, a read must not overlap with other runs,
including direct calls of `session.run`. So each session with an original or a duplicate is observed: the methods that
all of its runs call are replaced. When the last observation ends, the methods are restored.

In this module, a door is the lock (`RWLock`) of a set of variables. A run goes through a door if it holds the lock
together with other runs. A run is alone inside a door if it holds the lock exclusively.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from ...errors import SelectionError
from ...graph.concurrency import BusyError, RWLock, acquire_all
from ...graph.names import tensor_name
from ...graph.traversal import reachable_from
from ...graph.types import TFGraph, TFSession, TFTensor
from ...graph.variables import VARIABLE_TYPES
from ...plan.dependencies import READ_REPLACEMENTS, REF_WRITERS
from ..import_tensorflow import tf
from ..open.snapshot import snapshot
from ..private.sessions import EXTEND_AND_RUN, MAKE_CALLABLE, RUN, innermost
from ..registry import is_registered_op
from ..values.variables import Place, place_of

Translate = Callable[[Any], Any]


def resolve_fetches(obj: Any, request: str, graph: TFGraph, title: str, translate: Translate | None = None) -> Any:
    """Returns the ops and tensors to run, in the given structure; names are replaced by ops and tensors.

    Args:
        obj: a name, an op, tensor or variable, or a structure of these, as for `Session.run`.
        request: the request, for messages; the name replaces ``{}``.
        graph: the graph of the run.
        title: the name of the graph in messages.
        translate: a function that returns the counterpart of an object of another graph; None if there are none.

    Raises:
        SelectionError: a name does not exist (the message proposes similar names), or an object is of another graph.
    """
    if isinstance(obj, Mapping):
        return {key: resolve_fetches(value, request, graph, title, translate) for key, value in obj.items()}
    if isinstance(obj, (list, tuple)):
        items = [resolve_fetches(item, request, graph, title, translate) for item in obj]
        return type(obj)(*items) if hasattr(obj, "_fields") else type(obj)(items)
    if isinstance(obj, str):
        with suppress(KeyError, ValueError):
            return graph.as_graph_element(obj)
        base = snapshot(graph, title=title)
        (base.tensor if ":" in obj else base.find)(obj, request.format(repr(obj)))
        return graph.as_graph_element(obj)
    other = getattr(obj, "graph", graph)
    if other is None or other is graph:
        return obj
    if translate is not None:
        return translate(obj)
    name = getattr(obj, "name", type(obj).__name__)
    problem = f"{name!r} is an object of another graph, not of {title}"
    raise SelectionError(request.format(repr(name)), problem, "Give the object of this graph, or its name as text")


def resolve_feeds(
    feeds: Any, request: str, graph: TFGraph, title: str, translate: Translate | None = None
) -> dict[Any, Any]:
    """Returns the feeds, tensor -> value; arguments as in `resolve_fetches`.

    Raises:
        SelectionError: as in `resolve_fetches`; or the feeds are not a mapping.
    """
    if feeds is not None and not isinstance(feeds, Mapping):
        problem = f"{type(feeds).__name__} is not a mapping"
        raise SelectionError(request.format("feeds=..."), problem, "Give {'x:0': array}")
    items = ((tensor_name(key) if isinstance(key, str) else key, value) for key, value in (feeds or {}).items())
    return {resolve_fetches(key, request, graph, title, translate): value for key, value in items}


SessionRunHook: Any = tf.compat.v1.train.SessionRunHook


class UpdateHook(SessionRunHook):
    """Updates a replica after every n-th run of a monitored session.

    Args:
        replica: the `Replica`.
        every: n.
    """

    def __init__(self, replica: Any, every: int) -> None:
        self._replica, self._every, self._runs = replica, every, 0

    def after_create_session(self, session: TFSession, coord: Any) -> None:
        """Copies all values to the replica when TensorFlow makes a session, also after an earlier session failed."""
        self._replica.attach(session)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Counts the runs, and updates the replica after every n-th run."""
        self._runs += 1
        if self._runs % self._every == 0:
            self._replica.update()


#: Ops that only read a resource variable. Reference variables are read by all ops that do not write to them.
READ_ONLY_TYPES = frozenset({*READ_REPLACEMENTS, "VarIsInitializedOp"})
#: Ops that pass on their input, which may be the handle of a variable.
_PASSES = frozenset(prefix + kind for prefix in ("", "Ref") for kind in
                    ("Identity", "Enter", "Exit", "Switch", "Merge", "NextIteration"))  # fmt: skip
#: Ops that return handles of unknown variables, such as function calls.
_HANDLE_SOURCES = frozenset({"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase", "PartitionedCall",
                    "StatefulPartitionedCall", "RemoteCall", "SymbolicGradient", "IdentityN", "Select", "SelectV2",
                    "Placeholder", "PlaceholderV2"})  # fmt: skip
#: Ops that may wait for another run.
_BLOCKING_TYPES = ("QueueDequeue", "QueueEnqueue", "ReaderRead", "Barrier", "Stage", "Unstage", "MapStage",
                   "MapUnstage",
          "OrderedMap", "AccumulatorTake", "SparseAccumulatorTake", "ResourceAccumulatorTake", "PyFunc", "EagerPyFunc",
          "Recv", "Collective")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Interest:
    """The variables of an observer that needs consistent values, and their door.

    Args:
        door: the door; runs that set one of the variables go through it.
        places: the variables.
        local: those of the variables that may only count the input of a queue. A run that waits and sets no other
            variables is not a training step.
        looks: whether runs that only read one of the variables go through the door too.
        refuse: a function that is called inside the door; it raises an error if the variables cannot be read now.
    """

    door: RWLock
    places: frozenset[Place]
    local: frozenset[Place] = frozenset()
    looks: bool = False
    refuse: Callable[[], None] | None = None

    def concerned(self, run: VariableAccess) -> bool:
        """Returns whether a run goes through the door."""
        if self.looks and not run.places.isdisjoint(self.places):
            return True
        sets = self.places if run.sets is None else self.places & run.sets
        return bool(sets) and not (run.waits and sets <= self.local)


@dataclass(frozen=True)
class VariableAccess:
    """The variables that a run uses.

    Args:
        places: the variables that the run reads or sets.
        sets: the variables that the run sets; None if they are not known.
        waits: whether the run may wait for another run.
    """

    places: frozenset[Place]
    sets: frozenset[Place] | None
    waits: bool


def places_of(graph: TFGraph, variables: Iterable[str]) -> frozenset[Place]:
    """Returns the places of variables of a graph, by the names of their ops."""
    return frozenset(place_of(graph.get_operation_by_name(name)) for name in variables)


def variable_access(elements: Iterable[Any]) -> VariableAccess:
    """Returns the variables that a run of these ops and tensors uses.

    Example:
        >>> with tf.Graph().as_default():
        ...     w = tf.compat.v1.get_variable("w", initializer=1.0)
        ...     y, step = w * 2.0, w.assign_add(1.0)
        >>> [(len(found.places), len(found.sets)) for found in (variable_access([y]), variable_access([step.op]))]
        [(1, 0), (1, 1)]
    """
    places: set[Place] = set()
    sets: set[Place] | None = set()
    waits = False
    start = (getattr(element, "op", element) for element in elements)
    for op in reachable_from(start, lambda op: [*(tensor.op for tensor in op.inputs), *op.control_inputs]):
        kind = op.type
        if kind in VARIABLE_TYPES:
            places.add(place_of(op))
        waits = waits or kind.startswith(_BLOCKING_TYPES)
        if kind not in _PASSES and kind not in READ_ONLY_TYPES:
            for tensor in op.inputs:
                dtype = tensor.dtype
                if dtype == tf.resource or (dtype != dtype.base_dtype and kind.startswith(REF_WRITERS)):
                    variables = _variables(tensor)
                    sets = None if sets is None or variables is None else sets | variables
    return VariableAccess(frozenset(places), None if sets is None else frozenset(sets), waits)


def _variables(tensor: TFTensor) -> set[Place] | None:
    """Returns the variables that a handle may refer to; empty if there are none, None if they are not known."""
    makers = reachable_from([tensor.op], lambda op: (t.op for t in op.inputs) if op.type in _PASSES else ())
    if any(op.type in _HANDLE_SOURCES or not is_registered_op(op.type) for op in makers):
        return None
    return {place_of(op) for op in makers if op.type in VARIABLE_TYPES}


class Observation:
    """The observation of a session for one `Interest`. Made by `observe`."""

    def __init__(self, watch: _SessionWatch, interest: Interest, active_runs: list[Any]) -> None:
        self._watch, self._interest, self._active_runs = watch, interest, active_runs

    def release(self) -> None:
        """Ends the observation; the last observation of a session restores its methods."""
        self._watch.remove(self._interest)
        self._active_runs = []

    def settle(self, timeout: float | None) -> None:
        """Waits for the runs that were active when the observation began.

        Raises:
            BusyError: a run did not finish in time.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while self._active_runs:
            stacks = {id(frame) for stack in _stacks() for frame in stack}
            self._active_runs = [frame for frame in self._active_runs if id(frame) in stacks]
            if self._active_runs:
                if end is not None and time.monotonic() > end:
                    raise BusyError
                _pause()

    def entering(
        self, elements: Sequence[Any], locks: Sequence[RWLock], timeout: float | None
    ) -> AbstractContextManager[None]:
        """Goes through all doors of a run of these ops and tensors, alone through `locks`; see `exclusive`."""
        return self._watch.entering(elements, locks, timeout)


@contextmanager
def exclusive(
    observations: Sequence[Observation], elements: Sequence[Any], locks: Sequence[RWLock], timeout: float | None
) -> Iterator[None]:
    """Runs the block while no other run is inside some doors.

    Args:
        observations: the observations for these doors in the session of the run; empty if the block runs no session.
        elements: the ops and tensors that the block runs.
        locks: the doors.
        timeout: how long to wait for other runs, in seconds.

    Raises:
        BusyError: the other runs did not finish in time.
    """
    for one in observations:
        one.settle(timeout)
    with (
        observations[0].entering(elements, locks, timeout)
        if observations
        else acquire_all(exclusive=locks, timeout=timeout)
    ):
        yield


def _pause() -> None:
    time.sleep(0.001)


def observe(session: TFSession, interest: Interest) -> Observation:
    """Makes all runs of a session go through the door of an interest, if they concern its variables.

    Args:
        session: a session, or a wrapper such as a monitored session.
        interest: the variables and their door.

    Runs that are already active do not go through the door; `exclusive` waits for them.
    """
    session = innermost(session)
    with _watch_lock:
        watch = _watches.get(session)
        if watch is None:
            watch = _watches[session] = _SessionWatch()
        watch.add(session, interest)
    return Observation(watch, interest, [f for f, e in _active_runs(session) if interest in watch.concerned(e)[0]])


_watch_lock = threading.RLock()
_watches: weakref.WeakKeyDictionary[Any, _SessionWatch] = weakref.WeakKeyDictionary()


class _SessionWatch:
    """The interests in the runs of one session."""

    def __init__(self) -> None:
        # Both are read and replaced as a pair, so no result for a run is cached for interests that were added later.
        self._current: tuple[tuple[Interest, ...], dict[Any, tuple[tuple[Interest, ...], bool]]] = ((), {})
        self._accesses: dict[Any, VariableAccess] = {}
        self._thread_state = threading.local()
        self._restore: Callable[[], None] | None = None

    def add(self, session: TFSession, interest: Interest) -> None:
        self._current = ((*self._current[0], interest), {})
        if self._restore is None:
            self._restore = _replace(session, self)

    def remove(self, interest: Interest) -> None:
        with _watch_lock:
            self._current = (tuple(other for other in self._current[0] if other is not interest), {})
            if not self._current[0] and self._restore is not None:
                self._restore()
                self._restore = None

    def concerned(self, elements: Sequence[Any] | None) -> tuple[tuple[Interest, ...], bool]:
        """Returns the interests of a run, all if it is not known, and whether it may wait for another run."""
        interests, cache = self._current
        if elements is None:
            return interests, True
        key = tuple([element.name for element in elements])
        result = cache.get(key)
        if result is None:
            if key not in self._accesses:
                self._accesses[key] = variable_access(elements)
            run = self._accesses[key]
            result = cache[key] = tuple(one for one in interests if one.concerned(run)), run.waits
        return result

    @contextmanager
    def entering(
        self, elements: Sequence[Any] | None, exclusive: Sequence[RWLock] = (), timeout: float | None = None
    ) -> Iterator[None]:
        """Goes through the doors of a run; runs of the same thread inside the block are part of this run."""
        interests, waits = self.concerned(elements)
        beside = [one.door for one in interests if one.door not in exclusive]
        with acquire_all(beside, exclusive, open_ended=waits, timeout=timeout):
            for one in interests:
                if one.refuse is not None and not one.door.is_alone():
                    one.refuse()
            before, self._thread_state.now = getattr(self._thread_state, "now", False), True
            try:
                yield
            finally:
                self._thread_state.now = before

    @property
    def inside(self) -> bool:
        """Whether this thread is inside an observed run."""
        return getattr(self._thread_state, "now", False)


def _replace(session: TFSession, watch: _SessionWatch) -> Callable[[], None]:
    """Replaces the run methods of a session by observed methods; returns a function that restores them."""
    whole = all(hasattr(session, name) for name in (RUN, EXTEND_AND_RUN))
    # The private methods that `run` calls get all elements of a run, even if a program has kept `run = session.run`.
    # Other versions of TensorFlow may not have these methods. A run may then use any variable.
    makers = {RUN: _observe_run, EXTEND_AND_RUN: _observe_call, MAKE_CALLABLE: _observe_callables}
    if not whole:
        makers = {"run": _observe_call, "partial_run": _observe_call, "make_callable": _observe_factory}
    before, new = dict(vars(session)), {}
    for name, maker in makers.items():
        with suppress(AttributeError):
            new[name] = maker(session, watch, getattr(session, name))
            setattr(session, name, new[name])

    def restore() -> None:
        for name, method in new.items():
            if vars(session).get(name) is method:  # otherwise other code has replaced the method since
                if name in before:
                    setattr(session, name, before[name])
                else:
                    delattr(session, name)

    return restore


def _observe_run(session: TFSession, watch: _SessionWatch, method: Any) -> Any:
    def observed_run(handle: Any, target_list: Any, fetch_list: Any, *args: Any, **options: Any) -> Any:
        elements = _graph_elements(session, [*target_list, *fetch_list])
        with watch.entering(elements):
            return method(handle, target_list, fetch_list, *args, **options)

    return observed_run


def _observe_call(session: TFSession, watch: _SessionWatch, method: Any) -> Any:
    def observed_call(*args: Any, **options: Any) -> Any:
        elements = _graph_elements(session, None)
        if watch.inside:
            return method(*args, **options)
        with watch.entering(elements):
            return method(*args, **options)

    return observed_call


def _observe_factory(session: TFSession, watch: _SessionWatch, method: Any) -> Any:
    return lambda *args, **more: _observe_call(session, watch, method(*args, **more))


def _observe_callables(session: TFSession, watch: _SessionWatch, method: Any) -> Any:
    def make(options: Any) -> Any:
        function = method(options)
        fetched = [session.graph.as_graph_element(name) for name in (*options.fetch, *options.target)]

        def observed_callable(*args: Any, **options: Any) -> Any:
            elements = _graph_elements(session, fetched)
            with watch.entering(elements):
                return function(*args, **options)

        return observed_callable

    return make


def _graph_elements(_session: Any, elements: Sequence[Any] | None) -> Sequence[Any] | None:
    """Returns the elements of a run. The caller assigns them to `elements`, a local name that `_active_runs` reads."""
    return elements


def _active_runs(session: TFSession) -> Iterator[tuple[Any, Sequence[Any] | None]]:
    """Yields the active runs of a session in other threads, as (frame, elements or None if they are not known).

    A thread that looked up a method before it was replaced is either still inside it, or will call another replaced
    method.
    """
    run_codes = {getattr(getattr(type(session), name, None), "__code__", None) for name in _RUNS}
    for stack in _stacks():
        run: tuple[Any, Sequence[Any] | None] | None = None
        for frame in stack:
            is_observer = frame.f_code.co_filename == __file__ and frame.f_code.co_name.startswith("observed_")
            if not is_observer and frame.f_code not in run_codes:
                continue
            variables = frame.f_locals
            if variables.get("session" if is_observer else "self") is session:
                elements = variables.get("elements")
                if "target_list" in variables and "fetch_list" in variables:
                    elements = [*variables["target_list"], *variables["fetch_list"]]
                run = frame, elements if run is None or elements is not None else run[1]
        if run is not None:
            yield run


def _stacks() -> list[list[Any]]:
    """Returns the frames of all other threads, innermost first."""
    tops = sys._current_frames()
    # The frame of this thread would refer to itself. Its local variables would be freed late, and a session with
    # them.
    tops.pop(threading.get_ident(), None)
    out = []
    for top in tops.values():
        out.append([top])
        while out[-1][-1].f_back is not None:
            out[-1].append(out[-1][-1].f_back)
    return out


_RUNS = (RUN, EXTEND_AND_RUN, "run", "partial_run")
