"""Values transferred between sessions in bounded batches, and the sources of the values of a copy; no op is added.

`graphsurgeon.editor.values` decides which variable gets which value after an edit.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from ...errors import PlanError, few
from ...graph.arrays import variable_bytes
from ...graph.tf_types import TFOp, TFSession
from ...graph.variables import VariableInfo
from ..importing import tf
from ..messages import config_pb2
from ..private.sessions import callable_of
from ..run.progress import Progress
from .checkpoints import StoredValue
from .variables import as_arrays, assigned, errors_if_empty, value_of

#: TensorFlow uses an array that begins at a multiple of this without a copy, and copies any other.
_ALIGNED = 64
#: Sizes in bytes: a value from the first size on has a separate room; smaller values share rooms of the second size;
#: values below the third size are left to TensorFlow. A room is freed when no value in it is in use any more.
_LARGE, _SHARED, _LEAST = 16 << 20, 4 << 20, 1 << 18


class AlignedBuffers:
    """Rooms for values, in order of arrival."""

    def __init__(self) -> None:
        self._room: Any = None
        self._used = 0
        self._lent: tuple[Any, Any] = (None, lambda: None)  # a room, and a weak reference to the value in it

    def fit(self, value: Any, stays: bool = True) -> Any:
        """Returns a value as an array that TensorFlow uses without a copy, or the value itself if it is too small.

        Args:
            value: the value.
            stays: True if a resource variable keeps the memory; a reference variable copies it.
        """
        if not isinstance(value, np.ndarray) or value.nbytes < _LEAST or value.dtype.hasobject:
            return value
        fits = value.ctypes.data % _ALIGNED == 0 and value.flags.c_contiguous
        if value.nbytes >= _LARGE and not stays:
            fit: np.ndarray = self._again(value)  # also if it fits, because TensorFlow releases it late
        elif fits:
            return value
        elif value.nbytes >= _LARGE:
            fit = np.frombuffer(_room(value.nbytes), value.dtype).reshape(value.shape)
        else:
            fit = self._shared(value.nbytes).view(value.dtype).reshape(value.shape)
        fit[...] = value
        return fit

    def _again(self, value: np.ndarray) -> np.ndarray:
        """A part of the last room, if TensorFlow has released it, else of a new one."""
        buffer, owner = self._lent
        if buffer is None or len(buffer) < value.nbytes or owner() is not None:
            buffer = np.frombuffer(_room(value.nbytes), np.uint8)
        part: np.ndarray = np.frombuffer(buffer, value.dtype, value.size).reshape(value.shape)
        self._lent = buffer, weakref.ref(part)
        return part

    def _shared(self, size: int) -> np.ndarray:
        if self._room is None or self._used + size > len(self._room):
            self._room, self._used = np.frombuffer(_room(max(_SHARED, size)), np.uint8), 0
        part: np.ndarray = self._room[self._used : self._used + size]
        self._used += -(-size // _ALIGNED) * _ALIGNED
        return part


def give_back() -> None:
    """Returns free memory to the system, which its allocator might otherwise keep for the next array.

    Carrying variables of 25 MB needs memory for one more of them than both sets of values; without this, for three.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None  # not the GNU library


def _room(size: int) -> Any:
    """Memory that begins at a page, and returns to the system as soon as it is freed."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size)
    buffer = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # pages of 4 kB would take three times as long
            buffer.madvise(mmap.MADV_HUGEPAGE)
    return buffer


class ValueProvider(Protocol):
    """The part of an editor that provides the values of its variables for copies."""

    @property
    def graph(self) -> Any:
        """The live graph of the variables."""

    @property
    def uninitialized(self) -> frozenset[str]:
        """Names of variables that no op initializes."""

    @property
    def init_ops(self) -> tuple[list[str], dict[str, Any]]:
        """Names of ops that the file requires to run once; and their feeds."""

    def untrained(self, local: bool = False, names: Collection[str] | None = None) -> dict[str, str]:
        """Variables that have only their initial value, each with the reason; among `names`, or all.

        Local ones are included if `local` is True.
        """

    def stored(self) -> Mapping[str, Any] | None:
        """The values in the file that was opened, unread; None if they are not in the file."""

    def reader(self) -> Any:
        """A session to read values from."""


def giver_of(values: Any) -> ValueProvider | None:
    """Returns the part of an editor with its values; None for anything but an editor, or that part of one."""
    for part in (values, getattr(values, "values", None)):
        if hasattr(type(part), "reader"):
            return cast(ValueProvider, part)
    return None


def values_of(values: Any) -> Any:
    """Returns the source of a request's `values`: for an editor, its session."""
    giver = giver_of(values)
    return values if giver is None else giver.reader()


