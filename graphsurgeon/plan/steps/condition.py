"""The step that fixes a condition: the chosen branch of each cond stays, and the ops of the condition are removed."""

from __future__ import annotations

from dataclasses import dataclass

from ..function_source import Sources
from .base import DestinationName, Step, call_code


@dataclass(frozen=True)
class ConditionStep(Step):
    """The condition of conds gets a fixed value; see `Plan.resolve_condition`."""

    tensor: DestinationName
    value: bool | int

    def code(self, sources: Sources) -> str:
        return call_code("resolve_condition", self.tensor, self.value)

    def describe(self) -> str:
        return f"resolve conditions: {self.tensor} is {self.value}"
