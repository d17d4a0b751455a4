"""The result of one copy step, and the destination that contains it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import few
from ..graph.boundary import Tensor
from ..graph.graph import Edges, Graph, Ints, Mask, TensorInfo
from ..graph.names import join_scope, op_name
from ..graph.variables import QUEUE_TYPES, TABLE_TYPES, CollectionEntry, VariableInfo, rename_variable
from .dependencies import Closure
from .mutable_graph import MutableGraph
from .steps.copy import CopyStep

_TRANSFER_HINT = (
    "transfer its entries with table.export() in the original graph and tf.raw_ops.LookupTableImportV2("
    "table_handle=graph.get_tensor_by_name('{}:0'), keys=keys, values=values) in this graph; "
    "keys and values are placeholders without a shape"
)


@dataclass(frozen=True)
class NewPlaceholder:
    """A placeholder that replaces a tensor of the source."""

    name: str
    original: str
    info: TensorInfo


@dataclass(frozen=True, eq=False)
class NewConstant:
    """A constant that replaces a tensor of the source.

    Args:
        name: its name in the destination.
        original: the tensor of the source.
        value: an array; None for a frozen variable, whose value is read when the plan is applied.
        info: dtype and static shape.
        frozen_variable: name of the frozen variable; empty if the constant is not a frozen variable.
    """

    name: str
    original: str
    value: Any
    info: TensorInfo
    frozen_variable: str = ""


@dataclass(frozen=True)
class NewOp:
    """An op that is not a copy: it helps to set a variable that no op of the source can set.

    Args:
        name: its name in the destination.
        op: its type.
        inputs: names of the ops it reads (their output 0), in the destination.
        variable: name of the variable's op in the source, for dtype and shape.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    variable: str


@dataclass(frozen=True)
class NewVariable:
    """A variable of the copy, with its original and the policy for its value.

    Args:
        name: its op in the destination.
        info: its parts in the source.
        policy: ``copy`` or ``initial``.
        new_info: its parts in the destination.
        setter: ops that are added to set it, if the source has no such ops (variables of a TF2 SavedModel).
    """

    name: str
    info: VariableInfo
    policy: str
    new_info: VariableInfo
    setter: tuple[NewOp, ...] = ()

    @property
    def original(self) -> str:
        """Name of the variable's op in the source."""
        return self.info.op

    def with_new_names(self, new: Callable[[str], str]) -> NewVariable:
        """Returns the same variable after ops of the destination are renamed; `new` returns the new name of an op."""
        setter = tuple(replace(op, name=new(op.name), inputs=tuple(map(new, op.inputs))) for op in self.setter)
        return replace(self, name=new(self.name), new_info=rename_variable(self.new_info, new), setter=setter)


def new_variable(
    info: VariableInfo,
    policy: str,
    scope: str,
    used_names: set[str],
    settable: bool,
    names: Mapping[str, str] | None = None,
) -> NewVariable:
    """Returns the copy of a variable under a scope.

    Args:
        info: the variable in the source.
        policy: ``copy`` or ``initial``.
        scope: the scope of the copy.
        used_names: names inside the scope that are in use; the names of new ops are added to it.
        settable: whether it will get a value; if it has no initializer, ops that set it are added.
        names: source op -> full name of its copy, if it does not have the default name.
    """
    lead = f"{scope}/" if scope else ""

    def new(name: str) -> str:
        return copied_name(scope, name, names) if name else ""

    variable = replace(rename_variable(info, new), collections=())
    if info.initializer or not settable:
        return NewVariable(variable.op, info, policy, variable)
    setter = []

    def add(leaf: str, op: str, *inputs: str) -> str:
        name = f"{info.op}/{leaf}"
        while name in used_names:
            name += "_set"
        used_names.add(name)
        setter.append(NewOp(lead + name, op, inputs, info.op))
        return lead + name

    value = add("Initializer/value", "Placeholder")
    assign = add("Assign", "AssignVariableOp" if info.resource else "Assign", variable.op, value)
    snapshot = variable.snapshot
    if not snapshot:
        read_op = ("Read/ReadVariableOp", "ReadVariableOp") if info.resource else ("read", "Identity")
        snapshot = add(*read_op, variable.op) + ":0"
    variable = replace(variable, initializer=assign, initial_value=value + ":0", snapshot=snapshot)
    return NewVariable(variable.op, info, policy, variable, tuple(setter))


