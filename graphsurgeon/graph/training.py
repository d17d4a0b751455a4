"""Gradient ops and their forward ops, the gradient ops that a change makes stale, and the state that training updates.

`tf.gradients` makes the gradient of the op ``h`` in the scope ``gradients/h_grad``; the first word may differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..errors import counted
from .boundary import Tensor
from .control_flow import EXITS, MERGES, SWITCHES, loops_of
from .graph import Graph, Mask
from .traversal import backward, connected_parts, forward, reachable_mask
from .variables import FEED_TYPES, QUEUE_TYPES, VARIABLE_TYPES

#: Ops that set state which remains after a run: a variable, a table, a queue, a file.
_WRITERS = (
    "Assign", "Apply", "SparseApply", "Scatter", "ResourceApply", "ResourceSparseApply", "ResourceScatter",
    "ResourceStridedSliceAssign", "StridedSliceAssign", "CountUpTo", "ResourceCountUpTo", "DestroyTemporaryVariable",
    "LookupTableInsert", "LookupTableImport", "LookupTableRemove", "InitializeTable", "QueueEnqueue", "QueueClose",
    "AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient", "Stage", "BarrierInsert", "SaveV2", "SaveSlices",
    "Save", "MakeIterator", "WriteFile", "WriteSummary", "WriteScalarSummary",
)  # fmt: skip
_NO_WRITERS = frozenset({"ScatterNd", "ScatterNdNonAliasingAdd", "StageSize", "StagePeek"})
#: Op types of state that exists only during one run. All its users must be copied together.
_ARRAY_TYPES = frozenset({"TensorArrayV3", "TensorArrayV2", "TensorArray", "StackV2", "Stack"})
_PASSTHROUGH_TYPES = frozenset(
    {"Enter", "RefEnter", "Identity", "RefIdentity", "Switch", "RefSwitch", "TensorArrayGradV3", "TensorArrayGrad"}
)
_CALLS = ("StatefulPartitionedCall", "While", "If", "Case")
_TRAINS = re.compile(
    r"(?i)gradients?(_\d+)?|grads?|.*optimi[sz]er.*|train_op|adam\w*|rmsprop\w*|momentum(_\d+)?|sgd|adagrad\w*|adadelta"
    r"|ftrl|gradientdescent(_\d+)?|exponentialmovingaverage(_\d+)?|clip_by_\w+"
)
HELPER_SCOPES = re.compile(
    r"(?i)gradients?|grads?|.*(optimi[sz]er|train_op|summar|metrics|checkpoint|init).*|train(ing)?|save|restore"
    r"|report_\w+|sync_replicas|adam\w*|rmsprop|momentum|sgd|adagrad|adadelta|ftrl|gradientdescent|global_step|assert\w*"
    r"|exponentialmovingaverage|clip\w*|regulari[sz]\w+"
)
"""Names of scopes that train, save or check a model."""
_UPDATES = re.compile(r"(Resource|Sparse)*(Sparse)?Apply\w+")


@dataclass
class Downstream:
    """The ops that a change affects.

    Args:
        ops: the ops to copy, in the snapshot of the walk.
        uncopied_writers: ops that set state and are not copied.
        ineffective: changed ops that affect no copied op.
        unchanged: sentences about ops that are copied although they do not change.
        calls: copied ops that may set state inside a function.
        unaffected_target: a target that the change does not affect; -1 if there is none.
    """

    ops: Mask
    uncopied_writers: Mask
    ineffective: Mask
    unchanged: list[str] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    unaffected_target: int = -1


def writers_of(graph: Graph) -> Mask:
    """Returns a mask of the ops that set state which remains after a run: variables, tables, queues, files.

    Example:
        >>> g = Graph.from_ops([("v", "VariableV2", []), ("a", "AssignAdd", ["v", "v"]), ("s", "ScatterNd", ["v"])])
        >>> writers_of(g).tolist()
        [False, True, False]
    """
    return graph.type_mask(k for k in graph.type_index[0] if k.startswith(_WRITERS) and k not in _NO_WRITERS)


def downstream(
    graph: Graph, changed_ops: Mask, removed: Mask, stop_ops: Iterable[int] = (), assign: bool = False
) -> Downstream:
    """Returns the ops that must be copied when some ops change.

    Args:
        graph: the snapshot with the changes.
        changed_ops: the ops that change.
        removed: removed ops, which are not copied.
        stop_ops: ops to stop at; empty for all ops downstream.
        assign: whether to copy ops that set state too; otherwise they, and the ops that only feed them, are not copied.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["b"]), ("d", "Neg", ["b"])])
        >>> found = downstream(g, g.mask([1]), g.mask([]), [2])
        >>> [g.names[i] for i in np.flatnonzero(found.ops)]
        ['b', 'c']
    """
    writers, targets = writers_of(graph) & ~removed, list(stop_ops)
    none = np.zeros(graph.size, np.bool_)
    stay = none if assign else writers & ~changed_ops
    ops = _affected_ops(graph, changed_ops & ~removed, ~(stay | removed), writers if assign else none, bool(targets))
    missed = [t for t in targets if not ops[t]]
    if missed:
        return Downstream(ops, stay, none, unaffected_target=missed[0])
    remaining = _consumers_of(graph, ops) & stay
    if targets:
        ops &= backward(graph, graph.mask(targets))
    else:
        ops &= backward(graph, ops & ~_producers_of(graph, ops, remaining), control=False)
    # Also copy ops that wait for a copied op and that a copied op waits for, such as assertions.
    if ops.any() and len(graph.control.node):
        ops |= forward(graph, ops, within=~(stay | removed)) & backward(graph, ops)
    lost = changed_ops & ~removed & ~ops
    result = Downstream(ops, remaining, lost)
    if ops.any():
        _complete_flow(graph, result, removed)
    result.calls = np.flatnonzero(result.ops & graph.type_mask(_CALLS)).tolist()
    return result


def _affected_ops(graph: Graph, start: Mask, candidates: Mask, setters: Mask, control: bool) -> Mask:
    """Returns the consumers of the changed ops, and the ops that wait for changed ops which set state."""
    ops = forward(graph, start, control=control, within=candidates)
    while not control:
        acts = ops & setters
        waits = graph.control.rows[acts[graph.control.node]]
        fresh = waits[candidates[waits] & ~ops[waits]]
        if not len(fresh):
            break
        ops |= forward(graph, graph.mask(fresh.tolist()), control=False, within=candidates)
    return ops


def _consumers_of(graph: Graph, ops: Mask) -> Mask:
    """Returns the consumers of some ops."""
    return graph.mask(graph.data.rows[ops[graph.data.node]])


def _producers_of(graph: Graph, ops: Mask, remaining: Mask) -> Mask:
    """Returns those of `ops` that have consumers, or ops that wait for them; the others are ends."""
    rows, later = graph.data.rows, graph.control.rows
    inputs, waited_for = graph.data.node[ops[rows] | remaining[rows]], graph.control.node[remaining[later]]
    return (graph.mask(inputs) | graph.mask(waited_for)) & ops


def _complete_flow(graph: Graph, result: Downstream, removed: Mask) -> None:
    """Completes loops, conds, TensorArrays and stacks that are partly copied."""
    parts = shared_holders(graph)
    loops = loops_of(graph)
    inner = [graph.mask(graph.index[n] for n in names if n in graph.index) for names in graph.state.contexts]
    before, count = result.ops.copy(), -1
    while count != int(np.count_nonzero(result.ops)):
        count = int(np.count_nonzero(result.ops))
        hit = np.unique(loops[result.ops])
        result.ops |= np.isin(loops, hit[hit >= 0])
        for ops in inner:
            if (ops & result.ops).any():
                result.ops |= ops
        result.ops |= _other_branches(graph, result.ops)
        if parts is not None:
            touched = np.unique(parts[result.ops])
            result.ops |= np.isin(parts, touched[touched >= 0])
        result.ops &= ~removed
    more = int(np.count_nonzero(result.ops & ~before))
    if more:
        result.unchanged.append(f"{counted(more, 'ops')}: the rest of loops, conds, TensorArrays and stacks")


def _other_branches(graph: Graph, ops: Mask) -> Mask:
    """Returns the ops in other branches of the Merges in `ops`, up to their Switch."""
    joints = ops & graph.type_mask(MERGES)
    if not joints.any():
        return joints
    loose = ~graph.type_mask(MERGES) & ~graph.type_mask(EXITS)
    selected = forward(graph, graph.type_mask(SWITCHES), within=loose)
    rows = graph.data.rows
    ends = graph.mask(graph.data.node[joints[rows]])
    keep = selected[rows] & selected[graph.data.node] & ~graph.type_mask(SWITCHES)[rows]
    return reachable_mask(rows[keep], graph.data.node[keep], ends & selected)


def shared_holders(graph: Graph) -> np.ndarray | None:
    """Returns for each op the number of the TensorArray or stack that it uses, or -1; None if there are none.

    Args:
        graph: the snapshot.
    """
    holders = graph.type_mask(_ARRAY_TYPES)
    if not holders.any():
        return None
    rows, node, port = graph.data.rows, graph.data.node, graph.data.port
    first = np.zeros(len(rows), np.bool_)
    begins = graph.data.ptr[:-1][graph.data.degrees > 0]
    first[begins] = True
    passing = graph.type_mask(_PASSTHROUGH_TYPES)
    mask = holders.copy()
    while True:
        hit = first & mask[node] & passing[rows] & ((port == 0) | graph.type_mask(SWITCHES)[node])
        fresh = rows[hit & ~mask[rows]]
        if not len(fresh):
            break
        mask[fresh] = True
    use = first & mask[node]
    users = mask.copy()
    users[rows[use]] = True
    return np.where(users, connected_parts(rows[use], node[use], graph.size), -1)


_TAIL = "_grad"
#: Op types that no gradient passes through.
_STOPS = frozenset(
    {
        "StopGradient", "PreventGradient", "Shape", "ShapeN", "Size", "Rank", "ArgMax", "ArgMin", "Equal", "NotEqual",
        "Greater", "GreaterEqual", "Less", "LessEqual", "ApproximateEqual", "LogicalAnd", "LogicalOr", "LogicalNot",
        "IsFinite", "IsInf", "IsNan", "InTopK", "InTopKV2", "ZerosLike", "OnesLike", "Where", "OneHot",
    }
)  # fmt: skip
#: Op types that pass on their input, and its gradient.
_IDENTITY_TYPES = frozenset({"Identity", "Snapshot", "CheckNumerics", "Print", "DebugIdentity", "DebugIdentityV2"})
#: Op types that read only a shape.
SIZE_TYPES = ("Shape", "ShapeN", "Size", "Rank")


class RewiredInput(NamedTuple):
    """An input of an op that reads another tensor.

    Args:
        op: the op, by its number before the change.
        old: the tensor that it read before.
        new: the tensor that it reads now, by the numbers after the change.
    """

    op: int
    old: Tensor
    new: Tensor


class Gradients:
    """The gradient ops of a graph, and the ops that they were derived from.

    Args:
        graph: the graph.

    Attributes:
        ops: mask of the gradient ops.
        known: mask of the ops with a gradient.

    Example:
        >>> rows = [("h", "Tanh", []), ("y", "Neg", ["h"]), ("gradients/h_grad/TanhGrad", "TanhGrad", ["h"])]
        >>> found = Gradients(Graph.from_ops(rows))
        >>> found.ops.tolist(), found.with_gradient.tolist()
        ([False, False, True], [True, False, False])
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        scopes = graph.scopes
        self._op_of = np.full(len(scopes.names), -1, np.int32)  # scope -> the op with its gradient in this scope
        derived = {
            scope: _gradient_source(name, graph) for scope, name in enumerate(scopes.names) if name.endswith(_TAIL)
        }
        for scope in range(1, len(scopes.names)) if derived else ():
            forward_op = derived.get(scope, -1)
            self._op_of[scope] = self._op_of[scopes.parents[scope]] if forward_op < 0 else forward_op
        of = self._op_of[scopes.scope_of]
        self.ops: Mask = of >= 0
        self.with_gradient: Mask = graph.mask(np.unique(of[of >= 0]))

    def gradients_of(self, ops: Sequence[int]) -> Mask:
        """Returns the gradient ops of some ops."""
        return np.asarray(np.isin(self._op_of[self.graph.scopes.scope_of], ops), np.bool_)

    def stale(
        self, after: Graph, edges: Sequence[RewiredInput], changed_ops: Sequence[int], names: Mapping[str, str]
    ) -> tuple[list[int], list[int]]:
        """Returns the ops with a stale gradient, and the stale gradient ops.

        A gradient op that also reads the new tensor stays correct if no gradient passes to either tensor.

        Args:
            after: the graph after the change.
            edges: inputs that read other tensors.
            changed_ops: ops that now compute another result from the same inputs.
            names: old name -> new name of renamed ops.
        """
        if not self.ops.any():
            return [], []
        graph = self.graph

        def now_at(op: int) -> int:
            """Returns the number of an op after the change; -1 if it was removed."""
            return after.index.get(names.get(graph.names[op], graph.names[op]), -1)

        passing = ~self.ops & ~graph.type_mask(_STOPS)
        to_loss = backward(graph, self.with_gradient & passing, control=False, within=passing) & passing
        flows = (
            forward(graph, (self.with_gradient | self._trained_variables()) & passing, control=False, within=passing)
            & passing
        )
        there = [new for i in np.flatnonzero(flows).tolist() if (new := now_at(i)) >= 0]
        through = ~after.type_mask(_STOPS)
        flows_now = forward(after, after.mask(there) & through, control=False, within=through) & through
        affected = [op for op in changed_ops if self.with_gradient[op]]
        for op, was, now in edges:
            source, port = _value(graph, was)
            if not to_loss[op] or (now_at(source), port) == _value(after, now):
                continue
            if flows[was[0]] or flows_now[now[0]] or self._reads_still(op, was, after, now_at):
                affected.append(op)
        if not affected:
            return [], []
        above = backward(graph, graph.mask(affected), control=False, within=passing) & self.with_gradient
        stale = np.flatnonzero(self.gradients_of(np.flatnonzero(above).tolist())).tolist()
        return sorted(set(affected)), [i for i in stale if now_at(i) >= 0]

    def _trained_variables(self) -> Mask:
        """Returns the variables that are set to values computed from gradients."""
        graph = self.graph
        updates = forward(graph, self.ops, control=False) & ~self.ops
        inputs = graph.mask(np.unique(graph.data.node[updates[graph.data.rows]]))
        return np.asarray(inputs & graph.type_mask(VARIABLE_TYPES), np.bool_)

    def _reads_still(self, op: int, old: Tensor, after: Graph, new_number: Callable[[int], int]) -> bool:
        """Returns whether the gradient of an op still reads a tensor that the op itself no longer reads."""
        end = (new_number(old[0]), old[1])
        own = np.flatnonzero(self.gradients_of([op]) & ~self.graph.type_mask(SIZE_TYPES)).tolist()
        return any(end in after.data.ends(new) for number in own if (new := new_number(number)) >= 0)


