"""Boundary: the tensors that enter and leave a set of ops, and the leaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Kind, SelectionError, did_you_mean, few
from .graph import Graph, Mask
from .traversal import backward, forward, producers, uncut_edges
from .variables import FEED_TYPES, PLACEHOLDER_TYPES, QUERY_TYPES, VARIABLE_TYPES

Tensor = tuple[int, int]
#: Ops that set or check a variable, or feed. They are not outputs, even without consumers.
_NO_LEAKS = VARIABLE_TYPES | QUERY_TYPES | PLACEHOLDER_TYPES | {"Assign"}


@dataclass(frozen=True)
class Leak:
    """A tensor that the region needs and that does not come from a boundary input.

    Args:
        tensor: its name.
        needed_by: its consumers in the region, at most 8.
        source: the op that would have to be fed.
    """

    tensor: str
    needed_by: tuple[str, ...]
    source: str

    def __str__(self) -> str:
        return f"{self.tensor} (needed by {few(self.needed_by, 1)}; comes from {self.source})"


@dataclass(frozen=True)
class Boundary:
    """The tensors and edges that enter and leave a selection, by name.

    Args:
        inputs: tensors that enter.
        outputs: tensors that leave; for a selection made by a boundary, the requested outputs.
        control_inputs: (inside op, outside op) pairs of control edges that enter.
        variables: variable ops inside.
        leaks: entering tensors that are not among the listed inputs, if inputs were listed.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    control_inputs: tuple[tuple[str, str], ...]
    variables: tuple[str, ...]
    leaks: tuple[Leak, ...]

    def __str__(self) -> str:
        def line(word: str, items: Sequence[object]) -> str:
            return f"  {word:<15}{few(map(str, items), 6) or 'none'}"

        control = [f"{inside} after {outside}" for inside, outside in self.control_inputs]
        return "\n".join(
            [
                "boundary",
                line("inputs", self.inputs),
                line("outputs", self.outputs),
                line("control inputs", control),
                line("variables", self.variables),
                line("leaks", self.leaks),
            ]
        )


def entering_tensors(graph: Graph, mask: Mask, cuts: frozenset[Tensor] = frozenset()) -> list[Tensor]:
    """Returns the tensors that enter `mask`, in order of first use.

    Tensors in `cuts` are included even if they are computed inside.
    """
    ops = np.flatnonzero(mask)
    if not cuts:
        return tensors_into(graph, [ops])[0]
    _, at = graph.data.gather(ops)
    ends = zip(graph.data.node[at].tolist(), graph.data.port[at].tolist(), strict=True)
    return list(dict.fromkeys(end for end in ends if end in cuts or not mask[end[0]]))


def tensors_into(graph: Graph, parts: Sequence[NDArray[np.integer[Any]]]) -> list[list[Tensor]]:
    """Returns, for each part of a graph, the tensors that enter it, in order of first use."""
    return [list(dict.fromkeys(edge[1:] for edge in edges)) for edges in graph.data.crossing(parts)]


def leaving_tensors(graph: Graph, mask: Mask) -> list[Tensor]:
    """Returns the tensors of `mask` with consumers outside, and outputs of its ops without consumers, in order."""
    return tensors_out_of(graph, [np.flatnonzero(mask)])[0]


def tensors_out_of(graph: Graph, parts: Sequence[NDArray[np.integer[Any]]]) -> list[list[Tensor]]:
    """Returns the tensors of `leaving_tensors` for each part of a graph."""
    unread, out = graph.consumers.degrees == 0, []
    for part, edges in zip(parts, graph.consumers.crossing(parts), strict=True):
        pairs = {(op, port) for op, _, port in edges}
        pairs |= {
            (op, 0)
            for op in part[unread[part]].tolist()
            if graph.types[op] not in _NO_LEAKS and graph.declared_outputs(op)
        }
        out.append(sorted(pairs))
    return out


def control_entering(graph: Graph, mask: Mask) -> list[tuple[int, int]]:
    """Returns (inside op, outside op) for the control edges that enter `mask`."""
    return [edge[:2] for edge in graph.control.crossing([np.flatnonzero(mask)])[0]]


def region(graph: Graph, inputs: Sequence[Tensor], outputs: Sequence[Tensor], request: str) -> Mask:
    """Returns the ops that compute `outputs` from `inputs`, with the constants and variables they need.

    Ops that do not depend on the inputs, but on another feed, such as a placeholder or a queue, stay outside. Their
    tensors are the leaks. Without inputs, all ops that the outputs need are inside. A feed that is both input and
    output stays outside.

    Raises:
        SelectionError: if an output does not depend on an input, or no output depends on an input.
    """
    cuts = frozenset(inputs)
    through = {t for t in outputs if t in cuts and graph.types[t[0]] in FEED_TYPES}
    outputs_mask = producers(graph, outputs, through)
    control_edges = _is_counted_control(graph, cuts)
    ancestry = backward(graph, outputs_mask, cuts, control_edges=control_edges)
    if not cuts:
        return ancestry
    unused = []
    for tensor in inputs:
        if tensor not in through and not any(ancestry[reader] for reader, _ in graph.consumers_of(tensor)):
            unused.append(graph.name(tensor))
    _refuse_unconnected(graph, unused, outputs, request)
    core, fed = ops_from_inputs(graph, cuts, ancestry), downstream_of_feeds(graph, ancestry)
    # An output that is computed only from a leak is kept, and its own inputs become the leaks.
    # Ops that only a leak needs, such as the weights of a layer above it, stay outside with the leak.
    return backward(
        graph, core | outputs_mask, cuts, within=ancestry & (core | ~fed) | outputs_mask, control_edges=control_edges
    )


