"""Summary: a graph in a few lines that a person can read without any widget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .graph.graph import Graph, Mask
from .graph.signatures import Serving
from .graph.traversal import forward
from .graph.variables import FEED_TYPES, VARIABLE_TYPES
from .view.helpers import training_ops
from .words import counted, few

NOTHING = Serving()
_QUIET = (
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

#: What gradients and shapes leave over; shown after the answers.
_HELPERS = ("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike", "Fill", "BroadcastGradientArgs", "Squeeze")
#: Ops with several results, each read through an Identity or Exit of its own.
_BLOCKS = ("While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase", "PartitionedCall",
           "StatefulPartitionedCall", "Switch")  # fmt: skip


def summary(
    graph: Graph,
    orphans: frozenset[str] = frozenset(),
    warnings: Sequence[str] = (),
    serving: Serving = NOTHING,
) -> str:
    """Returns name, size, inputs, outputs, scopes, variables, collections and op types of a graph, and warnings.

    Args:
        graph: the graph.
        orphans: names of ops left without a role.
        warnings: what to know.
        serving: the signatures of the file, and which of them the graph is.
    """
    edges = len(graph.data.node)
    head = f"{graph.title}: {counted(graph.size, 'ops')}, {counted(edges, 'edges')}"
    if len(graph.control.node):
        head += f", {counted(len(graph.control.node), 'control edges')}"
    rows = _served(serving)
    alive = [i for i in range(graph.size) if graph.names[i] not in orphans]
    rows.append(("inputs", [_tensor(graph, i) for i in alive if graph.types[i].startswith("Placeholder")]))
    rows.append(("outputs", [_tensor(graph, i) for i in outputs_of(graph) if graph.names[i] not in orphans]))
    scopes = graph.scopes
    tops = sorted(scopes.children[0], key=lambda s: -int(scopes.counts[s]))
    rows.append(("scopes", [f"{scopes.names[s]}/  {counted(int(scopes.counts[s]), 'ops')}" for s in tops]))
    variables = [v for v in graph.state.variables.values() if v.op not in orphans]
    rows.append(("variables", [f"{v.op}  {v.dtype} {v.shape}" for v in variables]))
    rows.append(("collections", [f"{k}  {len(v)}" for k, v in graph.state.collections.items() if v]))
    lines = [head]
    for word, items in rows:
        if not items:
            continue
        shown = items[:6] if word != "collections" else items[:8]
        width = max(len(w) for w, i in rows if i)
        lines += [f"  {word if k == 0 else '':<{width}}  {item}" for k, item in enumerate(shown)]
        if len(items) > len(shown):
            lines.append(f"  {'':<{width}}  … {len(items) - len(shown)} more")
    if graph.size > 12:
        kinds, counts = np.unique(graph.type_array, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:8]
        lines.append("  op types: " + ", ".join(f"{counts[i]} {kinds[i]}" for i in order))
    if orphans:
        lines.append(f"  {counted(len(orphans), 'orphans')} left by undo")
    lines += [f"  warning: {sentence}" for sentence in warnings]
    return "\n".join(lines)


def _served(serving: Serving) -> list[tuple[str, list[str]]]:
    """The signatures of a file; of one that was opened, how many others there are, and what was left out."""
    names = [one.name for one in serving.signatures]
    if not serving.opened:
        return [("signatures", names)]
    others = [name for name in names if name != serving.opened]
    more = f"; others: {few(others)}" if others else ""
    left = f"{counted(serving.left, 'ops')} that save, restore or serve others; raw=True shows them"
    return [("signature", [serving.opened + more]), ("left out", [left] if serving.left else [])]


def _tensor(graph: Graph, i: int) -> str:
    info = graph.info(i, 0)
    return f"{graph.names[i]}  {info}" if info else graph.names[i]


def outputs_of(graph: Graph) -> list[int]:
    """Returns the ops with an output that nobody reads, answers first; helpers left out."""
    read = np.zeros(graph.size, np.bool_)
    read[graph.data.node] = True
    quiet = graph.typed([*_QUIET, *VARIABLE_TYPES])
    candidates = np.flatnonzero(~read & ~quiet)
    exits = np.flatnonzero((graph.type_array == "Exit") & read).tolist()
    done = {graph.names[i].rpartition("/")[0] for i in exits}
    candidates = np.array([i for i in candidates.tolist() if not _leftover(graph, i, read, done)], np.int64)
    # What hangs on a feed comes first: these are the answers. Helpers that nobody fetched follow, then gradients.
    fed = forward(graph, graph.typed(FEED_TYPES), control=False)
    helper = graph.typed(_HELPERS)
    rank = 4 * training_ops(graph)[candidates] + 2 * ~fed[candidates] + helper[candidates]
    order = candidates[np.argsort(rank, kind="stable")].tolist()
    return [i for i in order if graph.outputs(i) is None or graph.outputs(i)]


def _leftover(graph: Graph, i: int, read: Mask, done: set[str]) -> bool:
    """Whether this is a result of a loop, cond or call that nobody wants, while another one is read."""
    if graph.types[i] == "Exit":
        return graph.names[i].rpartition("/")[0] in done
    if graph.types[i] != "Identity" or len(graph.data.row(i)) != 1:
        return False
    block = int(graph.data.row(i)[0])
    if graph.types[block] == "Switch":
        ends = graph.input_names(block)
        return len(ends) == 2 and ends[0] == ends[1]  # the two sides of a cond's own pivot
    return graph.types[block] in _BLOCKS and bool(read[graph.consumers.row(block)].any())
