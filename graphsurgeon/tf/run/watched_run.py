"""Watched run: one run with probes, and its notes, also if the run does not finish."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...graph.graph import Graph, Mask
from ...graph.live import TFSession
from ...graph.names import op_name
from ...graph.noted import Cost, Noted, Watch
from ...graph.traversal import forward
from ..importing import tf
from ..private.graphs import has_op
from ..values.sessions import placed, run_once
from .costs import costs_of, sizes_of
from .errors import out_of_memory, words_of
from .probes import Probed

tf1 = tf.compat.v1

#: The interval between two calls of `watch`, in seconds.
_EVERY = 0.25
#: The most attempts of a run: after each one the op that stopped it is left out.
_TRIES = 8
_NODE = re.compile(r"\{\{node ([^}\s]+)\}\}|Node: '([^']+)'|for operation '?([^\s':]+)")


@dataclass
class Ran:
    """The results of a run.

    Args:
        notes: the contents of tensors.
        costs: op -> its cost; empty if the run was stopped.
        results: tensor that was requested -> its value.
        stopped: why the run did not finish.
        unrecorded: tensor -> why it has no numbers, although its op has run.
        dead: the ops that were left out, because they stop a run or depend on an op that does.
        sizes: tensor -> (bytes of the largest round, number of rounds); empty unless requested.
        timed_out: whether the time limit is the reason.
        ended: whether it ended early, by its time limit, by the user, or by an error that no op explains.
    """

    notes: list[Noted] = field(default_factory=list)
    costs: dict[str, Cost] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    stopped: str = ""
    timed_out: bool = False
    unrecorded: dict[str, str] = field(default_factory=dict)
    dead: Mask | None = None
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    ended: bool = False


def unoptimised() -> Any:
    """Returns a session's config that runs each op unchanged: nothing is folded, fused or left out."""
    config = tf1.ConfigProto(allow_soft_placement=True)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = tf1.OptimizerOptions.L0
    return config


def fill(session: TFSession, init_ops: Iterable[str], feeds: Mapping[str, Any]) -> None:
    """Runs the ops that fill the tables of a file, if they exist in the session's graph and have not run yet.

    Args:
        session: a session of a copy of some ops of the file.
        init_ops: the names of the ops in the file.
        feeds: their feeds in the file.
    """
    graph = session.graph
    ops = [graph.get_operation_by_name(name) for name in init_ops if has_op(graph, name)]
    with placed(lambda: session, "trace()"):
        run_once(session, [one.name for op in ops for one in [*op.control_inputs, op]], feeds)


def watched_run(
    session: TFSession,
    base: Graph,
    wanted: Sequence[str],
    fed: Mapping[str, Any],
    probed: Probed,
    timeout: float | None = None,
    watch: Watch | None = None,
    *,
    again: Callable[[], TFSession] | None = None,
    probes: Sequence[int] | None = None,
    fetch: bool = True,
    dead: Mask | None = None,
    measure: bool = False,
) -> Ran:
    """Runs a graph with probes.

    If an op cannot run, the ops that depend on it are left out, and the rest is run.

    Args:
        session: a session of the graph.
        base: the snapshot of the graph without the probes.
        wanted: the tensors and ops to run.
        fed: tensor -> array.
        probed: the probes.
        timeout: the time limit, in seconds.
        watch: called regularly; returns whether the run continues.
        again: returns a session in the initial state, if a run changes the state that the next one reads.
        probes: the numbers of the probes to run; None for all.
        fetch: whether results are returned; the requested tensors are run in any case.
        dead: ops that are left out from the start.
        measure: whether sizes are reported.
    """
    ran, lost = Ran(), set[int]()
    ran.dead = dead = np.zeros(base.size, np.bool_) if dead is None else dead.copy()
    options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
    if timeout is not None:
        options.timeout_in_ms = max(int(1000 * timeout), 1)

    def lives(name: str) -> bool:
        return not dead[base.index[op_name(name)]]

    for turn in range(_TRIES):
        if turn and again is not None:
            session = again()
        alive = list(filter(lives, wanted))
        elements = [session.graph.as_graph_element(name) for name in alive]
        numbers = range(len(probed.targets)) if probes is None else probes
        recorded = [number for number in numbers if number not in lost and lives(probed.tensors[number][0])]
        targets = [session.graph.get_operation_by_name(probed.targets[number]) for number in recorded]
        if not targets and not (elements and fetch):
            break
        about = tf1.RunMetadata()
        fetches = [elements, targets] if fetch else [[], [*targets, *(getattr(one, "op", one) for one in elements)]]
        go = partial(session.run, fetches, dict(fed), options=options, run_metadata=about)
        try:
            values, _ = go() if watch is None else _watched(go, session, probed, ran, watch)
        except tf.errors.DeadlineExceededError:
            ran.notes += probed.read()
            if not ran.stopped:
                ran.stopped, ran.timed_out = f"it took longer than {timeout:g} s", True
            ran.ended = True
        except tf.errors.CancelledError:
            if not ran.stopped:
                raise
            ran.ended = True
        except tf.errors.OpError as error:
            _leave_out(error, base, probed, ran, lost, dead)
            if not ran.ended:
                continue
        else:
            ran.notes += probed.read()
            ran.costs = costs_of(about, probed.ops)
            ran.sizes = sizes_of(about) if measure else {}
            if fetch:
                ran.results = {name: value for name, value in zip(alive, values, strict=True) if value is not None}
        break
    return ran


def _leave_out(error: Any, base: Graph, probed: Probed, ran: Ran, lost: set[int], dead: Mask) -> None:
    """Leaves out, for the next run, the probe that stopped this one, or the op and all ops that depend on it.

    If neither stopped the run, the run has ended, and the notes are kept. `lost` and `dead` are added to.
    """
    notes = probed.read()
    said = out_of_memory(error) if isinstance(error, tf.errors.ResourceExhaustedError) else words_of(error)
    probe = next(filter(lambda one: one is not None, map(probed.watched, _named(error))), None)
    if probe is not None and probe not in lost:
        lost.add(probe)
        ran.unrecorded[probed.tensors[probe][0]] = f"its numbers could not be recorded: {said}"
        return
    op = next((base.index[name] for name in _named(error) if name in base.index), None)
    ran.stopped = ran.stopped or (f"{base.names[op]!r} ({base.types[op]}): {said}" if op is not None else said)
    if op is None or dead[op]:
        ran.notes += notes
        ran.ended = True
    else:
        dead |= forward(base, base.mask([op]))


def _watched(go: Callable[[], Any], session: TFSession, probed: Probed, ran: Ran, watch: Watch) -> Any:
    """Runs in a separate thread; if `watch` returns False, keeps the notes and ends the session."""

    def end() -> None:
        ran.notes += probed.read()
        ran.stopped = "it was stopped by hand"
        session.close()

    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(go)
        try:
            while not wait([run], _EVERY).done:
                if not watch(len(probed.notes), len(probed.targets)):
                    end()
                    break
        except BaseException:  # such as Ctrl+C: end the run in the thread too
            end()
            raise
        return run.result()


def _named(error: Any) -> list[str]:
    """The ops that an error names, the op that raised it first; TensorFlow has the others in its text only."""
    named = [error.node_def.name] if error.node_def is not None else []
    return [*named, *(next(filter(None, found)) for found in _NODE.findall(str(error)))]
