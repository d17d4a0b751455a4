"""Reshaping: static shapes after an edge that is changed in place, which TensorFlow leaves as they were.

What is downstream is built once more in a scratch graph: TensorFlow refuses there what it would only refuse when run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import graph_pb2

from ...errors import PlanError
from ...graph.live import TFGraph, TFTensor
from ..copy.imports import import_nodes
from ..elements import adopt_functions
from ..private.graphs import copy_handle_data, number_of
from ..run.errors import told

tf1 = tf.compat.v1

#: number of the op and the input -> tensor it is to read
Reads = Mapping[tuple[int, int], Any]


def downstream(ops: list[Any]) -> list[Any]:
    """Returns ops and all that depends on what they compute, in order of creation."""
    found = {id(op): op for op in ops}
    wave = list(found.values())
    while wave:
        near = {id(c): c for op in wave for t in op.outputs for c in t.consumers() if id(c) not in found}
        found.update(near)
        wave = list(near.values())
    return sorted(found.values(), key=number_of)


def inferred(ops: list[Any], reads: Reads, asked: str) -> list[tuple[Any, Any]]:
    """Returns (tensor, shape) for each output of ops as they would be with other inputs.

    Args:
        ops: what `downstream` gave.
        reads: (id of an op, number of its input) -> tensor that it is to read.
        asked: the request, for messages.

    Raises:
        PlanError: TensorFlow says that they cannot be computed.
    """
    graph, scratch = ops[0].graph, tf.Graph()
    graph_def, own = graph_pb2.GraphDef(), {id(op) for op in ops}
    graph_def.versions.CopyFrom(graph.graph_def_versions)
    stand_ins: dict[tuple[str, int], Any] = {}
    adopt_functions(graph, scratch)
    for op in ops:
        node = graph_def.node.add()
        node.CopyFrom(op.node_def)
        for key in ("_class", "_output_shapes"):
            node.attr.pop(key, None)
        del node.input[:]
        for at, was in enumerate(op.inputs):
            tensor = reads.get((id(op), at), was)
            if id(tensor.op) in own:
                node.input.append(f"{tensor.op.name}:{tensor.value_index}")
                continue
            name = f"stand_ins_of_the_trial/{number_of(tensor.op)}"
            if (name, tensor.value_index) not in stand_ins:
                stand_ins[name, tensor.value_index] = _stand_in(scratch, tensor)
            node.input.append(f"{name}:{tensor.value_index}")
    wrong = "what is computed from the new tensor does not fit: TensorFlow says"
    with told(PlanError, asked, wrong, "Nothing was changed; choose a tensor of a shape that fits"):
        made = import_nodes(scratch, graph_def, stand_ins)
    return [(t, new.shape) for op in ops for t, new in zip(op.outputs, made[op.name].outputs, strict=True)]


def _stand_in(scratch: TFGraph, tensor: TFTensor) -> TFTensor:
    with scratch.as_default(), tf1.name_scope("stand_ins"):
        value = tf.get_static_value(tensor) if tensor.op.type == "Const" else None
        if value is not None:
            return tf.constant(value, dtype=tensor.dtype.base_dtype)
        new = tf1.placeholder(tensor.dtype.base_dtype, tensor.shape)
        copy_handle_data(tensor, new)
        return new


def reshape(now: list[tuple[Any, Any]], before: list[tuple[Any, Any]]) -> list[str]:
    """Makes static shapes as narrow as they are known to be after an edit.

    Args:
        now, before: what `inferred` gave, with the new inputs and with the old ones.

    Returns:
        the names of tensors whose static shapes say more than is known now: TensorFlow lets no shape be widened.
    """
    unsure = []
    for (tensor, new), (_, old) in zip(now, before, strict=True):
        if new.is_compatible_with(tensor.shape):
            tensor.set_shape(new)
        if known(new) < known(old):
            unsure.append(tensor.name)
    return unsure


def known(shape: Any) -> int:
    """Returns how much a static shape says: -1 for an unknown rank, else the number of sizes that are known."""
    return -1 if shape.rank is None else sum(size is not None for size in shape.as_list())
