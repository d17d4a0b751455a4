"""Gradients: which ops were derived from which, by the names that TensorFlow gives them, and which are stale.

`tf.gradients` makes the gradient of the op ``h`` in the scope ``gradients/h_grad``, whatever the first word is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .boundary import Tensor
from .graph import Graph, Mask
from .traversal import backward, forward
from .variables import VARIABLE_TYPES

_TAIL = "_grad"
#: No gradient goes through these.
_STOPS = frozenset(
    {
        "StopGradient", "PreventGradient", "Shape", "ShapeN", "Size", "Rank", "ArgMax", "ArgMin", "Equal", "NotEqual",
        "Greater", "GreaterEqual", "Less", "LessEqual", "ApproximateEqual", "LogicalAnd", "LogicalOr", "LogicalNot",
        "IsFinite", "IsInf", "IsNan", "InTopK", "InTopKV2", "ZerosLike", "OnesLike", "Where", "OneHot",
    }
)  # fmt: skip
#: They pass on their input, and its gradient.
_SAME = frozenset({"Identity", "Snapshot", "CheckNumerics", "Print", "DebugIdentity", "DebugIdentityV2"})
#: They read no more than a shape.
_SIZES = ("Shape", "ShapeN", "Size", "Rank")


class Rewired(NamedTuple):
    """An input of an op that reads another tensor.

    Args:
        op: the op, at its number before.
        was: the tensor that it read.
        now: the tensor that it reads, by the numbers after the change.
    """

    op: int
    was: Tensor
    now: Tensor


class Gradients:
    """The ops of a graph that were derived from others.

    Args:
        graph: the graph.

    Attributes:
        ops: mask of the gradient ops.
        known: mask of the ops that they are the gradient of.

    Example:
        >>> rows = [("h", "Tanh", []), ("y", "Neg", ["h"]), ("gradients/h_grad/TanhGrad", "TanhGrad", ["h"])]
        >>> found = Gradients(Graph.of(rows))
        >>> found.ops.tolist(), found.known.tolist()
        ([False, False, True], [True, False, False])
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        scopes = graph.scopes
        self._of = np.full(len(scopes.names), -1, np.int32)  # scope -> the op whose gradient is made there
        derived = {scope: _derived(name, graph) for scope, name in enumerate(scopes.names) if name.endswith(_TAIL)}
        for scope in range(1, len(scopes.names)) if derived else ():
            forward_op = derived.get(scope, -1)
            self._of[scope] = self._of[scopes.parents[scope]] if forward_op < 0 else forward_op
        of = self._of[scopes.home]
        self.ops: Mask = of >= 0
        self.known: Mask = graph.mask(np.unique(of[of >= 0]))

    def of(self, ops: Sequence[int]) -> Mask:
        """Returns the gradient ops of some ops."""
        return np.asarray(np.isin(self._of[self.graph.scopes.home], ops), np.bool_)

    def stale(
        self, after: Graph, edges: Sequence[Rewired], changed: Sequence[int], names: Mapping[str, str]
    ) -> tuple[list[int], list[int]]:
        """Returns the ops whose existing gradient is no longer theirs, and the gradient ops concerned.

        A gradient op that also reads the new tensor stays correct if no gradient goes to either tensor.

        Args:
            after: the graph after the change.
            edges: inputs that read other tensors.
            changed: ops that now compute another result from the same inputs.
            names: old name -> new name of renamed ops.
        """
        if not self.ops.any():
            return [], []
        graph = self.graph

        def now_at(op: int) -> int:
            """The number of an op after the change; -1 if it is removed."""
            return after.index.get(names.get(graph.names[op], graph.names[op]), -1)

        passing = ~self.ops & ~graph.typed(_STOPS)
        to_loss = backward(graph, self.known & passing, control=False, within=passing) & passing
        flows = forward(graph, (self.known | self._trained()) & passing, control=False, within=passing) & passing
        there = [new for i in np.flatnonzero(flows).tolist() if (new := now_at(i)) >= 0]
        through = ~after.typed(_STOPS)
        flows_now = forward(after, after.mask(there) & through, control=False, within=through) & through
        affected = [op for op in changed if self.known[op]]
        for op, was, now in edges:
            source, port = _value(graph, was)
            if not to_loss[op] or (now_at(source), port) == _value(after, now):
                continue
            if flows[was[0]] or flows_now[now[0]] or self._reads_still(op, was, after, now_at):
                affected.append(op)
        if not affected:
            return [], []
        above = backward(graph, graph.mask(affected), control=False, within=passing) & self.known
        stale = np.flatnonzero(self.of(np.flatnonzero(above).tolist())).tolist()
        return sorted(set(affected)), [i for i in stale if now_at(i) >= 0]

    def _trained(self) -> Mask:
        """The variables that are set to values computed from gradients."""
        graph = self.graph
        updates = forward(graph, self.ops, control=False) & ~self.ops
        read = graph.mask(np.unique(graph.data.node[updates[graph.data.rows]]))
        return np.asarray(read & graph.typed(VARIABLE_TYPES), np.bool_)

    def _reads_still(self, op: int, was: Tensor, after: Graph, now_at: Callable[[int], int]) -> bool:
        """Whether the gradient of an op still reads a tensor that the op itself no longer reads."""
        end = (now_at(was[0]), was[1])
        own = np.flatnonzero(self.of([op]) & ~self.graph.typed(_SIZES)).tolist()
        return any(end in after.data.ends(new) for number in own if (new := now_at(number)) >= 0)


def _value(graph: Graph, tensor: Tensor) -> Tensor:
    """The tensor that is given on as it is, with its gradient."""
    seen: set[int] = set()  # a file may hold a ring
    while graph.types[tensor[0]] in _SAME and tensor[0] not in seen and graph.data.ends(tensor[0]):
        seen.add(tensor[0])
        tensor = graph.data.ends(tensor[0])[0]
    return tensor


def _derived(scope: str, graph: Graph) -> int:
    """The op whose gradient is made in a scope; -1 for none.

    The name of the op follows the name of the gradients. If both were copied into a scope, that scope precedes both.
    """
    parts = scope.removesuffix(_TAIL).split("/")
    for lead in range(len(parts)):
        for rest in range(lead + 1, len(parts)):
            found = graph.index.get("/".join([*parts[:lead], *parts[rest:]]), -1)
            if found >= 0:
                return found
    return -1
