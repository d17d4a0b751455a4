"""Graph: an immutable snapshot of a TensorFlow graph as names, types and edge arrays."""

from __future__ import annotations

import hashlib
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import PlanError, SelectionError, counted, nearest, unknown_name
from .edges import Edges as Edges
from .edges import Ints as Ints
from .edges import merge_edges, reversed_edges, stack_edges
from .functions import callees_of, functions_in_node, gradient_of, reachable_functions
from .lazy_graph import LiveGraphAttribute, materialize, materialized_graph
from .names import Scopes, begins_with, scopes_around
from .types import TFGraph
from .variables import GraphState, VariableInfo

Mask = NDArray[np.bool_]
DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string", 8: "complex64",
    9: "int64", 10: "bool", 11: "qint8", 12: "quint8", 13: "qint32", 14: "bfloat16", 15: "qint16", 16: "quint16",
    17: "uint16", 18: "complex128", 19: "float16", 20: "resource", 21: "variant", 22: "uint32", 23: "uint64",
    24: "float8_e5m2", 25: "float8_e4m3fn", 29: "int4", 30: "uint4",
}  # fmt: skip
"""Names of TensorFlow's dtypes by their numbers in files."""


class TensorInfo(NamedTuple):
    """The known facts of a tensor: dtype name (``float32``, ``float32_ref``) and static shape."""

    dtype: str
    shape: tuple[int | None, ...] | None  # None: unknown rank

    def __str__(self) -> str:
        return f"{self.dtype} {shape_text(self.shape)}"

    def fits(self, shape: Sequence[int]) -> bool:
        """Returns whether the tensor can have a value of this shape.

        Example:
            >>> TensorInfo("float32", (None, 3)).fits((2, 3)), TensorInfo("float32", (None, 3)).fits((3,))
            (True, False)
        """
        if self.shape is None or len(self.shape) != len(shape):
            return self.shape is None
        return all(dimension in (None, size) for dimension, size in zip(self.shape, shape, strict=True))


def output_at(outputs: Sequence[TensorInfo] | None, port: int) -> TensorInfo | None:
    """Returns dtype and shape of one output of an op, or None if they are not known.

    A damaged file may contain any number of an output.

    Args:
        outputs: dtype and shape of each output of the op, or None.
        port: the number of the output.

    Example:
        >>> output_at([TensorInfo("float32", ())], 0), output_at([TensorInfo("float32", ())], -1), output_at(None, 0)
        (TensorInfo(dtype='float32', shape=()), None, None)
    """
    return outputs[port] if outputs is not None and 0 <= port < len(outputs) else None


