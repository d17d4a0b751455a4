"""Copies of a graph that was copied before: what is known of it is used, and what has changed since is seen."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon.graph_editor as ge
from graphsurgeon.tf.edit import rewire as rewiring

tf1 = tf.compat.v1


@pytest.fixture
def graph():
    made = tf.Graph()
    with made.as_default():
        a, b = (tf1.placeholder(tf.float32, [2], name=n) for n in "ab")
        tf1.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
        tf.negative(tf.identity(tf.add(a, 1.0, name="more"), name="mid"), name="y")
        tf.identity(b, name="z")
    ge.copy(made, tf.Graph(), dst_scope="first")
    return made


def run(graph, name, feed):
    with tf1.Session(graph=graph) as session:
        return session.run(name, feed).tolist()


def again(graph):
    target = tf.Graph()
    view, info = ge.copy(graph, target, dst_scope="copy")
    assert len(view.ops) == len(graph.get_operations()) == len(target.get_operations())
    return target, info


def test_the_snapshot_is_used_again(graph):
    known = rewiring.journal(graph).known()
    again(graph)
    assert known is not None
    assert rewiring.journal(graph).known() is known


def test_an_edge_that_this_package_changes_is_seen(graph):
    ge.reroute_ts(graph.get_tensor_by_name("b:0"), graph.get_tensor_by_name("mid:0"))
    assert rewiring.journal(graph).known() is None
    target, _ = again(graph)
    assert run(target, "copy/y:0", {"copy/b:0": [1.0, 2.0]}) == [-1.0, -2.0]


def test_an_edge_that_somebody_else_changes_is_seen(graph):
    graph.get_operation_by_name("y")._update_input(0, graph.get_tensor_by_name("b:0"))
    for _ in range(2):
        target, _ = again(graph)
        assert run(target, "copy/y:0", {"copy/b:0": [1.0, 2.0]}) == [-1.0, -2.0]


def test_an_attribute_that_somebody_changes_is_seen(graph):
    graph.get_operation_by_name("y")._set_attr("_mark", tf1.AttrValue(s=b"new"))
    target, _ = again(graph)
    assert target.get_operation_by_name("copy/y").get_attr("_mark") == b"new"


def test_what_is_added_is_copied_too(graph):
    with graph.as_default():
        late = tf1.get_variable("late", initializer=[3.0], use_resource=True)
        graph.add_to_collection("mine", graph.get_tensor_by_name("y:0"))
    target, info = again(graph)
    assert info.transformed(late).name == "copy/late:0"
    assert [v.op.name for v in target.get_collection("variables")] == ["copy/w", "copy/late"]
    assert [t.name for t in target.get_collection("copy/mine")] == ["copy/y:0"]
    graph.add_to_collection("mine", graph.get_tensor_by_name("z:0"))
    assert [t.name for t in again(graph)[0].get_collection("copy/mine")] == ["copy/y:0", "copy/z:0"]


def test_copies_within_the_graph(graph):
    for count in (1, 2, 3):
        size = len(graph.get_operations())
        view, _ = ge.copy(ge.sgv("more|mid|y", graph=graph) if count == 3 else graph, dst_scope="in")
        assert len(graph.get_operations()) >= size + len(view.ops)
    with tf1.Session(graph=graph) as session:
        assert session.run("in/y:0", {"in/a:0": [1.0, 2.0]}).tolist() == [-2.0, -3.0]


def test_of_a_large_graph_none_is_kept(graph, monkeypatch):
    monkeypatch.setattr(rewiring, "_MOST_KEPT", 10)
    with graph.as_default():
        tf.constant(1.0)
    again(graph)
    assert rewiring.journal(graph).known() is None
