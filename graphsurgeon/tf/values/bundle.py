"""Bundle: the table of contents of a checkpoint, and its texts, read without TensorFlow.

The index is a table in the format of LevelDB: blocks of keys and values.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from ..messages import tensor_bundle_pb2, types_pb2

_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
_FOOTER, _TRAILER = 48, 5  # bytes after the last block, and after each block


class UnreadableError(Exception):
    """The files are damaged, or only TensorFlow can read them: they are compressed or hold slices of variables."""


class Bundle:
    """A checkpoint in the current format.

    Args:
        prefix: its path without suffix.

    Raises:
        UnreadableError: see the class.
        OSError: the index cannot be read.

    Attributes:
        entries: key -> BundleEntryProto: dtype, shape and place.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix, self._shards, self.entries = prefix, 0, dict[str, Any]()
        data = Path(prefix + ".index").read_bytes()
        if len(data) < _FOOTER or data[-8:] != _MAGIC:
            raise UnreadableError
        try:
            _, at = _handle(data, len(data) - _FOOTER)
            (start, size), _ = _handle(data, at)
            places = [_handle(place, 0)[0] for _, place in _rows(_block(data, start, size))]
            if sum(size for _, size in places) > len(data):  # a file that was made to keep a reader busy
                raise UnreadableError
            for start, size in places:
                for key, value in _rows(_block(data, start, size)):
                    self._add(key, value)
        except (DecodeError, IndexError, ValueError) as error:
            raise UnreadableError from error

    def _add(self, key: bytes, value: bytes) -> None:
        if not key:
            header = tensor_bundle_pb2.BundleHeaderProto.FromString(value)
            self._shards = header.num_shards
            if header.endianness != header.LITTLE:
                raise UnreadableError
            return
        entry = tensor_bundle_pb2.BundleEntryProto.FromString(value)
        if entry.slices:
            raise UnreadableError
        self.entries[key.decode()] = entry

    def text(self, key: str) -> bytes:
        """Returns the value of a scalar of text.

        Raises:
            UnreadableError: see the class.
            OSError: the data cannot be read.
        """
        entry = self.entries[key]
        if entry.dtype != types_pb2.DT_STRING or entry.shape.dim:
            raise UnreadableError
        with open(f"{self._prefix}.data-{entry.shard_id:05d}-of-{self._shards:05d}", "rb") as file:
            file.seek(entry.offset)
            data = file.read(entry.size)
        try:
            length, at = _varint(data, 0)
        except (IndexError, ValueError) as error:
            raise UnreadableError from error
        lengths = _checksum(length.to_bytes(4 if length < 1 << 32 else 8, "little"))
        stated, text = data[at : at + 4], data[at + 4 :]
        whole = _checksum(text, _checksum(stated, lengths))
        if len(text) != length or (_unmasked(stated), _unmasked(entry.crc32c)) != (lengths, whole):
            raise UnreadableError
        return text


def _block(data: bytes, start: int, size: int) -> bytes:
    """The bytes of a block."""
    end = start + size
    kind, stated = data[end], data[end + 1 : end + _TRAILER]
    if kind or _unmasked(stated) != _checksum(data[start : end + 1]):
        raise UnreadableError
    return data[start:end]


def _rows(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields the keys and values of a block."""
    end = len(block) - 4 - 4 * int.from_bytes(block[-4:], "little")
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        size, at = _varint(block, at)
        key = key[:shared] + block[at : at + own]
        at += own
        yield key, block[at : at + size]
        at += size


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    """The place of a block, as its start and size; and the start of the next field."""
    start, at = _varint(data, at)
    size, at = _varint(data, at)
    return (start, size), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError(at)


# -- CRC-32C, as TensorFlow and LevelDB write it ------------------------------------------------------


@cache
def _table() -> tuple[int, ...]:
    found = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        found.append(byte)
    return tuple(found)


def _checksum(data: bytes, before: int = 0) -> int:
    """The checksum of bytes, or of bytes that follow bytes with the checksum `before`."""
    table, crc = _table(), before ^ 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _unmasked(stated: bytes | int) -> int:
    """The checksum that a file states. It is rotated in the file, because a checksum of it may follow."""
    number = stated if isinstance(stated, int) else int.from_bytes(stated, "little")
    rotated = number - 0xA282EAD8 & 0xFFFFFFFF
    return rotated >> 17 | rotated << 15 & 0xFFFFFFFF
