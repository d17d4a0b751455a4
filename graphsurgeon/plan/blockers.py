"""Blockers: the reasons why ops cannot be removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import SelectionError
from ..graph.graph import Graph, Mask
from ..graph.names import op_name
from ..graph.selection import Selection
from ..words import counted
from .closure import variable_parts

NOTHING: Mapping[str, str] = MappingProxyType({})

#: How each kind of thing is said; each has the same number of parts as its rows.
_WORDS: dict[str, Callable[..., str]] = {
    "data": lambda tensor, reader, at: f"{tensor} is read by {reader}, input {at}",
    "control": lambda op, later: f"{later} waits for {op}",
    "collections": lambda op, key: f"{op} is in the collection {key!r}",
    "variables": lambda op, variable: f"{op} is a part of the variable {variable}, which stays",
    "contexts": lambda op, ends: f"{op} is a part of a loop or cond, of which {ends} stays",
    "init_ops": lambda op, holder: f"{op} fills {holder}, which stays",
    "colocated": lambda op, other: f"{other} is to be placed with {op}",
    "signatures": lambda tensor, end: f"{tensor} is {end} of a signature",
}


@dataclass(frozen=True)
class Blocks:
    """The reasons why ops cannot be removed; false if there are none.

    Args:
        ops: the ops that were asked about.
        data: (tensor, reader, input) for the ops outside that read them.
        control: (op, op that waits for it).
        collections: (op, collection that holds it, or something made of it).
        variables: (op, variable that stays and that it is a part of).
        contexts: (op, another op of the loop or cond of TF1 that it is a part of, and that stays).
        init_ops: (op, the table or iterator that stays and that it fills).
        colocated: (op, op that is to be placed with it).
        signatures: (tensor, which end of the opened graph it is).
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
        lines = [f"the removal of {whom} is prevented by"]
        for kind, count in self.counts.items():
            rows = getattr(self, kind)
            lines += [f"  {_WORDS[kind](*row)}" for row in rows[:6]]
            lines += [f"  … and {count - 6} more of that kind"] if count > 6 else []
        return "\n".join(lines)


def blocks(graph: Graph, what: Any, served: Mapping[str, str] = NOTHING) -> Blocks:
    """Returns the reasons why an op or a selection cannot be removed: its consumers, waiting ops and holders.

    Args:
        graph: the snapshot.
        what: an op by name or object, several of them, or a selection. These ops do not block one another.
        served: tensor -> which end of a signature it is, such as ``"the output 'scores'"``.

    Raises:
        SelectionError: if no op has this name, or nothing is selected.

    Example:
        >>> g = Graph.of([("a", "Const", []), ("b", "Neg", ["a"]), ("c", "NoOp", ["^a"])])
        >>> print(blocks(g, "a"))
        the removal of 'a' is prevented by
          a:0 is read by b, input 0
          c waits for a
        >>> print(blocks(g, ["a", "b", "c"]))
        nothing prevents the removal of 3 ops
    """
    gone = _gone(graph, what)
    kinds: list[Any] = [readers, waiting, _held, variables, contexts, init_ops, colocated]
    held = tuple((t, end) for t, end in served.items() if (n := graph.index.get(op_name(t))) is not None and gone[n])
    names = tuple(graph.names[i] for i in np.flatnonzero(gone).tolist())
    return Blocks(names, *[*(tuple(of(graph, gone)) for of in kinds), held])


def _gone(graph: Graph, what: Any) -> Mask:
    if isinstance(what, Selection):
        mask = what.all_on(graph, "blocks(selection)").mask
    else:
        things = [what] if isinstance(what, str) or hasattr(what, "name") else list(what)
        mask = graph.mask([graph.find(op_name(t), f"blocks({op_name(t)!r})") for t in things])
    if not mask.any():
        raise SelectionError("blocks(selection)", "the selection is empty", "Select at least one op")
    return mask


def readers(graph: Graph, gone: Mask) -> Iterator[tuple[str, str, int]]:
    """Yields (tensor, reader, input) for ops that stay and read removed ones."""
    rows, names = graph.data.rows, graph.names
    for at in np.flatnonzero(gone[graph.data.node] & ~gone[rows]).tolist():
        reader = int(rows[at])
        tensor = f"{names[graph.data.node[at]]}:{graph.data.port[at]}"
        yield tensor, names[reader], at - int(graph.data.ptr[reader])


def waiting(graph: Graph, gone: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, op that stays and waits for it)."""
    rows = graph.control.rows
    for at in np.flatnonzero(gone[graph.control.node] & ~gone[rows]).tolist():
        yield graph.names[graph.control.node[at]], graph.names[rows[at]]


def listed(graph: Graph, gone: Mask) -> Iterator[tuple[str, list[str]]]:
    """Yields for each entry of a collection that holds ops which go: (collection, these ops)."""
    for key, entries in graph.state.collections.items():
        for entry in entries:
            if entry.kind not in ("value", "other"):
                names = dict.fromkeys([op_name(entry.name), *entry.parts])
                lost = [name for name in names if name in graph.index and gone[graph.index[name]]]
                if lost:
                    yield key, lost


def _held(graph: Graph, gone: Mask) -> Iterator[tuple[str, str]]:
    yield from ((name, key) for key, names in listed(graph, gone) for name in names)


def variables(graph: Graph, gone: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, variable that stays and that it is a part of)."""
    for variable in graph.state.variables.values():
        number = graph.index.get(variable.op)
        if number is None or gone[number]:
            continue
        named = [variable.initializer, *map(op_name, (variable.snapshot, variable.initial_value))]
        near = [graph.index[n] for n in named if n in graph.index] + graph.consumers.row(number).tolist()
        if gone[near].any():  # its parts are a mask over the graph: worked out only where there is reason to
            for part in np.flatnonzero(variable_parts(graph, variable) & gone).tolist():
                yield graph.names[part], variable.op


def contexts(graph: Graph, gone: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, op of the same loop or cond of TF1 that stays)."""
    for names in graph.state.contexts:
        inside = sorted(graph.index[n] for n in names if n in graph.index)
        stays = next((i for i in inside if not gone[i]), None)
        if stays is not None:
            yield from ((graph.names[i], graph.names[stays]) for i in inside if gone[i])


def init_ops(graph: Graph, gone: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, table or iterator that stays and that it fills)."""
    for holder, fills in graph.state.init_ops.items():
        number = graph.index.get(holder)
        if number is not None and not gone[number]:
            yield from ((s, holder) for s in fills if s in graph.index and gone[graph.index[s]])


def colocated(graph: Graph, gone: Mask) -> Iterator[tuple[str, str]]:
    """Yields (removed op, op that stays and is colocated with it)."""
    ops, others, names = graph.places
    for k in np.flatnonzero((others >= 0) & gone[others] & ~gone[ops]).tolist() if names else ():
        yield names[k], graph.names[ops[k]]
