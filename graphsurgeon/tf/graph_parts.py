"""The parts of a live graph: the kinds of its ops, variables, collections and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..errors import PlanError
from ..graph.names import colocate
from ..graph.types import TFGraph, TFNodeDef, TFOp, TFSession, TFTensor, TFVariable
from ..graph.variables import VARIABLE_TYPES, end_renamer, rename_variable
from .copy.imports import import_nodes
from .functions.definitions import adopt
from .import_tensorflow import tf
from .messages import graph_pb2, node_def_pb2
from .private.c_api import TENSOR, functions_of, names_in_use
from .private.contexts import context_of as context_of
from .private.contexts import outermost_context, outside_contexts
from .private.graphs import MARKS_INPUTS as MARKS_INPUTS
from .private.graphs import current_control_inputs as current_control_inputs
from .private.graphs import input_marks as input_marks
from .private.graphs import is_variable, same_shape
from .private.graphs import number_of as number_of
from .private.graphs import originals_of as originals_of
from .private.graphs import set_original as set_original
from .protos import empty_graph, lacks_memory
from .values.transfer import assign
from .values.variables import fetch, join_collection, rebuild_variable, variable_infos
from .values.variables import variable_objects as variable_objects

tf1 = tf.compat.v1

Graph, Operation, Tensor = tf.Graph, tf.Operation, tf.Tensor
#: Returns whether TensorFlow executes eagerly, so that no graph is being built.
executing_eagerly = tf.executing_eagerly
#: The type of a tensor of a live graph; an eager tensor does not have it.
SymbolicTensor = TENSOR


def dtype_of(number: int) -> Any:
    """Returns the dtype that a proto stores as this number.

    Raises:
        TypeError: no dtype has this number.
    """
    return tf.as_dtype(number)


def is_variable_object(value: Any) -> bool:
    """Returns whether a value is a `tf.Variable` of a graph."""
    return bool(is_variable(value)) and hasattr(value, "op")


def unwrap(value: Any) -> Any:
    """Returns the op or tensor inside TensorFlow's wrapper for results that must be used; other values are unchanged.

    `tf.debugging.Assert`, for example, returns this wrapper. For `isinstance` it is an op, but it is another object.
    """
    if issubclass(type(value), Operation | Tensor) or not isinstance(value, Operation | Tensor):
        return value
    return value.graph.as_graph_element(value.name)


def placeholder(graph: TFGraph | None, dtype: Any, shape: Any = None, name: str | None = None) -> TFTensor:
    """Makes a placeholder in a graph, or in the default graph if `graph` is not given.

    Args:
        graph: a `tf.Graph`, or None.
        dtype: its dtype; a reference dtype loses the reference.
        shape: static shape; None for an unknown one.
        name: its full name; made unique.
    """
    dtype = tf.as_dtype(dtype).base_dtype
    if graph is None:
        return tf1.placeholder(dtype, shape, name)
    # A name with a slash at its end is absolute.
    with graph.as_default(), tf1.name_scope(None), tf1.control_dependencies(None):
        return tf1.placeholder(dtype, shape, name)


def graph_key_names() -> list[str]:
    """Returns the names of all collections that TensorFlow itself uses."""
    keys = tf1.GraphKeys
    # VARIABLES is an old name of GLOBAL_VARIABLES, and TensorFlow logs a warning if it is used.
    attributes = [key for key in dir(keys) if not key.startswith("__") and key != "VARIABLES"]
    return [name for key in attributes if isinstance(name := getattr(keys, key), str)]


def collections_in(graph: TFGraph) -> dict[Any, list[Any]]:
    """Returns the collections of a graph, as new lists."""
    return {key: graph.get_collection(key) for key in graph.get_all_collection_keys()}


def is_name_taken(graph: TFGraph, name: str) -> bool:
    """Returns whether an op or scope of a graph has this name, ignoring case."""
    return name.lower() in names_in_use(graph)


def missing_context_ops(ops: Iterable[TFOp]) -> list[TFOp]:
    """Returns the other ops of TF1 loops and conds that are given only in part, in order of creation."""
    op_list = list(ops)
    context_ids = {id(outermost_context(op)) for op in op_list} - {id(None)}
    if not context_ids:
        return []
    graph, given_ids = op_list[0].graph, {id(op) for op in op_list}
    members = {}
    for op in graph.get_operations():
        context = outermost_context(op)
        if context is None or id(context) not in context_ids:
            continue
        members[id(op)] = op
        inner = context_of(op)
        while inner is not None:
            ends = (*getattr(inner, "loop_enters", ()), *getattr(inner, "loop_exits", ()))
            members.update({id(end.op): end.op for end in ends})
            inner = inner.outer_context
    # The outputs of a cond are Merge ops outside of its context.
    for op in list(members.values()):
        for tensor in op.outputs:
            members.update({id(c): c for c in tensor.consumers() if c.type in ("Merge", "RefMerge", "Exit", "RefExit")})
    return sorted((op for key, op in members.items() if key not in given_ids), key=number_of)


#: Attributes that name state or a loop. A copy with the same attribute would share the state or the loop.
_NAME_ATTRIBUTES = ("shared_name", "frame_name", "var_name")


def copy_node(op: TFOp, name: str, key: str, places: Mapping[str, str]) -> Any:
    """Returns the NodeDef of a copy of an op, without its inputs.

    Args:
        op: the op.
        name: full name of the copy.
        key: the prefix for the names of its state and of its loop.
        places: op that the original is colocated with -> op for the copy; other colocations are dropped.
    """
    node = node_def_pb2.NodeDef()
    node.CopyFrom(op.node_def)
    node.name = name
    del node.input[:]
    colocate(node, places)
    for attribute in _NAME_ATTRIBUTES:
        if attribute in node.attr and (node.attr[attribute].s or node.op == "VarHandleOp"):
            original_key = node.attr[attribute].s or op.name.encode()
            node.attr[attribute].s = key.encode() + original_key
    return node


def adopt_functions(source: TFGraph, graph: TFGraph) -> None:
    """Adds the functions of one graph to another graph."""
    if source is not graph and functions_of(source):
        adopt(graph, source.as_graph_def().library)


def add_op(graph: TFGraph, node: TFNodeDef, inputs: Sequence[TFTensor]) -> TFOp:
    """Adds one op to a graph.

    Args:
        graph: the graph.
        node: the NodeDef with its full name, without inputs.
        inputs: the inputs of the op, tensors of `graph`.

    Raises:
        ValueError: TensorFlow refuses the op.
    """
    # An import would refuse an op with the name of a scope. A slash at the end makes TensorFlow use exactly this name.
    with (
        graph.as_default(),
        outside_contexts(graph),
        tf1.control_dependencies(None),
        tf1.device(None),
        tf1.device(node.device or None),
    ):
        return graph.create_op(node.op, list(inputs), None, name=f"{node.name}/", attrs=dict(node.attr))


def is_reference(tensor: TFTensor) -> bool:
    """Returns whether a tensor is a reference or a resource handle, so its value is stored elsewhere."""
    return tensor.dtype != tensor.dtype.base_dtype or tensor.dtype in (tf.resource, tf.variant)


#: An op with one of these attributes depends on other parts of its graph.
_STATE_ATTRIBUTES = ("shared_name", "container", "_class", "_gradient_op_type", "frame_name", "token")


def is_plain(op: TFOp) -> bool:
    """Returns whether an op depends only on its inputs, not on state, a loop or cond, or a function."""
    if context_of(op) is not None or op.type in VARIABLE_TYPES or any(map(is_reference, op.outputs)):
        return False
    attributes = op.node_def.attr
    if any(key in attributes for key in _STATE_ATTRIBUTES):
        return False
    return not any(value.HasField("func") or value.list.func for value in attributes.values())


def copy_plain_ops(
    graph: TFGraph,
    ops: Sequence[TFOp],
    names: Mapping[str, str],
    inputs: Mapping[TFTensor, TFTensor],
    replacements: Mapping[TFOp, TFOp],
    scope: str,
) -> dict[str, TFOp] | None:
    """Copies plain ops within their graph, all of them or none.

    Args:
        graph: the graph.
        ops: ops that pass `is_plain`, in order of creation.
        names: name of an op -> name of its copy.
        inputs: tensor from outside of `ops` -> the tensor that the copies read instead.
        replacements: control input from outside of `ops` -> the op that the copies wait for instead.
        scope: the scope of all new names; empty for none.

    Returns:
        name -> new op; None if TensorFlow refuses the copies, and nothing was added.
    """
    graph_def = graph_pb2.GraphDef()
    graph_def.versions.CopyFrom(graph.graph_def_versions)
    tensors, controls = {}, {}
    for op in ops:
        node = graph_def.node.add()
        node.CopyFrom(op.node_def)
        node.name = names[op.name]
        del node.input[:]
        for tensor in op.inputs:
            if tensor.op.name in names:
                node.input.append(f"{names[tensor.op.name]}:{tensor.value_index}")
                continue
            new = inputs[tensor]
            tensors[new.op.name, new.value_index] = new
            node.input.append(f"{new.op.name}:{new.value_index}")
        for control_input in op.control_inputs:
            replacement = replacements.get(control_input, control_input)
            if control_input.name not in names:
                controls[replacement.name] = replacement
            node.input.append(f"^{names.get(control_input.name, replacement.name)}")
    try:
        with outside_contexts(graph):
            new_ops = import_nodes(graph, graph_def, tensors, controls, within=scope)
    except Exception as error:
        if lacks_memory(error):
            raise
        return None
    if len(new_ops) != len(ops):  # a name was taken
        return None
    if scope:
        names_in_use(graph).setdefault(scope.lower(), 1)  # no later op gets this name automatically
    for op in ops:
        copy = new_ops[names[op.name]]
        if same_shapes(op.inputs, copy.inputs):
            for old, output in zip(op.outputs, copy.outputs, strict=True):
                output.set_shape(old.shape)
    return new_ops


def rebuild_variables(
    source: TFGraph, graph: TFGraph, ops: Mapping[str, str], scope: str, rename: Callable[[str], str]
) -> list[TFVariable]:
    """Makes `tf.Variable` objects for copied ops, and adds them to the collections of their originals.

    Args:
        source: the graph that was copied from.
        graph: the graph with the copies.
        ops: name of a source op -> name of its copy.
        scope: the scope of the copy.
        rename: name of a collection -> its name for the copy.
    """
    originals, variables = variable_objects(source), {}
    for info in variable_infos(source).values():
        parts = {p.partition(":")[0] for p in (info.op, info.initializer, info.snapshot, info.initial_value) if p}
        if not info.initializer or not parts <= ops.keys():
            continue

        variable = rebuild_variable(graph, rename_variable(info, end_renamer(ops)), originals.get(info.op))
        if variable is not None:
            variables[info.op] = variable
    join_collections(source, graph, variables, rename)
    return list(variables.values())


def join_collections(
    source: TFGraph, graph: TFGraph, variables: Mapping[str, TFVariable], rename: Callable[[str], str]
) -> None:
    """Adds new variables to the collections of their originals.

    Args:
        source: the graph copied from.
        graph: the graph of the copies.
        variables: op name of the original -> new variable.
        rename: name of a collection -> its name for the copy.
    """
    for key, items in collections_in(source).items():
        new_items = [variables[item.op.name] for item in items if is_variable(item) and item.op.name in variables]
        if new_items:
            join_collection(graph, rename(key), new_items)


def carry_values(ops: Mapping[str, str], source: TFSession, session: TFSession) -> int:
    """Sets copied variables to the values of their originals; returns the number of variables.

    Args:
        ops: name of a source op -> name of its copy.
        source: a session in which the originals have values.
        session: the session in which the copies are set.

    Raises:
        PlanError: an original has no value.
    """
    source_infos, infos = variable_infos(source.graph), variable_infos(session.graph)
    copies = {old: new for old, new in ops.items() if old in source_infos and new in infos and infos[new].initializer}
    values = fetch(source, [source_infos[name] for name in copies], source.graph, "load_values(...)")
    assign(session, {copies[name]: value for name, value in values.items()}, infos)
    return len(copies)


def is_placed(op: TFOp) -> bool:
    """Returns whether an op is colocated with another op."""
    return bool(op.colocation_groups() != [b"loc:@" + op.name.encode()])


def same_shapes(tensors: Iterable[TFTensor], others: Iterable[TFTensor]) -> bool:
    """Returns whether the static shapes of two sequences of tensors are equal, pair by pair."""
    return all(same_shape(a, b) for a, b in zip(tensors, others, strict=True))


def as_tensor(value: Any, graph: TFGraph, dtype: Any) -> TFTensor:
    """Returns a value, array or variable as a tensor of a graph, with a given dtype; a tensor is returned unchanged."""
    if isinstance(value, tf.Tensor) and hasattr(value, "graph"):
        return unwrap(value)
    with graph.as_default(), tf1.control_dependencies(None):
        return tf.convert_to_tensor(value, None if dtype == tf.resource else dtype.base_dtype)


def variable_of(tensor: TFTensor) -> TFOp | None:
    """Returns the op of the variable that a tensor is read from directly; None if it is not a read of a variable."""
    op = tensor.op
    if op.type in ("ReadVariableOp", "Identity") and len(op.inputs) == 1:
        op = op.inputs[0].op
    return op if op.type in VARIABLE_TYPES else None


def value_readers(variable: TFOp) -> list[TFOp]:
    """Returns the ops that read the value of a variable, given by its op, without the ops that set it."""
    consumers = dict.fromkeys(op for out in variable.outputs for op in out.consumers())
    return [op for op in consumers if not op.type.startswith(("Assign", "VarIsInitialized", "IsVariableInitialized"))]


def graph_with_placeholders(specs: Mapping[str, Any], request: str) -> TFGraph:
    """Returns a new `tf.Graph` with placeholders.

    Args:
        specs: name -> tensor or `tf.TensorSpec` with the dtype and static shape of the placeholder.
        request: the request, for messages.

    Raises:
        PlanError: TensorFlow does not accept a name.
    """
    graph = empty_graph()
    with graph.as_default(), tf1.device(None):
        for name, tensor in specs.items():
            try:
                placeholder_tensor = tf1.placeholder(tensor.dtype.base_dtype, tensor.shape, name=name)
            except ValueError as error:
                raise PlanError(
                    request, f"{name!r} is not a name of an op", "Use letters, digits, '_' and '/'"
                ) from error
            assert placeholder_tensor.op.name == name, f"{placeholder_tensor.op.name} instead of {name}"
    return graph
