"""Calls: a graph in which the functions that ops call are unfolded in place, as name scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from ..errors import SelectionError
from .edges import Edges, Ints, stack_edges
from .functions import READ_BY_GRADIENT, Callee, argument_sources, called_function, callees_of, gradient_of, short_name
from .graph import Graph, TensorInfo, UnfoldedOrigin
from .names import free_name, join_scope, op_name, scopes_around

MAX_EXPANDED_OPS = 200_000
"""The largest number of ops that unfolding makes. Functions that call functions twice can lead to any number."""

BodyReader = Callable[[Graph, str, int, dict[Any, Graph]], Graph]
"""Returns the body of a function that an op of a snapshot calls: ``_Arg``, the ops, ``_Retval``, in that order.

The dictionary caches the bodies: a function that many ops call with the same inputs is read once.
"""


def _read_uncached(graph: Graph, function: str, op: int, cache: dict[Any, Graph]) -> Graph:
    raise LookupError(f"nothing reads the body of {function!r}")


@dataclass(frozen=True)
class CallSite:
    """An op that calls functions.

    Args:
        op: the number of the op.
        scope: the name scope of its functions: the name of the op, if that is free.
        is_plain: whether the op does nothing but call. If it is unfolded, the ops of its function replace it.
        functions: the functions that can be unfolded, including its gradient. A function without ops cannot be
            unfolded.
        missing: names of its functions that are not in the graph.
        recursive: names of its functions that contain the op itself, so that they are recursive.
    """

    op: int
    scope: str
    is_plain: bool
    functions: tuple[Callee, ...] = ()
    missing: tuple[str, ...] = ()
    recursive: tuple[str, ...] = ()

    @property
    def function_names(self) -> str:
        """The names of the functions that it calls."""
        inside = [f"call of {short_name(one.function)}" if self.is_plain and not one.gradient else one.name_infix
                  for one in self.functions]  # fmt: skip
        if inside:
            return ", ".join(inside)
        return "calls itself" if self.recursive else "function not in the graph" if self.missing else "no ops inside"

    def count(self, graph: Graph) -> int:
        """Returns the number of ops in the called functions, without the functions that these call."""
        return sum(len(graph.functions[called.function].node_def) for called in self.functions)


@dataclass(eq=False)
class FunctionInstance:
    """The graph itself, or the body of a function under one op that calls it.

    Args:
        graph: the ops of this part under their own names.
        path: the scope of these ops in the unfolded graph; empty for the graph itself.
        functions: the functions around these ops, the outermost first. The last function is that of this part.
        call: the number of the calling op in `parent`.
        parent: the part that contains the calling op; None for the graph itself.
        name_infix: the name part between the name of the calling op and the names in this part.
        gradient: whether this is the gradient of the op, so that the op does not call it itself.
    """

    graph: Graph
    path: str = ""
    functions: tuple[str, ...] = ()
    call: int = -1
    parent: FunctionInstance | None = None
    name_infix: str = ""
    gradient: bool = False
    children: dict[tuple[int, str], FunctionInstance] = field(default_factory=dict)

    @property
    def function(self) -> str:
        """The function with these ops as its body; empty for the graph itself."""
        return self.functions[-1] if self.functions else ""

    def unfolded_name(self, op: int) -> str:
        """Returns the name of an op in the unfolded graph."""
        return join_scope(self.path, self.graph.names[op])

    @property
    def call_name(self) -> str:
        """The name of the calling op in the unfolded graph; empty for the graph itself."""
        return "" if self.parent is None else self.parent.unfolded_name(self.call)

    @cached_property
    def arguments(self) -> list[tuple[int, int] | None]:
        """For each argument, the tensor of `parent` that it receives; None if it is not known.

        The arguments are the first ops of `graph`.
        """
        if self.parent is None:
            return []
        graph, count = self.parent.graph, self.graph.types.count("_Arg")
        ends = graph.data.ends(self.call)
        if not self.gradient:
            return argument_sources(graph.nodes[self.call], ends, count)
        tensors = [*ends] if self.parent.calls[self.call].is_plain else []  # then come the gradients of its results
        captures = self._gradient_inputs if not tensors else []
        return [*tensors, *[None] * (count - len(tensors) - len(captures)), *captures][:count]

    @cached_property
    def _gradient_inputs(self) -> list[tuple[int, int] | None]:
        """The tensors of the surrounding function that the gradient also reads, if the file lists them."""
        assert self.parent is not None
        graph = self.parent.graph
        attributes = getattr(graph.nodes[self.call], "attr", {})
        values = attributes[READ_BY_GRADIENT].list.s if READ_BY_GRADIENT in attributes else [b""]
        own, *names = [text.decode("utf-8", "replace") for text in values]
        scope = graph.names[self.call].removesuffix(own)
        ends = [(graph.index.get(scope + name.partition(":")[0]), int(name.partition(":")[2] or 0)) for name in names]
        return [None if op is None else (op, port) for op, port in ends]

    def tensor(self, op: int, port: int) -> str:
        """Returns the name of a tensor in the unfolded graph; for an argument of a plain call, of the call's input."""
        part, end = self, (op, port)
        while part.parent is not None and end[0] < len(part.arguments) and part.replaces_call:
            outer = part.arguments[end[0]]
            if outer is None:
                break
            part, end = part.parent, outer
        return f"{part.unfolded_name(end[0])}:{end[1]}"

    @property
    def replaces_call(self) -> bool:
        """Whether its ops replace the calling op."""
        return self.parent is not None and self.parent.calls[self.call].is_plain and not self.gradient

    def input_names(self, op: int) -> list[str]:
        """Returns the names, in the unfolded graph, of the tensors that an op reads."""
        return [self.tensor(*end) for end in self.graph.data.ends(op)]

    def argument_source(self, op: int) -> tuple[FunctionInstance, int]:
        """Returns the op that an argument gets its value from, through all calls; for any other op, the op itself."""
        part = self
        while part.parent is not None and op < len(part.arguments) and (outer := part.arguments[op]) is not None:
            part, op = part.parent, outer[0]
        return part, op

    @cached_property
    def calls(self) -> dict[int, CallSite]:
        """The ops that call functions, or have a function as gradient, by number."""
        graph, functions, gradients = self.graph, self.graph.functions, self.graph.gradients
        kinds, first, kind_of = graph.type_index
        some = [graph.nodes[int(i)] for i in first]  # None if a plan will make it: other ops of its type may exist
        gradient_names = gradients.keys() - functions.keys()  # names of gradients: an op of any kind may have one
        calling = [k for k in range(len(kinds)) if gradient_names or some[k] is None or callees_of(some[k], functions)]
        result = {}
        for op in np.flatnonzero(np.isin(kind_of, calling)).tolist() if calling else ():
            node = graph.nodes[op]
            called: Sequence[Callee] = callees_of(node, functions) if node is not None else ()
            gradient_function, _ = gradient_of(node, gradients, functions)
            if called or gradient_function in functions:
                result[op] = self._call(op, called, gradient_function)
        return result

    @cached_property
    def scopes(self) -> dict[str, CallSite]:
        """Scope -> the call with its functions in this scope."""
        return {call.scope: call for call in self.calls.values()}

    def _call(self, op: int, callees: Sequence[Callee], gradient_function: str = "") -> CallSite:
        graph = self.graph
        functions, name = graph.functions, graph.names[op]
        plain = bool(called_function(graph.nodes[op], functions))
        missing = tuple(one.function for one in callees if one.function not in functions)
        recursive = tuple(one.function for one in callees if one.function in self.functions)
        inside = tuple(
            one for one in callees
            if one.function not in missing and one.function not in recursive and len(functions[one.function].node_def)
        )  # fmt: skip
        if (
            gradient_function in functions
            and gradient_function not in self.functions
            and len(functions[gradient_function].node_def)
        ):
            own = {n.name.partition("/")[0] for one in inside if plain for n in functions[one.function].node_def}
            below = free_name("gradient", lambda wish: wish in own or graph.is_name_used(f"{name}/{wish}"))
            inside = (*inside, Callee(gradient_function, below, gradient=True))
        scope = name
        if plain and inside and name in graph.scopes.index:
            leaves = [node.name.lower() for node in functions[inside[0].function].node_def]

            def is_used(name: str) -> bool:
                return any(f"{name.lower()}/{leaf}" in graph.lowercase_names for leaf in leaves)

            scope = free_name(name, is_used, as_tensorflow=True)
        return CallSite(op, scope, plain, inside, missing, recursive)

    def body(self, call: CallSite, callee: Callee, read_body: Callable[[Graph, str, int], Graph]) -> FunctionInstance:
        """Returns the part of a called function; it is made only once."""
        key = (call.op, callee.name_infix)
        if key not in self.children:
            graph = read_body(self.graph, callee.function, call.op)
            path = join_scope(self.path, call.scope)
            path = join_scope(path, callee.name_infix) if callee.name_infix else path
            functions = (*self.functions, callee.function)
            self.children[key] = FunctionInstance(
                graph, path, functions, call.op, self, callee.name_infix, callee.gradient
            )
        return self.children[key]


