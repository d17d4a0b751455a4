"""Read a live graph into a snapshot, and keep the snapshot up to date."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..core.graph import Graph, TensorInfo
from ..core.state import State
from .control_flow import context_ops
from .internals import collections_of, gc_paused
from .items import entry
from .resources import starters
from .variables import variable_infos


def snapshot(graph: Any, previous: Graph | None = None, title: str = "graph") -> Graph:
    """Returns a snapshot of a live graph; extends `previous` where the graph has only grown.

    Args:
        graph: a `tf.Graph`.
        previous: an earlier snapshot of the same graph.
        title: what to call the graph in messages.
    """
    if previous is not None and previous.owner is graph:
        ops = graph.get_operations()
        if len(ops) == previous.size:
            return previous
        with gc_paused():
            return previous.extended(_new_nodes(graph, ops, previous.size))
    with gc_paused():
        return Graph.read(
            _new_nodes(graph, graph.get_operations(), 0),
            owner=graph,
            outputs_of=_Outputs(graph),
            title=title,
            state_of=_StateReader(graph),
        )


def confirmed(graph: Any, previous: Graph, predicted: Graph, nodes: Sequence[Any]) -> Graph | None:
    """Reads what was added to a graph; returns its snapshot if it is what was predicted, else None.

    Args:
        graph: the live graph, after nodes were added.
        previous: its snapshot from before.
        predicted: the snapshot it should have now.
        nodes: the NodeDefs that were to be added, in order; each is compared with what the graph now says.
    """
    ops = graph.get_operations()
    if len(ops) != predicted.size or previous.size + len(nodes) != predicted.size:
        return None
    with gc_paused():
        found = _new_nodes(graph, ops, previous.size)
        if found != list(nodes) or [n.name for n in found] != predicted.names[previous.size :]:
            return None
        return replace(
            previous,
            names=predicted.names,
            types=predicted.types,
            nodes=[*previous.nodes, *found],
            data=predicted.data,
            control=predicted.control,
            index=predicted.index,
        )


def _new_nodes(graph: Any, ops: Sequence[Any], first: int) -> list[Any]:
    """NodeDefs from op number `first` on: all at once where most are new, else one by one."""
    if 2 * first < len(ops):
        with suppress(Exception):  # the whole GraphDef at once fails above 2 GB
            nodes = list(graph.as_graph_def().node)
            if len(nodes) == len(ops):
                return nodes[first:]
    return [op.node_def for op in ops[first:]]


class _Outputs:
    """Tells dtype and shape of the outputs of an op, by its number."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._ops: Sequence[Any] = ()

    def __call__(self, number: int) -> Sequence[TensorInfo]:
        if number >= len(self._ops):
            self._ops = self._graph.get_operations()
        return [tensor_info(t) for t in self._ops[number].outputs]


def tensor_info(tensor: Any) -> TensorInfo:
    """Returns dtype and static shape of a `tf.Tensor`."""
    shape = tensor.shape
    return TensorInfo(tensor.dtype.name, None if shape.rank is None else tuple(shape.as_list()))


class _StateReader:
    """Reads variables and collections when they are first asked for."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def __call__(self) -> State:
        return state(self._graph)


def state(graph: Any) -> State:
    """Returns the variables and collections of a live graph, as plain values."""
    collections = {}
    for name, items in collections_of(graph).items():
        collections[name] = tuple(entry(graph, item) for item in items)
    return State(variable_infos(graph), collections, context_ops(graph), starters(graph))
