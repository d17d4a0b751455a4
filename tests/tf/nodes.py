"""NodeDefs by hand: graphs that TensorFlow's own Python would not make."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

tf1 = tf.compat.v1


def empty() -> Any:
    """Returns a GraphDef without nodes, of today's version."""
    graph_def = tf1.GraphDef()
    graph_def.versions.CopyFrom(tf.Graph().graph_def_versions)
    return graph_def


def add(nodes: Any, name: str, op: str, *inputs: str, **attributes: Any) -> Any:
    """Adds a NodeDef to a GraphDef or a FunctionDef, and returns it.

    Args:
        nodes: where to.
        name, op, inputs: what it is.
        attributes: a `tf.DType`, int, bytes or list of dtypes; a str is the name of a function; else a message.
    """
    node = (nodes.node_def if hasattr(nodes, "node_def") else nodes.node).add(name=name, op=op, input=inputs)
    for key, value in attributes.items():
        attr = node.attr[key]
        if isinstance(value, tf.DType):
            attr.type = value.as_datatype_enum
        elif isinstance(value, int):
            attr.i = value
        elif isinstance(value, bytes):
            attr.s = value
        elif isinstance(value, str):
            attr.func.name = value
        elif isinstance(value, list):
            attr.list.SetInParent()
            attr.list.type.extend(dtype.as_datatype_enum for dtype in value)
        else:
            (attr.shape if hasattr(value, "dim") else attr.tensor).CopyFrom(value)
    return node


def feed(nodes: Any, name: str = "x", dtype: tf.DType = tf.float32, shape: list[int | None] | None = None) -> Any:
    """Adds a placeholder."""
    return add(nodes, name, "Placeholder", dtype=dtype, shape=tf.TensorShape(shape).as_proto())


def constant(nodes: Any, name: str, value: Any, dtype: tf.DType = tf.int32) -> Any:
    """Adds a constant."""
    return add(nodes, name, "Const", dtype=dtype, value=tf.make_tensor_proto(value, dtype))


def function(graph_def: Any, name: str, *calls: str, op: str = "PartitionedCall") -> Any:
    """Adds a function of one float that calls others, one on the result of the other; without any, it negates."""
    new = graph_def.library.function.add()
    new.signature.name = name
    new.signature.input_arg.add(name="v", type=1)
    new.signature.output_arg.add(name="r", type=1)
    last = "v"
    for i, callee in enumerate(calls):
        add(new, f"call{i}", op, last, f=callee, Tin=[tf.float32], Tout=[tf.float32])
        last = f"call{i}:output:0"
    if not calls:
        add(new, "neg", "Neg", "v", T=tf.float32)
        last = "neg:y:0"
    new.ret["r"] = last
    return new


def call(graph_def: Any, name: str, callee: str, on: str = "x") -> Any:
    """Adds a call of a function of one float."""
    return add(graph_def, name, "PartitionedCall", on, f=callee, Tin=[tf.float32], Tout=[tf.float32])