def _value(graph: Graph, tensor: Tensor) -> Tensor:
    """Returns the original of a tensor that ops pass on unchanged, together with its gradient."""
    visited: set[int] = set()  # a damaged file may contain a cycle
    while graph.types[tensor[0]] in _IDENTITY_TYPES and tensor[0] not in visited and graph.data.ends(tensor[0]):
        visited.add(tensor[0])
        tensor = graph.data.ends(tensor[0])[0]
    return tensor


def _gradient_source(scope: str, graph: Graph) -> int:
    """Returns the op with its gradient in a scope; -1 if there is none.

    In the scope, the name of the op comes after the name of the gradients. If both were copied into another scope, that
    scope comes before both.
    """
    parts = scope.removesuffix(_TAIL).split("/")
    for lead in range(len(parts)):
        for rest in range(lead + 1, len(parts)):
            op = graph.index.get("/".join([*parts[:lead], *parts[rest:]]), -1)
            if op >= 0:
                return op
    return -1


_SEEDS = ("seed", "seed2")


def random_ops(graph: Graph) -> list[int]:
    """Returns the ops that draw numbers from their own seeded state, in graph order.

    Args:
        graph: the snapshot of a live graph, whose ops have all their attributes.
    """
    kinds, first, kind_of = graph.type_index
    able = [
        kind for kind, at in enumerate(first.tolist()) if all(n in getattr(graph.nodes[at], "attr", ()) for n in _SEEDS)
    ]
    return [int(op) for op in np.flatnonzero(np.isin(kind_of, able))] if able and len(kinds) else []


