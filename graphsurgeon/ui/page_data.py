"""The data of the boundary, the plan, the outline and the search, in the form that the page needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import counted
from ..graph.arrays import size_text, variable_bytes
from ..graph.graph import Graph, Ints, Mask
from ..graph.names import join_scope, op_name
from ..graph.selection import Selection
from ..graph.variables import VariableInfo
from ..plan.dependencies import policies
from ..plan.fault import Fault
from ..plan.plan import Plan, without_muted
from ..plan.plan_result import PlanResult
from ..plan.steps.base import MutedStep, unwrap_muted
from ..plan.steps.copy import CopyStep
from ..view import page_types
from ..view.boxes import Item
from ..view.scene import Scene, label_of
from ..view.tree import Tree
from .state import Marks, State

if TYPE_CHECKING:
    from ..plan.copy_result import CopyResult
    from ..plan.preview import Preview
    from ..plan.steps.copy import CopyStep


_NAME_PATTERN = re.compile(r"""[^\s,;'"()\[\]]*[^\s,;'"()\[\].:]""")


def links(texts: Iterable[str], graphs: Mapping[str, Graph]) -> dict[str, list[list[str]]]:
    """Splits messages that contain names of ops, tensors or scopes into parts, so that the page can link the names.

    Args:
        texts: the messages.
        graphs: pane -> its graph; a name is a link to the first graph that has it.

    Returns:
        message -> its parts, in order: [text], or [name, target, pane]. Messages without names are left out.

    Example:
        >>> g = Graph.from_ops([("a/x", "Placeholder", []), ("reader", "Neg", ["a/x"])])
        >>> links(["no reader: a/x:0", "no reader"], {"source": g})
        {'no reader: a/x:0': [['no reader: '], ['a/x:0', 'a/x', 'source']]}
    """
    return {text: parts for text in dict.fromkeys(texts) if len(parts := _parts(text, graphs)) > 1}


def _parts(text: str, graphs: Mapping[str, Graph]) -> list[list[str]]:
    segments, end = [], 0
    for word in _NAME_PATTERN.finditer(text):
        if _is_name(text, *word.span()):
            name = op_name(word[0].removeprefix("^"))
            pane = next((pane for pane, graph in graphs.items() if _has(graph, name)), "")
            if pane:
                segments += [[text[end : word.start()]]] if word.start() > end else []
                segments.append([word[0], name, pane])
                end = word.end()
    return [*segments, [text[end:]]] if end < len(text) else segments


def _is_name(text: str, start: int, end: int) -> bool:
    """Returns whether a word is a name: it is in quotes, contains ``/`` or ``:``, or is in a list after a colon."""
    before, word, after = text[:start], text[start:end], text[end:]
    if "/" in word or ":" in word or before.endswith("'"):
        return True
    in_list = before.endswith((": ", ", ", " and ")) and (after in ("", ".") or after.startswith((", ", " and ")))
    return in_list and ": " in before


def _has(graph: Graph, name: str) -> bool:
    return name in graph.index or (name.endswith("/") and name[:-1] in graph.scopes.index)


_MAX_ROWS = 200
_SCOPES = 5


def tensor_row(graph: Graph, name: str) -> page_types.TensorRow:
    """Returns a tensor with its dtype and shape, for a list on the page. If an edit removed it, the text notes that."""
    if op_name(name) not in graph.index:
        return {"tensor": name, "dtype": "", "shape": "", "text": f"{name}  is gone"}
    info = graph.declared_info(*graph.tensor(name))
    if info is None:
        return {"tensor": name, "dtype": "", "shape": "", "text": name}
    dtype, _, shape = str(info).partition(" ")
    return {"tensor": name, "dtype": dtype, "shape": shape, "text": f"{name}  {info}"}


