"""The zoo: graphs that hold an op of every type this TensorFlow has, fed by placeholders and by constants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from graphsurgeon.tf.copy.imports import import_nodes

tf1 = tf.compat.v1
ROOM = 60
#: Op types that end TensorFlow with such inputs.
FATAL = frozenset({"QueueDequeueManyV2", "SplitV"})


def cages() -> Iterator[Any]:
    """Yields GraphDefs of some dozen ops each, with all that they read."""
    cage = _empty()
    for kind in sorted(name for name in dir(tf.raw_ops) if name[0].isupper()):
        about = op_def_registry.get(kind)
        for feed in ("Placeholder", "Const") if about is not None and kind not in FATAL else ():
            animal = _animal(about, feed)
            try:
                import_nodes(tf.Graph(), animal)
            except Exception:
                continue
            cage.node.extend(animal.node)
            if len(cage.node) >= 4 * ROOM:
                yield cage
                cage = _empty()
    yield cage


def _empty() -> Any:
    graph = tf1.GraphDef()
    graph.versions.producer = tf1.get_default_graph().graph_def_versions.producer
    return graph


def _animal(about: Any, feed: str) -> Any:
    """Returns a graph of one op, with attributes as simple as they can be, and what it reads."""
    graph, name = _empty(), f"{about.name}_{feed}"
    node = type(graph.node.add())(name=name, op=about.name)
    del graph.node[:]
    kinds = {}
    for attr in about.attr:
        if not attr.HasField("default_value"):
            _simplest(attr, node.attr[attr.name])
        kinds[attr.name] = node.attr.get(attr.name, attr.default_value).type
    for arg in about.input_arg:
        if arg.is_ref:
            return graph
        dtype = kinds[arg.type_attr] if arg.type_attr else arg.type or 1
        for i in range(2 if arg.number_attr or arg.type_list_attr else 1):
            giver = graph.node.add(name=f"{name}_{arg.name}_{i}", op=feed)
            giver.attr["dtype"].type = dtype
            if feed == "Const":
                _numbers(giver.attr["value"].tensor, dtype)
            node.input.append(giver.name)
    graph.node.append(node)
    return graph


def _numbers(tensor: Any, dtype: int) -> None:
    """Writes one and two, or two of what the dtype has instead of zero."""
    tensor.dtype = dtype
    tensor.tensor_shape.dim.add(size=2)
    field = {1: "float_val", 2: "double_val", 3: "int_val", 9: "int64_val"}.get(dtype)
    if field:
        getattr(tensor, field).extend([1, 2])


def _simplest(attr: Any, value: Any) -> None:
    kind, single = attr.type, attr.type.removeprefix("list(").removesuffix(")")
    allowed = list(attr.allowed_values.list.type)
    if kind == "type":
        value.type = 1 if not allowed or 1 in allowed else allowed[0]
    elif kind == "int":
        value.i = max(attr.minimum if attr.has_minimum else 1, 2 if attr.name == "N" else 1)
    elif kind == "string":
        value.s = attr.allowed_values.list.s[0] if attr.allowed_values.list.s else b"a"
    elif kind == "shape":
        value.shape.unknown_rank = True
    elif kind == "func":
        value.func.name = "f"
    elif kind == "float":
        value.f = 1.0
    elif kind == "bool":
        value.b = False
    elif kind == "tensor":
        value.tensor.CopyFrom(tf.make_tensor_proto(1.0))
    elif kind.startswith("list"):
        count = max(attr.minimum if attr.has_minimum else 1, 2)
        for _ in range(count):
            _append(value.list, single)


def _append(values: Any, single: str) -> None:
    simple = {"type": ("type", 1), "int": ("i", 1), "string": ("s", b"a"), "float": ("f", 1.0), "bool": ("b", False)}
    if single in simple:
        field, item = simple[single]
        getattr(values, field).append(item)
    elif single == "shape":
        values.shape.add().unknown_rank = True
    elif single == "func":
        values.func.add().name = "f"
