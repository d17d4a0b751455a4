"""Commands that change existing ops. They add steps to the plan, and use the names after the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from ...errors import PlanError, about, counted, few
from ...graph.names import free_name, op_name, tensor_name
from ...graph.pattern_match import Matches, match
from ...graph.selection import Query, Selection, selection_from
from ...plan.edge_checks import consumers_of
from ...view import page_types
from ...view.tree import Tree, ops_named
from ..page_data import hits_data
from ..render_context import RenderContext
from ..state import State, ops_of
from .navigation import select
from .plan import with_edit, without_last
from .specs import (
    FREE,
    Anything,
    Assign,
    Count,
    External,
    Name,
    NameOrNone,
    Names,
    Side,
    Text,
    TextOrFunction,
    TextOrNone,
    YesOrNo,
    edit,
    look,
    parse_literal,
)

#: Op type of a cond -> the number of the input for its condition.
CONDITION_INPUTS = {"If": 0, "StatelessIf": 0, "Case": 0, "StatelessCase": 0, "Switch": 1, "RefSwitch": 1}


@edit("make the consumers of one tensor read another", gesture="menu")
def reroute(context: RenderContext, state: State, old: Text, to: Text, only: Names = ()) -> State:
    """Makes the consumers of tensor `old` read tensor `to`.

    Args:
        old: the name of the tensor that is read.
        to: the name of the tensor to read instead.
        only: names of the boxes whose consumers change. Default: all consumers.
    """
    ops = _consumers(context, state, old, only, "reroute")
    plan = context.draft(state).reroute(old, to=to, only=ops)
    whose = f"the consumers of {tensor_name(old)}" if ops is None else few(ops)
    if tensor_name(old) == tensor_name(to):
        return state.with_status(f"{tensor_name(to)} already feeds {whose}", "warn")
    return with_edit(context, state, plan, f"{whose} will read {tensor_name(to)}")


@edit("swap the consumers of two tensors", gesture="menu")
def swap(context: RenderContext, state: State, a: Text, b: Text) -> State:
    """Swaps the consumers of two tensors.

    Args:
        a: the name of a tensor.
        b: the name of the other tensor.
    """
    return with_edit(
        context, state, context.draft(state).swap(a, b), f"{tensor_name(a)} and {tensor_name(b)} change places"
    )


@edit("connect the consumers of an op to its first input", gesture="menu")
def bypass(context: RenderContext, state: State, op: Text) -> State:
    """Makes the consumers of an op read its first input.

    Args:
        op: the name of the op.
    """
    return with_edit(context, state, context.draft(state).bypass(op), f"{op_name(op)} will be bypassed")


@edit("cut boxes off with placeholders", gesture="menu")
def detach(context: RenderContext, state: State, names: Names, side: Side = "both") -> State:
    """Cuts boxes off: placeholders replace their inputs, or their outputs for other consumers, or both.

    Args:
        names: names of boxes.
        side: ``inputs``, ``outputs`` or ``both``.
    """
    ops = ops_in(context, state, names, "detach")
    return with_edit(context, state, context.draft(state).detach(ops, side=side), f"{few(ops)} will be cut off")


@edit("insert a new op after a tensor", gesture="menu of a box or an edge")
def insert(
    context: RenderContext,
    state: State,
    op: Annotated[Text, "Op type (one input)"],
    on: Text,
    name: Annotated[NameOrNone, "Name", FREE] = None,
    only: Names = (),
) -> State:
    """Inserts a new op with one input between a tensor and its consumers.

    Args:
        op: its type, such as ``"Identity"``.
        on: the tensor.
        name: the name of the new op; None: a free name next to the op of the tensor.
        only: names of the boxes whose consumers change. Default: all consumers.
    """
    ops = _consumers(context, state, on, only, "insert")
    free = name or free_name(
        f"{op_name(on)}_{op.lower()}", context.calls(state, "destination").searchable.graph.is_name_used
    )
    with about("op"):
        context.facts.check_inserted(op, free)
    plan = context.draft(state).insert(op, on=on, name=free, only=ops)
    return with_edit(context, state, plan, f"{free} will read {tensor_name(on)}")


@edit("remove boxes", gesture="menu")
def remove(context: RenderContext, state: State, names: Names, stitch: YesOrNo = False) -> State:
    """Removes boxes from the graph; with `stitch`, their consumers read their first inputs.

    Args:
        names: names of boxes.
        stitch: whether to reconnect the consumers.
    """
    ops = ops_in(context, state, names, "remove")
    return with_edit(context, state, context.draft(state).remove(ops, stitch=stitch), f"{few(ops)} will be removed")


@edit("set an attribute of boxes", gesture="click it")
def set_attr(
    context: RenderContext, state: State, names: Names, name: Text, value: Annotated[Anything, "Value (Python)"]
) -> State:
    """Sets an attribute of all ops of boxes; a text may be a Python literal, such as ``[1, 2]`` or ``None``.

    Args:
        names: names of boxes.
        name: the name of the attribute.
        value: its new value, or a text with a Python literal.
    """
    ops, value = ops_in(context, state, names, "set_attr"), parse_literal(value)
    graph = context.around(context.graph(state, "destination"), ops).graph
    for kind, op in {graph.types[graph.index[op]]: op for op in reversed(ops)}.items():
        context.facts.check_attribute(kind, op, name, value)
    plan = context.draft(state).set_attr(ops, name, value)
    return with_edit(context, state, plan, f"{name} of {few(ops)} will be {value!r}")


@edit("place boxes on a device", gesture="click it")
def set_device(context: RenderContext, state: State, names: Names, device: Annotated[Text, "Device", "any"]) -> State:
    """Places all ops of boxes on a device; an empty text lets TensorFlow choose.

    Args:
        names: names of boxes.
        device: the device, such as ``/gpu:0``, or an empty text.
    """
    ops = ops_in(context, state, names, "set_device")
    plan = context.draft(state).set_device(ops, device)
    return with_edit(context, state, plan, f"{few(ops)} will run on {device or 'any device'}")


@edit("make an op run after another", gesture="menu")
def add_control(context: RenderContext, state: State, op: Text, after: Text) -> State:
    """Makes an op run after another op.

    Args:
        op: the name of the op that should wait.
        after: the name of the op that should run before it.
    """
    plan = context.draft(state).add_control(op, after)
    return with_edit(context, state, plan, f"{op_name(op)} will run after {op_name(after)}")


@edit("remove control inputs of an op", gesture="menu")
def remove_control(context: RenderContext, state: State, op: Text, after: TextOrNone = None) -> State:
    """Removes a control input of an op, or all its control inputs if `after` is not given.

    Args:
        op: the name of the op that waits.
        after: the name of the op that it should not wait for. Default: all.
    """
    whom = "anything" if after is None else op_name(after)
    plan = context.draft(state).remove_control(op, after)
    return with_edit(context, state, plan, f"{op_name(op)} will no longer wait for {whom}")


@edit("move control edges from one op to another", gesture="menu")
def reroute_control(context: RenderContext, state: State, old: Text, to: Text) -> State:
    """Makes the ops that wait for an op wait for another op instead.

    Args:
        old: the name of the op that is waited for.
        to: the name of the op to wait for instead.
    """
    text = f"the waiting ops of {op_name(old)} will wait for {op_name(to)}"
    return with_edit(context, state, context.draft(state).reroute_control(old, to=to), text)


@edit("rename an op or a scope", gesture="menu")
def rename(context: RenderContext, state: State, old: Text, to: Annotated[Name, "Name"]) -> State:
    """Renames an op, or a name scope with all its ops. Variables keep their values.

    Args:
        old: its name.
        to: the new name, which must be free.
    """
    text = f"{old.strip('/')} will be renamed to {to.strip('/')}"
    return with_edit(context, state, context.draft(state).rename(old, to=to), text)


@edit("collapse boxes into one call", gesture="menu")
def collapse(
    context: RenderContext, state: State, names: Names, name: Annotated[NameOrNone, "Name", FREE] = None
) -> State:
    """Replaces all ops of boxes by one function call.

    Args:
        names: the boxes.
        name: the name of the call; None: a free name that begins with the name of the scope or of the first op.
    """
    ops, graph = ops_in(context, state, names, "collapse"), context.graph(state, "destination")
    scope = names[0].strip("/") if len(names) == 1 and names[0].strip("/") in graph.scopes.index else ""
    free = name or free_name(f"{scope or ops[0]}_call", graph.is_name_used)
    plan = context.draft(state).collapse(scope or ops, name=free)
    return with_edit(context, state, plan, f"{few(ops)} will become one call, {free}")


@edit("inline calls", gesture="menu")
def inline(context: RenderContext, state: State, names: Names) -> State:
    """Replaces function calls by the ops inside.

    Args:
        names: names of calls.
    """
    ops = ops_in(context, state, names, "inline")
    return with_edit(context, state, context.draft(state).inline(ops), f"{few(ops)} will be replaced by the ops inside")


@edit("unroll a loop", gesture="menu")
def unroll(context: RenderContext, state: State, loop: Text, times: Annotated[Count, "Number of rounds"]) -> State:
    """Replaces a loop by a number of copies of its body.

    Args:
        loop: a v2 ``While``, or an op or the scope of a loop of TF1.
        times: the number of iterations.
    """
    name = _rename_map(context, state, loop)
    text = f"{name.rstrip('/')} will be replaced by {counted(times, 'rounds')}"
    return with_edit(context, state, context.draft(state).unroll(name, times), text)


@edit("fix a condition and keep one branch", gesture="menu")
def resolve_condition(
    context: RenderContext, state: State, name: Text, value: Annotated[Anything, "Condition is", "True or False"]
) -> State:
    """Fixes a condition: the branch for its value stays, the other branches are removed.

    Args:
        name: the condition tensor; or an ``If``, ``Case`` or ``Switch`` op, for its condition.
        value: true or false; for a ``Case`` the number of a branch. A text is parsed as a Python literal.
    """
    op = op_name(_rename_map(context, state, name))
    graph = context.around(context.graph(state, "destination"), [op]).graph
    kind = graph.types[graph.index[op]] if op in graph.index else ""
    reads = graph.input_names(graph.index[op]) if kind in CONDITION_INPUTS else []
    asks = reads[CONDITION_INPUTS[kind]] if reads else tensor_name(name)
    text = f"{asks} is fixed to {value}"
    return with_edit(context, state, context.draft(state).resolve_condition(asks, parse_literal(value)), text)


@edit("make the edits so far on copies", gesture="menu")
def on_copies(
    context: RenderContext,
    state: State,
    scope: Annotated[NameOrNone, "Scope of the copies", FREE] = None,
    until: Annotated[Names, "Stop at op", "all downstream"] = (),
    assign: Annotated[Assign, "Ops that set state"] = "leave",
) -> State:
    """Makes the edits so far on copies of the changed ops, as in `Plan.on_copies`; existing ops stay.

    Args:
        scope: the scope of the copies; None: a free one.
        until: ops to stop at; default: all descendants are copied.
        assign: ``leave`` to keep ops that set state, or ``copy`` to copy them.
    """
    scope = scope or free_name("edited", context.graph(state, "destination").is_name_used)
    ends = list(until) or None
    text = f"the edits so far will be made on copies under {scope}/"
    return with_edit(context, state, context.draft(state).on_copies(scope, until=ends, assign=assign), text)


def _rename_map(context: RenderContext, state: State, name: str) -> str:
    """Returns the name of a box for plans. The frame of an unfolded call, loop or cond means its op."""
    return context.tree_containing(state, "destination", [name])[1][0]


def _consumers(context: RenderContext, state: State, tensor: str, boxes: Sequence[str], verb: str) -> list[str] | None:
    """Returns the consumers of a tensor that are in boxes, in graph order; None for all, if no box is given."""
    if not boxes:
        return None
    tree, (_, *inside) = context.tree_containing(state, "destination", [op_name(tensor), *boxes])
    graph, mask = tree.graph, ops_of(tree, inside, verb)
    readers = {op for op, _ in consumers_of(graph, graph.tensor(tensor_name(tensor), verb)) if mask[op]}
    if not readers:
        problem = f"{few(boxes)} does not read {tensor_name(tensor)!r}"
        raise PlanError(f"{verb}({tensor!r})", problem, "Choose a box with an edge from this tensor")
    return [graph.names[op] for op in sorted(readers)]


def ops_in(
    context: RenderContext, state: State, names: Sequence[str], verb: str, pane: str = "destination"
) -> list[str]:
    """Returns the ops of all boxes of these names, in graph order.

    Args:
        names: names of boxes.
        verb: the verb, for messages.
        pane: the pane of the boxes.

    Raises:
        SelectionError: a box does not exist.
    """
    tree, boxes = context.tree_containing(state, pane, names)
    return [tree.graph.names[i] for i in ops_of(tree, boxes, verb).nonzero()[0].tolist()]


#: The maximum number of ops for a search of the nearest miss. With more ops it takes seconds and helps little.
_MAX_ELEMENTS = 100


@look("find and select all parts similar to some boxes", gesture="menu")
def find_similar(context: RenderContext, state: State, names: Names) -> tuple[State, page_types.SimilarParts]:
    """Finds all parts of the source that are similar to some boxes together, and selects them.

    Args:
        names: boxes of the source pane. Their ops and the edges between them are the pattern. Only op types are
            compared, not names, attributes or constants. For boxes inside calls, the same function is searched.

    Returns:
        the number of places in ``count``, and of their ops in ``ops``. ``boxes`` has the number of these ops in each
        box that is not selected itself. ``near`` is the nearest miss if at least half of its ops fit; it is only
        searched for patterns of up to 100 ops.

    Raises:
        SelectionError: a box does not exist, or the boxes are not connected.
    """
    tree, inside = context.tree_containing(state, "source", names)
    graph, selection = tree.graph, _selection(tree, inside, "find_similar")
    matches = match(graph, context.facts.pattern(selection))
    small = len(selection) <= _MAX_ELEMENTS
    best, ops = matches.nearest() if small else None, matches.selection
    near = str(best) if best is not None and 2 * len(best.ops) >= best.total else ""
    context.draw(state, "source")
    at = np.flatnonzero(ops.mask)
    spots = context.around(context.graph(state, "source"), inside).positions_in(context.picture(state, "source"))[at]
    boxes = hits_data(graph, at.tolist(), context.panes["source"].scene, spots)["boxes"]
    selected = _as_boxes(tree, ops, boxes)
    boxes = {name: count for name, count in boxes.items() if name not in selected}
    state = select(context, state, selected, "set").with_status(
        _message(matches, len(ops), near or ("" if small else None))
    )
    return state, {"count": len(matches), "ops": len(ops), "boxes": boxes, "nearest_miss": near}


@edit("replace all parts similar to some boxes", gesture="click its type")
def replace(
    context: RenderContext,
    state: State,
    names: Names,
    replacement: Annotated[TextOrFunction, "Op type", "name or description"],
    external: Annotated[External, "If other ops read inner tensors"] = "refuse",
) -> State:
    """Replaces all parts similar to some boxes together by an op, or by the ops that a function makes.

    Args:
        names: boxes whose ops, with the edges between them, are the pattern.
        replacement: an op type with the same number of inputs and outputs, such as ``"Softplus"``; or a Python
            function, as for `Plan.replace`.
        external: the rule for places with inner tensors that other ops read: ``refuse`` or ``keep``.

    Raises:
        PlanError: the plan itself adds an op of the boxes.
        SelectionError: a box does not exist, or the boxes are not connected.
    """
    old, inside = context.tree_containing_in(state, context.draft(state).base, names)
    now, there = context.tree_containing(state, "destination", names)
    for name, was, box in zip(names, inside, there, strict=True):
        if ops_named(old, was) is None and ops_named(now, box) is not None:
            raise PlanError(f"replace({name!r})", f"{name!r} is made by this plan", "Apply the plan first")
    selection = _selection(old, inside, "replace")
    more: dict[str, Any] = {} if external == "refuse" else {"external": external}
    word = replacement if isinstance(replacement, str) else getattr(replacement, "__name__", "a function")
    plan = context.draft(state).replace(selection, replacement, **more)
    before = len(without_last(plan).effect.replacements)
    count = counted(len(plan.effect.replacements) - before, "places")
    return with_edit(context, state, plan, f"{count} like {few(selection.names)} will be replaced by {word}")


def _selection(tree: Tree, names: Sequence[str], verb: str) -> Selection:
    """Returns the ops of all boxes of these names. A single scope is selected by its name."""
    graph, mask = tree.graph, ops_of(tree, names, verb)
    if len(names) == 1 and names[0].endswith("/") and not names[0].startswith("~"):
        return Selection(graph, mask, Query("select", (("scope", names[0].rstrip("/")),)))
    return selection_from(graph, mask)


def _as_boxes(tree: Tree, ops: Selection, boxes: dict[str, int]) -> list[str]:
    """Returns the boxes that contain no other ops, and the names of the ops outside these boxes."""
    remaining, out = ops.mask.copy(), []
    for name in boxes:
        box_ops = ops_named(tree, name)
        if box_ops is not None and (box_ops <= ops.mask).all():
            out.append(name)
            remaining &= ~box_ops
    return [*out, *(tree.graph.names[i] for i in np.flatnonzero(remaining).tolist())]


def _message(matches: Matches, ops: int, neighbor: str | None) -> str:
    lines = [f"{counted(len(matches), 'places')} like this, {counted(ops, 'ops')}"]
    if neighbor is not None:
        lines.append(f"nearest miss: {neighbor}" if neighbor else "nothing else is similar")
    lines += [f"undecided for {counted(matches.unfinished_searches, 'ops')}"] if matches.unfinished_searches else []
    return " · ".join(lines)
