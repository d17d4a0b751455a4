"""Applies the effect of a plan: adds ops to a live graph in one import, or builds a new graph if old edges change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...errors import Kind, PlanError, SurgeryError, counted
from ...graph.concurrency import gc_paused
from ...graph.graph import Graph
from ...graph.lazy_graph import lazy_graph_of
from ...graph.names import shared_scope
from ...graph.provenance import (
    ATTRIBUTE,
    COLLECTION,
    OpOrigin,
    attribute,
    from_attribute,
    orphan_mask,
    read_origins,
    step_of,
)
from ...graph.security import inherit_origins, may_reach_out
from ...graph.selection import Selection, select
from ...graph.traversal import backward
from ...graph.types import TFGraph
from ...graph.variables import NOT_IN_SESSION, VariableInfo
from ...plan.copy_result import CopyResult, without_ops
from ...plan.fault import Fault
from ...plan.plan import Plan
from ...plan.plan_result import AppliedOps, PlanResult, record
from ...plan.shape_inference import stale_shapes
from ...plan.static_checks import unknown_fault
from ...plan.steps.base import INITIAL, steps_text
from ...plan.steps.copy import CopyStep
from ..functions import definitions as functions
from ..open.outputs import array_in
from ..open.snapshot import DIGEST, runs, snapshot
from ..private.c_api import names_in_use
from ..private.contexts import outside_contexts
from ..private.graphs import all_collections
from ..protos import empty_graph, lacks_memory
from ..run.errors import error_text
from ..run.progress import phase
from ..values.transfer import source_of, value_provider
from ..values.variables import fetch, join_collection, refuse_unfit, same_entry
from . import python_state
from .imports import import_with_shapes, rollback_on_error
from .node_defs import compile_nodes, rename_keys, write_shapes
from .python_state import attach_python_state


def records(graph: TFGraph) -> list[Any]:
    """Returns the records of a graph, oldest first."""
    waiting = lazy_graph_of(graph)
    if waiting is not None:
        return list(waiting.records)
    return list(all_collections(graph).get(COLLECTION, ()))


def add_record(graph: TFGraph, data: bytes) -> None:
    """Adds a record to a graph."""
    if data:
        graph.add_to_collection(COLLECTION, data)


def remove_record(graph: TFGraph, data: bytes) -> None:
    """Removes a record from a graph."""
    lists = all_collections(graph)
    items = lists.get(COLLECTION, [])
    with suppress(ValueError):
        items.remove(data)
    if not items:
        lists.pop(COLLECTION, None)


def next_step(graph: TFGraph, events: Iterable[Any]) -> int:
    """Returns the number of the next step: one more than the highest number in this graph and in its file."""
    return 1 + max([0, *(event.number for event in events), *map(step_of, records(graph))])


def record_plan(effect: PlanResult, old_graph: Any, graph: TFGraph, step: int) -> bytes:
    """Adds a record of the changes of a plan to a graph; a new graph also gets the records of the old graph."""
    if graph is not old_graph:
        for data in records(old_graph):
            graph.add_to_collection(COLLECTION, data)
    data = record(effect, step, lambda source: recorded_origins(source, source.live_graph))
    add_record(graph, data)
    return data


def recorded_origins(snapshot: Graph, graph: TFGraph) -> Mapping[str, OpOrigin]:
    """Returns op name -> its origin, for all ops that a plan has made."""
    by_name = read_origins(records(graph))
    marked = {snapshot.names[i]: snapshot.nodes[i].attr[ATTRIBUTE].s for i in _stamped_ops(snapshot)}
    return {**{name: from_attribute(name, data) for name, data in marked.items()}, **by_name} if marked else by_name


def origin(snapshot: Graph, graph: TFGraph, name: str) -> OpOrigin | None:
    """Returns the origin of one op, or None if no plan has made it. Other ops are not read."""
    result = read_origins(records(graph)).get(name)
    attributes = getattr(snapshot.nodes[snapshot.index[name]], "attr", {}) if result is None else {}
    return from_attribute(name, attributes[ATTRIBUTE].s) if ATTRIBUTE in attributes else result


def _stamped_ops(snapshot: Graph) -> list[int]:
    """Returns the numbers of the ops with an attribute for their origin."""
    stamps, sign, numbers = snapshot.stamps, ATTRIBUTE.encode(), []
    if len(stamps) != snapshot.size:
        return [i for i, node in enumerate(snapshot.nodes) if ATTRIBUTE in getattr(node, "attr", ())]
    for batch in runs(range(snapshot.size)):
        marks = [stamps[i] for i in batch]
        # most stamps are the bytes of the node; stamps of large nodes are digests
        if sign in b"".join(marks) or DIGEST in map(len, marks):
            maybe = [i for i, mark in zip(batch, marks, strict=True) if sign in mark or len(mark) == DIGEST]
            numbers += [i for i in maybe if ATTRIBUTE in snapshot.nodes[i].attr]
    return numbers


def graph_def(snapshot: Graph, graph: TFGraph, provenance: bool) -> Any:
    """Returns the GraphDef of a graph without its orphans, except for orphans that other ops read."""
    from ...plan.dependencies import needed_ops

    proto = graph.as_graph_def()
    kept_mask = needed_ops(snapshot, ~orphan_mask(snapshot))
    out = type(proto)()
    out.versions.CopyFrom(proto.versions)
    if proto.HasField("library"):
        out.library.CopyFrom(proto.library)
    out.node.extend(node for node in proto.node if kept_mask[snapshot.index[node.name]])
    origins_by_name = recorded_origins(snapshot, graph) if provenance else {}
    for node in out.node if origins_by_name else ():
        if node.name in origins_by_name:
            node.attr[ATTRIBUTE].s = attribute(origins_by_name[node.name])
    return out


def constant_of(graph: TFGraph, name: str, request: str) -> Any:
    """Returns the value of a constant of a live graph as an array.

    Raises:
        PlanError: the array would be too large; a constant of a few bytes can describe a large array.
    """
    array = array_in(graph.get_operation_by_name(name).get_attr("value"))
    if array is None:
        raise PlanError(
            request, f"constant {name!r} is too large to be expanded", "Save the graph instead: ed.save(path)"
        )
    return array


def apply_effect(effect: PlanResult, graph: TFGraph) -> AppliedOps:
    """Adds the copies of an effect to a live graph.

    Args:
        effect: a faultless effect whose base is a snapshot of `graph`.
        graph: the destination `tf.Graph`.

    Raises:
        StalePlanError: an op that the plan changes has changed since the plan was made.
        PlanError: TensorFlow refuses the nodes, or a value cannot be read. The graph is then unchanged.
        MemoryError: memory has run out.
        others: Python fails after the import; the caller then restores as much as possible by `imports.SavedState`.
    """
    unknown = unknown_fault(effect, "apply(plan)")
    if unknown is not None:
        raise replace(unknown, kind=Kind.PLAN).to_error()
    if graph.finalized:
        how = "Unfinalize it, or copy into another graph"
        raise PlanError("apply(plan)", "the graph is finalized", how, kind=Kind.PLAN)
    with gc_paused(), outside_contexts(graph):
        return _apply_effect(effect, graph)


def copy_into(
    graph: TFGraph, selection: Selection, separate_scope: bool = False, exact: bool = False, **options: Any
) -> CopyResult:
    """Copies a selection into a live graph immediately, outside of any plan.

    Args:
        graph: the destination.
        selection: the ops to copy.
        separate_scope: use a new scope if the graph already has an op with one of the names.
        exact: if a loop or cond is selected in part, do not add its other ops.
        options: as for `Plan.copy`.

    Raises:
        PlanError: the copy has a fault (the first one is raised), or TensorFlow refuses the nodes.
    """
    base = snapshot(graph)
    if separate_scope:
        used_names = {name.lower() for name in base.names}
        options["to"] = "graph" if any(name.lower() in used_names for name in selection.names) else ""
    if exact:
        state = replace(selection.graph.state, contexts=())
        selection = replace(selection, graph=replace(selection.graph, state_of=lambda: state))
    plan = Plan(base).copy(selection, **options)
    if plan.effect.faults:
        raise plan.effect.faults[0].to_error()
    apply_effect(plan.effect, graph)
    return plan.effect.copies[0]


def _apply_effect(effect: PlanResult, graph: TFGraph) -> AppliedOps:
    # 1. Everything that can fail, before anything changes.
    result = AppliedOps(graph)
    phase("reading values")
    for copied in effect.copies:
        load_values(copied, result)
    for copied in effect.copies:
        if may_reach_out(copied.source, copied.ops.tolist()):
            inherit_origins(graph, copied.source.folded.owner)
    phase("writing nodes")
    library = functions.library(effect.copies, graph)
    gradients = [python_state.register_gradients(copied) for copied in effect.copies]
    names = [{move.source: move.name for move in moves} for moves in gradients]
    stale = stale_shapes(effect)
    graph_def, tensors, controls = compile_nodes(effect, graph, library, result.frozen_values, names)
    nodes_with_shapes = write_shapes(effect, graph_def, stale)
    result.frozen_values = {}
    # 2. One import.
    phase(f"importing {counted(len(graph_def.node), 'nodes')}")
    with functions.with_library(library, graph):
        try:
            within = _scope_in_use(effect, [node.name for node in graph_def.node])
            result.live_ops = import_with_shapes(graph, graph_def, nodes_with_shapes, tensors, controls, within=within)
        except Exception as error:
            if lacks_memory(error):
                raise
            raise _import_error(error, effect) from error
    # 3. The Python objects of the graph, which are not in the nodes.
    phase("shapes, variables, collections")
    result.nodes = graph_def.node
    result.ops = list(result.live_ops)
    _reserve(graph, effect)
    for copied, moves in zip(effect.copies, gradients, strict=True):
        attach_python_state(copied, graph, result, stale)
        python_state.bind_gradients(copied, graph, result.variables, moves)
    result.live_ops = {}
    return result


def _scope_in_use(effect: PlanResult, names: Sequence[str]) -> str:
    """Returns the scope of all new ops if one of them has the name of an existing scope; otherwise empty."""
    steps = [copied.step for copied in effect.copies]
    if all(step.reuse is None and step.names is None for step in steps):  # then the plan makes a new scope
        return ""
    scopes = effect.base.scopes.index
    return shared_scope(names) if any(name in scopes for name in names) else ""


def load_values(copy_result: CopyResult, result: AppliedOps) -> None:
    """Collects the values for the variables and constants of a copy in `result`."""
    reasons = initial_values_of(copy_result)
    result.untrained.update(
        {v.name: reasons[v.original] for v in copy_result.variables if v.original in reasons and not v.info.local}
    )
    result.untrained.update(
        {c.name: reasons[c.frozen_variable] for c in copy_result.constants if c.frozen_variable in reasons}
    )
    provider = value_provider(copy_result.step.values)
    source = source_of(copy_result.step.values) if _source_variables(copy_result) else None
    # An editor lists its variables without a value; their copies get no value either.
    uninitialized = frozenset[str]() if provider is None else provider.uninitialized
    variables = [
        v
        for v in copy_result.variables
        if v.policy == "copy" and source is not None and v.original not in uninitialized
    ]
    request = request_of(copy_result)
    frozen = [
        (c.name, _source_variable(copy_result, c.frozen_variable)) for c in copy_result.constants if c.frozen_variable
    ]
    infos = [_source_variable(copy_result, v.original) for v in variables] + [info for _, info in frozen]
    if isinstance(source, tuple):  # (values in a file, function that returns a session with them)
        stored, session = source
        source = stored if all(info.op in stored for _, info in frozen) else session()
        if source is stored:  # variables that are not in the file are initialized, as in a session
            variables = [v for v in variables if v.original in stored]
            infos = [_source_variable(copy_result, v.original) for v in variables] + [info for _, info in frozen]
    later = frozenset(v.original for v in variables) - {info.op for _, info in frozen}
    values = fetch(source, infos, copy_result.source.folded.live_graph, request, later, initial=True) if infos else {}
    result.frozen_values.update({name: values.pop(info.op) for name, info in frozen})
    init_ops, feeds = ([], {}) if provider is None else provider.init_ops
    for name in init_ops:
        result.init_ops += [(op, _rename_feeds(copy_result, feeds)) for op in _copied_init_ops(copy_result, name)]
    for variable in copy_result.variables:
        if variable.original in values:
            result.values[variable.name] = values[variable.original]
        elif variable.info.initializer:
            result.initial.append(variable.name)
        result.variable_infos[variable.name] = variable.new_info


def value_faults(effect: PlanResult) -> list[Fault]:
    """Returns faults for values of copies that cannot be read, without reading any value.

    An editor makes a session if it has none. So a missing value is a fault only in a session of the caller.
    """
    faults = []
    for copied in effect.copies:
        values, graph = copied.step.values, copied.source.folded.live_graph
        if values is None:
            continue
        infos, request = _source_variables(copied), request_of(copied)
        try:
            provider = value_provider(values)
            if infos and provider is not None and provider.graph is graph:
                untrained = provider.untrained(names={info.op for info in infos})
                infos = [info for info in infos if untrained.get(info.op) == NOT_IN_SESSION]
                values = provider.read_session() if infos else {}
            refuse_unfit(values, infos, graph, request, initial=True)
        except SurgeryError as error:
            faults.append(replace(Fault.from_error(error), step=effect.step_number(copied.step)))
    return faults


def initial_values_of(copy_result: CopyResult) -> dict[str, str]:
    """Returns variable -> the reason why the source of values of a copy has only its initial value."""
    from ..values.initialization import with_initial_value

    if copy_result.step.values is None:
        return {}
    infos = _source_variables(copy_result)
    return (
        with_initial_value(
            copy_result.step.values, copy_result.source.folded.live_graph, infos, request_of(copy_result)
        )
        if infos
        else {}
    )


def _source_variables(copy_result: CopyResult) -> list[VariableInfo]:
    """Returns the variables of the source whose current values a copy needs, for variables or constants."""
    own = [_source_variable(copy_result, v.original) for v in copy_result.variables if v.policy == "copy"]
    return own + [_source_variable(copy_result, c.frozen_variable) for c in copy_result.constants if c.frozen_variable]


def _source_variable(copy_result: CopyResult, variable: str) -> VariableInfo:
    """Returns a variable in the graph without unfolded calls, to which sessions and files belong."""
    return copy_result.source.folded.state.variables[variable]


def request_of(copy_result: CopyResult) -> str:
    """Returns the request of a copy with values, for messages."""
    return f"copy(to={copy_result.step.to!r}, values=...)"


def _copied_init_ops(copy_result: CopyResult, name: str) -> list[str]:
    """Returns the copy of an init op; if it was not copied, the copies of its ancestors that fill tables."""
    graph, number = copy_result.source, copy_result.source.index.get(name)
    if number is None:
        return []
    if copy_result.positions[number] >= 0:
        return [copy_result.renamed(name)]
    runs = backward(graph, graph.mask([number]))
    filling = [graph.index[s] for names in graph.state.init_ops.values() for s in names if s in graph.index]
    return [copy_result.renamed(graph.names[i]) for i in filling if runs[i] and copy_result.positions[i] >= 0]


def _rename_feeds(copy_result: CopyResult, feeds: dict[str, Any]) -> dict[str, Any]:
    """Returns feeds for the copy: the same values for the copied tensors."""
    place, graph = copy_result.positions, copy_result.source
    numbers = {name: graph.index.get(name.partition(":")[0], -1) for name in feeds}
    return {copy_result.renamed(n): feeds[n] for n, op in numbers.items() if op >= 0 and place[op] >= 0}


def _reserve(graph: TFGraph, effect: PlanResult) -> None:
    """Reserves the scopes of a plan in TensorFlow's table of names, so that later ops get other names."""
    table = names_in_use(graph)
    for copied in effect.copies:
        scope = copied.step.to.lower()
        if scope:
            table.setdefault(scope, 1)


