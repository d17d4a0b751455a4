"""Values transferred between sessions in bounded batches, and the sources of the values of a copy; no op is added.

`graphsurgeon.editor.session_values` decides which variable gets which value after an edit.
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
from ...graph.types import TFOp, TFSession
from ...graph.variables import VariableInfo
from ..import_tensorflow import tf
from ..messages import config_pb2
from ..private.graphs import callable_of
from ..run.progress import Progress
from .checkpoint_reader import StoredValue
from .variables import as_arrays, assigned_tensor, errors_if_empty, value_of

#: The alignment in bytes: TensorFlow uses an array at a multiple of this address directly, and copies other arrays.
_ALIGNED = 64
#: Sizes in bytes. A value of at least `_LARGE` gets its own buffer, smaller values share buffers of `_SHARED`, and
#: values below `_LEAST` are passed unchanged. A buffer is freed when no value in it is in use any more.
_LARGE, _SHARED, _LEAST = 16 << 20, 4 << 20, 1 << 18


class AlignedBuffers:
    """Makes memory for values that TensorFlow can use without a copy; values are stored in the order of the calls."""

    def __init__(self) -> None:
        self._memory: Any = None
        self._offset = 0
        self._last_buffer: tuple[Any, Any] = (None, lambda: None)  # a buffer, and a weak reference to the value in it

    def align(self, value: Any, keeps_memory: bool = True) -> Any:
        """Returns a value as an array that TensorFlow uses without a copy, or the value itself if it is too small.

        Args:
            value: the value.
            keeps_memory: whether the variable keeps this memory. A resource variable does; a reference variable copies
                it.
        """
        if not isinstance(value, np.ndarray) or value.nbytes < _LEAST or value.dtype.hasobject:
            return value
        fits = value.ctypes.data % _ALIGNED == 0 and value.flags.c_contiguous
        if value.nbytes >= _LARGE and not keeps_memory:
            fit: np.ndarray = self._again(value)  # even if it is aligned, because TensorFlow would release it late
        elif fits:
            return value
        elif value.nbytes >= _LARGE:
            fit = np.frombuffer(_page_buffer(value.nbytes), value.dtype).reshape(value.shape)
        else:
            fit = self._allocate(value.nbytes).view(value.dtype).reshape(value.shape)
        fit[...] = value
        return fit

    def _again(self, value: np.ndarray) -> np.ndarray:
        """Returns memory in the last buffer if TensorFlow has released it, otherwise in a new buffer."""
        buffer, owner = self._last_buffer
        if buffer is None or len(buffer) < value.nbytes or owner() is not None:
            buffer = np.frombuffer(_page_buffer(value.nbytes), np.uint8)
        part: np.ndarray = np.frombuffer(buffer, value.dtype, value.size).reshape(value.shape)
        self._last_buffer = buffer, weakref.ref(part)
        return part

    def _allocate(self, size: int) -> np.ndarray:
        if self._memory is None or self._offset + size > len(self._memory):
            self._memory, self._offset = np.frombuffer(_page_buffer(max(_SHARED, size)), np.uint8), 0
        part: np.ndarray = self._memory[self._offset : self._offset + size]
        self._offset += -(-size // _ALIGNED) * _ALIGNED
        return part


def release_memory() -> None:
    """Returns free memory to the system; the C allocator might otherwise keep it for later arrays.

    A transfer of variables of 25 MB needs memory for both sets of values and one more variable. Without this call it
    would need three more.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None  # not the GNU C library


def _page_buffer(size: int) -> Any:
    """Returns memory that is aligned to a page, and returned to the system as soon as it is freed."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size)
    buffer = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # with pages of 4 kB this would take three times as long
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
        """Names of the ops of the file that must run once; and their feeds."""

    def untrained(self, local: bool = False, names: Collection[str] | None = None) -> dict[str, str]:
        """Returns variable -> the reason why it has only its initial value.

        Args:
            local: include local variables.
            names: the variables to check; None for all.
        """

    def stored_values(self) -> Mapping[str, Any] | None:
        """Returns the unread values of the opened file; None if the file does not contain the values."""

    def read_session(self) -> Any:
        """Returns a session from which the values can be read."""


def value_provider(values: Any) -> ValueProvider | None:
    """Returns the value provider of an editor; a value provider is returned unchanged, and None for other objects."""
    for part in (values, getattr(values, "values", None)):
        if hasattr(type(part), "read_session"):
            return cast(ValueProvider, part)
    return None


def values_of(values: Any) -> Any:
    """Returns the session of an editor that was given as `values=`; other values are returned unchanged."""
    giver = value_provider(values)
    return values if giver is None else giver.read_session()


def source_of(values: Any) -> Any:
    """Returns the source of values for a copy: like `values_of`, but values in files stay unread.

    If the editor has only opened a file, the source is (the stored values, a function that returns a session).
    """
    giver = value_provider(values)
    stored = None if giver is None else giver.stored_values()
    return values_of(values) if giver is None or stored is None else (stored, giver.read_session)


tf1 = tf.compat.v1
Thing = TypeVar("Thing")

#: The maximum number of runs, in general and for small variables: TensorFlow prunes the graph for each set of fetches.
_RUNS, _SMALL_RUNS = 128, 8
#: A variable of fewer bytes is small. A batch of small variables has at least `_SMALL` and at most `_MOST` bytes.
_SMALL, _MOST = 16 << 20, 128 << 20
#: For values up to this size in bytes, `release_memory` is not called, because it would take too long.
_LITTLE = 4 << 20


def groups_within(sizes: Mapping[Thing, int], limit: int) -> Iterator[list[Thing]]:
    """Yields things in order, in groups up to a size limit; a larger thing is a group by itself.

    Args:
        sizes: thing -> bytes.
        limit: the maximum size of a group in bytes.
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
    """Yields names in order, in batches up to the size of the largest value; small values are put in larger batches.

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
    return groups_within(sizes, limit)


def stream(session: TFSession, infos: Iterable[VariableInfo], request: str) -> Iterator[dict[str, Any]]:
    """Yields the values of variables by op name, batch after batch; a batch is cleared before the next one is read.

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
        got.clear()  # frees this batch even if the caller still refers to it


