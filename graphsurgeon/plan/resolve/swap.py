"""What a swap step does: the consumers of two tensors change places."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import PlanError
from ...graph.rewired import Edge
from ..delta import Delta
from ..step_code import request_of
from ..steps import SwapStep
from ..tally import Tally
from .rewire import consumers_of, rewire, tensors_of


def swap(step: SwapStep, so_far: Tally) -> Iterator[Delta]:
    """Sets the inputs of the consumers of both tensors."""
    request = request_of(step)
    pairs = list(zip(*tensors_of(so_far, request, step.a, step.b), strict=True))
    same = [a for a, b in pairs if a == b]
    if same:
        name = so_far.bench.name(same[0])
        raise PlanError(request, f"both are {name!r}, which changes nothing", "Give two tensors: swap('a:0', 'b:0')")
    edges: list[Edge] = []
    for a, b in pairs:
        edges += [(op, at, b) for op, at in consumers_of(so_far.bench, a)]
        edges += [(op, at, a) for op, at in consumers_of(so_far.bench, b)]
    yield rewire(so_far, request, edges, [(a, b) for pair in pairs for a, b in (pair, pair[::-1])])
