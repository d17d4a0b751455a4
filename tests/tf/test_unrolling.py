"""Copies inside one graph: to unroll a step, to compute a part again, with variables shared or not."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import KINDS, look

tf1 = tf.compat.v1


def cell(kind):
    """Returns a graph with one step h' = tanh(h u + x w), its ends, and an initialized session."""
    graph = tf.Graph()
    with graph.as_default(), tf1.variable_scope("cell", use_resource=kind == "resource"):
        h, x = (tf1.placeholder(tf.float32, [None, 3], name=n) for n in "hx")
        u, w = (
            tf1.get_variable(n, [3, 3], initializer=tf1.random_uniform_initializer(seed=i)) for i, n in enumerate("uw")
        )
        new = tf.tanh(tf.matmul(h, u) + tf.matmul(x, w), name="new")
        session = tf1.Session()
        session.run(tf1.global_variables_initializer())
    return graph, h, x, u, w, new, session


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_is_unrolled_with_shared_variables(kind):
    graph, h, x, u, w, new, session = cell(kind)
    ed = gs.open(graph)
    step = ed.select(inputs=[h, x], outputs=new)
    before = look(graph)
    state, others = new, [x]
    for number in range(1, 4):
        with graph.as_default():
            others.append(tf1.placeholder(tf.float32, [None, 3], name=f"x{number}"))
        plan = ed.plan().copy(step, to=f"step{number}", inputs={h: state, x: others[-1]}, variables="share")
        assert plan.check() == ()
        assert plan.preview().counts["variables"] == 0
        state = ed.apply(plan)[new]
        step = ed.select(inputs=[h, x], outputs=new)
    assert look(graph)["collections"] == before["collections"]
    rng = np.random.RandomState(0)
    feeds = {t: rng.rand(2, 3).astype(np.float32) for t in [h, *others]}
    want = feeds[h]
    for other in others:
        want = np.tanh(want @ session.run(u) + feeds[other] @ session.run(w))
    np.testing.assert_allclose(session.run(state, feeds), want, rtol=1e-5)
    with graph.as_default():
        (slope,) = tf1.gradients(state, u)
    values, bumps = session.run(u), session.run(slope, feeds)
    session.run(u.initializer, {u.initializer.inputs[1]: values + 1e-3})
    change = session.run(state, feeds).sum() - want.sum()
    np.testing.assert_allclose(change, bumps.sum() * 1e-3, rtol=2e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_is_unrolled_with_variables_of_its_own(kind):
    graph, h, x, u, _, new, session = cell(kind)
    ed = gs.open(graph)
    done = ed.apply(
        ed.plan().copy(ed.select(inputs=[h, x], outputs=new), to="next", inputs={h: new, x: x}, values=session)
    )
    session = ed.session(session)
    np.testing.assert_array_equal(session.run(done[u]), session.run(u))
    session.run(done[u].initializer)
    feeds = {h: np.ones((1, 3)), x: np.ones((1, 3))}
    first = session.run(new, feeds)
    session.run(done[u].initializer, {done[u].initializer.inputs[1]: np.zeros((3, 3))})
    np.testing.assert_array_equal(session.run(new, feeds), first)
    with graph.as_default():
        assert [v.op.name for v in tf1.trainable_variables()] == ["cell/u", "cell/w", "next/cell/u", "next/cell/w"]


def test_a_part_is_computed_again():
    """What gradient checkpointing needs: the same values from the same inputs, by ops of their own."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None], name="x")
        counted = []

        def count(a):
            counted.append(1)
            return a

        a = tf1.py_func(count, [x], tf.float32, name="slow")
        y = tf.square(a, name="y")
    ed = gs.open(graph)
    done = ed.apply(ed.plan().copy(ed.select(inputs=x, outputs=y), to="again", unmapped="keep"))
    with tf1.Session(graph=graph) as session:
        session.run([y, done[y]], {x: [2.0]})
    assert len(counted) == 2
    with graph.as_default(), tf.control_dependencies([y]):
        late = tf.identity(done[y])
    assert [c.name for c in late.op.control_inputs] == ["y"]


def test_a_copy_of_copies():
    graph, h, x, _, _, new, session = cell("resource")
    ed = gs.open(graph)
    tensor, values = new, session
    for scope in ("a", "b", "c"):
        block = ed.select(inputs=[h, x], outputs=tensor)
        tensor = ed.apply(ed.plan().copy(block, to=scope, unmapped="keep", values=values))[tensor]
        values = ed
    assert tensor.op.name == "c/b/a/cell/new"
    session = ed.session(session)
    feeds = {h: np.ones((1, 3)), x: np.ones((1, 3))}
    np.testing.assert_array_equal(session.run(tensor, feeds), session.run(new, feeds))