def remove_from_collections(result: AppliedOps, record: bytes = b"") -> None:
    """Removes the items of a plan, and its record, from the collections; its ops stay in the graph as orphans."""
    lists = all_collections(result.graph)
    with rollback_on_error(result.graph):
        for name, item in reversed(result.collections):
            items = lists.get(name, [])
            at = next((i for i in range(len(items) - 1, -1, -1) if same_entry(items[i], item)), None)
            if at is not None:
                del items[at]
        for name in {name for name, _ in result.collections}:
            if not lists.get(name):
                lists.pop(name, None)
        remove_record(result.graph, record)


def restore_collections(result: AppliedOps, record: bytes = b"") -> None:
    """Adds the items that `remove_from_collections` removed to the collections again."""
    with rollback_on_error(result.graph):
        add_record(result.graph, record)
        for name, item in result.collections:
            join_collection(result.graph, name, [item])


def differences(effect: PlanResult, after: Graph) -> list[str]:
    """Returns the differences between the prediction and the graph after the import; empty if they are equal."""
    expected = effect.after
    if expected.fingerprint == after.fingerprint:
        return []
    if expected.size != after.size:
        return [f"{counted(after.size, 'ops')} instead of {expected.size}"]
    by_name = [n for n in expected.names if n not in after.index]
    if by_name:
        return [f"{by_name[0]!r} is missing"]
    ours, theirs = expected.node_def_inputs(), after.node_def_inputs()

    def same(i: int, j: int) -> bool:
        reads = ours[i] == theirs[j] or sorted(ours[i], key=_input_sort_key) == sorted(theirs[j], key=_input_sort_key)
        return reads and expected.types[i] == after.types[j]

    return [f"{name!r} differs" for i, name in enumerate(expected.names) if not same(i, after.index[name])]


