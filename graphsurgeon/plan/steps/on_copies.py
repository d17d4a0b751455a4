"""The step that makes the earlier edits on copies of the affected ops, so that the plan changes no existing op."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from ...errors import Kind, PlanError, counted, few
from ...graph.boundary import Tensor
from ...graph.graph import Graph, Mask
from ...graph.names import name_problem
from ...graph.selection import selection_from
from ...graph.training import Downstream, downstream, writers_of
from ...graph.traversal import forward as below
from ..copy_result import current_externals
from ..edit_state import EditState
from ..fault import RefusedStep, warning_kind
from ..function_source import Sources
from ..plan_result import DownstreamCopy, PlanResult
from ..removal import readers_fault
from .base import INITIAL, DestinationNames, NewName, PlainText, Step, call_code
from .copy import CopyStep

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
        (targets,) = state.find_ops(request, [name.partition(":")[0] for name in self.until])
        if not state.faults:
            _copy_renamed_ops(state, request)
        if state.faults:
            return
        graph, size = state.after, state.base.size
        removed = graph.mask(sorted(state.removed))
        edited = graph.mask(op for op in state.edited_ops if op < size) & ~removed
        if not edited.any() and not (state.removed and graph.size - len(state.graph.dropped) > size):
            problem = "no earlier step changes an existing op"
            raise PlanError(request, problem, "Leave on_copies out, or call it after the edits")
        fault = readers_fault(graph, removed, request)
        if fault is not None:
            raise RefusedStep([fault])
        affected = downstream(graph, edited, removed, targets, self.assign == "copy")
        self._refuse(graph, size, affected, edited, removed, targets)
        warnings = _warnings(graph, affected, state.removed)
        self._copy_downstream(state, graph, affected, edited)
        state.warnings += warnings

    def code(self, sources: Sources) -> str:
        return call_code("on_copies", scope=self.to, **self.given("until", "assign", "collections"))

    def describe(self) -> str:
        end = f", up to {few(self.until)}" if self.until else ""
        return f"make the edits so far on copies under {self.to}/{end}"

    def _refuse(
        self, graph: Graph, size: int, affected: Downstream, edited: Mask, removed: Mask, targets: Sequence[int]
    ) -> None:
        """Refuses edits that `until` does not depend on, and copies that would set the same state as the original."""
        request, writers = self.request, affected.uncopied_writers
        copies = "Choose assign='copy': it also copies these ops, and the copies set the same state"
        if affected.unaffected_target >= 0:
            target = graph.names[affected.unaffected_target]
            wide = downstream(graph, edited, removed, targets, True)
            if wide.unaffected_target < 0:
                between = np.flatnonzero(wide.ops & downstream(graph, edited, removed).uncopied_writers).tolist()
                what = few([graph.names[i] for i in between])
                problem = f"the path from the changed ops to {target!r} leads through ops that set state: {what}"
                raise PlanError(request, problem, copies)
            names = few([graph.names[i] for i in np.flatnonzero(edited).tolist()])
            problem = f"{target!r} does not depend on the changed ops ({names})"
            raise PlanError(request, problem, "Name an op in until= that depends on them, or leave until= out")
        acts = np.flatnonzero((affected.ops | edited) & writers).tolist()
        acts += [] if self.assign == "copy" else _writers(graph, affected.ops)
        if acts:
            problem = f"{graph.names[acts[0]]!r} ({graph.types[acts[0]]}) sets state that the original also uses"
            raise PlanError(request, problem, "Choose assign='copy' for a copy that sets the same state, or leave "
                            "on_copies out and build a new graph")  # fmt: skip
        if edited.any() and not affected.ops[:size].any():
            problem = f"only ops that set state depend on the edits: {few(_names(graph, writers))}"
            raise PlanError(request, problem, copies)

    def _copy_downstream(self, state: EditState, graph: Graph, affected: Downstream, edited: Mask) -> None:
        """Makes the edits so far on copies of the affected ops."""
        base = state.base
        ops = affected.ops[: base.size]
        if not ops.any():
            state.move_edits_to_copies({})
            return
        problem = name_problem(self.to, state.graph.is_name_used, base.title, what="a name scope", key="scope")
        if problem is not None:
            raise PlanError(self.request, *problem)
        step = CopyStep(
            selection_from(base, ops), self.to, unmapped="keep", control="keep",
            variables=(("*", "share"),), collections=self.collections,
        )  # fmt: skip
        copied = state.resolve_copy(step)
        # The other warnings of a copy step apply only to copies that the user requests.
        warnings = [one for one in copied.warnings if warning_kind(one) in (Kind.CUSTOM_GRADIENT, Kind.SEED)]
        unshaped = frozenset(np.flatnonzero(_ops_with_new_shapes(base, graph)[: base.size]).tolist())
        copied = replace(copied, role="slice", warnings=warnings, unshaped=unshaped)
        state.add_copy(copied, connect=False)
        state.move_edits_to_copies(dict(zip(copied.ops.tolist(), copied.positions[copied.ops].tolist(), strict=True)))
        copied = state.set_input_map(current_externals(state.after, copied))
        state.downstream_copies.append(
            DownstreamCopy(copied, tuple(_names(graph, edited)), self.until, tuple(affected.unchanged))
        )


def _copy_renamed_ops(state: EditState, request: str) -> None:
    """Copies renamed ops under their new names and makes their consumers read the copies.

    The original ops get their old names back.
    """
    base, size, ops, index = state.base, state.base.size, state.renamed_ops, state.graph.index
    if not ops:
        return
    edited, mask = sorted(state.edited_ops.intersection(ops)), base.mask(ops)
    owners = {name: index[name] for op in ops if (name := base.names[op]) in index}
    taken = [name for name, op in owners.items() if op >= size or not mask[op]]
    if edited or taken:
        problem = f"the name {taken[0]!r} now belongs to a new op" if taken else ""
        problem = problem or f"{state.graph.names[edited[0]]!r} is renamed and also changed"
        raise PlanError(request, problem, "Apply these steps without on_copies, or leave the rename out")
    names = {base.names[op]: state.graph.names[op] for op in ops}
    state.rename({op: base.names[op] for op in ops})
    values = (getattr(state.steps[step], "values", None) for step in state.revalued)
    values_source = next((one for one in values if one != INITIAL), None)
    step = CopyStep(
        selection_from(base, mask), "", unmapped="keep", control="keep", values=values_source,
        collections="keep", names=names,
    )  # fmt: skip
    try:
        copied = state.resolve_copy(step)
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
    state.rewire(request, edges, acyclic=True)
    waiting = np.unique([op for i in ops for op in graph.control_consumers.row(i).tolist()]).astype(int).tolist()
    for op in waiting:
        if not inside[op]:
            waits = [int(place[j]) if j < size and mask[j] else j for j in graph.control.row(op).tolist()]
            state.change_control_inputs(op, graph.control.row(op).tolist(), waits, acyclic=True)
    state.remove(ops)


def _ops_with_new_shapes(base: Graph, graph: Graph) -> Mask:
    """Returns a mask of the ops with outputs that may have new shapes, because an input has a new dtype or shape.

    Args:
        base, graph: the graph before and after the edits.
    """
    old, new = base.data, graph.data.row_range(0, base.size)
    edited = np.flatnonzero((old.node != new.node) | (old.port != new.port)).tolist()
    rows, unlike = new.rows, set[int]()
    for at in edited:
        was = base.info(int(old.node[at]), int(old.port[at]))
        if was is None or was != graph.info(int(new.node[at]), int(new.port[at])):
            unlike.add(int(rows[at]))
    return below(graph, graph.mask(sorted(unlike)), control=False) if unlike else graph.mask([])


def slice_size(effect: PlanResult) -> int:
    """Returns how many ops `on_copies` would copy for the edits of an effect; 0 if it could not."""
    graph, first = effect.after, effect.first_new
    names = {*(join.to for join in effect.edits), *effect.changes}
    edited = graph.mask(op for name in names if (op := graph.index.get(name, first)) < first)
    if not edited.any() or effect.faults or effect.removed:
        return 0
    affected = downstream(graph, edited, graph.mask([]))
    acts = _writers(graph, affected.ops)
    return 0 if acts else int(np.count_nonzero(affected.ops[: effect.base.size]))


def _names(graph: Graph, ops: Mask) -> list[str]:
    return [graph.names[i] for i in np.flatnonzero(ops).tolist()]


def _writers(graph: Graph, ops: Mask) -> list[int]:
    writers: list[int] = np.flatnonzero(ops & writers_of(graph)).tolist()
    return writers


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
