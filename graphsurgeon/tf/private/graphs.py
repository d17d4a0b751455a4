"""Graphs: what is private in graphs, ops and tensors; each use was tried on TF 2.16 to 2.21."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry, ops
from tensorflow.python.ops import script_ops
from tensorflow.python.ops.handle_data_util import copy_handle_data as copy_handle_data  # for its readers
from tensorflow.python.util import deprecation

from ...graph.provenance import COLLECTION
from ..fresh import fresh
from ..wire import encoded

#: `Tensor._shape` is the C++ side's (dimensions, unknown rank): five times quicker than `Tensor.shape`.
_RAW_SHAPES = isinstance(getattr(ops.SymbolicTensor, "_shape", None), property)
#: What a tensor of a graph is, and an op: most of what collections hold.
TENSOR = ops.SymbolicTensor
PLAIN = frozenset({TENSOR, tf.Operation})
#: `Operation._node_def` is the C++ side's NodeDef as bytes: twice as quick as `Graph.as_graph_def`, each time the same.
_RAW_NODES = isinstance(getattr(ops.Operation, "_node_def", None), property)

#: `Graph.num_operations` counts on the C++ side, where `get_operations` makes a list of them all.
_COUNTS = callable(getattr(tf.Graph, "num_operations", None))

#: Where TensorFlow looks Python functions up that ops call.
_PYTHON = getattr(script_ops, "_py_funcs", None)


def op_count(graph: Any) -> int:
    """Returns how many ops a graph has."""
    return int(graph.num_operations()) if _COUNTS else len(graph.get_operations())


def same_shape(a: Any, b: Any) -> bool:
    """Returns whether two tensors have equal static shapes, without making `tf.TensorShape` objects."""
    if _RAW_SHAPES:
        return bool(a._shape == b._shape)
    return bool(a.shape.as_proto() == b.shape.as_proto())


def static_shape(tensor: Any) -> tuple[int | None, ...] | None:
    """Returns the static shape of a tensor of a graph; None where its rank is not known, or where it has sizes below 0.

    From an odd attribute, TensorFlow infers these.
    """
    try:
        found, unknown = tensor._shape if _RAW_SHAPES else (tensor.shape, tensor.shape.rank is None)
    except ValueError:
        return None
    return None if unknown or any(size is not None and size < 0 for size in found) else tuple(found)


def differently_shaped(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Returns the output tensors (old, new) of pairs of ops whose static shapes differ; a tight loop over all ops."""
    if not _RAW_SHAPES:
        both = ((a, b) for old, new in pairs for a, b in zip(old.outputs, new.outputs, strict=True))
        return [(a, b) for a, b in both if not same_shape(a, b)]
    # A shape that is wholly known cannot have been made more so by hand.
    return [
        (old.outputs[at], made)
        for old, new in pairs
        for at, made in enumerate(new.outputs)
        if ((shape := made._shape)[1] or None in shape[0]) and old.outputs[at]._shape != shape
    ]


def is_composite(thing: Any) -> bool:
    """Returns whether something is made of several tensors, as a sparse or ragged one is; a tensor says so too."""
    return hasattr(thing, "_type_spec")


# -- ops ------------------------------------------------------------------------------------------


def node_bytes(given: Iterable[Any]) -> list[bytes]:
    """Returns the NodeDefs of ops as bytes; those of an op that nobody has changed are the same each time."""
    if _RAW_NODES:
        return [op._node_def for op in given]
    return [encoded(op.node_def, deterministic=True) for op in given]


def op_finder(graph: Any) -> Callable[[str], Any]:
    """Returns a call that finds an op by name, without the checks of the public one, which cost more than a copy."""
    found: Callable[[str], Any] = getattr(graph, "_get_operation_by_name", graph.get_operation_by_name)
    return found


def has_op(graph: Any, name: str) -> bool:
    """Returns whether a graph has an op of this name."""
    with suppress(KeyError):
        return op_finder(graph)(name) is not None
    return False


def number_of(op: Any) -> int:
    """Returns the place of an op in the order in which the ops of its graph were made."""
    number = getattr(op, "_id", None)
    return op.graph.get_operations().index(op) if number is None else int(number)


def originals_of(given: Iterable[Any]) -> list[Any]:
    """Returns for each op the one that it says it was made for, or None; an empty list where no op says so."""
    try:
        found = list(map(_ORIGINAL, given))
    except AttributeError:
        return []
    return [] if {type(None)}.issuperset(map(type, found)) else found


_ORIGINAL = attrgetter("_original_op")


def set_original(op: Any, original: Any) -> None:
    """Sets the op that an op was made for."""
    op._original_op = original


def set_attribute(op: Any, name: str, value: Any) -> None:
    """Sets an attribute of an op that is there."""
    op._set_attr(name, value)


