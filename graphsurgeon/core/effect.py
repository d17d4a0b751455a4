"""Effect: all that applying a plan would do, worked out from snapshots alone."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from .boundary import Tensor, control_entering, entering
from .check import connect_faults, mapping_faults, namespace_faults, step_faults
from .closure import Closure, close
from .graph import Edges, Graph, Ints, Mask, TensorInfo
from .naming import COLLECTIONS_KEPT, placeholder_name
from .plan import ConnectStep, CopyStep, Fault, Plan
from .state import VariableInfo
from .walks import edge_rows

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class NewPlaceholder:
    """A placeholder that stands in for a tensor of the source."""

    name: str
    was: str
    info: TensorInfo


@dataclass(frozen=True)
class NewVariable:
    """A variable of the copy: which one it was and what it starts with."""

    name: str
    info: VariableInfo
    policy: str  # copy | initial

    @property
    def was(self) -> str:
        """Name of the variable's op in the source."""
        return self.info.op


@dataclass(frozen=True)
class NewEntries:
    """Entries that a copy adds to a collection of the destination."""

    name: str
    was: str
    count: int


@dataclass(frozen=True)
class Connection:
    """An edge that joins old and new, or that a connect step sets."""

    tensor: str
    to: str
    input: int
    was: str = ""


@dataclass(frozen=True, eq=False)
class Copied:
    """What one copy step makes.

    Args:
        step: the step.
        ops: numbers of the source ops, in source order.
        names: their names in the destination.
        place: source op number -> op number after the plan, -1 for ops that are not copied.
        external: source tensor -> destination tensor (op name, output), for what is mapped, kept or a placeholder.
        control_kept: source op numbers outside that stay control inputs (same graph).
        dropped: control edges left out, as (inside, outside) names.
        closure: what came along, and why.
    """

    step: CopyStep
    ops: Ints
    names: list[str]
    place: Ints
    external: dict[Tensor, tuple[str, int]]
    placeholders: list[NewPlaceholder]
    variables: list[NewVariable]
    collections: list[NewEntries]
    control_kept: frozenset[int]
    dropped: list[tuple[str, str]]
    closure: Closure

    @property
    def source(self) -> Graph:
        """The snapshot copied from."""
        return self.step.selection.graph

    def renamed(self, name: str) -> str:
        """Returns the name an op of the source has in the copy."""
        return f"{self.step.to}/{name}" if self.step.to else name


@dataclass(eq=False)
class Effect:
    """The whole outcome of a plan."""

    plan: Plan
    after: Graph
    copies: list[Copied] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    suspects: list[tuple[Copied, str, str]] = field(default_factory=list)  # shapes that only TensorFlow can judge
    edits: list[tuple[str, int, str]] = field(default_factory=list)  # inputs set on ops of the base
    mode: str = "append"

    @property
    def new_names(self) -> list[str]:
        """Names of all new ops, in the order they are made."""
        return list(self.after.names[self.plan.base.size :])

    @property
    def variables(self) -> list[NewVariable]:
        """All new variables."""
        return [v for c in self.copies for v in c.variables]

    @property
    def placeholders(self) -> list[NewPlaceholder]:
        """All new placeholders."""
        return [p for c in self.copies for p in c.placeholders]


def resolve(plan: Plan) -> Effect:
    """Works out a plan step by step; faults are collected, never raised."""
    effect = Effect(plan, plan.base)
    for step in plan.steps:
        if isinstance(step, CopyStep):
            _copy(effect, step)
        else:
            _connect(effect, step)
    return effect


# -- copy -----------------------------------------------------------------------------------------


