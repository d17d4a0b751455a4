"""Cycles: which steps have closed one, looked for once in what all of them have made of the graph."""

from __future__ import annotations

from ...graph.rewired import TURNING, closed_cycle
from ...graph.traversal import strong_components
from ..fault import Fault
from ..step_code import request_of
from ..tally import Tally


def refuse_cycles(so_far: Tally, done: list[int]) -> None:
    """Notes which steps have closed a cycle, and undoes the edges that they have set.

    A later step may already have removed an edge of an earlier one.

    Args:
        so_far: the effect of all steps.
        done: the number of faults after each step.
    """
    bench, faults = so_far.bench, list[tuple[int, Fault]]()
    links, so_far.links = so_far.links, []
    while links := [link for link in links if link.stands(bench)]:
        ring = closed_cycle(so_far.after, [(link.op, link.source) for link in links])
        if not ring.any():
            break
        parts = strong_components(so_far.after, so_far.after.typed(TURNING))
        # Of the steps that have edges on a cycle the last has closed it.
        on = sorted((link for link in links if ring[link.op] and ring[link.source]), key=lambda link: -link.step)
        last = {int(parts[link.op]): link for link in reversed(on)}
        for link in last.values():
            read = bench.names[link.source] if link.at is None else bench.name(bench.row(link.op)[link.at])
            problem = f"that makes a cycle: {read!r} is computed from {bench.names[link.op]!r}"
            way = "Choose an op above it" if link.at is None else "Choose a tensor above it"
            faults.append((link.step, Fault(request_of(so_far.steps[link.step]), problem, way, step=link.step)))
        guilty = {link.step for link in last.values()}
        for link in reversed([link for link in links if link.step in guilty]):
            link.take_back(bench)
        links = [link for link in links if link.step not in guilty]
    for step, fault in sorted(faults, key=lambda found: -found[0]):
        so_far.faults.insert(done[step], fault)
