"""Closure: the ops that must come along with a copy, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..graph.boundary import Tensor, entering
from ..graph.contexts import body_alone, loops_within
from ..graph.graph import Graph, Mask
from ..graph.sizes import bytes_of, size_text
from ..graph.traversal import backward
from ..graph.variables import FEED_TYPES, VariableInfo
from ..words import counted
from .policies import Substitute, is_substitute, spare, substituted

_READERS = frozenset({"Identity", "ReadVariableOp", "VarIsInitializedOp", "IsVariableInitialized"})


@dataclass(frozen=True)
class Pulled:
    """Ops that came along: how many, why, a few of their names, and the bytes their constants and variables hold."""

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
        pulled: what came along beside the selection.
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
        cuts: tensors that are replaced: what lies before them is not pulled in.
        policy: variable op name -> ``copy``, ``initial``, ``share``, ``freeze`` or the tensor that replaces it.
        unmapped: ``include`` pulls in what computes the tensors that enter.
        control: ``include`` pulls in the control inputs from outside.
    """
    pulled: list[Pulled] = []
    mask = mask.copy()
    if unmapped == "include" or control == "include":
        mask = _take(
            graph, mask, _wider(graph, mask, cuts, unmapped == "include", control == "include"), pulled,
            "needed by the selection, as include asks",
        )  # fmt: skip
    shared = np.zeros(graph.size, np.bool_)
    done: dict[str, VariableInfo] = {}
    while True:  # what comes along may bring more along
        count = len(done), int(np.count_nonzero(mask))
        mask = _with_variables(graph, mask, cuts, policy, done, shared, pulled)
        mask = _whole_contexts(graph, mask, cuts, pulled, control == "include")
        mask = _with_init_ops(graph, mask, cuts, pulled)
        if count == (len(done), int(np.count_nonzero(mask))):
            break
    gone = shared & mask
    for name in done:
        if policy.get(name) == "share":
            parts = np.flatnonzero(variable_parts(graph, done[name])).tolist()
            gone |= spare(graph, mask, parts, name) & mask
    substitutes, without = substituted(graph, mask, policy)
    gone |= without
    mask &= ~gone
    order = sorted(done.values(), key=lambda v: graph.index[v.op])
    return Closure(mask, shared, order, substitutes, gone, pulled)


def _with_variables(
    graph: Graph,
    mask: Mask,
    cuts: frozenset[Tensor],
    policy: Mapping[str, str],
    done: dict[str, VariableInfo],
    shared: Mask,
    pulled: list[Pulled],
) -> Mask:
    """Takes what the variables inside are made of; notes them in `done`, and those that are shared in `shared`."""
    known = graph.state.variables
    while True:
        inside = [n for n in known if mask[graph.index[n]] and n not in done]
        fresh = [n for n in inside if not is_substitute(policy.get(n, ""))]
        if not fresh:
            return mask
        parts = np.zeros(graph.size, np.bool_)
        for name in fresh:
            done[name] = known[name]
            family, start = variable_ops(graph, known[name]), known[name].initial_value
            if start and cuts and graph.tensor(start) in cuts:
                family.remove(graph.tensor(start)[0])
            (shared if policy.get(name) == "share" else parts)[family] = True
        reach = backward(graph, parts, cuts) if parts.any() else parts
        own = sum(policy.get(name) != "share" for name in fresh)
        mask = _take(graph, mask, reach, pulled, f"initial values and readers of {counted(own, 'variables')}")


def _whole_contexts(graph: Graph, mask: Mask, cuts: frozenset[Tensor], pulled: list[Pulled], control: bool) -> Mask:
    """Takes loops and conds whole where a part of them is copied: gradients need the pivots and all exits."""
    feeds = graph.typed(FEED_TYPES)
    for names in graph.state.contexts:
        ops = graph.mask(graph.index[n] for n in names if n in graph.index)
        if not (ops & mask).any() or not (ops & ~mask).any():
            continue
        if _is_round(graph, ops, mask, cuts):
            inner, ends = loops_within(graph, mask & ops), cuts | frozenset(entering(graph, mask, cuts))
            if (inner & ~mask).any():
                mask = _take(graph, mask, backward(graph, inner, ends, control=False), pulled, "the rest of a loop")
            continue
        # What enters the selection enters its loops too, and needs no other source.
        reach = backward(graph, ops, cuts | frozenset(entering(graph, mask, cuts)), control)
        if not (reach & feeds & ~mask).any():  # a boundary through a cond must not pull in what lies before it
            mask = _take(graph, mask, reach, pulled, "the rest of a loop or cond")
    return mask


def _is_round(graph: Graph, ops: Mask, mask: Mask, cuts: frozenset[Tensor]) -> bool:
    """Whether what is copied of a loop is what it does in a round: then the loop itself stays."""
    return bool((graph.typed(["LoopCond"]) & ops & ~mask).any()) and body_alone(graph, mask, cuts)


def _with_init_ops(graph: Graph, mask: Mask, cuts: frozenset[Tensor], pulled: list[Pulled]) -> Mask:
    """Takes what fills the tables, iterators and queues that are copied."""
    wanted = [
        graph.index[init_op]
        for holder, init_ops in graph.state.init_ops.items()
        if holder in graph.index and mask[graph.index[holder]]
        for init_op in init_ops
        if init_op in graph.index
    ]
    if not wanted:
        return mask
    return _take(graph, mask, backward(graph, graph.mask(wanted), cuts), pulled, "what fills tables, iterators, queues")


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


def _take(graph: Graph, mask: Mask, reach: Mask, pulled: list[Pulled], why: str) -> Mask:
    fresh = reach & ~mask
    count = int(np.count_nonzero(fresh))
    if count:
        names = tuple(graph.names[i] for i in np.flatnonzero(fresh)[:8].tolist())
        pulled.append(Pulled(count, why, names, bytes_of(graph, fresh)))
    return mask | reach
