"""Wire: protos as bytes and back; where memory runs out, that is said, and nothing is called damaged for it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError, EncodeError

from .. import errors

#: What protobuf says of memory that it does not get for what it reads.
_NO_ROOM = "alloc failed"
#: What TensorFlow's bindings say where they get no memory for the bytes of an op.
_NO_BYTES = "Could not allocate bytes object"


def encoded(proto: Any, deterministic: bool = False) -> bytes:
    """Returns a proto as bytes.

    Args:
        proto: what to write.
        deterministic: whether equal protos give equal bytes.

    Raises:
        MemoryError: there is no room for them.
    """
    try:
        data: bytes = proto.SerializeToString(deterministic=deterministic)
    except EncodeError as error:
        raise MemoryError(f"to write {type(proto).__name__}") from error
    return data


def decoded(kind: Any, data: bytes) -> Any:
    """Returns the proto that bytes hold.

    Args:
        kind: what it is.
        data: the bytes.

    Raises:
        DecodeError: they are damaged, or of another kind.
        MemoryError: there is no room for it.
    """
    try:
        return kind.FromString(data)
    except DecodeError as error:
        without_reason = ": " not in str(error)
        if lacks_memory(error) or (without_reason and not _has_room(4 * len(data))):
            raise MemoryError(f"to read {kind.__name__}") from error
        raise


def _has_room(size: int) -> bool:
    """Whether there is memory for so many bytes; it is only asked for, as older protobufs do not say why they stop."""
    try:
        np.empty(size, np.uint8)
    except MemoryError:
        return False
    return True


def lacks_memory(error: BaseException) -> bool:
    """Returns whether an error says that memory has run out; protobuf and TensorFlow say it in words of their own.

    Example:
        >>> lacks_memory(MemoryError()), lacks_memory(EncodeError("Failed to serialize proto"))
        (True, True)
        >>> lacks_memory(DecodeError("Error parsing message"))
        False
    """
    if isinstance(error, DecodeError):
        return _NO_ROOM in str(error)
    if isinstance(error, RuntimeError):
        return _NO_BYTES in str(error)
    return isinstance(error, (MemoryError, EncodeError))


def naming_memory(asked: str) -> AbstractContextManager[None]:
    """Returns `errors.naming_memory`, for where protobuf and TensorFlow may be what runs out of memory.

    Args:
        asked: the request, for the message.
    """
    return errors.naming_memory(asked, lacks_memory)