def _copy(effect: Effect, step: CopyStep) -> None:
    # 1. What is asked must make sense by itself.
    selection, base = step.selection, effect.after
    graph = selection.graph
    same = graph.owner is base.owner and graph.owner is not None
    early = step_faults(step, same) + namespace_faults(step, base)
    if early:
        effect.faults += early
        return
    # 2. Which ops: the selection, what its variables need, and what `include` asks for.
    mapping, faults = mapping_faults(step, base)
    effect.faults += faults
    cuts = frozenset(mapping)
    policy = _policies(step, graph)
    closure = close(graph, selection.mask, cuts, policy, step.unmapped, step.control)
    mask = closure.mask
    ops = np.flatnonzero(mask).astype(np.int32)
    # 3. What enters: mapped, kept, or a placeholder.
    external: dict[Tensor, tuple[str, int]] = {}
    placeholders: list[NewPlaceholder] = []
    taken = {graph.names[i] for i in ops.tolist()}
    refused = []
    enters = entering(graph, mask, cuts | frozenset(selection.inputs))
    for tensor in enters:
        op, port = tensor
        name = f"{graph.names[op]}:{port}"
        inside = bool(mask[op])
        if tensor in mapping:
            external[tensor] = mapping[tensor]
        elif inside and tensor not in selection.inputs:
            continue
        elif closure.shared[op] or (step.unmapped == "keep" and same):
            external[tensor] = (graph.names[op], port)
        elif step.unmapped == "placeholder":
            leaf = placeholder_name(graph.names[op], port, taken)
            taken.add(leaf)
            full = f"{step.to}/{leaf}" if step.to else leaf
            info = graph.info(op, port) or TensorInfo("unknown", None)
            placeholders.append(NewPlaceholder(full, name, info))
            external[tensor] = (full, 0)
        else:
            refused.append(name)
    effect.faults += step_faults(step, same, refused=refused)
    unused = [t for t in mapping if t not in external]
    effect.faults += step_faults(step, same, unused=[f"{graph.names[o]}:{p}" for o, p in unused])
    # 4. Control inputs from outside.
    kept, dropped = set(), []
    for inside_op, outside_op in control_entering(graph, mask):
        if step.control == "keep" and same:
            kept.add(outside_op)
        else:
            dropped.append((graph.names[inside_op], graph.names[outside_op]))
    if dropped and step.control != "drop":
        effect.faults += step_faults(step, same, control=dropped)
    if effect.faults:
        return
    # 5. Where each op will be.
    names = [f"{step.to}/{graph.names[i]}" if step.to else graph.names[i] for i in ops.tolist()]
    place = np.full(graph.size, -1, np.int32)
    place[ops] = base.size + len(placeholders) + np.arange(len(ops), dtype=np.int32)
    variables = [
        NewVariable(f"{step.to}/{v.op}" if step.to else v.op, v, policy[v.op])
        for v in closure.variables
        if policy[v.op] != "share"
    ]
    copied = Copied(
        step, ops, names, place, external, placeholders, variables, [], frozenset(kept), dropped, closure
    )
    copied = replace(copied, collections=_collections(copied, mask))
    effect.after = _appended(base, copied)
    effect.copies.append(copied)
    effect.suspects += [(copied, a, b) for a, b in _suspects(step, base)]
    effect.connections += _joins(copied, mask, base)
    effect.warnings += _copy_warnings(copied, selection)


def _policies(step: CopyStep, graph: Graph) -> dict[str, str]:
    rules = dict(step.variables)
    default = rules.pop("*", "copy")
    out = {}
    for name in graph.state.variables:
        out[name] = next((p for rule, p in rules.items() if rule == name or fnmatch.fnmatch(name, rule)), default)
    return out


def _collections(copied: Copied, mask: Mask) -> list[NewEntries]:
    step, graph = copied.step, copied.source
    if step.collections == "none":
        return []
    made = {v.was for v in copied.variables}
    out = []
    for name, entries in graph.state.collections.items():
        count = 0
        for entry in entries:
            number = graph.index.get(entry.name.partition(":")[0])
            if entry.kind == "variable":
                count += entry.name in made
            elif entry.kind in ("op", "tensor"):
                count += number is not None and bool(mask[number])
        if count:
            keep = step.collections == "keep" or not step.to or name in COLLECTIONS_KEPT
            out.append(NewEntries(name if keep else f"{step.to}/{name}", name, count))
    return out


def _appended(base: Graph, copied: Copied) -> Graph:
    """The destination with the copy in it: edges by array arithmetic, no loop over ops."""
    graph, ops, place = copied.source, copied.ops, copied.place
    first = base.size
    spots = {p.name: first + i for i, p in enumerate(copied.placeholders)}
    data_rows, data_at = _rows(graph.data, ops)
    node, port = place[graph.data.node[data_at]], graph.data.port[data_at].copy()
    old_node, old_port = graph.data.node[data_at], graph.data.port[data_at]
    for (op, out), (name, new_out) in copied.external.items():
        hit = (old_node == op) & (old_port == out)
        node[hit] = spots[name] if name in spots else base.index[name]
        port[hit] = new_out
    ctrl_rows, ctrl_at = _rows(graph.control, ops)
    ctrl = place[graph.control.node[ctrl_at]]
    outside = ctrl < 0
    if outside.any():
        keep = np.isin(graph.control.node[ctrl_at], list(copied.control_kept)) & outside
        ctrl[keep] = graph.control.node[ctrl_at][keep]
        ctrl, ctrl_rows = ctrl[ctrl >= 0], ctrl_rows[ctrl >= 0]
    lead = len(copied.placeholders)
    total = lead + len(ops)
    fake = [graph.nodes[i] for i in ops.tolist()]
    after = base.appended(
        [*spots, *copied.names],
        ["Placeholder"] * lead + [graph.types[i] for i in ops.tolist()],
        [None] * lead + fake,
        Edges(_ptr(data_rows + lead, total), node.astype(np.int32), port.astype(np.int32)),
        Edges(_ptr(ctrl_rows + lead, total), ctrl.astype(np.int32), np.zeros(len(ctrl), np.int32)),
    )
    back = base.outputs_of

    def outputs_of(i: int) -> Sequence[TensorInfo] | None:
        if i < first:
            return back(i) if back else None
        if i < first + lead:
            return [copied.placeholders[i - first].info]
        return graph.outputs(int(ops[i - first - lead]))

    return replace(after, outputs_of=outputs_of)


