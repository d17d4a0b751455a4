"""A duplicate that follows its original, and the changes of one update. `gs.duplicate` makes a duplicate.

This module carries out the updates. tf/values/replica_values.py reads and sets the values.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real
from threading import TIMEOUT_MAX
from typing import Any

import numpy as np

from .. import tf
from ..editor.applied import Applied
from ..errors import Kind, PlanError, SelectionError, counted, warn
from ..graph.concurrency import BusyError, RWLock
from ..graph.reports import only_initial_text
from ..graph.types import FeedDict, PathLike, TensorsLike, TFSession


@dataclass(frozen=True)
class Update:
    """The changes of an update; true if anything changed.

    Args:
        number: the number of updates so far, including this one.
        changed: names of the variables of the duplicate that got a new value. If duplicate and original share a
            session, these are all variables: one op sets them, without a comparison.
        total: the number of variables of the duplicate.
        bytes: the size of the fed values; 0 if the values never left TensorFlow.
        origin: the source of the values; empty if there was nothing newer.
        seconds: the duration of the update.
        skipped: newer checkpoint that was not read -> the reason.
    """

    number: int
    changed: tuple[str, ...]
    total: int
    bytes: int
    origin: str
    seconds: float = field(default=0.0, compare=False, repr=False)
    skipped: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.changed)

    def __str__(self) -> str:
        if not self.origin:
            return "no update: there is nothing newer"
        size_text = f", {counted(self.bytes, 'bytes')}" if self.bytes else ""
        not_taken = "".join(f"; {name} is not whole: {why}" for name, why in self.skipped.items())
        share = "all" if len(self.changed) == self.total > 1 else f"{len(self.changed)} of"
        share_text = f"{share} {counted(self.total, 'variables')}"
        return f"update {self.number}: {share_text}, from {self.origin}{size_text}{not_taken}"


def check_tau(tau: Any, verb: str) -> float:
    """Returns `tau`, a number above 0 and at most 1.

    Raises:
        PlanError: `tau` has another type or value.
    """
    if isinstance(tau, bool) or not isinstance(tau, Real) or not 0 < float(tau) <= 1:
        raise PlanError(f"{verb}(tau={tau!r})", "tau must be a number above 0 and at most 1", "Try tau=0.005")
    return float(tau)


def check_interval(every: Any, verb: str) -> int:
    """Returns `every`, a whole number of steps above 0.

    Raises:
        PlanError: `every` has another type or value.
    """
    if isinstance(every, bool) or not isinstance(every, Integral) or every < 1:
        raise PlanError(f"{verb}(every={every!r})", "every must be a number of steps, at least 1", "Try every=100")
    return int(every)


class Replica:
    """A duplicate that follows its original. Made by `gs.duplicate`.

    ``replica[name or object]`` returns the copy of an op, tensor or variable of the original, and `run` runs it.
    Between two runs, `update` copies the values of the original. Three other ways call it: `step` on every n-th call,
    `hook` in a monitored session, and `follow` from a background thread.

    A run never reads a mix of old and new values, even if other threads train, update and read. An update reads the
    values between two steps of the original, and sets them between two runs of the duplicate. This is only true for
    steps by `train` or inside `training`, and for runs by `run` or inside `reading`. A ``session.run`` in another
    thread waits for no update, and no update waits for it. If another program trains, follow its checkpoints.

    Args:
        result: the applied plan that made the copy.
        pairs: pairs of a variable and its original.
        source: the source of values; None if there is no source yet.
        open_session: a function that makes a session for the duplicate; None if the session belongs to the caller.
        session: the session of the duplicate, if there is one yet.
        grouped: the ops that update the duplicate, if it shares a session with the original.
        every, tau: as given to `gs.duplicate`.
        on_close: a function that initializes tables, and variables without an original, in a session; None if they are
            already initialized.
        initial: variables of the original whose copies start from initial values and follow from the first update on.
    """

    def __init__(
        self,
        result: Applied,
        pairs: list[Any],
        source: tf.values.replica_values.ReplicaSource | None,
        open_session: Callable[[], Any] | None,
        session: TFSession | None,
        grouped: tf.values.replica_values.UpdateOps | None,
        every: int,
        tau: float,
        on_close: Callable[[Any], None] | None,
        initial: Collection[str] = (),
    ) -> None:
        self.applied, self.every, self.tau = result, every, tau
        self.session: Any = None
        self.error: Exception | None = None
        self._pairs = {pair.old.op: pair for pair in pairs}
        self._source: Any = source
        self._open_session, self._grouped, self._on_close = open_session, grouped, on_close
        # The first lock is for the steps of an original without a session, the second for the runs of the duplicate.
        self._object_steps, self._lock, self._update_lock = RWLock(), RWLock(), threading.RLock()
        self._hashes: dict[str, bytes] = {}
        self._count = self._steps = 0
        self._closed = False
        self._copy_all = True  # the next update copies all values, regardless of tau
        self._uninitialized = list(self._pairs)  # originals of the variables without given values
        self._has_warned = grouped is not None  # whether a warning was given, or initial values were requested
        self._torn = False  # whether the last update was not completed
        self._waiting = ""  # the followed folder, while it had no checkpoint yet
        self._stop: threading.Event | None = None
        self._live_in(session)
        self._start(initial)
        self._count = 0  # the copy of the first values is not counted as an update

    # -- looking and running --------------------------------------------------------------------------

    @property
    def graph(self) -> Any:
        """The graph the duplicate is in."""
        return self.applied.graph

    @property
    def variables(self) -> list[str]:
        """Names of the variables of the duplicate that follow an original."""
        return [pair.new.op for pair in self._pairs.values()]

    def __getitem__(self, key: Any) -> Any:
        """Returns the copy of an op, tensor or variable of the original, given by name or object."""
        return self.applied[key]

    def __repr__(self) -> str:
        at = f" under {scope}/" if (scope := self.applied.copies[0].step.to) else ""
        summary = f"{counted(len(self._pairs), 'variables')}, {counted(self._count, 'updates')}"
        notes = [] if self.error is None else [f"error: {self.error}"]
        notes += [f"warning: {sentence}" for sentence in self.applied.warnings]
        return f"<Replica of {self.applied.copies[0].source.title}{at}: {'; '.join([summary, *notes])}>"

    def run(self, fetches: TensorsLike, feeds: FeedDict | None = None) -> Any:
        """Runs the duplicate with the values of a single update: no variable is set during the run.

        Args:
            fetches: as for `Session.run`. If the duplicate is in another graph, ops and tensors of the original are
                replaced by their copies. Names are names in the graph of the duplicate.
            feeds: tensor -> array; tensors are given like fetches.

        Raises:
            SelectionError: no op or tensor has this name; similar names are proposed.
            PlanError: the duplicate is closed, has no session yet, has seen no checkpoint of the folder that it
                follows, or its last update failed half-way.
        """
        about = (self.graph, "the duplicate", self._copy)
        try:
            with self.reading() as session:
                targets = tf.run.sessions.resolve_fetches(fetches, "run({})", *about)
                feed_values = tf.run.sessions.resolve_feeds(feeds, "run({})", *about)
                return session.run(targets, feed_values)
        except tf.run.sessions.LOST_SERVER_ERRORS:
            if self._open_session is None:
                raise
        with self._update_lock:
            self._reopen()
            self.update(1.0)
        with self.reading() as session:
            return session.run(targets, feed_values)

    def _copy(self, obj: Any) -> Any:
        """Returns the copy of an op or tensor of the original, for a fetch or a feed."""
        try:
            return self.applied[obj]
        except SelectionError as error:
            name = str(getattr(obj, "name", obj))
            raise SelectionError(
                f"run({name!r})", f"the duplicate has no copy of {name!r}", error.suggestion
            ) from error

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """Yields the session, for several runs with the values of a single update; updates wait until the block ends.

        Raises:
            PlanError: the duplicate is closed, has no session yet, has seen no checkpoint of the folder that it
                follows, or its last update failed half-way.
        """
        with self._lock.reading():
            if self._closed:
                raise PlanError("run(...)", "the duplicate is closed", "Make a new one with gs.duplicate(...)")
            if self.session is None:
                raise PlanError(
                    "run(...)", "the duplicate has no session yet", "Give it a session: replica.attach(session)"
                )
            if self._torn:
                raise PlanError("run(...)", "the last update was not completed", "Call replica.update() again")
            if self._waiting:
                raise PlanError(
                    "run(...)",
                    f"the duplicate has no values: there was no checkpoint in {self._waiting!r} yet",
                    "Call replica.update(wait=60), or allow earlier answers: replica.follow(folder, values='initial')",
                )
            self._warn_lack()
            yield self.session

    def _warn_lack(self) -> None:
        """Warns once that runs use values that did not come from the original."""
        if self._has_warned or not self._uninitialized:
            return
        self._has_warned = True
        (problem,) = only_initial_text(
            dict.fromkeys(self._uninitialized, "because the duplicate has not received values yet")
        )
        how = (
            "Give it the values of the original: replica.attach(session), replica.follow(folder) or "
            "gs.duplicate(..., values=session); or ask for initial values: gs.duplicate(..., variables='initial')"
        )
        warn(str(PlanError("run(...)", problem, how)))

    def train(self, fetches: TensorsLike | Callable[[], object], feeds: FeedDict | None = None) -> Any:
        """Runs one training step of the original, between two updates.

        Args:
            fetches: as for `Session.run`, in the session of the original. If the original is a Keras model, a
                `tf.Module` or a function: a function without arguments that takes a step.
            feeds: tensor -> array, as for `Session.run`.

        Returns:
            the fetched values, or the return value of the function.

        Raises:
            SelectionError: no op or tensor of the original has this name; similar names are proposed.
            PlanError: the original is trained elsewhere or is not attached yet, or this thread is reading the
                duplicate.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     w = tf.compat.v1.get_variable("w", initializer=1.0)
            ...     learn = w.assign_add(1.0)
            >>> session = tf.compat.v1.Session(graph=graph)
            >>> session.run(w.initializer)
            >>> replica = gs.duplicate(session)
            >>> print(replica.train(learn), replica.run(w), replica.update().changed, replica.run(w))
            2.0 1.0 ('w',) 2.0
        """
        session = self._training_session("train(...)")
        with self._step_lock.reading():
            if session is not None:
                about = (self.applied.copies[0].source.owner, "the original")
                return session.run(
                    tf.run.sessions.resolve_fetches(fetches, "train({})", *about),
                    tf.run.sessions.resolve_feeds(feeds, "train({})", *about),
                )
            if not callable(fetches) or feeds is not None:
                how = "Give a function without arguments: replica.train(lambda: model.train_on_batch(x, y))"
                raise PlanError("train(...)", "the original has no session: it is a Python object", how)
            return fetches()

    @contextmanager
    def training(self) -> Iterator[Any]:
        """Treats several runs of the original as one step: no update reads values until the block ends.

        The block must not wait for a step that begins later in another thread, because an update may be before it.

        Yields the session of the original; None if the original is an object without a session.

        Raises:
            PlanError: the original is trained elsewhere or is not attached yet, or this thread is reading the
                duplicate.

        Example:
            ``with replica.training() as session: session.run(critic), session.run(actor)``
        """
        session = self._training_session("training()")
        with self._step_lock.reading():
            yield session

    def _training_session(self, request: str) -> Any:
        """Returns the session that the original is trained in; None if it needs no session."""
        if self._lock.is_reader():
            raise PlanError(request, "this thread is reading the duplicate", "Train outside of `with reading()`")
        session, source = self._session_of_original(), self._source
        if session is None and (source is None or source.elsewhere):
            problem = f"the original is trained {source.elsewhere}" if source else "it has no session to train in"
            raise PlanError(request, problem, "Give the session of the original: replica.attach(session)")
        return session

    def _session_of_original(self) -> Any:
        if self._grouped is not None:
            return self.session
        return None if self._source is None else self._source.session

    # -- following ------------------------------------------------------------------------------------

    def update(self, tau: float | None = None, *, wait: float = 0.0, timeout: float = 60.0) -> Update:
        """Copies the values of the original: reads them between two of its steps, and sets them between two runs.

        Args:
            tau: the step size: 1 copies, 0.01 moves 1 % of the way. Default: the value given to `gs.duplicate`.
                Counters and flags are always copied.
            wait: if the duplicate follows a folder: how long to wait for a newer checkpoint, in seconds.
            timeout: how long to wait for the end of running steps, and then of running reads, in seconds.

        Returns:
            an `Update`, which lists the changes.

        Raises:
            PlanError: there is nothing to follow, a variable of the original has no value, or this thread is reading.
                Also if the cluster does not answer, if there was no pause between steps before the timeout, or if an
                object was changed while it was read.
            OpenError: a newer checkpoint in the folder is half-written, damaged, or of another model. The duplicate is
                not changed.
        """
        tau = check_tau(self.tau if tau is None else tau, "update")
        if self._closed:
            raise PlanError("update()", "the duplicate is closed", "Make a new one with gs.duplicate(...)")
        if self._source is None and self._grouped is None:
            how = "Attach a session, replica.attach(session), or follow a folder, replica.follow(folder)"
            raise PlanError("update()", "the duplicate has no session or folder to follow", how)
        self._lock.refuse_reader()
        try:
            with self._update_lock, tf.run.progress.Phases("updating the duplicate", 3):
                start = time.perf_counter()
                if self._grouped is not None:
                    return self._update_grouped(self._grouped, tau, start, timeout)
                tf.run.progress.phase("reading values")
                snapshot, skipped = self._newest(wait, timeout)
                if snapshot is None:
                    return Update(self._count, (), len(self._pairs), 0, "")
                try:
                    return self._transfer(*snapshot, tau, start, skipped, timeout)
                except tf.run.sessions.LOST_SERVER_ERRORS:
                    if self._open_session is None:
                        raise
                self._reopen()
                return self._transfer(*snapshot, tau, start, skipped, timeout)
        except PlanError as error:
            if error.kind is not Kind.CLOSED_SESSION:
                raise
            how = "Give another: replica.attach(session)"
            raise PlanError(error.request, error.problem, how, kind=error.kind) from error

    @property
    def _step_lock(self) -> RWLock:
        """The lock for the steps of the original: a step shares it, an update holds it alone."""
        session = self._session_of_original()
        return self._object_steps if session is None else _steps_in(session)

    @contextmanager
    def _alone(self, timeout: float, *locks: RWLock) -> Iterator[None]:
        """Holds locks alone; other threads wait."""
        try:
            with ExitStack() as stack:
                for lock in locks:
                    stack.enter_context(lock.exclusive(timeout))
                yield
        except BusyError as error:
            raise PlanError(
                "update()",
                f"steps of the original or reads of the duplicate were running for {timeout:g} s without a pause",
                "Pause the steps and reads, or wait longer: replica.update(timeout=600)",
            ) from error

    @contextmanager
    def _mixed(self) -> Iterator[None]:
        """Marks the values as a mix of two updates until the block ends; the mark stays if the block fails."""
        before, self._torn = self._torn, True
        try:
            yield
        except PlanError:  # nothing was set
            self._torn = before
            raise
        self._torn = False

    def _newest(self, wait: float, timeout: float) -> tuple[tuple[str, dict[str, Any]] | None, Mapping[str, str]]:
        """Returns the new values with their origin, or None; and the skipped checkpoints with the reasons."""
        end = time.monotonic() + wait
        while True:
            snapshot = self._source.newest(list(self._pairs.values()), partial(self._alone, timeout, self._step_lock))
            if snapshot is not None:
                return snapshot, self._source.skipped
            if time.monotonic() >= end:
                if self._source.incomplete_error is not None:
                    raise self._source.incomplete_error
                return None, {}
            time.sleep(min(0.05, max(0.0, end - time.monotonic())))

    def _update_grouped(
        self, ops: tf.values.replica_values.UpdateOps, tau: float, start: float, timeout: float
    ) -> Update:
        if self.session is None:
            raise PlanError(
                "update()", "the duplicate has no session yet", "Give it a session: replica.attach(session)"
            )
        if tau != 1.0 and ops.soft is None:
            raise PlanError(
                f"update(tau={tau:g})",
                "the duplicate was made without ops for soft updates",
                "Make a new one with them: gs.duplicate(..., tau=...)",
            )
        hard = tau == 1.0
        op, feeds = (ops.copy, {}) if hard else (ops.soft, {ops.tau: tau})
        with (
            self._alone(timeout, self._step_lock, self._lock),
            self._mixed(),  # TensorFlow reads all values before it sets the first one
            tf.values.variables.errors_if_empty([pair.old for pair in self._pairs.values()], "update()"),
        ):
            self.session.run(op, feeds)
        self._count += 1
        names = tuple(self.variables)
        return Update(self._count, names, len(names), 0, "the same session", time.perf_counter() - start)

    def _transfer(
        self,
        origin: str,
        values: dict[str, Any],
        tau: float,
        start: float,
        skipped_checkpoints: Mapping[str, str],
        timeout: float,
    ) -> Update:
        tf.run.progress.phase("comparing values")
        if self.session is None:
            raise PlanError(
                "update()", "the duplicate has no session yet", "Give it a session: replica.attach(session)"
            )
        pairs = {name: self._pairs[name] for name in values}
        if tau == 1.0 or self._copy_all:
            now = tf.values.replica_values.digests(values)
            todo = {n: v for n, v in values.items() if pairs[n].written or self._hashes.get(n) != now[n]}
        else:
            now = {}
            before = tf.values.replica_values.current_values(self.session, list(pairs.values()))
            new_values = {
                n: tf.values.replica_values.interpolate(before[n], v, tau) if pairs[n].soft else v
                for n, v in values.items()
            }
            todo = {n: v for n, v in new_values.items() if not np.array_equal(before[n], v)}
        tf.run.progress.phase(f"setting {counted(len(todo), 'variables')}")
        if todo:
            self._set(todo, timeout)
        self._hashes, self._copy_all, self._uninitialized, self._waiting = now, False, [], ""
        self._count += 1
        size = sum(int(v.nbytes) for v in todo.values())
        names = tuple(pairs[n].new.op for n in values if n in todo)
        return Update(
            self._count, names, len(self._pairs), size, origin, time.perf_counter() - start, skipped_checkpoints
        )

    def _set(self, values: Mapping[str, Any], timeout: float) -> None:
        """Sets variables of the duplicate while no thread reads it."""
        pairs = {name: self._pairs[name] for name in values}
        self._hashes = {}  # after a failure, the next update sets all variables
        step = _steps_in(self.session).reading()  # for another duplicate, with this one as its original
        with step, self._alone(timeout, self._lock), self._mixed():
            tf.values.replica_values.feed(self.session, values, pairs)

    def _start(self, initial: Collection[str]) -> None:
        """Copies the values of all variables except those that start from initial values."""
        original = self._session_of_original()
        source = self._source if original is None else tf.values.replica_values.SessionSource(original)
        if not initial:
            if source is not None:
                self.update(1.0)
            return
        self._uninitialized = [name for name in self._pairs if name not in initial]
        if self._uninitialized and source is not None:
            pairs = [self._pairs[name] for name in self._uninitialized]
            self._set(source.newest(pairs, partial(self._alone, 60.0, self._step_lock))[1], 60.0)
            self._uninitialized = []
        self._copy_all = False  # so the first soft update moves only a fraction of the way

    def step(self) -> Update | None:
        """Counts one step of the original; updates on every n-th call (`every` is n).

        Returns:
            the update, or None if this call made none.
        """
        self._steps += 1
        return self.update() if self._steps % self.every == 0 else None

    def hook(self, every: int | None = None) -> Any:
        """Returns a `tf.compat.v1.train.SessionRunHook` that updates after every n-th run of a monitored session.

        Args:
            every: n; default: the value given to `gs.duplicate`.

        When the session is made, the duplicate copies all values, regardless of `tau`.
        """
        return tf.values.replica_values.UpdateHook(self, check_interval(self.every if every is None else every, "hook"))

    def attach(self, session: TFSession) -> Replica:
        """Follows the original in another session of its graph, for example after a crash, and copies all values.

        Args:
            session: the session to follow from now on.

        Raises:
            PlanError: the session is of another graph, or it does not have the device of the duplicate.
        """
        refuse_foreign(session, self.applied.copies[0].source.owner, "attach(session)")
        with self._update_lock:
            if self._grouped is None:
                self._source = tf.values.replica_values.SessionSource(session)
            else:
                tf.run.sessions.refuse_missing(self.applied.copies[0].step.device, session)
                self._live_in(session)
            self._hashes, self._copy_all = {}, True
            self.update(1.0)
        return self

    def _live_in(self, session: TFSession | None) -> None:
        """Switches the duplicate to a session, and initializes everything there that has no original."""
        with self._lock.writing():
            self.session = session
            if session is not None and self._on_close is not None:
                self._on_close(session)

    def follow(self, folder: PathLike, seconds: float | None = None, *, values: str | None = None) -> Replica:
        """Follows the checkpoints that a training writes to a folder, in this process or another.

        If the duplicate has no values yet, it cannot be run before the first checkpoint.

        Args:
            folder: the folder, with or without checkpoints. Only complete checkpoints are read: index, shards, sizes
                and the checksum of each value are verified before a variable is set.
            seconds: the interval at which a background thread calls `update`. An error there is kept as `error`, and
                the duplicate is not changed. Default: updates happen only when `update` is called.
            values: ``"initial"`` allows runs with initial values before the first checkpoint.

        Raises:
            PlanError: the duplicate shares a session with its original, so it already follows it; or `values` is not
                one of its allowed values.
            OpenError: the folder does not exist.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
            ...     w = tf.compat.v1.get_variable("w", initializer=7.0)
            ...     session.run(w.initializer)
            ...     path = tf.compat.v1.train.Saver().save(session, "training/model", global_step=100)
            >>> replica = gs.duplicate(graph).follow("training")
            >>> print(replica.update(), "-", replica.run(replica[w]))
            update 1: 1 of 1 variable, from model-100, 4 bytes - 7.0
            >>> print(replica.update())
            no update: there is nothing newer
        """
        request = f"follow({str(folder)!r})"
        place: object = folder
        if not isinstance(place, (str, os.PathLike)):
            problem = f"an object of type {type(place).__name__} is not a folder"
            raise PlanError(
                request, problem, "Give the path of a folder; to follow a session, use replica.attach(session)"
            )
        interval: Any = seconds
        number = isinstance(interval, Real) and not isinstance(interval, bool)
        if interval is not None and not (number and 0 < interval < TIMEOUT_MAX):
            raise PlanError(f"follow(seconds={seconds!r})", "seconds must be a number above 0", "Try seconds=5")
        if values not in (None, "initial"):
            raise PlanError(
                f"follow(values={values!r})",
                "values= can only be 'initial' or None here",
                "Use values='initial', or leave out values=",
            )
        if self._grouped is not None:
            raise PlanError(
                request,
                "the duplicate and its original are in the same graph, and share a session",
                "Make the duplicate without graph=, so that it has its own session",
            )
        source = tf.values.replica_values.FolderSource(folder)
        source.folder.refuse_missing()
        self._has_warned = self._has_warned or values is not None
        with self._update_lock:
            self._rest()
            with self._lock.writing():
                self._source = source
                self._waiting = source.folder.folder if self._uninitialized and values is None else ""
        if seconds is not None:
            self._stop = threading.Event()
            threading.Thread(target=_follow_loop, args=(weakref.ref(self), self._stop, seconds), daemon=True).start()
        return self

    # -- ending ---------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stops following, and closes the session if the duplicate made it."""
        self._rest()
        with self._update_lock, self._lock.writing():
            if self._open_session is not None and self.session is not None and not self._closed:
                self.session.close()
            self._closed = True

    def __enter__(self) -> Replica:
        return self

    def __exit__(self, *_error: Any) -> None:
        self.close()

    def _rest(self) -> None:
        if self._stop is not None:
            self._stop.set()
            self._stop = None

    def _reopen(self) -> None:
        """Makes a new session after a task of the cluster was lost, and copies all values again."""
        assert self._open_session is not None
        with self._lock.writing():
            self.session = self._open_session()
            self._hashes, self._copy_all = {}, True
            if self._source is not None:
                self._source.reset()


_session_locks: weakref.WeakKeyDictionary[Any, RWLock] = weakref.WeakKeyDictionary()


def _steps_in(session: TFSession) -> RWLock:
    """Returns the lock for the steps in a session, which all its duplicates have in common."""
    return _session_locks.setdefault(tf.private.graphs.innermost(session), RWLock())


def refuse_foreign(session: Any, graph: Any, request: str) -> None:
    """Raises a PlanError if `session` is not a session of the graph of the original."""
    if getattr(session, "graph", None) is not graph:
        raise PlanError(
            request, "this is not a session of the original's graph", "Give a session of the original's graph"
        )


def _follow_loop(replica: weakref.ref[Replica], stop: threading.Event, seconds: float) -> None:
    """Updates a replica repeatedly, until it is closed or deleted."""
    while not stop.wait(seconds):
        one = replica()
        if one is None:
            return
        try:
            with tf.run.progress.silent():  # the update runs in the background, so it shows no progress
                one.update()
            one.error = None
        except Exception as error:  # there is no caller to raise to, and the next update may succeed
            one.error = error if not stop.is_set() else None
        del one
