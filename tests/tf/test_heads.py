"""New heads and cut-outs: a trained model gets another output, another head, or gives its features away."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import KINDS

tf1 = tf.compat.v1
X = np.array([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]], np.float32)


@pytest.fixture(params=KINDS)
def trained(request, tmp_path):
    """A trained net ``h = tanh(x w)``, ``y = h v``, as files; the values of h and y, and the kind of its variables."""
    with tf.Graph().as_default(), tf1.variable_scope("", use_resource=request.param == "resource"):
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        w = tf1.get_variable("w", [2, 4], initializer=tf1.random_normal_initializer(seed=1))
        h = tf.tanh(tf.matmul(x, w), name="h")
        v = tf1.get_variable("v", [4, 1], initializer=tf1.random_normal_initializer(seed=2))
        y = tf.matmul(h, v, name="y")
        step = tf1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(tf.square(y - 1)))
        session = tf1.Session()
        session.run(tf1.global_variables_initializer())
        for _ in range(5):
            session.run(step, {x: X})
        tf1.train.Saver().save(session, str(tmp_path / "net"))
        return f"{tmp_path / 'net'}.meta", session.run([h, y], {x: X}), request.param


def head(h, kind, name="head"):
    """Returns the output of a new head on some features, and an op that trains it alone."""
    with tf1.variable_scope(name, use_resource=kind == "resource"):
        u = tf1.get_variable("u", [4, 2], initializer=tf1.random_normal_initializer(seed=3))
        out = tf.matmul(h, u, name="out")
        loss = tf.reduce_mean(tf.square(out - 2.0))
        return out, loss, tf1.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[u])


def test_a_new_output_beside_the_old_one(trained):
    file, (h, y), kind = trained
    ed = gs.open(file)
    with ed.graph.as_default():
        out, loss, train = head(ed.tensor("h:0"), kind)
    session = ed.session()
    feed = {"x:0": X}
    first = session.run(loss, feed)
    for _ in range(50):
        session.run(train, feed)
    assert session.run(loss, feed) < 0.5 * first
    assert session.run(out, feed).shape == (3, 2)
    # only the head has learned
    np.testing.assert_array_equal(session.run("h:0", feed), h)
    np.testing.assert_array_equal(session.run("y:0", feed), y)


def test_the_head_is_replaced(trained, tmp_path):
    file, (h, y), kind = trained
    src, dst = gs.open(file), gs.open(tf.Graph())
    with dst.graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
    body = src.select(inputs="x:0", outputs="h:0")
    done = dst.apply(dst.plan().copy(body, inputs={"x:0": x}, to="body", values=src))
    assert "body/v" not in dst.snapshot.index
    assert not any("Gradient" in name or "gradients" in name for name in dst.snapshot.names)
    with dst.graph.as_default():
        out, loss, train = head(done["h:0"], kind)
    session = dst.session()
    np.testing.assert_array_equal(session.run(done["h:0"], {x: X}), h)
    first = session.run(loss, {x: X})
    for _ in range(50):
        session.run(train, {x: X})
    assert session.run(loss, {x: X}) < 0.5 * first
    # the model it came from is as it was, in memory and on the disk
    np.testing.assert_array_equal(src.session().run("y:0", {"x:0": X}), y)
    np.testing.assert_array_equal(gs.open(file).session().run("y:0", {"x:0": X}), y)
    # and the new one leaves as a file
    dst.save(str(tmp_path / "new.pb"), outputs=out.name, freeze=True)
    with tf.Graph().as_default(), tf1.Session() as check:
        tf1.import_graph_def(tf1.GraphDef.FromString((tmp_path / "new.pb").read_bytes()), name="")
        got = check.run(out.name, {"x:0": X})
    np.testing.assert_allclose(got, session.run(out, {x: X}), rtol=1e-6)


def test_features_are_cut_out_by_their_boundary(trained):
    file, (h, _), _ = trained
    src = gs.open(file)
    body = src.select(inputs="x:0", outputs="h:0")
    assert list(body.boundary.inputs) == ["x:0"]
    assert list(body.boundary.outputs) == ["h:0"]
    out = gs.open(tf.Graph())
    done = out.apply(out.plan().copy(body, unmapped="include", values=src))
    session = out.session()
    np.testing.assert_array_equal(session.run(done["h:0"], {done["x:0"]: X}), h)
