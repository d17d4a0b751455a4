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
from ..plan.effect import Effect
from ..plan.plan import Plan
from .subject import Subject

_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")


@dataclass(frozen=True, eq=False)
class Tried:
    """A plan that was run.

    Args:
        trace: the graph as the plan makes it.
        apart: op of it -> how far its outputs are from those of the op as it is, or of the one that it is a copy of;
            None where there was nothing to compare with.
        first: where the numbers first part; `other` is what the plan makes of it.
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
    read = np.diff(graph.consumers.ptr) > 0
    ops = np.flatnonzero(read & graph.typed(_PLACEHOLDERS)).tolist()
    return {f"{graph.names[op]}:0": graph.stated_info(op, 0) for op in ops}


def attempt(subject: Subject, plan: Plan, given: Mapping[str, Any], how: Mapping[str, Any]) -> Tried:
    """Runs the graph as it is, and as a plan makes it, on the same feeds.

    What a copy within the graph is fed by placeholders is what the original reads there.

    Args:
        subject: the editor of the graph.
        plan: its plan.
        given: tensor, as it is called after the plan -> array.
        how: `random`, `timeout` and `watch` of a trace.

    Raises:
        PlanError: there is no plan, or it cannot be applied.
    """
    if not plan.steps:
        raise PlanError("run(of='plan')", "there is no plan", "Copy or change something first, or run the graph")
    effect = plan.effect
    before = _before(subject, effect, given, how)
    if before is None:
        return Tried(subject.trace(given or None, plan=plan, **how), None, None)
    copies = [copied for copied in effect.copies if copied.source.owner is effect.base.owner]
    fed = {_after(effect, name): value for name, value in before.feeds.items()}
    stands = {f"{p.name}:0": p.was for copied in copies for p in copied.placeholders}
    reads = sorted({was for new, was in stands.items() if new not in given})
    if reads:
        read = subject.trace(before.feeds or None, reads, **how).results
        fed |= {new: read[was] for new, was in stands.items() if was in read}
    twins = [dict(zip((c.source.names[i] for i in c.ops.tolist()), c.names, strict=True)) for c in copies]
    ends = [_after(effect, name) for name in before.results]
    for copied, twin in zip(copies, twins, strict=True):
        ends += [renamed_end(end, twin) for end in copied.step.selection.boundary.outputs]
    after = plan.after()
    ends = [end for end in dict.fromkeys(ends) if end.partition(":")[0] in after.index]
    trace = subject.trace({**fed, **given} or None, ends or None, plan=plan, **how)
    apart, first = dict[str, float](), None
    kept = {name: name for name in before.graph.names} | dict(effect.renamed)
    for names in (kept, *twins):
        called = {tensor: renamed_end(tensor, names) for tensor in before if tensor.partition(":")[0] in names}
        found = before.differences(trace, {tensor: called.get(tensor, "") for tensor in before})
        apart |= {names[op]: far for op, far in found.items()}
        first = first or before.first_difference(trace, names={t: called.get(t, "") for t in before})
    return Tried(trace, apart, first)


def _after(effect: Effect, tensor: str) -> str:
    return renamed_end(tensor, effect.renamed)


def _before(subject: Subject, effect: Effect, given: Mapping[str, Any], how: Mapping[str, Any]) -> Trace | None:
    """The graph as it is, run on what it can be fed; None where it cannot be run."""
    old = {new: name for name, new in effect.renamed.items()}
    known = {renamed_end(name, old): value for name, value in given.items()}
    known = {name: value for name, value in known.items() if name.partition(":")[0] in effect.base.index}
    try:
        return subject.trace(known or None, **how)
    except SurgeryError:
        return None
