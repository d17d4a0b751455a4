"""The step that makes the earlier edits on copies of the affected ops, so that the plan changes no existing op."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import few
from ..function_source import Sources
from .base import DestinationName, NewName, PlainText, Step, call_code

#: The values of the arguments of `Plan.on_copies`.
ASSIGN = ("copy", "leave")
INITIAL_COLLECTIONS = ("keep", "none", "rename")


@dataclass(frozen=True)
class OnCopiesStep(Step):
    """The edits so far are made on copies of the ops that they change; see `Plan.on_copies`."""

    to: NewName
    until: tuple[DestinationName, ...] = ()
    assign: PlainText = "leave"
    collections: PlainText = "none"

    def code(self, sources: Sources) -> str:
        return call_code("on_copies", scope=self.to, **self.given("until", "assign", "collections"))

    def describe(self) -> str:
        end = f", up to {few(self.until)}" if self.until else ""
        return f"make the edits so far on copies under {self.to}/{end}"
