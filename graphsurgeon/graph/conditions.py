"""Conditions: the effect of a known condition on a graph: dead ops, and tensors that replace others."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .boundary import Tensor
from .control_flow import MERGES, constant_entry
from .functions import op_types_finder
from .graph import Graph, Mask
from .rewiring import TURNING
from .traversal import backward

SWITCHES = ("Switch", "RefSwitch")


@dataclass(frozen=True, eq=False)
class PredicateEffect:
    """The effect of a known condition on the TF1 conds that depend on it.

    Args:
        values: tensor -> its value, for the condition and its negations.
        switches: the Switches that the condition decides.
        dead: ops that can never run any more.
        substitutes: tensor of a Switch or Merge -> the tensor that it always equals.
        partial_merges: Merges that would keep several inputs after losing one.
        index_merges: Merges with consumers of output 1, the number of the taken input.
    """

    values: Mapping[Tensor, Any]
    switches: list[int]
    dead: Mask
    substitutes: Mapping[Tensor, Tensor]
    partial_merges: list[int]
    index_merges: list[int]


def implied_predicates(graph: Graph, tensor: Tensor, value: Any) -> dict[Tensor, Any]:
    """Returns the tensors with values that follow from the value of one tensor, and these values.

    Example:
        >>> g = Graph.from_ops([("p", "Placeholder", []), ("q", "Identity", ["p"]), ("n", "LogicalNot", ["q"])])
        >>> implied_predicates(g, (0, 0), True)
        {(0, 0): True, (1, 0): True, (2, 0): False}
    """
    values, todo = {tensor: value}, [tensor]
    while todo:
        one = todo.pop()
        for reader in dict.fromkeys(graph.consumers.row(one[0]).tolist()):
            kind, first = graph.types[reader], int(graph.data.ptr[reader])
            if (int(graph.data.node[first]), int(graph.data.port[first])) != one:
                continue
            new = not values[one] if kind == "LogicalNot" else values[one]
            ports = 2 if kind in SWITCHES else 1
            if kind in (*SWITCHES, "Identity", "LogicalNot") or constant_entry(graph, reader):
                fresh = [(reader, port) for port in range(ports) if (reader, port) not in values]
                values |= dict.fromkeys(fresh, new)
                todo += fresh
    return values


def skipping_predicates(graph: Graph, op: int, kind: str) -> list[tuple[str, bool]]:
    """Returns the pairs (predicate, value) for which an op, or the ops of a type that it calls, do not run.

    Args:
        graph: the graph.
        op: an op in a cond of TF1; or an ``If``.
        kind: the type of the op, or of the ops in the branches of the ``If``.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("p", "Placeholder", []), ("s", "Switch", ["x", "p"]),
        ...               ("a", "Neg", ["s:0"]), ("b", "Exp", ["s:1"]), ("m", "Merge", ["a", "b"])])
        >>> skipping_predicates(g, 3, "Neg"), skipping_predicates(g, 0, "Placeholder")
        ([('p:0', True)], [])
    """
    if graph.types[op] in ("If", "StatelessIf"):
        node = graph.nodes[op]
        types_of = op_types_finder(graph.functions)
        inside = {key: types_of(node.attr[key].func.name) for key in ("then_branch", "else_branch")}
        predicate = graph.name(graph.data.ends(op)[0])
        return [(predicate, value) for value in (False, True)
                if kind not in inside["then_branch" if value else "else_branch"]]  # fmt: skip
    above = backward(graph, graph.mask([op]))
    roots = {
        _root(graph, graph.data.ends(one)[1]): None
        for one in np.flatnonzero(above & graph.type_mask(SWITCHES)).tolist()
    }
    return [(graph.name(root), value) for root in roots for value in (False, True)
            if fix_predicate(graph, root, value).dead[op]]  # fmt: skip


def exclusive_ops(graph: Graph, ops: Mask, within: Mask) -> dict[Tensor, Mask]:
    """Returns condition -> the ops that run for neither value of the condition.

    Only conditions that prevent some of `ops` are included.

    Args:
        graph: the graph.
        ops: the ops in question.
        within: the ops in branches of conds of TF1.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("p", "Placeholder", []), ("s", "Switch", ["x", "p"]),
        ...               ("a", "Add", ["s:0", "s:1"])])
        >>> [(g.name(end), mask.tolist()) for end, mask in exclusive_ops(g, g.mask([3]), g.mask([2, 3])).items()]
        [('p:0', [False, False, False, True])]
    """
    switches = np.flatnonzero(backward(graph, ops, within=within) & graph.type_mask(SWITCHES)).tolist()
    masks: dict[Tensor, Mask] = {}
    for root in dict.fromkeys(_root(graph, graph.data.ends(op)[1]) for op in switches):
        if graph.types[root[0]] != "LoopCond":
            dead: Mask = fix_predicate(graph, root, True).dead & fix_predicate(graph, root, False).dead
            masks |= {root: dead} if (dead & ops).any() else {}
    return masks


def _root(graph: Graph, tensor: Tensor) -> Tensor:
    """The tensor that a predicate is a copy of."""
    while graph.types[tensor[0]] == "Identity":
        tensor = graph.data.ends(tensor[0])[0]
    return tensor


def fix_predicate(graph: Graph, tensor: Tensor, value: bool) -> PredicateEffect:
    """Returns the effect of a known predicate on a graph.

    Args:
        graph: the graph.
        tensor: the predicate.
        value: its value.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("p", "Placeholder", []), ("s", "Switch", ["x", "p"]),
        ...               ("a", "Neg", ["s:0"]), ("b", "Exp", ["s:1"]), ("m", "Merge", ["a", "b"])])
        >>> found = fix_predicate(g, (1, 0), True)
        >>> found.dead.nonzero()[0].tolist(), found.substitutes
        ([3], {(2, 1): (0, 0), (5, 0): (4, 0)})
    """
    values = implied_predicates(graph, tensor, value)
    switches = [op for op in np.flatnonzero(graph.type_mask(SWITCHES)).tolist() if graph.data.ends(op)[1] in values]
    unreachable, dead_tensors = np.zeros(graph.size, np.bool_), set[Tensor]()
    substitutes: dict[Tensor, Tensor] = {}
    todo: deque[int] = deque()

    def kill(op: int, port: int | None) -> None:
        """Marks one output of an op, or the whole op, as never computed."""
        if port is None:
            if unreachable[op]:
                return
            unreachable[op] = True
            dead_tensors.update((op, at) for at in range(len(graph.outputs(op) or (0, 0))))
            todo.extend(graph.control_consumers.row(op).tolist())
        else:
            dead_tensors.add((op, port))
        todo.extend(graph.consumers.row(op).tolist())

    for op in switches:
        live = int(bool(values[graph.data.ends(op)[1]]))
        substitutes[op, live] = graph.data.ends(op)[0]
        kill(op, 1 - live)
    while todo:
        op = todo.popleft()
        if unreachable[op]:
            continue
        ends = graph.data.ends(op)
        if graph.types[op] in MERGES:  # runs if any input arrives; the input of the next round needs an earlier run
            if all(end in dead_tensors for end in ends if graph.types[end[0]] not in TURNING):
                kill(op, None)
        elif any(end in dead_tensors for end in ends) or unreachable[graph.control.row(op)].any():
            kill(op, None)
    torn, observed = [], []
    consumed = set(zip(graph.data.node.tolist(), graph.data.port.tolist(), strict=True)) if switches else set()
    for op in np.flatnonzero(graph.type_mask(MERGES) & ~unreachable).tolist() if switches else ():
        ends = graph.data.ends(op)
        live_ends = [end for end in ends if end not in dead_tensors]
        if len(live_ends) == len(ends):
            continue
        if len(live_ends) > 1:
            torn.append(op)
        elif (op, 1) in consumed:
            observed.append(op)
        else:
            substitutes[op, 0] = live_ends[0]
    switches = [op for op in switches if not unreachable[op]]
    return PredicateEffect(
        values,
        switches,
        unreachable,
        {old: new for old, new in substitutes.items() if not unreachable[old[0]]},
        torn,
        observed,
    )
