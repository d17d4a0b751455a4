"""History: the plans that were applied to a graph, as a person reads them."""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .applied import Applied
from .errors import PlanError, SurgeryError
from .graph.graph import Graph
from .graph.names import free_scope
from .plan.plan import CopyStep, Plan
from .words import counted

_CLOCK = itertools.count(1)


@dataclass(eq=False)
class Event:
    """One entry of the history: an applied plan.

    Args:
        number: which step of the history it is; a number is never given twice.
        applied: what it made; None once it can no longer be done again.
        seconds: how long the apply took.
        undone: it was taken back.
        before: the graph that a materialised plan replaced.
        when: seconds since 1970, when it was applied.
        text: the plan in words.
        counts: how many ops it added and removed, and how many variables it made.
        carried: orphans of the old graph that a materialised plan has taken into the new one, with their steps.
        record: what the graph keeps of it, so that provenance is saved with it.
        names: the ops it made.
        turns: the moments, counted over all editors, at which it was done, undone, done again …
        values: where the variables of a session got their values after it was done, undone or done again; a sentence.
    """

    number: int
    applied: Any
    seconds: float
    undone: bool = False
    before: Any = None
    when: float = field(default_factory=time.time)
    text: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    carried: dict[str, int] = field(default_factory=dict)
    record: bytes = b""
    names: frozenset[str] = frozenset()
    turns: list[int] = field(default_factory=lambda: [next(_CLOCK)])
    values: str = ""

    @classmethod
    def of(cls, number: int, applied: Applied, seconds: float, **about: Any) -> Event:
        """Returns the entry of a plan that was applied just now."""
        effect = applied.effect
        counts = {"added": len(applied.made.ops), "removed": len(effect.removed), "variables": len(applied.made.infos)}
        text = "; ".join(step.text for step in effect.plan.steps)
        return cls(number, applied, seconds, text=text, counts=counts, names=frozenset(applied.made.ops), **about)

    @property
    def dropped(self) -> bool:
        """True where it was undone, and another plan applied since: it cannot be done again."""
        return self.applied is None

    def turned(self) -> list[int]:
        """Returns its turns with one more, for now."""
        return [*self.turns, next(_CLOCK)]

    def drop(self) -> None:
        """Lets go of the graphs; the entry stays."""
        self.applied = self.before = None

    def done_at(self, moment: int) -> bool:
        """Returns whether it was in force at a moment."""
        return sum(turn < moment for turn in self.turns) % 2 == 1

    def __repr__(self) -> str:
        state = " (undone)" if self.undone else ""
        less = f", {self.counts['removed']} removed" if self.counts.get("removed") else ""
        lost = self.applied.warnings if self.applied is not None else []
        mind = f"; mind: {'; '.join(lost)}" if lost else ""
        return f"{self.number}. {self.text}: {counted(self.counts.get('added', 0), 'ops')}{less}{state}{mind}"


@dataclass(eq=False)
class Log:
    """What an editor has done since it was opened; its snapshots know it, so that a plan over two graphs does too.

    Args:
        code: the Python that opens the graph.
        title: what it is called.
        size: how many ops it had when it was opened.
        live: it came from no file, but from a live graph or session.
        events: the entries, oldest first.
        follows: the log of the editor this one was made from, at which moment, and the call that made it.
        sessions: sessions that the editor gave.
        graph: the live graph that was opened.
        session: the session that was opened, if one was.
        stored: gives the values of variables as they lie in the file that was opened, by op name.
    """

    code: str
    title: str = "graph"
    size: int = 0
    live: bool = False
    events: list[Event] = field(default_factory=list)
    follows: tuple[Log, int, str] | None = None
    sessions: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet)
    graph: weakref.ref[Any] = lambda: None  # type: ignore[assignment]
    session: weakref.ref[Any] = lambda: None  # type: ignore[assignment]
    stored: Callable[[], Mapping[str, Any] | None] = dict

    def gives(self, graph: Graph) -> bool:
        """Returns whether opening it again gives a graph as it is in a snapshot: nothing was added or applied."""
        if self.follows is not None and self.follows[0].at(self.follows[1]):
            return False
        return graph.owner is self.graph() and (graph.size == self.size or (self.live and not self.events))

    def at(self, moment: int) -> list[Event]:
        """Returns what was in force at a moment, oldest first."""
        return [event for event in self.events if event.done_at(moment)]


