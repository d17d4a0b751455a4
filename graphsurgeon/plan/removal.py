"""Removes ops from the result of a plan, and finds the reasons why ops cannot be removed."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import SelectionError, counted, few
from ..graph.graph import Graph, Mask
from ..graph.names import op_name
from ..graph.rewiring import graph_without_ops
from ..graph.selection import Selection
from ..graph.traversal import backward
from .copy_result import renumbered
from .dependencies import variable_parts
from .fault import Fault
from .plan_result import PlanResult

NO_ENDS: Mapping[str, str] = MappingProxyType({})

#: Kind of blocker -> function that returns the description of a row. Its parameters are the columns of the row.
_BLOCKER_TEXTS: dict[str, Callable[..., str]] = {
    "data": lambda tensor, reader, at: f"{tensor} is read by {reader}, input {at}",
    "control": lambda op, later: f"{later} waits for {op}",
    "collections": lambda op, key: f"{op} is in the collection {key!r}",
    "variables": lambda op, variable: f"{op} is a part of the variable {variable}, which stays",
    "contexts": lambda op, ends: f"{op} is a part of the same loop or cond as {ends}, which stays",
    "init_ops": lambda op, holder: f"{op} fills {holder}, which stays",
    "colocated": lambda op, other: f"{other} is colocated with {op}",
    "signatures": lambda tensor, end: f"{tensor} is {end} of a signature",
}


@dataclass(frozen=True)
class RemovalBlockers:
    """The reasons why ops cannot be removed; false if there are none.

    Args:
        ops: the ops to remove.
        data: (tensor, consumer, input) for each consumer that stays.
        control: (op, op that waits for it).
        collections: (op, collection that contains the op or an object made of it).
        variables: (op, remaining variable that the op is a part of).
        contexts: (op, remaining op of the same TF1 loop or cond).
        init_ops: (op, remaining table or iterator that the op fills).
        colocated: (op, op that is colocated with it).
        signatures: (tensor, the input or output of the opened graph that it is).
    """

    ops: tuple[str, ...]
    data: tuple[tuple[str, str, int], ...] = ()
    control: tuple[tuple[str, str], ...] = ()
    collections: tuple[tuple[str, str], ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    contexts: tuple[tuple[str, str], ...] = ()
    init_ops: tuple[tuple[str, str], ...] = ()
    colocated: tuple[tuple[str, str], ...] = ()
    signatures: tuple[tuple[str, str], ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many reasons there are of each kind."""
        return {f.name: len(getattr(self, f.name)) for f in fields(self)[1:]}

    def __bool__(self) -> bool:
        return any(self.counts.values())

    def table(self) -> list[dict[str, Any]]:
        """Returns one row for each reason: its kind, the op (or tensor), the blocker, and a description."""
        kinds = [f.name for f in fields(self)[1:]]
        return [
            {"kind": kind, "op": row[0], "by": row[1], "what": _BLOCKER_TEXTS[kind](*row)}
            for kind in kinds
            for row in getattr(self, kind)
        ]

    def __str__(self) -> str:
        whom = repr(self.ops[0]) if len(self.ops) == 1 else counted(len(self.ops), "ops")
        if not self:
            return f"nothing prevents the removal of {whom}"
        lines = [f"the removal of {whom} is prevented by"]
        for kind, count in self.counts.items():
            rows = getattr(self, kind)
            lines += [f"  {_BLOCKER_TEXTS[kind](*row)}" for row in rows[:6]]
            lines += [f"  … and {count - 6} more of that kind"] if count > 6 else []
        return "\n".join(lines)


def find_removal_blockers(graph: Graph, ops: Any, served: Mapping[str, str] = NO_ENDS) -> RemovalBlockers:
    """Returns the reasons why an op or a selection cannot be removed: its consumers, waiting ops and holders.

    Args:
        graph: the snapshot.
        ops: an op by name or object, several of them, or a selection. These ops do not block one another.
        served: tensor -> the input or output of a signature that it is, such as ``"the output 'scores'"``.

    Raises:
        SelectionError: if no op has this name, or nothing is selected.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "NoOp", ["^a"])])
        >>> print(find_removal_blockers(g, "a"))
        the removal of 'a' is prevented by
          a:0 is read by b, input 0
          c waits for a
        >>> print(find_removal_blockers(g, ["a", "b", "c"]))
        nothing prevents the removal of 3 ops
    """
    removed = _removed_mask(graph, ops)
    kinds: list[Any] = [readers, waiting_pairs, _collection_members, variables, contexts, init_ops, colocated_pairs]
    served_ends = tuple(
        (t, end) for t, end in served.items() if (n := graph.index.get(op_name(t))) is not None and removed[n]
    )
    names = tuple(graph.names[i] for i in np.flatnonzero(removed).tolist())
    return RemovalBlockers(names, *[*(tuple(of(graph, removed)) for of in kinds), served_ends])