def unseeded_ops(graph: Graph) -> list[int]:
    """Returns the drawing ops without a seed; TensorFlow uses another seed for them in each session.

    Args:
        graph: the snapshot of a live graph.
    """
    return [op for op in random_ops(graph) if not any(graph.nodes[op].attr[name].i for name in _SEEDS)]


#: Op type -> how it changes the variable, its first input, by its second input.
ASSIGNING = {
    "Assign": "assign", "AssignAdd": "assign_add", "AssignSub": "assign_sub",
    "AssignVariableOp": "assign", "AssignAddVariableOp": "assign_add", "AssignSubVariableOp": "assign_sub",
}  # fmt: skip
#: Collections with variables that belong to no region: counters of steps, sums of metrics.
_STATE_COLLECTIONS = ("global_step", "metric_variables")
_UPDATE_COLLECTION = "update_ops"


@dataclass(frozen=True)
class Updates:
    """The updates of a region.

    Args:
        inside: names of the update ops that can run together with the region, in graph order.
        outside: name of an update op that depends on other feeds -> the first tensor that is missing.
    """

    inside: tuple[str, ...] = ()
    outside: dict[str, str] = field(default_factory=dict)


def updates(graph: Graph, region: Mask, inputs: Iterable[tuple[int, int]]) -> Updates:
    """Returns the ops that assign to variables as a part of a region, although its outputs do not need them.

    Such an op reads values that the region computes from its inputs, for example for a moving average. Or it increments
    a variable that the region reads, for example the state of a random number generator. Ops outside the region that it
    needs lead only to updates. If the TF1 collection of updates exists, only its ops count.

    Args:
        graph: the snapshot.
        region: mask of the ops of the region.
        inputs: its input tensors.

    Example:
        >>> from .variables import GraphState, VariableInfo
        >>> ops = [("x", "Placeholder", []), ("mean", "Mean", ["x"]), ("y", "Sub", ["x", "mean"]),
        ...        ("seen", "VarHandleOp", []), ("keep", "AssignVariableOp", ["seen", "mean"])]
        >>> g = Graph.from_ops(ops, state_of=lambda: GraphState({"seen": VariableInfo("seen")}))
        >>> updates(g, g.mask([1, 2]), [(0, 0)]).inside
        ('keep',)
    """
    cuts = frozenset(inputs)
    candidates = _candidates(graph)
    if not candidates:
        return Updates()
    downstream = forward(
        graph, graph.mask(op for tensor in cuts for op, _ in graph.consumers_of(tensor)), control=False
    )
    others = downstream & ~region & _non_update_ops(graph, candidates)
    variables = _variables_read(graph, region)
    inside, outside = [], {}
    for number in candidates:
        target = int(graph.data.row(number)[0])
        needs = _needs(graph, number, cuts, downstream & region, others)
        if needs is None or not (needs.reads or (target in variables and target in needs.variables)):
            continue
        if needs.missing:
            outside[graph.names[number]] = needs.missing
        else:
            inside.append(graph.names[number])
    return Updates(tuple(inside), outside)


