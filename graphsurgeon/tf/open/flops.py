"""FLOPs: the floating-point operations that TensorFlow counts for ops of a graph, or of what a function computes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ...graph.graph import Graph
from ...graph.pending import pending
from ..functions.insides import BodyOutputs
from ..private.graphs import flops as flops_of
from ..private.graphs import op_finder


def flops(graph: Graph, ops: Sequence[int]) -> int:
    """Returns the floating-point operations that TensorFlow counts for ops, where shapes are known.

    Args:
        graph: the snapshot of a live graph, or of the body of a function.
        ops: their numbers.
    """
    if isinstance(graph.outputs_of, BodyOutputs):
        inferred = [graph.outputs_of.made(i) for i in ops]
        return sum(flops_of(op) or 0 for op in inferred if op is not None)
    if pending(graph.owner) is not None or not hasattr(graph.live, "get_operation_by_name"):
        return 0
    find, total = op_finder(graph.live), 0
    for i in ops:
        with suppress(KeyError):  # an op that a plan will make is not there yet
            total += flops_of(find(graph.names[i])) or 0
    return total
