"""Functions: uses private parts of functions, traced or from files; tried on TF 2.16 to 2.21."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import function_pb2, resource_handle_pb2
from tensorflow.python.eager.polymorphic_function.concrete_function import ConcreteFunction
from tensorflow.python.framework import function as function_module
from tensorflow.python.framework.func_graph import FuncGraph
from tensorflow.python.ops.handle_data_util import get_resource_handle_data
from tensorflow.python.saved_model import function_deserialization

from .c_api import functions_of
from .eager import eager
from .graphs import gradient_function, set_gradient_function


def bodies(graph: Any) -> dict[str, Any]:
    """Returns the existing bodies of the functions of a graph that were traced in this process, by name."""
    graphs = {name: getattr(function, "_cached_graph", None) for name, function in functions_of(graph).items()}
    return {name: body for name, body in graphs.items() if body is not None}


def add_function(graph: Any, function: Any) -> None:
    """Adds a function of another graph to a graph, with all functions that it calls."""
    graph._add_function_recursive(function)


def remove_function(graph: Any, name: str) -> None:
    """Removes a function from a graph."""
    graph._remove_function(name)


def from_library(library: Any) -> list[Any]:
    """Makes function objects for graphs of TF1 from a library of definitions."""
    return list(function_module.from_library(library))


def traces(function: Any) -> list[Any]:
    """Returns the existing ConcreteFunctions of a `tf.function`, without tracing it."""
    concrete = getattr(function, "concrete_functions", None)  # a function from a SavedModel
    if concrete is None:
        list_functions = getattr(function, "_list_all_concrete_functions", None)
        concrete = list_functions() if list_functions is not None else []
    return list(concrete)


def owner_of(code: Any) -> Any:
    """Returns the object if a `tf.function` decorates one of its methods; None for a plain function."""
    code = getattr(code, "__original_wrapped__", getattr(code, "__wrapped__", code))
    owner = getattr(code, "__self__", None)
    return getattr(owner, "target", owner)  # a `tf.function` has a weak reference to it


def function_name(concrete: Any) -> str:
    """Returns the name that graphs use for a ConcreteFunction."""
    name = concrete.name
    return name.decode() if isinstance(name, bytes) else str(name)


def is_traced(graph: Any) -> bool:
    """Returns whether a graph is the body of a function."""
    return isinstance(graph, FuncGraph)


def run_along(graph: Any, operations: Iterable[Any]) -> None:
    """Makes a function that is being traced run these ops at each call, even if no output needs them.

    Args:
        graph: the body of the function.
        operations: the ops.
    """
    graph.control_outputs.extend(operations)


def is_eager(function: Any) -> bool:
    """Returns whether a function object of a graph can also run eagerly; a function from a file cannot."""
    return getattr(function, "graph", None) is not None


def load_functions(definitions: Iterable[Any]) -> dict[str, Any]:
    """Makes ConcreteFunctions from FunctionDefs that call only each other; their names are new in the process.

    Returns:
        old name -> ConcreteFunction.
    """
    library = function_pb2.FunctionDefLibrary(function=definitions)
    with eager():
        functions = dict(function_deserialization.load_function_def_library(library)) if library.function else {}
    for concrete in functions.values():  # gradients of loops need this data, but TensorFlow does not load it
        write_handle_data(concrete, concrete.function_def)
    return functions


def handle_contents(tensor: Any) -> list[Any]:
    """Returns the handle data of a live resource tensor in the form of FunctionDefs; empty if it is not known."""
    data = get_resource_handle_data(tensor) if tensor.dtype == tf.resource else None
    entries = data.shape_and_type if data is not None and data.is_set else ()
    return [
        resource_handle_pb2.ResourceHandleProto.DtypeAndShape(dtype=entry.dtype, shape=entry.shape) for entry in entries
    ]


def write_handle_data(function: Any, definition: Any) -> None:
    """Writes the handle data of resource arguments into the FunctionDef of a function; gradients of conds need it."""
    body = getattr(function, "graph", None)
    for argument, tensor in zip(definition.signature.input_arg, getattr(body, "inputs", None) or (), strict=False):
        if not argument.handle_data:
            argument.handle_data.extend(handle_contents(tensor))


def restore_gradients(graph: Any, functions: Mapping[str, Any]) -> None:
    """Sets the gradient of calls of these functions, as Python does when it traces a call.

    Args:
        graph: the graph with the calls; calls that have a gradient keep it.
        functions: name -> ConcreteFunction, or the function object of a graph.
    """
    for op in graph.get_operations():
        if op.type in ("PartitionedCall", "StatefulPartitionedCall"):
            function = functions.get(op.get_attr("f").name)
            if function is None or gradient_function(op) is not None:
                continue
            if not hasattr(function, "_get_gradient_function") and is_eager(function):
                attributes = function.cached_definition.attr
                function = ConcreteFunction.from_func_graph(function.graph, function.function_type, attrs=attributes)
            if hasattr(function, "_get_gradient_function"):
                set_gradient_function(op, function._get_gradient_function())


def set_gradients(graph: Any, functions: Mapping[str, Any], custom_gradients: Mapping[str, Any]) -> None:
    """Sets a gradient for ops whose type is the name of a function; without it, only TF1 functions have gradients.

    Args:
        graph: the graph with the calls; calls that have a gradient keep it.
        functions: name -> ConcreteFunction.
        custom_gradients: name -> the custom gradient: a ConcreteFunction of inputs and output gradients, or a Python
            function of the op and the output gradients. None if TensorFlow derives the gradient.
    """
    for op in graph.get_operations():
        if op.type in functions and gradient_function(op) is None:
            set_gradient_function(op, gradient_of(functions[op.type], custom_gradients[op.type]))


def gradient_of(function: Any, custom_gradient: Any) -> Any:
    """Returns a gradient function for calls of a ConcreteFunction, which calls the function again.

    Args:
        function: the function.
        custom_gradient: its custom gradient, see `set_gradients`; None if TensorFlow derives the gradient.
    """
    if custom_gradient is not None and not isinstance(custom_gradient, ConcreteFunction):
        return custom_gradient

    def gradient(op: Any, *gradients: Any) -> Any:
        inputs = [tf.identity(x) for x in op.inputs]
        output_gradients = [tf.zeros_like(y) if dy is None else dy for y, dy in zip(op.outputs, gradients, strict=True)]
        if custom_gradient is not None:
            return _call(custom_gradient, [*inputs, *output_gradients])
        return tf.gradients(_call(function, inputs), inputs, output_gradients)

    return gradient


def traced_gradient(function: Any) -> Any:
    """Returns the gradient function of a traced ConcreteFunction for its calls; the gradient changes the call."""
    return function._get_gradient_function()


def _call(function: Any, inputs: list[Any]) -> list[Any]:
    """Calls a loaded ConcreteFunction, which has no Python signature."""
    # An earlier gradient may have added outputs to the graph of the function.
    dtypes = [tf.as_dtype(result.type) for result in function.function_def.signature.output_arg]
    outputs: list[Any] = tf.raw_ops.StatefulPartitionedCall(args=inputs, Tout=dtypes, f=function)
    set_gradient_function(outputs[0].op, traced_gradient(function))
    return outputs