@dataclass(frozen=True)
class NewEntries:
    """Entries that a copy adds to a collection of the destination."""

    name: str
    original: str
    count: int


@dataclass(frozen=True)
class Connection:
    """An edge between an existing op and a new op, or an edge that a connect step sets."""

    tensor: str
    to: str
    input: int
    previous: str = ""


@dataclass(frozen=True, eq=False)
class CopyResult:
    """The result of one copy step.

    Args:
        step: the step.
        ops: numbers of the source ops, in source order.
        names: their names in the destination.
        positions: source op number -> op number after the plan, -1 for ops that are not copied.
        input_map: source tensor -> destination tensor (op name, output), for tensors that are mapped, kept or
            replaced by placeholders.
        control_map: number of a source op that is not copied -> op of the destination that replaces it as control
            input.
        dropped_control: control edges left out, as (inside, outside) names.
        closure: the ops that are also copied, and why.
        new_types: source op number -> the new op type of its copy, for consumers of frozen or replaced variables.
        state_prefix: the prefix of the names of state and of loops, so that the copy has its own state.
        role: ``copy``; ``slice`` for ops that an `on_copies` step copies; ``graft`` for ops that were built for the
            plan.
        keys: shared key of state or of a loop -> the key of the copy.
        warnings: the warnings about the copy.
        unshaped: source ops whose copies have outputs of unknown shapes, because they get other inputs.
    """

    step: CopyStep
    ops: Ints
    names: list[str]
    positions: Ints
    input_map: dict[Tensor, tuple[str, int]]
    placeholders: list[NewPlaceholder]
    constants: list[NewConstant]
    variables: list[NewVariable]
    collections: list[NewEntries]
    control_map: Mapping[int, str]
    dropped_control: list[tuple[str, str]]
    closure: Closure
    new_types: Mapping[int, str] = field(default_factory=dict)
    state_prefix: str = ""
    role: str = "copy"
    keys: Mapping[str, str] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    unshaped: frozenset[int] = frozenset()

    @property
    def source(self) -> Graph:
        """The snapshot copied from."""
        return self.step.selection.graph

    def ops_without_initializer(self, kinds: frozenset[str]) -> list[str]:
        """Returns the names of copied ops of some types that have no op in the copy to fill them."""
        graph, init_ops = self.source, self.source.state.init_ops
        places = np.flatnonzero(graph.type_mask(kinds)[self.ops]).tolist()
        return [self.names[at] for at in places if not init_ops.get(graph.names[self.ops[at]])]

    @property
    def missing_state(self) -> list[str]:
        """The runtime state of the source that the copy does not have, in sentences."""
        out = []
        for kinds, how in ((TABLE_TYPES, _TRANSFER_HINT), (QUEUE_TYPES, "run the ops that fill it")):
            names = self.ops_without_initializer(kinds)
            if names:
                start = "starts empty, because it is" if len(names) == 1 else "start empty, because they are"
                out.append(f"{few(names)} {start} filled while a session runs: {how.format(names[0])}")
        return out

    @cached_property
    def types(self) -> list[str]:
        """The op types of the copies."""
        kinds, turned = self.source.types, self.new_types
        numbers = self.ops.tolist()
        return [turned.get(i, kinds[i]) for i in numbers] if turned else [kinds[i] for i in numbers]

    @property
    def shared(self) -> list[VariableInfo]:
        """The variables of the source that the copy uses too."""
        return [v for v in self.closure.variables if self.closure.shared[self.source.index[v.op]]]

    @property
    def mapped_tensors(self) -> dict[str, str]:
        """Source tensor -> the tensor of the destination that it is mapped to."""
        return {self.source.name(tensor): f"{op}:{port}" for tensor, (op, port) in self.input_map.items()}

    @cached_property
    def mapped_ops(self) -> dict[int, str]:
        """Source op number -> the op of the destination that its tensors or control edges are mapped to."""
        return {op: name for (op, _), (name, _) in self.input_map.items()} | dict(self.control_map)

    def contains(self, op: str) -> bool:
        """Returns whether an op of the source is copied."""
        number = self.source.index.get(op)
        return number is not None and bool(self.positions[number] >= 0)

    def renamed(self, name: str) -> str:
        """Returns the name an op or tensor of the source has in the copy."""
        return copied_name(self.step.to, name, self.step.names)

    def original(self, name: str) -> str | None:
        """Returns the op of the source that an op of the copy was made from; None if there is none."""
        at = self._spots.get(name)
        return None if at is None else self.source.names[int(self.ops[at])]

    @cached_property
    def _spots(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.names)}

    def with_new_names(self, new: Callable[[str], str]) -> CopyResult:
        """Returns the same copy after ops of the destination are renamed; `new` returns the new name of an op."""
        names = list(map(new, self.names))
        old = self.source.names
        other = {old[i]: now for i, was, now in zip(self.ops.tolist(), self.names, names, strict=True) if was != now}
        other |= {p.original: new(p.name) for p in self.placeholders if new(p.name) != p.name}
        return replace(
            self,
            step=replace(self.step, names={**(self.step.names or {}), **other}) if other else self.step,
            names=names,
            input_map={tensor: (new(name), port) for tensor, (name, port) in self.input_map.items()},
            placeholders=[replace(p, name=new(p.name)) for p in self.placeholders],
            constants=[replace(c, name=new(c.name)) for c in self.constants],
            variables=[v.with_new_names(new) for v in self.variables],
            control_map={op: new(name) for op, name in self.control_map.items()},
        )

    def joined_inputs(self) -> dict[tuple[int, int], str]:
        """Returns the inputs of copies that read existing ops of the destination.

        Returns:
            (number of the copy, input) -> the tensor of the source; empty for ops that were built for the plan.
        """
        graph, fresh = self.source, {op.name for op in self.replacement_ops}
        return {
            (int(self.positions[reader]), at): "" if self.role == "graft" else graph.name(tensor)
            for tensor, (name, _) in self.input_map.items()
            if name not in fresh
            for reader, at in graph.consumers_of(tensor)
            if self.positions[reader] >= 0
        }

    @property
    def new_names(self) -> list[str]:
        """Names of all new ops, in the order they are made."""
        setters = [op.name for v in self.variables for op in v.setter]
        return [*(one.name for one in self.replacement_ops), *self.names, *setters]

    @property
    def replacement_ops(self) -> list[NewPlaceholder | NewConstant]:
        """The new ops that replace tensors of the source, in the order in which they are made."""
        return [*self.placeholders, *self.constants]


