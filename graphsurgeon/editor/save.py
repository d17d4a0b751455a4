"""Saves the graph of an editor as files, with all signatures of its file; restores checkpoints into an editor."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .. import tf
from ..errors import PlanError, SurgeryError, few
from ..graph.graph import Graph
from ..graph.names import free_name, op_name, plain_name, tensor_name, tensors_by_key
from ..graph.open_graph import DEFAULT, Ends, OpenedGraph, end_tensors
from ..graph.reports import Restored, Saved
from ..graph.selection import select
from ..graph.types import TFSession
from ..graph.variables import FEED_TYPES
from ..plan.plan import Plan
from ..plan.steps.base import INITIAL
from .applied import Applied
from .backend import new_plan
from .history import History, Timeline
from .session_values import Values


def restore(
    timeline: Timeline,
    values: Values,
    checkpoint: Any,
    *,
    names: Any,
    exclude: Any,
    session: TFSession | None,
    **more: Any,
) -> Restored:
    """Gives the variables of an editor the values of a checkpoint, as `Editor.restore` does.

    Args:
        timeline: the current graph.
        values: the values of its variables.
        checkpoint, names, exclude, session: as in `Editor.restore`.
        more: its other arguments.
    """
    _refuse_odd(f"restore({checkpoint!r})", checkpoint, names)
    target = session if session is not None else values.session(quiet=True)
    if getattr(target, "graph", None) is not timeline.live_graph:
        raise PlanError(
            f"restore({str(checkpoint)!r}, session=...)",
            f"that is not a session of {timeline.snapshot.title}",
            "Leave session= out, or give ed.session(session)",
        )
    excluded = [exclude] if isinstance(exclude, str) else list(exclude)
    restored = tf.values.restore.restore(target, checkpoint, names=_renames(names), exclude=excluded, **more)
    values.note_assigned()
    return restored


def save(
    timeline: Timeline, values: Values, opened_graph: OpenedGraph, path: Any, value_source: Any, **settings: Any
) -> Saved:
    """Writes the graph of an editor with its values, as `Editor.save` does.

    Args:
        timeline: the current graph.
        values: the values of its variables.
        opened_graph: the description of the model, whose signatures are the default.
        path: the file or folder to write.
        value_source: the argument `values` of `Editor.save`.
        settings: the other arguments of `Editor.save`.
    """
    _refuse_odd(f"save({path!r})", path, settings["names"], settings["signatures"], settings["tags"])
    initial = isinstance(value_source, str) and value_source == INITIAL
    settings["names"] = _renames(settings["names"])
    settings["feeds"] = {tensor_name(k): v for k, v in (settings["feeds"] or {}).items()}
    options = tf.save.save.SaveRequest(os.fspath(path), **settings, initial=initial, untrained={}, model=opened_graph)
    options.check()
    whole_model = with_signatures(timeline, values, opened_graph, options, value_source)
    if whole_model.timeline is not timeline:
        timeline, values, value_source = whole_model.timeline, whole_model.values, INITIAL if initial else None
    init_ops, feeds = values.init_ops
    options = replace(options, model=replace(whole_model.model, init_ops=init_ops, asset_feeds=feeds))
    base, own = timeline.snapshot, value_source is None or initial
    if options.constant or options.kind != "graph_def":
        variables = [info for info in base.state.variables.values() if not info.local]
        lacking = tf.values.initialization.with_initial_value(
            values if own else value_source, base.owner, variables, options.request
        )
        options = replace(options, untrained=lacking)
    source = values.read_session if own else tf.values.transfer.values_of(value_source)
    if own and (options.keeps_signatures or options.constant):
        _, ends = end_tensors(options.all_signatures(base).values())
        values.refuse_missing(ends or base.state.variables, options.request)
    given = {str(name).removesuffix(":0") for name in source} if isinstance(source, Mapping) else set()
    uninitialized = (values.uninitialized | _empty_locals(base, source, options)) - given
    saved = tf.save.save.save(base, uninitialized, source, options)
    if options.keeps_signatures and len(opened_graph.served_names) > 1:
        names = map(repr, opened_graph.served_names)
        whole_model.notes.append(f"signature {' is also '.join(names)}, which the opened file does not have")
    reasons = {n: why for n, why in options.untrained.items() if n in saved.variables}
    notes = [*saved.notes, *whole_model.notes, *_lost_training(timeline, opened_graph, options)]
    return replace(saved, untrained={**saved.untrained, **reasons}, notes=notes)


def _lost_training(timeline: Timeline, opened_graph: OpenedGraph, options: Any) -> list[str]:
    """Returns notes about properties of the opened Keras model that no file of this request has."""
    if opened_graph.origin is None or options.kind in ("checkpoint", "keras"):
        return []
    base, facts = timeline.snapshot, opened_graph.origin.facts(History(timeline.events).renamed)
    return list(facts.left_out(base, *end_tensors(options.all_signatures(base).values())))


def _empty_locals(base: Graph, values: Any, options: Any) -> frozenset[str]:
    """Returns names of local variables without a value in a session, for example because they were not initialized."""
    local_variables = [info for info in base.state.variables.values() if info.local]
    if not local_variables or options.kind == "graph_def":
        return frozenset()
    source = values() if callable(values) else values
    names = frozenset(info.op for info in local_variables)
    if getattr(source, "graph", None) is base.owner:
        names -= tf.values.initialization.initialized_variables(source, local_variables, options.request)
    return names


def _refuse_odd(request: str, path: Any, names: Any, signatures: Any = None, tags: Any = ()) -> None:
    """Refuses arguments of a wrong type."""
    if not isinstance(path, (str, os.PathLike)):
        raise PlanError(request, f"{path!r} is not a path", "Give a path, as text or pathlib.Path")
    if names is not None and not isinstance(names, (Mapping, Applied)):
        how = "Give {'name in the checkpoint': 'variable'}, or what apply returned"
        raise PlanError(request, f"names={names!r} is not a mapping", how)
    ends = signatures.values() if isinstance(signatures, Mapping) else [signatures] if signatures is not None else []
    if any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in ends):
        how = "Give {'name': (inputs, outputs)}, for example {'serving_default': ('x:0', 'y:0')}"
        raise PlanError(request, f"signatures={signatures!r} is not a mapping of name to (inputs, outputs)", how)
    if isinstance(tags, bytes) or not isinstance(tags, Iterable) or not all(isinstance(tag, str) for tag in tags):
        raise PlanError(request, f"tags={tags!r} is not text", "Give one or several texts, for example tags='serve'")


def _renames(names: Any) -> dict[str, str]:
    """Returns name in the checkpoint -> variable; for an applied plan, name in the source -> current name."""
    return names.variable_names if isinstance(names, Applied) else dict(names or {})


@dataclass
class WholeModel:
    """A graph with all signatures of the opened file.

    Args:
        timeline: the graph: the given one, or a copy with the ops of the other signatures.
        values: the values of its variables.
        model: the description of the model.
        notes: the signatures that are left out, with the reasons.
    """

    timeline: Timeline
    values: Values
    model: OpenedGraph
    notes: list[str] = field(default_factory=list)


def with_signatures(
    timeline: Timeline, values: Values, opened_graph: OpenedGraph, options: Any, value_source: Any
) -> WholeModel:
    """Returns a graph with all signatures of the opened file, for `Editor.save`.

    Args:
        timeline: the current graph, which does not change.
        values: the values of its variables.
        opened_graph: the opened graph, with the current names of its ends.
        options: the request.
        value_source: the argument `values` of `Editor.save`.
    """
    whole_model = WholeModel(timeline, values, replace(opened_graph, other_signatures={}))
    serving, own = opened_graph.serving, opened_graph.signature or ("" if options.outputs is None else DEFAULT)
    served = options.kind.startswith(("saved_model", "tflite"))  # the format has a place for a signature
    written = options.signatures or ({own} if served else ())
    names = [one.name for one in serving.signatures if one.name not in written]
    if options.kind == "checkpoint" or serving.opened_signature.startswith("function "):
        return whole_model
    if serving.functions:
        functions = few(map(repr, serving.functions))
        whole_model.notes.append(f"not included: functions {functions} of the opened object")
    if not names:
        return whole_model
    reason = _reason_to_leave_out(timeline.snapshot, options)
    if reason:
        whole_model.notes.append(f"not included: {_named(names)}, because {reason}")
        return whole_model
    index, signatures = timeline.snapshot.index, dict[str, Ends]()
    for name, ends in opened_graph.other_signatures.items():
        lost = [tensor for tensor in (*ends.inputs.values(), *ends.outputs.values()) if op_name(tensor) not in index]
        if lost:
            whole_model.notes.append(f"not included: {_named([name])}, because {lost[0]!r} is not in the graph")
        elif name in names:
            signatures[name] = ends
    whole_model.model = replace(opened_graph, other_signatures=signatures)
    elsewhere = [name for name in names if name not in opened_graph.other_signatures]
    if serving.open_other is None or not opened_graph.signature:
        reason = "they are not in the graph, and cannot be read from its file"
        whole_model.notes += [f"not included: {_named(elsewhere)}, because {reason}"] if elsewhere else []
        return whole_model
    return _merged(whole_model, elsewhere, value_source)


def _named(names: list[str]) -> str:
    return f"{'signature' if len(names) == 1 else 'signatures'} {', '.join(map(repr, names))}"


def _reason_to_leave_out(graph: Graph, options: Any) -> str:
    """Returns why a file cannot have the other signatures; empty if it can."""
    if not options.kind.startswith("saved_model"):
        return f"the format {options.kind!r} has no place for {'more' if options.kind == 'tflite' else 'signatures'}"
    if options.signatures is not None:
        return "signatures= does not list them"
    if options.inputs is not None and options.outputs is not None:
        return "inputs= and outputs= name the part to save"
    cuts = [name for name in tensors_by_key(options.inputs).values()
            if graph.types[graph.tensor(name, options.request)[0]] not in FEED_TYPES]  # fmt: skip
    return f"inputs= cuts the graph at {few(map(repr, cuts))}" if cuts else ""


def _merged(whole_model: WholeModel, names: list[str], value_source: Any) -> WholeModel:
    """Copies a graph, and the ops of other signatures of its file, to a new graph.

    The variables that the signatures share are in it once, with their current values. A variable that an edit has
    removed has its value from the file.
    """
    base = whole_model.timeline.snapshot
    model = whole_model.model
    new = OpenedGraph(tf.graph_parts.graph_with_placeholders({}, "save()"), model.title)
    timeline = Timeline(new)
    values = Values(new, timeline)
    given = whole_model.values if value_source is None or isinstance(value_source, str) else value_source
    plan = new_plan(timeline.snapshot).copy(select(base), to="", control="include", values=given, collections="keep")
    if plan.effect.faults:
        problem = plan.effect.faults[0].problem
        whole_model.notes.append(f"not included: {_named(names)}, because the graph cannot be copied: {problem}")
        return whole_model
    known = {identity: name for name, identity in whole_model.values.identities().items()}
    signatures, paths = dict[str, Ends](), dict[str, str]()
    for name in names:
        try:
            plan, signatures[name] = _with_signature(plan, model, name, known, paths)
        except SurgeryError as error:
            whole_model.notes.append(f"not included: {_named([name])}, because {error.problem}")
    if not signatures:
        return whole_model
    timeline.apply(plan, values, record=False)
    if any(not event.undone for event in whole_model.timeline.events):
        whole_model.notes.append(f"not edited: {_named(list(signatures))}; the plans changed {model.signature!r}")
    others, paths = {**model.other_signatures, **signatures}, {**model.variable_paths, **paths}
    model = replace(model, other_signatures=others, variable_paths=paths)
    return WholeModel(timeline, values, model, whole_model.notes)


def _with_signature(
    plan: Plan, opened_graph: OpenedGraph, name: str, names_by_identity: dict[Any, str], paths: dict[str, str]
) -> tuple[Plan, Ends]:
    """Returns a plan that also copies the ops of a signature, and the ends of the signature after it.

    Args:
        plan: the steps so far.
        opened_graph: the opened graph.
        name: the name of the signature.
        names_by_identity: identity of a variable -> the variable; new variables are added.
        paths: the paths of new variables, which are added.

    Raises:
        SurgeryError: the signature cannot be read or copied.
    """
    other = opened_graph.serving.open_other(name)  # type: ignore[misc]
    timeline = Timeline(other)
    graph, base = timeline.snapshot, plan.after()
    block = select(graph, outputs=[*other.inputs.values(), *other.outputs.values()])
    scope = free_name(plain_name(name, "signature"), base.is_name_used)
    shared, new, identities = dict[str, str](), dict[Any, str](), other.values.identities()
    for op in graph.state.variables:
        same = names_by_identity.get(identities.get(op), "")
        if same not in base.index:
            new[identities.get(op, f"{scope}/{op}")] = f"{scope}/{op}"
            continue
        here, there = base.nodes[base.index[same]], graph.nodes[graph.index[op]]
        if any(here.attr[attr] != there.attr[attr] for attr in ("dtype", "shape")) or here.op != there.op:
            problem = f"an edit changed its variable {same!r}"
            raise PlanError("save()", problem, "Undo the edit, or leave the signature out")
        shared[f"{op}:0"] = f"{same}:0"
    rest = block.mask & ~graph.mask(graph.index[tensor.removesuffix(":0")] for tensor in shared)
    more = plan.copy(
        replace(block, mask=rest), to=scope, control="include", inputs=shared, values=Values(other, timeline),
        collections="keep",
    )  # fmt: skip
    for fault in more.effect.faults:
        raise fault.to_error()
    names_by_identity |= new
    paths |= {f"{scope}/{op}": path for op, path in other.variable_paths.items() if f"{scope}/{op}" in new.values()}
    ends = Ends(inputs=other.inputs, outputs=other.outputs, defaults=other.defaults)
    return more, ends.with_tensors(lambda tensor: f"{scope}/{tensor}")
