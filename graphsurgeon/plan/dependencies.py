"""The ops that a copy also needs, and the treatment of each of its variables."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import Kind, SelectionError, counted, few, one_of
from ..graph.arrays import bytes_of, size_text
from ..graph.boundary import Tensor, entering_tensors
from ..graph.control_flow import is_loop_body_only, loops_within
from ..graph.graph import Graph, Mask, value_info
from ..graph.traversal import backward
from ..graph.variables import FEED_TYPES, QUERY_TYPES, VariableInfo
from .fault import Fault
from .mutable_graph import MutableGraph
from .steps.copy import CopyStep
from .type_check import axis_text, base_dtype, fitting_text, shapes_differ

_READ_TYPES = QUERY_TYPES | {"Identity", "ReadVariableOp"}


@dataclass(frozen=True)
class Dependency:
    """Ops that are also copied: their count, the reason, some names, and the bytes of their constants and variables."""

    count: int
    reason: str
    names: tuple[str, ...]
    bytes: int = 0

    def __str__(self) -> str:
        size = f" ({size_text(self.bytes)})" if self.bytes >= 1000 else ""
        return f"{counted(self.count, 'ops')}{size}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Closure:
    """The selection and all ops that must be copied with it.

    Args:
        mask: the ops to copy.
        shared: ops of variables that are shared and not copied.
        variables: the variables inside, in graph order.
        substitutes: the variables that are frozen or replaced.
        excluded: ops of the selection that are left out, because their variable is shared, frozen or replaced.
        dependencies: the ops that are copied in addition to the selection.
    """

    mask: Mask
    shared: Mask
    variables: list[VariableInfo]
    substitutes: list[Substitute]
    excluded: Mask
    dependencies: list[Dependency]


def copy_closure(
    graph: Graph, mask: Mask, cuts: frozenset[Tensor], policy: Mapping[str, str], unmapped: str, control: str
) -> Closure:
    """Returns the closure of a selection.

    Args:
        graph: the source.
        mask: the selected ops.
        cuts: tensors that are replaced: the ops before them are not pulled in.
        policy: variable op name -> ``copy``, ``initial``, ``share``, ``freeze`` or the tensor that replaces it.
        unmapped: ``include`` pulls in the ops that compute the entering tensors.
        control: ``include`` pulls in the control inputs from outside.
    """
    work = _ClosureBuilder(graph, mask.copy(), cuts, policy)
    if unmapped == "include" or control == "include":
        work.add(_wider(graph, mask, cuts, unmapped == "include", control == "include"), _INCLUDE_REASON)
    while True:  # ops that are also copied may need more
        count = len(work.done), int(np.count_nonzero(work.mask))
        work.variables()
        work.contexts(control == "include")
        work.init_ops()
        if count == (len(work.done), int(np.count_nonzero(work.mask))):
            break
    mask, excluded = work.mask, work.shared & work.mask
    for name in work.done:
        if policy.get(name) == "share":
            parts = np.flatnonzero(variable_parts(graph, work.done[name])).tolist()
            excluded |= private_ops(graph, mask, parts, name) & mask
    substitutes, without = substitutes_of(graph, mask, policy)
    excluded |= without
    order = sorted(work.done.values(), key=lambda v: graph.index[v.op])
    return Closure(mask & ~excluded, work.shared, order, substitutes, excluded, work.pulled)


_INCLUDE_REASON = "needed by the selection, because of 'include'"


class _ClosureBuilder:
    """Adds the ops to a selection that must be copied with it.

    Args:
        graph, mask, cuts, policy: as for `copy_closure`.

    Attributes:
        done: the variables whose ops are all included.
        shared: ops of variables that the copy shares.
        pulled: the ops that are also copied.
    """

    def __init__(self, graph: Graph, mask: Mask, cuts: frozenset[Tensor], policy: Mapping[str, str]) -> None:
        self.graph, self.mask, self.cuts, self.policy = graph, mask, cuts, policy
        self.done, self.pulled = dict[str, VariableInfo](), list[Dependency]()
        self.shared = np.zeros(graph.size, np.bool_)

    def add(self, reach: Mask, reason: str) -> None:
        """Adds the reached ops, and records the new ops with the reason."""
        fresh = reach & ~self.mask
        count = int(np.count_nonzero(fresh))
        if count:
            names = tuple(self.graph.names[i] for i in np.flatnonzero(fresh)[:8].tolist())
            self.pulled.append(Dependency(count, reason, names, bytes_of(self.graph, np.flatnonzero(fresh).tolist())))
        self.mask = self.mask | reach

    def variables(self) -> None:
        """Adds the parts of the variables inside."""
        graph, infos, policy = self.graph, self.graph.state.variables, self.policy
        while True:
            inside = [n for n in infos if self.mask[graph.index[n]] and n not in self.done]
            fresh = [n for n in inside if not is_substitute(policy.get(n, ""))]
            if not fresh:
                return
            parts = np.zeros(graph.size, np.bool_)
            for name in fresh:
                self.done[name] = infos[name]
                family, start = variable_ops(graph, infos[name]), infos[name].initial_value
                if start and self.cuts and graph.tensor(start) in self.cuts:
                    family.remove(graph.tensor(start)[0])
                (self.shared if policy.get(name) == "share" else parts)[family] = True
            reach = backward(graph, parts, self.cuts) if parts.any() else parts
            own = sum(policy.get(name) != "share" for name in fresh)
            self.add(reach, f"initial values and readers of {counted(own, 'variables')}")

    def contexts(self, control: bool) -> None:
        """Completes loops and conds that are partly copied, because gradients need the pivots and all exits."""
        graph, feeds = self.graph, self.graph.type_mask(FEED_TYPES)
        for names in graph.state.contexts:
            ops = graph.mask(graph.index[n] for n in names if n in graph.index)
            if not (ops & self.mask).any() or not (ops & ~self.mask).any():
                continue
            # A tensor that enters the selection also enters its loops, so the ops that compute it are not needed.
            ends = self.cuts | frozenset(entering_tensors(graph, self.mask, self.cuts))
            if (graph.type_mask(["LoopCond"]) & ops & ~self.mask).any() and is_loop_body_only(
                graph, self.mask, self.cuts
            ):
                # If only ops of one round are copied, the loop itself is not copied.
                inner = loops_within(graph, self.mask & ops)
                if (inner & ~self.mask).any():
                    self.add(backward(graph, inner, ends, control=False), "the rest of a loop")
                continue
            reach = backward(graph, ops, ends, control)
            if not (reach & feeds & ~self.mask).any():  # a boundary through a cond must not pull in the ops before it
                self.add(reach, "the rest of a loop or cond")

    def init_ops(self) -> None:
        """Adds the ops that fill copied tables, iterators and queues."""
        index, entries = self.graph.index, self.graph.state.init_ops.items()
        fills = [ops for holder, ops in entries if holder in index and self.mask[index[holder]]]
        targets = [index[op] for ops in fills for op in ops if op in index]
        if targets:
            reach = backward(self.graph, self.graph.mask(targets), self.cuts)
            self.add(reach, "ops that fill tables, iterators, queues")


def variable_parts(graph: Graph, variable: VariableInfo) -> Mask:
    """Returns the ops of a `tf.Variable` object: variable, initializer, snapshot, and consumers in its scope."""
    return graph.mask(variable_ops(graph, variable))


def variable_ops(graph: Graph, variable: VariableInfo) -> list[int]:
    """Returns the same ops as numbers, without duplicates."""
    names = {variable.op, variable.initializer}
    names |= {t.partition(":")[0] for t in (variable.snapshot, variable.initial_value)}
    numbers = {graph.index[n]: None for n in names if n in graph.index}
    me, lead = graph.index[variable.op], variable.op + "/"
    for reader in graph.consumers.row(me).tolist():
        if graph.types[reader] in _READ_TYPES and graph.names[reader].startswith(lead):
            numbers[reader] = None
    return list(numbers)


def with_unshared_variables(graph: Graph, ops: Mask) -> Mask:
    """Returns ops together with their variables, and with the ops that compute only initial values of these variables.

    A variable that other ops read is not included.

    Args:
        graph: the graph.
        ops: mask of the ops, with the ops of their variables.
    """
    result, initial, others = ops.copy(), graph.mask([]), graph.mask([])
    for variable in graph.state.variables.values():
        if variable.op not in graph.index:
            continue
        start = graph.index.get(variable.initial_value.partition(":")[0])
        core = [number for number in variable_ops(graph, variable) if number != start]
        if not ops[graph.index[variable.op]]:
            others[core] = True
            continue
        own = graph.mask(core)
        if (own[graph.data.node] & ~(ops | own)[graph.data.rows]).any():
            result &= ~own
            others |= own
        else:
            result |= own
            initial |= graph.mask([] if start is None else [start])
    above = backward(graph, initial) & ~result & ~others & ~graph.type_mask(FEED_TYPES)
    while above.any():
        stays = graph.mask([])
        for edges in (graph.data, graph.control):
            stays[edges.node[~(result | above)[edges.rows]]] = True
        if not (stays & above).any():
            break
        above &= ~stays
    return result | above


def needed_ops(graph: Graph, live: Mask) -> Mask:
    """Returns the living ops and all ops that they need, including parts of variables and loops, and table fillers."""
    state = graph.state
    wholes = [graph.mask(graph.index[n] for n in names if n in graph.index) for names in state.contexts]
    while True:
        reached = backward(graph, live)
        for variable in state.variables.values():
            number = graph.index.get(variable.op)
            if number is not None and reached[number] and not live[number]:
                reached |= variable_parts(graph, variable)
        for whole in wholes:
            if (reached & whole).any():
                reached |= whole
        for holder, init_ops in state.init_ops.items():
            if holder in graph.index and reached[graph.index[holder]]:
                reached |= graph.mask(graph.index[s] for s in init_ops if s in graph.index)
        if (reached == live).all():
            return reached
        live = reached


def _wider(graph: Graph, mask: Mask, cuts: frozenset[Tensor], data: bool, control: bool) -> Mask:
    if data:
        return backward(graph, mask, cuts, control=control)
    outside = [int(c) for i in np.flatnonzero(mask).tolist() for c in graph.control.row(i) if not mask[c]]
    return backward(graph, graph.mask(outside), cuts)


#: The policies for variables. A tensor name instead of a policy means that this tensor replaces the variable.
POLICIES = ("copy", "freeze", "initial", "share")

#: Ops that read a resource variable, and the op that does the same with a plain tensor.
READ_REPLACEMENTS = {"ReadVariableOp": "Identity", "ResourceGather": "Gather", "ResourceGatherNd": "GatherNd",
           "VariableShape": "Shape"}  # fmt: skip
#: Ops that change a reference variable; everything else only reads it.
REF_WRITERS = ("Assign", "Scatter", "Apply", "SparseApply", "CountUpTo", "StridedSliceAssign", "Ref", "DestroyTemp")


def is_tensor(policy: str) -> bool:
    """Returns whether a policy is the name of a tensor that replaces the variable.

    Example:
        >>> is_tensor("head/w:0"), is_tensor("share")
        (True, False)
    """
    return ":" in policy


def is_substitute(policy: str) -> bool:
    """Returns whether a variable of this policy is not a variable in the copy: frozen, or replaced by a tensor."""
    return policy == "freeze" or is_tensor(policy)


def policies(step: CopyStep, graph: Graph) -> dict[str, str]:
    """Returns the policy of each variable of the source: by its name, by the first matching pattern, or the default."""
    rules = dict(step.variables)
    default = rules.pop("*", "copy")
    if not rules:
        return dict.fromkeys(graph.state.variables, default)
    out = {}
    for name in graph.state.variables:
        fits = (policy for rule, policy in rules.items() if fnmatch.fnmatchcase(name, rule))
        out[name] = rules[name] if name in rules else next(fits, default)
    return out


@dataclass(frozen=True)
class Substitute:
    """A variable that is not a variable in the copy.

    Args:
        info: its parts in the source.
        tensor: the tensor of the destination that replaces it; empty if its value becomes a constant.
        new_types: ops of the copy that read it -> their new op type.
        writers: names of selected ops that change it, or that read it at an input that must be a variable.
    """

    info: VariableInfo
    tensor: str
    new_types: Mapping[int, str]
    writers: tuple[str, ...]


def substitutes_of(graph: Graph, mask: Mask, policy: Mapping[str, str]) -> tuple[list[Substitute], Mask]:
    """Returns the variables that a copy of `mask` freezes or replaces, and the ops that are therefore left out."""
    excluded = np.zeros(graph.size, np.bool_)
    substitutes = []
    for name, how in policy.items():
        if not is_substitute(how):
            continue
        me = graph.index[name]
        users = [int(i) for i in graph.consumers.row(me) if mask[i]]
        if not mask[me] and not users:
            continue
        info = graph.state.variables[name]
        start = [me, *(i for i in users if graph.types[i] in QUERY_TYPES)]
        if info.initializer in graph.index:
            start.append(graph.index[info.initializer])
        excluded |= private_ops(graph, mask, start, name)
        users = [i for i in users if not excluded[i]]
        if info.resource:
            readers = {i: READ_REPLACEMENTS[graph.types[i]] for i in users if _can_replace_read(graph, i)}
            writers = [graph.names[i] for i in users if i not in readers]
        else:
            readers = {}
            writers = [graph.names[i] for i in users if graph.types[i].startswith(REF_WRITERS)]
        substitutes.append(Substitute(info, how if is_tensor(how) else "", readers, tuple(dict.fromkeys(writers))))
    return substitutes, excluded & mask


def rule_faults(step: CopyStep, graph: Graph) -> list[Fault]:
    """Returns the fault of a rule that matches no variable of the source."""
    variables = graph.state.variables
    for rule, policy in step.variables:
        if rule != "*" and not any(rule == name or fnmatch.fnmatchcase(name, rule) for name in variables):
            request = f"copy(to={step.to!r}, variables={{{rule!r}: {policy!r}}})"
            hint = one_of(rule, variables) if variables else f"{graph.title} has no variables at all"
            return [Fault(request, f"no variable of {graph.title} is called {rule!r}", hint)]
    return []


def reference_faults(graph: Graph, mask: Mask, tensors: Iterable[tuple[int, int]], request: str) -> list[Fault]:
    """Returns the faults of ops that change a reference variable but would read a plain tensor instead.

    Args:
        graph: the source.
        mask: the ops to copy.
        tensors: tensors (op, output) that plain tensors replace.
        request: the request, for messages.
    """
    out = []
    for op, port in tensors:
        info = graph.info(op, port)
        if info is None or not info.dtype.endswith("_ref"):
            continue
        for user, at in graph.consumers_of((op, port)):
            if mask[user] and not at and writes(graph.types[user]):
                writer, variable = graph.names[user], graph.names[op]
                problem = f"{writer!r} changes {variable!r}, so it needs that variable there, not a tensor"
                out.append(Fault(request, problem, f"Select {variable!r} too, or leave {writer!r} out"))
                break
    return out


def writes(kind: str) -> bool:
    """Returns whether an op type changes the reference variable that is its input 0.

    Example:
        >>> writes("Assign"), writes("Identity")
        (True, False)
    """
    return kind.startswith(REF_WRITERS) and kind != "ScatterNd"


def _can_replace_read(graph: Graph, op: int) -> bool:
    if graph.types[op] not in READ_REPLACEMENTS:
        return False
    attributes = getattr(graph.nodes[op], "attr", {})
    return "batch_dims" not in attributes or not attributes["batch_dims"].i  # Gather has no batch dimensions


def private_ops(graph: Graph, mask: Mask, start: Iterable[int], variable: str) -> Mask:
    """Returns `start` and the ops in the scope of the variable that only these ops need, such as its initial value."""
    todo = list(start)
    spared = graph.mask(todo)
    lead = variable + "/"
    while todo:
        op = todo.pop()
        for above in {*graph.data.row(op).tolist(), *graph.control.row(op).tolist()}:
            if spared[above] or not mask[above] or not graph.names[above].startswith(lead):
                continue
            readers = np.concatenate([graph.consumers.row(above), graph.control_consumers.row(above)])
            if not (mask[readers] & ~spared[readers]).any():
                spared[above] = True
                todo.append(above)
    return spared


def substitute_faults(step: CopyStep, base: MutableGraph, substitutes: Sequence[Substitute]) -> list[Fault]:
    """Returns the faults of frozen and replaced variables: writers, missing values, and tensors that do not fit."""
    out: list[Fault] = []
    for sub in substitutes:
        name = sub.info.op
        request = f"copy(to={step.to!r}, variables={{{name!r}: {sub.tensor or 'freeze'!r}}})"
        if sub.writers:
            out.append(
                Fault(
                    request,
                    f"{few(map(repr, sub.writers), 1)} needs a variable there, not a tensor",
                    "Leave it out of the selection, or choose 'copy' or 'initial' for this variable",
                    kind=Kind.NEEDS_VARIABLE,
                    names=tuple(sub.writers),
                )
            )
        elif not sub.tensor and step.values is None:
            way = f"Give values=session, or an editor; or choose variables={{{name!r}: 'initial'}}"
            out.append(Fault(request, f"there is no value to freeze {name!r} at", way))
        elif sub.tensor:
            try:
                new = base.info(*base.tensor(sub.tensor, request))
            except SelectionError as error:
                out.append(Fault.from_error(error))
                continue
            old = value_info(sub.info)
            if new is None:
                continue
            differ = base_dtype(new.dtype) != base_dtype(old.dtype)
            if differ or shapes_differ(new.shape, old.shape):
                why = "" if differ else f": {axis_text(new.shape, old.shape)}"
                problem = f"{sub.tensor!r} is {new}, but {name!r} is {old}{why}"
                out.append(Fault(request, problem, fitting_text(base.snapshot(), old)))
    return out