def ops_from_inputs(graph: Graph, cuts: frozenset[Tensor], candidates: Mask) -> Mask:
    """Returns the ops that compute something from tensors that are fed.

    Args:
        graph: the snapshot.
        cuts: the tensors.
        candidates: only these ops.
    """
    keep = uncut_edges(graph, cuts)
    first = graph.mask([]) if keep is None else graph.mask(graph.data.rows[~keep]) & candidates
    return forward(graph, first, control=False, within=candidates)


def downstream_of_feeds(graph: Graph, candidates: Mask, feeds: Mask | None = None) -> Mask:
    """Returns the ops that compute something from a feed that is among them, such as a placeholder or a queue.

    Args:
        graph: the snapshot.
        candidates: only these ops.
        feeds: count only feeds among these.
    """
    sources = candidates & graph.type_mask(FEED_TYPES) & ~_variable_arguments(graph)
    return forward(graph, sources if feeds is None else sources & feeds, control=False, within=candidates)


def _variable_arguments(graph: Graph) -> Mask:
    """Returns a mask of variables and, if calls are unfolded, of function arguments that represent a variable."""
    mask = graph.type_mask(VARIABLE_TYPES)
    arguments = np.flatnonzero(graph.type_mask(["_Arg"])).tolist() if graph.unfolded is not None else []
    for op in arguments:
        source = op
        while graph.types[source] == "_Arg" and (sources := graph.data.row(source).tolist()):
            source = sources[0]
        mask[op] = mask[source]
    return mask


def _is_counted_control(graph: Graph, cuts: frozenset[Tensor]) -> Mask | None:
    """Returns a mask of the control edges that count; None for all edges.

    If variables of a TF1 loop are cut, the control edges that only hold ops in this loop do not count.
    """
    loops = {_loop_cond_of(graph, op) for op, _ in cuts} - {-1}
    if not loops:
        return None
    controls = [op for op in dict.fromkeys(graph.control.node.tolist()) if _loop_cond_of(graph, op) in loops]
    return ~np.isin(graph.control.node, controls)


def _loop_cond_of(graph: Graph, op: int) -> int:
    """Returns the LoopCond of the loop if an op provides a loop variable to the body of a loop; otherwise -1."""
    for source in graph.data.row(op)[:1].tolist() if graph.types[op] == "Identity" else ():
        op = source
    asks = graph.data.row(op)[1:2].tolist() if graph.types[op] in ("Switch", "RefSwitch") else []
    return next((one for one in asks if graph.types[one] == "LoopCond"), -1)


def leaks(graph: Graph, mask: Mask, inputs: Sequence[Tensor]) -> tuple[Leak, ...]:
    """Returns the tensors that enter `mask` and are not in `inputs`; empty if no inputs were listed."""
    if not inputs:
        return ()
    input_set = set(inputs)
    out = []
    for op, port in entering_tensors(graph, mask, frozenset(inputs)):
        if (op, port) in input_set:
            continue
        readers = dict.fromkeys(reader for reader, _ in graph.consumers_of((op, port)) if mask[reader])
        names = tuple(graph.names[reader] for reader in list(readers)[:8])
        above = backward(graph, graph.mask([op]), control=False)
        fed = np.flatnonzero(above & graph.type_mask(FEED_TYPES))
        source = graph.names[int(fed[0])] if len(fed) else graph.names[op]
        out.append(Leak(f"{graph.names[op]}:{port}", names, source))
    return tuple(out)


def _refuse_unconnected(graph: Graph, unconnected: list[str], outputs: Sequence[Tensor], request: str) -> None:
    if not unconnected:
        return
    ends = " or ".join(repr(f"{graph.names[op]}:{port}") for op, port in list(outputs)[:3])
    last = producers(graph, outputs)
    above = backward(graph, last) & ~last
    candidates = [graph.names[i] for i in np.flatnonzero(above).tolist() if graph.types[i] not in ("Const", "NoOp")]
    word = unconnected[0].rpartition(":")[0]
    turned = backward(graph, graph.mask([graph.index[word]])) & last
    hint = "Inputs and outputs seem to be swapped" if turned.any() else did_you_mean(word, candidates)
    do, it = ("does", "it") if len(unconnected) == 1 else ("do", "them")
    raise SelectionError(
        request,
        f"the boundary does not connect: {' and '.join(repr(u) for u in unconnected)} {do} not lead to {ends}",
        f"Leave {it} out, or name a tensor that {ends} is computed from. {hint}",
        kind=Kind.UNCONNECTED,
        names=unconnected,
    )
