"""Ordering: reads that a part of a graph has, after writes that it leaves out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..errors import PlanError
from .boundary import Tensor, control_entering, fed_from, from_inputs
from .downstream import writers_of
from .graph import Graph, Mask
from .traversal import backward, end_of, forward, met_from
from .variables import FEED_TYPES

#: Ops that write to a variable, whatever it holds.
_SETTING = ("Assign", "AssignVariableOp")
#: Of so many writes the reads are looked up.
_MOST = 4
_PASSING = ("Enter", "RefEnter", "Identity", "RefIdentity", "Switch", "RefSwitch")


@dataclass(frozen=True)
class LostWrite:
    """A read of a part of a graph that is ordered after a write outside of it.

    Args:
        read: the result of the read.
        write: the op that writes, and does not run with the part.
        holder: the variable or table.
        feeds: tensors that the write is computed from, and that would have to be fed.
    """

    read: str
    write: str
    holder: str
    feeds: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.read} reads {self.holder} without what {self.write} writes to it before: that is left out"


def required(graph: Graph, goals: Mask, cuts: frozenset[Tensor], within: Mask | None = None) -> Mask:
    """Returns the ops that must run for some ops if some tensors are fed.

    An op that is only waited for stays out if it is computed from a feed that is not among these tensors, and not from
    them: no number depends on it. What writes to a variable or a table is not left out.

    Args:
        graph: the snapshot.
        goals: mask of the ops.
        cuts: the tensors that are fed.
        within: only these ops.

    Example:
        >>> g = Graph.of([("x", "Placeholder", []), ("mid", "Neg", ["x"]), ("log", "Exp", ["x"]),
        ...               ("y", "Neg", ["mid", "^log"])])
        >>> required(g, g.mask([3]), frozenset()).tolist(), required(g, g.mask([3]), frozenset({(1, 0)})).tolist()
        ([True, True, True, True], [False, False, False, True])
    """
    ancestry = backward(graph, goals, cuts, within=within)
    if not cuts:
        return ancestry
    shown = backward(graph, goals, cuts, control=False, within=within)
    aside = fed_from(graph, ancestry, ~shown) & ~from_inputs(graph, cuts, ancestry) & ~shown
    aside &= ~backward(graph, aside & _acting(graph), cuts, within=ancestry)
    while aside.any():
        less = backward(graph, goals, cuts, within=ancestry & ~aside)
        read = backward(graph, less, cuts, control=False, within=within) & aside
        if not read.any():
            return less
        aside &= ~read  # an op that stays needs what it reads
    return ancestry


def lost_writes(graph: Graph, mask: Mask, edges: Iterable[tuple[int, int]] | None = None) -> list[LostWrite]:
    """Returns the first reads of a part of a graph that are ordered after a write which is not in it.

    Args:
        graph: the snapshot.
        mask: the ops of the part.
        edges: the control edges that it loses, as (inside, outside); default: all that enter it.

    Example:
        >>> g = Graph.of([("v", "VarHandleOp", []), ("z", "Placeholder", []), ("set", "AssignVariableOp", ["v", "z"]),
        ...               ("read", "ReadVariableOp", ["v", "^set"])])
        >>> print(*lost_writes(g, g.mask([0, 3])))
        read:0 reads v without what set writes to it before: that is left out
        >>> lost_writes(g, g.mask([0, 1, 2, 3]))
        []
    """
    lost = control_entering(graph, mask) if edges is None else list(edges)
    if not lost:
        return []
    outside = backward(graph, graph.mask(op for _, op in lost)) & ~mask
    writes = np.flatnonzero(outside & _acting(graph)).tolist()
    holders: dict[int, list[int]] = {}
    for op in writes:
        for holder in _held(graph, op):
            holders.setdefault(holder, []).append(op)
    after = forward(graph, graph.mask(inside for inside, _ in lost), within=mask)
    reads = {holder: [op for op in _users(graph, holder) if after[op] and _reads(graph, op)] for holder in holders}
    found = list[LostWrite]()
    for holder, write in ((holder, write) for holder, those in holders.items() if reads[holder] for write in those):
        behind = forward(graph, graph.mask([write]), within=outside)
        later = forward(graph, graph.mask(inside for inside, op in lost if behind[op]), within=mask)
        read = next((op for op in sorted(reads[holder]) if later[op]), None)
        if read is not None:
            above = np.flatnonzero(backward(graph, graph.mask([write])) & graph.typed(FEED_TYPES) & ~mask).tolist()
            feeds = tuple(f"{graph.names[op]}:0" for op in above)
            found.append(LostWrite(f"{graph.names[read]}:0", graph.names[write], graph.names[holder], feeds))
        if len(found) == _MOST:
            break
    return found


def refuse_lost_writes(graph: Graph, mask: Mask, inputs: Iterable[Tensor], asked: str, key: str = "inputs") -> None:
    """Refuses a part of a graph that would read what a write before it no longer sets.

    Args:
        graph, mask: as in `lost_writes`.
        inputs: the tensors that are fed.
        asked: the request, for messages.
        key: the argument that names these tensors.

    Raises:
        PlanError: there is such a read; the message proposes what to feed besides.
    """
    for lost in lost_writes(graph, mask)[:1]:
        given = list(inputs)
        names = [graph.name(tensor) for tensor in given]
        runs = key == "inputs" and backward(graph, mask, frozenset(given))[graph.index[lost.write]]
        more = [name for name in lost.feeds if name not in names] if runs else []
        wrong = f"{lost.read!r} reads {lost.holder!r} after {lost.write!r} writes to it, which would not run"
        raise PlanError(asked, wrong, f"Type {key}={[*names, *(more or [lost.read])]!r}")


def _acting(graph: Graph) -> Mask:
    """The ops that write to a variable or a table, or may do so in the function that they call."""
    return writers_of(graph) | graph.typed(["StatefulPartitionedCall", "If", "While", "Case"])


def _held(graph: Graph, op: int) -> dict[int, None]:
    """The variables, tables and other holders of state that an op takes."""
    ends = [end for end in graph.data.ends(op) if _is_handle(graph, end)]
    return dict.fromkeys(end_of(op, lambda one: _source(graph, one)) for op, _ in ends)


def _source(graph: Graph, op: int) -> int | None:
    row = graph.data.row(op).tolist() if graph.types[op] in _PASSING else []
    return row[0] if row else None


def _users(graph: Graph, holder: int) -> list[int]:
    """The ops that take a holder of state, through ops that only pass it on."""

    def onward(op: int) -> list[int]:
        return graph.consumers.row(op).tolist() if op == holder or _passes(graph, op) else []

    return [op for op in met_from([holder], onward) if op != holder]


def _reads(graph: Graph, op: int) -> bool:
    """Whether an op of a variable gives what it holds."""
    return graph.types[op] not in _SETTING and graph.outputs(op) != [] and not _passes(graph, op)


def _passes(graph: Graph, op: int) -> bool:
    return graph.types[op] in _PASSING and _is_handle(graph, (op, 0))


def _is_handle(graph: Graph, tensor: Tensor) -> bool:
    info = graph.info(*tensor)
    return info is None or info.dtype == "resource" or info.dtype.endswith("_ref")
