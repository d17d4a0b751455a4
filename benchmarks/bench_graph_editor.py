"""Copying with `ge.copy`, against a bare `tf.import_graph_def` of the same nodes, and against the original of TF 1.15.

The original runs if an interpreter with TensorFlow 1.15 is given (`--tf115 PYTHON`); else its rows are skipped.
A few ops copied within a large graph are compared with the same by a plan. Walks, the flood to a boundary, and a
reroute on large graphs are measured too: a first walk asks TensorFlow for each edge, the third reads all edges and
keeps them, later ones use these.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import tensorflow as tf

from benchmarks.bench_copy import LADEN, PEER, PLAIN, bare
from benchmarks.graphs import layered, tf1
from benchmarks.peer import NAME, peer_seconds
from benchmarks.rows import Row, in_turns, seconds
from graphsurgeon import graph_editor as ge
from graphsurgeon.graph_editor import transform

#: the whole of the call, views and maps of all ops and tensors included; the copy itself has its own target
TARGET = 1.5
LARGE, FEW_OF = 100_000, 30_000


def rows() -> Iterator[Row]:
    """Yields a row for each size and for graphs with variables and collections; then for the original, and walks."""
    for size, repeat, variables, kept in (
        (1_000, 10, 0, 0),
        (10_000, 5, 0, 0),
        (1_000, 10, 100, 800),
        (10_000, 5, 1_000, 8_000),
    ):
        graph = layered(size, variables=variables, kept=kept)
        held = [f"{variables:,} variables"] * bool(variables) + [f"a collection of {kept:,} tensors"] * bool(kept)
        what = f"ge.copy of {', '.join([f'{len(graph.get_operations()):,} ops', *held])}"
        ours, theirs = in_turns(partial(copy, graph), partial(bare, graph.as_graph_def()), repeat)
        yield Row(what, ours, theirs, TARGET, PEER)
        original = peer_seconds(graph, 1 if kept else 3, what)
        if original is not None:
            yield Row(what, ours, original, LADEN if kept and size == 10_000 else PLAIN, NAME)
        if size == 10_000:  # what is read of a graph once is kept for later copies
            again = partial(layered, size, variables=variables, kept=kept)
            first = min(seconds(partial(copy, again()), 1, resting=False) for _ in range(2))
            yield Row(f"first {what}", first, theirs, TARGET, PEER)
    yield from _few()
    yield from _walks()


def copy(graph: Any) -> None:
    """Copies a graph into a new one."""
    ge.copy(graph, tf.Graph(), dst_scope="copy")


def _few() -> Iterator[Row]:
    graph = layered(FEW_OF, variables=0)
    ops = [op for op in graph.get_operations() if op.type != "Placeholder"][1_000:1_010]

    def few() -> None:
        ge.copy_with_input_replacements(ops, {}, dst_scope="few")

    def by_plan() -> None:
        with patch.object(transform, "SHARE", sys.maxsize):
            few()

    ours, theirs = in_turns(few, by_plan)
    yield Row(f"copy of {len(ops)} ops within {FEW_OF:,}", ours, theirs, 0.5, "the same by a plan")


def _walks() -> Iterator[Row]:
    graph = layered(LARGE, variables=0)
    x, out = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("out:0")
    ops = graph.get_operations()
    touch = seconds(lambda: [(list(op.inputs), [t.consumers() for t in op.outputs]) for op in ops], 2)
    once = "reading all edges once"
    for what, walk in (
        ("forward walk", lambda: ge.get_forward_walk_ops(x)),
        ("backward walk", lambda: ge.get_backward_walk_ops(out)),
        ("intersection of walks", lambda: ge.get_walks_intersection_ops(x, out)),
        ("flood to a boundary", lambda: ge.get_within_boundary_ops(graph, out, x)),
    ):
        with graph.as_default():
            tf1.placeholder(tf.float32, [])  # the graph has grown: what was kept of its edges is no more
        first, *others = (seconds(walk, 1) for _ in range(3))
        yield Row(f"{what}, {len(ops):,} ops, the first of a graph", first, touch, 3.0, once)
        yield Row(f"{what}, {len(ops):,} ops, the slowest of the first three", max(first, *others), touch, 10.0, once)
        yield Row(f"{what}, {len(ops):,} ops, again", seconds(walk, 5), None, 0.05)
    with graph.as_default():
        other = tf1.placeholder(tf.float32, [None, 8], name="other")
    swaps = 20  # some of them look for open sessions
    there = seconds(lambda: [ge.swap_ts(other, x) for _ in range(swaps)], 2) / swaps
    yield Row(f"reroute of one tensor, {len(ops):,} ops", there, touch, 0.5, once)
