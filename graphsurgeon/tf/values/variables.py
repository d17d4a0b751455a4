"""Variables of a graph: their descriptions, their copies, and their values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from ...errors import Kind, PlanError, few
from ...graph.graph import shape_text
from ...graph.names import partitioned_name
from ...graph.types import TFGraph, TFOp, TFSession, TFTensor, TFVariable
from ...graph.variables import ASSIGN_TYPES, VARIABLE_TYPES, VariableInfo, variable_from_def, variable_from_reads
from ..import_tensorflow import tf
from ..messages import variable_pb2
from ..private.contexts import innermost_context
from ..private.graphs import all_collections, collections_of, from_proto, is_variable, take_scopes
from .checkpoint_reader import StoredValue, array_of

tf1 = tf.compat.v1
#: The place of a variable in a session: whether it is a resource variable, its container, its name in the container.
Place = tuple[bool, bytes, bytes]


def variable_objects(graph: TFGraph) -> dict[str, TFVariable]:
    """Returns the `tf.Variable` objects in the collections of a graph, by op name."""
    objects: dict[str, TFVariable] = {}
    for items in collections_of(graph).values():
        for item in items:
            if is_variable(item) and item.graph is graph:
                objects.setdefault(item.op.name, item)
    return objects


def variable_infos(graph: TFGraph) -> dict[str, VariableInfo]:
    """Returns variable op name -> its description, including variables that are in no collection."""
    objects = variable_objects(graph)
    inside: dict[str, list[str]] = {}
    for name, items in collections_of(graph).items():
        for item in items:
            if is_variable(item):
                inside.setdefault(item.op.name, []).append(name)
    infos = {}
    with graph.as_default():  # otherwise TensorFlow would refuse the call in eager mode
        protos = {name: variable.to_proto() for name, variable in objects.items()}
    for name, variable in objects.items():
        proto = protos[name]
        info = VariableInfo(name, dtype=variable.dtype.base_dtype.name, shape=shape_text(dims_of(variable.shape)))
        # The tensor in the proto may be replaced: by an edit, or by TensorFlow if it reads other variables.
        infos[name] = variable_from_def(info, proto, assigned_tensor(graph, proto.initializer_name), inside[name])
    ordered = {}  # in the order of the graph, not of the collections
    for op in graph.get_operations():
        if op.type in VARIABLE_TYPES:
            ordered[op.name] = infos.pop(op.name) if op.name in infos else _info_of_op(op)
    return {**ordered, **infos}


def dims_of(shape: Any) -> tuple[int | None, ...] | None:
    """Returns a `tf.TensorShape` as a tuple; None if its rank is not known."""
    return None if shape.rank is None else tuple(shape.as_list())


def shape_of(graph: TFGraph, info: VariableInfo) -> tf.TensorShape:
    """Returns the static shape of a variable; unknown for `Variable` ops, which store an unknown shape as a scalar."""
    op = graph.get_operation_by_name(info.op)
    return tf.TensorShape(None if op.type == "Variable" else op.get_attr("shape"))


def assigned_tensor(graph: TFGraph, initializer: str) -> str:
    """Returns the tensor that an initializer assigns, which may be missing in the `VariableDef`; empty if none."""
    inputs = list(graph.get_operation_by_name(initializer.partition(":")[0]).inputs) if initializer else []
    return str(inputs[1].name) if len(inputs) > 1 else ""


def _info_of_op(op: TFOp) -> VariableInfo:
    """Returns the description of a variable that is in no collection, from the consumers of its op."""
    users = [(user, user.type in ASSIGN_TYPES and user.inputs[0].op is op) for user in op.outputs[0].consumers()]
    return variable_from_reads(
        op.name,
        ((user.type, user.name, user.inputs[1].name if sets else None) for user, sets in users),
        dtype=tf.as_dtype(op.get_attr("dtype")).name,
        shape=shape_text(dims_of(tf.TensorShape(op.get_attr("shape")))),
        resource=op.type == "VarHandleOp",
    )


def rebuild_variable(
    graph: TFGraph, info: VariableInfo, original: TFVariable | None, trainable: bool = True
) -> TFVariable | None:
    """Returns a `tf.Variable` object over the ops of a copy; adds no op.

    Args:
        graph: the destination.
        info: the description of the copied variable.
        original: the object of the original, or None if it was in no collection.
        trainable: whether the copy is trainable if the original is.

    Returns:
        the variable, or None if parts that an object requires are missing.
    """
    if not (info.initializer and info.snapshot):
        return None
    # Entering a graph takes as long as making a variable, so callers enter it once for all variables.
    with nullcontext() if tf1.get_default_graph() is graph else graph.as_default():
        proto = variable_pb2.VariableDef(trainable=info.trainable) if original is None else original.to_proto()
        proto.variable_name = info.op + ":0"
        proto.initializer_name = info.initializer
        proto.initial_value_name = info.initial_value
        proto.snapshot_name = info.snapshot
        proto.is_resource = info.resource
        proto.trainable = proto.trainable and trainable
        if original is not None and proto.HasField("save_slice_info_def"):
            about = proto.save_slice_info_def
            about.full_name = partitioned_name(about.full_name, original.op.name, info.op)
        return from_proto(proto, original)


class UniqueVariables(list[Any]):
    """A collection with one object for each copied variable: a later object for the same op replaces the first one.

    Copies of `tf.contrib` had no variable objects. So old programs make an object for the ops of a copied variable and
    add it to the collections. Two objects would train the variable twice, and make a `Saver` fail.
    """

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.copied: set[TFOp] = set()  # the ops of the copies

    def append(self, item: Any) -> None:
        """Adds an item; the object of a copied variable that is already in the list replaces the old object."""
        op = _op_of(item)
        places = [at for at, own in enumerate(self) if _op_of(own) is op] if op in self.copied else []
        if places:
            self[places[0]] = item
        else:
            super().append(item)


def join_collection(graph: TFGraph, name: str, items: Sequence[Any]) -> None:
    """Adds copies to a collection of a graph; a collection of variables becomes a `UniqueVariables` list."""
    lists = all_collections(graph)
    entries, copied = lists.setdefault(name, []), {op for op in map(_op_of, items) if op is not None}
    if copied:
        entries = lists[name] = entries if isinstance(entries, UniqueVariables) else UniqueVariables(entries)
        entries.copied |= copied
    entries.extend(items)


def same_entry(item: Any, other: Any) -> bool:
    """Returns whether two entries of collections are the same object, or objects for the same variable."""
    return item is other or (_op_of(item) is not None and _op_of(item) is _op_of(other))


def _op_of(item: Any) -> TFOp | None:
    """Returns the op of a variable of a graph; None for any other item."""
    return getattr(item, "op", None) if is_variable(item) else None


def reserve_slot_names(graph: TFGraph, names: Iterable[str]) -> None:
    """Reserves the names of the slots among new variables, so that a later optimizer uses other names."""
    variables = set(names)
    take_scopes(graph, [name for name in variables if name.rpartition("/")[0] in variables])


def fetch(
    values: Any,
    infos: Sequence[VariableInfo],
    graph: TFGraph,
    request: str,
    lazy: frozenset[str] = frozenset(),
    *,
    initial: bool = False,
) -> dict[str, Any]:
    """Returns the current values of variables, by op name, in one fetch.

    Args:
        values: a session of `graph`, or a mapping of variable name to array.
        infos: the variables to read.
        graph: the source graph.
        request: the request, for messages.
        lazy: variables whose value may stay in its checkpoint, as a `StoredValue`.
        initial: whether the request can choose initial values for variables.

    Raises:
        PlanError: a variable is not initialized, is not in the mapping, or has another shape there. Also if no op of
            the graph reads it, or if `values` is neither a mapping nor a session of the graph.
    """
    if isinstance(values, Mapping):
        return {info.op: _value_in(values, info, graph, request, info.op in lazy, initial=initial) for info in infos}
    _require_source_of(values, graph, request)
    if not infos:
        return {}
    tensors = {info.op: value_of(graph, info, request) for info in infos}
    with errors_if_empty(infos, request, initial):
        return as_arrays(values.run(tensors))


def refuse_unfit(
    values: Any, infos: Sequence[VariableInfo], graph: TFGraph, request: str, *, initial: bool = False
) -> None:
    """Refuses the values that `fetch` would refuse, without reading them.

    Args:
        values, infos, graph, request, initial: as for `fetch`.

    Raises:
        PlanError: as in `fetch`.
    """
    if isinstance(values, Mapping):
        for info in infos:
            _value_in(values, info, graph, request, lazy=True, own=False, initial=initial)
        return
    _require_source_of(values, graph, request)
    if infos:
        refuse_empty(values, infos, request, initial)


def _require_source_of(values: Any, graph: TFGraph, request: str) -> None:
    """Refuses values that are neither a session nor an editor, or that are of another graph."""
    if not hasattr(values, "run") and not hasattr(values, "untrained"):
        how = "Give a session, an editor, or {name: array}"
        if isinstance(values, str | os.PathLike):
            how += "; gs.open('model.meta') opens an editor with the values of the checkpoint next to that file"
        raise PlanError(request, f"values={values!r} is not a source of values", how)
    if values.graph is not graph:
        raise PlanError(
            request,
            "values is a session of another graph: of another editor, or of the graph before a plan rebuilt it",
            "Give a session of the graph that is copied from; ed.session(session) makes one with the same values",
        )


def as_arrays(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns fetched values as arrays, also scalar strings, which a session returns as bytes."""
    return {name: array_of(v) if isinstance(v, bytes) else v for name, v in values.items()}


