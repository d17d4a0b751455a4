"""The step that fixes a condition: the chosen branch of each cond stays, and the ops of the condition are removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ...errors import PlanError, counted, few
from ...graph.boundary import Tensor
from ...graph.conditions import PredicateEffect, fix_predicate, implied_predicates
from ...graph.control_flow import loops_of
from ...graph.functions import CONDITIONALS
from ...graph.graph import Graph
from ...graph.rewiring import Edge
from ...graph.traversal import follow_chain
from ..edge_checks import errors_of
from ..edit_state import EditState, ReplacedMatch
from ..plan_result import Region
from .base import Step, TensorName
from .replace import ReplaceTargets, region_of, replace_matches, resolve_replacements


@dataclass(frozen=True)
class ConditionStep(Step):
    """The condition of conds gets a fixed value; see `Plan.resolve_condition`."""

    call: ClassVar = "resolve_condition", "tensor", "value"
    needs_complete_graph: ClassVar = True

    tensor: Annotated[TensorName, "Tensor"]
    value: Annotated[bool | int, "Condition is"]

    def resolve(self, state: EditState) -> None:
        """Resolves the TF1 conds that have a tensor as condition, then the v2 conds and cases."""
        request = self.request
        ((tensor,),) = state.find_tensors(request, (self.tensor,))
        graph, size = state.after, state.base.size
        info = graph.info(*tensor)
        kind = "bool" if isinstance(self.value, bool) else "int32"
        if info is not None and info.dtype.removesuffix("_ref").replace("int64", "int32") != kind:
            more = "True or False" if info.dtype == "bool" else "the number of a branch"
            suggestion = "Name the condition of a Switch, If or Case"
            if info.dtype in ("bool", "int32", "int64"):
                suggestion = f"Give {more}"
            raise PlanError(request, f"{graph.names[tensor[0]]}:{tensor[1]} is {info}", suggestion)
        decision = fix_predicate(graph, tensor, bool(self.value))
        _refuse_loops(request, graph, decision)
        flows = [op for op in _dependent_conds(graph, decision.values) if not decision.dead[op]]
        if not flows and not decision.switches:
            raise PlanError(request, f"no condition depends on {self.tensor!r}", _conditions_text(graph))
        late = [op for op in (*decision.switches, *np.flatnonzero(decision.dead).tolist(), *flows) if op >= size]
        if late:
            problem = f"{graph.names[late[0]]!r} is made by this plan"
            raise PlanError(request, problem, "Apply this plan first, then resolve the condition in another plan")
        _refuse(request, graph, decision)
        if decision.switches:
            _remove_dead_branches(state, graph, decision)
        for op in flows:
            if state.faults:
                return
            _replace_with_branch(request, state, op, tensor, self.value)
        rest = [state.graph.names[op] for op, _ in state.graph.consumers_of(tensor) if op not in state.removed]
        if rest and not state.faults:
            state.warnings.append(f"ops that are not part of a cond still read the condition: {few(rest)}")

    def describe(self) -> str:
        return f"resolve conditions: {self.tensor} is {self.value}"


def _dependent_conds(graph: Graph, predicates: Any) -> list[int]:
    """The v2 conds and cases whose condition is a known tensor."""
    return [op for op in np.flatnonzero(graph.type_mask(CONDITIONALS)).tolist() if graph.data.ends(op)[0] in predicates]


def _conditions_text(graph: Graph) -> str:
    """The conditions of the graph, in words."""
    asks = [graph.data.ends(op)[:1] for op in np.flatnonzero(graph.type_mask(CONDITIONALS)).tolist()]
    asks += [graph.data.ends(op)[1:2] for op in np.flatnonzero(graph.type_mask(["Switch", "RefSwitch"])).tolist()]
    first = dict.fromkeys(_source(graph, end) for ends in asks for end in ends)
    names = [repr(f"{graph.names[op]}:{port}") for op, port in first if graph.types[op] != "LoopCond"]
    return f"The conditions are {few(names, 6)}" if names else "There is no cond in this graph"


def _source(graph: Graph, end: Tensor) -> Tensor:
    """Returns the original of a tensor that Identity, Switch or Enter ops pass on."""
    passing = ("Identity", "Switch", "Enter")
    return follow_chain(
        end, lambda at: next(iter(graph.data.ends(at[0])), None) if graph.types[at[0]] in passing else None
    )


def _refuse_loops(request: str, graph: Graph, decision: PredicateEffect) -> None:
    for tensor in decision.values:
        for op in (tensor[0], *(reader for reader, _ in graph.consumers_of(tensor))):
            if graph.types[op] == "LoopCond":
                problem = f"{graph.names[op]!r} computes the condition of a while_loop in each round"
                raise PlanError(request, problem, f"Unroll the loop: unroll({graph.names[op]!r}, times)")


def _refuse(request: str, graph: Graph, decision: PredicateEffect) -> None:
    names = graph.names
    if decision.partial_merges:
        problem = (
            f"{names[decision.partial_merges[0]]!r} merges more than two branches, and more than one of them stays"
        )
        predicate = graph.name(next(iter(decision.values)))
        way = f"Make the condition a constant instead: .reroute({predicate!r}, to='constant:0')"
        raise PlanError(request, problem, way)
    if decision.index_merges:
        merge = decision.index_merges[0]
        reader, at = graph.consumers_of((merge, 1))[0]
        step = f".connect('number:0', to={names[reader]!r}{f', input={at}' if at else ''})"
        problem = f"{names[reader]!r} reads {names[merge] + ':1'!r}, the number of the branch that was taken"
        raise PlanError(request, problem, f"Connect a constant to it first: {step}")


# -- conds of TF1 -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _PassedControl:
    """The control inputs that replace removed ops, for their consumers and for the ops that wait for them."""

    graph: Graph
    removed: Any
    effect: PredicateEffect

    def sources(self, op: int) -> list[int]:
        """Returns the ops that a removed op got its values from."""
        ends = [self.effect.substitutes[one] for one in ((op, 0), (op, 1)) if one in self.effect.substitutes]
        return [end[0] for end in ends] or [end[0] for end in self.graph.data.ends(op)[:1]]

    def control_inputs(self, op: int, reading: bool) -> list[int]:
        """Returns the ops to wait for instead of a removed op, for its consumers (`reading`) or its waiting ops."""
        out: dict[int, None] = {}
        todo, visited = [(op, reading)], set[int]()
        while todo:
            one, is_read = todo.pop()
            if one in visited or self.effect.dead[one]:
                continue
            visited.add(one)
            if not self.removed[one]:
                out[one] = None
                continue
            todo += [(other, False) for other in self.graph.control.row(one).tolist()]
            # An op need not wait for a known value. A consumer need not wait either, because its input orders it.
            is_predicate = any((one, port) in self.effect.values for port in (0, 1))
            todo += [
                (other, is_read) for other in self.sources(one) if self.removed[other] or not (is_read or is_predicate)
            ]
        return list(out)


def _remove_dead_branches(state: EditState, graph: Graph, decision: PredicateEffect) -> None:
    """Removes the dead branches and the ops of the condition; connects remaining ops to the other branches."""
    subs = resolve_replacements(decision.substitutes)
    removed = decision.dead.copy()
    removed[decision.switches] = True
    removed[[op for op, _ in subs]] = True
    _with_helpers(graph, decision, removed)
    passing = _PassedControl(graph, removed, decision)
    edges: list[Edge] = []
    extra: dict[int, list[int]] = {}
    rows = graph.data.rows
    for at in np.flatnonzero(removed[graph.data.node] & ~removed[rows]).tolist():
        reader, old = int(rows[at]), (int(graph.data.node[at]), int(graph.data.port[at]))
        if old in subs:
            edges.append((reader, at - int(graph.data.ptr[reader]), subs[old]))
            extra.setdefault(reader, []).extend(passing.control_inputs(old[0], reading=True))
    waiting = np.flatnonzero(removed[graph.control.node] & ~removed[graph.control.rows])
    reordered = dict.fromkeys([*(op for op, more in extra.items() if more), *graph.control.rows[waiting].tolist()])
    control_inputs: dict[int, list[int]] = {}
    loop = loops_of(graph) if reordered else None
    for op in reordered:
        new: list[int] = []
        for other in graph.control.row(op).tolist():
            new += passing.control_inputs(other, reading=False) if removed[other] else [other]
        new += extra.get(op, [])
        if loop is not None and loop[op] >= 0 and not new and not len(graph.data.row(op)):
            new = _in_frame(removed, passing, graph.control.row(op).tolist())
        control_inputs[op] = list(dict.fromkeys(new))
    region = np.flatnonzero(removed).tolist()
    ends = {graph.name(old): new for old, new in subs.items()}
    match = Region(graph, region, {}, {name: name for name in ends})
    scope = graph.names[decision.switches[0]].rpartition("/")[0]
    if decision.dead.any():
        dead = few(graph.names[i] for i in np.flatnonzero(decision.dead).tolist())
        lost = counted(int(decision.dead.sum()), "ops")
        state.warnings.append(f"{lost} removed, because nothing can make them run any more: {dead}")
    state.set_inputs(edges, acyclic=True)
    for op, waits in control_inputs.items():
        state.change_control_inputs(op, state.graph.control_inputs(op), waits, acyclic=True)
    state.replaced.append(ReplacedMatch(match, scope, ends))
    state.remove(region)
    state.pruned.update(region)


def _with_helpers(graph: Graph, decision: PredicateEffect, removed: Any) -> None:
    """Also removes helper ops of the condition: pivots, and copies of the predicate without remaining consumers."""
    (asks, _), *copies = decision.values
    for op in sorted({op for op, _ in copies} - {asks}, reverse=True):
        if graph.types[op] == "Identity" and not removed[op]:
            readers = graph.consumers.row(op).tolist()
            removed[op] = bool(removed[readers].all()) if readers else removed[graph.data.ends(op)[0][0]]


def _in_frame(removed: Any, passed_control: _PassedControl, control_inputs: list[int]) -> list[int]:
    """Returns an op of the same loop for an op without inputs to wait for.

    Without a control input the op would run once, outside of the loop.
    """
    todo = list(control_inputs)
    for op in todo:
        if not removed[op]:
            return [op]
        todo += [other for other in passed_control.sources(op) if other not in todo]
    return []


# -- conds and cases of TF2 -------------------------------------------------------------------------


def _replace_with_branch(request: str, state: EditState, op: int, tensor: Tensor, value: Any) -> None:
    """Replaces a v2 cond or case by the branch that is taken."""
    graph = state.after
    name = graph.names[op]
    values = implied_predicates(graph, tensor, value)
    answers = {text: values[end] for text, end in zip(graph.input_names(op), graph.data.ends(op), strict=True)
               if end in values}  # fmt: skip
    with errors_of(request):
        by = state.backend.branch_builder(state.base, name, answers)
    replace_matches(state, request, ReplaceTargets([region_of(graph, op, request, "Leave it as it is")]), by, name)
