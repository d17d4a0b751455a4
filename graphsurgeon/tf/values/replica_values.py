"""Replica values: reads the values of an original from its source, and sets them in its duplicate.

A source can be a folder in which another process writes checkpoints. Only whole checkpoints are read.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from google.protobuf import text_format
from google.protobuf.message import DecodeError

from ...errors import OpenError, PlanError, counted, few, one_of
from ...graph.types import PathLike, TFGraph, TFOp, TFSession, TFTensor
from ...graph.variables import READ_TYPES, VariableInfo
from ...plan.dependencies import REF_WRITERS
from ..import_tensorflow import tf
from ..messages import trackable_object_graph_pb2
from ..open.file_reader import linked_away, state_checkpoints
from ..private.eager import eager, variable_data
from ..private.graphs import slice_of
from ..protos import decode
from ..run.errors import error_text
from ..run.progress import Progress
from .checkpoint_reader import OBJECTS, SHARD, array_of
from .transfer import put
from .variables import assign_op, dims_of, fetch, read_op, variable_objects

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

    def __init__(self, folder: PathLike) -> None:
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


tf1 = tf.compat.v1

_SEPARATE_HASH_SIZE = 1 << 20


@dataclass(frozen=True)
class Pair:
    """A variable of the original and its copy.

    Args:
        old, new: the descriptions of the original and of the copy, with the names in their graphs.
        stored_variable: how the variable is stored in a checkpoint of the original.
        soft: whether old and new values can be mixed; counters and flags are copied even in a soft update.
        written: whether other ops in the graph of the duplicate set the copy too. It may then differ although the
            original did not change.
        needed: whether a checkpoint must contain the variable. Checkpoints do not contain local variables, such as
            those of metrics.
    """

    old: VariableInfo
    new: VariableInfo
    stored_variable: CheckpointVariable
    soft: bool
    written: bool
    needed: bool


def pairs_of(copies: Iterable[Any], graph: TFGraph) -> list[Pair]:
    """Returns pairs of a variable and its original, for all variables that copies do not share.

    Args:
        copies: the copies of a plan, a `CopyResult` for each step.
        graph: the graph of the copies.
    """
    out = []
    for copied in copies:
        objects = variable_objects(copied.source.live_graph)
        for variable in copied.variables:
            if not variable.new_info.initializer:
                continue
            old, dtype = variable.info, tf.as_dtype(variable.info.dtype)
            shape = tf.TensorShape(copied.source.live_graph.get_operation_by_name(old.op).get_attr("shape"))
            part = slice_of(objects.get(old.op))
            key, offset = (old.op, ()) if part is None else (part.full_name, tuple(part.var_offset))
            out.append(
                Pair(
                    old,
                    variable.new_info,
                    CheckpointVariable(old.op, key, dtype, dims_of(shape), offset),
                    dtype.is_floating or dtype.is_complex,
                    _is_written(graph, variable.new_info),
                    set(old.collections) != {tf1.GraphKeys.LOCAL_VARIABLES},
                )
            )
    return out


def _is_written(graph: TFGraph, info: VariableInfo) -> bool:
    users = graph.get_operation_by_name(info.op).outputs[0].consumers()
    others = [op for op in users if op.name != info.initializer]
    if info.resource:
        return any(op.type not in READ_TYPES for op in others)
    return any(op.type.startswith(REF_WRITERS) for op in others)


# -- in one session -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UpdateOps:
    """The ops that update a duplicate in the graph of its original; made once.

    Args:
        copy: the op that sets every copy to the value of its original.
        soft: the op that moves every copy a part of the way to its original; None unless requested.
        tau: the placeholder for the step size of `soft`.
    """

    copy: Any
    soft: Any = None
    tau: Any = None


def group_updates(pairs: Sequence[Pair], graph: TFGraph, scope: str, soft: bool) -> UpdateOps:
    """Adds the ops that update copies from originals in the same graph; they read all values before they set any."""
    with graph.as_default(), tf1.device(None), tf1.control_dependencies(None), tf1.name_scope(f"{scope}/update/"):
        values = [_read_tensor(graph, pair.old) for pair in pairs]
        with tf1.control_dependencies(values):
            copy = tf.group(*(_assign_op(graph, p.new, v) for p, v in zip(pairs, values, strict=True)), name="copy")
        if not soft:
            return UpdateOps(copy)
        tau = tf1.placeholder(tf.float64, [], name="tau")
        mixed = []
        for pair, value in zip(pairs, values, strict=True):
            mixed.append(
                _interpolated(_read_tensor(graph, pair.new), value, tau, pair.stored_variable.shape)
                if pair.soft
                else value
            )
        with tf1.control_dependencies(mixed):
            sets = [_assign_op(graph, pair.new, value) for pair, value in zip(pairs, mixed, strict=True)]
        return UpdateOps(copy, tf.group(*sets, name="soft"), tau)


def _interpolated(old: Any, new: Any, tau: Any, shape: Any) -> Any:
    """Does the same as `interpolate`, with ops. Only a variable of unknown shape can have another shape than before."""
    way = tf.cast(tau, new.dtype)
    if shape is not None and None not in shape:
        return old + way * (new - old)
    ranks = tf.equal(tf.rank(old), tf.rank(new))
    same = tf.cond(ranks, lambda: tf.reduce_all(tf.equal(tf.shape(old), tf.shape(new))), lambda: tf.constant(False))
    return tf.cond(same, lambda: old + way * (new - old), lambda: new)


def _read_tensor(graph: TFGraph, info: VariableInfo) -> TFTensor:
    variable = graph.get_operation_by_name(info.op)
    with graph.colocate_with(variable):
        return read_op(variable)


def _assign_op(graph: TFGraph, info: VariableInfo, value: TFTensor) -> TFOp:
    variable = graph.get_operation_by_name(info.op)
    with graph.colocate_with(variable):
        return assign_op(variable, value)


# -- between sessions ---------------------------------------------------------------------------------------


#: A function that returns the context manager in which the original must be read.
Exclusive = Callable[[], AbstractContextManager[None]]


class ReplicaSource:
    """A source of values of an original.

    Attributes:
        session: the session of the original, if it runs in this process.
        elsewhere: the place of training, if the original does not run in this process.
        skipped: checkpoint of a folder that was not read -> the reason.
        incomplete_error: the error if no checkpoint of a folder was read.
    """

    session: Any = None
    elsewhere: str = ""
    skipped: Mapping[str, str] = {}
    incomplete_error: OpenError | None = None

    def newest(self, pairs: Sequence[Pair], exclusive: Exclusive) -> tuple[str, dict[str, Any]] | None:
        """Returns the source and the values, by variable of the original; None if there are no newer values."""
        raise NotImplementedError

    def reset(self) -> None:
        """Treats values that were already read as new values again."""


class SessionSource(ReplicaSource):
    """The session that runs the original, if the duplicate has another session."""

    def __init__(self, session: TFSession) -> None:
        self.session = session

    def newest(self, pairs: Sequence[Pair], exclusive: Exclusive) -> tuple[str, dict[str, Any]]:
        """Returns the current values; they are fetched in one run between two steps.

        Raises:
            PlanError: a variable has no value in the session, or steps take too long.
        """
        graph, infos = self.session.graph, [p.old for p in pairs]
        with exclusive():
            return "its session", fetch(self.session, infos, graph, "update()")


class ObjectSource(ReplicaSource):
    """A Keras model, a `tf.Module` or a function, with variables of TF2.

    Args:
        handles: variable op of the opened graph -> handle of the variable.
    """

    def __init__(self, handles: Mapping[str, Any]) -> None:
        self.handles = handles

    def newest(self, pairs: Sequence[Pair], exclusive: Exclusive) -> tuple[str, dict[str, Any]]:
        """Returns the current values, one variable after another.

        Raises:
            PlanError: another thread changes the variables in the meantime, or steps take too long.
        """
        names = [p.old.op for p in pairs]
        with exclusive(), eager():
            out = {name: np.array(self._value(name)) for name in names}
            for name in names:
                if _digest(self._value(name)) != _digest(out[name]):
                    raise PlanError(
                        "update()",
                        f"variable {name!r} changed while the values were read: another thread trains the object",
                        "Train it with replica.train(lambda: model.train_on_batch(x, y)), "
                        "or in `with replica.training():`",
                    )
        return "the object", out

    def _value(self, name: str) -> Any:
        data = variable_data(self.handles[name])
        assert data is not None, name
        return array_of(tf.raw_ops.ReadVariableOp(resource=self.handles[name], dtype=data[0]).numpy())


class MappingSource(ReplicaSource):
    """Arrays from the caller."""

    elsewhere = "nowhere: its values were given"

    def __init__(self, values: Mapping[str, Any], graph: TFGraph) -> None:
        self.values, self.graph = values, graph

    def newest(self, pairs: Sequence[Pair], _exclusive: Exclusive) -> tuple[str, dict[str, Any]]:
        """Returns the arrays, by variable.

        Raises:
            PlanError: a variable is not among them, or its array has another shape or dtype.
        """
        return "the values given", fetch(self.values, [p.old for p in pairs], self.graph, "update()")


class FolderSource(ReplicaSource):
    """A folder with checkpoints."""

    elsewhere = "in another program"

    def __init__(self, folder: PathLike) -> None:
        self.folder = CheckpointFolder(folder)

    def reset(self) -> None:
        """Treats the last checkpoint as a new checkpoint again."""
        self.folder.last_read = ()

    def newest(self, pairs: Sequence[Pair], _exclusive: Exclusive) -> tuple[str, dict[str, Any]] | None:
        """Returns the values of the newest whole checkpoint; None if it is the last one that was read.

        Raises:
            OpenError: the newest checkpoint is not complete, or is of another model.
        """
        result = self.folder.newest([p.stored_variable for p in pairs if p.needed])
        self.skipped, self.incomplete_error = dict(self.folder.skipped), self.folder.incomplete_error
        return result


def digests(arrays: Mapping[str, Any]) -> dict[str, bytes]:
    """Returns a digest of the bytes, dtype and shape of each array; large arrays are processed in parallel.

    Example:
        >>> a = digests({"w": np.zeros(3)}), digests({"w": np.zeros(3)}), digests({"w": np.ones(3)})
        >>> a[0] == a[1], a[0] == a[2]
        (True, False)
    """
    large = [name for name, array in arrays.items() if array.nbytes >= _SEPARATE_HASH_SIZE]
    out = {name: _digest(array) for name, array in arrays.items() if array.nbytes < _SEPARATE_HASH_SIZE}
    if len(large) < 2:
        return {**out, **{name: _digest(arrays[name]) for name in large}}
    with ThreadPoolExecutor(min(4, len(large))) as pool:
        return {**out, **dict(zip(large, pool.map(_digest, [arrays[name] for name in large]), strict=True))}


def _digest(array: Any) -> bytes:
    raw: Any = np.ascontiguousarray(array).reshape(-1)
    digest = hashlib.sha256(f"{array.dtype} {array.shape}".encode())  # processors have instructions for SHA-256
    if array.dtype.hasobject:
        digest.update(repr(array.tolist()).encode())
    else:
        digest.update(raw.view(np.uint8))
    return digest.digest()


def interpolate(old: Any, new: Any, tau: float) -> Any:
    """Returns ``old + tau * (new - old)`` in their dtype; `new` if the shapes differ."""
    if old.shape != new.shape:
        return new
    return np.asarray(old + np.asarray(tau, old.dtype) * (new - old), old.dtype)


def feed(session: TFSession, values: Mapping[str, Any], pairs: Mapping[str, Pair]) -> None:
    """Sets copies through their own initializers; see `put`."""
    put(session, dict(values), {name: pair.new for name, pair in pairs.items()})


def current_values(session: TFSession, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Returns the values of copies, by the name of the original."""
    values = fetch(session, [p.new for p in pairs], session.graph, "update()")
    return {p.old.op: values[p.new.op] for p in pairs}


def refuse_folded(pairs: Sequence[Pair]) -> None:
    """Refuses copies that cannot be set one by one.

    Raises:
        PlanError: a variable has an initializer, but no tensor of an initial value to feed.
    """
    for pair in pairs:
        if not pair.new.initial_value:
            raise PlanError(
                "duplicate(...)",
                f"no op can set variable {pair.old.op!r}: its initializer has no initial value",
                "Leave it out of the selection",
            )


SessionRunHook: Any = tf.compat.v1.train.SessionRunHook


class UpdateHook(SessionRunHook):
    """Updates a replica after every n-th run of a monitored session.

    Args:
        replica: the `Replica`.
        every: n.
    """

    def __init__(self, replica: Any, every: int) -> None:
        self._replica, self._every, self._runs = replica, every, 0

    def after_create_session(self, session: TFSession, coord: Any) -> None:
        """Copies all values to the replica when TensorFlow makes a session, also after an earlier session failed."""
        self._replica.attach(session)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Counts the runs, and updates the replica after every n-th run."""
        self._runs += 1
        if self._runs % self._every == 0:
            self._replica.update()
