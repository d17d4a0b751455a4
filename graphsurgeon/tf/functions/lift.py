"""Lift: makes a plain graph of the body of a traced function, with its own variables and values."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...errors import OpenError
from ...graph.conditions import BRANCHES, CASES
from ...graph.names import free_name, plain_name
from ...graph.selection import Query, Selection
from ...graph.types import TFGraph, TFSession, TFTensor
from ...plan.plan import Plan
from ..copy.append import apply_effect
from ..import_tensorflow import tf
from ..open.snapshot import snapshot
from ..private.c_api import functions_of
from ..private.eager import eager, variable_data
from ..protos import empty_graph
from ..values.checkpoint_reader import array_of
from ..values.initialization import run_initializers
from ..values.transfer import assign
from ..values.variables import variable_infos
from .library import definition, functions_in_node


@dataclass
class LiftedGraph:
    """A function as a plain graph.

    Args:
        graph: the graph; its ops have the same names as in the function.
        values: the values of its variables and tables.
        inputs: argument -> name of its placeholder's tensor.
        outputs: result -> name of its tensor.
        pack_outputs: a function that converts the results, in that order, to the return value of the function.
        renamed_tensors: tensor of the function's body -> the tensor that replaces it, if the name differs.
    """

    graph: TFGraph
    values: OpenedValues
    inputs: dict[str, str]
    outputs: dict[str, str]
    pack_outputs: Callable[[Sequence[Any]], Any]
    renamed_tensors: dict[str, str]


def lift(
    concrete: Any, request: str, variable_names: Iterable[tuple[Any, str]] = (), untrainable: Container[int] = ()
) -> LiftedGraph:
    """Returns the body of a ConcreteFunction as a new `tf.Graph`; the function is not changed.

    Args:
        concrete: the function. Its arguments become placeholders. Captured variables become resource variables,
            captured tables become tables, and other captured tensors become constants.
        request: the request, for messages.
        variable_names: (variable, name) pairs, for better names than those of the variables.
        untrainable: ids of the handles of variables that are not trained, whatever the variables state.

    Raises:
        OpenError: the function captures something that is not possible in a plain graph, or TensorFlow refuses the
            body.

    Example:
        >>> w = tf.Variable(2.0, name="w")
        >>> f = tf.function(lambda x: x * w).get_concrete_function(tf.TensorSpec([], tf.float32, name="x"))
        >>> lifted = lift(f, "open(f)")
        >>> lifted.inputs, lifted.outputs, [v.name for v in lifted.graph.get_collection("variables")]
        ({'x': 'x:0'}, {'output': 'Identity:0'}, ['w:0'])
    """
    body, graph = concrete.graph, empty_graph(concrete.graph)
    captures = capture(concrete, graph, variable_names, request, untrainable)
    source = snapshot(body, title="function")
    mask = np.ones(source.size, np.bool_)
    for name in (*captures.tensors, *captures.constants):
        mask[source.index[name.partition(":")[0]]] = False
    used_tensors = {f"{source.names[op]}:{port}" for op, port in zip(source.data.node, source.data.port, strict=True)}
    replacements = {**{name: tensor.name for name, tensor in captures.tensors.items()}, **captures.constants}
    plan = Plan(snapshot(graph)).copy(
        Selection(source, mask, Query("select")),
        inputs={name: new for name, new in replacements.items() if name in used_tensors},
        collections="none",
    )
    if plan.effect.faults:
        fault = plan.effect.faults[0]
        raise OpenError(request, fault.problem, fault.suggestion)
    values = OpenedValues(graph, captures.values, captures.handles)
    apply_effect(plan.effect, graph)
    copied = plan.effect.copies[0]
    _copy_shapes(body, graph, zip([source.names[i] for i in copied.ops.tolist()], copied.names, strict=True))
    new_tensors = copied.mapped_tensors
    return LiftedGraph(
        graph,
        values,
        {t.op.name: t.name for t in arguments_of(concrete)},
        {key: new_tensors.get(t.name, t.name) for key, t in _results(concrete)},
        partial(_pack_results, concrete.structured_outputs),
        new_tensors,
    )


def _copy_shapes(body: Any, graph: TFGraph, names: Iterable[tuple[str, str]]) -> None:
    """Copies static shapes of the body that were set by `set_shape`, such as those of table lookups, to the graph."""
    for old, new in names:
        pairs = zip(body.get_operation_by_name(old).outputs, graph.get_operation_by_name(new).outputs, strict=True)
        for was, now in pairs:
            now.set_shape(was.shape)


def arguments_of(concrete: Any) -> list[Any]:
    """Returns the argument tensors of the body of a function, without the captured tensors, which follow them."""
    return list(concrete.graph.inputs)[: len(concrete.graph.inputs) - len(concrete.captured_inputs)]


def _pack_results(structure: Any, results: Sequence[Any]) -> Any:
    """Returns the return value of a function, given its results."""
    remaining = iter(results)
    flat = [None if item is None else next(remaining) for item in tf.nest.flatten(structure, expand_composites=True)]
    return tf.nest.pack_sequence_as(structure, flat, expand_composites=True)


def _results(concrete: Any) -> list[tuple[str, Any]]:
    """Returns (name, tensor) of the results. A name joins keys, positions, and parts of composite tensors by "_"."""
    structure = concrete.structured_outputs
    flat = [item for item in tf.nest.flatten(structure, expand_composites=True) if item is not None]
    tensors = list(concrete.graph.outputs)[: len(flat)]  # a gradient tape adds tensors after them
    names: list[str] = []
    todo: list[tuple[str, Any]] = [("", structure)]
    while todo:
        path, item = todo.pop()
        if isinstance(item, dict):
            todo += [(f"{path}_{key}", item[key]) for key in sorted(item, reverse=True)]
        elif isinstance(item, (list, tuple)):
            todo += [(f"{path}_{i}", value) for i, value in reversed(list(enumerate(item)))]
        elif item is not None:
            lead = path.removeprefix("_") or "output"
            names += [f"{lead}_{part}" if part else lead for part in _parts(item)]
    if isinstance(structure, (list, tuple)):
        names = [f"output_{name}" for name in names]
    if len(names) != len(tensors) or len(set(names)) != len(tensors):
        names = [f"output_{i}" for i in range(len(tensors))]
    return list(zip(names, tensors, strict=True))


def _parts(item: Any) -> list[str]:
    """Returns the names of the component tensors of a result, in TensorFlow's order; [""] for a plain tensor."""
    count = len(tf.nest.flatten(item, expand_composites=True))
    if count == 1:
        return [""]
    if isinstance(item, (tf.RaggedTensor, tf.RaggedTensorSpec)):
        splits = [f"row_splits_{i}" for i in range(count - 1)] if count > 2 else ["row_splits"]
        return ["values", *splits]
    if isinstance(item, (tf.SparseTensor, tf.SparseTensorSpec)):
        return ["indices", "values", "dense_shape"]
    if isinstance(item, (tf.IndexedSlices, tf.IndexedSlicesSpec)):
        return ["values", "indices", "dense_shape"][:count]
    return [str(i) for i in range(count)]


