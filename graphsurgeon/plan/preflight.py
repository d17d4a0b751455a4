"""Preflight: the content of the attributes of copied ops: keys shared with others, seeds, gradients, places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..graph.graph import Graph, Mask
from ..graph.names import under
from .fault import Fault
from .steps import CopyStep

#: Ops that meet their partners under a key that belongs to the whole process, or to several of them.
_MEETING = ("_Send", "_Recv", "_HostSend", "_HostRecv", "Send", "Recv", "Collective", "XlaSend", "XlaRecv")
#: Ops that `tf.custom_gradient` leaves in a graph.
_CUSTOM = ("IdentityN", "PartitionedCall", "StatefulPartitionedCall")


def attributes(graph: Graph, mask: Mask, name: str, types: tuple[str, ...] = ()) -> Iterator[tuple[int, Any]]:
    """Yields (op number, value) for the ops of `mask` that have an attribute; only of these types if any are given.

    One op of each type is tried first: either all ops of a type have an attribute or none has it.
    """
    kinds, first, kind_of = graph.kinds
    able = [k for k, at in enumerate(first.tolist()) if kinds[k] in types] if types else []
    if not types:
        able = [k for k, at in enumerate(first.tolist()) if name in getattr(graph.nodes[at], "attr", ())]
    for i in np.flatnonzero(mask & np.isin(kind_of, able)).tolist() if able else ():
        held = getattr(graph.nodes[i], "attr", {})
        if name in held:
            yield i, held[name]


def preflight_faults(step: CopyStep, mask: Mask, base: Graph, same: bool) -> list[Fault]:
    """Faults in the attributes of the ops of a copy: partners met under a key, a shared name that is taken."""
    graph, request, out = step.selection.graph, f"copy(to={step.to!r})", []
    if step.to or same:
        meeting = graph.typed(kind for kind in graph.kinds[0] if kind.startswith(_MEETING))
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
        keys = {under(step.to, key) for _, key in _texts(graph, mask, "shared_name")}
        everywhere = np.ones(base.size, np.bool_)
        taken = _texts(base, everywhere, "shared_name") if keys else ()
        clash = [(i, key) for i, key in taken if key in keys]
        if clash:
            name, key = base.names[clash[0][0]], clash[0][1]
            problem = (
                f"{name!r} of {base.title} keeps its state under the shared name {key!r}, which the copy would have too"
            )
            out.append(Fault(request, problem, f"Choose another scope: to={step.to + '_copy'!r}"))
    return out


def _texts(graph: Graph, mask: Mask, name: str, types: tuple[str, ...] = ()) -> Iterator[tuple[int, str]]:
    """Like `attributes`, for an attribute that is a text."""
    return ((i, value.s.decode("utf-8", "replace")) for i, value in attributes(graph, mask, name, types))


def custom_gradients(graph: Graph, mask: Mask) -> dict[int, str]:
    """Returns op number -> the name of its gradient, for ops left by `tf.custom_gradient`."""
    found = _texts(graph, mask, "_gradient_op_type", _CUSTOM)
    return {i: name for i, name in found if name.startswith("CustomGradient-")}


def seeded(graph: Graph, mask: Mask) -> list[str]:
    """Returns the names of random ops with a seed, but for those that make the initial value of a variable."""
    leads = tuple(name + "/" for name in graph.state.variables)
    out = []
    for i, second in attributes(graph, mask, "seed2"):
        held = graph.nodes[i].attr
        if (second.i or ("seed" in held and held["seed"].i)) and not graph.names[i].startswith(leads):
            out.append(graph.names[i])
    return out


def far_places(graph: Graph, mask: Mask, known: set[str]) -> list[tuple[str, str]]:
    """Returns (op, other op) if an op is to be placed with another that is neither copied nor mapped."""
    ops, others, names = graph.places
    far = np.flatnonzero(mask[ops] & ~((others >= 0) & mask[others])).tolist() if names else []
    return [(graph.names[ops[k]], names[k]) for k in far if names[k] not in known]
