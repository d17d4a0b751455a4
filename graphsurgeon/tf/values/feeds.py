"""Trickle: runs of a session that set values: one that takes its feeds a few at a time, and one for any shapes.

A run costs TensorFlow a graph pruned and optimised anew for each set of fetches and feeds: in a large graph that is
what takes the time, so that values set one by one want a single run. It is `Session.partial_run`, public and
deprecated; a session without it gets a run for each batch. A failure ends the session with the run: it is for
sessions that nobody has yet.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

from ...graph.live import TFOp, TFSession
from ..private.sessions import callable_of

tf1 = tf.compat.v1


def begin(session: TFSession, ops: Sequence[Any], feeds: Sequence[Any]) -> str | None:
    """Begins a run of which `go_on` gives the feeds, each once.

    Args:
        session: a session of our own.
        ops: what is run, each as soon as what it needs was fed.
        feeds: tensors.

    Returns:
        its handle, or None where the session has no such runs.
    """
    kind: Any = type(session)
    if not ops or not (hasattr(kind, "partial_run_setup") and hasattr(kind, "partial_run")):
        return None
    with suppress(tf.errors.OpError, NotImplementedError, RuntimeError):
        return str(_quiet(kind.partial_run_setup)(session, list(ops), list(feeds)))
    return None


def go_on(session: Any, handle: str, feeds: Mapping[Any, Any]) -> None:
    """Gives a run some of its feeds; with the last, it ends."""
    _quiet(session.partial_run)(session, handle, [], feeds)


def set_values(session: TFSession, initializers: Sequence[TFOp], feeds: Mapping[str, Any], options: Any = None) -> None:
    """Runs initialisers in one run, each with a value in the place of its initial one.

    A variable of an unknown shape may get a value of another shape than it began with, and what TensorFlow has once
    taken for a constant may be fed too: `Session.run` refuses both.

    Args:
        session: the session.
        initializers: the ops.
        feeds: name of the tensor that an initialiser assigns -> value.
        options: as for `Session.run`.
    """
    graph = session.graph
    fed = {name: graph.get_tensor_by_name(name) for name in feeds}
    odd = {name for name, value in feeds.items()
           if not (fed[name].shape.is_compatible_with(np.shape(value)) and graph.is_feedable(fed[name]))}  # fmt: skip
    if not odd:
        session.run(list(initializers), feeds, options=options)
        return
    request = config_pb2.CallableOptions(feed=list(feeds), target=[op.name for op in initializers])
    if options is not None:
        request.run_options.CopyFrom(options)
    run = callable_of(session, request)
    if run is not None:
        run(*(np.asarray(value, graph.get_tensor_by_name(name).dtype.as_numpy_dtype) for name, value in feeds.items()))
        return
    ops, again = [], {}
    for op in initializers:
        name = op.inputs[1].name
        ops.append(_any_shape(op) if name in odd else op)
        again[ops[-1].inputs[1]] = feeds[name]
    session.run(ops, again, options=options)


def _any_shape(initializer: TFOp) -> TFOp:
    """An op that sets the variable of an initialiser to a value of any shape; made once."""
    graph, name = initializer.graph, f"{initializer.name}_any_shape"
    with suppress(KeyError):
        return graph.get_operation_by_name(name)
    target = initializer.inputs[0]
    with graph.as_default(), tf1.name_scope(f"{name}/"), tf1.control_dependencies(None):
        value = tf1.placeholder(initializer.inputs[1].dtype.base_dtype, None, name="value")
        if initializer.type == "AssignVariableOp":
            return tf.raw_ops.AssignVariableOp(resource=target, value=value, name=f"{name}/")
        return tf.raw_ops.Assign(ref=target, value=value, validate_shape=False, name=f"{name}/").op


def _quiet(method: Any) -> Any:
    # What is under the decorator does not warn.
    return inspect.unwrap(method)
