"""Checkpoint folder: a folder in which another process writes checkpoints. Only whole checkpoints are read."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from google.protobuf import text_format
from google.protobuf.message import DecodeError

from ...errors import OpenError, counted, few, one_of
from ..import_tensorflow import tf
from ..messages import trackable_object_graph_pb2
from ..open.file_reader import linked_away, state_checkpoints
from ..protos import decode
from ..run.errors import error_text
from ..run.progress import Progress
from .checkpoint_reader import OBJECTS, SHARD, array_of

#: The last bytes of every index file, which mark the table format.
_MAGIC = bytes.fromhex("57fb808b247547db")
#: The errors that versions of TensorFlow raise for damaged files.
_UNREADABLE = (tf.errors.OpError, ValueError, RuntimeError, IndexError, DecodeError)
#: The most times that a folder is listed again, if a checkpoint was deleted in the meantime.
_MAX_ATTEMPTS = 5


@dataclass(frozen=True)
class CheckpointVariable:
    """How a variable is stored in a checkpoint.

    Args:
        name: the op of the variable in the graph that was saved.
        key: its name in the checkpoint; differs from `name` for a slice of a partitioned variable.
        dtype, shape: from the graph; None for an unknown shape or axis.
        offset: the start of the slice in the stored value; empty for a whole variable.
    """

    name: str
    key: str
    dtype: Any
    shape: tuple[int | None, ...] | None
    offset: tuple[int, ...] = ()


class CheckpointFolder:
    """A folder with checkpoints of a training in another process.

    Args:
        folder: its path; it may still be empty.
    """

    def __init__(self, folder: str) -> None:
        self.folder = os.fspath(folder)
        self.request = f"follow({self.folder!r})"
        self.last_read: tuple[Any, ...] = ()  # the identity of the checkpoint that was read last
        self.skipped: dict[str, str] = {}  # checkpoint -> why it was not read
        self.incomplete_error: OpenError | None = None  # why no checkpoint was read, although there is a newer one
        self._state_file_error = ""

    def refuse_missing(self) -> None:
        """Raises an OpenError if the folder does not exist."""
        if not os.path.isdir(self.folder):
            raise OpenError(self.request, "there is no such folder", "Give the folder that the training saves to")

    def newest(self, variables: Sequence[CheckpointVariable]) -> tuple[str, dict[str, Any]] | None:
        """Returns the newest whole checkpoint, as (its name, variable -> array).

        None if there is none after the last one that was read. If there is a newer checkpoint that is not whole,
        `incomplete_error` is the error.

        Raises:
            OpenError: the folder does not exist, or the newest whole checkpoint is of another model.
        """
        self.refuse_missing()
        self.incomplete_error = None
        for _ in range(_MAX_ATTEMPTS):
            prefixes = self.prefixes()
            result = self._newest_of(prefixes, variables)
            if result is not None or not self.skipped or self.prefixes() == prefixes:
                break  # otherwise a newer checkpoint has replaced the one that was read
        if result is not None:
            return result
        reason = self._state_file_error
        if self.skipped:
            name, why = next(iter(self.skipped.items()))
            reason = f"checkpoint {name!r} is not whole: {why}"
        if reason:
            self.incomplete_error = OpenError(
                self.request, reason, "Nothing was read; try again when the checkpoint is complete"
            )
        return None

    def _newest_of(
        self, prefixes: Sequence[str], variables: Sequence[CheckpointVariable]
    ) -> tuple[str, dict[str, Any]] | None:
        """Returns the first whole checkpoint of a list; None if it was already read."""
        self.skipped = {}
        for prefix in prefixes:
            files = _files(prefix)
            if files and files == self.last_read:
                break  # all others are older
            name = os.path.basename(prefix)
            if not files and glob.glob(prefix):
                problem = f"checkpoint {name!r} has the format used before 2016, which cannot be followed"
                raise OpenError(self.request, problem, "Save with tf.compat.v1.train.Saver(), without write_version=1")
            values, reason = None, linked_away(prefix, self.folder) or incompleteness(prefix)
            if not reason:
                try:
                    values = read_variables(prefix, variables, self.request)
                except _DamagedError as error:
                    reason = str(error)
                if _files(prefix) != files:
                    reason = "it changed while it was read"
            if values is None or reason:
                self.skipped[name] = reason
                continue
            self.last_read = files
            return name, values
        return None

    def prefixes(self) -> list[str]:
        """Returns the checkpoints of the folder, newest first, in the order of the state file or of file times."""
        self._state_file_error = ""
        try:
            paths = state_checkpoints(self.folder)
        except (OSError, UnicodeDecodeError, text_format.ParseError) as error:
            self._state_file_error, paths = f"the file 'checkpoint' cannot be read: {str(error).splitlines()[0]}", []
        if paths is not None:
            return paths
        index = glob.glob(os.path.join(glob.escape(self.folder), "*.index"))
        return [path.removesuffix(".index") for path in sorted(index, key=_time, reverse=True)]


class _DamagedError(Exception):
    """A checkpoint that is not whole, or no longer exists."""


def incompleteness(prefix: str) -> str:
    """Returns why the files of a checkpoint are not complete; empty if they are.

    Args:
        prefix: path of the checkpoint without suffix.
    """
    try:
        return _missing_bytes(prefix)
    except FileNotFoundError:
        return "it was deleted while it was read"


def _missing_bytes(prefix: str) -> str:
    index = prefix + ".index"
    if not os.path.isfile(index):
        return "its index is missing"
    with open(index, "rb") as file:
        file.seek(0, os.SEEK_END)
        size = file.tell()
        file.seek(max(0, size - len(_MAGIC)))
        if file.read() != _MAGIC:
            return f"its index ends too early, after {counted(size, 'bytes')}"
    shards = [m for path in glob.glob(glob.escape(prefix) + ".data-*") if (m := SHARD.search(path))]
    if not shards:
        return "its data file is missing"
    count = max(int(m[2]) for m in shards)
    have = {int(m[1]) for m in shards if int(m[2]) == count}
    missing = sorted(set(range(count)) - have)
    if missing:
        return f"shard {missing[0] + 1} of {count} is missing"
    try:
        reader = tf.train.load_checkpoint(prefix)
        dtypes = reader.get_variable_to_dtype_map()
        shapes = reader.get_variable_to_shape_map()
    except _UNREADABLE as error:
        return f"its index cannot be read: {error_text(error)}"
    least = sum(int(np.prod(shape)) * dtypes[name].size for name, shape in shapes.items() if dtypes[name].size)
    there = sum(os.path.getsize(m.string) for m in shards if int(m[2]) == count)
    return "" if there >= least else f"its data has {counted(there, 'bytes')}, and needs {least}"


def read_variables(prefix: str, variables: Sequence[CheckpointVariable], request: str) -> dict[str, Any]:
    """Returns variable op -> its value in a checkpoint; checksums are verified.

    Raises:
        OpenError: a variable is not in the checkpoint, or has another dtype or shape in it.
    """
    try:
        reader = tf.train.load_checkpoint(prefix)
        shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
        keys, ambiguous = _keys(reader, shapes)
    except _UNREADABLE as error:
        raise _DamagedError(f"its index cannot be read: {error_text(error)}") from error
    name = os.path.basename(prefix)
    missing = [w for w in variables if w.key not in keys]
    if missing:
        duplicate = next((w.key for w in missing if w.key in ambiguous), None)
        if duplicate is not None:
            raise OpenError(
                request,
                f"checkpoint {name!r} has several variables called {duplicate!r}",
                "Give each variable its own name in the training: tf.Variable(..., name='enc/w')",
            )
        raise OpenError(
            request,
            f"checkpoint {name!r} has no variable {few([repr(w.key) for w in missing], 1)}: it is of another model",
            f"Give the folder of the same training. {one_of(missing[0].key, keys)}",
        )
    out = {}
    with Progress(f"reading {name}", len(variables), "variables") as bar:
        for variable in variables:
            key = keys[variable.key]
            _check_variable(variable, tuple(shapes[key]), dtypes[key], name, request)
            out[variable.name] = _read_one(reader, key, variable)
            bar.step(1)
    return out


def _read_one(reader: Any, key: str, variable: CheckpointVariable) -> Any:
    """The value of a variable under a key."""
    try:
        value = array_of(reader.get_tensor(key))
    except _UNREADABLE as error:
        raise _DamagedError(f"{variable.key!r} cannot be read: {error_text(error)}") from error
    if variable.offset and variable.shape is not None:
        value = value[tuple(slice(o, o + (n or 0)) for o, n in zip(variable.offset, variable.shape, strict=True))]
    return value


def _keys(reader: Any, shapes: Mapping[str, Any]) -> tuple[dict[str, str], set[str]]:
    """Returns variable name -> its key in the checkpoint; and the names that several variables share.

    The keys differ from the names in checkpoints of `tf.train.Checkpoint`, which contain a table of names.
    """
    keys = {name: name for name in shapes if name != OBJECTS}
    if OBJECTS not in shapes:
        return keys, set()
    table = decode(trackable_object_graph_pb2.TrackableObjectGraph, reader.get_tensor(OBJECTS))
    names_by_key = {a.checkpoint_key: a.full_name.removesuffix(":0") for node in table.nodes for a in node.attributes}
    count = Counter(names_by_key.values())
    keys.update({name: key for key, name in names_by_key.items() if name and count[name] == 1 and key in shapes})
    return keys, {name for name, times in count.items() if times > 1}


def _check_variable(variable: CheckpointVariable, shape: tuple[int, ...], dtype: Any, name: str, request: str) -> None:
    same = dtype.base_dtype == variable.dtype
    if variable.offset and variable.shape is not None:
        fits = all(o + (n or 0) <= full for o, n, full in zip(variable.offset, variable.shape, shape, strict=False))
        same = same and fits and len(shape) == len(variable.shape)
    else:
        same = same and tf.TensorShape(variable.shape).is_compatible_with(shape)
    if not same:
        raise OpenError(
            request,
            f"variable {variable.key!r} is {dtype.name} {shape} in checkpoint {name!r}, "
            f"but {variable.dtype.name} {variable.shape} in the duplicate",
            "Give the folder of the same training",
        )


def _files(prefix: str) -> tuple[Any, ...]:
    """Returns the identity of a checkpoint at this time: its files with their sizes and times."""
    paths = [*sorted(glob.glob(glob.escape(prefix) + ".data-*")), prefix + ".index"]
    out = []
    for path in paths:
        try:
            info = os.stat(path)
        except FileNotFoundError:
            continue
        out.append((path, info.st_size, info.st_mtime_ns, info.st_ino))
    return tuple(out)


def _time(path: str) -> tuple[int, str]:
    try:
        return os.stat(path).st_mtime_ns, path
    except FileNotFoundError:
        return 0, path
