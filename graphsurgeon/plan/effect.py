"""Effect: all that applying a plan would do, worked out from snapshots alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.collector import gc_paused
from ..graph.graph import Graph, TensorInfo
from ..graph.hazards import hazards
from ..graph.traversal import strong_components
from ..graph.variables import renaming
from ..words import few
from .check import connect_faults
from .copied import Connection, Copied, NewPlaceholder, NewVariable
from .edits import Change, EditStep, Link, NewNode, rewire
from .placement import put_copy
from .plan import Plan
from .removal import finish_removal
from .rewiring import TURNING, closed_circle
from .shapes import Foreseen
from .steps import ConnectStep, CopyStep, Fault
from .workbench import Workbench

if TYPE_CHECKING:
    from .exchange import Replaced
    from .slices import Slice


@dataclass(eq=False)
class Effect:
    """The whole outcome of a plan."""

    plan: Plan
    bench: Workbench
    copies: list[Copied] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    edits: list[tuple[str, int, str]] = field(default_factory=list)  # inputs set on ops of the base
    added: list[NewNode] = field(default_factory=list)
    changes: dict[str, Change] = field(default_factory=dict)  # by op name
    removed: set[int] = field(default_factory=set)  # numbers of ops of the base
    slices: list[Slice] = field(default_factory=list)
    replaced: list[Replaced] = field(default_factory=list)
    first: int = 0  # number of the first new op, after all
    mode: str = "append"
    renamed: dict[str, str] = field(default_factory=dict)  # ops of the base: old name -> new one
    revalued: dict[int, tuple[int, ...]] = field(default_factory=dict)  # step that gives values -> ops it renames

    #: op after the plan -> its outputs as TensorFlow infers them, where what its original was told is no longer true;
    #: None until it was asked.
    inferred: dict[int, Sequence[TensorInfo]] | None = None
    resolved: bool = False  # all steps are carried out

    blame: dict[str, int] = field(default_factory=dict)  # op whose inputs or attributes are new -> the last such step

    # While it is worked out:
    step: int = 0  # number of the step that is carried out
    links: list[Link] = field(default_factory=list)
    orders: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)  # op -> what it waits for now, no more
    by: dict[int, int] = field(default_factory=dict)  # the same by number
    reads: dict[int, TensorInfo | None] = field(default_factory=dict)  # new op -> what is known of what it reads
    renames: list[tuple[Mapping[str, str], tuple[int, ...]]] = field(default_factory=list)  # and what was noted by then

    @property
    def after(self) -> Graph:
        """The destination as it is after the steps so far."""
        return self.bench.frozen()

    @after.setter
    def after(self, graph: Graph) -> None:
        self.bench = Workbench(graph)

    @property
    def noted(self) -> tuple[list[Any], ...]:
        """What steps have noted by name, in order."""
        return self.connections, self.edits, self.added, self.copies, self.replaced, self.slices

    def rename(self, names: Mapping[int, str]) -> None:
        """Gives ops other names from here on; what was noted of them follows in `settle`."""
        old = {self.bench.names[i]: new for i, new in names.items()}
        self.bench.rename(names)
        self.renames.append((old, tuple(map(len, self.noted))))
        moved = {new: self.changes.pop(name) for name, new in old.items() if name in self.changes}
        self.changes.update(moved)

    def settle(self) -> None:
        """Brings what was noted by name up to date: several steps may have given one op several names."""
        names: dict[str, str] = {}
        end = tuple(map(len, self.noted))
        for at in reversed(range(len(self.renames))):
            mapping, until = self.renames[at]
            begin = self.renames[at - 1][1] if at else (0,) * len(end)
            names.update({old: names.get(new, new) for old, new in mapping.items()})
            new = renaming(names)
            for things, a, b in zip(self.noted, begin, until, strict=True):
                things[a:b] = [_called(thing, new) for thing in things[a:b]]
        for change in self.changes.values() if names else ():
            change.waits[:], change.frees[:] = map(renaming(names), change.waits), map(renaming(names), change.frees)
        called = self.bench.names
        for op, (waits, frees) in self.orders.items():
            change = self.changes.setdefault(called[op], Change())
            change.waits += [called[i] for i in waits if i in self.bench.waits(op) and called[i] not in change.waits]
            change.frees += [called[i] for i in frees]
        self.renames, self.orders = [], {}

    @property
    def new_names(self) -> list[str]:
        """Names of all new ops, in the order they are made."""
        return list(self.after.names[self.first :])

    @cached_property
    def reordered(self) -> dict[str, Change]:
        """What ops that exist wait for now, and no longer, where no step names it: it went with others, or over."""
        base, after = self.plan.base, self.after
        stay = np.ones(base.size, np.bool_)
        if self.first < base.size:  # a removal with a fault has taken nothing out
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
            name = self.renamed.get(name, name)
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
    effect = Effect(plan, Workbench(plan.base), first=plan.base.size)
    done: list[int] = []  # how many faults there were after each step
    for effect.step, step in enumerate(plan.steps):
        if isinstance(step, CopyStep):
            put_copy(effect, step)
        elif isinstance(step, EditStep):
            if step.whole:
                effect.settle()
                _refuse_circles(effect, done)
            step.carry(effect)
        else:
            _connect(effect, step)
        done.append(len(effect.faults))
    _refuse_circles(effect, done)
    effect.settle()
    _note_names(effect)
    effect.blame = {effect.bench.names[op]: step for op, step in effect.by.items()}
    finish_removal(effect)
    _settle(effect)
    if (effect.after is not plan.base or effect.changes) and effect.after.outputs_of is not None:
        effect.after = replace(effect.after, outputs_of=Foreseen(effect))
    _note_unread(effect)
    _note_idle(effect)
    if not effect.faults:
        effect.warnings += hazards(effect.after, np.arange(effect.after.size) >= effect.first)
    effect.resolved = True
    return effect


def _refuse_circles(effect: Effect, done: list[int]) -> None:
    """Notes which steps have closed a circle, and takes back what they have joined.

    It is looked for once, in what all steps have made of the graph: what one has joined, a later one may have parted.
    """
    bench, faults = effect.bench, list[tuple[int, Fault]]()
    links, effect.links = effect.links, []
    while True:
        links = [link for link in links if link.stands(bench)]
        ring = closed_circle(effect.after, [(link.op, link.source) for link in links])
        if not ring.any():
            break
        parts = strong_components(effect.after, effect.after.typed(TURNING))
        # Of the steps that have edges on a circle the last has closed it.
        on = sorted((link for link in links if ring[link.op] and ring[link.source]), key=lambda link: -link.step)
        last = {int(parts[link.op]): link for link in reversed(on)}
        for link in last.values():
            read = bench.names[link.source] if link.at is None else bench.name(bench.row(link.op)[link.at])
            wrong = f"that makes a cycle: {read!r} is computed from {bench.names[link.op]!r}"
            way = "Choose an op above it" if link.at is None else "Choose a tensor above it"
            faults.append((link.step, Fault(effect.plan.steps[link.step].asked, wrong, way)))
        guilty = {link.step for link in last.values()}
        for link in reversed([link for link in links if link.step in guilty]):
            link.take_back(bench)
    for step, fault in sorted(faults, key=lambda found: -found[0]):
        effect.faults.insert(done[step], fault)


def _note_names(effect: Effect) -> None:
    """Notes which ops of the base have other names now."""
    base, names = effect.plan.base, effect.bench.names
    if names is base.names:
        return
    known = zip(base.names, names[: base.size], strict=True)
    effect.renamed = {old: new for old, new in known if old is not new and old != new}
    if effect.renamed:
        effect.mode = "materialise"
        renamed = effect.renamed
        effect.after = replace(effect.after, state_of=lambda: base.state.renamed(renamed))


def _called(thing: Any, new: Callable[[str], str]) -> Any:
    """Returns what a step has noted, with the names that ops have now."""
    from .exchange import Replaced
    from .slices import Slice

    if isinstance(thing, Connection):
        return replace(thing, tensor=new(thing.tensor), to=new(thing.to))
    if isinstance(thing, NewNode):
        return replace(thing, name=new(thing.name))
    if isinstance(thing, Copied):
        return thing.called(new)
    if isinstance(thing, Replaced):
        outputs = {old: new(one) for old, one in thing.outputs.items()}
        return replace(thing, outputs=outputs, ops=tuple(map(new, thing.ops)), kept=tuple(map(new, thing.kept)))
    if isinstance(thing, Slice):
        return replace(thing, copied=thing.copied.called(new))
    return new(thing[0]), thing[1], new(thing[2])


def _settle(effect: Effect) -> None:
    """Compares what is rewired with the graph as it is: of several steps on one input only the outcome counts."""
    base, old = effect.plan.base, {new: name for name, new in effect.renamed.items()}
    last: dict[tuple[str, int], Connection] = {}
    for join in effect.connections:
        last.pop((join.to, join.input), None)
        if effect.after.input_names(effect.after.index[join.to])[join.input] == join.tensor:
            last[join.to, join.input] = join
    kept = []
    for join in last.values():
        op = base.index.get(old.get(join.to, join.to)) if join.to in old or join.to not in effect.renamed else None
        if op is not None and join.was:
            join = replace(join, was=base.input_names(op)[join.input])
        if op is None or renaming(effect.renamed)(join.was) != join.tensor:
            kept.append(join)
    there = {(join.to, join.input) for join in kept}
    effect.edits = list({edit[:2]: edit for edit in effect.edits if edit[:2] in there}.values())
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
    after, old, new = effect.after, effect.plan.base.index, renaming(effect.renamed)
    here = {new(name) for name in old} if effect.renamed else old
    lost = dict.fromkeys(new(c.was) for c in effect.connections if c.was and c.to in here)
    if not lost or effect.faults:
        return
    there = [(name, after.index.get(name.partition(":")[0], -1)) for name in lost]
    numbers = np.array([op for _, op in there], np.int32)
    read = np.isin(numbers, after.data.node) | np.isin(numbers, after.control.node) | (numbers < 0)
    held = {entry.name.partition(":")[0] for items in after.state.collections.values() for entry in items}
    spare = [name for (name, _), is_read in zip(there, read.tolist(), strict=True) if not is_read]
    idle = [name for name in spare if name.partition(":")[0] not in held]
    if idle:
        effect.warnings.append(f"left without a reader: {few(idle, 6)}")


def _connect(effect: Effect, step: ConnectStep) -> None:
    bench = effect.bench
    faults = connect_faults(step, bench)
    if faults:
        effect.faults += faults
        return
    op, tensor = bench.find(step.to), bench.tensor(step.tensor)
    rewire(effect, step.asked, [(op, step.input, tensor)], [])