#: How a variable gets a value in a session.
INITIALIZE = (
    "Initialize or restore it there first: session.run(variable.initializer), or gs.open(session).restore(checkpoint)"
)


@contextmanager
def errors_if_empty(infos: Sequence[VariableInfo], request: str, initial: bool = False) -> Iterator[None]:
    """Replaces TensorFlow's error by a clearer one if a variable has no value, or the session is closed.

    Args:
        infos: the variables that are read.
        request: the request, for messages.
        initial: whether the request can choose initial values for variables.

    Raises:
        PlanError: a variable has no value, or the session was closed.
    """
    try:
        with errors_if_closed(request):
            yield
    except tf.errors.FailedPreconditionError as error:
        # Only the text of TensorFlow's error contains the variable: the longest name that occurs as a separate word.
        # A plain search would find "w" in "w/Adam", and "a" in "value".
        text = f" {getattr(error, 'message', error)} "
        candidates = [i.op for i in infos if re.search(rf"[\s:'/]{re.escape(i.op)}[\s.,:'/]", text)]
        name = max(candidates, key=len, default=infos[0].op)
        raise PlanError(
            request,
            f"variable {name!r} has no value in the session given",
            INITIALIZE + (", or choose variables='initial'" if initial else ""),
            kind=Kind.NO_VALUE,
            names=[name],
        ) from error


