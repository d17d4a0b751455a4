"""Carrying: values from session to session, a bounded batch at a time, with no op added."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from benchmarks import peak as peak_module
from graphsurgeon.errors import PlanError
from graphsurgeon.tf.values import transfer as carrying
from tests.graphs import KINDS, look, model
from tests.refusal import refuses

tf1 = tf.compat.v1


@pytest.mark.parametrize(
    ("sizes", "want"),
    [
        ([100, 60, 30, 20], [[0], [1, 2], [3]]),
        ([25] * 4, [[0], [1], [2], [3]]),
        ([1] * 40, [list(range(16)), list(range(16, 32)), list(range(32, 40))]),
        ([0, 0, 0], [[0, 1, 2]]),
        ([], []),
    ],
)
def test_batches_are_no_larger_than_the_largest_but_small_ones_go_together(sizes, want):
    names = {str(i): size << 20 for i, size in enumerate(sizes)}
    assert [[int(n) for n in batch] for batch in carrying.batches(names)] == want


@pytest.mark.parametrize("old", KINDS)
@pytest.mark.parametrize("new", KINDS)
def test_all_values_arrive_and_are_not_shared(old, new, monkeypatch):
    monkeypatch.setattr(carrying, "_SMALL", 0)  # every value as a large one
    a, b = model(old), model(new)
    a.train_steps()
    before = look(b.graph)
    ed = gs.open(b.graph)
    gs.transfer(a.session, ed)
    session = ed.session()
    assert look(b.graph) == before
    for v, w in zip(a.graph.get_collection("variables"), b.graph.get_collection("variables"), strict=True):
        np.testing.assert_array_equal(a.session.run(v), session.run(w))
    kept = a.session.run(a.w)
    for _ in range(3):
        session.run(b.train, b.feed())
    np.testing.assert_array_equal(a.session.run(a.w), kept)
    a.train_steps(3)
    np.testing.assert_allclose(session.run(b.w), a.session.run(a.w), rtol=1e-6)


def test_text_and_odd_types_are_carried():
    def graph_of():
        with tf.Graph().as_default() as graph:
            for i, value in enumerate([["a", "bc"], np.zeros([0, 3], np.float32), 3, [True], np.float16([1.5])]):
                tf1.get_variable(f"v{i}", initializer=tf.constant(value), use_resource=bool(i % 2))
        return graph

    first = gs.open(graph_of()).session()
    ed = gs.open(graph_of())
    gs.transfer(first, ed)
    second = ed.session()
    for v, w in zip(first.graph.get_collection("variables"), second.graph.get_collection("variables"), strict=True):
        np.testing.assert_array_equal(first.run(v), second.run(w))


TEXTS = (b"a\x00b\x00", [b"x\x00", b"yy"])


def texts():
    """A graph of one text and of two."""
    with tf.Graph().as_default() as graph:
        tf1.get_variable("one", initializer=b"", use_resource=True)
        tf1.get_variable("two", initializer=[b"", b""])
    return gs.open(graph)


def reported(session):
    one, two = session.run(session.graph.get_collection("variables"))
    return one, two.tolist()


def test_a_single_text_and_zero_bytes_go_every_way(tmp_path):
    module, prefix = tf.Module(), str(tmp_path / "eager")
    module.one, module.two = tf.Variable(TEXTS[0], name="one"), tf.Variable(TEXTS[1], name="two")
    tf.train.Checkpoint(m=module).write(prefix)
    given = dict(zip(("one", "two"), TEXTS, strict=True))
    sources = [lambda ed: gs.transfer(module, ed), lambda ed: gs.transfer(given, ed), lambda ed: ed.restore(prefix)]
    for bring in sources:
        first, third = texts(), texts()
        bring(first)
        assert reported(first.session()) == TEXTS
        first.rebuild()
        assert reported(first.session()) == TEXTS
        gs.transfer(first.session(), third)
        third.save(tmp_path / "kept.ckpt")
        fourth = texts()
        fourth.restore(tmp_path / "kept.ckpt")
        assert reported(fourth.session()) == TEXTS
        replica = gs.duplicate(fourth)
        assert reported(replica.session) == TEXTS
        assert not replica.update()
        followed = gs.duplicate(fourth.graph).follow(tmp_path)
        followed.update()
        assert reported(followed.session) == TEXTS


def growing(kind):
    """A graph of a variable that grows by one each time `more` runs, and its session."""
    shape = {"shape": tf.TensorShape(None)} if kind == "resource" else {}
    with tf.Graph().as_default() as graph:
        v = tf1.Variable([1.0], validate_shape=False, use_resource=kind == "resource", name="v", **shape)
        longer = tf.concat([v, [2.0]], 0)
        tf.identity(v, name="now")
        more = v.assign(longer) if kind == "resource" else tf1.assign(v, longer, validate_shape=False)
    session = tf1.Session(graph=graph)
    session.run(v.initializer)
    return session, lambda: session.run(getattr(more, "op", more))


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_variable_that_has_grown_is_carried_restored_and_transferred(tmp_path, kind, private, monkeypatch):
    if not private:
        monkeypatch.setattr(carrying, "callable_of", lambda *_: None)
    session, more = growing(kind)
    more()
    gs.open(session).save(tmp_path / "x.ckpt")

    def rebuilt(_):
        ed = gs.open(session)
        ed.apply(ed.plan().set_attr("now", "_mark", 1))
        return ed.session(session).run("now:0")

    ways = [
        rebuilt,
        lambda ed: ed.restore(tmp_path / "x.ckpt") and ed.session().run("now:0"),
        lambda ed: gs.transfer(session, ed) and ed.session().run("now:0"),
    ]
    for way in ways:
        ed = gs.open(growing(kind)[0].graph)
        assert way(ed).tolist() == [1, 2]
        before = len(ed.graph.get_operations())
        if way is not ways[0]:
            assert way(ed).tolist() == [1, 2]
            assert len(ed.graph.get_operations()) == before
    copy = gs.connect({"a": session})
    assert copy.session().run("a/now:0").tolist() == [1, 2]


def test_a_session_that_is_closed_is_named():
    m = model("ref")
    closed = tf1.Session(graph=m.graph)
    closed.close()
    ed = gs.open(m.graph)
    ed.apply(ed.plan().set_attr("net/y", "_mark", 1))
    with refuses(PlanError, "session(old)", "the session that has the values is closed", "Give an open session"):
        ed.session(closed)


@pytest.mark.deep
def test_memory_above_both_sets_of_values():
    if not peak_module.can_measure():
        pytest.skip("this system does not tell a process its peak")
    above = peak_module.peak("benchmarks.bench_values", "carrying", 4, 50, "resource") - 200
    assert above < 2 * 50


@pytest.mark.parametrize(("kind", "runs"), [("resource", 2), ("ref", 4)])
def test_large_values_that_their_variables_keep_share_a_run(kind, runs, monkeypatch):
    with tf.Graph().as_default() as graph:
        for i in range(4):
            tf1.get_variable(f"v{i}", initializer=tf.fill([3, 5], float(i)), use_resource=kind == "resource")
    session = tf1.Session(graph=graph)
    session.run([v.initializer for v in graph.get_collection("variables")])
    monkeypatch.setattr(carrying, "batches", lambda sizes: ([name] for name in sizes))
    monkeypatch.setattr(carrying, "_SMALL", 1)
    monkeypatch.setattr(carrying, "_MOST", 100)  # bytes; a value has 60
    real, made = carrying.set_values, []
    monkeypatch.setattr(carrying, "set_values", lambda *a: made.append(len(a[1])) or real(*a))
    ed = gs.open(session)
    ed.rebuild()
    new = ed.session()
    assert len(made) == runs
    for i, variable in enumerate(ed.graph.get_collection("variables")):
        np.testing.assert_array_equal(new.run(variable), np.full([3, 5], float(i)))
