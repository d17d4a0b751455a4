"""The step that replaces matches by subgraphs, and moves their edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...errors import counted
from ...graph.pattern import Pattern
from ...graph.pattern_match import Match
from ...graph.selection import Selection
from ..function_source import Sources, option_code
from .base import Code, NewName, PlainText, Step, call_code

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

    target: Pattern | tuple[Match, ...]
    replacement: Callable[..., Any] | PlainText
    to: NewName = ""
    external: PlainText = "refuse"
    within: Selection | None = None
    code_argument: Any = None
    code_names: tuple[PlainText, PlainText] = ("pattern", "replacement")
    options: tuple[tuple[PlainText, Any], ...] = ()

    @property
    def request(self) -> str:
        new = repr(self.replacement) if isinstance(self.replacement, str) else self.code_names[1]
        return f"replace({self.code_names[0]}, {new})"

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
            **self.given("external"),
            **self.given("to"),
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
