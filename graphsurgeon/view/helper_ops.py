"""Finds helpers: ops that are hidden and counted in a picture, such as constants, initializers and savers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..graph.graph import Graph, Ints, Mask
from ..graph.training import HELPER_SCOPES, training_ops
from ..graph.traversal import connected_parts
from ..graph.variables import INPUT_TYPES, QUERY_TYPES

Counts = NDArray[np.intp]

KINDS = ("", "constants", "variables", "initializers", "saving ops", "no-ops", "summaries", "unconnected ops",
         "queue ops", "training ops", "hidden ops", "orphans")  # fmt: skip
"""The kinds of hidden ops; the numbers in `Helpers.kind` are indices of this list."""
CONSTANT, VARIABLE, INITIALISER, SAVING, NOOP, SUMMARY, LONE, QUEUE, TRAINING, HIDDEN, ORPHAN = range(1, 12)

VARIABLES = frozenset({"Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable", "TemporaryVariable"})
"""Op types that hold a variable."""
MIN_OPS = 12
"""The maximum number of ops of a graph in which nothing is hidden."""

_SAVERS = frozenset({"Save", "SaveV2", "SaveSlices", "Restore", "RestoreV2", "RestoreSlice"})
_SAVE_SCOPE = re.compile(r"save(_\d+)?")
_SOURCE_TYPES = frozenset(
    {*INPUT_TYPES, "IteratorGetNext", "QueueDequeueV2", "QueueDequeueManyV2", "Switch", "Merge", "Enter"}
)
_HANDLED = re.compile(
    r"(Assign\w*|Destroy)(Variable|Resource)Op|Resource(Apply|Gather|Scatter)\w*"
    r"|VarIsInitializedOp|VariableShape"
)
_QUEUES = re.compile(
    r"((FIFO|PaddingFIFO|Priority|RandomShuffle)Queue|Queue(Close|Dequeue|Enqueue|IsClosed|Size)\w*)(V2)?"
)
_TOKENS = re.compile(r"Fill|Cast|Identity|Pack|Range|ReadVariableOp|Reshape|Assign(Add|Sub)?(VariableOp)?")
_DT_RESOURCE = 20
_MAX_SCOPE = 64  # a variable's scope with more ops is an ordinary scope

_JUDGES = re.compile(r"(?i)(total_)?loss(es)?(_\d+)?|accuracy|eval\w*")


@dataclass(frozen=True)
class Filters:
    """The user's choices of ops to hide or show, in addition to the default.

    Args:
        shown: kinds of KINDS that are drawn like other ops.
        hidden: op types that are not drawn.
        hidden_orphans: orphans, which are not drawn.
        training: whether gradients and updates are drawn.
    """

    shown: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    hidden_orphans: frozenset[str] = frozenset()
    training: bool = True


@lru_cache(4096)
def behind(leaf: str) -> bool:
    """Returns whether the name of a scope indicates gradients, an optimizer or a loss, not the model.

    Example:
        >>> behind("gradients"), behind("Adam"), behind("block1")
        (True, True, False)
    """
    return (HELPER_SCOPES.fullmatch(leaf) or _JUDGES.fullmatch(leaf)) is not None


@dataclass(frozen=True, eq=False)
class Helpers:
    """The hidden ops, and the ops that they help.

    Args:
        kind: for each op, the index of its kind in KINDS; 0 for ops that are drawn.
        owner: for each op, the op that represents it; for example, a variable represents its read and initializer.

    Example:
        >>> g = Graph.from_ops([("c", "Const", []), ("x", "Placeholder", []), ("y", "Add", ["x", "c"])])
        >>> Helpers.from_graph(g).kind.tolist()
        [1, 0, 0]
    """

    kind: NDArray[np.int8]
    owner: Ints

    @classmethod
    def from_graph(cls, graph: Graph) -> Helpers:
        """Finds the helpers of a graph, in time linear in the number of edges."""
        kind = np.zeros(graph.size, np.int8)
        owner = np.arange(graph.size, dtype=np.int32)
        makers, readers = graph.data.node, graph.data.rows
        consumers: Counts = np.bincount(makers, minlength=graph.size)
        const = graph.type_mask(["Const"])
        if graph.size > MIN_OPS:
            inputs = graph.data.degrees + graph.control.degrees
            touched = consumers + inputs + np.bincount(graph.control.node, minlength=graph.size)
            kind[touched == 0] = LONE
        kind[const] = CONSTANT
        kind[graph.type_mask(["NoOp", "ControlTrigger"])] = NOOP
        kind[graph.type_mask(k for k in graph.type_index[0] if k.endswith(("Summary", "SummaryV2")))] = SUMMARY
        _variables(graph, graph.type_mask(VARIABLES), kind, owner)
        _classify_captures(graph, graph.type_mask(["_Arg", "Placeholder"]), kind)
        checks = graph.type_mask(QUERY_TYPES)
        _reads(
            graph,
            graph.type_mask(["Identity", "ReadVariableOp"]) | checks,
            (consumers > 0) | ~graph.type_mask(["Identity"]),
            kind,
            owner,
        )
        _savers(graph, graph.type_mask(_SAVERS), kind)
        _classify_assignments(graph, graph.type_mask(["Assign", "AssignVariableOp"]), consumers, kind)
        _initializers(kind, makers, readers, consumers, ~graph.type_mask(INPUT_TYPES))  # an input is never a helper
        _leftovers(graph, checks, kind)
        _queues(graph, kind)
        return cls(kind, owner)


def filter_helpers(helpers: Helpers, graph: Graph, filters: Filters) -> Helpers:
    """Returns the hidden ops after the user's choices."""
    kind, owner = helpers.kind.copy(), helpers.owner.copy()
    orphans = np.asarray([graph.index[name] for name in filters.hidden_orphans if name in graph.index], np.int64)
    kind[orphans], owner[orphans] = ORPHAN, orphans
    back = np.isin(kind, [KINDS.index(word) for word in filters.shown])
    kind[back], owner[back] = 0, np.flatnonzero(back)
    if not filters.training:
        kind[training_ops(graph) & (kind == 0)] = TRAINING
    kind[graph.type_mask(filters.hidden) & (kind == 0)] = HIDDEN
    return Helpers(kind, owner)


