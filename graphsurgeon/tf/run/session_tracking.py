"""Locks for runs of a session: every run of any thread locks the variables that it touches.

A run is not atomic: it sets one variable after another. To read a consistent version, a reader must know when other
runs happen, including runs by direct calls of `session.run`. Each session that holds an original or a duplicate is
observed, by replacing the methods that all of its runs go through. When the last observer has finished, the methods are
restored.
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
from ...graph.concurrency import BusyError, RWLock, entered
from ...graph.names import tensor_name
from ...graph.tf_types import TFGraph, TFSession, TFTensor
from ...graph.traversal import met_from
from ...graph.variables import VARIABLE_TYPES
from ...plan.dependencies import READERS, REF_WRITERS
from ..importing import tf
from ..open.snapshot import snapshot
from ..private.sessions import EXTEND_AND_RUN, MAKE_CALLABLE, RUN, innermost
from ..registry import known_op
from ..values.variables import Place, place_of

Translate = Callable[[Any], Any]


def fetched(thing: Any, request: str, graph: TFGraph, title: str, translate: Translate | None = None) -> Any:
    """Returns the ops and tensors to run, in the given structure, with each name looked up.

    Args:
        thing: a name, an op, tensor or variable, or a structure of these, in the form of `Session.run`.
        request: the request, for messages; the name replaces ``{}``.
        graph: the graph of the run.
        title: the name of the graph in messages.
        translate: returns the counterpart of an object of another graph, if there may be one.

    Raises:
        SelectionError: a name does not exist (the message proposes similar names), or an object is of another graph.
    """
    if isinstance(thing, Mapping):
        return {key: fetched(value, request, graph, title, translate) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        items = [fetched(item, request, graph, title, translate) for item in thing]
        return type(thing)(*items) if hasattr(thing, "_fields") else type(thing)(items)
    if isinstance(thing, str):
        with suppress(KeyError, ValueError):
            return graph.as_graph_element(thing)
        base = snapshot(graph, title=title)
        (base.tensor if ":" in thing else base.find)(thing, request.format(repr(thing)))
        return graph.as_graph_element(thing)
    other = getattr(thing, "graph", graph)
    if other is None or other is graph:
        return thing
    if translate is not None:
        return translate(thing)
    name = getattr(thing, "name", type(thing).__name__)
    problem = f"{name!r} is an object of another graph, not of {title}"
    raise SelectionError(request.format(repr(name)), problem, "Give the one of this graph, or its name as text")


def fed(feeds: Any, request: str, graph: TFGraph, title: str, translate: Translate | None = None) -> dict[Any, Any]:
    """Returns the feeds, tensor -> value; arguments as in `fetched`.

    Raises:
        SelectionError: as in `fetched`; or the feeds are not a mapping.
    """
    if feeds is not None and not isinstance(feeds, Mapping):
        problem = f"{type(feeds).__name__} is not a mapping"
        raise SelectionError(request.format("feeds=..."), problem, "Give {'x:0': array}")
    items = ((tensor_name(key) if isinstance(key, str) else key, value) for key, value in (feeds or {}).items())
    return {fetched(key, request, graph, title, translate): value for key, value in items}


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
        """Copies all values to the replica; also after TensorFlow has replaced a session that failed."""
        self._replica.attach(session)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Counts the runs, and updates the replica after every n-th."""
        self._runs += 1
        if self._runs % self._every == 0:
            self._replica.update()


#: Ops that only read a resource variable; for a reference variable, all ops except writers only read it.
LOOKS = frozenset({*READERS, "VarIsInitializedOp"})
#: Ops that pass on their input, also a variable.
_PASSES = frozenset(prefix + kind for prefix in ("", "Ref") for kind in
                    ("Identity", "Enter", "Exit", "Switch", "Merge", "NextIteration"))  # fmt: skip
#: Ops that return handles of unknown variables, such as function calls.
_GIVES = frozenset({"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase", "PartitionedCall",
                    "StatefulPartitionedCall", "RemoteCall", "SymbolicGradient", "IdentityN", "Select", "SelectV2",
                    "Placeholder", "PlaceholderV2"})  # fmt: skip