def _removed_mask(graph: Graph, ops: Any) -> Mask:
    if isinstance(ops, Selection):
        mask = ops.on_strict(graph, "blocks(selection)").mask
    else:
        things = [ops] if isinstance(ops, str) or hasattr(ops, "name") else list(ops)
        mask = graph.mask([graph.find(op_name(t), f"blocks({op_name(t)!r})") for t in things])
    if not mask.any():
        raise SelectionError("blocks(selection)", "the selection is empty", "Select at least one op")
    return mask


def readers(graph: Graph, removed: Mask) -> Iterator[tuple[str, str, int]]:
    """Yields (removed tensor, remaining consumer, input)."""
    rows, names = graph.data.rows, graph.names
    for at in np.flatnonzero(removed[graph.data.node] & ~removed[rows]).tolist():
        reader = int(rows[at])
        tensor = f"{names[graph.data.node[at]]}:{graph.data.port[at]}"
        yield tensor, names[reader], at - int(graph.data.ptr[reader])


def waiting_pairs(graph: Graph, removed: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, remaining op that waits for it)."""
    rows = graph.control.rows
    for at in np.flatnonzero(removed[graph.control.node] & ~removed[rows]).tolist():
        yield graph.names[graph.control.node[at]], graph.names[rows[at]]


def collection_entries(graph: Graph, removed: Mask) -> Iterator[tuple[str, list[str]]]:
    """Yields (collection, removed ops of the entry) for each collection entry that contains removed ops."""
    for key, entries in graph.state.collections.items():
        for entry in entries:
            if entry.kind not in ("value", "other"):
                names = dict.fromkeys([op_name(entry.name), *entry.parts])
                lost = [name for name in names if name in graph.index and removed[graph.index[name]]]
                if lost:
                    yield key, lost


def _collection_members(graph: Graph, removed: Mask) -> Iterator[tuple[str, str]]:
    yield from ((name, key) for key, names in collection_entries(graph, removed) for name in names)


def variables(graph: Graph, removed: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, remaining variable that it is a part of)."""
    for variable in graph.state.variables.values():
        number = graph.index.get(variable.op)
        if number is None or removed[number]:
            continue
        ops = [variable.initializer, *map(op_name, (variable.snapshot, variable.initial_value))]
        near = [graph.index[n] for n in ops if n in graph.index] + graph.consumers.row(number).tolist()
        if removed[near].any():  # computes a mask over the graph only if it is needed
            for part in np.flatnonzero(variable_parts(graph, variable) & removed).tolist():
                yield graph.names[part], variable.op


def contexts(graph: Graph, removed: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, remaining op of the same TF1 loop or cond)."""
    for names in graph.state.contexts:
        inside = sorted(graph.index[n] for n in names if n in graph.index)
        stays = next((i for i in inside if not removed[i]), None)
        if stays is not None:
            yield from ((graph.names[i], graph.names[stays]) for i in inside if removed[i])


def init_ops(graph: Graph, removed: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, remaining table or iterator that it fills)."""
    for holder, fills in graph.state.init_ops.items():
        number = graph.index.get(holder)
        if number is not None and not removed[number]:
            yield from ((s, holder) for s in fills if s in graph.index and removed[graph.index[s]])


