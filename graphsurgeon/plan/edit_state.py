"""EditState: the sum of the steps so far. The cost of a change depends on its size, not on the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..graph.boundary import Tensor
from ..graph.edges import Edges
from ..graph.graph import Graph, TensorInfo
from ..graph.rewiring import Edge
from ..graph.variables import end_renamer
from .backend import Backend
from .copy_result import Connection, CopyResult, append_copy
from .mutable_graph import MutableGraph
from .plan_result import DownstreamCopy, NewNode, OpChange, PlanResult, Replacement


class AddedEdge(NamedTuple):
    """An edge that a step has made and that may close a cycle.

    Args:
        step: the number of the step.
        op: the op that reads or waits.
        source: the op that `op` reads or waits for.
        input: the number of the input; None for a control edge.
        previous: the former input.
    """

    step: int
    op: int
    source: int
    input: int | None = None
    previous: Tensor = (-1, 0)

    def renumber(self, names: Sequence[str], graph: MutableGraph) -> AddedEdge | None:
        """Returns the edge after ops have been renumbered; None if one of its ops was removed.

        Args:
            names: the name of each op, by its old number.
            graph: the graph with the new numbers.
        """
        old = [self.op, self.source] if self.input is None else [self.op, self.source, self.previous[0]]
        now = [graph.index.get(names[op], -1) for op in old]
        if -1 in now:
            return None
        return self._replace(
            op=now[0], source=now[1], previous=self.previous if self.input is None else (now[2], self.previous[1])
        )


class EditState:
    """The sum of the changes of steps. `effect` returns the sum as a value.

    Ops are given by number. New ops have the last numbers.

    Args:
        effect: the effect to start from.
        backend: the functions that the steps may call.
    """

    def __init__(self, effect: PlanResult, backend: Backend) -> None:
        self.base, self.steps, self.backend = effect.base, effect.steps, backend
        self.step = 0  # number of the step that is being resolved
        self.faults = list(effect.faults)
        self.links: list[AddedEdge] = []
        self._begin(effect)

    def _begin(self, effect: PlanResult) -> None:
        self.bench = MutableGraph(effect.after, lambda: self.backend.layers(self.base).names)
        self.copies, self.connections = list(effect.copies), list(effect.connections)
        self.warnings, self.edits, self.added = list(effect.warnings), list(effect.edits), list(effect.added)
        self.changes, self.removed, self.mode = dict(effect.changes), dict(effect.removed), effect.mode
        self.pruned = set(effect.pruned)  # removed ops of resolved conds; other ops of these conds may stay
        self.slices, self.replaced, self.revalued = (
            list(effect.downstream_copies),
            list(effect.replacements),
            dict(effect.revalued),
        )
        self._step_of = {self.bench.index[op]: step for op, step in effect.blame.items()}
        self._input_infos = {self.bench.index[node.name]: node.input_info for node in effect.added}
        # Op -> its new and its removed control inputs, by number, because ops may be renamed later.
        self._orders: dict[int, tuple[dict[int, None], dict[int, None]]] = {}
        # For each rename: old name -> new name, and the lengths of the lists in `_named_records` before it.
        self._renames: list[tuple[Mapping[str, str], tuple[int, ...]]] = []

    # -- queries --------------------------------------------------------------------------------

    @property
    def after(self) -> Graph:
        """The destination after the steps so far."""
        return self.bench.snapshot()

    def effect(self) -> PlanResult:
        """Returns the sum as a value."""
        self.update_names()
        return PlanResult(
            self.base, self.steps, self.after, tuple(self.copies), tuple(self.connections), tuple(self.faults),
            tuple(self.warnings), tuple(self.edits), tuple(self.added), dict(self.changes), dict(self.removed),
            tuple(self.slices), tuple(self.replaced), self.base.size, self.mode, {}, dict(self.revalued),
            {self.bench.names[op]: step for op, step in self._step_of.items()}, frozenset(self.pruned), self.backend,
        )  # fmt: skip

    def info(self, tensor: Tensor) -> TensorInfo | None:
        """Returns the known dtype and shape of a tensor; for the output of an inserted op, those of its input."""
        result = self.bench.info(*tensor)
        return self._input_infos.get(tensor[0]) if result is None else result

    def new_name(self, name: str) -> str:
        """Returns the new name of an op or scope that was renamed since the last `settle`; empty if it was not."""
        return next((new for names, _ in self._renames for old, new in names.items() if old == name), "")

    # -- additions ------------------------------------------------------------------------------

    def restart(self, effect: PlanResult) -> None:
        """Continues with another effect of the steps so far, in which ops may have other numbers."""
        names = self.bench.names
        self._begin(effect)
        self.links = [link for old in self.links if (link := old.renumber(names, self.bench)) is not None]

    def add_copy(self, copied: CopyResult, connect: bool = True) -> None:
        """Adds a copy; with `connect`, the tensors that it reads from other ops are recorded as connections."""
        append_copy(self.bench, copied)
        self.copies.append(copied)
        self.warnings += copied.warnings
        if connect:
            self.connections += copied.connections()

    def add_node(self, node: NewNode) -> int:
        """Adds a single new op; returns its number."""
        sources, ports = ([tensor[k] for tensor in node.inputs] for k in (0, 1))
        reads = Edges(np.array([0, len(sources)], np.int32), np.array(sources, np.int32), np.array(ports, np.int32))
        nothing = Edges(np.zeros(2, np.int32), np.empty(0, np.int32), np.empty(0, np.int32))
        outputs = None if node.info is None else [node.info]
        number = self.bench.add([node.name], [node.op], [None], reads, nothing, lambda _: outputs)
        self.added.append(node)
        self._step_of[number], self._input_infos[number] = self.step, node.input_info
        return number

    def set_inputs(self, edges: Sequence[Edge], acyclic: bool = False) -> None:
        """Sets inputs of ops; with `acyclic`, it is known that the edges close no cycle."""
        bench = self.bench
        for op, at, new in edges:
            name, was = bench.names[op], bench.name(bench.source(op, at))
            self.connections.append(Connection(bench.name(new), name, at, was))
            if op < self.base.size:
                self.mode = "materialize"
                self.edits.append((name, at, bench.name(new)))
        for op, at, new in edges:
            if not acyclic:
                self.links.append(AddedEdge(self.step, op, new[0], at, bench.source(op, at)))
            bench.set_input(op, at, new)
            self._step_of[op] = self.step

    def set_control_inputs(self, op: int, control_inputs: Sequence[int], acyclic: bool = False) -> None:
        """Sets all control inputs of an op; with `acyclic`, it is known that the edges close no cycle."""
        old, (more, less) = dict.fromkeys(self.bench.control_inputs(op)), self._orders.setdefault(op, ({}, {}))
        new = dict.fromkeys(control_inputs)
        self.change(op, OpChange())
        more.update(dict.fromkeys(i for i in new if i not in old))
        less.update(dict.fromkeys(i for i in old if i not in new))
        self.bench.set_control_inputs(op, list(new))
        if not acyclic:
            self.links += [AddedEdge(self.step, op, i) for i in new if i not in old]

    def change(self, op: int, change: OpChange) -> None:
        """Records the change of an op; a change of an op of the base requires a new graph."""
        if op < self.base.size:
            self.mode = "materialize"
        if change.attributes:
            self._step_of[op] = self.step
        name = self.bench.names[op]
        self.changes[name] = self.changes.get(name, OpChange()).combined_with(change)

    def remove(self, ops: Iterable[int]) -> None:
        """Marks ops of the base: they are removed after all steps, in a new graph."""
        self.removed |= (removed := dict.fromkeys(ops, self.step))
        if removed:
            self.mode = "materialize"

    def rename(self, names: Mapping[int, str]) -> None:
        """Renames ops for later steps; `settle` updates their names in earlier records."""
        old = {self.bench.names[i]: new for i, new in names.items()}
        self.bench.rename(names)
        self._renames.append((old, tuple(map(len, self._named_records))))
        renamed_changes = {new: self.changes.pop(name) for name, new in old.items() if name in self.changes}
        self.changes.update(renamed_changes)

    @property
    def _named_records(self) -> tuple[list[Any], ...]:
        """The lists of records that contain names, each in order."""
        return self.connections, self.edits, self.added, self.copies, self.replaced, self.slices

    def update_names(self) -> None:
        """Updates the names in all records, because several steps may have renamed the same op."""
        names: dict[str, str] = {}
        end = tuple(map(len, self._named_records))
        for at in reversed(range(len(self._renames))):
            mapping, until = self._renames[at]
            begin = self._renames[at - 1][1] if at else (0,) * len(end)
            names.update({old: names.get(new, new) for old, new in mapping.items()})
            new = end_renamer(names)
            for things, a, b in zip(self._named_records, begin, until, strict=True):
                things[a:b] = [_with_present_names(thing, new) for thing in things[a:b]]
        called = self.bench.names
        if names:
            new = end_renamer(names)
            for name, change in self.changes.items():
                self.changes[name] = replace(
                    change,
                    added_controls=_mapped_names(new, change.added_controls),
                    removed_controls=_mapped_names(new, change.removed_controls),
                )
        for op, (more, less) in self._orders.items():
            change, waits = self.changes.get(called[op], OpChange()), set(self.bench.control_inputs(op))
            known = set(change.added_controls)
            fresh = [called[i] for i in more if i in waits and called[i] not in known]
            order_change = OpChange(added_controls=tuple(fresh), removed_controls=tuple(called[i] for i in less))
            self.changes[called[op]] = change.combined_with(order_change)
        self._renames, self._orders = [], {}


def _mapped_names(new: Callable[[str], str], names: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(new, names))


def _with_present_names(obj: Any, new: Callable[[str], str]) -> Any:
    """Returns a record with the current names of ops."""
    if isinstance(obj, Connection):
        return replace(obj, tensor=new(obj.tensor), to=new(obj.to))
    if isinstance(obj, NewNode):
        return replace(obj, name=new(obj.name))
    if isinstance(obj, CopyResult):
        return obj.with_new_names(new)
    if isinstance(obj, Replacement):
        outputs = {old: new(one) for old, one in obj.outputs.items()}
        return replace(obj, outputs=outputs, ops=_mapped_names(new, obj.ops), kept=_mapped_names(new, obj.kept))
    if isinstance(obj, DownstreamCopy):
        return replace(obj, copy_result=obj.copy_result.with_new_names(new))
    return new(obj[0]), obj[1], new(obj[2])
