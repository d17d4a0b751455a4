"""Walks over 100,000 ops against one NumPy pass over the edges; and the graph library that was not chosen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import rustworkx

from benchmarks.rows import Row, seconds
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select

SIZE = 100_000


def rows() -> Iterator[Row]:
    """Yields ancestors, descendants and between, in absolute time, and rustworkx on the same graph."""
    graph = mesh(SIZE)
    last, first = f"op{SIZE - 1}", "op0"
    top, bottom = select(graph, name=last), select(graph, name=first)
    one_pass = seconds(lambda: np.bincount(graph.data.node, weights=graph.data.rows, minlength=graph.size))
    ancestors = seconds(top.ancestors)
    peer = "one pass over the edges"
    yield Row("ancestors, 100,000 ops", ancestors, one_pass, 10, peer)
    yield Row("descendants, 100,000 ops", seconds(bottom.descendants), one_pass, 10, peer)
    yield Row("ancestors, 100,000 ops, absolute", ancestors, None, 0.05)
    middle = f"op{SIZE // 2}:0"
    between = seconds(lambda: select(graph, inputs=[middle, f"op{SIZE // 2 - 1}:0"], outputs=[last]))
    yield Row("region between tensors, 100,000 ops", between, None, 0.05)
    edges = list(zip(graph.data.node.tolist(), graph.data.rows.tolist(), strict=True))
    digraph = rustworkx.PyDiGraph()
    digraph.add_nodes_from(range(graph.size))
    digraph.extend_from_edge_list(edges)
    theirs = seconds(lambda: rustworkx.ancestors(digraph, SIZE - 1))
    yield Row("ancestors, the other library's graph built beforehand", ancestors, theirs, 1.0, "rustworkx.ancestors")


def mesh(size: int) -> Graph:
    """Returns a snapshot in which each op reads the two before it."""
    ops = [("op0", "Placeholder", []), ("op1", "Neg", ["op0"])]
    ops += [(f"op{i}", "AddV2", [f"op{i - 1}", f"op{i - 2}"]) for i in range(2, size)]
    return Graph.from_ops(ops)
