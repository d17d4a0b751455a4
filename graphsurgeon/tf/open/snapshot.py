"""Reads the nodes of a live graph into a snapshot, and keeps the snapshot up to date."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from ...errors import OpenError, StalePlanError, counted
from ...graph.concurrency import gc_paused
from ...graph.functions import BRANCHING, CALLS
from ...graph.graph import Graph
from ...graph.lazy_graph import lazy_graph_of, materialize
from ...graph.types import TFGraph, TFGraphDef, TFNodeDef, TFOp
from ...graph.variables import GraphState
from ...plan.copy_result import CopyResult
from ..copy.contexts import context_ops
from ..copy.python_state import describe_item
from ..copy.tables_and_queues import init_ops
from ..functions.definitions import LiveFunctions, gradients_of
from ..messages import graph_pb2, node_def_pb2
from ..private.graphs import LiveOutputs, collections_of, node_bytes, op_count
from ..protos import naming_memory
from ..values.variables import variable_infos
from .outputs import FileOutputs

#: The number of ops that are read at once: large enough to be fast, and small enough that few bytes are in memory
#: twice.
_BLOCK = 8192
#: Above this size in bytes, the stamp of a node is a digest, so that large constants are not in memory twice.
_LARGE = 4096
#: The length of a digest, in bytes.
DIGEST = 32
#: A GraphDef above 2 GB cannot be parsed.
_MAX_SIZE = 1 << 30


def read_nodes(ops: Sequence[TFOp]) -> tuple[list[TFNodeDef], list[bytes]]:
    """Returns the NodeDefs of live ops, and their stamps."""
    nodes: list[TFNodeDef] = []
    stamps: list[bytes] = []
    for _, batch, marks in pieces(ops):
        nodes += batch
        stamps += marks
    return nodes, stamps


def pieces(ops: Sequence[TFOp]) -> Iterator[tuple[int, list[TFNodeDef], list[bytes]]]:
    """Yields the same in pieces of a few thousand ops, as (number of the first op, NodeDefs, stamps)."""
    start = 0
    for batch in runs(ops):
        raws = node_bytes(batch)
        part = graph_pb2.GraphDef()
        append(part, raws)
        yield start, list(part.node), stamps_of(raws)
        start += len(batch)


def stamp(raw: bytes) -> bytes:
    """Returns the stamp of a NodeDef, given as bytes: equal stamps mean equal nodes."""
    return raw if len(raw) < _LARGE else hashlib.blake2b(raw, digest_size=DIGEST).digest()


def stamps_of(raws: list[bytes]) -> list[bytes]:
    """Returns the stamps of many nodes."""
    return raws if max(map(len, raws), default=0) < _LARGE else list(map(stamp, raws))


def append(graph_def: TFGraphDef, raws: Sequence[bytes]) -> None:
    """Adds encoded nodes to a GraphDef; TensorFlow has encoded them, so this can only fail without memory."""
    try:
        if sum(map(len, raws)) < _MAX_SIZE:
            graph_def.MergeFromString(_wire(raws))
        else:
            for raw in raws:
                graph_def.node.add().MergeFromString(raw)
    except DecodeError as error:
        raise MemoryError(str(error)) from error


def runs(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yields a few thousand items at a time."""
    for start in range(0, len(items), _BLOCK):
        yield items[start : start + _BLOCK]


def add_current(copy_result: CopyResult, graph_def: TFGraphDef) -> None:
    """Adds the current source ops of a copy to a GraphDef.

    Raises:
        StalePlanError: an op has changed since the plan was made.
    """
    source, live = copy_result.source, copy_result.source.live_graph.get_operations()
    stale: list[str] = []
    for batch in runs(copy_result.ops.tolist()):
        raws = node_bytes(live[i] for i in batch)
        append(graph_def, raws)
        stamps = stamps_of(raws)
        then = [source.stamps[i] for i in batch] if source.stamps else [b""] * len(batch)
        if stamps != then:
            rows = zip(batch, graph_def.node[-len(batch) :], stamps, then, strict=True)
            stale += [source.names[i] for i, node, a, b in rows if a != b and _differs(node, source.nodes[i])]
    if stale:
        raise StalePlanError(
            f"apply: {copy_result.step.describe()}",
            f"{counted(len(stale), 'ops')} changed since the plan was made, {stale[0]!r} first",
            "Open the graph again, and make the plan again",
        )


def _differs(new_node: Any, old_node: Any) -> bool:
    """Whether a node has really changed, apart from different forms of the same node.

    Control inputs have no fixed order, and output 0 is written in two ways. TensorFlow also marks ops to which a
    control input was added, and an import adds the types that it infers.
    """
    if new_node == old_node:
        return False
    a, b = node_def_pb2.NodeDef(), node_def_pb2.NodeDef()
    for copy, node in ((a, new_node), (b, old_node)):
        copy.CopyFrom(node)
        copy.attr.pop("_has_manual_control_dependencies", None)
        copy.ClearField("experimental_type")
        data = [i.removesuffix(":0") for i in node.input if i[0] != "^"]
        copy.input[:] = data + sorted(i for i in node.input if i[0] == "^")
    return bool(a != b)


def _wire(raws: Sequence[bytes]) -> bytes:
    """Returns an encoded GraphDef with these encoded nodes: each node is field 1, with its length before it."""
    parts = [b""] * (2 * len(raws))
    parts[::2] = [_LEADS[size] if size < len(_LEADS) else _lead(size) for size in map(len, raws)]
    parts[1::2] = raws
    return b"".join(parts)


def _lead(size: int) -> bytes:
    out = bytearray(b"\n")
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    out.append(size)
    return bytes(out)


_LEADS = [_lead(size) for size in range(1024)]


