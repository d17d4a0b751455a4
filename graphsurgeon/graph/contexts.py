"""Contexts: the loops and conds of TF1, and where a selection cuts through one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..words import counted
from .boundary import Tensor
from .graph import Graph, Ints, Mask
from .traversal import components, forward
from .variables import FEED_TYPES

_ENTER, _EXIT = ("Enter", "RefEnter"), ("Exit", "RefExit")
#: What the loops and conds of TF1 are made of.
FLOW_TYPES = frozenset({
    "Enter", "RefEnter", "Switch", "RefSwitch", "_SwitchN", "Merge", "RefMerge", "NextIteration", "RefNextIteration",
    "Exit", "RefExit", "LoopCond",
})  # fmt: skip
#: Scope below the name of a v2 cond, case or loop that was inlined: what of TF1 joins its branches, or turns its body.
FLOW_SCOPE = "flow"
_MERGE, _SWITCH = ("Merge", "RefMerge"), ("Switch", "RefSwitch", "_SwitchN")


def loops_of(graph: Graph) -> Ints:
    """Returns for each op the number of the outermost ``while_loop`` of TF1 it runs in, -1 for none.

    Example:
        >>> g = Graph.of([("a", "Const", []), ("in", "Enter", ["a"]), ("m", "Merge", ["in", "n"]),
        ...               ("s", "Switch", ["m", "m"]), ("n", "NextIteration", ["s:1"]), ("out", "Exit", ["s"]),
        ...               ("b", "Neg", ["out"])])
        >>> loops_of(g).tolist()
        [-1, 0, 0, 0, 0, 0, -1]
    """
    enters, exits = graph.typed(_ENTER), graph.typed(_EXIT)
    if not enters.any():
        return np.full(graph.size, -1, np.int32)
    # Data enters a frame through an Enter only and leaves it through an Exit: without these edges, frames fall apart.
    part = components(graph, enters, exits)
    frames: dict[str, int] = {}
    frame_of = np.full(int(part.max()) + 1, -1, np.int32)
    found = np.flatnonzero(enters).tolist()
    for op in found:
        frame_of[part[op]] = frames.setdefault(_frame_name(graph, op), len(frames))
    outer = list(range(len(frames)))
    beside = []  # a loop that reads the end of another runs where that one runs, not in it
    for op in found:
        for above in graph.data.row(op)[:1].tolist():
            frame, other = int(frame_of[part[op]]), int(frame_of[part[above]])
            if exits[above]:
                beside.append((frame, other))
            elif other >= 0:
                outer[frame] = other
    for frame, other in beside:
        if outer[frame] == frame and outer[other] != other:
            outer[frame] = outer[other]
    for _ in outer:
        outer = [outer[frame] for frame in outer]
    return np.array([*outer, -1], np.int32)[frame_of[part]]


def context_fault(graph: Graph, mask: Mask, cuts: Iterable[Tensor]) -> tuple[str, str] | None:
    """Returns what is wrong with a selection that takes a part of a loop or of a branch, and what to take instead.

    Args:
        graph: the source.
        mask: the selected ops.
        cuts: tensors that are replaced, or fed.
    """
    rows = graph.data.rows
    given = np.zeros(len(rows), np.bool_)
    for op, port in cuts:
        given |= mask[rows] & (graph.data.node == op) & (graph.data.port == port)
    entering = given | (mask[rows] & ~mask[graph.data.node])
    return _loop_fault(graph, mask, entering, given) or _branch_fault(graph, mask, entering)


def _loop_fault(graph: Graph, mask: Mask, entering: Mask, given: Mask) -> tuple[str, str] | None:
    loop, rows = loops_of(graph), graph.data.rows
    within = (loop[rows] >= 0) & (loop[rows] == loop[graph.data.node])
    hits = np.flatnonzero(entering & within)
    if not len(hits):
        return None
    hit = int(hits[np.argmax(given[hits])])  # the one that was named, where there is one
    number = loop[rows[hit]]
    whole = loop == number
    enters = np.flatnonzero(whole & graph.typed(_ENTER)).tolist()
    ends = np.flatnonzero(whole & graph.typed(_EXIT)).tolist()
    ins = list(dict.fromkeys((int(graph.data.node[at]), int(graph.data.port[at])) for at in graph.data.ptr[enters]))
    ins = [tensor for tensor in ins if loop[tensor[0]] != number]
    fed = forward(graph, graph.typed(FEED_TYPES), control=False)
    # Constants and variables come along by themselves; an end that is read inside is that of an inner loop.
    ins = [tensor for tensor in ins if fed[tensor[0]]] or ins
    read = [i for i in ends if not whole[graph.consumers.row(i)].all()]
    ends = read or [i for i in ends if not len(graph.consumers.row(i))]
    inputs, outputs = [f"{graph.names[op]}:{port}" for op, port in ins], [f"{graph.names[i]}:0" for i in ends]
    part = int((mask & whole).sum())
    leaves = f"its outputs are {', '.join(outputs)}" if outputs else "nothing leaves it"
    return (
        f"the selection cuts through a loop: {part} of its {counted(int(whole.sum()), 'ops')} are in it, "
        f"and {_tensor(graph, hit)!r} is computed in each round",
        f"Take the loop whole: its inputs are {', '.join(inputs)}; {leaves}",
    )


def _branch_fault(graph: Graph, mask: Mask, entering: Mask) -> tuple[str, str] | None:
    """A Merge takes the branch that is alive; what is given from outside always is, so the other one never counts."""
    joints, switches = graph.typed(_MERGE), graph.typed(_SWITCH)
    if not (joints & mask).any():
        return None
    loose = ~joints & ~graph.typed(_EXIT)
    chosen = forward(graph, switches, within=loose)
    still = forward(graph, switches & mask, within=loose & mask, edges=~entering)
    rows, node = graph.data.rows, graph.data.node
    lost = joints[rows] & mask[rows] & chosen[node] & ~graph.typed(_ENTER)[node] & (entering | ~still[node])
    hit = np.flatnonzero(lost)
    if not len(hit):
        return None
    joint, given = int(rows[hit[0]]), _tensor(graph, int(hit[0]))
    return (
        f"the selection cuts through a branch of a cond: {graph.names[joint]!r} would always take {given!r}, "
        "whatever the condition says",
        f"Take the cond whole, or cut after it: '{graph.names[joint]}:0'",
    )


def _tensor(graph: Graph, edge: int) -> str:
    return f"{graph.names[graph.data.node[edge]]}:{graph.data.port[edge]}"


def _frame_name(graph: Graph, op: int) -> str:
    held = getattr(graph.nodes[op], "attr", {})
    frame = held["frame_name"].s.decode("utf-8", "replace") if "frame_name" in held else ""
    was, name = getattr(graph.nodes[op], "name", ""), graph.names[op]
    # What a plan is to copy still has the node of its source; the copy gets a frame of its own.
    return frame if not was or was == name else f"{name.removesuffix(was)}{frame}"
