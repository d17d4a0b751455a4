"""Freezing: variables become constants also where a loop, a branch or a called function reads them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from ..core.state import VARIABLE_TYPES

tf1 = tf.compat.v1

#: What is left where a function does more with a variable than read it: TensorFlow's converter does not refuse that.
_HELD = (*VARIABLE_TYPES, "ReadVariableOp", "Assign", "ResourceApply", "ResourceSparseApply", "ResourceScatter",
         "ResourceStridedSliceAssign", "ResourceCountUpTo", "VarIsInitializedOp", "DestroyResourceOp")  # fmt: skip


def frozen_inside(graph: Any, values: dict[str, Any], ends: Iterable[str]) -> Any:
    """Returns a graph in which all variables are constants, those that functions read too; None where that is not so.

    It is TensorFlow's own converter, which is public.

    Args:
        graph: the graph; it gets ops that set its variables.
        values: variable op name -> array.
        ends: names of ops; what these need is in the new graph, under the names it has.
    """
    collections = {key: graph.get_collection(key) for key in graph.get_all_collection_keys() if isinstance(key, str)}
    kept = {key: [t for t in items if isinstance(t, (tf.Operation, tf.Tensor))] for key, items in collections.items()}
    keys = (tf1.GraphKeys.TABLE_INITIALIZERS, tf1.GraphKeys.ASSET_FILEPATHS)
    stay = [item.name for key in keys for item in kept.get(key, ())]
    names = list(dict.fromkeys(name.partition(":")[0] for name in (*ends, *stay)))
    convert = inspect.unwrap(tf1.graph_util.convert_variables_to_constants)  # what is under the decorator does not warn
    with tf1.Session(graph=graph) as session:
        _give(session, graph, values)
        try:
            found = convert(session, graph.as_graph_def(), names)
        except (ValueError, KeyError, AttributeError, NotImplementedError, tf.errors.OpError):
            return None  # it knows not every kind of function, and no text
    nodes = [*found.node, *(node for function in found.library.function for node in function.node_def)]
    if any(node.op.startswith(_HELD) for node in nodes):
        return None
    new = tf.Graph()
    with new.as_default():
        tf1.import_graph_def(found, name="")
    made = {op.name for op in new.get_operations()}
    for key, items in kept.items():
        for item in items:
            if item.name.partition(":")[0] in made:
                new.add_to_collection(key, new.as_graph_element(item.name))
    return new


def _give(session: Any, graph: Any, values: dict[str, Any]) -> None:
    """Sets variables by ops of our own: those of a TF2 SavedModel have none."""
    with graph.as_default(), tf1.device(None), tf1.control_dependencies(None):
        for name, value in values.items():
            variable = graph.get_operation_by_name(name).outputs[0]
            given = tf1.placeholder(variable.op.get_attr("dtype"), None)
            if variable.dtype == tf.resource:
                done = tf.raw_ops.AssignVariableOp(resource=variable, value=given)
            else:
                done = tf.raw_ops.Assign(ref=variable, value=given, validate_shape=False).op
            session.run(done, {given: value})
