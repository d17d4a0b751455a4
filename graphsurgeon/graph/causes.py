"""Causes: what part of a query brings an op into a selection, or keeps it out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .boundary import Tensor
from .graph import Graph, Mask
from .selection import Query, Selection, select
from .traversal import backward, forward

_WALKS = ("ancestors", "descendants")


@dataclass(frozen=True, eq=False)
class Cause:
    """A walk, or a plain list, by which ops are selected.

    Args:
        kind: ``walk``; or why an op is not in it: ``unlisted``, ``removed``.
        ends: the ops at which the walk began; None without a walk.
        up: whether the walk went up, from the targets to the ops that they need.
        control: whether it followed control edges.
        cuts: the tensors at which it stopped.
        within: the ops it selected.
        said: the sentence for an op that is one of the ends, or that is not selected.
    """

    kind: str
    ends: Mask | None = None
    up: bool = True
    control: bool = True
    cuts: frozenset[Tensor] = frozenset()
    within: Mask | None = None
    said: str = ""


def evaluated(graph: Graph, query: Query) -> dict[int, Mask]:
    """Returns the ops of a query and of each query in it, by their `id`.

    Example:
        >>> g = Graph.of([("a", "Const", []), ("b", "Neg", ["a"])])
        >>> query = Query("not", (), (Query("names", ("a",)),))
        >>> evaluated(g, query)[id(query)].tolist()
        [False, True]
    """
    found: dict[int, Mask] = {}
    todo = [query]
    while todo:
        top = todo[-1]
        open_parts = [part for part in top.over if id(part) not in found]
        if open_parts:
            todo += open_parts
            continue
        found[id(todo.pop())] = _mask(graph, top, [found[id(part)] for part in top.over])
    return found


def _mask(graph: Graph, query: Query, parts: list[Mask]) -> Mask:
    if query.verb == "select":
        return select(graph, **dict(query.args)).mask
    if query.verb == "names":
        return graph.mask(graph.index[name] for name in query.args if name in graph.index)
    if query.verb == "or":
        return parts[0] | parts[1]
    if query.verb == "and":
        return parts[0] & parts[1]
    if query.verb == "minus":
        return parts[0] & ~parts[1]
    if query.verb == "not":
        return ~parts[0]
    walk = backward if query.verb == "ancestors" else forward
    return walk(graph, parts[0], control=query.args[0])


def causes(selection: Selection, number: int) -> list[Cause]:
    """Returns the walks that bring an op into a selection; empty if the op is listed and needs no walk."""
    graph, masks = selection.graph, evaluated(selection.graph, selection.query)
    found: list[Cause] = []
    todo = [selection.query]
    while todo:
        query = todo.pop()
        if query.verb == "or":
            todo += [part for part in query.over if masks[id(part)][number]]
        elif query.verb == "and":
            todo.append(next((part for part in query.over if _is_walk(part)), query.over[0]))
        elif query.verb == "minus":
            todo.append(query.over[0])
        else:
            cause = _cause(graph, query, masks)
            if cause is None:
                return []
            found.append(cause)
    return found


def lacking(selection: Selection, number: int) -> Cause:
    """Returns the part of a query that keeps an op out."""
    graph, masks = selection.graph, evaluated(selection.graph, selection.query)
    query = selection.query
    while True:
        if query.verb == "or":
            query = next((part for part in query.over if _is_walk(part)), query.over[0])
        elif query.verb == "and" or (query.verb == "minus" and not masks[id(query.over[0])][number]):
            query = next(part for part in query.over if not masks[id(part)][number])
        elif query.verb in ("minus", "not"):
            sign = "-" if query.verb == "minus" else "~"
            return Cause("removed", said=f"it is in the part that {sign} takes out")
        else:
            return _cause(graph, query, masks) or Cause("unlisted", said=_unfit(graph, query, number))


def _is_walk(query: Query) -> bool:
    return query.verb in _WALKS or (query.verb == "select" and "outputs" in dict(query.args))


def _cause(graph: Graph, query: Query, masks: dict[int, Mask]) -> Cause | None:
    if query.verb in _WALKS:
        up = query.verb == "ancestors"
        said = "it is one of the targets" if up else "it is one of the ops the walk began at"
        return Cause("walk", masks[id(query.over[0])], up, query.args[0], within=masks[id(query)], said=said)
    if not _is_walk(query):
        return None
    given = dict(query.args)
    ends = [graph.tensor(name)[0] for name in given["outputs"]]
    cuts = frozenset(graph.tensor(name) for name in given.get("inputs", ()))
    said = "it computes one of the boundary's outputs"
    return Cause("walk", graph.mask(ends), cuts=cuts, within=masks[id(query)], said=said)


def _unfit(graph: Graph, query: Query, number: int) -> str:
    """The first condition of a query that an op does not meet, in words."""
    name, kind = graph.names[number], graph.types[number]
    if query.verb == "names":
        return "it is not among the ops listed"
    given = dict(query.args)
    kinds = given.get("op", kind)
    if kind != kinds and kind not in np.atleast_1d(kinds):
        wanted = " or ".join(np.atleast_1d(kinds).tolist())
        return f"it is of type {kind}, and {wanted} was asked for"
    scope = str(given.get("scope", "")).rstrip("/")
    if scope and name != scope and not graph.scope_mask(scope)[number]:
        return f"it is not in the scope {scope!r}"
    patterns = np.atleast_1d(given.get("name", name)).tolist()
    return f"its name does not fit {' or '.join(map(repr, patterns))}"
