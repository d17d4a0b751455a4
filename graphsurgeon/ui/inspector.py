"""The properties of one op, scope or series, in rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..errors import counted, few
from ..graph.arrays import bytes_of, size_text, tensor_bytes, variable_bytes
from ..graph.boundary import Tensor, entering_tensors, tensors_into, tensors_out_of
from ..graph.calls import CallTree, ExpandedGraph
from ..graph.functions import CALLS, NAMES_OF_GRADIENTS, READ_BY_GRADIENT, gradient_of
from ..graph.graph import Graph, Mask, TensorInfo, shape_text
from ..graph.layers import Layers, scopes_of
from ..graph.op_packages import package_of, unknown_words
from ..graph.open_graph import Ends
from ..graph.selection import Selection
from ..graph.types import TFNodeDef
from ..graph.variables import VARIABLE_TYPES
from ..plan.editor_like import EditorLike
from ..view import page_types
from ..view.tree import Tree
from .run_results import numbers
from .state import Facts, ops_of

_ENDS = 3
"""The maximum number of inputs and outputs that the sentence about a model names."""


def model_text(graph: Graph, ends: Ends, layers: Layers, undone: Iterable[str] = ()) -> str:
    """Returns a model in one line: its inputs, its size, its outputs.

    Args:
        graph: the graph.
        ends: its inputs and outputs.
        layers: its Keras layers, or none.
        undone: the ops of undone plans, which are not counted.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"])])
        >>> model_text(g, Ends(inputs={"x": "x:0"}, outputs={"y": "y:0"}), Layers(()))
        'x → 2 ops → y'
    """
    ops = ~graph.mask(graph.index[name] for name in undone)
    size = bytes_of(graph, np.flatnonzero(ops).tolist())
    middle = counted(int(ops.sum()), "ops") + (f" in {counted(len(layers), 'layers')}" if len(layers) else "")
    middle += f", {size_text(size)} in constants and variables" if size else ""
    return " → ".join(filter(None, (_ends_text(graph, ends.inputs), middle, _ends_text(graph, ends.outputs))))


def _ends_text(graph: Graph, tensors: Mapping[str, str]) -> str:
    texts = []
    for key, tensor in list(tensors.items())[:_ENDS]:
        op, port = graph.tensor(tensor)
        info = graph.declared_info(op, port)
        texts.append(key if info is None or info.shape is None else f"{key} {shape_text(info.shape)}")
    more = len(tensors) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more else "")


_MAX_NAMES = 60
"""The maximum number of names shown in a list; the total is shown too."""
_KINDS = 8
_HIDDEN_ATTRIBUTES = frozenset({"_output_shapes", "_class", "_saved_gradient", READ_BY_GRADIENT})
"""Attributes that are left out, because other rows show them."""
_PASSIVE_TYPES = ("Const", "NoOp", "Identity")
_MAX_FLOP_OPS = 2000
"""The largest number of ops whose floating-point operations are counted: TensorFlow takes about 20 µs for each."""


def details_of(tree: Tree, name: str, facts: Facts, calls: CallTree | None = None) -> page_types.Details:
    """Returns title, rows, inputs, outputs, control inputs, consumers and documentation of a box, and more for an op.

    Args:
        tree: the graph, with its hidden helpers.
        name: an op, a scope with a slash at the end, or a series key.
        facts: facts on ops.
        calls: the calls of the graph, at any depth; None: rows about calls are left out.

    Returns:
        plain data. ``python`` is the code that returns the box, ``histogram`` shows the values of a constant, ``value``
        is true if a value can be fetched, and ``totals`` has the full lengths of the lists that are
        not complete.

    Raises:
        SelectionError: if nothing has that name.
    """
    graph = tree.graph
    op = graph.index.get(name)

    def write(tensor: Tensor) -> page_types.TensorText:
        return {"tensor": graph.name(tensor), "text": str(graph.declared_info(*tensor) or "")}

    if op is not None:
        about = _op(tree, op, facts, write, calls)
        return about if calls is None or name in calls.base.index else {**about, "python": f"ed.select(name={name!r})"}
    return _folds(tree, [name], facts, write, calls)[0]


def all_details(
    tree: Tree, names: Sequence[str], facts: Facts, write: Callable[[Tensor], Any]
) -> list[page_types.Details]:
    """Returns the details of several boxes, like `details_of`, but without rows about calls.

    Args:
        tree: the graph, with its hidden helpers.
        names: the names of the boxes.
        facts: facts on ops.
        write: returns the form in which a tensor is listed.
    """
    folds = [name for name in names if name not in tree.graph.index]
    found = dict(zip(folds, _folds(tree, folds, facts, write), strict=True))
    return [found[name] if name in found else _op(tree, tree.graph.index[name], facts, write) for name in names]


def _folds(
    tree: Tree, names: Sequence[str], facts: Facts, write: Callable[[Tensor], Any], calls: CallTree | None = None
) -> list[page_types.Details]:
    """Returns the details of scopes and series. One search over the edges is enough for all of them."""
    graph, searched = tree.graph, calls.searchable.graph if calls is not None and tree.calls is not None else tree.graph
    sizes = cache(lambda op: bytes_of(searched, [op]))
    parts = [np.flatnonzero(ops_of(tree, [name], "details")) for name in names]
    ends = zip(
        tensors_into(graph, parts),
        tensors_out_of(graph, parts),
        graph.control.crossing(parts),
        graph.consumers.crossing(parts),
        strict=True,
    )
    out = []
    for name, part, (inputs, outputs, waits, reads) in zip(names, parts, ends, strict=True):
        ops = part.tolist()
        out.append(
            _panel(
                name.strip("~/"),
                _fold_rows(tree, ops, inputs, sizes, facts, calls),
                inputs=inputs,
                outputs=outputs,
                control_inputs=sorted({graph.names[outside] for _, outside, _ in waits}),
                consumers=[graph.names[i] for i in sorted({reader for _, reader, _ in reads})],
                write=write,
                limit=_MAX_NAMES,
                python=_python(graph, ops, name),
            )
        )
    return out


def _fold_rows(
    tree: Tree,
    ops: list[int],
    inputs: list[Tensor],
    sizes: Callable[[int], int],
    facts: Facts,
    calls: CallTree | None,
) -> list[list[str]]:
    """Returns rows about the ops of a scope or series, which reads some tensors, and about the ops in its calls."""
    graph, within = tree.graph, ops
    if calls is not None and tree.calls is not None:
        mask = _within(calls.searchable, tree.calls, ops)
        within, inputs = np.flatnonzero(mask).tolist(), entering_tensors(calls.searchable.graph, mask)
    more = len(within) - len(ops)
    head = ["ops", f"{len(ops):,}" + (f", and {more:,} in calls" if more > 0 else "")]
    kinds = sorted(Counter(graph.types[op] for op in ops).items(), key=lambda pair: (-pair[1], pair[0]))
    rows = [head, *([kind, f"{n:,}"] for kind, n in kinds[:_KINDS])]
    if kinds[_KINDS:]:
        others = sum(n for _, n in kinds[_KINDS:])
        rows.append(["others", f"{others:,}, of {counted(len(kinds) - _KINDS, 'types')}"])
    if graph.unknown_types and (lost := unknown_words(graph, graph.mask(ops))):
        rows.append(["unknown", lost])
    variables = sum(n for kind, n in kinds if kind in VARIABLE_TYPES)
    if variables:
        rows.append(["variables", f"{variables:,}"])
    read = (op for op, _ in inputs)  # a Keras layer reads variables that are outside its scope
    size = sum(map(sizes, {*within, *read}))
    if size:
        rows.append(["holds", f"{size_text(size)} in constants and variables"])
    flops = _flops(facts, tree, ops, calls)
    if flops[0]:
        rows.append(["FLOPs", f"{_flops_text(flops)} for known shapes"])
    return rows


def ops_inside(tree: Tree, name: str, calls: CallTree) -> list[str]:
    """Returns the names of the ops in a box, also inside calls, at any depth.

    Args:
        tree: the graph, with its hidden helpers.
        name: an op, a scope with a slash at the end, or a series key.
        calls: the calls of the graph.

    Raises:
        SelectionError: if nothing has that name.
    """
    op = tree.graph.index.get(name)
    mask = ops_of(tree, [name], "details") if op is None else tree.graph.mask([op])
    if tree.calls is None:
        return [tree.graph.names[i] for i in np.flatnonzero(mask).tolist()]
    deep = calls.searchable
    return [deep.graph.names[i] for i in np.flatnonzero(_within(deep, tree.calls, np.flatnonzero(mask))).tolist()]


def _within(expanded: ExpandedGraph, picture: ExpandedGraph, ops: Any) -> Mask:
    """Returns a mask of the ops, at any depth of calls, inside some ops of the picture.

    Ops of a gradient function only count if the picture shows that gradient.
    """
    visible = expanded.positions_in(picture)
    mask: Mask = np.isin(visible, ops)
    mask[expanded.gradient_ops] &= np.isin(visible[expanded.gradient_ops], picture.gradient_ops)
    return mask


def _panel(
    title: str,
    rows: list[list[str]],
    *,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    control_inputs: Sequence[str],
    consumers: Sequence[str],
    write: Callable[[Tensor], Any],
    limit: int | None,
    python: str,
    doc: str = "",
    histogram: page_types.Histogram | None = None,
    value: bool = False,
) -> page_types.Details:
    """Returns the details of a box for the page, with limited lists of tensors, control inputs and consumers."""
    tensors, ops = {"inputs": inputs, "outputs": outputs}, {"control_inputs": control_inputs, "consumers": consumers}
    totals = {key: len(ends) for key, ends in tensors.items() if limit is not None and len(ends) > limit}
    return {
        "title": title,
        "rows": rows,
        "inputs": [write(tensor) for tensor in inputs[:limit]],
        "outputs": [write(tensor) for tensor in outputs[:limit]],
        "control_inputs": list(control_inputs[:_MAX_NAMES]),
        "consumers": list(consumers[:_MAX_NAMES]),
        "totals": totals | {key: len(names) for key, names in ops.items() if len(names) > _MAX_NAMES},
        "doc": doc,
        "histogram": histogram,
        "value": value,
        "python": python,
    }


def _python(graph: Graph, ops: Sequence[int], name: str) -> str:
    """Returns the call that selects the ops of a scope or series."""
    if name.endswith("/") and not name.startswith("~"):
        return f"ed.select(scope={name.rstrip('/')!r})"
    return f"ed.select(name={[graph.names[op] for op in ops]!r})" if len(ops) <= 200 else ""


def layer_rows(graph: Graph, layers: Layers, name: str) -> tuple[list[list[str]], str]:
    """Returns rows about the Keras layer of a box, and the code that returns the layer.

    Args:
        graph: the snapshot.
        layers: its layers.
        name: an op, or a scope with a slash at the end.
    """
    whole = scopes_of(graph, layers).get(name)
    if whole is None:
        around = [one for one in layers if name in one.ops or name in one.variables]
        kind = f" ({around[-1].class_name})" if around and around[-1].class_name else ""
        return ([["of layer", around[-1].path + kind]] if around else []), ""
    layer, call = whole
    rows = [["layer", layer.path], *([["class", layer.class_name]] if layer.class_name else [])]
    if len(layer.calls) > 1 and call in layer.calls:
        rows.append(["call", f"{layer.calls.index(call) + 1} of {len(layer.calls)}"])
    return [*rows, *(["variable", variable] for variable in layer.variables[:_KINDS])], f"ed.layer({layer.path!r})"


def reasons(editor: EditorLike, name: str, region: Selection | None) -> list[list[str]]:
    """Returns rows on the origin of an op, the reason why it is in the region, and the ops that use it.

    Args:
        editor: the editor of the graph.
        name: an op; anything else has no rows.
        region: the ops between the boundary tensors, if they are marked.
    """
    graph = editor.snapshot
    if name not in graph.index:
        return []
    origin, rows = editor.provenance(name), []
    if origin.kind != "original" or origin.changes:
        rows.append(["comes from", str(origin)])
    if region is not None and name in region:
        path = editor.explain(name, region)
        way = " → ".join(path.names) if len(path.names) <= 5 else f"{counted(len(path), 'steps')} to {path.end}"
        rows.append(["in the region", path.cause + (f": {way}" if len(path) else "")])
    elif region is not None:
        rows.append(["not in the region", editor.explain(name, region).cause])
    blockers = editor.removal_blockers(name)
    words = {"data": "consumers", "control": "waiting ops", "colocated": "colocated ops", "init_ops": "tables"}
    counts = [counted(n, words.get(kind, kind)) for kind, n in blockers.counts.items() if n]
    rows.append(["used by", ", ".join(counts) or "Unused (can be removed)"])
    return rows


def _places(tree: Tree, op: int, calls: CallTree | None) -> list[list[str]]:
    """Returns rows on the function that an op is in, or calls, and on the other callers of the function."""
    if calls is None:
        return []
    part, call = tree.calls.instance_of(op) if tree.calls is not None else None, tree.folded.get(op)
    rows = []
    if part is not None:
        how = "the gradient of" if part.gradient else "called by"
        rows.append(["function", f"{part.function}, {how} {part.call_name}"])
        rows += _elsewhere(calls, part.function, part.call_name)
    if call is not None:
        rows.append(
            ["calls", call.function_names + (f", {counted(call.count(tree.graph), 'ops')}" if call.functions else "")]
        )
        for called in call.functions:
            rows += _elsewhere(calls, called.function, tree.graph.names[op])
    return rows


def _elsewhere(calls: CallTree, function: str, own: str) -> list[list[str]]:
    others = [name for name in calls.callers(function) if name != own]
    return [["also called by", few(others)]] if others else []


def _op(
    tree: Tree, op: int, facts: Facts, write: Callable[[Tensor], Any], calls: CallTree | None = None
) -> page_types.Details:
    graph = tree.graph
    node, kind = graph.nodes[op], graph.types[op]
    rows: list[list[str]] = [["type", kind], *_places(tree, op, calls)]
    if kind in graph.unknown_types:
        of = package_of(kind)
        rows.append(
            ["unknown", f"the installed TensorFlow does not have this type{f'; it is likely of {of}' if of else ''}"]
        )
    if getattr(node, "device", ""):
        rows.append(["device", node.device])
    together = node.attr["_class"].list.s if "_class" in getattr(node, "attr", {}) else ()
    if together:
        rows.append(["together with", ", ".join(_class(text) for text in together[:_MAX_NAMES])])
    rows += _gradient(graph, node)
    value = facts.constant_value(node)
    for key in sorted(getattr(node, "attr", {})):
        if key not in _HIDDEN_ATTRIBUTES and (key != "value" or value is None):
            rows.append([key, facts.attribute_text(node.attr[key])])
    about: page_types.Numbers = numbers(value) if value is not None else {"rows": [], "histogram": None}
    rows += about["rows"]
    readers = sorted({graph.names[i] for i in graph.consumers.row(op).tolist()})
    waiting = graph.control_consumers.row(op)
    outputs = graph.declared_outputs(op)
    ports = np.unique(graph.consumers.ports(op)).tolist() or [0] if outputs is None else range(len(outputs))
    sizes = [_bytes(info) for info in outputs or ()]
    if sizes and None not in sizes and (size := sum(n or 0 for n in sizes)):
        rows.append(["output size", size_text(size)])
    variable = graph.state.variables.get(graph.names[op])
    if variable is not None and variable_bytes(variable):
        rows.append(["variable size", size_text(variable_bytes(variable))])
    flops = _flops(facts, tree, [op], calls)
    if flops[0]:
        rows.append(["FLOPs", _flops_text(flops)])
    if len(waiting):
        rows.append(["waited for by", counted(len(waiting), "ops")])
    name = graph.names[op]
    return _panel(
        name,
        rows,
        inputs=graph.data.ends(op),
        outputs=[(op, port) for port in ports],
        control_inputs=graph.control_names(op),
        consumers=readers,
        write=write,
        limit=None,
        python=f"ed.op({name!r})",
        doc=facts.documentation(kind),
        histogram=about["histogram"],
        value=variable is not None or (kind == "Const" and value is None),
    )


def _gradient(graph: Graph, node: TFNodeDef | None) -> list[list[str]]:
    """Returns a row on the custom gradient of an op: a function that can be opened, or Python code."""
    if node is None:  # an op that a plan would make
        return []
    own, _ = gradient_of(node, graph.gradients, graph.functions)
    if own in graph.functions:
        return [["gradient", f"{counted(len(graph.functions[own].node_def), 'ops')}; function={own!r} opens it"]]
    if own:
        return [["gradient", f"{own}, which the graph does not contain"]]
    attributes = getattr(node, "attr", {})
    name = next((attributes[key].s.decode("utf-8", "replace") for key in NAMES_OF_GRADIENTS if key in attributes), "")
    traced = name.rpartition("-")[0] in CALLS  # the gradient that any call has
    return [["gradient", f"{name}: Python code outside the graph"]] if name and not traced else []


def _class(text: bytes) -> str:
    """Returns one colocation constraint without TensorFlow's own prefix."""
    return text.decode("utf-8", "replace").removeprefix("loc:@")


