"""Carrying: values of variables from one session to another, and into one: a bounded batch at a time, no op added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph.graph import shape_from
from ...graph.live import TFGraph, TFSession
from ...graph.sizes import variable_bytes
from ...graph.variables import VariableInfo
from ...words import few
from ..run.progress import Progress
from .checkpoints import Stored
from .feeds import begin, go_on, set_values
from .memory import Rooms, give_back
from .variables import as_arrays, told_empty, value_of

#: Each new set of fetches costs TensorFlow a pruned graph: so many runs at most, and fewer for small variables.
_RUNS, _SMALL_RUNS = 128, 8
#: A variable of fewer bytes is small. A batch of small ones has between so many bytes and `_MOST`.
_SMALL, _MOST = 16 << 20, 128 << 20
#: Where all batches go in one run, a batch has no more than the largest variable, or than so many bytes.
_LITTLE = 4 << 20


def batches(sizes: Mapping[str, int], in_one_run: bool = False) -> Iterator[list[str]]:
    """Yields names in order, together no larger than the largest; where all are small, a share of all.

    Args:
        sizes: name -> bytes.
        in_one_run: a batch costs nothing but itself, so that small ones need not wait for each other.

    Example:
        >>> list(batches({"a": 100 << 20, "b": 60 << 20, "c": 30 << 20, "d": 20 << 20}))
        [['a'], ['b', 'c'], ['d']]
    """
    largest, total = max(sizes.values(), default=0), sum(sizes.values())
    limit = max(largest, _LITTLE if in_one_run else total // _RUNS)
    if largest < _SMALL and not in_one_run:
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


def stream(session: TFSession, infos: Iterable[VariableInfo], asked: str) -> Iterator[dict[str, Any]]:
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
        with told_empty([known[name] for name in names], asked):
            got = as_arrays(session.run({name: tensors[name] for name in names}))
        yield got
        got.clear()  # who reads the next batch holds this one no longer


def assign(
    session: TFSession,
    graph: TFGraph,
    values: Mapping[str, Any],
    variables: Mapping[str, VariableInfo],
    what: str = "setting variables",
    in_one_run: bool = False,
) -> None:
    """Sets variables through their own initialisers; adds no op.

    Args:
        session: a session of `graph`.
        graph: the live graph.
        values: variable op name -> array, or what a checkpoint stores, which is read when its turn comes.
        variables: what each is made of, with names in `graph`.
        what: what is being done, for the bar.
        in_one_run: the session is new, and closed if this fails.
    """
    sizes = {name: value.nbytes if hasattr(value, "nbytes") else 0 for name, value in values.items()}
    with Progress(what, sum(sizes.values())) as bar:
        put = _Setter(session, [variables[name] for name in values] if in_one_run else [])
        for names in batches(sizes, in_one_run):
            read = {name: values[name].read() if isinstance(values[name], Stored) else values[name] for name in names}
            put(read, variables)
            bar.step(sum(sizes[name] for name in names))


class _Setter:
    """Sets variables of a session.

    Args:
        session: the session.
        once: variables that are set in one run, each once, and all in the end.
    """

    def __init__(self, session: TFSession, once: Sequence[VariableInfo]) -> None:
        self._session, self._rooms = session, Rooms()
        self._once: dict[str, str] = {}  # what its initialiser assigns -> variable
        self._places: dict[str, str] = {}  # variable -> what its initialiser assigns
        ops = []
        for info in once:
            # Of a large reference variable TensorFlow makes a copy, which the next one would not wait for.
            # Of an unknown shape any value may come, and such a run takes the shape of the initial one.
            size, dims = variable_bytes(info), shape_from(info.shape)
            # What TensorFlow has once taken for a constant may not be fed in such a run.
            fits = (info.resource or size <= _LITTLE) and dims is not None and None not in dims
            fits = fits and session.graph.is_feedable(session.graph.get_tensor_by_name(self._place(info)))
            if fits and self._place(info) not in self._once:
                self._once[self._place(info)] = info.op
                ops.append(session.graph.get_operation_by_name(info.initializer))
        self._handle = begin(session, ops, list(self._once))

    def _place(self, info: VariableInfo) -> str:
        """The tensor that the initialiser assigns, and that is fed: an edit may have given it another one."""
        if info.op not in self._places:
            reads = list(self._session.graph.get_operation_by_name(info.initializer).inputs)
            self._places[info.op] = str(reads[1].name) if len(reads) > 1 else info.initial_value
        return self._places[info.op]

    def __call__(self, values: dict[str, Any], variables: Mapping[str, VariableInfo]) -> None:
        """Sets variables; drops the values.

        Args:
            values: variable op name -> array.
            variables: what each is made of.
        """
        once = {n: self._place(variables[n]) for n in values if self._handle is not None}
        once = {n: value for n, value in once.items() if self._once.get(value) == n}
        if once:
            go_on(self._session, str(self._handle), {once[n]: self._rooms.fit(values.pop(n)) for n in once})
        while values:
            feeds: dict[str, Any] = {}
            ops = []
            for name in list(values):
                info = variables[name]
                if self._place(info) not in feeds:  # two may share the tensor of their initial value
                    feeds[self._place(info)] = self._rooms.fit(values.pop(name), info.resource)
                    ops.append(self._session.graph.get_operation_by_name(info.initializer))
            if any(value.nbytes > _LITTLE for value in feeds.values() if isinstance(value, np.ndarray)):
                give_back()
            set_values(self._session, ops, feeds)


def carry(
    old: TFSession,
    new: TFSession,
    pairs: Sequence[tuple[VariableInfo, VariableInfo]],
    asked: str,
    what: str = "carrying values",
    in_one_run: bool = False,
) -> int:
    """Sets variables of one session to the values that others have in another; returns the bytes moved.

    Above both sets of values, memory holds twice the largest variable, or a batch of small ones.

    Args:
        old: the session that has the values.
        new: the session that gets them; it may be the same.
        pairs: (variable of the old graph, variable of the new one).
        asked: the request, for messages.
        what: what is being done, for the bar.
        in_one_run: the new session is closed if this fails.

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
    moved, known = 0, {b.op: b for _, b in pairs}
    with Progress(what, sum(variable_bytes(a) for a, _ in pairs)) as bar:
        put = _Setter(new, [b for _, b in pairs] if in_one_run else [])
        for got in stream(old, infos.values(), asked):
            size = sum(np.asarray(value).nbytes for value in got.values())
            one = {b.op: value for name, value in got.items() for b in target[name]}
            got.clear()
            put(one, known)
            moved += size
            bar.step(size)
    return moved


def unsettable(names: Sequence[str], asked: str) -> PlanError:
    """Returns the error for variables that no op of the graph assigns."""
    return PlanError(
        asked,
        f"no op of the graph sets {few(map(repr, names))}, and none is added here",
        "Leave it out, or open the graph with its collections (a .meta file, a SavedModel)",
    )
