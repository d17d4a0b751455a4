"""Withdrawing: an op that a plan itself makes, taken out of the prediction again: nothing of it is ever made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .copied import Copied, now_read
from .rewiring import cut_out

if TYPE_CHECKING:
    from .effect import Effect


def made_alone(effect: Effect, op: int) -> Copied | None:
    """Returns the graft of which an op of the prediction is all; None where it came with others, or is no graft."""
    for copied in effect.copies:
        if copied.role == "graft" and copied.place[copied.ops].tolist() == [op]:
            return None if copied.stand_ins or copied.variables else copied
    return None


def withdraw(effect: Effect, graft: Copied, outputs: Mapping[str, str]) -> None:
    """Takes the one op of a graft out, which nothing may read any more.

    Args:
        effect: what to take it out of.
        graft: the graft, as `made_alone` gives it.
        outputs: its tensors -> those that took their place, by name.
    """
    graph, op = effect.after, int(graft.place[graft.ops[0]])
    name = graph.names[op]
    effect.copies = [
        replace(c, external=now_read(graph, c), place=np.where(c.place > op, c.place - 1, c.place).astype(np.int32))
        for c in effect.copies
        if c is not graft
    ]
    effect.after = cut_out(graph, [op])
    effect.by = {i - (i > op): step for i, step in effect.by.items() if i != op}
    effect.changes.pop(name, None)
    effect.edits = [edit for edit in effect.edits if edit[2].partition(":")[0] != name]
    effect.connections = [c for c in effect.connections if c.to != name]
    effect.replaced = [
        replace(
            r,
            outputs={old: outputs.get(new, new) for old, new in r.outputs.items()},
            kept=tuple(kept for kept in r.kept if kept != name),
        )
        for r in effect.replaced
    ]
