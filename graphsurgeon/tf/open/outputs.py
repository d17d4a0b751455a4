"""Outputs: dtypes and static shapes of the outputs of ops, inferred by TensorFlow or stored in a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from ...errors import OpenError, counted
from ...graph.graph import DTYPES, Graph, TensorInfo
from ...graph.lazy_graph import DeferredGraph, LiveGraphAttribute, is_materialized, materialize
from ...graph.types import TFGraphDef, TFNodeDef
from ...graph.variables import INPUT_TYPES, VARIABLE_TYPES
from ..import_tensorflow import tf
from ..messages import attr_value_pb2, tensor_shape_pb2, types_pb2
from ..op_types import op_definition
from .file_reader import DENSEST, TRUSTED

#: Op types whose nodes contain the shape of output 0; a handle is a scalar.
_STATED_TYPES = VARIABLE_TYPES | INPUT_TYPES | {"ImmutableConst", "Const"}
#: Before this graph version, placeholders stored an unknown shape as the shape of a scalar.
_SCALARS = 24
#: The maximum number of outputs that are listed.
_MAX_SIZE = 1_000_000

#: The number of a reference dtype is the number of the dtype plus this value.
_REFERENCE = 100
#: The dtype of an output of an unknown op type, if no consumer of a known type requires a dtype.
UNKNOWN = "unknown"

Shape = tuple[int | None, ...] | None
_Infos = Sequence[TensorInfo]


class FileOutputs:
    """Returns dtypes and shapes of the outputs of an op of a graph in a file.

    If the file does not contain a shape, the live graph is made, and the shape is read from it. If TensorFlow refuses
    the graph, the shape stays unknown. For an op of an unknown type, the outputs have the dtypes that their consumers
    require; if no output is read, the object returns None.

    Args:
        owner: the live graph, which may not be made yet.
        graph: the ops and edges; its nodes are the nodes of the file.
        functions: the FunctionDefs of the file, by name.
        producer: the graph version of the file.
        shapes: op name -> shapes in an attribute of the op in the file.
        inferred_shapes: op name -> shapes that another process has inferred, some of them unknown; None before that.

    Attributes:
        shapes: see the argument.
        live_snapshot: the snapshot of the live graph with these ops, if it exists.
    """

    _live = LiveGraphAttribute()

    def __init__(
        self,
        owner: Any,
        graph: Graph,
        functions: Mapping[str, Any],
        producer: int,
        shapes: Mapping[str, list[Shape]],
        inferred_shapes: Mapping[str, Sequence[Sequence[int | None] | None]] | None = None,
    ) -> None:
        self.live_snapshot: Graph | None = None
        self._live = owner if isinstance(owner, DeferredGraph) or hasattr(owner, "get_operations") else None
        self._graph, self._nodes = graph, graph.nodes
        self._functions, self._producer = functions, producer
        self.shapes, self._inferred_shapes = shapes, inferred_shapes
        self._signatures: dict[str, Any] = {}
        self._inferred: Callable[[int], _Infos] | None = None
        self._infos: dict[int, _Infos | None] = {}  # a cache, because each picture needs the outputs of its ops again

    def with_inferred(self, inferred_shapes: Mapping[str, Sequence[Sequence[int | None] | None]]) -> FileOutputs:
        """Returns a new object with the shapes that another process has inferred."""
        return FileOutputs(self._live, self._graph, self._functions, self._producer, self.shapes, inferred_shapes)

    def __call__(self, number: int) -> _Infos | None:
        """Returns dtypes and shapes; makes the live graph to infer shapes that the file does not contain."""
        infos = self.declared_outputs(number)
        unsure = (
            self._inferred is None and self._inferred_shapes is None and self._nodes[number].op not in _STATED_TYPES
        )
        if unsure and infos and self._live is not None:
            with suppress(OpenError):
                materialize(self._live, complete=False)
                return self.declared_outputs(number)
        return infos

    def declared_outputs(self, number: int) -> _Infos | None:
        """Returns dtypes, and shapes as far as they are known without TensorFlow."""
        if self._inferred is None and (live := self._live) is not None and is_materialized(live):
            from ..private.graphs import LiveOutputs

            self._inferred = LiveOutputs(live)
        if self._inferred is None or self._signature(self._nodes[number]) is None:
            if number not in self._infos:
                self._infos[number] = self._read_infos(number)
            return self._infos[number]
        return self._inferred(number)

    def _signature(self, node: TFNodeDef) -> Any:
        if node.op not in self._signatures:
            self._signatures[node.op] = op_definition(node.op, self._functions)
        return self._signatures[node.op]

    def _required_dtypes(self, number: int) -> _Infos | None:
        """Returns the dtypes that consumers require of an op of an unknown type, up to its last output that is read."""
        required: dict[int, str] = {}
        for reader in dict.fromkeys(self._graph.consumers.row(number).tolist()):  # without duplicates
            node = self._nodes[reader]
            signature = self._signature(node)
            args = signature.input_arg if signature is not None else ()
            input_dtypes = dtypes(args, node, signature)
            for at, (op, port) in enumerate(self._graph.data.ends(reader)):
                if op == number:
                    required.setdefault(port, UNKNOWN)
                    required[port] = (
                        input_dtypes[at] if at < len(input_dtypes) and required[port] == UNKNOWN else required[port]
                    )
        return (
            [TensorInfo(required.get(port, UNKNOWN), None) for port in range(max(required) + 1)] if required else None
        )

    def _read_infos(self, number: int) -> _Infos | None:
        node = self._nodes[number]
        signature = self._signature(node)
        if signature is None:
            return self._required_dtypes(number)
        if any(_count(arg, node, signature) > _MAX_SIZE for arg in signature.output_arg):
            return None  # too many outputs: the file is damaged
        output_dtypes = dtypes(signature.output_arg, node, signature)
        return list(map(TensorInfo, output_dtypes, self._shapes(node, output_dtypes)))

    def _shapes(self, node: TFNodeDef, dtypes: list[str]) -> list[Shape]:
        inferred_shapes = (self._inferred_shapes or {}).get(node.name, ())
        if len(inferred_shapes) == len(dtypes):
            return [None if dims is None else tuple(dims) for dims in inferred_shapes]
        file_shapes = self.shapes.get(node.name, [])
        if len(file_shapes) == len(dtypes):
            return file_shapes
        shapes: list[Shape] = [None] * len(dtypes)
        if len(dtypes) == 1 and node.op in _STATED_TYPES:
            shapes[0] = self._shape(node)
        return shapes

    def _shape(self, node: TFNodeDef) -> Shape:
        if node.op == "Const":
            return dims_of_proto(node.attr["value"].tensor.tensor_shape)
        if node.op == "VarHandleOp":
            return ()
        if "shape" not in node.attr:
            return None
        dims = dims_of_proto(node.attr["shape"].shape)
        old = node.op == "Variable" or (node.op == "Placeholder" and self._producer < _SCALARS)
        return None if old and dims == () else dims


def with_shapes(graph_def: TFGraphDef, snapshot: Graph) -> TFGraphDef:
    """Returns a GraphDef with the output shapes of its file, which the snapshot has removed from the nodes."""
    file_shapes = snapshot.outputs_of.shapes if isinstance(snapshot.outputs_of, FileOutputs) else {}
    if not file_shapes:
        return graph_def
    out = type(graph_def)()
    out.CopyFrom(graph_def)
    for node in out.node:
        if node.name in file_shapes:
            node.attr["_output_shapes"].list.shape.extend(map(shape_proto, file_shapes[node.name]))
    return out


def expand_arguments(arguments: Iterable[Any], node: TFNodeDef, signature: Any) -> Iterator[tuple[Any, int, int]]:
    """Yields the input or output tensors of a node, as (argument, position in a list argument, dtype).

    Args:
        arguments: the inputs or the outputs of the OpDef.
        node: the NodeDef.
        signature: the OpDef; its defaults apply if the node does not set an attribute.
    """
    for arg in arguments:
        if arg.type_list_attr:
            numbers = list(_attribute(node, signature, arg.type_list_attr).list.type)
        else:
            number = arg.type or _attribute(node, signature, arg.type_attr).type
            numbers = [number] * _count(arg, node, signature)
        for at, number in enumerate(numbers):
            yield arg, at, number


def dtypes(arguments: Iterable[Any], node: TFNodeDef, signature: Any) -> list[str]:
    """Returns the dtypes of the input or output tensors of a node; arguments as for `expand_arguments`."""
    return [dtype_name(number) + "_ref" * arg.is_ref for arg, _, number in expand_arguments(arguments, node, signature)]


def output_start(name: str, node: TFNodeDef, signature: Any) -> int:
    """Returns the number of the first output of a node in an output argument; 0 for an unknown argument."""
    at = 0
    for arg in signature.output_arg:
        if arg.name == name:
            return at
        at += _count(arg, node, signature)
    return 0


def _count(arg: Any, node: TFNodeDef, signature: Any) -> int:
    """Returns the number of tensors in an input or output argument of an op; a damaged file may claim any number."""
    if arg.type_list_attr:
        return len(_attribute(node, signature, arg.type_list_attr).list.type)
    return min(int(_attribute(node, signature, arg.number_attr).i), _MAX_SIZE + 1) if arg.number_attr else 1


def _attribute(node: TFNodeDef, signature: Any, name: str) -> Any:
    if name in node.attr:
        return node.attr[name]
    return next((attr.default_value for attr in signature.attr if attr.name == name), attr_value_pb2.AttrValue())


@cache
def dtype_name(number: int) -> str:
    """Returns the name of a dtype, given its number, which may be invalid in a file."""
    base = number - _REFERENCE if number > _REFERENCE else number
    if base in DTYPES:
        return DTYPES[base] + "_ref" * (base < number)
    if number not in types_pb2.DataType.values():
        return f"dtype {number}"
    try:
        return str(tf.as_dtype(number).name)
    except TypeError:
        return f"dtype {number}"


def known_dtype(name: str) -> bool:
    """Returns whether a dtype exists in TensorFlow; `UNKNOWN` and invalid numbers from a file do not."""
    return name != UNKNOWN and not name.startswith("dtype ")


def array_in(proto: Any, limit: float = math.inf) -> Any:
    """Returns the value of a TensorProto as an array. All constants of graphs are read by this function.

    Returns None if the constant is damaged, or if NumPy has no such dtype. Also returns None if the array would fill
    the memory, although the file has only a few bytes for it: a TensorProto can repeat a single value.

    Args:
        proto: the TensorProto.
        limit: the maximum size of the array in bytes; returns None, without a copy, if it is larger.
    """
    dims = [d.size for d in proto.tensor_shape.dim]
    try:
        dtype, values = _NUMPY.get(proto.dtype) or (tf.as_dtype(proto.dtype).as_numpy_dtype, "")
        size = _size(proto.dtype, dtype) * math.prod(dims)
        if size > limit or min(dims, default=0) < 0:
            return None
        content = proto.tensor_content  # a copy
        if size > TRUSTED and size > DENSEST * (len(content) or _value_bytes(proto)):
            return None
        if content:
            return np.frombuffer(content, dtype).reshape(dims).copy()
        return _array_of_list(proto, dims, np.dtype(dtype), values) if values else tf.make_ndarray(proto)
    except (KeyError, OverflowError, TypeError, ValueError):
        return None


_NUMPY: dict[int, tuple[Any, str]] = {
    types_pb2.DT_FLOAT: (np.float32, "float_val"), types_pb2.DT_DOUBLE: (np.float64, "double_val"),
    types_pb2.DT_INT8: (np.int8, "int_val"), types_pb2.DT_INT16: (np.int16, "int_val"),
    types_pb2.DT_INT32: (np.int32, "int_val"), types_pb2.DT_INT64: (np.int64, "int64_val"),
    types_pb2.DT_UINT8: (np.uint8, "int_val"), types_pb2.DT_UINT16: (np.uint16, "int_val"),
    types_pb2.DT_UINT32: (np.uint32, "uint32_val"), types_pb2.DT_UINT64: (np.uint64, "uint64_val"),
    types_pb2.DT_HALF: (np.float16, "half_val"), types_pb2.DT_BOOL: (np.bool_, "bool_val"),
    types_pb2.DT_STRING: (np.object_, "string_val"),
}  # fmt: skip
"""Dtype -> the NumPy dtype, and the field of a TensorProto with the values. TensorFlow reads all other dtypes."""


def _array_of_list(proto: Any, dims: Sequence[int], dtype: np.dtype[Any], field: str) -> Any:
    """Returns the listed values of a TensorProto as an array. The last value is repeated for all further elements.

    Raises:
        ValueError: there are more values than elements.
        OverflowError: a value does not fit the dtype.
    """
    values = getattr(proto, field)
    if not values and dtype.kind != "O":
        return np.zeros(dims, dtype)
    array = np.empty(math.prod(dims), dtype)
    if len(values) > len(array):
        raise ValueError(f"{counted(len(values), 'values')} for {counted(len(array), 'elements')}")
    bits = np.dtype(np.uint16) if field == "half_val" else dtype
    array[: len(values)] = np.fromiter(values, bits, len(values)).view(dtype) if values else ()
    array[len(values) :] = array[len(values) - 1] if values else ""
    return array.reshape(dims)


def _size(number: int, dtype: Any) -> int:
    """Returns the minimum number of bytes of an element."""
    return 1 if number in (types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT) else np.dtype(dtype).itemsize


def _value_bytes(proto: Any) -> int:
    """Returns the approximate size of the values of a TensorProto in bytes; for the exact size, it would be encoded."""
    return 8 * sum(len(value) for field, value in proto.ListFields() if field.name.endswith("_val"))


def dims_of_proto(shape: Any) -> Shape:
    """Returns the sizes of a TensorShapeProto; None if the rank is unknown or too high for a tensor."""
    dims = [None if d.size < 0 else d.size for d in shape.dim]
    return None if shape.unknown_rank or math.prod(d for d in dims if d is not None) >= 1 << 63 else tuple(dims)


def shape_proto(shape: Shape) -> Any:
    """Returns a shape as a TensorShapeProto."""
    if shape is None:
        return tensor_shape_pb2.TensorShapeProto(unknown_rank=True)
    proto = tensor_shape_pb2.TensorShapeProto()
    for size in shape:
        proto.dim.add(size=-1 if size is None else size)
    return proto
