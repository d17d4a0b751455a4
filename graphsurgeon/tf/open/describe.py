"""Describe: attributes, constants and documentation of ops, as short texts for people."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ...words import counted


def attribute_text(value: Any, most: int = 120) -> str:
    """Returns an AttrValue as a person would write it; long lists, texts and constants are cut, with their size."""
    kind = value.WhichOneof("value")
    if kind == "tensor":
        return _constant(value.tensor)
    if kind == "type":
        return _dtype(value.type)
    if kind == "shape":
        return _shape(value.shape)
    if kind == "s":
        return _cut(repr(bytes(value.s))[1:], most)
    if kind == "func":
        return f"function {value.func.name}"
    if kind == "list":
        return _cut(_list(value.list), most)
    return _cut(str(getattr(value, kind)), most) if kind else "none"


def _list(items: Any) -> str:
    for field in ("i", "f", "b"):
        if getattr(items, field):
            return "[" + ", ".join(f"{v:g}" if field == "f" else str(v) for v in getattr(items, field)) + "]"
    if items.s:
        return "[" + ", ".join(repr(bytes(v))[1:] for v in items.s[:8]) + "]"
    if items.type:
        return "[" + ", ".join(_dtype(v) for v in items.type) + "]"
    if items.shape:
        return "[" + ", ".join(_shape(v) for v in items.shape) + "]"
    return "[" + ", ".join(f"function {f.name}" for f in items.func) + "]"


def _shape(shape: Any) -> str:
    if shape.unknown_rank:
        return "unknown shape"
    return "(" + ", ".join("?" if d.size < 0 else str(d.size) for d in shape.dim) + ")"


def _dtype(number: int) -> str:
    try:
        return str(tf.as_dtype(number).name)
    except TypeError:
        return f"dtype {number}"


def _constant(proto: Any) -> str:
    try:
        array = tf.make_ndarray(proto)
    except (TypeError, ValueError):
        return f"a constant of {_dtype(proto.dtype)} that cannot be read"
    head = f"{_dtype(proto.dtype)} {_shape(proto.tensor_shape)}"
    flat = array.reshape(-1)
    if not flat.size:
        return head
    shown = ", ".join(
        _cut(repr(v), 40) if v.__class__ is bytes else f"{v:g}" if flat.dtype.kind in "fiu" else str(v)
        for v in flat[:8]
    )
    return f"{head}: {shown}" + (f", … {flat.size:,} in all" if flat.size > 8 else "")


def documentation(kind: str) -> str:
    """Returns the first paragraph of TensorFlow's own documentation of an op type; empty where it has none."""
    known = hasattr(tf.raw_ops, kind)  # None has words of its own since Python 3.13
    text = ((getattr(tf.raw_ops, kind).__doc__ if known else "") or "").strip()
    return text.split("\n\n")[0].replace("\n", " ")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({counted(len(text), 'characters')})"


def constant_value(node: Any, most: int = 1 << 20) -> Any:
    """Returns the value of a constant as an array; None where the node has none, or more than `most` elements."""
    attr = getattr(node, "attr", None)
    if not attr or "value" not in attr or attr["value"].WhichOneof("value") != "tensor":
        return None
    proto = attr["value"].tensor
    size = 1
    for dim in proto.tensor_shape.dim:
        size *= max(dim.size, 0)
    if size > most:
        return None
    try:
        return tf.make_ndarray(proto)
    except (TypeError, ValueError):
        return None
