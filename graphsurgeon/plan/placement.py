"""Placement: where a copy step puts each op, what its inputs become, and what stands in for the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..graph.boundary import Tensor, control_entering, entering
from ..graph.graph import Mask, TensorInfo
from ..graph.names import COLLECTIONS_KEPT, SINGLES, TRAINABLE_LISTS, VARIABLE_LISTS, placeholder_name, under
from ..graph.traversal import edge_rows
from ..words import counted, few
from .check import array_faults, mapping_faults, name_faults, namespace_faults, step_faults
from .closure import close
from .copied import (
    Connection,
    Copied,
    NewConstant,
    NewEntries,
    NewPlaceholder,
    append,
    new_variable,
    renamed,
)
from .policies import policies, reference_faults, rule_faults, substitute_faults, value_info
from .preflight import custom_gradients, far_places, preflight_faults, seeded
from .steps import CopyStep

if TYPE_CHECKING:
    from .effect import Effect
    from .workbench import Workbench


def put_copy(effect: Effect, step: CopyStep) -> None:
    """Works out a copy step and adds it to an effect, or notes its faults."""
    # 1. What is asked must make sense by itself.
    selection, base = step.selection, effect.bench
    graph = selection.graph
    same = graph.owner is base.owner and graph.owner is not None
    early = step_faults(step, same) + namespace_faults(step, base)
    if early:
        effect.faults += early
        return
    # 2. Which ops: the selection, what its variables need, and what `include` asks for.
    mapping, faults = mapping_faults(step, base)
    effect.faults += faults
    baked = {graph.tensor(name): value for name, value in step.constants}
    reuse = {graph.index[old]: new for old, new in (step.reuse or {}).items() if old in graph.index}
    cuts = frozenset(mapping) | frozenset(baked)
    policy = policies(step, graph)
    closure = close(graph, selection.mask, cuts, policy, step.unmapped, step.control)
    mask = closure.mask
    mask[list(reuse)] = False
    unfit = rule_faults(step, graph) + substitute_faults(step, base, closure.substitutes)
    if unfit:
        effect.faults += unfit
        return
    ops = np.flatnonzero(mask).astype(np.int32)
    # 3. What enters: mapped, kept, or a placeholder.
    external: dict[Tensor, tuple[str, int]] = {}
    placeholders: list[NewPlaceholder] = []
    constants: list[NewConstant] = []
    originals = graph.names if len(ops) == graph.size else [graph.names[i] for i in ops.tolist()]
    taken = set(originals)
    for sub in closure.substitutes:
        tensor = (graph.index[sub.info.op], 0)
        if sub.tensor:
            op, port = base.tensor(sub.tensor)
            external[tensor] = (base.names[op], port)
        else:
            full = under(step.to, sub.info.op)
            constants.append(NewConstant(full, f"{sub.info.op}:0", None, value_info(sub.info), sub.info.op))
            external[tensor] = (full, 0)
    refused = []
    enters = entering(graph, mask, cuts | frozenset(selection.inputs))
    for tensor in enters:
        op, port = tensor
        name = f"{graph.names[op]}:{port}"
        inside = bool(mask[op])
        if tensor in external:
            continue
        if tensor in mapping:
            external[tensor] = mapping[tensor]
        elif tensor in baked:
            leaf = placeholder_name(graph.names[op], port, taken)
            taken.add(leaf)
            full = under(step.to, leaf)
            info = graph.info(op, port) or TensorInfo("unknown", None)
            constants.append(NewConstant(full, name, baked[tensor], info))
            external[tensor] = (full, 0)
        elif op in reuse:
            external[tensor] = (reuse[op], port)
        elif inside and (tensor not in selection.inputs or step.unmapped == "include"):
            continue
        elif closure.shared[op] or (step.unmapped == "keep" and same):
            external[tensor] = (base.names[op], port)
        elif step.unmapped == "placeholder":
            leaf = placeholder_name(graph.names[op], port, taken)
            taken.add(leaf)
            full = (step.names or {}).get(name, under(step.to, leaf))
            info = graph.info(op, port) or TensorInfo("unknown", None)
            placeholders.append(NewPlaceholder(full, name, info))
            external[tensor] = (full, 0)
        else:
            refused.append(name)
    effect.faults += step_faults(step, same, refused=refused) if refused else []
    effect.faults += array_faults(graph, enters, mask, f"copy(to={step.to!r})")
    plain = {graph.tensor(p.was) for p in placeholders} | {t for t in mapping if not _is_reference(base, mapping[t])}
    effect.faults += reference_faults(graph, mask, plain, f"copy(to={step.to!r})")
    effect.faults += preflight_faults(step, mask, effect.plan.base, same)
    external.update({t: mapping[t] for t in selection.outputs if t in mapping})  # it passes through
    unused = [f"{graph.names[o]}:{p}" for o, p in mapping if (o, p) not in external]
    effect.faults += step_faults(step, same, unused=unused) if unused else []
    # 4. Control inputs from outside.
    kept: dict[int, str] = {}
    dropped, released = [], []
    follows = {op: name for (op, _), (name, _) in external.items()}  # what waits for an op waits for its replacement
    for inside_op, outside_op in control_entering(graph, mask):
        if closure.gone[outside_op] and not closure.shared[outside_op]:
            released.append(f"{graph.names[inside_op]} after {graph.names[outside_op]}")
            continue  # it would wait for an op that only a variable of its own has
        if outside_op in reuse:
            kept[outside_op] = reuse[outside_op]
        elif outside_op in follows and step.control != "drop":
            kept[outside_op] = follows[outside_op]
        elif step.control == "keep" and same:
            kept[outside_op] = base.names[outside_op]
        else:
            dropped.append((graph.names[inside_op], graph.names[outside_op]))
    if dropped and step.control != "drop":
        effect.faults += step_faults(step, same, control=dropped)
    if effect.faults:
        return
    # 5. Where each op will be.
    lead = key = under(step.to, "")
    names = [lead + name for name in originals]
    if step.names is not None:
        names = [renamed(step.to, name, step.names) for name in originals]
        effect.faults += name_faults(step, base, [*names, *(p.name for p in placeholders)])
        if effect.faults:
            return
        if not step.to or base.taken(step.to):  # an earlier copy there may have the same keys
            key = f"{names[0]}/" if names else key
    place = np.full(graph.size, -1, np.int32)
    place[ops] = base.size + len(placeholders) + len(constants) + np.arange(len(ops), dtype=np.int32)
    variables = [
        new_variable(v, policy[v.op], step.to, taken, policy[v.op] == "copy" and step.values is not None, step.names)
        for v in closure.variables
        if policy[v.op] != "share" and mask[graph.index[v.op]]
    ]
    turned = {op: kind for sub in closure.substitutes for op, kind in sub.readers.items()}
    copied = Copied(
        step, ops, names, place, external, placeholders, constants, variables, [], kept, dropped, closure, turned, key
    )
    copied = replace(copied, collections=_collections(copied, mask, effect))
    append(base, copied)
    effect.copies.append(copied)
    effect.connections += _joins(copied, mask)
    effect.warnings += _copy_warnings(copied, mask)
    if released:
        count = counted(len(released), "control inputs")
        on = f"{count} on what sets frozen or replaced variables"
        effect.warnings.append(f"{on} left out: {few(released)}")


def _is_reference(graph: Workbench, tensor: tuple[str, int]) -> bool:
    info = graph.info(graph.index[tensor[0]], tensor[1])
    return info is not None and info.dtype.endswith("_ref")


def _collections(copied: Copied, mask: Mask, effect: Effect) -> list[NewEntries]:
    step, graph = copied.step, copied.source
    if step.collections == "none":
        return []
    made, whole = {v.was for v in copied.variables}, bool(step.selection.mask.all())
    out = []
    for name, entries in graph.state.collections.items():
        if name in TRAINABLE_LISTS and not step.trainable:
            continue
        count = 0
        for entry in entries:
            number = graph.index.get(entry.name.partition(":")[0])
            if entry.kind == "variable":
                count += entry.name in made
            elif entry.kind in ("op", "tensor", "runner"):
                count += number is not None and bool(mask[number])
            elif entry.kind == "structure":
                count += all(part in graph.index and bool(mask[graph.index[part]]) for part in entry.parts)
            elif entry.kind == "value":
                count += whole  # what belongs to no op goes where the whole graph goes
        if count:
            lists = VARIABLE_LISTS if step.collections == "variables" else COLLECTIONS_KEPT
            keep = name in lists and not (name in SINGLES and _is_there(name, effect))
            keep |= step.collections == "keep" or not step.to
            out.append(NewEntries(name if keep else f"{step.to}/{name}", name, count))
    return out


def _is_there(collection: str, effect: Effect) -> bool:
    """Whether a collection has an entry before this copy."""
    if effect.plan.base.state.collections.get(collection):
        return True
    return any(entry.name == collection for other in effect.copies for entry in other.collections)


def _joins(copied: Copied, mask: Mask) -> list[Connection]:
    """The edges that join the copy to what the destination had."""
    graph, out = copied.source, []
    fresh = {p.name for p in copied.stand_ins}
    rows = edge_rows(graph.data)
    for (op, port), (name, new_port) in copied.external.items():
        if name in fresh:
            continue
        hit = np.flatnonzero((graph.data.node == op) & (graph.data.port == port) & mask[rows])
        for at in hit.tolist():
            reader = int(rows[at])
            position = at - int(graph.data.ptr[reader])
            target = copied.renamed(graph.names[reader])
            out.append(Connection(f"{name}:{new_port}", target, position, f"{graph.names[op]}:{port}"))
    return out


def _attribute_warnings(copied: Copied, mask: Mask) -> list[str]:
    graph, out = copied.source, []
    mapped = {graph.names[op] for op, _ in copied.external} | {graph.names[op] for op in copied.control_kept}
    far = far_places(graph, mask, mapped)
    if far:
        out.append(f"{counted(len(far), 'colocations')} with ops outside left out: "
                   + few([f"{a} with {b}" for a, b in far]))  # fmt: skip
    custom = len(custom_gradients(graph, mask))
    if custom:
        out.append(f"{counted(custom, 'ops')} with a tf.custom_gradient: the copy's refuses where it uses "
                   "what is not copied")  # fmt: skip
    random = seeded(graph, mask) if copied.step.seeds == "keep" else []
    if random:
        out.append(f"{few(random)} keep{'s' * (len(random) == 1)} the seed: the copy draws the same numbers "
                   "(seeds='new' gives it others)")  # fmt: skip
    return out


def _copy_warnings(copied: Copied, mask: Mask) -> list[str]:
    out = []
    listed = {f"{copied.source.names[op]}:{port}" for op, port in copied.step.selection.inputs}
    leaked = [p.was for p in copied.placeholders if listed and p.was not in listed]
    if leaked:
        became = "a placeholder" if len(leaked) == 1 else "placeholders"
        out.append(f"leak: {few(leaked)} became {became} without being marked as input")
    if copied.dropped:
        out.append(f"{counted(len(copied.dropped), 'control inputs')} from outside dropped: "
                   + few([f"{a} after {b}" for a, b in copied.dropped]))  # fmt: skip
    empty = [v.name for v in copied.variables if not v.made.initializer]
    if empty:
        has = "has" if len(empty) == 1 else "have"
        out.append(f"{few(empty)} {has} no initial value in the source: give values, or set it yourself")
    mute = [
        v.name for v in copied.variables if v.policy == "copy" and copied.step.values is None and v.info.initializer
    ]
    out += _attribute_warnings(copied, mask) + copied.emptied
    if mute:
        out.append(f"no values given: {counted(len(mute), 'variables')} will start from initial values")
    return out
