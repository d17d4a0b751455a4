"""Renaming: a plan step that gives ops and scopes other names, all at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import did_you_mean
from ..graph.graph import Graph
from ..graph.names import free_name, valid_scope
from ..graph.selection import Query, Selection
from ..words import few
from .edits import EditStep, fault, rewire, wait
from .placement import put_copy
from .sources import Sources
from .steps import INITIAL, CopyStep
from .swapping import readers

if TYPE_CHECKING:
    from ..graph.boundary import Tensor
    from .effect import Effect

#: Attributes that name what an op shares with others, often after itself or its scope.
_KEYS = ("shared_name", "frame_name", "var_name")


@dataclass(frozen=True)
class RenameStep(EditStep):
    """Ops, and name scopes with all in them, get other names, all at once; see `Plan.rename`."""

    names: tuple[tuple[str, str], ...]
    values: Any = None

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        return "rename " + few([f"{old} to {new}" for old, new in self.names])

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
        (old, new), several = self.names[0], len(self.names) > 1
        what = repr(dict(self.names)) if several else f"{old!r}, to={new!r}"
        return f".rename({what}" + (f", values={values})" if values else ")")

    def called(self, name: str) -> str:
        """Returns what an op or tensor is called after the step.

        Example:
            >>> RenameStep((("a", "b"), ("a/x", "c"))).called("a/x:1"), RenameStep((("a", "b"),)).called("a/y")
            ('c:1', 'b/y')
        """
        op, colon, port = name.partition(":")
        lead = max((old for old, _ in self.names if op == old or op.startswith(f"{old}/")), key=len, default=None)
        return name if lead is None else dict(self.names)[lead] + op[len(lead) :] + colon + port

    def renames_variables(self, effect: Effect) -> bool:
        """Returns whether variables of the graph are among what it has renamed, in an effect."""
        base, steps = effect.plan.base, effect.plan.steps
        numbers = {i for step, ops in effect.revalued.items() if steps[step] is self for i in ops if i < base.size}
        return any(base.names[i] in base.state.variables for i in numbers)

    @property
    def asked(self) -> str:
        """The request, for messages."""
        return self.code_with("").removeprefix(".")

    def carry(self, effect: Effect) -> None:
        """Gives the ops their names, after all checks."""
        bench, names = effect.bench, dict(self.names)
        found: dict[int, str] = {}
        for old in sorted(names, key=len):  # what is named itself has precedence over the scope that it is in
            own = [bench.index[old]] if old in bench.index else []
            ops = [*own, *bench.inside(old)]
            if not ops:
                given = (new for mapping, _ in effect.renames for was, new in mapping.items() if was == old)
                now = next((f"An earlier step has called it {new!r}" for new in given), "")
                near = now or did_you_mean(old, [*effect.after.scopes.names[1:], *effect.after.names])
                fault(effect, self.asked, f"no op and no scope is called {old!r}", near)
                return
            found.update({op: names[old] + bench.names[op][len(old) :] for op in ops})
        if self._refused(effect, found):
            return
        if self.values is not None:
            effect.revalued[effect.step] = tuple(found)
        effect.rename({op: name for op, name in found.items() if name != bench.names[op]})

    def _refused(self, effect: Effect, found: Mapping[int, str]) -> bool:
        """Whether a name cannot be given; notes the fault."""
        bench, given = effect.bench, dict[str, int]()
        for op, name in found.items():
            there = bench.index.get(name)
            wrong = "" if valid_scope(name) else f"{name!r} is not a name of an op"
            if there is not None and there not in found:
                wrong = wrong or f"the name {name!r} is taken in {bench.title}"
            if name in given:
                wrong = wrong or f"{bench.names[given[name]]!r} and {bench.names[op]!r} would both be called {name!r}"
            if wrong:
                wish = next(new for old, new in self.names if name == new or name.startswith(f"{new}/"))
                free = free_name(wish, bench.taken) if valid_scope(wish) else "renamed"
                way = f"Type another name, as {free!r}, which is free"
                fault(effect, self.asked, wrong, f"{way}; or give both others at once: {{old: new, ...}}")
                return True
            given[name] = op
        return False


def keys_renamed(graph: Graph, names: Mapping[str, str]) -> dict[str, str]:
    """Returns what the keys of shared state and of loops are called after ops have got other names: old -> new.

    A key follows where it is the name of an op, or begins with the scope of one; another graph may hold state under
    the old one later on.

    Args:
        graph: the graph before.
        names: old name -> new one, of its ops.
    """
    held = [getattr(node, "attr", {}) for node in graph.nodes] if names else []
    keys = [{key: a[key].s.decode("utf-8", "replace") for key in _KEYS if key in a and a[key].s} for a in held]
    out: dict[str, str] = {}
    for name, mine in zip(graph.names, keys, strict=False):
        for key in mine.values() if name in names else ():
            new = _key_renamed(key, name, names[name])
            if new != key:
                out.setdefault(key, new)
    there = {key for mine in keys for key in mine.values()} - out.keys()
    return {key: new for key, new in out.items() if new not in there}


def _key_renamed(key: str, old: str, new: str) -> str:
    if key == old:
        return new
    before, after = old.split("/"), new.split("/")
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    scope = "/".join(before)
    return "/".join([*after, key[len(scope) + 1 :]]) if scope and key.startswith(f"{scope}/") else key


def as_copies(effect: Effect, asked: str) -> None:
    """Makes copies of the ops that have got other names, for others to read, where what exists is not touched.

    Args:
        effect: what to add it to; its ops get their old names back.
        asked: the request, for messages.
    """
    base, size = effect.plan.base, effect.plan.base.size
    names = {old: new for old, new in zip(base.names, effect.bench.names[:size], strict=True) if old != new}
    if not names:
        return
    edited = [name for name in (*(edit[0] for edit in effect.edits), *effect.changes) if name in names.values()]
    if edited:
        wrong = f"{edited[0]!r} gets another name and is changed too"
        fault(effect, asked, wrong, "Apply these steps without forward, or leave the rename out")
        return
    ops = [base.index[name] for name in names]
    effect.rename({op: base.names[op] for op in ops})
    effect.settle()
    mask = base.mask(ops)
    values = (getattr(effect.plan.steps[step], "values", None) for step in effect.revalued)
    given = next((one for one in values if one != INITIAL), None)
    step = CopyStep(
        Selection(base, mask, Query("names", tuple(names))), "", unmapped="keep", control="keep", values=given,
        collections="keep", names=names,
    )  # fmt: skip
    joins = len(effect.connections)
    put_copy(effect, step)
    if effect.faults:
        return
    effect.connections[joins:] = []
    place, graph = effect.copies[-1].place, effect.after
    subs: dict[Tensor, Tensor] = {}
    for i in ops:
        ports = set(graph.consumers.port[graph.consumers.ptr[i] : graph.consumers.ptr[i + 1]].tolist())
        subs.update({(i, port): (int(place[i]), port) for port in ports})
    inside = graph.mask([*ops, *place[ops].tolist()])
    edges = [(op, at, subs[t]) for op, at, t in readers(graph.consumers, graph.data, subs) if not inside[op]]
    rewire(effect, asked, edges, [], checked=True)
    for op in np.unique([op for i in ops for op in graph.control_consumers.row(i).tolist()]).astype(int).tolist():
        if not inside[op]:
            waits = [int(place[j]) if j < size and mask[j] else j for j in graph.control.row(op).tolist()]
            wait(effect, op, waits, checked=True)
    effect.settle()
    effect.removed.update(ops)