def boundary_data(
    graph: Graph,
    marks: Marks,
    region: Selection | None,
    problem: str,
    scene: Scene | None,
    spots: Ints | Sequence[int] = (),
) -> page_types.Boundary:
    """Returns the marked boundary: its tensors, and the size, the leaks and the boxes of the region.

    Args:
        graph: a snapshot that has the tensors.
        marks: the marked tensors.
        region: the ops between them; None if there is no region.
        problem: the reason why there is no region.
        scene: the picture; None if it shows another graph.
        spots: numbers of the ops of the picture that are in the region, or contain ops of it.
    """
    result: page_types.Boundary = {
        "inputs": [tensor_row(graph, t) for t in marks.inputs],
        "outputs": [tensor_row(graph, t) for t in marks.outputs],
        "included": list(marks.included),
        "ops": 0, "boxes": {}, "leak_count": 0, "leaks": [], "control_leaks": [], "variables": 0, "problem": problem,
    }  # fmt: skip
    if region is not None:
        crossing = region.boundary
        result["ops"] = len(region)
        result["leak_count"] = leak_count(region)
        result["leaks"] = [{"tensor": leak.tensor, "text": str(leak)} for leak in crossing.leaks[:_MAX_ROWS]]
        result["control_leaks"] = [
            {"tensor": b, "text": f"{a} must run after {b}"} for a, b in crossing.control_inputs[:_MAX_ROWS]
        ]
        result["variables"] = len(crossing.variables)
        if scene is not None:
            result["boxes"] = scene.count_by_box(np.asarray(spots, np.int64))
    return result


def leak_count(region: Selection) -> int:
    """Returns the number of leaks of a region: tensors and control inputs that enter it and are not marked."""
    return len(region.boundary.leaks) + len(region.boundary.control_inputs)


def boundary_text(marks: Marks, region: Selection) -> str:
    """Returns the boundary in one line."""
    ends = f"{len(marks.inputs)} in, {len(marks.outputs)} out"
    return f"Boundary: {ends}, {counted(len(region), 'ops')}, {counted(leak_count(region), 'leaks')}"


def receipt(effect: PlanResult) -> str:
    """Returns the effect of an applied plan, in one line."""
    scopes = [f"{c.step.to}/" if c.step.to else "the top level" for c in effect.copies if c.role != "graft"]
    parts = [f"{counted(len(effect.new_names), 'new ops')} under {', '.join(scopes)}"] if scopes else []
    for many, word in ((len(effect.variables), "variables"), (len(effect.connections), "connections")):
        parts += [counted(many, word)] if many else []
    parts += [counted(len(effect.replacements), "replacements")] if effect.replacements else []
    edits = {"inserted": effect.added, "changed": effect.changes, "renamed": effect.renamed, "removed": effect.removed}
    parts += [f"{counted(len(ops), 'ops')} {word}" for word, ops in edits.items() if ops]
    return "applied: " + ", ".join([*parts, "in a new graph"] if effect.mode == "materialize" else parts)


def _variable_rows(copy_result: CopyResult, preview: Preview) -> list[page_types.VariableRow]:
    """Returns a row for each variable of a copy with its policy: own, shared, frozen or replaced."""
    rows = [
        (v.info, v.name, v.policy, preview.start_value(copy_result, v.original, v.policy))
        for v in copy_result.variables
    ]
    rows += [(v, v.op, "share", "those of the original") for v in copy_result.shared]
    for sub in copy_result.closure.substitutes:
        end = (sub.tensor, "replace", "replaced by a tensor") if sub.tensor else (
            copy_result.renamed(sub.info.op), "freeze", preview.start_value(copy_result, sub.info.op, "freeze")
        )  # fmt: skip
        rows.append((sub.info, *end))
    rows.sort(key=lambda row: copy_result.source.index[row[0].op])
    return [_variable_row(info, name, policy, values) for info, name, policy, values in rows]


def _variable_row(info: VariableInfo, name: str, policy: str, values: str) -> page_types.VariableRow:
    size = variable_bytes(info)
    return {
        "name": name, "original": info.op, "dtype": info.dtype, "shape": info.shape,
        "size": size_text(size) if size else "", "policy": policy, "values": values,
    }  # fmt: skip


def _requested_variables(step: CopyStep) -> list[page_types.VariableRow]:
    """Returns the requested policies of a copy that cannot be made, so that they can be changed."""
    graph = step.selection.graph
    inside = [(v, how) for v, how in ((graph.state.variables[n], p) for n, p in policies(step, graph).items())
              if step.selection.mask[graph.index[v.op]]]  # fmt: skip
    return [_variable_row(v, join_scope(step.to, v.op), how, "") for v, how in inside]


