"""Conds, cases and loops of TF2 put in the open: the same numbers, effects and gradients, in any session."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import look
from tests.random_graphs import flow_version
from tests.refusal import reads

tf1 = tf.compat.v1
FLOW = ("If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile", "PartitionedCall",
        "StatefulPartitionedCall")  # fmt: skip


def array_loop(x, n, w):
    array = tf.TensorArray(tf.float32, size=n, name="array")
    turns = tf.while_loop(lambda i, *_: i < n, lambda i, a, v: (i + 1, a.write(i, v), v * w), [0, array, x])
    return turns[1].stack()


def mapped(x, w):
    """A loop that reads and writes a list: the op that stacks the list has the name of a scope."""
    return tf.map_fn(lambda row: row * 2.0, x * w)


def called(x, n, w):
    call = tf.function(lambda v: v * w + tf.tanh(v), autograph=False)
    return tf.while_loop(lambda i, _: i < n, lambda i, v: (i + 1, call(v)), [0, x])[1]


def counted(x, n, p, w):
    @tf.function
    def f(x, n, p):
        for i in tf.range(n):
            if p:
                w.assign_add(x)
            elif tf.equal(i % 2, 0):
                continue
            x = x * w
        return x

    return f(x, n, p)


def branch_of_effects(x, p, w):
    @tf.function
    def f(x, p):
        if p:
            w.assign_add(x)
        return x + w

    return f(x, p)


#: What computes y of x [2], the bool p, the number n and the variable w.
MODELS = {
    "cond": lambda x, n, p, w: tf.cond(p, lambda: x * w, lambda: tf.sin(x) + w, name="flow"),
    "cond in cond": lambda x, n, p, w: tf.cond(
        p, lambda: tf.cond(n > 2, lambda: x * w * 2.0, lambda: -w), lambda: tf.sin(x) + w),
    "cond that sets": lambda x, n, p, w: tf.cond(p, lambda: w.assign_add(x) * 1.0, lambda: w.assign_sub(x) * 1.0),
    "case": lambda x, n, p, w: tf.switch_case(n, [lambda: x * w, lambda: x + w, lambda: x - w, lambda: tf.exp(x)]),
    "case out of range": lambda x, n, p, w: tf.switch_case(n - 1, [lambda: x * w, lambda: x + w]),
    "while": lambda x, n, p, w: tf.while_loop(lambda i, _: i < n, lambda i, v: (i + 1, v * w + x), [0, x])[1],
    "cond in while": lambda x, n, p, w: tf.while_loop(
        lambda i, _: i < n, lambda i, v: (i + 1, tf.cond(p, lambda: v * w, lambda: v + w)), [0, x])[1],
    "while in while": lambda x, n, p, w: tf.while_loop(
        lambda i, _: i < n, lambda i, v: (
            i + 1, tf.while_loop(lambda j, _: j < i, lambda j, u: (j + 1, u * w), [0, v])[1] + x), [0, x])[1],
    "while in cond": lambda x, n, p, w: tf.cond(
        p, lambda: tf.while_loop(lambda i, _: i < n, lambda i, v: (i + 1, v * w), [0, x])[1], lambda: -x),
    "while with an array": lambda x, n, p, w: array_loop(x, n, w),
    "while with a call": lambda x, n, p, w: called(x, n, w),
    "map in cond": lambda x, n, p, w: tf.cond(p, lambda: mapped(x, w), lambda: x),
    "map in case": lambda x, n, p, w: tf.switch_case(n, [lambda: mapped(x, w), lambda: mapped(-x, w), lambda: x]),
    "map in a call in cond": lambda x, n, p, w: tf.cond(p, lambda: tf.function(mapped)(x, w), lambda: x),
    "function with effects": lambda x, n, p, w: counted(x, n, p, w),
    "branch of effects alone": lambda x, n, p, w: branch_of_effects(x, p, w),
}  # fmt: skip


def graph_of(build):
    graph = tf.Graph()
    with graph.as_default(), flow_version("v2"):
        x = tf1.placeholder(tf.float32, [2], name="x")
        n, p = tf1.placeholder(tf.int32, [], name="n"), tf1.placeholder(tf.bool, [], name="p")
        w = tf1.get_variable("w", initializer=[2.0, 3.0], use_resource=True)
        tf.identity(build(x, n, p, w), name="y")
    return graph


def flows(ed):
    return [name for name, kind in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if kind in FLOW]


def results(graph):
    """The result, what the variable holds then, and the gradients, for several feeds."""
    with graph.as_default():
        things = [graph.get_tensor_by_name("x:0"), *tf1.trainable_variables()]
        slopes = tf1.gradients(graph.get_tensor_by_name("y:0"), things, unconnected_gradients="zero")
        slopes = [tf.convert_to_tensor(slope) for slope in slopes]
        whole = graph.get_tensor_by_name("w/Read/ReadVariableOp:0")
    found = []
    with tf1.Session(graph=graph) as session:
        for feed in ({"x:0": [1.0, -2.0], "p:0": p, "n:0": n} for p in (True, False) for n in (0, 1, 3)):
            for fetch in ("y:0", slopes):
                session.run("w/Assign")
                found += [*np.atleast_1d(session.run(fetch, feed)), session.run(whole)]
    return found


@pytest.mark.parametrize("kind", MODELS)
def test_flow_in_the_open_computes_the_same(kind):
    graph = graph_of(MODELS[kind])
    want, before = results(graph_of(MODELS[kind])), look(graph)
    ed = gs.open(graph)
    while flows(ed):
        plan = ed.plan().inline(flows(ed)[0])
        assert plan.check() == (), [str(f) for f in plan.check()]
        code = plan.to_code()
        done = ed.apply(plan)
        assert set(plan.after().names) == {op.name for op in ed.graph.get_operations()}
    assert ".inline(" in code
    assert done["y:0"].op.name == "y"
    for got, wanted in zip(results(ed.graph), want, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
    while ed.graph is not graph:
        ed.undo()
    assert look(graph) == before


@pytest.mark.parametrize(
    "value", [0, 3, [], [0, 0], "", "no"], ids=["zero", "three", "empty", "zeros", "empty text", "text"]
)
def test_what_is_asked_need_not_be_a_bool(value):
    graph = tf.Graph()
    with graph.as_default(), flow_version("v2"):
        branches = [tf.function(f).get_concrete_function(tf.TensorSpec([])) for f in (tf.negative, tf.square)]
        asked = tf.constant(value, tf.string if isinstance(value, str) else tf.int32)
        given = {"then_branch": branches[0], "else_branch": branches[1], "input": [5.0], "Tout": [tf.float32]}
        tf.raw_ops.StatelessIf(cond=asked, output_shapes=[[]], name="which", **given)
        tf.identity(graph.get_tensor_by_name("which:0"), name="y")
    with tf1.Session(graph=graph) as session:
        want = session.run("y:0")
    ed = gs.open(graph)
    ed.apply(ed.plan().inline("which"))
    assert ed.session().run("y:0") == want


def test_an_op_inside_of_a_map_inside_of_a_branch_is_reached_by_each_way():
    ed = gs.open(graph_of(MODELS["map in cond"]))
    feed = {"x:0": [1.0, -2.0], "p:0": True}
    inside = "cond/then_branch/map/while/body/mul:0"
    ed.apply(ed.plan().insert("Neg", on=inside, name="minus"))
    with ed.session() as session:
        assert session.run("y:0", feed).tolist() == [-4.0, 12.0]
    whole = gs.open(graph_of(MODELS["map in cond"]))
    assert [whole.inlined().session().run("y:0", feed).tolist()] == [[4.0, -12.0]]


def test_a_map_inside_of_a_loop_computes_the_same():  # TensorFlow has no gradient of such a loop in the form of TF1
    build = lambda x, n, p, w: tf.while_loop(lambda i, _: i < n, lambda i, v: (i + 1, mapped(v, w)), [0, x])[1]  # noqa: E731
    ed = gs.open(graph_of(build))
    ed.apply(ed.plan().inline("while"))
    assert not flows(ed)
    assert ed.session().run("y:0", {"x:0": [1.0, -2.0], "n:0": 2}).tolist() == [16.0, -72.0]


def test_names_tell_where_ops_were():
    ed = gs.open(graph_of(MODELS["cond in cond"]))
    names = ed.plan().inline("cond").after().names
    assert {"cond/then_branch/cond/else_branch/Neg", "cond/else_branch/Sin", "cond/flow/Merge"} <= set(names)
    loop = gs.open(graph_of(MODELS["while"])).plan().inline("while").after()
    assert {"while/cond/Less", "while/body/mul", "while/flow/LoopCond"} <= set(loop.names)
    frames = {loop.nodes[i].attr["frame_name"].s for i, kind in enumerate(loop.types) if kind == "Enter"}
    assert frames == {b"while/flow/while_context"}


def test_two_loops_of_one_function_have_frames_of_their_own():
    ed = gs.open(graph_of(lambda x, n, p, w: MODELS["while"](MODELS["while"](x, n, p, w), n, p, w)))
    want = results(ed.graph)
    ed = gs.open(graph_of(lambda x, n, p, w: MODELS["while"](MODELS["while"](x, n, p, w), n, p, w)))
    ed.apply(ed.plan().inline(["while", "while_1"]))
    assert not flows(ed)
    for got, wanted in zip(results(ed.graph), want, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_what_stays():
    graph = tf.Graph()
    with graph.as_default(), flow_version("v2"):
        p = tf1.placeholder(tf.bool, [], name="p")
        w = tf1.get_variable("w", initializer=2.0, use_resource=True)

        @tf.function
        def f(p):
            if p:
                w.assign_add(1.0)

        f(p)

        @tf.custom_gradient
        def own(v):
            return v * 2.0, lambda slope: slope * 7.0

        tf.cond(p, lambda: own(w + 1.0), lambda: w + 2.0, name="mine")
    ed = gs.open(graph)
    reads(ed.plan().inline("mine").check()[0], "holds a tf.custom_gradient, which would be lost", "Leave this call")
    old = tf.Graph()
    with old.as_default(), flow_version("v1"):
        p = tf1.placeholder(tf.bool, [], name="p")
        both = tf.function(lambda p: tf.raw_ops.Merge(inputs=list(tf.raw_ops.Switch(data=1.0, pred=p))).output)
        then = both.get_concrete_function(tf.TensorSpec([], tf.bool))
        tf.raw_ops.StatelessIf(
            cond=p, input=[p], Tout=[tf.float32], then_branch=then, else_branch=then, output_shapes=[[]], name="old"
        )
    fault = gs.open(old).plan().inline("old").check()[0]
    reads(fault, "inline('old')", "holds a while_loop or cond of TF1", "Leave this call as it is")
