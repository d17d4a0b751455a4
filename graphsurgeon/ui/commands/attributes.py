"""Commands that list attributes of ops and op types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...graph.graph import Graph
from ...graph.names import op_name
from ...plan.effect import OpChange
from ..stage import Stage
from ..state import Facts, State, ops_of

_MOST = 500
"""The maximum number of ops whose attributes are compared."""


def attributes_of(
    facts: Facts, graph: Graph, ops: Sequence[int], changes: Mapping[str, OpChange] = {}
) -> list[dict[str, Any]]:
    """Returns the editable attributes that some ops have in common.

    Args:
        facts: facts on ops.
        graph: the snapshot with the ops.
        ops: their numbers.
        changes: the effects of the plan on ops, by name.

    Returns:
        for each attribute its ``name``, its ``value`` as text (empty if the ops differ), in ``was`` its value before
        the plan if the plan changes it, and its possible ``choices`` if these are few.
    """
    rows_by_attribute: dict[str, list[tuple[str, str, list[str]]]] = {}
    for op in ops:
        change = changes.get(graph.names[op], OpChange()).attributes
        for name, value, choices in facts.attributes(graph.nodes[op]):
            rows_by_attribute.setdefault(name, []).append((str(change.get(name, value)), value, choices))
    out = []
    for name, rows in rows_by_attribute.items():
        now, was = {row[0] for row in rows}, {row[1] for row in rows}
        if len(rows) == len(ops):
            choices = [one for one in rows[0][2] if all(one in row[2] for row in rows)]
            before = next(iter(was)) if now != was and len(was) == 1 else ""
            value = next(iter(now)) if len(now) == 1 else ""
            out.append({"name": name, "value": value, "was": before, "choices": choices})
    return out


def attributes(stage: Stage, state: State, names: Sequence[str], pane: str = "source") -> tuple[State, dict[str, Any]]:
    """Returns the attributes that all ops of boxes have in common.

    Args:
        names: names of boxes.
        pane: ``source`` or ``destination``.

    Returns:
        ``types``, with the number of ops of each; ``device``, if it is the same for all; and ``attributes``, the result
        of `attributes_of`.

    Raises:
        SelectionError: a box does not exist.
    """
    tree, boxes = stage.holding(state, pane, names)
    ops = ops_of(tree, boxes, "attributes").nonzero()[0].tolist()
    graph, changes = tree.graph, stage.draft(state).effect.changes
    counts = Counter(graph.types[op] for op in ops)
    devices = {device_of(graph, op, changes) for op in ops}
    return state, {
        "types": [[kind, count] for kind, count in counts.most_common()],
        "device": next(iter(devices)) if len(devices) == 1 else "",
        "attributes": attributes_of(stage.facts, graph, ops, changes) if len(ops) <= _MOST else [],
    }


def device_of(graph: Graph, op: int, changes: Mapping[str, OpChange]) -> str:
    """Returns the device that an op requests, after a plan."""
    change = changes.get(graph.names[op], OpChange()).device
    return str(getattr(graph.nodes[op], "device", "") or "") if change is None else change


def op_types(
    stage: Stage, state: State, query: str = "", names: Sequence[str] = (), inputs: int = 0
) -> tuple[State, list[dict[str, str]]]:
    """Returns op types and their descriptions, best first.

    Args:
        query: part of a name, or of the documentation.
        names: boxes to replace. For one op, types with the same number of inputs and outputs are returned.
        inputs: the number of inputs; 0 for any number.
    """
    graph = stage.graph(state, "destination")
    at = graph.index.get(op_name(names[0])) if len(names) == 1 else None
    like = "" if at is None else graph.types[at]
    matches: Iterable[tuple[str, str]] = stage.facts.op_types(query, like, inputs or None)
    return state, [{"name": kind, "doc": doc} for kind, doc in matches]
