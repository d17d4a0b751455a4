"""EditState: the sum of the steps so far. The cost of a change depends on its size, not on the graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import SelectionError
from ..graph.boundary import Tensor
from ..graph.edges import Edges
from ..graph.graph import Graph, TensorInfo
from ..graph.rewiring import Edge, graph_without_ops
from ..graph.variables import end_renamer
from .backend import Backend
from .copy_resolver import resolve_copy
from .copy_result import Connection, CopyResult, append_copy, renumbered
from .edge_checks import rewire_fault
from .fault import Fault, refuse
from .mutable_graph import MutableGraph
from .plan_result import DownstreamCopy, NewNode, OpChange, PlanResult, Replacement
from .steps.copy import CopyStep


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


class ReplacedMatch(NamedTuple):
    """The replacement of one match; `Replacement` describes it by names."""

    match: Any
    scope: str
    outputs: Mapping[str, Tensor]
    ops: Sequence[int] = ()
    kept: Sequence[int] = ()


class EditState:
    """The sum of the changes of steps; `effect` returns it as a value.

    Ops are given by number, because steps may rename them. New ops have the last numbers.

    Args:
        base: the graph before the steps.
        steps: the steps.
        backend: the functions that the steps may call.
    """

    def __init__(self, base: Graph, steps: Sequence[Any], backend: Backend) -> None:
        self.base, self.steps, self.backend = base, tuple(steps), backend
        self.step = 0  # number of the step that is being resolved
        self.graph = MutableGraph(base, lambda: backend.layers(base).names)
        self.faults: list[Fault] = []
        self.warnings: list[str] = []
        self.links: list[AddedEdge] = []  # since the last search for cycles
        self.copies: list[CopyResult] = []
        self.downstream_copies: list[DownstreamCopy] = []  # one for each copy with the role "slice", in order
        self.replaced: list[ReplacedMatch] = []
        self.removed: dict[int, int] = {}  # op of the base -> the step that removes it, after all steps
        self.pruned: set[int] = set()  # removed ops of resolved conds; other ops of these conds may stay
        self.revalued: dict[int, tuple[int, ...]] = {}  # step with values= -> the ops that it renames
        self.needs_new_graph = False
        self._added: dict[int, NewNode] = {}
        # (op, input) of each connection -> the tensor that was read before; a text for a tensor of another graph.
        self._previous: dict[tuple[int, int], Tensor | str] = {}
        self._changes: dict[int, OpChange] = {}  # attributes and devices
        self._previous_controls: dict[int, list[int]] = {}
        self._step_of: dict[int, int] = {}  # op with new inputs or attributes -> the last step that has set them
        # For each copy, the ops that it names: name at the time of the copy -> op.
        self._copy_names: list[dict[str, int]] = []
        self._former_names: dict[str, int] = {}  # former name -> the last op that had it
        self._renamed: set[int] = set()

    # -- queries --------------------------------------------------------------------------------

    @property
    def after(self) -> Graph:
        """The destination after the steps so far."""
        return self.graph.snapshot()

    @property
    def edited_ops(self) -> set[int]:
        """The existing ops with other inputs, and all ops with other attributes, devices or control inputs."""
        rewired = {op for op, _ in self._previous if op < self.base.size}
        return rewired | self._changes.keys()

    @property
    def renamed_ops(self) -> list[int]:
        """The existing ops with other names than before all steps, in order."""
        names, size = self.graph.names, self.base.size
        return sorted(op for op in self._renamed if op < size and names[op] != self.base.names[op])

    def find_ops(self, request: str, *groups: Sequence[str]) -> list[list[int]]:
        """Returns the numbers of groups of ops that are given by name.

        Raises:
            RefusedStep: if an op does not exist; with one fault for each group that lacks an op.
        """
        op_lists, faults = list[list[int]](), list[Fault]()
        for names in groups:
            try:
                op_lists.append([self.graph.find(name, request) for name in names])
            except SelectionError as error:
                faults.append(Fault.from_error(error))
        refuse(faults)
        return op_lists

    def find_tensors(self, request: str, *groups: Sequence[str]) -> list[list[Tensor]]:
        """Returns groups of tensors that are given by name; raises SelectionError if a tensor does not exist."""
        return [[self.graph.tensor(name, request) for name in names] for names in groups]

    def info(self, tensor: Tensor) -> TensorInfo | None:
        """Returns the known dtype and shape of a tensor; for the output of an inserted op, those of its input."""
        result, node = self.graph.info(*tensor), self._added.get(tensor[0])
        return node.input_info if result is None and node is not None else result

    def new_name(self, name: str) -> str:
        """Returns the present name of an op that was renamed; empty if there is no such op."""
        number = self._former_names.get(name)
        return "" if number is None or number in self.graph.dropped else self.graph.names[number]

    # -- changes --------------------------------------------------------------------------------

    def resolve_copy(self, step: CopyStep) -> CopyResult:
        """Returns the result of a copy step; raises RefusedStep if the step has faults."""
        return resolve_copy(step, self.graph, self.copies, bool(self.faults))

    def add_copy(self, copied: CopyResult, connect: bool = True) -> None:
        """Adds a copy; with `connect`, the tensors that it reads from other ops are recorded as connections."""
        graph, first = self.graph, self.graph.size
        new = {name: first + at for at, name in enumerate(copied.new_names)}
        outer = {*copied.control_map.values(), *(name for name, _ in copied.input_map.values())} - new.keys()
        self._copy_names.append({name: graph.index[name] for name in outer} | new)
        append_copy(graph, copied)
        self.copies.append(copied)
        self.warnings += copied.warnings
        if connect:
            self._previous |= copied.joined_inputs()

    def set_input_map(self, input_map: Mapping[Tensor, tuple[str, int]]) -> CopyResult:
        """Sets the tensors that enter the last copy; returns the copy."""
        self._copy_names[-1] |= {name: self.graph.index[name] for name, _ in input_map.values()}
        self.copies[-1] = replace(self.copies[-1], input_map=dict(input_map))
        return self.copies[-1]

    def add_node(self, node: NewNode) -> int:
        """Adds a single new op; returns its number."""
        sources, ports = ([tensor[k] for tensor in node.inputs] for k in (0, 1))
        reads = Edges(np.array([0, len(sources)], np.int32), np.array(sources, np.int32), np.array(ports, np.int32))
        nothing = Edges(np.zeros(2, np.int32), np.empty(0, np.int32), np.empty(0, np.int32))
        outputs = None if node.info is None else [node.info]
        number = self.graph.add([node.name], [node.op], [None], reads, nothing, lambda _: outputs)
        self._added[number], self._step_of[number] = node, self.step
        return number

    def rewire(
        self,
        request: str,
        edges: Sequence[Edge],
        pairs: Sequence[tuple[Tensor, Tensor]] = (),
        acyclic: bool = False,
        *,
        removes: bool = False,
        excludes: bool = False,
    ) -> None:
        """Sets inputs of ops, or adds a fault if dtypes, shapes or loop frames do not fit.

        Args:
            request: the request, for messages.
            edges: the inputs to set.
            pairs: pairs of tensors (old, new): the new tensor replaces the old tensor.
            acyclic: whether it is already known that the edges close no cycle.
            removes: whether the request removes or bypasses ops.
            excludes: whether the request has the argument exclude=, which leaves out consumers.
        """
        fault = rewire_fault(self.graph, request, edges, pairs, removes, excludes)
        if fault is None:
            self.set_inputs(edges, acyclic)
        else:
            self.faults.append(fault)

    def set_inputs(self, edges: Sequence[Edge], acyclic: bool = False) -> None:
        """Sets inputs of ops; with `acyclic`, it is known that the edges close no cycle."""
        for op, at, new in edges:
            was = self.graph.source(op, at)
            if not acyclic:
                self.links.append(AddedEdge(self.step, op, new[0], at, was))
            self.graph.set_input(op, at, new)
            self._previous[op, at] = self._previous.pop((op, at), was)
            self._step_of[op] = self.step
            self.needs_new_graph |= op < self.base.size

    def change_control_inputs(
        self, op: int, removed: Iterable[int] = (), added: Sequence[int] = (), acyclic: bool = False
    ) -> None:
        """Removes control inputs of an op, then adds others; with `acyclic`, it is known that they close no cycle."""
        graph = self.graph
        if op not in self._previous_controls:
            self._previous_controls[op] = graph.control_inputs(op)
        if not acyclic:
            self.links += [AddedEdge(self.step, op, i) for i in dict.fromkeys(added) if not graph.waits_for(op, i)]
        graph.change_control_inputs(op, removed, added)
        self._changes.setdefault(op, OpChange())
        self.needs_new_graph |= op < self.base.size

    def change(self, op: int, change: OpChange) -> None:
        """Sets attributes or the device of an op."""
        self._changes[op] = self._changes.get(op, OpChange()).combined_with(change)
        if change.attributes:
            self._step_of[op] = self.step
        self.needs_new_graph |= op < self.base.size

    def remove(self, ops: Iterable[int]) -> None:
        """Marks ops of the base: they are removed after all steps, in a new graph."""
        self.removed |= (removed := dict.fromkeys(ops, self.step))
        self.needs_new_graph |= bool(removed)

    def drop(self, ops: Sequence[int], substitutes: Mapping[Tensor, Tensor]) -> None:
        """Removes new ops that no op needs, so that they are never made.

        Args:
            ops: the ops.
            substitutes: tensor of one of these ops -> the tensor that replaces it.
        """
        dropped = set(ops)
        self.graph.drop(ops)
        self.copies = [_without_dropped(copied, dropped) for copied in self.copies]
        self.links = [link for link in self.links if link.op not in dropped]
        # An input that had a dropped tensor had it only inside of the plan.
        self._previous = {
            key: "" if isinstance(old, tuple) and old[0] in dropped else old
            for key, old in self._previous.items()
            if key[0] not in dropped
        }
        for records in (self._added, self._changes, self._previous_controls, self._step_of):
            for op in dropped & records.keys():
                records.pop(op)
        for at, one in enumerate(self.replaced):
            outputs = {old: substitutes.get(new, new) for old, new in one.outputs.items()}
            self.replaced[at] = one._replace(
                outputs={old: new for old, new in outputs.items() if new[0] not in dropped},
                ops=[op for op in one.ops if op not in dropped],
                kept=[op for op in one.kept if op not in dropped],
            )

    def rename(self, names: Mapping[int, str]) -> None:
        """Renames ops."""
        self._former_names.update((self.graph.names[op], op) for op in names)
        self._renamed.update(names)
        self.graph.rename(names)

    def move_edits_to_copies(self, copied: Mapping[int, int]) -> None:
        """Moves all edits of existing ops to copies of these ops, and restores the existing ops.

        Args:
            copied: op of the base -> its copy in the same graph, which has the inputs of the op before all steps. The
                edits of other ops are dropped.
        """
        graph, size = self.graph, self.base.size
        first = min(copied.values(), default=graph.size)

        def place(op: int) -> int:
            return copied.get(op, op)

        for op in copied:  # the ops that earlier steps have made read the copies
            for reader in graph.data_consumers(op):
                for at, (source, port) in enumerate(graph.inputs(reader)) if size <= reader < first else ():
                    if source == op:
                        graph.set_input(reader, at, (copied[op], port))
            for waiting in graph.control_consumers(op):
                if size <= waiting < first:
                    graph.set_control_inputs(waiting, [place(one) for one in graph.control_inputs(waiting)])
        for op in graph.rewired_ops:
            if op in copied:
                for at, (source, port) in enumerate(graph.inputs(op)):
                    graph.set_input(copied[op], at, (place(source), port))
                graph.set_control_inputs(copied[op], [place(one) for one in graph.control_inputs(op)])
            graph.restore(op)

        def moved(records: dict[int, Any]) -> dict[int, Any]:
            return {place(op): record for op, record in records.items() if op in copied or op >= size}

        self._previous = {key: old for key, old in self._previous.items() if key[0] >= size} | {
            (copied[op], at): old for (op, at), old in self._previous.items() if op in copied
        }
        controls = self._previous_controls.items()
        self._previous_controls = moved(
            {op: [place(one) for one in old] if op in copied else old for op, old in controls}
        )
        self._changes, self._step_of = moved(self._changes), moved(self._step_of)
        self.replaced = [
            one._replace(outputs={old: (place(op), port) for old, (op, port) in one.outputs.items()})
            for one in self.replaced
        ]
        self.removed, self.links, self.needs_new_graph = {}, [], False

    # -- the result -----------------------------------------------------------------------------

    def effect(self) -> PlanResult:
        """Returns the sum as a value, by the final names of all ops."""
        names, size, after = self.graph.names, self.base.size, self.after
        copies = [self._with_final_names(*pair) for pair in zip(self.copies, self._copy_names, strict=True)]
        if dropped := sorted(self.graph.dropped):
            copies = renumbered(copies, after, after.mask(dropped))
            after = replace(graph_without_ops(after, dropped), owner=after.owner)  # ops of the base keep their numbers
        renamed = {self.base.names[op]: names[op] for op in self.renamed_ops}
        if renamed:
            after = replace(after, state_of=lambda: self.base.state.renamed(renamed))
        downstream = iter(self.downstream_copies)
        return PlanResult(
            self.base, self.steps, after,
            copies=tuple(c for c in copies if len(c.ops) or c.role != "graft"),
            connections=tuple(self._connections()),
            faults=tuple(self.faults),
            warnings=tuple(self.warnings),
            added=tuple(replace(node, name=names[op]) for op, node in self._added.items()),
            changes=dict(self._named_changes()),
            removed=dict(self.removed),
            downstream_copies=tuple(replace(next(downstream), copy_result=c) for c in copies if c.role == "slice"),
            replacements=tuple(self._replacements()),
            first_new=size,
            mode="materialize" if self.needs_new_graph or renamed else "append",
            renamed=renamed,
            revalued=dict(self.revalued),
            blame={names[op]: step for op, step in self._step_of.items()},
            pruned=frozenset(self.pruned),
            shape_checker=self.backend,
        )  # fmt: skip

    def _with_final_names(self, copied: CopyResult, ops: Mapping[str, int]) -> CopyResult:
        """Returns a copy after all renames. `ops` contains the ops that the copy names, by their names at that time."""
        if not self._renamed:
            return copied
        new = {name: self.graph.names[op] for name, op in ops.items() if self.graph.names[op] != name}
        return copied.with_new_names(end_renamer(new)) if new else copied

    def _connections(self) -> Iterable[Connection]:
        """Yields the connections that differ from the inputs before."""
        graph, base = self.graph, self.base
        for (op, at), previous in self._previous.items():
            tensor = graph.source(op, at)
            if tensor[0] in graph.dropped:  # only in a plan with faults
                continue
            if isinstance(previous, str):
                yield Connection(graph.name(tensor), graph.names[op], at, previous)
            elif tensor != previous:
                old = base.name(previous) if previous[0] < base.size else graph.name(previous)
                yield Connection(graph.name(tensor), graph.names[op], at, old)

    def _named_changes(self) -> Iterable[tuple[str, OpChange]]:
        """Yields the changes of ops, by name."""
        names = self.graph.names
        for op, change in self._changes.items():
            now = self.graph.control_inputs(op)
            before = self._previous_controls.get(op, now)
            old, gone = set(before), self.graph.dropped.union(now)
            added = tuple(names[i] for i in now if i not in old)
            removed = tuple(names[i] for i in before if i not in gone)
            if change != OpChange() or added or removed:
                yield names[op], replace(change, added_controls=added, removed_controls=removed)

    def _replacements(self) -> Iterable[Replacement]:
        names, name = self.graph.names, self.graph.name
        for match, scope, outputs, ops, kept in self.replaced:
            new = {old: name(tensor) for old, tensor in outputs.items()}
            yield Replacement(match, scope, new, tuple(names[i] for i in ops), tuple(names[i] for i in kept))


def _without_dropped(copied: CopyResult, dropped: set[int]) -> CopyResult:
    """Returns a copy without the ops that are never made."""
    stay = ~np.isin(copied.positions[copied.ops], list(dropped))
    if stay.all():
        return copied
    positions = copied.positions.copy()
    positions[copied.ops[~stay]] = -1
    names = [name for name, stays in zip(copied.names, stay.tolist(), strict=True) if stays]
    return replace(copied, ops=copied.ops[stay], names=names, positions=positions)
