"""Policies: what becomes of each variable of a copy; those that become no variable are substituted."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import Kind, SelectionError, one_of
from ..graph.graph import Graph, Mask, value_info
from ..graph.variables import ASKING_TYPES, VariableInfo
from ..words import few
from .fault import Fault
from .mismatch import axis_text, bare, fitting, shapes_differ
from .steps import CopyStep
from .workbench import Workbench

#: Words for a policy; a tensor name in place of a word means: replaced by that tensor.
POLICIES = ("copy", "freeze", "initial", "share")

#: Ops that read a resource variable, and the op that does the same with a plain tensor.
READERS = {"ReadVariableOp": "Identity", "ResourceGather": "Gather", "ResourceGatherNd": "GatherNd",
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
    """Returns the policy of each variable of the source: its own, or of the first pattern it fits, or the default."""
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
        readers: ops of the copy that read it -> the op type they get there.
        writers: names of ops of the selection that change it, or that read it at an input that takes no tensor.
    """

    info: VariableInfo
    tensor: str
    readers: Mapping[int, str]
    writers: tuple[str, ...]


def substituted(graph: Graph, mask: Mask, policy: Mapping[str, str]) -> tuple[list[Substitute], Mask]:
    """Returns the variables that a copy of `mask` freezes or replaces, and the ops that are left out for it."""
    gone = np.zeros(graph.size, np.bool_)
    found = []
    for name, how in policy.items():
        if not is_substitute(how):
            continue
        me = graph.index[name]
        users = [int(i) for i in graph.consumers.row(me) if mask[i]]
        if not mask[me] and not users:
            continue
        info = graph.state.variables[name]
        start = [me, *(i for i in users if graph.types[i] in ASKING_TYPES)]
        if info.initializer in graph.index:
            start.append(graph.index[info.initializer])
        gone |= spare(graph, mask, start, name)
        users = [i for i in users if not gone[i]]
        if info.resource:
            readers = {i: READERS[graph.types[i]] for i in users if _can_turn(graph, i)}
            writers = [graph.names[i] for i in users if i not in readers]
        else:
            readers = {}
            writers = [graph.names[i] for i in users if graph.types[i].startswith(REF_WRITERS)]
        found.append(Substitute(info, how if is_tensor(how) else "", readers, tuple(dict.fromkeys(writers))))
    return found, gone & mask


def rule_faults(step: CopyStep, graph: Graph) -> list[Fault]:
    """Faults of rules that name no variable of the source."""
    known = graph.state.variables
    for rule, policy in step.variables:
        if rule != "*" and not any(rule == name or fnmatch.fnmatchcase(name, rule) for name in known):
            request = f"copy(to={step.to!r}, variables={{{rule!r}: {policy!r}}})"
            hint = one_of(rule, known) if known else f"{graph.title} has no variables at all"
            return [Fault(request, f"no variable of {graph.title} is called {rule!r}", hint)]
    return []


def reference_faults(graph: Graph, mask: Mask, given: Iterable[tuple[int, int]], request: str) -> list[Fault]:
    """Faults of ops that change a reference variable and are given a plain tensor for it.

    Args:
        graph: the source.
        mask: the ops to copy.
        given: tensors (op, output) for which plain tensors stand.
        request: the request, for messages.
    """
    out = []
    for op, port in given:
        info = graph.info(op, port)
        if info is None or not info.dtype.endswith("_ref"):
            continue
        for user, at in graph.readers((op, port)):
            if mask[user] and not at and writes(graph.types[user]):
                writer, held = graph.names[user], graph.names[op]
                problem = f"{writer!r} changes {held!r}, so it needs that variable there, not a tensor"
                out.append(Fault(request, problem, f"Select {held!r} too, or leave {writer!r} out"))
                break
    return out


def writes(kind: str) -> bool:
    """Returns whether an op type changes the reference variable that is its input 0.

    Example:
        >>> writes("Assign"), writes("Identity")
        (True, False)
    """
    return kind.startswith(REF_WRITERS) and kind != "ScatterNd"


def _can_turn(graph: Graph, op: int) -> bool:
    if graph.types[op] not in READERS:
        return False
    attributes = getattr(graph.nodes[op], "attr", {})
    return "batch_dims" not in attributes or not attributes["batch_dims"].i  # the plain Gather knows no batches


def spare(graph: Graph, mask: Mask, start: Iterable[int], variable: str) -> Mask:
    """Returns `start` and the ops under the variable's own name that only these need: its initial value, mostly."""
    todo = list(start)
    gone = graph.mask(todo)
    lead = variable + "/"
    while todo:
        op = todo.pop()
        for above in {*graph.data.row(op).tolist(), *graph.control.row(op).tolist()}:
            if gone[above] or not mask[above] or not graph.names[above].startswith(lead):
                continue
            readers = np.concatenate([graph.consumers.row(above), graph.control_consumers.row(above)])
            if not (mask[readers] & ~gone[readers]).any():
                gone[above] = True
                todo.append(above)
    return gone


def substitute_faults(step: CopyStep, base: Workbench, found: Sequence[Substitute]) -> list[Fault]:
    """Faults of freezing and replacing: ops that change the variable, no values, a tensor that does not fit."""
    out: list[Fault] = []
    for sub in found:
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
                out.append(Fault.of(error))
                continue
            old = value_info(sub.info)
            if new is None:
                continue
            differ = bare(new.dtype) != bare(old.dtype)
            if differ or shapes_differ(new.shape, old.shape):
                why = "" if differ else f": {axis_text(new.shape, old.shape)}"
                problem = f"{sub.tensor!r} is {new}, but {name!r} is {old}{why}"
                out.append(Fault(request, problem, fitting(base.frozen(), old)))
    return out
