"""Computes the effects of the steps of a plan on a graph, one step after another, from snapshots only."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from ...errors import SurgeryError
from ...graph.concurrency import gc_paused
from ...graph.graph import Graph
from .. import steps
from ..backend import Backend
from ..edit_state import EditState, GraphDelta
from ..fault import Fault
from ..fixes import with_fixes
from ..plan_result import PlanResult
from ..steps import Step
from .condition import resolve_condition
from .copy import copy
from .cycles import refuse_cycles
from .edit import rebuild, rename, set_op_attributes
from .functions import collapse, inline, unroll
from .insert import adapt, insert
from .on_copies import on_copies
from .predicted_state import finalize
from .remove import bypass, remove
from .replace import replace_ops
from .reroute import RefusedStep, connect, control, detach, reroute, reroute_control, swap

#: The resolver of each kind of step. It yields deltas, each of which is added before the next is requested. If a step
#: cannot be done, it yields a delta with a fault, or raises.
RESOLVERS: dict[type, Callable[[Any, EditState], Iterator[GraphDelta]]] = {
    steps.AdaptStep: adapt, steps.BypassStep: bypass, steps.CollapseStep: collapse, steps.ConnectStep: connect,
    steps.ConditionStep: resolve_condition, steps.CopyStep: copy,
    steps.DetachStep: detach, steps.OnCopiesStep: on_copies,
    steps.InlineStep: inline, steps.InsertStep: insert, steps.MutedStep: lambda step, so_far: iter(()),
    steps.ControlStep: control,
    steps.RebuildStep: rebuild, steps.RemoveStep: remove, steps.RenameStep: rename,
    steps.ReplaceStep: replace_ops, steps.RerouteControlStep: reroute_control, steps.RerouteStep: reroute,
    steps.SetStep: set_op_attributes, steps.SwapStep: swap, steps.UnrollStep: unroll,
}  # fmt: skip
#: Steps that need the complete graph after all earlier steps.
BARRIER_STEPS = (
    steps.CollapseStep | steps.ConditionStep | steps.OnCopiesStep | steps.InlineStep | steps.RebuildStep
    | steps.ReplaceStep | steps.UnrollStep
)  # fmt: skip


@gc_paused()
def resolve(base: Graph, steps: tuple[Step, ...], backend: Backend) -> PlanResult:
    """Returns the effect of steps on a graph: the sum of the deltas of the steps.

    Faults are collected and not raised.

    Args:
        base: the graph.
        steps: the steps, in order.
        backend: the TensorFlow functions that the steps may call.
    """
    so_far = EditState(PlanResult(base, steps, base, shape_checker=backend), backend)
    fault_counts: list[int] = []  # how many faults there were after each step
    for so_far.step, step in enumerate(steps):
        if isinstance(step, BARRIER_STEPS):
            so_far.update_names()
            refuse_cycles(so_far, fault_counts)
        before = len(so_far.faults)
        try:
            for delta in RESOLVERS[type(step)](step, so_far):
                so_far.add(delta)
        except RefusedStep as refused:
            so_far.faults += refused.faults
        except SurgeryError as error:
            so_far.faults.append(Fault.from_error(error))
        faults = (with_fixes(so_far.bench, fault, step) for fault in so_far.faults[before:])
        so_far.faults[before:] = [dataclasses.replace(fault, step=so_far.step) for fault in faults]
        fault_counts.append(len(so_far.faults))
    refuse_cycles(so_far, fault_counts)
    effect = so_far.effect()
    unknown = base.unknown_types.union(*(copied.source.unknown_types for copied in effect.copies))
    if unknown != effect.after.unknown_types:
        effect = dataclasses.replace(effect, after=dataclasses.replace(effect.after, unknown_types=unknown))
    return finalize(effect)
