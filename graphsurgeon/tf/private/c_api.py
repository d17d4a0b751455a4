"""The C API: imports nodes in one call, and makes Python ops for them; each use was tried on TF 2.16 to 2.21.

If a name is missing, `raw_import_works` returns False, and the public `tf.import_graph_def` is used instead.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
from tensorflow.python.framework import c_api_util, dtypes, ops
from tensorflow.python.util import tf_stack

from ...errors import counted
from ...graph.concurrency import gc_paused
from ...graph.names import rename_input
from ...graph.types import TFGraphDef
from ..protos import encode

try:
    from tensorflow.python.client import pywrap_tf_session as c_api
except ImportError:  # pragma: no cover - a TensorFlow without the C bindings under this name
    c_api = None

#: The code that is left out of stored stacks: the modules of this package, and the module of their decorators.
_OUR_FILES = (str(Path(__file__).absolute().parents[2]) + os.sep, contextlib.__file__)

#: The type of tensors in graphs.
TENSOR = ops.SymbolicTensor

_REQUIRED = (
    "TF_ImportGraphDefOptionsSetPrefix", "TF_ImportGraphDefOptionsSetUniquifyNames",
    "TF_ImportGraphDefOptionsSetValidateColocationConstraints", "TF_ImportGraphDefOptionsAddInputMapping",
    "TF_ImportGraphDefOptionsRemapControlDependency", "TF_GraphImportGraphDefWithResults", "TF_NewBufferFromString",
    "TF_DeleteBuffer",
)  # fmt: skip


def raw_import_works() -> bool:
    """Returns whether this TensorFlow has all functions that the fast import needs."""
    return (
        c_api is not None
        and all(hasattr(c_api, name) for name in _REQUIRED)
        and hasattr(c_api_util, "ScopedTFImportGraphDefOptions")
        and all(hasattr(ops.Graph, name) for name in ("_mutation_lock", "_add_new_tf_operations", "new_operations"))
        and hasattr(ops, "SymbolicTensor")
    )


def names_in(function: Any) -> tuple[str, ...]:
    """Returns the names that a Python function looks up: if they change, its code has changed."""
    return getattr(getattr(function, "__code__", None), "co_names", ())


def names_in_use(graph: Any) -> dict[str, int]:
    """Returns the table that makes op names unique in Python."""
    return graph._names_in_use


def functions_of(graph: Any) -> dict[str, Any]:
    """Returns the functions of a graph as Python objects, by name."""
    return dict(getattr(graph, "_functions", {}))


class TooLarge(ValueError):
    """A GraphDef that cannot be imported in one piece; nothing was changed."""


def raw_import(
    graph: Any,
    graph_def: TFGraphDef,
    tensors: Mapping[tuple[str, int], Any],
    controls: Mapping[str, Any],
    within: str,
    limit: int,
) -> dict[str, Any]:
    """Adds nodes under exactly their names, all of them or none; see `import_nodes`.

    Args:
        graph: the destination `tf.Graph`.
        graph_def: the new nodes with their full names.
        tensors: (op name, output) outside the GraphDef -> tensor of `graph`.
        controls: op name outside the GraphDef -> op of `graph`.
        within: a scope that contains all names, or empty.
        limit: the maximum number of bytes that TensorFlow can import at once.

    Returns:
        name -> new Python operation.

    Raises:
        TooLarge: the GraphDef is larger than `limit`.
        the error of TensorFlow if it refuses the nodes; the graph then has no new node and no new function.
    """
    scoped = c_api_util.ScopedTFImportGraphDefOptions()
    options = scoped.options
    c_api.TF_ImportGraphDefOptionsSetPrefix(options, within)
    if within:
        graph_def = _without_prefix(graph_def, within + "/")
    c_api.TF_ImportGraphDefOptionsSetUniquifyNames(options, False)
    c_api.TF_ImportGraphDefOptionsSetValidateColocationConstraints(options, False)
    for (name, port), tensor in tensors.items():
        c_api.TF_ImportGraphDefOptionsAddInputMapping(options, name, port, tensor._as_tf_output())
    for name, op in controls.items():
        c_api.TF_ImportGraphDefOptionsRemapControlDependency(options, name, op._c_op)
    buffer = _buffer(graph_def, limit)
    old_functions = functions_of(graph).keys() if len(graph_def.library.function) else set()
    with graph._mutation_lock():
        try:
            results = c_api.TF_GraphImportGraphDefWithResults(graph, buffer, options)
            c_api_util.ScopedTFImportGraphDefResults(results)
        except BaseException:
            # After a late failure, the functions of the GraphDef are still in the graph: remove them.
            for function in graph_def.library.function if not graph.new_operations() else ():
                if function.signature.name not in old_functions:
                    with suppress(Exception):
                        c_api.TF_GraphRemoveFunction(graph, function.signature.name)
            raise
        finally:
            c_api.TF_DeleteBuffer(buffer)
        return _wrap_new(graph)


def raw_import_alone(graph_def: TFGraphDef, limit: int) -> list[Any]:
    """Adds nodes and functions to a new graph, without Python objects for the functions; returns its ops.

    Args:
        graph_def, limit: as for `raw_import`.

    Raises:
        as `raw_import`.
    """
    graph = ops.Graph()
    new_ops = list(raw_import(graph, graph_def, {}, {}, "", limit).values())
    functions = {
        function.signature.name: c_api_util.ScopedTFFunction(
            c_api.TF_FunctionImportFunctionDef(encode(function)), function.signature.name
        )
        for function in graph_def.library.function
    }
    gradients = {pair.function_name: functions.get(pair.gradient_func) for pair in graph_def.library.gradient}
    for name, function in functions.items():  # Python adds its objects to a graph in the same way
        gradient = gradients.get(name)
        with (
            graph._c_graph.get() as c_graph,
            function.get() as added,
            nullcontext() if gradient is None else gradient.get() as slope,
        ):
            c_api.TF_GraphCopyFunction(c_graph, added, slope)
    return new_ops


def _buffer(graph_def: TFGraphDef, limit: int) -> Any:
    data = encode(graph_def)
    if len(data) > limit:
        raise TooLarge(f"a GraphDef of {counted(len(data), 'bytes')}")
    np.empty((2, len(data)), np.uint8)  # raises MemoryError; TensorFlow would end the process without this much memory
    return c_api.TF_NewBufferFromString(data)


def _without_prefix(graph_def: TFGraphDef, prefix: str) -> Any:
    """Removes a prefix from the names of nodes; inputs from outside keep their full names."""
    out = type(graph_def)()
    out.CopyFrom(graph_def)
    new_names = {node.name: node.name.removeprefix(prefix) for node in graph_def.node}
    for node in out.node:
        node.name = new_names[node.name]
        node.input[:] = [rename_input(text, new_names) for text in node.input]
        if "_class" in node.attr:
            colocations = node.attr["_class"].list.s
            old_prefix = b"loc:@" + prefix.encode()
            colocations[:] = [
                b"loc:@" + p.removeprefix(old_prefix) if p.startswith(old_prefix) else p for p in colocations
            ]
    return out


def adopt_ops(graph: Any) -> None:
    """Makes the Python ops for nodes that are already in the C graph, because an import was interrupted in between."""
    if hasattr(graph, "new_operations"):
        _wrap_new(graph)


def _callers_stack() -> Any:
    """Returns the stack of the code of the caller, for error messages; None if TensorFlow cannot set stacks."""
    if not hasattr(c_api, "TF_SetOpStackTrace") or not hasattr(tf_stack, "extract_stack"):
        return None
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OUR_FILES):
        level, frame = level + 1, frame.f_back
    return tf_stack.extract_stack(stacklevel=level)


#: The names that `Operation._init` uses. If they are unchanged, `_wrap_new` makes ops without calling this method.
_INIT_NAMES = (
    "graph", "_original_op", "_inputs_val", "_device_code_locations", "_colocation_code_locations",
    "_get_control_flow_context", "_control_flow_context", "_gradient_function", "_init_outputs", "_add_op", "_id_value",
)  # fmt: skip

#: The names that `SymbolicTensor.__new__` uses. If they are unchanged, the second check of each dtype is left out.
_NEW_NAMES = ("uid", "pywrap_tf_session", "PyTensor", "__new__", "SymbolicTensor", "dtypes", "as_dtype")


class _DTypes(dict[int, Any]):
    def __missing__(self, number: int) -> Any:
        return self.setdefault(number, dtypes.as_dtype(number))


def _tensor_maker() -> Callable[[Any, int, int], Any]:
    if names_in(TENSOR.__new__) != _NEW_NAMES:
        return TENSOR
    new, known, uid = c_api.PyTensor.__new__, _DTypes(), ops.pywrap_tfe.TFE_Py_UID
    return lambda op, port, number: new(TENSOR, op, port, known[number], uid())


def _wrap_new(graph: Any) -> dict[str, Any]:
    in_use, names, new_ops = names_in_use(graph), [], []
    op_class, make_tensor = ops.Operation, _tensor_maker()
    is_expected = names_in(op_class._init) == _INIT_NAMES
    context, add = graph._get_control_flow_context(), graph._add_op
    stack = _callers_stack()
    with gc_paused():
        for c_op in graph.new_operations():
            op = op_class(c_op, make_tensor)
            if stack is not None:
                c_api.TF_SetOpStackTrace(c_op, stack)
            if is_expected:
                op.graph, op._control_flow_context = graph, context
                op._original_op = op._inputs_val = op._gradient_function = None
                op._device_code_locations = op._colocation_code_locations = None
                op._init_outputs()
                op._id_value = add(op)
            else:
                op._init(graph)
            names.append(op.name)  # in this loop, because the op is still in the cache of the processor
            new_ops.append(op)
        for name in names:
            in_use.setdefault(name.lower(), 1)
        return dict(zip(names, new_ops, strict=True))
