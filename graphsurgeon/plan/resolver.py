"""Computes the effects of the steps of a plan on a graph, one step after another, from snapshots only."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from ..errors import SurgeryError
from ..graph.concurrency import gc_paused
from ..graph.graph import Graph
from ..graph.rewiring import TURNING, ops_on_new_cycles
from ..graph.traversal import strong_components
from .backend import Backend
from .edit_state import AddedEdge, EditState
from .fault import Fault, RefusedStep
from .mutable_graph import MutableGraph
from .plan_result import PlanResult
from .predicted_state import finalize
from .steps.base import Step
from .steps.insert import with_fixes


@gc_paused()
def resolve(base: Graph, steps: tuple[Step, ...], backend: Backend) -> PlanResult:
    """Returns the effect of steps on a graph: the sum of the changes of the steps.

    Faults are collected and not raised.

    Args:
        base: the graph.
        steps: the steps, in order.
        backend: the TensorFlow functions that the steps may call.
    """
    so_far = EditState(base, steps, backend)
    fault_counts: list[int] = []  # how many faults there were after each step
    for so_far.step, step in enumerate(steps):
        if step.needs_complete_graph:
            _refuse_cycles(so_far, fault_counts)
        before = len(so_far.faults)
        try:
            step.resolve(so_far)
        except RefusedStep as refused:
            so_far.faults += refused.faults
        except SurgeryError as error:
            so_far.faults.append(Fault.from_error(error))
        faults = (with_fixes(so_far.graph, fault, step) for fault in so_far.faults[before:])
        so_far.faults[before:] = [dataclasses.replace(fault, step=so_far.step) for fault in faults]
        fault_counts.append(len(so_far.faults))
    _refuse_cycles(so_far, fault_counts)
    effect = so_far.effect()
    unknown = base.unknown_types.union(*(copied.source.unknown_types for copied in effect.copies))
    if unknown != effect.after.unknown_types:
        effect = dataclasses.replace(effect, after=dataclasses.replace(effect.after, unknown_types=unknown))
    return finalize(effect)


def _refuse_cycles(state: EditState, fault_counts: list[int]) -> None:
    """Adds a fault for each step that has closed a cycle, and undoes the edges that the step has set.

    Edges that a later step has already replaced are ignored.

    Args:
        state: the effect of all steps.
        fault_counts: the number of faults after each step.
    """
    graph, faults = state.graph, list[tuple[int, Fault]]()
    links, state.links = state.links, []
    while links := _present(links, graph):
        ring = ops_on_new_cycles(state.after, [(link.op, link.source) for link in links])
        if not ring.any():
            break
        parts = strong_components(state.after, state.after.type_mask(TURNING))
        # If several steps have edges on a cycle, the last of these steps has closed it.
        on = sorted((link for link in links if ring[link.op] and ring[link.source]), key=lambda link: -link.step)
        last = {int(parts[link.op]): link for link in reversed(on)}
        for link in last.values():
            source = graph.names[link.source] if link.input is None else graph.name(graph.source(link.op, link.input))
            problem = f"that makes a cycle: {source!r} is computed from {graph.names[link.op]!r}"
            way = "Choose an op above it" if link.input is None else "Choose a tensor above it"
            faults.append((link.step, Fault(state.steps[link.step].request, problem, way, step=link.step)))
        guilty = {link.step for link in last.values()}
        _remove([link for link in links if link.step in guilty], graph)
        links = [link for link in links if link.step not in guilty]
    for step, fault in sorted(faults, key=lambda found: -found[0]):
        state.faults.insert(fault_counts[step], fault)


def _present(links: Iterable[AddedEdge], graph: MutableGraph) -> list[AddedEdge]:
    """Returns the edges that still exist."""
    return [
        link
        for link in links
        if (
            graph.waits_for(link.op, link.source)
            if link.input is None
            else link.source == graph.source(link.op, link.input)[0]
        )
    ]


def _remove(links: Sequence[AddedEdge], graph: MutableGraph) -> None:
    """Removes control edges, and restores the former inputs, the last one first."""
    for link in reversed(links):
        if link.input is None:
            graph.change_control_inputs(link.op, [link.source], ())
        elif link.previous[0] not in graph.dropped:
            graph.set_input(link.op, link.input, link.previous)
