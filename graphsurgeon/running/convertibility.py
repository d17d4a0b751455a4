"""Finds the ops of a graph that the converter of a target refuses, and the ways to remove each of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import tf
from ..errors import PlanError, SurgeryError, counted, few, one_or_all
from ..graph.conditions import skipping_predicates
from ..graph.conversion_verdict import (
    TARGETS,
    VARIABLE,
    Blocker,
    Compatibility,
    ConversionResult,
    Unconvertible,
    blockers,
    cut,
    with_advice,
)
from ..graph.functions import CALLS
from ..graph.graph import Graph
from ..graph.names import op_name, tensors_by_key
from ..graph.open_graph import placeholders_in
from ..graph.references import ReferenceResolver
from ..graph.selection import select
from ..graph.traversal import backward, forward
from ..graph.variables import READ_TYPES, VARIABLE_TYPES
from ..plan.editor_like import EditorLike
from ..plan.recipe_registry import registered_recipes
from .feeds import resolve_fetches


def check(
    editor: EditorLike,
    target: str,
    outputs: Any,
    inputs: Any,
    verify: bool,
    feeds: Mapping[Any, Any] | None,
    timeout: float,
) -> Compatibility:
    """Returns the obstacles to the conversion of a graph for a target; see `Editor.check`."""
    request = f"check(target={target!r})"
    if target not in TARGETS:
        choices = ", ".join(map(repr, sorted(TARGETS)))
        raise PlanError(request, f"{target!r} is not a target", f"Choose one of {choices}")

    tf.run.sessions.require_trusted(editor.graph, request)  # converters run ops when they fold constants
    targets, fed = resolve_fetches(editor, outputs, "check", "outputs"), _input_names(editor, inputs)
    ends: dict[str, Any] = {"outputs": targets, "inputs": fed or None, "values": "initial"}
    graph, proof, conversion, frozen = editor.snapshot, "", ConversionResult(), None
    part = select(graph, inputs=fed or None, outputs=targets).mask
    part_inputs = tuple(dict.fromkeys([*fed, *placeholders_in(graph, part)]))
    with tempfile.TemporaryDirectory(prefix="graphsurgeon") as folder:
        path, model = Path(folder, "frozen.pb"), Path(folder, "model.tflite")
        try:
            frozen = editor.save(path, **ends, freeze=True, verify=False)
            if target == "tfjs":
                conversion = tf.save.converters.to_tfjs(path, targets, timeout, verify, request)
            else:
                run = {"feeds": feeds, "timeout": timeout} if verify else {"verify": False, "timeout": timeout}
                saved = editor.save(model, **ends, **run)
                proof = _proof_text(saved) if verify else ""
        except Unconvertible as error:
            conversion = error.result
    if verify and conversion.model:
        size = counted(len(conversion.model), "bytes")
        proof = f"converted: {size}; it cannot be run here, so its results were not compared"
    blocked = _with_fixes(editor, blockers(graph, conversion), part_inputs, targets)
    ops, version = (frozen.ops, tf.save.converters.converter(target)) if frozen else (int(part.sum()), "")
    return Compatibility(editor.title, target, version, blocked, ops, part_inputs, tuple(targets), proof)


def explain_unfreezable(editor: EditorLike, error: Unconvertible, outputs: Any) -> Unconvertible:
    """Returns an error of freezing with suggested plans that remove the variables in the way; each plan was tried.

    Args:
        editor: the editor of the graph.
        error: the error.
        outputs: the requested tensors, in the form of `Editor.save`.
    """
    if not any(one.code == VARIABLE for one in error.result.errors):
        return error
    targets = list((tensors_by_key(outputs) or editor.outputs).values())
    keep = error.suggestion[:1].lower() + error.suggestion[1:]
    if not targets:
        suggestion = f"Name the outputs, outputs=[...], so that only what they need is frozen; or {keep}"
        return Unconvertible(error.request, error.problem, suggestion, error.result)
    blocked = blockers(editor.snapshot, error.result)
    ways = _fixes_by_code(editor, blocked, targets)
    lines = [f"{how} removes {few(list(map(repr, removed)))}" for how, removed in ways.items()]
    remaining = [one.op for one in blocked if not any(one.op in removed for removed in ways.values())]
    if not lines:
        return error
    more = f"no known plan removes {few(list(map(repr, remaining)))}: " if remaining else "or "
    return Unconvertible(error.request, error.problem, "; ".join([*lines, more + keep]), error.result)


def _with_fixes(
    editor: EditorLike,
    blockers: tuple[Blocker, ...],
    part_inputs: tuple[str, ...],
    targets: list[str],
) -> tuple[Blocker, ...]:
    """Returns the blockers with advice: the recipes that remove a blocker, or a cut before it."""
    if not blockers:
        return blockers
    graph, ways = editor.snapshot, _fixes_by_code(editor, blockers, targets)
    ancestry = backward(graph, graph.mask(graph.index[op_name(name)] for name in targets), control=False)
    remaining = {one.op for one in blockers if one.op and ancestry[graph.index[one.op]]}.difference(*ways.values())
    off = _cut_suggestion(graph, remaining, list(part_inputs), targets)
    # `remaining` has only data ancestors of the outputs, because a control input cannot be cut off at a tensor.
    return with_advice(blockers, ways, dict.fromkeys(remaining, off))


def _proof_text(saved: Any) -> str:
    """Returns the result of the test run of a saved model, with the notes."""
    return "; ".join([saved.proof, *saved.notes] if saved.proof else saved.notes)


def _input_names(editor: EditorLike, inputs: Any) -> list[str]:
    resolver = ReferenceResolver(editor.snapshot, editor.layers, f"check(inputs={inputs!r})")
    names = list(tensors_by_key(resolver.tensors(inputs)).values())
    for name in names:
        editor.snapshot.tensor(name, f"check(inputs={name!r})")
    return names


def _fixes_by_code(editor: EditorLike, blockers: tuple[Blocker, ...], targets: list[str]) -> dict[str, list[str]]:
    """Returns code -> the blockers that it removes. Each recipe that returns a plan is tried."""
    graph, ops, ways = editor.snapshot, {one.op for one in blockers if one.op}, dict[str, list[str]]()
    for recipe in registered_recipes():
        if not ops or not recipe.has_trial:
            continue
        try:
            after = recipe.run(editor, {"outputs": targets}).after()
        except SurgeryError:
            continue  # the recipe does not apply
        removed = [op for op in ops if op not in after.index or _differs(graph, after, op)]
        more = f", {one_or_all(targets)!r}" if any(wish.name == "outputs" for wish in recipe.parameters) else ""
        if removed:
            ways[f"gs.recipes.{recipe.name}(ed{more})"] = removed
    for one in blockers:
        if one.op and one.kind == VARIABLE and one.op not in {op for removed in ways.values() for op in removed}:
            ways |= {f"ed.plan().{code}": [one.op] for code in _bypass_steps(editor, one, targets)}
    calls = _calls(editor, blockers)
    return ways | ({f"ed.plan().inline({one_or_all(calls)!r})": calls} if calls else {})


def _bypass_steps(editor: EditorLike, one: Blocker, targets: list[str]) -> list[str]:
    """Returns the code of a step after which the outputs do not need an assignment; at most one.

    The step resolves a condition to the other branch, or removes a control input that waits for the assignment.
    """
    graph = editor.snapshot
    op = graph.index[one.op]
    plan = editor.plan()
    plans = [plan.resolve_condition(*predicate) for predicate in skipping_predicates(graph, op, one.type)]
    plans += [plan.remove_control(*edge) for edge in _control_waits(graph, op, targets)]
    fine = (
        candidate for candidate in plans if not candidate.check() and not _needs(candidate.after(), one.op, targets)
    )
    return [candidate.steps[0].request for candidate in fine][:1]


def _needs(graph: Graph, op: str, targets: list[str]) -> bool:
    ends = graph.mask(graph.index[op_name(name)] for name in targets)
    return op in graph.index and bool(backward(graph, ends)[graph.index[op]])


def _control_waits(graph: Graph, assigns: int, targets: list[str]) -> list[tuple[str, str]]:
    """Returns (op, its control input) if the outputs only wait for an assignment; nothing if a read comes after it."""
    ancestry = backward(graph, graph.mask(graph.index[op_name(name)] for name in targets), control=False)
    after = forward(graph, graph.mask([assigns]))
    if ancestry[assigns] or (ancestry & after & graph.type_mask((*READ_TYPES, *VARIABLE_TYPES))).any():
        return []
    ways = [(op, one) for op in np.flatnonzero(ancestry & after).tolist() for one in graph.control.row(op).tolist()
            if after[one] and not ancestry[one]]  # fmt: skip
    return [(graph.names[op], graph.names[one]) for op, one in ways] if len(ways) == 1 else []


def _calls(editor: EditorLike, blockers: tuple[Blocker, ...]) -> list[str]:
    """Returns the blocked calls that can be inlined, if the converter refuses the call itself, not an op inside it."""
    others = {one.op for one in blockers if one.type not in CALLS}
    calls = list(dict.fromkeys(one.op for one in blockers if one.op and one.op not in others))
    plan = editor.plan()
    for op in calls:
        plan = plan.inline(op)
    stuck = {fault.step for fault in plan.check()} if calls else set()
    return [] if None in stuck else [op for step, op in enumerate(calls) if step not in stuck]


def _differs(graph: Graph, after: Graph, op: str) -> bool:
    """Whether an op is of another type after a plan, or has other attributes."""
    i, j = graph.index[op], after.index[op]
    one, other = graph.nodes[i], after.nodes[j]
    if graph.types[i] != after.types[j] or other is None:  # an op that the plan makes has no node yet
        return True
    return one is not other and dict(one.attr) != dict(other.attr)


def _cut_suggestion(graph: Graph, ops: Iterable[str], inputs: list[str], outputs: list[str]) -> str:
    """Returns a suggestion to convert only the part of the graph without the unsupported ops."""
    start, end = cut(graph, ops, inputs, outputs)
    ends = ("inputs", start, inputs), ("outputs", end, outputs)
    parts = [f"{key}={one_or_all(now)!r}" for key, now, old in ends if now != old]
    return f"Cut it off: {', '.join(parts)}" if parts else ""
