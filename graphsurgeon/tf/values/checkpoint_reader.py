"""The contents of a checkpoint, by variable name, read one value at a time.

The index is a table in the format of LevelDB: blocks of keys and values.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from ...errors import OpenError, one_of
from ..import_tensorflow import tf
from ..messages import tensor_bundle_pb2, trackable_object_graph_pb2, types_pb2
from ..open.file_reader import newest_checkpoint, refuse_linked_away
from ..open.outputs import dtype_name
from ..protos import decode
from ..run.errors import errors_as
from ..run.progress import Progress

_MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
_FOOTER, _TRAILER = 48, 5  # bytes after the last block, and after each block


class UnreadableError(Exception):
    """Raised if files are damaged, or if only TensorFlow can read them: compressed files, or slices of variables."""


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
            if sum(size for _, size in places) > len(data):  # a malicious file with overlapping blocks
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
        """Returns the value of a string scalar.

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
        checksum, text = data[at : at + 4], data[at + 4 :]
        whole = _checksum(text, _checksum(checksum, lengths))
        if len(text) != length or (_unmask(checksum), _unmask(entry.crc32c)) != (lengths, whole):
            raise UnreadableError
        return text


def _block(data: bytes, start: int, size: int) -> bytes:
    """The bytes of a block."""
    end = start + size
    kind, checksum = data[end], data[end + 1 : end + _TRAILER]
    if kind or _unmask(checksum) != _checksum(data[start : end + 1]):
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


def _handle(data: bytes, offset: int) -> tuple[tuple[int, int], int]:
    """Returns the place of a block as (start, size), and the start of the next field."""
    start, offset = _varint(data, offset)
    size, offset = _varint(data, offset)
    return (start, size), offset


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, offset
        if shift > 63:
            raise ValueError(offset)


# -- CRC-32C, as TensorFlow and LevelDB write it ------------------------------------------------------


@cache
def _table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


def _checksum(data: bytes, initial: int = 0) -> int:
    """Returns the checksum of bytes; `initial` is the checksum of preceding bytes."""
    table, crc = _table(), initial ^ 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _unmask(checksum: bytes | int) -> int:
    """Returns the checksum that a file stores in rotated form, because checked data may contain checksums."""
    number = checksum if isinstance(checksum, int) else int.from_bytes(checksum, "little")
    rotated = number - 0xA282EAD8 & 0xFFFFFFFF
    return rotated >> 17 | rotated << 15 & 0xFFFFFFFF


OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
SHARD = re.compile(r"\.data-(\d+)-of-(\d+)$")


@dataclass(frozen=True, eq=False)
class StoredValue:
    """One value in a checkpoint; `read` loads it.

    Args:
        checkpoint: the checkpoint.
        key: the name of the value in it.
        dtype: its dtype as text.
        shape: its shape, or the shape of the slice.
        part: for a slice of a partitioned variable, its start in each dimension; else None.
    """

    checkpoint: Checkpoint
    key: str
    dtype: str
    shape: tuple[int, ...]
    part: tuple[int, ...] | None = None

    @property
    def nbytes(self) -> int:
        """The size of the value in memory."""
        return int(np.prod(self.shape, dtype=np.int64)) * max(1, tf.as_dtype(self.dtype).size)

    def read(self) -> Any:
        """Returns the value as an array that the caller may change.

        Raises:
            OpenError: the file is damaged, or it has changed since it was opened.
        """
        whole = self.checkpoint.read(self.key)
        if self.part is None:
            return whole
        return np.array(whole[tuple(slice(at, at + n) for at, n in zip(self.part, self.shape, strict=True))])


