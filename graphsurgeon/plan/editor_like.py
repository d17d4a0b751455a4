"""EditorLike: the editor of a graph, as its parts and a screen see it, without its implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol

from ..graph.conversion_verdict import Compatibility
from ..graph.graph import Graph, TensorInfo
from ..graph.layers import Layers
from ..graph.open_graph import Ends, OpenedGraph, likely_ends
from ..graph.security import Risks
from ..graph.selection import Selection
from ..graph.trace import Trace
from .plan import Plan


class VariableValues(Protocol):
    """The values of variables, with the members that other packages use."""

    @property
    def has_values(self) -> bool:
        """Whether there is a source of values for the variables."""

    @property
    def missing_text(self) -> str:
        """The variables without a stored value because a file is missing, in one sentence."""

    @property
    def is_graph_changed(self) -> bool:
        """Whether plans have changed the graph since it was opened."""

    @property
    def init_ops(self) -> tuple[list[str], dict[str, Any]]:
        """Names of ops that must be run once after a file is opened, and their feeds."""

    def read_session(self) -> Any:
        """A session to read values from."""

    def refuse_missing(self, ends: Iterable[str], request: str) -> None:
        """Refuses a request that needs a variable without a value."""


class Observable(Protocol):
    """An object that reports changes."""

    def watch(self, callback: Callable[[], None]) -> None:
        """Calls `callback` after each change, as long as the object of this bound method exists."""


class EditorLike(Protocol):
    """The editor of a graph; `graphsurgeon.Editor` is one, and documents each of these methods."""

    @property
    def title(self) -> str:
        """The title of the graph."""

    @property
    def opened_graph(self) -> OpenedGraph:
        """The opened graph: its inputs and outputs."""

    @property
    def values(self) -> VariableValues:
        """The values of the variables."""

    @property
    def changes(self) -> Observable:
        """Reports each apply, undo and redo."""

    @property
    def graph(self) -> Any:
        """The live graph."""

    @property
    def snapshot(self) -> Graph:
        """The graph as it is now."""

    @property
    def inputs(self) -> dict[str, str]:
        """For a function: argument -> name of its tensor."""

    @property
    def outputs(self) -> dict[str, str]:
        """For a function: result -> name of its tensor."""

    @property
    def layers(self) -> Layers:
        """The Keras layers of the current graph."""

    @property
    def orphans(self) -> frozenset[str]:
        """Names of ops without a role."""

    @property
    def history(self) -> Any:
        """The applied plans."""

    def session(self, session: Any = None, config: Any = None) -> Any:
        """A session with all values."""

    def save(self, *args: Any, **options: Any) -> Any:
        """Writes the graph in a format that plain TensorFlow can read."""

    def to_code(self) -> str:
        """All applied plans, in one script."""

    def plan(self) -> Plan:
        """An empty plan."""

    def apply(self, plan: Plan) -> Any:
        """Carries out a plan."""

    def before(self) -> EditorLike:
        """The editor of the graph before the last applied plan."""

    def undo(self) -> Any:
        """Undoes the last plan."""

    def redo(self) -> Any:
        """Applies the last undone plan again."""

    def inlined(self, *calls: Any) -> EditorLike:
        """An editor of the same graph with calls inlined."""

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
        """Whether the graph may run."""

    def trust(self) -> Any:
        """Allows the graph to run."""

    def risks(self) -> Risks:
        """The parts of the graph that reach outside of it."""

    def check(self, target: str, outputs: Any = None, inputs: Any = None, *, verify: bool = False) -> Compatibility:
        """The reasons why the graph does not run on a target."""

    def feeds_needed(self, fetches: Any = None) -> dict[str, TensorInfo | None]:
        """The placeholders that a run needs."""

    def trace(self, *args: Any, **options: Any) -> Trace:
        """Runs a copy of the graph; for a plan, a copy of the graph after the plan."""

    def value(self, name: str) -> Any:
        """The value of a constant or variable, as an array."""

    def provenance(self, obj: Any) -> Any:
        """The origin of an op."""

    def explain(self, name: Any, selection: Selection) -> Any:
        """Why an op is in a selection, or why not."""

    def removal_blockers(self, name: Any) -> Any:
        """What prevents the removal of an op."""


def described(editor: EditorLike) -> OpenedGraph:
    """Returns the description of the model of an editor, with the current names of its graph.

    Each function that writes a model, or makes another object of it, reads this description.
    """
    init_ops, feeds = editor.values.init_ops
    return replace(editor.opened_graph.renamed(editor.history.renamed), init_ops=init_ops, asset_feeds=feeds)


def default_ends(editor: EditorLike) -> Ends:
    """Returns the inputs and outputs of the opened graph, by their current names; else its likely ones."""
    model = described(editor)
    return model if model.outputs else likely_ends(editor.snapshot)
