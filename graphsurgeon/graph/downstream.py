"""Downstream: the ops whose results change when others change, and the ops that must be made again with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ..words import counted
from .contexts import EXITS, MERGES, SWITCHES, loops_of
from .graph import Graph, Mask
from .traversal import backward, forward, joined_parts, reached

#: Ops that set state that outlives a run: a variable, a table, a queue, a file.
_WRITERS = (
    "Assign", "Apply", "SparseApply", "Scatter", "ResourceApply", "ResourceSparseApply", "ResourceScatter",
    "ResourceStridedSliceAssign", "StridedSliceAssign", "CountUpTo", "ResourceCountUpTo", "DestroyTemporaryVariable",
    "LookupTableInsert", "LookupTableImport", "LookupTableRemove", "InitializeTable", "QueueEnqueue", "QueueClose",
    "AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient", "Stage", "BarrierInsert", "SaveV2", "SaveSlices",
    "Save", "MakeIterator", "WriteFile", "WriteSummary", "WriteScalarSummary",
)  # fmt: skip
_NO_WRITERS = frozenset({"ScatterNd", "ScatterNdNonAliasingAdd", "StageSize", "StagePeek"})
#: What lives as long as one run, and whose users must all be of one piece.
_HOLDERS = frozenset({"TensorArrayV3", "TensorArrayV2", "TensorArray", "StackV2", "Stack"})
_PASSING = frozenset(
    {"Enter", "RefEnter", "Identity", "RefIdentity", "Switch", "RefSwitch", "TensorArrayGradV3", "TensorArrayGrad"}
)
_CALLS = ("StatefulPartitionedCall", "While", "If", "Case")


@dataclass
class Downstream:
    """The ops that a change reaches.

    Args:
        ops: the ops to make again, in the snapshot that was walked.
        left: ops that set state, which are left as they are.
        lost: changed ops whose change reaches nothing that is made again.
        along: ops that are made again although they do not change, in sentences.
        calls: ops that are made again and may set state inside a function.
        missed: a target that the change does not reach; -1 for none.
    """

    ops: Mask
    left: Mask
    lost: Mask
    along: list[str] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    missed: int = -1


def writers_of(graph: Graph) -> Mask:
    """Returns a mask of the ops that set what outlives a run: variables, tables, queues, files.

    Example:
        >>> g = Graph.of([("v", "VariableV2", []), ("a", "AssignAdd", ["v", "v"]), ("s", "ScatterNd", ["v"])])
        >>> writers_of(g).tolist()
        [False, True, False]
    """
    return graph.typed(k for k in graph.kinds[0] if k.startswith(_WRITERS) and k not in _NO_WRITERS)


def downstream(graph: Graph, changed: Mask, gone: Mask, until: Iterable[int] = (), assign: bool = False) -> Downstream:
    """Returns the ops that must be made again when some ops change.

    Args:
        graph: the snapshot with the changes.
        changed: the ops that change.
        gone: ops that are taken out: they are not made again.
        until: ops to stop at; none: everything downstream.
        assign: make ops that set state again too; otherwise they, and the ops that only feed them, are unchanged.

    Example:
        >>> g = Graph.of([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["b"]), ("d", "Neg", ["b"])])
        >>> found = downstream(g, g.mask([1]), g.mask([]), [2])
        >>> [g.names[i] for i in np.flatnonzero(found.ops)]
        ['b', 'c']
    """
    writers, targets = writers_of(graph) & ~gone, list(until)
    none = np.zeros(graph.size, np.bool_)
    stay = none if assign else writers & ~changed
    ops = _reached(graph, changed & ~gone, ~(stay | gone), writers if assign else none, bool(targets))
    missed = [t for t in targets if not ops[t]]
    if missed:
        return Downstream(ops, stay, none, missed=missed[0])
    left = _behind(graph, ops) & stay
    if targets:
        ops &= backward(graph, graph.mask(targets))
    else:
        ops &= backward(graph, ops & ~_feeding(graph, ops, left), control=False)
    # What waits for it and is waited for stands between: an assertion, mostly.
    if ops.any() and len(graph.control.node):
        ops |= forward(graph, ops, within=~(stay | gone)) & backward(graph, ops)
    lost = changed & ~gone & ~ops
    found = Downstream(ops, left, lost)
    if ops.any():
        _made_whole(graph, found, gone)
    found.calls = np.flatnonzero(found.ops & graph.typed(_CALLS)).tolist()
    return found


def _reached(graph: Graph, start: Mask, within: Mask, acting: Mask, control: bool) -> Mask:
    """The consumers of the changed ops, and the ops that wait for changed ops with an effect."""
    ops = forward(graph, start, control=control, within=within)
    while not control:
        acts = ops & acting
        waits = graph.control.rows[acts[graph.control.node]]
        fresh = waits[within[waits] & ~ops[waits]]
        if not len(fresh):
            break
        ops |= forward(graph, graph.mask(fresh.tolist()), control=False, within=within)
    return ops


def _behind(graph: Graph, ops: Mask) -> Mask:
    """The ops that read some of these."""
    return graph.mask(graph.data.rows[ops[graph.data.node]])


def _feeding(graph: Graph, ops: Mask, left: Mask) -> Mask:
    """Those of the ops that have consumers or waiting ops: the others are ends."""
    rows, later = graph.data.rows, graph.control.rows
    read, waited_for = graph.data.node[ops[rows] | left[rows]], graph.control.node[left[later]]
    return (graph.mask(read) | graph.mask(waited_for)) & ops


def _made_whole(graph: Graph, found: Downstream, gone: Mask) -> None:
    """Completes loops, conds, TensorArrays and stacks of which a part is made again."""
    parts = shared_holders(graph)
    loops = loops_of(graph)
    inner = [graph.mask(graph.index[n] for n in names if n in graph.index) for names in graph.state.contexts]
    before, count = found.ops.copy(), -1
    while count != int(np.count_nonzero(found.ops)):
        count = int(np.count_nonzero(found.ops))
        hit = np.unique(loops[found.ops])
        found.ops |= np.isin(loops, hit[hit >= 0])
        for ops in inner:
            if (ops & found.ops).any():
                found.ops |= ops
        found.ops |= _other_branches(graph, found.ops)
        if parts is not None:
            touched = np.unique(parts[found.ops])
            found.ops |= np.isin(parts, touched[touched >= 0])
        found.ops &= ~gone
    more = int(np.count_nonzero(found.ops & ~before))
    if more:
        found.along.append(f"{counted(more, 'ops')}: the rest of loops, conds, TensorArrays and stacks")


def _other_branches(graph: Graph, ops: Mask) -> Mask:
    """The inputs of these Merges from branches that are not selected, up to their Switch."""
    joints = ops & graph.typed(MERGES)
    if not joints.any():
        return joints
    loose = ~graph.typed(MERGES) & ~graph.typed(EXITS)
    chosen = forward(graph, graph.typed(SWITCHES), within=loose)
    rows = graph.data.rows
    ends = graph.mask(graph.data.node[joints[rows]])
    keep = chosen[rows] & chosen[graph.data.node] & ~graph.typed(SWITCHES)[rows]
    return reached(rows[keep], graph.data.node[keep], ends & chosen)


def shared_holders(graph: Graph) -> np.ndarray | None:
    """Returns for each op the number of the TensorArray or stack it uses, -1 for none; None if there are none at all.

    Args:
        graph: the snapshot.
    """
    holders = graph.typed(_HOLDERS)
    if not holders.any():
        return None
    rows, node, port = graph.data.rows, graph.data.node, graph.data.port
    first = np.zeros(len(rows), np.bool_)
    begins = graph.data.ptr[:-1][graph.data.degrees > 0]
    first[begins] = True
    passing = graph.typed(_PASSING)
    held = holders.copy()
    while True:
        hit = first & held[node] & passing[rows] & ((port == 0) | graph.typed(SWITCHES)[node])
        fresh = rows[hit & ~held[rows]]
        if not len(fresh):
            break
        held[fresh] = True
    use = first & held[node]
    users = held.copy()
    users[rows[use]] = True
    return np.where(users, joined_parts(rows[use], node[use], graph.size), -1)
