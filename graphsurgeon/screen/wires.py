"""Wires: what a page has to know of a tensor that is dragged: what could take it, why not, what makes it fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import SelectionError
from ..graph.names import op_name, tensor_name
from ..plan.cures import adapters_of
from ..plan.resolve.connect import input_of
from ..plan.takers import takers as judged
from ..plan.workbench import Workbench
from .boundary import only_output
from .stage import Stage
from .state import State

_MOST = 24
"""So many inputs of a box are listed; of a fold those that fit first."""
_JUDGED = 300
"""So many inputs of a box are looked at."""


def takers(stage: Stage, state: State, tensor: str, pane: str = "source") -> tuple[State, dict[str, Any]]:
    """Says which inputs of the boxes of the destination could read a tensor, and why the others cannot.

    Args:
        tensor: the tensor; or a box that one tensor leaves.
        pane: where it is. Of a source that is another graph, its copy in the plan is meant.

    Returns:
        the tensor as `connect` has it, its dtype and shape, the pane of the boxes, and for each box its inputs: of a
        fold those that read something outside.

    Raises:
        SelectionError: there is no such tensor, or the plan has no copy of it.
    """
    asked = f"takers({tensor!r})"
    name = only_output(stage, state, tensor, "takers", pane) if tensor[:1] == "~" or tensor[-1:] == "/" else tensor
    name = _copied(stage, state, name, asked) if pane == "source" and not stage.same else tensor_name(name)
    where = "source" if stage.same and not stage.draft(state).steps else "destination"
    state = stage.settled(state)
    stage.draw(state, where)
    scene, graph = stage.panes[where].scene, stage.shown(state, where).graph
    assert scene is not None
    end, data = graph.tensor(name, asked), graph.data
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
        at, told = int(box[group[0]]), list(judged(graph, end, list(inputs)[:_JUDGED]))
        if not alone[at]:
            told.sort(key=lambda taker: bool(taker.why))
        found[scene.boxes[at].name] = [
            {"op": t.op, "input": t.input, "reads": t.reads, "why": t.why, "misfit": t.misfit} for t in told[:_MOST]
        ]
    info = graph.info(*end)
    answer = {"tensor": name, "text": "" if info is None else str(info), "pane": where, "boxes": found}
    return state, answer


def adapters(stage: Stage, state: State, tensor: str, to: str, input: int = 0) -> tuple[State, list[dict[str, Any]]]:
    """Says what would make a tensor fit where an op reads another, the most sensible first.

    Args:
        tensor: the tensor, as `connect` has it.
        to: the op.
        input: which of its inputs.
    """
    asked = f"adapters({tensor!r}, {to!r}, {input})"
    bench = Workbench(stage.around(stage.graph(state, "destination"), [tensor, to]).graph)
    op, source = bench.find(op_name(to), asked), bench.tensor(tensor_name(tensor), asked)
    wanted = bench.info(*input_of(bench, op, input, asked))
    found = () if wanted is None else adapters_of(bench, source, wanted, [op])
    return state, [{"by": list(one.by), "text": str(one)} for one in found]


def _copied(stage: Stage, state: State, tensor: str, asked: str) -> str:
    """The name that a tensor of another graph has in the copy that the plan makes of it."""
    for copied in reversed(stage.draft(state).effect.copies):
        if copied.source.folded.owner is stage.source.snapshot.owner:
            name = copied.renamed(op_name(tensor))
            if copied.original(name) == op_name(tensor):
                return copied.renamed(tensor_name(tensor))
    raise SelectionError(
        asked,
        f"{tensor_name(tensor)!r} is in {stage.source.title}, and the plan copies nothing there that makes it",
        f"Copy what makes it to {stage.destination.title} first (c)",
    )
