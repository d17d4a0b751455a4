"""Grafting: the part of a plan that makes ops anew: edits carried out on copies, subgraphs built from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import PlanError
from ..graph.match.match import Match, Matches
from ..graph.match.pattern import Pattern
from ..graph.names import free_name
from ..graph.selection import Selection
from .calling import CollapseStep, InlineStep
from .replacing import EXTERNAL, ReplaceStep, step_words
from .slices import ASSIGN, ForwardStep
from .sources import function_word

if TYPE_CHECKING:
    from ..graph.graph import Graph
    from .grafts import Tools

Self = TypeVar("Self", bound="Grafting")
COLLECTIONS = ("keep", "none", "rename")


class Grafting:
    """The steps of a `Plan` that make ops anew."""

    if TYPE_CHECKING:
        base: Graph
        steps: tuple[Any, ...]
        tools: Tools | None

        def added(self: Self, step: Any) -> Self:
            """Returns the plan with one step more."""

        def named(self, thing: Any, asked: str) -> str:
            """Returns the name of an op or tensor, given by name or object of this graph."""

        def _ops(self, things: Any, asked: str) -> tuple[str, ...]:
            """Names of ops given as a selection, a name, an object, or several."""

    def forward(self: Self, to: str, *, until: Any = None, assign: str = "leave", collections: str = "none") -> Self:
        """Carries the edits so far out on copies of what they change: nothing that exists is touched.

        All ops downstream of what changes are made again under a scope, with the new inputs. Variables are shared, and
        so is what does not change. Sessions that are open see the copies at once; the originals give what they gave.
        ``done["loss:0"]`` is the loss after the edits.

        Args:
            to: the scope of the copies.
            until: ops or tensors to stop at; default: everything downstream. Loops and conds of TF1 that are touched
                are made again whole.
            assign: what to do with ops that set variables, tables, queues: ``leave`` them and what only feeds them as
                they are, or ``copy`` them, so that the copies set the same state.
            collections: ``none``, or the names under which copies are put in collections, as in `copy`.

        Raises:
            PlanError: `assign` or `collections` is not known. All else is found by `check`.

        Example:
            >>> from graphsurgeon.graph.graph import Graph
            >>> from graphsurgeon.plan.plan import Plan
            >>> g = Graph.of([("a", "Const", []), ("b", "Const", []), ("y", "Neg", ["a"]), ("z", "Exp", ["y"])])
            >>> plan = Plan(g).reroute("a:0", to="b:0").forward(to="new")
            >>> after = plan.after()
            >>> plan.mode, after.names[4:], after.input_names(2), after.input_names(4)
            ('append', ['new/y', 'new/z'], ['a:0'], ['b:0'])
        """
        asked = f"forward(to={to!r})"
        for what, value, allowed in (("assign", assign, ASSIGN), ("collections", collections, COLLECTIONS)):
            if value not in allowed:
                choices = ", ".join(map(repr, allowed))
                raise PlanError(asked, f"{what}={value!r} is not known", f"Choose one of {choices}")
        ends = () if until is None else tuple(self._ends(until, asked))
        return self.added(ForwardStep(str(to).strip("/"), ends, assign, collections))

    def replace(
        self: Self,
        what: Any,
        by: Any,
        *,
        inputs: Mapping[str, Any] | None = None,
        where: Mapping[str, Any] | None = None,
        attributes: str | Iterable[str] = (),
        constants: str = "any",
        within: Selection | None = None,
        external: str = "refuse",
        to: str = "",
    ) -> Self:
        """Puts another subgraph in the place of each match of a pattern.

        What reads an output of a match reads what replaces it. Ops of the match that nothing needs any more go; with
        `forward` they stay, and nothing that exists is touched. Matches that overlap, or of which a replacement would
        be computed from itself, are left as they are, and it is said. Control edges go over to what replaces.
        ``done.matches`` says for each match what took its place.

        Args:
            what: a pattern: a Python function of tensors, a selection (all like it), a small graph or a `Pattern`, as
                for ``ed.match``; or matches that it has found: all, some in a list, or one.
            by: a Python function. Its arguments are inputs of the pattern, by name or in their order; one called
                ``match`` is given the `Match`, with the attributes and constants of its ops. It returns what takes the
                place of the outputs: one tensor, or several in a list, in order, or in a dict by name. An argument may
                be returned as it is. Variables that it makes are the graph's own, with initial values. Or an op type,
                as ``"Softplus"``: one op that takes the inputs of the pattern, in their order.
            inputs, where, attributes, constants: as for ``ed.match``.
            within: replace matches among these ops only.
            external: what to do with a match of which others read an inner tensor: ``refuse`` it, so that it is left
                as it is, and said; or ``keep`` its inner ops there for them.
            to: the scope of the new ops; default: the name of the first output. A number is added where it is taken.

        Raises:
            PlanError: `external` is not known, or `by` is neither a function nor a text.
            SelectionError: `what` is no pattern. All else is found by `check`.
        """
        made = self._word(what, "pattern"), by if isinstance(by, str) else self._word(by, "replacement")
        asked = f"replace({made[0]}, {repr(by) if isinstance(by, str) else made[1]})"
        if external not in EXTERNAL:
            choices = ", ".join(map(repr, EXTERNAL))
            raise PlanError(asked, f"external={external!r} is not known", f"Choose one of {choices}")
        if not (isinstance(by, str) or callable(by)):
            wrong = f"{type(by).__name__} is no function"
            raise PlanError(asked, wrong, "Give a function of the pattern's inputs, or an op type")
        given = {"inputs": inputs, "where": where, "attributes": attributes, "constants": constants}
        default: dict[str, Any] = {"inputs": None, "where": None, "attributes": (), "constants": "any"}
        options = tuple((key, value) for key, value in given.items() if value != default[key])
        found: Pattern | tuple[Match, ...]
        if isinstance(what, Match):
            found = (what,)
        elif isinstance(what, Matches) or (isinstance(what, (list, tuple)) and all(isinstance(m, Match) for m in what)):
            found = tuple(what)
        elif self.tools is None:
            if not isinstance(what, Pattern):
                raise PlanError(asked, "nothing here can make a pattern of it", "Give a Pattern or matches")
            found = what
        else:
            found = self.tools.pattern(what, **given, asked="replace")
        if not isinstance(found, Pattern) and found and found[0].graph.owner is not self.base.owner:
            wrong = f"the matches are of another graph, {found[0].graph.title}"
            raise PlanError(asked, wrong, f"Look for them in {self.base.title}")
        step = ReplaceStep(found, by, str(to).strip("/"), external, within, what, made, options)
        return self.added(step)

    def collapse(self: Self, what: Any, *, name: str) -> Self:
        """Makes one function call of ops: a ``PartitionedCall``, or a ``StatefulPartitionedCall`` where state is used.

        Variables, placeholders and tables in it stay outside; the call takes what it reads of them, variables by their
        handles. It has a gradient. Numbers are the same, but for the last bit where TensorFlow fuses ops.

        Args:
            what: a selection, a name scope, or names.
            name: what to call it: a name that no op and no scope has.
        """
        asked = f"collapse(name={name!r})"
        given, ops = self._scope_or_ops(what, asked)
        return self.added(CollapseStep(ops, str(name).strip("/"), given))

    def inline(self: Self, calls: Any) -> Self:
        """Puts what function calls compute in the place of the calls, those inside them too, under their names.

        Args:
            calls: ``PartitionedCall`` ops, by name or object. A v2 ``If``, ``While`` or ``Case`` cannot be inlined.
        """
        return self.added(InlineStep(self._ops(calls, "inline()")))

    def _scope_or_ops(self, what: Any, asked: str) -> tuple[Any, tuple[str, ...]]:
        """What was given, where code is to say it so: a scope, a name, a selection; and the names of its ops."""
        given = what.strip("/") if isinstance(what, str) else what
        if isinstance(given, str) and given not in self.base.index and given in self.base.scopes.index:
            mask = self.base.scope_mask(given)
            return given, tuple(self.base.names[i] for i in mask.nonzero()[0].tolist())
        return given if isinstance(given, (str, Selection)) else None, self._ops(given, asked)

    def _word(self, thing: Any, otherwise: str) -> str:
        """The name that code has for a function: its own, where no other function of the plan has it."""
        wish = function_word(thing, otherwise) if callable(thing) else otherwise
        used = dict(pair for step in self.steps for pair in step_words(step))
        return free_name(wish, lambda name: name in used and used[name] is not thing)

    def _ends(self, things: Any, asked: str) -> list[str]:
        several = [things] if isinstance(things, str) or hasattr(things, "name") else list(things)
        return [self.named(thing, asked) for thing in several]
