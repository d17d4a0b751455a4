"""Replacing: a plan step that puts subgraphs built from a function in the place of all matches of a pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.graph import Graph
from ..graph.match.match import Match, match
from ..graph.match.pattern import Pattern
from ..graph.selection import Selection
from ..words import counted, few
from .edits import EditStep
from .exchange import Chosen, exchange, match_word
from .sources import Sources, option_code

if TYPE_CHECKING:
    from .effect import Effect

EXTERNAL = ("keep", "refuse")


@dataclass(frozen=True)
class ReplaceStep(EditStep):
    """Each match gets another subgraph; see `Plan.replace`."""

    what: Pattern | tuple[Match, ...]
    by: Callable[..., Any] | str
    to: str = ""
    external: str = "refuse"
    within: Selection | None = None
    given: Any = None
    words: tuple[str, str] = ("pattern", "replacement")
    options: tuple[tuple[str, Any], ...] = ()

    whole = True

    @property
    def asked(self) -> str:
        """The request, for messages."""
        return f"replace({self.words[0]}, {self._by})"

    @property
    def _by(self) -> str:
        return repr(self.by) if isinstance(self.by, str) else self.words[1]

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        kind = f"each {self.what}" if isinstance(self.what, Pattern) else counted(len(self.what), "matches")
        return f"replace {kind.partition(';')[0]} by {self.words[1]}"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        return self.code_for("ed", Sources())

    def code_for(self, owner: str, sources: Sources) -> str:
        """Returns the call that adds it to a plan of the editor called `owner`; notes the functions it uses."""
        within = [sources.selection(self.within)] if self.within is not None else []
        what, options = self.given, self.options
        if not isinstance(self.what, Pattern):  # matches: what looks like them, where they are
            ops = sorted({i for one in self.what for i in one.numbers})
            graph = self.what[0].graph if self.what else None
            within = [f"{owner}.select(name={[graph.names[i] for i in ops]!r})"] if graph else []
            what = self.what[0].pattern if self.what else ()
        if isinstance(what, Pattern) and what.made_of is not None:
            what, options = what.made_of
        if isinstance(what, Selection):
            first = sources.selection(what)
        elif callable(what):
            first = sources.word(what, self.words[0])
        else:
            about = f"the {type(what).__name__} to look for"
            first = "[]" if what == () else sources.parameter(what, self.words[0], about)
        by = repr(self.by) if isinstance(self.by, str) else sources.word(self.by, self.words[1])
        more = [f"{key}={option_code(value, sources)}" for key, value in options]
        more += [f"within={text}" for text in within]
        more += [f"external={self.external!r}"] if self.external != "refuse" else []
        more += [f"to={self.to!r}"] if self.to else []
        return f".replace({', '.join([first, by, *more])})"

    def carry(self, effect: Effect) -> None:
        """Builds the replacements, joins them, and takes out what nothing needs any more."""
        chosen = self._chosen(effect)
        if not effect.faults:
            chosen.hint = lambda: self._hint(effect, chosen)
            exchange(effect, self.asked, chosen, self.by, self.to, only_op=isinstance(self.by, str))

    def _hint(self, effect: Effect, chosen: Chosen) -> str:
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

    def _chosen(self, effect: Effect) -> Chosen:
        """The matches in the graph as the steps before have left it, without those that cannot be replaced."""
        graph, out, tools = effect.after, Chosen(), effect.plan.tools
        if isinstance(self.what, Pattern):
            found = match(graph, self.what, within=self._within(effect))
            given: Sequence[Match] = found
            if found.undecided:
                out.refused.append(f"{counted(found.undecided, 'ops')}: the search took too many steps there")
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
                why = f"{external[0][0]} inside is read by {few([reader for _, reader, _ in external], 1)}"
            if why:
                out.refused.append(f"{match_word(now)}: {why}")
                continue
            used |= own
            out.matches.append(now)
        return out


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


def step_words(step: Any) -> list[tuple[str, Any]]:
    """Returns the names that a step has for functions in code, and these functions."""
    words, things = getattr(step, "words", ()), (getattr(step, "given", None), getattr(step, "by", None))
    return [pair for pair in zip(words, things, strict=True) if not isinstance(pair[1], str)] if words else []
