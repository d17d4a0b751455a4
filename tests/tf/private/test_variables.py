"""What is private in the variables of graphs."""

from __future__ import annotations

import pytest
import tensorflow as tf

from graphsurgeon.tf.private import graphs

tf1 = tf.compat.v1


@pytest.mark.parametrize("resource", [True, False])
def test_variables_are_known_and_made_again(resource):
    def small(value):
        return value * 0.5

    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", [2], constraint=small, use_resource=resource)
        count = len(graph.get_operations())
        again = graphs.from_proto(w.to_proto(), w)
        plain = graphs.from_proto(w.to_proto(), None)
        assert len(graph.get_operations()) == count
        assert [graphs.is_variable(thing) for thing in (w, again, w.op, w.value(), "w")] == [1, 1, 0, 0, 0]
    assert type(again) is type(plain) is type(w)
    assert (again.op, again.constraint, plain.constraint) == (w.op, small, None)


def test_parts_of_a_variable():
    with tf.Graph().as_default():
        whole = tf1.get_variable("w", [4, 2], partitioner=tf1.fixed_size_partitioner(2))
        with tf1.variable_scope("new"):
            other = list(tf1.get_variable("w", [4, 2], partitioner=tf1.fixed_size_partitioner(2)))
        single = tf1.get_variable("single", [2])
    assert graphs.is_partitioned(whole)
    assert not graphs.is_partitioned(single)
    assert [tuple(graphs.slice_of(part).var_offset) for part in whole] == [(0, 0), (2, 0)]
    assert graphs.slice_of(single) is graphs.slice_of(None) is None
    new = graphs.from_parts(whole, {id(part): own for part, own in zip(whole, other, strict=True)})
    assert type(new) is type(whole)
    assert (new.name, list(new), new.shape, new.dtype) == ("new/w", other, whole.shape, whole.dtype)


def test_a_scope_that_is_taken_is_given_to_nobody():
    with tf.Graph().as_default() as graph:
        graphs.take_scopes(graph, ["net"])
        with tf1.variable_scope(None, default_name="net") as scope:
            assert scope.name == "net_1"
