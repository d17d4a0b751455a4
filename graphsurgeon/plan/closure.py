"""Closure: the ops that must also be copied, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..graph.boundary import Tensor, entering
from ..graph.contexts import body_alone, loops_within
from ..graph.graph import Graph, Mask
from ..graph.sizes import bytes_of, size_text
from ..graph.traversal import backward
from ..graph.variables import ASKING_TYPES, FEED_TYPES, VariableInfo
from ..words import counted
from .policies import Substitute, is_substitute, spare, substituted

_READERS = ASKING_TYPES | {"Identity", "ReadVariableOp"}


@dataclass(frozen=True)
class Pulled:
    """Ops copied as well: how many, why, a few of their names, and the bytes their constants and variables hold."""

    count: int
    why: str
    names: tuple[str, ...]
    bytes: int = 0

    def __str__(self) -> str:
        size = f" ({size_text(self.bytes)})" if self.bytes >= 1000 else ""
        return f"{counted(self.count, 'ops')}{size}: {self.why}"


@dataclass(frozen=True, eq=False)
class Closure:
    """The selection and all that must go with it.

    Args:
        mask: the ops to copy.
        shared: ops of variables that the copy shares instead.
        variables: the variables inside, in graph order.
        substitutes: the variables that are frozen or replaced.
        gone: ops of the selection that are left out, because their variable is shared, frozen or replaced.
        pulled: what is copied in addition to the selection.
    """

    mask: Mask
    shared: Mask
    variables: list[VariableInfo]
    substitutes: list[Substitute]
    gone: Mask
    pulled: list[Pulled]


def close(
    graph: Graph, mask: Mask, cuts: frozenset[Tensor], policy: Mapping[str, str], unmapped: str, control: str
) -> Closure:
    """Returns the closure of a selection.

    Args:
        graph: the source.
        mask: the selected ops.
        cuts: tensors that are replaced: the ops before them are not pulled in.
        policy: variable op name -> ``copy``, ``initial``, ``share``, ``freeze`` or the tensor that replaces it.
        unmapped: ``include`` pulls in the ops that compute the entering tensors.
        control: ``include`` pulls in the control inputs from outside.
    """
    work = _Closing(graph, mask.copy(), cuts, policy)
    if unmapped == "include" or control == "include":
        work.take(_wider(graph, mask, cuts, unmapped == "include", control == "include"), _ASKED)
    while True:  # ops that are also copied may need more
        count = len(work.done), int(np.count_nonzero(work.mask))
        work.variables()
        work.contexts(control == "include")
        work.init_ops()
        if count == (len(work.done), int(np.count_nonzero(work.mask))):
            break
    mask, gone = work.mask, work.shared & work.mask
    for name in work.done:
        if policy.get(name) == "share":
            parts = np.flatnonzero(variable_parts(graph, work.done[name])).tolist()
            gone |= spare(graph, mask, parts, name) & mask
    substitutes, without = substituted(graph, mask, policy)
    gone |= without
    order = sorted(work.done.values(), key=lambda v: graph.index[v.op])
    return Closure(mask & ~gone, work.shared, order, substitutes, gone, work.pulled)


_ASKED = "needed by the selection, as include asks"


class _Closing:
    """A selection while what must go with it is found.

    Args:
        graph, mask, cuts, policy: as for `close`.

    Attributes:
        done: the variables whose ops are all included.
        shared: ops of those that the copy shares.
        pulled: the ops that are also copied.
    """

    def __init__(self, graph: Graph, mask: Mask, cuts: frozenset[Tensor], policy: Mapping[str, str]) -> None:
        self.graph, self.mask, self.cuts, self.policy = graph, mask, cuts, policy
        self.done, self.pulled = dict[str, VariableInfo](), list[Pulled]()
        self.shared = np.zeros(graph.size, np.bool_)

    def take(self, reach: Mask, why: str) -> None:
        """Adds the reached ops, and notes the new ones among them."""
        fresh = reach & ~self.mask
        count = int(np.count_nonzero(fresh))
        if count:
            names = tuple(self.graph.names[i] for i in np.flatnonzero(fresh)[:8].tolist())
            self.pulled.append(Pulled(count, why, names, bytes_of(self.graph, fresh)))
        self.mask = self.mask | reach

    def variables(self) -> None:
        """Adds the parts of the variables inside."""
        graph, known, policy = self.graph, self.graph.state.variables, self.policy
        while True:
            inside = [n for n in known if self.mask[graph.index[n]] and n not in self.done]
            fresh = [n for n in inside if not is_substitute(policy.get(n, ""))]
            if not fresh:
                return
            parts = np.zeros(graph.size, np.bool_)
            for name in fresh:
                self.done[name] = known[name]
                family, start = variable_ops(graph, known[name]), known[name].initial_value
                if start and self.cuts and graph.tensor(start) in self.cuts:
                    family.remove(graph.tensor(start)[0])
                (self.shared if policy.get(name) == "share" else parts)[family] = True
            reach = backward(graph, parts, self.cuts) if parts.any() else parts
            own = sum(policy.get(name) != "share" for name in fresh)
            self.take(reach, f"initial values and readers of {counted(own, 'variables')}")

    def contexts(self, control: bool) -> None:
        """Completes loops and conds of which a part is copied: gradients need the pivots and all exits."""
        graph, feeds = self.graph, self.graph.typed(FEED_TYPES)
        for names in graph.state.contexts:
            ops = graph.mask(graph.index[n] for n in names if n in graph.index)
            if not (ops & self.mask).any() or not (ops & ~self.mask).any():
                continue
            # What enters the selection enters its loops too, and needs no other source.
            ends = self.cuts | frozenset(entering(graph, self.mask, self.cuts))
            if (graph.typed(["LoopCond"]) & ops & ~self.mask).any() and body_alone(graph, self.mask, self.cuts):
                # Only ops of a round are copied from the loop: then the loop itself stays.
                inner = loops_within(graph, self.mask & ops)
                if (inner & ~self.mask).any():
                    self.take(backward(graph, inner, ends, control=False), "the rest of a loop")
                continue
            reach = backward(graph, ops, ends, control)
            if not (reach & feeds & ~self.mask).any():  # a boundary through a cond must not pull in the ops before it
                self.take(reach, "the rest of a loop or cond")

    def init_ops(self) -> None:
        """Takes what fills the tables, iterators and queues that are copied."""
        index, held = self.graph.index, self.graph.state.init_ops.items()
        fills = [ops for holder, ops in held if holder in index and self.mask[index[holder]]]
        wanted = [index[op] for ops in fills for op in ops if op in index]
        if wanted:
            reach = backward(self.graph, self.graph.mask(wanted), self.cuts)
            self.take(reach, "ops that fill tables, iterators, queues")


def variable_parts(graph: Graph, variable: VariableInfo) -> Mask:
    """Returns the ops a `tf.Variable` object is made of: variable, initialiser, snapshot, readers under its name."""
    return graph.mask(variable_ops(graph, variable))


def variable_ops(graph: Graph, variable: VariableInfo) -> list[int]:
    """Returns the same as numbers, each once."""
    names = {variable.op, variable.initializer}
    names |= {t.partition(":")[0] for t in (variable.snapshot, variable.initial_value)}
    numbers = {graph.index[n]: None for n in names if n in graph.index}
    me, lead = graph.index[variable.op], variable.op + "/"
    for reader in graph.consumers.row(me).tolist():
        if graph.types[reader] in _READERS and graph.names[reader].startswith(lead):
            numbers[reader] = None
    return list(numbers)


def needed(graph: Graph, living: Mask) -> Mask:
    """Returns the living, all they need, and what belongs to that: parts of variables, of loops, table fillers."""
    state = graph.state
    wholes = [graph.mask(graph.index[n] for n in names if n in graph.index) for names in state.contexts]
    while True:
        found = backward(graph, living)
        for variable in state.variables.values():
            number = graph.index.get(variable.op)
            if number is not None and found[number] and not living[number]:
                found |= variable_parts(graph, variable)
        for whole in wholes:
            if (found & whole).any():
                found |= whole
        for holder, init_ops in state.init_ops.items():
            if holder in graph.index and found[graph.index[holder]]:
                found |= graph.mask(graph.index[s] for s in init_ops if s in graph.index)
        if (found == living).all():
            return found
        living = found


def _wider(graph: Graph, mask: Mask, cuts: frozenset[Tensor], data: bool, control: bool) -> Mask:
    if data:
        return backward(graph, mask, cuts, control=control)
    outside = [int(c) for i in np.flatnonzero(mask).tolist() for c in graph.control.row(i) if not mask[c]]
    return backward(graph, graph.mask(outside), cuts)
