"""The inputs and outputs of a graph, if no signature lists them."""

from __future__ import annotations

import numpy as np

from .graph import Graph, Mask
from .provenance import orphan_mask
from .training import training_ops
from .traversal import forward
from .variables import FEED_TYPES, PLACEHOLDER_TYPES, VARIABLE_TYPES

_HELPER_TYPES = (
    "NoOp",
    "Assign",
    "AssignVariableOp",
    "Assert",
    "SaveV2",
    "RestoreV2",
    "VarIsInitializedOp",
    "Const",
    "ReadVariableOp",
    "Placeholder",
    "PlaceholderV2",
)

#: Unused ops of gradients and shape computations; listed after other outputs.
_HELPERS = ("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike", "Fill", "BroadcastGradientArgs", "Squeeze")
#: Ops with several results, each read through a separate Identity or Exit.
_CALL_TYPES = ("While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase", "PartitionedCall",
           "StatefulPartitionedCall", "Switch")  # fmt: skip


def placeholders_in(graph: Graph, ops: Mask) -> list[str]:
    """Returns the tensors that must be fed to run some ops: the outputs of their placeholders."""
    return [f"{graph.names[i]}:0" for i in np.flatnonzero(ops & graph.typed(PLACEHOLDER_TYPES)).tolist()]


def outputs_of(graph: Graph) -> list[str]:
    """Returns the likely outputs of a graph without a signature: tensors without consumers, results first.

    Orphans, and helpers such as the read op of a variable, are left out.

    Example:
        >>> g = Graph.of([("x", "Placeholder", []), ("c", "Const", []), ("s", "Shape", ["x"]), ("y", "Neg", ["x"])])
        >>> outputs_of(g)
        ['y:0', 's:0']
    """
    has_consumers = np.zeros(graph.size, np.bool_)
    has_consumers[graph.data.node] = True
    quiet = graph.typed([*_HELPER_TYPES, *VARIABLE_TYPES])
    candidates = np.flatnonzero(~has_consumers & ~quiet & ~orphan_mask(graph))
    exits = np.flatnonzero((graph.type_array == "Exit") & has_consumers).tolist()
    loop_scopes = {graph.names[i].rpartition("/")[0] for i in exits}
    candidates = np.array(
        [i for i in candidates.tolist() if not _is_leftover(graph, i, has_consumers, loop_scopes)], np.int64
    )
    # Outputs that depend on a feed come first: they are the results. Unused helpers follow, then gradients.
    fed = forward(graph, graph.typed(FEED_TYPES), control=False)
    helper = graph.typed(_HELPERS)
    rank = 4 * training_ops(graph)[candidates] + 2 * ~fed[candidates] + helper[candidates]
    order = candidates[np.argsort(rank, kind="stable")].tolist()
    return [f"{graph.names[i]}:0" for i in order if graph.outputs(i) is None or graph.outputs(i)]


def _is_leftover(graph: Graph, i: int, has_consumers: Mask, loop_scopes: set[str]) -> bool:
    """Returns whether an op is an unused result of a loop, cond or call that has another, used result."""
    if graph.types[i] == "Exit":
        return graph.names[i].rpartition("/")[0] in loop_scopes
    if graph.types[i] != "Identity" or len(graph.data.row(i)) != 1:
        return False
    block = int(graph.data.row(i)[0])
    if graph.types[block] == "Switch":
        ends = graph.input_names(block)
        return len(ends) == 2 and ends[0] == ends[1]  # the two sides of a cond's own pivot
    return graph.types[block] in _CALL_TYPES and bool(has_consumers[graph.consumers.row(block)].any())
