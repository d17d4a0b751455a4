"""The step that makes the earlier edits on copies of the affected ops, so that the plan changes no existing op."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from ...errors import Kind, PlanError, counted, few
from ...graph.boundary import Tensor
from ...graph.edges import Edges, stack_edges
from ...graph.graph import Graph, Ints, Mask
from ...graph.names import name_problem
from ...graph.rewiring import OutputTable, set_control_inputs
from ...graph.selection import selection_from
from ...graph.training import Downstream, downstream, writers_of
from ...graph.traversal import forward as below
from ..copy_result import Connection, CopyResult, current_externals
from ..edit_state import EditState
from ..fault import warning_kind
from ..function_source import Sources
from ..plan_result import DownstreamCopy, PlanResult
from ..removal import readers_fault
from .base import INITIAL, DestinationNames, NewName, PlainText, Step, call_code
from .copy import CopyStep, resolve_copy
from .edge_checks import RefusedStep, ops_of, rewire

#: The values of the arguments of `Plan.on_copies`.
ASSIGN = ("copy", "leave")
INITIAL_COLLECTIONS = ("keep", "none", "rename")


@dataclass(frozen=True)
class OnCopiesStep(Step):
    """The edits so far are made on copies of the ops that they change; see `Plan.on_copies`."""

    needs_complete_graph: ClassVar = True

    to: Annotated[NewName, "Scope"]
    until: Annotated[DestinationNames, "Stop at ops"] = ()
    assign: Annotated[PlainText, "Ops that set variables", ASSIGN] = "leave"
    collections: Annotated[PlainText, "Collections", INITIAL_COLLECTIONS] = "none"

    def resolve(self, state: EditState) -> None:
        """Copies the changed ops, connects the copies to the new inputs, and restores the inputs of existing ops."""
        request = self.request
        (targets,) = ops_of(state, request, [name.partition(":")[0] for name in self.until])
        if not state.faults:
            _as_copies(state, request)
        if state.faults:
            return
        effect = state.effect()
        graph = effect.after
        removed = graph.mask(sorted(effect.removed))
        edited = changed_ops(effect) & ~removed
        if not edited.any() and not (effect.removed and graph.size > effect.first_new):
            problem = "no earlier step changes an existing op"
            raise PlanError(request, problem, "Leave on_copies out, or call it after the edits")
        fault = readers_fault(graph, removed, request)
        if fault is not None:
            raise RefusedStep([fault])
        affected = downstream(graph, edited, removed, targets, self.assign == "copy")
        self._refuse(effect, affected, edited, targets)
        self._copy_downstream(state, effect, affected, edited)

    def code(self, sources: Sources) -> str:
        return call_code("on_copies", scope=self.to, **self.given("until", "assign", "collections"))

    def describe(self) -> str:
        end = f", up to {few(self.until)}" if self.until else ""
        return f"make the edits so far on copies under {self.to}/{end}"

    def _refuse(self, effect: PlanResult, downstream_ops: Downstream, edited: Mask, targets: Sequence[int]) -> None:
        """Refuses edits that `until` does not depend on, and copies that would set the same state as the original."""
        request, graph, removed = self.request, effect.after, effect.after.mask(sorted(effect.removed))
        copies = "Choose assign='copy': it also copies these ops, and the copies set the same state"
        if downstream_ops.unaffected_target >= 0:
            target = graph.names[downstream_ops.unaffected_target]
            wide = downstream(graph, edited, removed, targets, True)
            if wide.unaffected_target < 0:
                between = np.flatnonzero(wide.ops & downstream(graph, edited, removed).uncopied_writers).tolist()
                what = few([graph.names[i] for i in between])
                problem = f"the path from the changed ops to {target!r} leads through ops that set state: {what}"
                raise PlanError(request, problem, copies)
            names = few([graph.names[i] for i in np.flatnonzero(edited).tolist()])
            problem = f"{target!r} does not depend on the changed ops ({names})"
            raise PlanError(request, problem, "Name an op in until= that depends on them, or leave until= out")
        acts = np.flatnonzero(
            downstream_ops.ops & downstream_ops.uncopied_writers | edited & downstream_ops.uncopied_writers
        ).tolist()
        acts += [] if self.assign == "copy" else _writers(graph, downstream_ops.ops)
        if acts:
            problem = f"{graph.names[acts[0]]!r} ({graph.types[acts[0]]}) sets state that the original also uses"
            raise PlanError(request, problem, "Choose assign='copy' for a copy that sets the same state, or leave "
                            "on_copies out and build a new graph")  # fmt: skip
        if edited.any() and not downstream_ops.ops[: effect.base.size].any():
            first = [graph.names[i] for i in np.flatnonzero(downstream_ops.uncopied_writers).tolist()]
            problem = f"only ops that set state depend on the edits: {few(first)}"
            raise PlanError(request, problem, copies)

    def _copy_downstream(
        self, state: EditState, effect: PlanResult, downstream_ops: Downstream, edited_ops: Mask
    ) -> None:
        """Makes the edits so far on copies of the affected ops."""
        edited, base, size = effect.after, effect.base, effect.base.size
        ops, after = downstream_ops.ops[:size], _without_edits(edited, base)
        place = np.arange(edited.size, dtype=np.int32)
        slices, copies, warnings = list(effect.downstream_copies), list(effect.copies), list(effect.warnings)
        if ops.any():
            problem = name_problem(self.to, state.bench.is_name_used, base.title, what="a name scope", key="scope")
            if problem is not None:
                raise PlanError(self.request, *problem)
            again = CopyStep(
                selection_from(base, ops), self.to, unmapped="keep", control="keep",
                variables=(("*", "share"),), collections=self.collections,
            )  # fmt: skip
            beside = EditState(replace(effect, after=after), state.backend)
            copied = replace(resolve_copy(again, beside), role="slice")
            beside.add_copy(copied)
            copied_ops = np.flatnonzero(copied.positions >= 0)
            place[copied_ops] = copied.positions[copied_ops]
            after = _connect_copies(beside.after, edited, copied, place, size, ops_with_new_shapes(effect))
            copied = replace(copied, input_map=current_externals(after, copied))
            touched = tuple(edited.names[i] for i in np.flatnonzero(edited_ops).tolist())
            copies.append(copied)
            slices.append(DownstreamCopy(copied, touched, self.until, tuple(downstream_ops.unchanged)))
            # The other warnings of a copy step apply only to copies that the user requests.
            warnings += [w for w in copied.warnings if warning_kind(w) in (Kind.CUSTOM_GRADIENT, Kind.SEED)]
        else:
            after = _redirect_to_copies(after, edited, place, size)
        shifted = np.flatnonzero(place != np.arange(len(place))).tolist()
        new = {edited.names[i]: after.names[int(place[i])] for i in shifted}
        names = {name for name, _, _ in effect.edits}
        connections = [c for c in effect.connections if c.to not in names]
        mine = [c for c in effect.connections if c.to in names and c.to in new]
        state.restart(
            replace(
                effect,
                after=after,
                copies=tuple(copies),
                downstream_copies=tuple(slices),
                connections=(
                    *connections,
                    *(Connection(_rename_tensor(c.tensor, new), new[c.to], c.input, c.previous) for c in mine),
                ),
                changes={
                    new.get(name, name): change
                    for name, change in effect.changes.items()
                    if name in new or edited.index[name] >= size
                },
                replacements=tuple(
                    replace(r, outputs={old: _rename_tensor(one, new) for old, one in r.outputs.items()})
                    for r in effect.replacements
                ),
                warnings=(*warnings, *_warnings(edited, downstream_ops, effect.removed)),
                blame={new.get(op, op): n for op, n in effect.blame.items() if op in new or edited.index[op] >= size},
                edits=(),
                mode="append",
                removed={},
            )
        )


def _as_copies(state: EditState, request: str) -> None:
    """Copies renamed ops under their new names and makes their consumers read the copies.

    The original ops get their old names back.
    """
    base, size = state.base, state.base.size
    names = {old: new for old, new in zip(base.names, state.bench.names[:size], strict=True) if old != new}
    if not names:
        return
    edited = [name for name in (*(edit[0] for edit in state.edits), *state.changes) if name in names.values()]
    if edited:
        problem = f"{edited[0]!r} is renamed and also changed"
        raise PlanError(request, problem, "Apply these steps without on_copies, or leave the rename out")
    ops = [base.index[name] for name in names]
    state.rename({op: base.names[op] for op in ops})
    mask = base.mask(ops)
    values = (getattr(state.steps[step], "values", None) for step in state.revalued)
    values_source = next((one for one in values if one != INITIAL), None)
    step = CopyStep(
        selection_from(base, mask), "", unmapped="keep", control="keep", values=values_source,
        collections="keep", names=names,
    )  # fmt: skip
    try:
        copied = resolve_copy(step, state)
    except RefusedStep as refused:
        raise RefusedStep([replace(fault, request=request) for fault in refused.faults]) from None
    state.add_copy(copied, connect=False)
    place, graph = copied.positions, state.after
    subs: dict[Tensor, Tensor] = {}
    for i in ops:
        ports = set(graph.consumers.ports(i).tolist())
        subs.update({(i, port): (int(place[i]), port) for port in ports})
    inside = graph.mask([*ops, *place[ops].tolist()])
    edges = [(op, at, new) for old, new in subs.items() for op, at in graph.consumers_of(old) if not inside[op]]
    rewire(state, request, edges, acyclic=True)
    waiting = np.unique([op for i in ops for op in graph.control_consumers.row(i).tolist()]).astype(int).tolist()
    for op in waiting:
        if not inside[op]:
            waits = [int(place[j]) if j < size and mask[j] else j for j in graph.control.row(op).tolist()]
            state.set_control_inputs(op, waits, acyclic=True)
    state.remove(ops)


def changed_ops(effect: PlanResult) -> Mask:
    """Returns a mask, over all ops after the plan, of the ops of the base that the edits so far change."""
    index = effect.after.index
    names = [*(name for name, _, _ in effect.edits), *effect.changes]
    numbers = {index[name] for name in names if name in index}
    return effect.after.mask(sorted(i for i in numbers if i < effect.base.size))


def ops_with_new_shapes(effect: PlanResult) -> Mask:
    """Returns a mask of the ops with outputs that may have new shapes, because an input has a new dtype or shape."""
    graph, base, unlike = effect.after, effect.base, set[int]()
    for name, at, _ in effect.edits:
        op = graph.index[name]
        old = base.info(*base.data.ends(op)[at])
        if old is None or old != graph.info(*graph.data.ends(op)[at]):
            unlike.add(op)
    return below(graph, graph.mask(sorted(unlike)), control=False) if unlike else graph.mask([])


def slice_size(effect: PlanResult) -> int:
    """Returns how many ops `on_copies` would copy for the edits of an effect; 0 if it could not."""
    edited = changed_ops(effect)
    if not edited.any() or effect.faults or effect.removed:
        return 0
    affected = downstream(effect.after, edited, effect.after.mask([]))
    acts = _writers(effect.after, affected.ops)
    return 0 if acts else int(np.count_nonzero(affected.ops[: effect.base.size]))


def _writers(graph: Graph, ops: Mask) -> list[int]:
    writers: list[int] = np.flatnonzero(ops & writers_of(graph)).tolist()
    return writers


def _without_edits(edited: Graph, base: Graph) -> Graph:
    """Returns the graph with the new ops of the plan, and with its existing ops as they were before the edits."""
    both = ((base.data, edited.data), (base.control, edited.control))
    data, control = (stack_edges(old, new.row_range(base.size, edited.size)) for old, new in both)
    return replace(edited, data=data, control=control)


def _connect_copies(
    graph: Graph, edited: Graph, copy_result: CopyResult, place: Ints, size: int, unlike: Mask
) -> Graph:
    """Connects the copies to the inputs that the edits set, and the other new ops to the copies."""
    graph = _redirect_to_copies(graph, edited, place, size)
    both, first = (
        ((graph.data, edited.data), (graph.control, edited.control)),
        int(copy_result.positions[copy_result.ops[0]]),
    )
    data, control = (stack_edges(new.row_range(0, first), old.remap(copy_result.ops, place)) for new, old in both)
    after = replace(graph, data=data, control=control)
    loose = place[np.flatnonzero(unlike[: len(copy_result.positions)])].tolist()
    return (
        replace(after, outputs_of=OutputTable.from_graph(graph).without_shapes(loose))
        if loose and graph.outputs_of
        else after
    )


def _redirect_to_copies(graph: Graph, edited: Graph, place: Ints, size: int) -> Graph:
    """Makes the new ops of a plan read the copies of ops that are copied."""
    begin, end = int(edited.data.ptr[size]), int(edited.data.ptr[edited.size])
    node = graph.data.node.copy()
    node[begin:end] = place[edited.data.node[begin:end]]
    graph = replace(graph, data=Edges(graph.data.ptr, node, graph.data.port))
    rows = edited.control.rows
    waits: dict[int, list[int]] = {}
    for at in np.flatnonzero((rows >= size) & (place[edited.control.node] != edited.control.node)).tolist():
        waits.setdefault(int(rows[at]), [])
    for op in waits:
        waits[op] = [int(place[i]) for i in edited.control.row(op)]
    return set_control_inputs(graph, waits) if waits else graph


def _rename_tensor(tensor: str, names: dict[str, str]) -> str:
    op, _, port = tensor.rpartition(":")
    return f"{names.get(op, op)}:{port}"


def _warnings(graph: Graph, downstream_ops: Downstream, removed: Collection[int]) -> list[str]:
    out = []
    writers_left = [graph.names[i] for i in np.flatnonzero(downstream_ops.uncopied_writers).tolist()]
    if writers_left:
        sets, use = ("set", "use") if len(writers_left) > 1 else ("sets", "uses")
        out.append(
            f"{counted(len(writers_left), 'ops')} that {sets} state still {use} the original: {few(writers_left)}"
        )
    lost = [graph.names[i] for i in np.flatnonzero(downstream_ops.ineffective).tolist()]
    if lost:
        out.append(f"the change of {few(lost)} is left out, because it affects no copied op")
    writers = [graph.names[i] for i in _writers(graph, downstream_ops.ops)]
    if writers:
        sets = "set" if len(writers) > 1 else "sets"
        out.append(f"{counted(len(writers), 'copies')} {sets} the same state as the original: {few(writers)}")
    if downstream_ops.calls:
        names = few([graph.names[i] for i in downstream_ops.calls])
        out.append(f"{counted(len(downstream_ops.calls), 'copied calls')} may set state inside: {names}")
    if removed:
        count, stay = counted(len(removed), "ops"), "stays" if len(removed) == 1 else "stay"
        names = few([graph.names[i] for i in sorted(removed)])
        out.append(f"{count} to remove {stay} in the live graph, without a copy: {names}")
    return out
