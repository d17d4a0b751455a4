"""Inspector: what there is to know of one op, scope or series, as rows for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .core.graph import Graph
from .core.selection import Selection
from .core.walks import edge_rows
from .errors import SelectionError, did_you_mean
from .view.asides import counted
from .view.items import ops_named

if TYPE_CHECKING:
    from .editor import Editor

_MOST = 12


def details(graph: Graph, name: str) -> dict[str, Any]:
    """Returns title, rows, inputs, outputs, control inputs, consumers and documentation of a box.

    Args:
        graph: the snapshot.
        name: an op, a scope with a slash at the end, or a series key.

    Raises:
        SelectionError: there is nothing of that name.
    """
    op = graph.index.get(name)
    if op is not None:
        return _op(graph, op)
    mask = ops_named(graph, name)
    if mask is None:
        raise SelectionError(
            f"details({name!r})",
            f"there is nothing of that name in {graph.title}",
            did_you_mean(name, graph.index),
        )
    from .core.selection import Query

    inside = Selection(graph, mask, Query("select"))
    crossing = inside.boundary
    rows = [["ops", f"{inside.count:,}"], *([kind, f"{n:,}"] for kind, n in list(inside.types.items())[:8])]
    if crossing.variables:
        rows.append(["variables", f"{len(crossing.variables):,}"])
    return {
        "title": name.rstrip("/"),
        "rows": rows,
        "inputs": [_tensor(graph, t) for t in crossing.inputs[:_MOST]],
        "outputs": [_tensor(graph, t) for t in crossing.outputs[:_MOST]],
        "control_inputs": sorted({outside for _, outside in crossing.control_inputs})[:_MOST],
        "consumers": [],
        "doc": "",
    }


def reasons(editor: Editor, name: str, region: Selection | None) -> list[list[str]]:
    """Returns rows that say where an op comes from, why it is in the region, and what holds it.

    Args:
        editor: the editor of the graph.
        name: an op; of anything else nothing is said.
        region: what is between the boundary tensors, where they are marked.
    """
    graph = editor.snapshot
    if name not in graph.index:
        return []
    origin, rows = editor.provenance(name), []
    if origin.kind != "original" or origin.changes:
        rows.append(["comes from", str(origin)])
    if region is not None and name in region:
        path = editor.why(name, region)
        way = " → ".join(path.names) if len(path.names) <= 5 else f"{len(path):,} steps to {path.end}"
        rows.append(["in the region", path.reason.partition(" because ")[2] + (f": {way}" if len(path) else "")])
    elif region is not None:
        rows.append(["not in the region", editor.why_not(name, region).text.partition(" because ")[2]])
    held = editor.blocks(name)
    words = {"data": "readers", "control": "waiting ops", "colocated": "colocated ops"}
    counts = [counted(n, words.get(kind, kind)) for kind, n in held.counts.items() if n]
    rows.append(["held by", ", ".join(counts) or "nothing: it can be removed"])
    return rows


def _tensor(graph: Graph, name: str) -> dict[str, str]:
    info = graph.info(*graph.tensor(name))
    return {"tensor": name, "text": str(info) if info else ""}


def _op(graph: Graph, op: int) -> dict[str, Any]:
    from .tf.describe import attribute_text, documentation

    node, kind = graph.nodes[op], graph.types[op]
    rows: list[list[str]] = [["type", kind]]
    if getattr(node, "device", ""):
        rows.append(["device", node.device])
    for key in sorted(getattr(node, "attr", {})):
        if key != "_output_shapes":
            rows.append([key, attribute_text(node.attr[key])])
    readers = sorted({graph.names[i] for i in graph.consumers.row(op).tolist()})
    waiting = [graph.names[int(r)] for r in edge_rows(graph.control)[graph.control.node == op]]
    outputs = graph.outputs(op)
    if outputs is None:
        ports = np.unique(graph.consumers.port[graph.consumers.ptr[op] : graph.consumers.ptr[op + 1]]).tolist()
        shown = [{"tensor": f"{graph.names[op]}:{p}", "text": ""} for p in ports or [0]]
    else:
        shown = [{"tensor": f"{graph.names[op]}:{p}", "text": str(info)} for p, info in enumerate(outputs)]
    if waiting:
        rows.append(["waited for by", f"{len(waiting)} ops"])
    return {
        "title": graph.names[op],
        "rows": rows,
        "inputs": [_tensor(graph, t) for t in graph.input_names(op)],
        "outputs": shown,
        "control_inputs": graph.control_names(op)[:_MOST],
        "consumers": readers[:_MOST],
        "doc": documentation(kind),
    }
