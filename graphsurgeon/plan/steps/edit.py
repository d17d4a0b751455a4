"""The steps that remove, bypass, rename and set existing ops, and the one that rebuilds the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...errors import counted, few
from ...graph.selection import Selection
from ..function_source import Sources, literal
from .base import INITIAL, Code, DestinationName, NewName, PlainText, Step, call_code, ops_code


@dataclass(frozen=True)
class BypassStep(Step):
    """The consumers of ops read the inputs of these ops; see `Plan.bypass`."""

    ops: tuple[DestinationName, ...]
    input: int | DestinationName | None
    output: int | DestinationName | None
    code_argument: Selection | DestinationName | None = None  # the selection or scope, for its code

    @property
    def request(self) -> str:
        if len(self.ops) != 1:
            return f"bypass({counted(len(self.ops), 'ops')})"
        return replace(self, code_argument=None).code(Sources()).removeprefix(".")

    def code(self, sources: Sources) -> str:
        given = self.code_argument if len(self.ops) != 1 or isinstance(self.code_argument, str) else None
        return call_code("bypass", ops_code(self.ops, given, sources), input=self.input, output=self.output)

    def describe(self) -> str:
        return f"bypass {few(self.ops)}"

    def adapted(self, old: str, new: str, name: str) -> Mapping[str, Any] | None:
        return {"to": old} if len(self.ops) == 1 else None


@dataclass(frozen=True)
class RemoveStep(Step):
    """Ops are removed; see `Plan.remove`."""

    ops: tuple[DestinationName, ...]
    stitch: bool = False

    def code(self, sources: Sources) -> str:
        return call_code("remove", self.ops, **self.given("stitch"))

    def describe(self) -> str:
        return f"remove {few(self.ops)}" + (" and reconnect their consumers" if self.stitch else "")


@dataclass(frozen=True)
class SetStep(Step):
    """Attributes or the device of ops are set; see `Plan.set_attr` and `Plan.set_device`."""

    ops: tuple[DestinationName, ...]
    attributes: tuple[tuple[PlainText, Any], ...] = ()
    device: PlainText | None = None

    @property
    def request(self) -> str:
        return self._call(None).removeprefix(".")

    def code(self, sources: Sources) -> str:
        return self._call(sources)

    def _call(self, sources: Sources | None) -> str:
        if self.device is not None:
            return call_code("set_device", self.ops, self.device)
        name, value = self.attributes[0]
        return call_code("set_attr", self.ops, name, Code(literal(value, sources)))

    def describe(self) -> str:
        if self.device is not None:
            return f"place {few(self.ops)} on {self.device or 'any device'}"
        return f"set {', '.join(name for name, _ in self.attributes)} of {few(self.ops)}"


@dataclass(frozen=True)
class RenameStep(Step):
    """Ops and whole name scopes are renamed, all at once; see `Plan.rename`."""

    names: tuple[tuple[DestinationName, NewName], ...]
    values: Any = None

    @property
    def request(self) -> str:
        return replace(self, values=None).code(Sources()).removeprefix(".")

    def code(self, sources: Sources) -> str:
        plain = self.values is None or self.values == INITIAL
        values = self.values if plain else Code(sources.names.values_code(self))
        if len(self.names) > 1:
            return call_code("rename", dict(self.names), values=values)
        ((old, new),) = self.names
        return call_code("rename", old, to=new, values=values)

    def describe(self) -> str:
        return "rename " + few([f"{old} to {new}" for old, new in self.names])

    @property
    def renames(self) -> Mapping[str, str]:
        return dict(self.names)

    def renamed(self, name: str) -> str:
        """Returns the name of an op or tensor after the step."""
        op, colon, port = name.partition(":")
        lead = max((old for old, _ in self.names if op == old or op.startswith(f"{old}/")), key=len, default=None)
        return name if lead is None else self.renames[lead] + op[len(lead) :] + colon + port


@dataclass(frozen=True)
class RebuildStep(Step):
    """The graph is rebuilt without its orphans; this is a step of the editor, not of a plan."""

    orphans: tuple[DestinationName, ...]

    def code(self, sources: Sources) -> str:
        return call_code("rebuild")

    def describe(self) -> str:
        count = len(self.orphans)
        return f"rebuild the graph without {counted(count, 'orphans')}" if count else "rebuild the graph"
