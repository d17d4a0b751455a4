"""First bad: the op at which the first NaN or infinity of a run arises, and the shortest way back from it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .frames import order
from .graph import Graph
from .names import op_name
from .noted import Noted
from .rewired import TURNING
from .traversal import shortest
from .variables import FEED_TYPES, VARIABLE_TYPES

_Rounds = tuple[int, ...]
#: What gives a value without computing one.
_GIVEN = FEED_TYPES | VARIABLE_TYPES | {"ReadVariableOp", "Const", "ImmutableConst"}
_SAID = {"feed": "which was fed", "variable": "held by the variable", "constant": "a constant"}


@dataclass(frozen=True, eq=False)
class FirstBad:
    """The op whose inputs are finite and whose output is not.

    Args:
        note: the summary of its output.
        type: its op type.
        inputs: the summaries of its inputs at that moment.
        path: the shortest way back, as names of ops: from it to a feed or a variable, else to a constant.
        then: the summary in which an infinity first becomes a NaN, if it does.
        source: ``"feed"``, ``"variable"`` or ``"constant"`` if the value is given and not computed; else empty.
    """

    note: Noted
    type: str
    inputs: tuple[Noted, ...]
    path: tuple[str, ...]
    then: Noted | None = None
    source: str = ""

    @property
    def op(self) -> str:
        """The op's name."""
        return self.note.tensor.partition(":")[0]

    @property
    def tensor(self) -> str:
        """The name of its output."""
        return self.note.tensor

    @property
    def rounds(self) -> _Rounds:
        """In which round of each loop around it, counted from 0, the outermost first."""
        return self.note.rounds

    def __repr__(self) -> str:
        lines = [f"{self.note!r}, by {self.type}"]
        if self.source:
            lines[0] = f"{self.note!r}, {_SAID[self.source]}"
        lines += [f"  from  {note!r}" for note in self.inputs]
        lines += [f"  then NaN in {self.then.where}"] if self.then is not None else []
        return "\n".join([*lines, f"  back: {' <- '.join(self.path)}"])


def first_bad(
    graph: Graph,
    notes: Mapping[str, Sequence[Noted]],
    handed_on: Mapping[str, str] | None = None,
    fed: Iterable[str] = (),
    skipped: Container[str] = (),
) -> FirstBad | None:
    """Returns the op at which the first NaN or infinity of a run arises; None if all values are finite.

    Args:
        graph: the graph that ran.
        notes: tensor -> its summaries, by round.
        handed_on: tensor that is passed on unchanged -> the tensor in `notes`.
        fed: the tensors that were fed.
        skipped: ops that the way back passes over.

    Example:
        >>> import numpy as np
        >>> graph = Graph.of([("x", "Placeholder", []), ("y", "Log", ["x"]), ("z", "Neg", ["y"])])
        >>> def held(name, infinite):
        ...     return Noted(name, (), np.array([1, 2, 0, infinite, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 2.0]), np.zeros(0))
        >>> notes = {name: [held(name, bad)] for name, bad in (("x:0", 0), ("y:0", 1), ("z:0", 1))}
        >>> first_bad(graph, notes).op
        'y'
    """
    return _Search(graph, notes, handed_on or {}, frozenset(fed), skipped).found()


class _Search:
    def __init__(
        self,
        graph: Graph,
        notes: Mapping[str, Sequence[Noted]],
        handed_on: Mapping[str, str],
        fed: frozenset[str],
        skipped: Container[str],
    ) -> None:
        self.graph, self.fed, self.skipped = graph, fed, skipped
        self.at: dict[tuple[int, int], dict[_Rounds, Noted]] = {}
        for name, held in notes.items():
            self.at[self.graph.tensor(name)] = {note.rounds: note for note in held}
        for name, origin in handed_on.items():
            source = self.graph.tensor(origin)
            if source in self.at and op_name(name) in self.graph.index:  # the op of a tensor that is fed may not run
                self.at[self.graph.tensor(name)] = self.at[source]

    def found(self) -> FirstBad | None:
        """Returns the first bad op; if there are NaNs, the first of the ops that lead to one."""
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
            computed = [one for one in causes if self.graph.types[one[0]] not in _GIVEN]
            cause = min(computed or causes, key=lambda one: (order[one[0]], one[1].rounds))
        return self._result(*cause, then)

    def inputs(self, op: int, rounds: _Rounds) -> list[Noted]:
        """Returns the summaries of the inputs of an op when it ran."""
        found = []
        if self.graph.types[op] in TURNING and rounds:
            rounds = (*rounds[:-1], rounds[-1] - 1)
        for end in self.graph.data.ends(op):
            notes = self.at.get(end, {})
            some = next(iter(notes), ())
            if len(some) > len(rounds):  # it comes out of a loop: from the last round that let it
                inside = [key for key in notes if key[: len(rounds)] == rounds]
                found += [notes[max(inside)]] if inside else []
            elif rounds[: len(some)] in notes:
                found.append(notes[rounds[: len(some)]])
        return found

    def _cause(self, op: int, note: Noted) -> tuple[int, Noted]:
        """The origin of a NaN, back through infinities: the op among them that is computed first."""
        graph, order = self.graph, self._order
        todo, seen, ends = [(op, note)], {(op, note.rounds)}, []
        for here, held in todo:  # grows
            before = []
            for one in self.inputs(here, held.rounds):
                if one.bad:
                    before.append((graph.tensor(one.tensor)[0], one))
            ends += [(here, held)] * (not before)
            for maker, one in before:
                if (maker, one.rounds) not in seen:
                    seen.add((maker, one.rounds))
                    todo.append((maker, one))
        return min(ends or [(op, note)], key=lambda one: (one[1].rounds[:1], order[one[0]], one[1].rounds))

    def _result(self, op: int, note: Noted, then: Noted | None) -> FirstBad:
        graph, kind = self.graph, self.graph.types[op]
        back = [name for i in self._way(op) if (name := graph.names[i]) not in self.skipped]
        source = ""
        if note.tensor in self.fed or kind in FEED_TYPES:
            source = "feed"
        elif kind in _GIVEN:
            source = "constant" if kind in ("Const", "ImmutableConst") else "variable"
        return FirstBad(note, kind, tuple(self.inputs(op, note.rounds)), tuple(back), then, source)

    def _way(self, op: int) -> list[int]:
        graph = self.graph
        fed = [graph.tensor(name)[0] for name in self.fed if name.partition(":")[0] in graph.index]
        goals = graph.typed(FEED_TYPES | VARIABLE_TYPES) | graph.mask(fed)
        if goals[op]:
            return [op]
        for ends in (goals, graph.data.degrees == 0):
            found = shortest(graph.data.rows, graph.data.node, op, ends)
            if found:
                return found
        return [op]

    @cached_property
    def _order(self) -> list[int]:
        """The place of each op in an order in which each comes after its inputs."""
        return order(self.graph)
