"""Frames: in which loop of TF1 each op runs, the innermost one, and what that loop is inside of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .contexts import ENTERS, EXITS, MERGES, SWITCHES, frame_name
from .graph import Graph, Mask
from .rewired import TURNING
from .traversal import forward

#: The number of ops that run in no loop, and of ops in a loop that cannot be followed.
ROOT, UNKNOWN = -1, -2


def order(graph: Graph) -> list[int]:
    """Returns the place of each op in an order in which each comes after its inputs, but for back edges of loops."""
    turning, needed = graph.typed(TURNING), graph.needed
    missing = needed.degrees - np.bincount(needed.rows[turning[needed.node]], minlength=graph.size)
    left = missing.tolist()
    done = [op for op in range(graph.size) if not left[op]]
    place = [graph.size] * graph.size
    for at, op in enumerate(done):  # grows
        place[op] = at
        if turning[op]:
            continue
        for edges in (graph.consumers, graph.control_consumers):
            for reader in edges.row(op).tolist():
                left[reader] -= 1
                if not left[reader]:
                    done.append(reader)
    return place


@dataclass(frozen=True)
class Frame:
    """One loop.

    Args:
        name: the name of its frame.
        outer: the number of the loop around it; -1 for none.
        depth: 1 for an outermost loop.
        parallel: the number of its rounds that may run at a time.
        before: an op outside of it that it reads.
        asks: its LoopCond; -1 if it has none.
    """

    name: str
    outer: int
    depth: int
    parallel: int
    before: int
    asks: int


class Frames:
    """The loops of a graph.

    Args:
        graph: the graph.

    Example:
        >>> g = Graph.of([("a", "Const", []), ("in", "Enter", ["a"]), ("m", "Merge", ["in", "n"]),
        ...               ("c", "LoopCond", ["m"]), ("s", "Switch", ["m", "c"]), ("n", "NextIteration", ["s:1"]),
        ...               ("out", "Exit", ["s"])])
        >>> frames = Frames(g)
        >>> [frames.of(op) for op in range(g.size)], frames.about(0).asks
        ([-1, 0, 0, 0, 0, 0, -1], 3)
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._found: list[Frame] = []
        self._of: list[int] = [ROOT] * graph.size
        if graph.typed(ENTERS).any():
            self._follow()

    def of(self, op: int) -> int:
        """Returns the number of the innermost loop around the results of an op; -1 for none, -2 if it is not known."""
        return self.outside(self._of[op]) if self.graph.types[op] in EXITS else self._of[op]

    def about(self, frame: int) -> Frame:
        """Returns a loop by its number."""
        return self._found[frame]

    def outside(self, frame: int) -> int:
        """Returns the loop around a loop; for an outermost one, the loop itself."""
        return self._found[frame].outer if frame >= 0 else frame

    def _follow(self) -> None:
        """Goes through all ops, each after its inputs and control inputs; a loop comes back to an op that is done."""
        graph, place = self.graph, order(self.graph)
        seen = dict[tuple[int, str], int]()
        for op in sorted(range(graph.size), key=place.__getitem__):
            if place[op] == graph.size:  # the order has none of the later ones either
                break
            self._of[op] = self._frame(op, place, seen)
            if graph.types[op] == "LoopCond" and self._of[op] >= 0:
                self._found[self._of[op]] = replace(self._found[self._of[op]], asks=op)
        lost = {frame for frame, one in enumerate(self._found) if one.asks < 0}
        for op in range(graph.size):
            if place[op] == graph.size or self._of[op] in lost:
                self._of[op] = UNKNOWN

    def _frame(self, op: int, place: list[int], seen: dict[tuple[int, str], int]) -> int:
        graph = self.graph
        frame = ROOT
        for its in (self.of(one) for one in graph.needed.row(op).tolist() if place[one] < place[op]):
            if self._depth(its) > self._depth(frame):
                frame = its
        if graph.types[op] not in ENTERS:
            return frame
        name, before = frame_name(graph, op), graph.data.ends(op)[0][0]
        if (frame, name) not in seen:
            seen[frame, name] = len(self._found)
            attr = getattr(graph.nodes[op], "attr", {})
            parallel = int(attr["parallel_iterations"].i) if "parallel_iterations" in attr else 10
            self._found.append(Frame(name, frame, self._depth(frame) + 1, parallel, before, -1))
        return seen[frame, name]

    def _depth(self, frame: int) -> int:
        return self._found[frame].depth if frame >= 0 else 0


def in_the_open(graph: Graph) -> Mask:
    """Returns which ops are neither in a loop nor in a branch of TF1.

    Example:
        >>> g = Graph.of([("x", "Const", []), ("p", "Const", []), ("s", "Switch", ["x", "p"]), ("a", "Neg", ["s:0"]),
        ...               ("b", "Exp", ["s:1"]), ("m", "Merge", ["a", "b"]), ("y", "Neg", ["m"])])
        >>> [g.names[op] for op in np.flatnonzero(in_the_open(g))]
        ['x', 'p', 'm', 'y']
    """
    if not graph.typed((*ENTERS, *SWITCHES)).any():
        return np.ones(graph.size, np.bool_)
    joins = graph.typed((*MERGES, *EXITS))
    inside = forward(graph, graph.typed(SWITCHES), within=~joins, control=False)
    frames = Frames(graph)
    return ~inside & np.fromiter((frames.of(op) == ROOT for op in range(graph.size)), np.bool_, graph.size)
