"""Commands that copy boxes by drag, duplicate and paste, and that connect a dragged tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ...errors import PlanError, counted, few
from ...graph.boundary import Tensor
from ...graph.edges import Edges
from ...graph.graph import Graph
from ...graph.names import free_name, op_name, tensor_name
from ...graph.selection import Selection, selection_from
from ...graph.traversal import backward
from ...plan.copy_result import CopyResult
from ...plan.edge_checks import consumers_of, find_input_candidates, fitting_adapters, input_of
from ...plan.editor_like import EditorLike
from ...plan.mutable_graph import MutableGraph
from ...plan.plan import Plan
from ...view import page_types
from ...view.helper_ops import CONSTANT, VARIABLE, Helpers
from ..render_context import RenderContext
from ..state import Marks, State
from .boundary import only_output
from .edits import ops_in, remove
from .plan import with_edit, with_plan
from .specs import FREE, Count, NameOrNone, Names, PaneName, Text, YesOrNo, edit, look


@dataclass(frozen=True, eq=False)
class ClipboardItem:
    """The copied or cut ops, and the editor of their graph."""

    selection: Selection
    editor: EditorLike


class Clipboard:
    """The clipboard for Ctrl+V, which all screens of a process share."""

    def __init__(self) -> None:
        self.item: ClipboardItem | None = None


CLIPBOARD = Clipboard()
"""The clipboard of this process."""


@look("copy boxes to the clipboard", gesture="menu")
def copy_to_clipboard(context: RenderContext, state: State, names: Names, pane: PaneName = "source") -> State:
    """Copies boxes to the clipboard of this process, for `paste` here or on another screen; nothing changes.

    Args:
        names: the boxes.
        pane: the pane of the boxes.
    """
    selection = _selected_ops(context, state, names, pane, "copy_to_clipboard")
    CLIPBOARD.item = ClipboardItem(selection, context.editor(pane))
    return state.with_status(f"{counted(len(selection), 'ops')} copied: Ctrl+V pastes them")


@edit("copy boxes to the clipboard, and remove them", gesture="menu")
def cut(context: RenderContext, state: State, names: Names) -> State:
    """Copies boxes to the clipboard, and removes them.

    Args:
        names: names of boxes of the destination.
    """
    copy_to_clipboard(context, state, names, "destination")
    return remove(context, state, names)


@edit("paste a copy of the clipboard", gesture="menu")
def paste(context: RenderContext, state: State, to: NameOrNone = None, keep_inputs: YesOrNo = False) -> State:
    """Adds a copy of the clipboard to the plan.

    Args:
        to: the scope of the copy; None: a free one.
        keep_inputs: whether the copy reads the same tensors as the original, or in another graph tensors of the
            same names.
            Otherwise placeholders feed it, and the constants and variables that it reads are also copied.

    Raises:
        PlanError: if the clipboard is empty.
    """
    item = CLIPBOARD.item
    if item is None:
        raise PlanError(
            "paste()", "the clipboard is empty", "Select boxes and press Ctrl+C first, or call copy_to_clipboard(names)"
        )
    return _with_pasted_copy(context, state, item, to, keep_inputs)


@edit("duplicate boxes, also from the other graph", gesture="drag boxes to the other pane")
def duplicate(
    context: RenderContext,
    state: State,
    names: Names,
    pane: PaneName = "destination",
    to: NameOrNone = None,
    keep_inputs: YesOrNo = True,
) -> State:
    """Adds a copy of boxes to the plan: of the same graph, or of another graph.

    Args:
        names: the boxes.
        pane: the pane of the boxes.
        to: the scope of the copy; None: a free one.
        keep_inputs: as for `paste`.
    """
    return _with_pasted_copy(
        context,
        state,
        ClipboardItem(_selected_ops(context, state, names, pane, "duplicate"), context.editor(pane)),
        to,
        keep_inputs,
    )


@edit("insert a copy of boxes after a tensor", gesture="drag boxes onto an edge")
def insert_copy(
    context: RenderContext,
    state: State,
    names: Names,
    on: Text,
    to: Annotated[NameOrNone, "Scope of the copy", FREE] = None,
    pane: PaneName = "destination",
) -> State:
    """Puts a copy of boxes between a tensor and all its consumers: two steps, a copy and a reroute.

    Args:
        names: the boxes. One tensor must enter them, apart from constants and variables, and one must leave them.
        on: a tensor of the destination.
        to: the scope of the copy; None: a free one.
        pane: the pane of the boxes.

    Raises:
        PlanError: if not exactly one tensor enters the boxes and one leaves them.
        SelectionError: if a box does not exist.
    """
    selection, plan = _selected_ops(context, state, names, pane, "insert_copy"), context.draft(state)
    request, marks = f"insert_copy({few(selection.names)})", Marks.around(selection)
    for verb, ends in (("enter", marks.inputs), ("leave", marks.outputs)):
        if len(ends) != 1:
            problem = f"{counted(len(ends), 'tensors')} {verb} the copied ops" + (f": {few(ends)}" if ends else "")
            raise PlanError(request, problem, f"Select ops that one tensor {verb}s")
    tensor = tensor_name(on)
    scope = to or free_name("copy", plan.after().is_name_used)
    subject = context.editor(pane)
    copied = _copy(plan, ClipboardItem(selection, subject), scope, {marks.inputs[0]: tensor}, "keep")
    graph = copied.after()
    readers = sorted({graph.names[i] for i, _ in consumers_of(graph, graph.tensor(tensor))})
    own = [op for op in readers if op.startswith(f"{scope}/")]
    plan = copied.reroute(tensor, to=f"{scope}/{marks.outputs[0]}", exclude=own)
    return with_edit(context, state, plan, f"a copy of {few(selection.names)} will follow {tensor}")


@edit(
    "copy the producers of a tensor of the source, and connect the copy",
    gesture="drag from the other graph to a box",
)
def copy_and_connect(
    context: RenderContext, state: State, tensor: Text, to: Text, input: Count = 0, kinds: Names = ()
) -> State:
    """Copies the producers of a tensor of the source, and connects the copy: two steps of the plan.

    Args:
        tensor: a tensor of the source. If it is an output of the boundary, the region is copied.
        to: the op of the destination that will read the copy. If the op has no inputs, its consumers will read it.
        input: the number of the input of the op.
        kinds: the kinds of adapters that make it fit, as for `Plan.adapt`; empty if the tensor fits.

    Raises:
        PlanError: if the ops cannot be copied.
        SelectionError: if the tensor does not exist.
    """
    op, name = op_name(to), tensor_name(tensor)
    request = f"copy_and_connect({tensor!r}, {to!r})"
    plan, copy = with_copied_producers(context, state, name, request)
    count = len(plan.effect.new_names) - len(context.draft(state).effect.new_names)
    graph = context.around(plan.after(), [op]).graph
    reads = len(graph.data.row(graph.find(op, request)))
    if kinds:
        plan, what = plan.adapt(copy, to=op, input=input if reads else None, kinds=kinds), f"input {input} of {op}"
    elif reads:
        plan, what = plan.connect(copy, to=op, input=input), f"input {input} of {op}"
    else:
        plan, what = plan.reroute(f"{op}:0", to=copy), f"the consumers of {op}:0"
    return with_edit(context, state, plan, f"{counted(count, 'new ops')}; {copy} will feed {what}")


def with_copied_producers(context: RenderContext, state: State, tensor: str, request: str) -> tuple[Plan, str]:
    """Returns the plan with a copy of the producers of a source tensor, and the name of the tensor in the copy.

    Args:
        tensor: a tensor of the source.
        request: the request, for messages.

    Raises:
        PlanError: if the ops cannot be copied.
        SelectionError: if the tensor does not exist.
    """
    plan, source = context.draft(state), context.source
    region = context.region(state)[0] if tensor in map(tensor_name, state.marks.outputs) else None
    selection = source.select(outputs=tensor) if region is None else region
    values = source if source.values.has_values else None
    scope, control = free_name("copy", plan.after().is_name_used), "keep" if context.is_single_graph else "drop"
    plan = plan.copy(selection, to=scope, unmapped="placeholder", control=control, values=values)
    if not plan.effect.copies:
        fault = plan.effect.faults[0]
        raise PlanError(request, fault.problem, fault.suggestion)
    return plan, plan.effect.copies[-1].renamed(tensor)


def _with_pasted_copy(
    context: RenderContext, state: State, item: ClipboardItem, to: str | None, keep_inputs: bool
) -> State:
    """Returns the state with a copy of the clipboard in its plan."""
    plan = context.draft(state)
    graph, selection = plan.after(), item.selection
    scope = to or free_name("copy", graph.is_name_used)
    inputs: dict[str, str] = {}
    if keep_inputs and not _is_own(plan, selection):
        inputs = {t: t for t in Marks.around(selection).inputs if op_name(t) in graph.index}
    plan = _copy(plan, item, scope, inputs, "keep" if keep_inputs else "placeholder")
    return with_plan(context, state, plan, f"{counted(len(selection), 'ops')} will be copied to {scope}/")


def _copy(plan: Plan, item: ClipboardItem, scope: str, inputs: dict[str, str], unmapped: str) -> Plan:
    """Returns the plan with a copy. Between two graphs, placeholders feed the inputs that are not mapped."""
    own, values = _is_own(plan, item.selection), item.editor if item.editor.values.has_values else None
    if own and unmapped == "keep":
        return plan.copy(item.selection, to=scope, inputs=inputs, unmapped=unmapped, values=values)
    selection, control = _with_helpers(item.selection), None if own else "drop"
    return plan.copy(selection, to=scope, inputs=inputs, unmapped="placeholder", control=control, values=values)


def _with_helpers(selection: Selection) -> Selection:
    """Returns the ops with the constants and variables that they read."""
    graph = selection.graph
    helpers = np.isin(Helpers.from_graph(graph).kind, (CONSTANT, VARIABLE))
    return selection_from(graph, backward(graph, selection.mask, control=False, within=selection.mask | helpers))


def _is_own(plan: Plan, selection: Selection) -> bool:
    """Returns whether ops belong to the graph that a plan changes."""
    own: bool = selection.graph.folded.owner is plan.base.owner
    return own


def _selected_ops(context: RenderContext, state: State, names: Sequence[str], pane: str, verb: str) -> Selection:
    """Returns the ops of boxes, in the graph before the plan.

    Raises:
        PlanError: if the plan itself adds an op of the boxes.
        SelectionError: if a box does not exist.
    """
    ops = ops_in(context, state, names, verb, pane)
    base = context.around(context.editor(pane).snapshot, ops).graph
    late = [op for op in ops if op not in base.index]
    if late:
        raise PlanError(f"{verb}({few(ops)})", f"{late[0]!r} is made by this plan", "Apply the plan first")
    return selection_from(base, (base.index[op] for op in ops))


_MAX_INPUTS = 24
"""The maximum number of inputs listed for a box. For a fold, inputs that fit come first."""
_MAX_CHECKED = 300
"""The maximum number of inputs of a box that are checked."""


@look("list the possible consumers of a tensor", gesture="drag from a port or an edge")
def input_candidates(
    context: RenderContext, state: State, tensor: Text, pane: PaneName = "source"
) -> tuple[State, page_types.InputCandidates]:
    """Returns the inputs of the boxes of the destination that could read a tensor, and why the others cannot.

    Args:
        tensor: the tensor; or a box that one tensor leaves.
        pane: the pane of the tensor. A tensor of another source graph means its copy in the plan.

    Returns:
        the tensor by its name for `connect`, its dtype and shape, the pane of the boxes, and box -> its inputs; for a
        fold, only inputs from outside. ``copies`` is the number of ops that `copy_and_connect` must copy first; the
        tensor is then that of the source.

    Raises:
        SelectionError: the tensor does not exist.
    """
    request = f"input_candidates({tensor!r})"
    name = (
        only_output(context, state, tensor, "input_candidates", pane)
        if tensor[:1] == "~" or tensor[-1:] == "/"
        else tensor
    )
    where: page_types.PaneName = (
        "source" if context.is_single_graph and not context.draft(state).steps else "destination"
    )
    state = context.current_state(state)
    context.draw(state, where)
    scene, graph = context.panes[where].scene, context.picture(state, where).graph
    assert scene is not None
    name, copies, mutable_graph, end = _tensor_to_connect(context, state, name, pane, graph, request)
    data = graph.data
    rows = data.rows
    box, other = scene.op_box[rows], scene.op_box[data.node]
    is_single_op = np.array([one.kind in ("op", "call", "variable") for one in scene.boxes] or [False])
    edges = np.flatnonzero((box >= 0) & ((box != other) | is_single_op[box]))
    edges = edges[np.argsort(box[edges], kind="stable")]
    candidates: dict[str, list[page_types.InputCandidate]] = {}
    for group in np.split(edges, np.flatnonzero(np.diff(box[edges])) + 1):
        if not len(group):
            continue
        inputs = zip(rows[group].tolist(), (group - data.ptr[rows[group]]).tolist(), strict=True)
        at, entries = (
            int(box[group[0]]),
            list(find_input_candidates(mutable_graph, end, list(inputs)[:_MAX_CHECKED])),
        )
        if not is_single_op[at]:
            entries.sort(key=lambda candidate: bool(candidate.reason))
        candidates[scene.boxes[at].name] = [
            {
                "op": t.op,
                "input": t.input,
                "current_input": t.current_input,
                "reason": t.reason,
                "adaptable": t.adaptable,
            }
            for t in entries[:_MAX_INPUTS]
        ]
    info = mutable_graph.info(*end)
    text = "" if info is None else str(info)
    return state, {"tensor": name, "text": text, "pane": where, "boxes": candidates, "copies": copies}


@look(
    "list the adapters that make a tensor fit an input",
    gesture="drop it on an input that it does not fit",
)
def adapters(
    context: RenderContext, state: State, tensor: Text, to: Text, input: Count = 0, pane: PaneName = "destination"
) -> tuple[State, list[page_types.Adapter]]:
    """Returns the adapters that make a tensor fit an input of an op, the best first.

    Args:
        tensor: the tensor, by its name in the result of `input_candidates`.
        to: the op.
        input: the number of its input.
        pane: the pane of the tensor.
    """
    request = f"adapters({tensor!r}, {to!r}, {input})"
    here = [tensor, to] if context.is_single_graph or pane == "destination" else [to]
    graph = context.around(context.graph(state, "destination"), here).graph
    _, _, mutable_graph, source = _tensor_to_connect(context, state, tensor, pane, graph, request)
    op = mutable_graph.find(op_name(to), request)
    target_info = mutable_graph.info(*input_of(mutable_graph, op, input, request))
    choices = () if target_info is None else fitting_adapters(mutable_graph, source, target_info, [op])
    return state, [{"kinds": list(one.kinds), "text": str(one)} for one in choices]


def _tensor_to_connect(
    context: RenderContext, state: State, tensor: str, pane: str, graph: Graph, request: str
) -> tuple[str, int, MutableGraph, Tensor]:
    """Returns a tensor to be read in a graph: its name, the number of ops to copy first, the graph, and its place.

    For a tensor of another graph, this is its copy in the plan. Without a copy, a placeholder represents it.
    """
    mutable_graph, name = MutableGraph(graph), tensor_name(tensor)
    if pane == "destination" or context.is_single_graph:
        return name, 0, mutable_graph, mutable_graph.tensor(name, request)
    copied = next(filter(None, (_with_copy(one, name) for one in _copies(context, state))), None)
    if copied is not None:
        return copied, 0, mutable_graph, mutable_graph.tensor(copied, request)
    source = context.around(context.source.snapshot, [name]).graph
    info = source.info(*source.tensor(name, request))
    plan, _ = with_copied_producers(context, state, name, request)
    none = Edges.from_rows(np.empty(0, np.int32), np.empty(0, np.int32), 1)
    infer = None if info is None else lambda _: (info,)
    stand_in = mutable_graph.add([op_name(name)], ["Placeholder"], [None], none, none, infer), 0
    return name, len(plan.effect.new_names) - len(context.draft(state).effect.new_names), mutable_graph, stand_in


def _copies(context: RenderContext, state: State) -> Iterator[CopyResult]:
    """Yields the copies of the source in the plan, the last one first."""
    for copied in reversed(context.draft(state).effect.copies):
        if copied.source.folded.owner is context.source.snapshot.owner:
            yield copied


def _with_copy(copy_result: CopyResult, tensor: str) -> str:
    """Returns the name of a tensor in a copy; empty if the copy does not contain it."""
    name = copy_result.renamed(op_name(tensor))
    return copy_result.renamed(tensor) if copy_result.original(name) == op_name(tensor) else ""
