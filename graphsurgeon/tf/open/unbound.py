"""Unbound inputs: tensors of other scopes that the MetaGraph of one scope reads.

``export_meta_graph(export_scope=...)`` writes names for them that no op has. They are replaced by placeholders.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...graph.live import TFGraphDef
from ...graph.names import free_name
from ...words import counted, few
from ..messages import control_flow_pb2, types_pb2
from ..registry import op_definition
from .outputs import expanded

#: Prefix that TensorFlow adds to the name of such a tensor.
PREFIX = "$unbound_inputs_"
_CONTEXTS = {"while_context": control_flow_pb2.WhileContextDef, "cond_context": control_flow_pb2.CondContextDef}


def bind_inputs(graph_def: TFGraphDef, meta: Any = None) -> tuple[str, ...]:
    """Adds placeholders for the unbound inputs of a graph, in place; returns a note if there are any.

    Args:
        graph_def: the GraphDef.
        meta: the MetaGraphDef around it, whose loops and conds also name such tensors.
    """
    dtypes = _unbound(graph_def)
    if not dtypes:
        return ()
    taken = {node.name for node in graph_def.node}
    new: dict[str, str] = {}
    for text, dtype in dtypes.items():
        wish = text.removeprefix("$").removesuffix(":0").replace(":", "_")
        name = free_name(wish, taken.__contains__, as_tensorflow=True)
        taken.add(name)
        node = graph_def.node.add(name=name, op="NoOp" if dtype is None else "Placeholder")
        if dtype is not None:
            node.attr["dtype"].type = dtype
            node.attr["shape"].shape.unknown_rank = True
        new[text] = name
    for node in graph_def.node:
        for at, text in enumerate(node.input):
            sign = "^" if text.startswith("^") else ""
            node.input[at] = sign + new.get(text.removeprefix("^").removesuffix(":0"), text.removeprefix("^"))
    outside = {text.removeprefix(PREFIX): name for text, name in new.items()}
    for key, kind in _CONTEXTS.items() if meta is not None else ():
        if key in meta.collection_def:
            held = meta.collection_def[key].bytes_list.value
            held[:] = [_context(kind.FromString(one), outside).SerializeToString() for one in held]
    names = [name for text, name in new.items() if dtypes[text] is not None]
    return (f"it is a part of a graph; tensors of other parts are replaced by {counted(len(names), 'placeholders')}, "
            f"{few(names)}",)  # fmt: skip


def _unbound(graph_def: TFGraphDef) -> dict[str, int | None]:
    """Returns each unbound input, with its dtype; None if ops only wait for it."""
    library = {function.signature.name: function.signature for function in graph_def.library.function}
    found: dict[str, int | None] = {}
    for node in graph_def.node:
        if not any(PREFIX in text for text in node.input):
            continue
        signature = library.get(node.op) or op_definition(node.op)
        given = [dtype for _, _, dtype in expanded(signature.input_arg, node, signature)] if signature else []
        data = [text for text in node.input if not text.startswith("^")]
        for text, dtype in zip(data, [*given, *[types_pb2.DT_FLOAT] * len(data)], strict=False):
            if text.startswith(PREFIX):
                found[text.removesuffix(":0")] = dtype
        for text in node.input:
            if text.startswith(f"^{PREFIX}"):
                found.setdefault(text[1:], None)
    return found


def _context(proto: Any, outside: dict[str, str]) -> Any:
    """Gives the tensors of other parts their new names in a loop or cond."""
    for values in _values_of(proto):
        values.values[:] = [_renamed(name, outside) for name in values.values]
        pairs = dict(values.external_values)
        values.external_values.clear()
        values.external_values.update({_renamed(name, outside): inner for name, inner in pairs.items()})
    if hasattr(proto, "pred_name"):
        proto.pred_name = _renamed(proto.pred_name, outside)
    return proto


def _values_of(proto: Any) -> Iterator[Any]:
    yield proto.values_def
    for nested in proto.nested_contexts:
        kind = nested.WhichOneof("ctxt")
        if kind is not None:
            yield from _values_of(getattr(nested, kind))


def _renamed(tensor: str, outside: dict[str, str]) -> str:
    name = outside.get(tensor.removesuffix(":0"))
    return tensor if name is None else f"{name}:0"
