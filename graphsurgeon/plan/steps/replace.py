"""The step that replaces matches by subgraphs, and moves their edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from ...errors import PlanError, counted, few
from ...graph.boundary import Tensor
from ...graph.control_flow import ENTERS, loops_of
from ...graph.edges import Edges
from ...graph.graph import Graph, Mask
from ...graph.names import invalid_name_fault, valid_name
from ...graph.pattern import Pattern
from ...graph.pattern_match import Match, match
from ...graph.rewiring import Edge, ops_on_new_cycles, rewire_inputs, set_control_inputs
from ...graph.selection import Selection, selection_from
from ...graph.traversal import backward
from ...graph.variables import VARIABLE_TYPES
from ..backend import InsertionSite
from ..copy_result import append_copy
from ..edit_state import EditState, ReplacedMatch
from ..fault import RefusedStep
from ..function_source import Sources, option_code
from ..mutable_graph import MutableGraph
from ..plan_result import Region
from ..removal import protected_ops
from ..type_check import mismatch
from .base import Attributes, Code, NewScope, OpType, PlainText, Step, call_code
from .insert import Graft, build_graft, is_built_op, site_scope

#: The values of `external` of `Plan.replace`.
EXTERNAL = ("keep", "refuse")


@dataclass(frozen=True)
class ReplaceStep(Step):
    """Each match is replaced by another subgraph; see `Plan.replace`.

    Args:
        target: the pattern, or the matches.
        replacement: the function or op type.
        to, external, within: as requested.
        code_argument: the source of the pattern, for its code.
        code_names: the names, in the code, of the functions of the pattern and the replacement.
        options: the options with which the pattern was made.
    """

    needs_complete_graph: ClassVar = True

    target: Pattern | tuple[Match, ...]
    replacement: Annotated[OpType, "Op type"]
    external: Annotated[PlainText, "If other ops read inner tensors", EXTERNAL] = "refuse"
    to: Annotated[NewScope, "Scope"] = ""
    within: Selection | None = None
    code_argument: Any = None
    code_names: tuple[PlainText, PlainText] = ("pattern", "replacement")
    options: Attributes = ()

    @cached_property
    def request(self) -> str:
        new = repr(self.replacement) if isinstance(self.replacement, str) else self.code_names[1]
        return f"replace({self.code_names[0]}, {new})"

    def resolve(self, state: EditState) -> None:
        """Builds the replacements, connects them, and removes ops that are no longer needed."""
        if self.to and not valid_name(self.to):
            raise PlanError(self.request, *invalid_name_fault(self.to, "a name scope", state.graph.is_name_used))
        targets = self._find_targets(state)
        if not state.faults:
            targets.hint = lambda: self._hint(state, targets)
            replace_matches(
                state, self.request, targets, self.replacement, self.to, single_op=isinstance(self.replacement, str)
            )

    def code(self, sources: Sources) -> str:
        within = None if self.within is None else sources.selection(self.within)
        what, options = self.code_argument, self.options
        if not isinstance(self.target, Pattern):  # for matches, the code searches for their pattern in their ops
            ops = sorted({i for one in self.target for i in one.numbers})
            graph = self.target[0].graph if self.target else None
            names = [graph.names[i] for i in ops] if graph else []
            within = f"{sources.names.editor_name(graph)}.select(name={names!r})" if graph else None
            what = self.target[0].pattern if self.target else ()
        if isinstance(what, Pattern) and what.source is not None:
            what, options = what.source
        if isinstance(what, Selection):
            first = sources.selection(what)
        elif callable(what):
            first = sources.code_name(what, self.code_names[0])
        else:
            about = f"the {type(what).__name__} to look for"
            first = "[]" if what == () else sources.parameter(what, self.code_names[0], about)
        by = self.replacement
        return call_code(
            "replace",
            Code(first),
            by if isinstance(by, str) else Code(sources.code_name(by, self.code_names[1])),
            **{key: Code(option_code(value, sources)) for key, value in options},
            within=None if within is None else Code(within),
            **self.given("external", "to"),
        )

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        pairs = zip(self.code_names, (self.code_argument, self.replacement), strict=True)
        return {name: function for name, function in pairs if not isinstance(function, str)}

    def inner_names(self) -> Iterator[str]:
        matches = () if isinstance(self.target, Pattern) else self.target
        for place in (self.within, self.code_argument, *matches):
            yield from place.names if isinstance(place, Selection | Match) else ()

    def describe(self) -> str:
        kind = f"each {self.target}" if isinstance(self.target, Pattern) else counted(len(self.target), "matches")
        return f"replace {kind.partition(';')[0]} by {self.code_names[1]}"

    def _hint(self, state: EditState, targets: ReplaceTargets) -> str:
        if targets.refusals:
            return "Choose external='keep' to leave inner ops there for their other readers, or narrow the pattern"
        if isinstance(self.target, Pattern):
            best = match(state.after, self.target, within=self._within(state.after)).best_partial
            return f"{best}" if best is not None else "See ed.match(...)"
        return "Give matches of this graph"

    def _within(self, graph: Graph) -> Selection | None:
        if self.within is None:
            return None
        if self.within.graph.unfolded is not None:  # the plan has inlined its calls under the same names
            return selection_from(graph, [graph.index[name] for name in self.within.names if name in graph.index])
        return self.within.on(graph)

    def _find_targets(self, state: EditState) -> ReplaceTargets:
        """Returns the matches in the graph after the earlier steps; refuses matches that cannot be replaced."""
        graph, out = state.after, ReplaceTargets()
        if isinstance(self.target, Pattern):
            search = match(graph, self.target, within=self._within(graph))
            candidates: Sequence[Match] = search
            if search.unfinished_searches:
                ops = counted(search.unfinished_searches, "ops")
                out.refusals.append(f"{ops}: the search took too many steps there")
        else:
            candidates = self.target
        used_ops = set[int]()
        for place in candidates:
            one = next(iter(_unfolded_match(place, graph)), None)
            if one is None:
                out.refusals.append(f"{match_word(place)}: the graph has changed since it was found")
                continue
            now = Match(graph, one.pattern, one.assignment, one.read_array or state.backend.constant_array)
            own = {i for i in now.numbers if graph.types[i] != "Const"}
            why = "an earlier step removes a part of it" if state.removed.keys() & own else ""
            why = why or _change_since_match(one.graph, graph, now.numbers)
            why = why or ("it overlaps with another match" if used_ops & own else "")
            external = now.external_consumers if not why and self.external == "refuse" else ()
            if external:
                why = f"{external[0][0]} inside is read by {few([reader for _, reader, _ in external], 1)}"
            if why:
                out.refusals.append(f"{match_word(now)}: {why}")
                continue
            used_ops |= own
            out.matches.append(now)
        return out


_STATELESS_SOURCES = VARIABLE_TYPES | {"Const", "Placeholder", "NoOp"}


@dataclass(frozen=True, eq=False)
class RewiredEdges:
    """How the edges of a graph change when matches are replaced.

    Args:
        graph: the graph with these changes.
        edges: inputs that are set.
        control: op -> all its control inputs, if they change.
        substitutes: tensor of a match -> tensor that takes its place.
        groups: for each match, the numbers of its ops and of those that replace it.
        moved, dropped: control edges that were moved, or left out, as text.
    """

    graph: Graph
    edges: list[Edge]
    control: dict[int, list[int]]
    substitutes: Mapping[Tensor, Tensor]
    groups: Sequence[Sequence[int]]
    moved: list[str]
    dropped: list[str]

    def overlaps(self, group: int, ops: Mask) -> bool:
        """Returns whether an op of a match or of its replacement is among some ops."""
        return bool(ops[list(self.groups[group])].any())


def resolve_replacements(substitutes: Mapping[Tensor, Tensor]) -> dict[Tensor, Tensor]:
    """Returns replacements in one step: no tensor is replaced by a tensor that is itself replaced.

    Example:
        >>> resolve_replacements({(1, 0): (2, 0), (2, 0): (3, 0)})
        {(1, 0): (3, 0), (2, 0): (3, 0)}
    """
    out: dict[Tensor, Tensor] = {}
    for old, new in substitutes.items():
        way = [old]
        while new in substitutes and new not in way:
            way.append(new)
            new = out.get(new, substitutes[new])
        for tensor in way:
            out[tensor] = new
    return out


def loop_waits(graph: Graph, sites: Sequence[InsertionSite], grafted: Graft) -> dict[int, list[int]] | str:
    """Returns control inputs that make new ops without inputs run in a TF1 loop; or why that is not possible."""
    if not graph.type_mask(ENTERS).any():
        return {}
    loop, out = loops_of(graph), dict[int, list[int]]()
    for site, ops in zip(sites, grafted.ops, strict=True):
        inside = [loop[i] for i in site.match.numbers if loop[i] >= 0]
        for op in ops if inside else ():
            if graph.types[op] in VARIABLE_TYPES:
                return f"{graph.names[op]!r} would be a variable inside a loop"
            if len(graph.data.row(op)) or len(graph.control.row(op)):
                continue
            near = [t[0] for t in site.inputs.values() if loop[t[0]] == inside[0] and graph.types[t[0]] != "Exit"]
            if not near:
                return f"{graph.names[op]!r} would be in a loop, but no tensor that it could wait for is in the loop"
            out[op] = near[:1]
    return out


def rewire_control(
    graph: Graph,
    sites: Sequence[InsertionSite],
    grafted: Graft,
    substitutes: Mapping[Tensor, Tensor],
    owner: Mapping[int, int],
    first: Mapping[int, list[int]],
) -> RewiredEdges:
    """Computes the edges after a replacement.

    Args:
        graph: the graph with the new ops in it.
        sites, grafted: the matches and their replacements.
        substitutes: tensor of a match -> tensor that takes its place.
        owner: op of a match -> number of the match.
        first: op -> control inputs that it needs in addition, from `loop_waits`.
    """
    own = grafted.ops
    mine = {op: k for k, ops in enumerate(own) for op in ops}
    edges: list[Edge] = [
        (reader, at, substitutes[tensor])
        for tensor in substitutes
        for reader, at in graph.consumers_of(tensor)
        if owner.get(reader, -1) != owner.get(tensor[0], -2)
    ]
    ends = [
        sorted({substitutes.get(t, t)[0] for t in outputs.values() if mine.get(substitutes.get(t, t)[0]) == k})
        or sorted({substitutes.get(t, t)[0] for t in outputs.values()})
        for k, outputs in enumerate(grafted.outputs)
    ]
    control: dict[int, list[int]] = {op: list(ops) for op, ops in first.items()}
    moved_edges: list[str] = []
    dropped_edges: list[str] = []
    names = graph.names
    above = backward(graph, graph.mask(sorted({op for ops in ends for op in ops})), control=False)
    for k, site in enumerate(sites):
        for inside, outside in _pairs(graph.control, site.match.numbers, owner, k):
            heads = _heads(graph, [op for op in own[k] if above[op]])
            after = ends[owner[outside]] if outside in owner else [outside]
            for op in heads:
                control.setdefault(op, graph.control.row(op).tolist())
                control[op] += [i for i in after if i not in control[op]]
            (moved_edges if heads else dropped_edges).append(f"{names[inside]} after {names[outside]}")
        for inside, outside in _pairs(graph.control_consumers, site.match.numbers, owner, k):
            if outside in owner:
                continue  # the loop above adds this wait for the match of `outside`
            control.setdefault(outside, graph.control.row(outside).tolist())
            new = [i for i in ends[k] if i != outside]
            control[outside] = list(dict.fromkeys([*(i for i in control[outside] if i != inside), *new]))
            moved_edges.append(f"{names[outside]} after {names[inside]}")
    after_all = rewire_inputs(graph, edges)
    after_all = set_control_inputs(after_all, control) if control else after_all
    groups = [[*site.match.numbers, *ops] for site, ops in zip(sites, own, strict=True)]
    return RewiredEdges(after_all, edges, control, substitutes, groups, moved_edges, dropped_edges)


def _pairs(edges: Edges, ops: Sequence[int], owner: Mapping[int, int], group: int) -> list[tuple[int, int]]:
    return [(i, other) for i in ops for other in edges.row(i).tolist() if owner.get(other) != group]


def _heads(graph: Graph, ops: Sequence[int]) -> list[int]:
    """Returns the first ops of a replacement: the new ops that read no other new op."""
    own = set(ops)
    moving = [op for op in ops if graph.types[op] not in _STATELESS_SOURCES]
    heads = [
        op
        for op in moving
        if not own & {i for i in graph.data.row(op).tolist() if graph.types[i] not in _STATELESS_SOURCES}
    ]
    return heads or [op for op in ops if graph.types[op] == "Const"]


def _unfolded_match(folded_match: Match, graph: Graph) -> list[Match]:
    """Returns a match inside a call again after the call was inlined; empty if the match no longer exists."""
    if folded_match.graph.unfolded is None:
        return [folded_match]
    place = selection_from(graph, [graph.index[name] for name in folded_match.names if name in graph.index])
    return list(match(graph, folded_match.pattern, within=place))[:1]


def _change_since_match(old: Graph, new: Graph, ops: Sequence[int]) -> str:
    """Returns how matched ops have changed since the match was found; empty if they have not changed."""
    if old is new:
        return ""
    for i in ops:
        if i >= new.size or old.names[i] != new.names[i] or old.types[i] != new.types[i]:
            return "the graph has changed since it was found"
        if old.input_names(i) != new.input_names(i):
            return f"an earlier step changes the inputs of {new.names[i]}"
    return ""


@dataclass
class ReplaceTargets:
    """The matches to replace, and the refused matches with the reasons."""

    matches: list[Any] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    hint: Callable[[], str] = str  # what to type instead if none can be replaced
    inner_scopes: tuple[str, ...] = ()  # subscopes, in the scope of a match, that contain all new ops


def region_of(graph: Graph, op: int, request: str, suggestion: str) -> Region:
    """Returns the region of one op, which will be replaced, with its inputs and outputs.

    Args:
        graph: the snapshot that contains the op.
        op: the number of the op.
        request, suggestion: the request, and the suggestion if the op has no result, for messages.

    Raises:
        PlanError: if the op has no result.
    """
    name, count = graph.names[op], len(graph.outputs(op) or ())
    if not count:
        raise PlanError(request, f"{name!r} has no result, so no op could wait for its effect", suggestion)
    inputs = {f"in{k}": text for k, text in enumerate(graph.input_names(op))}
    return Region(graph, [op], inputs, {f"out{k}": f"{name}:{k}" for k in range(count)})


def replace_matches(
    state: EditState,
    request: str,
    targets: ReplaceTargets,
    replacement: Callable[..., Any] | str,
    to: str = "",
    single_op: bool = False,
) -> None:
    """Replaces matches by the new ops of a function, and removes ops that are no longer needed.

    Args:
        state: the state after the earlier steps.
        request: the request, for messages.
        targets: the matches.
        replacement: the function or op type, as for `Plan.replace`.
        to: the scope of the new ops; default: the name of the first output.
        single_op: whether the function makes one op for each match, with the name of the scope as its own name.
    """
    while targets.matches:
        sites = _sites(state.after, request, targets, to, single_op)
        graft = build_graft(state, request, replacement, sites, single_op)
        if state.faults:
            return
        # A trial: a match that closes a cycle is refused, and the others are replaced without it.
        rewiring = _rewire(state.after, request, sites, graft)
        closing = [(op, new[0]) for op, _, new in rewiring.edges]
        closing += [(op, other) for op, others in rewiring.control.items() for other in others]
        bad = ops_on_new_cycles(rewiring.graph, closing)
        guilty = [k for k in range(len(sites)) if rewiring.overlaps(k, bad)] if bad.any() else []
        if not guilty:
            graft.add_to(state)
            for op, waits in rewiring.control.items():
                if op < state.base.size:
                    state.change_control_inputs(op, state.graph.control_inputs(op), waits, acyclic=True)
                else:
                    state.graph.set_control_inputs(op, waits)
            state.rewire(request, rewiring.edges, acyclic=True)
            if not state.faults:
                removed = _unneeded_ops(state, sites)
                _record_replacements(state, targets, sites, graft, rewiring, removed)
                late = [i for i in np.flatnonzero(removed).tolist() if i >= state.base.size]
                if late:  # ops that the plan makes and then replaces are never made
                    state.drop(late, rewiring.substitutes)
            return
        for k in reversed(guilty):
            lost = targets.matches.pop(k)
            targets.refusals.append(f"{match_word(lost)}: its replacement would be computed from itself")
    problem = "nothing in the graph looks like it"
    if targets.refusals:
        problem = f"no match can be replaced: {targets.refusals[0]}"
    raise PlanError(request, problem, targets.hint())


def _sites(graph: Graph, request: str, targets: ReplaceTargets, to: str, single_op: bool) -> list[InsertionSite]:
    sites, used_names = [], set[str]()
    for one in targets.matches:
        ends = {key: name for key, name in one.outputs.items() if ":" in name}
        if not ends:
            problem = f"the pattern has no output tensor: {match_word(one)}"
            raise PlanError(request, problem, "Give the pattern an output that other ops read")
        wish = to or next(iter(ends.values())).partition(":")[0]
        inputs = {key: graph.tensor(name) for key, name in one.inputs.items() if ":" in name}
        scope = site_scope(graph, wish, used_names, single_op, targets.inner_scopes)
        sites.append(InsertionSite(scope, inputs, tuple(ends), one))
    return sites


def _rewire(graph: Graph, request: str, sites: Sequence[InsertionSite], graft: Graft) -> RewiredEdges:
    """The changes of edges for the new ops; refuses replacements that do not fit."""
    trial = MutableGraph(graph)
    if graft.copy_result is not None:
        append_copy(trial, graft.copy_result)
    subs: dict[Tensor, Tensor] = {}
    owner: dict[int, int] = {}
    for k, (site, ends) in enumerate(zip(sites, graft.outputs, strict=True)):
        subs |= {graph.tensor(site.match.outputs[key]): new for key, new in ends.items()}
        # Other ops may share a constant, unless it has control inputs, for example in a TF1 loop or branch.
        owner |= {i: k for i in site.match.numbers if graph.types[i] != "Const" or len(graph.control.row(i))}
    subs = resolve_replacements(subs)
    fault = next(filter(None, (mismatch(trial, request, old, new) for old, new in subs.items())), None)
    if fault is not None:
        raise RefusedStep([fault])
    waits = loop_waits(trial.snapshot(), sites, graft)
    if isinstance(waits, str):
        raise PlanError(request, waits, "Replace matches outside of loops: within=...")
    return rewire_control(trial.snapshot(), sites, graft, subs, owner, waits)


def _unneeded_ops(state: EditState, sites: Sequence[InsertionSite]) -> Mask:
    """Returns a mask of the matched ops that are no longer needed.

    An op from an earlier step is included only if it was built for the plan.
    """
    graph = state.after
    matched = graph.mask(sorted({i for site in sites for i in site.match.numbers}))
    removed: Mask = matched & ~protected_ops(graph, matched)
    for i in np.flatnonzero(removed).tolist():
        removed[i] = i < state.base.size or is_built_op(state, i)
    return removed


def _record_replacements(
    state: EditState,
    targets: ReplaceTargets,
    sites: Sequence[InsertionSite],
    graft: Graft,
    rewiring: RewiredEdges,
    removed: Mask,
) -> None:
    """Records the replacement of each match, the removed ops, and the warnings."""
    types = state.graph.types
    for site, outputs, ops in zip(sites, graft.outputs, graft.ops, strict=True):
        # Kept constants are not listed, because many ops may share them.
        new = {site.match.outputs[key]: rewiring.substitutes.get(end, end) for key, end in outputs.items()}
        kept = [i for i in site.match.numbers if not removed[i] and types[i] != "Const"]
        state.replaced.append(ReplacedMatch(site.match, site.scope, new, ops, kept))
    state.remove(np.flatnonzero(removed[: state.base.size]).tolist())
    state.warnings += _warnings(targets, rewiring)


def _warnings(targets: ReplaceTargets, rewiring: RewiredEdges) -> list[str]:
    out = []
    if targets.refusals:
        out.append(f"{counted(len(targets.refusals), 'matches')} not replaced: {few(targets.refusals)}")
    if rewiring.moved:
        out.append(f"{counted(len(rewiring.moved), 'control edges')} moved to the replacement: {few(rewiring.moved)}")
    if rewiring.dropped:
        out.append(f"{counted(len(rewiring.dropped), 'control edges')} left out: {few(rewiring.dropped)}")
    return out


def match_word(one: Any) -> str:
    """Returns the text for a match in a message: its outputs."""
    return ", ".join(one.outputs.values()) or one.names[-1]
