"""EditorLike: the editor of a graph, as its parts and a screen see it, without its implementation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..graph.compatibility import Compatibility
from ..graph.graph import Graph, TensorInfo
from ..graph.layers import Layers
from ..graph.open_graph import OpenedGraph
from ..graph.security import Risks
from ..graph.selection import Selection
from ..graph.trace import Trace
from .plan import Plan


class VariableValues(Protocol):
    """The values of variables, as far as they are asked about."""

    @property
    def known(self) -> bool:
        """Whether there is anything that variables get values from."""

    @property
    def changed(self) -> bool:
        """Whether plans have changed the graph since it was opened."""

    @property
    def init_ops(self) -> tuple[list[str], dict[str, Any]]:
        """Names of ops that a file wants to run once, and their feeds."""

    def reader(self) -> Any:
        """A session to read values from."""


class Observable(Protocol):
    """An object that reports changes."""

    def watch(self, callback: Callable[[], None]) -> None:
        """Calls `callback` after each, for as long as whose method it is lives."""


class EditorLike(Protocol):
    """The editor of a graph; `graphsurgeon.Editor` is one, and documents each of these methods."""

    @property
    def title(self) -> str:
        """The title of the graph."""

    @property
    def opened(self) -> OpenedGraph:
        """The opened graph: its inputs and outputs."""

    @property
    def values(self) -> VariableValues:
        """What variables hold."""

    @property
    def changes(self) -> Observable:
        """Tells of each apply, undo and redo."""

    @property
    def graph(self) -> Any:
        """The live graph."""

    @property
    def snapshot(self) -> Graph:
        """The graph as it is now."""

    @property
    def inputs(self) -> dict[str, str]:
        """Of a function, argument -> name of its tensor."""

    @property
    def outputs(self) -> dict[str, str]:
        """Of a function, result -> name of its tensor."""

    @property
    def layers(self) -> Layers:
        """Its Keras layers, as it is now."""

    @property
    def orphans(self) -> frozenset[str]:
        """Names of ops without a role."""

    @property
    def history(self) -> Any:
        """The applied plans."""

    def session(self, session: Any = None, config: Any = None) -> Any:
        """A session with all values."""

    def save(self, *args: Any, **how: Any) -> Any:
        """Writes it as plain TensorFlow reads it."""

    def to_code(self) -> str:
        """All applied plans, in one script."""

    def plan(self) -> Plan:
        """An empty plan."""

    def apply(self, plan: Plan) -> Any:
        """Carries out a plan."""

    def before(self) -> EditorLike:
        """The editor of the graph before the last applied plan."""

    def undo(self) -> Any:
        """Takes the last plan back."""

    def redo(self) -> Any:
        """Does it again."""

    def inlined(self, *calls: Any) -> EditorLike:
        """The same with calls taken apart."""

    def select(self, *, inputs: Any = None, outputs: Any = None, name: Any = None) -> Selection:
        """The ops between tensors, or of some names."""

    def op(self, name: Any) -> Any:
        """A live op."""

    def tensor(self, name: Any) -> Any:
        """A live tensor."""

    def show_signature(self, name: str) -> None:
        """Opens another signature or function of the file."""

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

    def trace(self, *args: Any, **how: Any) -> Trace:
        """A run, in a copy; of a plan, as the graph would be after it."""

    def value(self, name: str) -> Any:
        """The value of a constant or variable, as an array."""

    def provenance(self, thing: Any) -> Any:
        """The origin of an op."""

    def explain(self, name: Any, selection: Selection) -> Any:
        """Why an op is in a selection, or why not."""

    def removal_blockers(self, name: Any) -> Any:
        """What prevents the removal of an op."""