class Checkpoint:
    """A checkpoint on disk: of TF1 (either format) or TF2 (object-based).

    Args:
        place: its prefix, one of its files, the folder of a training, or a SavedModel folder.
        request: the request, for messages.

    Raises:
        OpenError: there is no checkpoint, a file of it is missing, or it is half written or damaged.

    Example:
        ``Checkpoint("train/model.ckpt-100").names`` maps the names of variables to keys; ``.read(key)`` reads one.
    """

    def __init__(self, place: Any, request: str) -> None:
        self.request = request
        self.prefix = _prefix(os.fspath(place), request)
        refuse_incomplete(self.prefix, request)
        self._stamp = _stamp(self.prefix)
        self._bundle = _bundle(self.prefix)
        if self._bundle is not None:
            entries = sorted(self._bundle.entries.items())
            shapes = {key: [size.size for size in entry.shape.dim] for key, entry in entries}
            dtypes = {key: dtype_name(entry.dtype) for key, entry in entries}
        else:
            with _sound(self.prefix, request):
                shapes = self._reader.get_variable_to_shape_map()
                dtypes = {key: dtype.name for key, dtype in self._reader.get_variable_to_dtype_map().items()}
        self.shapes: dict[str, tuple[int, ...]] = {key: tuple(shape) for key, shape in sorted(shapes.items())}
        self.dtypes: dict[str, str] = dtypes

    @cached_property
    def _reader(self) -> Any:
        return tf.train.load_checkpoint(self.prefix)

    @cached_property
    def names(self) -> dict[str, str]:
        """Name of a variable -> key of its value.

        An object-based checkpoint stores a path for each variable, from the object that was saved, and usually a name.
        Both are included, but a name only if it is unique.
        """
        if OBJECTS not in self.shapes:
            return {key: key for key in self.shapes}
        attributes = [a for node in self.objects for a in node.attributes if a.checkpoint_key.endswith(_VALUE)]
        paths = {a.checkpoint_key.removesuffix(_VALUE): a.checkpoint_key for a in attributes}
        full = [a.full_name.removesuffix(":0") for a in attributes]
        names = {n: a.checkpoint_key for n, a in zip(full, attributes, strict=True) if n and full.count(n) == 1}
        return {**names, **paths}

    @cached_property
    def objects(self) -> Sequence[Any]:
        """The objects of an object-based checkpoint, the saved object first; empty for another checkpoint."""
        kind = trackable_object_graph_pb2.TrackableObjectGraph
        return (decode(kind, self._objects()) if OBJECTS in self.shapes else kind()).nodes

    def _objects(self) -> bytes:
        if self._bundle is not None:
            self._refuse_changed()
            with suppress(UnreadableError, OSError):  # TensorFlow then reports the error
                return self._bundle.text(OBJECTS)
        return bytes(self.read(OBJECTS).item())

    @cached_property
    def labels(self) -> dict[str, str]:
        """Key of a value -> the name to show for it; only for values of variables."""
        return {key: name for name, key in reversed(self.names.items())}

    def stored_value(self, name: str, part: Any = None) -> StoredValue:
        """Returns one value by its name or key, unread.

        Args:
            name: as in `names`.
            part: the slice of a partitioned variable, as (its start, its shape).

        Raises:
            OpenError: the checkpoint does not contain this name; the message proposes similar names.
        """
        key = self.names.get(name, name)
        if key not in self.shapes:
            raise OpenError(self.request, f"the checkpoint {self.prefix!r} has no {name!r}", one_of(name, self.names))
        if part is None:
            return StoredValue(self, key, self.dtypes[key], self.shapes[key])
        return StoredValue(self, key, self.dtypes[key], tuple(part[1]), tuple(part[0]))

    def read(self, key: str) -> Any:
        """Returns a value by its key.

        Raises:
            OpenError: the file is damaged, or it has changed since it was opened.
        """
        self._refuse_changed()
        with _sound(self.prefix, self.request):
            return np.array(array_of(self._read_tensor(key)))

    def _refuse_changed(self) -> None:
        if _stamp(self.prefix) != self._stamp:
            raise OpenError(
                self.request,
                f"the checkpoint {self.prefix!r} was overwritten after it was opened",
                "Repeat the request: it then reads the new one",
            )

    def _read_tensor(self, key: str) -> Any:
        try:
            return self._reader.get_tensor(key)
        except Exception as error:
            if "Sliced checkpoints" not in str(error):  # TensorFlow raises a plain RuntimeError
                raise
        # Partitioned variables in the format used before 2016: the reader does not join the slices, but an op does.
        from ..private.eager import eager

        with eager(), tf.device("/cpu:0"):
            tensors = tf.raw_ops.RestoreV2(
                prefix=self.prefix, tensor_names=[key], shape_and_slices=[""], dtypes=[tf.as_dtype(self.dtypes[key])]
            )
            return tensors[0].numpy()

    def verify(self, values: Iterable[StoredValue]) -> None:
        """Verifies the checksums of values: reads them one at a time, and discards them.

        Raises:
            OpenError: a value cannot be read.
        """
        several = list(values)
        with Progress("verifying the checkpoint", sum(v.nbytes for v in several)) as bar:
            for value in several:
                self.read(value.key)
                bar.step(value.nbytes)


