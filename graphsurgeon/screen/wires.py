"""Wires: the data for the page to drag a tensor: the inputs that can read it, why others cannot, the adapters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..graph.boundary import Tensor
from ..graph.edges import Edges
from ..graph.graph import Graph
from ..graph.names import op_name, tensor_name
from ..plan.copied import Copied
from ..plan.cures import adapters_of
from ..plan.resolve.connect import input_of
from ..plan.takers import takers as judged
from ..plan.workbench import Workbench
from .boundary import only_output
from .copies import with_makers
from .stage import Stage
from .state import State

_MOST = 24
"""So many inputs of a box are listed; of a fold those that fit first."""
_JUDGED = 300
"""So many inputs of a box are looked at."""


def takers(stage: Stage, state: State, tensor: str, pane: str = "source") -> tuple[State, dict[str, Any]]:
    """Returns the inputs of the boxes of the destination that could read a tensor, and why the others cannot.

    Args:
        tensor: the tensor; or a box that one tensor leaves.
        pane: the pane of the tensor. If the source is another graph, its copy in the plan is meant.

    Returns:
        the tensor as `connect` has it, its dtype and shape, the pane of the boxes, and for each box its inputs: of a
        fold those that read something outside. ``copies`` is the number of ops that must be copied first, as
        `copy_and_connect` does; the tensor is that of the source then.

    Raises:
        SelectionError: there is no such tensor.
    """
    request = f"takers({tensor!r})"
    name = only_output(stage, state, tensor, "takers", pane) if tensor[:1] == "~" or tensor[-1:] == "/" else tensor
    where = "source" if stage.same and not stage.draft(state).steps else "destination"
    state = stage.settled(state)
    stage.draw(state, where)
    scene, graph = stage.panes[where].scene, stage.shown(state, where).graph
    assert scene is not None
    name, copies, bench, end = _read(stage, state, name, pane, graph, request)
    data = graph.data
    rows = data.rows
    box, other = scene.op_box[rows], scene.op_box[data.node]
    alone = np.array([one.kind in ("op", "call", "variable") for one in scene.boxes] or [False])
    edges = np.flatnonzero((box >= 0) & ((box != other) | alone[box]))
    edges = edges[np.argsort(box[edges], kind="stable")]
    found: dict[str, Any] = {}
    for group in np.split(edges, np.flatnonzero(np.diff(box[edges])) + 1):
        if not len(group):
            continue
        inputs = zip(rows[group].tolist(), (group - data.ptr[rows[group]]).tolist(), strict=True)
        at, takers = int(box[group[0]]), list(judged(bench, end, list(inputs)[:_JUDGED]))
        if not alone[at]:
            takers.sort(key=lambda taker: bool(taker.why))
        found[scene.boxes[at].name] = [
            {"op": t.op, "input": t.input, "reads": t.reads, "why": t.why, "adaptable": t.adaptable}
            for t in takers[:_MOST]
        ]
    info = bench.info(*end)
    text = "" if info is None else str(info)
    return state, {"tensor": name, "text": text, "pane": where, "boxes": found, "copies": copies}


def adapters(
    stage: Stage, state: State, tensor: str, to: str, input: int = 0, pane: str = "destination"
) -> tuple[State, list[dict[str, Any]]]:
    """Returns the adapters that make a tensor fit an input of an op, the most sensible first.

    Args:
        tensor: the tensor, by its name in `takers`.
        to: the op.
        input: which of its inputs.
        pane: the pane of the tensor.
    """
    request = f"adapters({tensor!r}, {to!r}, {input})"
    here = [tensor, to] if stage.same or pane == "destination" else [to]
    graph = stage.around(stage.graph(state, "destination"), here).graph
    _, _, bench, source = _read(stage, state, tensor, pane, graph, request)
    op = bench.find(op_name(to), request)
    wanted = bench.info(*input_of(bench, op, input, request))
    found = () if wanted is None else adapters_of(bench, source, wanted, [op])
    return state, [{"by": list(one.by), "text": str(one)} for one in found]


def _read(
    stage: Stage, state: State, tensor: str, pane: str, graph: Graph, request: str
) -> tuple[str, int, Workbench, Tensor]:
    """Returns a tensor that ops of a graph are to read: its name, how many ops are copied for it, and where it is.

    A tensor of another graph that the plan copies has a name here. A placeholder represents one that it does not copy.
    """
    bench, name = Workbench(graph), tensor_name(tensor)
    if pane == "destination" or stage.same:
        return name, 0, bench, bench.tensor(name, request)
    copied = next(filter(None, (_copied(one, name) for one in _copies(stage, state))), None)
    if copied is not None:
        return copied, 0, bench, bench.tensor(copied, request)
    source = stage.around(stage.source.snapshot, [name]).graph
    info = source.info(*source.tensor(name, request))
    plan, _ = with_makers(stage, state, name, request)
    none = Edges.of(np.empty(0, np.int32), np.empty(0, np.int32), 1)
    tell = None if info is None else lambda _: (info,)
    stand_in = bench.add([op_name(name)], ["Placeholder"], [None], none, none, tell), 0
    return name, len(plan.effect.new_names) - len(stage.draft(state).effect.new_names), bench, stand_in


def _copies(stage: Stage, state: State) -> Iterator[Copied]:
    """Yields the copies of the source in the plan, the last one first."""
    for copied in reversed(stage.draft(state).effect.copies):
        if copied.source.folded.owner is stage.source.snapshot.owner:
            yield copied


def _copied(copied: Copied, tensor: str) -> str:
    """Returns the name of a tensor in a copy; empty if the copy does not hold it."""
    name = copied.renamed(op_name(tensor))
    return copied.renamed(tensor) if copied.original(name) == op_name(tensor) else ""