def names_in(function: Any) -> tuple[str, ...]:
    """Returns the names that a function of Python looks up: they tell whether it still does what it did."""
    return getattr(getattr(function, "__code__", None), "co_names", ())


#: `Operation._inputs_val` holds what `Operation.inputs` gave; it is another object once an input was set.
MARKS_INPUTS = "_inputs_val" in names_in(getattr(ops.Operation, "_update_input", None))


def input_marks(given: Sequence[Any]) -> list[Any]:
    """Returns for ops whose `inputs` were asked for objects that are the same while they read the same."""
    return list(map(attrgetter("_inputs_val"), given))


def waited_for(graph: Any) -> list[Any]:
    """Returns the ops that a new op of a graph would wait for now, inside of `tf.control_dependencies`, in order."""
    return sorted(getattr(graph, "_current_control_dependencies", list)(), key=number_of)


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


# -- op types and their gradients -----------------------------------------------------------------


def known_op(name: str) -> bool:
    """Returns whether this TensorFlow has an op of this type registered."""
    return op_def_registry.get(name) is not None


def kernel_devices(kind: str) -> frozenset[str] | None:
    """Returns for which kinds of devices TensorFlow has a kernel of an op type here; None where it does not say."""
    try:
        from tensorflow.python.framework import kernels

        return frozenset(kernel.device_type for kernel in kernels.get_registered_kernels_for_op(kind).kernel)
    except (ImportError, AttributeError):
        return None


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


def counts_flops(kind: str) -> bool:
    """Whether TensorFlow counts floating-point operations for a type of op, where it knows the shapes."""
    with suppress(ImportError, AttributeError, LookupError):
        from tensorflow.python.profiler.internal import flops_registry as _registered  # noqa: F401

        return ops._stats_registry.lookup(f"{kind},flops") is not None
    return False


def registered_gradient(name: str) -> Any:
    """Returns the function that is registered as a gradient; raises LookupError where none is."""
    return ops.gradient_registry.lookup(name)


def gradient_function(op: Any) -> Any:
    """Returns the gradient that Python keeps on a call of a function; None where it keeps none."""
    return getattr(op, "_gradient_function", None)


def set_gradient_function(op: Any, gradient: Any) -> None:
    """Keeps a gradient on a call of a function."""
    op._gradient_function = gradient


# -- what a graph holds beside its ops ------------------------------------------------------------


def names_in_use(graph: Any) -> dict[str, int]:
    """Returns the table by which Python makes op names unique."""
    return graph._names_in_use


def free_lock(graph: Any, timeout: float = 1.0) -> None:
    """Gives a graph a new lock where an interrupt has left TensorFlow's taken, so that nothing could be added any more.

    That lock is written in Python, and an interrupt may come within.

    Args:
        graph: a `tf.Graph` that this thread adds nothing to now.
        timeout: seconds in which other threads get done with what they add.
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


def all_collections(graph: Any) -> dict[Any, list[Any]]:
    """Returns the live table of collections itself, those with odd keys too."""
    return graph._collections


def collections_of(graph: Any) -> dict[str, list[Any]]:
    """Returns the live collections of a graph, sorted by name: TensorFlow makes them in an order that changes.

    What this package itself keeps there is left out: no copy takes it along, and no list shows it.
    """
    names = sorted(n for n in graph.get_all_collection_keys() if isinstance(n, str) and n != COLLECTION)
    return {name: graph.get_collection_ref(name) for name in names}


def collection_reader(name: str) -> tuple[Any, Any]:
    """Returns the message in which items of a collection are written, and what reads it; None where there is none."""
    return ops.get_collection_proto_type(name), ops.get_from_proto_function(name)


def guarded_ops(graph: Any) -> Any:
    """Returns the live set of ops that must not be fetched; None where TensorFlow keeps none."""
    return getattr(graph, "_unfetchable_ops", None)


def guarded_tensors(graph: Any) -> Any:
    """Returns the live set of tensors that must not be fed; None where TensorFlow keeps none."""
    return getattr(graph, "_unfeedable_tensors", None)


def callbacks(graph: Any) -> list[Any]:
    """Returns the Python functions that a graph keeps alive for its `py_func` ops."""
    return list(getattr(graph, "_py_funcs_used_in_graph", ()))


def set_callbacks(graph: Any, functions: Sequence[Any]) -> None:
    """Sets the Python functions that a graph keeps alive; where it has none and gets none, nothing is done."""
    if functions or callbacks(graph):
        graph._py_funcs_used_in_graph = list(functions)


def token_of(function: Callable[..., Any]) -> tuple[str, Any]:
    """Returns the token by which a `PyFunc` of any graph calls a function, and what must be kept as long as it does."""
    if _PYTHON is not None and hasattr(_PYTHON, "insert"):
        return str(_PYTHON.insert(function)), function
    with fresh().as_default() as graph:
        return str(tf.numpy_function(function, [], []).get_attr("token").decode()), graph
