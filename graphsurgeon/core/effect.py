"""Effect: all that applying a plan would do, worked out from snapshots alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .check import connect_faults
from .collector import gc_paused
from .copied import Connection, Copied, NewPlaceholder, NewVariable
from .edits import Change, EditStep, NewNode, few
from .graph import Graph
from .hazards import hazards
from .placement import put_copy
from .plan import Plan
from .removal import finish_removal
from .shapes import Foreseen
from .steps import ConnectStep, CopyStep, Fault

if TYPE_CHECKING:
    from .exchange import Replaced
    from .slices import Slice


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
    added: list[NewNode] = field(default_factory=list)
    changes: dict[str, Change] = field(default_factory=dict)  # by op name
    removed: set[int] = field(default_factory=set)  # numbers of ops of the base
    slices: list[Slice] = field(default_factory=list)
    replaced: list[Replaced] = field(default_factory=list)
    first: int = 0  # number of the first new op, after all
    mode: str = "append"

    @property
    def new_names(self) -> list[str]:
        """Names of all new ops, in the order they are made."""
        return list(self.after.names[self.first :])

    @cached_property
    def reordered(self) -> dict[str, Change]:
        """What ops that exist wait for now, and no longer, where no step names it: it went with others, or over."""
        base, after = self.plan.base, self.after
        stay = np.ones(base.size, np.bool_)
        stay[list(self.removed)] = False
        place = np.where(stay, np.cumsum(stay) - 1, -1)
        wide = max(after.size, 1)
        if not (len(base.control.node) or len(after.control.node)):
            return {}
        old = place[base.control.rows].astype(np.int64) * wide + place[base.control.node]
        old = old[stay[base.control.rows] & stay[base.control.node]]
        lost = np.flatnonzero(stay[base.control.rows] & ~stay[base.control.node])
        mine = after.control.rows < self.first
        new = after.control.rows.astype(np.int64) * wide + after.control.node
        out: dict[str, Change] = {}
        for key in new[mine & ~np.isin(new, old)].tolist():
            out.setdefault(after.names[key // wide], Change()).waits.append(after.names[key % wide])
        for key in old[~np.isin(old, new)].tolist():
            out.setdefault(after.names[key // wide], Change()).frees.append(after.names[key % wide])
        for at in lost.tolist():
            name = base.names[int(base.control.rows[at])]
            out.setdefault(name, Change()).frees.append(base.names[int(base.control.node[at])])
        return {name: change for name, change in out.items() if name not in self.changes}

    @property
    def variables(self) -> list[NewVariable]:
        """All new variables."""
        return [v for c in self.copies for v in c.variables]

    @property
    def placeholders(self) -> list[NewPlaceholder]:
        """All new placeholders."""
        return [p for c in self.copies for p in c.placeholders]


@gc_paused()
def resolve(plan: Plan) -> Effect:
    """Works out a plan step by step; faults are collected, never raised."""
    effect = Effect(plan, plan.base, first=plan.base.size)
    for step in plan.steps:
        if isinstance(step, CopyStep):
            put_copy(effect, step)
        elif isinstance(step, EditStep):
            step.carry(effect)
        else:
            _connect(effect, step)
    finish_removal(effect)
    _settle(effect)
    if effect.after is not plan.base and effect.after.outputs_of is not None:
        effect.after = replace(effect.after, outputs_of=Foreseen(effect))
    _note_unread(effect)
    _note_idle(effect)
    if not effect.faults:
        effect.warnings += hazards(effect.after, np.arange(effect.after.size) >= effect.first)
    return effect


def _settle(effect: Effect) -> None:
    """Compares what is rewired with the graph as it is: of several steps on one input only the outcome counts."""
    base, kept = effect.plan.base, []
    for join in effect.connections:
        op = base.index.get(join.to)
        if op is not None and join.was:
            join = replace(join, was=base.input_names(op)[join.input])
        if op is None or join.was != join.tensor:
            kept.append(join)
    if len(kept) < len(effect.connections):
        there = {(join.to, join.input) for join in kept}
        effect.edits = [edit for edit in effect.edits if edit[:2] in there]
    effect.connections = kept


def _note_unread(effect: Effect) -> None:
    """Says which placeholders a connection has left without a reader."""
    if not effect.placeholders:
        return
    read = set(effect.after.data.node.tolist())
    for p in effect.placeholders:
        if effect.after.index[p.name] not in read:
            effect.warnings.append(f"{p.name} is a placeholder that nothing reads any more: map {p.was} instead")


def _note_idle(effect: Effect) -> None:
    """Says which tensors have lost their last reader: their ops stay, and nothing needs them."""
    after, old = effect.after, effect.plan.base.index
    lost = dict.fromkeys(c.was for c in effect.connections if c.was and c.to in old)
    if not lost or effect.faults:
        return
    there = [(name, after.index.get(name.partition(":")[0], -1)) for name in lost]
    numbers = np.array([op for _, op in there], np.int32)
    read = np.isin(numbers, after.data.node) | np.isin(numbers, after.control.node) | (numbers < 0)
    held = {entry.name.partition(":")[0] for items in effect.plan.base.state.collections.values() for entry in items}
    spare = [name for (name, _), is_read in zip(there, read.tolist(), strict=True) if not is_read]
    idle = [name for name in spare if name.partition(":")[0] not in held]
    if idle:
        effect.warnings.append(f"left without a reader: {few(idle, 6)}")


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
