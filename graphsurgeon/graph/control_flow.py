"""The loops and conditionals of TF1: their frames and contexts, and the selections that cut through them."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..errors import counted
from .boundary import Tensor
from .graph import Graph, Ints, Mask
from .rewiring import TURNING
from .traversal import backward, components, forward
from .variables import FEED_TYPES

#: The loop number of ops that run in no loop, and of ops in a loop that cannot be analyzed.
ROOT, UNKNOWN = -1, -2


def topological_places(graph: Graph) -> list[int]:
    """Returns the place of each op in an order with all inputs before their consumers, except back edges of loops."""
    turning, needed = graph.type_mask(TURNING), graph.all_inputs
    missing = needed.degrees - np.bincount(needed.rows[turning[needed.node]], minlength=graph.size)
    in_degrees = missing.tolist()
    sequence = [op for op in range(graph.size) if not in_degrees[op]]
    place = [graph.size] * graph.size
    for at, op in enumerate(sequence):  # grows
        place[op] = at
        if turning[op]:
            continue
        for edges in (graph.consumers, graph.control_consumers):
            for reader in edges.row(op).tolist():
                in_degrees[reader] -= 1
                if not in_degrees[reader]:
                    sequence.append(reader)
    return place


@dataclass(frozen=True)
class Frame:
    """One loop.

    Args:
        name: the name of its frame.
        outer: the number of the loop around it; -1 for none.
        depth: 1 for an outermost loop.
        parallel: the number of rounds that may run at the same time.
        external_op: an op outside of the loop that the loop reads.
        loop_cond: its LoopCond; -1 if it has none.
    """

    name: str
    outer: int
    depth: int
    parallel: int
    external_op: int
    loop_cond: int


class Frames:
    """The loops of a graph.

    Args:
        graph: the graph.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("in", "Enter", ["a"]), ("m", "Merge", ["in", "n"]),
        ...               ("c", "LoopCond", ["m"]), ("s", "Switch", ["m", "c"]), ("n", "NextIteration", ["s:1"]),
        ...               ("out", "Exit", ["s"])])
        >>> frames = Frames(g)
        >>> [frames.innermost(op) for op in range(g.size)], frames.frame(0).loop_cond
        ([-1, 0, 0, 0, 0, 0, -1], 3)
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._loops: list[Frame] = []
        self._frame_of: list[int] = [ROOT] * graph.size
        if graph.type_mask(ENTERS).any():
            self._follow()

    def innermost(self, op: int) -> int:
        """Returns the number of the innermost loop around the results of an op; -1 for none, -2 if it is not known."""
        return self.parent(self._frame_of[op]) if self.graph.types[op] in EXITS else self._frame_of[op]

    def frame(self, frame: int) -> Frame:
        """Returns a loop by its number."""
        return self._loops[frame]

    def parent(self, frame: int) -> int:
        """Returns the loop around a loop; for an outermost one, the loop itself."""
        return self._loops[frame].outer if frame >= 0 else frame

    def _follow(self) -> None:
        """Visits all ops, each after its inputs and control inputs, except for the back edges of loops."""
        graph, place = self.graph, topological_places(self.graph)
        visited = dict[tuple[int, str], int]()
        for op in sorted(range(graph.size), key=place.__getitem__):
            if place[op] == graph.size:  # this op and all later ops are not in the order
                break
            self._frame_of[op] = self._frame(op, place, visited)
            if graph.types[op] == "LoopCond" and self._frame_of[op] >= 0:
                self._loops[self._frame_of[op]] = replace(self._loops[self._frame_of[op]], loop_cond=op)
        lost = {frame for frame, one in enumerate(self._loops) if one.loop_cond < 0}
        for op in range(graph.size):
            if place[op] == graph.size or self._frame_of[op] in lost:
                self._frame_of[op] = UNKNOWN

    def _frame(self, op: int, place: list[int], visited: dict[tuple[int, str], int]) -> int:
        graph = self.graph
        frame = ROOT
        for its in (self.innermost(one) for one in graph.all_inputs.row(op).tolist() if place[one] < place[op]):
            if self._depth(its) > self._depth(frame):
                frame = its
        ends = graph.data.ends(op)
        if graph.types[op] not in ENTERS or not ends:  # without an input, the file is damaged
            return frame
        name, before = frame_name(graph, op), ends[0][0]
        if (frame, name) not in visited:
            visited[frame, name] = len(self._loops)
            attr = getattr(graph.nodes[op], "attr", {})
            parallel = int(attr["parallel_iterations"].i) if "parallel_iterations" in attr else 10
            self._loops.append(Frame(name, frame, self._depth(frame) + 1, parallel, before, -1))
        return visited[frame, name]

    def _depth(self, frame: int) -> int:
        return self._loops[frame].depth if frame >= 0 else 0


