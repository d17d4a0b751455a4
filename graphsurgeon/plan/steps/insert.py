"""The steps that insert ops between a tensor and its consumers, and the subgraphs that Python functions build."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...errors import few
from ..adapters import AdapterSpec
from ..function_source import Sources, literal
from .base import Code, DestinationName, NewName, PlainText, Step, call_code, consumers_text


@dataclass(frozen=True)
class InsertStep(Step):
    """A new op on an edge; see `Plan.insert`."""

    op: PlainText | Callable[..., Any]
    on: tuple[DestinationName, ...]
    name: NewName | tuple[NewName, ...]
    attributes: tuple[tuple[PlainText, Any], ...]
    only: tuple[DestinationName, ...] | None = None
    exclude: tuple[DestinationName, ...] = ()
    code_name: PlainText = ""  # the name of the function in code

    def code(self, sources: Sources) -> str:
        op = self.op if isinstance(self.op, str) else Code(sources.code_name(self.op, self.code_name))
        name = self.name if isinstance(self.name, str) else list(self.name)
        attributes = {key: Code(literal(value, sources)) for key, value in self.attributes}
        return call_code("insert", op, on=self.on, name=name, **self.given("only", "exclude"), **attributes)

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        return {} if isinstance(self.op, str) else {self.code_name: self.op}

    def describe(self) -> str:
        what = self.op if isinstance(self.op, str) else f"{self.code_name} as"
        name = self.name if isinstance(self.name, str) else few(self.name)
        readers = consumers_text(few(self.on), self.only, self.exclude)
        return f"insert {what} {name} between {few(self.on)} and {readers}"


@dataclass(frozen=True)
class AdaptStep(Step):
    """A tensor is adapted to the dtype and shape of another tensor; see `Plan.adapt`.

    Args:
        tensor: the tensor.
        to, input: the op that will read the result, and the number of the input; or a tensor, or an op without inputs,
            that the result replaces; None if no op reads the result yet.
        name: the name of the result, and of the scope of the other new ops; empty for a free name.
        spec: how to adapt the tensor.
        only, exclude: the consumers of the replaced tensor.
    """

    tensor: DestinationName
    to: DestinationName | None = None
    input: int | None = None
    name: NewName = ""
    spec: AdapterSpec = field(default_factory=AdapterSpec)
    only: tuple[DestinationName, ...] | None = None
    exclude: tuple[DestinationName, ...] = ()

    def code(self, sources: Sources) -> str:
        wish = self.spec
        return call_code(
            "adapt",
            self.tensor,
            **self.given("to", "input"),
            kinds=wish.kinds or None,
            **self.given("name"),
            dtype=wish.dtype,
            shape=None if wish.shape is None else list(wish.shape),
            **{key: Code(literal(value, sources)) for key, value in wish.options},
            **self.given("only", "exclude"),
        )

    def describe(self) -> str:
        how = f" by {' and '.join(self.spec.kinds)}" if self.spec.kinds else ""
        if self.to is None:
            place = f", as {self.name}:0" if self.name else ""
        elif ":" in self.to:
            place = f" for {consumers_text(self.to, self.only, self.exclude)}"
        else:
            place = f" to input {self.input or 0} of {self.to}"
        return f"adapt {self.tensor}{how}{place}"