def colocated_pairs(graph: Graph, removed: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, remaining op that is colocated with it)."""
    ops, others, names = graph.colocations
    for k in np.flatnonzero((others >= 0) & removed[others] & ~removed[ops]).tolist() if names else ():
        yield names[k], graph.names[ops[k]]


def remove_ops(effect: PlanResult) -> PlanResult:
    """Removes the ops that steps have marked, or adds a fault if remaining ops need them."""
    if not effect.removed or effect.faults:
        return effect
    graph, order = effect.after, sorted(effect.removed)
    removed, names = graph.mask(order), [graph.names[i] for i in order]
    request = f"remove({few(names)!r})"
    fault = readers_fault(graph, removed, request, effect.removed) or _incomplete_part_fault(
        graph, removed, request, effect
    )
    if fault is not None:
        return replace(effect, faults=(*effect.faults, fault))
    warnings = list(effect.warnings)
    about = {
        "control inputs": [f"{later} after {op}" for op, later in waiting_pairs(graph, removed)],
        "colocations": [f"{op} with {name}" for name, op in colocated_pairs(effect.base, removed[: effect.base.size])],
    }
    for (what, pairs), word in zip(about.items(), ("on", "with"), strict=True):
        if pairs:
            warnings.append(f"{counted(len(pairs), what)} {word} removed ops left out: {few(pairs)}")
    entry_counts = Counter(key for key, _ in collection_entries(graph, removed))
    if entry_counts:
        counts = [f"{key} {count}" for key, count in entry_counts.items()]
        warnings.append(f"collection entries of removed ops, also removed: {few(counts, 6)}")
    removed_names = set(names)
    return replace(
        effect,
        after=graph_without_ops(graph, order),
        first_new=effect.first_new - len(order),
        copies=tuple(renumbered(effect.copies, graph, removed)),
        connections=tuple(c for c in effect.connections if c.to not in removed_names),
        warnings=tuple(warnings),
    )


def protected_ops(graph: Graph, ops: Mask) -> Mask:
    """Returns a mask of the ops that must stay.

    An op must stay if another op needs it, or if it is a part of a variable, table, loop or cond.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["a"])])
        >>> protected_ops(g, g.mask([0, 1])).tolist()
        [True, False, False]
    """
    stay = backward(graph, ~ops) & ops
    for variable in graph.state.variables.values():
        if variable.op in graph.index:
            stay |= variable_parts(graph, variable) & ops
    wholes = [[graph.index[name] for name in names if name in graph.index] for names in graph.state.contexts]
    for whole in wholes:
        if not ops[whole].all():  # a loop or cond can be removed only as a whole
            stay[whole] = True
    init_ops = {name for names in graph.state.init_ops.values() for name in names}
    stay[[graph.index[name] for name in init_ops if name in graph.index]] = True
    return backward(graph, stay) & ops if (stay & ops).any() else stay & ops


def readers_fault(
    graph: Graph, removed: Mask, request: str, by: Mapping[int, int] = MappingProxyType({})
) -> Fault | None:
    """Returns a fault if remaining ops read removed ops.

    Args:
        graph: the graph before the ops are removed.
        removed: mask of the removed ops.
        request: the request.
        by: removed op -> the step that removes it.
    """
    edges = list(readers(graph, removed))
    if not edges:
        return None
    ops = list(dict.fromkeys(reader for _, reader, _ in edges))
    # If an op has no inputs, stitching has no tensor for its consumers.
    bare = any(not len(graph.data.row(graph.tensor(tensor)[0])) for tensor, _, _ in edges)
    ways = "or reroute their inputs first" if bare else "reroute their inputs first, or choose stitch=True"
    more = f"Remove these too, {ways}; ed.removal_blockers(...) lists all"
    first, _ = graph.tensor(edges[0][0])
    return Fault(request, f"{edges[0][0]!r} is still read by {few(ops, 8)}", more, step=by.get(first))


def _incomplete_part_fault(graph: Graph, removed: Mask, request: str, effect: PlanResult) -> Fault | None:
    """Returns a fault if only a part of a variable, a loop, a cond, or a table with its fillers is removed."""
    broken = itertools.chain(
        ((name, f"is a part of variable {variable!r}", "Remove the variable too, or keep its parts")
         for name, variable in variables(graph, removed)),
        ((name, f"fills {holder!r}", "Remove that too, or keep the ops that fill it")
         for name, holder in init_ops(graph, removed)),
        ((name, "is a part of a loop or cond", "Remove the whole loop or cond")
         for name, _ in contexts(graph, removed) if graph.index[name] not in effect.pruned),
    )  # fmt: skip
    for name, problem, suggestion in broken:
        return Fault(
            request, f"{name!r} {problem}, which stays", suggestion, step=effect.removed.get(graph.index[name])
        )
    return None
