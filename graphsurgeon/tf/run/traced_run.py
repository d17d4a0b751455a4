"""Runs graphs with probes, in one or several passes, and reads the costs that TensorFlow measures."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...graph.control_flow import Frames, topological_places
from ...graph.graph import Graph, Mask
from ...graph.names import op_name
from ...graph.tensor_stats import SAMPLE, OpCost, TensorStats, Watch
from ...graph.training import random_ops
from ...graph.traversal import forward
from ...graph.types import TFSession
from ..functions.calls import FunctionCalls
from ..import_tensorflow import tf
from ..private.graphs import has_op
from ..registry import op_definition
from ..values.assign_values import run_once, translate_errors
from ..values.transfer import groups_within
from .errors import error_text, out_of_memory
from .probes import Probes


def costs_of(metadata: Any, without: Container[str] = frozenset()) -> dict[str, OpCost]:
    """Returns the cost of each op that ran.

    Args:
        metadata: a `RunMetadata` with `step_stats`.
        without: names of ops to leave out.

    Example:
        >>> import tensorflow as tf
        >>> tf1 = tf.compat.v1
        >>> with tf.Graph().as_default(), tf1.Session() as session:
        ...     y, about = tf.random.normal([100], name="y"), tf1.RunMetadata()
        ...     _ = session.run(y, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run_metadata=about)
        >>> cost = costs_of(about)["y/RandomStandardNormal"]
        >>> cost.runs, cost.device, cost.bytes >= 400
        (1, 'CPU:0', True)
    """
    rows: dict[str, list[Any]] = {}
    for device in metadata.step_stats.dev_stats:
        if "/stream" in device.device or "memcpy" in device.device:
            continue  # the ops of a GPU are listed twice
        where = device.device.rpartition("/device:")[2]
        for node in device.node_stats:
            name = node.node_name
            if name in without or name.startswith("_"):
                continue
            row = rows.setdefault(name, [0, 0, 0, where])
            row[0] += node.op_end_rel_nanos - node.op_start_rel_nanos or 1000 * node.op_end_rel_micros
            row[1] += sum(memory.total_bytes for memory in node.memory)
            row[2] += 1
    return {name: OpCost(name, row[0] * 1e-9, row[1], row[2], row[3]) for name, row in rows.items()}


def sizes_of(metadata: Any) -> dict[str, tuple[int, int]]:
    """Returns the sizes of the tensors of a run: tensor -> (bytes of the largest round, number of rounds).

    Args:
        metadata: a `RunMetadata` with `step_stats`.

    Example:
        >>> tf1 = tf.compat.v1
        >>> with tf.Graph().as_default(), tf1.Session() as session:
        ...     y, about = tf.random.normal([100], name="y"), tf1.RunMetadata()
        ...     _ = session.run(y, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run_metadata=about)
        >>> sizes_of(about)["y/RandomStandardNormal:0"]
        (400, 1)
    """
    sizes: dict[str, tuple[int, int]] = {}
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            for output in node.output:
                about, name = output.tensor_description, f"{node.node_name}:{output.slot}"
                size = math.prod(dim.size for dim in about.shape.dim) * (tf.as_dtype(about.dtype).base_dtype.size or 1)
                largest, rounds = sizes.get(name, (0, 0))
                sizes[name] = max(largest, size), rounds + 1
    return sizes


tf1 = tf.compat.v1

#: The interval between two calls of `watch`, in seconds.
_EVERY = 0.25
#: The maximum number of attempts of a run; after each failure, the op that caused it is left out.
_TRIES = 8
_NODE = re.compile(r"\{\{node ([^}\s]+)\}\}|Node: '([^']+)'|for operation '?([^\s':]+)")


@dataclass
class RunOutcome:
    """The results of a run.

    Args:
        notes: the recorded values of tensors.
        costs: op -> its cost; empty if the run was stopped.
        results: fetched tensor -> its value.
        stopped: why the run did not finish; empty if it did.
        unrecorded: tensor -> why it has no recorded value, although its op has run.
        dead: the ops that were left out, because they fail or depend on an op that fails.
        sizes: tensor -> (bytes of the largest round, number of rounds); empty unless requested.
        timed_out: whether the run was stopped by its time limit.
        ended: whether the run was ended by its time limit, by the user, or by an error without a known op.
    """

    notes: list[TensorStats] = field(default_factory=list)
    costs: dict[str, OpCost] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    stopped: str = ""
    timed_out: bool = False
    unrecorded: dict[str, str] = field(default_factory=dict)
    dead: Mask | None = None
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    ended: bool = False


def unoptimized() -> Any:
    """Returns the config of a session that does not optimize the graph: no op is folded, fused or removed."""
    config = tf1.ConfigProto(allow_soft_placement=True)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = tf1.OptimizerOptions.L0
    return config


def fill(session: TFSession, init_ops: Iterable[str], feeds: Mapping[str, Any]) -> None:
    """Runs the ops that fill the tables of a file, if the graph of the session has them and they have not run yet.

    Args:
        session: a session of a copy of some ops of the file.
        init_ops: the names of the ops in the file.
        feeds: their feeds in the file.
    """
    graph = session.graph
    ops = [graph.get_operation_by_name(name) for name in init_ops if has_op(graph, name)]
    with translate_errors(lambda: session, "trace()"):
        run_once(session, [one.name for op in ops for one in [*op.control_inputs, op]], feeds)


def run_with_probes(
    session: TFSession,
    base: Graph,
    outputs: Sequence[str],
    fed: Mapping[str, Any],
    probed: Probes,
    timeout: float | None = None,
    watch: Watch | None = None,
    *,
    again: Callable[[], TFSession] | None = None,
    probes: Sequence[int] | None = None,
    fetch: bool = True,
    dead: Mask | None = None,
    measure: bool = False,
) -> RunOutcome:
    """Runs a graph with probes.

    If an op cannot run, it is left out, and so are the ops that depend on it. All other ops are run.

    Args:
        session: a session of the graph.
        base: the snapshot of the graph without the probes.
        outputs: the tensors and ops to run.
        fed: tensor -> array.
        probed: the probes.
        timeout: the time limit, in seconds.
        watch: a function that is called regularly, and returns whether the run continues.
        again: a function that returns a session in the initial state; needed if a run changes the state.
        probes: the numbers of the probes to run; None for all.
        fetch: whether results are returned; the fetched tensors are run in any case.
        dead: ops that are left out from the start.
        measure: whether the sizes of tensors are returned.
    """
    ran, lost = RunOutcome(), set[int]()
    ran.dead = dead = np.zeros(base.size, np.bool_) if dead is None else dead.copy()
    options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
    if timeout is not None:
        options.timeout_in_ms = max(int(1000 * timeout), 1)

    def lives(name: str) -> bool:
        return not dead[base.index[op_name(name)]]

    for turn in range(_TRIES):
        if turn and again is not None:
            session = again()
        alive = list(filter(lives, outputs))
        elements = [session.graph.as_graph_element(name) for name in alive]
        numbers = range(len(probed.targets)) if probes is None else probes
        recorded = [number for number in numbers if number not in lost and lives(probed.tensors[number][0])]
        targets = [session.graph.get_operation_by_name(probed.targets[number]) for number in recorded]
        if not targets and not (elements and fetch):
            break
        about = tf1.RunMetadata()
        fetches = [elements, targets] if fetch else [[], [*targets, *(getattr(one, "op", one) for one in elements)]]
        run = partial(session.run, fetches, dict(fed), options=options, run_metadata=about)
        try:
            values, _ = run() if watch is None else _run_watched(run, session, probed, ran, watch)
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
            _exclude_failure(error, base, probed, ran, lost, dead)
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


def _exclude_failure(error: Any, base: Graph, probed: Probes, ran: RunOutcome, lost: set[int], dead: Mask) -> None:
    """Finds the cause of a failed run: a probe, which is added to `lost`, or an op, which is added to `dead`.

    All ops that depend on the op are added to `dead` too. If the cause is not known, the run is marked as ended.
    """
    notes = probed.read()
    message = out_of_memory(error) if isinstance(error, tf.errors.ResourceExhaustedError) else error_text(error)
    probe = next(filter(lambda one: one is not None, map(probed.watched, _failed_ops(error))), None)
    if probe is not None and probe not in lost:
        lost.add(probe)
        ran.unrecorded[probed.tensors[probe][0]] = f"its numbers could not be recorded: {message}"
        return
    op = next((base.index[name] for name in _failed_ops(error) if name in base.index), None)
    ran.stopped = ran.stopped or (f"{base.names[op]!r} ({base.types[op]}): {message}" if op is not None else message)
    if op is None or dead[op]:
        ran.notes += notes
        ran.ended = True
    else:
        dead |= forward(base, base.mask([op]))


def _run_watched(go: Callable[[], Any], session: TFSession, probed: Probes, ran: RunOutcome, watch: Watch) -> Any:
    """Runs a function in a separate thread. If `watch` returns False, keeps the notes and closes the session."""

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
        except BaseException:  # for example after Ctrl+C: the run in the thread must end too
            end()
            raise
        return run.result()


def _failed_ops(error: Any) -> list[str]:
    """Returns the ops that an error names, first the op that raised it; only the text contains the other ops."""
    names = [error.node_def.name] if error.node_def is not None else []
    return [*names, *(next(filter(None, groups)) for groups in _NODE.findall(str(error)))]


#: Ops that read a variable of TF1 without changing it; and prefixes of ops whose state does not outlive a run.
_READ, _OF_A_RUN = frozenset({"IsVariableInitialized", "RefSwitch", "RefEnter", "RefMerge"}), ("Stack", "TensorArray")
#: The size of a note in bytes, without its sample.
_NOTE = 512


def run_in_passes(
    session: TFSession,
    base: Graph,
    outputs: Sequence[str],
    fed: Mapping[str, Any],
    probed: Probes,
    timeout: float | None = None,
    watch: Watch | None = None,
    *,
    memory: int,
    again: Callable[[], TFSession] | None = None,
) -> RunOutcome:
    """Runs a graph with probes in several passes, so that the recorded tensors of a pass do not exceed a memory limit.

    The first pass records tensors of known shape, and measures the sizes of the other tensors. A tensor that is larger
    than the limit has a separate pass.

    Args:
        session, base, outputs, fed, probed, timeout, watch: as for `run_with_probes`; the time limit is for all passes.
        memory: the limit for the tensors of the probes of one pass and their notes, in bytes.
        again: a function that returns a session in the initial state; needed if a run changes the state.
    """
    frames, place = Frames(base), topological_places(base)
    ends = [base.tensor(name) for name, _, _ in probed.tensors]
    static_sizes = [_static_size(base, frames, end) for end in ends]
    remaining = sorted(range(len(ends)), key=lambda number: (place[ends[number][0]], ends[number]))
    numbers_in_pass = _group_within_memory(
        [number for number in remaining if static_sizes[number] is not None], static_sizes, memory
    )
    start, recorded = time.monotonic(), 0

    def run(numbers: Sequence[int], **about: Any) -> RunOutcome:
        time_left = None if timeout is None else max(timeout - (time.monotonic() - start), 0.001)
        report = None if watch is None else lambda some, of: watch(recorded + some, len(probed.targets))
        return run_with_probes(
            session, base, outputs, fed, probed, time_left, report, again=again, probes=numbers, **about
        )

    whole = run(numbers_in_pass, measure=True)
    recorded += len(numbers_in_pass)
    first_pass = set(numbers_in_pass)
    remaining = [number for number in remaining if number not in first_pass]
    sizes = [
        _note_size(*whole.sizes.get(probed.tensors[number][0], (0, 1)), frames, ends[number])
        if probed.tensors[number][0] in whole.sizes
        else static_sizes[number] or _NOTE
        for number in range(len(ends))
    ]
    for numbers_in_pass in groups_within({number: sizes[number] for number in remaining}, memory):
        if whole.ended:
            break
        if again is not None:
            session = again()
        ran = run(numbers_in_pass, fetch=False, dead=whole.dead)
        recorded += len(numbers_in_pass)
        whole.notes += ran.notes
        whole.unrecorded |= ran.unrecorded
        whole.dead, whole.ended = ran.dead, ran.ended
        if not whole.stopped:
            whole.stopped, whole.timed_out = ran.stopped, ran.timed_out
    if timeout is not None and whole.ended and whole.timed_out:
        whole.stopped = f"it took longer than {timeout:g} s"
    at = {name: (place[end[0]], end) for (name, _, _), end in zip(probed.tensors, ends, strict=True)}
    whole.notes.sort(key=lambda note: (at[note.tensor], note.rounds))
    return whole


def changes_state(base: Graph, runs: Mask) -> bool:
    """Returns whether a run changes the state for the next run, such as variables, queues or random generators.

    Args:
        base: the graph.
        runs: the ops that run.
    """
    if any(runs[op] for op in random_ops(base)):
        return True
    calls, cache = FunctionCalls(base), dict[str, bool]()
    for op in np.flatnonzero(runs).tolist():
        kind = base.types[op]
        if kind not in cache:
            definition = op_definition(kind)
            cache[kind] = (
                definition is not None and any(one.is_ref for one in definition.input_arg) and kind not in _READ
            )
        if cache[kind] or (not kind.startswith(_OF_A_RUN) and calls.acts(base.nodes[op])):
            return True
    return False


def _group_within_memory(numbers: Sequence[int], sizes: Sequence[int | None], memory: int) -> list[int]:
    """Returns the tensors that fit into the memory limit together, in order."""
    group, total = [], 0
    for number in numbers:
        size = sizes[number] or 0
        if total + size <= memory:
            group.append(number)
            total += size
    return group


def _static_size(base: Graph, frames: Frames, end: tuple[int, int]) -> int | None:
    """Returns the size of a tensor and its notes; None in a loop, or if the static shape is not fully known."""
    info = base.info(*end)
    if info is None or info.shape is None or None in info.shape or frames.of(end[0]) >= 0:
        return None
    width = tf.as_dtype(info.dtype).size or 16
    return _note_size(math.prod(size for size in info.shape if size is not None) * width, 1, frames, end)


def _note_size(largest: int, rounds: int, frames: Frames, end: tuple[int, int]) -> int:
    """Returns the maximum memory for a tensor and its notes; in a loop, for all rounds that run in parallel."""
    frame = frames.of(end[0])
    if frame < 0:
        return largest + min(largest, 8 * SAMPLE) + _NOTE
    return largest * min(rounds, frames.about(frame).parallel) + rounds * _NOTE
