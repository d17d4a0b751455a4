"""Compiling: write the new nodes of an effect into one GraphDef, with everything in them that makes a copy right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import graph_pb2, node_def_pb2

from ..core.copied import Copied, NewConstant, NewOp
from ..core.effect import Effect
from ..errors import StalePlanError
from .functions import BRANCHING, Library, rename_calls
from .internals import op_finder, read_node
from .rewriting import Rewrite, rewriter


def compiled(
    effect: Effect,
    graph: Any,
    library: Library,
    frozen: Mapping[str, Any] | None = None,
    gradients: Sequence[Mapping[int, str]] = (),
) -> tuple[Any, dict[tuple[str, int], Any], dict[str, Any]]:
    """Writes all new nodes of an effect into one GraphDef, fully named.

    Args:
        effect: what to write.
        graph: the destination.
        library: the functions that come along.
        frozen: name of a constant -> the value of the variable it freezes; None for a trial: any value does.
        gradients: for each copy, source op number -> the gradient that the new op is registered with.

    Returns:
        the GraphDef, the tensors and the control inputs that its nodes take from `graph`.
    """
    graph_def = graph_pb2.GraphDef()
    tensors: dict[tuple[str, int], Any] = {}
    controls: dict[str, Any] = {}
    fresh = set(effect.new_names)
    for at, (copied, renamed) in enumerate(zip(effect.copies, library.names, strict=True)):
        for placeholder in copied.placeholders:
            graph_def.node.append(_placeholder(copied, placeholder.was, placeholder.name))
        for constant in copied.constants:
            graph_def.node.append(_constant(copied, constant, frozen))
        outside = _External(copied, fresh, graph, tensors, controls)
        rewrite = rewriter(copied, gradients[at] if gradients else {})
        _add_nodes(copied, outside, renamed, graph_def, library.everywhere, rewrite)
        for variable in copied.variables:
            graph_def.node.extend(setter_node(copied, op) for op in variable.setter)
    _set_inputs(effect, graph_def, fresh, graph, tensors)
    _set_versions(effect, graph_def, graph)
    graph_def.library.function.extend(library.renamed)
    graph_def.library.gradient.extend(library.gradients)
    return graph_def, tensors, controls


class _External:
    """How the nodes of one copy name what they read from outside; notes what must be mapped."""

    def __init__(
        self,
        copied: Copied,
        fresh: set[str],
        graph: Any,
        tensors: dict[tuple[str, int], Any],
        controls: dict[str, Any],
    ) -> None:
        source = copied.source
        self.texts: dict[str, str] = {}
        for (op, port), (name, new_port) in copied.external.items():
            new = name if new_port == 0 else f"{name}:{new_port}"
            old = source.names[op]
            self.texts[f"{old}:{port}"] = new
            if port == 0:
                self.texts[old] = new
            if name not in fresh:
                tensors[name, new_port] = graph.get_operation_by_name(name).outputs[new_port]
        self.controls = {source.names[i]: new for i, new in copied.control_kept.items()}
        for name in self.controls.values():
            if name not in fresh:
                controls[name] = graph.get_operation_by_name(name)
        # An op that a mapped tensor replaces is where its colocated ops go.
        self.places = {source.names[op]: name for (op, _), (name, _) in copied.external.items()}
        self.places.update(self.controls)


def _add_nodes(
    copied: Copied,
    external: _External,
    renamed: dict[str, str],
    graph_def: Any,
    everywhere: bool,
    rewrite: Rewrite | None,
) -> None:
    source, op_of = copied.source, op_finder(copied.source.owner)
    prefix = f"{copied.step.to}/" if copied.step.to else ""
    inside = {source.names[i] for i in copied.ops.tolist()}
    texts, keep_controls = external.texts, external.controls
    encoded = prefix.encode()
    stale: list[str] = []
    then, names, add = source.nodes, source.names, graph_def.node.add
    for number, name in zip(copied.ops.tolist(), copied.names, strict=True):
        node = add()
        read_node(op_of(names[number]), node)
        if node != then[number] and _differs(node, then[number]):
            stale.append(names[number])
        node.name = name
        if node.input:
            inputs = []
            for text in node.input:
                if text[0] == "^":
                    if text[1:] in inside:
                        inputs.append(f"^{prefix}{text[1:]}")
                    elif text[1:] in keep_controls:
                        inputs.append(f"^{keep_controls[text[1:]]}")
                else:
                    new = texts.get(text)
                    inputs.append(prefix + text if new is None else new)
            node.input[:] = inputs
        attributes = node.attr
        if "_class" in attributes:
            _colocate(node, inside, encoded, external.places)
        if encoded and "shared_name" in attributes:
            shared = attributes["shared_name"]
            if shared.s or node.op == "VarHandleOp":
                shared.s = encoded + (shared.s or names[number].encode())
        if encoded and "frame_name" in attributes:
            attributes["frame_name"].s = encoded + attributes["frame_name"].s
        if renamed and (everywhere or node.op in BRANCHING):
            rename_calls(node, renamed)
        if rewrite is not None:
            rewrite(number, node)
    if stale:
        raise StalePlanError(
            f"apply: {copied.step.text}",
            f"{len(stale)} op{'s' * (len(stale) > 1)} changed since the plan was made, {stale[0]!r} first",
            "Open the graph again and make the plan anew",
        )


def _differs(now: Any, then: Any) -> bool:
    """Whether a node has really changed: control inputs come in no fixed order, output 0 is written in two ways."""
    a, b = node_def_pb2.NodeDef(), node_def_pb2.NodeDef()
    for copy, node in ((a, now), (b, then)):
        copy.CopyFrom(node)
        data = [i.removesuffix(":0") for i in node.input if i[0] != "^"]
        copy.input[:] = data + sorted(i for i in node.input if i[0] == "^")
    return bool(a != b)


def _colocate(node: Any, inside: set[str], prefix: bytes, places: dict[str, str]) -> None:
    kept = []
    for place in node.attr["_class"].list.s:
        if not place.startswith(b"loc:@"):
            kept.append(place)
            continue
        name = place[5:].decode()
        if name in inside:
            kept.append(b"loc:@" + prefix + place[5:])
        elif name in places:
            kept.append(b"loc:@" + places[name].encode())
    if kept:
        node.attr["_class"].list.s[:] = kept
    else:
        del node.attr["_class"]


def _placeholder(copied: Copied, was: str, name: str) -> Any:
    tensor = copied.source.owner.as_graph_element(was)
    node = node_def_pb2.NodeDef(name=name, op="Placeholder")
    node.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(tensor.shape.as_proto())
    return node


def _constant(copied: Copied, new: NewConstant, frozen: Mapping[str, Any] | None) -> Any:
    if new.of:
        dtype, value = tf.as_dtype(new.info.dtype), None if frozen is None else frozen[new.name]
    else:
        dtype, value = copied.source.owner.as_graph_element(new.was).dtype.base_dtype, new.value
    node = node_def_pb2.NodeDef(name=new.name, op="Const")
    node.attr["dtype"].type = dtype.as_datatype_enum
    if value is None:  # one number stands for all of them
        tensor = tf.make_tensor_proto(b"" if dtype == tf.string else 0, dtype=dtype)
        tensor.tensor_shape.CopyFrom(tf.TensorShape(new.info.shape).as_proto())
    else:
        tensor = tf.make_tensor_proto(value, dtype=dtype)
    node.attr["value"].tensor.CopyFrom(tensor)
    return node


def setter_node(copied: Copied, new: NewOp) -> Any:
    """Returns the NodeDef of an op that sets a variable."""
    node = node_def_pb2.NodeDef(name=new.name, op=new.op, input=new.inputs)
    about = copied.source.owner.get_operation_by_name(new.of)
    dtype = about.get_attr("dtype").as_datatype_enum
    node.attr["T" if new.op in ("Assign", "Identity") else "dtype"].type = dtype
    if new.op == "Placeholder":
        node.attr["shape"].shape.CopyFrom(about.get_attr("shape"))
    else:
        node.attr["_class"].list.s.append(b"loc:@" + new.inputs[0].encode())
    return node


def _set_inputs(
    effect: Effect, graph_def: Any, fresh: set[str], graph: Any, tensors: dict[tuple[str, int], Any]
) -> None:
    wanted = [c for c in effect.connections if c.to in fresh]
    if not wanted:
        return
    nodes = {n.name: n for n in graph_def.node}
    for connection in wanted:
        name, _, port = connection.tensor.rpartition(":")
        node = nodes[connection.to]
        node.input[connection.input] = name if port == "0" else f"{name}:{port}"
        if name not in fresh:
            tensors[name, int(port)] = graph.get_operation_by_name(name).outputs[int(port)]


def _set_versions(effect: Effect, graph_def: Any, graph: Any) -> None:
    # A lower producer than the graph's own would lower the graph's: its shapes would be inferred by old rules.
    versions = graph.graph_def_versions
    if effect.plan.base.size == 0 and effect.copies:
        versions = effect.copies[0].source.owner.graph_def_versions
        for copied in effect.copies[1:]:
            other = copied.source.owner.graph_def_versions
            if other.producer > versions.producer:
                versions = other
    graph_def.versions.CopyFrom(versions)
