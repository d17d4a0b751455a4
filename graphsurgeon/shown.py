"""Shown: what the page is told of boundary, plan and outline, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .core.effect import Effect
from .core.graph import Graph
from .core.plan import Plan
from .core.selection import Selection
from .marks import Marks
from .view.asides import counted
from .view.scene import Scene
from .view.tree import tree_of

if TYPE_CHECKING:
    from .history import Event

_MOST = 200


def tensor_row(graph: Graph, name: str) -> dict[str, str]:
    """Returns a tensor with its dtype and shape, for a list on the page."""
    info = graph.info(*graph.tensor(name))
    if info is None:
        return {"tensor": name, "dtype": "", "shape": "", "text": name}
    dtype, _, shape = str(info).partition(" ")
    return {"tensor": name, "dtype": dtype, "shape": shape, "text": f"{name}  {info}"}


def boundary_shown(
    graph: Graph,
    inputs: Sequence[str],
    outputs: Sequence[str],
    region: Selection | None,
    problem: str,
    scene: Scene | None,
) -> dict[str, Any]:
    """Returns the boundary that is marked: its tensors, the size of the region, the leaks, and which boxes hold it."""
    shown: dict[str, Any] = {
        "inputs": [tensor_row(graph, t) for t in inputs],
        "outputs": [tensor_row(graph, t) for t in outputs],
        "ops": 0, "boxes": {}, "leaks": [], "control_leaks": [], "variables": 0, "problem": problem,
    }  # fmt: skip
    if region is not None:
        crossing = region.boundary
        shown["ops"] = region.count
        shown["leaks"] = [{"tensor": leak.tensor, "text": str(leak)} for leak in crossing.leaks[:_MOST]]
        shown["control_leaks"] = [
            {"tensor": b, "text": f"{a} must run after {b}"} for a, b in crossing.control_inputs[:_MOST]
        ]
        shown["variables"] = len(crossing.variables)
        if scene is not None:
            at = np.where(scene.op_box >= 0, scene.op_box, scene.aside_box)[region.mask]
            boxes, counts = np.unique(at[at >= 0], return_counts=True)
            shown["boxes"] = {scene.boxes[b].name: int(n) for b, n in zip(boxes.tolist(), counts.tolist(), strict=True)}
    return shown


def boundary_text(marks: Marks, region: Selection) -> str:
    """Returns the boundary in one line."""
    leaks = len(region.boundary.leaks)
    ends = f"{len(marks.inputs)} in, {len(marks.outputs)} out"
    return f"Boundary: {ends}, {counted(region.count, 'ops')}, {counted(leaks, 'leaks')}"


def receipt(effect: Effect) -> str:
    """Returns what an applied plan has done, in one line."""
    scopes = [f"{c.step.to}/" if c.step.to else "the top level" for c in effect.copies]
    parts = [f"{counted(len(effect.new_names), 'new ops')} under {', '.join(scopes)}"] if scopes else []
    for things, word in ((effect.variables, "variables"), (effect.connections, "connections")):
        parts += [counted(len(things), word)] if things else []
    return "applied: " + ", ".join([*parts, "in a new graph"] if effect.mode == "materialise" else parts)


def plan_shown(plan: Plan, redo: int, history: Sequence[Event], applied: str) -> dict[str, Any]:
    """Returns the plan bar: steps, faults, warnings, what is made, what is joined, and the code."""
    effect, preview = plan.effect, plan.preview()
    faults, gone = plan.check(), [event.undone for event in history]
    new = [{"name": p.name, "was": p.was, "op": "Placeholder"} for c in effect.copies for p in c.placeholders]
    for copied in effect.copies:
        for number, name in zip(copied.ops[:_MOST].tolist(), copied.names[:_MOST], strict=True):
            kind = copied.turned.get(number, copied.source.types[number])
            new.append({"name": name, "was": copied.source.names[number], "op": kind})
    variables = [
        {
            "name": v.name, "was": v.was, "dtype": v.info.dtype, "shape": v.info.shape, "policy": v.policy,
            "values": preview.start_of(v.policy, c.step.values),
        }
        for c in effect.copies for v in c.variables
    ] + [
        {
            "name": sub.tensor or c.renamed(sub.info.op), "was": sub.info.op, "dtype": sub.info.dtype,
            "shape": sub.info.shape, "policy": "replace" if sub.tensor else "freeze",
            "values": "that tensor" if sub.tensor else "current value",
        }
        for c in effect.copies for sub in c.closure.substitutes
    ]  # fmt: skip
    return {
        "steps": [{"text": step.text} for step in plan.steps],
        "redo": redo or int(gone[-1:] == [True] and not plan.steps),
        "undo": bool(plan.steps) or not all(gone),
        "mode": plan.mode,
        "along": [str(pulled) for c in effect.copies for pulled in c.closure.pulled][:_MOST],
        "faults": [{"asked": f.asked, "wrong": f.wrong, "instead": f.instead} for f in faults],
        "warnings": list(effect.warnings),
        "counts": preview.counts,
        "new": new[:_MOST],
        "variables": variables[:_MOST],
        "connections": [
            {"from": c.tensor, "to": c.to, "text": f"{c.tensor} → {c.to} input {c.input}", "was": c.was or ""}
            for c in effect.connections[:_MOST]
        ],
        "code": plan.to_code() if plan.steps else "",
        "ready": bool(plan.steps) and not faults,
        "applied": applied,
    }


def outline_shown(graph: Graph, opened: set[str]) -> dict[str, Any]:
    """Returns the visible rows of the outline tree, top to bottom."""
    tree = tree_of(graph)
    rows: list[dict[str, Any]] = []
    stack = [(item, 0) for item in reversed(tree.inside(tree.root))]
    while stack and len(rows) < 500:
        item, depth = stack.pop()
        here = bool(item.keys) and any(key in opened for key in (item.name, *item.keys))
        rows.append(
            {
                "name": item.name, "label": item.label, "kind": item.kind, "count": len(tree.ops_of(item)),
                "depth": depth, "open": here,
            }
        )  # fmt: skip
        if here:
            stack.extend((child, depth + 1) for child in reversed(tree.inside(item)))
    return {"rows": rows}


def hits_shown(graph: Graph, names: list[str], scene: Scene | None) -> dict[str, Any]:
    """Returns the first hits of a search, each with the box that shows or holds it, and how many there are."""
    hits = []
    for name in names[:50]:
        op = graph.index[name]
        at = -1
        if scene is not None:
            at = int(scene.op_box[op]) if scene.op_box[op] >= 0 else int(scene.aside_box[op])
        box = scene.boxes[at].name if scene is not None and at >= 0 else ""
        hits.append({"name": name, "label": name.rpartition("/")[2], "op": graph.types[op], "inside": box})
    return {"hits": hits, "total": len(names)}
