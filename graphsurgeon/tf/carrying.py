"""Carrying: values of variables from one session to another, and into one: a bounded batch at a time, no op added."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import tensorflow as tf

from ..core.reports import some
from ..core.sizes import variable_bytes
from ..core.state import VariableInfo
from ..errors import PlanError
from .checkpoints import Stored
from .progress import Progress
from .variables import no_value, value_of

#: Each new set of fetches costs TensorFlow a pruned graph: so many runs at most, and fewer for small variables.
_RUNS, _SMALL_RUNS = 128, 8
#: A variable of fewer bytes is small. A batch of small ones has between so many bytes and `_MOST`.
_SMALL, _MOST = 16 << 20, 128 << 20


def batches(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Yields names in order, together no larger than the largest; where all are small, a share of all.

    Example:
        >>> list(batches({"a": 100 << 20, "b": 60 << 20, "c": 30 << 20, "d": 20 << 20}))
        [['a'], ['b', 'c'], ['d']]
    """
    largest, total = max(sizes.values(), default=0), sum(sizes.values())
    limit = max(largest, total // _RUNS)
    if largest < _SMALL:
        limit = max(_SMALL, min(total // _SMALL_RUNS, _MOST))
    batch: list[str] = []
    held = 0
    for name, size in sizes.items():
        if batch and held + size > limit:
            yield batch
            batch, held = [], 0
        batch.append(name)
        held += size
    if batch:
        yield batch


def stream(session: Any, infos: Iterable[VariableInfo], asked: str) -> Iterator[dict[str, Any]]:
    """Yields the values of variables by op name, batch after batch; nothing is held from one to the next.

    Args:
        session: gives the values.
        infos: the variables, of the session's graph.
        asked: the request, for messages.

    Raises:
        PlanError: a variable has no value, or no op tells it.
    """
    known = {info.op: info for info in infos}
    tensors = {name: value_of(session.graph, info, asked) for name, info in known.items()}
    for names in batches({name: variable_bytes(info) for name, info in known.items()}):
        try:
            got = dict(session.run({name: tensors[name] for name in names}))
        except tf.errors.FailedPreconditionError as error:
            raise no_value(error, [known[name] for name in names], asked) from error
        yield got
        got.clear()  # who reads the next batch holds this one no longer


def assign(
    session: Any,
    graph: Any,
    values: Mapping[str, Any],
    variables: Mapping[str, VariableInfo],
    what: str = "setting variables",
) -> None:
    """Sets variables through their own initialisers; adds no op.

    Args:
        session: a session of `graph`.
        graph: the live graph.
        values: variable op name -> array, or what a checkpoint stores, which is read when its turn comes.
        variables: what each is made of, with names in `graph`.
        what: what is being done, for the bar.
    """
    sizes = {name: value.nbytes if hasattr(value, "nbytes") else 0 for name, value in values.items()}
    with Progress(what, sum(sizes.values())) as bar:
        for names in batches(sizes):
            read = {name: values[name].read() if isinstance(values[name], Stored) else values[name] for name in names}
            _set(session, graph, read, variables)
            bar.step(sum(sizes[name] for name in names))


def _set(session: Any, graph: Any, values: dict[str, Any], variables: Mapping[str, VariableInfo]) -> None:
    """Sets variables in one run, or in several where two share the tensor of their initial value; drops the values."""
    while values:
        feeds: dict[str, Any] = {}
        ops = []
        for name in list(values):
            info = variables[name]
            if info.initial_value not in feeds:
                feeds[info.initial_value] = _fit_to_feed(values.pop(name))
                ops.append(graph.get_operation_by_name(info.initializer))
        session.run(ops, feeds)


#: TensorFlow takes an array that begins at a multiple of this as it is, and copies any other.
_ALIGNED = 64


def _fit_to_feed(value: Any) -> Any:
    """Returns a large array as one that TensorFlow takes as it is: then two of it are never in memory at once."""
    if not isinstance(value, np.ndarray) or value.nbytes < _SMALL or value.dtype.hasobject:
        return value
    if value.ctypes.data % _ALIGNED == 0 and value.flags.c_contiguous:
        return value
    fit: np.ndarray = np.frombuffer(_room(value.nbytes), value.dtype).reshape(value.shape)
    fit[...] = value
    return fit


def _room(size: int) -> Any:
    """Memory that begins with a page, and goes back to the system at once when it is done."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size)
    room = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # in pages of 4 kB it takes three times as long
            room.madvise(mmap.MADV_HUGEPAGE)
    return room


def carry(
    old: Any,
    new: Any,
    pairs: Sequence[tuple[VariableInfo, VariableInfo]],
    asked: str,
    what: str = "carrying values",
    ready: Callable[[], None] | None = None,
) -> int:
    """Sets variables of one session to the values that others have in another; returns the bytes moved.

    Above both sets of values, memory holds twice the largest variable, or a batch of small ones.

    Args:
        old: the session that has the values.
        new: the session that gets them; it may be the same.
        pairs: (variable of the old graph, variable of the new one).
        asked: the request, for messages.
        what: what is being done, for the bar.
        ready: called when the first values are read and nothing is set yet.

    Raises:
        PlanError: a variable has no value, or none can be set; what was set before is whole.
    """
    target: dict[str, list[VariableInfo]] = {}
    infos: dict[str, VariableInfo] = {}
    for a, b in pairs:
        if not b.initializer:
            raise unsettable([b.op], asked)
        infos[a.op] = a
        target.setdefault(a.op, []).append(b)
    moved = 0
    with Progress(what, sum(variable_bytes(a) for a, _ in pairs)) as bar:
        for got in stream(old, infos.values(), asked):
            if ready is not None:
                ready()
                ready = None
            size = sum(np.asarray(value).nbytes for value in got.values())
            one = {b.op: value for name, value in got.items() for b in target[name]}
            got.clear()
            _set(new, new.graph, one, {b.op: b for names in target.values() for b in names})
            moved += size
            bar.step(size)
    return moved


def unsettable(names: Sequence[str], asked: str) -> PlanError:
    """Returns the error for variables that no op of the graph assigns."""
    return PlanError(
        asked,
        f"no op of the graph sets {some([repr(n) for n in names])}, and none is added here",
        "Leave it out, or open the graph with its collections (a .meta file, a SavedModel)",
    )
