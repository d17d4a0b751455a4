"""What can be changed of ops on screen: attributes and devices, of one op and of several; op types that fit."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from tests.screen.screens import row_of_ops, tf1


def pools():
    """Returns the screen of two pools in a scope, of other sizes and paddings."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 8, 8, 1], name="x")
        with tf1.name_scope("s"):
            y = tf.raw_ops.MaxPool(input=x, ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME", name="a")
            tf.raw_ops.MaxPool(input=y, ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding="SAME", name="b")
    return gs.open(graph).screen


def by_name(found):
    return {a["name"]: a for a in found["attributes"]}


def test_what_an_op_may_be_is_told_with_it_and_what_the_plan_makes_of_it():
    screen = pools()
    of = by_name(screen.details("s/a"))
    assert of["padding"] == {
        "name": "padding",
        "value": "SAME",
        "previous": "",
        "choices": ["EXPLICIT", "SAME", "VALID"],
    }
    assert of["ksize"]["value"] == "[1, 2, 2, 1]"
    assert of["ksize"]["choices"] == []
    screen.set_attr(["s/a"], "padding", "VALID")
    screen.set_device(["s/a"], "/cpu:0")
    for pane in ("source", "destination"):
        found = screen.details("s/a", pane)
        assert (by_name(found)["padding"]["value"], by_name(found)["padding"]["previous"]) == ("VALID", "SAME")
        assert found["device"] == "/cpu:0"
    assert screen.details("x")["device"] == ""


def test_of_several_all_that_they_have_in_common():
    screen = pools()
    found = screen.attributes(["s/"])
    assert found["types"] == [("MaxPool", 2)]
    assert by_name(found)["padding"]["value"] == "SAME"
    assert by_name(found)["ksize"]["value"] == ""
    assert "shape" not in by_name(screen.attributes(["s/", "x"]))
    # what is typed for them is taken as it is said
    screen.set_attr(["s/"], "ksize", by_name(screen.details("s/b"))["ksize"]["value"])
    assert by_name(screen.attributes(["s/"], "destination"))["ksize"]["value"] == "[1, 3, 3, 1]"
    assert not screen.draft.check()


def test_op_types_that_can_stand_in_the_place_of_an_op():
    screen = row_of_ops()
    names = [kind["name"] for kind in screen.op_types("", ["in/b"])]
    assert "Relu" in [kind["name"] for kind in screen.op_types("relu", ["in/b"])]
    assert "MatMul" not in names
    assert "Neg" not in names
    assert screen.op_types("matmul", ["in/"])[0]["name"] == "MatMul"
    assert all(kind["doc"] for kind in screen.op_types("relu6", inputs=1))
