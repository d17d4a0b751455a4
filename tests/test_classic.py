"""The copier of 2016: its two examples, and what it used to get wrong."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from tests.graphs import KINDS, collections, look, model, put, run
from tests.refusal import refuses

tf1 = tf.compat.v1


def fit_a_plane():
    """Returns the example of the copier: 100 points on a plane, gradient descent with rate 0.5."""
    rng = np.random.RandomState(0)
    x_data = np.float32(rng.rand(2, 100))
    y_data = np.dot([0.100, 0.200], x_data).astype(np.float32) + np.float32(0.300)
    graph = tf.Graph()
    with graph.as_default(), tf1.variable_scope("", use_resource=False):
        b = tf1.Variable(tf.zeros([1]), name="b", use_resource=False)
        w = tf1.Variable(tf1.random_uniform([1, 2], -1.0, 1.0, seed=1), name="W", use_resource=False)
        y = tf.matmul(w, x_data) + b
        loss = tf.reduce_mean(tf.square(y - y_data))
        train = tf1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")
    return graph, w, b, train


def test_fit_a_plane():
    graph, w, b, train = fit_a_plane()
    before = look(graph)
    to_graph = tf.Graph()
    copied = {}
    copy = gs.copy_to_graph(train, to_graph, copied, "CopiedOps")
    assert look(graph) == before
    assert (copy.name, copy.type, copy.graph) == ("CopiedOps/train", "NoOp", to_graph)
    assert sorted(copied) == ["CopiedOps/W:0", "CopiedOps/b:0"]
    w1, b1 = gs.get_copied(w, to_graph, copied, "CopiedOps"), gs.get_copied(b, to_graph, copied, "CopiedOps")
    assert (w1, b1) == (copied["CopiedOps/W:0"], copied["CopiedOps/b:0"]) or w1 is copied["CopiedOps/W:0"]
    assert [v.name for v in to_graph.get_collection("variables")] == ["CopiedOps/b:0", "CopiedOps/W:0"]
    with to_graph.as_default(), tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        for _ in range(201):
            session.run(copy)
        np.testing.assert_allclose(session.run(w1), [[0.1, 0.2]], atol=1e-3)
        np.testing.assert_allclose(session.run(b1), [0.3], atol=1e-3)


def test_a_feed_and_a_constant():
    graph = tf.Graph()
    with graph.as_default():
        a = tf1.placeholder(tf.float32, name="a")
        total = tf.add(a, tf.constant(3.0), name="total")
    to_graph = tf.Graph()
    new = gs.copy_to_graph(total, to_graph, namespace="CopiedOps")
    fed = gs.get_copied(a, to_graph, namespace="CopiedOps")
    assert fed.name == "CopiedOps/a:0"
    assert run(to_graph, new, {fed: 5.0}) == 8.0


@pytest.mark.parametrize("kind", KINDS)
def test_copying_a_variable(kind):
    m = model(kind)
    to_graph, copied = tf.Graph(), {}
    new = gs.copy_variable_to_graph(m.w, to_graph, "N", copied)
    assert (new.name, new.shape, type(new)) == ("N/net/w:0", m.w.shape, type(m.w))
    assert copied == {"N/net/w:0": new} or copied["N/net/w:0"] is new
    assert gs.get_copied(m.w, to_graph, copied, "N") is new
    assert gs.get_copied(m.w, to_graph, namespace="N") is new
    assert {k: len(v) for k, v in collections(to_graph).items()} == {
        "variables": 1, "trainable_variables": 1, "N/mine": 1,
    }  # fmt: skip
    assert gs.copy_variable_to_graph(m.w, to_graph, "N", copied) is new
    assert len(to_graph.get_collection("variables")) == 1


def test_other_collections_get_the_namespace():
    m = model("ref")
    to_graph = tf.Graph()
    gs.copy_to_graph(m.train, to_graph, namespace="N")
    gs.copy_to_graph(m.loss, to_graph, namespace="N")
    names = set(to_graph.get_all_collection_keys())
    assert {"variables", "trainable_variables", "N/mine", "N/losses", "N/train_op", "N/global_step"} <= names
    assert not {"mine", "losses", "train_op"} & names


def test_the_order_of_collections_is_kept():
    graph = tf.Graph()
    with graph.as_default():
        made = [tf1.get_variable(name, [1], use_resource=False) for name in ("c", "a", "d", "b")]
        for v in (made[3], made[0], made[2], made[1]):
            graph.add_to_collection("order", v)
        total = tf.add_n([v.read_value() for v in made], name="total")
    to_graph = tf.Graph()
    gs.copy_to_graph(total, to_graph, namespace="N")
    assert [v.op.name for v in to_graph.get_collection("variables")] == ["N/c", "N/a", "N/d", "N/b"]
    assert [v.op.name for v in to_graph.get_collection("N/order")] == ["N/b", "N/c", "N/d", "N/a"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["copy_to_graph", "copy_variable_to_graph"])
def test_values_on_request(kind, way):
    m = model(kind)
    start = m.session.run(m.w)
    m.train_steps()
    now = m.session.run(m.w)
    for values, want in ((None, start), (m.session, now)):
        to_graph = tf.Graph()
        if way == "copy_to_graph":
            gs.copy_to_graph(m.y, to_graph, namespace="N", values=values)
        else:
            gs.copy_variable_to_graph(m.w, to_graph, "N", values=values)
        new = gs.get_copied(m.w, to_graph, namespace="N")
        with to_graph.as_default(), tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            np.testing.assert_array_equal(session.run(new), want)


@pytest.mark.parametrize("kind", KINDS)
def test_several_calls_build_one_copy(kind):
    m = model(kind)
    to_graph, copied = tf.Graph(), {}
    new_w = gs.copy_variable_to_graph(m.w, to_graph, "N", copied)
    new_y = gs.copy_to_graph(m.y, to_graph, copied, "N")
    new_loss = gs.copy_to_graph(m.loss, to_graph, copied, "N")
    train = gs.copy_to_graph(m.train, to_graph, copied, "N")
    assert copied["N/net/w:0"] is new_w
    names = [op.name for op in to_graph.get_operations()]
    assert len(names) == len(set(names))
    assert {n.removeprefix("N/") for n in names} <= {op.name for op in m.graph.get_operations()}
    again = gs.copy_to_graph(m.loss, to_graph, copied, "N")
    assert again is new_loss
    assert [op.name for op in to_graph.get_operations()] == names
    feed = m.feed()
    with to_graph.as_default(), tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        moved = {gs.get_copied(k, to_graph, copied, "N"): v for k, v in feed.items()}
        np.testing.assert_array_equal(session.run(new_y, moved), m.session.run(m.y, feed))
        for _ in range(3):
            session.run(train, moved)
            m.session.run(m.train, feed)
        assert session.run(new_loss, moved) == m.session.run(m.loss, feed)


def test_variables_the_caller_brings_are_used():
    m = model("ref", optimizer=None)
    to_graph = tf.Graph()
    with to_graph.as_default(), tf1.variable_scope("N/net", use_resource=False):
        mine = tf1.get_variable("w", [2, 3], initializer=tf1.ones_initializer())
    gs.copy_to_graph(m.y, to_graph, {"N/net/w:0": mine}, "N")
    assert [v.op.name for v in to_graph.get_collection("variables")] == ["N/net/w", "N/net/b"]
    assert gs.get_copied(m.w, to_graph, {"N/net/w:0": mine}, "N") is mine


def test_another_graph_into_the_same_namespace_is_refused():
    one, two, to_graph = model("ref", optimizer=None), model("ref", optimizer=None), tf.Graph()
    gs.copy_to_graph(one.y, to_graph, namespace="N")
    before = look(to_graph)
    with refuses(PlanError, "is there already and is no copy of", "Choose another namespace"):
        gs.copy_to_graph(two.y, to_graph, namespace="N")
    assert look(to_graph) == before
    gs.copy_to_graph(two.y, to_graph, namespace="M")
    with to_graph.as_default():
        assert len(tf1.global_variables()) == 4


def test_without_a_namespace():
    m = model("resource", optimizer=None)
    to_graph = tf.Graph()
    new = gs.copy_to_graph(m.y, to_graph)
    assert new.name == m.y.name
    assert gs.get_copied(m.y, to_graph) is new
    assert set(to_graph.get_all_collection_keys()) == {"variables", "trainable_variables", "mine"}
    assert gs.copy_to_graph(m.y, to_graph) is new


@pytest.mark.parametrize("namespace", ["a/b", "a/b/"])
def test_deep_namespaces(namespace):
    m = model("ref", optimizer=None)
    to_graph = tf.Graph()
    assert gs.copy_to_graph(m.loss, to_graph, namespace=namespace).name == "a/b/loss:0"
    assert gs.get_copied(m.loss, to_graph, namespace=namespace).name == "a/b/loss:0"


def test_ops_tensors_and_variables_give_their_like():
    m = model("ref")
    to_graph = tf.Graph()
    assert isinstance(gs.copy_to_graph(m.loss, to_graph, namespace="N"), tf.Tensor)
    assert isinstance(gs.copy_to_graph(m.loss.op, to_graph, namespace="N"), tf.Operation)
    assert isinstance(gs.copy_to_graph(m.w, to_graph, namespace="N"), tf.Variable)


def test_only_ancestors_are_copied_control_inputs_included():
    graph = tf.Graph()
    with graph.as_default():
        first = tf.constant(1.0, name="first")
        with tf.control_dependencies([first]):
            second = tf.constant(2.0, name="second")
        tf.constant(3.0, name="other")
    to_graph = tf.Graph()
    new = gs.copy_to_graph(second, to_graph, namespace="N")
    assert [c.name for c in new.op.control_inputs] == ["N/first"]
    assert [op.name for op in to_graph.get_operations()] == ["N/first", "N/second"]


def test_twenty_thousand_ops_in_a_row():
    node = tf1.GraphDef()
    node.node.add(name="op0", op="Const").attr["value"].tensor.CopyFrom(tf.make_tensor_proto(1.0))
    node.node[0].attr["dtype"].type = 1
    for i in range(1, 20_000):
        made = node.node.add(name=f"op{i}", op="Neg", input=[f"op{i - 1}"])
        made.attr["T"].type = 1
    graph = gs.open(node).graph
    to_graph = tf.Graph()
    new = gs.copy_to_graph(graph.get_tensor_by_name("op19999:0"), to_graph, namespace="N")
    assert new.name == "N/op19999:0"
    assert len(to_graph.get_operations()) == 20_000


# -- refusals ----------------------------------------------------------------------------------------------


def test_what_is_no_variable():
    m = model("ref", optimizer=None)
    with refuses(PlanError, "copy_variable_to_graph('net/y:0', ...): it is a ", "not a tf.Variable", "copy_to_graph"):
        gs.copy_variable_to_graph(m.y, tf.Graph(), "N")
    with refuses(PlanError, "copy_variable_to_graph(3, ...): it is a int, not a tf.Variable"):
        gs.copy_variable_to_graph(3, tf.Graph(), "N")


@pytest.mark.parametrize("thing", [3, "y:0", None])
def test_what_is_nothing_of_a_graph(thing):
    words = f"copy_to_graph({thing!r}, ...): a {type(thing).__name__} is nothing of a graph"
    with refuses(PlanError, words, "Give an op, a tensor or a variable"):
        gs.copy_to_graph(thing, tf.Graph(), namespace="N")


def test_what_was_not_copied():
    m = model("ref", optimizer=None)
    to_graph = tf.Graph()
    with refuses(SelectionError, "get_copied('net/w:0'): no variable 'N/net/w:0' was copied",
                 "Call copy_variable_to_graph first"):  # fmt: skip
        gs.get_copied(m.w, to_graph, {}, "N")
    gs.copy_to_graph(m.y, to_graph, namespace="N")
    with refuses(SelectionError, "tensor('N/loss:0'): there is no tensor 'N/loss:0'"):
        gs.get_copied(m.loss, to_graph, {}, "N")
    with refuses(SelectionError, "op('N/loss'): no op is called 'N/loss'"):
        gs.get_copied(m.loss.op, to_graph, {}, "N")


def test_values_that_cannot_be_had():
    m = model("ref", optimizer=None)
    to_graph = tf.Graph()
    with refuses(PlanError, "copy_to_graph(..., values=...)", "has no value in the session given"):
        gs.copy_to_graph(m.y, to_graph, namespace="N", values=tf1.Session(graph=m.graph))
    assert to_graph.get_operations() == []
    assert to_graph.get_all_collection_keys() == []


@pytest.mark.parametrize("namespace", ["a b", "a//b", "-a"])
def test_a_namespace_that_is_no_scope(namespace):
    m = model("ref", optimizer=None)
    to_graph = tf.Graph()
    words = ("copy_to_graph('net/y:0', ...)", f"namespace {namespace!r} is not a name scope", "Use letters")
    with refuses(PlanError, *words):
        gs.copy_to_graph(m.y, to_graph, namespace=namespace)
    assert to_graph.get_operations() == []


@pytest.mark.parametrize("kind", KINDS)
def test_current_values_reach_each_variable_alone_where_others_read_the_tensor_of_its_initial_value(kind):
    with tf.Graph().as_default() as graph:
        start = tf.constant([1.0, 2.0], name="start")
        values = {"a": start, "b": start, "c": 0.0}
        a, b, c = (tf1.Variable(v, name=n, use_resource=kind == "resource") for n, v in values.items())
        out = tf.add_n([a, 10.0 * b, 100.0 * start, [c, c]], name="out")
    to_graph = tf.Graph()
    with tf1.Session(graph=graph) as session:
        session.run([v.initializer for v in (a, b, c)])
        for variable, value in ((a, [3.0, 4.0]), (b, [5.0, 6.0]), (c, 0.5)):
            put(variable, value, session)
        copy = gs.copy_to_graph(out, to_graph, namespace="N", values=session)
        want = session.run(out)
    with to_graph.as_default():
        start = tf1.global_variables_initializer()
    with tf1.Session(graph=to_graph) as session:
        session.run(start)
        np.testing.assert_array_equal(session.run(copy), want)
