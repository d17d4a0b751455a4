"""Everything of TensorFlow that is private, in one place; each use was tried on TF 2.16 to 2.21.

Where a private name is missing, `raw_import_works` is False and copies go through `tf.import_graph_def`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import c_api_util, op_def_registry, ops
from tensorflow.python.ops.handle_data_util import copy_handle_data as copy_handle_data  # for its readers

from .chunks import constants_apart

tf1 = tf.compat.v1

try:
    from tensorflow.python.client import pywrap_tf_session as c_api
except ImportError:  # pragma: no cover - a TensorFlow without the C bindings under this name
    c_api = None

_NEEDED = (
    "TF_ImportGraphDefOptionsSetPrefix",
    "TF_ImportGraphDefOptionsSetUniquifyNames",
    "TF_ImportGraphDefOptionsSetValidateColocationConstraints",
    "TF_ImportGraphDefOptionsAddInputMapping",
    "TF_ImportGraphDefOptionsRemapControlDependency",
    "TF_GraphImportGraphDefWithResults",
    "TF_NewBufferFromString",
    "TF_DeleteBuffer",
)


#: `Tensor._shape` is the C++ side's (dimensions, unknown rank): five times quicker than `Tensor.shape`.
_RAW_SHAPES = isinstance(getattr(ops.SymbolicTensor, "_shape", None), property)


def raw_import_works() -> bool:
    """Returns whether this TensorFlow has what the fast import needs."""
    return (
        c_api is not None
        and all(hasattr(c_api, name) for name in _NEEDED)
        and hasattr(c_api_util, "ScopedTFImportGraphDefOptions")
        and all(hasattr(tf.Graph, name) for name in ("_mutation_lock", "_add_new_tf_operations", "new_operations"))
        and hasattr(ops, "SymbolicTensor")
    )


def import_nodes(
    graph: Any,
    graph_def: Any,
    tensors: Mapping[tuple[str, int], Any] | None = None,
    controls: Mapping[str, Any] | None = None,
    *,
    wrap: bool = True,
    within: str = "",
) -> None:
    """Adds nodes with exactly the names they have; all of them or none.

    Args:
        graph: the destination `tf.Graph`.
        graph_def: only the new nodes, fully named.
        tensors: (op name, output) that the nodes read but that is not among them -> tensor of `graph`.
        controls: op name that the nodes wait for but that is not among them -> op of `graph`.
        wrap: make the Python operations too; False leaves the graph usable only for a trial.
        within: a scope all names are under. TensorFlow refuses an op named like a scope that is there, unless the
            scope around both is given as a prefix.

    Raises:
        whatever TensorFlow raises on nodes it does not take; the graph then has no new node, but for the constants of
        a GraphDef above 2 GB, which come in before the rest.
    """
    if not _fits(graph_def):
        large, graph_def = constants_apart(graph_def, LIMIT // 2)
        tensors, controls = dict(tensors or {}), dict(controls or {})
        for part in large:
            import_nodes(graph, part, wrap=True)
            for node in part.node:
                controls[node.name] = graph.get_operation_by_name(node.name)
                tensors[node.name, 0] = controls[node.name].outputs[0]
    if raw_import_works():
        _raw_import(graph, graph_def, tensors or {}, controls or {}, wrap, within)
    else:
        _public_import(graph, graph_def, tensors or {}, controls or {})


#: A GraphDef of more bytes cannot be handed to TensorFlow in one piece.
LIMIT = 2**31 - 1


def _fits(graph_def: Any) -> bool:
    """Whether a GraphDef can be written in one piece; asked of those with a node that is large by itself."""
    large = [node for node in graph_def.node if node.op == "Const" and node.attr["value"].tensor.tensor_content]
    held = sum(len(node.attr["value"].tensor.tensor_content) for node in large)
    return held < LIMIT // 2 or sum(node.ByteSize() for node in graph_def.node) < LIMIT


def _raw_import(
    graph: Any,
    graph_def: Any,
    tensors: Mapping[tuple[str, int], Any],
    controls: Mapping[str, Any],
    wrap: bool,
    within: str,
) -> None:
    scoped = c_api_util.ScopedTFImportGraphDefOptions()
    options = scoped.options
    c_api.TF_ImportGraphDefOptionsSetPrefix(options, within)
    if within:
        graph_def = _without_prefix(graph_def, within + "/", tensors, controls)
    c_api.TF_ImportGraphDefOptionsSetUniquifyNames(options, False)
    c_api.TF_ImportGraphDefOptionsSetValidateColocationConstraints(options, False)
    for (name, port), tensor in tensors.items():
        c_api.TF_ImportGraphDefOptionsAddInputMapping(options, name, port, tensor._as_tf_output())
    for name, op in controls.items():
        c_api.TF_ImportGraphDefOptionsRemapControlDependency(options, name, op._c_op)
    buffer = c_api.TF_NewBufferFromString(graph_def.SerializeToString())
    before = set(function_names(graph)) if len(graph_def.library.function) else set()
    with graph._mutation_lock():
        try:
            results = c_api.TF_GraphImportGraphDefWithResults(graph, buffer, options)
            c_api_util.ScopedTFImportGraphDefResults(results)
        except BaseException:
            # A late failure leaves the functions of the GraphDef behind: take them out again.
            for function in graph_def.library.function if not graph.new_operations() else ():
                if function.signature.name not in before:
                    with suppress(Exception):
                        c_api.TF_GraphRemoveFunction(graph, function.signature.name)
            raise
        finally:
            c_api.TF_DeleteBuffer(buffer)
        if wrap:
            _wrap_new(graph)


def _without_prefix(
    graph_def: Any, prefix: str, tensors: Mapping[tuple[str, int], Any], controls: Mapping[str, Any]
) -> Any:
    """Takes a prefix from the names of nodes; what they read from outside keeps its full name."""
    out = type(graph_def)()
    out.CopyFrom(graph_def)
    own = {n.name for n in graph_def.node}

    def cut(text: str) -> str:
        mark = "^" if text.startswith("^") else ""
        name = text[len(mark) :]
        return mark + (name.removeprefix(prefix) if name.partition(":")[0] in own else name)

    for node in out.node:
        node.name = node.name.removeprefix(prefix)
        node.input[:] = [cut(text) for text in node.input]
        if "_class" in node.attr:
            places = node.attr["_class"].list.s
            lead = b"loc:@" + prefix.encode()
            places[:] = [b"loc:@" + p.removeprefix(lead) if p.startswith(lead) else p for p in places]
    return out


def adopt_ops(graph: Any) -> None:
    """Makes the Python ops of nodes that TensorFlow holds already: an import may be cut short between the two."""
    if hasattr(graph, "new_operations"):
        _wrap_new(graph)


def _wrap_new(graph: Any) -> None:
    in_use = graph._names_in_use
    with gc_paused():
        for c_op in graph.new_operations():
            op = ops.Operation(c_op, ops.SymbolicTensor)
            op._init(graph)
            in_use.setdefault(op.name.lower(), 1)


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pauses the garbage collector, which doubles the cost of making many small objects at once."""
    enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if enabled:
            gc.enable()


