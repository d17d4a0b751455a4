"""The state of a screen as an immutable value. Commands return new states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from ..errors import SelectionError, did_you_mean
from ..graph.graph import Graph, Mask
from ..graph.names import tensor_name
from ..graph.selection import Selection
from ..graph.types import TFNodeDef
from ..graph.variables import QUERY_TYPES, VARIABLE_TYPES
from ..plan.plan import Plan
from ..view import page_types
from ..view.helper_ops import Filters
from ..view.paint import Paint
from ..view.tree import Tree, ops_named
from .run_results import MEASURES, RunOverlay


class Facts(Protocol):
    """Facts on ops beyond the snapshot."""

    def attribute_text(self, value: Any) -> str:
        """Returns an attribute as text."""

    def documentation(self, op_type: str) -> str:
        """Returns the description of an op type; empty if it is not known."""

    def op_types(self, query: str = ..., template: str = ..., inputs: int | None = ...) -> list[tuple[str, str]]:
        """Returns matching op types, best first, with their descriptions."""

    def attributes(self, node: TFNodeDef) -> Iterable[tuple[str, str, list[str]]]:
        """Returns the editable attributes of an op: name, value, and all possible values if these are few."""

    def constant_value(self, node: TFNodeDef, limit: int = ...) -> Any:
        """Returns the array in a constant; None for other ops, or if it is larger than `limit` bytes."""

    def function_body(self, graph: Graph, function: str, op: int, cache: dict[Any, Graph]) -> Graph:
        """Returns the snapshot of the body of a function that an op calls; `cache` has earlier results."""

    def flops(self, graph: Graph, ops: Sequence[int]) -> tuple[int, bool]:
        """Returns the number of floating-point operations of ops, 0 if unknown, and whether it is per example."""

    def pattern(self, selection: Selection) -> Any:
        """Returns the pattern of a selection."""

    def check_inserted(self, op_type: str, name: str) -> None:
        """Refuses an op type that cannot be inserted on an edge."""

    def check_attribute(self, op_type: str, op: str, name: str, value: Any) -> None:
        """Refuses an attribute that the op type does not have, or a value of a wrong type."""


_HELPERS = VARIABLE_TYPES | QUERY_TYPES | {"Assign", "Const", "ReadVariableOp"}


@dataclass(frozen=True)
class Marks:
    """Names of the marked tensors, in the order they were marked; each method returns new marks.

    Args:
        inputs, outputs: the boundary.
        included: leaks whose producers are included in the region; ``^op`` for an op that the region waits for.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"])])
        >>> Marks().with_input(g, "x").with_output(g, "y:0")
        Marks(inputs=('x:0',), outputs=('y:0',), included=())
    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    included: tuple[str, ...] = ()

    def with_input(self, graph: Graph, tensor: Any) -> Marks:
        """Returns marks with one more input; raises SelectionError if the tensor does not exist."""
        name = _check_tensor(graph, tensor, "mark_input")
        less = self.without(name) if name in self.outputs else self
        return less if name in less.inputs else replace(less, inputs=(*less.inputs, name))

    def with_output(self, graph: Graph, tensor: Any) -> Marks:
        """Returns marks with one more output; raises SelectionError if the tensor does not exist."""
        name = _check_tensor(graph, tensor, "mark_output")
        less = self.without(name) if name in self.inputs else self
        return less if name in less.outputs else replace(less, outputs=(*less.outputs, name))

    def without(self, tensor: Any) -> Marks:
        """Returns marks without this tensor, or without ``^op``, an op that the region waits for."""
        name = tensor if str(tensor).startswith("^") else tensor_name(tensor)
        return Marks(*(tuple(t for t in some if t != name) for some in (self.inputs, self.outputs, self.included)))

    def renamed(self, new: Callable[[str], str]) -> Marks:
        """Returns the marks with new names of tensors."""
        return Marks(*(tuple(map(new, some)) for some in (self.inputs, self.outputs, self.included)))

    @property
    def swapped(self) -> Marks:
        """The marks with inputs and outputs swapped."""
        return replace(self, inputs=self.outputs, outputs=self.inputs)

    @classmethod
    def around(cls, selection: Selection) -> Marks:
        """Returns the tensors that enter and leave a selection, without constants and helpers of variables."""
        graph = selection.graph

        def is_output(tensor: str) -> bool:
            op = graph.tensor(tensor)[0]
            above = graph.data.row(op)
            reads_variable = (
                graph.types[op] == "Identity" and len(above) == 1 and graph.types[int(above[0])] in VARIABLE_TYPES
            )
            return graph.types[op] not in _HELPERS and not reads_variable

        crossing = selection.boundary
        outputs = tuple(t for t in crossing.outputs if is_output(t))
        return cls(tuple(t for t in crossing.inputs if is_output(t)), outputs or crossing.outputs)


