"""Facts: the questions of a screen to TensorFlow, and the keeper of its plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ..graph.graph import Graph
from ..graph.live import TFNodeDef
from ..graph.selection import Selection
from ..plan.plan import Plan


class Facts(Protocol):
    """Facts on ops beyond the snapshot."""

    def attribute_text(self, value: Any) -> str:
        """An attribute in words."""

    def documentation(self, op_type: str) -> str:
        """The description of an op type; empty if it is not known."""

    def op_types(self, query: str = ..., like: str = ..., inputs: int | None = ...) -> list[tuple[str, str]]:
        """Op types that fit, best first, with their descriptions."""

    def attributes(self, node: TFNodeDef) -> Iterable[tuple[str, str, list[str]]]:
        """The editable attributes of an op: name, value, and all possible values if these are few."""

    def constant_value(self, node: TFNodeDef, most: int = ...) -> Any:
        """The array in a constant; None without one, or if it is larger than `most` bytes."""

    def body(self, graph: Graph, function: str, op: int, made: dict[Any, Graph]) -> Graph:
        """The body of a function that an op calls, in a snapshot; earlier results are in `made`."""

    def flops(self, graph: Graph, ops: Sequence[int]) -> tuple[int, bool]:
        """Floating-point operations of ops, 0 if not known, and whether they are those for one example."""

    def pattern(self, selection: Selection) -> Any:
        """The pattern of a selection."""

    def check_inserted(self, op_type: str, name: str) -> None:
        """Refuses an op that cannot stand on an edge."""

    def check_attribute(self, op_type: str, op: str, name: str, value: Any) -> None:
        """Refuses an attribute that the op type does not have, or another kind of value."""


class Kept(Protocol):
    """Converts a plan and marks to a text for a page that outlives the kernel, and back."""

    @property
    def of(self) -> str:
        """The graphs of the plan, in one line that differs for other graphs."""

    @property
    def by(self) -> str:
        """Which process makes it."""

    def written(self, plan: Plan, marks: Sequence[Sequence[str]]) -> str:
        """A text of a plan and of the marked tensors of three kinds."""

    def read(self, text: str) -> tuple[Plan, list[tuple[str, ...]], list[str]]:
        """The plan and the marks of a text, and notes on them."""
