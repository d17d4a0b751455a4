"""Stand-ins: ops that replace unknown ops in a live graph."""

from __future__ import annotations

import numpy as np

from ...graph.graph import Graph, TensorInfo, output_at
from ...graph.live import TFGraphDef
from ..importing import tf
from ..messages import graph_pb2

#: This type accepts tensors of any dtypes. If it is run, the run fails with a message that contains its token.
_TYPE = "PyFunc"


def with_stand_ins(graph_def: TFGraphDef, read: Graph) -> TFGraphDef:
    """Returns a GraphDef with stand-ins for the ops that TensorFlow refuses; the same GraphDef if there are none.

    A stand-in has the name and inputs of the op, and those of its outputs that are read. It is never run or written:
    plans, functions and files that would contain it are refused.

    Args:
        graph_def: the graph to import.
        read: its snapshot.
    """
    lost = {read.names[i]: i for i in np.flatnonzero(read.refused_ops).tolist()}
    if not lost:
        return graph_def
    whole = graph_pb2.GraphDef(versions=graph_def.versions, library=graph_def.library)
    for node in graph_def.node:
        new = whole.node.add()
        if node.name not in lost:
            new.CopyFrom(node)
            continue
        op = lost[node.name]
        new.name, new.op, new.device = node.name, _TYPE, node.device
        new.input.extend(node.input)
        if "_class" in node.attr:
            new.attr["_class"].CopyFrom(node.attr["_class"])
        ends = list(read.data.ends(op))
        given = {maker: read.stated(maker) for maker in {maker for maker, _ in ends}}  # one may be read often
        reads = [output_at(given[maker], port) for maker, port in ends]
        new.attr["Tin"].list.type.extend(map(_number, reads))
        new.attr["Tout"].list.type.extend(map(_number, read.stated(op) or ()))
        new.attr["token"].s = f"op {node.name!r} of type {node.op!r}, which TensorFlow does not know here".encode()
    return whole


def _number(info: TensorInfo | None) -> int:
    """The number of a dtype; float32's for an unknown one."""
    try:
        return int(tf.as_dtype("float32" if info is None else info.dtype.removesuffix("_ref")).as_datatype_enum)
    except TypeError:
        return int(tf.float32.as_datatype_enum)
