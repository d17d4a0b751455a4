"""Fault: a reason why a plan cannot be applied."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import PlanError, SurgeryError


@dataclass(frozen=True)
class Fault:
    """A reason why a plan cannot be applied: what was asked, what is wrong, what to type instead."""

    asked: str
    wrong: str
    instead: str

    @classmethod
    def of(cls, error: SurgeryError) -> Fault:
        """Returns the fault that an error tells of."""
        return cls(error.asked, error.wrong, error.instead)

    def error(self, more: int = 0) -> PlanError:
        """Returns the error to raise for this fault; `more` other faults are mentioned."""
        others = f" (and {more} more: see plan.check())" if more else ""
        return PlanError(self.asked, self.wrong + others, self.instead)

    def __str__(self) -> str:
        return str(self.error())
