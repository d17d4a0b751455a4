"""Selection: a set of ops as a value, with set algebra and walks."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import SelectionError, counted, did_you_mean, few, one_or_all
from .boundary import Boundary, Tensor, control_entering, entering_tensors, leaks, leaving_tensors, region
from .functions import inline_suggestion
from .graph import Graph, Mask, TensorInfo
from .layers import NO_LAYERS, Layer, Layers, ops_of_layers
from .traversal import backward, forward
from .variables import VARIABLE_TYPES


@dataclass(frozen=True)
class Query:
    """The call that made a selection: a method, its arguments, and the queries that it combines."""

    method: str
    args: tuple[Any, ...] = ()
    operands: tuple[Query, ...] = ()


@dataclass(frozen=True)
class OpView:
    """An op in a call of `where`: name, type, attributes, inputs and outputs."""

    graph: Graph
    number: int

    @property
    def name(self) -> str:
        """The op's name."""
        return self.graph.names[self.number]

    @property
    def type(self) -> str:
        """The op type, for example ``Conv2D``."""
        return self.graph.types[self.number]

    @property
    def node(self) -> Any:
        """The NodeDef; read it, never change it."""
        return self.graph.nodes[self.number]

    @property
    def device(self) -> str:
        """The requested device; empty if none is requested."""
        return str(getattr(self.node, "device", ""))

    @property
    def inputs(self) -> list[str]:
        """Names of the input tensors."""
        return self.graph.input_names(self.number)

    @property
    def outputs(self) -> Sequence[TensorInfo]:
        """Dtype and shape of each output; empty if unknown."""
        return self.graph.outputs(self.number) or ()


