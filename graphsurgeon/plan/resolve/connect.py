"""What a connect step does: one input of one op reads another tensor."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import PlanError
from ...graph.boundary import Tensor
from ...words import counted
from ..cures import cured
from ..delta import Delta
from ..fault import Fault
from ..mismatch import axis_text, bare, both_ways, handle_clash, shapes_differ
from ..step_code import request_of
from ..steps import ConnectStep
from ..tally import Tally
from ..workbench import Workbench
from .rewire import rewire


def connect(step: ConnectStep, so_far: Tally) -> Iterator[Delta]:
    """Sets the input; refuses unknown names, an input that is not there, and dtypes and shapes that differ."""
    graph, request, at = so_far.bench, request_of(step), step.input
    source, op = graph.tensor(step.tensor, request), graph.find(step.to, request)
    reads = input_of(graph, op, at, request)
    new, old, problem = graph.info(*source), graph.info(*reads), incompatibility(graph, op, at, source)
    if problem and new is not None and old is not None:
        suggestion = both_ways(graph.frozen(), old, source, new, [op], reads)
        fault = Fault(request, f"{step.tensor!r} is {new}, but input {at} of {step.to!r} {problem}", suggestion)
        yield Delta(faults=[cured(graph, fault, step, reads, source, [op])])
        return
    clash = handle_clash(graph, reads, source)
    if clash:
        raise PlanError(request, *clash)
    yield rewire(so_far, request, [(op, at, source)])


def input_of(graph: Workbench, op: int, at: int, request: str) -> Tensor:
    """Returns the tensor that an input of an op reads.

    Args:
        graph: the graph.
        op, at: the op, and which of its inputs.
        request: the request, for messages.

    Raises:
        PlanError: the op has no such input.
    """
    row = graph.row(op)
    if not 0 <= at < len(row):
        choices = "Choose input=" + " or ".join(str(i) for i in range(min(len(row), 8)))
        problem = f"op {graph.names[op]!r} ({graph.types[op]}) has no input {at}; it has {counted(len(row), 'inputs')}"
        raise PlanError(request, problem, choices if row else "Choose another op")
    return row[at]


def incompatibility(graph: Workbench, op: int, at: int, tensor: Tensor) -> str:
    """Returns why an input of an op cannot read a tensor, by dtype and shape ("takes int32 ..."); empty if it can.

    Args:
        graph: the graph.
        op, at: the op, and which of its inputs.
        tensor: the tensor that it should read.
    """
    reads = graph.row(op)[at]
    new, old = graph.info(*tensor), graph.info(*reads)
    if new is None or old is None:
        return ""
    if bare(new.dtype) != bare(old.dtype):
        return f"takes {old.dtype} (it reads {graph.name(reads)!r}, {old})"
    if shapes_differ(new.shape, old.shape):
        return f"reads {graph.name(reads)!r}, {old}: {axis_text(new.shape, old.shape)}"
    return ""
