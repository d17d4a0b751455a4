"""What add_control, remove_control and reroute_control steps do."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import PlanError
from ...words import few
from ..delta import Delta
from ..step_code import request_of
from ..steps import OrderStep, RerouteOrderStep
from ..tally import Tally
from .rewire import ops_of, order_fault


def order(step: OrderStep, so_far: Tally) -> Iterator[Delta]:
    """Sets the control inputs of an op."""
    request, graph = request_of(step), so_far.bench
    (op,), others = ops_of(so_far, request, (step.op,), step.others or ())
    have = graph.waits(op)
    if not step.remove:
        fault = order_fault(graph, [(op, i) for i in others], request)
        yield Delta(faults=[fault]) if fault else Delta(waits={op: list(dict.fromkeys([*have, *others]))})
        return
    leave = have if step.others is None else others
    missing = [graph.names[i] for i in leave if i not in have]
    if missing:
        now = ", ".join(repr(graph.names[i]) for i in have) or "nothing"
        raise PlanError(request, f"{step.op!r} does not wait for {missing[0]!r}", f"It waits for {now}")
    yield Delta(waits={op: [i for i in have if i not in leave]})


def reroute_order(step: RerouteOrderStep, so_far: Tally) -> Iterator[Delta]:
    """Sets the control inputs of the ops that wait for an op."""
    request, graph = request_of(step), so_far.bench
    (old,), new = ops_of(so_far, request, (step.old,), step.to)
    waiting = graph.waiting(old)
    keep = None if step.only is None else set(step.only)
    ops = [i for i in waiting if graph.names[i] not in step.exclude and (keep is None or graph.names[i] in keep)]
    if not ops:
        now = few([repr(graph.names[i]) for i in waiting], 6) or "nothing"
        raise PlanError(request, f"no chosen op waits for {step.old!r}", f"Its waiting ops: {now}")
    fault = order_fault(graph, [(op, i) for op in ops for i in new], request)
    rest = {op: [i for i in graph.waits(op) if i != old] for op in ops}
    waits = {op: list(dict.fromkeys([*others, *new])) for op, others in rest.items()}
    yield Delta(faults=[fault]) if fault else Delta(waits=waits)