def _input_sort_key(text: str) -> str:
    """Returns a sort key: control inputs, which have no order, are sorted by text; other inputs keep their order."""
    return text if text.startswith("^") else ""


def _import_error(error: Exception, effect: PlanResult) -> PlanError:
    message = error_text(error)
    match = re.search(r"\{\{node ([^}]+)\}\}", message)  # only the text of TensorFlow's error contains the op
    edited = any(not isinstance(step, CopyStep) for step in effect.steps)
    where = (f"op {match[1]!r}" if match[1] in effect.after.index else "an op inside a function") if match else "them"
    return PlanError(
        f"apply: {steps_text(effect.steps) or 'the plan'}",
        f"TensorFlow refuses the nodes: {message}",
        f"Nothing was changed. The changes of the plan affect {where}: choose another tensor, or leave out the step"
        if edited
        else "Nothing was changed. plan.preview() shows the ops of the plan",
    )


def materialize(effect: PlanResult) -> AppliedOps:
    """Carries out a plan in a new `tf.Graph` that also contains all ops of the old graph.

    Args:
        effect: an effect without faults; its whole base is copied, under the same names, with the edited inputs.

    Raises:
        PlanError: TensorFlow refuses the edited nodes; the old graph is unchanged.
    """
    base = effect.base
    names = effect.renamed
    copy_plan = Plan(Graph.from_ops([], owner=object())).copy(
        select(base), to="", variables="initial", collections="keep", names=names or None
    )
    if base.size and copy_plan.effect.faults:  # an empty graph needs no copy
        raise copy_plan.effect.faults[0].to_error()
    key_fields: dict[str, Any] = {"state_prefix": "", "keys": rename_keys(base, names)}
    both = PlanResult(
        base=copy_plan.base,
        steps=effect.steps,
        after=effect.after,
        copies=(
            *(replace(without_ops(c, effect.removed), **key_fields) for c in copy_plan.effect.copies),
            *effect.copies,
        ),
        connections=effect.connections,
        added=effect.added,
        replacements=effect.replacements,
        changes={name: change for name, change in effect.changes.items() if name in effect.after.index},
    )
    result = apply_effect(both, empty_graph(base.owner))
    # The plan does not set variables of the base: they keep their values in their session.
    new = {v.name for c in effect.copies for v in c.variables}
    own = new | _load_renamed_values(effect, both.copies[0], result)
    result.origins = _origins(effect)
    result.initial = [name for name in result.initial if name in own and name not in result.origins]
    result.variable_infos = {name: info for name, info in result.variable_infos.items() if name in own}
    result.ops = effect.new_names
    result.kept_variables = {name: v for name, v in result.variables.items() if name not in new}
    result.variables = {name: v for name, v in result.variables.items() if name in new}
    return result


