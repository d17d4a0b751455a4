"""Delta: the effect of a step, or of a part of it, on a graph, as a value; an effect is the sum of deltas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..graph.rewired import Edge
from .copied import Connection, Copied
from .effect import Change, Effect, NewNode, Replaced
from .fault import Fault


@dataclass(frozen=True, eq=False)
class Delta:
    """The effect of a step, added to that of the steps before it. Ops are given by number; new ops are the last.

    Args:
        faults: why the step cannot be done.
        warnings: the warnings about the step.
        copies: ops that are copied or grafted, with everything that is also copied.
        joins: edges that join these copies with the rest, by name.
        nodes: single ops that are made.
        edges: inputs that are set.
        waits: op -> all its control inputs now.
        quiet: the same, but not noted as a change: for new ops, or if `changes` has it.
        checked: whether it is known that these edges close no cycle.
        changes: op -> its change.
        removed: ops of the base that are removed when all steps are done.
        decided: removed ops that are parts of decided conds, although other parts stay.
        anew: whether the graph is built anew in any case.
        names: op -> its new name, all at once.
        values: ops that are renamed with their own values.
        replaced: the ops that took the place of matches.
        effect: the total with all earlier steps, if the step does not add to them but carries them out in another way;
            the other fields come after it.
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
    effect: Effect | None = None
