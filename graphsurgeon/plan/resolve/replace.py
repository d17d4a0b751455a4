"""What a replace step does: subgraphs built from a function take the place of all matches of a pattern."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...errors import PlanError
from ...graph.graph import Graph
from ...graph.match.match import Match, match
from ...graph.match.pattern import Pattern
from ...graph.names import unfit, valid_name
from ...graph.selection import Selection, listed
from ...words import counted, few
from ..delta import Delta
from ..step_code import request_of
from ..steps import ReplaceStep
from ..tally import Tally
from .replace_matches import Chosen, match_word, replace_matches


def replace(step: ReplaceStep, so_far: Tally) -> Iterator[Delta]:
    """Builds the replacements, joins them, and takes out what nothing needs any more."""
    if step.to and not valid_name(step.to):
        raise PlanError(request_of(step), *unfit(step.to, "a name scope", so_far.bench.taken))
    chosen = _chosen(step, so_far)
    if not so_far.faults:
        chosen.hint = lambda: _hint(step, so_far, chosen)
        yield from replace_matches(so_far, request_of(step), chosen, step.by, step.to, only_op=isinstance(step.by, str))


def _hint(step: ReplaceStep, so_far: Tally, chosen: Chosen) -> str:
    if chosen.refused:
        return "Choose external='keep' to leave inner ops there for their other readers, or narrow the pattern"
    if isinstance(step.what, Pattern):
        best = match(so_far.after, step.what, within=_within(step, so_far.after)).best
        return f"{best}" if best is not None else "See ed.match(...)"
    return "Give matches of this graph"


def _within(step: ReplaceStep, graph: Graph) -> Selection | None:
    if step.within is None:
        return None
    if step.within.graph.unfolded is not None:  # its calls are open in the plan: the ops in them have its names
        return listed(graph, [graph.index[name] for name in step.within.names if name in graph.index])
    return step.within.on(graph)


def _opened(found: Match, graph: Graph) -> list[Match]:
    """A match inside of a call, after the call was opened; empty if it does not exist any more."""
    if found.graph.unfolded is None:
        return [found]
    place = listed(graph, [graph.index[name] for name in found.names if name in graph.index])
    return list(match(graph, found.pattern, within=place))[:1]


def _chosen(step: ReplaceStep, so_far: Tally) -> Chosen:
    """The matches in the graph as the steps before have left it, without those that cannot be replaced."""
    graph, out = so_far.after, Chosen()
    if isinstance(step.what, Pattern):
        found = match(graph, step.what, within=_within(step, graph))
        given: Sequence[Match] = found
        if found.undecided:
            out.refused.append(f"{counted(found.undecided, 'ops')}: the search took too many steps there")
    else:
        given = step.what
    used = set[int]()
    for place in given:
        one = next(iter(_opened(place, graph)), None)
        if one is None:
            out.refused.append(f"{match_word(place)}: the graph has changed since it was found")
            continue
        now = Match(graph, one.pattern, one.found, one.read or so_far.backend.array)
        own = {i for i in now.numbers if graph.types[i] != "Const"}
        why = "an earlier step removes a part of it" if so_far.removed.keys() & own else ""
        why = why or _changed(one.graph, graph, now.numbers)
        why = why or ("it overlaps with another match" if used & own else "")
        external = now.external if not why and step.external == "refuse" else ()
        if external:
            why = f"{external[0][0]} inside is read by {few([reader for _, reader, _ in external], 1)}"
        if why:
            out.refused.append(f"{match_word(now)}: {why}")
            continue
        used |= own
        out.matches.append(now)
    return out


def _changed(then: Graph, now: Graph, ops: Sequence[int]) -> str:
    """Why matched ops have changed since; empty if they have not."""
    if then is now:
        return ""
    for i in ops:
        if i >= now.size or then.names[i] != now.names[i] or then.types[i] != now.types[i]:
            return "the graph has changed since it was found"
        if then.input_names(i) != now.input_names(i):
            return f"an earlier step changes the inputs of {now.names[i]}"
    return ""
