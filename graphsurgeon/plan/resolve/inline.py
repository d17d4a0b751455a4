"""What an inline step does: function calls give way to what they compute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ...errors import PlanError, SurgeryError
from ...graph.contexts import FLOW_SCOPE
from ...graph.functions import called_by
from ...graph.graph import Graph
from ...graph.rewired import cut_out
from ..calls import asked
from ..copied import Copied, now_read
from ..delta import Delta
from ..effect import Effect
from ..steps import InlineStep
from ..tally import Tally
from .exchange import Chosen, exchange, region_of
from .rewire import ops_of

_IF, _CASE, _WHILE = ("then_branch", "else_branch"), ("branches_0",), ("cond", "body")
#: In which scopes below its name an op that is inlined becomes ops.
_PARTS = {
    kind + what: (FLOW_SCOPE, *parts)
    for what, parts in (("If", _IF), ("Case", _CASE), ("While", _WHILE))
    for kind in ("", "Stateless")
}


def inline(step: InlineStep, so_far: Tally) -> Iterator[Delta]:
    """Takes the calls apart, one by one."""
    request = asked(step)
    tops = [name for name in step.ops if not any(name.startswith(f"{other}/") for other in step.ops)]
    for name in tops:
        inside = tuple(one[len(name) + 1 :] for one in step.ops if one.startswith(f"{name}/"))
        ((op,),) = ops_of(so_far, request, (name,))
        graph, new = so_far.after, op >= so_far.base.size
        graft = _made_alone(so_far, op) if new else None
        if new and graft is None:
            wrong = f"{name!r} is made by this plan, together with other ops"
            raise PlanError(request, wrong, f"Apply that step first: ed.apply(plan); ed.plan().inline({name!r})")
        try:
            if graft is None:
                by = so_far.backend.inlined(so_far.base, name, inside)
            else:  # a call that this plan has made: its function is where it was built
                by = so_far.backend.inlined(graft.source, graft.source.names[int(graft.ops[0])], inside)
        except SurgeryError as error:
            raise PlanError(request, error.wrong, error.instead) from None
        region = region_of(graph, op, request, "Leave this call as it is, or use ed.inlined()")
        was = {(c.to, c.input): c.was for c in so_far.connections}
        below = _PARTS.get(graph.types[op], ()) or _leaves(graph, op)
        chosen = Chosen([region], below=below)
        yield from exchange(so_far, request, chosen, by, name)
        if so_far.faults:
            return
        if graft is not None:
            yield Delta(instead=_without(so_far.effect(), graft, was))


def _leaves(graph: Graph, op: int) -> tuple[str, ...]:
    """The names in the function that a call calls: its scope may be in use, as long as none of them is there."""
    known, node = graph.functions, graph.nodes[op]
    called = called_by(node, known) if node is not None else []
    return tuple(inner.name for one in called if one.function in known for inner in known[one.function].node_def)


def _made_alone(so_far: Tally, op: int) -> Copied | None:
    """The graft of which an op is all; None where it came with others, or is not a graft."""
    for copied in so_far.copies:
        if copied.role == "graft" and copied.place[copied.ops].tolist() == [op]:
            return None if copied.stand_ins or copied.variables else copied
    return None


def _without(effect: Effect, graft: Copied, was: Mapping[tuple[str, int], str]) -> Effect:
    """Takes the one op of a graft out, which nothing reads any more: nothing of it is ever made.

    Args:
        effect: what to take it out of.
        graft: the graft, as `_made_alone` gives it.
        was: what inputs read before this step: (op, input) -> tensor.
    """
    graph, op, outputs = effect.after, int(graft.place[graft.ops[0]]), effect.replaced[-1].outputs
    name = graph.names[op]
    return replace(
        effect,
        after=cut_out(graph, [op]),
        copies=tuple(
            replace(c, external=now_read(graph, c), place=np.where(c.place > op, c.place - 1, c.place).astype(np.int32))
            for c in effect.copies
            if c is not graft
        ),
        blame={other: step for other, step in effect.blame.items() if other != name},
        changes={other: change for other, change in effect.changes.items() if other != name},
        edits=tuple(edit for edit in effect.edits if edit[2].partition(":")[0] != name),
        connections=tuple(replace(c, was=was.get((c.to, c.input), c.was)) for c in effect.connections if c.to != name),
        replaced=tuple(
            replace(
                r,
                outputs={old: outputs.get(new, new) for old, new in r.outputs.items()},
                kept=tuple(kept for kept in r.kept if kept != name),
            )
            for r in effect.replaced
        ),
    )
