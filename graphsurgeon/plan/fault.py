"""Fault: a reason why a plan cannot be applied, and its fixes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..errors import Kind, PlanError, SurgeryError


@dataclass(frozen=True, eq=False)
class Fix:
    """A fix of a fault; `Plan.with_fix` applies it.

    Args:
        kinds: the kinds of the adapter, for `Plan.adapt`.
        text: its effect, in words.
        code, consequences: the code of the fix, and the changes that follow it.
        step: the step that has the fault.
        new_steps: the steps that replace it.
    """

    kinds: tuple[str, ...]
    text: str
    code: str
    step: Any
    new_steps: tuple[Any, ...]
    consequences: str = ""


@dataclass(frozen=True)
class Fault:
    """A reason why a plan cannot be applied: the request, the problem and the suggestion.

    Args:
        request, problem, suggestion: the three parts of its text.
        fixes: its fixes, the most sensible first.
        step: the number of the step of the plan that has it, from 0; None if the fault belongs to all steps.
        kind: its subject.
        names: its ops and tensors.
    """

    request: str
    problem: str
    suggestion: str
    fixes: tuple[Fix, ...] = field(default=(), compare=False)
    step: int | None = field(default=None, compare=False, repr=False)
    kind: Kind = field(default=Kind.OTHER, compare=False, repr=False)
    names: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def from_error(cls, error: SurgeryError) -> Fault:
        """Returns the fault of an error.

        Args:
            error: the error.
        """
        return cls(error.request, error.problem, error.suggestion, kind=error.kind, names=error.names)

    def to_error(self, more: int = 0) -> PlanError:
        """Returns the error to raise for this fault; `more` other faults are mentioned.

        Args:
            more: how many other faults there are.
        """
        others = f" (and {more} more: see plan.check())" if more else ""
        first = next(iter(self.fixes), None)
        adapt = f". Or adapt it: {first.code}{first.consequences}" if first else ""
        return PlanError(self.request, self.problem + others, self.suggestion + adapt, kind=self.kind, names=self.names)

    def __str__(self) -> str:
        return str(self.to_error())


class RefusedStep(Exception):
    """Raised if a step cannot be carried out; contains one fault for each reason."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(*faults)
        self.faults = faults


def refuse(faults: list[Fault]) -> None:
    """Raises RefusedStep if there are faults."""
    if faults:
        raise RefusedStep(faults)


class PlanWarning(str):
    """The text of a warning, with its kind.

    Example:
        >>> PlanWarning("leak: x:0 became a placeholder", Kind.LEAK).kind
        <Kind.LEAK: 'leak'>
    """

    __slots__ = ("kind",)
    kind: Kind

    def __new__(cls, text: str, kind: Kind = Kind.OTHER) -> PlanWarning:
        warning = super().__new__(cls, text)
        warning.kind = kind
        return warning


def warning_kind(warning: str) -> Kind:
    """Returns the kind of a warning of a plan."""
    return warning.kind if isinstance(warning, PlanWarning) else Kind.OTHER
