"""Conditions that are known: the branch that is taken stays, with its numbers, gradients and effects."""

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
FLOW = {"Switch", "RefSwitch", "Merge", "RefMerge", "If", "StatelessIf", "Case", "StatelessCase"}


def nested(x, p, q, w):
    return tf.cond(p, lambda: tf.cond(p, lambda: x * w, lambda: x - w), lambda: tf.cond(p, lambda: x, lambda: -w))


def mixed(x, p, q, w):
    return tf.cond(p, lambda: tf.cond(q, lambda: x * w, lambda: x - w), lambda: tf.cond(q, lambda: x, lambda: -w))


def looping(x, p, q, w):
    return tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, one_turn(v, p, w)), [0, x])[1]


def one_turn(v, p, w):
    return tf.cond(p, lambda: v * w, lambda: v + 1.0)


def loop_inside(x, p, q, w):
    return tf.cond(
        p,
        lambda: tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * w), [0, x])[1],
        lambda: tf.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, v + w), [0, x])[1],
    )


def effects(x, p, q, w):
    with tf.control_dependencies([tf.cond(p, lambda: w.assign_add(x) * 1.0, lambda: w.assign_sub(x) * 1.0)]):
        return w.read_value() * x


MODELS = {
    "plain": lambda x, p, q, w: tf.cond(p, lambda: x * w, lambda: tf.sin(x) + w),
    "copies of it": lambda x, p, q, w: tf.cond(tf.identity(p), lambda: x * w, lambda: x) + tf.cond(
        tf.logical_not(p), lambda: x + w, lambda: x * 3.0),
    "passed through": lambda x, p, q, w: tf.cond(p, lambda: x, lambda: x) * w,
    "constants": lambda x, p, q, w: tf.cond(p, lambda: [1.0, 2.0], lambda: [3.0, 4.0]) * x + w,
    "same condition inside": nested,
    "other condition inside": mixed,
    "loops inside": loop_inside,
    "effects": effects,
}  # fmt: skip


def graph_of(build, kind):
    graph = tf.Graph()
    with graph.as_default(), flow_version(kind):
        x = tf1.placeholder(tf.float32, [2], name="x")
        p, q = tf1.placeholder(tf.bool, [], name="p"), tf1.placeholder(tf.bool, [], name="q")
        w = tf1.get_variable("w", initializer=[2.0, 3.0], use_resource=True)
        tf.identity(build(x, p, q, w), name="y")
    return graph


def slopes(graph, result):
    with graph.as_default():
        things = [graph.get_tensor_by_name("x:0"), *tf1.trainable_variables()]
        found = tf1.gradients(graph.get_tensor_by_name(result), things, unconnected_gradients="zero")
        return [tf.convert_to_tensor(slope) for slope in found]