def source_of(values: Any) -> Any:
    """Returns the source of values for a copy, as `values_of` does. The values of files without a session stay unread
    until they are needed, one by one.
    """
    giver = giver_of(values)
    stored = None if giver is None else giver.stored()
    return values_of(values) if giver is None or stored is None else (stored, giver.reader)


tf1 = tf.compat.v1
Thing = TypeVar("Thing")

#: TensorFlow prunes the graph for each new set of fetches: the most runs, and the most for small variables.
_RUNS, _SMALL_RUNS = 128, 8
#: A variable of fewer bytes is small. A batch of small variables has at least `_SMALL` and at most `_MOST` bytes.
_SMALL, _MOST = 16 << 20, 128 << 20
#: For values up to this size, the request to the system library to return free memory takes too long.
_LITTLE = 4 << 20


def bounded(sizes: Mapping[Thing, int], limit: int) -> Iterator[list[Thing]]:
    """Yields things in order, in groups up to a size limit; a larger thing is a group by itself.

    Args:
        sizes: thing -> bytes.
        limit: the most bytes in a group.
    """
    batch: list[Thing] = []
    total = 0
    for thing, size in sizes.items():
        if batch and total + size > limit:
            yield batch
            batch, total = [], 0
        batch.append(thing)
        total += size
    if batch:
        yield batch


