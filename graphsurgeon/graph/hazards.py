"""Hazards: rows of ops on which TensorFlow's own graph optimiser ends the process, or takes minutes, when they run."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..words import counted
from .graph import Graph, Mask

CURE = (
    "run it in a session whose tf.compat.v1.ConfigProto has graph_options.rewrite_options.disable_meta_optimizer = True"
)


class _Hazard(NamedTuple):
    """A kind of row.

    Args:
        counted: op types that make a row dangerous.
        passed: op types that may stand between them.
        most: how many of them may follow each other.
        outcome: what happens when there are more.
    """

    counted: frozenset[str]
    passed: frozenset[str]
    most: int
    outcome: str


_SAME = frozenset({"Identity", "IdentityN", "StopGradient", "PreventGradient", "CheckNumerics"})
_HAZARDS = (
    # It removes these by recursion: the process ends at 31,000 on a stack of 8 MB.
    _Hazard(_SAME | {"AddN"}, frozenset(), 20_000, "would end the process"),
    # It looks along the whole row at each op of it: 4 to 15 s for 5,000, with the square of that.
    _Hazard(
        frozenset(
            {
                *("Neg", "Reciprocal", "Conj", "Invert", "LogicalNot", "Transpose", "ConjugateTranspose"),
                *("Reshape", "Bitcast", "Snapshot", "DebugGradientIdentity"),
            }
        ),
        _SAME | {"ExpandDims", "Squeeze"},
        5_000,
        "may take minutes",
    ),
)


def hazards(graph: Graph, mask: Mask | None = None) -> list[str]:
    """Returns a sentence for each kind of row on which TensorFlow's graph optimiser would crash or hang.

    Args:
        graph: the snapshot to look at.
        mask: ops of interest: only rows that hold one of them are listed; the whole row counts. Default: all rows.

    Example:
        >>> row = [(f"i{n}", "Identity", [f"i{n - 1}" if n else "x"]) for n in range(20_001)]
        >>> hazards(Graph.of([("x", "Placeholder", []), *row]))[0][:97]
        "'i0' begins a row of 20,001 ops like Identity: TensorFlow's graph optimiser would end the process"
    """
    found = []
    counts = Counter(graph.types)
    for hazard in _HAZARDS:
        if sum(counts[kind] for kind in hazard.counted) <= hazard.most:
            continue
        row = _longest(graph, hazard, mask)
        if row is not None:
            first, length = row
            kind = graph.types[first]
            found.append(
                f"{graph.names[first]!r} begins a row of {counted(length, 'ops')} like {kind}: "
                f"TensorFlow's graph optimiser {hazard.outcome}; {CURE}"
            )
    return found


def _longest(graph: Graph, hazard: _Hazard, mask: Mask | None) -> tuple[int, int] | None:
    """Returns the first counted op and the length of the longest row that is too long; None if there is none."""
    inside = graph.typed(hazard.counted | hazard.passed)
    ops = np.flatnonzero(inside)
    number = np.full(graph.size + 1, -1, np.int64)
    number[ops] = np.arange(len(ops))
    ptr = graph.data.ptr
    has = ptr[ops + 1] > ptr[ops]
    before = np.full(len(ops), -1, np.int64)  # the producer of its first input; of the first of a row, itself
    before[has] = number[graph.data.node[ptr[ops][has]]]
    ends = before < 0
    before[ends] = np.flatnonzero(ends)
    # Each round doubles how far back an op has counted.
    weight = graph.typed(hazard.counted)[ops].astype(np.int64)
    wanted = np.ones(len(ops), np.int64) if mask is None else mask[ops].astype(np.int64)
    length, shaped = np.where(ends, 0, weight), np.where(ends, 0, wanted)
    back = before
    for _ in range(len(ops).bit_length()):
        further = back[back]
        if (further == back).all():
            break
        length, shaped, back = length + length[back], shaped + shaped[back], further
    length, shaped = length + weight[back], shaped + wanted[back]
    length[shaped == 0] = 0
    last = int(length.argmax())
    if length[last] <= hazard.most:
        return None
    return _first(ops, before, weight, last), int(length[last])


def _first(ops: NDArray[np.int64], before: NDArray[np.int64], weight: NDArray[np.int64], last: int) -> int:
    at = found = last
    while before[at] != at:
        at = int(before[at])
        found = at if weight[at] else found
    return int(ops[found])
