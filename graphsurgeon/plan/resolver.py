"""Computes the effects of the steps of a plan on a graph, and predicts its state after them, from snapshots only."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import SurgeryError, counted, few
from ..graph.concurrency import gc_paused
from ..graph.conditions import exclusive_ops
from ..graph.control_flow import ENTERS, EXITS, MERGES, SWITCHES
from ..graph.graph import DerivedOrigin, Graph, Mask
from ..graph.names import op_name
from ..graph.rewiring import TURNING, import_order, ops_on_new_cycles
from ..graph.training import Gradients, RewiredInput
from ..graph.traversal import backward, forward, strong_components
from ..graph.variables import CollectionEntry, GraphState, VariableInfo, end_renamer
from .backend import Backend
from .copy_result import Connection, CopyResult, copied_entries
from .edit_state import AddedEdge, EditState
from .fault import Fault, RefusedStep
from .mutable_graph import MutableGraph
from .plan_result import PlanResult
from .removal import remove_ops
from .shape_inference import PredictedOutputs
from .steps.base import Step
from .steps.insert import with_fixes


def _state_after(effect: PlanResult) -> GraphState:
    """Returns the state that the snapshot of the graph will have after a plan.

    Args:
        effect: the effect of the plan.
    """
    after = effect.after
    parts = [_kept_state(effect), *map(_copied_state, effect.copies)]
    collections: dict[str, tuple[CollectionEntry, ...]] = {}
    for part in parts:
        for name, entries in part.collections.items():
            collections[name] = (*collections.get(name, ()), *entries)
    collections = dict(sorted(collections.items()))
    inside: dict[str, list[str]] = {}
    for name, entries in collections.items():
        for entry in entries:
            if entry.kind == "variable":
                inside.setdefault(entry.name, []).append(name)
    variables = [info for part in parts for info in part.variables.values()]
    order = import_order(after)
    place = after.index if order is None else {after.names[op]: at for at, op in enumerate(order)}

    def updated_info(info: VariableInfo) -> VariableInfo:
        collections = tuple(inside.get(info.op, ()))
        ends = after.input_names(after.index[info.initializer]) if info.initializer in after.index else []
        value = ends[1] if len(ends) > 1 else info.initial_value
        return replace(
            info, initial_value=value, trainable="trainable_variables" in collections, collections=collections
        )

    return GraphState(
        {info.op: updated_info(info) for info in sorted(variables, key=lambda info: place[info.op])},
        collections,
        tuple(context for part in parts for context in part.contexts),
        {op: fills for part in parts for op, fills in part.init_ops.items()},
    )


def _kept_state(effect: PlanResult) -> GraphState:
    """Returns the state of the base without removed ops; a rebuilt graph loses entries of unknown kinds.

    The state of a live graph is read only when it is needed, and may then contain ops that the base does not have.
    """
    base, state, new = effect.base, effect.base.state, end_renamer(effect.renamed)
    anew = effect.mode != "append"

    def remains(name: str) -> bool:
        return op_name(name) in base.index and op_name(new(name)) in effect.after.index

    def stays(entry: CollectionEntry) -> bool:
        if entry.kind in ("value", "other"):
            return not (anew and entry.kind == "other")
        return all(map(remains, entry.parts or [entry.name]))

    collections = {name: tuple(filter(stays, entries)) for name, entries in state.collections.items()}
    return GraphState(
        {op: info for op, info in state.variables.items() if remains(op)},
        {name: entries for name, entries in collections.items() if entries or not anew},
        tuple(ops for ops in state.contexts if all(map(remains, ops))),
        {
            op: fill_ops
            for op, fills in state.init_ops.items()
            if remains(op) and (fill_ops := tuple(filter(remains, fills)))
        },
    ).renamed(effect.renamed)


def _copied_state(copy_result: CopyResult) -> GraphState:
    """The state that a copy adds."""
    source = copy_result.source.state
    return GraphState(
        {variable.name: variable.new_info for variable in copy_result.variables},
        {one.name: copied_entries(copy_result, one.original) for one in copy_result.collections},
        tuple(
            frozenset(map(copy_result.renamed, ops))
            for ops in source.contexts if all(map(copy_result.contains, ops))
        ),
        {copy_result.renamed(op): fill_ops for op, fills in source.init_ops.items()
         if copy_result.contains(op)
         and (fill_ops := tuple(map(copy_result.renamed, filter(copy_result.contains, fills))))},
    )  # fmt: skip


def branch_fault(effect: PlanResult) -> Fault | None:
    """Returns a fault if a Merge would always take the same input and did not do so before; otherwise None.

    Args:
        effect: the sum of all steps.
    """
    after = effect.after
    if effect.faults or not effect.connections or not after.type_mask(MERGES).any():
        return None
    existing = {(effect.renamed.get(name, name), at) for name, at in _always(effect.base)}
    for copied in effect.copies:
        existing |= {(copied.renamed(name), at) for name, at in _always(copied.source)}
    for name, at in sorted(_always(after) - existing):
        merge = after.index[name]
        source = after.data.end(merge, at)
        above = backward(after, after.mask([source[0]]))
        above[merge] = True
        joins = [one for one in effect.connections if above[after.index[one.to]]]
        joins = [one for one in joins if one.to != name or one.input == at]
        if joins:
            problem = f"{name!r} would always take {after.name(source)!r}, whatever the condition is"
            request, number = _join_request(effect, joins[-1])
            return Fault(request, problem, _join_suggestion(effect, joins[-1]), step=number)
    return None


def never_fault(effect: PlanResult) -> Fault | None:
    """Returns a fault if an op would read tensors of branches that exclude each other; otherwise None.

    Args:
        effect: the sum of all steps.
    """
    after = effect.after
    if effect.faults or not effect.connections or not after.type_mask(SWITCHES).any():
        return None
    inside = _in_branches(after)
    joins = [one for one in effect.connections if inside[after.tensor(one.tensor)[0]]]
    if not joins:
        return None
    for root, never in exclusive_ops(after, after.mask(after.index[one.to] for one in joins), inside).items():
        join = next((one for one in joins if never[after.index[one.to]]), None)
        if join is not None:
            problem = f"{join.to!r} would never run: its inputs are computed in branches of {after.name(root)!r} "
            how = f"Choose a tensor of the branch of {join.to!r}. If it is in no branch, choose the result of the cond"
            request, number = _join_request(effect, join)
            return Fault(request, problem + "that exclude each other", how, step=number)
    return None


def _join_request(effect: PlanResult, join: Connection) -> tuple[str, int | None]:
    """Returns the request of the step that made a connection, and the number of the step if it is known."""
    number = effect.blame.get(join.to)
    return "check()" if number is None else effect.steps[number].request, number


def _in_branches(graph: Graph) -> Mask:
    """The ops that run only if the condition of a cond or loop takes their branch."""
    return forward(graph, graph.type_mask(SWITCHES), within=~graph.type_mask(MERGES) & ~graph.type_mask(EXITS))


def _always(graph: Graph) -> set[tuple[str, int]]:
    """Returns the inputs of Merges that are computed for every value of the condition: (Merge, input)."""
    joints = graph.type_mask(MERGES)
    if not joints.any():
        return set()
    conditional = _in_branches(graph)
    rows, node = graph.data.rows, graph.data.node
    of_loop = graph.type_mask((*ENTERS, *TURNING))
    edges = np.flatnonzero(joints[rows] & ~conditional[node] & ~of_loop[node]).tolist()
    return {(graph.names[rows[edge]], edge - int(graph.data.ptr[rows[edge]])) for edge in edges}


def _join_suggestion(effect: PlanResult, join: Connection) -> str:
    was = op_name(join.previous)
    switch = effect.renamed.get(was, was)
    number = effect.after.index.get(switch)
    if number is not None and effect.after.types[number] in SWITCHES:
        return f"Rewire the data input of the Switch before it: .connect({join.tensor!r}, to={switch!r})"
    return f"Rewire the data inputs of the Switches of that branch, and keep the inputs of {join.to!r}"


def _finalize(effect: PlanResult) -> PlanResult:
    """Completes the sum of all steps: removes ops, and adds the last faults, the warnings and the predictions."""
    effect = remove_ops(effect)
    loose = branch_fault(effect) or never_fault(effect)
    if loose is not None:
        effect = replace(effect, faults=(loose,))
    foreseen = None
    if effect.after is not effect.base or effect.changes:
        fields: dict[str, Any] = {"owner": DerivedOrigin(effect.base.origin), "state_of": partial(_state_after, effect)}
        if effect.after.outputs_of is not None:
            foreseen = fields["outputs_of"] = PredictedOutputs(effect)
        effect = replace(effect, after=replace(effect.after, **fields))
    warnings = [*effect.warnings, *_unread(effect), *_idle(effect)]
    if not effect.faults:
        warnings += _stale(effect)
    effect = replace(effect, warnings=tuple(warnings))
    if foreseen is not None:
        foreseen.set_effect(effect)
    return effect


def _numbers_before(effect: PlanResult) -> Callable[[str], int | None]:
    """Returns a function from the name of an op after the plan to its number in the base; None for a new op."""
    old = {new: name for name, new in effect.renamed.items()}

    def before(name: str) -> int | None:
        return effect.base.index.get(old.get(name, name)) if name in old or name not in effect.renamed else None

    return before


def _unread(effect: PlanResult) -> list[str]:
    """Returns a warning for each placeholder that has no consumer any more."""
    if not effect.placeholders:
        return []
    consumed = set(effect.after.data.node.tolist())
    idle = [p for p in effect.placeholders if effect.after.index[p.name] not in consumed]
    return [f"{p.name} is a placeholder without a consumer: map {p.original} instead" for p in idle]


def _stale(effect: PlanResult) -> list[str]:
    """Returns a warning about gradient ops that were derived from ops which the plan changes."""
    base, before = effect.base, _numbers_before(effect)
    here = [(before(join.to), join) for join in effect.connections]
    edges = [RewiredInput(op, base.data.end(op, join.input), effect.after.tensor(join.tensor))
             for op, join in here if op is not None]  # fmt: skip
    configured = [before(name) for name, change in effect.changes.items()
                  if any(key[:1] != "_" for key in change.attributes)]  # fmt: skip
    reconfigured = [op for op in configured if op is not None]
    if not edges and not reconfigured:
        return []
    changed_ops, stale = Gradients(base).stale(effect.after, edges, reconfigured, effect.renamed)
    if not stale:
        return []
    names, were = [base.names[i] for i in stale], "were" if len(stale) > 1 else "was"
    return [f"stale gradients: {counted(len(names), 'ops')} ({few(names)}) {were} derived before "
            f"{few([effect.renamed.get(base.names[i], base.names[i]) for i in changed_ops])} changed; "
            "differentiate again, and make the train op again"]  # fmt: skip


def _idle(effect: PlanResult) -> list[str]:
    """Returns a warning that lists the tensors without a consumer that had one before."""
    return [f"no longer used: {few(idle, 6)}"] if (idle := _unused_tensors(effect)) else []


def _unused_tensors(effect: PlanResult) -> list[str]:
    """Returns the tensors that have lost their last consumer; their ops stay, although no op needs them."""
    after, old, new = effect.after, effect.base.index, end_renamer(effect.renamed)
    here = {new(name) for name in old} if effect.renamed else old
    lost = dict.fromkeys(new(c.previous) for c in effect.connections if c.previous and c.to in here)
    if not lost or effect.faults:
        return []
    there = [(name, after.index.get(name.partition(":")[0], -1)) for name in lost]
    numbers = np.array([op for _, op in there], np.int32)
    consumed = np.isin(numbers, after.data.node) | np.isin(numbers, after.control.node) | (numbers < 0)
    spare = [name for (name, _), is_read in zip(there, consumed.tolist(), strict=True) if not is_read]
    in_use = _collection_items(after) if spare else set()
    return [name for name in spare if name.partition(":")[0] not in in_use]


def _producers_without_consumers(effect: PlanResult) -> list[int]:
    """Returns the ops without consumers that fed removed ops, if the plan rewired the consumers of the removed ops."""
    base, after, new = effect.base, effect.after, end_renamer(effect.renamed)
    removed_mask = base.mask(effect.removed)
    lost = (base.index.get(join.previous.partition(":")[0], -1) for join in effect.connections if join.previous)
    stitched = base.mask(op for op in lost if op >= 0 and removed_mask[op])
    if effect.faults or not stitched.any():
        return []
    removed = np.flatnonzero(backward(base, stitched, within=removed_mask)).astype(np.int32)
    makers = np.unique(base.data.node[base.data.gather(removed)[1]])
    places = [after.index.get(new(base.names[op]), -1) for op in makers[~removed_mask[makers]].tolist()]
    return [at for at in places if at >= 0 and not len(after.consumers.row(at))]


def _collection_items(graph: Graph) -> set[str]:
    """Returns the names of the ops in collections."""
    return {entry.name.partition(":")[0] for items in graph.state.collections.values() for entry in items}


def unused_ops(effect: PlanResult) -> list[int]:
    """Returns the ops that a plan leaves unused, by number: those of `_unused_tensors`, and ops that only they need.

    Args:
        effect: the effect of the plan.
    """
    after = effect.after
    ends = [after.index[name.partition(":")[0]] for name in _unused_tensors(effect)] + _producers_without_consumers(
        effect
    )
    if not ends:
        return []
    above = backward(after, after.mask(ends))
    in_use = after.mask(after.index[name] for name in _collection_items(after) if name in after.index)
    ops: list[int] = np.flatnonzero(above & ~backward(after, ~above | in_use)).tolist()
    return ops


@gc_paused()
def resolve(base: Graph, steps: tuple[Step, ...], backend: Backend) -> PlanResult:
    """Returns the effect of steps on a graph: the sum of the changes of the steps.

    Faults are collected and not raised.

    Args:
        base: the graph.
        steps: the steps, in order.
        backend: the TensorFlow functions that the steps may call.
    """
    so_far = EditState(base, steps, backend)
    fault_counts: list[int] = []  # how many faults there were after each step
    for so_far.step, step in enumerate(steps):
        if step.needs_complete_graph:
            _refuse_cycles(so_far, fault_counts)
        before = len(so_far.faults)
        try:
            step.resolve(so_far)
        except RefusedStep as refused:
            so_far.faults += refused.faults
        except SurgeryError as error:
            so_far.faults.append(Fault.from_error(error))
        faults = (with_fixes(so_far.graph, fault, step) for fault in so_far.faults[before:])
        so_far.faults[before:] = [dataclasses.replace(fault, step=so_far.step) for fault in faults]
        fault_counts.append(len(so_far.faults))
    _refuse_cycles(so_far, fault_counts)
    effect = so_far.effect()
    unknown = base.unknown_types.union(*(copied.source.unknown_types for copied in effect.copies))
    if unknown != effect.after.unknown_types:
        effect = dataclasses.replace(effect, after=dataclasses.replace(effect.after, unknown_types=unknown))
    return _finalize(effect)


def _refuse_cycles(state: EditState, fault_counts: list[int]) -> None:
    """Adds a fault for each step that has closed a cycle, and undoes the edges that the step has set.

    Edges that a later step has already replaced are ignored.

    Args:
        state: the effect of all steps.
        fault_counts: the number of faults after each step.
    """
    graph, faults = state.graph, list[tuple[int, Fault]]()
    links, state.links = state.links, []
    while links := _present(links, graph):
        ring = ops_on_new_cycles(state.after, [(link.op, link.source) for link in links])
        if not ring.any():
            break
        parts = strong_components(state.after, state.after.type_mask(TURNING))
        # If several steps have edges on a cycle, the last of these steps has closed it.
        on = sorted((link for link in links if ring[link.op] and ring[link.source]), key=lambda link: -link.step)
        last = {int(parts[link.op]): link for link in reversed(on)}
        for link in last.values():
            source = graph.names[link.source] if link.input is None else graph.name(graph.source(link.op, link.input))
            problem = f"that makes a cycle: {source!r} is computed from {graph.names[link.op]!r}"
            way = "Choose an op above it" if link.input is None else "Choose a tensor above it"
            faults.append((link.step, Fault(state.steps[link.step].request, problem, way, step=link.step)))
        guilty = {link.step for link in last.values()}
        _remove([link for link in links if link.step in guilty], graph)
        links = [link for link in links if link.step not in guilty]
    for step, fault in sorted(faults, key=lambda found: -found[0]):
        state.faults.insert(fault_counts[step], fault)


def _present(links: Iterable[AddedEdge], graph: MutableGraph) -> list[AddedEdge]:
    """Returns the edges that still exist."""
    return [
        link
        for link in links
        if (
            graph.waits_for(link.op, link.source)
            if link.input is None
            else link.source == graph.source(link.op, link.input)[0]
        )
    ]


def _remove(links: Sequence[AddedEdge], graph: MutableGraph) -> None:
    """Removes control edges, and restores the former inputs, the last one first."""
    for link in reversed(links):
        if link.input is None:
            graph.change_control_inputs(link.op, [link.source], ())
        elif link.previous[0] not in graph.dropped:
            graph.set_input(link.op, link.input, link.previous)