def batches(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Yields names in order, in batches no larger than the largest value; if all are small, a share of the total.

    Args:
        sizes: name -> bytes.

    Example:
        >>> list(batches({"a": 100 << 20, "b": 60 << 20, "c": 30 << 20, "d": 20 << 20}))
        [['a'], ['b', 'c'], ['d']]
    """
    largest, total = max(sizes.values(), default=0), sum(sizes.values())
    limit = max(largest, total // _RUNS)
    if largest < _SMALL:
        limit = max(_SMALL, min(total // _SMALL_RUNS, _MOST))
    return bounded(sizes, limit)


def stream(session: TFSession, infos: Iterable[VariableInfo], request: str) -> Iterator[dict[str, Any]]:
    """Yields the values of variables by op name, batch after batch; no batch is held longer.

    Args:
        session: the session with the values.
        infos: the variables, of the session's graph.
        request: the request, for messages.

    Raises:
        PlanError: a variable has no value, or no op reads it.
    """
    variables = {info.op: info for info in infos}
    tensors = {name: value_of(session.graph, info, request) for name, info in variables.items()}
    for names in batches({name: variable_bytes(info) for name, info in variables.items()}):
        with errors_if_empty([variables[name] for name in names], request):
            got = as_arrays(session.run({name: tensors[name] for name in names}))
        yield got
        got.clear()  # the caller no longer holds this batch while it requests the next


def assign(
    session: TFSession,
    values: Mapping[str, Any],
    variables: Mapping[str, VariableInfo],
    what: str = "setting variables",
) -> None:
    """Sets variables through their own initialisers; adds no op.

    Args:
        session: the session.
        values: variable op name -> array, or a stored value of a checkpoint, which is read when it is needed.
        variables: variable op name -> its description, with names in the graph of the session.
        what: the name of the work, for the bar.
    """
    sizes = {name: value.nbytes if hasattr(value, "nbytes") else 0 for name, value in values.items()}
    with Progress(what, sum(sizes.values())) as bar:
        buffers = AlignedBuffers()
        for names in batches(sizes):
            arrays = {
                name: values[name].read() if isinstance(values[name], StoredValue) else values[name] for name in names
            }
            put(session, arrays, variables, buffers)
            bar.step(sum(sizes[name] for name in names))


def put(
    session: TFSession,
    values: dict[str, Any],
    variables: Mapping[str, VariableInfo],
    rooms: AlignedBuffers | None = None,
) -> None:
    """Sets variables and drops the values, in one run unless two variables share the tensor of their initial value.

    Args:
        session: the session.
        values: variable op name -> array; it is emptied.
        variables: variable op name -> its description.
        rooms: our own memory for the values; None: TensorFlow may keep the given arrays.
    """
    while values:
        feeds: dict[str, Any] = {}
        ops = []
        for name in list(values):
            info = variables[name]
            # An edit may have given the initialiser another tensor.
            place = assigned(session.graph, info.initializer) or info.initial_value
            if place not in feeds:
                # The value has no name here: if it is copied into a room, it is freed before the next copy.
                feeds[place] = values.pop(name) if rooms is None else rooms.fit(values.pop(name), info.resource)
                ops.append(session.graph.get_operation_by_name(info.initializer))
        if rooms is not None and any(getattr(value, "nbytes", 0) > _LITTLE for value in feeds.values()):
            give_back()
        set_values(session, ops, feeds)


def transfer_values(
    old: TFSession,
    new: TFSession,
    pairs: Sequence[tuple[VariableInfo, VariableInfo]],
    request: str,
) -> int:
    """Sets variables of one session to the values that others have in another; returns the bytes moved.

    In addition to both sets of values, memory holds twice the largest variable, or a batch of small ones.

    Args:
        old: the session that has the values.
        new: the session to set; not the same, because values are set while others are still read.
        pairs: (variable of the old graph, variable of the new one).
        request: the request, for messages.

    Raises:
        PlanError: a variable has no value, or none can be set; variables that were set before have complete values.
    """
    target: dict[str, list[VariableInfo]] = {}
    infos: dict[str, VariableInfo] = {}
    for a, b in pairs:
        if not b.initializer:
            raise unsettable([b.op], request)
        infos[a.op] = a
        target.setdefault(a.op, []).append(b)
    moved_bytes, variables = 0, {b.op: b for _, b in pairs}
    with Progress("carrying values", sum(variable_bytes(a) for a, _ in pairs)) as bar:
        buffers, pending, pending_bytes = AlignedBuffers(), dict[str, Any](), 0
        for values in stream(old, infos.values(), request):
            sizes = [np.asarray(value).nbytes for value in values.values()]
            # A large value in a separate room is already the memory of its variable: several can share a run.
            aligned = min(sizes) >= _SMALL and all(b.resource for name in values for b in target[name])
            for name in list(values):
                value = values.pop(name)
                pending |= {b.op: buffers.fit(value) if aligned else value for b in target[name]}
            del value
            pending_bytes += sum(sizes)
            if not aligned or pending_bytes >= _MOST:
                put(new, pending, variables, buffers)
                pending_bytes = 0
            moved_bytes += sum(sizes)
            bar.step(sum(sizes))
        put(new, pending, variables, buffers)
    return moved_bytes


def unsettable(names: Sequence[str], request: str) -> PlanError:
    """Returns the error for variables that no op of the graph assigns."""
    return PlanError(
        request,
        f"no op of the graph sets {few(map(repr, names))}, and this request adds no ops",
        "Leave it out, or open the graph with its collections (a .meta file, a SavedModel)",
    )


def set_values(session: TFSession, initializers: Sequence[TFOp], feeds: Mapping[str, Any]) -> None:
    """Runs initialisers in one run, each with a value in place of its initial one.

    Unlike `Session.run`, it accepts a value of another shape for a variable of unknown shape, and a value for a tensor
    that TensorFlow once treated as a constant.

    Args:
        session: the session.
        initializers: the ops.
        feeds: name of the tensor that an initialiser assigns -> value.
    """
    graph = session.graph
    fed = {name: graph.get_tensor_by_name(name) for name in feeds}
    odd = {name for name, value in feeds.items()
           if not (fed[name].shape.is_compatible_with(np.shape(value)) and graph.is_feedable(fed[name]))}  # fmt: skip
    if not odd:
        session.run(list(initializers), feeds)
        return
    request = config_pb2.CallableOptions(feed=list(feeds), target=[op.name for op in initializers])
    run = callable_of(session, request)
    if run is not None:
        run(*(np.asarray(value, graph.get_tensor_by_name(name).dtype.as_numpy_dtype) for name, value in feeds.items()))
        return
    ops, again = [], {}
    for op in initializers:
        name = op.inputs[1].name
        ops.append(_any_shape(op) if name in odd else op)
        again[ops[-1].inputs[1]] = feeds[name]
    session.run(ops, again)


def _any_shape(initializer: TFOp) -> TFOp:
    """An op that sets the variable of an initialiser to a value of any shape; made once."""
    graph, name = initializer.graph, f"{initializer.name}_any_shape"
    with suppress(KeyError):
        return graph.get_operation_by_name(name)
    target = initializer.inputs[0]
    with graph.as_default(), tf1.name_scope(f"{name}/"), tf1.control_dependencies(None):
        value = tf1.placeholder(initializer.inputs[1].dtype.base_dtype, None, name="value")
        if initializer.type == "AssignVariableOp":
            return tf.raw_ops.AssignVariableOp(resource=target, value=value, name=f"{name}/")
        return tf.raw_ops.Assign(ref=target, value=value, validate_shape=False, name=f"{name}/").op
