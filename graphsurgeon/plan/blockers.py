"""Blockers: what stands in the way when ops are to be removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..errors import SelectionError
from ..graph.graph import Graph, Mask
from ..graph.names import op_name
from ..graph.selection import Selection
from ..words import counted
from .closure import variable_parts

#: How each kind of thing is said; each has the same number of parts as its rows.
_WORDS: dict[str, Callable[..., str]] = {
    "data": lambda tensor, reader, at: f"{tensor} is read by {reader}, input {at}",
    "control": lambda op, later: f"{later} waits for {op}",
    "collections": lambda op, key: f"{op} is in the collection {key!r}",
    "variables": lambda op, variable: f"{op} is a part of the variable {variable}, which stays",
    "contexts": lambda op, ends: f"{op} is a part of a loop or cond, of which {ends} stays",
    "init_ops": lambda op, holder: f"{op} fills {holder}, which stays",
    "colocated": lambda op, other: f"{other} is to be placed with {op}",
}


@dataclass(frozen=True)
class Blocks:
    """What prevents the removal of ops; it is false where nothing does.

    Args:
        ops: the ops that were asked about.
        data: (tensor, reader, input) for the ops outside that read them.
        control: (op, op that waits for it).
        collections: (op, collection that holds it, or something made of it).
        variables: (op, variable that stays and that it is a part of).
        contexts: (op, another op of the loop or cond of TF1 that it is a part of, and that stays).
        init_ops: (op, the table or iterator that stays and that it fills).
        colocated: (op, op that asks to be placed with it).
    """

    ops: tuple[str, ...]
    data: tuple[tuple[str, str, int], ...] = ()
    control: tuple[tuple[str, str], ...] = ()
    collections: tuple[tuple[str, str], ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    contexts: tuple[tuple[str, str], ...] = ()
    init_ops: tuple[tuple[str, str], ...] = ()
    colocated: tuple[tuple[str, str], ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many reasons there are of each kind."""
        return {f.name: len(getattr(self, f.name)) for f in fields(self)[1:]}

    def __bool__(self) -> bool:
        return any(self.counts.values())

    def table(self) -> list[dict[str, Any]]:
        """Returns one row for each reason: kind, op (or tensor), and what holds it."""
        kinds = [f.name for f in fields(self)[1:]]
        return [
            {"kind": kind, "op": row[0], "by": row[1], "what": _WORDS[kind](*row)}
            for kind in kinds
            for row in getattr(self, kind)
        ]

    def __str__(self) -> str:
        whom = repr(self.ops[0]) if len(self.ops) == 1 else counted(len(self.ops), "ops")
        if not self:
            return f"nothing prevents the removal of {whom}"
        lines = [f"what prevents the removal of {whom}"]
        for kind, count in self.counts.items():
            rows = getattr(self, kind)
            lines += [f"  {_WORDS[kind](*row)}" for row in rows[:6]]
            lines += [f"  … and {count - 6} more of that kind"] if count > 6 else []
        return "\n".join(lines)


def blocks(graph: Graph, what: Any) -> Blocks:
    """Returns what prevents the removal of an op or a selection: who reads it, waits for it, or holds it.

    Args:
        graph: the snapshot.
        what: an op by name or object, several of them, or a selection. What is among them blocks nothing.

    Raises:
        SelectionError: there is no such op, or nothing is selected.

    Example:
        >>> g = Graph.of([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "NoOp", ["^a"])])
        >>> print(blocks(g, "a"))
        what prevents the removal of 'a'
          a:0 is read by b, input 0
          c waits for a
        >>> print(blocks(g, ["a", "b", "c"]))
        nothing prevents the removal of 3 ops
    """
    gone = _gone(graph, what)
    return Blocks(
        tuple(graph.names[i] for i in np.flatnonzero(gone).tolist()),
        tuple(_readers(graph, gone)),
        tuple(_waiting(graph, gone)),
        tuple(_held(graph, gone)),
        tuple(_variables(graph, gone)),
        tuple(_contexts(graph, gone)),
        tuple(_init_ops(graph, gone)),
        tuple(_colocated(graph, gone)),
    )


def _gone(graph: Graph, what: Any) -> Mask:
    if isinstance(what, Selection):
        if what.graph is not graph and what.graph.owner is not graph.owner:
            title = what.graph.title
            raise SelectionError(
                "blocks(selection)", f"the selection is of another graph, {title}", f"Select from {graph.title}"
            )
        mask = what.on(graph).mask
    else:
        things = [what] if isinstance(what, str) or hasattr(what, "name") else list(what)
        mask = graph.mask([graph.find(op_name(t), f"blocks({op_name(t)!r})") for t in things])
    if not mask.any():
        raise SelectionError("blocks(selection)", "the selection is empty", "Select at least one op")
    return mask


def _readers(graph: Graph, gone: Mask) -> Iterable[tuple[str, str, int]]:
    rows, names = graph.data.rows, graph.names
    for at in np.flatnonzero(gone[graph.data.node] & ~gone[rows]).tolist():
        reader = int(rows[at])
        tensor = f"{names[graph.data.node[at]]}:{graph.data.port[at]}"
        yield tensor, names[reader], at - int(graph.data.ptr[reader])


def _waiting(graph: Graph, gone: Mask) -> Iterable[tuple[str, str]]:
    rows = graph.control.rows
    for at in np.flatnonzero(gone[graph.control.node] & ~gone[rows]).tolist():
        yield graph.names[graph.control.node[at]], graph.names[rows[at]]


def _held(graph: Graph, gone: Mask) -> Iterable[tuple[str, str]]:
    for key, entries in graph.state.collections.items():
        for entry in entries:
            if entry.kind in ("value", "other"):
                continue
            for name in dict.fromkeys([entry.name.partition(":")[0], *entry.parts]):
                number = graph.index.get(name)
                if number is not None and gone[number]:
                    yield name, key


def _variables(graph: Graph, gone: Mask) -> Iterable[tuple[str, str]]:
    for variable in graph.state.variables.values():
        number = graph.index.get(variable.op)
        if number is None or gone[number]:
            continue
        named = [variable.initializer, *(t.partition(":")[0] for t in (variable.snapshot, variable.initial_value))]
        near = [graph.index[n] for n in named if n in graph.index] + graph.consumers.row(number).tolist()
        if gone[near].any():  # its parts are a mask over the graph: worked out only where there is reason to
            for part in np.flatnonzero(variable_parts(graph, variable) & gone).tolist():
                yield graph.names[part], variable.op


def _contexts(graph: Graph, gone: Mask) -> Iterable[tuple[str, str]]:
    for names in graph.state.contexts:
        inside = sorted(graph.index[n] for n in names if n in graph.index)
        stays = next((i for i in inside if not gone[i]), None)
        if stays is not None:
            yield from ((graph.names[i], graph.names[stays]) for i in inside if gone[i])


def _init_ops(graph: Graph, gone: Mask) -> Iterable[tuple[str, str]]:
    for holder, init_ops in graph.state.init_ops.items():
        number = graph.index.get(holder)
        if number is not None and not gone[number]:
            yield from ((s, holder) for s in init_ops if s in graph.index and gone[graph.index[s]])


def _colocated(graph: Graph, gone: Mask) -> Iterable[tuple[str, str]]:
    for other in np.flatnonzero(graph.placed & ~gone).tolist():
        for place in graph.nodes[other].attr["_class"].list.s:
            name = place.decode("utf-8", "replace").removeprefix("loc:@")
            number = graph.index.get(name)
            if number is not None and gone[number]:
                yield name, graph.names[other]
