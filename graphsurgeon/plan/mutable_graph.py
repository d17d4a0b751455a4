"""MutableGraph: the graph while the steps of a plan are resolved. The cost of a change depends only on its size."""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..graph.boundary import Tensor
from ..graph.control_flow import ENTERS, EXITS, loops_of
from ..graph.edges import Edges, stack_edges
from ..graph.graph import Graph, TensorInfo, consumer_edges, output_at
from ..graph.rewiring import OutputsOf, OutputTable, rewire_inputs, set_control_inputs
from ..graph.types import TFNodeDef


class _NameIndex:
    """Maps the current names of ops to their numbers."""

    def __init__(self, base: Mapping[str, int]) -> None:
        self._base = base
        self.new: dict[str, int] = {}  # -1 if no op has the name any more

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the number of the op of this name."""
        at = self.new.get(name)
        if at is None:
            return self._base.get(name, default)
        return default if at < 0 else at

    def __getitem__(self, name: str) -> int:
        at = self.get(name)
        if at is None:
            raise KeyError(name)
        return int(at)

    def __contains__(self, name: object) -> bool:
        return self.get(name) is not None  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, int]:
        """Returns all names with their numbers."""
        out = {**self._base, **self.new}
        for name in [name for name, at in self.new.items() if at < 0]:
            del out[name]
        return out


class _ConsumerIndex:
    """Maps an op to its consumers: (consumer, input) -> output of the op. A control edge has input -1.

    Args:
        edges_from: returns (consumer, input, output) for each edge from an op in the original graph.
    """

    def __init__(self, edges_from: Callable[[int], Iterable[tuple[int, int, int]]]) -> None:
        self._edges_from, self._rows = edges_from, dict[int, dict[tuple[int, int], int]]()
        self._pending: list[tuple[int, Edges, bool]] = []

    def defer(self, first: int, edges: Edges, control: bool = False) -> None:
        """Adds the edges of new ops; they are processed at the next query."""
        self._pending.append((first, edges, control))

    def row(self, op: int) -> dict[tuple[int, int], int]:
        """Returns the consumers of one op; callers may change them."""
        late, self._pending = self._pending, []
        for first, edges, control in late:
            rows = edges.rows
            inputs = np.full(len(rows), -1) if control else np.arange(len(rows)) - edges.ptr[rows]
            ends = (rows + first, inputs, edges.node, edges.port)
            for consumer, at, source, port in zip(*(values.tolist() for values in ends), strict=True):
                self._row(source)[consumer, at] = port
        return self._row(op)

    def _row(self, op: int) -> dict[tuple[int, int], int]:
        if op not in self._rows:
            self._rows[op] = {(consumer, at): port for consumer, at, port in self._edges_from(op)}
        return self._rows[op]


class MutableGraph:
    """A graph that steps change and query; `snapshot` returns it as a value.

    Args:
        graph: the graph to start from.

    Example:
        >>> graph = MutableGraph(Graph.from_ops([("a", "Const", []), ("b", "Const", []), ("c", "Neg", ["a"])]))
        >>> graph.set_input(2, 0, (1, 0))
        >>> graph.consumers_of((1, 0)), graph.consumers_of((0, 0)), graph.snapshot().input_names(2)
        ([(2, 0)], [], ['b:0'])
    """

    def __init__(self, graph: Graph, layers: Callable[[], Iterable[str]] = tuple) -> None:
        self.graph, self._layers = graph, layers
        self.names: list[str] = graph.names  # type: ignore[assignment]
        self.types: list[str] = graph.types  # type: ignore[assignment]
        self.index = _NameIndex(graph.index)
        self._nodes: list[Any] = graph.nodes  # type: ignore[assignment]
        self._owns_lists = False  # whether the lists belong to this object only; else a returned graph shares them
        self._blocks: list[tuple[int, Edges, Edges, OutputsOf | None]] = []
        self._starts = [0]
        self._rows: dict[int, list[Tensor]] = {}
        self._control_inputs: dict[int, dict[int, None]] = {}
        self._consumers = _ConsumerIndex(lambda op: consumer_edges(graph, op) if op < graph.size else [])
        self._control_consumers = _ConsumerIndex(
            lambda op: [(one, -1, 0) for one in graph.control_consumers.row(op).tolist()] if op < graph.size else []
        )
        self._pending_blocks: list[int] = []  # blocks with names that are not in `_scopes` yet
        self._scopes: dict[str, dict[int, None]] = {}  # lower-case scope -> ops with new names in it
        self._renamed_ops: set[int] = set()  # ops of `graph` that have another name now
        self._left_counts: dict[str, int] = {}  # lower-case name or scope -> how many ops of `graph` have left it
        self._original_counts: dict[str, int] = {}  # ... -> how many ops of `graph` were in it
        self.dropped: set[int] = set()  # new ops that were removed again
        self._loops: dict[int, int] | None = None
        self._looping: bool | None = None
        self._snapshot: Graph | None = graph

    # -- queries --------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of ops."""
        return len(self.names)

    @property
    def title(self) -> str:
        """The title of the graph, for messages."""
        return self.graph.title

    @property
    def state(self) -> Any:
        """Variables and collections, by their names before all steps."""
        return self.graph.state

    def find(self, name: str, request: str = "") -> int:
        """Returns the number of an op; raises SelectionError with the nearest names."""
        number = self.index.get(name)
        return self.snapshot().find(name, request, self._layers) if number is None else int(number)

    def tensor(self, name: str, request: str = "") -> Tensor:
        """Returns (op number, output); raises SelectionError if the tensor does not exist."""
        op, colon, port = name.rpartition(":")
        number = self.index.get(op if colon else name)
        if number is None or (colon and not port.isdigit()):
            return self.snapshot().tensor(name, request, self._layers)
        outputs = self.outputs(number)
        if outputs is not None and int(port if colon else 0) >= len(outputs):
            return self.snapshot().tensor(name, request, self._layers)
        return number, int(port) if colon else 0

    def outputs(self, i: int) -> Sequence[TensorInfo] | None:
        """Returns dtype and shape of each output of an op, or None."""
        if i < self.graph.size:
            return self.graph.outputs(i)
        first, _, _, outputs_of = self._block(i)
        return None if outputs_of is None else outputs_of(i - first)

    def info(self, i: int, port: int) -> TensorInfo | None:
        """Returns dtype and static shape of an output, or None."""
        return output_at(self.outputs(i), port)

    def inputs(self, i: int) -> list[Tensor]:
        """Returns the inputs of an op; callers must not change the list."""
        row = self._rows.get(i)
        if row is not None:
            return row
        edges, at = (self.graph.data, i) if i < self.graph.size else self._at(i, 1)
        return edges.ends(at)

    def source(self, i: int, at: int) -> Tensor:
        """Returns one input of an op."""
        row = self._rows.get(i)
        if row is not None:
            return row[at]
        edges, i = (self.graph.data, i) if i < self.graph.size else self._at(i, 1)
        return edges.end(i, at)

    def control_inputs(self, i: int) -> list[int]:
        """Returns the control inputs of an op."""
        if i in self._control_inputs:
            return list(self._control_inputs[i])
        edges, at = (self.graph.control, i) if i < self.graph.size else self._at(i, 2)
        out: list[int] = edges.row(at).tolist()
        return out

    def name(self, tensor: Tensor) -> str:
        """Returns the name of a tensor."""
        return f"{self.names[tensor[0]]}:{tensor[1]}"

    def input_names(self, i: int) -> list[str]:
        """Returns the names of the tensors that an op reads."""
        return [self.name(tensor) for tensor in self.inputs(i)]

    def consumers_of(self, tensor: Tensor) -> list[tuple[int, int]]:
        """Returns (op, input) for each consumer of a tensor, in order."""
        return sorted(end for end, port in self._consumers.row(tensor[0]).items() if port == tensor[1])

    def consumers_by_output(self, op: int) -> dict[int, list[tuple[int, int]]]:
        """Returns, for each output of an op that other ops read, (op, input) for each consumer; all in order."""
        out: dict[int, list[tuple[int, int]]] = {}
        for end, port in sorted(self._consumers.row(op).items()):
            out.setdefault(port, []).append(end)
        return dict(sorted(out.items()))

    def waits_for(self, op: int, source: int) -> bool:
        """Returns whether an op has another op as a control input."""
        return (op, -1) in self._control_consumers.row(source)

    def data_consumers(self, op: int) -> list[int]:
        """Returns the ops that read an op, in order."""
        return sorted({consumer for consumer, _ in self._consumers.row(op)})

    def control_consumers(self, op: int) -> list[int]:
        """Returns the ops that wait for an op, in order."""
        return sorted({consumer for consumer, _ in self._control_consumers.row(op)})

    def is_name_used(self, name: str) -> bool:
        """Returns whether an op or scope has this name; upper and lower case are the same."""
        self._enter_new()
        low = name.lower()
        if self._scopes.get(low):
            return True
        return low in self.graph.lowercase_names and (
            low not in self._left_counts or self._left_counts[low] < self._original_counts[low]
        )

    def ops_in_scope(self, scope: str) -> list[int]:
        """Returns the ops below a name scope, in order."""
        self._enter_new()
        lead, out = f"{scope}/", []
        if scope in self.graph.scopes.index:
            out = [i for i in np.flatnonzero(self.graph.scope_mask(scope)).tolist() if self.names[i].startswith(lead)]
        new = [i for i in self._scopes.get(scope.lower(), ()) if self.names[i].startswith(lead)]
        return sorted({*out, *new}) if new else out

    @property
    def rewired_ops(self) -> list[int]:
        """The ops of the original graph with other inputs or control inputs."""
        return sorted(op for op in self._rows.keys() | self._control_inputs.keys() if op < self.graph.size)

    def outermost_loop(self, i: int) -> int:
        """Returns the number of the outermost ``while_loop`` of TF1 that an op runs in, -1 for none."""
        if self._looping is None:
            self._looping = bool(self.graph.type_mask(ENTERS).any())
        if not self._looping:
            return -1
        if self._loops is None:
            self._loops = dict(enumerate(loops_of(self.snapshot()).tolist()))
        return self._loops[i]

    # -- changes --------------------------------------------------------------------------------

    def set_input(self, op: int, index: int, tensor: Tensor) -> None:
        """Makes an op read another tensor."""
        row = self._rows.setdefault(op, self.inputs(op))
        del self._consumers.row(row[index][0])[op, index]
        self._consumers.row(tensor[0])[op, index] = tensor[1]
        row[index] = tensor
        self._snapshot = None

    def change_control_inputs(self, op: int, removed: Iterable[int], added: Iterable[int]) -> None:
        """Makes an op no longer wait for some ops, and then wait for others."""
        waits = self._control_inputs.get(op)
        if waits is None:
            waits = self._control_inputs[op] = dict.fromkeys(self.control_inputs(op))
        for source in removed:
            waits.pop(source, None)
            self._control_consumers.row(source).pop((op, -1), None)
        for source in added:
            waits[source] = None
            self._control_consumers.row(source)[op, -1] = 0
        self._snapshot = None

    def set_control_inputs(self, op: int, control_inputs: Iterable[int]) -> None:
        """Makes an op wait for exactly these ops."""
        self.change_control_inputs(op, self.control_inputs(op), control_inputs)

    def restore(self, op: int) -> None:
        """Gives an op of the original graph its original inputs and control inputs."""
        for at, tensor in enumerate(self.graph.data.ends(op)):
            self.set_input(op, at, tensor)
        self.set_control_inputs(op, self.graph.control.row(op).tolist())

    def drop(self, ops: Sequence[int]) -> None:
        """Removes new ops that no other op reads, and the waits for them.

        Their numbers stay, so that no other op gets a new number. No name leads to them.
        """
        self.rename({op: f"_removed_{op}" for op in ops})
        self.index.new.update((f"_removed_{op}", -1) for op in ops)
        for op in ops:
            for at, (source, _) in enumerate(self.inputs(op)):
                del self._consumers.row(source)[op, at]
            self._rows[op] = []
            self.set_control_inputs(op, [])
            for waiting in self.control_consumers(op):
                self.change_control_inputs(waiting, [op], ())
            self.types[op], self._nodes[op] = "NoOp", None
        self.dropped.update(ops)

    def add(
        self,
        names: Sequence[str],
        types: Sequence[str],
        nodes: Sequence[TFNodeDef | None],
        data: Edges,
        control: Edges,
        outputs_of: OutputsOf | None,
    ) -> int:
        """Adds ops at the end; returns the number of the first new op.

        Args:
            names, types, nodes: the names, op types and NodeDefs of the ops.
            data, control: their inputs and control inputs, by number.
            outputs_of: returns the outputs of the new op with an index from 0; None if they are not known.
        """
        self._unshare()
        first, block = self.size, len(self._blocks)
        self.names += names
        self.types += types
        self._nodes += nodes
        self._blocks.append((first, data, control, outputs_of))
        self._starts.append(first)
        self.index.new.update(zip(names, range(first, self.size), strict=True))
        self._consumers.defer(first, data)
        self._control_consumers.defer(first, control, control=True)
        self._pending_blocks.append(block)
        self._add_loops(first, types, data)
        return first

    def rename(self, names: Mapping[int, str]) -> None:
        """Renames ops, all at once."""
        self._unshare()
        self._enter_new()
        for number in names:
            old = self.names[number]
            self._unregister(old, number)
            if self.index.new.get(old, number) == number:
                self.index.new[old] = -1
        for number, name in names.items():
            self.names[number] = name
            self.index.new[name] = number
            self._enter(name, number)

    # -- the result -----------------------------------------------------------------------------

    def snapshot(self) -> Graph:
        """Returns the graph as it is now, as a value."""
        if self._snapshot is None:
            self._snapshot = self._freeze()
        return self._snapshot

    def _freeze(self) -> Graph:
        graph, blocks = self.graph, self._blocks
        data = stack_edges(graph.data, *(block[1] for block in blocks))
        control = stack_edges(graph.control, *(block[2] for block in blocks))
        if self.dropped:
            data = data.without_rows(sorted(self.dropped))
        about: dict[str, Any] = {"data": data, "control": control}
        if self.names is not graph.names:
            about |= {"names": self.names, "types": self.types, "nodes": self._nodes}
            about |= {"index": self.index.to_dict(), "stamps": (), "base": weakref.ref(graph)}
            self._owns_lists = False
        if blocks:
            about["outputs_of"] = OutputTable.from_graph(graph).with_ops(
                *((first, outputs_of) for first, _, _, outputs_of in blocks)
            )
        after = replace(graph, **about)
        if self._rows:
            after = rewire_inputs(
                after, [(op, at, end) for op, row in self._rows.items() for at, end in enumerate(row)]
            )
        waits = {op: list(sources) for op, sources in self._control_inputs.items()}
        return set_control_inputs(after, waits) if waits else after

    # -- updates --------------------------------------------------------------------------------

    def _unshare(self) -> None:
        if not self._owns_lists:
            self.names, self.types, self._nodes = list(self.names), list(self.types), list(self._nodes)
            self._owns_lists = True
        self._snapshot = None

    def _block(self, i: int) -> tuple[int, Edges, Edges, OutputsOf | None]:
        return self._blocks[bisect_right(self._starts, i) - 2]

    def _at(self, i: int, part: int) -> tuple[Edges, int]:
        block = self._block(i)
        return block[part], i - block[0]  # type: ignore[return-value]

    def _enter_new(self) -> None:
        for block in self._pending_blocks:
            first, data, _, _ = self._blocks[block]
            for number in range(first, first + len(data.ptr) - 1):
                self._enter(self.names[number], number)
        self._pending_blocks = []

    def _enter(self, name: str, number: int) -> None:
        for scope in _with_scopes(name):
            self._scopes.setdefault(scope, {})[number] = None

    def _unregister(self, name: str, number: int) -> None:
        if number >= self.graph.size or number in self._renamed_ops:
            for scope in _with_scopes(name):
                self._scopes[scope].pop(number, None)
            return
        if not self._renamed_ops:
            for one in self.graph.names:
                for scope in _with_scopes(one):
                    self._original_counts[scope] = self._original_counts.get(scope, 0) + 1
        self._renamed_ops.add(number)
        for scope in _with_scopes(name):
            self._left_counts[scope] = self._left_counts.get(scope, 0) + 1

    def _add_loops(self, first: int, types: Sequence[str], data: Edges) -> None:
        """Records the loops of new ops; if the new ops include loops, all loops are computed again when needed."""
        if not set(ENTERS).isdisjoint(types):
            self._looping, self._loops = True, None
        if self._loops is None:
            return
        for at in range(len(types)):
            sources = data.row(at).tolist()
            if any(self.types[i] in EXITS for i in sources):  # the op may be in an outer loop
                self._loops = None
                return
            self._loops[first + at] = max((self._loops.get(i, -1) for i in sources), default=-1)


def _with_scopes(name: str) -> list[str]:
    """Returns a name and the scopes that contain it, in lower case."""
    parts = name.lower().split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
