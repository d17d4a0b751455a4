"""Everything of TensorFlow that is private, in one place; each use was tried on TF 2.16 to 2.21.

Where a private name is missing, `raw_import_works` is False and copies go through `tf.import_graph_def`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import c_api_util, op_def_registry, ops
from tensorflow.python.ops.handle_data_util import copy_handle_data as copy_handle_data  # for its readers
from tensorflow.python.util import deprecation

from ..core.collector import gc_paused
from ..core.provenance import COLLECTION
from .chunks import constants_apart, without_far_places

tf1 = tf.compat.v1

try:
    from tensorflow.python.client import pywrap_tf_session as c_api
except ImportError:  # pragma: no cover - a TensorFlow without the C bindings under this name
    c_api = None

_NEEDED = (
    "TF_ImportGraphDefOptionsSetPrefix", "TF_ImportGraphDefOptionsSetUniquifyNames",
    "TF_ImportGraphDefOptionsSetValidateColocationConstraints", "TF_ImportGraphDefOptionsAddInputMapping",
    "TF_ImportGraphDefOptionsRemapControlDependency", "TF_GraphImportGraphDefWithResults", "TF_NewBufferFromString",
    "TF_DeleteBuffer",
)  # fmt: skip


#: `Tensor._shape` is the C++ side's (dimensions, unknown rank): five times quicker than `Tensor.shape`.
_RAW_SHAPES = isinstance(getattr(ops.SymbolicTensor, "_shape", None), property)
#: What a tensor of a graph is, and an op: most of what collections hold.
TENSOR = ops.SymbolicTensor
PLAIN = frozenset({TENSOR, tf.Operation})
#: `Operation._node_def` is the C++ side's NodeDef as bytes: twice as quick as `Graph.as_graph_def`, each time the same.
_RAW_NODES = isinstance(getattr(ops.Operation, "_node_def", None), property)


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
) -> dict[str, Any]:
    """Adds nodes with exactly the names they have; all of them or none.

    Args:
        graph: the destination `tf.Graph`.
        graph_def: only the new nodes, fully named.
        tensors: (op name, output) that the nodes read but that is not among them -> tensor of `graph`.
        controls: op name that the nodes wait for but that is not among them -> op of `graph`.
        wrap: make the Python operations too; False leaves the graph usable only for a trial.
        within: a scope all names are under. TensorFlow refuses an op named like a scope that is there, unless the
            scope around both is given as a prefix.

    Returns:
        name -> new Python operation; empty where none were made.

    Raises:
        whatever TensorFlow raises on nodes it does not take; the graph then has no new node, but for the constants of
        a GraphDef above 2 GB, which come in before the rest.
    """
    one_piece = _raw_import if raw_import_works() else _public_import
    try:
        return one_piece(graph, graph_def, tensors or {}, controls or {}, wrap, within)
    except _TooLarge:
        large, rest = constants_apart(graph_def, LIMIT // 2)
    made: dict[str, Any] = {}
    for part in large:
        made |= one_piece(graph, part, {}, {}, True, "")
    outside = {**(tensors or {}), **{(name, 0): op.outputs[0] for name, op in made.items()}}
    return made | one_piece(graph, rest, outside, {**(controls or {}), **made}, wrap, within)


#: A GraphDef of more bytes cannot be handed to TensorFlow in one piece.
LIMIT = 2**31 - 1


class _TooLarge(ValueError):
    """A GraphDef that cannot be handed over in one piece; nothing was changed."""


def _raw_import(
    graph: Any,
    graph_def: Any,
    tensors: Mapping[tuple[str, int], Any],
    controls: Mapping[str, Any],
    wrap: bool,
    within: str,
) -> dict[str, Any]:
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
    buffer = _buffer(graph_def)
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
        return _wrap_new(graph) if wrap else {}


def _buffer(graph_def: Any) -> Any:
    wire = graph_def.SerializeToString()
    if len(wire) > LIMIT:
        raise _TooLarge(f"a GraphDef of {len(wire)} bytes")
    return c_api.TF_NewBufferFromString(wire)


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


#: What `Operation._init` uses. Where it is just this, ops are made below without a call into Python for each.
_INIT = (
    "graph", "_original_op", "_inputs_val", "_device_code_locations", "_colocation_code_locations",
    "_get_control_flow_context", "_control_flow_context", "_gradient_function", "_init_outputs", "_add_op", "_id_value",
)  # fmt: skip


def _wrap_new(graph: Any) -> dict[str, Any]:
    in_use, names, made = graph._names_in_use, [], []
    kind, tensor_kind = ops.Operation, ops.SymbolicTensor
    known = getattr(getattr(kind._init, "__code__", None), "co_names", ()) == _INIT
    context, add = graph._get_control_flow_context(), graph._add_op
    with gc_paused():
        for c_op in graph.new_operations():
            op = kind(c_op, tensor_kind)
            if known:
                op.graph, op._control_flow_context = graph, context
                op._original_op = op._inputs_val = op._gradient_function = None
                op._device_code_locations = op._colocation_code_locations = None
                op._init_outputs()
                op._id_value = add(op)
            else:
                op._init(graph)
            names.append(op.name)  # in this loop, where the op is at hand for the processor too
            made.append(op)
        for name in names:
            in_use.setdefault(name.lower(), 1)
        return dict(zip(names, made, strict=True))


def same_shape(a: Any, b: Any) -> bool:
    """Returns whether two tensors have equal static shapes, without making `tf.TensorShape` objects."""
    if _RAW_SHAPES:
        return bool(a._shape == b._shape)
    return bool(a.shape.as_proto() == b.shape.as_proto())


def differently_shaped(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Returns the output tensors (old, new) of pairs of ops whose static shapes differ; a tight loop over all ops."""
    if not _RAW_SHAPES:
        both = ((a, b) for old, new in pairs for a, b in zip(old.outputs, new.outputs, strict=True))
        return [(a, b) for a, b in both if not same_shape(a, b)]
    out = []
    for old, new in pairs:
        for at, b in enumerate(new.outputs):
            dims, unknown = shape = b._shape
            # A shape that is wholly known cannot have been made more so by hand.
            if (unknown or -1 in dims) and old.outputs[at]._shape != shape:
                out.append((old.outputs[at], b))
    return out


