"""A duplicate kept up to date, against `tf.train.Saver`: save in one session, restore in the other.

In each turn the original changes one of its variables; then its duplicate takes that over: by `Replica.update`, which
fetches all and feeds what has changed, or from a checkpoint in the folder that it follows.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import tensorflow as tf

import graphsurgeon as gs
from benchmarks.bench_values import filled
from benchmarks.graphs import tf1, valued
from benchmarks.rows import Row, in_turns

PEER = "Saver.save + restore"
COUNT, MEGABYTES = 40, 5
#: What follows also reads the index twice and works out a digest of each value, before anything is set.
UPDATE, FOLLOW = 1.0, 2.0


def rows() -> Iterator[Row]:
    """Yields an update between sessions, and a checkpoint that is loaded and swapped in."""
    for kind in ("resource", "reference"):
        name = f"{COUNT * MEGABYTES} MB in {COUNT} {kind} variables, one changed"
        ours, theirs = _measured(kind == "resource", follow=False)
        yield Row(f"duplicate updated, {name}", ours, theirs, UPDATE, PEER)
        ours, theirs = _measured(kind == "resource", follow=True)
        yield Row(f"checkpoint written, loaded and swapped in, {name}", ours, theirs, FOLLOW, PEER)


def _measured(resource: bool, follow: bool) -> tuple[float, float]:
    graph = valued(COUNT, MEGABYTES, resource)
    with graph.as_default():
        variables = graph.get_collection("variables")
        values = [v.value() for v in variables]
        change = variables[3].assign_add(tf.ones([MEGABYTES << 18])).op
        saver = tf1.train.Saver(max_to_keep=2)
    session = filled(graph)
    reader_graph = valued(COUNT, MEGABYTES, resource)
    with reader_graph.as_default():
        reader = tf1.train.Saver()
    step = iter(range(10_000))
    with tempfile.TemporaryDirectory() as folder, tf1.Session(graph=reader_graph) as other:
        replica = gs.duplicate(gs.open(session).select(outputs=values))

        def saved() -> str:
            with graph.as_default():
                return str(saver.save(session, os.path.join(folder, "m"), next(step), write_meta_graph=False))

        def ours() -> None:
            session.run(change)
            if follow:
                saved()
            if len(replica.update().changed) != 1:
                raise AssertionError("the duplicate has not followed")

        def theirs() -> None:
            session.run(change)
            path = saved()
            with reader_graph.as_default():
                reader.restore(other, path)

        if follow:
            saved()
            replica.follow(folder)
        else:
            replica.attach(session)
        replica.update()
        try:
            return in_turns(ours, theirs, 5)
        finally:
            replica.close()
