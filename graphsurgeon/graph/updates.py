"""Updates: changes of a region to its own state during training: moving averages, counters of random numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from .graph import Graph, Mask
from .traversal import backward, forward
from .variables import FEED_TYPES, QUEUE_TYPES, VARIABLE_TYPES

#: How an op changes the variable that is its first input, by its second.
ASSIGNING = {
    "Assign": "assign", "AssignAdd": "assign_add", "AssignSub": "assign_sub",
    "AssignVariableOp": "assign", "AssignAddVariableOp": "assign_add", "AssignSubVariableOp": "assign_sub",
}  # fmt: skip
#: Collections whose variables no region keeps for itself: counters of steps, sums of metrics.
_OTHERS = ("global_step", "metric_variables")
_SAID = "update_ops"


@dataclass(frozen=True)
class Updates:
    """The updates of a region.

    Args:
        inside: names of the ops that can run along with it, in graph order.
        outside: names of those that need what no input gives -> the first tensor that is missing.
    """

    inside: tuple[str, ...] = ()
    outside: dict[str, str] = field(default_factory=dict)


def updates(graph: Graph, region: Mask, inputs: Iterable[tuple[int, int]]) -> Updates:
    """Returns the ops that assign to variables as a part of a region, although its outputs do not need them.

    Such an op reads values that the region computes from its inputs, for example for a moving average. Or it increments
    a variable that the region reads, for example the state of a random number generator. Ops outside the region that it
    needs lead only to updates. If the TF1 collection of updates exists, only its ops count.

    Args:
        graph: the snapshot.
        region: mask of the ops of the region.
        inputs: its input tensors.

    Example:
        >>> from .variables import State, VariableInfo
        >>> ops = [("x", "Placeholder", []), ("mean", "Mean", ["x"]), ("y", "Sub", ["x", "mean"]),
        ...        ("seen", "VarHandleOp", []), ("keep", "AssignVariableOp", ["seen", "mean"])]
        >>> g = Graph.of(ops, state_of=lambda: State({"seen": VariableInfo("seen")}))
        >>> updates(g, g.mask([1, 2]), [(0, 0)]).inside
        ('keep',)
    """
    cuts = frozenset(inputs)
    candidates = _candidates(graph)
    if not candidates:
        return Updates()
    fed = forward(graph, graph.mask(op for tensor in cuts for op, _ in graph.readers(tensor)), control=False)
    others = fed & ~region & _leading_elsewhere(graph, candidates)
    read = _variables_read(graph, region)
    inside, outside = [], {}
    for number in candidates:
        target = int(graph.data.row(number)[0])
        found = _needs(graph, number, cuts, fed & region, others)
        if found is None or not (found.reads or (target in read and target in found.variables)):
            continue
        if found.missing:
            outside[graph.names[number]] = found.missing
        else:
            inside.append(graph.names[number])
    return Updates(tuple(inside), outside)


@dataclass
class _Needs:
    """The requirements of the value that an op assigns.

    Args:
        reads: whether it is computed from an input, or from values that the region computes.
        variables: numbers of the variables that it reads.
        missing: the first tensor that would have to be fed.
    """

    reads: bool = False
    variables: set[int] = field(default_factory=set)
    missing: str = ""


def _needs(graph: Graph, number: int, cuts: frozenset[tuple[int, int]], region: Mask, others: Mask) -> _Needs | None:
    """The requirements of an update; None if it updates another part of the graph, below or next to the region."""
    found = _Needs()
    seen, todo = {number}, [graph.data.ends(number)[1]]
    while todo:
        op, port = todo.pop()
        if (op, port) in cuts or region[op]:
            found.reads = True
        elif graph.types[op] in VARIABLE_TYPES:
            found.variables.add(op)
        elif others[op]:
            return None
        elif graph.types[op] in FEED_TYPES | QUEUE_TYPES:
            found.missing = found.missing or f"{graph.names[op]}:{port}"
        elif op not in seen:
            seen.add(op)
            todo += graph.data.ends(op)
    return found


def _candidates(graph: Graph) -> list[int]:
    """The ops that may be updates of some region."""
    state = graph.state
    known = state.variables
    kept = [entry.name.partition(":")[0] for key in _OTHERS for entry in state.collections.get(key, ())]
    started = {info.initializer for info in known.values()}
    said = [entry.name.partition(":")[0] for entry in state.collections.get(_SAID, ())]
    among = np.ones(graph.size, np.bool_)
    if said:
        among = backward(graph, graph.mask(graph.index[name] for name in said if name in graph.index))
    found = []
    for number in np.flatnonzero(among).tolist():
        row = graph.data.row(number)
        if graph.types[number] not in ASSIGNING or graph.names[number] in started or len(row) < 2:
            continue
        target = graph.names[int(row[0])]
        info = known.get(target)
        if info is not None and target not in kept and not (info.collections and info.trainable):
            found.append(number)
    return found


def _leading_elsewhere(graph: Graph, candidates: list[int]) -> Mask:
    """The ops that lead to anything but updates."""
    after = forward(graph, graph.mask(candidates), control=False)
    last = graph.consumers.degrees == 0
    return backward(graph, last & ~after, control=False)


def _variables_read(graph: Graph, region: Mask) -> set[int]:
    """The variables that ops of a region read, but for those that they only write."""
    edges = zip(graph.data.rows[hit := region[graph.data.rows]].tolist(), graph.data.node[hit].tolist(), strict=True)
    return {op for row, op in edges if graph.types[op] in VARIABLE_TYPES and graph.types[row] not in ASSIGNING}
