"""Finds the first NaN or infinity of a run, and its cause."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .control_flow import topological_places
from .graph import Graph
from .names import op_name
from .rewiring import TURNING
from .tensor_stats import TensorStats
from .traversal import shortest
from .variables import FEED_TYPES, VARIABLE_TYPES

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
