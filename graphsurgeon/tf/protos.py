"""Protos as bytes and back, and the new live graphs that the package makes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError, EncodeError

from .. import errors
from ..graph.security import inherit_origins
from ..graph.types import TFGraph
from .import_tensorflow import tf


def empty_graph(*sources: Any) -> TFGraph:
    """Returns a new, empty live graph.

    Args:
        sources: the live graphs from which ops will be copied; none if this package makes all ops.
    """
    graph = tf.Graph()
    inherit_origins(graph, *sources)
    return graph


#: Part of the error message of protobuf if there is no memory for a proto.
_ALLOCATION_ERROR = "alloc failed"
#: Part of the error message of TensorFlow if there is no memory for the bytes of an op.
_BYTES_ERROR = "Could not allocate bytes object"


def encode(proto: Any, deterministic: bool = False) -> bytes:
    """Returns a proto as bytes.

    Args:
        proto: the proto.
        deterministic: whether equal protos result in equal bytes.

    Raises:
        MemoryError: there is no memory for the bytes.
    """
    try:
        data: bytes = proto.SerializeToString(deterministic=deterministic)
    except EncodeError as error:
        raise MemoryError(f"to write {type(proto).__name__}") from error
    return data


def decode(kind: Any, data: bytes) -> Any:
    """Returns the proto that is stored as these bytes.

    Args:
        kind: the class of the proto.
        data: the bytes.

    Raises:
        DecodeError: the bytes are damaged, or are of another kind of proto.
        MemoryError: there is no memory for the proto.
    """
    try:
        return kind.FromString(data)
    except DecodeError as error:
        no_reason = ": " not in str(error)
        if lacks_memory(error) or (no_reason and not _has_memory(4 * len(data))):
            raise MemoryError(f"to read {kind.__name__}") from error
        raise


def _has_memory(size: int) -> bool:
    """Whether there is memory for this number of bytes: errors of older versions of protobuf do not show it."""
    try:
        np.empty(size, np.uint8)
    except MemoryError:
        return False
    return True


def lacks_memory(error: BaseException) -> bool:
    """Returns whether an error means that memory has run out; protobuf and TensorFlow have their own errors for it.

    Example:
        >>> lacks_memory(MemoryError()), lacks_memory(EncodeError("Failed to serialize proto"))
        (True, True)
        >>> lacks_memory(DecodeError("Error parsing message"))
        False
    """
    if isinstance(error, DecodeError):  # both types of errors can have other causes
        return _ALLOCATION_ERROR in str(error)
    if isinstance(error, RuntimeError):
        return _BYTES_ERROR in str(error)
    return isinstance(error, (MemoryError, EncodeError))


def naming_memory(request: str) -> AbstractContextManager[None]:
    """Returns `errors.naming_memory`, for code in which protobuf or TensorFlow may run out of memory.

    Args:
        request: the request, for the message.
    """
    return errors.naming_memory(request, lacks_memory)
