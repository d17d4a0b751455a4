"""Selecting: expressions, walks, floods; on graphs of 1.15 see test_record."""

from __future__ import annotations

import re

import pytest
import tensorflow as tf

from graphsurgeon import graph_editor as ge
from graphsurgeon.graph_editor.util import WrongType, WrongValue
from tests.cost import growth, lines
from tests.graphs import tf1, tiny
from tests.random_graphs import tangle
from tests.refusal import refuses


def test_expressions_are_text_or_compiled():
    assert ge.can_be_regex("a")
    assert ge.can_be_regex(re.compile("a"))
    assert not ge.can_be_regex(3)
    assert ge.make_regex(re.compile("a")).pattern == "a"
    with refuses(WrongValue, "make_regex(...)", "text or a regular expression", "int"):
        ge.make_regex(3)


def test_a_kind_is_picked_by_a_prefix():
    graph = tiny()
    ops, ts = ge.select_ops_and_ts("(?#ts)^[xy]:0$", "(?#ops)^z$", "^y$", graph=graph)
    assert [op.name for op in ops] == ["z", "y"]
    assert [t.name for t in ts] == ["x:0", "y:0"]
    assert ge.select_ops("^y$", graph=graph, positive_filter=lambda op: op.type == "Relu") == []
    y = graph.get_operation_by_name("y")
    assert ge.select_ops(y, [y, y.outputs[0]]) == [y]
    assert ge.select_ts(y, y.outputs[0]) == [y.outputs[0]]
    assert ge.filter_ops(graph, True) == graph.get_operations()
    assert y.outputs[0] in ge.filter_ts(y, True)


@pytest.mark.parametrize("select", [ge.select_ops, ge.select_ts])
def test_wrong_requests_say_what_is_right(select):
    graph = tiny()
    with refuses(WrongValue, "'y'", "needs a graph to look in", "keyword argument 'graph'"):
        select("y")
    with refuses(WrongType, "a tf.Graph"):
        select("y", graph="g")
    with refuses(WrongValue, "wrong keyword argument: grph", "graph, positive_filter"):
        select("y", grph=graph)
    with pytest.raises(TypeError):
        select(3)


def test_three_ways_to_ask_for_control_edges():
    held = ge.ControlOutputs(tiny())
    assert ge.check_cios() == (False, None)
    assert ge.check_cios(True, held) == (True, held)
    assert ge.check_cios(control_ios=held) == (True, held)
    with refuses(WrongType, "control_ios=...", "a ControlOutputs"):
        ge.check_cios(control_ios=True)
    with refuses(WrongType, "control_outputs=...", "a ControlOutputs"):
        ge.check_cios(control_outputs=True)
    with refuses(WrongValue, "both are given", "Give control_ios alone"):
        ge.check_cios(control_outputs=held, control_ios=held)


def test_a_seed_at_the_boundary_is_refused():
    graph = tiny()
    y, z = (graph.get_operation_by_name(n) for n in "yz")
    with refuses(WrongValue, "seed_ops=['y']", "boundary is intersecting with the seeds"):
        ge.get_within_boundary_ops(graph, [y], [y, z])
    assert ge.get_within_boundary_ops(graph, [y], [], True) == ge.get_within_boundary_ops(graph, y)
    with pytest.raises(TypeError):
        ge.get_within_boundary_ops(graph, graph)


def test_walks_take_no_graph_and_nothing_gives_nothing():
    graph = tiny()
    assert ge.get_forward_walk_ops([]) == ge.get_backward_walk_ops([]) == []
    with pytest.raises(TypeError):
        ge.get_forward_walk_ops(graph)
    y = graph.get_operation_by_name("y")
    assert ge.get_forward_walk_ops(y, within_ops=[]) == []


@pytest.mark.deep
def test_walks_are_linear():
    def walks(size):
        graph = tf.Graph()
        with graph.as_default():
            t = first = tf1.placeholder(tf.float32, [])
            for _ in range(size):
                t = tf.negative(t)

        def walk():
            assert len(ge.get_walks_intersection_ops(first, t)) == size
            assert len(ge.get_walks_union_ops(first.op, t.op)) == size + 1
            assert len(ge.get_within_boundary_ops(graph, t.op, first.op)) == size + 1
            assert len(ge.sgv(graph).ops) == size + 1

        return walk

    lines(walks(100))  # what is made at the first
    assert growth(walks, 1_000, 8_000) < 10


