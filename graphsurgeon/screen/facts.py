"""Facts: what a screen asks TensorFlow of ops, and whoever keeps what is planned on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ..graph.graph import Graph
from ..graph.live import TFNodeDef
from ..graph.selection import Selection
from ..plan.plan import Plan


class Facts(Protocol):
    """What there is to know of ops beyond the snapshot."""

    def attribute_text(self, value: Any) -> str:
        """An attribute in words."""

    def documentation(self, op_type: str) -> str:
        """What an op type does; empty where nobody knows."""

    def op_types(self, query: str = ..., like: str = ..., inputs: int | None = ...) -> list[tuple[str, str]]:
        """Op types that fit, best first, and what each does."""

    def attributes(self, node: TFNodeDef) -> Iterable[tuple[str, str, list[str]]]:
        """The attributes of an op that can be typed: name, value, and all that it may be where these are few."""

    def constant_value(self, node: TFNodeDef, most: int = ...) -> Any:
        """The array in a constant; None where there is none, or it is larger than `most` bytes."""

    def body(self, graph: Graph, function: str, op: int, made: dict[Any, Graph]) -> Graph:
        """The body of a function that an op calls, as a snapshot; what was read before is in `made`."""

    def flops(self, graph: Graph, ops: Sequence[int]) -> tuple[int, bool]:
        """Floating-point operations of ops, 0 where nobody knows, and whether they are those for one example."""

    def pattern(self, selection: Selection) -> Any:
        """What looks like a selection."""

    def check_inserted(self, op_type: str, name: str) -> None:
        """Refuses an op that cannot stand on an edge."""

    def check_attribute(self, op_type: str, op: str, name: str, value: Any) -> None:
        """Refuses an attribute that the op type does not have, or another kind of value."""


class Kept(Protocol):
    """What is planned and marked, as a text for a page that outlives the kernel, and back."""

    @property
    def of(self) -> str:
        """What it is made for, in one line that differs for other graphs."""

    @property
    def by(self) -> str:
        """Which process makes it."""

    def written(self, plan: Plan, marks: Sequence[Sequence[str]]) -> str:
        """A plan, and the tensors of three kinds that are marked, as a text."""

    def read(self, text: str) -> tuple[Plan, list[tuple[str, ...]], list[str]]:
        """The plan and the marks of a text, and what to know of them."""