def _bundle(prefix: str) -> Bundle | None:
    """Returns the index of a checkpoint; None if only TensorFlow can read it, or report its error."""
    try:
        return Bundle(prefix)
    except (UnreadableError, OSError):
        return None


def array_of(value: Any) -> Any:
    """Returns a value as an array, without NumPy's text dtype, which drops zero bytes at the end."""
    array = np.asarray(value)
    return np.array(value, object) if array.dtype.kind == "S" else array


def refuse_incomplete(prefix: str, request: str) -> None:
    """Refuses a checkpoint with a missing file.

    Args:
        prefix: its path without a suffix.
        request: the request, for messages.

    Raises:
        OpenError: its index or a shard of its data is missing.
    """
    if os.path.isfile(prefix) or (glob.has_magic(prefix) and glob.glob(prefix)):
        return  # the format used before 2016: one file, or a pattern for several
    shards = [m for m in map(SHARD.search, glob.glob(glob.escape(prefix) + ".data-*-of-*")) if m]
    has = {(int(m[1]), int(m[2])) for m in shards}
    if not os.path.exists(prefix + ".index"):
        if has:
            problem = f"{prefix}.data-* exists, but no {os.path.basename(prefix)}.index: it is half written, or cut off"
            raise OpenError(request, problem, "Wait until it is written, or use the checkpoint before it")
        raise OpenError(request, f"there is no checkpoint {prefix!r}", _near(prefix))
    whole = [n for n in {n for _, n in has} if {(i, n) for i in range(n)} <= has]
    if whole or not has:
        if has:
            return
        raise OpenError(request, "the checkpoint's data file is missing", f"Put {prefix}.data-* next to its index")
    count = max(n for _, n in has)
    lost = next(i for i in range(count) if (i, count) not in has)
    name = f"{os.path.basename(prefix)}.data-{lost:05d}-of-{count:05d}"
    raise OpenError(request, f"the checkpoint's data file {name!r} is missing", f"Put it next to {prefix}.index")


def _prefix(place: str, request: str) -> str:
    """Returns the prefix of a checkpoint that is given as a prefix, file or folder."""
    if not os.path.isdir(place):
        prefix = SHARD.sub("", place)
        for suffix in (".index", ".meta"):
            prefix = prefix.removesuffix(suffix)
        return prefix
    inner = os.path.join(place, "variables", "variables")
    latest = inner if os.path.exists(inner + ".index") else newest_checkpoint(place)
    if latest is None:
        raise OpenError(request, f"the folder {place!r} names no latest checkpoint", _near(os.path.join(place, "")))
    refuse_linked_away(latest, place, request)
    return latest


def _near(prefix: str) -> str:
    folder = os.path.dirname(prefix) or "."
    entries = os.listdir(folder) if os.path.isdir(folder) else []
    names = sorted(name.removesuffix(".index") for name in entries if name.endswith(".index"))
    choices = " or ".join(repr(os.path.join(os.path.dirname(prefix), name)) for name in names[:3])
    return f"Give {choices}" if choices else "Give the path of a checkpoint without its suffix, or the folder it is in"


def _stamp(prefix: str) -> tuple[int, int]:
    path = prefix + ".index" if os.path.exists(prefix + ".index") else min(glob.glob(prefix), default=prefix)
    try:
        about = os.stat(path)
    except FileNotFoundError:
        return (0, 0)
    return about.st_mtime_ns, about.st_size


def _sound(prefix: str, request: str) -> AbstractContextManager[None]:
    """Raises any error of TensorFlow as an OpenError about a damaged checkpoint; TensorFlow uses several types."""
    problem = f"the checkpoint {prefix!r} is damaged or half written"
    return errors_as(OpenError, request, problem, "Use the checkpoint before it, or write it again")
