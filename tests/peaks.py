"""How much memory a run holds at most, as TensorFlow's own step statistics have it."""

from __future__ import annotations

from statistics import median
from typing import Any

import tensorflow as tf

tf1 = tf.compat.v1


def plain(**options: Any) -> Any:
    """Returns the settings of a session that runs a graph as it is written, one op after the other."""
    about = tf1.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1, **options)
    about.graph_options.rewrite_options.disable_meta_optimizer = True
    return about


def peak(session: Any, fetches: Any, feeds: Any, device: str = "") -> tuple[int, Any]:
    """Returns the most bytes that the ops of a run hold at a time, on one device or on all, and what it gives."""
    noted = tf1.RunMetadata()
    got = session.run(fetches, feeds, tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), noted)
    nodes = [node for stats in noted.step_stats.dev_stats if device in stats.device for node in stats.node_stats]
    records = [one for node in nodes for memory in node.memory for one in memory.allocation_records]
    held = most = 0
    for _, change in sorted((one.alloc_micros, one.alloc_bytes) for one in records):
        held += change
        most = max(most, held)
    return most, got


def megabytes(ed: Any, fetches: Any, feeds: Any, runs: int = 5) -> int:
    """Returns the median of the peaks of several runs of a graph, in megabytes.

    Args:
        ed: the editor of the graph.
        fetches, feeds: as for a session.
        runs: the number of runs.
    """
    session = ed.session(config=plain())
    return round(median(peak(session, fetches, feeds)[0] for _ in range(runs)) / 1e6)
