"""What a plan cannot do, as a person meets it: each has a sentence in three parts, a picture and a Python error."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import look

tf1 = tf.compat.v1


def graph():
    made = tf.Graph()
    with made.as_default():
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        rate = tf1.placeholder(tf.float32, [], name="rate")
        tf1.placeholder(tf.int32, [None, 4], name="whole")
        tf1.placeholder(tf.float32, [None, 7], name="wide")
        w = tf1.get_variable("w", [4, 4], initializer=tf1.ones_initializer(), use_resource=True)
        h = tf.matmul(x, w, name="h")
        y = tf.multiply(h, rate, name="y")
        with tf.control_dependencies([tf.identity(h, name="before")]):
            tf.identity(y, name="after")
        tf1.disable_control_flow_v2()
        tf.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [tf.reduce_sum(x)], name="loop")
        tf1.enable_control_flow_v2()
    return made


def leak(ed, dst):
    return dst.plan().copy(ed.select(inputs="x:0", outputs="y:0"), to="t", inputs={"x:0": "x:0"}, unmapped="refuse")


def unused_input(ed, dst):
    return dst.plan().copy(ed.select(name=["h", "y"]), to="t", inputs={"wide:0": "wide:0"}, unmapped="placeholder")


def control_only(ed, dst):
    return dst.plan().copy(ed.select(name="after"), to="t", unmapped="placeholder")


def variable(ed, dst):
    return dst.plan().copy(ed.select(inputs="x:0", outputs="h:0"), to="t", variables="share")


def loop_frame(ed, dst):
    inside = [n for n in ed.snapshot.names if n.startswith("loop/") and n.endswith(("Merge", "Switch"))]
    return dst.plan().copy(ed.select(name=inside), to="t", unmapped="placeholder")


def dtype(ed, dst):
    return dst.plan().connect("whole:0", to="h", input=0)


def shape(ed, dst):
    return dst.plan().connect("wide:0", to="h", input=0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (leak, "'rate:0'"),
        (unused_input, "'wide:0', which does not enter the selection"),
        (control_only, "must run after"),
        (variable, "share"),
        (loop_frame, "cuts through a loop"),
        (dtype, "int32"),
        (shape, "axis 1 is 7 against 4"),
    ],
)
def test_what_a_plan_cannot_do(call, words):
    ed, dst = gs.open(graph(), title="net"), gs.open(graph(), title="home")
    plan, before = call(ed, dst), look(dst.graph)
    fault = plan.check()[0]
    assert fault.request
    assert fault.suggestion
    assert words in str(fault)
    assert plan._repr_mimebundle_()["image/svg+xml"].startswith("<svg")
    with pytest.raises(gs.PlanError) as error:
        dst.apply(plan)
    assert words in str(error.value)
    assert look(dst.graph) == before


def test_an_output_that_no_input_leads_to():
    ed = gs.open(graph(), title="net")
    with pytest.raises(gs.SelectionError, match=r"'y:0' does not lead to 'x:0'"):
        ed.select(inputs="y:0", outputs="x:0")
    ed.screen.mark_input("y:0")
    ed.screen.mark_output("x:0")
    assert "'y:0' does not lead to 'x:0'" in ed.screen.traits()["boundary"]["problem"]
    assert ed.to_svg().startswith("<svg")
