"""The steps that set inputs and control inputs of existing ops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...errors import few
from ..function_source import Sources
from .base import DestinationName, PlainText, Step, call_code, consumers_text

#: The values of `side` of `Plan.detach`.
SIDES = ("both", "inputs", "outputs")


@dataclass(frozen=True)
class ConnectStep(Step):
    """Set one input of one op; see `Plan.connect`."""

    tensor: DestinationName
    to: DestinationName
    input: int

    def code(self, sources: Sources) -> str:
        return call_code("connect", self.tensor, to=self.to, input=self.input)

    def describe(self) -> str:
        return f"connect {self.tensor} to input {self.input} of {self.to}"

    def adapted(self, old: str, new: str, name: str) -> Mapping[str, Any]:
        return {"to": self.to, "input": self.input}


@dataclass(frozen=True)
class RerouteStep(Step):
    """All consumers of a tensor, or some of them, read another tensor; see `Plan.reroute`."""

    old: tuple[DestinationName, ...]
    to: tuple[DestinationName, ...]
    only: tuple[DestinationName, ...] | None = None
    exclude: tuple[DestinationName, ...] = ()

    def code(self, sources: Sources) -> str:
        return call_code("reroute", self.old, to=self.to, **self.given("only", "exclude"))

    def describe(self) -> str:
        return f"reroute {consumers_text(few(self.old), self.only, self.exclude)} to {few(self.to)}"

    def adapted(self, old: str, new: str, name: str) -> Mapping[str, Any] | tuple[Step, str]:
        if len(self.old) == 1:
            return {"to": old, "only": self.only, "exclude": self.exclude}
        pairs = zip(self.old, self.to, strict=True)
        return replace(self, to=tuple(f"{name}:0" if pair == (old, new) else pair[1] for pair in pairs)), ""


@dataclass(frozen=True)
class SwapStep(Step):
    """The consumers of two tensors are exchanged; see `Plan.swap`."""

    a: tuple[DestinationName, ...]
    b: tuple[DestinationName, ...]

    def code(self, sources: Sources) -> str:
        return call_code("swap", self.a, self.b)

    def describe(self) -> str:
        return f"swap the consumers of {few(self.a)} and {few(self.b)}"


@dataclass(frozen=True)
class DetachStep(Step):
    """Placeholders replace the inputs or the outputs of ops; see `Plan.detach`."""

    ops: tuple[DestinationName, ...]
    side: PlainText
    only: tuple[DestinationName, ...] | None = None
    exclude: tuple[DestinationName, ...] = ()

    def code(self, sources: Sources) -> str:
        return call_code("detach", self.ops, side=self.side, **self.given("only", "exclude"))

    def describe(self) -> str:
        place = "" if self.only is None else f" for {few(self.only)}"
        place += f" except for {few(self.exclude)}" if self.exclude else ""
        return f"detach the {'inputs and outputs' if self.side == 'both' else self.side} of {few(self.ops)}{place}"


@dataclass(frozen=True)
class ControlStep(Step):
    """An op runs after others, or no longer does; see `Plan.add_control` and `Plan.remove_control`."""

    op: DestinationName
    others: tuple[DestinationName, ...] | None
    remove: bool

    def code(self, sources: Sources) -> str:
        return call_code(f"{'remove' if self.remove else 'add'}_control", self.op, self.others)

    def describe(self) -> str:
        whom = "anything" if self.others is None else few(self.others)
        return f"run {self.op} {'without waiting for' if self.remove else 'after'} {whom}"


@dataclass(frozen=True)
class RerouteControlStep(Step):
    """The ops that wait for an op wait for other ops instead; see `Plan.reroute_control`."""

    old: DestinationName
    to: tuple[DestinationName, ...]
    only: tuple[DestinationName, ...] | None = None
    exclude: tuple[DestinationName, ...] = ()

    def code(self, sources: Sources) -> str:
        return call_code("reroute_control", self.old, to=self.to, **self.given("only", "exclude"))

    def describe(self) -> str:
        whom = "all waiting ops" if self.only is None else few(self.only)
        more = f" except {few(self.exclude)}" if self.exclude else ""
        return f"make {whom}{more} wait for {few(self.to)} instead of {self.old}"
