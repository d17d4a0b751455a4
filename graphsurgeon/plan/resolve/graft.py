"""Graft: subgraphs that a plan builds from Python, and their place in the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...graph.boundary import Tensor
from ...graph.graph import Graph, Ints
from ...graph.names import free_name, op_name, outer_name
from ...graph.rewired import cut_out
from ...graph.selection import listed
from ..backend import Piece, Site
from ..copied import Connection, Copied, now_read
from ..delta import Delta
from ..effect import Effect
from ..steps import CopyStep
from ..tally import Tally
from .copy import copied_by


@dataclass(frozen=True)
class Grafted:
    """A piece in the graph.

    Args:
        delta: the delta that adds it.
        outputs: for each site, output -> tensor of the graph after the plan.
        names: for each site, the names of its ops.
    """

    delta: Delta
    outputs: tuple[Mapping[str, Tensor], ...]
    names: tuple[tuple[str, ...], ...]


def grafted(so_far: Tally, piece: Piece, sites: Sequence[Site], only_op: bool = False) -> Grafted:
    """Returns a piece in the graph, connected to its inputs; if that is not possible, its delta has a fault.

    Args:
        so_far: what the steps before have done.
        piece: the new ops.
        sites: the places that get them.
        only_op: whether it is one op for each site, which gets the name of the scope itself.
    """
    small = piece.graph
    given = {small.index[name]: tensor for name, tensor in piece.inputs.items()}
    mask = ~small.mask(given)
    if not mask.any():
        ends = tuple({key: given[small.tensor(name)[0]] for key, name in found.items()} for found in piece.outputs)
        return Grafted(Delta(), ends, ((),) * len(sites))
    reads = small.mask(small.data.node)
    pairs = [(f"{small.names[i]}:0", so_far.bench.name(tensor)) for i, tensor in given.items() if reads[i]]
    block = listed(small, mask)
    step = CopyStep(
        block, "", tuple(pairs), control="refuse",
        variables=(("*", "initial"),), collections="keep",
        names={name: name.rpartition("/")[0] for name in block.names} if only_op else None,
    )  # fmt: skip
    delta = copied_by(step, so_far)
    if not delta.copies:  # a fault, of this step or an earlier one
        return Grafted(delta, ({},) * len(sites), ((),) * len(sites))
    copied = replace(delta.copies[0], role="graft")
    joins = [Connection(c.tensor, c.to, c.input) for c in delta.joins]  # ops that a plan builds had no inputs before
    outputs = []
    for found in piece.outputs:
        where = {key: small.tensor(name) for key, name in found.items()}
        outputs.append({key: given.get(op, (int(copied.place[op]), port)) for key, (op, port) in where.items()})
    by_scope: dict[str, list[str]] = {site.scope: [] for site in sites}
    for name in copied.made:
        scope = outer_name(name, by_scope)
        if scope is not None:
            by_scope[scope].append(name)
    names = tuple(tuple(by_scope[site.scope]) for site in sites)
    return Grafted(replace(delta, copies=[copied], joins=joins), tuple(outputs), names)


def site_scope(graph: Graph, wish: str, given: set[str], op: bool = False, below: Sequence[str] = ()) -> str:
    """Returns an empty name scope: the wish, or one with a number; it is noted in `given`.

    With `op` it is for one op that gets this very name, which no other op may have. With `below` all new ops are in
    scopes of these names in it, and other ops may be in it.

    Example:
        >>> g = Graph.of([("a", "Const", []), ("b/c", "Const", [])])
        >>> given = set()
        >>> site_scope(g, "a", given), site_scope(g, "a", given), site_scope(g, "b", given)
        ('a', 'a_1', 'b_1')
    """

    def taken(name: str) -> bool:
        an_op = name.lower() in graph.lowered and (op or name != wish)
        full = any(graph.taken(f"{name}/{part}") for part in below) if below else name in graph.scopes.index
        return name.lower() in given or full or an_op

    name = free_name(wish, taken, as_tensorflow=True)
    given.add(name.lower())
    return name


def built(so_far: Tally, op: int) -> bool:
    """Returns whether an op was built for the plan, such as an op of an inlined call, and is not part of a variable."""
    return any(c.role == "graft" and not c.variables and op in c.place[c.ops] for c in so_far.copies)


def taken_out(
    effect: Effect, ops: Sequence[int], new_tensors: Mapping[str, str], was: Mapping[tuple[str, int], str]
) -> Effect:
    """Takes ops of grafts out of a plan, which nothing reads any more: nothing of them is ever made.

    Args:
        effect: what to take them out of.
        ops: their numbers after the plan so far.
        new_tensors: output of one of them -> the tensor that is read in its place.
        was: what inputs read before: (op, input) -> tensor.
    """
    graph, after = effect.after, cut_out(effect.after, sorted(ops))
    after = replace(after, owner=graph.owner)  # the ops of the base keep their numbers
    gone, names = graph.mask(ops), {graph.names[i] for i in ops}
    place = np.arange(graph.size, dtype=np.int32) - np.cumsum(gone, dtype=np.int32)
    place[gone] = -1
    left = [_left(c, place) for c in effect.copies]
    replaced = []
    for one in effect.replaced:
        outputs = {old: new_tensors.get(new, new) for old, new in one.outputs.items()}
        stays = {old: new for old, new in outputs.items() if op_name(new) not in names}
        made, kept = (tuple(n for n in some if n not in names) for some in (one.ops, one.kept))
        replaced.append(replace(one, outputs=stays, ops=made, kept=kept))
    return replace(
        effect,
        after=after,
        copies=tuple(replace(c, external=now_read(after, c)) for c in left if len(c.ops) or c.role != "graft"),
        blame={name: step for name, step in effect.blame.items() if name not in names},
        changes={name: change for name, change in effect.changes.items() if name not in names},
        edits=tuple(edit for edit in effect.edits if op_name(edit[2]) not in names),
        connections=tuple(
            replace(c, was=was.get((c.to, c.input), c.was)) for c in effect.connections if c.to not in names
        ),
        replaced=tuple(replaced),
    )


def _left(copied: Copied, place: Ints) -> Copied:
    """A copy after the ops have got other numbers, -1 for removed ones."""
    now = np.where(copied.place < 0, -1, place[copied.place]).astype(np.int32)
    stays = now[copied.ops] >= 0
    names = [name for name, there in zip(copied.names, stays.tolist(), strict=True) if there]
    return replace(copied, ops=copied.ops[stays], names=names, place=now)
