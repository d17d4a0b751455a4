"""Walks by the edges that are kept of a graph: the same ops in the same order, and no edge that is no more."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon.graph_editor as ge
from graphsurgeon.graph_editor import select
from graphsurgeon.tf import graph_parts
from graphsurgeon.tf.edit import edit_in_place as rewiring
from tests.random_graphs import tangle

tf1 = tf.compat.v1


@pytest.fixture
def small(monkeypatch):
    """Every walk counts as a large one."""
    monkeypatch.setattr(select, "LARGE", 0)
    monkeypatch.setattr(select, "SHARE", 10**9)


def calls(graph, pool, random):
    """Walks of all kinds with random arguments."""
    ops = graph.get_operations()
    for _ in range(6):
        a, b, c = (pool[i] for i in random.integers(0, len(pool), 3))
        some = [op for op in ops if random.integers(0, 5)]
        for inclusive in (True, False):
            yield lambda a=a, i=inclusive: ge.get_forward_walk_ops(a, inclusive=i)
            yield lambda a=a, b=b, i=inclusive: ge.get_forward_walk_ops([a.op, b.op], inclusive=i)
            yield lambda a=a, b=b, s=some: ge.get_forward_walk_ops([a, b], within_ops=s)
            yield lambda a=a, b=b: ge.get_forward_walk_ops(a, stop_at_ts=[b])
            yield lambda a=a, i=inclusive: ge.get_backward_walk_ops(a, inclusive=i)
            yield lambda a=a, b=b, s=some: ge.get_backward_walk_ops([a, b], within_ops=s, stop_at_ts=[b])
            yield lambda a=a, b=b, i=inclusive: ge.get_walks_intersection_ops(a, b, i, i)
            yield lambda a=a, b=b, s=some: ge.get_walks_intersection_ops(a, b, within_ops=s)
            yield lambda a=a, b=b, i=inclusive: ge.get_walks_union_ops(a, b, i, i)
            if a.op not in (b.op, c.op):
                yield lambda a=a, b=b, c=c, i=inclusive: ge.get_within_boundary_ops(graph, a, [b, c], i)
                yield lambda a=a, b=b, i=inclusive, s=some: ge.get_within_boundary_ops(s, a, b, i)


@pytest.mark.parametrize("seed", range(4))
def test_they_are_what_a_walk_from_op_to_op_gives(seed, small, monkeypatch):
    graph, pool, random = tangle(60, seed)
    used = []
    for call in calls(graph, pool, random):
        with monkeypatch.context() as alone:
            alone.setattr(select, "wiring_of", lambda graph: None)
            want = call()
        got = call()
        held = rewiring.journal(graph).wiring
        used.append(held is not None and held[2] is not None)
        assert [op.name for op in got] == [op.name for op in want]
    assert all(used[6:])


def test_edges_are_kept_at_the_third_large_walk_and_read_again_when_the_graph_grows(small):
    graph, pool, _ = tangle(10, 0)
    x = pool[0]
    for kept in (False, False, True, True):
        ge.get_forward_walk_ops(x.op)
        assert (rewiring.journal(graph).wiring[2] is not None) == kept
    with graph.as_default():
        late = tf.negative(x, name="late")
    for _ in range(4):
        assert late.op in ge.get_forward_walk_ops(x)


def test_an_edge_that_anybody_changes_is_seen(small):
    graph = tf.Graph()
    with graph.as_default():
        a, b = (tf1.placeholder(tf.float32, [2], name=n) for n in "ab")
        y = tf.negative(a, name="y")
        z = tf.identity(y, name="z")
    for _ in range(4):
        assert [op.name for op in ge.get_backward_walk_ops(z)] == ["z", "y", "a"]
    y.op._update_input(0, b)  # behind our back: no version and no journal tells
    for _ in range(4):
        assert [op.name for op in ge.get_backward_walk_ops(z)] == ["z", "y", "b"]
        assert ge.get_forward_walk_ops(a.op) == [a.op]
        assert [op.name for op in ge.get_forward_walk_ops(b)] == ["y", "z"]
    ge.reroute_ts(a, b)
    for _ in range(4):
        assert [op.name for op in ge.get_backward_walk_ops(z)] == ["z", "y", "a"]
        assert [op.name for op in ge.get_walks_intersection_ops(a, z)] == ["y", "z"]
        assert ge.get_walks_intersection_ops(b, z) == []


def test_looking_at_an_edge_that_has_changed_adds_no_op(small):
    graph = tf.Graph()
    with graph.as_default():
        a, b = (tf1.placeholder(tf.float32, [2], name=n) for n in "ab")
        y = tf.negative(a, name="y")
        for _ in range(4):
            ge.get_backward_walk_ops(y)
        y.op._update_input(0, b)
        assert y.op.inputs[0] is b
        assert [op.name for op in ge.get_backward_walk_ops(y)] == ["y", "b"]
        assert len(graph.get_operations()) == 3


def test_control_edges_and_tests_of_ops_are_walked_live(small):
    graph = tf.Graph()
    with graph.as_default():
        a = tf1.placeholder(tf.float32, [2], name="a")
        with tf.control_dependencies([a]):
            end = tf.no_op(name="end")
        b = tf.negative(a, name="b")
    for _ in range(5):
        assert ge.get_forward_walk_ops(a.op, control_outputs=ge.ControlOutputs(graph)) == [a.op, b.op, end]
        assert ge.get_backward_walk_ops(end, control_inputs=True) == [end, a.op]
        assert ge.get_backward_walk_ops(end) == [end]
        assert ge.get_forward_walk_ops(a.op, within_ops_fn=lambda op: op.name != "b") == [a.op]


def test_without_marks_all_walks_are_live(small, monkeypatch):
    monkeypatch.setattr(graph_parts, "MARKS_INPUTS", False)
    graph, pool, _ = tangle(10, 1)
    for _ in range(5):
        ge.get_forward_walk_ops(pool[0].op)
    assert rewiring.journal(graph).wiring[2] is None