def outside_control_flow(graph: Graph) -> Mask:
    """Returns a mask of the ops that are neither in a loop nor in a branch of TF1.

    Example:
        >>> g = Graph.from_ops([("x", "Const", []), ("p", "Const", []), ("s", "Switch", ["x", "p"]),
        ...                     ("a", "Neg", ["s:0"]),
        ...               ("b", "Exp", ["s:1"]), ("m", "Merge", ["a", "b"]), ("y", "Neg", ["m"])])
        >>> [g.names[op] for op in np.flatnonzero(outside_control_flow(g))]
        ['x', 'p', 'm', 'y']
    """
    if not graph.type_mask((*ENTERS, *SWITCHES)).any():
        return np.ones(graph.size, np.bool_)
    joins = graph.type_mask((*MERGES, *EXITS))
    inside = forward(graph, graph.type_mask(SWITCHES), within=~joins, control=False)
    frames = Frames(graph)
    return ~inside & np.fromiter((frames.innermost(op) == ROOT for op in range(graph.size)), np.bool_, graph.size)


ENTERS, EXITS = ("Enter", "RefEnter"), ("Exit", "RefExit")
#: The op types of TF1 loops and conds.
FLOW_TYPES = frozenset({
    "Enter", "RefEnter", "Switch", "RefSwitch", "_SwitchN", "Merge", "RefMerge", "NextIteration", "RefNextIteration",
    "Exit", "RefExit", "LoopCond",
})  # fmt: skip
#: The scope, below an inlined v2 cond, case or loop, of the TF1 ops that join its branches or repeat its body.
FLOW_SCOPE = "flow"
MERGES, SWITCHES = ("Merge", "RefMerge"), ("Switch", "RefSwitch", "_SwitchN")


def loops_of(graph: Graph) -> Ints:
    """Returns for each op the number of the outermost ``while_loop`` of TF1 it runs in, -1 for none.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("in", "Enter", ["a"]), ("m", "Merge", ["in", "n"]),
        ...               ("s", "Switch", ["m", "m"]), ("n", "NextIteration", ["s:1"]), ("out", "Exit", ["s"]),
        ...               ("b", "Neg", ["out"])])
        >>> loops_of(g).tolist()
        [-1, 0, 0, 0, 0, 0, -1]
    """
    enters, exits = graph.type_mask(ENTERS), graph.type_mask(EXITS)
    if not enters.any():
        return np.full(graph.size, -1, np.int32)
    # Data enters a frame only through an Enter and leaves it only through an Exit. Without these edges, each frame is a
    # separate component.
    part = components(graph, enters, exits)
    frames: dict[str, int] = {}
    frame_of = np.full(int(part.max()) + 1, -1, np.int32)
    entries = np.flatnonzero(enters).tolist()
    for op in entries:
        frame_of[part[op]] = frames.setdefault(frame_name(graph, op), len(frames))
    outer = list(range(len(frames)))
    beside = []  # a loop that reads a result of another loop is next to that loop, not inside it
    for op in entries:
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


