"""Statistics of one tensor in one run, the cost of an op, and the first NaN or infinity of a run with its cause."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import size_text
from .control_flow import topological_places
from .graph import Graph
from .names import op_name
from .rewiring import TURNING
from .traversal import shortest
from .variables import FEED_TYPES, VARIABLE_TYPES

Watch = Callable[[int, int], bool]
"""Called repeatedly during a run, with the number of tensors so far and in total; returns whether to continue."""

#: The approximate number of elements in the sample of a tensor; smaller tensors are kept completely.
SAMPLE = 1024

# The meaning of the numbers of a tensor, in the order of TensorFlow's DebugNumericSummary.
_COUNT, _NAN, _LOW, _NEGATIVE, _ZEROS, _POSITIVE, _HIGH, _MIN, _MAX, _MEAN, _VARIANCE, _KIND, _RANK, _DIMS = range(
    1, 15
)


@dataclass(frozen=True, eq=False)
class TensorStats:
    """The summary of a tensor at one moment of a run.

    Args:
        tensor: its name.
        rounds: the round of each loop around it, the outermost loop first; rounds are counted from 0.
        numbers: its statistics, in the order of TensorFlow's ``DebugNumericSummary``; for text, only the shape.
        sample: some of its elements, at equal distances; all elements if it is small.
        dtype: its dtype. The `numbers` of half precision are computed in float32, and those of complex numbers from
            absolute values.
    """

    tensor: str
    rounds: tuple[int, ...]
    numbers: NDArray[np.float64]
    sample: NDArray[np.float32]
    dtype: str = ""

    @property
    def numeric(self) -> bool:
        """Whether it contains numbers, and not text."""
        return self.dtype != "string"

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape in this run."""
        dims = self.numbers[_DIMS : _DIMS + int(self.numbers[_RANK])] if self.numeric else self.numbers
        return tuple(dims.astype(int).tolist())

    @property
    def size(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)

    def _number(self, index: int) -> float:
        return float(self.numbers[index]) if self.numeric else 0.0

    @property
    def nans(self) -> int:
        """The number of NaN elements."""
        return int(self._number(_NAN))

    @property
    def infinite(self) -> int:
        """The number of infinite elements."""
        return int(self._number(_LOW) + self._number(_HIGH))

    @property
    def bad(self) -> bool:
        """Whether an element is not finite."""
        return self.nans + self.infinite > 0

    @property
    def zeros(self) -> int:
        """The number of zero elements."""
        return int(self._number(_ZEROS))

    @property
    def min(self) -> float:
        """The smallest of the finite elements; NaN if there is none."""
        return self._finite(_MIN)

    @property
    def max(self) -> float:
        """The largest of the finite elements; NaN if there is none."""
        return self._finite(_MAX)

    @property
    def mean(self) -> float:
        """The mean of the finite elements; NaN if there is none."""
        return self._finite(_MEAN)

    @property
    def std(self) -> float:
        """The standard deviation of the finite elements; NaN if there is none."""
        return math.sqrt(max(self._finite(_VARIANCE), 0.0)) if not math.isnan(self._finite(_VARIANCE)) else math.nan

    def _finite(self, index: int) -> float:
        some = self.numeric and sum(self.numbers[[_NEGATIVE, _ZEROS, _POSITIVE]]) > 0
        return float(self.numbers[index]) if some else math.nan

    @property
    def histogram(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The histogram of the finite elements in the sample: 16 counts and 17 edges; both empty without elements."""
        finite = self.sample[np.isfinite(self.sample)].astype(np.float64)
        if not len(finite):
            return np.zeros(0, np.int64), np.zeros(0, np.float64)
        counts, edges = np.histogram(finite, bins=16)
        return counts.astype(np.int64), edges

    @property
    def label(self) -> str:
        """Its name, and the round."""
        return f"{self.tensor}{_rounds(self.rounds)}"

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.shape))
        words = [f"{self.label}  {self.dtype} ({shape})"]
        if self.numeric and self.size:
            if not math.isnan(self.mean):
                words.append(f"min {self.min:.4g}, max {self.max:.4g}, mean {self.mean:.4g}, std {self.std:.4g}")
            words += [f"{100 * self.zeros / self.size:.0f} % zeros"] * bool(self.zeros)
            words += [f"{self.nans:,} NaN"] * bool(self.nans) + [f"{self.infinite:,} infinite"] * bool(self.infinite)
        return ", ".join(words)


def _rounds(rounds: Sequence[int]) -> str:
    return f" in round {'.'.join(map(str, rounds))}" if rounds else ""


def summarize(
    tensor: str, array: NDArray[Any], dtype: str, rounds: tuple[int, ...] = (), *, sampling: bool = True
) -> TensorStats:
    """Returns the summary of the value of a tensor.

    Args:
        tensor: its name.
        array: its value; the result does not refer to it.
        dtype: its dtype; for text, the summary has only the shape.
        rounds: as for `TensorStats`.
        sampling: whether a sample is taken.

    Example:
        >>> summarize("c:0", np.array([0.0, 2.0, np.inf]), "float32")
        c:0  float32 (3), min 0, max 2, mean 1, std 1, 33 % zeros, 1 infinite
    """
    if dtype == "string":
        return TensorStats(tensor, rounds, np.asarray(array.shape, np.float64), np.zeros(0, np.float32), dtype)
    flat = array.ravel()
    with np.errstate(all="ignore"):
        if flat.dtype.kind == "b":
            flat = flat.view(np.uint8)
        elif flat.dtype.kind not in "iu" and flat.dtype not in (np.float32, np.float64):
            flat = np.abs(flat) if flat.dtype.kind == "c" else flat.astype(np.float32)
        numbers = np.asarray([*_count_kinds(flat), 0, array.ndim, *array.shape], np.float64)
        some = flat[:: step_of(flat.size)] if flat.size > SAMPLE else flat
        return TensorStats(tensor, rounds, numbers, (some if sampling else some[:0]).astype(np.float32), dtype)


#: The number of elements that are converted to float64 at a time; they fit into the processor's cache.
_CHUNK = 1 << 15


def _count_kinds(flat: NDArray[Any]) -> list[float]:
    """Returns the number of elements of each kind, and minimum, maximum, mean and variance of the finite elements."""
    if not flat.size:
        return [1, *[0] * 7, *[math.nan] * 4]
    least, most = flat.min(), flat.max()
    if not (np.isfinite(least) and np.isfinite(most)):
        finite = np.isfinite(flat)
        odd, rest = flat[~finite], _count_kinds(flat[finite])
        low, high = np.count_nonzero(odd == -np.inf), np.count_nonzero(odd == np.inf)
        return [1, flat.size, odd.size - low - high, low, *rest[4:7], high, *rest[8:]]
    zeros = np.count_nonzero(flat == 0) if least <= 0 <= most else 0
    negative = np.count_nonzero(flat < 0) if least < 0 else 0
    return [1, flat.size, 0, 0, negative, zeros, flat.size - zeros - negative, 0, least, most, *_moments(flat)]


def _moments(flat: NDArray[Any]) -> tuple[float, float]:
    """Returns mean and variance, computed from distances to an estimated mean, so that a large mean loses no digits."""
    about, first, second = float(flat[:_CHUNK].mean(dtype=np.float64)), 0.0, 0.0
    buffer = np.empty(min(flat.size, _CHUNK))
    for start in range(0, flat.size, _CHUNK):
        part = flat[start : start + _CHUNK]
        off = np.subtract(part, about, out=buffer[: part.size], dtype=np.float64)
        first += float(off.sum())
        second += float(np.einsum("i,i", off, off))
    mean = first / flat.size
    return about + mean, max(second / flat.size - mean * mean, 0.0) if math.isfinite(second) else math.inf


def step_of(size: int) -> int:
    """Returns the distance between the elements of a sample. It is odd, because most sizes are even."""
    return size // SAMPLE | 1


@dataclass(frozen=True)
class OpCost:
    """The cost of an op in a run, over all of its rounds.

    Args:
        op: its name.
        seconds: the time that it took.
        bytes: the memory that was allocated for it.
        runs: the number of times that it ran.
        device: its device.
    """

    op: str
    seconds: float
    bytes: int
    runs: int
    device: str

    def __repr__(self) -> str:
        often = f", {self.runs:,} times" if self.runs > 1 else ""
        return f"{self.op}  {1e6 * self.seconds:,.0f} us, {size_text(self.bytes)}{often} on {self.device}"


_Rounds = tuple[int, ...]
#: Op types with a value that is given and not computed.
_SOURCE_TYPES = FEED_TYPES | VARIABLE_TYPES | {"ReadVariableOp", "Const", "ImmutableConst"}
_SOURCE_TEXTS = {"feed": "which was fed", "variable": "held by the variable", "constant": "a constant"}


@dataclass(frozen=True, eq=False)
class FirstBad:
    """The op with finite inputs and an output that is not finite.

    Args:
        stats: the summary of its output.
        type: its op type.
        inputs: the summaries of its inputs at that moment.
        path: the shortest path back from the op to a feed or a variable, or else to a constant, as names of ops.
        first_nan: the summary in which an infinity first becomes a NaN, if it does.
        source: ``"feed"``, ``"variable"`` or ``"constant"`` if the value is given and not computed; otherwise empty.
    """

    stats: TensorStats
    type: str
    inputs: tuple[TensorStats, ...]
    path: tuple[str, ...]
    first_nan: TensorStats | None = None
    source: str = ""

    @property
    def op(self) -> str:
        """The op's name."""
        return self.stats.tensor.partition(":")[0]

    @property
    def tensor(self) -> str:
        """The name of its output."""
        return self.stats.tensor

    @property
    def rounds(self) -> _Rounds:
        """The round of each loop around it, counted from 0, the outermost loop first."""
        return self.stats.rounds

    def __repr__(self) -> str:
        lines = [f"{self.stats!r}, by {self.type}"]
        if self.source:
            lines[0] = f"{self.stats!r}, {_SOURCE_TEXTS[self.source]}"
        lines += [f"  from  {note!r}" for note in self.inputs]
        lines += [f"  then NaN in {self.first_nan.label}"] if self.first_nan is not None else []
        return "\n".join([*lines, f"  back: {' <- '.join(self.path)}"])


def first_bad(
    graph: Graph,
    notes: Mapping[str, Sequence[TensorStats]],
    passthroughs: Mapping[str, str] | None = None,
    fed_tensors: Iterable[str] = (),
    skipped: Container[str] = (),
) -> FirstBad | None:
    """Returns the op that computes the first NaN or infinity of a run; None if all values are finite.

    Args:
        graph: the graph that ran.
        notes: tensor -> its summaries, by round.
        passthroughs: tensor that is passed on unchanged -> the tensor in `notes`.
        fed_tensors: the tensors that were fed.
        skipped: ops that the path back leaves out.

    Example:
        >>> import numpy as np
        >>> graph = Graph.from_ops([("x", "Placeholder", []), ("y", "Log", ["x"]), ("z", "Neg", ["y"])])
        >>> def held(name, infinite):
        ...     numbers = np.array([1, 2, 0, infinite, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 2.0])
        ...     return TensorStats(name, (), numbers, np.zeros(0))
        >>> notes = {name: [held(name, bad)] for name, bad in (("x:0", 0), ("y:0", 1), ("z:0", 1))}
        >>> first_bad(graph, notes).op
        'y'
    """
    return _FirstBadSearch(graph, notes, passthroughs or {}, frozenset(fed_tensors), skipped).search()


class _FirstBadSearch:
    def __init__(
        self,
        graph: Graph,
        notes: Mapping[str, Sequence[TensorStats]],
        passthroughs: Mapping[str, str],
        fed_tensors: frozenset[str],
        skipped: Container[str],
    ) -> None:
        self.graph, self.fed, self.skipped = graph, fed_tensors, skipped
        self.at: dict[tuple[int, int], dict[_Rounds, TensorStats]] = {}
        for name, group in notes.items():
            self.at[self.graph.tensor(name)] = {note.rounds: note for note in group}
        for name, origin in passthroughs.items():
            source = self.graph.tensor(origin)
            if source in self.at and op_name(name) in self.graph.index:  # the op of a fed tensor may not have run
                self.at[self.graph.tensor(name)] = self.at[source]

    def search(self) -> FirstBad | None:
        """Returns the first bad op; if there are NaNs, the first op that leads to a NaN."""
        causes, nans = [], []
        for (op, port), notes in self.at.items():
            for note in notes.values():
                if note.bad and f"{self.graph.names[op]}:{port}" == note.tensor:
                    before = [one for one in self.inputs(op, note.rounds) if one.bad]
                    causes += [(op, note)] * (not before)
                    nans += [(op, note)] * (note.nans > 0 and not any(one.nans for one in before))
        if not causes:
            return None
        then = None
        if nans:
            order = self._order
            op, first = min(nans, key=lambda one: (order[one[0]], one[1].rounds))
            cause = self._cause(op, first)
            then = first if cause[1] is not first else None
        else:
            order = self._order
            computed = [one for one in causes if self.graph.types[one[0]] not in _SOURCE_TYPES]
            cause = min(computed or causes, key=lambda one: (order[one[0]], one[1].rounds))
        return self._result(*cause, then)

    def inputs(self, op: int, rounds: _Rounds) -> list[TensorStats]:
        """Returns the summaries of the inputs of an op when it ran."""
        result = []
        if self.graph.types[op] in TURNING and rounds:
            rounds = (*rounds[:-1], rounds[-1] - 1)
        for end in self.graph.data.ends(op):
            notes = self.at.get(end, {})
            some = next(iter(notes), ())
            if len(some) > len(rounds):  # it is a result of a loop, from the last round
                inside = [key for key in notes if key[: len(rounds)] == rounds]
                result += [notes[max(inside)]] if inside else []
            elif rounds[: len(some)] in notes:
                result.append(notes[rounds[: len(some)]])
        return result

    def _cause(self, op: int, output_stats: TensorStats) -> tuple[int, TensorStats]:
        """Returns the origin of a NaN: the first computed op among the infinities that it comes from."""
        graph, order = self.graph, self._order
        todo, visited, ends = [(op, output_stats)], {(op, output_stats.rounds)}, []
        for here, stats in todo:  # grows
            before = []
            for one in self.inputs(here, stats.rounds):
                if one.bad:
                    before.append((graph.tensor(one.tensor)[0], one))
            ends += [(here, stats)] * (not before)
            for maker, one in before:
                if (maker, one.rounds) not in visited:
                    visited.add((maker, one.rounds))
                    todo.append((maker, one))
        return min(ends or [(op, output_stats)], key=lambda one: (one[1].rounds[:1], order[one[0]], one[1].rounds))

    def _result(self, op: int, stats: TensorStats, nan_stats: TensorStats | None) -> FirstBad:
        graph, kind = self.graph, self.graph.types[op]
        back = [name for i in self._way(op) if (name := graph.names[i]) not in self.skipped]
        source = ""
        if stats.tensor in self.fed or kind in FEED_TYPES:
            source = "feed"
        elif kind in _SOURCE_TYPES:
            source = "constant" if kind in ("Const", "ImmutableConst") else "variable"
        return FirstBad(stats, kind, tuple(self.inputs(op, stats.rounds)), tuple(back), nan_stats, source)

    def _way(self, op: int) -> list[int]:
        graph = self.graph
        fed = [graph.tensor(name)[0] for name in self.fed if name.partition(":")[0] in graph.index]
        goals = graph.type_mask(FEED_TYPES | VARIABLE_TYPES) | graph.mask(fed)
        if goals[op]:
            return [op]
        for ends in (goals, graph.data.degrees == 0):
            path = shortest(graph.data.rows, graph.data.node, op, ends)
            if path:
                return path
        return [op]

    @cached_property
    def _order(self) -> list[int]:
        """The place of each op in an order with all inputs before their consumers."""
        return topological_places(self.graph)