class CallTree:
    """The calls of a graph, at any depth, unfolded on demand.

    Args:
        graph: the snapshot.
        body: reads the body of a called function; not needed for a graph without functions.
        limit: the largest number of ops that unfolding makes.
    """

    def __init__(self, graph: Graph, body: BodyReader = _read_uncached, limit: int = MAX_EXPANDED_OPS) -> None:
        self.base, self.max_ops = graph, limit
        cache: dict[Any, Graph] = {}
        self._body = lambda graph, function, op: body(graph, function, op, cache)
        self._root = FunctionInstance(graph)
        all_ = np.arange(graph.size, dtype=np.int32)
        self._folded = ExpandedGraph(graph, (self._root,), np.zeros(graph.size, np.int32), all_, (all_,))
        self._expansions: dict[frozenset[str], ExpandedGraph] = {}

    def expanded(self, scopes: Iterable[str]) -> ExpandedGraph:
        """Returns the graph with calls unfolded.

        Args:
            scopes: the scopes of the calls, with the scopes of the calls around them; other names are ignored.
        """
        targets = frozenset(scopes)
        opened = frozenset(path for part, call in self._walk(targets) if (path := join_scope(part.path, call.scope)))
        if not opened:
            return self._folded
        if opened not in self._expansions:
            while len(self._expansions) > 3:
                del self._expansions[next(iter(self._expansions))]
            self._expansions[opened] = _Expander(self._root, opened, self._body, self._graph).build()
        return self._expansions[opened]

    def _graph(self, scopes: Iterable[str]) -> Graph:
        return self.expanded(scopes).graph

    def expand_all(self) -> ExpandedGraph:
        """Returns the graph with all calls unfolded, outer calls first, up to the limit of ops."""
        return self.expanded(join_scope(part.path, call.scope) for part, call in self._walk(None))

    @cached_property
    def searchable(self) -> ExpandedGraph:
        """All ops at any depth, including the calls themselves, up to the limit of ops; a search uses them."""
        scopes = frozenset(join_scope(part.path, call.scope) for part, call in self._walk(None))
        return (
            _Expander(self._root, scopes, self._body, self._graph, keep_calls=True).build() if scopes else self._folded
        )

    def scopes_to(self, name: str) -> list[str]:
        """Returns the scopes of the calls to unfold, outermost first, so that the op, tensor or scope `name` exists.

        Raises:
            SelectionError: if a call on the way cannot be unfolded, or the name does not exist in it.
        """
        name, part, path = op_name(name).rstrip("/"), self._root, dict[str, None]()
        for part, rest in self._parts_around(name):
            if rest in part.graph.index or rest in part.graph.scopes.index:
                break
            for call in filter(None, map(part.scopes.get, scopes_around(rest))):
                self._refuse(part, call, f"reveal({name!r})")
        while part.parent is not None:
            path[join_scope(part.parent.path, part.parent.calls[part.call].scope)] = None
            part = part.parent
        return list(path)[::-1]

    def _parts_around(self, name: str) -> Iterator[tuple[FunctionInstance, str]]:
        """Yields the graph and the functions that may contain a name, outer ones first, and the name in each."""
        todo = [self._root]
        for part in todo:
            rest = name[len(part.path) + 1 :] if part.path else name
            yield part, rest
            inner = (one for scope in scopes_around(rest) for one in self._bodies(part, part.scopes.get(scope)))
            todo += [one for one in inner if f"{name}/".startswith(f"{one.path}/")]

    def check_unfoldable(self, scope: str, request: str) -> None:
        """Refuses to unfold the call of a scope if none of its ops can be shown.

        Raises:
            SelectionError: if the call is recursive, its function is missing, or the function has no ops.
        """
        op = self.find(scope)
        if op is not None:
            self._refuse(*op, request)

    @staticmethod
    def _refuse(part: FunctionInstance, call: CallSite, request: str) -> None:
        if call.functions:
            return
        op = call.op
        name = part.unfolded_name(op)
        if call.recursive:
            raise SelectionError(
                request,
                f"{name!r} calls function {call.recursive[0]!r}, which contains it, so unfolding would not end",
                "Look at the same function one level up",
            )
        if not call.missing:
            raise SelectionError(
                request,
                f"the function that {name!r} calls has no ops: it returns its arguments",
                "Select the consumers of the call",
            )
        raise SelectionError(
            request,
            f"function {call.missing[0]!r}, which {name!r} calls, is not in the graph",
            "Open a file that also contains the function",
        )

    def find(self, scope: str) -> tuple[FunctionInstance, CallSite] | None:
        """Returns the call of a scope and the part that it is in; None if no call has this scope."""
        parts = self._parts_around(scope)
        return next(((part, part.scopes[rest]) for part, rest in parts if rest in part.scopes), None)

    def locate(self, op: str) -> tuple[FunctionInstance, int] | None:
        """Returns the part that an op is in, and its number there; None if no op has this name."""
        parts = self._parts_around(op)
        return next(((part, part.graph.index[rest]) for part, rest in parts if rest in part.graph.index), None)

    def consumers_of(
        self, op: str, inside: Callable[[FunctionInstance, int], bool]
    ) -> Iterator[tuple[FunctionInstance, int]]:
        """Yields the consumers of an op with their parts, including the consumers inside called functions.

        Args:
            op: an op of the graph itself.
            inside: returns whether to look inside a call, which is given by its part and number.
        """
        todo = [(self._root, self.base.index[op])]
        for part, number in todo:
            for reader in part.graph.consumers.row(number).tolist():
                yield part, reader
                call = part.calls.get(reader)
                bodies = self._bodies(part, call) if call is not None and inside(part, reader) else ()
                for inner in (one for one in bodies if not one.gradient):
                    todo += [(inner, i) for i, end in enumerate(inner.arguments) if end and end[0] == number]

    def _bodies(self, part: FunctionInstance, call: CallSite | None) -> list[FunctionInstance]:
        return [part.body(call, called, self._body) for called in call.functions] if call is not None else []

    def instances(self) -> Iterator[FunctionInstance]:
        """Yields the graph itself and the functions of all calls, up to the limit of ops."""
        yield self._root
        for part, call in self._walk(None):
            yield from self._bodies(part, call)

    def callers(self, function: str, limit: int = 1000) -> list[str]:
        """Returns the names of the ops that call a function, outer ops first, among the first `limit` calls."""
        names = []
        for count, (part, call) in enumerate(self._walk(None)):
            if count >= limit:
                break
            if any(called.function == function and not called.gradient for called in call.functions):
                names.append(part.unfolded_name(call.op))
        return names

    def _walk(self, targets: frozenset[str] | None) -> Iterator[tuple[FunctionInstance, CallSite]]:
        """Yields the calls to unfold, outer calls first, up to the limit of ops; for None, all calls."""
        budget, todo = self.max_ops - self.base.size, [self._root]
        for part in todo:
            for call in part.calls.values():
                if not call.functions or (targets is not None and join_scope(part.path, call.scope) not in targets):
                    continue
                functions = part.graph.functions
                budget -= sum(len(functions[called.function].node_def) for called in call.functions)
                if budget < 0:
                    return
                yield part, call
                todo += [part.body(call, called, self._body) for called in call.functions]