def copied_entries(copy_result: CopyResult, collection: str) -> tuple[CollectionEntry, ...]:
    """Returns the entries that a copy adds for a collection of the source, by their names in the destination.

    Args:
        copy_result: the copy.
        collection: the name of the collection in the source.
    """
    new_names, is_whole_graph = (
        {v.original: v.name for v in copy_result.variables},
        bool(copy_result.step.selection.mask.all()),
    )
    out = list[CollectionEntry]()
    for entry in copy_result.source.state.collections.get(collection, ()):
        if entry.kind == "variable":
            out += [replace(entry, name=new_names[entry.name])] if entry.name in new_names else []
        elif entry.kind == "structure":
            parts = tuple(copy_result.renamed(part) for part in entry.parts if copy_result.contains(part))
            out += [replace(entry, parts=parts)] if len(parts) == len(entry.parts) else []
        elif entry.kind == "value":
            out += [entry] if is_whole_graph else []  # an entry without ops is copied only with the whole graph
        elif entry.kind != "other" and copy_result.contains(op_name(entry.name)):
            out.append(replace(entry, name=copy_result.renamed(entry.name)))
    return tuple(out)


def copied_name(scope: str, name: str, names: Mapping[str, str] | None) -> str:
    """Returns the name that an op or tensor has in a copy under a scope.

    Example:
        >>> names = {"a": "b"}
        >>> copied_name("copy", "a:1", None), copied_name("copy", "a:1", names), copied_name("copy", "c", names)
        ('copy/a:1', 'b:1', 'copy/c')
    """
    if names is None:
        return join_scope(scope, name)
    op, colon, port = name.partition(":")
    return names.get(op, join_scope(scope, op)) + colon + port


def current_externals(graph: Graph, copy_result: CopyResult) -> dict[Tensor, tuple[str, int]]:
    """Returns the tensors that enter a copy after later steps: source tensor -> tensor of `graph`.

    The copy is a part of `graph`.
    """
    _, then = copy_result.source.data.gather(copy_result.ops)
    _, now = graph.data.gather(copy_result.positions[copy_result.ops])
    old = zip(copy_result.source.data.node[then].tolist(), copy_result.source.data.port[then].tolist(), strict=True)
    new = zip(graph.data.node[now].tolist(), graph.data.port[now].tolist(), strict=True)
    reads = dict(zip(old, new, strict=True))
    return {t: (graph.names[reads[t][0]], reads[t][1]) for t in copy_result.input_map if t in reads}


