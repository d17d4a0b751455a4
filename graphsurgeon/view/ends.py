"""Ends: the inputs and outputs of a model, so that a picture shows them even deep inside scopes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..graph.graph import Graph, Ints, Mask
from ..graph.traversal import forward
from ..graph.variables import FEED_TYPES
from .helpers import ORPHAN, SERVES, in_scopes
from .tree import Tree

Known = tuple[Sequence[str], Sequence[str]]
"""Names of inputs and of outputs, if they were given."""
MOST, LISTED = 6, 20
"""The number of inputs, and of outputs, that are drawn even deep inside scopes; more if a signature names them."""

_FED = frozenset({*FEED_TYPES, "PlaceholderWithDefault"})
_NO_OUTPUT = re.compile(
    r"NoOp|Assert|Print|PrintV2|ControlTrigger|Switch|Enter|LoopCond|Shape|ShapeN|Size|Rank|Assign\w*|\w*Assign\w*Op"
    r"|\w*Apply\w*|\w*Enqueue\w*|Queue\w*|Scatter\w*|Resource\w*|\w*Summary(V2)?|\w*Write\w*"
)
_SWITCHED = re.compile(r".*(switch_[tf]|pred_id|switch_pred.*|pivot_\w*)")


def ends(tree: Tree, known: Known = ((), ())) -> tuple[Ints, Ints]:
    """Returns the ops that feed the model and those that give its results, at most `MOST` of each.

    Args:
        tree: the graph, with its hidden helpers.
        known: names of its inputs and outputs, if they were given.

    Example:
        >>> g = Graph.of([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Exp", ["y"])])
        >>> ends(Tree(g))
        (array([0], dtype=int32), array([2], dtype=int32))
    """
    graph = tree.graph
    if known[0] or known[1]:
        found = [[graph.index.get(n.partition(":")[0], -1) for n in names] for names in known]
        fed, given = (np.unique([i for i in ops if i >= 0]).astype(np.int32) for ops in found)
        return fed[:LISTED], given[:LISTED]
    shown = (tree.own.kind == 0) & (tree.helpers.kind != ORPHAN)
    fed = graph.typed(_FED) & shown
    read_by = graph.consumers
    fed &= read_by.degrees > 0
    return _first(graph, fed), _first(graph, _results(graph, shown, fed))


def _results(graph: Graph, shown: Mask, fed: Mask) -> Mask:
    """Ops that depend on an input alone, with only gradients, savers and similar ops as consumers."""
    serves = in_scopes(graph, SERVES) | ~shown
    useful = forward(graph, fed, control=False) & ~serves if fed.any() else ~serves
    known, _, number = graph.kinds
    no = np.array([kind in _FED or _NO_OUTPUT.fullmatch(kind) is not None for kind in known], np.bool_)
    useful &= ~no[number] if len(known) else useful
    rows = graph.data.rows
    read = np.zeros(graph.size, np.bool_)
    read[graph.data.node[~serves[rows]]] = True
    last = useful & ~read & (graph.data.degrees > 0)
    for op in np.flatnonzero(last).tolist():
        last[op] = _SWITCHED.fullmatch(graph.names[op]) is None
    return np.asarray(last, np.bool_)


def pinned(tree: Tree, known: Known = ((), ())) -> tuple[int, ...]:
    """Returns the ops of `ends`, inputs first."""
    fed, given = ends(tree, known)
    return tuple(dict.fromkeys([*fed.tolist(), *given.tolist()]))


def _first(graph: Graph, ops: Mask) -> Ints:
    """Returns the ops that lie highest in the scopes, at most `MOST`, in graph order."""
    found = np.flatnonzero(ops)
    if len(found) > MOST:
        depth = np.array([graph.names[i].count("/") for i in found.tolist()])
        found = np.sort(found[np.argsort(depth, kind="stable")[:MOST]])
    return found.astype(np.int32)
