"""Graphs: uses private parts of graphs, ops, tensors, variables and sessions; tried on TF 2.16 to 2.21.

It also reads inferred shapes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry, ops
from tensorflow.python.ops import ref_variable, resource_variable_ops, script_ops, variable_scope
from tensorflow.python.ops import variables as variables_module
from tensorflow.python.ops.handle_data_util import copy_handle_data as copy_handle_data  # for other modules
from tensorflow.python.util import deprecation

from ...graph.graph import TensorInfo
from ...graph.names import partitioned_name
from ...graph.provenance import COLLECTION
from ...graph.types import TFGraph, TFTensor
from ..protos import empty_graph, encode
from .c_api import TENSOR, names_in

#: `Tensor._shape` is (dimensions, unknown rank) from C++: five times faster than `Tensor.shape`.
_RAW_SHAPES = isinstance(getattr(ops.SymbolicTensor, "_shape", None), property)
#: The types of tensors and ops in graphs; most items of collections are tensors or ops.
ELEMENT_TYPES = frozenset({TENSOR, tf.Operation})
#: `Operation._node_def` is the NodeDef as bytes from C++: twice as fast as `Graph.as_graph_def`, and always the same.
_RAW_NODES = isinstance(getattr(ops.Operation, "_node_def", None), property)

#: `Graph.num_operations` counts in C++, while `get_operations` makes a list of all ops.
_HAS_OP_COUNT = callable(getattr(tf.Graph, "num_operations", None))

#: The table in which TensorFlow finds the Python functions that ops call.
_PYTHON = getattr(script_ops, "_py_funcs", None)


def op_count(graph: Any) -> int:
    """Returns how many ops a graph has."""
    return int(graph.num_operations()) if _HAS_OP_COUNT else len(graph.get_operations())


def same_shape(a: Any, b: Any) -> bool:
    """Returns whether two tensors have equal static shapes, without making `tf.TensorShape` objects."""
    if _RAW_SHAPES:
        return bool(a._shape == b._shape)
    return bool(a.shape.as_proto() == b.shape.as_proto())


def static_shape(tensor: Any) -> tuple[int | None, ...] | None:
    """Returns the static shape of a tensor of a graph; None if its rank is not known, or if a size is negative.

    TensorFlow infers negative sizes from unusual attributes.
    """
    try:
        sizes, unknown_rank = tensor._shape if _RAW_SHAPES else (tensor.shape, tensor.shape.rank is None)
    except ValueError:
        return None
    return None if unknown_rank or any(size is not None and size < 0 for size in sizes) else tuple(sizes)


def differently_shaped(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Returns pairs of output tensors (old, new) with different static shapes, given pairs of ops; must be fast."""
    if not _RAW_SHAPES:
        tensors = ((a, b) for old, new in pairs for a, b in zip(old.outputs, new.outputs, strict=True))
        return [(a, b) for a, b in tensors if not same_shape(a, b)]
    # `set_shape` cannot have changed a completely known shape.
    return [
        (old.outputs[port], output)
        for old, new in pairs
        for port, output in enumerate(new.outputs)
        if ((shape := output._shape)[1] or None in shape[0]) and old.outputs[port]._shape != shape
    ]


def is_composite(value: Any) -> bool:
    """Returns whether a value is a composite tensor, such as a sparse or ragged tensor; also true for a tensor."""
    return hasattr(value, "_type_spec")


# -- ops ------------------------------------------------------------------------------------------


def node_bytes(op_list: Iterable[Any]) -> list[bytes]:
    """Returns the NodeDefs of ops as bytes, which stay the same until the op changes."""
    if _RAW_NODES:
        return [op._node_def for op in op_list]
    return [encode(op.node_def, deterministic=True) for op in op_list]


def op_finder(graph: Any) -> Callable[[str], Any]:
    """Returns a function that finds an op by name; the checks of the public method would take longer than a copy."""
    find: Callable[[str], Any] = getattr(graph, "_get_operation_by_name", graph.get_operation_by_name)
    return find


def has_op(graph: Any, name: str) -> bool:
    """Returns whether a graph has an op of this name."""
    with suppress(KeyError):
        return op_finder(graph)(name) is not None
    return False


