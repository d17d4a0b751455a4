"""Refuses the steps of a plan that close a cycle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ...graph.rewiring import TURNING, ops_on_new_cycles
from ...graph.traversal import strong_components
from ..edit_state import AddedEdge, EditState
from ..fault import Fault
from ..mutable_graph import MutableGraph
from ..step_code import request_of


def refuse_cycles(state: EditState, fault_counts: list[int]) -> None:
    """Adds a fault for each step that has closed a cycle, and undoes the edges that the step has set.

    Edges that a later step has already replaced are ignored.

    Args:
        state: the effect of all steps.
        fault_counts: the number of faults after each step.
    """
    bench, faults = state.bench, list[tuple[int, Fault]]()
    links, state.links = state.links, []
    while links := _present(links, bench):
        ring = ops_on_new_cycles(state.after, [(link.op, link.source) for link in links])
        if not ring.any():
            break
        parts = strong_components(state.after, state.after.type_mask(TURNING))
        # If several steps have edges on a cycle, the last of these steps has closed it.
        on = sorted((link for link in links if ring[link.op] and ring[link.source]), key=lambda link: -link.step)
        last = {int(parts[link.op]): link for link in reversed(on)}
        for link in last.values():
            source = bench.names[link.source] if link.input is None else bench.name(bench.source(link.op, link.input))
            problem = f"that makes a cycle: {source!r} is computed from {bench.names[link.op]!r}"
            way = "Choose an op above it" if link.input is None else "Choose a tensor above it"
            faults.append((link.step, Fault(request_of(state.steps[link.step]), problem, way, step=link.step)))
        guilty = {link.step for link in last.values()}
        _remove([link for link in links if link.step in guilty], bench)
        links = [link for link in links if link.step not in guilty]
    for step, fault in sorted(faults, key=lambda found: -found[0]):
        state.faults.insert(fault_counts[step], fault)


def _present(links: Iterable[AddedEdge], graph: MutableGraph) -> list[AddedEdge]:
    """Returns the edges that still exist."""
    waits = {op: set(graph.control_inputs(op)) for op in {link.op for link in links if link.input is None}}
    return [
        link
        for link in links
        if (
            link.source in waits[link.op] if link.input is None else link.source == graph.source(link.op, link.input)[0]
        )
    ]


def _remove(links: Sequence[AddedEdge], graph: MutableGraph) -> None:
    """Removes control edges, and restores the former inputs, the last one first."""
    sources_by_op = defaultdict[int, set[int]](set)
    for link in reversed(links):
        if link.input is None:
            sources_by_op[link.op].add(link.source)
        else:
            graph.set_input(link.op, link.input, link.previous)
    for op, sources in sources_by_op.items():
        graph.set_control_inputs(op, [i for i in graph.control_inputs(op) if i not in sources])
