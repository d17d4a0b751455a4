"""Slices: edits of a live graph carried out on copies of what they change, with nothing that exists touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..graph.downstream import Downstream, downstream, writers_of
from ..graph.edges import Edges, stacked
from ..graph.graph import Graph, Ints, Mask, TensorInfo
from ..graph.selection import Query, Selection
from ..graph.told import Told
from ..graph.traversal import edge_rows, forward
from ..words import counted, few, one_or_all
from .copied import Connection, Copied, now_read, row_pointers, rows_of
from .edits import EditStep, fault, numbers_of
from .placement import put_copy
from .removal import readers_fault
from .renaming import as_copies
from .rewiring import reordered_many
from .steps import CopyStep

if TYPE_CHECKING:
    from .effect import Effect

ASSIGN = ("copy", "leave")


@dataclass(frozen=True, eq=False)
class Slice:
    """What a `forward` step makes again.

    Args:
        copied: the ops, as a copy inside the graph.
        changed: names of the ops that the edits before it change.
        until: what it stops at.
        left: names of ops that set state and are left as they were.
        along: what is made again although nothing in it changes.
    """

    copied: Copied
    changed: tuple[str, ...]
    until: tuple[str, ...]
    left: tuple[str, ...]
    along: tuple[str, ...]

    @property
    def text(self) -> str:
        """The slice in words."""
        again = counted(len(self.copied.ops), "ops")
        changed = f"{counted(len(self.changed), 'ops')} that change{'s' * (len(self.changed) == 1)}"
        end = f", up to {few(self.until)}" if self.until else ""
        return f"{again} downstream of {changed}{end}, again under {self.copied.step.to}/"


@dataclass(frozen=True)
class ForwardStep(EditStep):
    """The edits so far are carried out on copies of what they change; see `Plan.forward`."""

    to: str
    until: tuple[str, ...] = ()
    assign: str = "leave"
    collections: str = "none"

    whole = True

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        return f"carry the edits so far out on copies under {self.to}/" + (
            f", up to {few(self.until)}" if self.until else ""
        )

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        more = f", until={one_or_all(self.until)!r}" if self.until else ""
        more += f", assign={self.assign!r}" if self.assign != "leave" else ""
        more += f", collections={self.collections!r}" if self.collections != "none" else ""
        return f".forward(to={self.to!r}{more})"

    def carry(self, effect: Effect) -> None:
        """Copies what changes, gives the copies the new inputs, and gives what exists its own back."""
        targets = numbers_of(effect, self.asked, [name.partition(":")[0] for name in self.until])
        if not effect.faults:
            as_copies(effect, self.asked)
        if targets is None or effect.faults:
            return
        changed = changed_ops(effect) & ~effect.after.mask(sorted(effect.removed))
        fresh = len(effect.after.names) > effect.first
        if not changed.any() and not (effect.removed and fresh):
            wrong = "no step before it changes an op that exists"
            fault(effect, self.asked, wrong, "Leave it out: nothing that exists is touched; or put it after the edits")
            return
        found = self._found(effect, changed, targets)
        if found is not None:
            self._carry(effect, found, changed)

    def _found(self, effect: Effect, changed: Mask, targets: Sequence[int]) -> Downstream | None:
        """What is made again; None, and a fault, where that cannot be."""
        graph, gone = effect.after, effect.after.mask(sorted(effect.removed))
        left = readers_fault(graph, gone, self.asked)
        if left is not None:
            effect.faults.append(left)
            return None
        found = downstream(graph, changed, gone, targets, self.assign == "copy")
        if found.missed >= 0:
            self._unreached(effect, changed, gone, targets, graph.names[found.missed])
            return None
        acts = np.flatnonzero(found.ops & found.left | changed & found.left).tolist()
        acts += [] if self.assign == "copy" else _acting(graph, found.ops)
        if acts:
            wrong = f"{graph.names[acts[0]]!r} ({graph.types[acts[0]]}) sets what the original uses too"
            fault(effect, self.asked, wrong, "Choose assign='copy' for a copy of it that sets the same, or leave "
                  "forward out and build a new graph")  # fmt: skip
            return None
        if changed.any() and not found.ops[: effect.plan.base.size].any():
            first = [graph.names[i] for i in np.flatnonzero(found.left).tolist()]
            wrong = f"what changes leads to nothing but ops that set state: {few(first)}"
            fault(effect, self.asked, wrong, "Choose assign='copy' for copies of these that set the same")
            return None
        return found

    def _unreached(self, effect: Effect, changed: Mask, gone: Mask, targets: Sequence[int], missed: str) -> None:
        graph = effect.after
        wide = downstream(graph, changed, gone, targets, True)
        if wide.missed < 0:
            between = np.flatnonzero(wide.ops & downstream(graph, changed, gone).left).tolist()
            what = few([graph.names[i] for i in between])
            wrong = f"the way from what changes to {missed!r} goes through ops that set state: {what}"
            fault(effect, self.asked, wrong, "Choose assign='copy' for copies of these that set the same")
            return
        names = few([graph.names[i] for i in np.flatnonzero(changed).tolist()])
        wrong = f"{missed!r} does not depend on what changes ({names})"
        fault(effect, self.asked, wrong, "Name something downstream of it, or leave until out")

    def _carry(self, effect: Effect, found: Downstream, changed: Mask) -> None:
        edited, base, size = effect.after, effect.plan.base, effect.plan.base.size
        ops = found.ops[:size]
        unlike = reshaped(effect)
        effect.after = _unedited(edited, base)
        names, changes = {name for name, _, _ in effect.edits}, effect.changes
        kept = [c for c in effect.connections if c.to not in names]
        mine = [c for c in effect.connections if c.to in names]
        place = np.arange(edited.size, dtype=np.int32)
        if ops.any():
            held = tuple(base.names[i] for i in np.flatnonzero(ops).tolist())
            step = CopyStep(
                Selection(base, ops, Query("names", held)), self.to, unmapped="keep", control="keep",
                variables=(("*", "share"),), collections=self.collections,
            )  # fmt: skip
            before = list(effect.warnings)
            put_copy(effect, step)
            if effect.faults:
                return
            copied = replace(effect.copies[-1], role="slice")
            effect.copies[-1] = copied
            # What is shared, and keeps its seed or gradient, is said for copies that are asked for.
            effect.warnings = [w for w in effect.warnings if w in before or "tf.custom_gradient" in w or "seed" in w]
            moved = np.flatnonzero(copied.place >= 0)
            place[moved] = copied.place[moved]
            effect.after = _joined(effect.after, edited, copied, place, size, unlike)
            effect.copies[-1] = copied = replace(copied, external=now_read(effect.after, copied))
            left = tuple(edited.names[i] for i in np.flatnonzero(found.left).tolist())
            touched = tuple(edited.names[i] for i in np.flatnonzero(changed).tolist())
            effect.slices.append(Slice(copied, touched, self.until, left, tuple(found.along)))
        else:
            effect.after = _redirected(effect.after, edited, place, size)
        shifted = np.flatnonzero(place != np.arange(len(place))).tolist()
        rename = {edited.names[i]: effect.after.names[int(place[i])] for i in shifted}
        effect.connections = kept + [
            Connection(_renamed(c.tensor, rename), rename[c.to], c.input, c.was) for c in mine if c.to in rename
        ]
        effect.changes = {
            rename.get(name, name): change
            for name, change in changes.items()
            if name in rename or edited.index[name] >= size
        }
        effect.replaced = [
            replace(r, outputs={old: _renamed(new, rename) for old, new in r.outputs.items()})
            for r in effect.replaced
        ]  # fmt: skip
        effect.warnings += _warnings(edited, found, effect.removed)
        effect.by = {int(place[i]): step for i, step in effect.by.items() if i >= size or place[i] != i}
        effect.edits, effect.mode = [], "append"
        effect.removed = set()


def changed_ops(effect: Effect) -> Mask:
    """Returns a mask of the ops of the base that edits so far change, over all ops of the prediction."""
    index = effect.after.index
    names = [*(name for name, _, _ in effect.edits), *effect.changes]
    numbers = {index[name] for name in names if name in index}
    return effect.after.mask(sorted(i for i in numbers if i < effect.plan.base.size))


def reshaped(effect: Effect) -> Mask:
    """Returns a mask of the ops whose outputs may have other shapes, because they read tensors of other shapes."""
    graph, base, unlike = effect.after, effect.plan.base, []
    was = {new: old for old, new in effect.renamed.items()}
    for name, at, _ in effect.edits:
        op = graph.index.get(name)
        if op is None:
            continue
        now, then = int(graph.data.ptr[op]) + at, int(base.data.ptr[base.index[was.get(name, name)]]) + at
        old = base.info(int(base.data.node[then]), int(base.data.port[then]))
        if old is None or old != graph.info(int(graph.data.node[now]), int(graph.data.port[now])):
            unlike.append(op)
    return forward(graph, graph.mask(sorted(set(unlike))), control=False) if unlike else graph.mask([])


def slice_size(effect: Effect) -> int:
    """Returns how many ops `forward` would make again for the edits of an effect; 0 where it could not."""
    changed = changed_ops(effect)
    if not changed.any() or effect.faults or effect.removed:
        return 0
    found = downstream(effect.after, changed, effect.after.mask([]))
    acts = _acting(effect.after, found.ops)
    return 0 if acts else int(np.count_nonzero(found.ops[: effect.plan.base.size]))


def _acting(graph: Graph, ops: Mask) -> list[int]:
    found: list[int] = np.flatnonzero(ops & writers_of(graph)).tolist()
    return found


def _unedited(edited: Graph, base: Graph) -> Graph:
    """The graph with what the plan adds, and what exists as it was."""
    count = len(base.data.node)
    node = np.concatenate([base.data.node, edited.data.node[count:]])
    port = np.concatenate([base.data.port, edited.data.port[count:]])
    begin = int(edited.control.ptr[base.size])
    added = Edges(
        edited.control.ptr[base.size :] - begin, edited.control.node[begin:], edited.control.port[begin:]
    )  # fmt: skip
    return replace(edited, data=Edges(edited.data.ptr, node, port), control=stacked(base.control, added))


def _joined(graph: Graph, edited: Graph, copied: Copied, place: Ints, size: int, unlike: Mask) -> Graph:
    """Gives the copies the inputs that the edits ask for, and the other new ops those copies to read."""
    graph = _redirected(graph, edited, place, size)
    order = copied.ops
    _, at = rows_of(edited.data, order)
    begin = int(graph.data.ptr[copied.place[order[0]]])
    node, port = graph.data.node.copy(), graph.data.port.copy()
    node[begin : begin + len(at)] = place[edited.data.node[at]]
    port[begin : begin + len(at)] = edited.data.port[at]
    graph = replace(graph, data=Edges(graph.data.ptr, node, port))
    rows, at = rows_of(edited.control, order)
    first = int(copied.place[order[0]])
    lead = int(graph.control.ptr[first])
    mine = Edges(row_pointers(rows, len(order)), place[edited.control.node[at]], np.zeros(len(at), np.int32))
    before = Edges(graph.control.ptr[: first + 1], graph.control.node[:lead], graph.control.port[:lead])
    after = replace(graph, control=stacked(before, mine))
    loose = [int(place[i]) for i in np.flatnonzero(unlike[: len(copied.place)]).tolist()]
    open_now = {i: [TensorInfo(t.dtype, None) for t in graph.outputs(i) or ()] for i in loose}
    return replace(after, outputs_of=Told.of(graph).but(open_now)) if open_now and graph.outputs_of else after


def _redirected(graph: Graph, edited: Graph, place: Ints, size: int) -> Graph:
    """Lets the new ops of a plan read copies where what they read is made again."""
    begin, end = int(edited.data.ptr[size]), int(edited.data.ptr[edited.size])
    node = graph.data.node.copy()
    node[begin:end] = place[edited.data.node[begin:end]]
    graph = replace(graph, data=Edges(graph.data.ptr, node, graph.data.port))
    rows = edge_rows(edited.control)
    waits: dict[int, list[int]] = {}
    for at in np.flatnonzero((rows >= size) & (place[edited.control.node] != edited.control.node)).tolist():
        waits.setdefault(int(rows[at]), [])
    for op in waits:
        waits[op] = [int(place[i]) for i in edited.control.row(op)]
    return reordered_many(graph, waits) if waits else graph


def _renamed(tensor: str, names: dict[str, str]) -> str:
    op, _, port = tensor.rpartition(":")
    return f"{names.get(op, op)}:{port}"


def _warnings(graph: Graph, found: Downstream, removed: set[int]) -> list[str]:
    out = []
    left = [graph.names[i] for i in np.flatnonzero(found.left).tolist()]
    if left:
        sets, go = ("set", "go") if len(left) > 1 else ("sets", "goes")
        out.append(f"{counted(len(left), 'ops')} that {sets} state {go} on with the original: {few(left)}")
    lost = [graph.names[i] for i in np.flatnonzero(found.lost).tolist()]
    if lost:
        out.append(f"the change of {few(lost)} reaches nothing that is made again, and is left out")
    writers = [graph.names[i] for i in _acting(graph, found.ops)]
    if writers:
        sets = "set" if len(writers) > 1 else "sets"
        out.append(f"{counted(len(writers), 'copies')} {sets} the same state as the original: {few(writers)}")
    if found.calls:
        names = few([graph.names[i] for i in found.calls])
        out.append(f"{counted(len(found.calls), 'calls')} made again may set state inside: {names}")
    if removed:
        count, stay = counted(len(removed), "ops"), "stays" if len(removed) == 1 else "stay"
        names = few([graph.names[i] for i in sorted(removed)])
        out.append(f"{count} to remove {stay} in the live graph, without a copy: {names}")
    return out
