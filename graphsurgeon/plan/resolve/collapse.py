"""What a collapse step does: some ops become one function call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import PlanError
from ...graph.boundary import Tensor, entering, leaving
from ...graph.contexts import FLOW_TYPES, loops_of
from ...graph.graph import Graph, Mask
from ...graph.names import name_problem
from ...graph.parts import part_fault, split_fault
from ...graph.selection import Selection
from ...graph.traversal import backward
from ...graph.variables import FEED_TYPES, VARIABLE_TYPES
from ...words import counted, few
from ..closure import variable_parts
from ..delta import Delta
from ..effect import Region
from ..step_code import request_of
from ..steps import CollapseStep
from ..tally import Tally
from .replace_matches import Chosen, replace_matches
from .rewire import errors_of, ops_of, tensors_of


def collapse(step: CollapseStep, so_far: Tally) -> Iterator[Delta]:
    """Makes the call, connects the consumers to its results, and removes the ops."""
    request = request_of(step)
    (numbers,) = ops_of(so_far, request, step.ops)
    graph = so_far.after
    problem = name_problem(step.name, lambda name: name.lower() in graph.lowered, graph.title)
    if problem is not None:
        raise PlanError(request, *problem)
    touched = {name for name, _, _ in so_far.edits} | set(so_far.changes)
    home = _home(so_far, numbers)
    late = [graph.names[i] for i in numbers if i not in home.own or graph.names[i] in touched]
    if late:
        raise PlanError(request, f"{late[0]!r} is made or changed by this plan", "Apply these steps first")
    (marked,) = tensors_of(so_far, request, _marked(step))
    mask, stay = _inside(graph, graph.mask(numbers))
    _refuse(request, graph, mask)
    ends = [t for t in sorted({*leaving(graph, mask), *marked}) if mask[t[0]] and graph.types[t[0]] != "Const"]
    if not ends:
        raise PlanError(request, "nothing that comes out of it is a tensor", "Select ops that compute something")
    ops = np.flatnonzero(mask).tolist()
    given = home.given(graph, ops)
    inputs = {f"in{k}": f"{graph.names[op]}:{port}" for k, (op, port) in enumerate(given.values())}
    outputs = {f"out{k}": f"{graph.names[op]}:{port}" for k, (op, port) in enumerate(ends)}
    region = Region(graph, ops, inputs, outputs)
    source = home.graph
    takes = tuple(f"{source.names[op]}:{port}" for op, port in given)
    gives = tuple(f"{source.names[home.own[op]]}:{port}" for op, port in ends)
    with errors_of(request):
        by = so_far.backend.collapsed(source, source.mask(home.own[op] for op in ops), takes, gives, step.name)
    chosen = Chosen([region], hint=lambda: "Also select the ops between its ops")
    yield from replace_matches(so_far, request, chosen, by, step.name, only_op=True)
    if stay and not so_far.faults:
        stays = "stays" if len(stay) == 1 else "stay"
        yield Delta(warnings=[f"{counted(len(stay), 'ops')} {stays} outside of the call: {few(stay)}"])


@dataclass(frozen=True)
class _Home:
    """The graph that ops were made in: that of the plan, or the body of a call that the plan has opened.

    Args:
        graph: its snapshot.
        own: number of an op after the steps so far -> its number there.
    """

    graph: Graph
    own: Mapping[int, int]

    def given(self, after: Graph, ops: Sequence[int]) -> dict[Tensor, Tensor]:
        """Returns the tensors that enter some ops, as they are there -> as they are after the steps so far."""
        inside, found = set(ops), dict[Tensor, Tensor]()
        for op in ops:
            pairs = zip(self.graph.data.ends(self.own[op]), after.data.ends(op), strict=True)
            found.update((there, now) for there, now in pairs if now[0] not in inside)
        return found


def _marked(step: CollapseStep) -> list[str]:
    """Returns the names of the outputs that the selection was made with; an op inside may be their only consumer."""
    chosen = step.given
    return [chosen.graph.name(tensor) for tensor in chosen.outputs] if isinstance(chosen, Selection) else []


def _home(so_far: Tally, numbers: Sequence[int]) -> _Home:
    """The home of ops, judged by the first one: the others may not all have been made there."""
    for copied in so_far.copies:
        if copied.role == "graft" and not copied.variables:
            own = {int(copied.place[op]): op for op in copied.ops.tolist()}
            if numbers and numbers[0] in own:
                return _Home(copied.source, own)
    return _Home(so_far.base, {op: op for op in numbers if op < so_far.base.size})


def _refuse(request: str, graph: Graph, mask: Mask) -> None:
    """Refuses ops that no function can contain or take, and a part whose results would differ from those now."""
    if not mask.any():
        problem = "it contains only variables, placeholders and the ops that set them"
        raise PlanError(request, problem, "Select ops that compute something")
    flow = np.flatnonzero(mask & ((loops_of(graph) >= 0) | graph.typed(FLOW_TYPES))).tolist()
    if flow:
        problem = f"{graph.names[flow[0]]!r} is part of a while_loop or cond of TF1, whose gradient a function loses"
        raise PlanError(request, problem, "Select around it")
    torn = part_fault(graph, mask, ()) or split_fault(graph, mask)
    if torn is not None:
        raise PlanError(request, *torn)
    for op, port in entering(graph, mask):
        info = graph.info(op, port)
        if info is not None and info.dtype.endswith("_ref"):
            problem = f"{graph.names[op]!r} is a reference variable, which no function can take"
            raise PlanError(request, problem, "Leave out the ops that set it; its read op (w/read) can go in")


def _inside(graph: Graph, mask: Mask) -> tuple[Mask, list[str]]:
    """The ops that can go into a function, and the names of others: variables with their parts, feeds, holders."""
    out = graph.typed(FEED_TYPES | VARIABLE_TYPES | {"PlaceholderWithDefault"})
    for variable in graph.state.variables.values():
        if variable.op in graph.index:
            out |= variable_parts(graph, variable)
    for i in np.flatnonzero(mask & (graph.data.degrees == 0)).tolist():
        infos = graph.outputs(i) or ()
        out[i] |= any(info.dtype == "resource" or info.dtype.endswith("_ref") for info in infos)
    init_ops = {name for names in graph.state.init_ops.values() for name in names}
    out[[graph.index[name] for name in init_ops if name in graph.index]] = True
    inside = mask & ~out
    # What only a variable needs that stays outside, as its initial value, has no business in there.
    rows = graph.data.rows
    read, wanted = graph.mask(graph.data.node), graph.mask(graph.data.node[~inside[rows] & ~out[rows]])
    inside &= backward(graph, inside & (wanted | ~read) & ~graph.typed(["Const"]), within=inside)
    return inside, [graph.names[i] for i in np.flatnonzero(mask & ~inside).tolist()]