# -- captures ---------------------------------------------------------------------------------------


tf1 = tf.compat.v1

#: Up to this total size in bytes, initial values become constants. Constants need memory in each graph and session.
CONSTANT_BYTES = 1 << 28

_VARIABLE_SUFFIXES = ("", "/Assign", "/Read", "/Read/ReadVariableOp", "/IsInitialized",
                      "/IsInitialized/VarIsInitializedOp",
          "/Initializer", "/Initializer/Const", "/Initializer/value")  # fmt: skip
_WRITES = frozenset({"LookupTableInsertV2", "LookupTableRemoveV2", "LookupTableImportV2"})


@dataclass
class Captures:
    """The replacements for the captures of a function in a plain graph.

    Args:
        tensors: captured tensor of the body -> tensor of the plain graph.
        constants: captured tensor of the body -> its value.
        values: variable op name -> value, if its initial value is not in the graph.
        handles: variable op name -> the handle of the captured variable.
    """

    tensors: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    handles: dict[str, Any] = field(default_factory=dict)


class OpenedValues:
    """The values of variables and tables at the time when their function was opened.

    Args:
        graph: the plain graph, with its variables and tables.
        values: variable op name -> value; other variables have their initial values.
        handles: variable op name -> the handle of the captured variable.
    """

    def __init__(self, graph: TFGraph, values: dict[str, Any], handles: dict[str, Any]) -> None:
        self._values = values
        # Weak references, so that the graph does not keep the opened object alive.
        self._handles = {name: weakref.ref(handle) for name, handle in handles.items()}
        self._names = frozenset(variable_infos(graph))
        self._tables = [op.name for op in graph.get_collection(tf1.GraphKeys.TABLE_INITIALIZERS)]

    def fill(self, session: TFSession) -> None:
        """Sets the variables of `session`, then fills its tables."""
        infos = variable_infos(session.graph)
        run_initializers(session, [infos[name] for name in sorted(self._names) if name not in self._values])
        assign(session, self._values, infos)
        self.fill_tables(session)

    def fill_tables(self, session: TFSession) -> None:
        """Fills the tables of `session`."""
        session.run([session.graph.get_operation_by_name(name) for name in self._tables])

    def filled_variables(self) -> frozenset[str]:
        """Returns the names of the variable ops that `fill` sets."""
        return self._names

    def untrained(self) -> dict[str, str]:
        """Returns an empty dict, because a TF2 variable always has a value."""
        return {}

    def identities(self) -> dict[str, int]:
        """Returns variable op -> identity of the captured variable."""
        return {name: id(handle) for name, handle in self.handles().items()}

    def handles(self) -> dict[str, Any]:
        """Returns variable op -> handle of the captured variable, for variables that still exist."""
        live = {name: handle() for name, handle in self._handles.items()}
        return {name: handle for name, handle in live.items() if handle is not None}


