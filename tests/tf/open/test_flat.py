"""Calls on paper give way to what they compute; what cannot stays, and says why."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from graphsurgeon.tf.functions.expand import FlattenedFunction

tf1 = tf.compat.v1


def paper(function, *specs):
    """Returns the nodes and functions of a graph that calls a function once, and the tensors that it gives."""
    with tf.Graph().as_default() as graph:
        inputs = [tf1.placeholder(spec.dtype, spec.shape, name=f"in{i}") for i, spec in enumerate(specs)]
        given = [t.name for t in tf.nest.flatten(tf.function(function, autograph=False)(*inputs))]
    graph_def = graph.as_graph_def(add_shapes=True)
    return list(graph_def.node), {f.signature.name: f for f in graph_def.library.function}, given


def run(flat, ends, feeds):
    """Returns what tensors of flat nodes give."""
    graph_def = tf1.GraphDef(node=[flat.nodes[name] for name in flat.required_ops(ends)])
    graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(graph_def, name="")
        with tf1.Session(graph=graph) as session:
            return session.run(list(ends), feeds)


def nested(depth):
    """Returns a function that does nothing but call one that does nothing but call one ..., of the same names."""
    if not depth:
        return lambda x: (tf.multiply(x, 2.0, name="twice"), tf.add(x, 1.0, name="more"))
    inner = tf.function(nested(depth - 1), autograph=False)
    return lambda x: inner(x)


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_calls_around_a_function_are_taken_away_and_its_names_stay(depth):
    nodes, functions, given = paper(nested(depth), tf.TensorSpec([2], tf.float32))
    flat = FlattenedFunction(nodes, functions)
    ends = flat.inline_outer(given)
    assert not flat.stays
    assert {"in0", "twice", "more"} <= set(flat.required_ops(ends))
    assert not [name for name in flat.required_ops(ends) if "Call" in flat.nodes[name].op]
    np.testing.assert_array_equal(run(flat, ends, {"in0:0": [1.0, 2.0]}), [[2.0, 4.0], [2.0, 3.0]])


def test_two_calls_side_by_side_stay_what_they_are():
    inner = tf.function(lambda x: tf.negative(x, name="minus"))
    nodes, functions, given = paper(lambda x: tf.add(inner(x), inner(x), name="sum"), tf.TensorSpec([], tf.float32))
    flat = FlattenedFunction(nodes, functions)
    ends = flat.inline_outer(given)
    assert sum("Call" in flat.nodes[name].op for name in flat.required_ops(ends)) == 2
    flat.inline_inner(ends, ())
    assert not any("Call" in flat.nodes[name].op for name in flat.required_ops(ends))
    assert run(flat, ends, {"in0:0": 3.0}) == [-6.0]


def test_the_nodes_that_are_given_stay_as_they_are():
    nodes, functions, given = paper(nested(2), tf.TensorSpec([2], tf.float32))
    before = [node.SerializeToString(deterministic=True) for node in nodes]
    bodies = [f.SerializeToString(deterministic=True) for f in functions.values()]
    FlattenedFunction(nodes, functions).inline_outer(given)
    assert [node.SerializeToString(deterministic=True) for node in nodes] == before
    assert [f.SerializeToString(deterministic=True) for f in functions.values()] == bodies


@pytest.mark.parametrize("how", ["absent", "recursive", "of any dtype"])
def test_a_call_that_cannot_give_way_stays_and_says_why(how):
    nodes, functions, given = paper(nested(1), tf.TensorSpec([2], tf.float32))
    outer = next(f for f in functions.values() if any("Call" in node.op for node in f.node_def))
    inner = next(f for f in functions.values() if f is not outer)
    if how == "absent":
        del functions[inner.signature.name]
    elif how == "recursive":
        next(node for node in outer.node_def if "Call" in node.op).attr["f"].func.name = outer.signature.name
    else:
        inner.node_def[0].attr["T"].placeholder = "T"
    flat = FlattenedFunction(nodes, functions)
    ends = flat.inline_outer(given)
    (reason,) = flat.stays.values()
    assert (
        reason
        == {
            "absent": f"its function {inner.signature.name!r} is not in the file",
            "recursive": f"its function {outer.signature.name!r} calls itself",
            "of any dtype": f"its function {inner.signature.name!r} takes dtypes as parameters",
        }[how]
    )
    assert set(flat.stays) <= set(flat.required_ops(ends))
