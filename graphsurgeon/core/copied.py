"""Copied: what one copy step makes, and the destination with it in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .boundary import Tensor
from .closure import Closure
from .graph import Edges, Graph, Ints, TensorInfo
from .plan import CopyStep
from .state import VariableInfo


@dataclass(frozen=True)
class NewPlaceholder:
    """A placeholder that stands in for a tensor of the source."""

    name: str
    was: str
    info: TensorInfo


@dataclass(frozen=True, eq=False)
class NewConstant:
    """A constant that stands in for a tensor of the source."""

    name: str
    was: str
    value: Any
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
        control_kept: source op number outside -> op of the destination that is the control input instead.
        dropped: control edges left out, as (inside, outside) names.
        closure: what came along, and why.
    """

    step: CopyStep
    ops: Ints
    names: list[str]
    place: Ints
    external: dict[Tensor, tuple[str, int]]
    placeholders: list[NewPlaceholder]
    constants: list[NewConstant]
    variables: list[NewVariable]
    collections: list[NewEntries]
    control_kept: Mapping[int, str]
    dropped: list[tuple[str, str]]
    closure: Closure

    @property
    def source(self) -> Graph:
        """The snapshot copied from."""
        return self.step.selection.graph

    def renamed(self, name: str) -> str:
        """Returns the name an op of the source has in the copy."""
        return f"{self.step.to}/{name}" if self.step.to else name

    @property
    def stand_ins(self) -> list[NewPlaceholder | NewConstant]:
        """The new ops that stand in for tensors of the source, in the order they are made."""
        return [*self.placeholders, *self.constants]


def appended(base: Graph, copied: Copied) -> Graph:
    """Returns the destination with the copy in it: edges by array arithmetic, no loop over ops."""
    graph, ops, place = copied.source, copied.ops, copied.place
    first = base.size
    stand_ins = copied.stand_ins
    spots = {p.name: first + i for i, p in enumerate(stand_ins)}
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
        for op, name in copied.control_kept.items():
            ctrl[graph.control.node[ctrl_at] == op] = base.index[name]
        ctrl, ctrl_rows = ctrl[ctrl >= 0], ctrl_rows[ctrl >= 0]
    lead = len(stand_ins)
    total = lead + len(ops)
    fake = [graph.nodes[i] for i in ops.tolist()]
    after = base.appended(
        [*spots, *copied.names],
        ["Placeholder"] * len(copied.placeholders)
        + ["Const"] * len(copied.constants)
        + [graph.types[i] for i in ops.tolist()],
        [None] * lead + fake,
        Edges(_ptr(data_rows + lead, total), node.astype(np.int32), port.astype(np.int32)),
        Edges(_ptr(ctrl_rows + lead, total), ctrl.astype(np.int32), np.zeros(len(ctrl), np.int32)),
    )
    back = base.outputs_of

    def outputs_of(i: int) -> Sequence[TensorInfo] | None:
        if i < first:
            return back(i) if back else None
        if i < first + lead:
            return [stand_ins[i - first].info]
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
