"""Parts: the ops that a part of a graph needs to run alone, and the reasons why its results would differ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..errors import PlanError, few
from .boundary import Tensor, control_entering, downstream_of_feeds, ops_from_inputs
from .control_flow import EXITS, MERGES, ROOT, Frames, context_fault, outside_control_flow
from .graph import Graph, Mask
from .rewiring import TURNING
from .training import shared_holders, writers_of
from .traversal import backward, follow_chain, forward, reachable_from
from .variables import FEED_TYPES

#: Ops that write to a variable and do not read it.
_SETTING = ("Assign", "AssignVariableOp")
#: The largest number of lost writes that are returned.
_MAX_LISTED = 4
_IDENTITY_TYPES = ("Enter", "RefEnter", "Identity", "RefIdentity", "Switch", "RefSwitch")


@dataclass(frozen=True)
class LostWrite:
    """A read of a part of a graph that is ordered after a write outside of it.

    Args:
        read: the result of the read.
        write: the op that writes, and does not run with the part.
        holder: the variable or table.
        feeds: the tensors that must be fed to compute the write.
    """

    read: str
    write: str
    holder: str
    feeds: tuple[str, ...] = ()

    def __str__(self) -> str:
        writes = f"the value that {self.write} writes to it"
        return f"{self.read} reads {self.holder} without {writes}, because that op is left out"


def required_ops(graph: Graph, goals: Mask, cuts: frozenset[Tensor], within: Mask | None = None) -> Mask:
    """Returns the ops that must run for some ops if some tensors are fed.

    Some ops are only waited for, so no result depends on them. Such an op is left out if it depends on another feed and
    not on these tensors. Ops that write to a variable or a table are not left out.

    Args:
        graph: the snapshot.
        goals: mask of the ops.
        cuts: the tensors that are fed.
        within: consider only these ops.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("mid", "Neg", ["x"]), ("log", "Exp", ["x"]),
        ...               ("y", "Neg", ["mid", "^log"])])
        >>> goals = g.mask([3])
        >>> required_ops(g, goals, frozenset()).tolist(), required_ops(g, goals, frozenset({(1, 0)})).tolist()
        ([True, True, True, True], [False, False, False, True])
    """
    ancestry = backward(graph, goals, cuts, within=within)
    if not cuts:
        return ancestry
    visible = backward(graph, goals, cuts, control=False, within=within)
    aside = downstream_of_feeds(graph, ancestry, ~visible) & ~ops_from_inputs(graph, cuts, ancestry) & ~visible
    aside &= ~backward(graph, aside & _writing_ops(graph), cuts, within=ancestry)
    while aside.any():
        less = backward(graph, goals, cuts, within=ancestry & ~aside)
        needed = backward(graph, less, cuts, control=False, within=within) & aside
        if not needed.any():
            return less
        aside &= ~needed  # an op that stays needs its inputs
    return ancestry


def lost_writes(graph: Graph, mask: Mask, edges: Iterable[tuple[int, int]] | None = None) -> list[LostWrite]:
    """Returns the first reads in a part of a graph that are ordered after a write outside of the part.

    Args:
        graph: the snapshot.
        mask: the ops of the part.
        edges: the lost control edges, as (inside, outside); default: all control edges that enter the part.

    Example:
        >>> g = Graph.from_ops([("v", "VarHandleOp", []), ("z", "Placeholder", []),
        ...                     ("set", "AssignVariableOp", ["v", "z"]),
        ...               ("read", "ReadVariableOp", ["v", "^set"])])
        >>> print(*lost_writes(g, g.mask([0, 3])))
        read:0 reads v without the value that set writes to it, because that op is left out
        >>> lost_writes(g, g.mask([0, 1, 2, 3]))
        []
    """
    edges_in = control_entering(graph, mask) if edges is None else list(edges)
    if not edges_in:
        return []
    outside = backward(graph, graph.mask(op for _, op in edges_in)) & ~mask
    writes = np.flatnonzero(outside & _writing_ops(graph)).tolist()
    holders: dict[int, list[int]] = {}
    for op in writes:
        for holder in _state_holders(graph, op):
            holders.setdefault(holder, []).append(op)
    after = forward(graph, graph.mask(inside for inside, _ in edges_in), within=mask)
    reads = {holder: [op for op in _users(graph, holder) if after[op] and _reads(graph, op)] for holder in holders}
    result = list[LostWrite]()
    for holder, write in ((holder, write) for holder, those in holders.items() if reads[holder] for write in those):
        behind = forward(graph, graph.mask([write]), within=outside)
        later = forward(graph, graph.mask(inside for inside, op in edges_in if behind[op]), within=mask)
        reader = next((op for op in sorted(reads[holder]) if later[op]), None)
        if reader is not None:
            above = np.flatnonzero(backward(graph, graph.mask([write])) & graph.type_mask(FEED_TYPES) & ~mask).tolist()
            feeds = tuple(f"{graph.names[op]}:0" for op in above)
            result.append(LostWrite(f"{graph.names[reader]}:0", graph.names[write], graph.names[holder], feeds))
        if len(result) == _MAX_LISTED:
            break
    return result


def part_fault(graph: Graph, mask: Mask, cuts: Iterable[Tensor]) -> tuple[str, str] | None:
    """Returns the problem and a suggestion if a part cuts through a loop, a branch or a TensorArray; otherwise None.

    Args:
        graph: the snapshot.
        mask: the ops of the part.
        cuts: tensors that are replaced, or fed.
    """
    ends = frozenset(cuts)
    return context_fault(graph, mask, ends) or array_fault(graph, mask, ends)


def array_fault(
    graph: Graph, mask: Mask, cuts: frozenset[Tensor], beside: Mask | None = None
) -> tuple[str, str] | None:
    """Returns the problem and a suggestion if a part reads a TensorArray without earlier writes; otherwise None.

    Args:
        graph: the snapshot.
        mask: the ops of the part.
        cuts: tensors that are replaced, or fed.
        beside: ops outside of the part that run with it; none by default.

    Example:
        >>> g = Graph.from_ops([("a", "TensorArrayV3", []), ("w", "TensorArrayWriteV3", ["a", "a:1"]),
        ...               ("r", "TensorArrayReadV3", ["a", "w"])])
        >>> array_fault(g, g.mask([0, 2]), frozenset())[1]
        'Select the writes too: w'
    """
    runs = mask if beside is None else mask | beside
    users = mask & graph.type_mask(filter(is_array_type, graph.type_index[0])) & (graph.data.degrees > 1)
    for user in np.flatnonzero(users).tolist():
        tensors = reachable_from(graph.data.ends(user)[-1:], lambda end: _flow_before(graph, runs, cuts, end))
        broken_end = next((end for end in tensors if end in cuts or not runs[end[0]]), None)
        if broken_end is not None:
            name = graph.name(broken_end)
            problem = f"{name!r} orders the writes and reads of a TensorArray; it does not contain the written values"
            numbers = shared_holders(graph)
            own = numbers == numbers[user] if numbers is not None else graph.mask([])
            writes = [graph.names[i] for i in np.flatnonzero(own & ~mask).tolist()]
            return (
                problem,
                f"Select the writes too: {few(writes)}" if broken_end not in cuts else "Cut before the writes",
            )
    return None


def split_fault(graph: Graph, mask: Mask) -> tuple[str, str] | None:
    """Returns the problem and a suggestion if ops outside use the same TensorArray or stack; otherwise None.

    Args:
        graph: the snapshot.
        mask: the ops.

    Example:
        >>> g = Graph.from_ops([("a", "TensorArrayV3", []), ("w", "TensorArrayWriteV3", ["a", "a:1"]),
        ...               ("r", "TensorArrayReadV3", ["a", "w"])])
        >>> split_fault(g, g.mask([0, 1]))
        ("'r' also uses 'a', which exists only while the call runs", 'Select it too, or leave out a, w')
    """
    numbers = shared_holders(graph)
    if numbers is None:
        return None
    for number in np.intersect1d(numbers[mask & (numbers >= 0)], numbers[~mask]).tolist():
        own = numbers == number
        inside, outside = ([graph.names[i] for i in np.flatnonzero(own & some).tolist()] for some in (mask, ~mask))
        holder = next(graph.names[i] for i in np.flatnonzero(own).tolist() if not graph.types[i].endswith("Grad"))
        problem = f"{outside[-1]!r} also uses {holder!r}, which exists only while the call runs"
        return problem, f"Select it too, or leave out {few(inside, 8)}"
    return None


def is_array_type(kind: str) -> bool:
    """Returns whether ops of a type use a TensorArray; their last input orders them after the writes."""
    return kind.startswith("TensorArray") and kind.endswith(("V2", "V3"))


def _flow_before(graph: Graph, mask: Mask, cuts: frozenset[Tensor], end: Tensor) -> list[Tensor]:
    """Returns the input tensors that an op passes on as the order of uses of a TensorArray; empty for other ops."""
    kind = graph.types[end[0]]
    if end in cuts or not mask[end[0]] or kind not in (*_IDENTITY_TYPES, *MERGES, *EXITS, *TURNING):
        return []
    ends = graph.data.ends(end[0])
    return ends if kind in MERGES else ends[:1]


def refuse_part(
    graph: Graph,
    mask: Mask,
    inputs: Iterable[Tensor],
    request: str,
    outputs: Iterable[Tensor] = (),
    key: str = "inputs",
) -> None:
    """Refuses a part of a graph with results that would differ from those in the whole graph.

    Args:
        graph: the snapshot.
        mask: the ops of the part.
        inputs: the tensors that are fed.
        request: the request, for messages.
        outputs: the tensors that are fetched.
        key: the argument that names the inputs.

    Raises:
        PlanError: if the part cuts through a loop, a branch or a TensorArray; if an output is inside a loop; or if a
            read would lose an earlier write. The message proposes other ops or feeds.
    """
    input_list = list(inputs)
    fault = part_fault(graph, mask, input_list)
    if fault is not None:
        raise PlanError(request, *fault)
    refuse_inner(graph, outputs, request)
    for lost in lost_writes(graph, mask)[:1]:
        names = [graph.name(tensor) for tensor in input_list]
        runs = key == "inputs" and backward(graph, mask, frozenset(input_list))[graph.index[lost.write]]
        more = [name for name in lost.feeds if name not in names] if runs else []
        problem = f"{lost.read!r} reads {lost.holder!r} after {lost.write!r} writes to it, which would not run"
        raise PlanError(request, problem, f"Type {key}={[*names, *(more or [lost.read])]!r}")


def refuse_inner(graph: Graph, outputs: Iterable[Tensor], request: str) -> None:
    """Refuses outputs that are computed inside a TF1 loop, because they have no single value.

    An output inside a branch of a cond has a value if the condition takes that branch; TensorFlow reports it otherwise.

    Raises:
        PlanError: if there is such an output; the message proposes a result of the loop.
    """
    frames = Frames(graph)
    inner = next((tensor for tensor in outputs if frames.innermost(tensor[0]) != ROOT), None)
    if inner is not None:
        plain = outside_control_flow(graph)
        behind = forward(graph, graph.mask([inner[0]]), control=False) & graph.type_mask((*MERGES, *EXITS)) & plain
        ends = [f"{graph.names[op]}:0" for op in np.flatnonzero(behind).tolist()]
        problem = f"{graph.name(inner)!r} is computed inside a loop"
        raise PlanError(
            request, problem, f"Name a result of it, such as {ends[0]!r}" if ends else "Name a tensor outside"
        )


def _writing_ops(graph: Graph) -> Mask:
    """Returns a mask of the ops that write to a variable or a table, or may do so in a called function."""
    return writers_of(graph) | graph.type_mask(["StatefulPartitionedCall", "If", "While", "Case"])


def _state_holders(graph: Graph, op: int) -> dict[int, None]:
    """Returns the variables, tables and other holders of state that are inputs of an op."""
    ends = [end for end in graph.data.ends(op) if _is_handle(graph, end)]
    return dict.fromkeys(follow_chain(op, lambda one: _source(graph, one)) for op, _ in ends)


def _source(graph: Graph, op: int) -> int | None:
    row = graph.data.row(op).tolist() if graph.types[op] in _IDENTITY_TYPES else []
    return row[0] if row else None


def _users(graph: Graph, resource: int) -> list[int]:
    """Returns the ops that use a holder of state, directly or through ops that only pass it on."""

    def onward(op: int) -> list[int]:
        return graph.consumers.row(op).tolist() if op == resource or _passes(graph, op) else []

    return [op for op in reachable_from([resource], onward) if op != resource]


def _reads(graph: Graph, op: int) -> bool:
    """Returns whether an op that uses a variable returns the value of the variable."""
    return graph.types[op] not in _SETTING and graph.outputs(op) != [] and not _passes(graph, op)


def _passes(graph: Graph, op: int) -> bool:
    return graph.types[op] in _IDENTITY_TYPES and _is_handle(graph, (op, 0))


def _is_handle(graph: Graph, tensor: Tensor) -> bool:
    info = graph.info(*tensor)
    return info is None or info.dtype == "resource" or info.dtype.endswith("_ref")
