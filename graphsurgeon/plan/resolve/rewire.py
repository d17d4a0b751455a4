"""Rewire: sets inputs of ops after all checks; shared by all steps that change existing ops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...errors import PlanError, SelectionError, SurgeryError
from ...graph.boundary import Tensor
from ...graph.graph import Graph
from ...graph.parts import is_array_type
from ...graph.rewired import TURNING, Edge
from ...graph.traversal import met_from
from ..cures import cured
from ..delta import Delta
from ..fault import Fault
from ..mismatch import mismatch
from ..policies import writes
from ..steps import Step
from ..tally import Tally
from ..workbench import Workbench


class Refused(Exception):
    """A step cannot be carried out, for several reasons at once."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(*faults)
        self.faults = faults


@contextmanager
def errors_of(request: str) -> Iterator[None]:
    """Raises errors of a part of a request as errors of the request."""
    try:
        yield
    except SurgeryError as error:
        raise PlanError(request, error.problem, error.suggestion) from None


def ops_of(so_far: Tally, request: str, *groups: Sequence[str]) -> list[list[int]]:
    """Returns the numbers of some groups of ops, given by name.

    Raises:
        Refused: of a group one is not there.
    """
    found, faults = list[list[int]](), list[Fault]()
    for names in groups:
        try:
            found.append([so_far.bench.find(name, request) for name in names])
        except SelectionError as error:
            faults.append(Fault.of(error))
    if faults:
        raise Refused(faults)
    return found


def tensors_of(so_far: Tally, request: str, *groups: Sequence[str]) -> list[list[Tensor]]:
    """Returns some groups of tensors, given by name; raises SelectionError where one is not there."""
    return [[so_far.bench.tensor(name, request) for name in names] for names in groups]


def rewire(
    so_far: Tally,
    request: str,
    edges: Sequence[Edge],
    pairs: Sequence[tuple[Tensor, Tensor]] = (),
    checked: bool = False,
    step: Step | None = None,
    *,
    removes: bool = False,
    excludes: bool = False,
) -> Delta:
    """Returns the delta that sets inputs of ops; its fault if dtypes, shapes or loop frames do not fit.

    Args:
        so_far: what the steps before have done.
        request: the request, for messages.
        edges: the inputs to set.
        pairs: tensors of which the second takes the place of the first.
        checked: it is known that no cycle is closed.
        step: the step that an adapter may take the place of; None: no step.
        removes: whether the request takes ops out of their place.
        excludes: whether the request can leave consumers out, by exclude=.
    """
    bench, fault = so_far.bench, None
    for old, new in pairs:
        readers = [op for op, _, source in edges if source == new]
        fault = mismatch(bench, request, old, new, readers, reroute=removes)
        if fault is not None:
            fault = fault if step is None else cured(bench, fault, step, old, new, readers)
            break
    if fault is None and pairs and not edges:
        fault = Fault(request, "no op reads it, so nothing would change", "Name another tensor, or widen only=")
    fault = fault or next(filter(None, (reference_fault(bench, edge, request, excludes) for edge in edges)), None)
    fault = fault or next(filter(None, (_flow_fault(bench, edge, request) for edge in edges)), None)
    fault = fault or frame_fault(bench, edges, request)
    return Delta(faults=(fault,)) if fault else Delta(edges=edges, checked=checked)


def reference_fault(graph: Workbench, edge: Edge, request: str, excludes: bool = False) -> Fault | None:
    """Returns the fault of an op that changes a variable and would read a tensor that is not a variable."""
    op, at, new = edge
    old = graph.row(op)[at]
    was, now = graph.info(*old), graph.info(*new)
    if at or was is None or not was.dtype.endswith("_ref"):
        return None
    # Of an op that the plan inserts nothing is known yet but its type.
    if now.dtype.endswith("_ref") if now is not None else graph.types[new[0]].startswith("Ref"):
        return None
    if not writes(graph.types[op]):
        return None
    name = graph.names[op]
    return Fault(
        request,
        f"{name!r} changes {graph.names[old[0]]!r}, and {graph.name(new)} is not a variable",
        "Set another input of it, or the input of the consumers of the variable"
        + (f"; of several consumers, leave {name!r} as it is: exclude=[{name!r}]" if excludes else ""),
    )


