"""Tried: a plan is run before it is applied, in a copy, and compared with the graph as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import PlanError, SurgeryError
from ..graph.first_difference import FirstDifference
from ..graph.graph import Graph, TensorInfo
from ..graph.names import renamed_end
from ..graph.trace import Trace
from ..graph.variables import PLACEHOLDER_TYPES
from ..plan.effect import Effect
from ..plan.plan import Plan
from ..plan.subject import Subject


@dataclass(frozen=True, eq=False)
class Tried:
    """A plan that was run.

    Args:
        trace: the graph as the plan makes it.
        apart: op of it -> how far its outputs are from those of the op as it is, or of the one that it is a copy of;
            None without a comparison.
        first: the first op whose numbers differ; `other` is the same op after the plan.
    """

    trace: Trace
    apart: Mapping[str, float] | None
    first: FirstDifference | None


def open_ends(graph: Graph) -> dict[str, TensorInfo | None]:
    """Returns the placeholders of a graph that something reads.

    Example:
        >>> g = Graph.of([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Placeholder", [])])
        >>> list(open_ends(g))
        ['x:0']
    """
    read = graph.consumers.degrees > 0
    ops = np.flatnonzero(read & graph.typed(PLACEHOLDER_TYPES)).tolist()
    return {f"{graph.names[op]}:0": graph.stated_info(op, 0) for op in ops}


def attempt(subject: Subject, plan: Plan, given: Mapping[str, Any], how: Mapping[str, Any]) -> Tried:
    """Runs the graph as it is, and as a plan makes it, on the same feeds.

    Args:
        subject: the editor of the graph.
        plan: its plan.
        given: tensor, as it is called after the plan -> array.
        how: `random`, `timeout` and `watch` of a trace.

    Raises:
        PlanError: there is no plan, or it cannot be applied.
    """
    plan = plan.awake()
    if not plan.steps:
        raise PlanError("run(of='plan')", "there is no plan", "Copy or change something first, or run the graph")
    return _compared(subject, subject, plan.effect, plan.after(), given, how, {"plan": plan})


def compared(subject: Subject, given: Mapping[str, Any], how: Mapping[str, Any]) -> Tried:
    """Runs the graph as it was before the last applied plan, and as it is, on the same feeds.

    Args:
        subject: the editor of the graph.
        given: tensor, as it is called now -> array.
        how: `random`, `timeout` and `watch` of a trace.

    Raises:
        PlanError: no plan is applied.
    """
    before = subject.before()
    event = next(event for event in reversed(list(subject.history)) if not event.undone)
    return _compared(before, subject, event.applied.effect, subject.snapshot, given, how, {})


def _compared(
    old: Subject,
    new: Subject,
    effect: Effect,
    after: Graph,
    given: Mapping[str, Any],
    how: Mapping[str, Any],
    more: Mapping[str, Any],
) -> Tried:
    """Runs the graphs before and after; the placeholders of a copy within the graph get the inputs of the original.

    Args:
        old, new: the editors of both.
        effect: of the plan between them.
        after: the graph after it.
        given: tensor, as it is called after it -> array.
        how, more: arguments of both traces, and of the second alone.
    """
    renamed, was = effect.renamed, {now: was for was, now in effect.renamed.items()}
    known = {renamed_end(name, was): value for name, value in given.items()}
    known = {name: value for name, value in known.items() if name.partition(":")[0] in effect.base.index}
    copies = [copied for copied in effect.copies if copied.source.owner is effect.base.owner]
    stands = {f"{p.name}:0": p.was for copied in copies for p in copied.placeholders}
    beside = old is new and not more  # the copies are next to their originals: one run has both
    try:
        reads = sorted({source for name, source in stands.items() if name not in given})
        read = old.trace(known or None, reads, **how).results if reads else {}
        fed = {name: read[source] for name, source in stands.items() if source in read}
        before = old.trace(({**fed, **given} if beside else known) or None, **how)
    except SurgeryError:
        return Tried(new.trace(dict(given) or None, **how, **more), None, None)
    fed |= {renamed_end(name, renamed): value for name, value in before.feeds.items()}
    fed = {name: value for name, value in fed.items() if name.partition(":")[0] in after.index}  # some may be gone
    twins = [dict(zip((c.source.names[i] for i in c.ops.tolist()), c.names, strict=True)) for c in copies]
    ends = [renamed_end(name, renamed) for name in before.results]
    for copied, twin in zip(copies, twins, strict=True):
        ends += [renamed_end(end, twin) for end in copied.step.selection.boundary.outputs]
    ends = [end for end in dict.fromkeys(ends) if end.partition(":")[0] in after.index]
    trace = before if beside else new.trace({**fed, **given} or None, ends or None, **how, **more)
    apart, first = dict[str, float](), None
    kept = {name: name for name in before.graph.names} | dict(renamed)
    for names in (kept, *twins):
        called = {t: renamed_end(t, names) if t.partition(":")[0] in names else "" for t in before}
        apart |= {names[op]: far for op, far in before.differences(trace, called).items()}
        first = first or before.first_difference(trace, names=called)
    return Tried(trace, apart, first)