def selected_after(old: Sequence[str], names: Sequence[str], mode: str) -> tuple[str, ...]:
    """Returns the new selection; `mode` is ``set``, ``add`` or ``toggle``.

    Example:
        >>> selected_after(("a", "b"), ["b", "c"], "toggle")
        ('a', 'c')
    """
    previous = {"set": [], "add": list(old)}.get(mode, [n for n in old if n not in names])
    return tuple(dict.fromkeys([*previous, *(n for n in names if mode == "set" or n not in old)]))


def ops_of(tree: Tree, names: Sequence[str], verb: str = "") -> Mask:
    """Returns a mask of the ops of all boxes of these names.

    Args:
        tree: the tree of the graph.
        names: names of boxes.
        verb: the verb, for messages. Without one, missing boxes are ignored.

    Raises:
        SelectionError: a box does not exist.
    """
    graph = tree.graph
    mask = np.zeros(graph.size, np.bool_)
    for name in names:
        box_ops = ops_named(tree, name)
        if box_ops is not None:
            mask |= box_ops
        elif verb:
            if graph.enclosing_call(name.rstrip("/")):
                graph.find(name.rstrip("/"), f"{verb}({name!r})")
            problem = f"nothing in {graph.title} has this name"
            raise SelectionError(f"{verb}({name!r})", problem, did_you_mean(name, graph.index))
    return mask


def _check_tensor(graph: Graph, tensor: Any, verb: str) -> str:
    name = tensor_name(tensor)
    op, port = graph.tensor(name, f"{verb}({name!r})")
    return f"{graph.names[op]}:{port}"


def name_changes(old_names: Mapping[str, str], new_names: Mapping[str, str]) -> dict[str, str]:
    """Returns former name of an op -> its current name, if the name has changed.

    Args:
        old_names, new_names: op of the opened graph -> its former, or current, name, if it was renamed.

    Example:
        >>> name_changes({"a": "b", "c": "d"}, {"c": "e"})
        {'d': 'e', 'b': 'a'}
    """
    ends = ((old_names.get(op, op), new_names.get(op, op)) for op in {**new_names, **old_names})
    return {old: new for old, new in ends if old != new}


def renamer(new_names: Mapping[str, str], graph: Graph) -> Callable[[str], str]:
    """Returns a function that returns the new name of an op, a tensor, a box or a fold key.

    A scope is renamed with its ops, unless some of them keep their names.

    Args:
        new_names: op -> its new name.
        graph: the graph with the new names.

    Example:
        >>> new = renamer({"a/b/x": "a/new/x"}, Graph.from_ops([("a/new/x", "NoOp", []), ("a/y", "NoOp", [])]))
        >>> [new(name) for name in ("a/b/x:0", "^a/b/x", "a/b/", "~a/b/c_[0..3]", "a/", "a/y")]
        ['a/new/x:0', '^a/new/x', 'a/new/', '~a/new/c_[0..3]', 'a/', 'a/y']
    """
    scopes: dict[str, str] = {}
    for old, now in new_names.items():
        a, b = old, now
        scopes[f"{a}/"] = f"{b}/"
        while "/" in a and "/" in b and a.rpartition("/")[2] == b.rpartition("/")[2]:
            a, b = a.rpartition("/")[0], b.rpartition("/")[0]
            scopes.setdefault(f"{a}/", f"{b}/")

    def new(name: str) -> str:
        path = name.lstrip("~^")
        op, colon, port = path.partition(":")
        if op in new_names:
            return name[: len(name) - len(path)] + new_names[op] + colon + port
        end = path.rfind("/") + 1
        while end:
            scope = path[:end]
            if scope in scopes and scope[:-1] not in graph.scopes.index:
                return name[: len(name) - len(path)] + scopes[scope] + path[end:]
            end = path.rfind("/", 0, end - 1) + 1
        return name

    return new


def renamed_keys(keys: Iterable[str], new_names: Mapping[str, str], graph: Graph) -> frozenset[str]:
    """Returns fold keys with the new names of ops.

    Args:
        keys: the fold keys.
        new_names, graph: as for `renamer`.
    """
    return frozenset(map(renamer(new_names, graph), keys)) if new_names else frozenset(keys)


BUDGET = 200
"""The default limit for the number of boxes in a picture."""


@dataclass(frozen=True)
class NavEntry:
    """A visited place: the unfolded and the selected boxes, and the camera: x, y and scale, or nothing."""

    unfolded: frozenset[str]
    selected: tuple[str, ...] = ()
    viewport: tuple[float, ...] = ()

    def renamed(self, new: Callable[[str], str]) -> NavEntry:
        """Returns the place with new names."""
        return replace(self, unfolded=frozenset(map(new, self.unfolded)), selected=tuple(map(new, self.selected)))


