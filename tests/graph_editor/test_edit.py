"""Views cut off, joined, gone round."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from graphsurgeon import graph_editor as ge
from graphsurgeon.graph_editor.util import WrongType, WrongValue
from tests.graph_editor.test_reroute import lanes, t
from tests.graphs import look, run, tf1, tiny
from tests.refusal import refuses


def test_detached_inputs_are_fed():
    graph = tiny()
    view, made = ge.detach_inputs(ge.sgv("^[yz]$", graph=graph))
    assert [p.name for p in made] == ["geph__x_0:0", "z/geph__y_0:0"]
    assert made == list(view.inputs)
    np.testing.assert_array_equal(run(graph, "y:0", {made[0]: [[3.0, 4.0, 5.0]]}), [[9.0, 16.0, 25.0]])


def test_an_input_read_twice_gets_one_placeholder():
    graph = lanes(1)
    _, made = ge.detach_inputs(graph.get_operation_by_name("x0_0"))
    assert [p.name for p in made] == ["geph__x0_0:0"]
    assert run(graph, "x0_0:0", {made[0]: 5.0}) == 10.0


def test_detached_outputs_leave_placeholders_to_the_readers():
    graph = lanes(1)
    view, made = ge.detach_outputs(ge.sgv("^x0_[01]$", graph=graph))
    assert [o.name for o in view.outputs] == ["x0_1:0"]
    assert [p.name for p in made] == ["geph__x0_1_0:0"]
    assert run(graph, ["x0_2:0", "x0_1:0"], {made[0]: 5.0}) == [10.0, -2.0]


def test_an_output_also_read_inside_is_still_read_there():
    graph = lanes(1)
    with graph.as_default():
        tf.negative(t(graph, "x0_0"), name="outside")
    view, made = ge.detach_outputs(ge.sgv("^x0_[01]$", graph=graph))
    assert [o.name for o in view.outputs] == ["x0_0:0", "x0_1:0"]
    assert run(graph, ["outside:0", "x0_1:0"], {made[0]: 7.0}) == [-7.0, -2.0]


def waiting():
    graph = tiny()
    y, z, k = (graph.get_operation_by_name(n) for n in "yzk")
    ge.add_control_inputs(y, k)
    with graph.as_default(), tf1.control_dependencies([y]):
        late = tf.no_op("late")
    return graph, y, z, k, late


def test_control_edges_are_cut_where_asked():
    graph, y, z, k, late = waiting()
    controls = ge.ControlOutputs(graph)
    ge.detach(ge.sgv(y, z), control_inputs=False)
    assert (y.control_inputs, late.control_inputs) == ([k], [y])
    ge.detach(ge.sgv(y, z), control_ios=controls)
    assert (y.control_inputs, late.control_inputs) == ([], [])
    with refuses(WrongType, "a ControlOutputs"):
        ge.detach_control_outputs(ge.sgv(y), graph)


def test_control_edges_inside_a_view_stay():
    graph, y, _z, k, late = waiting()
    ge.detach_control_inputs(ge.sgv(y, k))
    ge.detach_control_outputs(ge.sgv(y, late), ge.ControlOutputs(graph))
    assert (y.control_inputs, late.control_inputs) == ([k], [y])


def test_detach_gives_both_kinds_of_placeholders():
    graph = lanes(1)
    view, ins, outs = ge.detach(ge.sgv("^x0_1$", graph=graph))
    assert [p.name for p in (*ins, *outs)] == ["geph__x0_0_0:0", "geph__x0_1_0:0"]
    assert run(graph, ["x0_1:0", "x0_2:0"], {ins[0]: 3.0, outs[0]: 4.0}) == [-3.0, 8.0]
    assert [i.name for i in view.inputs] == ["geph__x0_0_0:0"]


@pytest.mark.parametrize("first", [False, True])
def test_connected_views_compute_one_after_the_other(first):
    graph = lanes()
    one, two = ge.sgv("^x0_1$", graph=graph), ge.sgv("^x1_1$", graph=graph)
    assert ge.connect(one, two, disconnect_first=first) == (one, two)
    assert two.inputs[0] is one.outputs[0]
    assert run(graph, "x1_2:0") == 4.0
    read = t(graph, "x0_2").op.inputs[0].op.type
    assert read == ("Placeholder" if first else "Neg")


def test_what_cannot_be_connected_leaves_the_graph_as_it_was():
    graph = lanes()
    with graph.as_default():
        k = tf.constant([1, 2], name="k")
    before = look(graph)
    with refuses(WrongValue, "connect(sgv0, sgv1)", "'k:0' int32 (2,)", "'x0_0:0'"):
        ge.connect(k.op, ge.sgv("^x0_1$", graph=graph), disconnect_first=True)
    with refuses(WrongValue, "bypass(sgv)", "different sizes: 0 != 1"):
        ge.bypass(k.op)
    assert look(graph) == before


def test_a_bypassed_view_is_left_aside():
    graph = lanes(1)
    view, made = ge.bypass(ge.sgv("^x0_1$", graph=graph))
    assert run(graph, "x0_2:0") == 4.0
    assert made == list(view.inputs)
    assert run(graph, "x0_1:0", {made[0]: 5.0}) == -5.0
