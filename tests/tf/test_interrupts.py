"""Interrupts: Ctrl+C in the middle of long work leaves things as they were, or says what stays."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from benchmarks.graphs import layered
from graphsurgeon.tf.run import progress
from graphsurgeon.tf.values import file_variables as values
from tests.graphs import KINDS, model, put
from tests.stress.interrupts import WORKS, Bench, interrupted, signalled_at
from tests.tiers import share

tf1 = tf.compat.v1


@contextmanager
def stopped_at(monkeypatch, words):
    """Presses Ctrl+C when a bar says that it has come to `words`."""
    with monkeypatch.context() as patch:
        step = progress.Progress.step

        def stopping(bar, amount):
            step(bar, amount)
            if words in bar.what:
                raise KeyboardInterrupt

        patch.setattr(progress.Progress, "step", stopping)
        with pytest.raises(KeyboardInterrupt) as stop:
            yield stop


def state(graph):
    """What a graph holds."""
    held = {key: list(map(str, graph.get_collection(key))) for key in graph.get_all_collection_keys()}
    return graph.as_graph_def().SerializeToString(deterministic=True), held


@pytest.mark.parametrize("words", ["reading values", "writing nodes", "importing"])
def test_a_copy_that_is_stopped_before_tensorflow_has_its_nodes_changes_nothing(monkeypatch, words):
    m = model("ref")
    there = gs.open(tf.Graph())
    plan = there.plan().copy(gs.open(m.graph).select(), to="a", values=m.session)
    before = state(there.graph)
    with stopped_at(monkeypatch, words):
        there.apply(plan)
    assert state(there.graph) == before
    assert there.apply(plan)["net/w"].name == "a/net/w:0"


@pytest.mark.parametrize("words", ["shapes, variables, collections", "reading back"])
def test_a_copy_that_is_stopped_later_says_what_stays(monkeypatch, words):
    m = model("ref")
    there = gs.open(tf.Graph())
    plan = there.plan().copy(gs.open(m.graph).select(), to="a", values=m.session)
    with stopped_at(monkeypatch, words) as stop:
        there.apply(plan)
    assert "stay in graph as orphans, and nothing else has changed" in stop.value.__notes__[0]
    assert not there.graph.get_all_collection_keys()
    assert there.orphans
    assert len(there.select()) == 0


@pytest.fixture(scope="module")
def source():
    """A large block, and how many calls of Python its copy takes."""
    block = gs.open(layered(4_000)).select()
    for _ in range(2):  # the first makes more
        there = gs.open(tf.Graph())
        plan = there.plan().copy(block, to="a")
        with signalled_at(0) as calls:
            there.apply(plan)
    return block, calls[0]


@pytest.mark.scaled
@pytest.mark.parametrize("percent", share(range(5, 100, 10)))
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # objects of TensorFlow, half made
def test_a_signal_in_the_middle_of_a_large_copy(source, percent):
    block, calls = source
    there = gs.open(tf.Graph())
    plan = there.plan().copy(block, to="a")
    before, stopped = state(there.graph), None
    try:
        with signalled_at(calls * percent // 100):
            there.apply(plan)
    except KeyboardInterrupt as stop:
        stopped = stop
    assert tf.executing_eagerly()
    assert float(tf.Variable(2.0)) == 2.0
    if there.history and not there.orphans:
        assert len(there.select()) == len(block)  # it was done by then
    elif there.orphans:
        assert stopped is not None
        assert "as orphans" in stopped.__notes__[0]
        assert not there.graph.get_all_collection_keys()
    else:
        assert state(there.graph) == before


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """What `python -m tests.stress.interrupts` interrupts 200 times, smaller."""
    return Bench(800, tmp_path_factory.mktemp("saved"))


@pytest.mark.parametrize("name", WORKS)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_at_any_moment_leaves_all_as_before_or_as_after(bench, name):
    found = list(interrupted(bench, name, 8))
    assert len(found) == 8
    assert not [(at, problem) for at, _, problem in found if problem]


@pytest.mark.parametrize("name", WORKS)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_want_of_memory_at_any_moment_leaves_all_as_before_or_as_after(bench, name):
    found = list(interrupted(bench, name, 8, happens="memory"))
    assert len(found) == 8
    assert not [(at, problem) for at, _, problem in found if problem]


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_are_stopped_on_their_way_leave_the_old_session_as_it_was(monkeypatch, kind):
    m = model(kind)
    m.train_steps()
    new, start = [], tf1.Session.__init__

    def started(session, *args, **options):
        start(session, *args, **options)
        new.append(session)

    monkeypatch.setattr(tf1.Session, "__init__", started)
    ed = gs.open(m.graph)
    ed.rebuild()
    with stopped_at(monkeypatch, "carrying values"):
        ed.session(m.session)
    with pytest.raises(RuntimeError, match="closed"):
        new[-1].run(ed.graph.get_operations()[0])
    m.train_steps()
    assert np.array_equal(weights(ed.session(m.session)), m.session.run(m.w))


def weights(session):
    """The first variable of the model, as a session of another graph has it."""
    return session.run(session.graph.get_collection("variables")[0])


def test_a_restore_of_much_is_seen_and_stopped_and_can_be_done_again(monkeypatch, tmp_path):
    monkeypatch.setattr(values, "_LARGE", 1)
    m = model("resource")
    m.train_steps()
    with m.graph.as_default():
        tf1.train.Saver().save(m.session, str(tmp_path / "m"))
    ed = gs.open(tmp_path / "m.meta")
    with stopped_at(monkeypatch, "restoring"):
        ed.session()
    assert np.array_equal(weights(ed.session()), m.session.run(m.w))


@pytest.mark.parametrize("kind", KINDS)
def test_an_update_that_is_stopped_before_it_sets_anything_leaves_the_duplicate_as_it_was(monkeypatch, kind):
    m = model(kind)
    replica = gs.duplicate(gs.open(m.graph).select(outputs=[m.y]), values=m.session)
    before = replica.run(m.w)
    m.train_steps()
    for words in ("reading values", "comparing values", "setting"):
        with stopped_at(monkeypatch, f"updating the duplicate: {words}"):
            replica.update()
        assert np.array_equal(replica.run(m.w), before)
    assert replica.update()
    assert np.array_equal(replica.run(m.w), m.session.run(m.w))


def test_a_checkpoint_that_is_stopped_while_it_is_read_is_taken_the_next_time(monkeypatch, tmp_path):
    m = model("resource", "sgd")
    with m.graph.as_default():
        saver = tf1.train.Saver()
        replica = gs.duplicate(gs.open(m.graph).select(inputs=[m.x], outputs=[m.y])).follow(tmp_path)
        put(m.b, 3.0, m.session)
        saver.save(m.session, str(tmp_path / "model"), global_step=1)
    with stopped_at(monkeypatch, "reading model-1"):
        replica.update()
    assert replica.update()
    assert replica.run(replica["net/b"]).tolist() == [3, 3, 3]


def test_a_value_that_is_missing_is_told_and_the_old_session_goes_on():
    m = model("ref")
    m.session = tf1.Session(graph=m.graph)
    m.session.run(m.w.initializer)
    ed = gs.open(m.graph)
    ed.rebuild()
    new = ed.session(m.session)
    assert np.array_equal(new.run("net/w:0"), m.session.run(m.w))
    assert ed.untrained()["net/b"] == "not in the session"
    assert "net/w" not in ed.untrained()
