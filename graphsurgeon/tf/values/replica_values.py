"""Replica values: reads the values of an original from its source, and sets them in its duplicate."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import OpenError, PlanError
from ...graph.types import TFGraph, TFOp, TFSession, TFTensor
from ...graph.variables import READ_TYPES, VariableInfo
from ...plan.dependencies import REF_WRITERS
from ..import_tensorflow import tf
from ..private.eager import eager, variable_data
from ..private.sessions import slice_of
from .checkpoint_reader import array_of
from .followed_checkpoints import CheckpointFolder, CheckpointVariable
from .transfer import put
from .variables import assign_op, dims_of, fetch, read_op, variable_objects

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

    def __init__(self, folder: CheckpointFolder) -> None:
        self.folder = folder

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
