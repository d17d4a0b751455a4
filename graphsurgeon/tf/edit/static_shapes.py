"""Static shapes: those downstream of an edge that is changed in place, which TensorFlow does not update.

The ops downstream are built again in a scratch graph. TensorFlow refuses there what would otherwise fail in a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import PlanError
from ...graph.graph import TensorInfo
from ...graph.live import TFOp, TFTensor
from ...graph.traversal import met_from
from ..messages import node_def_pb2
from ..open.inferred import tensor_info
from ..private.graphs import number_of
from .scratch import Refused, Scratch

#: (number of the op, number of the input) -> its new tensor
Reads = Mapping[tuple[int, int], Any]


def downstream(ops: list[TFOp]) -> list[TFOp]:
    """Returns the given ops and all ops that depend on them, in order of creation."""
    return sorted(met_from(ops, lambda op: (c for t in op.outputs for c in t.consumers())), key=number_of)


def inferred(ops: list[TFOp], reads: Reads, request: str) -> list[tuple[Any, Any]]:
    """Returns (tensor, shape) for each output of ops, as inferred with other inputs.

    Args:
        ops: the result of `downstream`.
        reads: (id of an op, number of its input) -> its new tensor.
        request: the request, for messages.

    Raises:
        PlanError: TensorFlow refuses the ops with these inputs.
    """
    live = ops[0].graph
    scratch = Scratch(_Rewired(reads), live.graph_def_versions)
    try:
        made = scratch.built(ops, lambda _: [live], request)
    except Refused as error:
        problem = f"ops that depend on the new tensor do not fit it. TensorFlow refuses them: {error}"
        raise PlanError(request, problem, "Nothing was changed; choose a tensor of a shape that fits") from error
    return [(t, new.shape) for op in ops for t, new in zip(op.outputs, made[op].outputs, strict=True)]


class _Rewired:
    """Ops of a live graph, some of which read other tensors."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def name(self, op: TFOp) -> str:
        return op.name

    def node(self, op: TFOp) -> Any:
        node = node_def_pb2.NodeDef()
        node.CopyFrom(op.node_def)
        for key in ("_class", "_output_shapes"):
            node.attr.pop(key, None)
        del node.input[:]
        return node

    def reads(self, op: TFOp) -> list[tuple[TFOp, int]]:
        read = (self._reads.get((id(op), at), was) for at, was in enumerate(op.inputs))
        return [(tensor.op, tensor.value_index) for tensor in read]

    def info(self, op: TFOp, port: int) -> TensorInfo:
        return tensor_info(op.outputs[port])

    def handle(self, op: TFOp, port: int) -> TFTensor:
        return op.outputs[port]


def reshape(now: list[tuple[Any, Any]], before: list[tuple[Any, Any]]) -> list[str]:
    """Makes static shapes as specific as they are known to be after an edit.

    Args:
        now, before: the results of `inferred` with the new inputs and with the old ones.

    Returns:
        the names of tensors whose static shapes are now too specific: TensorFlow cannot widen a shape.
    """
    unsure = []
    for (tensor, new), (_, old) in zip(now, before, strict=True):
        if new.is_compatible_with(tensor.shape):
            tensor.set_shape(new)
        if known(new) < known(old):
            unsure.append(tensor.name)
    return unsure


def known(shape: Any) -> int:
    """Returns how specific a static shape is: -1 for an unknown rank, else the number of sizes that are known."""
    return -1 if shape.rank is None else sum(size is not None for size in shape.as_list())