def moment() -> int:
    """Returns the present, to be compared with the turns of events."""
    return next(_CLOCK)


class History(list[Event]):
    """The applied plans, oldest first; printed, a table.

    Below a plan stands where variables got their values when `session` was asked for after it, or after its undo or
    redo, by one rule: a variable keeps the value it last had in any session of the editor, whatever it is called now,
    and also where a plan had taken it out for a while; one that no session has held yet gets what its plan gave it,
    else what the file holds that was opened, else its initial value.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.square(tf.constant(3.0, name="x"), name="y")
        >>> ed = gs.open(graph)
        >>> for to in ("a", "b"):
        ...     done = ed.apply(ed.plan().copy(ed.select(name=["x", "y"]), to=to))
        >>> event = ed.undo()
        >>> print(ed.history.text(times=False))
        step  what                       +ops  -ops  variables  state
           1  copy 2 ops of graph to a/     2     0          0
           2  copy 2 ops of graph to b/     2     0          0  undone
    """

    def table(self) -> list[dict[str, Any]]:
        """Returns one row for each plan: step, when, what, ops added and removed, variables, seconds, state."""
        return [
            {
                "step": event.number,
                "when": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event.when)),
                "what": event.text,
                "+ops": event.counts.get("added", 0),
                "-ops": event.counts.get("removed", 0),
                "variables": event.counts.get("variables", 0),
                "seconds": round(event.seconds, 3),
                "state": "dropped" if event.dropped else "undone" if event.undone else "",
            }
            for event in self
        ]

    def text(self, times: bool = True) -> str:
        """Returns the table as text; without `times`, it is the same each time a notebook runs."""
        if not self:
            return "no plan was applied yet"
        cells = self._cells(times)
        wide = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
        right = [k not in ("when", "what", "state") for k in cells[0]]
        lines = []
        for row, event in zip(cells, [None, *self], strict=True):
            filled = (cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(row, wide, right, strict=True))
            lines.append("  ".join(filled).rstrip())
            lines += [f"{' ' * wide[0]}  {event.values}"] if event is not None and event.values else []
        return "\n".join(lines)

    def _cells(self, times: bool) -> list[list[str]]:
        rows = self.table()
        keys = [key for key in rows[0] if times or key not in ("when", "seconds")]
        return [keys, *([_cell(key, row[key]) for key in keys] for row in rows)]

    def __repr__(self) -> str:
        return self.text()

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from .view.svg import escape

        if not self:
            return f"<pre>{escape(self.text())}</pre>"
        head, *rows = ([escape(cell) for cell in row] for row in self._cells(True))
        more = f'<tr><td></td><td colspan="{len(head) - 1}">'
        told = [f"{more}{escape(event.values)}</td></tr>" if event.values else "" for event in self]
        cells = ("<tr><td>" + "</td><td>".join(row) + "</td></tr>" for row in rows)
        body = "".join(row + below for row, below in zip(cells, told, strict=True))
        return f"<table><thead><tr><th>{'</th><th>'.join(head)}</th></tr></thead><tbody>{body}</tbody></table>"


def _cell(key: str, value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text if len(text) <= 90 else f"{text[:89]}…"


def late_failure(error: BaseException, plan: Plan, orphans: Sequence[str], graph: Graph) -> PlanError:
    """Returns what to say of a plan that failed after TensorFlow had taken its nodes.

    Args:
        error: why it failed.
        plan: the plan.
        orphans: names of the ops that stay.
        graph: snapshot of the graph with them.
    """
    asked, wrong, instead = "apply(plan)", f"{type(error).__name__}: {error}", ""
    if isinstance(error, SurgeryError):
        asked, wrong, instead = error.asked, error.wrong, f"{error.instead}. "
    count, one = counted(len(orphans), "ops"), len(orphans) == 1
    stay = f"{count}, {orphans[0]!r} first, stay{'s' * one} in {graph.title} as {'an orphan' if one else 'orphans'}"
    scopes = [f"to={free_scope(graph, step.to)!r}" for step in plan.steps if isinstance(step, CopyStep) and step.to]
    again = f"Make the plan again with {', '.join(scopes)}" if scopes else "Make the plan again under a scope"
    return PlanError(
        asked,
        f"{wrong.rstrip('.')}; TensorFlow cannot give back the nodes it had taken by then: {stay}, "
        "and all else is as it was",
        f"{instead}{again}",
    )