def snapshot(graph: TFGraph, previous: Graph | None = None, title: str = "graph") -> Graph:
    """Returns a snapshot of a live graph; extends `previous` if the graph has only grown.

    Args:
        graph: a `tf.Graph`.
        previous: an earlier snapshot of the same graph.
        title: the name of the graph in messages.
    """
    waiting = lazy_graph_of(graph)
    if waiting is not None:
        result: Graph = waiting.snapshot(previous, title)
        return result
    if previous is not None and previous.owner is graph:
        previous = materialize_graph(previous)
        if op_count(graph) == previous.size:
            reader = previous.state_of
            moved_on = isinstance(reader, _StateReader) and reader.is_outdated()
            return replace(previous, state_of=_StateReader(graph)) if moved_on else previous
        ops = graph.get_operations()
        if not _is_rewritten(ops, previous):
            with gc_paused(), naming_memory("reading the graph"):
                return previous.with_nodes(*read_nodes(ops[previous.size :]))
    return _read_graph(graph, graph.get_operations(), title)


def materialize_graph(graph: Graph) -> Graph:
    """Makes the live graph, and returns its snapshot; returns the given snapshot if TensorFlow refuses the graph.

    The snapshot of a file has the same ops with the same numbers, but only the attributes and shapes in the file.
    """
    outputs = graph.outputs_of
    if not isinstance(outputs, FileOutputs):
        return graph
    if outputs.live_snapshot is None:
        try:
            live = materialize(graph.owner, complete=False)
        except OpenError:
            return graph
        live_snapshot = _read_graph(live, live.get_operations()[: graph.size], graph.title)
        lost = np.flatnonzero(graph.refused_ops).tolist()
        if lost:  # in the live graph, stand-ins replace these ops
            nodes_of = {**dict(enumerate(live_snapshot.nodes)), **{i: graph.nodes[i] for i in lost}}
            node_list = list(nodes_of.values())
            live_snapshot = replace(
                live_snapshot, types=graph.types, nodes=node_list, outputs_of=outputs, unknown_types=graph.unknown_types
            )
        outputs.live_snapshot = live_snapshot
    return outputs.live_snapshot


def _read_graph(graph: TFGraph, ops: Sequence[TFOp], title: str) -> Graph:
    with gc_paused(), naming_memory("reading the graph"):
        nodes, stamps = read_nodes(ops)
        return Graph.from_nodes(
            nodes,
            stamps=stamps,
            owner=graph,
            outputs_of=LiveOutputs(graph),
            title=title,
            state_of=_StateReader(graph),
            functions_of=lambda: LiveFunctions(graph),
            gradients_of=lambda: gradients_of(graph),
        )


def _is_rewritten(ops: Sequence[TFOp], previous: Graph) -> bool:
    """Whether a gradient has changed conds, loops or calls in place, by adding outputs that it needs."""
    kinds, _, kind_of = previous.type_index
    calling = [k for k, op_type in enumerate(kinds) if op_type in BRANCHING or op_type in CALLS]
    numbers = np.flatnonzero(np.isin(kind_of, calling)).tolist() if calling else []
    stamps = map(stamp, node_bytes(ops[i] for i in numbers))
    return any(mark != previous.stamps[i] for i, mark in zip(numbers, stamps, strict=True))


def confirm_snapshot(
    graph: TFGraph, previous: Graph, predicted: Graph, imported_nodes: Sequence[TFNodeDef], names: list[str]
) -> Graph | None:
    """Reads the ops that were added to a graph; returns the new snapshot if it equals the prediction, otherwise None.

    Args:
        graph: the live graph, after nodes were added.
        previous: its snapshot before the nodes were added.
        predicted: the predicted snapshot.
        imported_nodes: the NodeDefs that were added, in order; they are compared with the NodeDefs in the graph.
        names: the names of the added ops in the graph.
    """
    ops = graph.get_operations()
    if len(ops) != predicted.size or previous.size + len(imported_nodes) != predicted.size:
        return None
    with gc_paused():
        new_nodes, stamps = list(imported_nodes), []
        for start, nodes, marks in pieces(ops[previous.size :]):
            if nodes != new_nodes[start : start + len(nodes)]:
                return None
            stamps += marks
        if names != predicted.names[previous.size :]:
            return None
        return replace(
            previous,
            names=predicted.names,
            types=predicted.types,
            nodes=[*previous.nodes, *new_nodes],
            stamps=[*previous.stamps, *stamps],
            data=predicted.data,
            control=predicted.control,
            index=predicted.index,
        )


class _StateReader:
    """Returns the variables and collections of a live graph, which are read on first use and kept for later steps."""

    def __init__(self, graph: TFGraph) -> None:
        self._graph = graph
        self._variables: list[Any] | None = None
        self._cache: tuple[int, GraphState] | None = None  # number of the newest op, and the state

    def __call__(self) -> GraphState:
        version = self._graph.version
        if self._cache is None or self._cache[0] != version:
            self._variables = self._look()
            self._cache = version, state(self._graph)
        return self._cache[1]

    def is_outdated(self) -> bool:
        """Returns whether items of collections were added or removed since they were read."""
        return self._variables is not None and self._variables != self._look()

    def _look(self) -> list[Any]:
        return [
            (name, len(items), id(items[-1]) if items else 0) for name, items in collections_of(self._graph).items()
        ]


def state(graph: TFGraph) -> GraphState:
    """Returns the variables and collections of a live graph, as plain values."""
    collections = {}
    for name, items in collections_of(graph).items():
        collections[name] = tuple(describe_item(graph, item) for item in items)
    return GraphState(variable_infos(graph), collections, context_ops(graph), init_ops(graph))
