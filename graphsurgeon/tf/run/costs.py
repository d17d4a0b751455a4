"""Costs: time and memory of each op, and sizes of tensors, from TensorFlow's `RunMetadata`."""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any

from ...graph.noted import Cost
from ..importing import tf


def costs_of(metadata: Any, without: Container[str] = frozenset()) -> dict[str, Cost]:
    """Returns the cost of each op that ran.

    Args:
        metadata: a `RunMetadata` with `step_stats`.
        without: names of ops to leave out.

    Example:
        >>> import tensorflow as tf
        >>> tf1 = tf.compat.v1
        >>> with tf.Graph().as_default(), tf1.Session() as session:
        ...     y, about = tf.random.normal([100], name="y"), tf1.RunMetadata()
        ...     _ = session.run(y, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run_metadata=about)
        >>> cost = costs_of(about)["y/RandomStandardNormal"]
        >>> cost.runs, cost.device, cost.bytes >= 400
        (1, 'CPU:0', True)
    """
    found: dict[str, list[Any]] = {}
    for device in metadata.step_stats.dev_stats:
        if "/stream" in device.device or "memcpy" in device.device:
            continue  # a second list of the ops of a GPU
        where = device.device.rpartition("/device:")[2]
        for node in device.node_stats:
            name = node.node_name
            if name in without or name.startswith("_"):
                continue
            row = found.setdefault(name, [0, 0, 0, where])
            row[0] += node.op_end_rel_nanos - node.op_start_rel_nanos or 1000 * node.op_end_rel_micros
            row[1] += sum(memory.total_bytes for memory in node.memory)
            row[2] += 1
    return {name: Cost(name, row[0] * 1e-9, row[1], row[2], row[3]) for name, row in found.items()}


def sizes_of(metadata: Any) -> dict[str, tuple[int, int]]:
    """Returns the sizes of the tensors of a run: tensor -> (bytes of the largest round, number of rounds).

    Args:
        metadata: a `RunMetadata` with `step_stats`.

    Example:
        >>> tf1 = tf.compat.v1
        >>> with tf.Graph().as_default(), tf1.Session() as session:
        ...     y, about = tf.random.normal([100], name="y"), tf1.RunMetadata()
        ...     _ = session.run(y, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run_metadata=about)
        >>> sizes_of(about)["y/RandomStandardNormal:0"]
        (400, 1)
    """
    found: dict[str, tuple[int, int]] = {}
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            for output in node.output:
                about, name = output.tensor_description, f"{node.node_name}:{output.slot}"
                size = math.prod(dim.size for dim in about.shape.dim) * (tf.as_dtype(about.dtype).base_dtype.size or 1)
                largest, rounds = found.get(name, (0, 0))
                found[name] = max(largest, size), rounds + 1
    return found
