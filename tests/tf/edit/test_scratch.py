"""Ops built apart: what cannot be stood in for comes along."""

from __future__ import annotations

import pytest
import tensorflow as tf

from graphsurgeon.errors import PlanError
from graphsurgeon.tf.edit.edit_in_place import connect, downstream, infer_outputs
from tests.graphs import look, tf1
from tests.refusal import refuses


def updated():
    """A reference variable that is changed, by a value of unknown size."""
    graph = tf.Graph()
    with graph.as_default():
        w = tf1.Variable([[1.0, 2.0]], use_resource=False, name="w")
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        sizes = tf.stack([tf.shape(x, name="shape")[0], 2], name="sizes")
        flat = tf.reshape(tf.square(x, name="y"), sizes, name="flat")
        tf1.assign_sub(w, tf.reduce_sum(flat, 0, keepdims=True), name="update")
        tf1.placeholder(tf.float32, [6, 2], name="narrow")
        tf1.placeholder(tf.float32, [6], name="thin")
    return graph


@pytest.fixture
def parts():
    graph = updated()
    return graph, graph.get_operation_by_name("y"), graph.get_tensor_by_name("narrow:0")


def test_a_variable_that_is_changed_comes_along(parts):
    _graph, y, narrow = parts
    found = {t.name: shape for t, shape in infer_outputs(downstream([y]), {(id(y), 0): narrow}, "asked")}
    assert found["update:0"] == [1, 2]


def test_sizes_are_computed_along(parts):
    _graph, y, narrow = parts
    found = {t.name: shape.as_list() for t, shape in infer_outputs(downstream([y]), {(id(y), 0): narrow}, "asked")}
    assert (found["y:0"], found["flat:0"]) == ([6, 2], [6, 2])


def test_what_was_stood_in_for_is_called_by_its_own_name(parts):
    graph, y, _ = parts
    update = graph.get_operation_by_name("update")
    with refuses(PlanError, "asked", "node update was passed float from thin", "Nothing was changed"):
        infer_outputs([y, update], {(id(update), 0): graph.get_tensor_by_name("thin:0")}, "asked")


def test_no_value_takes_the_place_of_a_variable_that_is_changed(parts):
    graph, _y, _ = parts
    update = graph.get_operation_by_name("update")
    with graph.as_default():
        like = tf1.placeholder(tf.float32, [1, 2], name="like")
        other = tf1.Variable([[3.0, 4.0]], use_resource=False, name="other")
    before = look(graph)
    with refuses(PlanError, "asked", "'update' changes the variable 'w:0'", "'like:0' is not a variable", "Leave"):
        connect([(update, 0, like)], "asked")
    assert look(graph) == before
    assert connect([(update, 0, other.op.outputs[0])], "asked") == 1
