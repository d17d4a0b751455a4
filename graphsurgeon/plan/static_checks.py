"""The faults that a plan can have, each with its message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import PlanError, SelectionError, counted, did_you_mean, few
from ..graph.control_flow import context_fault
from ..graph.graph import Graph, Mask, TensorInfo
from ..graph.names import free_name, invalid_name_fault, join_scope, name_problem, valid_name
from ..graph.op_packages import refuse_unknown
from .edge_checks import mapping_mismatch
from .fault import Fault
from .mutable_graph import MutableGraph
from .plan_result import PlanResult
from .steps.copy import CopyStep
from .type_check import base_dtype, fits, fitting_text

#: Ops that find their partners by a key, which is unique in a process or in several processes.
_RENDEZVOUS_TYPES = ("_Send", "_Recv", "_HostSend", "_HostRecv", "Send", "Recv", "Collective", "XlaSend", "XlaRecv")
#: Ops that `tf.custom_gradient` leaves in a graph.
_CUSTOM = ("IdentityN", "PartitionedCall", "StatefulPartitionedCall")


def attributes(graph: Graph, mask: Mask, name: str, types: tuple[str, ...] = ()) -> Iterator[tuple[int, Any]]:
    """Yields (op number, value) for the ops of `mask` that have an attribute; `types` limits the op types.

    Without `types`, only one op of each type is tried first: all ops of a type have an attribute, or no op has it.
    """
    kinds, first, kind_of = graph.type_index
    able = [k for k, at in enumerate(first.tolist()) if kinds[k] in types] if types else []
    if not types:
        able = [k for k, at in enumerate(first.tolist()) if name in getattr(graph.nodes[at], "attr", ())]
    for i in np.flatnonzero(mask & np.isin(kind_of, able)).tolist() if able else ():
        attrs = getattr(graph.nodes[i], "attr", {})
        if name in attrs:
            yield i, attrs[name]


def preflight_faults(step: CopyStep, mask: Mask, base: Graph, same_graph: bool) -> list[Fault]:
    """Returns the faults of attributes of copied ops: a rendezvous key or a shared name that is already in use."""
    graph, request, out = step.selection.graph, f"copy(to={step.to!r})", []
    if step.to or same_graph:
        meeting = graph.type_mask(kind for kind in graph.type_index[0] if kind.startswith(_RENDEZVOUS_TYPES))
        hit = np.flatnonzero(mask & meeting).tolist()
        if hit:
            which = f"{graph.names[hit[0]]!r} ({graph.types[hit[0]]})"
            problem = f"{which} and its copy would use the same rendezvous key"
            out.append(
                Fault(
                    request, problem, "Leave it out: cut before it, and map the tensor that it receives in inputs={...}"
                )
            )
    if step.to and step.reuse is None and step.names is None:
        keys = {join_scope(step.to, key) for _, key in _texts(graph, mask, "shared_name")}
        everywhere = np.ones(base.size, np.bool_)
        texts = _texts(base, everywhere, "shared_name") if keys else ()
        clash = [(i, key) for i, key in texts if key in keys]
        if clash:
            name, key = base.names[clash[0][0]], clash[0][1]
            problem = (
                f"{name!r} of {base.title} keeps its state under the shared name {key!r}, which the copy would have too"
            )
            out.append(Fault(request, problem, f"Choose another scope: to={step.to + '_copy'!r}"))
    return out


def _texts(graph: Graph, mask: Mask, name: str, types: tuple[str, ...] = ()) -> Iterator[tuple[int, str]]:
    """Yields the same as `attributes` for a text attribute."""
    return ((i, value.s.decode("utf-8", "replace")) for i, value in attributes(graph, mask, name, types))


def custom_gradients(graph: Graph, mask: Mask) -> dict[int, str]:
    """Returns op number -> the name of its gradient, for ops left by `tf.custom_gradient`."""
    gradients = _texts(graph, mask, "_gradient_op_type", _CUSTOM)
    return {i: name for i, name in gradients if name.startswith("CustomGradient-")}


def seed_ops(graph: Graph, mask: Mask) -> list[str]:
    """Returns the names of random ops with a seed, except for ops that make the initial value of a variable."""
    leads = tuple(name + "/" for name in graph.state.variables)
    out = []
    for i, second in attributes(graph, mask, "seed2"):
        attrs = graph.nodes[i].attr
        if (second.i or ("seed" in attrs and attrs["seed"].i)) and not graph.names[i].startswith(leads):
            out.append(graph.names[i])
    return out


def far_devices(graph: Graph, mask: Mask, devices: set[str]) -> list[tuple[str, str]]:
    """Returns (op, other op) for each op that is colocated with an op that is neither copied nor mapped."""
    ops, others, names = graph.colocations
    far = np.flatnonzero(mask[ops] & ~((others >= 0) & mask[others])).tolist() if names else []
    return [(graph.names[ops[k]], names[k]) for k in far if names[k] not in devices]


def explicit_name_faults(step: CopyStep, base: MutableGraph) -> list[Fault]:
    """Returns the faults of the scope and the new names of a copy that TensorFlow refuses.

    Kept names are not checked.
    """
    names = step.names or {}
    if step.to and not valid_name(step.to):
        return [Fault(step.request, *invalid_name_fault(step.to, "a name scope", base.is_name_used))]
    bad = next((new for new in names.values() if not valid_name(new, empty_parts=True)), None)
    problem = None if bad is None else invalid_name_fault(bad, "a name of an op", base.is_name_used)
    return [Fault(f"copy(to={step.to!r}, names=...)", *problem)] if problem else []


def namespace_faults(step: CopyStep, base: MutableGraph) -> list[Fault]:
    """Returns the faults of the scope that a copy is made under; if names are given, see `name_faults`."""
    problem = None if step.names is not None else _namespace_fault(step, base)
    return [Fault(step.request, *problem)] if problem else []


def _namespace_fault(step: CopyStep, base: MutableGraph) -> tuple[str, str] | None:
    if step.reuse is not None:
        clash = [n for n in step.selection.names if n not in step.reuse and join_scope(step.to, n) in base.index]
        problem = (
            f"{join_scope(step.to, clash[0])!r} is there already and is not a copy of {clash[0]!r}" if clash else ""
        )
        return (problem, "Choose another namespace") if clash else None
    if not step.to:
        clash = [n for n in step.selection.names if base.is_name_used(n)]
        problem = f"{len(clash)} of the names are taken in {base.title}, {clash[0]!r} first" if clash else ""
        return (problem, f"Copy under a scope: to={free_name('copy', base.is_name_used)!r} is free") if clash else None
    return name_problem(step.to, base.is_name_used, base.title, what="a name scope", key="to")


def name_faults(step: CopyStep, base: MutableGraph, names: Sequence[str]) -> list[Fault]:
    """Returns the faults of the names of single copied ops: a name is taken in the destination or given twice."""
    new_names: set[str] = set()
    for name in names:
        problem = f"the name {name!r} is taken in {base.title}" if name in base.index else ""
        problem = problem or (f"the name {name!r} is given to two ops" if name in new_names else "")
        if problem:
            suggestion = "Give each op its own free name"
            if not step.to and name in base.index and name not in (step.names or {}).values():
                problem = f"{name!r} is part of a loop, cond or variable whose ops cannot be renamed one by one"
                suggestion = "Rename the scope that contains all of it, or keep the names"
            return [Fault(f"copy(to={step.to!r}, names=...)", problem, suggestion)]
        new_names.add(name)
    return []


def selection_faults(step: CopyStep, same_graph: bool) -> list[Fault]:
    """Returns the faults of a copy that can be found without the destination.

    Args:
        step: the step.
        same_graph: whether source and destination are the same graph.
    """
    out, graph = [], step.selection.graph
    if not len(step.selection):
        out.append(Fault(step.request, "the selection is empty", "Select at least one op"))
    suggestions = {"unmapped": "Give the replacements in inputs={...}, or choose unmapped='placeholder' or 'include'",
               "control": "Choose control='drop' or control='include'"}  # fmt: skip
    for what, how in suggestions.items():
        if not same_graph and getattr(step, what) == "keep":
            problem = f"{what}='keep' would read tensors of {graph.title} from another graph"
            out.append(Fault(step.request, problem, how))
    if not same_graph and any(policy == "share" for _, policy in step.variables):
        problem = "variables='share' is possible only within one graph"
        out.append(Fault(step.request, problem, "Choose variables='copy' or 'initial'"))
    if not out:
        cuts = [] if step.unmapped == "include" else list(step.selection.inputs)
        cuts += [graph.tensor(old) for old, _ in step.inputs if old.partition(":")[0] in graph.index]
        context_problem = context_fault(graph, step.selection.mask, cuts)
        out += [Fault(step.request, *context_problem)] if context_problem else []
    return out


def unmapped_fault(step: CopyStep, same_graph: bool, tensors: Sequence[str]) -> Fault:
    """Returns the fault of tensors that a copy needs and that are not mapped."""
    are = "are" if len(tensors) > 1 else "is"
    return Fault(
        step.request,
        f"the copy needs {counted(len(tensors), 'tensors')} that {are} not mapped: {few(map(repr, tensors), 4)}",
        f"Map it: inputs={{{tensors[0]!r}: 'name:0'}}, or choose unmapped='placeholder', 'include'"
        + (" or 'keep'" if same_graph else ""),
    )


def unused_fault(step: CopyStep, tensor: str) -> Fault:
    """Returns the fault of a mapped tensor that does not enter the selection."""
    entering = list(step.selection.boundary.inputs)
    candidates = (
        f"The entering tensors are {few(map(repr, entering), 6)}" if entering else "No tensor enters this selection"
    )
    hint = did_you_mean(tensor, entering, candidates)
    return Fault(step.request, f"inputs names {tensor!r}, which does not enter the selection", hint)


def control_fault(step: CopyStep, edges: Sequence[tuple[str, str]]) -> Fault:
    """Returns the fault of control edges (inside, outside) that enter a selection."""
    inside, outside = edges[0]
    more = f" ({len(edges)} such edges)" if len(edges) > 1 else ""
    return Fault(
        step.request,
        f"{inside!r} must run after {outside!r}, which is not copied{more}",
        "Choose control='drop' to copy without that order, or control='include' to copy it too",
    )


def mapping_faults(step: CopyStep, base: MutableGraph) -> tuple[dict[tuple[int, int], tuple[str, int]], list[Fault]]:
    """Returns ``inputs={...}`` as source tensor -> destination tensor, and the faults of its names and dtypes."""
    mapping, faults = {}, []
    graph = step.selection.graph
    for old, new in step.inputs:
        request = f"copy(to={step.to!r}, inputs={{{old!r}: {new!r}}})"
        try:
            source = graph.tensor(old, request)
            op, port = base.tensor(new, request)
        except SelectionError as error:
            faults.append(Fault.from_error(error))
            continue
        a, b = graph.info(*source), base.info(op, port)
        if a is not None and b is not None and base_dtype(a.dtype) != base_dtype(b.dtype):
            problem = f"{new!r} is {b}, but {old!r} is {a}: the dtypes {b.dtype} and {a.dtype} differ"
            suggestion = mapping_proposals(step, base.snapshot(), (old, a), (new, b))
            faults.append(mapping_mismatch(base, Fault(request, problem, suggestion), step, old, new))
            continue
        mapping[source] = (base.names[op], port)
    return mapping, faults


def reuse_faults(step: CopyStep, base: MutableGraph) -> list[Fault]:
    """Returns a fault for each op in ``reuse={...}`` that the destination does not have."""
    faults = []
    for old, new in (step.reuse or {}).items():
        try:
            base.find(new, f"copy(to={step.to!r}, reuse={{{old!r}: {new!r}}})")
        except SelectionError as error:
            faults.append(Fault.from_error(error))
    return faults


def mapping_proposals(step: CopyStep, base: Graph, old: tuple[str, TensorInfo], new: tuple[str, TensorInfo]) -> str:
    """Returns, as text, the tensors that fit the input `old`, and another input that the tensor `new` fits."""
    graph, suggestion = step.selection.graph, fitting_text(base, old[1])
    for name in step.selection.boundary.inputs:
        info = graph.info(*graph.tensor(name))
        if name != old[0] and info is not None and fits(new[1], info):
            return f"{suggestion}. {new[0]!r} would fit {name!r}"
    return suggestion


def unknown_fault(effect: PlanResult, request: str = "check()") -> Fault | None:
    """Returns a fault if the result contains ops that TensorFlow does not know; otherwise None.

    Args:
        effect: the effect of the plan.
        request: the request, if it is not the check of a plan.
    """
    base = effect.base
    parts = [(base, ~base.mask(sorted(effect.removed)))] + [(c.source, c.source.mask(c.ops)) for c in effect.copies]
    try:
        for graph, among in parts:
            refuse_unknown(graph, among, request)
    except PlanError as error:
        return Fault.from_error(error)
    return None
