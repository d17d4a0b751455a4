"""Nobody sees old and new values of a duplicate together, whoever trains, updates and reads, in which thread ever."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.graphs import KINDS, model, put
from tests.refusal import reads, refuses
from tests.stress.hammer import PLACES, hammer
from tests.until import until

tf1 = tf.compat.v1


@pytest.fixture(scope="module")
def workers():
    """Target -> device of a cluster of two tasks."""
    with gs.local_cluster(2) as cluster:
        yield cluster.workers


def not_enough(seen):
    """Whether more is to come: counted, not timed."""
    return seen.steps < 40 or seen.updates < 10 or seen.reads < 20


@pytest.mark.parametrize(("place", "kind"), [(p, k) for p in PLACES for k in KINDS[: 1 if p == "checkpoints" else 2]])
def test_no_mix_is_seen_while_all_run_at_once(place, kind, request):
    targets = request.getfixturevalue("workers") if place.startswith("cluster") else {}
    seen = hammer(place, kind == "resource", not_enough, targets)
    assert seen.mixes == 0
    assert len(seen.numbers) > 3
    assert max(seen.numbers) == seen.steps + (place == "checkpoints")


def halves(kind, middle):
    """A step that sets one variable, calls a function, and sets the other; and what reads both."""
    graph = tf.Graph()
    with graph.as_default(), tf1.variable_scope("", use_resource=kind == "resource"):
        w, v = (tf1.get_variable(name, initializer=0.0) for name in "wv")
        with tf.control_dependencies([w.assign_add(1.0)]), tf.control_dependencies([tf1.py_func(middle, [], [])]):
            step = tf.group(v.assign_add(1.0), name="step")
        both = tf.stack([w.value(), v.value()], name="both")
        session = tf1.Session(graph=graph)
        session.run([w.initializer, v.initializer])
    return session, step, both


@pytest.mark.parametrize("protected", [True, False])
@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_in_each_step_somebody_updates_and_it_waits(kind, same, protected):
    """By `session.run` instead of `train`, each single step is seen half."""
    seen, updated, asked, stop = [], threading.Semaphore(0), threading.Semaphore(0), threading.Event()

    def middle():
        asked.release()
        until(lambda: replica._step_lock.queue or updated.acquire(blocking=False) or stop.is_set())

    session, step, both = halves(kind, middle)
    replica = gs.duplicate(gs.open(session).select(outputs=both), values=session, graph=session if same else None)

    def update():
        while asked.acquire() and not stop.is_set():
            replica.update()
            seen.append(replica.run(replica[both]).tolist())
            updated.release()

    thread = threading.Thread(target=update)
    thread.start()
    try:
        for number in range(1, 11):
            replica.train(step) if protected else session.run(step)
            until(lambda number=number: len(seen) == number)
            while updated.acquire(blocking=False):
                pass
    finally:
        stop.set()
        asked.release()
        thread.join(30)
    replica.close()
    wanted = [[n, n if protected else n - 1] for n in range(1, 11)]
    assert seen == wanted


@pytest.mark.parametrize("protected", [True, False])
@pytest.mark.parametrize("same", [True, False])
def test_an_update_that_stops_between_two_variables_lets_nobody_see_that(same, protected, monkeypatch):
    """By `session.run` instead of `run`, it is seen."""
    from graphsurgeon.tf.values import replica_values

    m = model("resource", optimizer=None)
    block = gs.open(m.session).select(inputs=[m.x], outputs=[m.y])
    seen, threads = [], []
    replica = gs.duplicate(block, values=m.session)
    other = gs.duplicate(
        gs.open(replica.session).select(), values=replica.session, graph=replica.session if same else None
    )
    session, both = replica.session, [replica["net/w"], replica["net/b"]]
    real = replica_values.feed

    def slow(session, values, pairs):
        for name, value in values.items():
            real(session, {name: value}, pairs)
            if not threads:
                threads.append(threading.Thread(target=read))
                threads[0].start()
                until(lambda: replica._lock.queue or seen)

    def read():
        seen.append({float(array.flat[0]) for array in (replica if protected else session).run(both)})

    put(m.w, 5.0, m.session)
    put(m.b, 5.0, m.session)
    monkeypatch.setattr(replica_values, "feed", slow)
    replica.update()
    threads[0].join(30)
    monkeypatch.setattr(replica_values, "feed", real)
    other.update()
    assert {float(array.flat[0]) for array in other.run([other["net/w"], other["net/b"]])} == {5.0}
    other.close(), replica.close()
    assert (seen == [{5.0}]) is protected


def test_train_is_the_way_to_step():
    m = model("resource", "sgd")
    replica = gs.duplicate(m.session)
    before = replica.run(m.w)
    loss, _ = replica.train([m.loss, m.train], m.feed())
    assert loss > 0
    np.testing.assert_array_equal(replica.run(m.w), before)
    replica.update()
    np.testing.assert_array_equal(replica.run(m.w), m.session.run(m.w))
    beside = gs.duplicate(m.session, graph=m.session)
    beside.train("train", m.feed())
    assert not np.array_equal(beside.run(beside[m.w]), m.session.run(m.w))


@pytest.mark.parametrize("same", [False, True])
def test_several_runs_are_one_step_inside_training(same):
    m = model()
    block = gs.open(m.session).select(inputs=[m.x], outputs=[m.y])
    replica = gs.duplicate(block, values=m.session, graph=m.session if same else None)
    half = threading.Event()

    def train():
        with replica.training() as session:
            assert session is m.session
            put(m.w, 1.0, session)
            half.set()
            until(lambda: replica._step_lock.queue)
            put(m.b, 1.0, session)

    put(m.w, 0.0, m.session), put(m.b, 0.0, m.session)
    thread = threading.Thread(target=train)
    thread.start()
    assert half.wait(30)
    replica.update()
    assert {float(v.flat[0]) for v in replica.run([replica[m.w], replica[m.b]])} == {1.0}
    thread.join(30)
    with replica.training():
        assert replica.update().number == 2  # the thread that trains may update
    for request, train in (("training()", replica.training), ("train(...)", lambda: replica.train(m.w))):
        said = refuses(PlanError, request, "this thread is reading", "outside of `with reading()`")
        with said, replica.reading(), train():
            pass


def test_an_update_that_gets_no_moment_says_so():
    m = model()
    replica = gs.duplicate(m.session)
    inside, out = threading.Event(), threading.Event()

    def train():
        with replica.training():
            inside.set()
            assert out.wait(30)

    thread = threading.Thread(target=train)
    thread.start()
    assert inside.wait(30)
    with refuses(PlanError, "update()", "were running for 0.01 s without a pause", "replica.update(timeout=600)"):
        replica.update(timeout=0.01)
    out.set()
    thread.join(30)
    assert replica.update().number == 1


def test_the_original_that_is_not_here_cannot_be_trained(tmp_path):
    m = model()
    block = gs.open(m.graph).select(inputs=[m.x], outputs=[m.y])
    with refuses(PlanError, "train(...)", "no session to train in", "replica.attach(session)"):
        gs.duplicate(block).train(m.train)
    with refuses(PlanError, "train(...)", "no session to train in", "replica.attach(session)"):
        gs.duplicate(block, graph=m.graph).train(m.train)
    follower = gs.duplicate(block).follow(tmp_path)
    with refuses(PlanError, "training()", "in another program", "replica.attach(session)"), follower.training():
        pass
    values = {"net/w": np.ones([2, 3]), "net/b": np.zeros(3)}
    with refuses(PlanError, "train(...)", "nowhere: its values were given", "replica.attach(session)"):
        gs.duplicate(block, values=values).train(m.train)


def test_a_keras_model_that_another_thread_trains():
    import keras

    net = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(2), keras.layers.Dense(1)])
    replica = gs.duplicate(net)
    source = replica._source
    assert replica.train(lambda: net.variables[0].assign([[1.0, 1.0], [1.0, 1.0]])) is not None
    assert len(replica.update().changed) == 1
    with refuses(PlanError, "train(...)", "a Python object", "replica.train(lambda: model.train_on_batch(x, y))"):
        replica.train(net.variables[0])
    read, count = source._value, []

    def disturbed(name):
        count.append(name)
        if len(count) == 3:  # between two reads
            net.variables[0].assign_add([[1.0, 1.0], [1.0, 1.0]])
        return read(name)

    source._value = disturbed
    with pytest.raises(PlanError) as caught:
        replica.update()
    reads(caught.value, "update()", "changed while the values were read", "another thread", "replica.train(lambda: ")
    assert replica.update()


def test_a_queue_that_is_full_holds_up_nobody():
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=0.0)
        epoch = tf1.get_local_variable("epoch", initializer=0)
        queue = tf.queue.FIFOQueue(1, tf.float32)
        with tf.control_dependencies([epoch.assign_add(1)]):
            fill = queue.enqueue(1.0)
        step = w.assign_add(queue.dequeue()).op
        session = tf1.Session(graph=graph)
        session.run([w.initializer, epoch.initializer])
    replica = gs.duplicate(session)
    session.run(fill)
    filling = threading.Thread(target=session.run, args=(fill,))
    filling.start()
    until(lambda: session.run(epoch) == 2)  # it waits now
    replica.update(timeout=30)
    session.run(step), session.run(step)
    filling.join(30)
    replica.update()
    assert replica.run(w) == 2.0


def test_replicas_of_one_another_wait_for_one_another_and_never_for_good():
    m = model("resource", "sgd")
    first = gs.duplicate(m.session)
    second = gs.duplicate(gs.open(first.session).select(), values=first.session)
    back = gs.duplicate(gs.open(second.session).select(), values=second.session, graph=second.session, to="back")
    stop = threading.Event()

    def again(work):
        while not stop.is_set():
            work()

    works = [lambda: first.train(m.train, m.feed()), first.update, second.update,
             lambda: second.run(second["net/b"]), lambda: first.run(first["net/b"])]  # fmt: skip
    threads = [threading.Thread(target=again, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for _ in range(50):
        back.update()
    stop.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_a_session_that_is_followed_no_more_is_freed_at_once():
    """Not when Python next collects garbage: what is left of a cluster's session hangs when the cluster is gone."""
    import gc
    import weakref

    m = model("resource", optimizer=None)
    block = gs.open(m.graph).select(inputs=[m.x], outputs=[m.y])
    replica = gs.duplicate(block, values=m.session, graph=m.graph)
    replica.update()
    other = tf1.Session(graph=m.graph)
    with m.graph.as_default():
        other.run(tf1.global_variables_initializer())
    gone = weakref.ref(m.session)
    gc.collect()
    gc.disable()
    try:
        del m.session
        replica.attach(other)
        assert gone() is None
    finally:
        gc.enable()
