"""Tables, iterators and queues: a copy brings what fills them, and shares nothing."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import tf1


def table() -> tf.Graph:
    """Returns words -> ids through a static hash table."""
    graph = tf.Graph()
    with graph.as_default():
        words = tf1.placeholder(tf.string, [None], name="words")
        init = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([7, 9], tf.int64))
        tf.identity(tf1.lookup.StaticHashTable(init, -1).lookup(words), name="ids")
    return graph


def test_a_table_brings_its_initialiser():
    dst = gs.open(tf.Graph())
    src = gs.open(table())
    for name in ("one", "two"):
        dst.apply(dst.plan().copy(src.select(outputs=["ids:0"]), to=name))
    starters = dst.graph.get_collection(tf1.GraphKeys.TABLE_INITIALIZERS)
    assert len(starters) == 2
    with tf1.Session(graph=dst.graph) as session:
        session.run(starters)
        for name in ("one", "two"):
            assert session.run(f"{name}/ids:0", {f"{name}/words:0": [b"b", b"x"]}).tolist() == [9, -1]


def test_two_tables_in_one_session_are_two():
    src = gs.open(table())
    src.apply(src.plan().copy(src.select(outputs=["ids:0"]), to="c"))
    names = {op.get_attr("shared_name") for op in src.graph.get_operations() if op.type == "HashTableV2"}
    assert len(names) == 2


def test_an_iterator_starts_anew():
    graph = tf.Graph()
    with graph.as_default():
        iterator = tf1.data.make_initializable_iterator(tf.data.Dataset.range(3))
        tf.identity(iterator.get_next(), name="n")
    src, dst = gs.open(graph), gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(outputs=["n:0"]), to="c")
    assert any("iterators" in str(p) for p in plan.effect.copies[0].closure.pulled)
    dst.apply(plan)
    with tf1.Session(graph=dst.graph) as session:
        session.run("c/MakeIterator")
        assert [session.run("c/n:0") for _ in range(3)] == [0, 1, 2]


def test_a_queue_brings_its_runner():
    graph = tf.Graph()
    with graph.as_default():
        queue = tf1.FIFOQueue(4, [tf.float32], [[2]], name="queue")
        tf1.train.add_queue_runner(tf1.train.QueueRunner(queue, [queue.enqueue([[1.0, 2.0]])]))
        tf.multiply(queue.dequeue(), 2.0, name="y")
    src, dst = gs.open(graph), gs.open(tf.Graph())
    dst.apply(dst.plan().copy(src.select(outputs=["y:0"]), to="c"))
    with dst.graph.as_default(), tf1.Session() as session:
        coordinator = tf1.train.Coordinator()
        threads = tf1.train.start_queue_runners(session, coordinator)
        assert len(threads) >= 1
        np.testing.assert_array_equal(session.run("c/y:0"), [2.0, 4.0])
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=10)
