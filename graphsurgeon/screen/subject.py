"""Subject: what a screen needs of the editor of a graph, and what it asks TensorFlow through it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from ..graph.compatibility import Compatibility
from ..graph.graph import Graph, TensorInfo
from ..graph.layers import Layers
from ..graph.opened import Opened
from ..graph.risks import Risks
from ..graph.selection import Selection
from ..graph.trace import Trace
from ..plan.plan import Plan


class Facts(Protocol):
    """What there is to know of ops beyond the snapshot."""

    def attribute_text(self, value: Any) -> str:
        """An attribute in words."""

    def documentation(self, op_type: str) -> str:
        """What an op type does; empty where nobody knows."""

    def op_types(self, query: str = ..., like: str = ..., inputs: int | None = ...) -> list[tuple[str, str]]:
        """Op types that fit, best first, and what each does."""

    def attributes(self, node: Any) -> Iterable[tuple[str, str, list[str]]]:
        """The attributes of an op that can be typed: name, value, and all that it may be where these are few."""

    def constant_value(self, node: Any, most: int = ...) -> Any:
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


class Held(Protocol):
    """The values of variables, as far as a screen needs them."""

    @property
    def known(self) -> bool:
        """Whether there is anything that variables get values from."""


class Watched(Protocol):
    """What tells of changes."""

    def watch(self, changed: Callable[[], None]) -> None:
        """Calls `changed` after each, for as long as whose method it is lives."""


class Subject(Protocol):
    """The editor of a graph, as far as a screen needs it; `graphsurgeon.Editor` is one."""

    @property
    def title(self) -> str:
        """What the graph is called."""

    @property
    def opened(self) -> Opened:
        """What was opened: its inputs and outputs."""

    @property
    def values(self) -> Held:
        """What variables hold."""

    @property
    def changes(self) -> Watched:
        """Tells of each apply, undo and redo."""

    @property
    def snapshot(self) -> Graph:
        """The graph as it is now."""

    @property
    def layers(self) -> Layers:
        """Its Keras layers, as it is now."""

    @property
    def orphans(self) -> frozenset[str]:
        """Names of ops without a role."""

    @property
    def history(self) -> Any:
        """The applied plans."""

    def save(
        self,
        path: Any,
        *,
        outputs: Any = ...,
        inputs: Any = ...,
        signatures: Any = ...,
        format: Any = ...,
        freeze: bool = ...,
        values: Any = ...,
        overwrite: bool = ...,
    ) -> Any:
        """Writes it as plain TensorFlow reads it."""

    def to_code(self) -> str:
        """All that was applied, as a script."""

    def plan(self) -> Plan:
        """An empty plan."""

    def apply(self, plan: Plan) -> Any:
        """Carries out a plan."""

    def before(self) -> Subject:
        """The editor of the graph before the last applied plan."""

    def undo(self) -> Any:
        """Takes the last plan back."""

    def redo(self) -> Any:
        """Does it again."""

    def select(self, *, inputs: Any = None, outputs: Any = None, name: Any = None) -> Selection:
        """The ops between tensors, or of some names."""

    def show_signature(self, name: str) -> None:
        """Goes to another signature or function of the file."""

    @property
    def trusted(self) -> bool:
        """Whether it may run."""

    def trust(self) -> Any:
        """Says that it may run."""

    def risks(self) -> Risks:
        """What in it reaches out of it."""

    def check(self, target: str, outputs: Any = None, inputs: Any = None, *, prove: bool = False) -> Compatibility:
        """What keeps it from a target."""

    def feeds_needed(self, fetches: Any = None) -> dict[str, TensorInfo | None]:
        """The placeholders that a run needs."""

    def trace(
        self,
        feeds: Any = None,
        fetches: Any = None,
        *,
        random: int | None = None,
        timeout: float | None = None,
        watch: Callable[[int, int], bool] | None = None,
        memory: int | None = None,
        ops: Any = None,
        plan: Plan | None = None,
    ) -> Trace:
        """A run, in a copy; of a plan, as the graph would be after it."""

    def value(self, name: str) -> Any:
        """What a constant or variable holds, as an array."""

    def provenance(self, thing: Any) -> Any:
        """Where an op comes from."""

    def explain(self, name: Any, selection: Selection) -> Any:
        """Why an op is in a selection, or why not."""

    def removal_blockers(self, name: Any) -> Any:
        """What prevents the removal of an op."""