@dataclass(frozen=True, eq=False)
class Selection:
    """A set of ops of one graph. Selections combine by ``|``, ``&``, ``-``, ``~`` and never change.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["b"])])
        >>> s = select(g, op="Neg")
        >>> s.names, (s & select(g, name="b")).names, len(s.ancestors())
        (['b', 'c'], ['b'], 3)
    """

    graph: Graph
    mask: Mask
    query: Query
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    notes: tuple[str, ...] = ()  # notes about requested names and op types that do not exist

    # -- its ops --------------------------------------------------------------------------------

    def __len__(self) -> int:
        return int(np.count_nonzero(self.mask))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        number = self.graph.index.get(str(getattr(name, "name", name)))
        return number is not None and bool(self.mask[number])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selection):
            return NotImplemented
        return self.graph.owner is other.graph.owner and self.names == other.names

    def __hash__(self) -> int:
        return hash(len(self))  # the owner changes once its live graph is made

    @cached_property
    def numbers(self) -> list[int]:
        """Op numbers, in graph order."""
        return [int(i) for i in np.flatnonzero(self.mask)]

    @cached_property
    def names(self) -> list[str]:
        """Op names, in graph order."""
        return [self.graph.names[i] for i in self.numbers]

    @cached_property
    def types(self) -> dict[str, int]:
        """The number of ops of each type, most frequent first."""
        kinds, _, number = self.graph.type_index
        counts = np.bincount(number[self.mask], minlength=len(kinds))
        pairs = [(kinds[i], int(counts[i])) for i in np.flatnonzero(counts).tolist()]
        return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))

    @cached_property
    def boundary(self) -> Boundary:
        """The tensors that enter and leave the selection, with its control inputs, variables and leaks."""
        g = self.graph

        cuts = frozenset(self.inputs)
        crossing = list(self.inputs) + [t for t in entering_tensors(g, self.mask, cuts) if t not in cuts]
        kinds = self.mask & g.type_mask(VARIABLE_TYPES)
        return Boundary(
            inputs=tuple(map(g.name, crossing)),
            outputs=tuple(map(g.name, self.outputs or leaving_tensors(g, self.mask))),
            control_inputs=tuple((g.names[a], g.names[b]) for a, b in control_entering(g, self.mask)),
            variables=tuple(g.names[int(i)] for i in np.flatnonzero(kinds)),
            leaks=leaks(g, self.mask, self.inputs),
        )

    def __repr__(self) -> str:
        kinds = few([f"{n} {kind}" for kind, n in self.types.items()], 4)
        notes = "".join(f"; {note}" for note in self.notes)
        return f"<Selection of {counted(len(self), 'ops')} in {self.graph.title}: {kinds or 'nothing'}{notes}>"

    # -- other selections -----------------------------------------------------------------------

    def __or__(self, other: Selection) -> Selection:
        return self._with(other, "|", "or", np.logical_or)

    def __and__(self, other: Selection) -> Selection:
        return self._with(other, "&", "and", np.logical_and)

    def __sub__(self, other: Selection) -> Selection:
        return self._with(other, "-", "minus", lambda a, b: a & ~b)

    def __invert__(self) -> Selection:
        return Selection(self.graph, ~self.mask, Query("not", (), (self.query,)))

    def ancestors(self, control: bool = True) -> Selection:
        """Returns these ops and all ops that they depend on.

        Args:
            control: whether control inputs count.
        """
        mask = backward(self.graph, self.mask, control=control)
        return Selection(self.graph, mask, Query("ancestors", (control,), (self.query,)))

    def descendants(self, control: bool = True) -> Selection:
        """Returns these ops and all ops that depend on them.

        Args:
            control: whether control edges count.
        """
        mask = forward(self.graph, self.mask, control=control)
        return Selection(self.graph, mask, Query("descendants", (control,), (self.query,)))

    def where(self, test: Callable[[OpView], bool]) -> Selection:
        """Returns the ops for which `test`, called with an `OpView`, is true.

        Args:
            test: a function that gets an `OpView` and returns whether the selection has the op.
        """
        result: Any = test
        if not callable(result):
            problem = f"{test!r} is of type {type(test).__name__}, not a function"
            suggestion = "Give a function of an OpView: lambda op: op.type == 'Conv2D'"
            raise SelectionError(f"where({test!r})", problem, suggestion)
        numbers = [i for i in self.numbers if test(OpView(self.graph, i))]
        return selection_from(self.graph, numbers)

    def expect(self, count: int) -> Selection:
        """Returns this selection if it has exactly `count` ops; otherwise raises an error.

        Args:
            count: the expected number of ops.

        Raises:
            SelectionError: if it has another number of ops; the message lists its ops.
        """
        if len(self) != count:
            kinds = few([f"{n} {kind}" for kind, n in self.types.items()], 6) or "nothing"
            raise SelectionError(
                f"expect({count})",
                f"the selection has {counted(len(self), 'ops')} ({kinds})",
                f"Narrow or widen it, or type expect({len(self)})",
            )
        return self

    def _with(self, other: Selection, sign: str, verb: str, combine: Callable[[Mask, Mask], Mask]) -> Selection:
        if not isinstance(other, Selection):
            raise SelectionError(
                f"selection {sign} {other!r}",
                f"{other!r} is of type {type(other).__name__}, not a selection",
                "Make one: ed.select(...)",
            )
        request, graphs = f"selection {sign} selection", [self.graph]
        if other.graph is not self.graph:
            self._refuse_foreign(other.graph, request, "Select from the same editor")
            graphs = _with_ops_of_both(self.graph, other.graph)
        missing = dict[Graph, list[str]]()
        for graph in graphs:
            (own, missing_own), (others, missing_names) = _ops_in_snapshot(self, graph), _ops_in_snapshot(other, graph)
            if not missing_own and (sign != "|" or not missing_names):
                numbers = combine(own, others)
                if self.graph.derived or other.graph.derived:  # no query of an editor finds these ops
                    return selection_from(graph, numbers)
                return Selection(graph, numbers, Query(verb, (), (self.query, other.query)))
            missing[graph] = [*missing_own, *missing_names]
        lacks = [f"{_graph_title(graph)} does not have {few(map(repr, names))}" for graph, names in missing.items()]
        way = "Leave out the ops that the second graph does not have: first.on(second.graph) | second"
        raise SelectionError(request, ", and ".join(lacks), way)

    def _refuse_foreign(self, graph: Graph, request: str, suggestion: str) -> None:
        """Refuses a snapshot of another graph."""
        if graph.origin is None or graph.origin is not self.graph.origin:
            problem = f"they belong to two graphs, {self.graph.title} and {graph.title}"
            raise SelectionError(request, problem, suggestion)

    def on(self, graph: Graph) -> Selection:
        """Returns the same ops in another snapshot of the graph, or in the graph after a plan.

        Ops are found by their names. `notes` lists the ops that `graph` lacks.

        Args:
            graph: the other snapshot, or the result of `Plan.after`.

        Raises:
            SelectionError: if `graph` is a snapshot of another graph.

        Example:
            >>> from graphsurgeon import Plan
            >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["a"])])
            >>> select(g, name=["b", "c"]).on(Plan(g).remove("b").after())
            <Selection of 1 op in graph: 1 Neg; graph after a plan does not have 'b'>
        """
        if graph is self.graph:
            return self
        way = "If a plan has built the second graph from the first, type selection.by_names_in(graph)"
        self._refuse_foreign(graph, "selection.on(graph)", way)
        mask, lost = _ops_in_snapshot(self, graph)
        ends = {tensor: _tensor_in_snapshot(self.graph, tensor, graph) for tensor in (*self.inputs, *self.outputs)}
        lost += [self.graph.name(old) for old, new in ends.items() if new is None and not self.mask[old[0]]]
        start, end = (tuple(new for old in some if (new := ends[old])) for some in (self.inputs, self.outputs))
        notes = (*self.notes, f"{_graph_title(graph)} does not have {few(map(repr, lost))}") if lost else self.notes
        if lost or graph.derived or self.graph.derived:
            return replace(selection_from(graph, mask), inputs=start, outputs=end, notes=notes)
        return Selection(graph, mask, self.query, start, end, notes)

    def on_strict(self, graph: Graph, request: str) -> Selection:
        """Returns the same ops in another snapshot of the graph.

        Args:
            graph: the other snapshot.
            request: the request, for messages.

        Raises:
            SelectionError: if `graph` is a snapshot of another graph, or lacks one of the ops.
        """
        if graph is self.graph:
            return self
        if graph.origin is not self.graph.origin:
            problem = f"the selection is of another graph, {self.graph.title}"
            raise SelectionError(request, problem, f"Select from {graph.title}")
        _, lost = _ops_in_snapshot(self, graph)
        if lost:
            problem = f"{_graph_title(graph)} does not have {few(map(repr, lost))}"
            raise SelectionError(request, problem, "Leave out the ops that it does not have: selection.on(graph)")
        return self.on(graph)

    def by_names_in(self, graph: Graph) -> Selection:
        """Returns the ops with the same names in a graph that was made from this graph.

        Args:
            graph: the snapshot of the other graph.

        Raises:
            SelectionError: if an op does not exist in the other graph.
        """
        names, old = tuple(self.names), self.graph.names
        mask = graph.mask([graph.find(name, "the copy of the selection") for name in names])
        start, end = (
            tuple((graph.find(old[op], "the copy"), port) for op, port in t) for t in (self.inputs, self.outputs)
        )
        return Selection(graph, mask, Query("names", names), start, end)


