"""Views: functions from inputs to outputs."""

from __future__ import annotations

import copy

import tensorflow as tf

from graphsurgeon import graph_editor as ge
from graphsurgeon.graph_editor.util import WrongType, WrongValue
from tests.graphs import tf1, tiny
from tests.refusal import refuses


def names(things):
    return [thing.name for thing in things]


def test_a_tensor_alone_goes_straight_through():
    graph = tiny()
    x = graph.get_tensor_by_name("x:0")
    view = ge.sgv(x)
    assert names(view.inputs) == names(view.outputs) == names(view.passthroughs) == ["x:0"]
    assert view.ops == view.connected_inputs == view.connected_outputs == []
    assert view.is_passthrough(x)
    assert names(view.consumers()) == ["y"]
    assert str(view).endswith("** ops: empty\n** inputs[1]:\n  x:0 *\n** outputs[1]:\n  x:0 *\n")


def test_nothing_is_an_empty_view():
    view = ge.SubGraphView()
    assert not view
    assert view.graph is None
    assert str(view) == "SubGraphView: empty"
    assert list(view.inputs) == list(view.remap_default().outputs) == []


def test_a_view_is_taken_as_it_is():
    graph = tiny()
    view = ge.make_view("y", graph=graph)
    assert ge.make_view(view) is view
    assert ge.make_view(view, graph=graph) is view
    with refuses(WrongValue, "graph mismatch"):
        ge.make_view(view, graph=tiny())
    with refuses(WrongType, "a tf.Graph"):
        ge.make_view(view, graph="g")
    with view as same:
        assert same is view


def test_remapping_makes_new_views():
    graph = tiny()
    with graph.as_default():
        a, b = (tf1.placeholder(tf.float32, [], n) for n in "ab")
        one, two = tf.add(a, b, name="one"), tf.subtract(b, a, name="two")
    view = ge.sgv(one.op, two.op)
    turned = view.remap([1, 0], [1, one, 1])
    assert names(turned.inputs) == ["b:0", "a:0"]
    assert names(turned.outputs) == ["two:0", "one:0", "two:0"]
    assert names(view.inputs) == ["a:0", "b:0"]
    assert names(turned.remap_outputs_make_unique().outputs) == ["two:0", "one:0"]
    assert names(turned.remap_default(remove_output_map=False).inputs) == ["a:0", "b:0"]
    assert names(copy.copy(turned).outputs) == names(turned.copy().outputs) == names(turned.outputs)
    assert view.op(0) is one.op
    assert view.find_op_by_name("two") is two.op


def test_wrong_maps_are_refused():
    view = ge.make_view("y", graph=tiny())
    with refuses(WrongValue, "remap_inputs([1])", "no number 1", "0 to 0"):
        view.remap_inputs([1])
    with refuses(WrongValue, "found repetition"):
        view.remap_inputs([0, 0])
    with refuses(WrongValue, "can't find 'z:0' there", "Listed are: x:0"):
        view.remap_inputs([view.graph.get_tensor_by_name("z:0")])
    with refuses(WrongValue, "find_op_by_name('z')", "not in the subgraph"):
        view.find_op_by_name("z")
    with refuses(WrongValue, "input_index('z:0')", "can't find"):
        view.input_index(view.graph.get_tensor_by_name("z:0"))
    with refuses(WrongType, "assign_from(...)", "a SubGraphView"):
        view.assign_from([])


def test_outputs_can_be_one_for_each_reader():
    graph = tiny()
    with graph.as_default():
        y = graph.get_tensor_by_name("y:0")
        tf.multiply(y, y)
    view = ge.make_view("^y$", graph=graph)
    assert names(view.remap_outputs_to_consumers().outputs) == ["y:0"] * len(y.consumers())


def test_what_is_not_used_goes():
    graph = tiny()
    view = ge.sgv(graph).remap_outputs([graph.get_tensor_by_name("k:0")])
    assert names(view.remove_unused_ops().ops) == ["k"]


def test_a_remapped_view_goes_on_after_an_edit():
    graph = tiny()
    with graph.as_default():
        a, b, c = (tf1.placeholder(tf.float32, [], n) for n in "abc")
        op = tf.add(a, b, name="sum").op
    view = ge.sgv(op).remap_inputs([1])
    ge.reroute_ts(c, a)
    assert names(view.inputs) == ["b:0", "c:0"]
    ge.reroute_ts(c, b)
    assert names(view.inputs) == ["c:0"]
