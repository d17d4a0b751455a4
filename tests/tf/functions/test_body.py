"""The nodes of a function in the place of a call."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.tf.functions.expand import FunctionCalls, InlinedNodes

tf1 = tf.compat.v1


def parts(function, **names):
    """Returns the nodes in the place of a call of a function of one argument, ``x``, that waits for ``before``.

    Also returns the tensors in the place of its results, and what waits in the place of the call.
    """
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        with tf.control_dependencies([tf.no_op("before")]):
            tf.function(function)(x)
    base = gs.open(graph).snapshot
    (call,) = [node.name for node in base.nodes if "PartitionedCall" in node.op]
    inlined = InlinedNodes(base.nodes, FunctionCalls(base))
    nodes = inlined.inline(call, "here/", **names)
    assert call not in inlined.nodes
    assert [inlined.nodes[node.name] for node in nodes] == nodes
    return nodes, list(inlined.tensors.values()), inlined.control_inputs[call]


def test_ops_get_names_below_the_scope_read_what_the_call_reads_and_wait_for_what_it_waits_for():
    nodes, results, last = parts(lambda a: tf.negative(a, name="minus") + tf.constant(1.0, name="one"))
    found = {node.name: list(node.input) for node in nodes}
    assert found["here/minus"] == ["x", "^before"]
    assert found["here/one"] == []
    assert found["here/add"] == ["here/minus:0", "here/one:0"]
    assert results == ["here/Identity:0"]
    assert last == ["^here/Identity"]


def test_results_come_after_lasting_effects():
    def shown(a):
        tf.print("seen")
        return tf.negative(a, name="minus")

    nodes, results, last = parts(shown)
    assert len(last) == 1
    assert results == ["here/result_0:0"]
    assert list(nodes[-1].input)[1:] == last


def test_names_that_are_given_are_taken_also_for_colocation():
    def twin(a):
        first = tf.negative(a, name="minus")
        with tf1.colocate_with(first):
            return tf.abs(first, name="size")

    inner = ["minus", "size", "Identity"]
    nodes, _, _ = parts(twin, names={name: f"other_{name}" for name in inner})
    found = {node.name: node for node in nodes}
    assert list(found) == [f"other_{name}" for name in inner]
    assert list(found["other_size"].attr["_class"].list.s) == [b"loc:@other_minus"]