def _origins(effect: PlanResult) -> dict[str, str]:
    """Returns variable of the new graph -> the same variable in the old graph, if it was kept or renamed.

    A variable that was renamed with other values, or with initial values, counts as another variable.
    """
    base, other = effect.base, set[str]()
    for step, numbers in effect.revalued.items():
        if getattr(getattr(effect.steps[step], "values", None), "graph", None) is not base.owner:
            other |= {base.names[i] for i in numbers if i < base.size}
    stay = (name for name in base.state.variables if base.index[name] not in effect.removed and name not in other)
    return {effect.renamed.get(name, name): name for name in stay}


def _load_renamed_values(effect: PlanResult, copy_result: CopyResult, result: AppliedOps) -> set[str]:
    """Reads new values for renamed variables; returns the new names of these variables."""
    out: set[str] = set()
    init_ops = list(result.init_ops)
    for step, numbers in effect.revalued.items():
        values = getattr(effect.steps[step], "values", None)
        names = {effect.base.names[i] for i in numbers if i < effect.base.size}
        policy, source = ("initial", None) if values == INITIAL else ("copy", values)
        # Values in a session of the same graph are transferred, even if no op sets the variable.
        carried = getattr(source, "graph", None) is effect.base.owner
        variables = [
            v for v in copy_result.variables if v.original in names and not (carried and not v.info.initializer)
        ]
        variables = [replace(v, policy=policy) for v in variables]
        for name in [v.name for v in variables]:
            result.initial = [other for other in result.initial if other != name]
            result.values.pop(name, None)
        load_values(replace(copy_result, step=replace(copy_result.step, values=source), variables=variables), result)
        out |= {v.name for v in variables}
    result.init_ops = init_ops  # tables are filled as before
    return out