def _variables(graph: Graph, variables: Mask, kind: NDArray[np.int8], obj: Ints) -> None:
    """Classifies variables with all ops in the scopes of their names."""
    kind[variables] = VARIABLE
    scopes = graph.scopes
    own = np.full(len(scopes.names), -1, np.int32)
    counts = scopes.counts
    for op in np.flatnonzero(variables).tolist():
        scope = scopes.index.get(graph.names[op])
        if scope and counts[scope] <= _MAX_SCOPE:
            own[scope] = op
    if (own < 0).all():
        return
    outer = own.tolist()
    for scope, parent in enumerate(scopes.parents.tolist()):
        if parent > 0 and outer[parent] >= 0:
            outer[scope] = outer[parent]
    of_op = np.asarray(outer, np.int32)[scopes.scope_of]
    inside = of_op >= 0
    kind[inside] = VARIABLE
    obj[inside] = of_op[inside]


def _classify_captures(graph: Graph, inputs: Mask, kind: NDArray[np.int8]) -> None:
    """Classifies inputs of a function graph that are resources of variables."""
    consumers = graph.consumers
    data = graph.data
    for op in np.flatnonzero(inputs & (kind == 0)).tolist():
        for reader in consumers.row(op).tolist():
            word = graph.types[reader]
            first = data.row(reader)[0] == op
            slot = word.startswith("ResourceApply") and _is_resource(graph.nodes[op])
            if word == "ReadVariableOp" or slot or (first and _HANDLED.fullmatch(word)):
                kind[op] = VARIABLE


def _is_resource(node: object) -> bool:
    attr = getattr(node, "attr", None)
    if not attr:
        return False
    return any(key in attr and attr[key].type == _DT_RESOURCE for key in ("dtype", "T"))


def _reads(graph: Graph, readers: Mask, included: Mask, kind: NDArray[np.int8], obj: Ints) -> None:
    """Classifies plain reads of constants and variables like their sources."""
    data = graph.data
    some = np.flatnonzero(readers & included & (kind == 0) & (data.degrees == 1) & (graph.control.degrees == 0))
    source = data.node[data.ptr[some]]
    reading_variable = kind[source] == VARIABLE
    plain = np.array([graph.names[i].endswith("/read") for i in some.tolist()], np.bool_)
    keep = reading_variable | ((kind[source] == CONSTANT) & plain) if len(some) else reading_variable
    kind[some[keep]] = kind[source[keep]]
    obj[some[keep]] = obj[source[keep]]


