"""The ops of a graph that a target's converter refuses, and the ways to remove each of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PlanError, SurgeryError, counted, few, one_or_all
from ..graph.compatibility import (
    TARGETS,
    VARIABLE,
    Blocker,
    Compatibility,
    Converted,
    Unconvertible,
    advised,
    blockers,
    cut,
)
from ..graph.conditions import skipping
from ..graph.functions import CALLS
from ..graph.graph import Graph
from ..graph.names import named, op_name, tensor_name
from ..graph.references import Given
from ..graph.selection import select
from ..graph.traversal import backward, forward
from ..graph.variables import PLACEHOLDER_TYPES, READING_TYPES, VARIABLE_TYPES
from ..plan.menu import offered
from ..plan.step_code import request_of as code_of
from ..plan.subject import Subject
from .trace import asked_for


def check(
    editor: Subject,
    target: str,
    outputs: Any,
    inputs: Any,
    prove: bool,
    feeds: Mapping[Any, Any] | None,
    timeout: float,
) -> Compatibility:
    """Returns what keeps a graph from a target, as `Editor.check` does."""
    request = f"check(target={target!r})"
    if target not in TARGETS:
        known = ", ".join(map(repr, sorted(TARGETS)))
        raise PlanError(request, f"{target!r} is not a target", f"Choose one of {known}")
    from ..tf.run.sessions import refuse_untrusted
    from ..tf.save.converters import Frozen, convert, converter

    refuse_untrusted(editor.graph, request)  # converters fold constants: they run ops
    wanted, fed = asked_for(editor, outputs, "check", "outputs"), _fed(editor, inputs)
    ends: dict[str, Any] = {"outputs": wanted, "inputs": fed or None}
    with tempfile.TemporaryDirectory(prefix="graphsurgeon") as folder:
        path, proof, made = Path(folder, "frozen.pb"), "", Converted()
        try:
            editor.save(path, **ends, freeze=True, values="initial", verify=False)
        except Unconvertible as error:
            return _unfrozen(editor, target, error.made, fed, wanted)
        part = Frozen.read(path, wanted)
        if prove and target == "tflite":
            try:
                model = Path(folder, "model.tflite")
                proof = _proved(editor.save(model, **ends, values="initial", feeds=feeds, timeout=timeout))
            except Unconvertible as error:
                made = error.made
        else:
            made = convert(target, part, timeout, prove, request)
    if prove and made.model:
        proof = f"converted: {counted(len(made.model), 'bytes')}; nothing here runs it, so its numbers are not compared"
    ops, taken = len(part.graph_def.node), tuple(part.inputs)
    found = _advised(editor, blockers(editor.snapshot, made), taken, fed, wanted)
    return Compatibility(editor.title, target, converter(target), found, ops, taken, tuple(wanted), proof)


def _unfrozen(editor: Subject, target: str, made: Converted, fed: list[str], wanted: list[str]) -> Compatibility:
    """What keeps a graph from a target that cannot be frozen, so that there is nothing to convert."""
    graph = editor.snapshot
    part = select(graph, inputs=fed or None, outputs=wanted).mask
    names = [f"{graph.names[op]}:0" for op in np.flatnonzero(part & graph.typed(PLACEHOLDER_TYPES)).tolist()]
    taken = tuple(dict.fromkeys([*fed, *names]))
    found = _advised(editor, blockers(graph, made), taken, fed, wanted)
    return Compatibility(editor.title, target, "", found, int(part.sum()), taken, tuple(wanted))


def explained(editor: Subject, error: Unconvertible, outputs: Any) -> Unconvertible:
    """Returns the error that a graph cannot be frozen, with the plans that take out the ops in the way; they are tried.

    Args:
        editor: the editor of the graph.
        error: the error.
        outputs: the requested tensors, in the form of `Editor.save`.
    """
    if not any(one.code == VARIABLE for one in error.made.errors):
        return error
    wanted = list((named(outputs) or editor.outputs).values())
    keep = error.suggestion[:1].lower() + error.suggestion[1:]
    if not wanted:
        suggestion = f"Name the outputs, outputs=[...], so that only what they need is frozen; or {keep}"
        return Unconvertible(error.request, error.problem, suggestion, error.made)
    found = blockers(editor.snapshot, error.made)
    ways = _ways(editor, found, wanted)
    lines = [f"{how} takes out {few(list(map(repr, gone)))}" for how, gone in ways.items()]
    left = [one.op for one in found if not any(one.op in gone for gone in ways.values())]
    if not lines:
        return error
    more = f"nothing known takes out {few(list(map(repr, left)))}: " if left else "or "
    return Unconvertible(error.request, error.problem, "; ".join([*lines, more + keep]), error.made)


def _advised(
    editor: Subject, found: tuple[Blocker, ...], taken: tuple[str, ...], fed: list[str], wanted: list[str]
) -> tuple[Blocker, ...]:
    """Returns blockers, each with the recipes that take it out, or where to cut it off."""
    if not found:
        return found
    graph, ways = editor.snapshot, _ways(editor, found, wanted)
    read = backward(graph, graph.mask(graph.index[op_name(name)] for name in wanted), control=False)
    left = {one.op for one in found if one.op and read[graph.index[one.op]]}.difference(*ways.values())
    here = [name for name in taken if op_name(name) in graph.index]  # another output than the first is not
    off = _cut(graph, left, [*here, *(name for name in fed if name not in here)], wanted)
    return advised(found, ways, dict.fromkeys(left, off))  # what is only waited for is not cut off by a tensor


def _proved(saved: Any) -> str:
    """What was seen of a model that was written."""
    return "; ".join([saved.proof, *saved.notes] if saved.proof else saved.notes)


def _fed(editor: Subject, inputs: Any) -> list[str]:
    several = [] if inputs is None else inputs.values() if isinstance(inputs, Mapping) else inputs
    named = [several] if isinstance(several, str) or hasattr(several, "name") else list(several)
    named = Given(editor.snapshot, editor.layers, f"check(inputs={inputs!r})").ends(named)
    for one in named:
        editor.snapshot.tensor(tensor_name(one), f"check(inputs={one!r})")
    return [tensor_name(one) for one in named]


def _ways(editor: Subject, found: tuple[Blocker, ...], wanted: list[str]) -> dict[str, list[str]]:
    """What to type -> the blockers that it takes out: those recipes that give plans are tried."""
    graph, ops, ways = editor.snapshot, {one.op for one in found if one.op}, dict[str, list[str]]()
    for recipe in offered():
        if not ops or not recipe.tried:
            continue
        try:
            after = recipe.made(editor, {"outputs": wanted}).after()
        except SurgeryError:
            continue  # it does not apply
        gone = [op for op in ops if op not in after.index or _other(graph, after, op)]
        more = f", {one_or_all(wanted)!r}" if any(wish.name == "outputs" for wish in recipe.wishes) else ""
        if gone:
            ways[f"gs.recipes.{recipe.name}(ed{more})"] = gone
    for one in found:
        if one.op and one.kind == VARIABLE and one.op not in {op for gone in ways.values() for op in gone}:
            ways |= {f"ed.plan().{code}": [one.op] for code in _avoided(editor, one, wanted)}
    calls = _calls(editor, found)
    return ways | ({f"ed.plan().inline({one_or_all(calls)!r})": calls} if calls else {})


def _avoided(editor: Subject, one: Blocker, wanted: list[str]) -> list[str]:
    """The steps after which the outputs do not need an op that assigns, each as code.

    A condition is decided so that its other branch stays, or an op no longer waits for the assignment.
    """
    graph = editor.snapshot
    op = graph.index[one.op]
    plan = editor.plan()
    plans = [plan.resolve_condition(*known) for known in skipping(graph, op, one.type)]
    plans += [plan.remove_control(*edge) for edge in _waiting(graph, op, wanted)]
    fine = (made for made in plans if not made.check() and not _needs(made.after(), one.op, wanted))
    return [code_of(made.steps[0]) for made in fine][:1]


def _needs(graph: Graph, op: str, wanted: list[str]) -> bool:
    ends = graph.mask(graph.index[op_name(name)] for name in wanted)
    return op in graph.index and bool(backward(graph, ends)[graph.index[op]])


def _waiting(graph: Graph, assigns: int, wanted: list[str]) -> list[tuple[str, str]]:
    """(op, the op it waits for) if the outputs only wait for an assignment; none if a read comes after it."""
    read = backward(graph, graph.mask(graph.index[op_name(name)] for name in wanted), control=False)
    after = forward(graph, graph.mask([assigns]))
    if read[assigns] or (read & after & graph.typed((*READING_TYPES, *VARIABLE_TYPES))).any():
        return []
    ways = [(op, one) for op in np.flatnonzero(read & after).tolist() for one in graph.control.row(op).tolist()
            if after[one] and not read[one]]  # fmt: skip
    return [(graph.names[op], graph.names[one]) for op, one in ways] if len(ways) == 1 else []


def _calls(editor: Subject, found: tuple[Blocker, ...]) -> list[str]:
    """The calls that are in the way as such, for no op inside of them, and that can be inlined."""
    others = {one.op for one in found if one.type not in CALLS}
    calls = list(dict.fromkeys(one.op for one in found if one.op and one.op not in others))
    plan = editor.plan()
    for op in calls:
        plan = plan.inline(op)
    stuck = {fault.step for fault in plan.check()} if calls else set()
    return [] if None in stuck else [op for step, op in enumerate(calls) if step not in stuck]


def _other(graph: Graph, after: Graph, op: str) -> bool:
    """Whether an op is of another type after a plan, or has other attributes."""
    i, j = graph.index[op], after.index[op]
    one, other = graph.nodes[i], after.nodes[j]
    if graph.types[i] != after.types[j] or other is None:  # the node of what a plan makes is not there yet
        return True
    return one is not other and dict(one.attr) != dict(other.attr)


def _cut(graph: Graph, ops: Iterable[str], inputs: list[str], outputs: list[str]) -> str:
    """Returns the code that gives the converter the part between the unsupported ops."""
    start, end = cut(graph, ops, inputs, outputs)
    ends = ("inputs", start, inputs), ("outputs", end, outputs)
    parts = [f"{key}={one_or_all(now)!r}" for key, now, old in ends if now != old]
    return f"Cut it off: {', '.join(parts)}" if parts else ""
