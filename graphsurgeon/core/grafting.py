"""Grafting: the part of a plan that makes ops anew: edits carried out on copies, subgraphs built from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import PlanError
from .slices import ASSIGN, ForwardStep

if TYPE_CHECKING:
    from .graph import Graph

Self = TypeVar("Self", bound="Grafting")
COLLECTIONS = ("keep", "none", "rename")


class Grafting:
    """The steps of a `Plan` that make ops anew."""

    if TYPE_CHECKING:
        base: Graph

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
            >>> from graphsurgeon.core.graph import Graph
            >>> from graphsurgeon.core.plan import Plan
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

    def _ends(self, things: Any, asked: str) -> list[str]:
        several = [things] if isinstance(things, str) or hasattr(things, "name") else list(things)
        return [self.named(thing, asked) for thing in several]