def _rows(edges: Edges, ops: Ints) -> tuple[Ints, Ints]:
    """For the rows of `ops`: the row number (0..) of each edge, and its position in the edge arrays."""
    begin = edges.ptr[ops].astype(np.int64)
    length = (edges.ptr[ops + 1] - edges.ptr[ops]).astype(np.int64)
    rows = np.repeat(np.arange(len(ops), dtype=np.int32), length)
    start = np.concatenate([[0], np.cumsum(length)[:-1]]) if len(ops) else np.zeros(0, np.int64)
    at = np.repeat(begin - start, length) + np.arange(int(length.sum()))
    return rows, at.astype(np.int32)


def _ptr(rows: Ints, total: int) -> Ints:
    ptr = np.zeros(total + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=total), out=ptr[1:])
    return ptr


def _joins(copied: Copied, mask: Mask, base: Graph) -> list[Connection]:
    """The edges that join the copy to what the destination had."""
    graph, out = copied.source, []
    fresh = {p.name for p in copied.placeholders}
    rows = edge_rows(graph.data)
    for (op, port), (name, new_port) in copied.external.items():
        if name in fresh:
            continue
        hit = np.flatnonzero((graph.data.node == op) & (graph.data.port == port) & mask[rows])
        for at in hit.tolist():
            reader = int(rows[at])
            position = at - int(graph.data.ptr[reader])
            target = copied.renamed(graph.names[reader])
            out.append(Connection(f"{name}:{new_port}", target, position, f"{graph.names[op]}:{port}"))
    return out


def _suspects(step: CopyStep, base: Graph) -> list[tuple[str, str]]:
    from .check import shapes_differ

    graph, out = step.selection.graph, []
    for old, new in step.inputs:
        a, b = graph.info(*graph.tensor(old)), base.info(*base.tensor(new))
        if a is not None and b is not None and shapes_differ(a.shape, b.shape):
            out.append((old, new))
    return out


def _copy_warnings(copied: Copied, selection: object) -> list[str]:
    out = []
    listed = {f"{copied.source.names[op]}:{port}" for op, port in copied.step.selection.inputs}
    leaked = [p.was for p in copied.placeholders if listed and p.was not in listed]
    if leaked:
        out.append(f"leak: {_some(leaked)} became placeholder{'s' * (len(leaked) > 1)} without being marked as input")
    if copied.dropped:
        out.append(f"{len(copied.dropped)} control input{'s' * (len(copied.dropped) > 1)} from outside dropped: "
                   + _some([f"{a} after {b}" for a, b in copied.dropped]))  # fmt: skip
    mute = [v.name for v in copied.variables if v.policy == "copy" and copied.step.values is None]
    if mute:
        out.append(f"no values given: {len(mute)} variable{'s' * (len(mute) > 1)} will start from initial values")
    return out


def _some(names: list[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


# -- connect --------------------------------------------------------------------------------------


def _connect(effect: Effect, step: ConnectStep) -> None:
    faults = connect_faults(step, effect.after)
    if faults:
        effect.faults += faults
        return
    graph = effect.after
    op, tensor = graph.find(step.to), graph.tensor(step.tensor)
    was = graph.input_names(op)[step.input]
    effect.after = graph.rewired(op, step.input, tensor)
    effect.connections = [c for c in effect.connections if (c.to, c.input) != (step.to, step.input)]
    effect.connections.append(Connection(step.tensor, step.to, step.input, was))
    if op < effect.plan.base.size:
        effect.mode = "materialise"
        effect.edits.append((step.to, step.input, step.tensor))

