"""The effects of ops: one table, which inlining, functions, runs and proofs read."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.tf.functions.expand import FunctionCalls
from graphsurgeon.tf.op_types import HARMLESS, RANDOM, REPEATABLE, acting_ops, effect_finder, effect_of_type

tf1 = tf.compat.v1


@pytest.mark.parametrize(
    ("kind", "waits", "repeats"),
    [
        ("MatMul", False, True), ("VariableV2", False, True), ("ReadVariableOp", False, True),
        ("RandomUniform", False, True), ("TruncatedNormal", False, True), ("Placeholder", False, True),
        ("StatelessRandomGetAlg", False, True), ("IteratorGetNext", False, False), ("Assert", True, True),
        ("CheckNumerics", True, True), ("PrintV2", True, True), ("StackPushV2", True, True), ("Assign", True, False),
        ("AssignAddVariableOp", True, False), ("RandomShuffleQueueV2", True, False), ("StatefulUniform", True, False),
    ],
)  # fmt: skip
def test_results_wait_for_lasting_effects_and_runs_repeat_what_ends_with_them(kind, waits, repeats):
    node = tf1.NodeDef(name="op", op=kind)
    graph = gs.open(tf1.GraphDef(node=[tf1.NodeDef(name="x", op="Placeholder")])).snapshot
    assert FunctionCalls(graph).has_effects(node) == waits
    assert (effect_of_type(kind) in {"", *REPEATABLE}) == repeats


def test_a_call_has_all_effects_of_its_function():
    variable = tf.Variable(0.0)

    @tf.function(input_signature=[tf.TensorSpec([], name="x")])
    def draws(x):
        tf.debugging.assert_positive(x)
        return x + tf.random.uniform([])

    @tf.function(input_signature=[tf.TensorSpec([], name="x")])
    def counts(x):
        return draws(x) + variable.assign_add(x)

    for function, more in ((draws, set()), (counts, {"has effects, or state"})):
        graph = gs.open(tf.function(lambda x, call=function: call(x)), signature=tf.TensorSpec([], name="x")).snapshot
        find = effect_finder(graph.functions)
        (call,) = (node for node in graph.nodes if node.op == "StatefulPartitionedCall")
        assert find(call) - HARMLESS == {RANDOM, *more}
        assert find(call) & HARMLESS
        assert acting_ops(graph)[graph.index[call.name]]
        assert acting_ops(graph, REPEATABLE)[graph.index[call.name]] == bool(more)
