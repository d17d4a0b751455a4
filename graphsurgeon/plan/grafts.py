"""Grafts: subgraphs that a plan builds from Python, and their place in the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SurgeryError
from ..graph.graph import Graph
from ..graph.names import free_name
from ..graph.selection import Query, Selection
from .copied import Connection
from .edits import fault
from .placement import put_copy
from .steps import CopyStep

if TYPE_CHECKING:
    from ..graph.boundary import Tensor
    from .effect import Effect


@dataclass(frozen=True, eq=False)
class Site:
    """One place that gets a subgraph.

    Args:
        scope: the name scope of its ops.
        inputs: argument of the function -> tensor of the graph, by op number and output.
        outputs: what the function is to give, by name, in order.
        match: the match that is replaced, where there is one.
    """

    scope: str
    inputs: Mapping[str, Tensor]
    outputs: tuple[str, ...]
    match: Any = None


@dataclass(frozen=True, eq=False)
class Piece:
    """The subgraphs for some sites, built in a graph of their own.

    Args:
        graph: snapshot of that graph.
        inputs: name of a placeholder there -> tensor of the graph that the plan is for.
        outputs: for each site, output -> name of a tensor there.
    """

    graph: Graph
    inputs: Mapping[str, Tensor]
    outputs: tuple[Mapping[str, str], ...]


#: Builds the subgraphs for some sites: called with a function or op type, the sites, the graph, and the request.
Trace = Callable[[Callable[..., Any] | str, Sequence[Site], Graph, str], Piece]


@dataclass(frozen=True)
class Tools:
    """What builds and reads graphs of a framework for a plan.

    Args:
        trace: builds the subgraphs for some sites.
        pattern: makes a pattern of a function, a selection, a small graph.
        read: reads the array that a constant holds.
        collapsed, inlined: make the functions that build a call of some ops, and what a call does.
    """

    trace: Trace
    pattern: Callable[..., Any]
    read: Callable[[Any], Any]
    collapsed: Callable[..., Callable[..., Any]] | None = None
    inlined: Callable[..., Callable[..., Any]] | None = None


@dataclass(frozen=True)
class Grafted:
    """What a piece is in the graph.

    Args:
        outputs: for each site, output -> tensor of the graph after the plan.
        first: number of the first new op.
        names: for each site, the names of its ops.
    """

    outputs: tuple[Mapping[str, Tensor], ...]
    first: int
    names: tuple[tuple[str, ...], ...]


def built(effect: Effect, asked: str, function: Callable[..., Any] | str, sites: Sequence[Site]) -> Piece | None:
    """Returns the subgraphs for some sites; None, and a fault, where they cannot be built."""
    tools = effect.plan.tools
    if tools is None:
        fault(effect, asked, "nothing here can build a graph from Python", "Make the plan with gs.open(graph).plan()")
        return None
    try:
        return tools.trace(function, sites, effect.after, asked)
    except SurgeryError as error:
        fault(effect, error.asked, error.wrong, error.instead)
        return None


def graft(effect: Effect, piece: Piece, sites: Sequence[Site], only_op: bool = False) -> Grafted | None:
    """Puts a piece into the graph, joined to what it reads; None, and a fault, where that cannot be.

    Args:
        effect: what to add it to.
        piece: what was built.
        sites: what for.
        only_op: it is one op for each site, and gets the name of the scope itself.
    """
    graph, first, small = effect.after, effect.after.size, piece.graph
    given = {small.index[name]: tensor for name, tensor in piece.inputs.items()}
    mask = ~small.mask(given)
    if mask.any():
        reads = np.zeros(small.size, np.bool_)
        reads[small.data.node] = True
        pairs = [(f"{small.names[i]}:0", _name(graph, tensor)) for i, tensor in given.items() if reads[i]]
        held = tuple(small.names[i] for i in np.flatnonzero(mask).tolist())
        step = CopyStep(
            Selection(small, mask, Query("names", held)), "", tuple(pairs), control="refuse",
            variables=(("*", "initial"),), collections="keep",
            names={name: name.rpartition("/")[0] for name in held} if only_op else None,
        )  # fmt: skip
        copies, known = len(effect.copies), len(effect.connections)
        put_copy(effect, step)
        if len(effect.copies) == copies:  # a fault, of this step or an earlier one
            return None
        effect.copies[-1] = replace(effect.copies[-1], role="graft")
        joins = effect.connections[known:]
        effect.connections[known:] = [Connection(c.tensor, c.to, c.input) for c in joins]
    place = effect.copies[-1].place if mask.any() else None
    outputs = []
    for found in piece.outputs:
        ends: dict[str, Tensor] = {}
        for key, name in found.items():
            op, port = small.tensor(name)
            ends[key] = given[op] if op in given or place is None else (int(place[op]), port)
        outputs.append(ends)
    after = effect.after
    if not mask.any():
        return Grafted(tuple(outputs), first, ((),) * len(sites))
    by_scope: dict[str, list[str]] = {site.scope: [] for site in sites}
    for name in after.names[first:]:
        scope = name
        while scope and scope not in by_scope:
            scope = scope.rpartition("/")[0]
        if scope:
            by_scope[scope].append(name)
    return Grafted(tuple(outputs), first, tuple(tuple(by_scope[site.scope]) for site in sites))


def site_scope(graph: Graph, wish: str, given: set[str], op: bool = False) -> str:
    """Returns a name scope that nothing is in yet: the wish, or one with a number; it is noted in `given`.

    With `op` it is for one op that gets this very name, which no other op may have.

    Example:
        >>> g = Graph.of([("a", "Const", []), ("b/c", "Const", [])])
        >>> given = set()
        >>> site_scope(g, "a", given), site_scope(g, "a", given), site_scope(g, "b", given)
        ('a', 'a_1', 'b_1')
    """

    def taken(name: str) -> bool:
        an_op = name.lower() in graph.lowered and (op or name != wish)
        return name.lower() in given or name in graph.scopes.index or an_op

    name = free_name(wish, taken, as_tensorflow=True)
    given.add(name.lower())
    return name


def _name(graph: Graph, tensor: Tensor) -> str:
    return f"{graph.names[tensor[0]]}:{tensor[1]}"
