"""Calling: plan steps that make one function call of some ops, and that take a call apart again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SurgeryError
from ..graph.boundary import entering, leaving
from ..graph.contexts import loops_of
from ..graph.graph import Graph, Mask
from ..graph.names import free_name, valid_scope
from ..graph.selection import Selection
from ..graph.traversal import backward
from ..graph.variables import FEED_TYPES, VARIABLE_TYPES
from ..words import counted, few, one_or_all
from .closure import variable_parts
from .edits import EditStep, fault, numbers_of
from .exchange import Chosen, Region, exchange
from .sources import Sources
from .withdrawing import made_alone, withdraw

if TYPE_CHECKING:
    from .effect import Effect

_FLOW = ("Enter", "RefEnter", "Switch", "RefSwitch", "Merge", "RefMerge", "NextIteration", "Exit", "RefExit")


@dataclass(frozen=True)
class CollapseStep(EditStep):
    """Ops become one call of a function; see `Plan.collapse`."""

    ops: tuple[str, ...]
    name: str
    given: Any = None  # the selection or scope, for its code

    whole = True

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        return f"collapse {few(self.ops)} to one call, {self.name}"

    @property
    def asked(self) -> str:
        """The request, for messages."""
        return f"collapse({counted(len(self.ops), 'ops')}, name={self.name!r})"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        return self.code_for("ed", Sources())

    def code_for(self, owner: str, sources: Sources) -> str:
        """Returns the call that adds it to a plan of the editor called `owner`."""
        what = repr(self.given) if isinstance(self.given, str) else repr(one_or_all(self.ops))
        if isinstance(self.given, Selection):
            what = sources.selection(self.given)
        return f".collapse({what}, name={self.name!r})"

    def carry(self, effect: Effect) -> None:
        """Makes the call, lets others read its results, and takes the ops out."""
        numbers = numbers_of(effect, self.asked, self.ops)
        if numbers is None:
            return
        graph, size = effect.after, effect.plan.base.size
        if not valid_scope(self.name) or self.name.lower() in graph.lowered:
            free = free_name(self.name if valid_scope(self.name) else "call", graph.taken)
            fault(effect, self.asked, f"the name {self.name!r} is taken, or none", f"Type name={free!r}, which is free")
            return
        touched = {name for name, _, _ in effect.edits} | set(effect.changes)
        late = [graph.names[i] for i in numbers if i >= size or graph.names[i] in touched]
        if late:
            fault(effect, self.asked, f"{late[0]!r} is made or changed by this plan", "Apply these steps first")
            return
        mask, stay = _inside(graph, graph.mask(numbers))
        if not self._fits(effect, mask):
            return
        inputs = {f"in{k}": f"{graph.names[op]}:{port}" for k, (op, port) in enumerate(entering(graph, mask))}
        ends = [t for t in leaving(graph, mask) if graph.types[t[0]] != "Const"]
        outputs = {f"out{k}": f"{graph.names[op]}:{port}" for k, (op, port) in enumerate(ends)}
        if not outputs:
            fault(effect, self.asked, "nothing that comes out of it is a tensor", "Select ops that compute something")
            return
        tools = effect.plan.tools
        if tools is None or tools.collapsed is None:
            fault(effect, self.asked, "nothing here can make functions", "Make the plan with gs.open(graph).plan()")
            return
        region = Region(graph, np.flatnonzero(mask).tolist(), inputs, outputs)
        by = tools.collapsed(effect.plan.base, mask[:size], tuple(inputs.values()), tuple(outputs.values()), self.name)
        chosen = Chosen([region], hint=lambda: "Select what lies between its ops too")
        exchange(effect, self.asked, chosen, by, self.name, only_op=True)
        if stay and not effect.faults:
            stays = "stays" if len(stay) == 1 else "stay"
            effect.warnings.append(f"{counted(len(stay), 'ops')} {stays} outside of the call: {few(stay)}")

    def _fits(self, effect: Effect, mask: Mask) -> bool:
        graph = effect.after
        if not mask.any():
            wrong = "there is nothing in it but variables, placeholders and what sets them"
            fault(effect, self.asked, wrong, "Select ops that compute something")
            return False
        flow = np.flatnonzero(mask & ((loops_of(graph) >= 0) | graph.typed(_FLOW))).tolist()
        if flow:
            wrong = f"{graph.names[flow[0]]!r} is part of a while_loop or cond of TF1, whose gradient a function loses"
            fault(effect, self.asked, wrong, "Select around it")
            return False
        for op, port in entering(graph, mask):
            info = graph.info(op, port)
            if info is not None and info.dtype.endswith("_ref"):
                wrong = f"{graph.names[op]!r} is a reference variable, which no function can take"
                fault(effect, self.asked, wrong, "Leave out what sets it; what reads its value (w/read) can go in")
                return False
        return True


@dataclass(frozen=True)
class InlineStep(EditStep):
    """A function call gives way to what it computes; see `Plan.inline`."""

    ops: tuple[str, ...]

    whole = True

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        return f"inline {few(self.ops)}"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        return f".inline({one_or_all(self.ops)!r})"

    def carry(self, effect: Effect) -> None:
        """Takes the calls apart, one by one."""
        tools = effect.plan.tools
        for name in self.ops:
            numbers = numbers_of(effect, self.asked, (name,))
            if numbers is None:
                return
            graph, op = effect.after, numbers[0]
            base, known_as, new = effect.plan.base, name, op >= effect.plan.base.size
            graft = made_alone(effect, op) if new else None
            if graft is not None:  # a call that this plan has made: its function is where it was built
                base, known_as = graft.source, graft.source.names[int(graft.ops[0])]
            elif new:
                wrong = f"{name!r} is made by this plan, together with other ops"
                fault(effect, self.asked, wrong, f"Apply that step first: ed.apply(plan); ed.plan().inline({name!r})")
                return
            if tools is None or tools.inlined is None:
                fault(effect, self.asked, "nothing here knows functions", "Make the plan with gs.open(graph).plan()")
                return
            try:
                by = tools.inlined(base, known_as)
            except SurgeryError as error:
                fault(effect, self.asked, error.wrong, error.instead)
                return
            inputs = {f"in{k}": text for k, text in enumerate(graph.input_names(op))}
            outputs = {f"out{k}": f"{name}:{k}" for k in range(len(graph.outputs(op) or ()))}
            if not outputs:
                wrong = f"{name!r} has no result: what it does could not be waited for"
                fault(effect, self.asked, wrong, "Leave this call as it is, or use ed.inlined()")
                return
            was = {(c.to, c.input): c.was for c in effect.connections}
            exchange(effect, self.asked, Chosen([Region(graph, [op], inputs, outputs)]), by, name)
            if effect.faults:
                return
            if graft is not None:
                effect.connections = [replace(c, was=was.get((c.to, c.input), c.was)) for c in effect.connections]
                withdraw(effect, graft, effect.replaced[-1].outputs)


def _inside(graph: Graph, mask: Mask) -> tuple[Mask, list[str]]:
    """What can go into a function, and the names of what stays outside: variables with their parts, feeds, holders."""
    out = graph.typed(FEED_TYPES | VARIABLE_TYPES)
    for variable in graph.state.variables.values():
        if variable.op in graph.index:
            out |= variable_parts(graph, variable)
    for i in np.flatnonzero(mask & (np.diff(graph.data.ptr) == 0)).tolist():
        infos = graph.outputs(i) or ()
        out[i] |= any(info.dtype == "resource" or info.dtype.endswith("_ref") for info in infos)
    starters = {name for names in graph.state.starters.values() for name in names}
    out[[graph.index[name] for name in starters if name in graph.index]] = True
    inside = mask & ~out
    # What only a variable needs that stays outside, as its initial value, has no business in there.
    rows = graph.data.rows
    read, wanted = np.zeros(graph.size, np.bool_), np.zeros(graph.size, np.bool_)
    read[graph.data.node] = True
    wanted[graph.data.node[~inside[rows] & ~out[rows]]] = True
    inside &= backward(graph, inside & (wanted | ~read) & ~graph.typed(["Const"]), within=inside)
    return inside, [graph.names[i] for i in np.flatnonzero(mask & ~inside).tolist()]
