"""Resolves the steps that remove or bypass ops."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import PlanError, SurgeryError, counted, few
from ...graph.boundary import Tensor, entering_tensors, leaving_tensors
from ...graph.graph import Graph, Mask
from ...graph.rewiring import Edge
from ...graph.traversal import components, forward
from ..edit_state import EditState, GraphDelta
from ..fault import Fault
from ..mutable_graph import MutableGraph
from ..removal import readers_fault
from ..steps.edge_checks import RefusedStep, consumers_of, ops_of, rewire, tensors_of
from ..steps.edit import BypassStep, RemoveStep
from ..steps.insert import is_built_op, without_new_ops
from ..type_check import fits


def bypass(step: BypassStep, state: EditState) -> Iterator[GraphDelta]:
    """Makes the consumers of the ops read a tensor that enters the ops, for each connected part separately."""
    request = step.request
    (numbers,) = ops_of(state, request, step.ops)
    if len(set(numbers)) == 1:
        yield _one(step, state, numbers[0])
        return
    parts = list(_parts(state.after, numbers))
    if len(parts) > 1 and not (step.input is None and step.output is None):
        problem = f"the ops form {len(parts)} unconnected parts, and input= or output= can belong to only one part"
        raise PlanError(request, problem, "Bypass each part in its own step, or leave input= and output= out")
    resolved = bool(state.faults)
    for part in parts:
        try:
            delta = _around(step, state, state.after.mask(part))
        except SurgeryError as error:
            delta = GraphDelta(faults=[Fault.from_error(error)])
        if delta is not None:
            resolved = True
            yield delta
    if not resolved:
        problem = "no op outside reads a tensor that they compute from an entering tensor"
        raise PlanError(request, problem, "Choose the ops between two tensors: ed.select(inputs=..., outputs=...)")


def _one(step: BypassStep, state: EditState, op: int) -> GraphDelta:
    """Bypasses one op: by default, its input 0 replaces its output 0."""
    request, graph, name = step.request, state.bench, state.bench.names[op]
    port = 0 if step.output is None else step.output
    ((old,),) = tensors_of(state, request, [port if isinstance(port, str) else f"{name}:{port}"])
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
    new = graph.source(op, at)
    edges = [(i, at, new) for i, at in consumers_of(graph, old) if i != op]
    return rewire(state, request, edges, [(old, new)], removes=True)


def _around(step: BypassStep, state: EditState, mask: Mask) -> GraphDelta | None:
    """Bypasses one connected part: an entering tensor replaces the leaving tensors; None if there are none."""
    graph = state.after
    enters = entering_tensors(graph, mask)
    rows = graph.data.rows
    first = graph.mask(rows[mask[rows] & ~mask[graph.data.node]].tolist())
    below = forward(graph, first, control=False, within=mask)
    readers = {t: [(i, at) for i, at in consumers_of(graph, t) if not mask[i]] for t in leaving_tensors(graph, mask)
               if below[t[0]]}  # fmt: skip
    leaves = [t for t, those in readers.items() if those]
    output = _named_end(step, state, "output", step.output, leaves)
    leaves = leaves if output is None else [output]
    new = _named_end(step, state, "input", step.input, enters)
    if state.faults or not enters or not leaves:
        return None
    if new is None:
        new = _bypass_input(step, graph, mask, enters, leaves)
    edges = [(i, at, new) for t in leaves for i, at in readers[t]]
    return rewire(state, step.request, edges, [(t, new) for t in leaves], removes=True)


def _named_end(
    step: BypassStep, state: EditState, word: str, end: int | str | None, tensors: list[Tensor]
) -> Tensor | None:
    """Returns the tensor that `input` or `output` gives by name or by its position in `tensors`; None by default."""
    if end is None:
        return None
    if isinstance(end, int):
        tensor = tensors[end] if 0 <= end < len(tensors) else None
    else:
        ((candidate,),) = tensors_of(state, step.request, [end])
        tensor = candidate if candidate in tensors else None
    if tensor is None:
        does = "enter the ops" if word == "input" else "leave the ops on a path from an entering tensor"
        names = [repr(state.bench.name(t)) for t in tensors]
        problem = f"{word}={end!r} is not possible: the tensors that {does} are {few(names, 6) or '(none)'}"
        suggestion = f"Choose one, such as {word}={names[0]}" if names else "Select ops that read and are read"
        raise PlanError(step.request, problem, suggestion)
    return tensor


def _bypass_input(step: BypassStep, graph: Graph, mask: Mask, entering: list[Tensor], leaving: list[Tensor]) -> Tensor:
    """Returns the only entering tensor that leads to all leaving tensors and fits them; refuses any other number."""
    if len(entering) == len(leaving) == 1:
        return entering[0]  # a tensor that does not fit gets a fault later
    candidates = [
        t for t in entering if all(fits_for(graph, t, out) for out in leaving) and _reaches(graph, mask, t, leaving)
    ]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        names = few([graph.name(t) for t in candidates], 6)
        problem = f"{counted(len(candidates), 'entering tensors')} could be read instead: {names}"
        raise PlanError(step.request, problem, f"Choose one: input={graph.name(candidates[0])!r}")
    sides = [few([_tensor_text(graph, t) for t in side], 4) for side in (entering, leaving)]
    problem = f"no entering tensor can replace all leaving tensors: {sides[0]} against {sides[1]}"
    pairs = [
        (t, out) for t in entering for out in leaving if fits_for(graph, t, out) and _reaches(graph, mask, t, [out])
    ]
    way = f"input={graph.name(pairs[0][0])!r}, output={graph.name(pairs[0][1])!r}" if pairs else ""
    raise PlanError(step.request, problem, f"Choose the tensors: {way}" if way else "Select ops that keep the shape")


def way_through(graph: Graph, mask: Mask, leaving: Tensor) -> Tensor | None:
    """Returns the only tensor that enters some ops, leads to a leaving tensor, and fits it; None if not exactly one."""
    candidates = [
        t for t in entering_tensors(graph, mask) if fits_for(graph, t, leaving) and _reaches(graph, mask, t, [leaving])
    ]
    return candidates[0] if len(candidates) == 1 else None


def _parts(graph: Graph, numbers: list[int]) -> Iterator[list[int]]:
    """Yields the parts of the ops that data edges connect, each in graph order."""
    outside = ~graph.mask(numbers)
    label = components(graph, outside, outside, control=False)
    parts: dict[int, list[int]] = {}
    for op in sorted(set(numbers)):
        parts.setdefault(int(label[op]), []).append(op)
    yield from parts.values()


def fits_for(graph: Graph | MutableGraph, new: Tensor, old: Tensor) -> bool:
    """Returns whether a tensor can take the place of another, as far as dtypes and shapes are known."""
    a, b = graph.info(*new), graph.info(*old)
    return a is None or b is None or fits(a, b)


def _reaches(graph: Graph, mask: Mask, start: Tensor, ends: list[Tensor]) -> bool:
    readers = graph.mask(op for op, _ in consumers_of(graph, start) if mask[op])
    below = forward(graph, readers, control=False, within=mask)
    return all(below[op] for op, _ in ends)


def _tensor_text(graph: Graph, tensor: Tensor) -> str:
    info = graph.info(*tensor)
    return graph.name(tensor) + (f" {info}" if info is not None else "")


def remove(step: RemoveStep, state: EditState) -> Iterator[GraphDelta]:
    """Marks the ops to remove; they are removed after all steps."""
    request = step.request
    (numbers,) = ops_of(state, request, step.ops)
    late = [i for i in numbers if i >= state.base.size]
    others = [i for i in late if not is_built_op(state, i)]
    if others:
        name = state.bench.names[others[0]]
        raise PlanError(request, f"{name!r} is made by this plan", "Delete the step that makes it instead")
    pairs: dict[Tensor, Tensor] = {}
    if step.stitch:
        yield _stitch(state, request, set(numbers), pairs)
    yield GraphDelta(removed=frozenset(i for i in numbers if i < state.base.size), needs_new_graph=True)
    if not late or state.faults:
        return
    graph = state.after
    removed = graph.mask(late)
    fault = readers_fault(graph, removed | graph.mask(state.removed), request)
    if fault is not None:
        raise RefusedStep([fault])
    new_tensors = {graph.name(old): graph.name(new) for old, new in pairs.items()}
    yield GraphDelta(effect=without_new_ops(state.effect(), late, new_tensors, {}))


def _stitch(state: EditState, request: str, removed: set[int], pairs: dict[Tensor, Tensor]) -> GraphDelta:
    """Connects the consumers of output 0 of each removed op to the next remaining tensor above it.

    The path above an op follows first inputs. If that tensor does not fit and several ops are removed, another tensor
    is used: the only tensor that enters the ops, leads to the output and fits. An example is a dropout with a mask as
    its first input. The pairs (old tensor, new tensor) are added to `pairs`.
    """
    graph = state.bench
    edges: list[Edge] = []
    for gap in sorted(removed):
        readers = [(op, at) for op, at in graph.consumers_of((gap, 0)) if op not in removed]
        new = _above(graph, (gap, 0), removed) if readers else None
        if readers and len(removed) > 1 and (new is None or not fits_for(graph, new, (gap, 0))):
            new = way_through(graph.snapshot(), graph.snapshot().mask(removed), (gap, 0)) or new
        if new is not None:  # otherwise `readers_fault` reports the consumer
            pairs[gap, 0] = new
            edges += [(op, at, new) for op, at in readers]
    return rewire(state, request, edges, list(pairs.items()), removes=True)


def _above(graph: MutableGraph, tensor: Tensor, removed: set[int]) -> Tensor | None:
    steps = 0
    while tensor[0] in removed:
        reads = graph.inputs(tensor[0])
        steps += 1
        if not reads or steps > len(removed) or tensor[1]:
            return None
        tensor = reads[0]
    return tensor
