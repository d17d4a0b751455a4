"""Edges moved in place, checked as a whole before."""

from __future__ import annotations

import pytest
import tensorflow as tf

from graphsurgeon import graph_editor as ge
from graphsurgeon.graph_editor.util import WrongType, WrongValue
from tests.graphs import look, run, tf1, tiny
from tests.refusal import refuses


def lanes(count=2, depth=3):
    """Lanes of ops: x0 -> x0_0 -> x0_1 -> ..., of constants 1, 2, ... that are doubled, then negated in turn."""
    graph = tf.Graph()
    with graph.as_default():
        for lane in range(count):
            t = tf.constant(lane + 1.0, name=f"x{lane}")
            for step in range(depth):
                t = tf.add(t, t, name=f"x{lane}_{step}") if step % 2 == 0 else tf.negative(t, name=f"x{lane}_{step}")
    return graph


def t(graph, name):
    return graph.get_tensor_by_name(f"{name}:0")


def test_all_readers_change_or_those_that_may():
    graph = lanes()
    assert ge.reroute_ts(t(graph, "x1"), t(graph, "x0")) == 2
    assert run(graph, "x0_2:0") == run(graph, "x1_2:0")
    late = graph.get_operation_by_name("x0_1")
    assert ge.reroute_ts(t(graph, "x1"), t(graph, "x0_0"), can_modify=[]) == 0
    assert ge.reroute_ts(t(graph, "x1"), t(graph, "x0_0"), cannot_modify=late) == 0
    assert ge.reroute_ts([t(graph, "x1")], [t(graph, "x0_0")], can_modify=[late]) == 1
    assert run(graph, "x0_2:0") == -4.0


def test_swapping_exchanges_the_readers_also_of_an_op_that_reads_both():
    graph = lanes()
    with graph.as_default():
        both = tf.subtract(t(graph, "x0_2"), t(graph, "x1_2"), name="both")
    assert ge.swap_ts(t(graph, "x0_2"), t(graph, "x1_2")) == 2
    assert [i.name for i in both.op.inputs] == ["x1_2:0", "x0_2:0"]
    assert run(graph, both) == -4.0


def test_swap_of_a_tensor_with_itself_does_nothing():
    graph = lanes()
    assert ge.swap_ts(t(graph, "x0"), t(graph, "x0")) == 0


def test_nothing_changes_where_one_pair_does_not_fit():
    graph = lanes()
    with graph.as_default():
        tf.constant([1, 2], name="k")
    before = look(graph)
    with refuses(WrongValue, "reroute_ts(['x1:0', 'k:0']", "'k:0' int32 (2,)", "'x0_0:0' float32 ()", "not compatible"):
        ge.reroute_ts([t(graph, "x1"), t(graph, "k")], [t(graph, "x0"), t(graph, "x0_0")])
    with refuses(WrongValue, "the lists have different sizes: 1 != 2"):
        ge.reroute_ts(t(graph, "x1"), [t(graph, "x0"), t(graph, "x0_0")])
    with pytest.raises(ValueError, match="another graph"):
        ge.reroute_ts([t(graph, "x1"), t(lanes(), "x1")], [t(graph, "x0")] * 2)
    with refuses(WrongValue, "of two graphs", "Copy one into the other first"):
        ge.reroute_ts(t(lanes(), "x1"), t(graph, "x0"))
    assert look(graph) == before


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        (ge.swap_inputs, {"x0_1": "x1_0", "x1_1": "x0_0", "x0_2": "x0_1", "x1_2": "x1_1"}),
        (ge.reroute_inputs, {"x0_1": "x0_0", "x1_1": "x0_0", "x0_2": "x0_1", "x1_2": "x1_1"}),
        (ge.swap_outputs, {"x0_1": "x0_0", "x1_1": "x1_0", "x0_2": "x1_1", "x1_2": "x0_1"}),
        (ge.reroute_outputs, {"x0_1": "x0_0", "x1_1": "x1_0", "x0_2": "x0_1", "x1_2": "x0_1"}),
        (ge.swap_ios, {"x0_1": "x1_0", "x1_1": "x0_0", "x0_2": "x1_1", "x1_2": "x0_1"}),
        (ge.reroute_ios, {"x0_1": "x0_0", "x1_1": "x0_0", "x0_2": "x0_1", "x1_2": "x0_1"}),
    ],
)
def test_views_change_places(how, wanted):
    graph = lanes()
    one, two = (ge.sgv(f"^x{lane}_1$", graph=graph) for lane in range(2))
    assert how(one, two) == (one, two)
    reads = {name: graph.get_operation_by_name(name).inputs[0].op.name for name in wanted}
    assert reads == wanted
    for view in (one, two):
        assert view.inputs[0] is view.ops[0].inputs[0]