def from_op_to_op(seeds, near, within):
    """What a walk meets, wave by wave, each op asked by itself."""
    found = [op for op in dict.fromkeys(seeds) if op in within]
    for op in found:  # it grows
        found += [n for n in dict.fromkeys(near(op)) if n in within and n not in found]
    return found


@pytest.mark.parametrize("seed", range(4))
def test_walks_are_what_a_walk_from_op_to_op_gives(seed):
    graph, pool, random = tangle(60, seed)
    ops = graph.get_operations()
    for _ in range(8):
        a, b, c = (pool[i] for i in random.integers(0, len(pool), 3))
        some = [op for op in ops if random.integers(0, 5)]

        def readers(op, stop=c):
            return [r for t in op.outputs if t is not stop for r in t.consumers()]

        def makers(op, stop=c):
            return [t.op for t in op.inputs if t is not stop]

        ahead, behind = from_op_to_op(a.consumers(), readers, some), from_op_to_op([b.op], makers, some)
        assert ge.get_forward_walk_ops(a, within_ops=some, stop_at_ts=[c]) == ahead
        assert ge.get_backward_walk_ops(b, within_ops=some, stop_at_ts=[c]) == behind
        first = [op for op in dict.fromkeys(a.consumers()) if op in some]
        assert ge.get_forward_walk_ops(a, inclusive=False, within_ops=some, stop_at_ts=[c]) == ahead[len(first) :]
        ahead = from_op_to_op(a.consumers(), lambda op: readers(op, None), ops)
        behind = from_op_to_op([b.op], lambda op: makers(op, None), ops)
        assert ge.get_walks_intersection_ops(a, b) == [op for op in ahead if op in behind]
        assert ge.get_walks_union_ops(a, b) == list(dict.fromkeys([*ahead, *behind]))
        if a.op is not b.op:
            inside = [op for op in ops if op is not b.op]
            flood = from_op_to_op([a.op], lambda op: readers(op, None) + makers(op, None), inside)
            ends = [n for op in flood for n in readers(op, None) + makers(op, None)]
            assert ge.get_within_boundary_ops(graph, a, b, inclusive=False) == [op for op in ops if op in flood]
            flood += [b.op] * (b.op in ends)
            assert ge.get_within_boundary_ops(graph, a, b) == [op for op in ops if op in flood]


def test_an_edge_that_anybody_changes_is_seen():
    graph = tf.Graph()
    with graph.as_default():
        a, b = (tf1.placeholder(tf.float32, [2], name=n) for n in "ab")
        y = tf.negative(a, name="y")
        z = tf.identity(y, name="z")
    assert [op.name for op in ge.get_backward_walk_ops(z)] == ["z", "y", "a"]
    y.op._update_input(0, b)  # behind our back: no version and no journal tells
    assert [op.name for op in ge.get_backward_walk_ops(z)] == ["z", "y", "b"]
    assert ge.get_forward_walk_ops(a.op) == [a.op]
    assert [op.name for op in ge.get_forward_walk_ops(b)] == ["y", "z"]
    ge.reroute_ts(a, b)
    assert [op.name for op in ge.get_walks_intersection_ops(a, z)] == ["y", "z"]
    assert ge.get_walks_intersection_ops(b, z) == []


def test_control_edges_and_tests_of_ops():
    graph = tf.Graph()
    with graph.as_default():
        a = tf1.placeholder(tf.float32, [2], name="a")
        with tf.control_dependencies([a]):
            end = tf.no_op(name="end")
        b = tf.negative(a, name="b")
    assert ge.get_forward_walk_ops(a.op, control_outputs=ge.ControlOutputs(graph)) == [a.op, b.op, end]
    assert ge.get_backward_walk_ops(end, control_inputs=True) == [end, a.op]
    assert ge.get_backward_walk_ops(end) == [end]
    assert ge.get_forward_walk_ops(a.op, within_ops_fn=lambda op: op.name != "b") == [a.op]
