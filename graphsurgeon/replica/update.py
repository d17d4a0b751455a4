"""Update: the changes of one update of a duplicate, and the options of updates.

Updates are carried out in replica.py, over the ways in tf/values/replica_values.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from threading import TIMEOUT_MAX
from typing import Any

from ..errors import PlanError
from ..words import counted


@dataclass(frozen=True)
class Update:
    """The changes of an update; true if anything changed.

    Args:
        number: how many updates there were, this one included.
        changed: names of the variables of the duplicate that got another value. In one session TensorFlow sets all
            of them in one op, without a comparison.
        of: how many variables the duplicate has.
        bytes: the size of the fed values; 0 if the values never left TensorFlow.
        origin: the source of the values; empty if there was nothing newer.
        seconds: its duration.
        skipped: checkpoint -> why it was not taken, of those newer than the one that was.
    """

    number: int
    changed: tuple[str, ...]
    of: int
    bytes: int
    origin: str
    seconds: float = field(default=0.0, compare=False, repr=False)
    skipped: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.changed)

    def __str__(self) -> str:
        if not self.origin:
            return "no update: there is nothing newer"
        moved = f", {counted(self.bytes, 'bytes')}" if self.bytes else ""
        not_taken = "".join(f"; {name} is not whole: {why}" for name, why in self.skipped.items())
        share = "all" if len(self.changed) == self.of > 1 else f"{len(self.changed)} of"
        held = f"{share} {counted(self.of, 'variables')}"
        return f"update {self.number}: {held}, from {self.origin}{moved}{not_taken}"


def part(tau: Any, verb: str) -> float:
    """Returns `tau`, a number above 0 and at most 1.

    Raises:
        PlanError: if it is not such a number.
    """
    if isinstance(tau, bool) or not isinstance(tau, Real) or not 0 < float(tau) <= 1:
        raise PlanError(f"{verb}(tau={tau!r})", "tau must be a number above 0 and at most 1", "Try tau=0.005")
    return float(tau)


def times(every: Any, verb: str) -> int:
    """Returns `every`, a whole number of steps above 0.

    Raises:
        PlanError: if it is not such a number.
    """
    if isinstance(every, bool) or not isinstance(every, Integral) or every < 1:
        raise PlanError(f"{verb}(every={every!r})", "every must be a number of steps, at least 1", "Try every=100")
    return int(every)


def pause(seconds: Any) -> float:
    """Returns `seconds`, a time above 0.

    Raises:
        PlanError: if it is not such a time.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, Real) or not 0 < float(seconds) < TIMEOUT_MAX:
        raise PlanError(f"follow(seconds={seconds!r})", "seconds must be a number above 0", "Try seconds=5")
    return float(seconds)
