"""Exchange: matches taken out of a graph, and what a function builds for them put in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.graph import Graph
from ..words import counted, few
from .edits import fault, misfit, rewire, touch
from .grafts import Grafted, Site, built, graft, site_scope
from .removal import protected
from .rewiring import closed_circle
from .swapping import Moved, loop_waits, moved_waits, resolved

if TYPE_CHECKING:
    from ..graph.boundary import Tensor
    from .effect import Effect


@dataclass(frozen=True, eq=False)
class Replaced:
    """What took the place of one match.

    Args:
        match: the match; for `collapse` and `inline` the `Region`.
        scope: the name scope of what replaced it.
        outputs: tensor of the match -> tensor that replaced it, by name.
        ops: names of the new ops.
        kept: names of ops of the match that stay: others read them, or a variable needs them.
    """

    match: Any
    scope: str
    outputs: Mapping[str, str]
    ops: tuple[str, ...]
    kept: tuple[str, ...] = ()

    def __str__(self) -> str:
        ends = ", ".join(f"{old} -> {new}" for old, new in self.outputs.items())
        return f"{self.scope}: {ends}" + (f"; {few(self.kept)} stay{'s' * (len(self.kept) == 1)}" if self.kept else "")


@dataclass
class Chosen:
    """The matches to replace, and those that are refused, with the reason."""

    matches: list[Any] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    hint: Callable[[], str] = str  # what to type instead, where none can be replaced


@dataclass(frozen=True, eq=False)
class Region:
    """Some ops that are exchanged as one, as a match is.

    Args:
        graph: where.
        numbers: the ops.
        inputs: argument -> tensor, by name.
        outputs: result -> tensor, by name.
    """

    graph: Graph
    numbers: Sequence[int]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]

    @property
    def names(self) -> list[str]:
        """Names of the ops, in graph order."""
        return [self.graph.names[i] for i in self.numbers]


def exchange(
    effect: Effect, asked: str, chosen: Chosen, by: Callable[..., Any] | str, to: str = "", only_op: bool = False
) -> None:
    """Puts what a function builds in the place of matches, and takes out what nothing needs any more.

    Args:
        effect: what to add it to.
        asked: the request, for messages.
        chosen: the matches.
        by: the function or op type, as for `Plan.replace`.
        to: the scope of the new ops; default: the name of the first output.
        only_op: the function makes one op for each match, which gets the name of the scope itself.
    """
    while chosen.matches:
        # A trial: where a match closes a circle, it is refused, and the others are done without it.
        held = effect.after, list(effect.copies), list(effect.connections), list(effect.warnings)
        done = _try(effect, asked, chosen, by, to, only_op)
        if done is None or effect.faults:
            return
        sites, grafted, moved = done
        closing = [(op, new[0]) for op, _, new in moved.edges]
        closing += [(op, other) for op, others in moved.control.items() for other in others]
        bad = closed_circle(moved.graph, closing)
        guilty = [k for k in range(len(sites)) if moved.touches(k, bad)] if bad.any() else []
        if not guilty:
            _finish(effect, asked, chosen, sites, grafted, moved)
            return
        effect.after, effect.copies, effect.connections, effect.warnings = held
        for k in reversed(guilty):
            lost = chosen.matches.pop(k)
            chosen.refused.append(f"{match_word(lost)}: what replaced it would be computed from itself")
    wrong = "nothing in the graph looks like it"
    if chosen.refused:
        wrong = f"no match can be replaced: {chosen.refused[0]}"
    fault(effect, asked, wrong, chosen.hint())


def _try(
    effect: Effect, asked: str, chosen: Chosen, by: Callable[..., Any] | str, to: str, only_op: bool
) -> tuple[list[Site], Grafted, Moved] | None:
    graph, given = effect.after, set[str]()
    sites = []
    for one in chosen.matches:
        ends = {key: name for key, name in one.outputs.items() if ":" in name}
        if not ends:
            wrong = f"the pattern has no output tensor: {match_word(one)}"
            fault(effect, asked, wrong, "Give it an output that others read")
            return None
        wish = to or next(iter(ends.values())).partition(":")[0]
        inputs = {key: graph.tensor(name) for key, name in one.inputs.items() if ":" in name}
        sites.append(Site(site_scope(graph, wish, given, only_op), inputs, tuple(ends), one))
    piece = built(effect, asked, by, sites)
    grafted = graft(effect, piece, sites, only_op) if piece is not None else None
    if grafted is None:
        return None
    subs: dict[Tensor, Tensor] = {}
    owner: dict[int, int] = {}
    for k, (site, ends_now) in enumerate(zip(sites, grafted.outputs, strict=True)):
        for key, new in ends_now.items():
            subs[graph.tensor(site.match.outputs[key])] = new
        owner.update({i: k for i in site.match.numbers if graph.types[i] != "Const"})
    subs = resolved(subs)
    if any(misfit(effect, asked, old, new) for old, new in subs.items()):
        return None
    waits = loop_waits(effect.after, sites, grafted)
    if isinstance(waits, str):
        fault(effect, asked, waits, "Replace matches outside of loops: within=...")
        return None
    moved = moved_waits(effect.after, sites, grafted, subs, owner, waits)
    return sites, grafted, moved


def _finish(effect: Effect, asked: str, chosen: Chosen, sites: list[Site], grafted: Grafted, moved: Moved) -> None:
    base = effect.plan.base.size
    for op, waits in moved.control.items():
        effect.bench.set_waits(op, waits)
    rewire(effect, asked, moved.edges, [], checked=True)
    if effect.faults:
        return
    for op, (added, freed) in moved.waits.items():
        if op < base:
            change = touch(effect, op)
            change.waits += added
            change.frees += freed
    names = effect.after.names
    matched = effect.after.mask(sorted({i for site in sites for i in site.match.numbers}))
    stay = protected(effect.after, matched)
    gone = matched & ~stay
    gone[base:] = False
    for site, outputs, ops in zip(sites, grafted.outputs, grafted.names, strict=True):
        old = {site.match.outputs[key]: _final(names, moved.subs, outputs[key]) for key in outputs}
        kept = tuple(names[i] for i in site.match.numbers if not gone[i] and _own(effect.after, i))
        effect.replaced.append(Replaced(site.match, site.scope, old, ops, kept))
    if gone.any():
        effect.removed.update(np.flatnonzero(gone).tolist())
        effect.mode = "materialise"
    _say(effect, chosen, moved)


def _say(effect: Effect, chosen: Chosen, moved: Moved) -> None:
    if chosen.refused:
        effect.warnings.append(f"{counted(len(chosen.refused), 'matches')} not replaced: {few(chosen.refused)}")
    if moved.said:
        effect.warnings.append(f"{counted(len(moved.said), 'control edges')} moved to what replaces: {few(moved.said)}")
    if moved.dropped:
        effect.warnings.append(f"{counted(len(moved.dropped), 'control edges')} left out: {few(moved.dropped)}")


def _own(graph: Graph, op: int) -> bool:
    """Returns whether an op is worth a word when it stays: constants are not, which many may share."""
    return graph.types[op] != "Const"


def _final(names: Sequence[str], subs: Mapping[Tensor, Tensor], tensor: Tensor) -> str:
    op, port = subs.get(tensor, tensor)
    return f"{names[op]}:{port}"


def match_word(one: Any) -> str:
    """Returns what to call a match in a message: its outputs."""
    return ", ".join(one.outputs.values()) or one.names[-1]