def selection_from(graph: Graph, ops: Iterable[int] | Mask) -> Selection:
    """Returns a selection of ops by their numbers or by a mask; its query lists their names.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"])])
        >>> selection_from(g, [1]).names, selection_from(g, [1]).query
        (['b'], Query(method='names', args=('b',), operands=()))
    """
    mask = ops if isinstance(ops, np.ndarray) and ops.dtype == np.bool_ else graph.mask(ops)
    return Selection(graph, mask, Query("names", tuple(graph.names[i] for i in np.flatnonzero(mask).tolist())))


def _ops_in_snapshot(selection: Selection, graph: Graph) -> tuple[Mask, list[str]]:
    """Returns the ops of a selection in another snapshot of its graph, and the names of the missing ones.

    If a call is unfolded in the other snapshot, the ops inside the call represent it.
    """
    old = selection.graph
    if graph is old:
        return selection.mask, []
    if graph.owner is old.owner:  # ops have the same numbers, but a plan may have renamed them
        numbers = selection.numbers
        lost = [old.names[i] for i in numbers if i >= graph.size]
        return graph.mask(numbers[: len(numbers) - len(lost)]), lost
    there = {name: graph.index.get(name, -1) for name in selection.names}
    mask = graph.mask([number for number in there.values() if number >= 0])
    calls = graph.unfolded.calls if graph.unfolded is not None else {}
    inside, absent = np.zeros(graph.size, np.bool_), [name for name, number in there.items() if number < 0]
    for name in absent:
        if name in calls:
            inside |= graph.scope_mask(name)
    if inside.any():
        inside[[graph.index[name] for name in graph.folded.names if name in graph.index]] = False
    return mask | inside, [name for name in absent if name not in calls]