@dataclass(frozen=True)
class Loop:
    """One TF1 ``while_loop``: the numbers of its control flow ops, with one op of each kind for each loop variable.

    Args:
        loop_cond: the LoopCond.
        enters, merges, switches, next_iterations: the Enter, Merge, Switch and NextIteration of each variable.
        exits: the Exit of each variable; -1 if it has none.
        constants: the other Enters, whose values are the same in every round.
    """

    loop_cond: int
    enters: tuple[int, ...]
    merges: tuple[int, ...]
    switches: tuple[int, ...]
    next_iterations: tuple[int, ...]
    exits: tuple[int, ...]
    constants: tuple[int, ...]

    @property
    def cycle_ops(self) -> list[int]:
        """All these ops except the constants."""
        several = (self.enters, self.merges, self.switches, self.next_iterations, self.exits)
        return [self.loop_cond, *(op for ops in several for op in ops if op >= 0)]

    @property
    def parts(self) -> list[int]:
        """All these ops."""
        return [*self.cycle_ops, *self.constants]


def loops_in(graph: Graph) -> list[Loop]:
    """Returns the complete loops of TF1, in the order of their conditions.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("in", "Enter", ["a"]), ("m", "Merge", ["in", "n"]),
        ...               ("c", "LoopCond", ["m"]), ("s", "Switch", ["m", "c"]), ("n", "NextIteration", ["s:1"]),
        ...               ("out", "Exit", ["s"])])
        >>> loops_in(g)
        [Loop(loop_cond=3, enters=(1,), merges=(2,), switches=(4,), next_iterations=(5,), exits=(6,), constants=())]
    """
    enters = np.flatnonzero(graph.type_mask(ENTERS)).tolist() if graph.type_mask(["LoopCond"]).any() else []
    frames: dict[str, list[int]] = {}
    for op in enters:
        frames.setdefault(frame_name(graph, op), []).append(op)
    loops = []
    for condition in np.flatnonzero(graph.type_mask(["LoopCond"])).tolist():
        switches = [op for op in graph.consumers.row(condition).tolist() if graph.types[op] in SWITCHES]
        merges = [int(graph.data.row(op)[0]) for op in switches]
        ends = [graph.data.row(op).tolist() for op in merges]
        if not switches or any(graph.types[op] not in MERGES for op in merges) or any(len(end) != 2 for end in ends):
            continue
        first, back = ([end[at] for end in ends] for at in (0, 1))
        if any(graph.types[op] not in ENTERS for op in first):
            continue
        exits = [next((i for i in graph.consumers.row(op).tolist() if graph.types[i] in EXITS), -1) for op in switches]
        same = [op for op in frames[frame_name(graph, first[0])] if op not in first]
        if any(not len(graph.data.row(op)) for op in (*first, *back, *same)):
            continue
        loops.append(Loop(condition, *map(tuple, (first, merges, switches, back, exits, same))))
    return loops


def body_of(graph: Graph, loop: Loop) -> Mask:
    """Returns the ops of a TF1 loop that run in each of its rounds, including inner loops.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("in", "Enter", ["a"]), ("m", "Merge", ["in", "n"]),
        ...                     ("q", "Neg", ["m"]),
        ...               ("c", "LoopCond", ["q"]), ("s", "Switch", ["m", "c"]), ("b", "Exp", ["s:1"]),
        ...               ("n", "NextIteration", ["b"]), ("out", "Exit", ["s"])])
        >>> body_of(g, loops_in(g)[0]).nonzero()[0].tolist()
        [6]
    """
    own, asks, turns = graph.mask(loop.parts), graph.mask([loop.loop_cond]), graph.mask(loop.next_iterations)
    starts = graph.mask([*loop.switches, *loop.constants])
    asking = backward(graph, asks, within=~own | asks)
    running = forward(graph, starts, within=~own | starts) & ~asking
    return (running | backward(graph, turns, within=~own | turns)) & ~own


def constant_entry(graph: Graph, op: int) -> bool:
    """Returns whether an op is the Enter of a constant of a TF1 loop, which is the same in every round."""
    attributes = getattr(graph.nodes[op], "attr", {}) if graph.types[op] in ENTERS else {}
    return "is_constant" in attributes and bool(attributes["is_constant"].b)