@contextmanager
def errors_if_closed(request: str) -> Iterator[None]:
    """Replaces TensorFlow's error by a PlanError if a session is closed."""
    try:
        yield
    except RuntimeError as error:
        if "closed Session" not in str(error):  # TensorFlow raises a plain RuntimeError
            raise
        problem = "the session that has the values is closed"
        raise PlanError(request, problem, "Give an open session", kind=Kind.CLOSED_SESSION) from error


def refuse_empty(session: TFSession, infos: Sequence[VariableInfo], request: str, initial: bool = False) -> None:
    """Refuses variables that have no value in a session, without reading the values.

    Raises:
        PlanError: a variable has no value; the message names it.
    """
    with errors_if_empty(infos, request, initial):
        session.run([value_of(session.graph, info, request).op for info in infos])


def value_of(graph: TFGraph, info: VariableInfo, request: str) -> TFTensor:
    """Returns a tensor that reads the value of a variable without side effects.

    Raises:
        PlanError: there is no such tensor.
    """
    snapshot = info.snapshot if info.snapshot and _reads(graph, info) else ""
    if snapshot or not info.resource:
        return graph.as_graph_element(snapshot or info.op + ":0")
    place = place_of(graph.get_operation_by_name(info.op))
    for op in graph.get_operations():  # all ops with the same place refer to the same variable
        if op.type == "VarHandleOp" and place_of(op) == place:
            for consumer in op.outputs[0].consumers():
                if consumer.type == "ReadVariableOp" and is_standalone(consumer):
                    return consumer.outputs[0]
    raise PlanError(
        request,
        f"no op reads variable {info.op!r} without running other ops, so its value cannot be read from a session",
        "Give values={name: array}",
    )


