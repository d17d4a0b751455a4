"""One run of a graph as a value: its tensors, its first NaN, and its first difference from another run."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import OpenError, PlanError, SelectionError, counted, few, one_of
from .arrays import pack_arrays, size_text, unpack_arrays
from .atomic_files import ensure_writable, write_atomic
from .control_flow import topological_places
from .graph import Graph
from .names import op_name, tensor_name
from .rewiring import TURNING
from .tensor_stats import FirstBad, OpCost, TensorStats, first_bad
from .types import OpLike, PathLike, TensorLike

Notes = Mapping[str, Sequence[TensorStats]]


@dataclass(frozen=True, eq=False)
class FirstDifference:
    """The first op with a different output in another run.

    Args:
        stats: the summary of its output in the first run.
        other_stats: the summary in the other run.
        type: its op type.
        difference: the difference, divided by the largest value; infinity if the shapes or the counts of NaN and
            infinities differ.
        tensors: the number of tensors that differ.
    """

    stats: TensorStats
    other_stats: TensorStats
    type: str
    difference: float
    tensors: int

    @property
    def op(self) -> str:
        """The op's name in the first run."""
        return self.stats.tensor.partition(":")[0]

    def __repr__(self) -> str:
        apart = "in shape, NaN or infinities" if math.isinf(self.difference) else f"by {self.difference:.3g}"
        return (
            f"{self.stats!r}, by {self.type}\n  instead of  {self.other_stats!r}\n  they differ {apart}; "
            f"in total, {counted(self.tensors, 'tensors')} {'differs' if self.tensors == 1 else 'differ'}"
        )


def first_difference(
    graph: Graph,
    first_notes: Notes,
    second_notes: Notes,
    names: Mapping[str, str],
    tolerance: float,
    last_choices: Container[str] = (),
) -> FirstDifference | None:
    """Returns the first tensor, in the order of computation, that differs by more than a tolerance; otherwise None.

    Args:
        graph: the graph of the first run.
        first_notes, second_notes: tensor -> its summaries by round, in each run.
        names: tensor of the first run -> its name in the other run, if the names differ.
        tolerance: the largest accepted difference, divided by the largest absolute value of the first tensor.
        last_choices: ops that are returned only if no other op differs.

    Example:
        >>> from .tensor_stats import summarize
        >>> graph = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Exp", ["y"])])
        >>> def run(y):
        ...     held = {"x:0": 1.0, "y:0": y, "z:0": y}
        ...     return {name: [summarize(name, np.array([value]), "float32")] for name, value in held.items()}
        >>> first_difference(graph, run(2.0), run(3.0), {}, 1e-5).op
        'y'
    """
    place, candidates = topological_places(graph), []
    for name, notes in first_notes.items():
        there = {note.rounds: note for note in second_notes.get(names.get(name, name), ())}
        for note in notes:
            other = there.get(note.rounds)
            if other is not None and (apart := difference(note, other)) > tolerance:
                op = graph.tensor(name)[0]
                turned = graph.types[op] in TURNING  # it passes on the result of the previous round
                when = (note.rounds[:1], place[op] if not turned else -1, note.rounds)
                candidates.append(((graph.names[op] in last_choices, *when), note, other, apart))
                break
    if not candidates:
        return None
    _, note, other, apart = min(candidates, key=lambda one: one[0])
    return FirstDifference(note, other, graph.types[graph.tensor(note.tensor)[0]], apart, len(candidates))


def differences(first_notes: Notes, second_notes: Notes, names: Mapping[str, str]) -> dict[str, float]:
    """Returns for each op the largest difference of its outputs, in the rounds that both runs have.

    Args:
        first_notes, second_notes: tensor -> its summaries by round, in each run.
        names: tensor of the first run -> its name in the other run, if the names differ.

    Example:
        >>> from .tensor_stats import summarize
        >>> ours, theirs = ({"y:0": [summarize("y:0", np.array([value]), "float32")]} for value in (4.0, 5.0))
        >>> differences(ours, theirs, {})
        {'y': 0.25}
    """
    result: dict[str, float] = {}
    for name, notes in first_notes.items():
        op, there = name.partition(":")[0], {one.rounds: one for one in second_notes.get(names.get(name, name), ())}
        for note in notes:
            if note.rounds in there:
                result[op] = max(result.get(op, 0.0), difference(note, there[note.rounds]))
    return result


