"""The reasons against an edge that a step sets, and the adapters that would help."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ..errors import PlanError, SurgeryError, counted
from ..graph.boundary import Tensor
from ..graph.graph import Graph, TensorInfo
from ..graph.parts import is_array_type
from ..graph.rewiring import TURNING, Edge
from ..graph.traversal import backward, forward, reachable_from
from .adapters import Adapter, Dense, data_format_of, proposals
from .dependencies import writes
from .fault import Fault
from .mutable_graph import MutableGraph
from .steps.copy import CopyStep
from .type_check import axis_text, base_dtype, handle_mismatch, is_training_op, mismatch, shapes_differ


@contextmanager
def errors_of(request: str) -> Iterator[None]:
    """Raises errors of a part of a request as errors of the request."""
    try:
        yield
    except SurgeryError as error:
        raise PlanError(request, error.problem, error.suggestion) from None


def rewire_fault(
    graph: MutableGraph,
    request: str,
    edges: Sequence[Edge],
    pairs: Sequence[tuple[Tensor, Tensor]],
    removes: bool,
    excludes: bool,
) -> Fault | None:
    """Returns a fault if dtypes, shapes or loop frames of new inputs do not fit; see `EditState.rewire`."""
    fault, readers = None, defaultdict[Tensor, list[int]](list)
    for op, _, source in edges:
        readers[source].append(op)
    for old, new in pairs:
        fault = mismatch(graph, request, old, new, readers[new], reroute=removes)
        if fault is not None:
            return tensor_mismatch(graph, fault, old, new, readers[new])
    if pairs and not edges:
        return Fault(request, "no op reads it, so nothing would change", "Name another tensor, or widen only=")
    fault = next(filter(None, (reference_fault(graph, edge, request, excludes) for edge in edges)), None)
    fault = fault or next(filter(None, (_flow_fault(graph, edge, request) for edge in edges)), None)
    return fault or frame_fault(graph, edges, request)


def reference_fault(graph: MutableGraph, edge: Edge, request: str, excludes: bool = False) -> Fault | None:
    """Returns a fault if an op that changes a variable would read a tensor that is not a variable."""
    op, at, new = edge
    old = graph.source(op, at)
    was, now = graph.info(*old), graph.info(*new)
    if at or was is None or not was.dtype.endswith("_ref"):
        return None
    # The dtypes of an op that the plan inserts are not known yet, only its type.
    if now.dtype.endswith("_ref") if now is not None else graph.types[new[0]].startswith("Ref"):
        return None
    if not writes(graph.types[op]):
        return None
    name = graph.names[op]
    return Fault(
        request,
        f"{name!r} changes {graph.names[old[0]]!r}, and {graph.name(new)} is not a variable",
        f"Set another input of {name!r}, or only the inputs of the other consumers of the variable"
        + (f": exclude=[{name!r}]" if excludes else ""),
    )


def _flow_fault(graph: MutableGraph, edge: Edge, request: str) -> Fault | None:
    """Returns a fault if an op would use a TensorArray without being ordered after the writes to it."""
    op, at, new = edge
    if not is_array_type(graph.types[op]) or at == 0 or at < len(graph.inputs(op)) - 1:
        return None
    if any(
        is_array_type(graph.types[one])
        for one in reachable_from([new[0]], lambda one: [i for i, _ in graph.inputs(one)])
    ):
        return None
    name = graph.names[op]
    problem = f"input {at} of {name!r} orders it after the writes to a TensorArray, and {graph.name(new)!r} does not"
    return Fault(request, problem, f"Leave that input as it is, and rewire the consumers of {name!r}")


def frame_fault(graph: MutableGraph, edges: Sequence[Edge], request: str) -> Fault | None:
    """Returns a fault if an edge enters or leaves a TF1 ``while_loop`` without an Enter or Exit op."""
    for op, at, (source, port) in edges:
        if graph.outermost_loop(op) < 0 and graph.outermost_loop(source) < 0:
            continue
        before, _ = graph.source(op, at)
        if graph.types[before] in TURNING and graph.types[source] not in TURNING:
            turned = graph.input_names(before)[:1]
            return Fault(
                request,
                f"{graph.names[op]!r} takes the result of {graph.names[before]!r} into the next round of the loop, "
                f"and {graph.names[source]!r} is not a NextIteration",
                f"Rewire the input of {graph.names[before]!r}" + (f": {turned[0]!r}" if turned else ""),
            )
        reads, comes = _frames(graph, op, source)
        if reads != comes:
            inside = graph.names[op] if reads >= 0 else f"{graph.names[source]}:{port}"
            return Fault(
                request,
                f"{inside!r} is inside a loop, and the other end of the edge is " + _different_op(reads, comes),
                "Rewire the input of an Enter of the loop, or the consumers of an Exit",
            )
    return None


def refuse_order(graph: MutableGraph, edges: Iterable[tuple[int, int]], request: str) -> None:
    """Raises PlanError if a control edge (op, its control input) enters or leaves a TF1 ``while_loop``."""
    for op, source in edges:
        reads, comes = _frames(graph, op, source)
        if reads != comes:
            inside, other = (op, source) if reads >= 0 else (source, op)
            raise PlanError(
                request,
                f"{graph.names[inside]!r} is inside a loop, and {graph.names[other]!r} is "
                + _different_op(reads, comes),
                "Make an Enter of the loop wait, or wait for an Exit of the loop",
            )


def _frames(graph: MutableGraph, op: int, source: int) -> tuple[int, int]:
    """Returns the loop frame of the inputs of `op`, and the loop frame of the outputs of `source`; -1 for no loop."""
    reads = -1 if graph.types[op] in ("Enter", "RefEnter") else graph.outermost_loop(op)
    return reads, -1 if graph.types[source] in ("Exit", "RefExit") else graph.outermost_loop(source)


def _different_op(old_source: int, new_source: int) -> str:
    return "inside another loop" if old_source >= 0 and new_source >= 0 else "not"


def consumers_of(
    graph: Graph | MutableGraph, tensor: Tensor, only: Sequence[str] | None = None, exclude: Sequence[str] = ()
) -> list[tuple[int, int]]:
    """Returns (op, input) for each consumer of a tensor."""
    out = graph.consumers_of(tensor)
    if only is None and not exclude:
        return out
    keep, leave = None if only is None else set(only), set(exclude)
    names = graph.names
    return [(op, at) for op, at in out if names[op] not in leave and (keep is None or names[op] in keep)]


def input_of(graph: MutableGraph, op: int, index: int, request: str) -> Tensor:
    """Returns the tensor that an input of an op reads.

    Args:
        graph: the graph.
        op, index: the op, and the index of the input.
        request: the request, for messages.

    Raises:
        PlanError: if the op has no input with this index.
    """
    row = graph.inputs(op)
    if not 0 <= index < len(row):
        choices = "Choose input=" + " or ".join(str(i) for i in range(min(len(row), 8)))
        problem = (
            f"op {graph.names[op]!r} ({graph.types[op]}) has no input {index}; it has {counted(len(row), 'inputs')}"
        )
        raise PlanError(request, problem, choices if row else "Choose another op")
    return row[index]


def incompatibility(graph: MutableGraph, op: int, index: int, tensor: Tensor) -> str:
    """Returns why an input of an op cannot read a tensor, for example "takes int32 ..."; empty if it can.

    Only dtypes and shapes are compared.

    Args:
        graph: the graph.
        op, index: the op, and the index of the input.
        tensor: the tensor that it should read.
    """
    reads = graph.source(op, index)
    new, old = graph.info(*tensor), graph.info(*reads)
    if new is None or old is None:
        return ""
    if base_dtype(new.dtype) != base_dtype(old.dtype):
        return f"takes {old.dtype} (it reads {graph.name(reads)!r}, {old})"
    if shapes_differ(new.shape, old.shape):
        return f"reads {graph.name(reads)!r}, {old}: {axis_text(new.shape, old.shape)}"
    return ""


def fitting_adapters(
    mutable_graph: MutableGraph, tensor: Tensor, target: TensorInfo, readers: Sequence[int]
) -> tuple[Adapter, ...]:
    """Returns the adapters that make a tensor fit ops of the same graph, the most sensible first.

    There are no adapters between data of a model and tensors of gradients or savers.

    Args:
        mutable_graph: the graph.
        tensor: the tensor that the ops should read.
        target: the tensor that the ops read now.
        readers: the ops; tensors that are computed from these ops never fit.
    """
    source, graph = mutable_graph.info(*tensor), mutable_graph.snapshot()
    if forward(graph, graph.mask(readers))[tensor[0]]:
        return ()
    if source is None or is_training_op(mutable_graph, tensor[0]) != all(
        is_training_op(mutable_graph, op) for op in readers
    ):
        return ()
    layout = data_format_of(graph, readers)
    return _proposals(
        mutable_graph, tensor, source, target, {mutable_graph.outermost_loop(op) for op in readers}, layout
    )


def _proposals(
    graph: MutableGraph, tensor: Tensor, source: TensorInfo, target: TensorInfo, loops: set[int], data_format: str
) -> tuple[Adapter, ...]:
    """Like `fitting_adapters`; no variable is made inside a loop, and no loop is entered without an Enter."""
    adapters, loop = proposals(source, target, data_format), graph.outermost_loop(tensor[0])
    if loops - {loop}:
        return ()
    return adapters if loop < 0 else tuple(one for one in adapters if not any(isinstance(p, Dense) for p in one.parts))


@dataclass(frozen=True, kw_only=True)
class MismatchFault(Fault):
    """A fault of a tensor that does not fit in place of another. The resolver replaces it by a fault with fixes.

    Args:
        old, new: the tensor that is read now, and the tensor that is requested instead, by name.
        target: the dtype and shape of `old`.
        adapters: the adapters that would make `new` fit, the most sensible first.
        data_format: the data format of the consumers; empty if it is not known.
    """

    old: str
    new: str
    target: TensorInfo
    adapters: tuple[Adapter, ...]
    data_format: str


def tensor_mismatch(graph: MutableGraph, fault: Fault, old: Tensor, new: Tensor, readers: Sequence[int]) -> Fault:
    """Returns the fault of a tensor that cannot replace another tensor, with the adapters that make it fit.

    Args:
        graph: the graph.
        fault: the fault.
        old, new: the tensors.
        readers: the ops that should read the new tensor.
    """
    target = graph.info(*old)
    if target is None:
        return fault
    return MismatchFault(
        **vars(fault), old=graph.name(old), new=graph.name(new), target=target,
        adapters=fitting_adapters(graph, new, target, readers), data_format=data_format_of(graph.snapshot(), readers),
    )  # fmt: skip


def mapping_mismatch(base: MutableGraph, fault: Fault, step: CopyStep, old: str, new: str) -> Fault:
    """Returns the fault of a tensor that cannot feed an input of a copy, with the adapters that make it fit.

    Args:
        base: the destination.
        fault: the fault.
        step: the copy.
        old, new: the tensor of the source, and the tensor that should feed the copy instead.
    """
    if (old, new) not in step.inputs:
        return fault
    graph, source = step.selection.graph, base.tensor(new)
    op, port = graph.tensor(old)
    info, target = base.info(*source), graph.info(op, port)
    readers = graph.consumers.row(op)[graph.consumers.ports(op) == port].tolist()
    readers = [reader for reader in readers if step.selection.mask[reader]]
    if (
        info is None
        or target is None
        or is_training_op(base, source[0]) != all(is_training_op(graph, one) for one in readers)
    ):
        return fault
    layout = data_format_of(graph, readers)
    adapters = _proposals(base, source, info, target, {-1}, layout)
    return MismatchFault(**vars(fault), old=old, new=new, target=target, adapters=adapters, data_format=layout)


@dataclass(frozen=True)
class InputCandidate:
    """An input of an op.

    Args:
        op: the op.
        input: the index of the input, from 0.
        current_input: the tensor that the input reads now.
        reason: the reason why the input cannot read the other tensor; empty if it can.
        adaptable: whether only dtype or shape is the reason, so that an adapter may help.
    """

    op: str
    input: int
    current_input: str
    reason: str = ""
    adaptable: bool = False


def find_input_candidates(
    mutable_graph: MutableGraph, tensor: Tensor, inputs: Iterable[tuple[int, int]]
) -> Iterator[InputCandidate]:
    """Yields inputs of ops in the given order, with the reason if an input cannot read a tensor.

    Args:
        mutable_graph: the graph.
        tensor: the tensor that they should read, of the graph or of an op that was added to it.
        inputs: (op, index of the input).

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> g = Graph.from_ops([("a", "Placeholder", []), ("b", "Neg", ["a"]), ("c", "Neg", ["b"])])
        >>> [taker.reason for taker in find_input_candidates(MutableGraph(g), (1, 0), [(1, 0), (2, 0)])]
        ["that makes a cycle: 'b:0' is computed from it", 'it already reads this tensor']
    """
    graph, name = mutable_graph.graph, mutable_graph.name(tensor)
    turning = frozenset((op, 0) for op in np.flatnonzero(graph.type_mask(TURNING)).tolist())
    above = backward(graph, graph.mask([tensor[0]] if tensor[0] < graph.size else []), turning)
    for op, at in inputs:
        reads, differ = mutable_graph.source(op, at), ""
        if reads == tensor:
            why = "it already reads this tensor"
        elif above[op]:
            why = f"that makes a cycle: {name!r} is computed from it"
        else:
            differ = incompatibility(mutable_graph, op, at, tensor)
            why = differ or _incompatibility(mutable_graph, op, at, tensor)
        yield InputCandidate(graph.names[op], at, graph.name(reads), why, bool(differ))


def _incompatibility(graph: MutableGraph, op: int, index: int, tensor: Tensor) -> str:
    """Returns why an op of a variable or a loop cannot read the tensor; empty if it can."""
    edge = (op, index, tensor)
    handles = handle_mismatch(graph, graph.source(op, index), tensor)
    fault = reference_fault(graph, edge, "") or frame_fault(graph, [edge], "")
    return handles[0] if handles else fault.problem if fault else ""