def _tensor_in_snapshot(old: Graph, tensor: Tensor, new: Graph) -> Tensor | None:
    """Returns a tensor in another snapshot of its graph; None if it does not exist there."""
    op = tensor[0] if new.owner is old.owner else new.index.get(old.names[tensor[0]], -1)
    return (op, tensor[1]) if 0 <= op < new.size else None


def _with_ops_of_both(one: Graph, two: Graph) -> list[Graph]:
    """Returns the snapshots of a graph that may have the ops of two of its snapshots, with their calls unfolded."""
    opened = [graph.unfolded for graph in (one, two) if graph.unfolded is not None]
    if not opened:
        return [one, two]
    scopes = frozenset[str]().union(*(each.scopes for each in opened))
    return [each.expand(scopes) for each in opened]


def _graph_title(graph: Graph) -> str:
    return f"{graph.title} after a plan" if graph.derived else graph.title


def select(
    graph: Graph,
    *,
    scope: str | None = None,
    op: str | Iterable[str] | None = None,
    name: str | Iterable[str] | None = None,
    inputs: Iterable[str] | None = None,
    outputs: Iterable[str] | None = None,
    layer: str | Iterable[str] | None = None,
    layers: Layers = NO_LAYERS,
) -> Selection:
    """Returns the ops that match all given criteria.

    Args:
        graph: the snapshot to select from.
        scope: a name scope: the op with its name, if there is one, and all ops below it.
        op: an op type or several. If the graph lacks some of several types, the selection has a note.
        name: op names, or patterns with ``*``, ``?`` and ``[ ]``.
        inputs: boundary input tensors. Their ancestors stay outside.
        outputs: boundary output tensors. Only ops that they need are inside.
        layer: names or paths of Keras layers, or patterns: their ops and variables.
        layers: the layers of the graph.

    Raises:
        SelectionError: if a name, scope, type or layer is not in the graph, or the boundary does not connect.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("n/a", "Neg", ["x"]), ("n/b", "Neg", ["n/a"])])
        >>> select(g, scope="n").names, select(g, inputs=["n/a:0"], outputs=["n/b:0"]).names
        (['n/a', 'n/b'], ['n/b'])
    """
    kinds, patterns, layer_patterns = (
        name_patterns(op, "op"),
        name_patterns(name, "name"),
        name_patterns(layer, "layer"),
    )
    ins, outs = name_patterns(inputs, "inputs"), name_patterns(outputs, "outputs")
    place: Any = scope
    if place is not None and not isinstance(place, str):
        problem = f"{scope!r} is of type {type(scope).__name__}, not the name of a scope"
        raise SelectionError(f"select(scope={scope!r})", problem, "Give the name as text: scope='conv1'")
    arguments: tuple[tuple[str, Any], ...] = () if scope is None else (("scope", scope),)
    filters = (("op", kinds), ("name", patterns), ("layer", layer_patterns))
    arguments += tuple((key, one_or_all(x)) for key, x in filters if x is not None)
    arguments += tuple((key, list(x)) for key, x in (("inputs", ins), ("outputs", outs)) if x is not None)
    request = "select(" + ", ".join(f"{key}={value!r}" for key, value in arguments) + ")"
    if not arguments:
        return Selection(graph, np.ones(graph.size, np.bool_), Query("select"))
    mask, notes = np.ones(graph.size, np.bool_), list[str]()
    start: tuple[Tensor, ...] = ()
    end: tuple[Tensor, ...] = ()
    if scope is not None:
        mask &= _scope(graph, scope, request)
    if kinds is not None:
        mask &= _types(graph, kinds, request, notes)
    if patterns is not None:
        mask &= _names(graph, patterns, request, layers)
    if layer_patterns is not None:
        mask &= _named_ops(graph, ops_of_layers(layers.find_all(layer_patterns, request)))
    if ins is not None or outs is not None:
        if not outs:
            raise SelectionError(request, "a boundary needs outputs", "Add outputs=['name:0'], or use .descendants()")
        end = tuple(dict.fromkeys(graph.tensor(t, request) for t in outs))
        start = tuple(dict.fromkeys(graph.tensor(t, request) for t in ins or ()))
        if set(end) <= set(start):
            problem = f"{graph.name(end[0])!r} is both an input and an output, so nothing is computed"
            raise SelectionError(request, problem, "Name an output that is computed from it")
        mask &= region(graph, start, end, request)
    return Selection(graph, mask, Query("select", arguments), start, end, tuple(notes))