def node_bytes(given: Iterable[Any]) -> list[bytes]:
    """Returns the NodeDefs of ops as bytes; those of an op that nobody has changed are the same each time."""
    if _RAW_NODES:
        return [op._node_def for op in given]
    return [op.node_def.SerializeToString(deterministic=True) for op in given]


def contexts_of(given: Iterable[Any]) -> list[Any]:
    """Returns the control-flow contexts of those ops that are in one."""
    return [context for context in map(_CONTEXT, given) if context is not None]


_CONTEXT = attrgetter("_control_flow_context")


def op_finder(graph: Any) -> Callable[[str], Any]:
    """Returns a call that finds an op by name, without the checks of the public one, which cost more than a copy."""
    found: Callable[[str], Any] = getattr(graph, "_get_operation_by_name", graph.get_operation_by_name)
    return found


def _public_import(
    graph: Any,
    graph_def: Any,
    tensors: Mapping[tuple[str, int], Any],
    controls: Mapping[str, Any],
    _wrap: bool,
    _within: str,
) -> dict[str, Any]:
    if graph_def.ByteSize() > LIMIT:
        raise _TooLarge(f"a GraphDef of {graph_def.ByteSize()} bytes")
    mapping: dict[str, Any] = {f"{name}:{port}": tensor for (name, port), tensor in tensors.items()}
    mapping.update({f"^{name}": op.outputs[0] for name, op in controls.items() if op.outputs})
    graph_def, places = without_far_places(graph_def)
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
    return {node.name: graph.get_operation_by_name(node.name) for node in graph_def.node}


def number_of(op: Any) -> int:
    """Returns the place of an op in the order in which the ops of its graph were made."""
    number = getattr(op, "_id", None)
    return op.graph.get_operations().index(op) if number is None else int(number)


def original_of(op: Any) -> Any:
    """Returns the op that an op says it was made for, or None."""
    return getattr(op, "_original_op", None)


#: `Operation._inputs_val` holds what `Operation.inputs` gave; it is another object once an input was set.
MARKS_INPUTS = "_inputs_val" in getattr(ops.Operation, "_update_input", raw_import_works).__code__.co_names


def input_marks(given: Sequence[Any]) -> list[Any]:
    """Returns for ops whose `inputs` were asked for objects that are the same while they read the same."""
    return list(map(attrgetter("_inputs_val"), given))


def set_original(op: Any, original: Any) -> None:
    """Sets the op that an op was made for."""
    op._original_op = original


def context_of(op: Any) -> Any:
    """Returns the loop or cond of TF1 that an op is in, or None."""
    return op._get_control_flow_context()


def rewiring_works() -> bool:
    """Returns whether this TensorFlow lets inputs of ops be changed; nothing public does."""
    needed = ("_update_input", "_add_control_inputs", "_remove_all_control_inputs")
    return all(hasattr(tf.Operation, name) for name in needed)


def set_input(op: Any, number: int, tensor: Any) -> None:
    """Makes an input of an op read another tensor; TensorFlow checks shapes and nothing else."""
    op._update_input(number, tensor)


def set_control_inputs(op: Any, was: Sequence[Any], now: Sequence[Any]) -> None:
    """Changes what an op waits for."""
    if any(not any(old is other for other in now) for old in was):
        op._remove_all_control_inputs()
        was = ()
    fresh = [other for other in now if not any(other is old for old in was)]
    if fresh:
        op._add_control_inputs(fresh)


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


def flops(op: Any) -> int | None:
    """Returns how many floating-point operations TensorFlow counts for a live op; None where it does not say."""
    with suppress(ImportError, AttributeError, AssertionError, ValueError, TypeError, LookupError):
        from tensorflow.python.profiler.internal import flops_registry as _registered  # noqa: F401

        with deprecation.silence():
            return int(ops.get_stats_for_node_def(op.graph, op.node_def, "flops").value) or None
    return None


def first_line(error: BaseException) -> str:
    """Returns the first line of what TensorFlow says of an error; the rest is its own stack."""
    lines = str(getattr(error, "message", error)).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def names_in_use(graph: Any) -> dict[str, int]:
    """Returns the table by which Python makes op names unique."""
    return graph._names_in_use


def all_collections(graph: Any) -> dict[Any, list[Any]]:
    """Returns the live table of collections itself, those with odd keys too."""
    return graph._collections


def collections_of(graph: Any) -> dict[str, list[Any]]:
    """Returns the live collections of a graph, sorted by name: TensorFlow makes them in an order that changes.

    What this package itself keeps there is left out: no copy takes it along, and no list shows it.
    """
    names = sorted(n for n in graph.get_all_collection_keys() if isinstance(n, str) and n != COLLECTION)
    return {name: graph.get_collection_ref(name) for name in names}
