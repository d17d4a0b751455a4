"""Recomputes activations for the gradients, instead of keeping them in memory after the forward pass.

The method is from "Training Deep Nets with Sublinear Memory Cost" (Chen et al., 2016) and "Memory-Efficient
Backpropagation Through Time" (Gruslys et al., 2016), for graphs that already have their gradients.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from ..editor.editor import Editor
from ..errors import few
from ..graph.boundary import Tensor
from ..graph.control_flow import EXITS, FLOW_TYPES, loops_of, topological_places
from ..graph.graph import Graph, Ints, Mask
from ..graph.selection import Selection, select, selection_from
from ..graph.training import SIZE_TYPES
from ..graph.traversal import backward, forward, producers, reachable_mask, walk_edges
from ..graph.types import OpsLike, TensorLike
from ..graph.variables import FEED_TYPES, VARIABLE_TYPES
from ..plan.plan import Plan
from ..tf.op_types import op_definition
from .recipe_context import RecipeContext, recipe_context, tensors

#: Ops that read only the shape of a tensor.
_SIZES = (*SIZE_TYPES, "BroadcastGradientArgs", "ConcatOffset")
_FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")


def recompute(
    obj: Editor | Plan,
    loss: TensorLike | Iterable[TensorLike],
    blocks: Iterable[OpsLike] | None = None,
    *,
    to: str = "recomputed",
) -> Plan:
    """Recomputes activations for the gradients instead of keeping them in memory: less memory, more time.

    Ops of a block without consumers outside the block are copied under a scope. The gradients read the copies. The
    copies wait for the gradient of the output of the block. Activations that other blocks read are kept. Variables,
    random ops, ops with state, and ops in a TF1 loop or cond are never copied, so that results do not change. If a
    graph was differentiated several times, the copies wait for all of its gradients.

    Args:
        obj: an editor of a graph that has its gradients; or a plan, to add to.
        loss: the differentiated tensor, by name or object, or several. The ops that they need are the forward pass.
        blocks: name scopes, layers or selections. An op in two blocks belongs to the first. Default: parts of the
            forward pass, without the last part, cut at places with few tensors. The number of parts is about the square
            root of the number of ops.
        to: the scope of the copies.

    Raises:
        PlanError: if no gradient reads an op of a block, or if none of these gradients depends on the output of the
            block. The message names the block.
        SelectionError: if the loss or a block does not exist.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        ...     w = tf.compat.v1.get_variable("w", [4, 4])
        ...     with tf.name_scope("block"):
        ...         h = tf.tanh(tf.matmul(tf.tanh(x), w))
        ...     loss = tf.reduce_sum(tf.tanh(tf.matmul(h, w)), name="loss")
        ...     _ = tf.compat.v1.gradients(loss, w)
        >>> plan = gs.recipes.recompute(gs.open(graph), "loss:0", ["block"])
        >>> [name for name in plan.after().names if name.startswith("recomputed")]
        ['recomputed/block/Tanh']
    """
    context = recipe_context(obj, "recompute()")
    graph = context.graph
    losses = tensors(graph, loss, context.request)
    if not losses:
        raise context.precondition_error(
            "no loss was given", "Name the tensor that is differentiated, for example loss='loss:0'"
        )
    backprop = _Backprop(graph, backward(graph, producers(graph, map(graph.tensor, losses)), control=False))
    if not backprop.derived.any():
        problem = f"the ops that {few(map(repr, losses))} needs have no gradients"
        raise context.precondition_error(
            problem, "Differentiate it first, for example with minimize(loss) of an optimizer"
        )
    copied, consumers_of, control_inputs = graph.mask([]), dict[Tensor, set[int]](), dict[int, list[int]]()
    for name, block in _named_blocks(context, blocks) if blocks is not None else backprop.parts():
        again = backprop.recomputed_block(block)
        if not isinstance(again, str):
            copied |= again.ops
            consumers_of |= again.consumers
            control_inputs |= dict.fromkeys(again.first, again.after)
            backprop.note_dependencies(again)
        elif blocks is not None:
            raise context.precondition_error(
                f"{name} cannot be recomputed: {again}", "Leave it out; without blocks= the graph is cut into parts"
            )
    if not copied.any():
        problem = "no gradient reads an op that could be recomputed"
        raise context.precondition_error(problem, "Name blocks=[...] of ops between the inputs and the loss")
    selection = selection_from(graph, copied)
    plan = context.plan.copy(
        selection, to=to, unmapped="keep", control="keep", variables="share", collections="none", seeds="keep"
    )
    for fault in plan.effect.faults:
        raise context.precondition_error(fault.problem, fault.suggestion)
    readers: dict[tuple[int, ...], list[Tensor]] = {}
    for tensor, ops in consumers_of.items():
        readers.setdefault(tuple(sorted(ops)), []).append(tensor)
    for who, tensors_read in readers.items():
        pairs = {graph.name(one): f"{to}/{graph.name(one)}" for one in tensors_read}
        plan = plan.reroute(pairs, only=[graph.names[op] for op in who])
    for op, after in control_inputs.items():
        plan = plan.add_control(f"{to}/{graph.names[op]}", [graph.names[one] for one in after])
    return plan


class _RecomputedBlock(NamedTuple):
    """The ops of a block to recompute.

    Args:
        ops: the ops to copy.
        consumers: tensor -> the gradient ops that will read its copy.
        first: the ops whose copies get control inputs; the other copies depend on them.
        after: the ops to wait for, which compute the gradient of the block.
    """

    ops: Mask
    consumers: dict[Tensor, set[int]]
    first: list[int]
    after: list[int]


class _Backprop:
    """A graph with a forward pass and its derivatives.

    Args:
        graph: the graph.
        forward_ops: mask of the forward pass.

    Attributes:
        derived: mask of the ops after the forward pass that compute floats from it.
    """

    def __init__(self, graph: Graph, forward_ops: Mask) -> None:
        self.graph, self.ahead = graph, forward_ops
        self._row, self._col = walk_edges(graph, None, True, None)
        data = graph.data
        ends = list(zip(data.node.tolist(), data.port.tolist(), strict=True))
        infos = {end: graph.info(*end) for end in dict.fromkeys(ends)}
        floats = {end for end, info in infos.items() if info is None or info.dtype.removesuffix("_ref") in _FLOATS}
        #: The data edges with floats, or with an unknown dtype.
        self._floats: Mask = np.fromiter((end in floats for end in ends), np.bool_, len(ends))
        self._contents: Mask = ~graph.type_mask(_SIZES)[data.rows]  # edges to consumers that read the values
        self._values = self._floats & self._contents
        self.derived: Mask = forward(graph, forward_ops, control=False, edges=self._values) & ~forward_ops
        #: Ops that are not recomputed: in a loop or cond, with another output the next time, or readers of variables.
        flow = graph.type_mask(FLOW_TYPES)
        inside = forward(graph, flow, control=False, within=~graph.type_mask(("Merge", "RefMerge", *EXITS)) | flow)
        self._not_recomputed = (loops_of(graph) >= 0) | (inside if flow.any() else flow)
        known = {kind: op_definition(kind) for kind in graph.type_index[0]}
        self._not_recomputed |= graph.type_mask(
            kind
            for kind, about in known.items()
            if about is None or about.is_stateful or not about.input_arg or any(one.is_ref for one in about.input_arg)
        )
        self._not_recomputed[data.rows[graph.type_mask(VARIABLE_TYPES)[data.node]]] = True

    def note_dependencies(self, block: _RecomputedBlock) -> None:
        """Notes that the gradients of a block now depend on the ops that the copies wait for."""
        readers = sorted(set().union(*block.consumers.values()))
        row, col = np.repeat(readers, len(block.after)), np.tile(block.after, len(readers))
        self._row = np.concatenate([self._row, row.astype(self._row.dtype)])
        self._col = np.concatenate([self._col, col.astype(self._col.dtype)])

    def recomputed_block(self, block: Mask) -> _RecomputedBlock | str:
        """Returns the ops of a block to recompute, or the reason why there are none."""
        graph, data, ahead = self.graph, self.graph.data, self.ahead
        block = block & ahead
        leaves = graph.mask(np.unique(data.node[block[data.node] & ahead[data.rows] & ~block[data.rows]]))
        able = block & ~self._not_recomputed & ~leaves
        edges = np.flatnonzero(able[data.node] & self.derived[data.rows] & self._values)
        if not len(edges):
            return "no gradient reads an op that only the block itself uses"
        readers = np.unique(data.rows[edges])
        below = reachable_mask(self._col, self._row, graph.mask(readers))  # ops that need the block
        behind = forward(graph, block, control=False) & ahead & ~backward(graph, block, control=False)
        downstream = forward(graph, behind, control=False, edges=self._values) & self.derived
        after: set[int] = set()
        moving = []
        for reader in readers.tolist():
            ends_reached = self._gradient_sources(reader, downstream)
            after |= {one for one in ends_reached if not below[one]}
            moving += [reader] if ends_reached else []
        if not after:
            return "the gradient of its output does not depend on any op after it"
        moved_edges = edges[np.isin(data.rows[edges], moving)]
        consumers: dict[Tensor, set[int]] = {}
        for at in moved_edges.tolist():
            consumers.setdefault((int(data.node[at]), int(data.port[at])), set()).add(int(data.rows[at]))
        ops = backward(graph, graph.mask([op for op, _ in consumers]), control=False, within=able) & able
        inner = np.unique(data.rows[ops[data.rows] & ops[data.node]])
        first = np.flatnonzero(ops & ~graph.mask(inner)).tolist()
        return _RecomputedBlock(ops, consumers, first, sorted(after))

    def _gradient_sources(self, reader: int, downstream: Mask) -> set[int]:
        """Returns the ops that pass the incoming gradient to the consumer of an activation, or to an op after it."""
        graph, todo, visited = self.graph, [reader], {reader}
        for op in todo:  # grows
            ends = graph.data.row(op).tolist()
            reached = {end for end in ends if downstream[end]}
            if reached:
                return reached
            behind = [one for one in graph.consumers.row(op).tolist() if self.derived[one] and one not in visited]
            visited.update(behind)
            todo += behind
        return set()

    def parts(self) -> list[tuple[str, Mask]]:
        """Returns parts of the forward pass, without the last part, cut at places with few tensors."""
        graph, data = self.graph, self.graph.data
        variable_readers = graph.mask(data.rows[graph.type_mask(VARIABLE_TYPES)[data.node]])
        trained = forward(graph, variable_readers, control=False, edges=self._floats)
        fed = forward(graph, graph.type_mask(FEED_TYPES), control=False, edges=self._contents)
        chain = self.ahead & trained & fed & ~self._not_recomputed
        edges = chain[data.node] & chain[data.rows]
        place: Ints = np.arange(graph.size, dtype=np.int32)
        if (data.node[edges] > data.rows[edges]).any():
            place = np.array(topological_places(graph), np.int32)
        line = np.flatnonzero(chain)
        line = line[np.argsort(place[line], kind="stable")]
        at = np.full(graph.size, -1)
        at[line] = np.arange(len(line))
        last = np.full(graph.size, -1)  # the last consumer of an op in the chain
        np.maximum.at(last, data.node[edges], at[data.rows[edges]])
        crossing = np.zeros(len(line) + 1, int)
        np.add.at(crossing, at[line], 1)
        np.add.at(crossing, np.maximum(last[line], at[line]), -1)
        width = np.cumsum(crossing)[:-1]
        length = max(isqrt(len(line)), 2)
        cuts = [0]
        while cuts[-1] + length + length // 2 < len(line):
            window = range(cuts[-1] + length // 2, cuts[-1] + length + length // 2)
            cuts.append(min(window, key=lambda one: (width[one], abs(one - cuts[-1] - length))) + 1)
        return [(f"part {n}", graph.mask(line[a:b])) for n, (a, b) in enumerate(pairwise(cuts))]


def _named_blocks(context: RecipeContext, blocks: Any) -> list[tuple[str, Mask]]:
    """Returns the given blocks with names for messages. A block lacks the ops of the blocks before it."""
    graph, covered, out = context.graph, context.graph.mask([]), []
    several: Iterable[Any] = [blocks] if isinstance(blocks, (str, Selection)) else blocks
    for number, one in enumerate(several):
        ops = one.names if isinstance(one, Selection) else context.resolver.layer_ops(one)
        given = isinstance(one, Selection) or ops
        mask = select(graph, **({"name": list(ops)} if given else {"scope": one})).mask
        out.append((repr(one) if isinstance(one, str) else f"block {number}", mask & ~covered))
        covered = covered | mask
    return out