def number_of(op: Any) -> int:
    """Returns the number of an op in the order of creation in its graph."""
    number = getattr(op, "_id", None)
    return op.graph.get_operations().index(op) if number is None else int(number)


def originals_of(op_list: Iterable[Any]) -> list[Any]:
    """Returns for each op the op recorded as its original, or None; an empty list if no op has an original."""
    try:
        originals = list(map(_ORIGINAL, op_list))
    except AttributeError:
        return []
    return [] if {type(None)}.issuperset(map(type, originals)) else originals


_ORIGINAL = attrgetter("_original_op")


def set_original(op: Any, original: Any) -> None:
    """Records the original of an op."""
    op._original_op = original


def set_attribute(op: Any, name: str, value: Any) -> None:
    """Sets an attribute of an existing op."""
    op._set_attr(name, value)


#: `Operation._inputs_val` caches the result of `Operation.inputs`; it is another object after an input was changed.
MARKS_INPUTS = "_inputs_val" in names_in(getattr(ops.Operation, "_update_input", None))


def input_marks(op_list: Sequence[Any]) -> list[Any]:
    """Returns objects that change if an op gets other inputs; `inputs` of the ops must have been read before."""
    return list(map(attrgetter("_inputs_val"), op_list))


def current_control_inputs(graph: Any) -> list[Any]:
    """Returns the control inputs of a new op from the current `tf.control_dependencies` of a graph, in order."""
    return sorted(getattr(graph, "_current_control_dependencies", list)(), key=number_of)


def rewiring_works() -> bool:
    """Returns whether this version of TensorFlow can change inputs of ops, which needs private methods."""
    required = ("_update_input", "_add_control_inputs", "_remove_all_control_inputs")
    return all(hasattr(tf.Operation, name) for name in required)


def set_input(op: Any, number: int, tensor: Any) -> None:
    """Makes an input of an op read another tensor; TensorFlow checks only shapes."""
    op._update_input(number, tensor)


def set_control_inputs(op: Any, old_inputs: Sequence[Any], new_inputs: Sequence[Any]) -> None:
    """Changes the control inputs of an op."""
    if any(not any(old_input is other for other in new_inputs) for old_input in old_inputs):
        op._remove_all_control_inputs()
        old_inputs = ()
    added_inputs = [other for other in new_inputs if not any(other is old_input for old_input in old_inputs)]
    if added_inputs:
        op._add_control_inputs(added_inputs)


# -- op types and their gradients -----------------------------------------------------------------


def kernel_devices(op_type: str) -> frozenset[str] | None:
    """Returns the types of devices that have a kernel for an op type here; None if TensorFlow does not list them."""
    try:
        from tensorflow.python.framework import kernels

        return frozenset(kernel.device_type for kernel in kernels.get_registered_kernels_for_op(op_type).kernel)
    except (ImportError, AttributeError):
        return None


def registered_op(name: str) -> Any:
    """Returns the OpDef of an op type that is registered, or None."""
    return op_def_registry.get(name)


def flops(op: Any) -> int | None:
    """Returns the number of floating-point operations that TensorFlow counts for a live op; None if it has no count."""
    with suppress(ImportError, AttributeError, AssertionError, ValueError, TypeError, LookupError):
        from tensorflow.python.profiler.internal import flops_registry as _registered  # noqa: F401

        with deprecation.silence():
            return int(ops.get_stats_for_node_def(op.graph, op.node_def, "flops").value) or None
    return None


def counts_flops(op_type: str) -> bool:
    """Whether TensorFlow counts floating-point operations for an op type whose shapes are known."""
    with suppress(ImportError, AttributeError, LookupError):
        from tensorflow.python.profiler.internal import flops_registry as _registered  # noqa: F401

        return ops._stats_registry.lookup(f"{op_type},flops") is not None
    return False


def registered_gradient(name: str) -> Any:
    """Returns the function that is registered as a gradient; raises LookupError if there is none."""
    return ops.gradient_registry.lookup(name)


def gradient_function(op: Any) -> Any:
    """Returns the gradient that Python keeps on a call of a function; None if there is none."""
    return getattr(op, "_gradient_function", None)


