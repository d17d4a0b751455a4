"""First difference: the first op of two runs whose inputs agree and whose output does not."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..words import counted
from .frames import order
from .graph import Graph
from .noted import Noted
from .rewired import TURNING

Notes = Mapping[str, Sequence[Noted]]


@dataclass(frozen=True, eq=False)
class FirstDifference:
    """The first op with a different output in another run.

    Args:
        note: the summary of its output in the first run.
        other: the summary in the other run.
        type: its op type.
        difference: the difference, divided by the largest value; infinity if the shapes or the counts of NaN and
            infinities differ.
        tensors: the number of tensors that differ.
    """

    note: Noted
    other: Noted
    type: str
    difference: float
    tensors: int

    @property
    def op(self) -> str:
        """The op's name, in the one run."""
        return self.note.tensor.partition(":")[0]

    def __repr__(self) -> str:
        apart = "in shape, NaN or infinities" if math.isinf(self.difference) else f"by {self.difference:.3g}"
        return (
            f"{self.note!r}, by {self.type}\n  instead of  {self.other!r}\n  apart {apart}; "
            f"in all {counted(self.tensors, 'tensors')} of another value"
        )


def first_difference(
    graph: Graph,
    ours: Notes,
    theirs: Notes,
    names: Mapping[str, str],
    tolerance: float,
    unsaid: Container[str] = (),
) -> FirstDifference | None:
    """Returns the first tensor, in the order of computing, that differs by more than a tolerance; None without any.

    Args:
        graph: the graph of the first run.
        ours, theirs: tensor -> its summaries by round, in each run.
        names: tensor of the first run -> its name in the other, if that differs.
        tolerance: how far two tensors may be apart, in parts of the largest absolute value of the first.
        unsaid: ops that are returned only if no other op differs.

    Example:
        >>> from .noted import noted
        >>> graph = Graph.of([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Exp", ["y"])])
        >>> def run(y):
        ...     held = {"x:0": 1.0, "y:0": y, "z:0": y}
        ...     return {name: [noted(name, np.array([value]), "float32")] for name, value in held.items()}
        >>> first_difference(graph, run(2.0), run(3.0), {}, 1e-5).op
        'y'
    """
    place, found = order(graph), []
    for name, notes in ours.items():
        there = {note.rounds: note for note in theirs.get(names.get(name, name), ())}
        for note in notes:
            other = there.get(note.rounds)
            if other is not None and (apart := difference(note, other)) > tolerance:
                op = graph.tensor(name)[0]
                turned = graph.types[op] in TURNING  # it passes on the result of the round before
                when = (note.rounds[:1], place[op] if not turned else -1, note.rounds)
                found.append(((graph.names[op] in unsaid, *when), note, other, apart))
                break
    if not found:
        return None
    _, note, other, apart = min(found, key=lambda one: one[0])
    return FirstDifference(note, other, graph.types[graph.tensor(note.tensor)[0]], apart, len(found))


def differences(ours: Notes, theirs: Notes, names: Mapping[str, str]) -> dict[str, float]:
    """Returns for each op the largest difference of its outputs, in the rounds that both runs have.

    Args:
        ours, theirs: tensor -> its summaries by round, in each run.
        names: tensor of the first run -> its name in the other, if that differs.

    Example:
        >>> from .noted import noted
        >>> ours, theirs = ({"y:0": [noted("y:0", np.array([held]), "float32")]} for held in (4.0, 5.0))
        >>> differences(ours, theirs, {})
        {'y': 0.25}
    """
    found: dict[str, float] = {}
    for name, notes in ours.items():
        op, there = name.partition(":")[0], {one.rounds: one for one in theirs.get(names.get(name, name), ())}
        for note in notes:
            if note.rounds in there:
                found[op] = max(found.get(op, 0.0), difference(note, there[note.rounds]))
    return found


def difference(note: Noted, other: Noted) -> float:
    """Returns how far two tensors are apart, in parts of the largest absolute value of the first.

    Example:
        >>> from .noted import noted
        >>> difference(noted("a:0", np.array([1.0, 4.0]), "float32"), noted("b:0", np.array([1.0, 5.0]), "float32"))
        0.25
    """
    if note.shape != other.shape or (note.nans, note.infinite) != (other.nans, other.infinite):
        return math.inf
    mine, theirs = (
        np.concatenate([[one.min, one.max, one.mean, one.std], one.sample.astype(np.float64)]) for one in (note, other)
    )
    if len(mine) != len(theirs):
        return math.inf
    mine, theirs = mine[np.isfinite(mine) & np.isfinite(theirs)], theirs[np.isfinite(mine) & np.isfinite(theirs)]
    if not len(mine):
        return 0.0
    scale = max(abs(note.min), abs(note.max)) or 1.0
    return float(np.abs(mine - theirs).max() / scale)
