"""Small patterns around an op."""

from __future__ import annotations

import tensorflow as tf

from graphsurgeon import graph_editor as ge
from graphsurgeon.graph_editor.util import WrongType, WrongValue
from tests.graphs import tf1
from tests.refusal import refuses


def graph_of_pairs():
    graph = tf.Graph()
    with graph.as_default():
        a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
        with tf1.control_dependencies([tf.no_op("one"), tf.no_op("two")]):
            c = tf.multiply(a, b, name="c")
        tf.split(tf.stack([c, a]), 2, name="s")
        tf.negative(c, name="n1"), tf.square(c, name="n2")
    return graph


def test_an_op_is_matched_by_name_type_itself_or_a_test():
    graph = graph_of_pairs()
    c = graph.get_operation_by_name("c")
    for what in ("^c$", c, True, lambda op: op.type == "Mul", ge.op_type("Mul"), ge.op_type(("Mul", "Add"))):
        assert ge.OpMatcher(what)(c)
    assert ge.op_type("Mul", c)
    assert not ge.op_type("Mu", c)
    assert not ge.OpMatcher("^d$")(c)
    with refuses(WrongType, "a tf.Operation", "Tensor"):
        ge.OpMatcher(True)(c.outputs[0])
    with refuses(WrongValue, "OpMatcher(...)", "a regular expression, an op, a test or True", "int"):
        ge.OpMatcher(3)


def test_inputs_are_matched_in_order_and_number():
    c = graph_of_pairs().get_operation_by_name("c")
    assert ge.OpMatcher("c").input_ops("a", ge.OpMatcher("b").input_ops())(c)
    assert ge.OpMatcher("c").input_ops(None, "b")(c)
    assert not ge.OpMatcher("c").input_ops("b", "a")(c)
    assert not ge.OpMatcher("c").input_ops("a")(c)


def test_control_inputs_are_matched_in_any_order():
    c = graph_of_pairs().get_operation_by_name("c")
    assert ge.OpMatcher("c").control_input_ops("two", "one")(c)
    assert not ge.OpMatcher("c").control_input_ops("two")(c)
    assert not ge.OpMatcher("c").control_input_ops("two", "two")(c)
    assert ge.OpMatcher("c").control_input_ops(None, "two")(c)


def test_readers_are_matched_output_by_output():
    graph = graph_of_pairs()
    c = graph.get_operation_by_name("c")
    assert ge.OpMatcher("c").output_ops([ge.op_type("Square"), ge.op_type("Neg"), True])(c)
    assert not ge.OpMatcher("c").output_ops(["n1", "n2"])(c)
    s = next(op for op in graph.get_operations() if op.type == "Split")
    assert ge.OpMatcher("s").output_ops([], [])(s)
    assert not ge.OpMatcher("s").output_ops([])(s)
    assert ge.OpMatcher("s").output_ops(None, None)(s)
    assert ge.OpMatcher("n1").input_ops("c").output_ops([])(graph.get_operation_by_name("n1"))


def test_each_side_is_asked_once():
    for verb in ("input_ops", "control_input_ops", "output_ops"):
        matcher = getattr(ge.OpMatcher("c"), verb)()
        with refuses(WrongValue, f"{verb}(...)", "already set"):
            getattr(matcher, verb)("a")
