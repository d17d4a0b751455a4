"""Describes a graph in a few lines of text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import counted, few
from ..graph.functions import count_calls
from ..graph.graph import Graph, Mask
from ..graph.layers import NO_LAYERS, Layers
from ..graph.names import op_name
from ..graph.op_packages import unknown_rows
from ..graph.open_graph import ServingInfo
from ..graph.security import SAVERS
from ..graph.traversal import backward, follow_chain, forward
from ..graph.variables import FEED_TYPES, VARIABLE_TYPES
from ..view.helper_ops import training_ops

NOTHING = ServingInfo()
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


def summary(
    graph: Graph,
    orphans: frozenset[str] = frozenset(),
    warnings: Sequence[str] = (),
    serving: ServingInfo = NOTHING,
    layers: Layers = NO_LAYERS,
    results: Sequence[str] = (),
    new_ops: frozenset[str] = frozenset(),
) -> str:
    """Returns name, size, inputs, outputs, scopes, layers, variables, collections, op types, warnings of a graph.

    Args:
        graph: the graph.
        orphans: names of ops left without a role.
        warnings: sentences for the last lines.
        serving: the signatures of the file, and the one that was opened.
        layers: its Keras layers; inputs and outputs are listed by the names of layers.
        results: names of the tensors that a function returns; other tensors of the function are not outputs.
        new_ops: names of the ops that plans have added; those without consumers are outputs.
    """
    edges = len(graph.data.node)
    head = f"{graph.title}: {counted(graph.size, 'ops')}, {counted(edges, 'edges')}"
    if len(graph.control.node):
        head += f", {counted(len(graph.control.node), 'control edges')}"
    rows = _signature_rows(serving)
    hidden_counts: dict[str, int] = {}
    alive = [i for i in range(graph.size) if graph.names[i] not in orphans]
    saving = _saver_ops(graph)
    starts = {op_name(info.initial_value) for info in graph.state.variables.values() if info.initial_value}
    fed = [i for i in alive if graph.types[i].startswith("Placeholder") and graph.names[i] not in starts]
    ends = [i for i in _outputs(graph, results, new_ops) if graph.names[i] not in orphans]
    result_ops = {graph.index[op] for op in map(op_name, results) if op in graph.index}
    apart = saving | training_ops(graph)
    apart[list(result_ops)] = False
    for word, items_of_word, beside in (("inputs", fed, saving), ("outputs", ends, apart)):
        own = [i for i in items_of_word if not beside[i]] or items_of_word
        rows.append((word, [_end(graph, layers, i) for i in own]))
        hidden_counts[word] = len(items_of_word) - len(own)
    scopes = graph.scopes
    tops = sorted(scopes.children(0), key=lambda s: -int(scopes.counts[s]))
    rows.append(("scopes", [f"{scopes.names[s]}/  {counted(int(scopes.counts[s]), 'ops')}" for s in tops]))
    rows.append(("layers", [layers.text] if layers else []))
    calls, inner_count = count_calls(graph.nodes, graph.functions)
    rows.append(("calls", [f"{counted(calls, 'ops')} with {counted(inner_count, 'ops')} inside"] if calls else []))
    variables = [v for v in graph.state.variables.values() if v.op not in orphans]
    rows.append(("variables", [f"{v.op}  {v.dtype} {v.shape}" for v in variables]))
    rows.append(("collections", [f"{k}  {len(v)}" for k, v in graph.state.collections.items() if v]))
    rows.append(("unknown", unknown_rows(graph)))
    lines = [head]
    for word, items in rows:
        if not items:
            continue
        first_items = items[:6] if word != "collections" else items[:8]
        width = max(len(w) for w, i in rows if i)
        lines += [f"  {word if k == 0 else '':<{width}}  {item}" for k, item in enumerate(first_items)]
        if len(items) > len(first_items):
            lines.append(f"  {'':<{width}}  … {len(items) - len(first_items)} more")
        if hidden_counts.get(word):
            lines.append(f"  {'':<{width}}  … {hidden_counts[word]} of saving{' and training' * (word == 'outputs')}")
    if graph.size > 12:
        kinds, counts = np.unique(graph.type_array, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:8]
        lines.append("  op types: " + ", ".join(f"{counts[i]} {kinds[i]}" for i in order))
    if orphans:
        lines.append(f"  {counted(len(orphans), 'orphans')} left by undo")
    lines += [f"  warning: {sentence}" for sentence in warnings]
    return "\n".join(lines)


def _saver_ops(graph: Graph) -> Mask:
    """Returns the ops that save or restore, the ops that only they need, and their descendants."""
    core = graph.typed(SAVERS)
    if not core.any():
        return core
    needs = backward(graph, core, control=False)
    after = core | forward(graph, core)
    outside = np.zeros(graph.size, np.bool_)
    outside[graph.data.node[~(needs | after)[graph.data.rows]]] = True
    kinds = graph.typed(VARIABLE_TYPES)
    return np.asarray(after | (needs & ~outside & ~kinds), np.bool_)


def _signature_rows(serving: ServingInfo) -> list[tuple[str, list[str]]]:
    """Returns rows about the signatures of a file, and about ops that were left out for the opened signature."""
    names = [one.name for one in serving.signatures]
    if not serving.opened:
        return [("signatures", names)]
    others = [name for name in names if name != serving.opened]
    more = f"; others: {few(others)}" if others else ""
    omitted_text = f"{counted(serving.left, 'ops')} that save, restore or serve others; raw=True shows them"
    return [("signature", [serving.opened + more]), ("left out", [omitted_text] if serving.left else [])]


def _end(graph: Graph, layers: Layers, i: int) -> str:
    """Returns the text of an input or output, with the name of its layer if it has one."""
    info, name = graph.info(i, 0), graph.names[i]
    giver = follow_chain(i, lambda op: next(iter(graph.data.row(op).tolist() * (graph.types[op] == "Identity")), None))
    tensors = {f"{graph.names[op]}:0" for op in (i, giver)}
    by = [one.path for one in layers if tensors.intersection(one.outputs)]
    outer = [path for path in by if "/" not in path] or by
    label = f"{outer[-1]} ({name})" if outer and outer[-1] != name else name
    return f"{label}  {info}" if info else label


def _outputs(graph: Graph, results: Sequence[str], new_ops: frozenset[str]) -> list[int]:
    """Returns the known outputs, then likely outputs. For a function, only ops added by plans are likely outputs."""
    result_ops = [graph.index[op] for op in map(op_name, results) if op in graph.index]
    return list(
        dict.fromkeys([*result_ops, *(i for i in outputs_of(graph) if not result_ops or graph.names[i] in new_ops)])
    )


def outputs_of(graph: Graph) -> list[int]:
    """Returns the ops with an output without consumers, results first; helpers are left out."""
    has_consumers = np.zeros(graph.size, np.bool_)
    has_consumers[graph.data.node] = True
    quiet = graph.typed([*_HELPER_TYPES, *VARIABLE_TYPES])
    candidates = np.flatnonzero(~has_consumers & ~quiet)
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
    return [i for i in order if graph.outputs(i) is None or graph.outputs(i)]


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