@dataclass
class _UpdateNeeds:
    """The requirements of the value that an op assigns.

    Args:
        reads: whether the value is computed from an input, or from values that the region computes.
        variables: numbers of the variables that it is computed from.
        missing: the first tensor that would have to be fed.
    """

    reads: bool = False
    variables: set[int] = field(default_factory=set)
    missing: str = ""


def _needs(
    graph: Graph, number: int, cuts: frozenset[tuple[int, int]], region: Mask, others: Mask
) -> _UpdateNeeds | None:
    """Returns the requirements of an update; None if it updates another part of the graph, not the region."""
    needs = _UpdateNeeds()
    visited, todo = {number}, [graph.data.ends(number)[1]]
    while todo:
        op, port = todo.pop()
        if (op, port) in cuts or region[op]:
            needs.reads = True
        elif graph.types[op] in VARIABLE_TYPES:
            needs.variables.add(op)
        elif others[op]:
            return None
        elif graph.types[op] in FEED_TYPES | QUEUE_TYPES:
            needs.missing = needs.missing or f"{graph.names[op]}:{port}"
        elif op not in visited:
            visited.add(op)
            todo += graph.data.ends(op)
    return needs


def _candidates(graph: Graph) -> list[int]:
    """Returns the ops that may be updates of a region."""
    state = graph.state
    variables = state.variables
    other_names = [
        entry.name.partition(":")[0] for key in _STATE_COLLECTIONS for entry in state.collections.get(key, ())
    ]
    started = {info.initializer for info in variables.values()}
    op_names = [entry.name.partition(":")[0] for entry in state.collections.get(_UPDATE_COLLECTION, ())]
    among = np.ones(graph.size, np.bool_)
    if op_names:
        among = backward(graph, graph.mask(graph.index[name] for name in op_names if name in graph.index))
    numbers = []
    for number in np.flatnonzero(among).tolist():
        row = graph.data.row(number)
        if graph.types[number] not in ASSIGNING or graph.names[number] in started or len(row) < 2:
            continue
        target = graph.names[int(row[0])]
        info = variables.get(target)
        if info is not None and target not in other_names and not (info.collections and info.trainable):
            numbers.append(number)
    return numbers