def capture(
    concrete: Any,
    graph: TFGraph,
    variable_names: Iterable[tuple[Any, str]],
    request: str,
    untrainable: Container[int] = (),
) -> Captures:
    """Makes the replacement of each capture of a function in `graph`: a variable, a table or a constant.

    Args:
        concrete: a ConcreteFunction.
        graph: an empty `tf.Graph`.
        variable_names: (variable, name) pairs in addition to the variables that the function itself refers to.
        request: the request, for messages.
        untrainable: as in `lift`.

    Raises:
        OpenError: the function captures something else, such as an iterator, or a variable without a value.
    """
    body = concrete.graph
    variables: dict[int, tuple[Any, str]] = {id(v.handle): (v, plain_name(v.name, "variable")) for v in body.variables}
    variables.update({id(v.handle): (v, plain_name(name, "variable")) for v, name in variable_names})
    outside = list(concrete.captured_inputs)
    inside = list(body.inputs)[len(body.inputs) - len(outside) :]
    names = _UniqueNames(op.name for op in body.get_operations() if op not in {t.op for t in inside})
    out = Captures()
    handles: dict[int, Any] = {}
    budget = CONSTANT_BYTES
    for tensor, stand_in in zip(outside, inside, strict=True):
        if tensor.dtype not in (tf.resource, tf.variant):
            with eager():
                out.constants[stand_in.name] = np.array(array_of(tensor.numpy()))
            continue
        if id(tensor) not in handles:
            data = variable_data(tensor) if tensor.dtype == tf.resource else None
            if data is None:
                handles[id(tensor)] = _table(tensor, stand_in, body, graph, names, request)
            else:
                variable, name = variables.get(id(tensor), (None, "variable"))
                trainable = id(tensor) not in untrainable and bool(getattr(variable, "trainable", data[0].is_floating))
                name, handles[id(tensor)], value = _variable(
                    tensor, trainable, name, data, graph, names, budget, request
                )
                out.handles[name] = tensor
                budget -= value.nbytes
                if budget < 0:
                    out.values[name] = value
        out.tensors[stand_in.name] = handles[id(tensor)]
    return out


class _UniqueNames:
    """Returns names that are not used before and not the name of an op of the body, ignoring case."""

    def __init__(self, body: Iterable[str]) -> None:
        self._body = {name.lower() for name in body}
        self._used_names: set[str] = set()

    def __call__(self, preferred: str) -> str:
        parts: list[str] = []
        for i, part in enumerate(preferred.strip("/").split("/")):
            last = i == preferred.strip("/").count("/")
            is_used = partial(self._clash, parts, last)
            parts.append(free_name(part, is_used, as_tensorflow=True))
            self._used_names.add("/".join(parts).lower())
        return "/".join(parts)

    def _clash(self, scopes: list[str], is_op: bool, leaf: str) -> bool:
        name = "/".join([*scopes, leaf]).lower()
        if not is_op:
            return name in self._body
        return name in self._used_names or any(name + part.lower() in self._body for part in _VARIABLE_SUFFIXES)


