"""Branches: conds of TF1 in which a plan would make one branch always count."""

from __future__ import annotations

import numpy as np

from ...graph.conditions import excluded
from ...graph.contexts import ENTERS, EXITS, MERGES, SWITCHES
from ...graph.graph import Graph, Mask
from ...graph.names import op_name
from ...graph.rewired import TURNING
from ...graph.traversal import backward, forward
from ..copied import Connection
from ..effect import Effect
from ..fault import Fault
from ..step_code import request_of


def branch_fault(effect: Effect) -> Fault | None:
    """Returns the fault of a Merge that would always take one of its inputs, and did not before; None without one.

    Args:
        effect: the sum of all steps.
    """
    after = effect.after
    if effect.faults or not effect.connections or not after.typed(MERGES).any():
        return None
    known = {(effect.renamed.get(name, name), at) for name, at in _always(effect.base)}
    for copied in effect.copies:
        known |= {(copied.renamed(name), at) for name, at in _always(copied.source)}
    for name, at in sorted(_always(after) - known):
        merge = after.index[name]
        given = after.data.ends(merge)[at]
        above = backward(after, after.mask([given[0]]))
        above[merge] = True
        joins = [one for one in effect.connections if above[after.index[one.to]]]
        joins = [one for one in joins if one.to != name or one.input == at]
        if joins:
            number = effect.blame.get(joins[-1].to)
            request = "check()" if number is None else request_of(effect.steps[number])
            problem = f"{name!r} would always take {after.name(given)!r}, whatever the condition is"
            return Fault(request, problem, _instead(effect, joins[-1]), step=number)
    return None


def never_fault(effect: Effect) -> Fault | None:
    """Returns the fault of an op that would read tensors of branches that exclude each other; None without one.

    Args:
        effect: the sum of all steps.
    """
    after = effect.after
    if effect.faults or not effect.connections or not after.typed(SWITCHES).any():
        return None
    inside = _in_branches(after)
    joins = [one for one in effect.connections if inside[after.tensor(one.tensor)[0]]]
    if not joins:
        return None
    for root, never in excluded(after, after.mask(after.index[one.to] for one in joins), inside).items():
        join = next((one for one in joins if never[after.index[one.to]]), None)
        if join is not None:
            number = effect.blame.get(join.to)
            request = "check()" if number is None else request_of(effect.steps[number])
            problem = f"{join.to!r} would never run: what it reads is computed in branches of {after.name(root)!r} "
            how = f"Choose a tensor of the branch of {join.to!r}. If it is in no branch, choose the result of the cond"
            return Fault(request, problem + "that exclude each other", how, step=number)
    return None


def _in_branches(graph: Graph) -> Mask:
    """The ops that run only if the condition of a cond or loop takes their branch."""
    return forward(graph, graph.typed(SWITCHES), within=~graph.typed(MERGES) & ~graph.typed(EXITS))


def _always(graph: Graph) -> set[tuple[str, int]]:
    """The inputs of Merges that come for each value of the condition: (Merge, input)."""
    joints = graph.typed(MERGES)
    if not joints.any():
        return set()
    chosen = _in_branches(graph)
    rows, node = graph.data.rows, graph.data.node
    of_loop = graph.typed((*ENTERS, *TURNING))
    found = np.flatnonzero(joints[rows] & ~chosen[node] & ~of_loop[node]).tolist()
    return {(graph.names[rows[edge]], edge - int(graph.data.ptr[rows[edge]])) for edge in found}


def _instead(effect: Effect, join: Connection) -> str:
    was = op_name(join.was)
    switch = effect.renamed.get(was, was)
    number = effect.after.index.get(switch)
    if number is not None and effect.after.types[number] in SWITCHES:
        return f"Rewire the data input of the Switch before it: .connect({join.tensor!r}, to={switch!r})"
    return f"Rewire the data inputs of the Switches of that branch, and leave the inputs of {join.to!r}"
