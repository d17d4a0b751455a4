"""Wires: one edge for all tensors between two boxes; control edges only if no other edge implies them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ..graph.edges import Edges, Ints
from ..graph.graph import Graph, TensorInfo, output_at
from .boxes import Box, Edge
from .helpers import behind
from .item import Item

CONTROL_MOST = 4
"""Most control edges drawn at one box."""
HUB = 4
"""From so many edges on, those of a box of gradients or of an optimizer are drawn faint."""
CROSSROADS = 10
"""From so many edges on, those of any box are drawn faint."""
TENSORS = 8
"""Most tensor names given for one edge."""


def wires(graph: Graph, boxes: list[Box], op_box: Ints) -> tuple[list[Edge], int]:
    """Returns one edge for each pair of boxes, and how many control inputs are not drawn."""
    n = max(1, len(boxes))
    out: list[Edge] = []
    hidden, at = 0, [0] * n

    def put(a: int, b: int, found: list[tuple[int, int]], control: bool) -> Edge:
        names = [f"^{graph.names[op]}" if control else f"{graph.names[op]}:{port}" for op, port in found[:TENSORS]]
        label = f"×{len(found)}" if len(found) > 1 else ""
        out.append(Edge(f"e{len(out)}", boxes[a].id, boxes[b].id, len(found), control, names, label=label))
        return out[-1]

    known: dict[int, Sequence[TensorInfo] | None] = {}  # many edges have the same producer

    def info_of(op: int, port: int) -> TensorInfo | None:
        if op not in known:
            known[op] = graph.stated(op)
        return output_at(known[op], port)

    between: set[tuple[int, int]] = set()
    for (a, b), found in _pairs(graph.data, op_box, n):
        between |= {(a, b), (b, a)}
        edge, infos = put(a, b, found, False), [info_of(*tensor) for tensor in found[:TENSORS]]
        if not edge.label and infos[0] and infos[0].shape is not None:
            edge.label = str(infos[0])
        edge.texts = [str(info) if info else "" for info in infos]
    for (a, b), found in _pairs(graph.control, op_box, n):
        if (a, b) in between or at[a] >= CONTROL_MOST or at[b] >= CONTROL_MOST:
            hidden += len(found)
            continue
        at[a] += 1
        at[b] += 1
        put(a, b, found, True)
    return out, hidden


def hush(boxes: Sequence[Box], items: Sequence[Item], edges: list[Edge]) -> None:
    """Makes edges quiet that go from all over the picture to one box, gradients and optimizers first."""
    back = {b.id for b, item in zip(boxes, items, strict=True) if behind(item.leaf)}
    ends = Counter(end for e in edges for end in (e.source, e.target))
    for edge in edges:
        pair = (edge.source, edge.target)
        edge.quiet = any(ends[end] >= (HUB if end in back else CROSSROADS) for end in pair)


def _pairs(edges: Edges, op_box: Ints, n: int) -> Iterator[tuple[tuple[int, int], list[tuple[int, int]]]]:
    """Yields ((from box, to box), [(op, port), ...]) with each tensor once for each pair, in order."""
    a, b = op_box[edges.node], op_box[edges.rows]
    keep = np.flatnonzero((a >= 0) & (b >= 0) & (a != b))
    if not len(keep):
        return
    table = np.empty((len(keep), 3), np.int64)
    table[:, 0] = a[keep].astype(np.int64) * n + b[keep]
    table[:, 1], table[:, 2] = edges.node[keep], edges.port[keep]
    table = table[np.lexsort((table[:, 2], table[:, 1], table[:, 0]))]
    new = np.ones(len(table), np.bool_)
    new[1:] = (table[1:] != table[:-1]).any(axis=1)
    table = table[new]
    starts = np.flatnonzero(np.r_[True, table[1:, 0] != table[:-1, 0]]).tolist()
    for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
        pair = int(table[start, 0])
        rows = table[start:end, 1:].tolist()
        yield (pair // n, pair % n), [(int(op), int(port)) for op, port in rows]
