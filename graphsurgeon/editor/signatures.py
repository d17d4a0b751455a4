"""The other signatures of an opened SavedModel, in the graph that is saved."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .. import tf
from ..errors import SurgeryError, few
from ..graph.graph import Graph
from ..graph.names import free_name, op_name, plain_name, tensors_by_key
from ..graph.open_graph import DEFAULT, Ends, OpenedGraph
from ..graph.selection import select
from ..graph.variables import FEED_TYPES
from ..plan.plan import Plan
from .backend import new_plan
from .history import Timeline
from .values import Values


@dataclass
class WholeModel:
    """A graph with all signatures of the opened file.

    Args:
        timeline: the graph: the given one, or a copy with the ops of the other signatures.
        values: the values of its variables.
        signatures: the other signatures.
        variable_paths: paths of the variables that only the other signatures have, as in `OpenedGraph`.
        notes: the signatures that are left out, with the reasons.
    """

    timeline: Timeline
    values: Values
    signatures: dict[str, Ends] = field(default_factory=dict)
    variable_paths: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def with_signatures(
    timeline: Timeline, values: Values, opened: OpenedGraph, options: Any, value_source: Any
) -> WholeModel:
    """Returns a graph with all signatures of the opened file, for `Editor.save`.

    Args:
        timeline: the current graph, which does not change.
        values: the values of its variables.
        opened: the opened graph, with the current names of its ends.
        options: the request.
        value_source: the argument `values` of `Editor.save`.
    """
    whole = WholeModel(timeline, values)
    own = opened.signature or ("" if options.outputs is None else DEFAULT)
    names = [one.name for one in opened.serving.signatures]
    names = [name for name in names if name not in (options.signatures or {own})]
    if not names or options.kind == "checkpoint" or opened.serving.opened.startswith("function "):
        return whole
    reason = _reason_to_leave_out(timeline.snapshot, options)
    if reason:
        whole.notes.append(f"not included: {_named(names)}, because {reason}")
        return whole
    index = timeline.snapshot.index
    for name, (inputs, outputs) in opened.other_signatures.items():
        lost = [tensor for tensor in (*inputs.values(), *outputs.values()) if op_name(tensor) not in index]
        if lost:
            whole.notes.append(f"not included: {_named([name])}, because {lost[0]!r} is not in the graph")
        elif name in names:
            whole.signatures[name] = inputs, outputs
    elsewhere = [name for name in names if name not in opened.other_signatures]
    if opened.serving.other is None or not opened.signature:
        reason = "they are not in the graph, and cannot be read from its file"
        whole.notes += [f"not included: {_named(elsewhere)}, because {reason}"] if elsewhere else []
        return whole
    return _merged(whole, opened, elsewhere, value_source)


def _named(names: list[str]) -> str:
    return f"{'signature' if len(names) == 1 else 'signatures'} {', '.join(map(repr, names))}"


def _reason_to_leave_out(graph: Graph, options: Any) -> str:
    """Returns why a file cannot have the other signatures; empty if it can."""
    if not options.kind.startswith("saved_model"):
        return f"the format {options.kind!r} has no place for them"
    if options.signatures is not None:
        return "signatures= does not list them"
    if options.inputs is not None and options.outputs is not None:
        return "inputs= and outputs= name the part to save"
    cuts = [name for name in tensors_by_key(options.inputs).values()
            if graph.types[graph.tensor(name, options.request)[0]] not in FEED_TYPES]  # fmt: skip
    return f"inputs= cuts the graph at {few(list(map(repr, cuts)))}" if cuts else ""


def _merged(whole: WholeModel, opened: OpenedGraph, names: list[str], value_source: Any) -> WholeModel:
    """Copies a graph, and the ops of other signatures of its file, to a new graph.

    The variables that the signatures share are in it once, with their current values. A variable that an edit has
    removed has its value from the file.
    """
    base = whole.timeline.snapshot
    new = OpenedGraph(tf.graph_parts.graph_with_placeholders({}, "save()"), opened.title)
    timeline = Timeline(new)
    values = Values(new, timeline)
    given = whole.values if value_source is None or isinstance(value_source, str) else value_source
    plan = new_plan(timeline.snapshot).copy(select(base), to="", control="include", values=given, collections="keep")
    if plan.effect.faults:
        problem = plan.effect.faults[0].problem
        whole.notes.append(f"not included: {_named(names)}, because the graph cannot be copied: {problem}")
        return whole
    known = {identity: name for name, identity in whole.values.identities().items()}
    added, paths = dict[str, Ends](), dict[str, str]()
    for name in names:
        try:
            result = _with_signature(plan, opened, name, known, paths)
        except SurgeryError as error:
            result = error.problem
        if isinstance(result, str):
            whole.notes.append(f"not included: {_named([name])}, because {result}")
        else:
            plan, added[name] = result
    if not added:
        return whole
    timeline.apply(plan, values, record=False)
    if any(not event.undone for event in whole.timeline.events):
        whole.notes.append(f"not edited: {_named(list(added))}; the plans changed {opened.signature!r}")
    return WholeModel(timeline, values, {**whole.signatures, **added}, paths, whole.notes)


def _with_signature(
    plan: Plan, opened: OpenedGraph, name: str, known: dict[Any, str], paths: dict[str, str]
) -> tuple[Plan, Ends] | str:
    """Returns a plan that also copies the ops of a signature, and the ends of the signature after it.

    If that is not possible, returns the reason.

    Args:
        plan: the steps so far.
        opened: the opened graph.
        name: the name of the signature.
        known: identity of a variable -> the variable; new variables are added.
        paths: the paths of new variables, which are added.

    Raises:
        SurgeryError: the signature cannot be read.
    """
    other = opened.serving.other(name)  # type: ignore[misc]
    timeline = Timeline(other)
    graph, base = timeline.snapshot, plan.after()
    block = select(graph, outputs=[*other.inputs.values(), *other.outputs.values()])
    scope = free_name(plain_name(name, "signature"), base.taken)
    shared, new, identities = dict[str, str](), dict[Any, str](), other.values.identities()
    for op in graph.state.variables:
        same = known.get(identities.get(op), "")
        if same not in base.index:
            new[identities.get(op, f"{scope}/{op}")] = f"{scope}/{op}"
            continue
        here, there = base.nodes[base.index[same]], graph.nodes[graph.index[op]]
        if any(here.attr[attr] != there.attr[attr] for attr in ("dtype", "shape")) or here.op != there.op:
            return f"an edit changed its variable {same!r}"
        shared[f"{op}:0"] = f"{same}:0"
    rest = block.mask & ~graph.mask(graph.index[tensor.removesuffix(":0")] for tensor in shared)
    more = plan.copy(
        replace(block, mask=rest), to=scope, control="include", inputs=shared, values=Values(other, timeline),
        collections="keep",
    )  # fmt: skip
    for fault in more.effect.faults:
        return fault.problem
    known |= new
    paths |= {f"{scope}/{op}": path for op, path in other.variable_paths.items() if f"{scope}/{op}" in new.values()}
    inputs, outputs = (
        {key: f"{scope}/{tensor}" for key, tensor in side.items()} for side in (other.inputs, other.outputs)
    )
    return more, (inputs, outputs)
