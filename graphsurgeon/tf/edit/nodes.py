"""Nodes: makes and changes NodeDefs for edits."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import PlanError, counted, nearest
from ...graph.types import TFGraphDef, TFNodeDef
from ...plan.plan_result import NewNode, OpChange, PlanResult
from ..import_tensorflow import tf
from ..messages import attr_value_pb2, node_def_pb2
from ..op_types import op_definition

_EXAMPLES = {
    "int": "3", "float": "0.5", "bool": "True", "string": "'SAME'", "type": "'float32'", "shape": "[None, 3]",
    "tensor": "an array", "func": "the name of a function",
}  # fmt: skip
_LISTS = {"int": "i", "float": "f", "bool": "b", "string": "s", "type": "type", "shape": "shape"}


def plan_nodes(effect: PlanResult, graph_def: TFGraphDef) -> TFGraphDef:
    """Returns the GraphDef of a plan, completed by its added ops, with all nodes in the order of the prediction."""
    nodes: dict[str, Any] = {}
    at = 0
    for copied in effect.copies:
        names = [new.name for new in copied.replacement_ops] + copied.names
        names += [op.name for v in copied.variables for op in v.setter]
        nodes.update(zip(names, graph_def.node[at : at + len(names)], strict=True))
        at += len(names)
    for new in effect.added:
        nodes[new.name] = new_node(new, effect)
    out = type(graph_def)()
    first = effect.base.size
    out.node.extend(nodes[name] for name in effect.after.names[first:])
    return out


def similar_types(op_type: str) -> str:
    """Returns a question about op types with similar names, for a message; empty if there are none."""
    close = nearest(op_type, (name for name in dir(tf.raw_ops) if name[0].isupper()))
    return f"Did you mean {' or '.join(map(repr, close))}? " if close else ""


def new_node(new: NewNode, effect: PlanResult) -> Any:
    """Returns the NodeDef of an op that an edit adds; dtypes that are not given come from its inputs.

    Raises:
        PlanError: the op type does not exist, does not have exactly one input, or does not have an attribute.
    """
    request, definition = f"insert({new.op!r}, name={new.name!r})", op_definition(new.op)
    if new.inputs:
        check_inserted(new.op, new.name)
    node = node_def_pb2.NodeDef(name=new.name, op=new.op)
    kinds = {attr.name: attr.type for attr in definition.attr}
    # If the input is another new op, only the dtype of the tensor before both may be known.
    graph, number = effect.after, effect.after.index[new.name]
    reads = [graph.info(*tensor) or new.input_info for tensor in graph.data.ends(number)]
    for about, info in zip(definition.input_arg, reads, strict=False):
        if about.type_attr and info is not None:
            node.attr[about.type_attr].type = tf.as_dtype(info.dtype).base_dtype.as_datatype_enum
    for name, value in new.attributes.items():
        _set_attribute(node, name, value, kinds, request)
    return node


def _set_attribute(node: TFNodeDef, name: str, value: Any, kinds: Mapping[str, str], request: str) -> None:
    """Sets an attribute of a node, if its op type has the attribute or the name begins with `_`."""
    if name not in kinds and not name.startswith("_"):
        raise PlanError(request, f"{node.op!r} has no attribute {name!r}", f"It has {', '.join(sorted(kinds))}")
    node.attr[name].CopyFrom(attribute(value, kinds.get(name, ""), request, name))


def change_node(node: TFNodeDef, change: OpChange) -> None:
    """Sets attributes and the device in the NodeDef of a copied op.

    Raises:
        PlanError: the op has no such attribute, or the value is not valid for it.
    """
    definition = op_definition(node.op)
    attributes = {attr.name: attr for attr in definition.attr} if definition is not None else {}
    kinds = {name: attr.type for name, attr in attributes.items()}
    request = f"set_attr({node.name!r})"
    for name, value in change.attributes.items():
        if value is None:
            node.attr.pop(name, None)
            continue
        _set_attribute(node, name, value, kinds, request)
        allowed = sorted(text.decode() for text in attributes[name].allowed_values.list.s) if name in attributes else []
        if allowed and kinds[name] == "string" and node.attr[name].s.decode() not in allowed:
            raise PlanError(request, f"{name!r} cannot be {value!r}", f"Choose one of {', '.join(allowed)}")
    if change.device is not None:
        node.device = change.device


def check_attribute(op_type: str, op: str, name: str, value: Any) -> None:
    """Refuses a value that TensorFlow would refuse; see `change_node`. `op_type` is the type of `op`."""
    change_node(node_def_pb2.NodeDef(name=op, op=op_type), OpChange(attributes={name: value}))


def check_inserted(op_type: str, name: str) -> None:
    """Refuses an op type that cannot be inserted on a tensor.

    Raises:
        PlanError: the op type does not exist, or it does not have exactly one input.
    """
    request, definition = f"insert({op_type!r}, name={name!r})", op_definition(op_type)
    way = "Give an op type with one input, such as 'Identity' or 'Relu'"
    if definition is None:
        raise PlanError(request, f"TensorFlow has no op type {op_type!r}", similar_types(op_type) + way)
    count = len(definition.input_arg)
    if count != 1:
        raise PlanError(request, f"{op_type!r} has {counted(count, 'inputs')}", way)


def attribute(value: Any, kind: str, request: str, name: str) -> Any:
    """Returns a Python value as an AttrValue.

    Args:
        value: a number, text, dtype, shape, array, or a list of these.
        kind: the kind of the attribute in an OpDef, such as ``"type"`` or ``"list(int)"``; if it is empty, it is
            derived from the value.
        request, name: the request and the name of the attribute, for messages.

    Raises:
        PlanError: the value is not of this kind.
    """
    out = attr_value_pb2.AttrValue()
    kind = kind or _kind_of(value)
    try:
        if kind.startswith("list("):
            inner = kind[5:-1]
            if isinstance(value, (str, bytes)):  # a string would be split into letters
                raise TypeError(value)
            for item in value:
                item_value = attribute(item, inner, request, name)
                field = getattr(out.list, _LISTS[inner])
                field.add().CopyFrom(item_value.shape) if inner == "shape" else field.append(
                    getattr(item_value, _LISTS[inner])
                )
            out.list.SetInParent()
        elif kind == "type":
            out.type = tf.as_dtype(value).as_datatype_enum
        elif kind == "shape":
            out.shape.CopyFrom(tf.TensorShape(value).as_proto())
        elif kind == "tensor":
            out.tensor.CopyFrom(tf.make_tensor_proto(value))
        elif kind == "string":
            out.s = value if isinstance(value, bytes) else str(value).encode()
        elif kind == "func":
            out.func.name = str(value)
        elif kind == "bool" and not isinstance(value, (bool, np.bool_)):
            raise TypeError(value)
        else:
            reading: dict[str, Any] = {"int": operator.index, "float": float, "bool": bool}
            setattr(out, _LISTS[kind], reading[kind](value))
    except (KeyError, TypeError, ValueError) as error:
        example = f"[{_EXAMPLES.get(kind[5:-1], '')}]" if kind.startswith("list(") else _EXAMPLES.get(kind, "")
        way = f"Give a value of that kind, such as {example}"
        raise PlanError(request, f"{name}={value!r} is not {'an' if kind[:1] == 'i' else 'a'} {kind}", way) from error
    return out


def _kind_of(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"list({_kind_of(value[0]) if value else 'int'})"
    for type_name, types in (
        ("bool", bool),
        ("int", int),
        ("float", float),
        ("type", tf.DType),
        ("shape", tf.TensorShape),
    ):
        if isinstance(value, types):
            return type_name
    return "string" if isinstance(value, (str, bytes)) else "tensor"