def renumbered(copies: Iterable[CopyResult], graph: Graph, removed: Mask) -> list[CopyResult]:
    """Returns copies after other ops of the graph that contains them are removed.

    Args:
        copies: the copies.
        graph: the graph before the removal.
        removed: a mask of the removed ops.
    """
    place = np.where(removed, -1, np.cumsum(~removed, dtype=np.int32) - 1).astype(np.int32)
    return [
        replace(c, input_map=current_externals(graph, c), positions=np.where(c.positions < 0, -1, place[c.positions]))
        for c in copies
    ]


def without_ops(copy_result: CopyResult, dropped: Iterable[int]) -> CopyResult:
    """Returns a copy of a whole graph without the copies of some source ops, which are given by number."""
    removed = copy_result.source.mask(dropped)
    if not removed.any():
        return copy_result
    stay = copy_result.ops[~removed[copy_result.ops]]
    place = np.full(copy_result.source.size, -1, np.int32)
    place[stay] = int(copy_result.positions[copy_result.ops].min()) + np.arange(len(stay), dtype=np.int32)
    names = [copy_result.source.names[i] for i in stay.tolist()]
    variables = [v for v in copy_result.variables if not removed[copy_result.source.index[v.original]]]
    return replace(
        copy_result, ops=stay, names=[copy_result.renamed(n) for n in names], positions=place, variables=variables
    )


def append_copy(base: MutableGraph, copy_result: CopyResult) -> None:
    """Adds a copy to the destination. The edges are computed with arrays, without a loop over ops."""
    graph, ops, place = copy_result.source, copy_result.ops, copy_result.positions
    first = base.size
    stand_ins = copy_result.replacement_ops
    spots = {p.name: first + i for i, p in enumerate(stand_ins)}
    data_rows, data_at = graph.data.gather(ops)
    node, port = place[graph.data.node[data_at]], graph.data.port[data_at].copy()
    entering = copy_result.input_map

    def number(name: str) -> int:
        return spots[name] if name in spots else base.index[name]

    if entering:
        at = graph.data.positions_in(entering)[data_at]
        mapped = np.array([(number(name), out) for name, out in entering.values()], np.int32)
        node[at >= 0], port[at >= 0] = mapped[at[at >= 0]].T
    ctrl_rows, ctrl_at = graph.control.gather(ops)
    if copy_result.control_map:
        place = place.copy()
        for op, name in copy_result.control_map.items():
            place[op] = number(name)
    ctrl = place[graph.control.node[ctrl_at]]
    ctrl, ctrl_rows = ctrl[ctrl >= 0], ctrl_rows[ctrl >= 0]
    lead = len(stand_ins)
    total = lead + len(ops)

    def outputs_of(i: int) -> Sequence[TensorInfo] | None:
        if i < lead:
            return [stand_ins[i].info]
        op = int(ops[i - lead])
        infos = graph.outputs(op)
        return [TensorInfo(info.dtype, None) for info in infos] if infos and op in copy_result.unshaped else infos

    base.add(
        [*spots, *copy_result.names],
        ["Placeholder"] * len(copy_result.placeholders) + ["Const"] * len(copy_result.constants) + copy_result.types,
        [None] * lead + [graph.nodes[i] for i in ops.tolist()],
        Edges.from_rows(data_rows + lead, node, total, port),
        Edges.from_rows(ctrl_rows + lead, ctrl, total),
        outputs_of,
    )
    _add_setters(base, copy_result)


def _add_setters(base: MutableGraph, copy_result: CopyResult) -> None:
    """Adds the ops that set variables; they come after the copies."""
    setters = [op for v in copy_result.variables for op in v.setter]
    if not setters:
        return
    index = {op.name: base.size + i for i, op in enumerate(setters)}
    reads = [[index[name] if name in index else base.index[name] for name in op.inputs] for op in setters]
    ptr = np.cumsum([0, *map(len, reads)]).astype(np.int32)
    node = np.array([n for row in reads for n in row], np.int32)
    nothing = Edges(np.zeros(len(setters) + 1, np.int32), np.empty(0, np.int32), np.empty(0, np.int32))
    edges = Edges(ptr, node, np.zeros(len(node), np.int32))
    base.add([op.name for op in setters], [op.op for op in setters], [None] * len(setters), edges, nothing, None)
