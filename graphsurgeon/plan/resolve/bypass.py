"""What a bypass step does: the consumers of ops read the inputs of these ops instead."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import PlanError, SurgeryError
from ...graph.boundary import Tensor, entering, leaving
from ...graph.graph import Graph, Mask
from ...graph.traversal import components, forward
from ...words import counted, few
from ..delta import Delta
from ..fault import Fault
from ..mismatch import fits
from ..step_code import request_of
from ..steps import BypassStep
from ..tally import Tally
from ..workbench import Workbench
from .rewire import consumers_of, ops_of, rewire, tensors_of


def bypass(step: BypassStep, so_far: Tally) -> Iterator[Delta]:
    """Sets the inputs of the consumers of the ops, for each connected part of the ops by itself."""
    request = request_of(step)
    (numbers,) = ops_of(so_far, request, step.ops)
    if len(set(numbers)) == 1:
        yield _one(step, so_far, numbers[0])
        return
    parts = list(_parts(so_far.after, numbers))
    if len(parts) > 1 and not (step.input is None and step.output is None):
        problem = f"the ops are {len(parts)} parts that are not connected, and input= or output= is of one part"
        raise PlanError(request, problem, "Bypass each part by itself, or leave input= and output= out")
    done = bool(so_far.faults)
    for part in parts:
        try:
            delta = _around(step, so_far, so_far.after.mask(part))
        except SurgeryError as error:
            delta = Delta(faults=[Fault.of(error)])
        if delta is not None:
            done = True
            yield delta
    if not done:
        problem = "no op outside reads a tensor that they compute from an entering tensor"
        raise PlanError(request, problem, "Choose the ops between two tensors: ed.select(inputs=..., outputs=...)")


def _one(step: BypassStep, so_far: Tally, op: int) -> Delta:
    """One op: by default, its input 0 for its output 0."""
    request, graph, name = request_of(step), so_far.bench, so_far.bench.names[op]
    port = 0 if step.output is None else step.output
    ((old,),) = tensors_of(so_far, request, [port if isinstance(port, str) else f"{name}:{port}"])
    if old[0] != op:
        raise PlanError(
            request, f"{step.output!r} is not an output of {name!r}", f"Choose one, such as output='{name}:0'"
        )
    reads = graph.input_names(op)
    at = 0 if step.input is None else step.input
    if isinstance(at, str):
        whole = at if ":" in at else f"{at}:0"
        at = reads.index(whole) if whole in reads else -1
    if not 0 <= at < len(reads):
        have = f"it has {counted(len(reads), 'inputs')}" + f": {few(reads)}" * bool(reads)
        problem = f"op {name!r} has no input {0 if step.input is None else step.input}; {have}"
        raise PlanError(request, problem, "Choose another input=")
    new = graph.row(op)[at]
    edges = [(i, at, new) for i, at in consumers_of(graph, old) if i != op]
    return rewire(so_far, request, edges, [(old, new)], step=step, removes=True)


def _around(step: BypassStep, so_far: Tally, mask: Mask) -> Delta | None:
    """One connected part: what enters takes the place of what leaves; None if there is nothing to do."""
    graph = so_far.after
    enters = entering(graph, mask)
    rows = graph.data.rows
    first = graph.mask(rows[mask[rows] & ~mask[graph.data.node]].tolist())
    below = forward(graph, first, control=False, within=mask)
    readers = {t: [(i, at) for i, at in consumers_of(graph, t) if not mask[i]] for t in leaving(graph, mask)
               if below[t[0]]}  # fmt: skip
    leaves = [t for t, those in readers.items() if those]
    chosen = _named(step, so_far, "output", step.output, leaves)
    leaves = leaves if chosen is None else [chosen]
    new = _named(step, so_far, "input", step.input, enters)
    if so_far.faults or not enters or not leaves:
        return None
    if new is None:
        new = _chosen(step, graph, mask, enters, leaves)
    edges = [(i, at, new) for t in leaves for i, at in readers[t]]
    return rewire(so_far, request_of(step), edges, [(t, new) for t in leaves], removes=True)


def _named(step: BypassStep, so_far: Tally, word: str, wish: int | str | None, there: list[Tensor]) -> Tensor | None:
    """The tensor that `input` or `output` names, by number among those there are, or by name."""
    if wish is None:
        return None
    if isinstance(wish, int):
        found = there[wish] if 0 <= wish < len(there) else None
    else:
        ((named,),) = tensors_of(so_far, request_of(step), [wish])
        found = named if named in there else None
    if found is None:
        does = "enter the ops" if word == "input" else "leave the ops on a path from an entering tensor"
        names = [repr(so_far.bench.name(t)) for t in there]
        problem = f"{word}={wish!r} is not possible: the tensors that {does} are {few(names, 6) or '(none)'}"
        suggestion = f"Choose one, such as {word}={names[0]}" if names else "Select ops that read and are read"
        raise PlanError(request_of(step), problem, suggestion)
    return found


def _chosen(step: BypassStep, graph: Graph, mask: Mask, enters: list[Tensor], leaves: list[Tensor]) -> Tensor:
    """The only tensor that leads to all tensors that leave and is like them; refuses if that is not clear."""
    if len(enters) == len(leaves) == 1:
        return enters[0]  # a tensor that does not fit gets a fault later
    found = [t for t in enters if all(fits_for(graph, t, out) for out in leaves) and _leads(graph, mask, t, leaves)]
    if len(found) == 1:
        return found[0]
    if found:
        known = few([graph.name(t) for t in found], 6)
        problem = f"{counted(len(found), 'tensors')} enter that could be read instead: {known}"
        raise PlanError(request_of(step), problem, f"Choose one: input={graph.name(found[0])!r}")
    sides = [few([_said(graph, t) for t in side], 4) for side in (enters, leaves)]
    problem = f"no tensor that enters can take the place of all that leave: {sides[0]} against {sides[1]}"
    pairs = [(t, out) for t in enters for out in leaves if fits_for(graph, t, out) and _leads(graph, mask, t, [out])]
    way = f"input={graph.name(pairs[0][0])!r}, output={graph.name(pairs[0][1])!r}" if pairs else ""
    raise PlanError(
        request_of(step), problem, f"Choose the tensors: {way}" if way else "Select ops that keep the shape"
    )


def way_through(graph: Graph, mask: Mask, leaves: Tensor) -> Tensor | None:
    """Returns the only tensor that enters some ops, is like one that leaves them, and leads to it; None without one."""
    found = [t for t in entering(graph, mask) if fits_for(graph, t, leaves) and _leads(graph, mask, t, [leaves])]
    return found[0] if len(found) == 1 else None


def _parts(graph: Graph, numbers: list[int]) -> Iterator[list[int]]:
    """The ops in parts that no data edge joins, in graph order."""
    outside = ~graph.mask(numbers)
    label = components(graph, outside, outside, control=False)
    parts: dict[int, list[int]] = {}
    for op in sorted(set(numbers)):
        parts.setdefault(int(label[op]), []).append(op)
    yield from parts.values()


def fits_for(graph: Graph | Workbench, new: Tensor, old: Tensor) -> bool:
    """Returns whether a tensor can take the place of another, as far as dtypes and shapes are known."""
    a, b = graph.info(*new), graph.info(*old)
    return a is None or b is None or fits(a, b)


def _leads(graph: Graph, mask: Mask, start: Tensor, ends: list[Tensor]) -> bool:
    readers = graph.mask(op for op, _ in consumers_of(graph, start) if mask[op])
    below = forward(graph, readers, control=False, within=mask)
    return all(below[op] for op, _ in ends)


def _said(graph: Graph, tensor: Tensor) -> str:
    info = graph.info(*tensor)
    return graph.name(tensor) + (f" {info}" if info is not None else "")
