"""Private parts of TensorFlow's sessions and variables; each use was tried on TF 2.16 to 2.21."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.ops import ref_variable, resource_variable_ops, variable_scope
from tensorflow.python.ops import variables as variables_module

from ...graph.names import partitioned_name
from .graphs import ELEMENT_TYPES

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
