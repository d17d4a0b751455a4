"""Replace matches: new ops of a function take their place; a region that a step chooses itself is a match too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph.boundary import Tensor
from ...graph.graph import Graph, Mask
from ...graph.rewired import closed_cycle
from ...words import counted, few
from ..backend import Site
from ..copied import append
from ..delta import Delta
from ..effect import Change, Region, Replaced
from ..mismatch import mismatch
from ..tally import Tally
from ..workbench import Workbench
from .graft import Grafted, built, grafted, site_scope, taken_out
from .moves import Moved, loop_waits, moved_waits, resolved
from .remove import protected
from .rewire import Refused, rewire


@dataclass
class Chosen:
    """The matches to replace, and those that are refused, with the reason."""

    matches: list[Any] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    hint: Callable[[], str] = str  # what to type instead if none can be replaced
    below: tuple[str, ...] = ()  # names of the scopes below that of a match, in which all new ops are made


def region_of(graph: Graph, op: int, request: str, suggestion: str) -> Region:
    """Returns the region of one op, which will be replaced, with its inputs and outputs.

    Args:
        graph: the snapshot that it is in.
        op: its number.
        request, suggestion: the request, and the suggestion if the op has no result, for messages.

    Raises:
        PlanError: it has no result.
    """
    name, count = graph.names[op], len(graph.outputs(op) or ())
    if not count:
        raise PlanError(request, f"{name!r} has no result, so no op could wait for its effect", suggestion)
    inputs = {f"in{k}": text for k, text in enumerate(graph.input_names(op))}
    return Region(graph, [op], inputs, {f"out{k}": f"{name}:{k}" for k in range(count)})


def replace_matches(
    so_far: Tally, request: str, chosen: Chosen, by: Callable[..., Any] | str, to: str = "", only_op: bool = False
) -> Iterator[Delta]:
    """Puts the new ops of a function in the place of matches, and removes ops that are no longer needed.

    Args:
        so_far: what the steps before have done.
        request: the request, for messages.
        chosen: the matches.
        by: the function or op type, as for `Plan.replace`.
        to: the scope of the new ops; default: the name of the first output.
        only_op: whether the function makes one op for each match, which gets the name of the scope itself.
    """
    was = {(c.to, c.input): c.was for c in so_far.connections}
    while chosen.matches:
        sites = _sites(so_far.after, request, chosen, to, only_op)
        made = grafted(so_far, so_far.backend.built(by, sites, so_far.after, request), sites, only_op)
        if so_far.faults or made.delta.faults:
            yield made.delta
            return
        # A trial: a match that closes a cycle is refused, and the others are replaced without it.
        moved = _moved(so_far.after, request, sites, made)
        closing = [(op, new[0]) for op, _, new in moved.edges]
        closing += [(op, other) for op, others in moved.control.items() for other in others]
        bad = closed_cycle(moved.graph, closing)
        guilty = [k for k in range(len(sites)) if moved.touches(k, bad)] if bad.any() else []
        if not guilty:
            yield made.delta
            yield Delta(quiet=moved.control)
            yield rewire(so_far, request, moved.edges, checked=True)
            if not so_far.faults:
                gone = _needless(so_far, sites)
                yield _finished(so_far, chosen, sites, made, moved, gone)
                late = [i for i in np.flatnonzero(gone).tolist() if i >= so_far.base.size]
                if late:  # ops that the plan makes and then replaces are never made
                    effect = so_far.effect()
                    new_tensors = {
                        old: new for one in effect.replaced[-len(sites) :] for old, new in one.outputs.items()
                    }
                    yield Delta(effect=taken_out(effect, late, new_tensors, was))
            return
        for k in reversed(guilty):
            lost = chosen.matches.pop(k)
            chosen.refused.append(f"{match_word(lost)}: its replacement would be computed from itself")
    problem = "nothing in the graph looks like it"
    if chosen.refused:
        problem = f"no match can be replaced: {chosen.refused[0]}"
    raise PlanError(request, problem, chosen.hint())


def _sites(graph: Graph, request: str, chosen: Chosen, to: str, only_op: bool) -> list[Site]:
    sites, given = [], set[str]()
    for one in chosen.matches:
        ends = {key: name for key, name in one.outputs.items() if ":" in name}
        if not ends:
            problem = f"the pattern has no output tensor: {match_word(one)}"
            raise PlanError(request, problem, "Give it an output that others read")
        wish = to or next(iter(ends.values())).partition(":")[0]
        inputs = {key: graph.tensor(name) for key, name in one.inputs.items() if ":" in name}
        scope = site_scope(graph, wish, given, only_op, chosen.below)
        sites.append(Site(scope, inputs, tuple(ends), one))
    return sites


def _moved(graph: Graph, request: str, sites: Sequence[Site], made: Grafted) -> Moved:
    """The changes of edges for the new ops; refuses replacements that do not fit."""
    bench = Workbench(graph)
    for copied in made.delta.copies:
        append(bench, copied)
    subs: dict[Tensor, Tensor] = {}
    owner: dict[int, int] = {}
    for k, (site, ends) in enumerate(zip(sites, made.outputs, strict=True)):
        subs |= {graph.tensor(site.match.outputs[key]): new for key, new in ends.items()}
        # Others may share a constant, but for one that waits, as in a loop or branch of TF1.
        owner |= {i: k for i in site.match.numbers if graph.types[i] != "Const" or len(graph.control.row(i))}
    subs = resolved(subs)
    fault = next(filter(None, (mismatch(bench, request, old, new) for old, new in subs.items())), None)
    if fault is not None:
        raise Refused([fault])
    waits = loop_waits(bench.frozen(), sites, made)
    if isinstance(waits, str):
        raise PlanError(request, waits, "Replace matches outside of loops: within=...")
    return moved_waits(bench.frozen(), sites, made, subs, owner, waits)


def _needless(so_far: Tally, sites: Sequence[Site]) -> Mask:
    """The ops of matches that are no longer needed; of ops from an earlier step, only built ones."""
    graph = so_far.after
    matched = graph.mask(sorted({i for site in sites for i in site.match.numbers}))
    gone: Mask = matched & ~protected(graph, matched)
    for i in np.flatnonzero(gone).tolist():
        gone[i] = i < so_far.base.size or built(so_far, i)
    return gone


def _finished(so_far: Tally, chosen: Chosen, sites: Sequence[Site], made: Grafted, moved: Moved, gone: Mask) -> Delta:
    """The replacement of each match, the removed ops, and the warnings."""
    graph, base = so_far.after, so_far.base.size
    names = graph.names
    replaced = []
    for site, outputs, ops in zip(sites, made.outputs, made.names, strict=True):
        old = {site.match.outputs[key]: _final(names, moved.subs, outputs[key]) for key in outputs}
        kept = tuple(names[i] for i in site.match.numbers if not gone[i] and _own(graph, i))
        replaced.append(Replaced(site.match, site.scope, old, ops, kept))
    return Delta(
        changes={op: Change(waits=tuple(a), frees=tuple(f)) for op, (a, f) in moved.waits.items() if op < base},
        removed=frozenset(np.flatnonzero(gone[:base]).tolist()),
        replaced=replaced,
        warnings=_said(chosen, moved),
    )


def _said(chosen: Chosen, moved: Moved) -> list[str]:
    out = []
    if chosen.refused:
        out.append(f"{counted(len(chosen.refused), 'matches')} not replaced: {few(chosen.refused)}")
    if moved.said:
        out.append(f"{counted(len(moved.said), 'control edges')} moved to the replacement: {few(moved.said)}")
    if moved.dropped:
        out.append(f"{counted(len(moved.dropped), 'control edges')} left out: {few(moved.dropped)}")
    return out


def _own(graph: Graph, op: int) -> bool:
    """Returns whether an op is worth a word when it stays: constants are not, which many may share."""
    return graph.types[op] != "Const"


def _final(names: Sequence[str], subs: Mapping[Tensor, Tensor], tensor: Tensor) -> str:
    op, port = subs.get(tensor, tensor)
    return f"{names[op]}:{port}"


def match_word(one: Any) -> str:
    """Returns what to call a match in a message: its outputs."""
    return ", ".join(one.outputs.values()) or one.names[-1]