def set_gradient_function(op: Any, gradient: Any) -> None:
    """Sets the gradient that Python keeps on a call of a function."""
    op._gradient_function = gradient


# -- the contents of a graph apart from its ops ---------------------------------------------------


def free_lock(graph: Any, timeout: float = 1.0) -> None:
    """Replaces the lock of a graph if an interrupt has left it locked, which would block all additions.

    TensorFlow's lock is written in Python, so an interrupt may occur inside it.

    Args:
        graph: a `tf.Graph` that this thread is not changing.
        timeout: how long to wait until other threads have finished their additions, in seconds.
    """
    lock: Any = getattr(graph, "_group_lock", None)
    ready, counts = getattr(lock, "_ready", None), getattr(lock, "_group_member_counts", None)
    if ready is None or counts is None:
        return
    end = time.monotonic() + timeout
    while ready.acquire(timeout=max(0.0, end - time.monotonic())):
        adding = counts[ops._MUTATION_LOCK_GROUP] > 0
        ready.release()
        if not adding:
            return
        if time.monotonic() >= end:
            break
        time.sleep(0.01)
    graph._group_lock = type(lock)(num_groups=len(counts))


def guarded_ops(graph: Any) -> Any:
    """Returns the live set of ops that must not be fetched; None if TensorFlow has none."""
    return getattr(graph, "_unfetchable_ops", None)


def guarded_tensors(graph: Any) -> Any:
    """Returns the live set of tensors that must not be fed; None if TensorFlow has none."""
    return getattr(graph, "_unfeedable_tensors", None)


def callbacks(graph: Any) -> list[Any]:
    """Returns the Python functions that a graph keeps alive for its `py_func` ops."""
    return list(getattr(graph, "_py_funcs_used_in_graph", ()))


def set_callbacks(graph: Any, functions: Sequence[Any]) -> None:
    """Sets the Python functions that a graph keeps alive; does nothing if there are none before and after."""
    if functions or callbacks(graph):
        graph._py_funcs_used_in_graph = list(functions)


def token_of(function: Callable[..., Any]) -> tuple[str, Any]:
    """Returns the token by which a `PyFunc` of any graph calls a function, and an object that keeps it alive."""
    if _PYTHON is not None and hasattr(_PYTHON, "insert"):
        return str(_PYTHON.insert(function)), function
    with empty_graph().as_default() as graph:
        return str(tf.numpy_function(function, [], []).get_attr("token").decode()), graph


class LiveOutputs:
    """Returns dtype and shape of the outputs of an op of a live graph, by op number."""

    def __init__(self, graph: TFGraph) -> None:
        self._graph = graph
        self._ops: Sequence[Any] = ()

    def __call__(self, number: int) -> Sequence[TensorInfo]:
        if number >= len(self._ops):
            self._ops = self._graph.get_operations()
        return [tensor_info(t) for t in self._ops[number].outputs]


def tensor_info(tensor: TFTensor) -> TensorInfo:
    """Returns dtype and static shape of a `tf.Tensor`."""
    return TensorInfo(tensor.dtype.name, static_shape(tensor))


def all_collections(graph: Any) -> dict[Any, list[Any]]:
    """Returns the live table of collections, not a copy, including keys that are not text."""
    return graph._collections


def collections_of(graph: Any) -> dict[str, list[Any]]:
    """Returns the live collections of a graph, sorted by name, because their order in TensorFlow changes.

    The collection of this package is left out: it is never copied or listed.
    """
    names = sorted(n for n in graph.get_all_collection_keys() if isinstance(n, str) and n != COLLECTION)
    return {name: graph.get_collection_ref(name) for name in names}


def collection_reader(name: str) -> tuple[Any, Any]:
    """Returns the proto type for items of a collection, and the function that reads it; None if there is none."""
    return ops.get_collection_proto_type(name), ops.get_from_proto_function(name)


#: The methods that every run of a session calls with its ops; for callables, the method that makes them.
RUN, EXTEND_AND_RUN, MAKE_CALLABLE = "_do_run", "_call_tf_sessionrun", "_make_callable_from_options"


