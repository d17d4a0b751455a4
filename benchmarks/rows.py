"""Row: one promise, measured; and `seconds`, the stopwatch that all benchmarks share."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Row:
    """One measurement and its reference.

    Args:
        name: what was measured, and at which size.
        measured: our value, in `unit`.
        against: the peer's value in the same unit and run, or None for a promise in absolute terms.
        target: the largest good ratio measured / against; the largest good value if there is no peer.
        peer: what the peer is.
        unit: of both values.

    Example:
        >>> row = Row("copy, 10k ops", 0.2, 0.4, 0.8, "tf.import_graph_def")
        >>> row.ratio, row.ok
        (0.5, True)
    """

    name: str
    measured: float
    against: float | None
    target: float
    peer: str = ""
    unit: str = "s"

    @property
    def ratio(self) -> float | None:
        """Returns measured / against, or None without a peer."""
        return None if self.against is None else self.measured / self.against

    @property
    def ok(self) -> bool:
        """Tells whether the target is met."""
        return (self.measured if self.ratio is None else self.ratio) <= self.target

    def as_dict(self) -> dict[str, Any]:
        """Returns the row for results.json."""
        return {
            "name": self.name,
            "measured": self.measured,
            "against": self.against,
            "ratio": self.ratio,
            "target": self.target,
            "ok": self.ok,
            "peer": self.peer,
            "unit": self.unit,
        }


def skipped(what: str, why: str) -> None:
    """Says that a row is missing, and why."""
    print(f"  skipped: {what}: {why}", file=sys.stderr, flush=True)


def in_turns(
    ours: Callable[[], object], theirs: Callable[[], object], repeat: int = 5, resting: bool = False
) -> tuple[float, float]:
    """Returns the shortest runs of two calls, in seconds, that take turns: so both see the same machine.

    Each goes first every other time: who goes second finds memory that the other has just given back.

    Args:
        ours: the one call.
        theirs: the other call.
        repeat: how often each is run.
        resting: the garbage collector rests meanwhile.
    """
    best = {ours: float("inf"), theirs: float("inf")}
    for turn in range(repeat):
        for call in (ours, theirs) if turn % 2 else (theirs, ours):
            best[call] = min(best[call], seconds(call, 1, resting))
    return best[ours], best[theirs]


def seconds(call: Callable[[], object], repeat: int = 5, resting: bool = True) -> float:
    """Returns the shortest of `repeat` runs of `call`, in seconds; the garbage collector rests if `resting`.

    The shortest run is the one that the rest of the machine disturbed least.
    """
    best = float("inf")
    for _ in range(repeat):
        gc.collect()
        if resting:
            gc.disable()
        try:
            start = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - start)
        finally:
            gc.enable()
    return best