def _flow_fault(graph: Workbench, edge: Edge, request: str) -> Fault | None:
    """The fault of an op that would use a TensorArray without an order after its writes."""
    op, at, new = edge
    if not is_array_type(graph.types[op]) or at == 0 or at < len(graph.row(op)) - 1:
        return None
    if any(is_array_type(graph.types[one]) for one in met_from([new[0]], lambda one: [i for i, _ in graph.row(one)])):
        return None
    name = graph.names[op]
    problem = f"input {at} of {name!r} orders it after the writes to a TensorArray, and {graph.name(new)!r} does not"
    return Fault(request, problem, f"Leave that input as it is, and rewire the consumers of {name!r}")


def frame_fault(graph: Workbench, edges: Sequence[Edge], request: str) -> Fault | None:
    """Returns the fault of an edge that goes into or out of a ``while_loop`` of TF1 without its Enter or Exit."""
    for op, at, (source, port) in edges:
        if graph.loop(op) < 0 and graph.loop(source) < 0:
            continue
        before = graph.row(op)[at][0]
        if graph.types[before] in TURNING and graph.types[source] not in TURNING:
            turned = graph.input_names(before)[:1]
            return Fault(
                request,
                f"{graph.names[op]!r} takes the result of {graph.names[before]!r} into the next round of the loop, "
                f"and {graph.names[source]!r} is not a NextIteration",
                f"Rewire the input of {graph.names[before]!r}" + (f": {turned[0]!r}" if turned else ""),
            )
        reads, comes = _frames(graph, op, source)
        if reads != comes:
            inside = graph.names[op] if reads >= 0 else f"{graph.names[source]}:{port}"
            return Fault(
                request,
                f"{inside!r} is inside a loop, and the other end of the edge is not" + _another(reads, comes),
                "Rewire the input of an Enter of the loop, or the consumers of an Exit",
            )
    return None


def order_fault(graph: Workbench, edges: Sequence[tuple[int, int]], request: str) -> Fault | None:
    """Returns the fault of a control edge (op, its control input) into or out of a ``while_loop`` of TF1."""
    for op, source in edges:
        reads, comes = _frames(graph, op, source)
        if reads != comes:
            inside, other = (op, source) if reads >= 0 else (source, op)
            return Fault(
                request,
                f"{graph.names[inside]!r} is inside a loop, and {graph.names[other]!r} is not" + _another(reads, comes),
                "Make an Enter of the loop wait, or wait for an Exit of the loop",
            )
    return None


def _frames(graph: Workbench, op: int, source: int) -> tuple[int, int]:
    """The loop in which an op takes its inputs, and that in which another gives its outputs; -1 for none."""
    reads = -1 if graph.types[op] in ("Enter", "RefEnter") else graph.loop(op)
    return reads, -1 if graph.types[source] in ("Exit", "RefExit") else graph.loop(source)


def _another(reads: int, comes: int) -> str:
    return ", but in another one" if reads >= 0 and comes >= 0 else ""


def consumers_of(
    graph: Graph | Workbench, tensor: Tensor, only: Sequence[str] | None = None, exclude: Sequence[str] = ()
) -> list[tuple[int, int]]:
    """Returns (op, input) for each consumer of a tensor."""
    out = graph.readers(tensor)
    if only is None and not exclude:
        return out
    keep, leave = None if only is None else set(only), set(exclude)
    names = graph.names
    return [(op, at) for op, at in out if names[op] not in leave and (keep is None or names[op] in keep)]