def lone_loop_entries(graph: Graph, mask: Mask) -> list[int]:
    """Returns the selected Enters of constants of TF1 loops, if no other control flow op of the loop is selected."""
    if not (mask & graph.type_mask(ENTERS)).any():
        return []
    alone = [one.constants for one in loops_in(graph) if not mask[one.cycle_ops].any()]
    return sorted(op for ops in alone for op in ops if mask[op] and constant_entry(graph, op))


def loops_within(graph: Graph, mask: Mask) -> Mask:
    """Returns the control flow ops of TF1 loops with a selected LoopCond; such a loop needs all of them."""
    return graph.mask(op for one in loops_in(graph) if mask[one.loop_cond] for op in one.cycle_ops)


def is_loop_body_only(graph: Graph, mask: Mask, cuts: Container[Tensor]) -> bool:
    """Returns whether a selection takes only ops of one round from TF1 loops, and all their inputs there are given.

    Args:
        graph: the graph.
        mask: the selected ops.
        cuts: tensors that are replaced, or fed.
    """
    loop, rows, node = loops_of(graph), graph.data.rows, graph.data.node
    entering = np.flatnonzero(mask[rows] & (loop[rows] >= 0) & (loop[rows] == loop[node]))
    open_ends = [(int(node[at]), int(graph.data.port[at])) for at in entering.tolist() if not mask[node[at]]]
    if not all(end in cuts or constant_entry(graph, end[0]) for end in open_ends):
        return False
    ends = zip(node[entering].tolist(), graph.data.port[entering].tolist(), strict=True)
    external = ~mask[node[entering]] | np.array([end in cuts for end in ends], np.bool_)
    framing = graph.type_mask((*ENTERS, *EXITS, "NextIteration", "RefNextIteration", "LoopCond")) & mask & (loop >= 0)
    framing[lone_loop_entries(graph, mask)] = False
    for one in loops_in(graph):
        if not mask[one.cycle_ops].any():
            continue
        framing[one.parts] = False
        within = ~graph.mask(op for op in one.exits if op >= 0)
        inside = forward(graph, graph.mask([*one.enters, *one.constants]), within=within)
        if not mask[one.loop_cond] or (external & inside[rows[entering]] & inside[node[entering]]).any():
            return False
    return not framing.any()


def context_fault(graph: Graph, mask: Mask, cuts: Iterable[Tensor]) -> tuple[str, str] | None:
    """Returns the problem and a suggestion if a selection has only a part of a loop or branch; otherwise None.

    Args:
        graph: the source.
        mask: the selected ops.
        cuts: tensors that are replaced, or fed.
    """
    if not graph.type_mask((*ENTERS, *MERGES)).any():
        return None
    rows, ends = graph.data.rows, frozenset(cuts)
    at_input = mask[rows] & (graph.data.positions_in(ends) >= 0)
    entering = at_input | (mask[rows] & ~mask[graph.data.node])
    return _loop_fault(graph, mask, entering, at_input, ends) or _branch_fault(graph, mask, entering)


def _loop_fault(
    graph: Graph, mask: Mask, entering: Mask, at_input: Mask, cuts: frozenset[Tensor]
) -> tuple[str, str] | None:
    loop, rows = loops_of(graph), graph.data.rows
    within = (loop[rows] >= 0) & (loop[rows] == loop[graph.data.node])
    hits = np.flatnonzero(entering & within)
    if not len(hits) or is_loop_body_only(graph, mask, cuts):
        return None
    hit = int(hits[np.argmax(at_input[hits])])  # prefers a tensor that the request names
    number = loop[rows[hit]]
    loop_mask = loop == number
    enters = np.flatnonzero(loop_mask & graph.type_mask(ENTERS)).tolist()
    ends = np.flatnonzero(loop_mask & graph.type_mask(EXITS)).tolist()
    ins = list(dict.fromkeys((int(graph.data.node[at]), int(graph.data.port[at])) for at in graph.data.ptr[enters]))
    ins = [tensor for tensor in ins if loop[tensor[0]] != number]
    fed = forward(graph, graph.type_mask(FEED_TYPES), control=False)
    # Constants and variables are also copied. An Exit that is read inside belongs to an inner loop.
    ins = [tensor for tensor in ins if fed[tensor[0]]] or ins
    outer = [i for i in ends if not loop_mask[graph.consumers.row(i)].all()]
    ends = outer or [i for i in ends if not len(graph.consumers.row(i))]
    inputs, outputs = [f"{graph.names[op]}:{port}" for op, port in ins], [f"{graph.names[i]}:0" for i in ends]
    part = int((mask & loop_mask).sum())
    leaves = f"its outputs are {', '.join(outputs)}" if outputs else "it has no outputs"
    return (
        f"the selection cuts through a loop: {part} of its {counted(int(loop_mask.sum()), 'ops')} are selected, "
        f"and {_tensor(graph, hit)!r} is computed in each round",
        f"Select the whole loop: its inputs are {', '.join(inputs)}; {leaves}",
    )