def _bytes(info: TensorInfo) -> int | None:
    """Returns the bytes of a tensor; None if its shape or dtype is not known."""
    if info.shape is None or None in info.shape:
        return None
    return tensor_bytes(info) or (0 if 0 in info.shape else None)


def _flops_text(flops: tuple[int, bool]) -> str:
    return f"{flops[0]:,}" + (" per example" if flops[1] else "")


def _flops(facts: Facts, tree: Tree, ops: list[int], calls: CallTree | None) -> tuple[int, bool]:
    """Returns the floating-point operations of ops and of the functions they call; 0 for more than `_FLOPS_OF` ops."""
    if calls is None or tree.calls is None or len(tree.calls.instances) + len(tree.folded) == 1:
        return _flops_of(facts, tree.graph, ops)
    deep = calls.searchable
    within = np.flatnonzero(_within(deep, tree.calls, ops))
    if len(within) > _MAX_FLOP_OPS:
        return 0, False
    own = [deep.number[within][deep.part[within] == k].tolist() for k in range(len(deep.instances))]
    counts = [_flops_of(facts, part.graph, some) for part, some in zip(deep.instances, own, strict=True) if some]
    return sum(count for count, _ in counts), any(one for _, one in counts)


def _flops_of(facts: Facts, graph: Graph, ops: list[int]) -> tuple[int, bool]:
    if len(ops) > _MAX_FLOP_OPS:
        return 0, False
    return facts.flops(graph, [i for i in ops if graph.types[i] not in _PASSIVE_TYPES])
