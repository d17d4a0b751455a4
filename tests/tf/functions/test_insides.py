"""What is inside a function, as a snapshot to look at."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError
from graphsurgeon.tf.functions.insides import body, called_functions
from tests.refusal import refuses

tf1 = tf.compat.v1


def opened():
    graph = tf.Graph()

    @tf.function
    def inner(a):
        return tf.split(a, 2, name="parts")

    @tf.function
    def outer(a):
        left, right = inner(a)
        with tf.control_dependencies([left]):
            return tf.subtract(right, left, name="less")

    with graph.as_default():
        tf.identity(outer(tf1.placeholder(tf.float32, [4], name="x")), name="y")
    return gs.open(graph).snapshot


def test_ports_arguments_results_and_calls_in_calls():
    graph = opened()
    (call,) = [i for i, t in enumerate(graph.types) if "PartitionedCall" in t]
    (name,) = called_functions(graph, call)
    inside = body(graph, name)
    assert inside.title == f"{name} of graph"
    kinds = dict(zip(inside.names, inside.types, strict=True))
    assert kinds["a"] == "_Arg"
    assert list(kinds.values()).count("_Retval") == 1
    less = inside.index["less"]
    (deeper,) = [i for i, t in enumerate(inside.types) if "PartitionedCall" in t]
    assert inside.input_names(less) == [f"{inside.names[deeper]}:1", f"{inside.names[deeper]}:0"]
    (second,) = called_functions(inside, deeper)
    parts = body(inside, second)
    assert "Split" in parts.types


def test_a_function_that_is_not_there():
    graph = opened()
    with refuses(SelectionError, "look_inside(function='f'): graph holds no function of that name", "It holds "):
        body(graph, "f")


def test_ops_that_call_nothing():
    graph = opened()
    assert called_functions(graph, graph.index["x"]) == []