def shape_text(shape: tuple[int | None, ...] | None) -> str:
    """Returns a shape as text, such as ``(?, 224, 224, 3)``, ``()`` or ``unknown shape``."""
    if shape is None:
        return "unknown shape"
    inner = ", ".join("?" if d is None else str(d) for d in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def shape_from(text: str) -> tuple[int | None, ...] | None:
    """Reads a shape that `shape_text` has written.

    Example:
        >>> shape_from("(?, 3)"), shape_from("()"), shape_from("unknown shape")
        ((None, 3), (), None)
    """
    if not text.startswith("("):
        return None
    parts = [part.strip() for part in text.strip("()").split(",")]
    return tuple(None if part == "?" else int(part) for part in parts if part)


def value_info(info: VariableInfo) -> TensorInfo:
    """Returns dtype and static shape of the value of a variable."""
    return TensorInfo(info.dtype, shape_from(info.shape))


@dataclass(eq=False)
class UnfoldedOrigin:
    """The origin of a graph in which calls are unfolded.

    Args:
        graph: the graph itself.
        calls: name -> NodeDef of each call, outer calls first. A call inside another call has its unfolded name.
        scopes: the scopes of the unfolded calls.
        results: tensor of a function that a call in the graph itself returns -> the result of the call.
        expand: returns the graph with the calls of some scopes unfolded.
        with_runtime_shapes: the same graph with the shapes of the runtime, if they were requested.
    """

    graph: Graph
    calls: Mapping[str, Any]
    scopes: frozenset[str]
    results: Mapping[str, str]
    expand: Callable[[Iterable[str]], Graph]
    with_runtime_shapes: Graph | None = None

    @property
    def outer_calls(self) -> list[str]:
        """Names of the calls that are ops of the graph itself."""
        return [call for call in self.calls if call in self.graph.index]

    def outer_tensor(self, tensor: str) -> str:
        """Returns the name of a tensor in the graph itself; empty for a tensor that exists only inside a call."""
        return tensor if tensor.partition(":")[0] in self.graph.index else self.results.get(tensor, "")

    def call_of(self, op: str) -> str:
        """Returns the op of the graph itself that is, or that contains, an op."""
        return op if op in self.graph.index else next((c for c in self.calls if op.startswith(f"{c}/")), "")


@dataclass(frozen=True, eq=False)
class DerivedOrigin:
    """The owner of a graph that was made from another graph, by a plan or a cut.

    No live graph has the ops of this graph, or has them under the same numbers.

    Args:
        origin: the owner of the other graph.
    """

    origin: Any


@dataclass(frozen=True, eq=False)
class Graph:
    """A read-only picture of a graph at one moment.

    Args:
        names: op names, in the graph's own order.
        types: op types, one for each op.
        nodes: NodeDefs by reference, one for each op (never changed here).
        data: row i = producers of the data inputs of op i, in input order.
        control: row i = control inputs of op i.
        owner: identifies the graph: the live graph, which may be deferred or pending, or any other object. Two
            snapshots of one owner have the same numbers for the ops that both have. After a plan, or a cut, the owner
            is a `DerivedOrigin`.
        outputs_of: op number -> TensorInfo of each of its outputs; None if they are not known.
        title: the name of the graph in messages.
        state_of: reads its variables and collections, at the first access.
        stamps: for each op its state in the live graph, as bytes, which are equal until the op changes. Empty if the
            snapshot is not of a live graph.
        functions_of: reads the functions that its ops may call, at the first access.
        gradients_of: reads which functions are gradients, at the first access.
        unfolded: the origin of the graph, if calls are unfolded in it.
        unknown_types: the op types in it, and in its functions, that are unknown to TensorFlow in this process.
        base: the snapshot that it extends, as long as that snapshot exists; the tree of scopes is reused.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"])])
        >>> g.size, g.input_names(1)
        (2, ['a:0'])
    """

    names: Sequence[str]
    types: Sequence[str]
    nodes: Sequence[Any]
    data: Edges
    control: Edges
    index: dict[str, int]
    owner: LiveGraphAttribute = LiveGraphAttribute()  # noqa: RUF009  a descriptor
    outputs_of: Callable[[int], Sequence[TensorInfo] | None] | None = None
    title: str = "graph"
    state_of: Callable[[], GraphState] | None = None
    stamps: Sequence[bytes] = ()
    functions_of: Callable[[], Mapping[str, Any]] | None = None
    gradients_of: Callable[[], Mapping[str, str]] | None = None
    unfolded: UnfoldedOrigin | None = None
    unknown_types: frozenset[str] = frozenset()
    base: weakref.ref[Graph] | None = None

    # -- constructors -------------------------------------------------------------------------

    @classmethod
    def from_nodes(cls, nodes: Iterable[Any], **fields: object) -> Graph:
        """Reads NodeDefs (anything with name, op, input) into a snapshot.

        Args:
            nodes: the nodes, in any order.
            fields: further fields of the snapshot, by name.

        Raises:
            SelectionError: if an input names an op that is not among the nodes.
        """
        return cls._grow(None, list(nodes), fields)

    @classmethod
    def from_ops(cls, ops: Iterable[tuple[str, str, Sequence[str]]], **fields: object) -> Graph:
        """Builds a snapshot from (name, type, inputs) triples; for tests and small examples.

        Args:
            ops: for each op its name, its type, and its inputs as a NodeDef writes them.
            fields: further fields of the snapshot, by name.
        """
        return cls.from_nodes([PlainNode(*op) for op in ops], **fields)

    def with_nodes(self, nodes: Iterable[Any], stamps: Sequence[bytes] = ()) -> Graph:
        """Returns a snapshot with these nodes and their stamps added; this snapshot does not change.

        Args:
            nodes: NodeDefs of the new ops; they may read existing ops.
            stamps: for each new op its state in the live graph, as bytes. Default: not known.
        """
        keys = ("owner", "outputs_of", "title", "state_of", "functions_of", "gradients_of", "unknown_types")
        about = {key: getattr(self, key) for key in keys}
        return self._grow(self, list(nodes), {**about, "stamps": [*self.stamps, *stamps]})

    @classmethod
    def _grow(cls, base: Graph | None, nodes: list[Any], fields: dict[str, Any]) -> Graph:
        fields.setdefault("owner", object())
        start = base.size if base else 0
        index = dict(base.index) if base else {}
        names = [n.name for n in nodes]
        index.update(zip(names, range(start, start + len(names)), strict=True))
        texts: list[str] = []
        ends = [0]
        for node in nodes:
            texts += node.input[:]  # copying the list at once is faster than iterating over protobuf's list
            ends.append(len(texts))
        number = array("i", map(index.get, texts, repeat(-1)))  # most inputs are the bare name of an op: its output 0
        port = array("i", bytes(number.itemsize * len(number)))
        is_control = np.zeros(len(texts), np.bool_)
        for at in np.flatnonzero(np.array(number) < 0).tolist():
            text = texts[at]
            try:
                if text[0] == "^":
                    is_control[at], number[at] = True, index[text[1:]]
                else:
                    name, _, output = text.rpartition(":")
                    number[at], port[at] = index[name], int(output)
            except (KeyError, IndexError, ValueError):
                op = names[bisect_right(ends, at) - 1]
                raise SelectionError(
                    f"reading op {op!r}",
                    f"its input {text!r} names no op of this graph",
                    "Give the whole graph, or a part of it with all inputs",
                    names=[op],
                ) from None
            except OverflowError:
                op = names[bisect_right(ends, at) - 1]
                raise SelectionError(
                    f"reading op {op!r}",
                    f"its input {text[-80:]!r} has a number that no output has",
                    "Write the graph out again in the code that made it",
                    names=[op],
                ) from None
        rows = np.repeat(np.arange(len(nodes), dtype=np.int32), np.diff(ends))
        is_data, of, ports = ~is_control, np.asarray(number), np.asarray(port)
        data = Edges.from_rows(rows[is_data], of[is_data], len(nodes), ports[is_data])
        control = Edges.from_rows(rows[is_control], of[is_control], len(nodes))
        return cls(
            names=[*base.names, *names] if base else names,
            types=[*(base.types if base else ()), *(n.op for n in nodes)],
            nodes=[*base.nodes, *nodes] if base else nodes,
            data=stack_edges(base.data, data) if base else data,
            control=stack_edges(base.control, control) if base else control,
            index=index,
            **fields,
        )

    # -- queries ------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of ops."""
        return len(self.names)

    @property
    def folded(self) -> Graph:
        """The graph without unfolded calls; the graph itself if no calls are unfolded."""
        return self if self.unfolded is None else self.unfolded.graph

    @property
    def origin(self) -> Any:
        """The owner of the graph that this graph was made from by a plan or a cut; otherwise its own owner."""
        owner = self.folded.owner
        return materialized_graph(owner.origin) if isinstance(owner, DerivedOrigin) else owner

    @property
    def derived(self) -> bool:
        """Whether the graph was made from another graph by a plan or a cut."""
        return isinstance(self.folded.owner, DerivedOrigin)

    def __repr__(self) -> str:
        return f"<Graph {self.title}: {counted(self.size, 'ops')}>"

    @cached_property
    def state(self) -> GraphState:
        """Variables and collections; empty if they are not known."""
        return self.state_of() if self.state_of else GraphState()

    @cached_property
    def functions(self) -> Mapping[str, Any]:
        """The functions that its ops may call: name -> FunctionDef; empty if they are not known.

        A file may contain a function without a name. No op can call it, because an empty name means no function.
        """
        library = self.functions_of() if self.functions_of else {}
        return {name: one for name, one in library.items() if name} if "" in library else library

    @cached_property
    def gradients(self) -> Mapping[str, str]:
        """Function, or name of a gradient of an op -> the gradient function."""
        return self.gradients_of() if self.gradients_of else {}

    @cached_property
    def scopes(self) -> Scopes:
        """The tree of name scopes."""
        first = self.base and self.base()
        if first and "scopes" in vars(first) and begins_with(self.names, first.names):
            return first.scopes.with_ops(self.names[first.size :], self.index)
        return Scopes.from_names(self.names, self.index)

    @cached_property
    def lowercase_names(self) -> frozenset[str]:
        """Names of all ops and scopes in lower case, because TensorFlow's unique names ignore case."""
        return frozenset(n.lower() for n in self.names) | frozenset(n.lower() for n in self.scopes.names)

    def is_name_used(self, name: str) -> bool:
        """Returns whether an op or a scope of this name exists, without regard to case.

        Args:
            name: the name.
        """
        return name.lower() in self.lowercase_names

    @cached_property
    def consumers(self) -> Edges:
        """Row i = ops that read a data output of op i; `port` is the index of the output."""
        return reversed_edges(self.data, self.size)

    @cached_property
    def all_inputs(self) -> Edges:
        """Row i = all inputs of op i: data inputs, then control inputs."""
        return merge_edges(self.data, self.control) if len(self.control.node) else self.data

    @cached_property
    def control_consumers(self) -> Edges:
        """Row i = ops that have op i as control input."""
        return reversed_edges(self.control, self.size)

    @cached_property
    def type_array(self) -> NDArray[np.str_]:
        """Op types as an array, for comparisons over the whole graph."""
        return np.array(self.types, dtype=np.str_) if self.size else np.empty(0, np.str_)

    @cached_property
    def type_index(self) -> tuple[list[str], Ints, Ints]:
        """The op types in the graph, the first op of each type, and for each op the number of its type."""
        number = {kind: i for i, kind in enumerate(dict.fromkeys(self.types))}
        kind_of = np.fromiter(map(number.__getitem__, self.types), np.int32, self.size)
        first = np.empty(len(number), np.int32)
        first[kind_of[::-1]] = np.arange(self.size - 1, -1, -1, dtype=np.int32)  # the last written value stays
        return list(number), first, kind_of

    def type_mask(self, types: Iterable[str]) -> Mask:
        """Returns a mask of the ops of these types.

        Args:
            types: op types.

        Example:
            >>> Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"])]).type_mask(["Neg", "Exp"]).tolist()
            [False, True]
        """
        kinds_set = frozenset(types)
        kinds, _, kind_of = self.type_index
        hit: Mask = np.array([kind in kinds_set for kind in kinds], np.bool_)[kind_of]
        return hit

    @cached_property
    def unknown_ops(self) -> Mask:
        """A mask of the ops of types that are unknown to TensorFlow in this process."""
        return self.type_mask(self.unknown_types)

    @cached_property
    def refused_ops(self) -> Mask:
        """A mask of the ops of unknown types, and of the ops that call a function with such ops."""
        out, functions = self.unknown_ops.copy(), self.functions if self.unknown_types else {}
        refused_functions = set[str]()
        for name in reachable_functions(functions, functions):  # callees first
            inner = functions[name].node_def
            if any(
                node.op in self.unknown_types or not refused_functions.isdisjoint(functions_in_node(node, functions))
                for node in inner
            ):
                refused_functions.add(name)
        if refused_functions:
            out |= np.fromiter(
                (bool(functions_in_node(node, refused_functions)) for node in self.nodes), np.bool_, self.size
            )
        return out

    def find(self, name: str, request: str = "", layers: Callable[[], Iterable[str]] = tuple) -> int:
        """Returns the number of the op called `name`.

        Args:
            name: the name of an op.
            request: the request, for error messages.
            layers: returns the names of layers, which the message also searches.

        Raises:
            SelectionError: if there is no such op; the message proposes the nearest names.
        """
        request = request or f"find({name!r})"
        if not isinstance(name, str):
            raise SelectionError(request, f"{name!r} is not text", "Give its name, such as 'conv1/y'")
        i = self.index.get(name)
        if i is None:
            more, how = self._inside(name)
            problem = f"no op is called {name!r} in {self.title}{more}"
            similar = [] if how else self._similar(name, layers())
            raise SelectionError(request, problem, how) if how else unknown_name(request, problem, similar)
        return i

    def _similar(self, name: str, layers: Iterable[str]) -> list[str]:
        """Returns the ops and layers with the most similar names; for a similar scope, its last op."""
        paths = self.scopes.names[1:]
        scopes = {**{path.rpartition("/")[2]: path for path in reversed(paths)}, **{path: path for path in paths}}
        others = dict.fromkeys([*self.index, *layers])
        close = nearest(name, [*others, *scopes])
        return list(dict.fromkeys(one if one in others else self._last(scopes[one]) for one in close))

    def _last(self, scope: str) -> str:
        return self.names[int(np.flatnonzero(self.scope_mask(scope))[-1])]

    def enclosing_call(self, name: str) -> str:
        """Returns the op that calls the function which contains an op; empty if no function contains the op.

        If the function is the gradient of an op, the method returns that op.

        Args:
            name: the name of an op, as a picture with unfolded calls shows it.
        """
        for call in scopes_around(name):
            node = self.nodes[self.index[call]] if call in self.index else None
            called = callees_of(node, self.functions) if node is not None else ()
            inside = [*(one.function for one in called), gradient_of(node, self.gradients, self.functions)[0]]
            if any(one in self.functions for one in inside):
                return call
        return ""

    def _inside(self, name: str) -> tuple[str, str]:
        """Returns why an op inside a called function cannot be used, and a suggestion; empty for other names."""
        call = self.enclosing_call(name)
        for one in callees_of(self.nodes[self.index[call]], self.functions) if call else ():
            inner = name[len(call) + 1 :].removeprefix(f"{one.name_infix}/" if one.name_infix else "")
            body = self.functions[one.function].node_def if one.function in self.functions else ()
            if any(f"{inner}/".startswith(f"{node.name}/") or node.name.startswith(f"{inner}/") for node in body):
                problem = f": it is inside function {one.function!r}, which {call!r} calls"
                return problem, f"Inline the call first: plan.inline({call!r})"
        slope = gradient_of(self.nodes[self.index[call]], self.gradients, self.functions)[0] if call else ""
        if slope in self.functions:
            problem = f": it is inside function {slope!r}, the gradient of {call!r}"
            return problem, f"Work in the function alone: gs.open(..., function={slope!r})"
        return "", ""

    def tensor(self, name: str, request: str = "", layers: Callable[[], Iterable[str]] = tuple) -> tuple[int, int]:
        """Returns (op number, output index) of the tensor called `name` (``a/b:0``, or ``a/b`` for its output 0).

        Args:
            name: the name of a tensor or op.
            request: the request, for error messages.
            layers: returns the names of layers, which the message also searches.

        Raises:
            SelectionError: if there is no such op, or the op has no such output.
        """
        request = request or f"tensor({name!r})"
        if not isinstance(name, str):
            raise SelectionError(request, f"{name!r} is not text", "Give its name, such as 'conv1/y:0'")
        op_name, colon, port_text = name.rpartition(":")
        if not colon:
            op_name, port_text = name, "0"
        if not port_text.isdigit():
            problem = f"{name!r} is not a tensor name"
            output = f"{op_name or name}:0"
            raise SelectionError(request, problem, f"Type it as op:output, like {output!r}", names=[output])
        if op_name not in self.index:
            more, how = self._inside(op_name)
            problem = f"there is no tensor {name!r} in {self.title}" + (more or ": no op has that name")
            similar = [] if how else self._similar(op_name, layers())
            raise SelectionError(request, problem, how) if how else unknown_name(request, problem, similar)
        i, port = self.index[op_name], int(port_text)
        outputs = self.declared_outputs(i)
        if outputs is not None and port >= len(outputs) and self.types[i] not in self.unknown_types:
            there = [f"{op_name}:{k}" for k in range(min(len(outputs), 8))]
            have = ", ".join(map(repr, there)) or "no outputs at all"
            problem = f"op {op_name!r} ({self.types[i]}) has {counted(len(outputs), 'outputs')}"
            raise SelectionError(request, problem, f"It has {have}", names=there)
        return i, port

    @property
    def live_graph(self) -> TFGraph:
        """The live graph of this snapshot. The live graph of a file is made at the first access.

        A stand-in replaces each op in `refused_ops`. A graph with a stand-in must not be run or written.

        Raises:
            OpenError: if TensorFlow also refuses other parts of the graph.
            PlanError: if this is the graph after a plan.
        """
        if self.derived:
            problem = "the graph after a plan is not a live graph"
            raise PlanError(f"{self.title}.live", problem, "Apply the plan first: ed.apply(plan)")
        live: TFGraph = materialize(self.owner, complete=False)
        return live

    def declared_outputs(self, i: int) -> Sequence[TensorInfo] | None:
        """Returns dtype and shape of each output of op i as the file states them, without making a live graph.

        Args:
            i: the number of the op.
        """
        return getattr(self.outputs_of, "declared_outputs", self.outputs)(i)

    def declared_info(self, i: int, port: int) -> TensorInfo | None:
        """Returns dtype and shape of one output as the file states them, without making a live graph.

        Args:
            i: the number of the op.
            port: the number of the output.
        """
        return output_at(self.declared_outputs(i), port)

    def outputs(self, i: int) -> Sequence[TensorInfo] | None:
        """Returns dtype and shape of each output of op i, or None if they are not known.

        Args:
            i: the number of the op.
        """
        return self.outputs_of(i) if self.outputs_of else None

    def info(self, i: int, port: int) -> TensorInfo | None:
        """Returns dtype and static shape of output `port` of op i, or None if it is not known.

        Args:
            i: the number of the op.
            port: the number of the output.
        """
        return output_at(self.outputs(i), port)

    def name(self, tensor: tuple[int, int]) -> str:
        """Returns the name of a tensor (op, output).

        Args:
            tensor: (op number, output number).
        """
        return f"{self.names[tensor[0]]}:{tensor[1]}"

    def input_names(self, i: int) -> list[str]:
        """Returns the tensor names of the data inputs of op i, in order.

        Args:
            i: the number of the op.
        """
        return [self.name(tensor) for tensor in self.data.ends(i)]

    def control_names(self, i: int) -> list[str]:
        """Returns the names of the control inputs of op i.

        Args:
            i: the number of the op.
        """
        return [self.names[n] for n in self.control.row(i).tolist()]

    def consumers_of(self, tensor: tuple[int, int]) -> list[tuple[int, int]]:
        """Returns (op, input) for each consumer of a tensor, in order.

        Args:
            tensor: (op number, output number).
        """
        return [(op, at) for op, at, port in consumer_edges(self, tensor[0]) if port == tensor[1]]

    @cached_property
    def _consumer_inputs(self) -> Ints:
        """For each edge of `consumers`, the number of the input."""
        order = np.argsort(self.data.node, kind="stable")
        return (order - self.data.ptr[self.data.rows[order]]).astype(np.int32)

    def node_def_inputs(self, first: int = 0) -> list[list[str]]:
        """Returns the inputs of the ops from number `first` on as a NodeDef writes them: output 0 by the bare name.

        Args:
            first: the number of the first op.

        Example:
            >>> Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a:0", "^a"])]).node_def_inputs()
            [[], ['a', '^a']]
        """
        names, begin = self.names, int(self.data.ptr[first])
        texts = [names[n] for n in self.data.node[begin:].tolist()]
        port = self.data.port[begin:]
        for at in np.flatnonzero(port).tolist():
            texts[at] += f":{port[at]}"
        ends = (self.data.ptr[first:] - begin).tolist()
        rows = [texts[a:b] for a, b in pairwise(ends)]
        for i in np.flatnonzero(np.diff(self.control.ptr[first:])).tolist():
            rows[i] += [f"^{name}" for name in self.control_names(first + i)]
        return rows

    def mask(self, ops: Iterable[int]) -> Mask:
        """Returns a mask over all ops that is true at these numbers.

        Args:
            ops: op numbers.
        """
        out = np.zeros(self.size, dtype=np.bool_)
        out[ops if isinstance(ops, np.ndarray) else np.fromiter(ops, np.int64)] = True
        return out

    def scope_mask(self, scope: str) -> Mask:
        """Returns a mask of the ops in a name scope: the op with its name, if there is one, and all ops below it.

        Args:
            scope: the name scope, with or without the ``/`` at its end.
        """
        return self.scopes.mask(scope)

    @cached_property
    def colocated(self) -> Mask:
        """A mask of the ops that are colocated with others (``_class``)."""
        attribute_maps = (getattr(node, "attr", ()) for node in self.nodes)
        return np.fromiter(("_class" in attributes for attributes in attribute_maps), np.bool_, self.size)

    @cached_property
    def colocations(self) -> tuple[Ints, Ints, list[str]]:
        """For each colocation: the op, the other op (-1 if it is not in the graph), and the name of the other op."""
        ops, names = [], []
        for i in np.flatnonzero(self.colocated).tolist():
            for place in self.nodes[i].attr["_class"].list.s:
                if place.startswith(b"loc:@"):
                    ops.append(i)
                    names.append(place[5:].decode("utf-8", "replace"))
        others = [self.index.get(name, -1) for name in names]
        return np.array(ops, np.int32), np.array(others, np.int32), names

    @cached_property
    def fingerprint(self) -> str:
        """A hash of names, types and edges. It does not depend on the order of control inputs."""
        h = hashlib.blake2b(digest_size=16)
        h.update("\n".join(self.names).encode("utf-8", "surrogatepass"))
        h.update("\n".join(self.types).encode("utf-8", "surrogatepass"))
        # The order of control inputs has no meaning, and TensorFlow writes another order in each run.
        waits = self.control.node[np.lexsort((self.control.node, self.control.rows))]
        for part in (*self.data, self.control.ptr, waits):
            h.update(part.tobytes())
        return h.hexdigest()


def consumer_edges(graph: Graph, op: int) -> list[tuple[int, int, int]]:
    """Returns (consumer, input, output of the op) for each edge from an op to its consumers, in order."""
    begin, end = graph.consumers.ptr[op : op + 2].tolist()
    ends = (graph.consumers.node, graph._consumer_inputs, graph.consumers.port)  # noqa: SLF001  of this class
    return list(zip(*(values[begin:end].tolist() for values in ends), strict=True))


class PlainNode(NamedTuple):
    """The fields that a node needs to be read: name, op type, and inputs as a NodeDef writes them."""

    name: str
    op: str
    input: Sequence[str]
