"""Outcome: the sum of all steps: of several edits of one thing the last counts; and the ops that are left over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...graph.gradients import Gradients, Rewired
from ...graph.graph import Derived, Graph
from ...graph.hazards import hazards
from ...graph.names import begins_with
from ...graph.traversal import backward
from ...graph.variables import renaming
from ...words import counted, few
from ..after_state import state_after
from ..copied import Connection
from ..effect import Effect
from ..kept_shapes import Foreseen
from .branches import branch_fault, never_fault
from .remove import without_removed


def outcome(effect: Effect) -> Effect:
    """Returns the sum of all steps as what applying them does."""
    effect = _rewired(without_removed(_renamed(effect)))
    loose = branch_fault(effect) or never_fault(effect)
    if loose is not None:
        effect = replace(effect, faults=(loose,))
    foreseen = None
    if effect.after is not effect.base or effect.changes:
        about: dict[str, Any] = {"owner": Derived(effect.base.origin), "state_of": partial(state_after, effect)}
        if effect.after.outputs_of is not None:
            foreseen = about["outputs_of"] = Foreseen(effect)
        effect = replace(effect, after=replace(effect.after, **about))
    said = [*effect.warnings, *_unread(effect), *_idle(effect)]
    if not effect.faults:
        said += hazards(effect.after, np.arange(effect.after.size) >= effect.first) + _stale(effect)
    effect = replace(effect, warnings=tuple(said))
    if foreseen is not None:
        foreseen.complete(effect)
    return effect


def _renamed(effect: Effect) -> Effect:
    """Notes which ops of the base have other names now."""
    base, names = effect.base, effect.after.names
    if begins_with(names, base.names):
        return effect
    known = zip(base.names, names[: base.size], strict=True)
    renamed = {old: new for old, new in known if old is not new and old != new}
    if not renamed:
        return effect
    after = replace(effect.after, state_of=lambda: base.state.renamed(renamed))
    return replace(effect, renamed=renamed, mode="materialise", after=after)


def _numbers_before(effect: Effect) -> Callable[[str], int | None]:
    """Returns a function from the name of an op after the plan to its number in the base; None for a new op."""
    old = {new: name for name, new in effect.renamed.items()}

    def before(name: str) -> int | None:
        return effect.base.index.get(old.get(name, name)) if name in old or name not in effect.renamed else None

    return before


def _rewired(effect: Effect) -> Effect:
    """Compares rewired inputs with the graph as it is: of several steps on one input only the outcome counts."""
    base, before = effect.base, _numbers_before(effect)
    last: dict[tuple[str, int], Connection] = {}
    for join in effect.connections:
        last.pop((join.to, join.input), None)
        if effect.after.input_names(effect.after.index[join.to])[join.input] == join.tensor:
            last[join.to, join.input] = join
    kept = []
    for join in last.values():
        op = before(join.to)
        if op is not None and join.was:
            join = replace(join, was=base.input_names(op)[join.input])
        if op is None or renaming(effect.renamed)(join.was) != join.tensor:
            kept.append(join)
    there = {(join.to, join.input) for join in kept}
    edits = {edit[:2]: edit for edit in effect.edits if edit[:2] in there}
    return replace(effect, connections=tuple(kept), edits=tuple(edits.values()))


def _unread(effect: Effect) -> list[str]:
    """Says which placeholders a connection has left without a reader."""
    if not effect.placeholders:
        return []
    read = set(effect.after.data.node.tolist())
    idle = [p for p in effect.placeholders if effect.after.index[p.name] not in read]
    return [f"{p.name} is a placeholder that nothing reads any more: map {p.was} instead" for p in idle]


def _stale(effect: Effect) -> list[str]:
    """Warns of gradient ops that were derived from ops with other results now."""
    base, before = effect.base, _numbers_before(effect)
    here = [(before(join.to), join) for join in effect.connections]
    edges = [Rewired(op, base.data.ends(op)[join.input], effect.after.tensor(join.tensor))
             for op, join in here if op is not None]  # fmt: skip
    configured = [before(name) for name, change in effect.changes.items()
                  if any(key[:1] != "_" for key in change.attributes)]  # fmt: skip
    changed = [op for op in configured if op is not None]
    if not edges and not changed:
        return []
    changed_ops, stale = Gradients(base).stale(effect.after, edges, changed, effect.renamed)
    if not stale:
        return []
    names, were = [base.names[i] for i in stale], "were" if len(stale) > 1 else "was"
    return [f"stale gradients: {counted(len(names), 'ops')} ({few(names)}) {were} derived before "
            f"{few([effect.renamed.get(base.names[i], base.names[i]) for i in changed_ops])} changed; "
            "differentiate again, and make the train op again"]  # fmt: skip


def _idle(effect: Effect) -> list[str]:
    """Returns a warning that lists the tensors without a consumer that had one before."""
    return [f"left without a reader: {few(idle, 6)}"] if (idle := _spare(effect)) else []


def _spare(effect: Effect) -> list[str]:
    """Returns the tensors that have lost their last consumer: their ops stay, and nothing needs them."""
    after, old, new = effect.after, effect.base.index, renaming(effect.renamed)
    here = {new(name) for name in old} if effect.renamed else old
    lost = dict.fromkeys(new(c.was) for c in effect.connections if c.was and c.to in here)
    if not lost or effect.faults:
        return []
    there = [(name, after.index.get(name.partition(":")[0], -1)) for name in lost]
    numbers = np.array([op for _, op in there], np.int32)
    read = np.isin(numbers, after.data.node) | np.isin(numbers, after.control.node) | (numbers < 0)
    spare = [name for (name, _), is_read in zip(there, read.tolist(), strict=True) if not is_read]
    held = _held(after) if spare else set()
    return [name for name in spare if name.partition(":")[0] not in held]


def _beside(effect: Effect) -> list[int]:
    """Returns the ops that fed removed ops, if the consumers of those read on: nothing reads these ops any more."""
    base, after, new = effect.base, effect.after, renaming(effect.renamed)
    gone = base.mask(effect.removed)
    lost = (base.index.get(join.was.partition(":")[0], -1) for join in effect.connections if join.was)
    stitched = base.mask(op for op in lost if op >= 0 and gone[op])
    if effect.faults or not stitched.any():
        return []
    removed = np.flatnonzero(backward(base, stitched, within=gone)).astype(np.int32)
    makers = np.unique(base.data.node[base.data.within(removed)[1]])
    places = [after.index.get(new(base.names[op]), -1) for op in makers[~gone[makers]].tolist()]
    return [at for at in places if at >= 0 and not len(after.consumers.row(at))]


def _held(graph: Graph) -> set[str]:
    """Returns the names of the ops in collections."""
    return {entry.name.partition(":")[0] for items in graph.state.collections.values() for entry in items}


def unused(effect: Effect) -> list[int]:
    """Returns the ops that a plan leaves unused, by number after it: those of `_spare`, and ops that only they need.

    Args:
        effect: the effect of the plan.
    """
    after = effect.after
    ends = [after.index[name.partition(":")[0]] for name in _spare(effect)] + _beside(effect)
    if not ends:
        return []
    above = backward(after, after.mask(ends))
    held = after.mask(after.index[name] for name in _held(after) if name in after.index)
    found: list[int] = np.flatnonzero(above & ~backward(after, ~above | held)).tolist()
    return found
