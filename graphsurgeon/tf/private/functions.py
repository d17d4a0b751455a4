"""Functions: private parts of the functions of graphs, traced or from files; tried on TF 2.16 to 2.21."""

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

from .eager import eager
from .graphs import gradient_function, set_gradient_function


def functions_of(graph: Any) -> dict[str, Any]:
    """Returns the functions of a graph, in Python's form, by name."""
    return dict(getattr(graph, "_functions", {}))


def bodies(graph: Any) -> dict[str, Any]:
    """Returns the bodies of a graph's functions that were traced in this process, by name; makes no new body."""
    graphs = {name: getattr(function, "_cached_graph", None) for name, function in functions_of(graph).items()}
    return {name: body for name, body in graphs.items() if body is not None}


def add_function(graph: Any, function: Any) -> None:
    """Adds a function of another graph to a graph, with all functions that it calls."""
    graph._add_function_recursive(function)


def remove_function(graph: Any, name: str) -> None:
    """Removes a function from a graph."""
    graph._remove_function(name)


def from_library(library: Any) -> list[Any]:
    """Makes the functions that graphs of TF1 hold from a library of definitions."""
    return list(function_module.from_library(library))


def traces(function: Any) -> list[Any]:
    """Returns the existing ConcreteFunctions of a `tf.function`; makes no new one."""
    concrete = getattr(function, "concrete_functions", None)  # a function that came from a SavedModel
    if concrete is None:
        list_functions = getattr(function, "_list_all_concrete_functions", None)
        concrete = list_functions() if list_functions is not None else []
    return list(concrete)


def owner_of(code: Any) -> Any:
    """Returns the object whose method is the Python code of a `tf.function`; None if it is a plain function."""
    code = getattr(code, "__original_wrapped__", getattr(code, "__wrapped__", code))
    owner = getattr(code, "__self__", None)
    return getattr(owner, "target", owner)  # a `tf.function` has a weak reference to it


def function_name(concrete: Any) -> str:
    """Returns the name of a ConcreteFunction in graphs."""
    name = concrete.name
    return name.decode() if isinstance(name, bytes) else str(name)


def is_traced(graph: Any) -> bool:
    """Returns whether this graph is the body of a function."""
    return isinstance(graph, FuncGraph)


def run_along(graph: Any, operations: Iterable[Any]) -> None:
    """Makes a function that is being traced run these ops at each call, also if no output needs them.

    Args:
        graph: the body of the function.
        operations: the ops.
    """
    graph.control_outputs.extend(operations)


def is_eager(function: Any) -> bool:
    """Returns whether a function object of a graph can also run eagerly; a function from a file cannot."""
    return getattr(function, "graph", None) is not None


def load_functions(definitions: Iterable[Any]) -> dict[str, Any]:
    """Makes ConcreteFunctions of FunctionDefs that call only each other; their names are new in the process.

    Returns:
        old name -> ConcreteFunction.
    """
    library = function_pb2.FunctionDefLibrary(function=definitions)
    with eager():
        functions = dict(function_deserialization.load_function_def_library(library)) if library.function else {}
    for concrete in functions.values():  # gradients of loops read this data, which TensorFlow drops when it loads
        write_handle_data(concrete, concrete.function_def)
    return functions


def handle_contents(tensor: Any) -> list[Any]:
    """Returns the contents of a live resource tensor in the form of FunctionDefs; empty if they are not known."""
    data = get_resource_handle_data(tensor) if tensor.dtype == tf.resource else None
    entries = data.shape_and_type if data is not None and data.is_set else ()
    return [
        resource_handle_pb2.ResourceHandleProto.DtypeAndShape(dtype=entry.dtype, shape=entry.shape) for entry in entries
    ]


def write_handle_data(function: Any, definition: Any) -> None:
    """Writes the contents of a function's resource arguments into its FunctionDef, for the gradients of its conds."""
    body = getattr(function, "graph", None)
    for argument, tensor in zip(definition.signature.input_arg, getattr(body, "inputs", None) or (), strict=False):
        if not argument.handle_data:
            argument.handle_data.extend(handle_contents(tensor))


def restore_gradients(graph: Any, functions: Mapping[str, Any]) -> None:
    """Sets on calls of these functions the gradient that Python would have kept for them.

    Args:
        graph: the graph with the calls; calls that have a gradient keep it.
        functions: name -> ConcreteFunction, or the function in the form that a graph holds.
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
    """Sets a gradient for ops whose type is a function's name; TensorFlow requires one that only TF1 functions have.

    Args:
        graph: the graph with the calls; calls that have a gradient keep it.
        functions: name -> ConcreteFunction.
        custom_gradients: name -> its custom gradient: a ConcreteFunction of inputs and output gradients, or a Python
            function of the op and these. None if the gradient is to be derived.
    """
    for op in graph.get_operations():
        if op.type in functions and gradient_function(op) is None:
            set_gradient_function(op, gradient_of(functions[op.type], custom_gradients[op.type]))


def gradient_of(function: Any, custom_gradient: Any) -> Any:
    """Returns a gradient function for calls of a ConcreteFunction, which calls the function again.

    Args:
        function: the function.
        custom_gradient: its custom gradient, see `set_gradients`; None if the gradient is to be derived.
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
    """Returns the gradient function from the trace of a ConcreteFunction for its calls; it changes the call."""
    return function._get_gradient_function()


def _call(function: Any, inputs: list[Any]) -> list[Any]:
    """Calls a loaded ConcreteFunction, which has no Python signature."""
    # A gradient that was made before has added outputs to the graph of the function.
    dtypes = [tf.as_dtype(result.type) for result in function.function_def.signature.output_arg]
    outputs: list[Any] = tf.raw_ops.StatefulPartitionedCall(args=inputs, Tout=dtypes, f=function)
    set_gradient_function(outputs[0].op, traced_gradient(function))
    return outputs
