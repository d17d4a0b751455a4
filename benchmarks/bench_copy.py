"""Copying N ops, from selection to live graph, against a bare `tf.import_graph_def` of the same nodes.

Both run with the garbage collector on, as people run them, and once with it resting.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tensorflow as tf

import graphsurgeon as gs
from benchmarks.graphs import layered, tf1
from benchmarks.rows import Row, seconds

PEER = "tf.import_graph_def"


def rows() -> Iterator[Row]:
    """Yields one row for each size, and the preview of the middle one."""
    for size, repeat in ((1_000, 7), (10_000, 7), (100_000, 2)):
        graph = layered(size)
        source = gs.open(graph)
        source.select()  # the snapshot is read once, when the graph is opened
        graph_def = graph.as_graph_def()
        target = 0.8 if size == 10_000 else 0.6  # 0.6 is the design's; 10,000 ops at 0.8 is the first step to it
        for resting in (False, True):
            ours = theirs = float("inf")
            for _ in range(repeat):  # interleaved, so that both see the same machine
                theirs = min(theirs, seconds(partial(_bare, graph_def), 1, resting))
                ours = min(ours, seconds(partial(_copy, source), 1, resting))
            word = ", collector resting" if resting else ""
            yield Row(f"copy {size:,} ops: plan, check, preview, apply{word}", ours, theirs, target, PEER)
        if size == 10_000:
            yield Row("preview of a 10,000-op copy", seconds(partial(_preview, source)), ours, 0.5, "the copy")


def _bare(graph_def: Any) -> None:
    with tf.Graph().as_default():
        tf1.import_graph_def(graph_def, name="copy")


def _plan(source: Any) -> Any:
    return gs.open(tf.Graph()).plan().copy(source.select(outputs=["out:0"]), to="copy")


def _preview(source: Any) -> None:
    str(_plan(source))


def _copy(source: Any) -> None:
    destination = gs.open(tf.Graph())
    plan = destination.plan().copy(source.select(outputs=["out:0"]), to="copy")
    assert not plan.check()
    str(plan.preview())
    destination.apply(plan)
