"""What an adapt step does: it adds ops that make a tensor fit, and connects consumers to their result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...errors import PlanError
from ...graph.boundary import Tensor
from ...graph.graph import TensorInfo, shape_text
from ...graph.names import free_name, name_problem
from ...graph.rewired import Edge
from ...words import one_or_all
from ..adapters import Adapter, asked_for, data_format_of, proposals
from ..backend import Site
from ..delta import Delta
from ..mismatch import bare, fits
from ..step_code import request_of
from ..steps import AdaptStep
from ..tally import Tally
from ..workbench import Workbench
from .connect import input_of
from .graft import grafted
from .insert import waits_in_loop
from .rewire import consumers_of, rewire


def adapt(step: AdaptStep, so_far: Tally) -> Iterator[Delta]:
    """Builds the adapter, and connects its consumers to the result."""
    request, graph = request_of(step), so_far.bench
    source, place = graph.tensor(step.tensor, request), _place(step, graph, request)
    given = graph.info(*source)
    if given is None:
        raise PlanError(request, f"the dtype of {step.tensor!r} is not known yet", "Apply the steps before it first")
    site = Site(_name(step, graph, request), {"x": source}, ("output",))
    build = so_far.backend.adapting(_adapter(step, graph, request, given, place))
    made = grafted(so_far, so_far.backend.built(build, [site], so_far.after, request), [site])
    yield made.delta
    if so_far.faults:
        return
    yield Delta(quiet=waits_in_loop(so_far.after, request, [site], made))
    new = made.outputs[0]["output"]
    if place.old is not None and not so_far.faults:
        yield rewire(so_far, request, [(op, at, new) for op, at, _ in place.edges], [(place.old, new)])


@dataclass(frozen=True)
class _Place:
    """The place of the tensor: the inputs, and what they read now; None if nothing should read it yet."""

    old: Tensor | None = None
    edges: tuple[Edge, ...] = ()


def _place(step: AdaptStep, graph: Workbench, request: str) -> _Place:
    if step.to is None:
        return _Place()
    op = -1 if ":" in step.to else graph.find(step.to, request)
    if op >= 0 and (step.input is not None or graph.row(op)):
        old = input_of(graph, op, step.input or 0, request)
        return _Place(old, ((op, step.input or 0, old),))
    old = graph.tensor(step.to, request)
    readers = consumers_of(graph, old, step.only, step.exclude)
    return _Place(old, tuple((op, at, old) for op, at in readers))


def _adapter(step: AdaptStep, graph: Workbench, request: str, given: TensorInfo, place: _Place) -> Adapter:
    """The adapter; refuses one that cannot make the tensor fit, or that is not needed."""
    read = None if place.old is None else graph.info(*place.old)
    if read is None and (step.wish.dtype is None or step.wish.shape is None) and place.old is not None:
        problem = f"dtype and shape of {graph.name(place.old)!r} are not known"
        raise PlanError(request, problem, "Give the dtype and shape of the result: dtype='float32', shape=[None, 10]")
    wanted = step.wish.wanted(given if read is None else read)
    layout = data_format_of(graph.frozen(), [op for op, _, _ in place.edges])
    found = asked_for(given, wanted, step.wish, layout)
    if found is not None:
        return found
    where = f"{wanted.dtype} {shape_text(wanted.shape)}"
    if not step.wish.by and fits(given, wanted):
        suggestion = "Leave the adapter out, or choose one: by='dense'"
        raise PlanError(request, f"{step.tensor!r} is {given}, which fits {where} as it is", suggestion)
    what = f"{' and '.join(step.wish.by)} cannot" if step.wish.by else "nothing can"
    problem = f"{step.tensor!r} is {bare(given.dtype)} {shape_text(given.shape)}, and {what} make {where} of it"
    others = [one_or_all(one.by) for one in proposals(given, wanted, layout)]
    suggestion = "Give the shape of the result with shape=[...], or choose another tensor"
    raise PlanError(request, problem, f"Choose by={' or by='.join(map(repr, others[:3]))}" if others else suggestion)


def _name(step: AdaptStep, graph: Workbench, request: str) -> str:
    if not step.name:
        return free_name("adapter", graph.taken)
    problem = name_problem(step.name, graph.taken, graph.title)
    if problem is not None:
        raise PlanError(request, *problem)
    return step.name