@dataclass(frozen=True, eq=False)
class ExpandedGraph:
    """A graph with some of its calls unfolded.

    Args:
        graph: the ops of the graph and of the functions; ops of functions are named ``call/inner``.
        instances: the graph itself and the functions that are unfolded.
        part: for each op the number of its part.
        number: for each op its number in its part.
        places: for each part, the numbers of its ops in `graph`; -1 for a call that was replaced by its ops.
    """

    graph: Graph
    instances: tuple[FunctionInstance, ...]
    part: Ints
    number: Ints
    places: tuple[Ints, ...]

    @cached_property
    def origin(self) -> Ints:
        """For each op, its op in the graph itself: the same op, or the call that contains it."""
        first = np.array([-1, *(self._top(part) for part in self.instances[1:])], np.int32)
        return np.where(self.part == 0, self.number, first[self.part]).astype(np.int32)

    @staticmethod
    def _top(part: FunctionInstance) -> int:
        while part.parent is not None and part.parent.parent is not None:
            part = part.parent
        return part.call

    @cached_property
    def folded(self) -> dict[int, CallSite]:
        """The calls that are not unfolded, by number."""
        open_ = {(id(part.parent), part.call) for part in self.instances[1:]}
        return {
            int(place[op]): replace(call, scope=join_scope(part.path, call.scope))
            for part, place in zip(self.instances, self.places, strict=True)
            for op, call in part.calls.items()
            if (id(part), op) not in open_
        }

    @cached_property
    def descriptions(self) -> dict[str, str]:
        """Scope of each unfolded function -> its description."""
        return {
            part.path: ("" if part.name_infix else "call of ") + short_name(part.function)
            for part in self.instances[1:]
        }

    def spread_marks(self, marks: Mapping[int, str]) -> dict[int, str]:
        """Extends marks of ops of the graph itself to all ops that replace them or are unfolded below them."""
        if len(self.instances) == 1 or not marks:
            return dict(marks)
        at = np.flatnonzero(np.isin(self.origin, list(marks)))
        return {int(i): marks[int(self.origin[i])] for i in at}

    def positions_in(self, other: ExpandedGraph) -> Ints:
        """Returns for each op its number in another expansion: of the op itself, or of the call that contains it."""
        spots: list[Ints] = []
        places = {id(part): place for part, place in zip(other.instances, other.places, strict=True)}
        for part in self.instances:  # outer parts come first
            place = places.get(id(part))
            if place is None:
                assert part.parent is not None
                outer = spots[self.instances.index(part.parent)]
                place = np.full(part.graph.size, outer[part.call], np.int32)
            spots.append(place)
        first = np.cumsum([0, *(part.graph.size for part in self.instances[:-1])])
        numbers: Ints = np.concatenate(spots)[first[self.part] + self.number]
        return numbers

    @cached_property
    def gradient_ops(self) -> Ints:
        """The ops of gradients, by number; the op around them does not run them."""
        inner = [k for k, part in enumerate(self.instances) if _of_gradient(part)]
        return np.flatnonzero(np.isin(self.part, inner)).astype(np.int32)

    def instance_of(self, op: int) -> FunctionInstance | None:
        """Returns the function that an op is in; None for an op of the graph itself."""
        k = int(self.part[op])
        return self.instances[k] if k else None


