"""Facts: data from TensorFlow that a snapshot lacks; this module is the `Facts` of screen/facts.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import SelectionError
from ...graph.graph import Graph
from ...graph.live import TFNodeDef, TFSession
from ...graph.names import op_name
from ...graph.selection import Selection
from ...graph.sizes import size_text
from ...graph.stablehlo import op_names
from ...words import counted, few
from ..edit.nodes import check_attribute, check_inserted
from ..edit.patterns import array_of, as_pattern
from ..functions.insides import body
from ..run.errors import errors_as
from .files import TRUSTED
from .flops import flops
from .op_types import attributes, documentation, op_types
from .outputs import array_in, dtype_name

__all__ = ["attribute_text", "attributes", "body", "check_attribute", "check_inserted", "constant_value"]
__all__ += ["documentation", "flops", "op_types", "pattern", "value"]


def pattern(selection: Selection) -> Any:
    """Returns the pattern that looks like a selection."""
    return as_pattern(selection)


def value(graph: Graph, name: str, uninitialized: frozenset[str], session: Callable[[], TFSession]) -> Any:
    """Returns the current value of a constant or variable as an array: from its node, otherwise from a session.

    Args:
        graph: the snapshot.
        name: a constant or variable.
        uninitialized: names of the variables without a value.
        session: opens the session to read from, if one is needed.

    Raises:
        SelectionError: the op is neither, or the variable has no value.
    """
    name = op_name(name)
    request = f"value({name!r})"
    number = graph.find(name, request)
    held = graph.state.variables.get(name)
    if held is None:
        found = array_of(graph.nodes[number])
        if found is None:
            kind = graph.types[number]
            raise SelectionError(request, f"an op of type {kind} holds no value", "Ask for a constant or a variable")
        return found
    if name in uninitialized:
        raise SelectionError(request, "this variable has no value", "Open the graph with its checkpoint")
    live, how = session(), "Run its initialiser in ed.session(), or open the graph with its checkpoint"
    from ..values.variables import value_of

    with errors_as(SelectionError, request, "its value cannot be read", how):
        return live.run(value_of(live.graph, held, request))


# -- as short texts ---------------------------------------------------------------------------------


def attribute_text(value: Any, most: int = 120) -> str:
    """Returns an AttrValue as a person would write it; long lists, texts and constants are cut, with their size."""
    kind = value.WhichOneof("value")
    if kind == "tensor":
        return _constant(value.tensor)
    if kind == "type":
        return dtype_name(value.type)
    if kind == "shape":
        return _shape(value.shape)
    if kind == "s" and (found := op_names(value.s)):
        return f"a StableHLO module of {few(list(found), 20)}"
    if kind == "s":
        return _cut(repr(bytes(value.s))[1:], most)
    if kind == "func":
        return f"function {value.func.name}"
    if kind == "list":
        return _cut(_list(value.list), most)
    if kind == "f":
        return _float(value.f)
    return _cut(str(getattr(value, kind)), most) if kind else "none"


def _float(number: float) -> str:
    """Returns a float32 in the fewest digits that mean it: its nearest double has more."""
    return str(np.float32(number))


def _list(items: Any) -> str:
    for field in ("i", "f", "b"):
        if getattr(items, field):
            return "[" + ", ".join(_float(v) if field == "f" else str(v) for v in getattr(items, field)) + "]"
    if items.s:
        return "[" + ", ".join(repr(bytes(v))[1:] for v in items.s[:8]) + "]"
    if items.type:
        return "[" + ", ".join(dtype_name(v) for v in items.type) + "]"
    if items.shape:
        return "[" + ", ".join(_shape(v) for v in items.shape) + "]"
    return "[" + ", ".join(f"function {f.name}" for f in items.func) + "]"


def _shape(shape: Any) -> str:
    if shape.unknown_rank:
        return "unknown shape"
    return "(" + ", ".join("?" if d.size < 0 else str(d.size) for d in shape.dim) + ")"


def _constant(proto: Any) -> str:
    array, head = array_in(proto, TRUSTED), f"{dtype_name(proto.dtype)} {_shape(proto.tensor_shape)}"
    if array is None:
        return f"{head}, not shown: it is damaged, or of more than {size_text(TRUSTED)}"
    flat = array.reshape(-1)
    if not flat.size:
        return head
    shown = ", ".join(
        _cut(repr(v), 40) if v.__class__ is bytes else f"{v:g}" if flat.dtype.kind in "fiu" else str(v)
        for v in flat[:8]
    )
    return f"{head}: {shown}" + (f", … {flat.size:,} in all" if flat.size > 8 else "")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({counted(len(text), 'characters')})"


def constant_value(node: TFNodeDef, most: int = 8 << 20) -> Any:
    """Returns the value of a constant as an array; None if the node has no value, or one of more than `most` bytes."""
    return array_of(node, most)
