"""Replacing: a plan step that puts subgraphs built from a function in the place of all matches of a pattern."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .edits import EditStep, fault, few, misfit, rewire, touch
from .grafts import Grafted, Site, built, graft, site_scope
from .graph import Graph
from .match import Match, match
from .patterns import Pattern
from .removal import protected
from .rewiring import closed_circle, reordered_many
from .selection import Selection
from .sources import Sources, option_code
from .swapping import Moved, loop_waits, moved_waits, resolved

if TYPE_CHECKING:
    from .boundary import Tensor
    from .effect import Effect

EXTERNAL = ("keep", "refuse")


@dataclass(frozen=True, eq=False)
class Replaced:
    """What took the place of one match.

    Args:
        match: the match.
        scope: the name scope of what replaced it.
        outputs: tensor of the match -> tensor that replaced it, by name.
        ops: names of the new ops.
        kept: names of ops of the match that stay: others read them, or a variable needs them.
    """

    match: Match
    scope: str
    outputs: Mapping[str, str]
    ops: tuple[str, ...]
    kept: tuple[str, ...] = ()

    def __str__(self) -> str:
        ends = ", ".join(f"{old} -> {new}" for old, new in self.outputs.items())
        return f"{self.scope}: {ends}" + (f"; {few(self.kept)} stay{'s' * (len(self.kept) == 1)}" if self.kept else "")


@dataclass
class _Chosen:
    """The matches to replace, those that are refused, and why."""

    matches: list[Match] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ReplaceStep(EditStep):
    """Each match gets another subgraph; see `Plan.replace`."""

    what: Pattern | tuple[Match, ...]
    by: Callable[..., Any]
    to: str = ""
    external: str = "refuse"
    within: Selection | None = None
    given: Any = None
    words: tuple[str, str] = ("pattern", "replacement")
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def asked(self) -> str:
        """The request, for messages."""
        return f"replace({self.words[0]}, {self.words[1]})"

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        kind = f"each {self.what}" if isinstance(self.what, Pattern) else _many(len(self.what), "match", "es")
        return f"replace {kind.partition(';')[0]} by {self.words[1]}"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        return self.code_for("ed", Sources())

    def code_for(self, owner: str, sources: Sources) -> str:
        """Returns the call that adds it to a plan of the editor called `owner`; notes the functions it uses."""
        from .code import query_code

        first, second = self.words
        if isinstance(self.given, Selection):
            first = query_code(self.given.query, owner)
        elif callable(self.given):
            sources.add(self.given, first)
        else:
            sources.free.append(first)
        sources.add(self.by, second)
        more = [f"{key}={option_code(value, sources)}" for key, value in self.options]
        more += [f"within={query_code(self.within.query, owner)}"] if self.within is not None else []
        more += [f"external={self.external!r}"] if self.external != "refuse" else []
        more += [f"to={self.to!r}"] if self.to else []
        return f".replace({', '.join([first, second, *more])})"

    def carry(self, effect: Effect) -> None:
        """Builds the replacements, joins them, and takes out what nothing needs any more."""
        chosen = self._chosen(effect)
        if effect.faults:
            return
        while chosen.matches:
            # A trial: where a match closes a circle, it is refused, and the others are done without it.
            held = effect.after, list(effect.copies), list(effect.connections), list(effect.warnings)
            done = self._try(effect, chosen)
            if done is None or effect.faults:
                return
            sites, grafted, moved = done
            bad = closed_circle(moved.graph, [(op, new[0]) for op, _, new in moved.edges])
            guilty = [k for k in range(len(sites)) if moved.touches(k, bad)] if bad.any() else []
            if not guilty:
                self._finish(effect, chosen, sites, grafted, moved)
                return
            effect.after, effect.copies, effect.connections, effect.warnings = held
            for k in reversed(guilty):
                lost = chosen.matches.pop(k)
                chosen.refused.append(f"{_word(lost)}: what replaced it would be computed from itself")
        wrong = "nothing in the graph looks like it"
        if chosen.refused:
            wrong = f"no match can be replaced: {chosen.refused[0]}"
        fault(effect, self.asked, wrong, self._hint(effect, chosen))

    def _hint(self, effect: Effect, chosen: _Chosen) -> str:
        if chosen.refused:
            return "Choose external='keep' to leave inner ops there for their other readers, or narrow the pattern"
        if isinstance(self.what, Pattern):
            best = match(effect.after, self.what, within=self._within(effect)).best
            return f"{best}" if best is not None else "See ed.match(...)"
        return "Give matches of this graph"

    def _within(self, effect: Effect) -> Selection | None:
        if self.within is None:
            return None
        mask = np.zeros(effect.after.size, np.bool_)
        mask[: len(self.within.mask)] = self.within.mask
        return Selection(effect.after, mask, self.within.query)

    def _chosen(self, effect: Effect) -> _Chosen:
        """The matches in the graph as the steps before have left it, without those that cannot be replaced."""
        graph, out, tools = effect.after, _Chosen(), effect.plan.tools
        if isinstance(self.what, Pattern):
            found = match(graph, self.what, within=self._within(effect))
            given: Sequence[Match] = found
            if found.undecided:
                out.refused.append(f"{found.undecided} ops: the search took too many steps there")
        else:
            given = self.what
        gone, used = effect.removed, set[int]()
        for one in given:
            now = Match(graph, one.pattern, one.found, one.read or (tools.read if tools else None))
            own = {i for i in now.numbers if graph.types[i] != "Const"}
            why = "an earlier step removes a part of it" if gone & own else ""
            why = why or _changed(one.graph, graph, now.numbers)
            why = why or ("it overlaps with another match" if used & own else "")
            external = now.external if not why and self.external == "refuse" else ()
            if external:
                tensor, reader, _ = external[0]
                why = f"{tensor} inside is read by {reader}" + (f" and {len(external) - 1} more" * (len(external) > 1))
            if why:
                out.refused.append(f"{_word(now)}: {why}")
                continue
            used |= own
            out.matches.append(now)
        return out

    def _try(self, effect: Effect, chosen: _Chosen) -> tuple[list[Site], Grafted, Moved] | None:
        graph, given = effect.after, set[str]()
        sites = []
        for one in chosen.matches:
            ends = {key: name for key, name in one.outputs.items() if ":" in name}
            if not ends:
                wrong = f"the pattern has no output tensor: {_word(one)}"
                fault(effect, self.asked, wrong, "Give it an output that others read")
                return None
            wish = self.to or next(iter(ends.values())).partition(":")[0]
            inputs = {key: graph.tensor(name) for key, name in one.inputs.items() if ":" in name}
            sites.append(Site(site_scope(graph, wish, given), inputs, tuple(ends), one))
        piece = built(effect, self.asked, self.by, sites)
        grafted = graft(effect, piece, sites) if piece is not None else None
        if grafted is None:
            return None
        subs: dict[Tensor, Tensor] = {}
        owner: dict[int, int] = {}
        for k, (site, ends_now) in enumerate(zip(sites, grafted.outputs, strict=True)):
            for key, new in ends_now.items():
                subs[graph.tensor(site.match.outputs[key])] = new
            owner.update({i: k for i in site.match.numbers if graph.types[i] != "Const"})
        subs = resolved(subs)
        if any(misfit(effect, self.asked, old, new) for old, new in subs.items()):
            return None
        waits = loop_waits(effect.after, sites, grafted)
        if isinstance(waits, str):
            fault(effect, self.asked, waits, "Replace matches outside of loops: within=...")
            return None
        moved = moved_waits(effect.after, sites, grafted, subs, owner, waits)
        return sites, grafted, moved

    def _finish(self, effect: Effect, chosen: _Chosen, sites: list[Site], grafted: Grafted, moved: Moved) -> None:
        base = effect.plan.base.size
        effect.after = reordered_many(effect.after, moved.control)
        rewire(effect, self.asked, moved.edges, [], checked=True)
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
        self._say(effect, chosen, moved)

    def _say(self, effect: Effect, chosen: _Chosen, moved: Moved) -> None:
        if chosen.refused:
            more = f" and {len(chosen.refused) - 3} more" if len(chosen.refused) > 3 else ""
            shown = "; ".join(chosen.refused[:3])
            effect.warnings.append(f"{_many(len(chosen.refused), 'match', 'es')} not replaced: {shown}{more}")
        if moved.said:
            effect.warnings.append(
                f"{_many(len(moved.said), 'control edge')} moved to what replaces: {few(moved.said)}"
            )
        if moved.dropped:
            effect.warnings.append(f"{_many(len(moved.dropped), 'control edge')} left out: {few(moved.dropped)}")


def _own(graph: Graph, op: int) -> bool:
    """Returns whether an op is worth a word when it stays: constants are not, which many may share."""
    return graph.types[op] != "Const"


def _final(names: Sequence[str], subs: Mapping[Tensor, Tensor], tensor: Tensor) -> str:
    op, port = subs.get(tensor, tensor)
    return f"{names[op]}:{port}"


def _changed(then: Graph, now: Graph, ops: Sequence[int]) -> str:
    """Why ops that were matched are no longer what they were; empty where they are."""
    if then is now:
        return ""
    for i in ops:
        if i >= now.size or then.names[i] != now.names[i] or then.types[i] != now.types[i]:
            return "the graph has changed since it was found"
        if then.input_names(i) != now.input_names(i):
            return f"an earlier step changes what {now.names[i]} reads"
    return ""


def _word(one: Match) -> str:
    return ", ".join(one.outputs.values()) or one.names[-1]


def _many(count: int, word: str, plural: str = "s") -> str:
    return f"{count} {word}{plural * (count != 1)}"


def step_words(step: Any) -> list[tuple[str, Any]]:
    """Returns the names that a step has for functions in code, and these functions."""
    words, things = getattr(step, "words", ()), (getattr(step, "given", None), getattr(step, "by", None))
    return list(zip(words, things, strict=True)) if words else []