def _named_ops(graph: Graph, ops: Iterable[str]) -> Mask:
    """Returns a mask of ops by name; for an unfolded call, of the ops in it."""
    names = list(ops)
    mask = graph.mask(graph.index[name] for name in names if name in graph.index)
    calls = graph.unfolded.calls if graph.unfolded is not None else {}
    for name in (name for name in names if name in calls):
        mask |= graph.scope_mask(name)
    return mask


def name_patterns(argument: Any, key: str) -> tuple[str, ...] | None:
    """Returns the names in an argument: a text, an object that has a name, or several of them.

    Args:
        argument: the argument; None for nothing.
        key: the name of the argument of `select`.

    Raises:
        SelectionError: if an item is neither a text nor an object with a name.
    """
    if argument is None:
        return None
    alone = isinstance(argument, str | bytes) or hasattr(argument, "name") or not isinstance(argument, Iterable)
    items: list[Any] = [argument] if alone else list(argument)
    odd = [item for item in items if not isinstance(item, str) and not isinstance(getattr(item, "name", None), str)]
    if odd:
        problem = f"{odd[0]!r} is of type {type(odd[0]).__name__}, neither a text nor an object with a name"
        suggestion = f"Give one item or a list, such as {key}={_EXAMPLES[key]!r}"
        raise SelectionError(f"select({key}={argument!r})", problem, suggestion)
    return tuple(i if isinstance(i, str) else i.path if isinstance(i, Layer) else str(i.name) for i in items)


_EXAMPLES = {"op": "Conv2D", "name": "conv1/*", "layer": "block_1_*", "inputs": "x:0", "outputs": "y:0"}


def _scope(graph: Graph, scope: str, request: str) -> Mask:
    mask = graph.scope_mask(scope)
    bare = scope.rstrip("/")
    if bare in graph.index:
        mask[graph.index[bare]] = True
    if not mask.any():
        hint = did_you_mean(bare, graph.scopes.names[1:], _top(graph))
        raise SelectionError(request, f"{graph.title} has no name scope {bare!r}", hint)
    return mask


def _top(graph: Graph) -> str:
    tops = sorted(graph.scopes.names[i] for i in graph.scopes.children(0))
    if not tops:
        return "It has no name scopes at all; select by name instead"
    return f"Its outermost scopes are {few(map(repr, tops), 12)}"


def _types(graph: Graph, kinds: Sequence[str], request: str, notes: list[str]) -> Mask:
    mask = np.zeros(graph.size, np.bool_)
    for kind in kinds:
        hit = graph.type_array == kind
        if not hit.any():
            there = sorted(set(graph.types))
            inside = inline_suggestion(graph.names, graph.nodes, graph.functions, kind)
            hint = inside or did_you_mean(kind, there, "")
            notes.append(f"no op of type {kind!r}" + (f" ({hint[:1].lower()}{hint[1:]})" if hint else ""))
            if len(notes) == len(kinds):
                which = repr(kind) if len(kinds) == 1 else " or ".join(map(repr, kinds))
                problem = f"{graph.title} has no op of type {which}"
                raise SelectionError(request, problem, hint or f"It has {', '.join(there)}")
        mask |= hit
    return mask


def _names(graph: Graph, patterns: Iterable[str], request: str, layers: Layers) -> Mask:
    mask = np.zeros(graph.size, np.bool_)
    for pattern in patterns:
        if pattern in graph.index:
            mask[graph.index[pattern]] = True
        elif any(c in pattern for c in "*?["):
            hits = [graph.index[n] for n in fnmatch.filter(graph.names, pattern)]
            if not hits:
                raise SelectionError(request, f"no op name of {graph.title} fits {pattern!r}", _top(graph))
            mask[hits] = True
        else:
            graph.find(pattern, request, lambda: layers.names)
    return mask