def _reads(graph: TFGraph, info: VariableInfo) -> bool:
    """Whether the snapshot tensor of a variable still reads the variable; an edit may have given it another input."""
    op = graph.as_graph_element(info.snapshot).op
    while op.type in ("Identity", "ReadVariableOp"):
        op = op.inputs[0].op
    return str(op.name) == info.op


def is_standalone(op: TFOp) -> bool:
    """Returns whether running an op runs only the op and its inputs."""
    return not op.control_inputs and innermost_context(op) is None


def place_of(op: TFOp) -> Place:
    """Returns the place of a variable in a session: its kind, its container, and its name in the container.

    A reference variable without a shared name has the name of its op. All resource variables without a shared name are
    the same variable.
    """
    resource, name = op.type == "VarHandleOp", op.get_attr("shared_name")
    return resource, op.get_attr("container"), name if name or resource else op.name.encode()


def _value_in(
    values: Mapping[str, Any],
    info: VariableInfo,
    graph: TFGraph,
    request: str,
    lazy: bool,
    own: bool = True,
    initial: bool = False,
) -> Any:
    """Returns the value of a variable in a mapping. `lazy`: stored values are not read; `own`: an array is copied."""
    for key in (info.op, info.op + ":0"):
        if key in values:
            if isinstance(values[key], StoredValue):
                fitting_stored(values[key], info, graph, request)
                return values[key] if lazy else values[key].read()
            # A copy, because TensorFlow may continue to use the memory of its feeds.
            return _checked_value(values[key], info, graph, request, np.array if own else np.asarray)
    has = few([repr(str(name)) for name in values]) or "no names"
    anew = f", or start it anew: variables={{{info.op!r}: 'initial'}}" if initial else ""
    raise PlanError(
        request,
        f"values= has no value for variable {info.op!r}",
        f"It has {has}. Add an array for {info.op!r}{anew}",
    )


def _checked_value(value: Any, info: VariableInfo, graph: TFGraph, request: str, convert: Callable[..., Any]) -> Any:
    """Returns a value as an array with the dtype of its variable; raises an error if the shape differs."""
    suggestion = f"Give an array of {info.dtype} and of shape {info.shape}"
    try:
        array = convert(value, dtype=tf.as_dtype(info.dtype).as_numpy_dtype)
    except (TypeError, ValueError) as error:
        raise PlanError(request, f"the value of {info.op!r} is not an array of {info.dtype}", suggestion) from error
    if not shape_of(graph, info).is_compatible_with(array.shape):
        raise PlanError(
            request,
            f"the value of {info.op!r} has shape {shape_text(array.shape)}, but the variable has {info.shape}",
            suggestion,
        )
    return array


def fitting_stored(value: StoredValue, info: VariableInfo, graph: TFGraph, request: str) -> None:
    """Refuses a stored value whose dtype or shape differs from that of its variable.

    Raises:
        PlanError: dtype or shape differs; the message contains both of them.
    """
    same = value.dtype == tf.as_dtype(info.dtype).name
    if same and shape_of(graph, info).is_compatible_with(value.shape):
        return
    has = f"{value.dtype} {shape_text(value.shape)}"
    raise PlanError(
        request,
        f"{value.key!r} in the checkpoint is {has}, but variable {info.op!r} is {info.dtype} {info.shape}",
        "Give the checkpoint of this model, or leave the variable as it is: exclude=[" + repr(info.op) + "]",
    )


def read_op(variable: TFOp) -> TFTensor:
    """Returns a new tensor that reads a variable, given by its op, in the default graph."""
    handle = variable.outputs[0]
    if handle.dtype == tf.resource:
        return tf.raw_ops.ReadVariableOp(resource=handle, dtype=variable.get_attr("dtype"))
    return tf.identity(handle)


def assign_op(variable: TFOp, value: TFTensor) -> TFOp:
    """Returns a new op that sets a variable, given by its op, to a value of any shape, in the default graph."""
    handle = variable.outputs[0]
    if handle.dtype == tf.resource:
        return tf.raw_ops.AssignVariableOp(resource=handle, value=value)
    return tf.raw_ops.Assign(ref=handle, value=value, validate_shape=False).op


def constant_function(array: Any) -> Any:
    """Returns a function for `Plan.insert` that replaces its argument by a constant."""
    return lambda old: tf.constant(array, old.dtype.base_dtype)