def same_shape(a: Any, b: Any) -> bool:
    """Returns whether two tensors have equal static shapes, without making `tf.TensorShape` objects."""
    if _RAW_SHAPES:
        return bool(a._shape == b._shape)
    return bool(a.shape.as_proto() == b.shape.as_proto())


def differently_shaped(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Returns the output tensors (old, new) of pairs of ops whose static shapes differ; a tight loop over all ops."""
    if _RAW_SHAPES:
        return [
            (a, b) for old, new in pairs for a, b in zip(old.outputs, new.outputs, strict=True) if a._shape != b._shape
        ]
    return [(a, b) for old, new in pairs for a, b in zip(old.outputs, new.outputs, strict=True) if not same_shape(a, b)]


def read_node(op: Any, into: Any) -> None:
    """Reads the NodeDef of an op into a message; quicker than a new one."""
    raw = getattr(op, "_node_def", None)
    if isinstance(raw, bytes):
        into.ParseFromString(raw)
    else:
        into.CopyFrom(op.node_def)


def op_finder(graph: Any) -> Callable[[str], Any]:
    """Returns a call that finds an op by name, without the checks of the public one, which cost more than a copy."""
    found: Callable[[str], Any] = getattr(graph, "_get_operation_by_name", graph.get_operation_by_name)
    return found


def _public_import(
    graph: Any, graph_def: Any, tensors: Mapping[tuple[str, int], Any], controls: Mapping[str, Any]
) -> None:
    mapping: dict[str, Any] = {f"{name}:{port}": tensor for (name, port), tensor in tensors.items()}
    mapping.update({f"^{name}": op.outputs[0] for name, op in controls.items() if op.outputs})
    graph_def, places = _without_far_places(graph_def)
    waits = []  # the public import takes no op without outputs to wait for
    for node in graph_def.node:
        mute = [t for t in node.input if t[0] == "^" and t[1:] in controls and not controls[t[1:]].outputs]
        if mute:
            waits.append((node.name, [controls[text[1:]] for text in mute]))
            node.input[:] = [text for text in node.input if text not in mute]
    with graph.as_default(), quiet_stacks():
        tf1.import_graph_def(graph_def, input_map=mapping or None, name="")
    for name, value in places.items():
        graph.get_operation_by_name(name)._set_attr("_class", value)
    for name, ops_before in waits:
        graph.get_operation_by_name(name)._add_control_inputs(ops_before)


def _without_far_places(graph_def: Any) -> tuple[Any, dict[str, Any]]:
    """Takes out colocations with ops that are not among the nodes: the public import refuses them."""
    out = type(graph_def)()
    out.CopyFrom(graph_def)
    own = {b"loc:@" + n.name.encode() for n in out.node}
    places = {}
    for node in out.node:
        if "_class" in node.attr and any(p not in own for p in node.attr["_class"].list.s):
            places[node.name] = type(node.attr["_class"])()
            places[node.name].CopyFrom(node.attr["_class"])
            del node.attr["_class"]
    return out, places


@contextmanager
def outside_contexts(graph: Any) -> Iterator[None]:
    """Leaves the loop or cond that the caller is building: what is imported is no part of it."""
    inside = graph._get_control_flow_context()
    try:
        graph._set_control_flow_context(None)
        yield
    finally:
        graph._set_control_flow_context(inside)


@contextmanager
def quiet_stacks() -> Iterator[None]:
    """Clears what the caller's context would add to new ops: control inputs, name scopes, devices."""
    with tf1.control_dependencies(None), ops.name_scope(None), tf1.device(None):
        yield


def function_names(graph: Any) -> list[str]:
    """Returns the names of the functions a graph holds."""
    return list(getattr(graph, "_functions", {}))


def known_op(name: str) -> bool:
    """Returns whether this TensorFlow has an op of this type registered."""
    return op_def_registry.get(name) is not None


def op_definition(name: str) -> Any:
    """Returns the OpDef of an op type, or None."""
    return op_def_registry.get(name)


def first_line(error: BaseException) -> str:
    """Returns the first line of what TensorFlow says of an error; the rest is its own stack."""
    return str(getattr(error, "message", error)).strip().splitlines()[0]


def names_in_use(graph: Any) -> dict[str, int]:
    """Returns the table by which Python makes op names unique."""
    return graph._names_in_use


def all_collections(graph: Any) -> dict[Any, list[Any]]:
    """Returns the live table of collections itself, those with odd keys too."""
    return graph._collections


def collections_of(graph: Any) -> dict[str, list[Any]]:
    """Returns the live collections of a graph, sorted by name: TensorFlow makes them in an order that changes."""
    names = sorted(n for n in graph.get_all_collection_keys() if isinstance(n, str))
    return {name: graph.get_collection_ref(name) for name in names}