def callable_of(session: Any, options: Any) -> Any:
    """Returns a callable that runs a session by `CallableOptions` and ignores static shapes; None if not available."""
    make = getattr(session, MAKE_CALLABLE, None)
    return make and make(options)


def innermost(session: Any) -> Any:
    """Returns the session inside a wrapper, such as a monitored session."""
    while not hasattr(session, RUN):
        inside = getattr(session, "_tf_sess", None)
        inner = inside() if callable(inside) else getattr(session, "_sess", None)
        if inner is None:
            break
        session = inner
    return session


def config_of(session: Any) -> Any:
    """Returns the ConfigProto that a session was made with, or None."""
    return getattr(session, "_config", None)


def is_closed(session: Any) -> bool:
    """Returns whether a session was closed; False if that is not known."""
    return bool(getattr(session, "_closed", False))


def load_ops(session: Any) -> None:
    """Makes a session load all ops of its graph, which otherwise happens in the next run."""
    learn = getattr(session, "_extend_graph", None)
    if learn is not None:
        learn()


def has_loaded(session: Any, op: Any) -> bool:
    """Returns whether a session has loaded an op. Each run of a session loads all ops that the graph has at that time.

    A session that has never run loads all ops now. The result is True if it cannot be checked.
    """
    run = getattr(innermost(session), EXTEND_AND_RUN, None)
    if run is None:
        return True
    try:
        run(None, {}, [], [op._c_op], None)
    except tf.errors.NotFoundError as error:  # only the text of the error lists the ops
        return op.name not in str(error.message).partition("nodes not found:")[2].split()
    except (tf.errors.OpError, RuntimeError):  # a real run reports its own error
        return True
    return True


def is_local(session: Any) -> bool:
    """Returns whether a session runs in this process, without a server, and so shares no variables."""
    return getattr(innermost(session), "sess_str", None) in (b"", "")


_VARIABLES = (ref_variable.RefVariable, resource_variable_ops.BaseResourceVariable)


def is_variable(item: Any) -> bool:
    """Returns whether an item is a `tf.Variable` of a graph, a resource or reference variable, with a VariableDef.

    The result of an update such as `assign_add` is of the same class, but has no initializer and does not count.
    """
    if type(item) in ELEMENT_TYPES:  # true for most items; `isinstance` is slow for variables
        return False
    return isinstance(item, _VARIABLES) and getattr(item, "initializer", None) is not None


def unwrap_update(item: Any) -> Any:
    """Returns the op of an update of a resource variable, which TensorFlow wraps in a variable; else the item."""
    if type(item) in ELEMENT_TYPES or not isinstance(item, _VARIABLES) or is_variable(item):
        return item
    return getattr(item, "_parent_op", item)


def is_partitioned(item: Any) -> bool:
    """Returns whether an item is a partitioned variable; each of its parts is a variable too."""
    return isinstance(item, variables_module.PartitionedVariable)


def from_parts(original: Any, parts: Mapping[int, Any]) -> Any:
    """Returns a copy of a partitioned variable with other parts.

    Args:
        original: the partitioned variable.
        parts: id of a part of the original -> the new part, in order.
    """
    first = next(iter(original))
    name = partitioned_name(original._name, first.op.name, parts[id(first)].op.name)
    return type(original)(name, original._shape, original.dtype, list(parts.values()), original._partitions)


def from_proto(proto: Any, original: Any) -> Any:
    """Returns a `tf.Variable` for existing ops of the default graph, with properties that are not in the proto.

    Args:
        proto: the VariableDef.
        original: the original, if the variable is a copy; otherwise None.
    """
    kind = resource_variable_ops.ResourceVariable if proto.is_resource else ref_variable.RefVariable
    new = kind.from_proto(proto)
    constraint = getattr(original, "_constraint", None)
    if constraint is not None:
        new._constraint = constraint
    return new


def slice_of(variable: Any) -> Any:
    """Returns the position of a part in its partitioned variable; None for any other variable."""
    return getattr(variable, "_save_slice_info", None)


def take_scopes(graph: Any, names: Iterable[str]) -> None:
    """Reserves names of variable scopes, so that later scopes with the same names get other names."""
    with graph.as_default():
        store = variable_scope.get_variable_scope_store()
    for name in names:
        store.open_variable_scope(name)