def test_views_of_two_graphs_do_not_change_places():
    with refuses(WrongValue, "another graph"):
        ge.swap_inputs(ge.sgv("^x0_1$", graph=lanes()), ge.sgv("^x1_1$", graph=lanes()))


def test_inputs_that_go_straight_through_are_followed():
    graph = lanes()
    with graph.as_default():
        p, q = (tf1.placeholder(tf.float32, [], n) for n in "pq")
    view = ge.sgv(t(graph, "x0_0"), graph.get_operation_by_name("x1_1"))
    assert [i.name for i in view.inputs] == ["x1_0:0", "x0_0:0"]
    ge.swap_inputs(view, [p, q])
    assert [i.name for i in graph.get_operation_by_name("x1_1").inputs] == ["p:0"]
    assert [i.name for i in graph.get_operation_by_name("x0_1").inputs] == ["q:0"]
    assert [i.name for i in view.inputs] == ["p:0", "q:0"]
    assert [o.name for o in view.outputs] == ["x1_1:0", "q:0"]


def test_control_inputs_come_and_go():
    graph = tiny()
    y, z, x = (graph.get_operation_by_name(n) for n in "yzx")
    ge.add_control_inputs(z, [x, y])
    assert z.control_inputs == [x, y]
    with refuses(WrongValue, "add_control_inputs('z', ['x'])", "'x' is already a control_input of 'z'"):
        ge.add_control_inputs(z, x)
    ge.remove_control_inputs(z, x)
    assert z.control_inputs == [y]
    with refuses(WrongValue, "'x' is not a control_input of 'z'", "It has: 'y'"):
        ge.remove_control_inputs(z, x)
    ge.remove_control_inputs(z, [])
    with refuses(WrongValue, "cycle", "y <- z <- y"):
        ge.add_control_inputs(y, z)
    with refuses(WrongValue, "'x' is an op of another graph"):
        ge.add_control_inputs(y, tiny().get_operation_by_name("x"))
    for change in (ge.add_control_inputs, ge.remove_control_inputs):
        with refuses(WrongType, "a tf.Operation"):
            change(y.outputs[0], z)


def test_a_finalized_graph_is_left_alone():
    graph = lanes()
    graph.finalize()
    with refuses(WrongValue, "the graph is finalized"):
        ge.reroute_ts(t(graph, "x1"), t(graph, "x0"))


def test_a_tensor_inside_a_loop_stays_inside():
    graph = tf.Graph()
    with graph.as_default():
        tf1.disable_control_flow_v2()
        try:
            out = tf1.while_loop(lambda i: i < 3, lambda i: tf.add(i, 1, name="next"), [0])
        finally:
            tf1.enable_control_flow_v2()
        after = tf.negative(out, name="after")
    inside = next(op for op in graph.get_operations() if op.name.endswith("next"))
    with refuses(WrongValue, "in the loop", "outside of any loop", "same loop"):
        ge.reroute_ts(inside.outputs[0], after.op.inputs[0])
