"""The steps that collapse ops into a call, inline calls and unroll loops.

The module tf/edit/builders.py builds the rounds of an unrolled loop, and their names.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import counted, few
from ...graph.selection import Selection
from ..function_source import Sources
from .base import Code, DestinationName, NewName, Step, call_code, ops_code


@dataclass(frozen=True)
class CollapseStep(Step):
    """Ops become one call of a function; see `Plan.collapse`."""

    ops: tuple[DestinationName, ...]
    name: NewName
    code_argument: Selection | DestinationName | None = None  # the selection or scope, for its code

    @property
    def request(self) -> str:
        return call_code("collapse", Code(counted(len(self.ops), "ops")), name=self.name).removeprefix(".")

    def code(self, sources: Sources) -> str:
        return call_code("collapse", ops_code(self.ops, self.code_argument, sources), name=self.name)

    def describe(self) -> str:
        return f"collapse {few(self.ops)} to one call, {self.name}"


@dataclass(frozen=True)
class InlineStep(Step):
    """A function call is replaced by the ops of its function; see `Plan.inline`.

    Args:
        ops: the calls, and conds and loops inside them, by their names after the calls are inlined.
        is_implicit: whether the step was added only because a later step names an op inside.
    """

    ops: tuple[DestinationName, ...]
    is_implicit: bool = False

    def code(self, sources: Sources) -> str:
        return call_code("inline", self.ops)

    def describe(self) -> str:
        return f"inline {few(self.ops)}" + ", because a later step names an op inside" * self.is_implicit


@dataclass(frozen=True)
class UnrollStep(Step):
    """A loop is replaced by a fixed number of its rounds; see `Plan.unroll`."""

    loop: DestinationName
    times: int

    def code(self, sources: Sources) -> str:
        return call_code("unroll", self.loop, self.times)

    def describe(self) -> str:
        return f"unroll {self.loop} to {counted(self.times, 'rounds')}"
