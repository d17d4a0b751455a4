"""Passes: repeats a run with the probes of a few tensors at a time, so that few of these are in memory at once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...graph.draws import drawing
from ...graph.frames import Frames, order
from ...graph.graph import Graph, Mask
from ...graph.live import TFSession
from ...graph.noted import SAMPLE, Watch
from ..functions.calls import Calls
from ..importing import tf
from ..registry import op_definition
from ..values.transfer import bounded
from .probes import Probed
from .watched_run import Ran, watched_run

#: Ops that read a variable of TF1 and do not change it; and ops whose results are gone after a run.
_READ, _OF_A_RUN = frozenset({"IsVariableInitialized", "RefSwitch", "RefEnter", "RefMerge"}), ("Stack", "TensorArray")
#: The bytes of a note in addition to its sample.
_NOTE = 512


def passes(
    session: TFSession,
    base: Graph,
    wanted: Sequence[str],
    fed: Mapping[str, Any],
    probed: Probed,
    timeout: float | None = None,
    watch: Watch | None = None,
    *,
    memory: int,
    again: Callable[[], TFSession] | None = None,
) -> Ran:
    """Runs a graph with probes in as many passes as are needed, so that their tensors do not exceed a limit.

    The first pass has the tensors whose shapes are known in advance, and measures the sizes of the others. A tensor
    that is larger than the limit has a separate pass.

    Args:
        session, base, wanted, fed, probed, timeout, watch: as for `watched_run`; the time limit is for all passes.
        memory: the most bytes for the tensors of the probes of one pass and their notes.
        again: returns a session in the initial state; required if a run changes the state that the next one reads.
    """
    frames, place = Frames(base), order(base)
    ends = [base.tensor(name) for name, _, _ in probed.tensors]
    known = [_known(base, frames, end) for end in ends]
    left = sorted(range(len(ends)), key=lambda number: (place[ends[number][0]], ends[number]))
    here = _fitting([number for number in left if known[number] is not None], known, memory)
    begun, done = time.monotonic(), 0

    def run(numbers: Sequence[int], **about: Any) -> Ran:
        time_left = None if timeout is None else max(timeout - (time.monotonic() - begun), 0.001)
        report = None if watch is None else lambda some, of: watch(done + some, len(probed.targets))
        return watched_run(session, base, wanted, fed, probed, time_left, report, again=again, probes=numbers, **about)

    whole = run(here, measure=True)
    done += len(here)
    taken = set(here)
    left = [number for number in left if number not in taken]
    sizes = [
        _size(*whole.sizes.get(probed.tensors[number][0], (0, 1)), frames, ends[number])
        if probed.tensors[number][0] in whole.sizes
        else known[number] or _NOTE
        for number in range(len(ends))
    ]
    for here in bounded({number: sizes[number] for number in left}, memory):
        if whole.ended:
            break
        if again is not None:
            session = again()
        ran = run(here, fetch=False, dead=whole.dead)
        done += len(here)
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


def lasts(base: Graph, runs: Mask) -> bool:
    """Returns whether a run of some ops changes the state for the next run: variables, queues, random generators.

    Args:
        base: the graph.
        runs: its ops that run.
    """
    if any(runs[op] for op in drawing(base)):
        return True
    calls, known = Calls(base), dict[str, bool]()
    for op in np.flatnonzero(runs).tolist():
        kind = base.types[op]
        if kind not in known:
            about = op_definition(kind)
            known[kind] = about is not None and any(one.is_ref for one in about.input_arg) and kind not in _READ
        if known[kind] or (not kind.startswith(_OF_A_RUN) and calls.acts(base.nodes[op])):
            return True
    return False


def _fitting(numbers: Sequence[int], sizes: Sequence[int | None], memory: int) -> list[int]:
    """The tensors that fit together, in order."""
    found, total = [], 0
    for number in numbers:
        size = sizes[number] or 0
        if total + size <= memory:
            found.append(number)
            total += size
    return found


def _known(base: Graph, frames: Frames, end: tuple[int, int]) -> int | None:
    """The size of a tensor and its notes; None if its static shape is not complete, or in a loop."""
    info = base.info(*end)
    if info is None or info.shape is None or None in info.shape or frames.of(end[0]) >= 0:
        return None
    width = tf.as_dtype(info.dtype).size or 16
    return _size(math.prod(size for size in info.shape if size is not None) * width, 1, frames, end)


def _size(largest: int, rounds: int, frames: Frames, end: tuple[int, int]) -> int:
    """The most memory for a tensor and its notes: in a loop, for all rounds that run in parallel."""
    frame = frames.of(end[0])
    if frame < 0:
        return largest + min(largest, 8 * SAMPLE) + _NOTE
    return largest * min(rounds, frames.about(frame).parallel) + rounds * _NOTE