def assign(
    session: TFSession,
    values: Mapping[str, Any],
    variables: Mapping[str, VariableInfo],
    title: str = "setting variables",
) -> None:
    """Sets variables through their own initializers; adds no op.

    Args:
        session: the session.
        values: variable op name -> array, or a stored value of a checkpoint, which is read when it is needed.
        variables: variable op name -> its description, with names in the graph of the session.
        title: the text of the progress bar.
    """
    sizes = {name: value.nbytes if hasattr(value, "nbytes") else 0 for name, value in values.items()}
    with Progress(title, sum(sizes.values())) as bar:
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
    buffers: AlignedBuffers | None = None,
) -> None:
    """Sets variables and drops the values, in one run unless two variables share the tensor of their initial value.

    Args:
        session: the session.
        values: variable op name -> array; it is emptied.
        variables: variable op name -> its description.
        buffers: the buffers for the values; None if TensorFlow may keep the given arrays.
    """
    while values:
        feeds: dict[str, Any] = {}
        ops = []
        for name in list(values):
            info = variables[name]
            # An edit may have connected another tensor to the initializer.
            place = assigned_tensor(session.graph, info.initializer) or info.initial_value
            if place not in feeds:
                # No local variable refers to the value: if it is copied into a buffer, it is freed before the next
                # copy.
                feeds[place] = values.pop(name) if buffers is None else buffers.align(values.pop(name), info.resource)
                ops.append(session.graph.get_operation_by_name(info.initializer))
        if buffers is not None and any(getattr(value, "nbytes", 0) > _LITTLE for value in feeds.values()):
            release_memory()
        set_values(session, ops, feeds)


def transfer_values(
    old: TFSession,
    new: TFSession,
    pairs: Sequence[tuple[VariableInfo, VariableInfo]],
    request: str,
) -> int:
    """Copies values of variables from one session to another; returns the number of bytes.

    In addition to both sets of values, this needs memory for twice the largest variable, or for a batch of small
    variables.

    Args:
        old: the session with the values.
        new: another session, in which the variables are set. Values are set while others are still read.
        pairs: (variable of the old graph, variable of the new one).
        request: the request, for messages.

    Raises:
        PlanError: a variable has no value, or a variable cannot be set. Each variable has its complete old or new
            value.
    """
    target: dict[str, list[VariableInfo]] = {}
    infos: dict[str, VariableInfo] = {}
    for a, b in pairs:
        if not b.initializer:
            raise no_initializer_error([b.op], request)
        infos[a.op] = a
        target.setdefault(a.op, []).append(b)
    moved_bytes, variables = 0, {b.op: b for _, b in pairs}
    with Progress("carrying values", sum(variable_bytes(a) for a, _ in pairs)) as bar:
        buffers, pending, pending_bytes = AlignedBuffers(), dict[str, Any](), 0
        for values in stream(old, infos.values(), request):
            sizes = [np.asarray(value).nbytes for value in values.values()]
            # A variable uses the buffer of a large value directly, so several large variables can be set in one run.
            aligned = min(sizes) >= _SMALL and all(b.resource for name in values for b in target[name])
            for name in list(values):
                value = values.pop(name)
                pending |= {b.op: buffers.align(value) if aligned else value for b in target[name]}
            del value
            pending_bytes += sum(sizes)
            if not aligned or pending_bytes >= _MOST:
                put(new, pending, variables, buffers)
                pending_bytes = 0
            moved_bytes += sum(sizes)
            bar.step(sum(sizes))
        put(new, pending, variables, buffers)
    return moved_bytes


def no_initializer_error(names: Sequence[str], request: str) -> PlanError:
    """Returns the error for variables that no op of the graph assigns."""
    return PlanError(
        request,
        f"no op of the graph sets {few(map(repr, names))}, and this request adds no ops",
        "Leave it out, or open the graph with its collections (a .meta file, a SavedModel)",
    )


def set_values(session: TFSession, initializers: Sequence[TFOp], feeds: Mapping[str, Any]) -> None:
    """Runs initializers in one run, with the given values instead of the initial values.

    Unlike `Session.run`, this accepts values of another shape for variables of unknown shape. It also accepts values
    for tensors that TensorFlow has treated as constants.

    Args:
        session: the session.
        initializers: the ops.
        feeds: name of the tensor that an initializer assigns -> value.
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
    """Returns an op that sets the variable of an initializer to a value of any shape; the op is made only once."""
    graph, name = initializer.graph, f"{initializer.name}_any_shape"
    with suppress(KeyError):
        return graph.get_operation_by_name(name)
    target = initializer.inputs[0]
    with graph.as_default(), tf1.name_scope(f"{name}/"), tf1.control_dependencies(None):
        value = tf1.placeholder(initializer.inputs[1].dtype.base_dtype, None, name="value")
        if initializer.type == "AssignVariableOp":
            return tf.raw_ops.AssignVariableOp(resource=target, value=value, name=f"{name}/")
        return tf.raw_ops.Assign(ref=target, value=value, validate_shape=False, name=f"{name}/").op
