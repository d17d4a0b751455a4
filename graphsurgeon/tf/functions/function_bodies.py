"""Insides: the body of a function of a graph as a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ...errors import SelectionError, few
from ...graph.functions import functions_in_node, reachable_functions
from ...graph.graph import Graph, TensorInfo
from ...graph.lazy_graph import lazy_graph_of
from ...graph.names import free_name
from ...graph.types import TFNodeDef
from ..import_tensorflow import is_loaded, tf
from ..messages import graph_pb2, node_def_pb2, tensor_shape_pb2
from ..open.outputs import dtypes, shape_proto
from ..protos import encode, lacks_memory
from ..registry import op_definition
from .calls import all_flat_outputs, copy_node, flat_end


def function_body(graph: Graph, name: str, call: int | None = None, cache: dict[Any, Graph] | None = None) -> Graph:
    """Returns the body of a function: its arguments as ``_Arg``, its results as ``_Retval``.

    Args:
        graph: the snapshot of the graph, or of a body.
        name: the name of the function.
        call: the number of the op that calls it, from which the shapes of the arguments are known.
        cache: the bodies that were read before for this snapshot; the new body is added.

    Raises:
        SelectionError: the graph has no function with this name.
    """
    functions = graph.functions
    if name not in functions:
        raise SelectionError(
            f"unfold(function={name!r})",
            f"{graph.title} has no function with this name",
            f"It has {few(sorted(functions), 5) or 'no functions'}",
        )
    inner = functions[name]
    outer = graph.outputs_of.argument_infos if isinstance(graph.outputs_of, BodyOutputs) else {}
    names = [argument.name for argument in inner.signature.input_arg]
    described = argument_infos(graph, call, len(names), outer) if call is not None else [ArgumentInfo()] * len(names)
    arguments = {
        argument: about if about != ArgumentInfo() else ArgumentInfo(_own_shape(inner, i))
        for i, (argument, about) in enumerate(zip(names, described, strict=True))
    }
    key = (graph.title, name, *(about.key for about in arguments.values()))
    cache = {} if cache is None else cache
    if key not in cache:
        cache[key] = _read_body(graph, name, arguments)
    return cache[key]


def _read_body(graph: Graph, name: str, arguments: Mapping[str, ArgumentInfo]) -> Graph:
    functions = graph.functions
    inner = functions[name]
    outputs = all_flat_outputs(inner.node_def, functions)

    nodes = []
    for argument in inner.signature.input_arg:
        node = node_def_pb2.NodeDef(name=argument.name, op="_Arg")
        node.attr["T"].type = argument.type
        nodes.append(node)
    for old in inner.node_def:
        node = copy_node(old)
        node.input[:] = [flat_end(text, outputs) for text in old.input]
        nodes.append(node)
    used_names = {node.name for node in nodes}
    for result in inner.signature.output_arg:
        free = free_name(result.name, used_names.__contains__, as_tensorflow=True)
        used_names.add(free)
        node = node_def_pb2.NodeDef(name=free, op="_Retval", input=[flat_end(inner.ret[result.name], outputs)])
        node.attr["T"].type = result.type
        nodes.append(node)
    leads_to = reachable_functions(set().union(*(functions_in_node(n, functions) for n in nodes)), functions)
    owner = graph.outputs_of.owner if isinstance(graph.outputs_of, BodyOutputs) else graph.owner
    shapes = BodyOutputs(nodes, lambda: [functions[f] for f in leads_to], arguments, owner)
    about = {"functions_of": lambda: functions, "gradients_of": lambda: graph.gradients}
    return Graph.from_nodes(nodes, title=f"{name} of {graph.title}", outputs_of=shapes, **about)


def _own_shape(argument_def: Any, argument: int) -> Any:
    """Returns the shape in a FunctionDef for an argument; None if it contains none."""
    attributes = argument_def.arg_attr[argument].attr if argument in argument_def.arg_attr else {}
    shapes: Any = attributes["_output_shapes"].list.shape if "_output_shapes" in attributes else ()
    return shapes[0] if len(shapes) == 1 else None


# -- dtypes and shapes ------------------------------------------------------------------------------


_LEADING_INPUTS = {"If": 1, "StatelessIf": 1, "Case": 1, "StatelessCase": 1}
_LOOP_TYPES = frozenset({"While", "StatelessWhile"})


class ArgumentInfo(NamedTuple):
    """The known facts about an argument: its shape; for the handle of a variable, (dtype number, shape) of this."""

    shape: Any = None
    handle_data: tuple[int, Any] | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """A hashable key; protos are not hashable."""
        dtype, of = self.handle_data or (0, None)
        return dtype, *(one if one is None else encode(one) for one in (self.shape, of))


def argument_infos(graph: Graph, call: int, count: int, outer: Mapping[str, ArgumentInfo]) -> list[ArgumentInfo]:
    """Returns the known facts about the arguments of a function, from the op that calls it.

    Args:
        graph: the snapshot with the op.
        call: the number of the op.
        count: the number of arguments. Nothing is known if the op does not pass exactly one input for each.
        outer: the known facts about the arguments of `graph`, if it is the body of a function itself.
    """
    kind, data = graph.types[call], graph.data
    first, end = int(data.ptr[call]) + _LEADING_INPUTS.get(kind, 0), int(data.ptr[call + 1])
    if end - first != count:
        return [ArgumentInfo()] * count
    out = []
    for node, port in zip(data.node[first:end].tolist(), data.port[first:end].tolist(), strict=True):
        maker, info = graph.nodes[node], graph.declared_info(node, port)
        if maker.op == "VarHandleOp":
            out.append(ArgumentInfo(handle_data=(maker.attr["dtype"].type, maker.attr["shape"].shape)))
        elif maker.op == "_Arg" and outer.get(maker.name, ArgumentInfo()).handle_data:
            out.append(outer[maker.name])
        elif info is None or info.shape is None or kind in _LOOP_TYPES:  # a loop may change the shape of its variables
            out.append(ArgumentInfo())
        else:
            out.append(ArgumentInfo(shape_proto(info.shape)))
    return out


class BodyOutputs:
    """Returns dtype and shape of the outputs of an op of a body; TensorFlow infers all of them on first use.

    Args:
        nodes: the body; its arguments are ``_Arg`` ops, its results ``_Retval`` ops.
        functions: a function that returns the definitions of all functions that the body calls, at any depth.
        arguments: argument -> the known facts about it.
        owner: the live or deferred graph with the functions.
    """

    def __init__(
        self,
        nodes: Sequence[TFNodeDef],
        functions: Callable[[], Iterable[Any]],
        arguments: Mapping[str, ArgumentInfo],
        owner: Any,
    ) -> None:
        self._nodes, self._functions, self.argument_infos, self.owner = nodes, functions, arguments, owner

    def __call__(self, number: int) -> Sequence[TensorInfo] | None:
        if self._nodes[number].op == "_Retval":
            return []
        from ..private.graphs import tensor_info

        op = self.live_op(number)
        return None if op is None else [tensor_info(tensor) for tensor in op.outputs]

    def declared_outputs(self, number: int) -> Sequence[TensorInfo] | None:
        """Returns the same, but only dtypes before TensorFlow is imported, and before the trial of a file."""
        node, waiting = self._nodes[number], lazy_graph_of(self.owner)
        if (is_loaded() and (waiting is None or waiting.is_importable)) or node.op == "_Retval":
            return self(number)
        signature = self._signatures.get(node.op) or op_definition(node.op)
        output_types = None if signature is None else dtypes(signature.output_arg, node, signature)
        return None if output_types is None else [TensorInfo(dtype, None) for dtype in output_types]

    @cached_property
    def _signatures(self) -> dict[str, Any]:
        return {function.signature.name: function.signature for function in self._functions()}

    def live_op(self, number: int) -> Any:
        """Returns the live op for an op of the body, from which shapes are read; None if TensorFlow made none."""
        return self._ops.get(self._nodes[number].name)

    @cached_property
    def _ops(self) -> dict[str, Any]:
        from ..protos import empty_graph

        if (waiting := lazy_graph_of(self.owner)) is not None:
            waiting.check_importable()
            if waiting.is_view_only:
                return {}
        graph_def = graph_pb2.GraphDef()
        graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
        graph_def.library.function.extend(self._functions())
        for node in self._nodes:
            self._write_node(graph_def.node.add(), node)
        try:
            with empty_graph().as_default() as graph:
                tf.graph_util.import_graph_def(graph_def, name="")
        except Exception as error:  # if TensorFlow cannot import the body, its shapes stay unknown
            if lacks_memory(error):
                raise
            return {}
        return {op.name: op for op in graph.get_operations()}

    def _write_node(self, new: Any, node: TFNodeDef) -> None:
        new.CopyFrom(node)
        new.device = ""
        new.attr.pop("_class", None)
        if node.op not in ("_Arg", "_Retval"):
            return
        new.attr.clear()
        argument = self.argument_infos.get(node.name, ArgumentInfo())
        if node.op == "_Retval":
            new.op = "Identity"
            new.attr["T"].CopyFrom(node.attr["T"])
        elif argument.handle_data is not None:
            new.op = "VarHandleOp"
            new.attr["dtype"].type = argument.handle_data[0]
            new.attr["shape"].shape.CopyFrom(argument.handle_data[1])
        else:
            new.op = "Placeholder"
            new.attr["dtype"].CopyFrom(node.attr["T"])
            unknown = tensor_shape_pb2.TensorShapeProto(unknown_rank=True)
            new.attr["shape"].shape.CopyFrom(unknown if argument.shape is None else argument.shape)
