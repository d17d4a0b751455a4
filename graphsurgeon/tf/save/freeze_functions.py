"""Replaces variables by constants if a loop, a branch or a called function reads them.

If only plain ops read them, a copy with frozen variables is enough. See `export_graph` in export.py, which also copies
init ops of tables.

A variable is followed from its op through all ops that pass it on: loops and conds of TF1, and arguments and results of
functions. Each handle or reference on this path becomes a plain tensor. Ops that read the variable are changed to read
this tensor, and ops that only pass it on get its dtype. Functions with variables as arguments are copied. There is one
copy for each set of arguments that become plain tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import few
from ...graph.conversion_verdict import VARIABLE, ConverterMessage
from ...graph.functions import (
    BRANCHING,
    CALLS,
    CONDITIONALS,
    WHILE_LOOPS,
    callees_of,
    functions_in_node,
    reachable_functions,
)
from ...graph.names import op_name
from ...graph.traversal import reachable_from
from ...graph.types import TFGraph, TFGraphDef, TFNodeDef
from ...graph.variables import QUERY_TYPES, VARIABLE_TYPES
from ..copy.python_state import copy_shapes
from ..copy.tables_and_queues import init_ops
from ..functions.definitions import new_name, rename_calls
from ..functions.expand import constant
from ..import_tensorflow import tf
from ..messages import function_pb2, graph_pb2, op_def_pb2
from ..op_types import op_definition
from ..open.outputs import expand_arguments
from ..protos import empty_graph

tf1 = tf.compat.v1
#: Op type that passes on a variable -> the outputs that pass it on.
_PASSES = {"Identity": (0,), "Switch": (0, 1), "Merge": (0,), "Enter": (0,), "Exit": (0,), "NextIteration": (0,),
           "PlaceholderWithDefault": (0,)}  # fmt: skip
_HANDLES = frozenset({tf.resource.as_datatype_enum, tf.variant.as_datatype_enum})


class Unfreezable(ValueError):
    """Raised if ops need a variable, so that it cannot become a constant.

    Args:
        ops: the ops.
    """

    def __init__(self, ops: Iterable[ConverterMessage]) -> None:
        self.ops = tuple(dict.fromkeys(ops))
        need = f"need{'s' * (len(self.ops) == 1)} a variable, and freezing would make it a constant"
        super().__init__(f"{few([op.text for op in self.ops], 2)} {need}")


def frozen_graph_def(graph_def: TFGraphDef, values: Mapping[str, Any], targets: Iterable[str]) -> TFGraphDef:
    """Returns the part of a GraphDef that some ops need, with its variables as constants.

    Args:
        graph_def: the GraphDef; it is not changed.
        values: variable op name -> array.
        targets: names of ops.

    Raises:
        Unfreezable: an op writes to a variable, or uses it in an unknown way.

    Example:
        >>> with tf.Graph().as_default() as graph:
        ...     w = tf.compat.v1.get_variable("w", initializer=[2.0, 3.0], use_resource=True)
        ...     y = tf.gather(w, [1], name="y")
        >>> found = frozen_graph_def(graph.as_graph_def(), {"w": [2.0, 3.0]}, [y.op.name])
        >>> sorted({node.op for node in found.node})
        ['Const', 'Gather']
    """
    new = graph_pb2.GraphDef(versions=graph_def.versions)
    new.node.extend(_needed_nodes(graph_def, targets))
    functions = _FunctionFreezer({f.signature.name: f for f in graph_def.library.function})
    variables: dict[str, int] = {}
    for node in new.node:
        if node.op in VARIABLE_TYPES and node.name in values:
            dtype = tf.as_dtype(node.attr["dtype"].type).base_dtype
            variables[node.name] = dtype.as_datatype_enum
            _change_type(node, "Const", dtype=variables[node.name])
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(values[node.name], dtype=dtype))
    body = _BodyState(new.node, variables)
    functions.freeze(body)
    if body.blocked_ops:
        raise Unfreezable(body.blocked_ops)
    library = functions.reachable_functions(new.node)
    new.library.function.extend(library.values())
    new.library.gradient.extend(
        pair for pair in graph_def.library.gradient
        if pair.function_name in library and pair.gradient_func in library
    )  # fmt: skip
    return new


def _needed_nodes(graph_def: TFGraphDef, targets: Iterable[str]) -> list[TFNodeDef]:
    """Returns the nodes that some ops need, in the original order."""
    by_name = {node.name: node for node in graph_def.node}
    needed = reachable_from(
        (name for name in targets if name in by_name), lambda name: map(op_name, by_name[name].input)
    )
    return [node for node in graph_def.node if node.name in needed]


@dataclass
class _BodyState:
    """The nodes of a graph or of a function.

    Args:
        nodes: the nodes; they are changed.
        handle_dtypes: tensor that was a handle or a reference, in the notation of inputs -> its current dtype.
        function: the name of the function; empty for a graph.
        renamed: tensor of a function, in the notation of inputs -> its current name.
        blocked_ops: ops that need a variable.
    """

    nodes: Any
    handle_dtypes: dict[str, int]
    function: str = ""
    renamed: dict[str, str] = field(default_factory=dict)
    blocked_ops: list[ConverterMessage] = field(default_factory=list)


@dataclass(frozen=True)
class _FunctionVariant:
    """A copy of a function with plain tensors instead of variables as arguments.

    Args:
        name: the name of the copy.
        result_dtypes: number of a result that was a variable -> its dtype.
        blocked_ops: ops in the function that need a variable.
    """

    name: str
    result_dtypes: dict[int, int]
    blocked_ops: list[ConverterMessage]


class _FunctionFreezer:
    """Freezes the functions of a graph: makes copies of functions whose arguments were variables.

    Args:
        definitions: function name -> FunctionDef.
    """

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions: dict[str, Any] = dict(definitions)
        self._variants: dict[tuple[str, tuple[tuple[int, int], ...]], _FunctionVariant] = {}
        self._active: set[str] = set()

    def reachable_functions(self, nodes: Iterable[TFNodeDef]) -> dict[str, Any]:
        """Returns name -> FunctionDef of all functions that these nodes call, at any depth."""
        called = {name for node in nodes for name in functions_in_node(node, self._definitions)}
        return {name: self._definitions[name] for name in sorted(reachable_functions(called, self._definitions))}

    def freeze(self, body: _BodyState) -> None:
        """Follows the variables through a graph or function, and changes its nodes."""
        turns: dict[str, dict[int, int]] = {}
        more = True
        while more:  # repeated, because a loop of TF1 leads back to earlier ops
            more = False
            for node in body.nodes:
                inputs = self._variable_inputs(node, body)
                if not inputs or turns.get(node.name) == inputs:
                    continue
                turns[node.name] = inputs
                for number, dtype in self._outputs(node, inputs).items():
                    body.handle_dtypes[self._output(node, number, body)] = dtype
                    more = True
        new_nodes: list[Any] = []
        for node in body.nodes:
            if node.name in turns:
                old_results = self._results(node, body)
                new_nodes += self._turn(node, turns[node.name], body)
                body.renamed.update(zip(old_results, self._results(node, body), strict=False))
            elif node.op in VARIABLE_TYPES:  # the value of a variable inside a function is not known
                body.blocked_ops.append(_stuck(node))
        body.nodes.extend(new_nodes)
        for node in body.nodes if body.function else ():
            for at, text in enumerate(node.input):
                node.input[at] = body.renamed.get(text, text)

    def _variable_inputs(self, node: TFNodeDef, body: _BodyState) -> dict[int, int]:
        """Returns input of a node that is a variable, not the value of a variable -> its current dtype."""
        texts = [text for text in node.input if not text.startswith("^")]
        candidates = {
            at: body.handle_dtypes.get(text if body.function else text.removesuffix(":0"))
            for at, text in enumerate(texts)
        }
        dtypes = {at: dtype for at, dtype in candidates.items() if dtype is not None}
        if not dtypes:
            return {}
        about = self._signature(node)
        places = [arg.is_ref or dtype in _HANDLES for arg, _, dtype in expand_arguments(about.input_arg, node, about)]
        return {at: dtype for at, dtype in dtypes.items() if at >= len(places) or places[at]}

    def _signature(self, node: TFNodeDef) -> Any:
        return op_definition(node.op, self._definitions) or op_def_pb2.OpDef()

    def _output(self, node: TFNodeDef, number: int, body: _BodyState) -> str:
        """Returns an output of a node in the notation of inputs."""
        if not body.function:
            return f"{node.name}:{number}" if number else str(node.name)
        return self._results(node, body)[number]

    def _results(self, node: TFNodeDef, body: _BodyState) -> list[str]:
        """Returns the names of the outputs of a node in a function, which depend on the op type; empty in a graph."""
        if not body.function:
            return []
        about = self._signature(node)
        return [f"{node.name}:{arg.name}:{at}" for arg, at, _ in expand_arguments(about.output_arg, node, about)]

    def _outputs(self, node: TFNodeDef, inputs: Mapping[int, int]) -> dict[int, int]:
        """Returns output of a node that passes on a variable -> the dtype of the variable."""
        op_type = _plain(node.op)
        if op_type in _PASSES:
            return dict.fromkeys(_PASSES[op_type], next(iter(inputs.values())))
        if op_type == "IdentityN":
            return dict(inputs)
        outputs: dict[int, int] = {}
        for name, arguments in self._calls(node, inputs):
            outputs.update(self._frozen(name, arguments).result_dtypes)
        return outputs

    def _calls(self, node: TFNodeDef, inputs: Mapping[int, int]) -> list[tuple[str, dict[int, int]]]:
        """Returns (function, its arguments that are no longer variables) for each function that a node calls."""
        shift = int(node.op in CONDITIONALS)
        if node.op not in BRANCHING | CALLS | self._definitions.keys() or (shift and 0 in inputs):
            return []  # the condition must not be a variable
        arguments = {at - shift: dtype for at, dtype in inputs.items()}
        return [(called.function, arguments) for called in callees_of(node, self._definitions)]

    def _turn(self, node: TFNodeDef, inputs: Mapping[int, int], body: _BodyState) -> list[TFNodeDef]:
        """Changes a node so that it reads plain tensors instead of variables; returns nodes to add."""
        op_type, dtype = _plain(node.op), next(iter(inputs.values()))
        texts = [text for text in node.input if not text.startswith("^")]
        node.attr.pop("_output_shapes", None)
        if op_type in _PASSES and (op_type != "Merge" or len(inputs) == len(texts)):
            node.op = op_type
            node.attr["dtype" if op_type == "PlaceholderWithDefault" else "T"].type = dtype
        elif op_type == "IdentityN":
            _set_types(node, "T", inputs)
        elif op_type in _READS and list(inputs) == [0]:
            return _READS[op_type](node, dtype, bool(body.function))
        elif node.op in QUERY_TYPES:
            waits = [f"^{text.partition(':')[0]}" for text in texts] + [t for t in node.input if t.startswith("^")]
            _change_type(node, "Const", dtype=tf.bool.as_datatype_enum)
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(True))
            node.input[:] = dict.fromkeys(waits)
        elif not self._call_plain(node, inputs, body):
            body.blocked_ops.append(_stuck(node))
        return []

    def _call_plain(self, node: TFNodeDef, inputs: Mapping[int, int], body: _BodyState) -> bool:
        """Changes a node so that it calls functions of plain tensors; returns whether this is possible."""
        calls = self._calls(node, inputs)
        variants = {name: self._frozen(name, arguments) for name, arguments in calls}
        where = "" if body.function else f" in a function that {node.name!r} calls"
        inside = [stuck_op for each in variants.values() for stuck_op in each.blocked_ops]
        body.blocked_ops += [replace(stuck_op, names=(node.name,), text=stuck_op.text + where) for stuck_op in inside]
        if not variants:
            return False
        if node.op in self._definitions:
            node.op = variants[node.op].name
            return True
        # The condition of a loop is its last function, and its result is not a variable.
        out = variants[calls[0][0]].result_dtypes
        if any(variants[name].result_dtypes != out for name, _ in calls[: None if node.op not in WHILE_LOOPS else 1]):
            return False
        if node.op in WHILE_LOOPS and out != inputs:
            return False
        rename_calls(node, {name: stuck_op.name for name, stuck_op in variants.items()})
        shift = int(node.op in CONDITIONALS)
        _set_types(node, "T", inputs)
        _set_types(node, "Tin", {at - shift: dtype for at, dtype in inputs.items()})
        _set_types(node, "Tout", out)
        shapes = node.attr["output_shapes"].list.shape if "output_shapes" in node.attr else ()
        for at in out if shapes else ():
            shapes[at].CopyFrom(tf.TensorShape(None).as_proto())
        return True

    def _frozen(self, name: str, arguments: Mapping[int, int]) -> _FunctionVariant:
        """Returns a copy of a function with plain tensors for some of its arguments."""
        key = (name, tuple(sorted(arguments.items())))
        if key in self._variants:
            return self._variants[key]
        if name not in self._definitions or name in self._active:
            return _FunctionVariant(name, {}, [_missing_function(name)])
        self._active.add(name)
        new = function_pb2.FunctionDef()
        new.CopyFrom(self._definitions[name])
        new.signature.name = new_name("frozen", name, self._definitions)
        # With these attributes, TensorFlow may use another implementation of the function, which needs the variables.
        for attribute in ("api_implements", "api_preferred_device"):
            new.attr.pop(attribute, None)
        variables = {}
        for at, dtype in arguments.items():
            argument = new.signature.input_arg[at]
            variables[argument.name] = argument.type = dtype
            argument.is_ref = False
            del argument.handle_data[:]
            new.resource_arg_unique_id.pop(at, None)
            if at in new.arg_attr:
                new.arg_attr[at].attr.pop("_output_shapes", None)
        body, out = _BodyState(new.node_def, variables, name), {}
        self.freeze(body)
        for at, result in enumerate(new.signature.output_arg):
            given_back = new.ret[result.name]
            new.ret[result.name] = body.renamed.get(given_back, given_back)
            dtype = body.handle_dtypes.get(given_back, 0)
            if dtype:
                out[at] = result.type = dtype
                del result.handle_data[:]
        self._active.discard(name)
        self._definitions[new.signature.name] = new
        self._variants[key] = _FunctionVariant(new.signature.name, out, list(dict.fromkeys(body.blocked_ops)))
        return self._variants[key]


def _stuck(node: TFNodeDef) -> ConverterMessage:
    return ConverterMessage((node.name,), node.op, VARIABLE, f"{node.name!r} ({node.op})")


def _missing_function(function: str) -> ConverterMessage:
    return ConverterMessage((), "", VARIABLE, f"function {function!r}, which does not exist or calls itself,")


def _set_types(node: TFNodeDef, key: str, types: Mapping[int, int]) -> None:
    """Writes dtypes into a list attribute of a node, if it has this attribute."""
    for at, dtype in types.items() if key in node.attr else ():
        node.attr[key].list.type[at] = dtype


def _plain(op_type: str) -> str:
    """Returns the op type for plain tensors, given an op type for references; other op types are unchanged."""
    return op_type[3:] if op_type.startswith("Ref") and op_type[3:] in _PASSES else op_type


# -- ops that read a variable through its handle -----------------------------------------------------


def _read_nodes(node: TFNodeDef, dtype: int, in_function: bool) -> list[TFNodeDef]:
    _change_type(node, "Identity", T=dtype)
    return []


def _gather(node: TFNodeDef, dtype: int, in_function: bool) -> list[TFNodeDef]:
    batch, indices = node.attr["batch_dims"].i, node.attr["Tindices"].type
    if not batch:
        _change_type(node, "Gather", Tparams=dtype, Tindices=indices)
        return []
    axis = constant(f"{node.name}/axis", tf.make_tensor_proto(batch, tf.int32))
    axis.device = node.device
    # In a loop of TF1, the constant needs a control input to be in the loop.
    axis.input.append(f"^{op_name(node.input[1])}")
    _change_type(node, "GatherV2", Tparams=dtype, Tindices=indices, Taxis=tf.int32.as_datatype_enum)
    node.attr["batch_dims"].i = batch
    node.input.insert(2, f"{axis.name}:output:0" if in_function else axis.name)
    return [axis]


def _gather_nd(node: TFNodeDef, dtype: int, in_function: bool) -> list[TFNodeDef]:
    _change_type(node, "GatherNd", Tparams=dtype, Tindices=node.attr["Tindices"].type)
    return []


def _shape(node: TFNodeDef, dtype: int, in_function: bool) -> list[TFNodeDef]:
    _change_type(node, "Shape", T=dtype, out_type=node.attr["out_type"].type or tf.int32.as_datatype_enum)
    return []


def _change_type(node: TFNodeDef, op_type: str, **types: int) -> None:
    """Changes the type of a node, and sets dtypes as attributes; of its old attributes, only internal ones are kept."""
    node.op = op_type
    for name in [key for key in node.attr if not key.startswith("_") or key == "_output_shapes"]:
        del node.attr[name]
    for name, dtype in types.items():
        node.attr[name].type = dtype


_READS = {
    "ReadVariableOp": _read_nodes,
    "ResourceGather": _gather,
    "ResourceGatherNd": _gather_nd,
    "VariableShape": _shape,
}


def frozen_graph(graph: TFGraph, values: Mapping[str, Any], targets: Iterable[str]) -> TFGraph:
    """Returns the part of a graph that some ops need, with its variables as constants; tables keep their init ops.

    Args:
        graph: the graph; it is not changed.
        values: variable op name -> array.
        targets: names of ops.

    Raises:
        Unfreezable: an op needs a variable, so it cannot become a constant.
    """
    collections = {key: graph.get_collection(key) for key in graph.get_all_collection_keys() if isinstance(key, str)}
    old_collections = {
        key: [t for t in items if isinstance(t, (tf.Operation, tf.Tensor))] for key, items in collections.items()
    }
    keys = (tf1.GraphKeys.TABLE_INITIALIZERS, tf1.GraphKeys.ASSET_FILEPATHS)
    stay = [item.name.partition(":")[0] for key in keys for item in old_collections.get(key, ())]
    fills = [name for names in init_ops(graph).values() for name in names]
    graph_def = frozen_graph_def(graph.as_graph_def(), values, [*targets, *stay, *fills])
    new = empty_graph(graph)
    with new.as_default():
        tf.import_graph_def(graph_def, name="")
    new_ops = {op.name: op for op in new.get_operations()}
    pairs = ((op, new_ops[op.name]) for op in graph.get_operations() if op.name in new_ops)
    copy_shapes([(old, new_op) for old, new_op in pairs if len(old.outputs) == len(new_op.outputs)])
    for key, items in old_collections.items():
        for item in items:
            if item.name.partition(":")[0] in new_ops:
                new.add_to_collection(key, new.as_graph_element(item.name))
    return new
