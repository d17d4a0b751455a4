"""Attaching: what Python keeps beside the nodes: shapes, gradients, guards, variables, collections."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ..core.copied import Copied
from ..core.policies import value_info
from . import functions
from .control_flow import keep_contexts
from .internals import collections_of, differently_shaped, op_finder, same_shape
from .resources import is_runner, moved_runner
from .variables import rebuilt, variable_objects


def attach(copied: Copied, graph: Any, made: Any) -> None:
    """Gives the copy what Python keeps beside the nodes: shapes, gradients, variables, collections."""
    source = copied.source.owner
    inside = {copied.source.names[i] for i in copied.ops.tolist()}
    old_op, new_op, old_names = op_finder(source), op_finder(graph), copied.source.names
    pairs = [(old_op(old_names[i]), new_op(name)) for i, name in zip(copied.ops.tolist(), copied.names, strict=True)]
    if not _shapes_changed(copied, graph):
        _keep_shapes(pairs)
    functions.keep_gradients(pairs)
    _keep_guards(source, graph, pairs)
    _keep_callbacks(copied, source, graph)
    made.missed += keep_contexts(copied, graph, pairs)
    originals = variable_objects(source)
    for variable in copied.variables:
        new = rebuilt(graph, variable.made, originals.get(variable.was), copied.step.to)
        if new is not None:
            made.variables[variable.name] = new
    by_original = {v.was: made.variables.get(v.name) for v in copied.variables}
    targets = {c.was: c.name for c in copied.collections}
    for was, items in collections_of(source).items():
        if was not in targets:
            continue
        # A copy inside one graph adds to the very lists it reads.
        for item in list(items):
            new = _moved_item(item, copied, graph, inside, by_original)
            if new is not None:
                graph.add_to_collection(targets[was], new)
                made.collections.append((targets[was], new))


def _moved_item(item: Any, copied: Copied, graph: Any, inside: set[str], variables: dict[str, Any]) -> Any:
    if is_runner(item):
        return moved_runner(item, graph, lambda name: copied.renamed(name) if _op(name) in inside else None)
    if getattr(item, "graph", None) is not copied.source.owner:
        return None
    if isinstance(item, tf.Variable) or hasattr(item, "initializer"):
        return variables.get(item.op.name)
    if hasattr(item, "node_def"):
        return graph.get_operation_by_name(copied.renamed(item.name)) if item.name in inside else None
    if hasattr(item, "value_index"):
        return graph.get_tensor_by_name(copied.renamed(item.name)) if item.op.name in inside else None
    return None


def _op(name: str) -> str:
    return name.lstrip("^").partition(":")[0]


def _keep_callbacks(copied: Copied, source: Any, graph: Any) -> None:
    """Keeps the Python functions behind `py_func` ops alive as long as the copy."""
    calls = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
    held = getattr(source, "_py_funcs_used_in_graph", None)
    if held and any(copied.source.types[i] in calls for i in copied.ops.tolist()):
        graph._py_funcs_used_in_graph = [*getattr(graph, "_py_funcs_used_in_graph", []), *held]


def _shapes_changed(copied: Copied, graph: Any) -> bool:
    """Whether a replaced input has another static shape: then the copy's own shapes are the right ones."""
    held = {copied.source.index[s.info.op]: value_info(s.info).shape for s in copied.closure.substitutes}
    for (op, port), (name, new_port) in copied.external.items():
        new = graph.get_operation_by_name(name).outputs[new_port]
        if op in held:  # what a variable holds has the shape of the variable, not of its handle
            if new.shape.as_proto() != tf.TensorShape(held[op]).as_proto():
                return True
        elif not same_shape(copied.source.owner.get_operation_by_name(copied.source.names[op]).outputs[port], new):
            return True
    return False


def _keep_shapes(pairs: list[tuple[Any, Any]]) -> None:
    """Shapes set by hand (`set_shape`) are not in the nodes: set them on the copies too."""
    for old, new in differently_shaped(pairs):
        new.set_shape(old.shape)


def _keep_guards(source: Any, graph: Any, pairs: list[tuple[Any, Any]]) -> None:
    """Tensors and ops that TensorFlow forbids to feed or fetch stay forbidden in the copy."""
    ops = getattr(source, "_unfetchable_ops", None)
    tensors = getattr(source, "_unfeedable_tensors", None)
    for old, new in pairs if ops or tensors else ():
        if ops and old in ops:
            graph.prevent_fetching(new)
        for a, b in zip(old.outputs, new.outputs, strict=True) if tensors else ():
            if any(a is t for t in tensors or ()):
                graph.prevent_feeding(b)