def _classify_assignments(graph: Graph, assigns: Mask, consumers: Counts, kind: NDArray[np.int8]) -> None:
    """Classifies as initializers the assignments without consumers, of values that depend on no input or variable."""
    data = graph.data
    memo: dict[int, bool] = {}
    for op in np.flatnonzero(assigns & (kind == 0) & (consumers == 0)).tolist():
        row = data.row(op)
        if len(row) < 2 or kind[row[0]] != VARIABLE:
            continue
        visited, stack, fixed = set(), [int(row[1])], True
        while stack and fixed:
            i = stack.pop()
            if i in visited or memo.get(i):
                continue
            visited.add(i)
            fixed = len(visited) <= _MAX_SCOPE and kind[i] != VARIABLE and graph.types[i] not in _SOURCE_TYPES
            stack.extend(data.row(i).tolist())
        if fixed:
            kind[op] = INITIALISER
            memo.update(dict.fromkeys(visited, True))


def _savers(graph: Graph, savers: Mask, kind: NDArray[np.int8]) -> None:
    scopes = graph.scopes
    for scope in sorted(set(scopes.scope_of[savers].tolist())):
        while scope > 0 and not _SAVE_SCOPE.fullmatch(scopes.names[scope].rpartition("/")[2]):
            scope = int(scopes.parents[scope])
        if scope > 0:
            inside = graph.scope_mask(scopes.names[scope])
            kind[inside & (kind != VARIABLE)] = SAVING


def _queues(graph: Graph, kind: NDArray[np.int8]) -> None:
    """Hides queues that are only used to wait, if no drawn op computes with their elements."""
    queues = graph.type_mask(k for k in graph.type_index[0] if _QUEUES.fullmatch(k))
    if not queues.any():
        return
    makers, readers, is_core = graph.data.node, graph.data.rows, kind == 0
    within = is_core[makers] & is_core[readers]
    part = connected_parts(makers[within], readers[within], graph.size)
    waited = np.zeros(graph.size, np.bool_)
    waited[part[queues & is_core]] = True
    waited[part[is_core & ~queues & ~graph.type_mask(k for k in graph.type_index[0] if _TOKENS.fullmatch(k))]] = False
    kind[is_core & waited[part]] = QUEUE


def _leftovers(graph: Graph, queries: Mask, kind: NDArray[np.int8]) -> None:
    """Hides the rest of a cond that initializes a variable: unread ops that depend only on variables."""
    makers, readers, is_core = graph.data.node, graph.data.rows, kind == 0
    within = (is_core | queries)[makers] & is_core[readers]  # ops that depend on the same check form one part
    part = connected_parts(makers[within], readers[within], graph.size)
    enters, leaves = is_core[readers] & ~is_core[makers], is_core[makers] & ~is_core[readers]
    classified = np.isin(kind, (CONSTANT, VARIABLE, INITIALISER))
    serves = np.zeros(graph.size, np.bool_)
    serves[part[makers[leaves & (kind[readers] == INITIALISER)]]] = True
    serves[part[readers[enters & ~classified[makers]]]] = False
    serves[part[makers[leaves & ~classified[readers]]]] = False
    kind[is_core & serves[part]] = INITIALISER


def _initializers(kind: NDArray[np.int8], producers: Ints, readers: Ints, consumers: Counts, candidates: Mask) -> None:
    """Classifies as initializers the ops whose only consumers are variables and their initializers."""
    open_ = (kind == 0) & candidates & (consumers > 0)
    makers_of = open_[producers]
    producers, readers = producers[makers_of], readers[makers_of]
    while len(producers):
        outside = ~np.isin(kind[readers], (VARIABLE, INITIALISER))
        free = open_ & (np.bincount(producers[outside], minlength=len(kind)) == 0)
        if not free.any():
            return
        kind[free] = INITIALISER
        open_ &= ~free
        keep = open_[producers]
        producers, readers = producers[keep], readers[keep]
