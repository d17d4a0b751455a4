"""Types for the graphs, ops, sessions and protos of TensorFlow, without an import of TensorFlow."""

from __future__ import annotations

from collections.abc import Collection, MutableMapping, MutableSequence, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class TFGraph(Protocol):
    """A `tf.Graph`."""

    #: A number that grows with each new op.
    version: int
    #: Whether nothing can be added any more.
    finalized: bool
    #: Its VersionDef.
    graph_def_versions: Any
    #: The keys of its collections.
    collections: Collection[Any]

    def as_default(self) -> AbstractContextManager[Any]:
        """Makes it the graph that a block builds."""

    def as_graph_def(self) -> TFGraphDef:
        """Returns its nodes and functions as a GraphDef."""

    def get_operations(self) -> list[TFOp]:
        """Returns its ops, in the order in which they were made."""

    def get_operation_by_name(self, name: str) -> TFOp:
        """Returns an op; raises KeyError where there is none."""

    def get_tensor_by_name(self, name: str) -> TFTensor:
        """Returns a tensor; raises KeyError where there is none."""

    def as_graph_element(self, obj: Any) -> Any:
        """Returns the op or tensor of a name or object."""

    def create_op(self, op_type: str, inputs: list[Any], dtypes: Any = None, *, name: str, attrs: Any) -> TFOp:
        """Makes an op."""

    def get_all_collection_keys(self) -> list[Any]:
        """Returns the keys of its collections."""

    def get_collection(self, name: Any) -> list[Any]:
        """Returns a collection as a new list."""

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Returns a collection itself; makes it if there is none."""

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Adds an item to a collection."""

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Returns whether a session may give it."""

    def is_feedable(self, tensor: Any) -> bool:
        """Returns whether a tensor may be fed."""

    def prevent_feeding(self, tensor: Any) -> None:
        """Forbids to feed a tensor."""

    def prevent_fetching(self, op: Any) -> None:
        """Forbids to fetch an op."""

    def device(self, device_name_or_function: Any) -> AbstractContextManager[Any]:
        """Places the ops that a block makes."""

    def colocate_with(self, op: Any) -> AbstractContextManager[Any]:
        """Places the ops that a block makes with an op."""

    def get_name_scope(self) -> str:
        """Returns the name scope that is open."""


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
    #: Attribute -> AttrValue; accessing a missing one adds it.
    attr: MutableMapping[str, Any]
    #: The type that TensorFlow infers of it.
    experimental_type: Any

    def CopyFrom(self, other: Any) -> None:
        """Becomes equal to another."""

    def ClearField(self, name: str) -> None:
        """Clears a field."""

    def HasField(self, name: str) -> bool:
        """Returns whether a field has something."""

    def ByteSize(self) -> int:
        """Returns how many bytes it is written in."""


class TFGraphDef(Protocol):
    """A GraphDef."""

    #: Its NodeDefs.
    node: Any
    #: Its FunctionDefs and gradients.
    library: Any
    #: Its VersionDef.
    versions: Any

    def CopyFrom(self, other: Any) -> None:
        """Becomes equal to another."""

    def ClearField(self, name: str) -> None:
        """Clears a field."""

    def HasField(self, name: str) -> bool:
        """Returns whether a field has something."""

    def ByteSize(self) -> int:
        """Returns how many bytes it is written in."""

    def MergeFromString(self, serialized: bytes) -> int:
        """Adds what some bytes say."""

    def SerializeToString(self, *, deterministic: bool = ...) -> bytes:
        """Returns the bytes that it is written in."""


class TFOp(Protocol):
    """A `tf.Operation`."""

    #: Its full name.
    name: str
    #: Its op type.
    type: str
    #: The graph that it is in.
    graph: TFGraph
    #: What it reads.
    inputs: Sequence[TFTensor]
    #: What it gives.
    outputs: list[TFTensor]
    #: What it waits for.
    control_inputs: list[TFOp]
    #: Its NodeDef.
    node_def: TFNodeDef
    #: The requested device.
    device: str
    #: The stack of the call that made it.
    traceback: Any

    def get_attr(self, name: str) -> Any:
        """Returns an attribute; raises ValueError where there is none."""

    def colocation_groups(self) -> list[bytes]:
        """Returns its colocation groups."""


class TFTensor(Protocol):
    """A `tf.Tensor` of a graph."""

    #: Its op's name with the number of the output.
    name: str
    #: The op that gives it.
    op: TFOp
    #: The graph that it is in.
    graph: TFGraph
    #: Which output it is.
    value_index: int
    #: Its `tf.DType`.
    dtype: Any
    #: Its static `tf.TensorShape`.
    shape: Any

    def set_shape(self, shape: Any) -> None:
        """Says more of its static shape."""

    def consumers(self) -> list[TFOp]:
        """Returns the ops that read it."""


class TFVariable(Protocol):
    """A `tf.Variable` of a graph."""

    #: Its op's name with the number of the output.
    name: str
    #: The op that holds it.
    op: TFOp
    #: The graph that it is in.
    graph: TFGraph
    #: Its `tf.DType`.
    dtype: Any
    #: Its static `tf.TensorShape`.
    shape: Any
    #: The op that gives it its initial value.
    initializer: TFOp

    def to_proto(self) -> Any:
        """Returns its VariableDef."""


class TFSession(Protocol):
    """A `tf.compat.v1.Session`, or what wraps one."""

    #: The graph that it runs.
    graph: TFGraph

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Runs ops and returns the values of tensors."""

    def list_devices(self) -> list[Any]:
        """Returns the devices that it has."""

    def close(self) -> None:
        """Releases its resources."""
