"""What an insert step does: new ops on the edges between tensors and their consumers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...errors import PlanError
from ...graph.contexts import ENTERS
from ...graph.frames import ROOT, Frames
from ...graph.graph import Graph
from ...graph.names import name_problem
from ...graph.variables import VARIABLE_TYPES
from ..backend import Site
from ..delta import Delta
from ..effect import NewNode
from ..step_code import request_of
from ..steps import InsertStep
from ..tally import Tally
from .graft import Grafted, grafted
from .rewire import consumers_of, rewire, tensors_of


def insert(step: InsertStep, so_far: Tally) -> Iterator[Delta]:
    """Adds the ops and connects the consumers to them."""
    request, graph = request_of(step), so_far.bench
    (tensors,) = tensors_of(so_far, request, step.on)
    names = _names(step, so_far)
    edges = [consumers_of(graph, tensor, step.only, step.exclude) for tensor in tensors]
    if isinstance(step.op, str):
        for name, tensor, readers in zip(names, tensors, edges, strict=True):
            new = graph.size, 0
            yield Delta(nodes=[NewNode(name, step.op, (tensor,), dict(step.attributes), None, so_far.info(tensor))])
            yield rewire(so_far, request, [(op, at, new) for op, at in readers], excludes=True)
        return
    sites = [Site(name, {"x": tensor}, ("output",)) for name, tensor in zip(names, tensors, strict=True)]
    made = grafted(so_far, so_far.backend.built(step.op, sites, so_far.after, request), sites)
    yield made.delta
    if not so_far.faults:
        yield Delta(quiet=waits_in_loop(so_far.after, request, sites, made))
    for tensor, readers, ends in zip(tensors, edges, made.outputs, strict=True) if not so_far.faults else ():
        new = ends["output"]
        edges_to_new = [(op, at, new) for op, at in readers]
        yield rewire(so_far, request, edges_to_new, [(tensor, new)], excludes=True)


def waits_in_loop(graph: Graph, request: str, sites: Sequence[Site], made: Grafted) -> dict[int, list[int]]:
    """Returns control inputs for new ops without inputs, if a tensor is in a loop of TF1: only so they run in it.

    Args:
        graph: with the new ops.
        request: the request, for messages.
        sites, made: the places, and the new ops on them.

    Raises:
        PlanError: a variable would be made in the loop.
    """
    if not graph.typed(ENTERS).any():
        return {}
    frames, out = Frames(graph), dict[int, list[int]]()
    for site, names in zip(sites, made.names, strict=True):
        (tensor,) = site.inputs.values()
        for op in [graph.index[name] for name in names] if frames.of(tensor[0]) != ROOT else ():
            if graph.types[op] in VARIABLE_TYPES:
                problem = f"{graph.names[op]!r} would be a variable inside a loop"
                raise PlanError(request, problem, "Make it outside, or insert on a tensor outside of the loop")
            if not len(graph.data.row(op)) and not len(graph.control.row(op)):
                out[op] = [tensor[0]]
    return out


def _names(step: InsertStep, so_far: Tally) -> list[str]:
    """A name for each new op; refuses one that is taken."""
    graph = so_far.bench
    names = [step.name] if isinstance(step.name, str) else list(step.name)
    n = 0
    while isinstance(step.name, str) and len(names) < len(step.on):
        n += 1
        if not graph.taken(f"{step.name}_{n}"):
            names.append(f"{step.name}_{n}")
    given: set[str] = set()
    for name in names:
        problem = name_problem(name, lambda one: graph.taken(one) or one.lower() in given, graph.title)
        if problem is not None:
            raise PlanError(request_of(step), *problem)
        given.add(name.lower())
    return names
