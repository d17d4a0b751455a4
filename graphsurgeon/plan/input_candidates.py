"""The inputs that could read a tensor, and the reason why each other input cannot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ..graph.boundary import Tensor
from ..graph.rewiring import TURNING
from ..graph.traversal import backward
from .resolve.wiring import frame_fault, incompatibility, reference_fault
from .type_check import handle_mismatch
from .workbench import MutableGraph


@dataclass(frozen=True)
class InputCandidate:
    """An input of an op.

    Args:
        op: the op.
        input: the index of the input, from 0.
        reads: the tensor that the input reads now.
        why: the reason why the input cannot read the other tensor; empty if it can.
        adaptable: whether only dtype or shape is the reason, so that an adapter may help.
    """

    op: str
    input: int
    reads: str
    why: str = ""
    adaptable: bool = False


def find_input_candidates(
    bench: MutableGraph, tensor: Tensor, inputs: Iterable[tuple[int, int]]
) -> Iterator[InputCandidate]:
    """Yields inputs of ops in the given order, with the reason if an input cannot read a tensor.

    Args:
        bench: the graph.
        tensor: the tensor that they should read, of the graph or of an op that was added to the bench.
        inputs: (op, index of the input).

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> g = Graph.of([("a", "Placeholder", []), ("b", "Neg", ["a"]), ("c", "Neg", ["b"])])
        >>> [taker.why for taker in find_input_candidates(MutableGraph(g), (1, 0), [(1, 0), (2, 0)])]
        ["that makes a cycle: 'b:0' is computed from it", 'it already reads this tensor']
    """
    graph, name = bench.graph, bench.name(tensor)
    turning = frozenset((op, 0) for op in np.flatnonzero(graph.typed(TURNING)).tolist())
    above = backward(graph, graph.mask([tensor[0]] if tensor[0] < graph.size else []), turning)
    for op, at in inputs:
        reads, differ = bench.row(op)[at], ""
        if reads == tensor:
            why = "it already reads this tensor"
        elif above[op]:
            why = f"that makes a cycle: {name!r} is computed from it"
        else:
            differ = incompatibility(bench, op, at, tensor)
            why = differ or _incompatibility(bench, op, at, tensor)
        yield InputCandidate(graph.names[op], at, graph.name(reads), why, bool(differ))


def _incompatibility(bench: MutableGraph, op: int, at: int, tensor: Tensor) -> str:
    """Returns why an op of a variable or a loop cannot read the tensor; empty if it can."""
    edge = (op, at, tensor)
    handles = handle_mismatch(bench, bench.row(op)[at], tensor)
    fault = reference_fault(bench, edge, "") or frame_fault(bench, [edge], "")
    return handles[0] if handles else fault.problem if fault else ""
