"""Renaming: a plan step that copies ops under other names, joins the copies, and takes the old ops out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .edits import EditStep, add_changes, fault, few, rewire
from .placement import put_copy
from .rewiring import reordered_many
from .selection import Query, Selection
from .sources import Sources
from .steps import INITIAL, CopyStep
from .swapping import readers

if TYPE_CHECKING:
    from .boundary import Tensor
    from .copied import Copied
    from .effect import Effect


@dataclass(frozen=True)
class RenameStep(EditStep):
    """An op, or a name scope with all in it, gets another name; see `Plan.rename`."""

    old: str
    to: str
    values: Any = None

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        return f"rename {self.old} to {self.to}"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        return self.code_for("ed", Sources())

    def code_for(self, owner: str, sources: Sources) -> str:
        """Returns the call that adds it to a plan of the editor called `owner`."""
        if self.values is None or self.values == INITIAL:
            return self.code_with("" if self.values is None else repr(INITIAL))
        return self.code_with(
            "session" if hasattr(self.values, "run") else owner if hasattr(self.values, "snapshot") else "values"
        )

    def code_with(self, values: str) -> str:
        """Returns the call that adds it to a plan, with code that says where values come from, or none."""
        return f".rename({self.old!r}, to={self.to!r}" + (f", values={values})" if values else ")")

    def copied_in(self, effect: Effect) -> Copied | None:
        """Returns the copy by which an effect carries the step out; None where it was refused."""
        old = len(self.old)
        return next(
            (
                c
                for c in effect.copies
                if c.step.names
                and all(n[:old] == self.old and new == self.to + n[old:] for n, new in c.step.names.items())
            ),
            None,
        )

    @property
    def asked(self) -> str:
        """The request, for messages."""
        return f"rename({self.old!r}, to={self.to!r})"

    def carry(self, effect: Effect) -> None:
        """Copies the ops, lets all others read the copies, and marks the old ones to go."""
        base, size = effect.plan.base, effect.plan.base.size
        known = self.old in effect.after.index or self.old in effect.after.scopes.index
        mask = base.mask([base.index[self.old]] if self.old in base.index else [])
        if self.old in base.scopes.index:
            mask |= base.scope_mask(self.old)
        if not mask.any():
            wrong = f"{self.old!r} is made by this plan" if known else f"no op and no scope is called {self.old!r}"
            fault(effect, self.asked, wrong, "Name an op or scope of the graph")
            return
        ops = np.flatnonzero(mask).tolist()
        held = tuple(base.names[i] for i in ops)
        names = {name: self.to + name[len(self.old) :] for name in held}
        edited = [name for name, _, _ in effect.edits if name in names] + [n for n in effect.changes if n in names]
        if edited:
            wrong = f"an earlier step changes {edited[0]!r}"
            fault(effect, self.asked, wrong, "Rename first, and change it by its new name")
            return
        step = CopyStep(
            Selection(base, mask, Query("names", held)), "", unmapped="keep", control="keep",
            variables=(("*", "initial" if self.values == INITIAL else "copy"),),
            values=None if self.values == INITIAL else self.values, collections="keep", names=names,
        )  # fmt: skip
        faults, joins = len(effect.faults), len(effect.connections)
        put_copy(effect, step)
        if len(effect.faults) > faults:
            effect.faults[faults:] = [replace(f, asked=self.asked) for f in effect.faults[faults:]]
            return
        effect.connections[joins:] = []
        place, graph = effect.copies[-1].place, effect.after
        subs: dict[Tensor, Tensor] = {}
        for i in ops:
            ports = set(graph.consumers.port[graph.consumers.ptr[i] : graph.consumers.ptr[i + 1]].tolist())
            subs.update({(i, port): (int(place[i]), port) for port in ports})
        inside = effect.after.mask([*ops, *place[ops].tolist()])
        edges = [(op, at, subs[t]) for op, at, t in readers(graph.consumers, graph.data, subs) if not inside[op]]
        rewire(effect, self.asked, edges, [], checked=True)
        rows: dict[int, list[int]] = {}
        for i in ops:
            for op in graph.control_consumers.row(i).tolist():
                if not inside[op]:
                    rows[op] = [int(place[j]) if j < size and mask[j] else j for j in graph.control.row(op).tolist()]
        effect.after = reordered_many(effect.after, rows)
        add_changes(effect, graph, rows)
        effect.removed.update(ops)
        effect.mode = "materialise"
        far = [f"{a} with {few([b])}" for a, b in _placed_with(effect, mask)]
        if far:
            effect.warnings.append(f"{len(far)} colocation{'s' * (len(far) > 1)} with what is renamed left: {few(far)}")


def _placed_with(effect: Effect, mask: Any) -> list[tuple[str, str]]:
    """Ops outside that ask to be placed with one that is renamed."""
    base = effect.plan.base
    ops, others, names = base.places
    hit = np.flatnonzero((others >= 0) & mask[others] & ~mask[ops]).tolist() if len(ops) else []
    return [(base.names[ops[k]], names[k]) for k in hit]
