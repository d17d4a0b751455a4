"""Types for the arguments of public functions and for the objects of TensorFlow, without an import of TensorFlow."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from numpy.typing import ArrayLike


class Named(Protocol):
    """An object with a name: an op, tensor or variable of TensorFlow, an `OpView`, or a layer."""

    @property
    def name(self) -> str:
        """Returns its name."""


#: An op, by name or object. For a tensor, its op; for a layer, the op that computes its output.
OpLike = str | Named
#: One or more ops: names, objects, name scopes, layers, or a selection.
OpsLike = OpLike | Iterable[OpLike]
#: A tensor, by name or object. For an op, its output 0; for a layer, its output.
TensorLike = str | Named
#: One or more tensors; the keys of a dict name them.
TensorsLike = TensorLike | Iterable[TensorLike] | Mapping[str, TensorLike]
#: Tensor, by name or object -> the tensor that replaces it, or that it connects to.
TensorMap = Mapping[str, TensorsLike] | Mapping[Named, TensorsLike]
#: Tensor, by name or object -> array.
FeedDict = Mapping[str, ArrayLike] | Mapping[Named, ArrayLike]
#: The path of a file or folder.
PathLike = str | os.PathLike[str]
#: A dtype: a `tf.DType`, a NumPy dtype, a type such as `float`, or its name.
DTypeLike = str | type | Named
#: A shape: its dimensions, with None for an unknown one, or a `tf.TensorShape`.
ShapeLike = Iterable[int | None]
#: The value of an attribute of an op in Python: a number, text, array, dtype, shape, or a list of them.
AttributeValue = ArrayLike | DTypeLike | ShapeLike | Iterable[DTypeLike] | Iterable[ShapeLike]
#: A graph, in any form that `gs.open` takes; TensorFlow and Keras define most of these classes.
GraphSource = object
#: Values of variables: a session, an editor, a Keras model, the path of a checkpoint, or a mapping of name -> array.
ValueSource = object


class TFTensorSpec(Protocol):
    """A `tf.TensorSpec`."""

    @property
    def shape(self) -> Any:
        """Returns the `tf.TensorShape`."""

    @property
    def dtype(self) -> Any:
        """Returns the `tf.DType`."""


#: The specs of the arguments of a TF2 object: one, a list or tuple, or a dict for keywords.
TensorSpecs = TFTensorSpec | Sequence["TensorSpecs"] | Mapping[str, "TensorSpecs"]


class TFConfig(Protocol):
    """A `tf.compat.v1.ConfigProto`."""

    #: Whether ops may run on another device than the requested one.
    allow_soft_placement: bool
    #: The other tasks of the cluster that the session sees.
    device_filters: MutableSequence[str]


class TFGraph(Protocol):
    """A `tf.Graph`."""

    #: A number that grows with each new op.
    version: int
    #: Whether no op can be added any more.
    finalized: bool
    #: Its VersionDef.
    graph_def_versions: Any
    #: The keys of its collections.
    collections: Collection[Any]

    def as_default(self) -> AbstractContextManager[Any]:
        """Makes it the default graph of a block."""

    def as_graph_def(self) -> TFGraphDef:
        """Returns its nodes and functions as a GraphDef."""

    def get_operations(self) -> list[TFOp]:
        """Returns its ops, in the order in which they were made."""

    def get_operation_by_name(self, name: str) -> TFOp:
        """Returns an op; raises KeyError if it does not exist."""

    def get_tensor_by_name(self, name: str) -> TFTensor:
        """Returns a tensor; raises KeyError if it does not exist."""

    def as_graph_element(self, obj: Any) -> Any:
        """Returns the op or tensor for a name or object."""

    def create_op(self, op_type: str, inputs: list[Any], dtypes: Any = None, *, name: str, attrs: Any) -> TFOp:
        """Makes an op."""

    def get_all_collection_keys(self) -> list[Any]:
        """Returns the keys of its collections."""

    def get_collection(self, name: Any) -> list[Any]:
        """Returns a collection as a new list."""

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Returns a collection itself, and makes it if it does not exist."""

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Adds an item to a collection."""

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Returns whether a session may fetch a tensor or op."""

    def is_feedable(self, tensor: Any) -> bool:
        """Returns whether a tensor may be fed."""

    def prevent_feeding(self, tensor: Any) -> None:
        """Prevents sessions from feeding a tensor."""

    def prevent_fetching(self, op: Any) -> None:
        """Prevents sessions from fetching an op."""

    def device(self, device_name_or_function: Any) -> AbstractContextManager[Any]:
        """Places the ops of a block on a device."""

    def colocate_with(self, op: Any) -> AbstractContextManager[Any]:
        """Colocates the ops of a block with an op."""

    def get_name_scope(self) -> str:
        """Returns the current name scope."""