#: Ops that may wait until another run does something.
_WAITS = ("QueueDequeue", "QueueEnqueue", "ReaderRead", "Barrier", "Stage", "Unstage", "MapStage", "MapUnstage",
          "OrderedMap", "AccumulatorTake", "SparseAccumulatorTake", "ResourceAccumulatorTake", "PyFunc", "EagerPyFunc",
          "Recv", "Collective")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Interest:
    """An interest in reading some variables consistently.

    Args:
        door: runs that set one of the variables go through it.
        places: the variables.
        local: the variables among them that may only count the input of a queue. A run that waits and sets only these
            is not a training step.
        looks: runs that only read one of them go through the door too.
        refuse: called inside; raises an error if the variables cannot be read now.
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
    """The variables that a run touches.

    Args:
        places: the variables that it reads or sets.
        sets: the variables that it sets; None if they are not known.
        waits: whether it may wait for another run.
    """

    places: frozenset[Place]
    sets: frozenset[Place] | None
    waits: bool


def places_of(graph: TFGraph, variables: Iterable[str]) -> frozenset[Place]:
    """Returns the places of variables of a graph, by the names of their ops."""
    return frozenset(place_of(graph.get_operation_by_name(name)) for name in variables)


def touched(elements: Iterable[Any]) -> VariableAccess:
    """Returns the variables that a run of these ops and tensors touches.

    Example:
        >>> with tf.Graph().as_default():
        ...     w = tf.compat.v1.get_variable("w", initializer=1.0)
        ...     y, step = w * 2.0, w.assign_add(1.0)
        >>> [(len(found.places), len(found.sets)) for found in (touched([y]), touched([step.op]))]
        [(1, 0), (1, 1)]
    """
    places: set[Place] = set()
    sets: set[Place] | None = set()
    waits = False
    start = (getattr(element, "op", element) for element in elements)
    for op in met_from(start, lambda op: [*(tensor.op for tensor in op.inputs), *op.control_inputs]):
        kind = op.type
        if kind in VARIABLE_TYPES:
            places.add(place_of(op))
        waits = waits or kind.startswith(_WAITS)
        if kind not in _PASSES and kind not in LOOKS:
            for tensor in op.inputs:
                dtype = tensor.dtype
                if dtype == tf.resource or (dtype != dtype.base_dtype and kind.startswith(REF_WRITERS)):
                    variables = _variables(tensor)
                    sets = None if sets is None or variables is None else sets | variables
    return VariableAccess(frozenset(places), None if sets is None else frozenset(sets), waits)


def _variables(tensor: TFTensor) -> set[Place] | None:
    """The variables that a handle may refer to, empty if it is not of a variable; None if they are not known."""
    makers = met_from([tensor.op], lambda op: (t.op for t in op.inputs) if op.type in _PASSES else ())
    if any(op.type in _GIVES or not known_op(op.type) for op in makers):
        return None
    return {place_of(op) for op in makers if op.type in VARIABLE_TYPES}


class Observation:
    """The observation of a session for an interest. Made by `observe`."""

    def __init__(self, watch: _SessionWatch, interest: Interest, under_way: list[Any]) -> None:
        self._watch, self._interest, self._under_way = watch, interest, under_way

    def release(self) -> None:
        """Ends the observation; if it was the last one, the methods of the session are restored."""
        self._watch.remove(self._interest)
        self._under_way = []

    def settle(self, timeout: float | None) -> None:
        """Waits for the runs that were active when the observation began.

        Raises:
            BusyError: a run did not finish in time.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while self._under_way:
            stacks = {id(frame) for stack in _stacks() for frame in stack}
            self._under_way = [frame for frame in self._under_way if id(frame) in stacks]
            if self._under_way:
                if end is not None and time.monotonic() > end:
                    raise BusyError
                _pause()

    def entering(
        self, elements: Sequence[Any], doors: Sequence[RWLock], timeout: float | None
    ) -> AbstractContextManager[None]:
        """Goes through the doors of a run of these ops and tensors, and alone through some of them; see `alone`."""
        return self._watch.entering(elements, doors, timeout)


@contextmanager
def alone(
    observed: Sequence[Observation], elements: Sequence[Any], doors: Sequence[RWLock], timeout: float | None
) -> Iterator[None]:
    """Runs the block while no other run is inside some doors.

    Args:
        observed: the observations for these doors in the session of the run; empty if no session runs anything.
        elements: the ops and tensors that will be run.
        doors: the doors that no other run may be inside.
        timeout: how long to wait for other runs, in seconds.

    Raises:
        BusyError: the other runs did not finish in time.
    """
    for one in observed:
        one.settle(timeout)
    with observed[0].entering(elements, doors, timeout) if observed else entered(alone=doors, timeout=timeout):
        yield


def _pause() -> None:
    time.sleep(0.001)


def observe(session: TFSession, interest: Interest) -> Observation:
    """Begins to send the runs of a session through the door of an interest.

    Args:
        session: a session, or a wrapper of one, such as a monitored session.
        interest: the variables and their door.

    `alone` waits for the runs that are already active.
    """
    session = innermost(session)
    with _making:
        watch = _watches.get(session)
        if watch is None:
            watch = _watches[session] = _SessionWatch()
        watch.add(session, interest)
    return Observation(watch, interest, [f for f, e in _under_way(session) if interest in watch.concerned(e)[0]])


_making = threading.RLock()
_watches: weakref.WeakKeyDictionary[Any, _SessionWatch] = weakref.WeakKeyDictionary()