def _variable(
    handle: Any,
    trainable: bool,
    preferred: str,
    data: tuple[Any, Any],
    graph: TFGraph,
    names: _UniqueNames,
    budget: int,
    request: str,
) -> tuple[str, Any, Any]:
    dtype, shape = data
    with eager():
        ready = bool(tf.raw_ops.VarIsInitializedOp(resource=handle))
    if not ready:
        raise OpenError(request, f"variable {preferred!r} has no value yet", "Assign a value first")
    with eager():
        value = np.array(array_of(tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype).numpy()))
    name = names(preferred)
    fits = value.nbytes <= budget

    def first() -> Any:
        return tf.constant(value, dtype, name="Const") if fits else tf1.placeholder(dtype, value.shape, name="value")

    with graph.as_default(), tf1.device(None):
        new = tf1.Variable(
            first,
            trainable=trainable,
            name=name,
            dtype=dtype,
            shape=shape,
            use_resource=True,
            validate_shape=shape.is_fully_defined(),
        )
    assert new.op.name == name, f"{new.op.name} instead of {name}"
    return name, new.handle, value


# -- tables ---------------------------------------------------------------------------------------


def _table(handle: Any, placeholder: Any, body: Any, graph: TFGraph, names: _UniqueNames, request: str) -> Any:
    users = _users(body, placeholder)
    kinds = {(n.attr["Tin"].type, n.attr["Tout"].type) for n in users if "Tin" in n.attr and "Tout" in n.attr}
    if handle.dtype != tf.resource or len(kinds) != 1 or not all(n.op.startswith("LookupTable") for n in users):
        op_types = ", ".join(sorted({n.op for n in users})) or "nothing"
        raise OpenError(
            request,
            f"it captures {placeholder.name!r}, which is not a variable, constant or table (it is used by {op_types})",
            "Make it an argument of the function",
        )
    keys_type, values_type = (tf.as_dtype(t) for t in kinds.pop())
    with eager():
        keys, values = tf.raw_ops.LookupTableExportV2(table_handle=handle, Tkeys=keys_type, Tvalues=values_type)
        keys, values = keys.numpy(), values.numpy()
    name = names("table")
    types = {"key_dtype": keys_type, "value_dtype": values_type, "name": name}
    with graph.as_default():
        if not any(n.op in _WRITES for n in users) and values.ndim == 1:
            table, fill = tf.raw_ops.HashTableV2(**types), tf.raw_ops.InitializeTableV2
        elif values.ndim == 1:
            table, fill = tf.raw_ops.MutableHashTableV2(**types), tf.raw_ops.LookupTableImportV2
        else:
            table = tf.raw_ops.MutableHashTableOfTensorsV2(value_shape=values.shape[1:], **types)
            fill = tf.raw_ops.LookupTableImportV2
        with tf1.name_scope(f"{name}/Initializer/"):
            content = {"keys": tf.constant(keys, keys_type), "values": tf.constant(values, values_type)}
            fill_op = fill(table_handle=table, **content, name="fill")
        graph.add_to_collection(tf1.GraphKeys.TABLE_INITIALIZERS, fill_op)
    return table


def _users(body: Any, tensor: TFTensor) -> Sequence[Any]:
    """Returns the nodes that use a captured tensor, including nodes in functions to which it is passed."""
    functions = functions_of(body)
    users = []
    todo: list[tuple[Any, int]] = [
        (op.node_def, i) for op in tensor.consumers() for i, t in enumerate(op.inputs) if t is tensor
    ]
    visited: set[tuple[str, int]] = set()
    while todo:
        node, position = todo.pop()
        called = functions_in_node(node, functions)
        if not called:
            users.append(node)
            continue
        at = position - (node.op in BRANCHES + CASES)
        for name in called:
            if (name, at) in visited:
                continue
            visited.add((name, at))
            inner = definition(functions[name])
            argument = inner.signature.input_arg[at].name
            todo += [(n, i) for n in inner.node_def for i, text in enumerate(n.input) if text == argument]
    return users
