"""The adapters that would make a tensor fit, and the steps with these adapters that replace a refused step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..graph.boundary import Tensor
from ..graph.graph import TensorInfo
from ..graph.traversal import forward
from .adapters import Adapter, Dense, data_format_of, proposals
from .fault import Fault, MismatchFault
from .mutable_graph import MutableGraph
from .type_check import is_training_op

if TYPE_CHECKING:
    from .steps.copy import CopyStep


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
