"""A cut through a loop of TF1 with all that it reads there given: a copy of what the loop does in a round."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.random_graphs import flow_version
from tests.refusal import reads

tf1 = tf.compat.v1


@pytest.fixture
def graph():
    graph = tf.Graph()
    with graph.as_default(), flow_version("v1"):
        x = tf1.placeholder(tf.float32, [2], name="x")
        w = tf1.get_variable("w", initializer=[2.0, 3.0], use_resource=True)

        def body(i, v):
            product = tf.multiply(v, w, name="product")
            bent = tf.cond(i > 0, lambda: product + 1.0, lambda: product * 2.0, name="bend")
            inner = tf.while_loop(lambda j, _: j < 2, lambda j, u: (j + 1, u * 3.0), [0, bent], name="inner")[1]
            return i + 1, tf.add(inner, 0.5, name="next")

        result = tf.while_loop(lambda i, _: i < 3, body, [0, x], name="loop")[1]
        tf.identity(result, name="y")
        tf1.placeholder(tf.float32, [2], name="other")
        tf1.placeholder(tf.int32, [], name="turn")
    return graph


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_round_is_copied(graph, where, turn):
    src = gs.open(graph)
    block = src.select(inputs=["loop/Identity:0", "loop/Identity_1:0"], outputs="loop/next:0")
    dst = src if where == "here" else gs.open(tf.Graph())
    with dst.graph.as_default():
        if where == "elsewhere":
            tf1.placeholder(tf.float32, [2], name="other"), tf1.placeholder(tf.int32, [], name="turn")
    dst = gs.open(dst.graph)
    given = {"loop/Identity:0": "turn:0", "loop/Identity_1:0": "other:0"}
    how = {"unmapped": "keep"} if where == "here" else {"unmapped": "include"}
    plan = dst.plan().copy(block, to="once", inputs=given, **how)
    assert plan.check() == (), [str(f) for f in plan.check()]
    done = dst.apply(plan)
    assert not done.applied_ops.partial_contexts
    result = done["loop/next:0"]
    with dst.graph.as_default():
        slope = tf1.gradients(result, dst.tensor("other:0"))[0]
    session = dst.session()
    session.run([name for name in dst.snapshot.names if name.endswith("w/Assign")])
    got = session.run([result, slope], {"other:0": [1.0, -2.0], "turn:0": turn})
    bent = np.array([1.0, -2.0]) * [2.0, 3.0]
    bent = bent + 1.0 if turn else bent * 2.0
    np.testing.assert_allclose(got[0], bent * 9.0 + 0.5)
    np.testing.assert_allclose(got[1], np.array([2.0, 3.0]) * (9.0 if turn else 18.0))


def test_what_holds_ops_in_the_loop_is_left_out_and_said(graph):
    src = gs.open(graph)
    block = src.select(inputs=["loop/Identity:0", "loop/Identity_1:0"], outputs="loop/next:0")
    given = {"loop/Identity:0": "turn:0", "loop/Identity_1:0": "other:0"}
    plan = src.plan().copy(block, to="once", inputs=given, unmapped="keep")
    assert any("control inputs on ops of a loop that is not copied left out" in w for w in plan.effect.warnings)


def test_one_op_of_a_round_by_its_name(graph):
    """What comes into the loop and stays the same is read where it comes from."""
    src = gs.open(graph)
    one = src.select(name=["loop/product", "loop/product/ReadVariableOp"])
    plan = src.plan().copy(one, to="once", inputs={"loop/Identity_1:0": "other:0"}, unmapped="keep")
    assert plan.check() == (), [str(f) for f in plan.check()]
    done = src.apply(plan)
    assert done["loop/product/ReadVariableOp:0"].op.inputs[0].op.name == "w"
    session = src.session()
    session.run("w/Assign")
    assert session.run(done["loop/product:0"], {"other:0": [1.0, -2.0]}).tolist() == [2.0, -6.0]


def test_a_cut_that_leaves_a_variable_of_the_loop_open_is_refused(graph):
    src = gs.open(graph)
    block = src.select(inputs=["loop/Identity_1:0"], outputs="loop/next:0")
    plan = src.plan().copy(block, to="once", inputs={"loop/Identity_1:0": "other:0"}, unmapped="keep")
    reads(plan.check()[0], "cuts through a loop", "is computed in each round", "Select the whole loop")