class _SessionWatch:
    """The interests in the runs of one session."""

    def __init__(self) -> None:
        # Read and replaced as one pair: results for a run are never kept for interests that were added later.
        self._now: tuple[tuple[Interest, ...], dict[Any, tuple[tuple[Interest, ...], bool]]] = ((), {})
        self._known: dict[Any, VariableAccess] = {}
        self._inside = threading.local()
        self._restore: Callable[[], None] | None = None

    def add(self, session: TFSession, interest: Interest) -> None:
        self._now = ((*self._now[0], interest), {})
        if self._restore is None:
            self._restore = _replace(session, self)

    def remove(self, interest: Interest) -> None:
        with _making:
            self._now = (tuple(other for other in self._now[0] if other is not interest), {})
            if not self._now[0] and self._restore is not None:
                self._restore()
                self._restore = None

    def concerned(self, elements: Sequence[Any] | None) -> tuple[tuple[Interest, ...], bool]:
        """The interests that a run concerns, and whether it may wait for another run; for None, all interests."""
        interests, cache = self._now
        if elements is None:
            return interests, True
        key = tuple([element.name for element in elements])
        result = cache.get(key)
        if result is None:
            if key not in self._known:
                self._known[key] = touched(elements)
            run = self._known[key]
            result = cache[key] = tuple(one for one in interests if one.concerned(run)), run.waits
        return result

    @contextmanager
    def entering(
        self, elements: Sequence[Any] | None, alone: Sequence[RWLock] = (), timeout: float | None = None
    ) -> Iterator[None]:
        """Goes through the doors of a run; further runs of this thread inside it are part of it."""
        interests, waits = self.concerned(elements)
        beside = [one.door for one in interests if one.door not in alone]
        with entered(beside, alone, open_ended=waits, timeout=timeout):
            for one in interests:
                if one.refuse is not None and not one.door.is_alone():
                    one.refuse()
            before, self._inside.now = getattr(self._inside, "now", False), True
            try:
                yield
            finally:
                self._inside.now = before

    @property
    def inside(self) -> bool:
        """Whether this thread is inside an observed run."""
        return getattr(self._inside, "now", False)


def _replace(session: TFSession, watch: _SessionWatch) -> Callable[[], None]:
    """Replaces the run methods of a session by methods that report their runs; returns a call that restores them."""
    whole = all(hasattr(session, name) for name in (RUN, EXTEND_AND_RUN))
    # The methods below `run` get all elements of a run, also if a program has kept `run = session.run`. Another
    # TensorFlow may not have these methods: then any run may touch anything.
    makers = {RUN: _known, EXTEND_AND_RUN: _unknown, MAKE_CALLABLE: _callables}
    if not whole:
        makers = {"run": _unknown, "partial_run": _unknown, "make_callable": _made}
    before, new = dict(vars(session)), {}
    for name, maker in makers.items():
        with suppress(AttributeError):
            new[name] = maker(session, watch, getattr(session, name))
            setattr(session, name, new[name])

    def restore() -> None:
        for name, method in new.items():
            if vars(session).get(name) is method:  # otherwise other code has replaced it again
                if name in before:
                    setattr(session, name, before[name])
                else:
                    delattr(session, name)

    return restore


def _known(session: TFSession, watch: _SessionWatch, method: Any) -> Any:
    def observed_run(handle: Any, target_list: Any, fetch_list: Any, *args: Any, **more: Any) -> Any:
        elements = _of(session, [*target_list, *fetch_list])
        with watch.entering(elements):
            return method(handle, target_list, fetch_list, *args, **more)

    return observed_run


def _unknown(session: TFSession, watch: _SessionWatch, method: Any) -> Any:
    def observed_call(*args: Any, **more: Any) -> Any:
        elements = _of(session, None)
        if watch.inside:
            return method(*args, **more)
        with watch.entering(elements):
            return method(*args, **more)

    return observed_call


def _made(session: TFSession, watch: _SessionWatch, method: Any) -> Any:
    return lambda *args, **more: _unknown(session, watch, method(*args, **more))


def _callables(session: TFSession, watch: _SessionWatch, method: Any) -> Any:
    def make(options: Any) -> Any:
        function = method(options)
        fetched = [session.graph.as_graph_element(name) for name in (*options.fetch, *options.target)]

        def observed_callable(*args: Any, **more: Any) -> Any:
            elements = _of(session, fetched)
            with watch.entering(elements):
                return function(*args, **more)

        return observed_callable

    return make


def _of(_session: Any, elements: Sequence[Any] | None) -> Sequence[Any] | None:
    """The elements of a run: `_under_way` finds the frames in which `session` and `elements` are local names."""
    return elements


def _under_way(session: TFSession) -> Iterator[tuple[Any, Sequence[Any] | None]]:
    """The active runs of a session in other threads, each as (its frame, its elements; None if they are not known).

    A thread that looked up a method before its replacement either calls another replaced method later, or is inside it.
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
    """The frames of each other thread, innermost first."""
    tops = sys._current_frames()
    # A frame that refers to itself, and its local variables, are freed late, but a session must end at once.
    tops.pop(threading.get_ident(), None)
    out = []
    for top in tops.values():
        out.append([top])
        while out[-1][-1].f_back is not None:
            out[-1].append(out[-1][-1].f_back)
    return out


_RUNS = (RUN, EXTEND_AND_RUN, "run", "partial_run")
