"""What a connect step does: one input of one op reads another tensor."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import PlanError
from ...words import counted
from ..delta import Delta
from ..mismatch import axis_text, bare, both_ways, handle_clash, shapes_differ
from ..step_code import asked
from ..steps import ConnectStep
from ..tally import Tally
from .rewire import rewire


def connect(step: ConnectStep, so_far: Tally) -> Iterator[Delta]:
    """Sets the input; refuses unknown names, an input that is not there, and dtypes and shapes that differ."""
    graph, request, at = so_far.bench, asked(step), step.input
    source, op = graph.tensor(step.tensor, request), graph.find(step.to, request)
    inputs = graph.input_names(op)
    if not 0 <= at < len(inputs):
        have = f"it has {counted(len(inputs), 'inputs')}"
        choices = "Choose input=" + " or ".join(str(i) for i in range(min(len(inputs), 8)))
        wrong = f"op {step.to!r} ({graph.types[op]}) has no input {at}; {have}"
        raise PlanError(request, wrong, choices if inputs else "Choose another op")
    reads = graph.row(op)[at]
    new, old = graph.info(*source), graph.info(*reads)
    if new is not None and old is not None:
        wrong = ""
        if bare(new.dtype) != bare(old.dtype):
            wrong = f"takes {old.dtype} (it reads {inputs[at]!r}, {old})"
        elif shapes_differ(new.shape, old.shape):
            wrong = f"reads {inputs[at]!r}, {old}: {axis_text(new.shape, old.shape)}"
        if wrong:
            instead = both_ways(graph.frozen(), old, source, new, [op], reads)
            raise PlanError(request, f"{step.tensor!r} is {new}, but input {at} of {step.to!r} {wrong}", instead)
    clash = handle_clash(graph, reads, source)
    if clash:
        raise PlanError(request, *clash)
    yield rewire(so_far, request, [(op, at, source)])