def _non_update_ops(graph: Graph, candidates: list[int]) -> Mask:
    """Returns a mask of the ops that lead to an op other than updates."""
    after = forward(graph, graph.mask(candidates), control=False)
    last = graph.consumers.degrees == 0
    return backward(graph, last & ~after, control=False)


def _variables_read(graph: Graph, region: Mask) -> set[int]:
    """Returns the variables that ops of a region read, except variables that they only write."""
    edges = zip(graph.data.rows[hit := region[graph.data.rows]].tolist(), graph.data.node[hit].tolist(), strict=True)
    return {op for row, op in edges if graph.types[op] in VARIABLE_TYPES and graph.types[row] not in ASSIGNING}


def training_ops(graph: Graph) -> Mask:
    """Returns the gradients and updates: ops in scopes with typical names, and ops that apply a gradient."""
    types, _, number = graph.type_index
    applies = np.array([_UPDATES.fullmatch(kind) is not None for kind in types], np.bool_)
    return np.asarray(in_scopes(graph, _TRAINS) | (applies[number] if len(types) else False), np.bool_)


def in_scopes(graph: Graph, names: re.Pattern[str]) -> Mask:
    """Returns the ops in scopes whose names match, at any depth."""
    scopes = graph.scopes
    leaves = [path.rpartition("/")[2] for path in scopes.names]
    matching = {leaf: names.fullmatch(leaf) is not None for leaf in set(leaves)}
    inside = [matching[leaf] for leaf in leaves]
    for i, parent in enumerate(scopes.parents.tolist()):
        inside[i] = inside[i] or (i > 0 and inside[parent])
    return np.asarray(np.asarray(inside, np.bool_)[scopes.scope_of], np.bool_)