def _input_rows(number: int, step: CopyStep, copy_result: CopyResult | None, plan: Plan) -> list[page_types.CopyEnd]:
    """Returns rows for the boundary inputs of a copy with their sources, and for its outputs."""
    graph, inputs = step.selection.graph, dict(step.inputs)
    constants, same = dict(step.constants), graph.folded.owner is plan.base.owner
    ends = Marks.around(step.selection)
    names = dict.fromkeys(ends.inputs if copy_result is None else _boundary_inputs(copy_result))
    new_names = {} if copy_result is None else {p.original: p.name for p in copy_result.placeholders}
    rows = list[page_types.CopyEnd]()
    for name in [*names, *(n for n in (*inputs, *constants) if n not in names)]:
        if name in constants:
            kind, by = "constant", repr(np.asarray(constants[name]).tolist())[:200]
        elif name in inputs:
            kind, by = ("keep", "") if same and inputs[name] == name else ("tensor", inputs[name])
        elif name in new_names:
            kind, by = "placeholder", new_names[name]
        else:
            kind, by = ("keep" if copy_result is not None or step.unmapped == "keep" else step.unmapped), ""
        rows.append({**tensor_row(graph, name), "step": number, "kind": kind, "source": by, "same": same, "end": "in"})
    if copy_result is None:
        return rows
    for name in ends.outputs:
        source = copy_result.renamed(name)
        rows.append(
            {**tensor_row(graph, name), "step": number, "kind": "", "source": source, "same": same, "end": "out"}
        )
    return rows


def _boundary_inputs(copy_result: CopyResult) -> list[str]:
    """Returns the boundary inputs of a copy, without variables, which have a separate table."""
    graph, variables = copy_result.source, copy_result.source.state.variables
    return [name for name in map(graph.name, copy_result.input_map) if op_name(name) not in variables]


def plan_data(plan: Plan, applied: str, source: Graph) -> page_types.DraftPlan:
    """Returns the plan bar: steps, errors, warnings, new ops, connections, and the code.

    Args:
        plan: the plan.
        applied: the effect of the last applied plan.
        source: the graph of the source pane.
    """
    effect, preview = plan.effect, plan.preview()
    counts = preview.counts
    faults = plan.check() if plan.steps else ()
    texts = [*effect.warnings, *(text for one in faults for text in (one.request, one.problem, one.suggestion))]
    new: list[page_types.NewOp] = [
        {"name": p.name, "original": p.original, "op": "Placeholder"} for c in effect.copies for p in c.placeholders
    ]
    for copied in effect.copies:
        for number, name in zip(copied.ops[:_MAX_ROWS].tolist(), copied.names[:_MAX_ROWS], strict=True):
            kind = copied.new_types.get(number, copied.source.types[number])
            new.append({"name": name, "original": copied.source.names[number], "op": kind})
    copies_by_key = {_key(copied.step): copied for copied in effect.copies}  # a later step may have renamed its ops
    variables = list[page_types.StepVariable]()
    for number, step in enumerate(plan.steps):
        if isinstance(step, CopyStep):
            copied_step = copies_by_key.get(_key(step))
            rows = _requested_variables(step) if copied_step is None else _variable_rows(copied_step, preview)
            variables += [{"step": number, **row} for row in rows]
    inputs = [row for number, step in enumerate(plan.steps) if isinstance(step, CopyStep)
              for row in _input_rows(number, step, copies_by_key.get(_key(step)), plan)]  # fmt: skip
    return {
        "inputs": inputs[:_MAX_ROWS],
        "scopes": {str(n): step.to for n, step in enumerate(plan.steps) if isinstance(step, CopyStep)},
        "steps": [{"text": unwrap_muted(step).describe(), "muted": isinstance(step, MutedStep)} for step in plan.steps],
        "mode": plan.mode,
        "also_copied": [str(pulled) for c in effect.copies for pulled in c.closure.dependencies][:_MAX_ROWS],
        "faults": [_fault(fault) for fault in faults],
        "warnings": list(effect.warnings),
        "links": links(texts, {"destination": plan.after(), "source": source} if texts else {}),
        "counts": {
            "ops": counts["ops"],
            "variables": counts["variables"],
            "placeholders": counts["placeholders"],
            "connections": counts["connections"],
            "changed": counts["changed"],
            "removed": counts["removed"],
        },
        "rows": len(variables),
        "new": new[:_MAX_ROWS],
        "variables": variables[:_MAX_ROWS],
        "connections": [
            {"from": c.tensor, "to": c.to, "input": c.input, "previous": c.previous or ""}
            for c in effect.connections[:_MAX_ROWS]
        ],
        "code": plan.to_code() if plan.steps else "",
        "ready": bool(without_muted(plan).steps) and not faults,
        "applied": applied,
    }


