"""Seeds: seeds derived from names for the random ops of a copy, so that each run draws the same numbers."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from ...graph.contexts import ENTERS
from ...graph.draws import drawing, unseeded
from ...graph.frames import Frames
from ...graph.graph import Graph
from ...graph.live import TFGraph
from ..importing import tf
from ..private.graphs import set_attribute

tf1 = tf.compat.v1


def give_seeds(graph: TFGraph, base: Graph, seed: int, called: Mapping[str, str] | None = None) -> bool:
    """Gives seeds to the random ops that have none, in place; loops around random ops run one round at a time.

    Args:
        graph: the graph, which no caller has, and no session has run.
        base: its snapshot.
        seed: the common seed; the seeds of an op come from it and from the name of the op.
        called: op -> the name to use instead, such as the name of its original.

    Returns:
        whether the graph has changed.

    Example:
        >>> from graphsurgeon.tf.open.snapshot import snapshot
        >>> def draw(seed):
        ...     with tf.Graph().as_default() as graph, tf1.Session() as session:
        ...         x = tf.random.uniform([], 0, 1000, tf.int32, name="x")
        ...         _ = give_seeds(graph, snapshot(graph), seed)
        ...         return int(session.run(x))
        >>> draw(1) == draw(1), draw(1) == draw(2)
        (True, False)
    """
    bare, drawn = unseeded(base), drawing(base)
    for op in bare:
        name = base.names[op]
        number = zlib.crc32((called or {}).get(name, name).encode()) | 1
        for attribute, value in (("seed", seed), ("seed2", number)):
            set_attribute(graph.get_operation_by_name(name), attribute, tf1.AttrValue(i=value))
    frames = Frames(base)
    around = set[int]()
    for frame in map(frames.of, drawn):
        while frame >= 0 and frame not in around:
            around.add(frame)
            frame = frames.outside(frame)
    for op in range(base.size) if around else ():
        if base.types[op] in ENTERS and frames.of(op) in around:
            one = tf1.AttrValue(i=1)
            set_attribute(graph.get_operation_by_name(base.names[op]), "parallel_iterations", one)
    return bool(bare or around)
