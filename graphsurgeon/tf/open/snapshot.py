"""Snapshot: reads a live graph into a snapshot, and updates the snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import OpenError
from ...graph.collector import gc_paused
from ...graph.graph import Graph
from ...graph.live import TFGraph, TFNodeDef, TFOp
from ...graph.pending import made, pending
from ...graph.variables import State
from ..copy.collections import entry
from ..copy.contexts import context_ops
from ..copy.resources import init_ops
from ..functions.library import BRANCHING, CALLS, Definitions, gradients_of
from ..private.functions import functions_of
from ..private.graphs import collections_of, node_bytes, op_count
from ..values.variables import variable_infos
from ..wire import naming_memory
from . import nodes
from .inferred import Inferred
from .outputs import Stated


def snapshot(graph: TFGraph, previous: Graph | None = None, title: str = "graph") -> Graph:
    """Returns a snapshot of a live graph; extends `previous` if the graph has only grown.

    Args:
        graph: a `tf.Graph`.
        previous: an earlier snapshot of the same graph.
        title: the name of the graph in messages.
    """
    waiting = pending(graph)
    if waiting is not None:
        found: Graph = waiting.snapshot(previous, title)
        return found
    if previous is not None and previous.owner is graph:
        previous = settled(previous)
        if op_count(graph) == previous.size:
            reader = previous.state_of
            moved_on = isinstance(reader, _StateReader) and reader.moved_on()
            return replace(previous, state_of=_StateReader(graph)) if moved_on else previous
        ops = graph.get_operations()
        if not _rewritten(ops, previous):
            with gc_paused(), naming_memory("reading the graph"):
                return previous.extended(*nodes.read(ops[previous.size :]))
    return _read(graph, graph.get_operations(), title)


def settled(graph: Graph) -> Graph:
    """Makes the live graph, and returns its snapshot; returns the same snapshot if TensorFlow refuses the whole graph.

    A snapshot that was read from a file has the same ops under the same numbers. Their attributes and shapes are known
    only as far as the file states them.
    """
    outputs = graph.outputs_of
    if not isinstance(outputs, Stated):
        return graph
    if outputs.settled is None:
        try:
            live = made(graph.owner, whole=False)
        except OpenError:
            return graph
        found = _read(live, live.get_operations()[: graph.size], graph.title)
        lost = np.flatnonzero(graph.refused_ops).tolist()
        if lost:  # there, the live graph has stand-ins
            nodes_of = {**dict(enumerate(found.nodes)), **{i: graph.nodes[i] for i in lost}}
            own = list(nodes_of.values())
            found = replace(found, types=graph.types, nodes=own, outputs_of=outputs, unknown=graph.unknown)
        outputs.settled = found
    return outputs.settled


def _read(graph: TFGraph, ops: Sequence[TFOp], title: str) -> Graph:
    with gc_paused(), naming_memory("reading the graph"):
        found, stamps = nodes.read(ops)
        return Graph.read(
            found,
            stamps=stamps,
            owner=graph,
            outputs_of=Inferred(graph),
            title=title,
            state_of=_StateReader(graph),
            functions_of=lambda: Definitions(functions_of(graph)),
            gradients_of=lambda: gradients_of(graph),
        )


def _rewritten(ops: Sequence[TFOp], previous: Graph) -> bool:
    """Whether a gradient has changed conds, loops or calls in place: it gives them the outputs that it needs."""
    kinds, _, kind_of = previous.kinds
    calling = [k for k, kind in enumerate(kinds) if kind in BRANCHING or kind in CALLS]
    there = np.flatnonzero(np.isin(kind_of, calling)).tolist() if calling else []
    now = map(nodes.stamp, node_bytes(ops[i] for i in there))
    return any(mark != previous.stamps[i] for i, mark in zip(there, now, strict=True))


def confirmed(
    graph: TFGraph, previous: Graph, predicted: Graph, sent: Sequence[TFNodeDef], made: list[str]
) -> Graph | None:
    """Reads the ops added to a graph; returns the new snapshot if it is as predicted, otherwise None.

    Args:
        graph: the live graph, after nodes were added.
        previous: its snapshot from before.
        predicted: the snapshot it should have now.
        sent: the NodeDefs that were to be added, in order; they are compared with those of the graph.
        made: the names that the graph gave to the added ops.
    """
    ops = graph.get_operations()
    if len(ops) != predicted.size or previous.size + len(sent) != predicted.size:
        return None
    with gc_paused():
        kept, stamps = list(sent), []
        for start, found, marks in nodes.pieces(ops[previous.size :]):
            if found != kept[start : start + len(found)]:
                return None
            stamps += marks
        if made != predicted.names[previous.size :]:
            return None
        return replace(
            previous,
            names=predicted.names,
            types=predicted.types,
            nodes=[*previous.nodes, *kept],
            stamps=[*previous.stamps, *stamps],
            data=predicted.data,
            control=predicted.control,
            index=predicted.index,
        )


class _StateReader:
    """Reads variables and collections on first use; later steps of a plan use the same values."""

    def __init__(self, graph: TFGraph) -> None:
        self._graph = graph
        self._seen: list[Any] | None = None
        self._kept: tuple[int, State] | None = None  # number of the newest op, and the state

    def __call__(self) -> State:
        version = self._graph.version
        if self._kept is None or self._kept[0] != version:
            self._seen = self._look()
            self._kept = version, state(self._graph)
        return self._kept[1]

    def moved_on(self) -> bool:
        """Returns whether items were added to the collections, or removed from them, since they were read."""
        return self._seen is not None and self._seen != self._look()

    def _look(self) -> list[Any]:
        return [
            (name, len(items), id(items[-1]) if items else 0) for name, items in collections_of(self._graph).items()
        ]


def state(graph: TFGraph) -> State:
    """Returns the variables and collections of a live graph, as plain values."""
    collections = {}
    for name, items in collections_of(graph).items():
        collections[name] = tuple(entry(graph, item) for item in items)
    return State(variable_infos(graph), collections, context_ops(graph), init_ops(graph))
