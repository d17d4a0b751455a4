"""Input pipeline: what only fed tensors that something else replaces: placeholders, queues with runners, iterators."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .boundary import Tensor
from .graph import Graph, Mask
from .variables import FEED_TYPES

#: Ops that fill, close or name the source of a feed: without a feed, no op waits for them.
_FILLS = ("QueueEnqueue", "QueueClose", "MakeIterator", "MultiDeviceIteratorInit", "IteratorToStringHandle", "Stage")
#: Ops that only read how full a queue is; for a removed queue, a constant replaces the op.
_ASKS = frozenset({"QueueSize", "QueueSizeV2"})
#: Datasets. A one-shot iterator has its own in a function; those of the program stay in the graph, without consumers.
_DATASET = re.compile(r"\w*Dataset(V\d+)?")


@dataclass
class Unneeded:
    """The ops that a graph no longer needs.

    Args:
        mask: the ops.
        constants: tensor of one of these ops that another op still reads -> the value that takes its place.
    """

    mask: Mask
    constants: dict[str, Any]


def unneeded(graph: Graph, replaced: Iterable[Tensor], needed: Collection[int] = ()) -> Unneeded:
    """Returns the ops that only serve tensors which are replaced from outside, with all ops that fill them.

    Args:
        graph: the graph.
        replaced: tensors (op, output) that are replaced.
        needed: ops that stay in any case.

    Example:
        >>> g = Graph.of([("file", "Const", []), ("x", "Identity", ["file"]), ("y", "Neg", ["x"])])
        >>> unneeded(g, [(1, 0)]).mask.tolist()
        [True, True, False]
    """
    cut, stay = set(replaced), set(needed)
    gone = np.zeros(graph.size, np.bool_)
    feeds = {op for op, _ in cut}
    constants: dict[str, Any] = {}
    todo = sorted(feeds)
    while todo:
        op = todo.pop()
        if gone[op] or op in stay or not _free(graph, op, gone, cut, feeds):
            continue
        gone[op] = True
        todo += [i for i in {*graph.data.row(op).tolist(), *graph.control.row(op).tolist()} if not gone[i]]
        if graph.types[op].startswith("IteratorGetNext"):
            todo += _unread(graph)
        if graph.types[op] in FEED_TYPES:
            for holder in dict.fromkeys(graph.data.row(op).tolist()):
                todo += _released(graph, holder, gone, cut, constants)
    return Unneeded(gone, constants)


def _unread(graph: Graph) -> list[int]:
    """Datasets that no op reads."""
    return [i for i, kind in enumerate(graph.types) if _DATASET.fullmatch(kind) and not graph.consumers.row(i).size]


def _free(graph: Graph, op: int, gone: Mask, cut: set[Tensor], feeds: set[int]) -> bool:
    """Whether nothing that stays reads an op, or waits for it; a group of ops that waits for a filler need not."""
    if any(not gone[reader] and (op, port) not in cut for reader, port in graph.consumers.ends(op)):
        return False
    if op in feeds:
        return True  # its waiting ops wait for its replacement
    return all(gone[i] or graph.types[i] == "NoOp" for i in graph.control_consumers.row(op).tolist())


def _released(graph: Graph, holder: int, gone: Mask, cut: set[Tensor], constants: dict[str, Any]) -> list[int]:
    """The ops that fill a queue or iterator which nothing empties any more."""
    users = [i for i in dict.fromkeys(graph.consumers.row(holder).tolist()) if not gone[i]]
    fills = [i for i in users if graph.types[i].startswith(_FILLS)]
    asks = [i for i in users if graph.types[i] in _ASKS]
    if len(fills) + len(asks) < len(users):
        return []
    for op in asks:
        if graph.consumers.row(op).size:
            cut.add((op, 0))
            constants[f"{graph.names[op]}:0"] = np.zeros([], np.int32)
    return [*fills, *asks, holder]
