"""Steps: what a plan is made of, as values; and the faults that are found in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import PlanError
from ..graph.selection import Selection
from ..words import counted


@dataclass(frozen=True)
class Fault:
    """A reason why a plan cannot be applied: what was asked, what is wrong, what to type instead."""

    asked: str
    wrong: str
    instead: str

    def error(self, more: int = 0) -> PlanError:
        """Returns the error to raise for this fault; `more` other faults are mentioned."""
        others = f" (and {more} more: see plan.check())" if more else ""
        return PlanError(self.asked, self.wrong + others, self.instead)

    def __str__(self) -> str:
        return str(self.error())


#: As `values`: initial values are wanted, whatever the variables hold.
INITIAL = "initial"


@dataclass(frozen=True)
class CopyStep:
    """Copy a selection under a name scope; see `Plan.copy`."""

    selection: Selection
    to: str
    inputs: tuple[tuple[str, str], ...] = ()
    unmapped: str = "refuse"
    control: str = ""
    variables: tuple[tuple[str, str], ...] = (("*", "copy"),)
    values: Any = None
    collections: str = "rename"
    device: str | tuple[tuple[str, str], ...] = "keep"
    seeds: str = "keep"
    reuse: Mapping[str, str] | None = None  # source op -> op of the destination that is its copy already
    constants: tuple[tuple[str, Any], ...] = ()  # source tensor -> array that takes its place
    names: Mapping[str, str] | None = None  # source op, or tensor that gets a placeholder -> full name of the new op
    trainable: bool = True

    @property
    def asked(self) -> str:
        """The request, for messages."""
        return f"copy(to={self.to!r})"

    @property
    def text(self) -> str:
        """The step in words."""
        place = f"{self.to}/" if self.to else "the top"
        return f"copy {counted(len(self.selection), 'ops')} of {self.selection.graph.title} to {place}"


@dataclass(frozen=True)
class ConnectStep:
    """Set one input of one op; see `Plan.connect`."""

    tensor: str
    to: str
    input: int

    @property
    def asked(self) -> str:
        """The request, for messages."""
        return f"connect({self.tensor!r}, to={self.to!r}, input={self.input})"

    @property
    def text(self) -> str:
        """The step in words."""
        return f"connect {self.tensor} to input {self.input} of {self.to}"
