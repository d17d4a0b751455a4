"""The summary, the SVG picture and the page of a graph. The page works without a kernel."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .. import tf
from ..errors import OpenError, SurgeryError, counted, did_you_mean, few
from ..graph.functions import count_calls
from ..graph.graph import Graph, Mask
from ..graph.layers import NO_LAYERS, Layers
from ..graph.lazy_graph import lazy_graph_of
from ..graph.names import op_name
from ..graph.op_packages import unknown_rows
from ..graph.open_graph import OpenedGraph, ServingInfo, outputs_of
from ..graph.security import SAVERS
from ..graph.training import training_ops
from ..graph.traversal import backward, follow_chain, forward
from ..graph.variables import INPUT_TYPES, VARIABLE_TYPES

NOTHING = OpenedGraph()


def summary(
    graph: Graph,
    orphans: frozenset[str] = frozenset(),
    warnings: Sequence[str] = (),
    model: OpenedGraph = NOTHING,
    layers: Layers = NO_LAYERS,
    new_ops: frozenset[str] = frozenset(),
) -> str:
    """Returns name, size, inputs, outputs, scopes, layers, variables, collections, op types, warnings of a graph.

    Args:
        graph: the graph.
        orphans: names of ops left without a role.
        warnings: sentences for the last lines.
        model: the description of the model; if a function was opened, only its results and new ops are outputs.
        layers: its Keras layers; inputs and outputs are listed by the names of layers.
        new_ops: names of the ops that plans have added; those without consumers are outputs.
    """
    edges = len(graph.data.node)
    head = f"{graph.title}: {counted(graph.size, 'ops')}, {counted(edges, 'edges')}"
    if len(graph.control.node):
        head += f", {counted(len(graph.control.node), 'control edges')}"
    rows = _signature_rows(model.serving)
    hidden_counts: dict[str, int] = {}
    saving = _saver_ops(graph)
    starts = {op_name(info.initial_value) for info in graph.state.variables.values() if info.initial_value}
    inputs, results = ({op_name(tensor): None for tensor in ends} for ends in model.limited_to(graph.index).ends)
    likely = (op for op in map(op_name, outputs_of(graph)) if not results or op in new_ops)
    ends = [graph.index[op] for op in dict.fromkeys([*results, *likely]) if op not in orphans]
    fed = [i for i, kind in enumerate(graph.types) if kind in INPUT_TYPES or graph.names[i] in inputs]
    fed = [i for i in fed if graph.names[i] not in starts and graph.names[i] not in orphans]
    apart = saving | training_ops(graph)
    apart[[graph.index[op] for op in results]] = False
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
    core = graph.type_mask(SAVERS)
    if not core.any():
        return core
    needs = backward(graph, core, control=False)
    after = core | forward(graph, core)
    outside = np.zeros(graph.size, np.bool_)
    outside[graph.data.node[~(needs | after)[graph.data.rows]]] = True
    kinds = graph.type_mask(VARIABLE_TYPES)
    return np.asarray(after | (needs & ~outside & ~kinds), np.bool_)


def _signature_rows(serving: ServingInfo) -> list[tuple[str, list[str]]]:
    """Returns rows about the signatures of a file, and about ops that were left out for the opened signature."""
    names = [one.name for one in serving.signatures]
    if not serving.opened_signature:
        return [("signatures", names)]
    others = [name for name in names if name != serving.opened_signature]
    more = f"; others: {few(others)}" if others else ""
    omitted_text = f"{counted(serving.omitted_ops, 'ops')} that save, restore or serve others; raw=True shows them"
    return [
        ("signature", [serving.opened_signature + more]),
        ("left out", [omitted_text] if serving.omitted_ops else []),
    ]


def _end(graph: Graph, layers: Layers, i: int) -> str:
    """Returns the text of an input or output, with the name of its layer if it has one."""
    info, name = graph.info(i, 0), graph.names[i]
    giver = follow_chain(i, lambda op: next(iter(graph.data.row(op).tolist() * (graph.types[op] == "Identity")), None))
    tensors = {f"{graph.names[op]}:0" for op in (i, giver)}
    by = [one.path for one in layers if tensors.intersection(one.outputs)]
    outer = [path for path in by if "/" not in path] or by
    label = f"{outer[-1]} ({name})" if outer and outer[-1] != name else name
    return f"{label}  {info}" if info else label


PATIENCE = 1.0
"""The time that a static picture waits for shapes, in seconds."""


def infer(graph: Graph) -> None:
    """Makes the live graph of a file, so that TensorFlow infers shapes, and waits up to `PATIENCE` seconds.

    If TensorFlow is not imported yet, no shapes are inferred. A slower import of the graph continues in the background.

    Args:
        graph: the snapshot.
    """

    def make() -> None:
        with suppress(OpenError):  # the shapes stay as the file states them
            graph.live_graph  # noqa: B018

    if lazy_graph_of(graph.owner) is not None and tf.import_tensorflow.is_loaded():
        # not a daemon: a process that exits inside TensorFlow may crash
        thread = threading.Thread(target=contextvars.copy_context().run, args=(make,), name="graphsurgeon-shapes")
        thread.start()
        thread.join(PATIENCE)


class Picture(str):
    """A picture as SVG text, which a notebook shows without a widget.

    Args:
        svg: the picture.
        description: a description of the picture.
    """

    description: str

    def __new__(cls, svg: str, description: str) -> Picture:
        """Returns the text with its words."""
        picture = super().__new__(cls, svg)
        picture.description = description
        return picture

    def __repr__(self) -> str:
        return f"<Picture of {self.description}>"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        from ..ui.pane import picture_html

        svg = str(self)
        return {"image/svg+xml": svg, "text/html": picture_html(svg, self.description), "text/plain": self.description}


def svg_of(screen: Any, open_folds: Iterable[str] | None = None) -> Picture:
    """Returns the picture of a screen, as `Editor.to_svg` does, with the known shapes."""
    svg = screen.svg() if open_folds is None else screen.svg_of(fold_keys(screen, open_folds, "to_svg"))
    return Picture(svg, f"{screen.source.title}: {counted(screen.source.snapshot.size, 'ops')}")


def fold_keys(screen: Any, open_folds: Iterable[str], call: str) -> frozenset[str]:
    """Returns the scopes and calls to open.

    Raises:
        SurgeryError: if `open_folds` is not a list of names, for example a path, or a name is not a scope or call.
    """
    from ..view.tree import find_item

    alone = isinstance(open_folds, (str, bytes)) or not isinstance(open_folds, Iterable)
    names: list[Any] = [open_folds] if alone else list(open_folds)
    if alone or not all(isinstance(name, str) for name in names):
        how = f"Type {call}(open_folds=['net/', 'net/block1/']). Write a file with Path(...).write_text(...)"
        raise SurgeryError(f"{call}({open_folds!r})", "open_folds= is not a list of the scopes and calls to open", how)
    tree = screen.tree_of(frozenset(names))
    for name in names:
        there = name.endswith("/") and name[:-1] in tree.graph.scopes.index
        if not there and find_item(tree, name.removesuffix("+")) is None:
            names_of_graph = [*(f"{scope}/" for scope in tree.graph.scopes.names if scope), *tree.graph.names]
            problem = f"there is no scope or call {name!r} to open"
            raise SurgeryError(f"{call}({names!r})", problem, did_you_mean(name, names_of_graph))
    return frozenset(names)
