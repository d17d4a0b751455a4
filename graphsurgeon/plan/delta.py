"""Delta: what a step, or a part of it, does to a graph, as a value; an effect is the sum of deltas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..graph.rewired import Edge
from .copied import Connection, Copied
from .effect import Change, Effect, NewNode, Replaced
from .fault import Fault


@dataclass(frozen=True, eq=False)
class Delta:
    """What a step adds to what the steps before it have done. Ops are given by number, those that it makes last.

    Args:
        faults: why it cannot be done.
        warnings: what is to be said about it.
        copies: ops that are copied or grafted, with what is copied besides.
        joins: edges that join these copies with the rest, by name.
        nodes: single ops that are made.
        edges: inputs that are set.
        waits: op -> all that it waits for now.
        quiet: the same, of which nothing is noted: for new ops, or where `changes` says it.
        checked: it is known that these edges close no cycle.
        changes: op -> what becomes of it.
        removed: ops of the base that go when all steps are done.
        decided: those of them that go with the conds they are parts of, though other parts stay.
        anew: the graph is built anew, whatever else says so.
        names: op -> its new name, all at once.
        values: ops that are renamed with values of their own.
        replaced: what took the place of matches.
        instead: the sum of all that was done so far with this, where a step does not add to that, but carries it out
            in another way; all else here comes after it.
    """

    faults: Sequence[Fault] = ()
    warnings: Sequence[str] = ()
    copies: Sequence[Copied] = ()
    joins: Sequence[Connection] = ()
    nodes: Sequence[NewNode] = ()
    edges: Sequence[Edge] = ()
    waits: Mapping[int, Sequence[int]] = field(default_factory=dict)
    quiet: Mapping[int, Sequence[int]] = field(default_factory=dict)
    checked: bool = False
    changes: Mapping[int, Change] = field(default_factory=dict)
    removed: frozenset[int] = frozenset()
    decided: frozenset[int] = frozenset()
    anew: bool = False
    names: Mapping[int, str] = field(default_factory=dict)
    values: tuple[int, ...] = ()
    replaced: Sequence[Replaced] = ()
    instead: Effect | None = None
