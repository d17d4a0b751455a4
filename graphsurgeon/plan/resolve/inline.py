"""What an inline step does: function calls are replaced by the ops of their functions."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import PlanError
from ...graph.contexts import FLOW_SCOPE
from ...graph.functions import called_by
from ...graph.graph import Graph
from ..copied import Copied
from ..delta import Delta
from ..step_code import request_of
from ..steps import InlineStep
from ..tally import Tally
from .replace_matches import Chosen, region_of, replace_matches
from .rewire import errors_of, ops_of

_IF, _CASE, _WHILE = ("then_branch", "else_branch"), ("branches_0",), ("cond", "body")
#: In which scopes below its name an op that is inlined becomes ops.
_PARTS = {
    kind + what: (FLOW_SCOPE, *parts)
    for what, parts in (("If", _IF), ("Case", _CASE), ("While", _WHILE))
    for kind in ("", "Stateless")
}


def inline(step: InlineStep, so_far: Tally) -> Iterator[Delta]:
    """Takes the calls apart, one by one."""
    request = request_of(step)
    tops = [name for name in step.ops if not any(name.startswith(f"{other}/") for other in step.ops)]
    for name in tops:
        inside = tuple(one[len(name) + 1 :] for one in step.ops if one.startswith(f"{name}/"))
        ((op,),) = ops_of(so_far, request, (name,))
        graph, new = so_far.after, op >= so_far.base.size
        graft = _made_alone(so_far, op) if new else None
        if new and graft is None:
            problem = f"{name!r} is made by this plan, together with other ops"
            raise PlanError(request, problem, f"Apply that step first: ed.apply(plan); ed.plan().inline({name!r})")
        with errors_of(request):
            if graft is None:
                by = so_far.backend.inlined(so_far.base, name, inside)
            else:  # a call that this plan has made: its function is where it was built
                by = so_far.backend.inlined(graft.source, graft.source.names[int(graft.ops[0])], inside)
        region = region_of(graph, op, request, "Leave this call as it is, or use ed.inlined()")
        below = _PARTS.get(graph.types[op], ()) or _leaves(graph, op)
        chosen = Chosen([region], below=below)
        yield from replace_matches(so_far, request, chosen, by, name)
        if so_far.faults:
            return


def _leaves(graph: Graph, op: int) -> tuple[str, ...]:
    """The names of the ops in a called function: the scope of the call may be in use, but not these names."""
    known, node = graph.functions, graph.nodes[op]
    called = called_by(node, known) if node is not None else []
    return tuple(inner.name for one in called if one.function in known for inner in known[one.function].node_def)


def _made_alone(so_far: Tally, op: int) -> Copied | None:
    """The graft that consists of this op alone; None if there are other ops in it, or the op is not from a graft."""
    for copied in so_far.copies:
        if copied.role == "graft" and copied.place[copied.ops].tolist() == [op]:
            return None if copied.stand_ins or copied.variables else copied
    return None
