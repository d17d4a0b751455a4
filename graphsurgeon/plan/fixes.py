"""The adapters that would make a tensor fit, as steps that replace a refused step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..graph.boundary import Tensor
from ..graph.graph import TensorInfo
from ..graph.names import free_name
from ..graph.traversal import forward
from .adapters import KINDS, Adapter, AdapterSpec, Dense, data_format_of, proposals
from .fault import Fault, Fix
from .mutable_graph import MutableGraph
from .step_code import request_of
from .steps import AdaptStep, BypassStep, ConnectStep, CopyStep, RerouteStep, Step
from .type_check import base_dtype, is_training_op


def fitting_adapters(
    mutable_graph: MutableGraph, tensor: Tensor, target: TensorInfo, readers: Sequence[int]
) -> tuple[Adapter, ...]:
    """Returns the adapters that make a tensor fit ops of the same graph, the most sensible first.

    There are no adapters between data of a model and tensors of gradients or savers.

    Args:
        mutable_graph: the graph.
        tensor: the tensor that the ops should read.
        target: the tensor that the ops read now.
        readers: the ops; tensors that are computed from these ops never fit.
    """
    source, graph = mutable_graph.info(*tensor), mutable_graph.snapshot()
    if forward(graph, graph.mask(readers))[tensor[0]]:
        return ()
    if source is None or is_training_op(mutable_graph, tensor[0]) != all(
        is_training_op(mutable_graph, op) for op in readers
    ):
        return ()
    layout = data_format_of(graph, readers)
    return _proposals(
        mutable_graph, tensor, source, target, {mutable_graph.outermost_loop(op) for op in readers}, layout
    )


def _proposals(
    graph: MutableGraph, tensor: Tensor, source: TensorInfo, target: TensorInfo, loops: set[int], data_format: str
) -> tuple[Adapter, ...]:
    """Like `fitting_adapters`; no variable is made inside a loop, and no loop is entered without an Enter."""
    adapters, loop = proposals(source, target, data_format), graph.outermost_loop(tensor[0])
    if loops - {loop}:
        return ()
    return adapters if loop < 0 else tuple(one for one in adapters if not any(isinstance(p, Dense) for p in one.parts))


def with_suggested_fixes(
    graph: MutableGraph, fault: Fault, step: Step, old: Tensor, new: Tensor, readers: Sequence[int]
) -> Fault:
    """Returns the fault of a tensor that cannot replace another tensor, with the adapters that make it fit.

    Args:
        graph: the graph.
        fault: the fault.
        step: the step that has the fault.
        old, new: the tensors.
        readers: the ops that should read the new tensor.
    """
    target = graph.info(*old)
    if target is None:
        return fault
    make = _fix_builder(graph, step, (old, new), target, data_format_of(graph.snapshot(), readers))
    return fault if make is None else _with_fixes(fault, step, fitting_adapters(graph, new, target, readers), make)


def with_mapping_fixes(base: MutableGraph, fault: Fault, step: CopyStep, old: str, new: str) -> Fault:
    """Returns the fault of a tensor that cannot feed an input of a copy, with the adapters that make it fit.

    Args:
        base: the destination.
        fault: the fault.
        step: the copy.
        old, new: the tensor of the source, and the tensor that should feed the copy instead.
    """
    if (old, new) not in step.inputs:
        return fault
    graph, source = step.selection.graph, base.tensor(new)
    op, port = graph.tensor(old)
    info, target = base.info(*source), graph.info(op, port)
    readers = graph.consumers.row(op)[graph.consumers.ports(op) == port].tolist()
    readers = [reader for reader in readers if step.selection.mask[reader]]
    if (
        info is None
        or target is None
        or is_training_op(base, source[0]) != all(is_training_op(graph, one) for one in readers)
    ):
        return fault
    name = free_name("adapter", lambda free: base.is_name_used(free) or free == step.to)
    layout = data_format_of(graph, readers)

    def make(adapter: Adapter) -> tuple[Step, ...]:
        fed = tuple((one, f"{name}:0" if one == old else by) for one, by in step.inputs)
        return AdaptStep(new, None, None, name, _adapter_spec(adapter, target, layout)), replace(step, inputs=fed)

    adapters = _proposals(base, source, info, target, {-1}, layout)
    return _with_fixes(fault, step, adapters, make, f", then inputs={{{old!r}: '{name}:0'}}")


def _adapter_spec(adapter: Adapter, target: TensorInfo, layout: str) -> AdapterSpec:
    """Returns the request for an adapter with a result that has no known consumer yet."""
    options = (("data_format", layout),) if layout and any("data_format" in KINDS[by] for by in adapter.kinds) else ()
    return AdapterSpec(adapter.kinds, base_dtype(target.dtype), target.shape, options)


def _fix_builder(
    graph: MutableGraph, step: Step, pair: tuple[Tensor, Tensor], target: TensorInfo, layout: str
) -> Callable[[Adapter], tuple[Step, ...]] | None:
    """Returns a function from an adapter to the steps that replace a step; None if no adapter can be used."""
    there, replacement = map(graph.name, pair)
    match step:
        case ConnectStep():
            return lambda one: (AdaptStep(replacement, step.to, step.input, "", AdapterSpec(one.kinds)),)
        case BypassStep(ops=(_,)):
            return lambda one: (AdaptStep(replacement, there, None, "", AdapterSpec(one.kinds)),)
        case RerouteStep(old=(_,)):
            return lambda one: (
                AdaptStep(replacement, there, None, "", AdapterSpec(one.kinds), step.only, step.exclude),
            )
        case RerouteStep():
            name, ends = free_name("adapter", graph.is_name_used), zip(step.old, step.to, strict=True)
            to = tuple(f"{name}:0" if (old, new) == (there, replacement) else new for old, new in ends)
            return lambda one: (
                AdaptStep(replacement, None, None, name, _adapter_spec(one, target, layout)),
                replace(step, to=to),
            )
    return None


def _with_fixes(
    fault: Fault,
    step: Step,
    adapters: Sequence[Adapter],
    steps_of: Callable[[Adapter], tuple[Step, ...]],
    followup_code: str = "",
) -> Fault:
    fixes = [(one, steps_of(one)) for one in adapters]
    cures = (
        Fix(one.kinds, str(one), f"plan.{request_of(steps[0])}", step, steps, followup_code) for one, steps in fixes
    )
    return replace(fault, fixes=tuple(cures))