def _branch_fault(graph: Graph, mask: Mask, entering: Mask) -> tuple[str, str] | None:
    """Returns the problem of a selection that cuts through a branch, and a suggestion; otherwise None.

    A Merge takes the branch that is alive. A tensor from outside is always alive, so the other branch is never taken.
    """
    joints, switches = graph.type_mask(MERGES), graph.type_mask(SWITCHES)
    if not (joints & mask).any():
        return None
    loose = ~joints & ~graph.type_mask(EXITS)
    switched = forward(graph, switches, within=loose)
    still = forward(graph, switches & mask, within=loose & mask, edges=~entering)
    rows, node = graph.data.rows, graph.data.node
    lost = joints[rows] & mask[rows] & switched[node] & ~graph.type_mask(ENTERS)[node] & (entering | ~still[node])
    hit = np.flatnonzero(lost)
    if not len(hit):
        return None
    joint, tensor = int(rows[hit[0]]), _tensor(graph, int(hit[0]))
    return (
        f"the selection cuts through a branch of a cond: {graph.names[joint]!r} would always take {tensor!r}, "
        "whatever the condition is",
        f"Select the whole cond, or cut after it: '{graph.names[joint]}:0'",
    )


def _tensor(graph: Graph, edge: int) -> str:
    return f"{graph.names[graph.data.node[edge]]}:{graph.data.port[edge]}"


def branch_around(graph: Graph, op: int) -> Tensor | None:
    """Returns the output of the Switch that leads to an op in a branch of TF1.

    The Switch belongs to the innermost cond around the op. Returns None for an op that is in no branch, or in a loop.

    Example:
        >>> g = Graph.from_ops([("x", "Const", []), ("p", "Const", []), ("s", "Switch", ["x", "p"]),
        ...                     ("a", "Neg", ["s:1"]),
        ...               ("m", "Merge", ["a", "s"]), ("b", "Neg", ["m"])])
        >>> branch_around(g, 3), branch_around(g, 5)
        ((2, 1), None)
    """
    todo, visited = [(op, 0)], {(op, 0)}
    while todo:
        at, depth = todo.pop()  # depth: the number of conds with a visited Merge, but no Switch yet
        if graph.types[at] in (*ENTERS, *EXITS):
            return None
        inner = depth + (graph.types[at] in MERGES)
        for one, port in [*graph.data.ends(at), *((before, -1) for before in graph.control.row(at).tolist())]:
            switch = graph.types[one] in SWITCHES and port >= 0
            if switch and not inner:
                return one, port
            if (step := (one, inner - switch)) not in visited:
                visited.add(step)
                todo.append(step)
    return None


def frame_name(graph: Graph, op: int) -> str:
    """Returns the name of the frame of an Enter."""
    attributes = getattr(graph.nodes[op], "attr", {})
    frame = attributes["frame_name"].s.decode("utf-8", "replace") if "frame_name" in attributes else ""
    was, name = getattr(graph.nodes[op], "name", ""), graph.names[op]
    # An op that a plan will copy still has the node of its source; the copy gets its own frame.
    return frame if not was or was == name else f"{name.removesuffix(was)}{frame}"
