"""The result of a copy step: the number and inputs of each copy, and the stand-ins for tensors that are not copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import Kind, counted, few
from ..graph.boundary import Tensor, control_entering, entering_tensors
from ..graph.control_flow import constant_entry, lone_loop_entries, loops_of
from ..graph.graph import Graph, Ints, Mask, TensorInfo, value_info
from ..graph.names import SINGLES, TRAINABLE_LISTS, UNSCOPED_COLLECTIONS, VARIABLE_LISTS, join_scope, placeholder_name
from ..graph.parts import LostWrite, array_fault, lost_writes
from .copy_result import (
    CopyResult,
    NewConstant,
    NewEntries,
    NewPlaceholder,
    NewVariable,
    copied_entries,
    copied_name,
    new_variable,
)
from .dependencies import Closure, copy_closure, policies, reference_faults, rule_faults, substitute_faults
from .fault import Fault, PlanWarning, RefusedStep, refuse
from .mutable_graph import MutableGraph
from .static_checks import (
    control_fault,
    custom_gradients,
    explicit_name_faults,
    far_devices,
    mapping_faults,
    name_faults,
    namespace_faults,
    preflight_faults,
    reuse_faults,
    seed_ops,
    selection_faults,
    unmapped_fault,
    unused_fault,
)
from .steps.copy import CopyStep


def resolve_copy(
    step: CopyStep, destination: MutableGraph, copies: Sequence[CopyResult], has_faults: bool
) -> CopyResult:
    """Returns the result of a copy step.

    Args:
        step: the step.
        destination: the graph after the earlier steps.
        copies: the copies of the earlier steps.
        has_faults: whether an earlier step has faults.

    Raises:
        RefusedStep: if the step has faults; without a fault if only an earlier step has faults.
    """
    graph, base = step.selection.graph, destination.graph
    same = graph.folded.owner is base.owner and base.owner is not None
    refuse(explicit_name_faults(step, destination))
    refuse(selection_faults(step, same) + namespace_faults(step, destination))
    copy_set = _copy_set(step, destination)
    refuse(copy_set.faults if copy_set.failed else [])
    entry = _entering_tensors(step, destination, copy_set, same)
    control = _control_inputs(step, destination, copy_set, entry, same)
    faults = [
        *copy_set.faults,
        *entry.faults,
        *_inside_faults(step, destination, copy_set, entry, same),
        *control.faults,
    ]
    if faults or has_faults:
        raise RefusedStep(faults)
    names, key = _names(step, destination, copy_set)
    if step.names is not None:
        refuse(name_faults(step, destination, [*names, *(p.name for p in entry.placeholders)]))
    copied = _copy_result(step, destination, copy_set, entry, control, names, key)
    copied = replace(copied, collections=_collections(copied, base, copies))
    warnings = _warnings(copied, copy_set.mask)
    for edges, on in (
        (control.from_writers, "ops that set frozen or replaced variables"),
        (control.from_loops, "ops of a loop that is not copied"),
    ):
        if edges:
            warnings.append(f"{counted(len(edges), 'control inputs')} on {on} left out: {few(edges)}")
    warnings += map(str, control.lost_writes)
    return replace(copied, warnings=warnings)


@dataclass(frozen=True)
class _CopySet:
    """The ops to copy: the selection, the ops that its variables need, and the ops that `include` adds.

    Args:
        closure, mask, ops, originals: the ops to copy, with their names.
        policy: variable -> its treatment.
        mapping: source tensor -> tensor of the destination, as requested.
        constants: source tensor -> the array that replaces it.
        reuse: source op -> its existing copy.
        faults: the faults found.
        failed: whether the later parts are skipped.
    """

    closure: Closure
    mask: Mask
    ops: Ints
    originals: Sequence[str]
    policy: dict[str, str]
    mapping: dict[Tensor, tuple[str, int]]
    constants: dict[Tensor, object]
    reuse: dict[int, str]
    faults: list[Fault]
    failed: bool


def _copy_set(step: CopyStep, mutable_graph: MutableGraph) -> _CopySet:
    graph = step.selection.graph
    mapping, faults = mapping_faults(step, mutable_graph)
    baked = {graph.tensor(name): value for name, value in step.constants}
    reuse = {graph.index[old]: new for old, new in (step.reuse or {}).items() if old in graph.index}
    policy = policies(step, graph)
    cuts = frozenset(mapping) | frozenset(baked)
    closure = copy_closure(graph, step.selection.mask, cuts, policy, step.unmapped, step.control)
    mask = closure.mask
    mask[list(reuse)] = False
    unfit = (
        rule_faults(step, graph)
        + substitute_faults(step, mutable_graph, closure.substitutes)
        + reuse_faults(step, mutable_graph)
    )
    ops = np.flatnonzero(mask).astype(np.int32)
    originals = graph.names if len(ops) == graph.size else [graph.names[i] for i in ops.tolist()]
    return _CopySet(closure, mask, ops, originals, policy, mapping, baked, reuse, [*faults, *unfit], bool(unfit))


@dataclass(frozen=True)
class _EnteringTensors:
    """The tensors that enter a copy: each is mapped, kept, or replaced by a stand-in.

    Args:
        input_map: source tensor -> tensor of the destination.
        placeholders, constants: the stand-ins.
        used_names: names in use below the scope.
        faults: the faults of tensors that must be mapped but are not.
    """

    input_map: dict[Tensor, tuple[str, int]]
    placeholders: list[NewPlaceholder]
    constants: list[NewConstant]
    used_names: set[str]
    faults: list[Fault]


def _entering_tensors(
    step: CopyStep, mutable_graph: MutableGraph, copy_set: _CopySet, same_graph: bool
) -> _EnteringTensors:
    selection, graph, closure = step.selection, step.selection.graph, copy_set.closure
    entry = _EnteringTensors({}, [], [], set(copy_set.originals), [])
    external, refused = entry.input_map, []
    keeps = step.unmapped == "keep" and same_graph
    for sub in closure.substitutes:
        tensor = (graph.index[sub.info.op], 0)
        if sub.tensor:
            op, port = mutable_graph.tensor(sub.tensor)
            external[tensor] = (mutable_graph.names[op], port)
        else:
            full = join_scope(step.to, sub.info.op)
            entry.constants.append(NewConstant(full, f"{sub.info.op}:0", None, value_info(sub.info), sub.info.op))
            external[tensor] = (full, 0)
    enters = entering_tensors(
        graph, copy_set.mask, frozenset([*copy_set.mapping, *copy_set.constants, *selection.inputs])
    )
    if step.unmapped == "placeholder":
        enters += [t for t in selection.outputs if t in selection.inputs and t not in enters]  # they pass through
    for tensor in enters:
        if tensor in external:
            continue
        end = _outside(graph, tensor) if tensor not in copy_set.mapping else tensor
        op, port = end
        name = f"{graph.names[op]}:{port}"
        if end in external:
            external[tensor] = external[end]
        elif end in copy_set.mapping:
            external[end] = external[tensor] = copy_set.mapping[end]
        elif end in copy_set.constants:
            full, info = _stand_in(step, entry, end), graph.info(op, port) or TensorInfo("unknown", None)
            entry.constants.append(NewConstant(full, name, copy_set.constants[end], info))
            external[tensor] = (full, 0)
        elif op in copy_set.reuse:
            external[tensor] = (copy_set.reuse[op], port)
        elif end == tensor and copy_set.mask[op] and (tensor not in selection.inputs or step.unmapped == "include"):
            continue
        elif (closure.shared[op] or keeps) and (there := _existing_tensor(mutable_graph, graph, end)):
            external[tensor] = there
        elif step.unmapped == "placeholder":
            full, info = _stand_in(step, entry, end), graph.info(op, port) or TensorInfo("unknown", None)
            full = (step.names or {}).get(name, full)
            entry.placeholders.append(NewPlaceholder(full, name, info))
            external[end] = external[tensor] = (full, 0)
        else:
            refused.append(name)
    external.update({t: copy_set.mapping[t] for t in selection.outputs if t in copy_set.mapping})  # it passes through
    entry.faults.extend([unmapped_fault(step, same_graph, refused)] if refused else [])
    fed = selection.inputs if step.unmapped != "include" and not keeps else ()
    cuts = frozenset([*copy_set.mapping, *copy_set.constants, *fed])
    torn = array_fault(graph, copy_set.mask, cuts, ~copy_set.mask if keeps else None)
    entry.faults.extend([Fault(step.request, *torn)] if torn else [])
    return entry


def _existing_tensor(mutable_graph: MutableGraph, graph: Graph, tensor: Tensor) -> tuple[str, int] | None:
    """Returns a source tensor in the graph of the plan, with calls folded; None for a tensor inside a call."""
    op, port = tensor
    if graph.unfolded is not None:
        outside = graph.unfolded.outer_tensor(graph.name(tensor))
        if not outside:
            return None
        op, port = graph.folded.tensor(outside)
    return mutable_graph.names[op], port


def _outside(graph: Graph, tensor: Tensor) -> Tensor:
    """Returns the tensor outside of a TF1 loop that enters the loop as this constant; else the tensor itself."""
    while constant_entry(graph, tensor[0]):
        tensor = graph.data.ends(tensor[0])[0]
    return tensor


def _stand_in(step: CopyStep, entry: _EnteringTensors, tensor: Tensor) -> str:
    """A name for the stand-in of a tensor."""
    leaf = placeholder_name(step.selection.graph.names[tensor[0]], tensor[1], entry.used_names)
    entry.used_names.add(leaf)
    return join_scope(step.to, leaf)


def _inside_faults(
    step: CopyStep, destination: MutableGraph, copy_set: _CopySet, entry: _EnteringTensors, same_graph: bool
) -> list[Fault]:
    """Returns the faults of ops with their new inputs, and of mapped tensors that do not enter the copy."""
    graph, mapping = step.selection.graph, copy_set.mapping
    plain = {graph.tensor(p.original) for p in entry.placeholders}
    plain |= {t for t in mapping if not _is_reference(destination, mapping[t])}
    faults = reference_faults(graph, copy_set.mask, plain, step.request)
    faults += preflight_faults(step, copy_set.mask, destination.graph, same_graph)
    unused = [f"{graph.names[op]}:{port}" for op, port in mapping if (op, port) not in entry.input_map]
    return faults + [unused_fault(step, name) for name in unused[:1]]


@dataclass(frozen=True)
class _ControlInputs:
    """The control inputs of copied ops from ops that are not copied.

    Args:
        mapped: op that is not copied -> op of the destination that the copies wait for instead.
        dropped: left-out edges: (op, its control input).
        from_writers: edges from ops that set frozen or replaced variables, as text.
        from_loops: edges from ops of the same loop, which is not copied, as text.
        faults: faults of edges that must not be dropped.
        lost_writes: reads that are ordered after a write, if the write does not run with the copy.
    """

    mapped: dict[int, str]
    dropped: list[tuple[str, str]]
    from_writers: list[str]
    from_loops: list[str]
    faults: list[Fault]
    lost_writes: list[LostWrite]


def _control_inputs(
    step: CopyStep, mutable_graph: MutableGraph, copy_set: _CopySet, entry: _EnteringTensors, same_graph: bool
) -> _ControlInputs:
    graph, closure = step.selection.graph, copy_set.closure
    mapping, crossing_edges, released, looping = dict[int, str](), list[tuple[str, str]](), list[str](), list[str]()
    original = list[tuple[int, int]]()
    loop, loop_edges = loops_of(graph), list[tuple[int, int]]()
    # An op that waits for a replaced op waits for its replacement.
    follows = {op: name for (op, _), (name, _) in entry.input_map.items()}
    for inside, outside in control_entering(graph, copy_set.mask):
        if closure.excluded[outside] and not closure.shared[outside]:
            released.append(f"{graph.names[inside]} after {graph.names[outside]}")
            continue  # only copied variables need the op to wait for
        if outside in copy_set.reuse:
            mapping[outside] = copy_set.reuse[outside]
        elif loop[outside] >= 0 and loop[outside] == loop[inside]:
            looping.append(f"{graph.names[inside]} after {graph.names[outside]}")
        elif outside in follows and step.control != "drop":
            mapping[outside] = follows[outside]
            loop_edges.append((inside, outside))
        elif step.control == "keep" and same_graph:
            about, name = graph.unfolded, graph.names[outside]
            mapping[outside] = mutable_graph.names[outside if about is None else about.graph.index[about.call_of(name)]]
            original.append((inside, outside))
        else:
            crossing_edges.append((graph.names[inside], graph.names[outside]))
            loop_edges.append((inside, outside))
    faults = [control_fault(step, crossing_edges)] if crossing_edges and step.control != "drop" else []
    own = [one for one in lost_writes(graph, copy_set.mask, original) if copy_set.mask[graph.index[one.holder]]]
    return _ControlInputs(
        mapping, crossing_edges, released, looping, faults, [*lost_writes(graph, copy_set.mask, loop_edges), *own]
    )


def _names(step: CopyStep, graph: MutableGraph, copy_set: _CopySet) -> tuple[list[str], str]:
    """The names of the copies, and the prefix of the names of state and of loops."""
    lead = join_scope(step.to, "")
    if step.names is None:
        return [lead + name for name in copy_set.originals], lead
    names = [copied_name(step.to, name, step.names) for name in copy_set.originals]
    there = not step.to or graph.is_name_used(step.to)  # an earlier copy there may have the same keys
    return names, f"{names[0]}/" if there and names else lead


def _copy_result(
    step: CopyStep,
    mutable_graph: MutableGraph,
    copy_set: _CopySet,
    entry: _EnteringTensors,
    control: _ControlInputs,
    names: list[str],
    key: str,
) -> CopyResult:
    """Returns the copy, with the number of each copied op and the new variables."""
    graph, ops, closure = step.selection.graph, copy_set.ops, copy_set.closure
    place = np.full(graph.size, -1, np.int32)
    first = mutable_graph.size + len(entry.placeholders) + len(entry.constants)
    place[ops] = first + np.arange(len(ops), dtype=np.int32)
    variables: list[NewVariable] = []
    for v in closure.variables:
        policy = copy_set.policy[v.op]
        if policy != "share" and copy_set.mask[graph.index[v.op]]:
            settable = policy == "copy" and step.values is not None
            variables.append(new_variable(v, policy, step.to, entry.used_names, settable, step.names))
    turned = {op: kind for sub in closure.substitutes for op, kind in sub.new_types.items()}
    turned |= dict.fromkeys(lone_loop_entries(graph, copy_set.mask), "Identity")
    return CopyResult(
        step, ops, names, place, entry.input_map, entry.placeholders, entry.constants, variables, [], control.mapped,
        control.dropped, closure, turned, key,
    )  # fmt: skip


def _is_reference(graph: MutableGraph, tensor: tuple[str, int]) -> bool:
    info = graph.info(graph.index[tensor[0]], tensor[1])
    return info is not None and info.dtype.endswith("_ref")


def _collections(copy_result: CopyResult, base: Graph, copies: Sequence[CopyResult]) -> list[NewEntries]:
    step, graph = copy_result.step, copy_result.source
    if step.collections == "none":
        return []
    out = []
    for name in graph.state.collections:
        if name in TRAINABLE_LISTS and not step.trainable:
            continue
        count = len(copied_entries(copy_result, name))
        if count:
            lists = VARIABLE_LISTS if step.collections == "variables" else UNSCOPED_COLLECTIONS
            others = (entry.name for other in copies for entry in other.collections)
            has_entries = base.state.collections.get(name) or name in others
            keep = name in lists and not (name in SINGLES and has_entries)
            keep |= step.collections == "keep" or not step.to
            out.append(NewEntries(name if keep else f"{step.to}/{name}", name, count))
    return out


def _attribute_warnings(copy_result: CopyResult, mask: Mask) -> list[str]:
    graph, out = copy_result.source, []
    mapped = {graph.names[op] for op, _ in copy_result.input_map} | {graph.names[op] for op in copy_result.control_map}
    far = far_devices(graph, mask, mapped)
    if far:
        out.append(f"{counted(len(far), 'colocations')} with ops outside left out: "
                   + few([f"{a} with {b}" for a, b in far]))  # fmt: skip
    custom = len(custom_gradients(graph, mask))
    if custom:
        fails = "the gradient of the copy fails if it uses ops that are not copied"
        text = f"{counted(custom, 'ops')} with a tf.custom_gradient: {fails}"
        out.append(PlanWarning(text, Kind.CUSTOM_GRADIENT))
    random = seed_ops(graph, mask) if copy_result.step.seeds == "keep" else []
    if random:
        text = f"{few(random)} keep{'s' * (len(random) == 1)} the seed: the copy draws the same numbers "
        out.append(PlanWarning(text + "(seeds='new' gives the copy other numbers)", Kind.SEED))
    return out


def _warnings(copy_result: CopyResult, mask: Mask) -> list[str]:
    out: list[str] = []
    inputs = {f"{copy_result.source.names[op]}:{port}" for op, port in copy_result.step.selection.inputs}
    leaked = [p.original for p in copy_result.placeholders if inputs and p.original not in inputs]
    if leaked:
        became, them = ("a placeholder", "it") if len(leaked) == 1 else ("placeholders", "them")
        text = f"leak: {few(leaked)} became {became} without being marked as input: "
        out.append(PlanWarning(text + f"name {them} in inputs= too, or feed {them}", Kind.LEAK))
    if copy_result.dropped_control:
        text = f"{counted(len(copy_result.dropped_control), 'control inputs')} from outside dropped: "
        out.append(
            PlanWarning(text + few([f"{a} after {b}" for a, b in copy_result.dropped_control]), Kind.DROPPED_CONTROL)
        )
    empty = [v.name for v in copy_result.variables if not v.new_info.initializer]
    if empty:
        has = "has" if len(empty) == 1 else "have"
        out.append(f"{few(empty)} {has} no initial value in the source: give values, or set it yourself")
    mute = [
        v.name
        for v in copy_result.variables
        if v.policy == "copy" and copy_result.step.values is None and v.info.initializer
    ]
    out += _attribute_warnings(copy_result, mask) + copy_result.missing_state
    if mute:
        out.append(f"{counted(len(mute), 'new variables')} will start from initial values. "
                   "To keep other values, pass values=: a session, an editor, or {name: array}")  # fmt: skip
    return out