def difference(stats: TensorStats, other_stats: TensorStats) -> float:
    """Returns the difference of two tensors, divided by the largest absolute value of the first tensor.

    Example:
        >>> from .tensor_stats import summarize
        >>> a, b = (summarize("a:0", np.array([1.0, value]), "float32") for value in (4.0, 5.0))
        >>> difference(a, b)
        0.25
    """
    if stats.shape != other_stats.shape or (stats.nans, stats.infinite) != (other_stats.nans, other_stats.infinite):
        return math.inf
    mine, theirs = (
        np.concatenate([[one.min, one.max, one.mean, one.std], one.sample.astype(np.float64)])
        for one in (stats, other_stats)
    )
    if len(mine) != len(theirs):
        return math.inf
    mine, theirs = mine[np.isfinite(mine) & np.isfinite(theirs)], theirs[np.isfinite(mine) & np.isfinite(theirs)]
    if not len(mine):
        return 0.0
    scale = max(abs(stats.min), abs(stats.max)) or 1.0
    return float(np.abs(mine - theirs).max() / scale)


_NUMBER: dict[str, Callable[[TensorStats], float]] = {
    "magnitude": lambda note: max(abs(note.min), abs(note.max)),
    "zeros": lambda note: 100.0 * note.zeros / note.size if note.size else 0.0,
    "not finite": lambda note: float(note.nans + note.infinite),
}
NUMBERS = ("ms", "bytes", *_NUMBER)
"""The numbers that a trace has for each op."""
_COLUMNS = ("dtype", "shape", "min", "max", "mean", "std", "zeros", "nan", "infinite", "seconds", "bytes")
_ROW = (*_COLUMNS, "rounds", "device")
_TEXTS, _HEADS = ("tensor", "dtype", "shape", "device"), {"seconds": "us", "bytes": "memory"}
_KEYS = {head: key for key, head in _HEADS.items()}  # a column may also be given by its heading


