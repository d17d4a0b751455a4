"""What a reroute step does: the consumers of tensors read others."""

from __future__ import annotations

from collections.abc import Iterator

from ...graph.rewired import Edge
from ..delta import Delta
from ..step_code import request_of
from ..steps import RerouteStep
from ..tally import Tally
from .rewire import consumers_of, rewire, tensors_of


def reroute(step: RerouteStep, so_far: Tally) -> Iterator[Delta]:
    """Sets the inputs of the consumers; all of them at once, so that tensors may change places."""
    request = request_of(step)
    pairs = list(zip(*tensors_of(so_far, request, step.old, step.to), strict=True))
    edges: list[Edge] = []
    for old, new in pairs:
        edges += [(op, at, new) for op, at in consumers_of(so_far.bench, old, step.only, step.exclude)]
    yield rewire(so_far, request, edges, pairs, step=step, excludes=True)
