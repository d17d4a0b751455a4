"""Node defs: writes the new nodes of a plan into one GraphDef, with all attributes that a correct copy needs."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...graph.functions import BRANCHING
from ...graph.graph import Graph, Mask
from ...graph.names import substitute_device
from ...graph.types import TFGraph, TFGraphDef, TFNodeDef, TFOp, TFTensor
from ...plan.copy_result import CopyResult, NewConstant, NewOp
from ...plan.plan_result import PlanResult
from ...plan.shape_inference import frontier
from ..edit.nodes import change_node, plan_nodes
from ..functions.definitions import Library, rename_calls
from ..functions.expand import constant
from ..import_tensorflow import tf
from ..messages import graph_pb2, node_def_pb2
from ..op_types import op_definition
from ..open import snapshot
from ..private.graphs import op_finder
from ..protos import decode, encode


def compile_nodes(
    effect: PlanResult,
    graph: TFGraph,
    library: Library,
    frozen_values: Mapping[str, Any] | None = None,
    gradients: Sequence[Mapping[int, str]] = (),
) -> tuple[TFGraphDef, dict[tuple[str, int], TFTensor], dict[str, TFOp]]:
    """Writes all new nodes of an effect into one GraphDef, with their full names.

    Args:
        effect: the effect to write.
        graph: the destination.
        library: the functions that are also copied.
        frozen_values: name of a constant -> the value of the variable that it replaces; None for a trial without
            values.
        gradients: for each copy, source op number -> the name of the gradient for the new op.

    Returns:
        the GraphDef; the tensors and the control inputs that its nodes read from `graph`.
    """
    graph_def = graph_pb2.GraphDef()
    for copied in effect.copies:
        graph_def.node.extend(_placeholder(copied, new.original, new.name) for new in copied.placeholders)
        graph_def.node.extend(constant_node(copied, new, frozen_values) for new in copied.constants)
        snapshot.add_current(copied, graph_def)
        graph_def.node.extend(setter_node(copied, op) for v in copied.variables for op in v.setter)
    if effect.added:
        graph_def = plan_nodes(effect, graph_def)
    _set_versions(effect, graph_def, graph)
    new, first = list(graph_def.node), effect.base.size
    _set_inputs(new, effect.after, first)
    for at, (copied, renamed) in enumerate(zip(effect.copies, library.names, strict=True)):
        start = int(copied.positions[copied.ops[0]]) - first if len(copied.ops) else 0
        rewrite = rewriter(copied, gradients[at] if gradients else {})
        copied_nodes = new[start : start + len(copied.ops)]
        _adapt(copied, copied_nodes, renamed, library.rename_everywhere, rewrite)
        if copied.source.live_graph.graph_def_versions.producer <= _ANY_SHAPE < graph_def.versions.producer:
            _open_shapes(copied_nodes)
    if effect.changes:
        nodes_by_name = {node.name: node for node in new}
        for name, change in effect.changes.items():
            change_node(nodes_by_name[name], change)
    graph_def.library.function.extend(library.renamed)
    graph_def.library.gradient.extend(library.gradients)
    return graph_def, *_outer_inputs(effect, graph)


def write_shapes(effect: PlanResult, graph_def: TFGraphDef, stale: Mask) -> list[TFNodeDef]:
    """Writes the static shapes of originals into nodes, if TensorFlow infers the shapes of their consumers again.

    No node contains a shape that a program set by `set_shape`, but the consumers need it during the import. All other
    shapes are set on the copies afterwards, which is faster.

    Args:
        effect: the effect that is written.
        graph_def: the nodes; they are changed.
        stale: a mask of the ops whose shapes are inferred again after the plan.

    Returns:
        the nodes that were changed.
    """
    completed: list[TFNodeDef] = []
    boundary, first = frontier(effect.after, stale), effect.base.size
    for copied in effect.copies if boundary.any() else ():
        live = copied.source.live_graph.get_operations()
        for number in copied.ops[boundary[copied.positions[copied.ops]]].tolist():
            shapes = [tensor.shape.as_proto() for tensor in live[number].outputs]
            node = graph_def.node[int(copied.positions[number]) - first]
            if shapes and number not in copied.new_types:
                node.attr["_output_shapes"].list.shape.extend(shapes)
                completed.append(node)
    return completed


def _set_inputs(new: list[TFNodeDef], after: Graph, first: int) -> None:
    """Sets the names and inputs of the new nodes: those of the ops from number `first` on, after the plan."""
    for node, name, texts in zip(new, after.names[first:], after.node_def_inputs(first), strict=True):
        node.name = name
        inputs = node.input
        if len(texts) == len(inputs):
            for at, text in enumerate(texts):
                inputs[at] = text
        else:
            inputs[:] = texts


def _outer_inputs(effect: PlanResult, graph: TFGraph) -> tuple[dict[tuple[str, int], TFTensor], dict[str, TFOp]]:
    """Returns the tensors and control inputs that new ops read from existing ops."""
    after, first = effect.after, effect.base.size
    names, find = after.names, op_finder(graph)
    node, port = after.data.node[after.data.ptr[first] :], after.data.port[after.data.ptr[first] :]
    old = node < first
    tensors = dict.fromkeys(zip(node[old].tolist(), port[old].tolist(), strict=True))
    waits = after.control.node[after.control.ptr[first] :]
    return (
        {(names[i], at): find(names[i]).outputs[at] for i, at in tensors},
        {names[i]: find(names[i]) for i in dict.fromkeys(waits[waits < first].tolist())},
    )


def _adapt(
    copy_result: CopyResult, new: list[TFNodeDef], new_names: dict[str, str], all_calls: bool, rewrite: Rewrite | None
) -> None:
    """Adapts the nodes of a copy: colocations, shared keys, functions, and the changes that the plan requires."""
    source, prefix = copy_result.source, copy_result.state_prefix.encode()
    kinds, _, kind_of = source.type_index
    keyed = np.array([bool(prefix or copy_result.keys) and _is_keyed(kind) for kind in kinds], np.bool_)
    keys = {old.encode(): new.encode() for old, new in copy_result.keys.items()}
    calling = np.array([bool(new_names) and (all_calls or kind in BRANCHING) for kind in kinds], np.bool_)
    kind = kind_of[copy_result.ops]

    def nodes_in(mask: Mask) -> Iterator[tuple[int, TFNodeDef]]:
        return ((int(copy_result.ops[k]), new[k]) for k in np.flatnonzero(mask).tolist())

    cache: dict[bytes, bytes] = {}
    for _, node in nodes_in(source.colocated[copy_result.ops]):
        _colocate(node, copy_result, cache)
    for number, node in nodes_in(keyed[kind]) if kinds else ():
        _rekey(node, prefix, source.names[number], keys)
    for _, node in nodes_in(calling[kind]) if kinds else ():
        rename_calls(node, new_names)
    if rewrite is not None:
        for number, node in zip(copy_result.ops.tolist(), new, strict=True):
            rewrite(number, node)


#: Attributes with the name of state, of a loop, or of a temporary variable. The value is often the name of the op.
_STATE_KEYS = ("shared_name", "frame_name", "var_name")
#: The same, and the attribute with the name of the gradient of a TensorArray.
_KEYS = (*_STATE_KEYS, "source")


@cache
def _is_keyed(kind: str) -> bool:
    """Whether ops of this type have an attribute that a copy must not share: the name of their state or loop."""
    definition = op_definition(kind)
    return definition is not None and any(a.name in _KEYS for a in definition.attr)


def rename_keys(graph: Graph, names: Mapping[str, str]) -> dict[str, str]:
    """Returns the new keys of shared state and of loops after ops are renamed: old key -> new key.

    A key changes if it is the name of a renamed op or begins with the scope of a renamed op. The old key is not kept,
    because another graph may later have state under it.

    Args:
        graph: the graph before the ops are renamed.
        names: old name -> new name of each renamed op.
    """
    attrs = [getattr(node, "attr", {}) for node in graph.nodes] if names else []
    keys = [{key: a[key].s.decode("utf-8", "replace") for key in _STATE_KEYS if key in a and a[key].s} for a in attrs]
    out: dict[str, str] = {}
    for name, mine in zip(graph.names, keys, strict=False):
        for key in mine.values() if name in names else ():
            new = _rename_key(key, name, names[name])
            if new != key:
                out.setdefault(key, new)
    there = {key for mine in keys for key in mine.values()} - out.keys()
    return {key: new for key, new in out.items() if new not in there}


def _rename_key(key: str, old: str, new: str) -> str:
    if key == old:
        return new
    before, after = old.split("/"), new.split("/")
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    scope = "/".join(before)
    return "/".join([*after, key[len(scope) + 1 :]]) if scope and key.startswith(f"{scope}/") else key


def _rekey(node: TFNodeDef, prefix: bytes, name: str, keys: Mapping[bytes, bytes]) -> None:
    attributes = node.attr
    for key in _KEYS:
        if key in attributes and attributes[key].s in keys:
            attributes[key].s = keys[attributes[key].s]
    if not prefix:
        return
    if "shared_name" in attributes:
        shared = attributes["shared_name"]
        if shared.s or node.op == "VarHandleOp":
            shared.s = prefix + (shared.s or name.encode())
    for key in _KEYS[1:]:
        if key in attributes and attributes[key].s:
            attributes[key].s = prefix + attributes[key].s


def _colocate(node: TFNodeDef, copy_result: CopyResult, cache: dict[bytes, bytes]) -> None:
    places, is_partial = node.attr["_class"].list.s, False
    for at, place in enumerate(places):
        new = cache.get(place)  # most colocations are shared by several ops
        if new is None:
            new = cache[place] = _new_colocation(place, copy_result)
        places[at] = new
        is_partial |= not new
    if is_partial:
        places[:] = [place for place in places if place]
        if not places:
            del node.attr["_class"]


def _new_colocation(place: bytes, copy_result: CopyResult) -> bytes:
    """Returns the colocation of a copy, given that of the original; empty if the other op was not copied."""
    if not place.startswith(b"loc:@"):
        return place
    name = place[5:].decode(errors="replace")
    number = copy_result.source.index.get(name, -1)
    if number >= 0 and copy_result.positions[number] >= 0:
        return b"loc:@" + copy_result.renamed(name).encode()
    return b"loc:@" + copy_result.mapped_ops[number].encode() if number in copy_result.mapped_ops else b""


def _placeholder(copy_result: CopyResult, source_tensor: str, name: str) -> TFNodeDef:
    tensor = copy_result.source.live_graph.as_graph_element(source_tensor)
    node = node_def_pb2.NodeDef(name=name, op="Placeholder")
    node.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(tensor.shape.as_proto())
    return node


def constant_node(copy_result: CopyResult, new: NewConstant, frozen_values: Mapping[str, Any] | None) -> TFNodeDef:
    """Returns the NodeDef of a constant that replaces a tensor; an unknown value becomes zeros or empty strings."""
    if new.frozen_variable:
        dtype, value = tf.as_dtype(new.info.dtype), None if frozen_values is None else frozen_values[new.name]
    else:
        dtype, value = copy_result.source.live_graph.as_graph_element(new.original).dtype.base_dtype, new.value
    if value is None:  # TensorFlow repeats a single number for all elements
        tensor = tf.make_tensor_proto(b"" if dtype == tf.string else 0, dtype=dtype)
        tensor.tensor_shape.CopyFrom(tf.TensorShape(new.info.shape).as_proto())
    else:
        tensor = tf.make_tensor_proto(value, dtype=dtype)
    return constant(new.name, tensor)


def setter_node(copy_result: CopyResult, new: NewOp) -> TFNodeDef:
    """Returns the NodeDef of an op that sets a variable."""
    node = node_def_pb2.NodeDef(name=new.name, op=new.op, input=new.inputs)
    about = copy_result.source.live_graph.get_operation_by_name(new.variable)
    dtype = about.get_attr("dtype").as_datatype_enum
    node.attr["T" if new.op in ("Assign", "Identity") else "dtype"].type = dtype
    if new.op == "Placeholder":
        node.attr["shape"].shape.CopyFrom(about.get_attr("shape"))
    else:
        node.attr["_class"].list.s.append(b"loc:@" + new.inputs[0].encode())
    return node


#: Up to this version, a Placeholder without dimensions has an unknown shape; later it is a scalar.
_ANY_SHAPE = 21


def _open_shapes(new: list[TFNodeDef]) -> None:
    """Makes the unknown ranks of an old graph explicit, because the destination of the copy has a newer version."""
    for node in new:
        if node.op == "Placeholder" and not node.attr["shape"].shape.dim:
            node.attr["shape"].shape.unknown_rank = True


def _set_versions(effect: PlanResult, graph_def: TFGraphDef, graph: TFGraph) -> None:
    # A lower producer version would also lower the version of the graph, and old rules of shape inference would apply.
    versions = graph.graph_def_versions
    if effect.base.size == 0 and effect.copies:
        versions = effect.copies[0].source.live_graph.graph_def_versions
        for copied in effect.copies[1:]:
            other = copied.source.live_graph.graph_def_versions
            if other.producer > versions.producer:
                versions = other
    graph_def.versions.CopyFrom(versions)


# -- the differences between a copied node and the original -----------------------------------------


Rewrite = Callable[[int, TFNodeDef], None]


def rewriter(copy_result: CopyResult, gradients: Mapping[int, str]) -> Rewrite | None:
    """Returns a function that changes the NodeDef of a copy, given the number of its source op; None if none changes.

    Args:
        copy_result: the copy.
        gradients: source op number -> the name of the gradient for its copy.
    """
    step = copy_result.step
    changes: list[Rewrite] = []
    if copy_result.new_types:
        changes.append(lambda number, node: convert_op(copy_result, number, node))
    if step.device != "keep":
        changes.append(lambda number, node: _place(node, step.device))
    if step.seeds == "new":
        changes.append(lambda number, node: _reseed(node))
    if gradients:
        changes.append(lambda number, node: _gradient(node, gradients.get(number)))
    if not changes:
        return None

    def rewrite(number: int, node: TFNodeDef) -> None:
        for change in changes:
            change(number, node)

    return rewrite


def convert_op(copy_result: CopyResult, number: int, node: TFNodeDef) -> None:
    """Changes the type of an op that reads a tensor instead of a variable, or of an Enter without its loop."""
    kind = copy_result.new_types.get(number)
    if kind is None:
        return
    attributes = {name: decode(type(value), encode(value)) for name, value in node.attr.items()}
    node.op = kind
    node.attr.clear()

    def keep(old: str, new: str) -> None:
        if old in attributes:
            node.attr[new].CopyFrom(attributes[old])

    if kind == "Identity":
        keep("T", "T")
        keep("dtype", "T")
    elif kind == "Shape":
        keep("out_type", "out_type")
        variable = copy_result.source.nodes[int(copy_result.source.data.row(number)[0])]
        node.attr["T"].type = variable.attr["dtype"].type
    else:
        keep("dtype", "Tparams")
        keep("Tindices", "Tindices")
        if kind == "Gather":
            keep("validate_indices", "validate_indices")
    for name in attributes:
        if name.startswith("_"):
            keep(name, name)


def _place(node: TFNodeDef, device: str | tuple[tuple[str, str], ...]) -> None:
    node.device = "" if device == "clear" else substitute_device(node.device, device)  # type: ignore[arg-type]


def _reseed(node: TFNodeDef) -> None:
    """Sets another seed, derived from the name, if a random op has a seed."""
    attributes = node.attr
    if "seed" in attributes and "seed2" in attributes and (attributes["seed"].i or attributes["seed2"].i):
        attributes["seed2"].i = (zlib.crc32(node.name.encode()) & 0x7FFFFFFF) | 1


def _gradient(node: TFNodeDef, name: str | None) -> None:
    if name is not None:
        node.attr["_gradient_op_type"].s = name.encode()
