"""Runs graphs with probes, in one or several passes, and reads the costs that TensorFlow measures."""

from __future__ import annotations

import math
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
from ...graph.traversal import forward
from ...graph.types import TFSession
from ..import_tensorflow import tf
from ..op_types import CONTENT, HARMLESS, acting_ops
from ..private.graphs import has_op
from ..values.assign_values import run_once, translate_errors
from ..values.transfer import groups_within
from .errors import error_text, failed_ops, out_of_memory
from .probes import Probes


def costs_of(metadata: Any, excluded: Container[str] = frozenset()) -> dict[str, OpCost]:
    """Returns the cost of each op that ran.

    Args:
        metadata: a `RunMetadata` with `step_stats`.
        excluded: names of ops to leave out.

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
            if name in excluded or name.startswith("_"):
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
_INTERVAL = 0.25
#: The maximum number of attempts of a run; after each failure, the op that caused it is left out.
_TRIES = 8


@dataclass
class RunOutcome:
    """The results of a run.

    Args:
        stats: the recorded values of tensors.
        costs: op -> its cost; empty if the run was stopped.
        results: fetched tensor -> its value.
        stop_reason: why the run did not finish; empty if it did.
        unrecorded: tensor -> why it has no recorded value, although its op has run.
        dead: the ops that were left out, because they fail or depend on an op that fails.
        sizes: tensor -> (bytes of the largest round, number of rounds); empty unless requested.
        timed_out: whether the run was stopped by its time limit.
        aborted: whether the run was ended by its time limit, by the user, or by an error without a known op.
    """

    stats: list[TensorStats] = field(default_factory=list)
    costs: dict[str, OpCost] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    stop_reason: str = ""
    timed_out: bool = False
    unrecorded: dict[str, str] = field(default_factory=dict)
    dead: Mask | None = None
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    aborted: bool = False


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
    feeds: Mapping[str, Any],
    probe_set: Probes,
    timeout: float | None = None,
    watch: Watch | None = None,
    *,
    repeat: Callable[[], TFSession] | None = None,
    probes: Sequence[int] | None = None,
    fetch: bool = True,
    failing_ops: Mask | None = None,
    measure: bool = False,
) -> RunOutcome:
    """Runs a graph with probes.

    If an op cannot run, it is left out, and so are the ops that depend on it. All other ops are run.

    Args:
        session: a session of the graph.
        base: the snapshot of the graph without the probes.
        outputs: the tensors and ops to run.
        feeds: tensor -> array.
        probe_set: the probes.
        timeout: the time limit, in seconds.
        watch: a function that is called regularly, and returns whether the run continues.
        repeat: a function that returns a session in the initial state; needed if a run changes the state.
        probes: the numbers of the probes to run; None for all.
        fetch: whether results are returned; the fetched tensors are run in any case.
        failing_ops: ops that are left out from the start.
        measure: whether the sizes of tensors are returned.
    """
    outcome, failed = RunOutcome(), set[int]()
    outcome.dead = failing_ops = np.zeros(base.size, np.bool_) if failing_ops is None else failing_ops.copy()
    options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
    if timeout is not None:
        options.timeout_in_ms = max(int(1000 * timeout), 1)

    def lives(name: str) -> bool:
        return not failing_ops[base.index[op_name(name)]]

    for turn in range(_TRIES):
        if turn and repeat is not None:
            session = repeat()
        alive = list(filter(lives, outputs))
        elements = [session.graph.as_graph_element(name) for name in alive]
        numbers = range(len(probe_set.targets)) if probes is None else probes
        recorded = [number for number in numbers if number not in failed and lives(probe_set.tensors[number][0])]
        targets = [session.graph.get_operation_by_name(probe_set.targets[number]) for number in recorded]
        if not targets and not (elements and fetch):
            break
        about = tf1.RunMetadata()
        fetches = [elements, targets] if fetch else [[], [*targets, *(getattr(one, "op", one) for one in elements)]]
        run = partial(session.run, fetches, dict(feeds), options=options, run_metadata=about)
        try:
            values, _ = run() if watch is None else _run_watched(run, session, probe_set, outcome, watch)
        except tf.errors.DeadlineExceededError:
            outcome.stats += probe_set.read()
            if not outcome.stop_reason:
                outcome.stop_reason, outcome.timed_out = f"it took longer than {timeout:g} s", True
            outcome.aborted = True
        except tf.errors.CancelledError:
            if not outcome.stop_reason:
                raise
            outcome.aborted = True
        except tf.errors.OpError as error:
            _exclude_failure(error, base, probe_set, outcome, failed, failing_ops)
            if not outcome.aborted:
                continue
        else:
            outcome.stats += probe_set.read()
            outcome.costs = costs_of(about, probe_set.ops)
            outcome.sizes = sizes_of(about) if measure else {}
            if fetch:
                outcome.results = {name: value for name, value in zip(alive, values, strict=True) if value is not None}
        break
    return outcome


def _exclude_failure(
    error: Any, base: Graph, probe_set: Probes, outcome: RunOutcome, failed_probes: set[int], failing_ops: Mask
) -> None:
    """Finds the cause of a failed run: a probe, added to `failed_probes`, or an op, added to `failing_ops`.

    All ops that depend on the op are added to `failing_ops` too. If the cause is not known, the run is marked as ended.
    """
    notes = probe_set.read()
    message = out_of_memory(error) if isinstance(error, tf.errors.ResourceExhaustedError) else error_text(error)
    probe = next(filter(lambda one: one is not None, map(probe_set.probe_of, failed_ops(error))), None)
    if probe is not None and probe not in failed_probes:
        failed_probes.add(probe)
        outcome.unrecorded[probe_set.tensors[probe][0]] = f"its numbers could not be recorded: {message}"
        return
    op = next((base.index[name] for name in failed_ops(error) if name in base.index), None)
    outcome.stop_reason = outcome.stop_reason or (
        f"{base.names[op]!r} ({base.types[op]}): {message}" if op is not None else message
    )
    if op is None or failing_ops[op]:
        outcome.stats += notes
        outcome.aborted = True
    else:
        failing_ops |= forward(base, base.mask([op]))


def _run_watched(
    start_run: Callable[[], Any], session: TFSession, probe_set: Probes, outcome: RunOutcome, watch: Watch
) -> Any:
    """Runs a function in a separate thread. If `watch` returns False, keeps the notes and closes the session."""

    def end() -> None:
        outcome.stats += probe_set.read()
        outcome.stop_reason = "it was stopped by hand"
        session.close()

    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(start_run)
        try:
            while not wait([run], _INTERVAL).done:
                if not watch(len(probe_set.stats), len(probe_set.targets)):
                    end()
                    break
        except BaseException:  # for example after Ctrl+C: the run in the thread must end too
            end()
            raise
        return run.result()


#: Ops that read a variable of TF1 without changing it; and prefixes of ops whose state does not outlive a run.
#: The size of a note in bytes, without its sample.
_NOTE = 512


def run_in_passes(
    session: TFSession,
    base: Graph,
    outputs: Sequence[str],
    feeds: Mapping[str, Any],
    probe_set: Probes,
    timeout: float | None = None,
    watch: Watch | None = None,
    *,
    memory: int,
    repeat: Callable[[], TFSession] | None = None,
) -> RunOutcome:
    """Runs a graph with probes in several passes, so that the recorded tensors of a pass do not exceed a memory limit.

    The first pass records tensors of known shape, and measures the sizes of the other tensors. A tensor that is larger
    than the limit has a separate pass.

    Args:
        session, base, outputs, feeds, probe_set, timeout, watch: as for `run_with_probes`; the time limit is for all
            passes.
        memory: the limit for the tensors of the probes of one pass and their notes, in bytes.
        repeat: a function that returns a session in the initial state; needed if a run changes the state.
    """
    frames, place = Frames(base), topological_places(base)
    ends = [base.tensor(name) for name, _, _ in probe_set.tensors]
    static_sizes = [_static_size(base, frames, end) for end in ends]
    remaining = sorted(range(len(ends)), key=lambda number: (place[ends[number][0]], ends[number]))
    numbers_in_pass = _group_within_memory(
        [number for number in remaining if static_sizes[number] is not None], static_sizes, memory
    )
    start, recorded = time.monotonic(), 0

    def run(numbers: Sequence[int], **options: Any) -> RunOutcome:
        time_left = None if timeout is None else max(timeout - (time.monotonic() - start), 0.001)
        report = None if watch is None else lambda some, of: watch(recorded + some, len(probe_set.targets))
        return run_with_probes(
            session, base, outputs, feeds, probe_set, time_left, report, repeat=repeat, probes=numbers, **options
        )

    total = run(numbers_in_pass, measure=True)
    recorded += len(numbers_in_pass)
    first_pass = set(numbers_in_pass)
    remaining = [number for number in remaining if number not in first_pass]
    sizes = [
        _note_size(*total.sizes.get(probe_set.tensors[number][0], (0, 1)), frames, ends[number])
        if probe_set.tensors[number][0] in total.sizes
        else static_sizes[number] or _NOTE
        for number in range(len(ends))
    ]
    for numbers_in_pass in groups_within({number: sizes[number] for number in remaining}, memory):
        if total.aborted:
            break
        if repeat is not None:
            session = repeat()
        outcome = run(numbers_in_pass, fetch=False, failing_ops=total.dead)
        recorded += len(numbers_in_pass)
        total.stats += outcome.stats
        total.unrecorded |= outcome.unrecorded
        total.dead, total.aborted = outcome.dead, outcome.aborted
        if not total.stop_reason:
            total.stop_reason, total.timed_out = outcome.stop_reason, outcome.timed_out
    if timeout is not None and total.aborted and total.timed_out:
        total.stop_reason = f"it took longer than {timeout:g} s"
    at = {name: (place[end[0]], end) for (name, _, _), end in zip(probe_set.tensors, ends, strict=True)}
    total.stats.sort(key=lambda note: (at[note.tensor], note.rounds))
    return total


def changes_state(base: Graph, ops_run: Mask) -> bool:
    """Returns whether a run changes the state for the next run, such as variables, queues or random generators.

    Args:
        base: the graph.
        ops_run: the ops that run.
    """
    return bool((ops_run & acting_ops(base, HARMLESS | {CONTENT})).any())


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
    if info is None or info.shape is None or None in info.shape or frames.innermost(end[0]) >= 0:
        return None
    width = tf.as_dtype(info.dtype).size or 16
    return _note_size(math.prod(size for size in info.shape if size is not None) * width, 1, frames, end)


def _note_size(largest: int, rounds: int, frames: Frames, end: tuple[int, int]) -> int:
    """Returns the maximum memory for a tensor and its notes; in a loop, for all rounds that run in parallel."""
    frame = frames.innermost(end[0])
    if frame < 0:
        return largest + min(largest, 8 * SAMPLE) + _NOTE
    return largest * min(rounds, frames.frame(frame).parallel) + rounds * _NOTE
