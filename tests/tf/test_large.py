"""Constants that are large, and graphs that are too large for one message."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.tf.copy import imports as importing

tf1 = tf.compat.v1


def heavy(count, size):
    """Returns a graph that adds up `count` constants of `size` float32 each, with a control edge between two."""
    graph = tf.Graph()
    with graph.as_default():
        parts = [tf.constant(np.full(size, i, np.float32), name=f"c{i}") for i in range(count)]
        tf.identity(tf.add_n(parts), name="y")
        with tf.control_dependencies([parts[0]]):
            tf.no_op(name="wait")
    return graph


def test_a_constant_over_64_mb():
    src, dst = gs.open(heavy(1, 20 << 20)), gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(), to="t")
    dst.apply(plan)
    with tf1.Session(graph=dst.graph) as session:
        assert session.run("t/y:0").shape == (20 << 20,)
    assert dst.snapshot.fingerprint == plan.after().fingerprint


def test_a_graph_too_large_for_one_piece(monkeypatch):
    graph = heavy(7, 1000)
    monkeypatch.setattr(importing, "LIMIT", 20_000)
    pieces, apart = [], importing.constants_apart
    monkeypatch.setattr(importing, "constants_apart", lambda g, n: pieces.append(apart(g, n)) or pieces[-1])
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(gs.open(graph).select(), to="t"))
    assert [len(p.node) for p in pieces[0][0]] == [2, 2, 2, 1]
    assert [n.name for n in pieces[0][1].node] == ["t/AddN", "t/y", "t/wait"]
    with tf1.Session(graph=dst.graph) as session:
        assert session.run(done["y:0"]).tolist() == [21.0] * 1000
    assert [c.name for c in done["wait"].control_inputs] == ["t/c0"]
    dst.undo()
    assert dst.orphans == set(done.ops)
    again = dst.apply(dst.plan().copy(gs.open(graph).select(), to="t_2"))
    assert len(again.ops) == 10
