"""Edits: the verbs that change what a graph has already; each adds a step to the plan.

Names are those of the destination, as the plan leaves it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from ..errors import PlanError
from ..graph.names import free_name, op_name, tensor_name
from ..graph.selection import listed
from ..plan.resolve.rewire import consumers_of
from ..words import counted, few
from .drafts import edited
from .marks import Marks, ops_of
from .stage import Stage
from .state import State

#: Conds, and which of their inputs they ask.
ASKING = {"If": 0, "StatelessIf": 0, "Case": 0, "StatelessCase": 0, "Switch": 1, "RefSwitch": 1}


def reroute(stage: Stage, state: State, old: str, to: str) -> State:
    """What reads tensor `old` shall read tensor `to`."""
    plan = stage.draft(state).reroute(old, to=to)
    return edited(stage, state, plan, f"what reads {tensor_name(old)} will read {tensor_name(to)}")


def swap(stage: Stage, state: State, a: str, b: str) -> State:
    """The consumers of two tensors change places."""
    return edited(stage, state, stage.draft(state).swap(a, b), f"{tensor_name(a)} and {tensor_name(b)} change places")


def bypass(stage: Stage, state: State, op: str) -> State:
    """What reads an op shall read what its first input reads."""
    return edited(stage, state, stage.draft(state).bypass(op), f"{op_name(op)} will be bypassed")


def detach(stage: Stage, state: State, names: Sequence[str], side: str = "both") -> State:
    """Cuts boxes off: placeholders feed them (``inputs``), or feed what reads them (``outputs``), or ``both``."""
    ops = _ops(stage, state, names, "detach")
    return edited(stage, state, stage.draft(state).detach(ops, side=side), f"{few(ops)} will be cut off")


def insert(stage: Stage, state: State, op: str, on: str, name: str | None = None) -> State:
    """Puts a new op of one input between a tensor and all that reads it.

    Args:
        op: its type, as ``"Identity"``.
        on: the tensor.
        name: what to call it; None: a free name beside the op of the tensor.
    """
    free = name or free_name(f"{op_name(on)}_{op.lower()}", stage.calls(state, "destination").listed.graph.taken)
    stage.facts.check_inserted(op, free)
    plan = stage.draft(state).insert(op, on=on, name=free)
    return edited(stage, state, plan, f"{free} will stand behind {tensor_name(on)}")


def remove(stage: Stage, state: State, names: Sequence[str], stitch: bool = False) -> State:
    """Takes boxes out of the graph; with `stitch`, what read them reads what they read first."""
    ops = _ops(stage, state, names, "remove")
    return edited(stage, state, stage.draft(state).remove(ops, stitch=stitch), f"{few(ops)} will go")


def set_attr(stage: Stage, state: State, names: Sequence[str], name: str, value: Any) -> State:
    """Sets an attribute of all ops of boxes; a text is read as Python where it is some: ``[1, 2]``, ``None``."""
    ops, value = _ops(stage, state, names, "set_attr"), _read(value)
    graph = stage.around(stage.graph(state, "destination"), ops).graph
    for kind, op in {graph.types[graph.index[op]]: op for op in reversed(ops)}.items():
        stage.facts.check_attribute(kind, op, name, value)
    plan = stage.draft(state).set_attr(ops, name, value)
    return edited(stage, state, plan, f"{name} of {few(ops)} will be {value!r}")


def set_device(stage: Stage, state: State, names: Sequence[str], device: str) -> State:
    """Places all ops of boxes on a device; an empty text lets TensorFlow choose."""
    ops = _ops(stage, state, names, "set_device")
    plan = stage.draft(state).set_device(ops, device)
    return edited(stage, state, plan, f"{few(ops)} will run on {device or 'any device'}")


def add_control(stage: Stage, state: State, op: str, after: str) -> State:
    """An op shall run after another."""
    plan = stage.draft(state).add_control(op, after)
    return edited(stage, state, plan, f"{op_name(op)} will run after {op_name(after)}")


def remove_control(stage: Stage, state: State, op: str, after: str | None = None) -> State:
    """An op shall no longer wait for another; for none at all where `after` is None."""
    whom = "anything" if after is None else op_name(after)
    plan = stage.draft(state).remove_control(op, after)
    return edited(stage, state, plan, f"{op_name(op)} will no longer wait for {whom}")


def reroute_control(stage: Stage, state: State, old: str, to: str) -> State:
    """What waits for an op shall wait for another instead."""
    text = f"what waits for {op_name(old)} will wait for {op_name(to)}"
    return edited(stage, state, stage.draft(state).reroute_control(old, to=to), text)


def rename(stage: Stage, state: State, old: str, to: str) -> State:
    """Gives an op, or a name scope with all in it, another name; its variables keep their values.

    Args:
        old: its name.
        to: the new name, which must be free.
    """
    text = f"{old.strip('/')} will be called {to.strip('/')}"
    return edited(stage, state, stage.draft(state).rename(old, to=to), text)


def collapse(stage: Stage, state: State, names: Sequence[str], name: str | None = None) -> State:
    """Makes one function call of all ops of boxes.

    Args:
        names: the boxes.
        name: what to call it; None: a free name after the first of them.
    """
    ops, graph = _ops(stage, state, names, "collapse"), stage.graph(state, "destination")
    scope = names[0].strip("/") if len(names) == 1 and names[0].strip("/") in graph.scopes.index else ""
    free = name or free_name(f"{scope or ops[0]}_call", graph.taken)
    plan = stage.draft(state).collapse(scope or ops, name=free)
    return edited(stage, state, plan, f"{few(ops)} will be one call, {free}")


def inline(stage: Stage, state: State, names: Sequence[str]) -> State:
    """Puts what function calls compute in the place of the calls."""
    ops = _ops(stage, state, names, "inline")
    return edited(stage, state, stage.draft(state).inline(ops), f"{few(ops)} will give way to what is inside")


def unroll(stage: Stage, state: State, loop: str, times: int) -> State:
    """Puts copies of the body of a loop in its place, one for each of so many rounds.

    Args:
        loop: a v2 ``While``, or an op or the scope of a loop of TF1.
        times: how many rounds.
    """
    name = _called(stage, state, loop)
    text = f"{name.rstrip('/')} will give way to {counted(times, 'rounds')}"
    return edited(stage, state, stage.draft(state).unroll(name, times), text)


def resolve_condition(stage: Stage, state: State, name: str, value: Any) -> State:
    """Says what conds ask: the branch that is then taken stays, all else of them goes.

    Args:
        name: the tensor that they ask; or one of these conds, ``If``, ``Case`` or ``Switch``, for what it asks.
        value: true or false; of a ``Case`` the number of a branch. A text is read as Python.
    """
    op = op_name(_called(stage, state, name))
    graph = stage.around(stage.graph(state, "destination"), [op]).graph
    kind = graph.types[graph.index[op]] if op in graph.index else ""
    reads = graph.input_names(graph.index[op]) if kind in ASKING else []
    asks = reads[ASKING[kind]] if reads else tensor_name(name)
    text = f"{asks} will be {value} where conds ask it"
    return edited(stage, state, stage.draft(state).resolve_condition(asks, _read(value)), text)


def insert_copy(stage: Stage, state: State, names: Sequence[str], on: str, to: str | None = None) -> State:
    """Puts a copy of boxes between a tensor and all that reads it: two steps, a copy and a reroute.

    Args:
        names: the boxes: one tensor enters them, constants and variables apart, and one leaves them.
        on: the tensor.
        to: the scope of the copy; None: a free one.

    Raises:
        PlanError: more than one tensor enters or leaves them, or none does.
        SelectionError: there is no such box.
    """
    ops, plan = _ops(stage, state, names, "insert_copy"), stage.draft(state)
    asked = f"insert_copy({few(ops)})"
    base = stage.around(plan.base, ops).graph
    late = [op for op in ops if op not in base.index]
    if late:
        raise PlanError(asked, f"{late[0]!r} is made by this plan", "Apply the plan first")
    chosen = listed(base, (base.index[op] for op in ops))
    marks = Marks.around(chosen)
    for verb, ends in (("enter", marks.inputs), ("leave", marks.outputs)):
        if len(ends) != 1:
            wrong = f"{counted(len(ends), 'tensors')} {verb} what is copied" + (f": {few(ends)}" if ends else "")
            raise PlanError(asked, wrong, f"Select ops that one tensor {verb}s")
    tensor = tensor_name(on)
    scope = to or free_name("copy", plan.after().taken)
    copied = plan.copy(chosen, to=scope, inputs={marks.inputs[0]: tensor}, unmapped="keep")
    graph = copied.after()
    readers = sorted({graph.names[i] for i, _ in consumers_of(graph, graph.tensor(tensor))})
    own = [op for op in readers if op.startswith(f"{scope}/")]
    end = f"{scope}/{marks.outputs[0]}"
    plan = copied.reroute(tensor, to=end, exclude=own)
    return edited(stage, state, plan, f"a copy of {few(ops)} will stand behind {tensor}")


def on_copies(
    stage: Stage, state: State, scope: str | None = None, until: Sequence[str] = (), assign: str = "leave"
) -> State:
    """Carries the edits so far out on copies of what they change, as `Plan.on_copies` does; what exists stays.

    Args:
        scope: that of the copies; None: a free one.
        until: ops to stop at; none: everything downstream.
        assign: ``leave`` ops that set state as they are, or ``copy`` them.
    """
    scope = scope or free_name("edited", stage.graph(state, "destination").taken)
    ends = list(until) or None
    text = f"the edits so far will be made on copies under {scope}/"
    return edited(stage, state, stage.draft(state).on_copies(scope, until=ends, assign=assign), text)


def _called(stage: Stage, state: State, name: str) -> str:
    """The name of a box as plans have it: the frame of an unfolded call, loop or cond is its op."""
    return stage.holding(state, "destination", [name])[1][0]


def _ops(stage: Stage, state: State, names: Sequence[str], verb: str) -> list[str]:
    """The ops of all boxes of these names, in graph order."""
    tree, boxes = stage.holding(state, "destination", names)
    return [tree.graph.names[i] for i in ops_of(tree, boxes, verb).nonzero()[0].tolist()]


def _read(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value