def _key(step: CopyStep) -> tuple[int, str]:
    return id(step.selection), step.to


def _fault(fault: Fault) -> page_types.Fault:
    """Returns an error with its fixes and the number of its step."""
    return {
        "request": fault.request, "problem": fault.problem, "suggestion": fault.suggestion,
        "fixes": [{"kinds": list(fix.kinds), "text": fix.text} for fix in fault.fixes], "step": fault.step,
    }  # fmt: skip


def look_data(state: State) -> page_types.Look:
    """Returns the view options: hidden ops and colors."""
    filters, paint = state.filters, state.paint
    return {
        "shown": sorted(filters.shown), "hidden": sorted(filters.hidden), "training": filters.training, "by": paint.by,
        "name": paint.name, "faded": list(state.faded), "budget": state.budget, "plan_view": state.plan_view,
    }  # fmt: skip


def outline_data(tree: Tree, open_rows: Set[str]) -> page_types.Outline:
    """Returns the visible rows of the outline tree, top to bottom."""
    rows = list[page_types.Row]()
    stack = [(item, 0) for item in reversed(tree.in_flow_order(tree.root))]
    while stack and len(rows) < 500:
        item, depth = stack.pop()
        here = bool(item.keys) and any(key in open_rows for key in (item.name, *item.keys))
        rows.append(
            {
                "name": item.name, "label": label_of(tree, item), "kind": item.kind, "count": _count(tree, item),
                "depth": depth, "open": here,
            }
        )  # fmt: skip
        if here:
            stack.extend((child, depth + 1) for child in reversed(tree.in_flow_order(item)))
    return {"rows": rows}


def _count(tree: Tree, item: Item) -> int:
    """Returns the number of ops in an item; for a call, in the functions that it calls."""
    call = tree.call(item)
    return len(tree.ops_of(item)) if call is None else call.count(tree.graph)


def hits_data(
    graph: Graph, ops: list[int], scene: Scene | None, spots: NDArray[Any] | None = None
) -> page_types.SearchResult:
    """Returns the first hits of a search, with the boxes that contain them.

    Args:
        graph: the snapshot.
        ops: numbers of the ops that were found, best first.
        scene: the picture; None if there is no picture.
        spots: for each op, its number or that of its call in the graph of the picture, or -1; None if the picture shows
            `graph`.

    Returns:
        ``hits``, their number in ``total``, and in ``boxes`` the number of hits in each box.
    """
    at, spots = np.full(len(ops), -1, np.int32), np.asarray(ops, np.int64) if spots is None else spots
    if scene is not None:
        at[spots >= 0] = scene.boxes_of(spots[spots >= 0])
    first: list[page_types.Hit] = [
        {
            "name": graph.names[op], "label": graph.names[op].rpartition("/")[2], "op": graph.types[op],
            "inside": scene.boxes[box].name if scene is not None and box >= 0 else "",
        }
        for op, box in zip(ops[:50], at[:50].tolist(), strict=True)
    ]  # fmt: skip
    boxes = {} if scene is None else scene.count_by_box(spots[spots >= 0])
    return {"hits": first, "total": len(ops), "boxes": boxes}


def scope_hits(graph: Graph, query: str, hidden: Mask) -> list[page_types.Hit]:
    """Returns the name scopes whose path equals a query, or ends with it; up to `_SCOPES`, outer scopes first.

    A scope with the name of an op only contains helpers of the op, and is left out. Scopes that the picture hides, such
    as those of variables, are left out if there are others.

    Args:
        graph: the graph.
        query: the query.
        hidden: the ops that the picture hides.
    """
    path = query.strip().strip("/")
    scope_names = [n for n in graph.scopes.named(path) if n not in graph.index] if path else []
    visible = [n for n in scope_names if not hidden[graph.scopes.ops_below(graph.scopes.index[n])].all()]
    return [
        {
            "name": f"{n}/",
            "label": n.rpartition("/")[2],
            "op": counted(int(graph.scope_mask(n).sum()), "ops"),
            "inside": "",
        }
        for n in sorted(visible or scope_names, key=lambda n: (n.count("/"), n))[:_SCOPES]
    ]