@dataclass(frozen=True)
class View:
    """How the source pane shows its graph.

    Args:
        unfolded: the open fold keys; None: those of a first picture.
        selected: names of the selected boxes.
        rows: names of the open rows of the outline.
        back, forward: the places that `back` and `forward` return to.
    """

    unfolded: frozenset[str] | None = None
    selected: tuple[str, ...] = ()
    rows: frozenset[str] = frozenset()
    back: tuple[NavEntry, ...] = ()
    forward: tuple[NavEntry, ...] = ()

    @property
    def place(self) -> NavEntry:
        """The current place."""
        return NavEntry(self.unfolded or frozenset(), self.selected)

    def renamed(self, new: Callable[[str], str]) -> View:
        """Returns the view with new names."""
        return View(
            None if self.unfolded is None else frozenset(map(new, self.unfolded)),
            tuple(map(new, self.selected)),
            frozenset(map(new, self.rows)),
            tuple(place.renamed(new) for place in self.back),
            tuple(place.renamed(new) for place in self.forward),
        )


@dataclass(frozen=True)
class Status:
    """The status line: a text, and info, warn or error."""

    text: str = ""
    level: page_types.Level = "info"


@dataclass(frozen=True, eq=False)
class UndoEntry:
    """The state that undo restores: the plan, the marks and the selection.

    Args:
        draft, marks, selected: the values in the state.
        applied_count: the number of the last plan applied before; 0 without one.
    """

    draft: Plan | None
    marks: Marks
    selected: tuple[str, ...]
    applied_count: int

    def renamed(self, new: Callable[[str], str]) -> UndoEntry:
        """Returns the entry with new names of the source."""
        return replace(self, marks=self.marks.renamed(new), selected=tuple(map(new, self.selected)))


@dataclass(frozen=True, eq=False)
class State:
    """The state of a screen.

    Args:
        view: the view of the source pane.
        views: saved views by name.
        after: the open fold keys of the destination pane; None: those of a first picture.
        new_names: scopes of copies, and new ops, that were already shown in the destination pane.
        marks: the boundary.
        draft: the plan being made; None for an empty plan.
        undo_entries: the undo entries of the actions since the last plan was applied here, oldest first.
        redo_entries: the undone actions, oldest first: undo entries, and events of the history.
        restored: the number of times that undo, redo, back, forward or a step of the history restored a state.
        status: the status line.
        direction: TB, LR or auto.
        filters, paint, faded: the hidden ops, the colors, and the faded entries of the legend.
        budget: the maximum number of boxes.
        plan_view: the graphs shown with a plan: the graph ``before`` it, ``after`` it, or ``both``.
        run: the run on the screen; None without a run.
        saved: the report of the last save, and its code.
        op_names: for the source and the destination: op of the opened graph -> its name in this state, if renamed.
    """

    view: View = View()
    views: Mapping[str, NavEntry] = field(default_factory=dict)
    after: frozenset[str] | None = None
    new_names: frozenset[str] = frozenset()
    marks: Marks = field(default_factory=Marks)
    draft: Plan | None = None
    undo_entries: tuple[UndoEntry, ...] = ()
    redo_entries: tuple[Any, ...] = ()
    restored: int = 0
    status: Status = Status()
    direction: str = "auto"
    filters: Filters = field(default_factory=Filters)
    paint: Paint = field(default_factory=Paint)
    faded: tuple[str, ...] = ()
    budget: int = BUDGET
    plan_view: page_types.PlanView = "both"
    run: RunOverlay | None = None
    saved: page_types.Report | page_types.Empty = field(default_factory=page_types.Empty)
    op_names: tuple[Mapping[str, str], ...] = ({}, {})

    @property
    def painted_by_run(self) -> bool:
        """Whether the boxes are colored by the run."""
        return self.run is not None and self.paint.by == "values" and self.paint.name in MEASURES

    def without_run(self) -> State:
        """Returns the state without its run and the colors of the run."""
        return self.replace(run=None, paint=Paint() if self.painted_by_run else self.paint, faded=())

    def replace(self, **changes: Any) -> State:
        """Returns the state with some parts changed."""
        return replace(self, **changes)

    def renamed(self, source: Callable[[str], str], destination: Callable[[str], str]) -> State:
        """Returns the state with new names of ops, tensors, boxes and fold keys; the plan does not change.

        Args:
            source: returns the new name for a name of the source.
            destination: returns the new name for a name of the destination.
        """
        return self.replace(
            view=self.view.renamed(source),
            views={name: place.renamed(source) for name, place in self.views.items()},
            after=None if self.after is None else frozenset(map(destination, self.after)),
            new_names=frozenset(destination(f"{name}/")[:-1] for name in self.new_names),
            marks=self.marks.renamed(source),
            undo_entries=tuple(was.renamed(source) for was in self.undo_entries),
            redo_entries=tuple(one.renamed(source) if isinstance(one, UndoEntry) else one for one in self.redo_entries),
        )

    def with_view(self, **changes: Any) -> State:
        """Returns the state with parts of its source view changed."""
        return replace(self, view=replace(self.view, **changes))

    def with_status(self, text: str, level: page_types.Level = "info") -> State:
        """Returns the state with another status line."""
        return replace(self, status=Status(text, level))
