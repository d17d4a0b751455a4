"""Provenance: the records that a live graph keeps in a separate collection, and attributes of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from ...errors import PlanError
from ...graph.graph import Graph
from ...graph.live import TFGraph
from ...graph.orphans import orphan_mask
from ...graph.pending import pending
from ...graph.provenance import ATTRIBUTE, COLLECTION, Origin, attribute, from_attribute, origins, step_of
from ...plan.effect import Effect
from ...plan.record import record
from ..open.nodes import DIGEST, runs
from ..open.outputs import array_in
from ..private.graphs import all_collections


def records(graph: TFGraph) -> list[Any]:
    """Returns the records of a graph, oldest first."""
    waiting = pending(graph)
    if waiting is not None:
        return list(waiting.records)
    return list(all_collections(graph).get(COLLECTION, ()))


def keep(graph: TFGraph, data: bytes) -> None:
    """Puts a record into a graph."""
    if data:
        graph.add_to_collection(COLLECTION, data)


def forget(graph: TFGraph, data: bytes) -> None:
    """Removes a record from a graph."""
    lists = all_collections(graph)
    items = lists.get(COLLECTION, [])
    with suppress(ValueError):
        items.remove(data)
    if not items:
        lists.pop(COLLECTION, None)


def next_step(graph: TFGraph, events: Iterable[Any]) -> int:
    """Returns the number of the next step: one more than the highest in this graph and the file that it came from."""
    return 1 + max([0, *(event.number for event in events), *map(step_of, records(graph))])


def noted(effect: Effect, before: Any, graph: TFGraph, step: int) -> bytes:
    """Records in a graph what a plan did to it. A new graph also gets the records of the old one."""
    if graph is not before:
        for data in records(before):
            graph.add_to_collection(COLLECTION, data)
    data = record(effect, step, lambda source: known(source, source.live))
    keep(graph, data)
    return data


def known(snapshot: Graph, graph: TFGraph) -> Mapping[str, Origin]:
    """Returns op name -> its origin, for all ops that are not originals."""
    found = origins(records(graph))
    marked = {snapshot.names[i]: snapshot.nodes[i].attr[ATTRIBUTE].s for i in _marked(snapshot)}
    return {**{name: from_attribute(name, said) for name, said in marked.items()}, **found} if marked else found


def origin(snapshot: Graph, graph: TFGraph, name: str) -> Origin | None:
    """Returns the origin of one op, or None for an original. No other op is read."""
    found = origins(records(graph)).get(name)
    said = getattr(snapshot.nodes[snapshot.index[name]], "attr", {}) if found is None else {}
    return from_attribute(name, said[ATTRIBUTE].s) if ATTRIBUTE in said else found


def _marked(snapshot: Graph) -> list[int]:
    """Numbers of the ops whose nodes have an attribute with their origin."""
    stamps, sign, found = snapshot.stamps, ATTRIBUTE.encode(), []
    if len(stamps) != snapshot.size:
        return [i for i, node in enumerate(snapshot.nodes) if ATTRIBUTE in getattr(node, "attr", ())]
    for some in runs(range(snapshot.size)):
        marks = [stamps[i] for i in some]
        # most stamps are the bytes of the node; those of large nodes are digests
        if sign in b"".join(marks) or DIGEST in map(len, marks):
            maybe = [i for i, mark in zip(some, marks, strict=True) if sign in mark or len(mark) == DIGEST]
            found += [i for i in maybe if ATTRIBUTE in snapshot.nodes[i].attr]
    return found


def graph_def(snapshot: Graph, graph: TFGraph, provenance: bool) -> Any:
    """Returns the GraphDef of a graph without its orphans, except for orphans that other ops read."""
    from ...plan.closure import needed

    whole = graph.as_graph_def()
    stay = needed(snapshot, ~orphan_mask(snapshot))
    out = type(whole)()
    out.versions.CopyFrom(whole.versions)
    if whole.HasField("library"):
        out.library.CopyFrom(whole.library)
    out.node.extend(node for node in whole.node if stay[snapshot.index[node.name]])
    about = known(snapshot, graph) if provenance else {}
    for node in out.node if about else ():
        if node.name in about:
            node.attr[ATTRIBUTE].s = attribute(about[node.name])
    return out


def constant_of(graph: TFGraph, name: str, request: str) -> Any:
    """Returns the array that a constant of a live graph holds.

    Raises:
        PlanError: the array would be too large, although the constant takes only a few bytes.
    """
    array = array_in(graph.get_operation_by_name(name).get_attr("value"))
    if array is None:
        raise PlanError(
            request, f"constant {name!r} is too large to be expanded", "Save the graph instead: ed.save(path)"
        )
    return array
