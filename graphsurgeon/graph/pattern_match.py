"""Match: all places in a graph that match a pattern, and the reason if there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np

from ..errors import SelectionError, counted, one_of
from .boundary import Tensor
from .graph import Graph
from .pattern import Pattern
from .pattern_search import Assignment, DeadEnd, PatternSearch
from .provenance import orphan_mask
from .selection import OpView, Selection, selection_from

#: The limits of steps: of the search from one op, and of the whole search for each op of the graph.
STEPS, STEPS_PER_OP = 20_000, 200
_MAX_PARTIAL_STEPS = 100_000
#: The number of ops that are tried to see whether a pattern of other ranks fits.
_MAX_STARTS = 100


@dataclass(frozen=True, eq=False)
class Match:
    """One place in a graph that matches a pattern.

    Args:
        graph: the graph with the match.
        pattern: the pattern.
        assignment: op of the pattern -> op of the graph, and tensor -> tensor, by number.
        read_array: reads the array of a constant.
    """

    graph: Graph
    pattern: Pattern
    assignment: Assignment = field(repr=False)
    read_array: Callable[[Any], Any] | None = field(default=None, repr=False)

    def op(self, name: str) -> OpView:
        """Returns the op that matches an op of the pattern.

        Args:
            name: the name of the op in the pattern.

        Raises:
            SelectionError: if the pattern contains no op with this name.
        """
        number = self.pattern.graph.index.get(name, -1)
        if number not in self.assignment.image:
            raise SelectionError(f"op({name!r})", f"the pattern contains no op {name!r}", one_of(name, self.ops))
        return OpView(self.graph, self.assignment.image[number])

    def value(self, name: str) -> Any:
        """Returns the array of the constant that matches a constant or an input of the pattern.

        Args:
            name: the name of the constant or input in the pattern.

        Raises:
            SelectionError: if the match is not a constant, or the pattern has no constant or input with this name.
        """
        tensor = self.inputs.get(name) or f"{self.op(name).name}:0"
        op = self.graph.tensor(tensor)[0]
        array = self.read_array(self.graph.nodes[op]) if self.read_array and self.graph.types[op] == "Const" else None
        if array is None:
            problem = f"{tensor!r} ({self.graph.types[op]}) has no known value"
            raise SelectionError(f"value({name!r})", problem, "Use it as a tensor, or freeze variables first")
        return array

    @cached_property
    def ops(self) -> dict[str, str]:
        """Op of the pattern -> op of the graph, by name."""
        small, names = self.pattern.graph.names, self.graph.names
        return {small[p]: names[self.assignment.image[p]] for p in sorted(self.assignment.image)}

    @property
    def numbers(self) -> list[int]:
        """Numbers of the ops of the graph."""
        return sorted(self.assignment.image.values())

    @property
    def names(self) -> list[str]:
        """Names of the ops of the graph, in graph order."""
        return [self.graph.names[i] for i in self.numbers]

    @cached_property
    def inputs(self) -> dict[str, str]:
        """Input of the pattern -> tensor of the graph; inputs without consumers in the pattern are left out."""
        names = {key: self._tensor(tensor) for key, tensor in self.pattern.inputs.items()}
        return {key: name for key, name in names.items() if name}

    @cached_property
    def outputs(self) -> dict[str, str]:
        """Output of the pattern -> tensor of the graph, or the op if it has no outputs."""
        return {key: self._tensor(tensor) for key, tensor in self.pattern.outputs.items()}

    @cached_property
    def external_consumers(self) -> tuple[tuple[str, str, int], ...]:
        """(tensor, consumer, input) for inner tensors with consumers outside of the match; constants do not count."""
        graph, mine, names = self.graph, set(self.assignment.image.values()), self.graph.names
        open_ = set(self.pattern.outputs.values())
        out = []
        for p, op in sorted(self.assignment.image.items()):
            if graph.types[op] == "Const":
                continue
            for reader, port in dict.fromkeys(graph.consumers.ends(op)):
                if reader in mine or (p, port) in open_:
                    continue
                reads = [at for at, tensor in enumerate(graph.data.ends(reader)) if tensor == (op, port)]
                out += [(f"{names[op]}:{port}", names[reader], at) for at in reads]
        return tuple(out)

    @cached_property
    def control_inputs(self) -> tuple[tuple[str, str], ...]:
        """(op inside, op outside that it waits for)."""
        return self._crossing_edges(self.graph.control)

    @cached_property
    def control_outputs(self) -> tuple[tuple[str, str], ...]:
        """(op inside, op outside that waits for it)."""
        return self._crossing_edges(self.graph.control_consumers)

    @property
    def selection(self) -> Selection:
        """The ops as a selection."""
        return selection_from(self.graph, self.numbers)

    def _crossing_edges(self, edges: Any) -> tuple[tuple[str, str], ...]:
        mine, names = set(self.assignment.image.values()), self.graph.names
        return tuple((names[i], names[o]) for i in self.numbers for o in edges.row(i).tolist() if o not in mine)

    def _tensor(self, tensor: Tensor) -> str:
        op, port = tensor
        there = self.assignment.bound.get(tensor)
        if there is None and op in self.assignment.image:
            there = self.assignment.image[op], port
        if there is None:
            return ""
        name = self.graph.names[there[0]]
        return name if self.graph.outputs(there[0]) == [] else f"{name}:{there[1]}"

    def __str__(self) -> str:
        lines = [", ".join(f"{key} = {name}" for key, name in self.ops.items())]
        lines += [f"  {key} is {name}" for key, name in self.inputs.items()]
        lines += [
            f"  warning: {tensor} is read by {reader}, input {at}, too"
            for tensor, reader, at in self.external_consumers
        ]
        lines += [f"  warning: {inside} waits for {outside}" for inside, outside in self.control_inputs]
        lines += [f"  warning: {outside} waits for {inside}" for inside, outside in self.control_outputs]
        return "\n".join(lines)


@dataclass(frozen=True)
class PartialMatch:
    """The best partial match, if there is no complete match.

    Args:
        ops: op of the pattern -> op of the graph, for the ops that fit.
        total: the number of ops of the pattern.
        failed_op: the op of the pattern for which no op fits.
        reason: the reason, naming ops of the graph.
        suggestion: the code to type instead, if an input of the function with an open rank is the reason.
    """

    ops: Mapping[str, str]
    total: int
    failed_op: str
    reason: str
    suggestion: str = ""

    def __str__(self) -> str:
        more = f". {self.suggestion}" if self.suggestion else ""
        if not self.ops:
            return f"nothing fits: {self.reason}{more}"
        fit = f"{len(self.ops)} of {counted(self.total, 'ops')} fit{'s' * (len(self.ops) == 1)}"
        return f"{fit}, and the search stopped at {self.failed_op!r}: {self.reason}{more}"


@dataclass(frozen=True, eq=False)
class Matches(Sequence[Match]):
    """The matches that a search found, in graph order.

    Args:
        graph: the graph.
        pattern: the pattern.
        matches: the matches.
        best_partial: the best partial match, if there is no match.
        unfinished_searches: the number of start ops for which the search was stopped, because it took too many steps.
    """

    graph: Graph
    pattern: Pattern
    matches: tuple[Match, ...] = field(repr=False)
    best_partial: PartialMatch | None = None
    unfinished_searches: int = 0

    def __len__(self) -> int:
        return len(self.matches)

    def __iter__(self) -> Iterator[Match]:
        return iter(self.matches)

    @overload
    def __getitem__(self, index: int) -> Match: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Match, ...]: ...
    def __getitem__(self, index: int | slice) -> Match | tuple[Match, ...]:
        return self.matches[index]

    @property
    def selection(self) -> Selection:
        """The ops of all matches as one selection."""
        return selection_from(self.graph, {i for match in self.matches for i in match.assignment.image.values()})

    def nearest(self) -> PartialMatch | None:
        """Returns the best partial match among all other ops; None if there is none.

        Example:
            >>> g = Graph.from_ops([("x", "Placeholder", []), ("a", "Exp", ["x"]), ("b", "Log", ["a"]),
            ...                     ("c", "Log", ["x"])])
            >>> small = Graph.from_ops([("v", "Placeholder", []), ("e", "Exp", ["v"]), ("l", "Log", ["e"])])
            >>> print(match(g, Pattern.from_graph(small)).nearest())
            1 of 2 ops fits, and the search stopped at 'e': 'x' (Placeholder) is not of type Exp
        """
        matched_ops = self.graph.mask(sorted({i for match in self.matches for i in match.assignment.image.values()}))
        near = _best_partial(self.graph, self.pattern, ~matched_ops | self.graph.type_mask(["Const"]))
        return near if near.ops else None

    def table(self) -> list[dict[str, Any]]:
        """Returns one row for each match: op of the pattern -> op of the graph."""
        return [match.ops for match in self.matches]

    def __str__(self) -> str:
        count = len(self.matches)
        lines = [f"{count or 'no'} match{'es' * (count != 1)} in {self.graph.title} of the {self.pattern}"]
        lines += ["  " + str(match).replace("\n", "\n  ") for match in self.matches[:8]]
        lines += [f"  … and {count - 8:,} more"] if count > 8 else []
        if self.best_partial is not None:
            lines.append(f"  {self.best_partial}")
        if self.unfinished_searches:
            lines.append(
                f"  not decided at {counted(self.unfinished_searches, 'ops')}: the search took too many steps there"
            )
        return "\n".join(lines)


def match(
    graph: Graph,
    pattern: Pattern,
    *,
    overlapping: bool = False,
    within: Selection | None = None,
    steps: int = STEPS,
    read_array: Callable[[Any], Any] | None = None,
) -> Matches:
    """Returns the places in a graph that match a pattern: the types and edges are the same, all conditions are true.

    Args:
        graph: the graph to search.
        pattern: the pattern to look for. Inputs of ops such as Add and Mul may be in any order. A control edge of the
            pattern must exist; others are reported, and so are consumers of inner tensors.
        overlapping: whether an op may be part of several matches. Constants always may.
        within: search only these ops; default: all ops except orphans.
        steps: the limit of steps for the search from one op; `Matches.unfinished_searches` counts the ops that reach
            the limit.
        read_array: reads the array of a constant, for `Match.value`.

    Raises:
        SelectionError: if `within` is of another graph.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("a", "Exp", ["x"]), ("b", "Log", ["a"]),
        ...                     ("c", "Log", ["x"])])
        >>> small = Graph.from_ops([("v", "Placeholder", []), ("e", "Exp", ["v"]), ("l", "Log", ["e"])])
        >>> print(match(g, Pattern.from_graph(small)))
        1 match in graph of the pattern of 2 ops: e (Exp), l (Log); inputs v; outputs l
          e = a, l = b
            v is x:0
        >>> small = Graph.from_ops([("v", "Placeholder", []), ("e", "Abs", ["v"]), ("l", "Log", ["e"])])
        >>> print(match(g, Pattern.from_graph(small)).best_partial)
        1 of 2 ops fits, and the search stopped at 'e': 'a' (Exp) is not of type Abs
    """
    mask = None if within is None else within.on_strict(graph, "match(within=...)").mask
    if within is None and (orphans := orphan_mask(graph)).any():
        mask = ~orphans
    search = PatternSearch(graph, pattern, mask)
    root = search.best_root()
    matches: list[Match] = []
    shared, op_sets = graph.type_mask(["Const"]), set[frozenset[int]]()
    for start in search.starts(root):
        if search.steps > STEPS_PER_OP * (graph.size + 100):
            search.undecided += 1
            continue
        if search.in_match[start]:
            continue
        for one in search.run(root, start, steps):
            ops = frozenset(one.image.values())
            if overlapping:
                if ops not in op_sets:
                    op_sets.add(ops)
                    matches.append(Match(graph, pattern, one, read_array))
                continue
            matches.append(Match(graph, pattern, one, read_array))
            op_numbers = np.fromiter(ops, np.int64)
            search.in_match[op_numbers[~shared[op_numbers]]] = True
            break
    matches.sort(key=lambda match: match.numbers)
    best = (
        None
        if matches
        else replace(_best_partial(graph, pattern, mask), suggestion=_rank_suggestion(graph, pattern, mask))
    )
    return Matches(graph, pattern, tuple(matches), best, search.undecided)


def _rank_suggestion(graph: Graph, pattern: Pattern, within: Any) -> str:
    """Returns the code to type if the pattern function makes other ops for known ranks that are in the graph."""
    reason = (
        "" if pattern.ranked_variants is None else "The ranks of its inputs are open, so TensorFlow makes other ops"
    )
    there, first = set(graph.types), ""
    for code, other in pattern.ranked_variants() if pattern.ranked_variants is not None else ():
        if not all(other.accepted_types(p) & there for p in other.numbers):
            continue
        search = PatternSearch(graph, other, within)
        root = search.best_root()
        starts = search.starts(root)[:_MAX_STARTS]
        if any(next(search.run(root, start, STEPS // 10), None) is not None for start in starts):
            return f"{reason}. Give them: {code}"
        first = first or code
    return f"{reason}. Give them, for example {first}" if first else ""


def _best_partial(graph: Graph, pattern: Pattern, within: Any) -> PartialMatch:
    """Searches again, without excluding ops in advance, for the best partial match and the reason why it stops."""
    search = PatternSearch(graph, pattern, within, narrow=False)
    small = pattern.graph
    counts = {p: int(np.count_nonzero(search.domain[p])) for p in search.ops}
    ends = [p for p, _ in pattern.outputs.values() if counts.get(p)]
    rare = sorted((p for p in search.ops if counts[p]), key=lambda p: counts[p])
    roots = list(dict.fromkeys([*ends[:2], *rare[:3]]))
    if not roots:
        kinds = sorted({kind for p in search.ops for kind in pattern.accepted_types(p)})
        where = f"{graph.title} has" if within is None else "the ops to look in have"
        return PartialMatch({}, len(search.ops), small.names[search.ops[0]], f"{where} no {' or '.join(kinds)}")
    most = _MAX_PARTIAL_STEPS // len(roots)
    for root in roots:
        first_step = search.steps
        for start in search.starts(root):
            if search.steps - first_step > most:
                break
            next(search.run(root, start, STEPS // 10), None)
    stop: DeadEnd | None = search.stop
    if stop is None:
        return PartialMatch(
            {}, len(search.ops), small.names[roots[0]], "the search took too many steps to find the reason"
        )
    ops = {small.names[p]: graph.names[op] for p, op in sorted(stop.image.items())}
    return PartialMatch(ops, len(search.ops), small.names[stop.op], stop.reason())
