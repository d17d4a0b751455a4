"""Edges of a live graph changed in place: checks, the journal, sessions."""

from __future__ import annotations

import gc

import pytest
import tensorflow as tf

from graphsurgeon.errors import PlanError
from graphsurgeon.tf.edit import edit_in_place as rewiring
from tests.graphs import look, run, tf1, tiny
from tests.refusal import refuses


def ops(graph, *names):
    return [graph.get_operation_by_name(name) for name in names]


def with_other():
    graph = tiny()
    with graph.as_default():
        other = tf1.placeholder_with_default(tf.constant([[5.0, 5.0]]), [None, 2], name="other")
    return graph, other


def test_an_edge_is_changed_and_counted():
    graph, other = with_other()
    y, z = ops(graph, "y", "z")
    assert rewiring.connect([(y, 0, other), (z, 0, other)], "asked") == 2
    assert (run(graph, "z:0") == 6.0).all()
    assert [op.inputs[0].name for op in (y, z)] == ["other:0", "other:0"]
    assert rewiring.journal(graph).count == 1


def test_what_is_so_already_is_no_edit():
    graph, _ = with_other()
    (y,) = ops(graph, "y")
    assert rewiring.connect([(y, 0, y.inputs[0])], "asked") == 0
    rewiring.order(y, [], "asked")
    assert rewiring.journal(graph).count == 0


def test_control_inputs_are_set():
    graph, _ = with_other()
    y, z, k, x = ops(graph, "y", "z", "k", "x")
    rewiring.order(z, [k, x], "asked")
    assert {op.name for op in z.control_inputs} == {"k", "x"}
    rewiring.order(z, [x], "asked")
    assert z.control_inputs == [x]
    assert rewiring.journal(graph).count == 2
    rewiring.order(z, [], "asked")
    assert z.control_inputs == []
    with refuses(PlanError, "asked", "cycle", "y <- z <- y"):
        rewiring.order(y, [z], "asked")
    with refuses(PlanError, "'x' is an op of another graph"):
        rewiring.order(y, ops(tiny(), "x"), "asked")


def test_a_failure_half_way_gives_all_edges_back(monkeypatch):
    graph, other = with_other()
    y, z = ops(graph, "y", "z")
    before, real = look(graph), rewiring.set_input

    def set_input(op, number, tensor):
        if op is z and tensor is other:
            raise ValueError("no more\nsecond line")
        real(op, number, tensor)

    monkeypatch.setattr(rewiring, "set_input", set_input)
    with refuses(PlanError, "TensorFlow refuses 'other:0' as an input of 'z': no more", "Nothing was changed"):
        rewiring.connect([(y, 0, other), (z, 0, other)], "asked")
    assert {k: v for k, v in look(graph).items() if k != "version"} == {
        k: v for k, v in before.items() if k != "version"
    }
    assert rewiring.journal(graph).count == 0


def test_a_tensorflow_that_has_lost_the_call_is_told_so(monkeypatch):
    graph, other = with_other()
    monkeypatch.setattr(rewiring, "rewiring_works", lambda: False)
    with refuses(PlanError, "cannot change edges in place", "gs.open(graph)"):
        rewiring.connect([(*ops(graph, "y"), 0, other)], "asked")


def test_wrong_edges_are_refused_by_name():
    graph, other = with_other()
    y, z, k = ops(graph, "y", "z", "k")
    before = look(graph)
    with refuses(PlanError, "'k:0' cannot take the place of 'x:0' at 'y'", "dtypes differ"):
        rewiring.connect([(z, 0, other), (y, 0, k.outputs[0])], "asked")
    with refuses(PlanError, "'y:0' and 'y' are of two graphs"):
        rewiring.connect([(y, 0, tiny().get_tensor_by_name("y:0"))], "asked")
    assert look(graph) == before
    graph.finalize()
    with refuses(PlanError, "the graph is finalized"):
        rewiring.connect([(y, 0, other)], "asked")


@pytest.mark.deep
def test_cycles_through_many_ops_and_earlier_edits_are_found():
    graph = tf.Graph()
    with graph.as_default():
        first = t = tf1.placeholder(tf.float32, [], name="t0")
        line = []
        for i in range(3_000):
            t = tf.negative(t, name=f"t{i + 1}")
            line.append(t.op)
        late = tf1.placeholder(tf.float32, [], name="late")
        last = tf.square(late, name="last")
    with refuses(PlanError, "cycle: t1 <- t3000 <- t2999 <- t2998 <- ... <- t1"):
        rewiring.connect([(line[0], 0, t)], "asked")
    rewiring.connect([(line[0], 0, last)], "asked")  # an edge from a later op to an earlier one, without a cycle
    with refuses(PlanError, "cycle", "last <- t3000"):
        rewiring.connect([(last.op, 0, t)], "asked")
    assert rewiring.connect([(last.op, 0, first)], "asked") == 1
    assert run(graph, t, {first: 3.0}) == 9.0


def test_a_loop_of_tf1_is_no_cycle():
    graph = tf.Graph()
    with graph.as_default():
        tf1.disable_control_flow_v2()
        try:
            start = tf1.placeholder(tf.int32, [], name="start")
            out = tf1.while_loop(lambda i: i < 10, lambda i: i * 2, [start])
        finally:
            tf1.enable_control_flow_v2()
        late = tf.constant(3, name="late")
    enter = next(op for op in start.consumers())
    rewiring.connect([(enter, 0, late)], "asked")
    assert run(graph, out) == 12


def test_each_open_session_is_named_once():
    graph, other = with_other()
    (y,) = ops(graph, "y")
    gc.collect()
    with tf1.Session(graph=graph) as session, tf1.Session(graph=tiny()):
        first = y.inputs[0]
        rewiring.connect([(y, 0, other)], "asked")
        assert rewiring.stale_sessions(graph) == [session]
        assert rewiring.stale_sessions(graph) == []
        rewiring.connect([(y, 0, first)], "asked")
        assert rewiring.stale_sessions(graph) == []
    closed = tf1.Session(graph=graph)
    closed.close()
    rewiring.connect([(y, 0, other)], "asked")
    assert rewiring.stale_sessions(graph) == []


def test_two_tensors_fit_or_it_is_said_why():
    graph, other = with_other()
    x, k = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("k:0")
    assert rewiring.unlike(other, x) == ""
    assert "'k:0' int32 (?,) against 'x:0' float32 (?, 2): the dtypes differ" in rewiring.unlike(k, x)


@pytest.mark.parametrize("kind", ["ref", "resource"])
def test_a_reference_may_stand_for_its_value(kind):
    graph = tf.Graph()
    with graph.as_default():
        v = tf1.get_variable("v", initializer=2.0, use_resource=kind == "resource")
        c = tf.constant(1.0)
        y = tf.square(c)
        read = v.op.outputs[0] if kind == "ref" else v.read_value()
    rewiring.connect([(y.op, 0, read)], "asked")
    with tf1.Session(graph=graph) as session:
        session.run(v.initializer)
        assert session.run(y) == 4.0
