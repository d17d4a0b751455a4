"""Moves: edges that led to matches, and now lead to what replaces them; control edges and loops too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...graph.boundary import Tensor
from ...graph.contexts import ENTERS, loops_of
from ...graph.edges import Edges
from ...graph.graph import Graph, Mask
from ...graph.rewired import Edge, reordered_many, rewired
from ...graph.traversal import backward
from ...graph.variables import VARIABLE_TYPES
from ..backend import Site
from .graft import Grafted

_STILL = VARIABLE_TYPES | {"Const", "Placeholder", "NoOp"}


@dataclass(frozen=True, eq=False)
class Moved:
    """How the edges of a graph change when matches are replaced.

    Args:
        graph: the graph with these changes.
        edges: inputs that are set.
        control: op -> all its control inputs, if they change.
        waits: op that is not a replacement -> names of its new control inputs, and of its former ones.
        subs: tensor of a match -> tensor that takes its place.
        groups: for each match, the numbers of its ops and of those that replace it.
        said, dropped: control edges that were moved, or left out, in words.
    """

    graph: Graph
    edges: list[Edge]
    control: dict[int, list[int]]
    waits: dict[int, tuple[list[str], list[str]]]
    subs: Mapping[Tensor, Tensor]
    groups: Sequence[Sequence[int]]
    said: list[str]
    dropped: list[str]

    def touches(self, group: int, ops: Mask) -> bool:
        """Returns whether a match, or what replaces it, is among some ops."""
        return bool(ops[list(self.groups[group])].any())


def resolved(subs: Mapping[Tensor, Tensor]) -> dict[Tensor, Tensor]:
    """Returns the same with no tensor replaced by one that is replaced itself.

    Example:
        >>> resolved({(1, 0): (2, 0), (2, 0): (3, 0)})
        {(1, 0): (3, 0), (2, 0): (3, 0)}
    """
    out: dict[Tensor, Tensor] = {}
    for old, new in subs.items():
        way = [old]
        while new in subs and new not in way:
            way.append(new)
            new = out.get(new, subs[new])
        for tensor in way:
            out[tensor] = new
    return out


def loop_waits(graph: Graph, sites: Sequence[Site], grafted: Grafted) -> dict[int, list[int]] | str:
    """Returns what new ops in a loop of TF1 that read nothing must wait for, to run there; or why that cannot be."""
    if not graph.typed(ENTERS).any():
        return {}
    loop, out = loops_of(graph), dict[int, list[int]]()
    for site, names in zip(sites, grafted.names, strict=True):
        inside = [loop[i] for i in site.match.numbers if loop[i] >= 0]
        for op in [graph.index[name] for name in names] if inside else ():
            if graph.types[op] in VARIABLE_TYPES:
                return f"{graph.names[op]!r} would be a variable inside a loop"
            if len(graph.data.row(op)) or len(graph.control.row(op)):
                continue
            near = [t[0] for t in site.inputs.values() if loop[t[0]] == inside[0] and graph.types[t[0]] != "Exit"]
            if not near:
                return f"{graph.names[op]!r} would be in a loop, and reads nothing of it"
            out[op] = near[:1]
    return out


def moved_waits(
    graph: Graph,
    sites: Sequence[Site],
    grafted: Grafted,
    subs: Mapping[Tensor, Tensor],
    owner: Mapping[int, int],
    first: Mapping[int, list[int]],
) -> Moved:
    """Works out the edges after a replacement.

    Args:
        graph: the graph with the new ops in it.
        sites, grafted: the matches and what replaces them.
        subs: tensor of a match -> tensor that takes its place.
        owner: op of a match -> number of the match.
        first: control inputs that new ops need anyway.
    """
    own = [[graph.index[name] for name in names] for names in grafted.names]
    mine = {op: k for k, ops in enumerate(own) for op in ops}
    edges: list[Edge] = [
        (reader, at, subs[tensor])
        for tensor in subs
        for reader, at in graph.readers(tensor)
        if owner.get(reader, -1) != owner.get(tensor[0], -2)
    ]
    ends = [
        sorted({subs.get(t, t)[0] for t in found.values() if mine.get(subs.get(t, t)[0]) == k})
        or sorted({subs.get(t, t)[0] for t in found.values()})
        for k, found in enumerate(grafted.outputs)
    ]
    control: dict[int, list[int]] = {op: list(ops) for op, ops in first.items()}
    waits: dict[int, tuple[list[str], list[str]]] = {}
    said: list[str] = []
    dropped: list[str] = []
    names = graph.names
    above = backward(graph, graph.mask(sorted({op for ops in ends for op in ops})), control=False)
    for k, site in enumerate(sites):
        for inside, outside in _pairs(graph.control, site.match.numbers, owner, k):
            heads = _heads(graph, [op for op in own[k] if above[op]])
            after = ends[owner[outside]] if outside in owner else [outside]
            for op in heads:
                control.setdefault(op, graph.control.row(op).tolist())
                control[op] += [i for i in after if i not in control[op]]
            (said if heads else dropped).append(f"{names[inside]} after {names[outside]}")
        for inside, outside in _pairs(graph.control_consumers, site.match.numbers, owner, k):
            if outside in owner:
                continue  # the replacement of that one waits: it is done there
            control.setdefault(outside, graph.control.row(outside).tolist())
            new = [i for i in ends[k] if i != outside]
            control[outside] = list(dict.fromkeys([*(i for i in control[outside] if i != inside), *new]))
            added, freed = waits.setdefault(outside, ([], []))
            added += [names[i] for i in new if names[i] not in added]
            freed.append(names[inside])
            said.append(f"{names[outside]} after {names[inside]}")
    after_all = rewired(graph, edges)
    after_all = reordered_many(after_all, control) if control else after_all
    groups = [[*site.match.numbers, *ops] for site, ops in zip(sites, own, strict=True)]
    return Moved(after_all, edges, control, waits, subs, groups, said, dropped)


def _pairs(edges: Edges, ops: Sequence[int], owner: Mapping[int, int], group: int) -> list[tuple[int, int]]:
    return [(i, other) for i in ops for other in edges.row(i).tolist() if owner.get(other) != group]


def _heads(graph: Graph, ops: Sequence[int]) -> list[int]:
    """The new ops that read nothing new: with these the replacement begins."""
    own = set(ops)
    moving = [op for op in ops if graph.types[op] not in _STILL]
    heads = [op for op in moving if not own & {i for i in graph.data.row(op).tolist() if graph.types[i] not in _STILL}]
    return heads or [op for op in ops if graph.types[op] == "Const"]
