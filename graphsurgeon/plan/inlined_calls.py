"""Inlined calls: the calls that a plan must inline so that ops inside them exist for its steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..graph.functions import called_by, gives_way
from ..graph.graph import Graph
from ..graph.live import TFNodeDef
from ..graph.match.match import Match
from ..graph.match.pattern import Pattern
from ..graph.names import scopes_around
from ..graph.selection import Selection
from .step_names import named_by
from .steps import InlineStep, ReplaceStep, Role, Step


def calls_to(graph: Graph, name: str) -> list[str]:
    """Returns the calls to inline, the outermost first, so that an op, scope or tensor of a function exists.

    Inlining a call includes the calls inside it. A cond, case or loop in a call is also returned if the op is in one of
    its functions. The result is empty for a name that exists already, or that exists nowhere.

    Args:
        graph: the graph.
        name: the op, scope or tensor: ``call/inner``, ``loop/body/inner:0``.
    """
    op = name.partition(":")[0]
    if "/" not in op or op in graph.index:
        return []
    for lead in scopes_around(op):
        number = graph.index.get(lead)
        if number is not None:
            return _way(graph, graph.nodes[number], lead, op[len(lead) + 1 :]) or []
    return []


def _way(graph: Graph, node: TFNodeDef, path: str, rest: str) -> list[str] | None:
    """The calls on the way to an op inside a call; None if there is no op of that name."""
    known, calls, seen = graph.functions, [path], set[str]()
    flow = not gives_way(node, known)
    while True:
        inside = [one for one in called_by(node, known) if one.function in known]
        fits = [one for one in inside if not one.below or rest.startswith(f"{one.below}/")]
        if not fits or fits[0].function in seen:
            return None
        seen.add(fits[0].function)
        below = f"{fits[0].below}/" if fits[0].below else ""
        rest = rest[len(below) :]
        nodes = {inner.name: inner for inner in known[fits[0].function].node_def}
        if rest in nodes or any(name.startswith(f"{rest}/") for name in nodes):
            return calls
        lead = next((one for one in scopes_around(rest) if one in nodes), "")
        if not lead:
            return None
        path, node, rest = f"{path}/{below}{lead}", nodes[lead], rest[len(lead) + 1 :]
        if not gives_way(node, known) and not flow:
            calls.append(path)
            flow = True


def opened(graph: Graph, steps: tuple[Step, ...], step: Step) -> tuple[Step, ...]:
    """Returns the steps of a plan with another, and with the calls that it names something in inlined before it.

    Args:
        graph: the graph that the plan is for.
        steps: its steps so far.
        step: the other.
    """
    calls = list(dict.fromkeys(call for name in _named(step) for call in calls_to(graph, name)))
    if isinstance(step, InlineStep):
        return (*steps, replace(step, ops=tuple(dict.fromkeys([*calls, *step.ops]))))
    for at, one in enumerate(steps) if calls else ():
        if isinstance(one, InlineStep) and set(calls) & set(one.ops):
            wider = replace(one, ops=tuple(dict.fromkeys([*one.ops, *_below(calls, one)])))
            steps = (*steps[:at], wider, *steps[at + 1 :])
            calls = [call for call in calls if call not in wider.ops]
    return (*steps, InlineStep(tuple(calls), opens=True), step) if calls else (*steps, step)


def _below(calls: list[str], step: InlineStep) -> list[str]:
    """Those calls that are inside of one that a step inlines."""
    return [call for call in calls if any(call.startswith(f"{op}/") for op in step.ops)]


def _named(step: Step) -> Iterator[str]:
    """The names that a step says, of what may be inside of a call."""
    if isinstance(step, ReplaceStep):
        matches = () if isinstance(step.what, Pattern) else step.what
        for place in (step.within, step.given, *matches):
            yield from place.names if isinstance(place, (Selection, Match)) else ()
    yield from named_by(step, (Role.HERE, Role.POLICY))
