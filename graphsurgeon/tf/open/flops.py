"""FLOPs: TensorFlow's count of floating-point operations for ops of a graph or of a function."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ...graph.graph import Graph
from ...graph.pending import pending
from ..fresh import fresh
from ..functions.insides import BodyOutputs
from ..importing import tf


def flops(graph: Graph, ops: Sequence[int]) -> tuple[int, bool]:
    """Returns TensorFlow's count of floating-point operations for ops whose shapes are known.

    Ops whose only unknown dimension is the batch are counted for one example.

    Args:
        graph: the snapshot of a live graph, the graph after a plan, or the body of a function.
        ops: their numbers.

    Returns:
        the total count, and whether a part of it is for one example.
    """
    if isinstance(graph.outputs_of, BodyOutputs):
        inferred = [graph.outputs_of.made(i) for i in ops]
        return _counted([op for op in inferred if op is not None])
    live = graph.origin  # after a plan, that of the graph as it is
    if pending(live) is not None or not hasattr(live, "get_operation_by_name"):
        return 0, False
    from ..private.graphs import op_finder

    find, found = op_finder(live), []
    for i in ops:
        with suppress(KeyError):  # an op that a plan will make is not there yet
            found.append(find(graph.names[i]))
    return _counted(found)


def _counted(found: Sequence[Any]) -> tuple[int, bool]:
    from ..private.graphs import counts_flops
    from ..private.graphs import flops as flops_of

    counts = [flops_of(op) for op in found]
    open_ = [op for op, count in zip(found, counts, strict=True) if count is None and counts_flops(op.type)]
    for_one = _for_one(open_)
    return sum(filter(None, counts)) + for_one, for_one > 0


def _for_one(found: Sequence[Any]) -> int:
    """Counts for ops of inputs whose first dimension is unknown, as if it were 1, in a separate graph."""
    proto, names = tf.compat.v1.GraphDef(), []
    for number, op in enumerate(found):
        shapes = [tensor.shape for tensor in op.inputs]
        if any(shape.rank is None or None in shape.as_list()[1:] for shape in shapes):
            continue
        node = proto.node.add(name=f"op{number}", op=op.type)
        for at, (tensor, shape) in enumerate(zip(op.inputs, shapes, strict=True)):
            sizes = [1 if size is None else size for size in shape.as_list()]
            fed = proto.node.add(name=f"op{number}_{at}", op="Placeholder")
            fed.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
            fed.attr["shape"].shape.CopyFrom(tf.TensorShape(sizes).as_proto())
            node.input.append(fed.name)
        for key, value in op.node_def.attr.items():
            if not key.startswith("_"):
                node.attr[key].CopyFrom(value)
        names.append(node.name)
    graph = fresh()
    with graph.as_default(), suppress(ValueError, tf.errors.OpError):
        tf.import_graph_def(proto, name="")
        from ..private.graphs import flops as flops_of

        return sum(flops_of(graph.get_operation_by_name(name)) or 0 for name in names)
    return 0