def run(graph, feed, more):
    found = []
    with tf1.Session(graph=graph) as session:
        for q in (True, False):
            for fetch in ("y:0", more):
                session.run("w/Assign")
                found += [*np.atleast_1d(session.run(fetch, {"x:0": [1.0, -2.0], "q:0": q, **feed}))]
                found.append(session.run("w/Read/ReadVariableOp:0"))
    return found


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_the_branch_that_is_taken_stays(model, kind, value):
    graph, other = graph_of(MODELS[model], kind), graph_of(MODELS[model], kind)
    want, before = run(other, {"p:0": value}, slopes(other, "y:0")), look(graph)
    ed = gs.open(graph)
    plan = ed.plan().resolve_condition("p:0", value)
    assert plan.check() == (), [str(f) for f in plan.check()]
    assert f".resolve_condition('p:0', {value})" in plan.to_code()
    done = ed.apply(plan)
    assert set(plan.after().names) == set(ed.snapshot.names)
    assert not done.applied_ops.partial_contexts
    stays = model == "other condition inside" or (kind, model) == ("v1", "loops inside")
    assert bool(FLOW & set(ed.snapshot.types)) == stays
    assert done["y:0"].op.name == "y"
    for got, wanted in zip(run(ed.graph, {}, slopes(ed.graph, "y:0")), want, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
    ed.undo()
    assert look(graph) == before


@pytest.mark.parametrize("value", [True, False])
def test_a_cond_in_a_loop_of_tf1(value):
    graph, other = graph_of(looping, "v1"), graph_of(looping, "v1")
    want = run(other, {"p:0": value}, slopes(other, "y:0"))
    ed = gs.open(graph)
    ed.apply(ed.plan().resolve_condition("p", value))
    for got, wanted in zip(run(ed.graph, {}, slopes(ed.graph, "y:0")), want, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_a_case_is_resolved_by_a_number():
    for number in (0, 1, 2, 7, -1):
        graph = tf.Graph()
        with graph.as_default(), flow_version("v2"):
            x, n = tf1.placeholder(tf.float32, [2], name="x"), tf1.placeholder(tf.int32, [], name="n")

            def inner(x=x, n=n):
                return tf.switch_case(n, [lambda: x, lambda: x * 2.0, lambda: x * 4.0])

            tf.identity(tf.switch_case(n, [inner, lambda x=x: x + 1.0, inner]), name="y")
        with tf1.Session(graph=graph) as session:
            want = session.run("y:0", {"x:0": [1.0, -2.0], "n:0": number})
        ed = gs.open(graph)
        ed.apply(ed.plan().resolve_condition("n:0", np.int32(number)))
        assert not FLOW & set(ed.snapshot.types)
        assert ed.session().run("y:0", {"x:0": [1.0, -2.0]}).tolist() == want.tolist()


def test_a_training_graph_becomes_its_inference():
    """The condition goes out of the forward part and of its gradients at once."""
    graph = graph_of(MODELS["plain"], "v1")
    with graph.as_default():
        loss = tf.reduce_sum(graph.get_tensor_by_name("y:0"), name="loss")
        steps = tf1.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf1.Session(graph=graph) as session:
        session.run(tf1.global_variables_initializer())
        for _ in range(2):
            session.run(steps, {"x:0": [1.0, -2.0], "p:0": True})
        want = session.run("w/Read/ReadVariableOp:0")
    ed = gs.open(graph)
    ed.apply(ed.plan().resolve_condition("p", True))
    assert not {"Switch", "Merge"} & set(ed.snapshot.types)
    session = ed.session()
    session.run("w/Assign")
    for _ in range(2):
        session.run(steps.name, {"x:0": [1.0, -2.0]})
    np.testing.assert_allclose(session.run("w/Read/ReadVariableOp:0"), want, rtol=1e-6)


def test_what_cannot_be_resolved():
    graph = tf.Graph()
    with graph.as_default(), flow_version("v1"):
        x, p = tf1.placeholder(tf.float32, [2], name="x"), tf1.placeholder(tf.bool, [], name="p")
        tf.while_loop(lambda v: p, lambda v: v + tf.cond(p, lambda: 1.0, lambda: 2.0), [x])
        off, on = tf.raw_ops.Switch(data=x, pred=tf1.placeholder(tf.bool, [], name="r"), name="switch")
        merged = tf.raw_ops.Merge(inputs=[tf.negative(off), tf.square(on)], name="merge")
        tf.identity(merged.value_index, name="which")
        three = tf.raw_ops.Switch(data=x, pred=tf1.placeholder(tf.bool, [], name="t"), name="three")
        more = tf.raw_ops.Switch(data=three[0], pred=tf1.placeholder(tf.bool, [], name="s"))
        tf.raw_ops.Merge(inputs=[three[1], *more], name="all")
    plan = gs.open(graph).plan()

    def fault(step):
        return step.check()[0]

    for name in ("p:0", "while/LoopCond:0"):
        request = fault(plan.resolve_condition(name, True))
        reads(request, f"resolve_condition({name!r}, True)", "'while/LoopCond' computes the condition of a while_loop")
        reads(request, "Unroll the loop: unroll('while/LoopCond', times)")
    reads(fault(plan.resolve_condition("r", True)), "'which' reads 'merge:1'", ".connect(")
    reads(fault(plan.resolve_condition("t", False)), "'all' merges more than two branches", "'t:0', to='constant:0'")
    reads(fault(plan.resolve_condition("x", True)), "x:0 is float32", "Name the condition of a Switch, If or Case")
    reads(fault(plan.resolve_condition("r", 3)), "r:0 is bool", "Give True or False")
    reads(
        fault(plan.resolve_condition("which", 1)),
        "no condition depends on 'which:0'",
        "The conditions are 'p:0', 'r:0'",
    )
    reads(fault(plan.resolve_condition("no", True)), "there is no tensor 'no:0'")
    with refuses(gs.PlanError, "resolve_condition('p:0', 'yes')", "neither a bool nor a number", "Type True or False"):
        plan.resolve_condition("p", "yes")
    made = plan.copy(gs.open(graph).select(name=["switch"]), to="c", unmapped="keep")
    reads(fault(made.resolve_condition("r", True)), "'c/switch' is made by this plan", "Apply this plan first")
    bare = tf.Graph()
    with bare.as_default():
        tf1.placeholder(tf.bool, [], name="p")
    reads(fault(gs.open(bare).plan().resolve_condition("p", True)), "There is no cond in this graph")


def test_a_refusal_names_the_reader_of_that_output_and_its_fix_works():
    graph = tf.Graph()
    with graph.as_default():
        x, p = tf1.placeholder(tf.int32, [], name="x"), tf1.placeholder(tf.bool, [], name="p")
        off, on = tf.raw_ops.Switch(data=x, pred=p)
        merged = tf.raw_ops.Merge(inputs=[off * 2, on * 3], name="merge")
        tf.negative(merged.output, name="first")
        tf.add(x, merged.value_index, name="which")
        tf.constant(0, name="number")
    plan = gs.open(graph).plan()
    (fault,) = plan.resolve_condition("p", False).check()
    reads(fault, "'which' reads 'merge:1'", "first: .connect('number:0', to='which', input=1)")
    ed = gs.open(graph)
    ed.apply(plan.connect("number:0", to="which", input=1).resolve_condition("p", False))
    assert ed.session().run(["first:0", "which:0"], {"x:0": 5}) == [-10, 5]


def test_what_else_reads_it_is_said():
    graph = graph_of(lambda x, p, q, w: tf.cond(p, lambda: x * w, lambda: x) + tf.cast(p, tf.float32), "v1")
    plan = gs.open(graph).plan().resolve_condition("p", True)
    assert "ops that are not part of a cond still read the condition: Cast" in plan.effect.warnings
    assert any("removed, because nothing can make them run any more" in w for w in plan.effect.warnings)