def _of_gradient(part: FunctionInstance | None) -> bool:
    while part is not None and not part.gradient:
        part = part.parent
    return part is not None


class _OutputLookup:
    """Returns dtype and shape of the outputs of ops that come from several graphs.

    Args:
        graphs: the graphs.
        part: for each op, the number of its graph.
        number: for each op, its number there.
    """

    def __init__(self, graphs: Sequence[Graph], part: Sequence[int], number: Sequence[int]) -> None:
        self._graphs, self._part, self._number = graphs, part, number

    def __call__(self, op: int) -> Sequence[TensorInfo] | None:
        return self._graphs[self._part[op]].outputs(self._number[op])

    def declared_outputs(self, op: int) -> Sequence[TensorInfo] | None:
        """Returns the same without making a live graph."""
        return self._graphs[self._part[op]].declared_outputs(self._number[op])


class _Expander:
    """Puts the parts of a graph together; used once."""

    def __init__(
        self,
        root: FunctionInstance,
        unfolded_calls: frozenset[str],
        read_body: Callable[[Graph, str, int], Graph],
        expand: Callable[[Iterable[str]], Graph],
        keep_calls: bool = False,
    ) -> None:
        self.unfolded_calls, self.expand, self.keep = unfolded_calls, expand, keep_calls  # keep: whether calls stay
        self.parts, self.parts_of_call = [root], dict[int, list[int]]()  # parts; global number of a call -> its parts
        self.first_numbers = [0]
        self.replaced_tensors: dict[tuple[int, int], tuple[int, int]] = {}  # tensor -> the tensor that replaces it
        self.extra_inputs: dict[int, list[tuple[int, int]]] = {}  # op -> its additional inputs
        self.last_ops: dict[int, list[int]] = {}  # call -> the last ops of its function
        self.controls_before: dict[int, list[int]] = {}  # first op of a function -> ops that its call waits for
        total = root.graph.size
        for k, part in enumerate(self.parts):
            for op, call in part.calls.items():
                if call.functions and join_scope(part.path, call.scope) in unfolded_calls:
                    for called in call.functions:
                        self.parts_of_call.setdefault(self.first_numbers[k] + op, []).append(len(self.parts))
                        self.parts.append(part.body(call, called, read_body))
                        self.first_numbers.append(total)
                        total += self.parts[-1].graph.size
        self.total = total
        self.data = _stacked_edges([part.graph.data for part in self.parts], self.first_numbers)
        self.control = _stacked_edges([part.graph.control for part in self.parts], self.first_numbers)

    def build(self) -> ExpandedGraph:
        """Returns the graph with its calls unfolded."""
        drop = np.zeros(self.total, np.bool_)
        for op, below in self.parts_of_call.items():
            for k in below:
                self._join(op, k, drop)
        order = np.array([i for i in self._order() if not drop[i]], np.int32)
        place = np.full(self.total, -1, np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        part_of = np.repeat(np.arange(len(self.parts), dtype=np.int32), [p.graph.size for p in self.parts])[order]
        number = (order - np.asarray(self.first_numbers, np.int32)[part_of]).astype(np.int32)
        names, types, nodes = [], [], []
        leads = [(p.graph, f"{p.path}/" if p.path else "") for p in self.parts]
        for k, i in zip(part_of.tolist(), number.tolist(), strict=True):
            graph, lead = leads[k]
            names.append(lead + graph.names[i])
            types.append(graph.types[i])
            nodes.append(graph.nodes[i])
        base, parts = self.parts[0].graph, tuple(self.parts)
        outputs_of = _OutputLookup([part.graph for part in parts], part_of.tolist(), number.tolist())
        graph_out = replace(
            base, names=names, types=types, nodes=nodes, index=dict(zip(names, range(len(names)), strict=True)),
            data=self._data(order, place), control=self._control(order, place, drop), owner=object(),
            outputs_of=outputs_of, stamps=(), unfolded=self._unfolded_origin(names, place),
        )  # fmt: skip
        return ExpandedGraph(graph_out, parts, part_of, number, tuple(np.split(place, self.first_numbers[1:])))

    def _unfolded_origin(self, names: Sequence[str], place: Ints) -> UnfoldedOrigin:
        root = self.parts[0]
        calls = {p.call_name: p.parent.graph.nodes[p.call] for p in self.parts if p.parent is not None}
        results = dict[str, str]()
        for op, port in (
            end for end in self.replaced_tensors if end[0] < root.graph.size and end[0] in self.parts_of_call
        ):
            inner, out = self._end((op, port))
            if place[inner] >= 0:
                results.setdefault(f"{names[place[inner]]}:{out}", f"{root.graph.names[op]}:{port}")
        return UnfoldedOrigin(root.graph, calls, self.unfolded_calls, results, self.expand)

    # -- edges --------------------------------------------------------------------------------------

    def _join(self, op: int, k: int, drop: Any) -> None:
        """Connects arguments of a function to the inputs of its call, and its results to the consumers of the call."""
        part, first, graph = self.parts[k], self.first_numbers[k], self.parts[k].graph
        types = graph.types
        arguments = [first + i for i in range(graph.size) if types[i] == "_Arg"]
        results = [first + i for i in range(graph.size) if types[i] == "_Retval"]
        drop[results] = True
        ends = [self.data.ends(i) for i in results]
        result_sources = [end[0] for end in ends if end]
        own, outer = part.parent, op - part.call
        assert own is not None
        for argument, end in zip(arguments, part.arguments, strict=True):
            self.extra_inputs[argument] = [(outer + end[0], end[1])] if end is not None else []
        if part.gradient:
            return
        if not own.calls[part.call].is_plain:
            self.extra_inputs.setdefault(op, []).extend(dict.fromkeys(result_sources))
            return
        drop[op] = not self.keep and all(ends)  # a result of a damaged function may be nothing
        drop[arguments] = True
        self.replaced_tensors |= {(i, 0): self.extra_inputs[i][0] for i in arguments if self.extra_inputs[i]}
        self.replaced_tensors |= {(op, i): end[0] for i, end in enumerate(ends) if end}
        control_outputs = set(own.graph.functions[part.function].control_ret.values())  # in random order
        last = [first + i for i, name in enumerate(graph.names) if name in control_outputs]
        self.last_ops[op] = [*last, *(end[0] for end in result_sources)]
        before = [i for i, _ in self.control.ends(op)]
        if before:
            for i in range(graph.size):
                within = [n for n, _ in (*self.data.ends(first + i), *self.control.ends(first + i))]
                if types[i] not in ("Const", "_Arg", "_Retval") and all(types[n - first] == "_Arg" for n in within):
                    self.controls_before[first + i] = before

    def _end(self, tensor: tuple[int, int]) -> tuple[int, int]:
        """Returns the tensor that replaces another tensor, through all calls."""
        budget = len(self.replaced_tensors)
        while tensor in self.replaced_tensors and budget:  # a damaged graph may contain a cycle
            tensor, budget = self.replaced_tensors[tensor], budget - 1
        return tensor

    def _data(self, order: Ints, place: Ints) -> Edges:
        ptr, node, port = [0], list[int](), list[int]()
        rows, ends, outs = self.data.ptr.tolist(), self.data.node.tolist(), self.data.port.tolist()
        new_numbers = place.tolist()
        for i in order.tolist():
            for at in range(rows[i], rows[i + 1]):
                self._put(ends[at], outs[at], new_numbers, node, port)
            for maker, out in self.extra_inputs.get(i, ()):
                self._put(maker, out, new_numbers, node, port)
            ptr.append(len(node))
        return Edges(np.asarray(ptr, np.int32), np.asarray(node, np.int32), np.asarray(port, np.int32))

    def _put(self, producer: int, output: int, place: list[int], node: list[int], port: list[int]) -> None:
        if place[producer] < 0:
            producer, output = self._end((producer, output))
        if place[producer] >= 0:
            node.append(place[producer])
            port.append(output)

    def _control(self, order: Ints, place: Ints, drop: Any) -> Edges:
        ptr, node = [0], list[int]()
        rows, ends, new_numbers, removed = (
            self.control.ptr.tolist(),
            self.control.node.tolist(),
            place.tolist(),
            drop.tolist(),
        )
        for i in order.tolist():
            todo = [*ends[rows[i] : rows[i + 1]], *self.controls_before.get(i, ())]
            live: dict[int, bool] = {}
            for op in todo:  # grows: an op that waits for a call waits for the last ops in it
                if op in live:
                    continue
                live[op] = not removed[op]
                if removed[op]:
                    todo += self.last_ops.get(op) or [self._end((op, 0))[0]]
            node += [new_numbers[op] for op, stays in live.items() if stays]
            ptr.append(len(node))
        return Edges(np.asarray(ptr, np.int32), np.asarray(node, np.int32), np.zeros(len(node), np.int32))

    def _order(self) -> Iterator[int]:
        """Yields all ops in order; the ops of a function are at the position of its call."""
        stack: list[Iterator[int]] = [iter(range(self.parts[0].graph.size))]
        late: list[int] = []
        while stack:
            op = next(stack[-1], None)
            if op is None:
                stack.pop()
                if late:
                    yield late.pop()
                continue
            below = self.parts_of_call.get(op)
            if below is None:
                yield op
                continue
            stack.append(
                chain(*(range(self.first_numbers[k], self.first_numbers[k] + self.parts[k].graph.size) for k in below))
            )
            late.append(op)


def _stacked_edges(edges: Sequence[Edges], first: Sequence[int]) -> Edges:
    """Returns the rows of several graphs, one after another, with the op numbers of the combined graph."""
    return stack_edges(*(Edges(one.ptr, one.node + start, one.port) for one, start in zip(edges, first, strict=True)))
