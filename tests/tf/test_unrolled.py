"""Loops unrolled: so many rounds, one after another, with the numbers, gradients and effects of the loop."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import look
from tests.random_graphs import flow_version
from tests.refusal import reads, refuses

tf1 = tf.compat.v1
KINDS = ("v1", "v2")
TURNING = {"While", "StatelessWhile", "Enter", "LoopCond", "NextIteration"}


def nested(x, n, w):
    def body(i, v):
        bent = tf.cond(i > 0, lambda: v * w, lambda: v + w)
        return i + 1, tf.while_loop(lambda j, _: j < 2, lambda j, u: (j + 1, u * 3.0 + x), [0, bent])[1]

    return tf.while_loop(lambda i, _: i < n, body, [0, x], name="loop")[1]


def counting(x, n, w):
    def body(i, v):
        with tf.control_dependencies([w.assign_add(tf.ones_like(x))]):
            after = w.read_value()
        with tf.control_dependencies([after]):
            return i + 1, v + after

    return tf.while_loop(lambda i, _: i < n, body, [0, x], parallel_iterations=1, name="loop")[1]


MODELS = {
    "plain": lambda x, n, w: tf.while_loop(
        lambda i, _: i < n, lambda i, v: (i + 1, v * w + x), [0, x], name="loop")[1],
    "nested": nested,
    "counting": counting,
    "turns it about": lambda x, n, w: tf.while_loop(
        lambda i, *_: i < n, lambda i, a, b: (i + 1, b * w, a), [0, x, x + 1.0], name="loop")[1],
}  # fmt: skip


def graph_of(build, kind, limit=None):
    graph = tf.Graph()
    with graph.as_default(), flow_version(kind):
        x = tf1.placeholder(tf.float32, [2], name="x")
        n = tf1.placeholder(tf.int32, [], name="n") if limit is None else tf.constant(limit, name="n")
        w = tf1.get_variable("w", initializer=[2.0, 3.0], use_resource=True)
        tf.identity(build(x, n, w), name="y")
    return graph


def results(graph, feed, slopes=True):
    with graph.as_default():
        things = [graph.get_tensor_by_name("x:0"), *tf1.trainable_variables()]
        made = tf1.gradients(graph.get_tensor_by_name("y:0"), things, unconnected_gradients="zero") if slopes else []
    with tf1.Session(graph=graph) as session:
        session.run("w/Assign")
        found = [session.run("y:0", feed), session.run("w/Read/ReadVariableOp:0")]
        return found + (session.run([tf.convert_to_tensor(slope) for slope in made], feed) if made else [])


def loop_of(ed):
    return next((n for n, t in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if t.endswith("While")), "loop")


@pytest.mark.parametrize("times", [0, 1, 3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_so_many_rounds(model, kind, times):
    graph, slopes = graph_of(MODELS[model], kind), model != "counting"
    feed, before = {"x:0": np.array([1.0, -2.0], np.float32)}, look(graph)
    want = results(graph_of(MODELS[model], kind), {**feed, "n:0": times}, slopes)
    ed = gs.open(graph)
    plan = ed.plan().unroll(loop_of(ed), times)
    assert plan.check() == (), [str(f) for f in plan.check()]
    assert f".unroll({loop_of(ed)!r}, {times})" in plan.to_code()
    assert any("is no longer evaluated" in w for w in plan.effect.warnings), plan.effect.warnings
    done = ed.apply(plan)
    assert not done.applied_ops.partial_contexts
    assert (model == "nested" and times > 0) == bool(TURNING & set(ed.snapshot.types))
    for got, wanted in zip(results(ed.graph, feed, slopes), want, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
    ed.undo()
    assert look(graph) == before


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_rounds(kind):
    ed = gs.open(graph_of(MODELS["plain"], kind))
    names = set(ed.plan().unroll(loop_of(ed), 3).after().names)
    loop = loop_of(ed)
    assert {f"{loop}/body/mul", f"{loop}/body_1/mul", f"{loop}/body_2/mul"} <= names


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_rounds_is_worked_out_where_it_can_be(kind):
    ed = gs.open(graph_of(MODELS["plain"], kind, limit=4))
    assert not [w for w in ed.plan().unroll(loop_of(ed), 4).effect.warnings if "asked" in w]
    for times, words in ((2, "it makes more than 2 rounds"), (9, "it makes 4 rounds")):
        said = ed.plan().unroll(loop_of(ed), times).effect.warnings
        assert any(f"is no longer evaluated, and {words}" in w for w in said), said
    said = gs.open(graph_of(MODELS["plain"], kind)).plan().unroll(loop_of(ed), 4).effect.warnings
    assert any("the number of its rounds is known only when it runs" in w for w in said)


def test_what_cannot_be_unrolled():
    graph = graph_of(nested, "v1")
    with graph.as_default():
        tf1.gradients(graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0"))
    plan = gs.open(graph).plan()
    reads(
        plan.unroll("loop", 2).check()[0],
        "unroll('loop', 2)",
        "already contains the gradient of this loop",
        "Unroll the loop before",
    )
    plain = gs.open(graph_of(nested, "v1")).plan()
    inner = plain.unroll("loop/while", 2).check()[0]
    reads(inner, "'loop/while/LoopCond' is inside of another loop, or of a cond", "Unroll the outer loop")
    reads(plain.unroll("x", 2).check()[0], "'x' is not a loop or a part of a loop", "The loops are 'loop/LoopCond'")
    reads(plain.unroll("nothing", 2).check()[0], "no op is called 'nothing'")
    late = plain.set_attr("loop/LoopCond", "_m", 1).unroll("loop", 2)
    reads(late.check()[0], "'loop/LoopCond' is made or changed by this plan", "Apply these steps first")
    with refuses(gs.PlanError, "unroll('loop', -1)", "times=-1 is less than 0", "times=3"):
        plain.unroll("loop", -1)
    with refuses(gs.PlanError, "times='x' is not the number of iterations", "Type it as times=3"):
        plain.unroll("loop", "x")
    setting = graph_of(lambda x, n, w: tf.while_loop(
        lambda i: i < n, lambda i: tf.cond(i > 1, lambda: i + tf.cast(w.assign_add(x)[0], tf.int32), lambda: i + 1),
        [0], name="loop"), "v1")  # fmt: skip
    reads(gs.open(setting).plan().unroll("loop", 2).check()[0], "its rounds set state, but 'loop/", "may not run",
          "Resolve that condition in an earlier plan")  # fmt: skip
    two = tf.Graph()
    with two.as_default(), flow_version("v1"), tf1.name_scope("both"):
        for _ in range(2):
            tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    reads(gs.open(two).plan().unroll("both", 2).check()[0], "'both' contains 2 loops", "'both/while/LoopCond'")
    bare = tf.Graph()
    with bare.as_default():
        tf.constant(1.0, name="c")
    reads(gs.open(bare).plan().unroll("c", 2).check()[0], "This graph has no loops")