@dataclass(frozen=True, eq=False)
class Trace:
    """One run of a graph on one feed. Made by `Editor.trace`.

    Args:
        graph: the graph that ran: the needed part, with its calls unfolded.
        stats: the summaries of the tensors, in the order of the run.
        costs: op -> its cost.
        results: requested tensor -> its value.
        feeds: fed tensor -> the array.
        aliases: tensor -> the tensor that it passes on unchanged, which has the same numbers.
        stop_reason: why the run did not finish; empty if it did.
        unrecorded: tensor -> why it has no numbers, although its op may have run.
        added_ops: ops that control a TF2 cond or loop and have no name in the traced graph.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        ...     y = tf.multiply(tf.math.log(x, name="log"), 2.0, name="y")
        >>> trace = gs.open(graph).trace({"x:0": [1.0, 0.0, 2.0]})
        >>> trace["log:0"]
        log:0  float32 (3), min 0, max 0.6931, mean 0.3466, std 0.3466, 33 % zeros, 1 infinite
        >>> trace.first_bad().op
        'log'
    """

    graph: Graph
    stats: tuple[TensorStats, ...]
    costs: Mapping[str, OpCost] = field(default_factory=dict)
    results: Mapping[str, Any] = field(default_factory=dict)
    feeds: Mapping[str, Any] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    stop_reason: str = ""
    unrecorded: Mapping[str, str] = field(default_factory=dict)
    added_ops: frozenset[str] = frozenset()

    # -- one tensor, one op ---------------------------------------------------------------------

    @cached_property
    def by_tensor(self) -> Mapping[str, tuple[TensorStats, ...]]:
        """Tensor -> its summaries, by round."""
        groups: dict[str, list[TensorStats]] = {}
        for note in self.stats:
            groups.setdefault(note.tensor, []).append(note)
        return {name: tuple(sorted(notes, key=lambda note: note.rounds)) for name, notes in groups.items()}

    def rounds(self, tensor: TensorLike) -> tuple[TensorStats, ...]:
        """Returns the summaries of a tensor, one for each round of its loop; a single summary outside of loops.

        Args:
            tensor: its name, or the `tf.Tensor`.

        Raises:
            SelectionError: if there is no such tensor, or it has no numbers; the message contains the reason.
        """
        name = tensor_name(getattr(tensor, "name", tensor))
        request = f"trace[{name!r}]"
        if name not in self.unrecorded and name not in self.aliases:
            self.graph.tensor(name, request)
        source = self._source(name)
        if source in self.by_tensor:
            return self.by_tensor[source]
        raise SelectionError(request, f"{name!r} has no numbers: {self._why_not(name)}", self._instead())

    def __getitem__(self, tensor: Any) -> TensorStats:
        """Returns the summary of a tensor; in a loop, of the last round, or of the first round that is not finite."""
        notes = self.rounds(tensor)
        return next((note for note in notes if note.bad), notes[-1])

    def __contains__(self, tensor: Any) -> bool:
        return self._source(tensor_name(getattr(tensor, "name", tensor))) in self.by_tensor

    def __len__(self) -> int:
        return len(self.by_tensor)

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_tensor)

    def cost(self, op: OpLike) -> OpCost:
        """Returns the time and memory of an op.

        Args:
            op: the op, by name or object.

        Raises:
            SelectionError: if there is no such op, or it did not run.
        """
        name = op_name(getattr(op, "name", op))
        self.graph.find(name, f"trace.cost({name!r})")
        if name not in self.costs:
            raise SelectionError(f"trace.cost({name!r})", f"{name!r} did not run", self._instead())
        return self.costs[name]

    def _source(self, name: str) -> str:
        return self.passthrough.get(name, name)

    @cached_property
    def passthrough(self) -> Mapping[str, str]:
        """Tensor that is passed on unchanged -> the original tensor that was computed."""
        sources = {}
        for name in self.aliases:
            source, budget = name, len(self.aliases)
            while source in self.aliases and budget:
                source, budget = self.aliases[source], budget - 1
            sources[name] = source
        return sources

    def _why_not(self, tensor: str) -> str:
        """Returns why a tensor has no numbers.

        Args:
            tensor: the name of the tensor.
        """
        if tensor in self.unrecorded:
            return self.unrecorded[tensor]
        if self.stop_reason:
            return f"the run stopped before it: {self.stop_reason}"
        return "its op did not run in this run, for example in a branch that was not taken"

    def _instead(self) -> str:
        if not len(self):
            return "No tensor has numbers"
        have = "has" if len(self) == 1 else "have"
        return f"{counted(len(self), 'tensors')} {have} numbers: {few(map(repr, self), 3)}"

    # -- all tensors and ops --------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """The sum of the times of all ops; ops may have run in parallel."""
        return sum(cost.seconds for cost in self.costs.values())

    def first_bad(self) -> FirstBad | None:
        """Returns the op that computes the first NaN or infinity; None if all values are finite.

        The inputs of this op are finite, and its output is not. If there are NaNs, it is the op that they come from. An
        infinity then counts only if it later becomes a NaN. In a loop, the result is from the first such round.
        """
        return first_bad(self.graph, self.by_tensor, self.passthrough, self.feeds, self.added_ops)

    def first_difference(
        self, other: Trace, tolerance: float = 1e-5, names: Mapping[str, str] | None = None
    ) -> FirstDifference | None:
        """Returns the first op with a different output in another run, and both outputs; None if there is none.

        The shape, minimum, maximum, mean, standard deviation, counts of NaN and infinities, and sample are compared,
        for each tensor that both runs have, in each round of its loop.

        Args:
            other: the other run: of another checkpoint, dtype, machine or graph, or after a plan.
            tolerance: the largest accepted difference, divided by the largest absolute value.
            names: tensor of this run -> its name in the other run, if the names differ.

        Raises:
            SelectionError: if `other` is not a trace.
            PlanError: if the tolerance is not valid.
        """
        request = "trace.first_difference"
        _refuse_no_trace(other, request)
        refuse_no_tolerance(tolerance, request)
        names = names or {}
        theirs = {**other.by_tensor, **_forwarded_values(other)}
        ours = {
            name: notes
            for name, notes in _forwarded_values(self).items()
            if names.get(name, name) not in other.passthrough
        }
        return first_difference(self.graph, {**self.by_tensor, **ours}, theirs, names, tolerance, self.added_ops)

    def differences(self, other: Trace, names: Mapping[str, str] | None = None) -> dict[str, float]:
        """Returns the largest difference in the outputs of each op that both runs have, for the colors of a picture.

        Args:
            other: the other run.
            names: tensor of this run -> its name in the other run, if the names differ.

        Returns:
            op of this run -> the difference, divided by the largest absolute value; infinity if the shapes or the
            counts of NaN and infinities differ.

        Raises:
            SelectionError: if `other` is not a trace.
        """
        _refuse_no_trace(other, "trace.differences")
        return differences(self.by_tensor, other.by_tensor, names or {})

    def rows(self) -> list[dict[str, Any]]:
        """Returns a row for each tensor with numbers: its statistics, and the time and memory of its op.

        The inputs of an op come before its outputs. In contrast, `notes` is in the order of the run.
        """
        rows, place, graph = [], topological_places(self.graph), self.graph

        def at(tensor: str) -> tuple[int, int]:
            op, port = graph.tensor(tensor)
            return place[op], port

        for name in sorted(self.by_tensor, key=at):
            notes = self.by_tensor[name]
            note, cost = self[name], self.costs.get(name.partition(":")[0])
            rows.append({
                "tensor": name, "dtype": note.dtype, "shape": note.shape, "rounds": len(notes) if note.rounds else 0,
                "min": note.min, "max": note.max, "mean": note.mean, "std": note.std,
                "zeros": note.zeros / note.size if note.size else 0.0, "nan": note.nans, "infinite": note.infinite,
                "seconds": cost.seconds if cost else 0.0, "bytes": cost.bytes if cost else 0,
                "device": cost.device if cost else "",
            })  # fmt: skip
        return rows

    def table(self, by: str = "", limit: int = 20, columns: Iterable[str] = ()) -> str:
        """Returns the tensors as a text table; each tensor is after the tensors that it is computed from.

        Args:
            by: the column to sort by, largest first: ``"seconds"``, ``"bytes"``, ``"max"`` ...
            limit: the largest number of rows.
            columns: the columns of `rows` to show next to the tensor, such as ``["shape", "zeros"]``. Default: all
                except the rounds and the device.

        Raises:
            SelectionError: if there is no such column.
        """
        by, columns = _KEYS.get(by, by), [columns] if isinstance(columns, str) else columns
        rows, row_keys = self.rows(), [_KEYS.get(key, key) for key in columns] or list(_COLUMNS)
        sortable = [key for key in _ROW if key not in ("shape", "dtype", "device")]
        for argument, keys, valid in (("by", [by] if by else [], sortable), ("columns", row_keys, _ROW)):
            for key in keys:
                if key not in valid:
                    problem = f"there is no column {key!r}" + " to sort by" * (key in _ROW)
                    raise SelectionError(f"trace.table({argument}={key!r})", problem, one_of(key, valid))
        if by:
            rows.sort(key=lambda row: -math.inf if math.isnan(row[by]) else row[by], reverse=True)
        heads = ["tensor", *row_keys]
        cells = [[_HEADS.get(key, key) for key in heads]] + [[_cell(k, row[k]) for k in heads] for row in rows[:limit]]
        wide = [max(len(row[at]) for row in cells) for at in range(len(heads))]
        lines = []
        for row in cells:
            pads = [text.ljust if key in _TEXTS else text.rjust for key, text in zip(heads, row, strict=True)]
            lines.append("  ".join(pad(width) for pad, width in zip(pads, wide, strict=True)))
        more = [f"… and {counted(len(rows) - limit, 'more tensors')}"] if len(rows) > limit else []
        return "\n".join([line.rstrip() for line in lines] + more)

    def numbers(self, measure: str = "ms") -> dict[str, float]:
        """Returns a number for each op, for the colors of a picture: ``ed.paint(trace, "ms")``.

        Args:
            measure: ``ms``, the time; ``bytes``, the memory; ``magnitude``, the largest absolute value of its outputs;
                ``zeros``, the percentage of zeros in them; ``not finite``, the number of NaN and infinite elements.

        Raises:
            SelectionError: if `measure` has another value.
        """
        if measure not in NUMBERS:
            suggestion = f"Choose one of {', '.join(map(repr, NUMBERS))}"
            raise SelectionError(f"trace.numbers({measure!r})", f"there is no measure {measure!r}", suggestion)
        if measure in ("ms", "bytes"):
            costs = [cost for op, cost in self.costs.items() if op not in self.added_ops]
            return {cost.op: 1e3 * cost.seconds if measure == "ms" else float(cost.bytes) for cost in costs}
        result: dict[str, float] = {}
        for name, notes in self.by_tensor.items():
            op = name.partition(":")[0]
            for note in notes if op not in self.added_ops else ():
                number = _NUMBER[measure](note)
                if not math.isnan(number):
                    result[op] = max(result.get(op, 0.0), number)
        return result

    def to_frame(self) -> Any:
        """Returns the `rows` as a pandas DataFrame, with the tensors as index.

        Raises:
            SelectionError: if pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError:
            suggestion = "pip install pandas; or use trace.rows(), a list of dicts"
            raise SelectionError("trace.to_frame()", "pandas is not installed", suggestion) from None
        return pandas.DataFrame(self.rows()).set_index("tensor")

    def __repr__(self) -> str:
        first_bad = self.first_bad()
        lines = [
            f"trace of {self.graph.title}: {counted(len(self), 'tensors')} of {counted(self.graph.size, 'ops')}, "
            f"{1e3 * self.seconds:,.1f} ms in ops"
        ]
        lines += [f"  stopped: {self.stop_reason}"] * bool(self.stop_reason)
        ran = "the part that ran" if self.stop_reason else "all"
        lines += [f"  first not finite: {first_bad}" if first_bad else f"  {ran} is finite"]
        return "\n".join(lines)

    # -- files ----------------------------------------------------------------------------------

    def save(self, path: PathLike, *, overwrite: bool = False) -> None:
        """Writes the trace to a file that `Trace.load` reads: a NumPy archive (``.npz``) without pickled objects.

        Args:
            path: the file; it is written completely or not at all, and its folder is made if it does not exist.
            overwrite: whether to replace an existing file, as in `Editor.save`.

        Raises:
            PlanError: if the file already exists.
        """
        ensure_writable(path, overwrite, f"save({os.fspath(path)!r})")
        graph = self.graph
        about = {
            "title": graph.title, "names": list(graph.names), "types": list(graph.types),
        "inputs": graph.node_def_inputs(),
            "tensors": [note.tensor for note in self.stats], "dtypes": [note.dtype for note in self.stats],
            "rounds": [note.rounds for note in self.stats], "stopped": self.stop_reason,
            "unrecorded": dict(self.unrecorded),
            "same": dict(self.aliases),
            "added": sorted(self.added_ops),
            "costs": [[c.op, c.seconds, c.bytes, c.runs, c.device] for c in self.costs.values()],
        }  # fmt: skip
        arrays: dict[str, Any] = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}
        for key, parts in (("numbers", [n.numbers for n in self.stats]), ("samples", [n.sample for n in self.stats])):
            arrays[key] = np.concatenate(parts) if parts else np.zeros(0)
            arrays[f"{key}_ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)
        arrays |= pack_arrays(self.results, "result") | pack_arrays(self.feeds, "feed")
        archive = io.BytesIO()
        np.savez_compressed(archive, **arrays)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, archive.getvalue())

    @classmethod
    def load(cls, path: PathLike) -> Trace:
        """Reads a trace that `save` has written.

        Args:
            path: the file.

        Raises:
            OpenError: if the file does not exist, or is not a trace.
        """
        request = f"Trace.load({str(path)!r})"
        try:
            with np.load(path, allow_pickle=False) as archive:
                arrays = dict(archive)
            about = json.loads(arrays["about"].tobytes())
            rows = zip(about["names"], about["types"], about["inputs"], strict=True)
            graph = Graph.from_ops(rows, title=about["title"])
            parts = {key: np.split(arrays[key], arrays[f"{key}_ends"][:-1]) for key in ("numbers", "samples")}
            columns = (about["tensors"], about["rounds"], parts["numbers"], parts["samples"], about["dtypes"])
            notes = tuple(TensorStats(t, tuple(r), n, s, d) for t, r, n, s, d in zip(*columns, strict=False))
            costs = {row[0]: OpCost(*row) for row in about["costs"]}
            results, feeds = unpack_arrays(arrays, "result"), unpack_arrays(arrays, "feed")
        except FileNotFoundError:
            raise OpenError(request, "there is no such file", "Give the path that trace.save(path) was given") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise OpenError(request, f"it is not a trace: {error}", "Give a file that trace.save(path) wrote") from None
        archive = (about["same"], about["stopped"], about["unrecorded"], frozenset(about["added"]))
        return cls(graph, notes, costs, results, feeds, *archive)


def refuse_no_tolerance(tolerance: Any, request: str) -> None:
    """Refuses a tolerance that is not a fraction of the largest value.

    Raises:
        PlanError: if the tolerance is not valid.
    """
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float, np.number)) or not tolerance >= 0:
        problem = "the tolerance is not a fraction of the largest value"
        suggestion = "Give a number of 0 or more, such as tolerance=1e-5"
        raise PlanError(f"{request}(tolerance={tolerance!r})", problem, suggestion)


def _refuse_no_trace(other: Any, request: str) -> None:
    if not isinstance(other, Trace):
        problem = f"an object of type {type(other).__name__} is not a trace"
        suggestion = "Run it first: ed.trace(feeds); or compare graphs: gs.compare(a, b)"
        raise SelectionError(f"{request}(other)", problem, suggestion)


def _forwarded_values(trace: Trace) -> dict[str, tuple[TensorStats, ...]]:
    """Returns the summaries of tensors that are passed on unchanged, under their own names."""
    return {
        name: tuple(replace(note, tensor=name) for note in trace.by_tensor[source])
        for name, source in trace.passthrough.items()
        if source in trace.by_tensor
    }


def _cell(key: str, value: Any) -> str:
    if key == "zeros":
        return f"{100 * value:.0f} %"
    if key == "seconds":
        return f"{1e6 * value:,.0f}"
    if key == "bytes":
        return size_text(value)
    if key == "shape":
        return f"({', '.join(map(str, value))})"
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