class TFNodeDef(Protocol):
    """A NodeDef."""

    #: Its full name.
    name: str
    #: Its op type.
    op: str
    #: Its inputs and control inputs, as written in the file.
    input: MutableSequence[str]
    #: The requested device.
    device: str
    #: Attribute -> AttrValue; access to a missing attribute adds it.
    attr: MutableMapping[str, Any]
    #: The type that TensorFlow infers for it.
    experimental_type: Any

    def CopyFrom(self, other: Any) -> None:
        """Copies the content of another message."""

    def ClearField(self, name: str) -> None:
        """Clears a field."""

    def HasField(self, name: str) -> bool:
        """Returns whether a field is set."""

    def ByteSize(self) -> int:
        """Returns its serialized size in bytes."""


class TFGraphDef(Protocol):
    """A GraphDef."""

    #: Its NodeDefs.
    node: Any
    #: Its FunctionDefs and gradients.
    library: Any
    #: Its VersionDef.
    versions: Any

    def CopyFrom(self, other: Any) -> None:
        """Copies the content of another message."""

    def ClearField(self, name: str) -> None:
        """Clears a field."""

    def HasField(self, name: str) -> bool:
        """Returns whether a field is set."""

    def ByteSize(self) -> int:
        """Returns its serialized size in bytes."""

    def MergeFromString(self, serialized: bytes) -> int:
        """Adds the fields of a serialized GraphDef."""

    def SerializeToString(self, *, deterministic: bool = ...) -> bytes:
        """Returns it as bytes."""


class TFOp(Protocol):
    """A `tf.Operation`."""

    #: Its full name.
    name: str
    #: Its op type.
    type: str
    #: The graph that it is in.
    graph: TFGraph
    #: Its input tensors.
    inputs: Sequence[TFTensor]
    #: Its output tensors.
    outputs: list[TFTensor]
    #: Its control inputs.
    control_inputs: list[TFOp]
    #: Its NodeDef.
    node_def: TFNodeDef
    #: The requested device.
    device: str
    #: The stack of the call that made it.
    traceback: Any

    def get_attr(self, name: str) -> Any:
        """Returns an attribute; raises ValueError if it does not exist."""

    def colocation_groups(self) -> list[bytes]:
        """Returns its colocation groups."""


class TFTensor(Protocol):
    """A `tf.Tensor` of a graph."""

    #: Its op's name with the number of the output.
    name: str
    #: The op that computes it.
    op: TFOp
    #: The graph that it is in.
    graph: TFGraph
    #: The index of the output.
    value_index: int
    #: Its `tf.DType`.
    dtype: Any
    #: Its static `tf.TensorShape`.
    shape: Any

    def set_shape(self, shape: Any) -> None:
        """Makes its static shape more specific."""

    def consumers(self) -> list[TFOp]:
        """Returns the ops that read it."""


class TFVariable(Protocol):
    """A `tf.Variable` of a graph."""

    #: Its op's name with the number of the output.
    name: str
    #: The op of the variable.
    op: TFOp
    #: The graph that it is in.
    graph: TFGraph
    #: Its `tf.DType`.
    dtype: Any
    #: Its static `tf.TensorShape`.
    shape: Any
    #: The op that assigns its initial value.
    initializer: TFOp

    def to_proto(self) -> Any:
        """Returns its VariableDef."""


class TFSession(Protocol):
    """A `tf.compat.v1.Session`, or a wrapper of a session."""

    #: The graph that it runs.
    graph: TFGraph

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Runs ops and returns the values of tensors."""

    def list_devices(self) -> list[Any]:
        """Returns the devices that it has."""

    def close(self) -> None:
        """Releases its resources."""
