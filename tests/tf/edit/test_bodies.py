"""Ops collapsed to a function call and calls inlined, as steps of a plan: same numbers, same gradients, undone."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.plan.plan import Plan
from tests.graphs import KINDS, look, model
from tests.random_graphs import flow_version
from tests.refusal import reads

tf1 = tf.compat.v1


def slopes(graph, loss):
    """Gradients of a loss in the variables of a graph; made before anything runs, as TensorFlow wants it."""
    with graph.as_default():
        return tf1.gradients(graph.get_tensor_by_name(loss), tf1.trainable_variables())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("live", [False, True])
def test_a_scope_becomes_one_call_and_comes_back(kind, live):
    m = model(kind, optimizer=None)
    before = slopes(m.graph, "loss:0")
    want = m.session.run([m.y, m.loss, before], m.feed())
    ed = gs.open(m.session)
    plan = ed.plan().collapse("net", name="block")
    assert plan.check() == (), [str(f) for f in plan.check()]
    assert any("stay outside of the call: net/w" in w for w in plan.effect.warnings), plan.effect.warnings
    plan = plan.on_copies(scope="new") if live else plan
    done = ed.apply(plan)
    call = ed.op("block")
    assert call.type == ("StatefulPartitionedCall" if kind == "resource" else "PartitionedCall")
    assert ("net/y" in ed.snapshot.index) == live
    assert done["net/y:0"].op is call
    loss = done["loss:0"].name
    after = slopes(ed.graph, loss)
    feed = {t.name: v for t, v in m.feed().items()}
    got = ed.session().run([done["net/y:0"], loss, after], feed)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-5)
    for a, b in zip(got[2], want[2], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    if live:
        return
    result = done["net/y:0"].name
    assert set(plan.after().names) | {op.name for op in ed.graph.get_operations()} == set(ed.snapshot.names)
    back = gs.open(_without_gradients(ed))
    done = back.apply(back.plan().inline("block"))
    assert done[result].op.name.startswith("block/")
    assert "block" not in back.snapshot.index
    assert back.snapshot.types.count("Tanh") == 1
    after = slopes(back.graph, "loss:0")
    session = back.session()
    for name in ("net/w", "net/b"):
        assign = back.op(f"{name}/Assign")
        session.run(assign, {assign.inputs[1]: ed.session().run(f"{name}{_read(kind)}")})
    got = session.run([done[result], "loss:0", after], feed)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5)
    for a, b in zip(got[2], want[2], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def _read(kind):
    return "/read:0" if kind == "ref" else "/Read/ReadVariableOp:0"


def _without_gradients(ed):
    """The graph once more, as it was after the edit."""
    there = gs.open(tf.Graph())
    whole = ed.select()
    there.apply(there.plan().copy(whole - whole.where(lambda op: op.name.startswith("gradients")), to=""))
    return there.graph


def test_an_output_that_only_an_op_inside_reads_is_an_output_of_the_call_if_it_is_marked():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        h = tf.nn.relu(x, name="h")
        tf.reduce_sum(h, name="y")
    ed = gs.open(graph)
    done = ed.apply(ed.plan().collapse(ed.select(inputs="x:0", outputs=["h:0", "y:0"]), name="block"))
    assert {done["h:0"].op.name, done["y:0"].op.name} == {"block"}
    h, y = ed.session().run([done["h:0"], done["y:0"]], {"x:0": [1.0, 2.0]})
    assert (h.tolist(), y.tolist()) == ([1.0, 2.0], 3.0)
    ed.undo()
    ed.apply(ed.plan().collapse(["h", "y", "Const"], name="block"))
    assert len(ed.op("block").outputs) == 1


def test_one_plan_after_the_other_is_undone_and_printed():
    m = model("resource", optimizer=None)
    ed, before = gs.open(m.graph), look(m.graph)
    ed.apply(ed.plan().collapse(ed.select(name=["net/MatMul", "net/add", "net/y"]), name="net/call"))
    once = ed.graph
    code = ed.plan().inline("net/call").to_code()
    assert ".inline('net/call')" in code
    ed.apply(ed.plan().inline("net/call"))
    for kind in ("MatMul", "Tanh", "AddV2", "PartitionedCall", "StatefulPartitionedCall"):
        assert ed.snapshot.types.count(kind) == gs.open(m.graph).snapshot.types.count(kind)
    ed.undo()
    assert ed.graph is once
    ed.undo()
    assert look(m.graph) == before
    space = {"graph": m.graph}
    plan = gs.open(m.graph).plan().collapse("net", name="whole")
    exec(plan.to_code(), space)
    assert space["ed"].op("whole").type == "StatefulPartitionedCall"


def test_calls_inside_calls_and_control_edges():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        inner = tf.function(lambda t: tf.negative(t, name="minus"))
        first = tf.no_op(name="first")
        with tf.control_dependencies([first]):
            y = tf.function(lambda t: tf.square(inner(t), name="square"))(x)
        with tf.control_dependencies([y]):
            tf.no_op(name="last")
        tf.identity(y, name="y")
    ed = gs.open(graph)
    done = ed.apply(ed.plan().inline("PartitionedCall"))
    assert "PartitionedCall/square" in ed.snapshot.index
    assert any(n.endswith("/minus") for n in ed.snapshot.names)
    assert ed.session().run(done["PartitionedCall:0"], {"x:0": [1.0, -2.0]}).tolist() == [1.0, 4.0]
    assert ed.op("last").control_inputs
    assert any("first" in [c.name for c in op.control_inputs] for op in ed.graph.get_operations())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("live", [False, True])
def test_a_call_that_a_plan_makes_is_inlined_by_the_same_plan(kind, live):
    m = model(kind, optimizer=None)
    want = m.session.run([m.y, m.loss], m.feed())
    ed = gs.open(m.session)
    plan = ed.plan().collapse("net", name="block").insert("Tanh", on="block:0", name="more")
    plan = plan.set_device("block", "/cpu:0")
    plan = plan.inline("block").on_copies(scope="new") if live else plan.inline("block")
    assert plan.check() == (), [str(f) for f in plan.check()]
    assert [str(r) for r in plan.effect.replacements][1].endswith("block:0 -> block/net/y:0")
    done = ed.apply(plan)
    assert "block" not in ed.snapshot.index
    assert not {"PartitionedCall", "StatefulPartitionedCall"} & set(ed.snapshot.types)
    assert set(plan.after().names) == set(ed.snapshot.names)
    assert ("net/y" in ed.snapshot.index) == live
    assert done["net/y:0"].op.name == "block/net/y" == ed.snapshot.input_names(ed.snapshot.index["more"])[0][:-2]
    feed = {t.name: v for t, v in m.feed().items()}
    got = ed.session().run([done["net/y:0"], "more:0"], feed)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5)
    np.testing.assert_allclose(got[1], np.tanh(want[0]), rtol=1e-5)
    assert [g is not None for g in slopes(ed.graph, done["loss:0"].name)] == [True, True]
    ed.undo()
    assert ed.graph is m.graph


def test_two_calls_of_one_plan_are_inlined_one_by_one():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        between = tf.identity(tf.negative(x, name="a"), name="between")
        tf.identity(tf.square(between, name="b") + between, name="y")
    ed = gs.open(graph)
    plan = ed.plan().collapse(["a"], name="one").collapse(["b"], name="two").inline("one")
    done = ed.apply(plan)
    assert done["a:0"].name.startswith("one/")
    assert ed.op("between").inputs[0] is done["a:0"]
    assert ed.op("two").inputs[0] is ed.tensor("between:0")
    assert ed.session().run("y:0", {"x:0": [1.0, 2.0]}).tolist() == [0.0, 2.0]
    ed.apply(ed.plan().inline("two"))
    assert ed.session().run("y:0", {"x:0": [1.0, 2.0]}).tolist() == [0.0, 2.0]
    bad = gs.open(graph).plan().collapse(["a"], name="one").collapse(["between"], name="two").inline("one")
    reads(bad.check()[0], "'between' is made or changed by this plan")
    once = gs.open(graph)
    once.apply(once.plan().collapse(["a"], name="one").collapse(["b"], name="two").inline(["two", "one"]))
    assert not any("Call" in kind for kind in once.snapshot.types)
    assert once.session().run("y:0", {"x:0": [1.0, 2.0]}).tolist() == [0.0, 2.0]


def test_an_op_inserted_behind_a_call_that_is_inlined_later():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        tf.identity(tf.function(lambda t: tf.square(t, name="square"))(x), name="y")
    ed = gs.open(graph)
    plan = ed.plan().insert("Neg", on="PartitionedCall", name="minus").insert("Abs", on="PartitionedCall", name="abs")
    ed.apply(plan.inline("PartitionedCall"))
    assert ed.session().run(["y:0", "abs:0"], {"x:0": [1.0, 2.0]})[0].tolist() == [-1.0, -4.0]
    assert ed.op("abs").inputs[0].op.name.startswith("PartitionedCall/")


def test_a_constant_of_a_cond_that_nothing_in_the_call_reads_stays_there():
    graph = tf.Graph()
    with graph.as_default(), flow_version("v1"):
        x = tf1.placeholder(tf.float32, [2], name="x")
        either = tf1.cond(tf.reduce_sum(x) > 0.0, lambda: x + x, lambda: tf.maximum(x, -1.0, name="floor"), name="c")
        either = tf.identity(either)
        with tf.control_dependencies([either]):
            first = tf.no_op(name="first")
        with tf.control_dependencies([first]):
            tf.square(either, name="y")
    ed = gs.open(graph)
    done = ed.apply(ed.plan().collapse(["first", "y", "c/floor/y"], name="call"))
    assert "c/floor/y" in ed.snapshot.index
    assert all(op.name != "c/switch_f" for op in ed.op("call").control_inputs)
    for given, want in (([1.0, 2.0], [4.0, 16.0]), ([-3.0, 0.5], [1.0, 0.25])):
        # With its optimizer on, TensorFlow itself loses what waits for the end of a cond, before the edit as after it.
        config = tf1.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        with tf1.Session(graph=ed.graph, config=config) as session:
            assert session.run(done["y:0"], {"x:0": given}).tolist() == want


def test_what_calls_a_function_with_a_gradient_of_its_own_stays_outside():
    from tensorflow.python.framework.function import Defun

    @Defun(tf.float32, tf.float32)
    def slope(x, dy):
        return dy * 55.0 + 0.0 * x

    @Defun(tf.float32, grad_func=slope)
    def cube(x):
        return x * x * x

    with tf.Graph().as_default() as graph:
        x = tf.constant(2.0, name="x")
        y = tf.negative(cube(x), name="y")
        tf.identity(y, name="z")
        tf1.gradients(y, x)
    ed = gs.open(graph)
    name = y.op.inputs[0].op.name
    before = look(graph)
    plan = ed.plan().collapse([name, "y"], name="call")
    reads(plan.check()[0], "collapse(name='call')", f"'{name}' calls 'cube", "whose custom gradient would be lost",
          "Leave it out of the selection")  # fmt: skip
    assert look(graph) == before
    assert ed.plan().collapse(["y"], name="call").check() == ()


def test_a_placeholder_with_a_default_stays_outside_and_can_be_fed():
    graph = tf.Graph()
    with graph.as_default():
        x, p = tf1.placeholder(tf.float32, [], name="x"), tf1.placeholder_with_default(2.0, [], name="p")
        tf.identity(tf.multiply(x, p, name="m"), name="y")
        tf1.placeholder_with_default(x * 3.0, [], name="late")
        tf.add(graph.get_tensor_by_name("mul:0"), graph.get_tensor_by_name("late:0"), name="z")
    ed = gs.open(graph)
    plan = ed.plan().collapse(ed.select(inputs="x", outputs="m"), name="call")
    assert plan.effect.warnings[0].endswith("outside of the call: p/input, p")
    ed.apply(plan)
    assert ed.session().run("y:0", {"x:0": 3.0, "p:0": 5.0}) == 15.0
    assert ed.session().run("y:0", {"x:0": 3.0}) == 6.0
    # the call would read what is computed from its own result
    (fault,) = ed.plan().collapse(["mul", "late", "z"], name="other").check()
    reads(fault, "would be computed from itself", "Also select the ops between its ops")


def arrays():
    """A graph of a TensorArray that is written and read, and of a stack."""
    graph = tf.Graph()
    with graph.as_default(), flow_version("v1"):
        x = tf1.placeholder(tf.float32, [2], name="x")
        held = tf.TensorArray(tf.float32, 2, name="held").write(0, x, name="first").write(1, x * 2.0, name="second")
        tf.identity(held.stack(name="all"), name="y")
        stack = tf.raw_ops.StackV2(max_size=1, elem_type=tf.float32, name="stack")
        with tf.control_dependencies([tf.raw_ops.StackPushV2(handle=stack, elem=x, name="push")]):
            tf.raw_ops.StackPopV2(handle=stack, elem_type=tf.float32, name="pop")
    return graph


def test_a_tensor_array_or_stack_is_in_a_call_whole_or_not_at_all():
    graph = arrays()
    plan = gs.open(graph).plan()
    array = [op.name for op in graph.get_operations() if op.type.startswith("TensorArray")]
    parts = {f"{array[-1]!r} also uses 'held'": array[:-1], "also uses 'held'": array[:2],
             "also uses 'stack'": ["push"], "'pop' also uses 'stack'": ["stack", "push"]}  # fmt: skip
    for why, some in parts.items():
        (fault,) = plan.collapse(some, name="call").check()
        reads(fault, "collapse(", why, "which exists only while the call runs", "or leave out ")
    (fault,) = plan.collapse(array[-1:], name="call").check()
    reads(fault, "orders the writes and reads of a TensorArray", f"Select the writes too: {', '.join(array[:-1])}")
    for some, end in ((array, "y:0"), (["stack", "push", "pop"], "call:0")):
        ed = gs.open(arrays())
        ed.apply(ed.plan().collapse(some, name="call"))
        got = ed.session().run(end, {"x:0": [1.0, 2.0]})
        np.testing.assert_array_equal(got, [[1, 2], [2, 4]] if end == "y:0" else [1, 2])


def test_what_cannot_be():
    graph = tf.Graph()
    with graph.as_default(), flow_version("v1"):
        x = tf1.placeholder(tf.float32, [2], name="x")
        tf1.while_loop(lambda i, _: i < 2, lambda i, t: (i + 1, t * 2.0), [0, x])
        w = tf1.get_variable("w", [2], use_resource=False)
        tf1.assign(w, x, name="set")
        a = tf.negative(x, name="a")
        mid = tf.square(a, name="mid")
        tf.add(a, mid, name="b")
        tf.no_op(name="none")
        with flow_version("v2"):
            tf1.cond(tf.reduce_sum(x) > 0.0, lambda: x, lambda: -x, name="either")
    plan = gs.open(graph).plan()

    def fault(step):
        return step.check()[0]

    reads(
        fault(plan.collapse("while", name="c")),
        "is part of a TF1 loop or cond",
        "Select ops outside of the loop or cond",
    )
    reads(
        fault(plan.collapse(["set"], name="c")), "'w' is a reference variable, which a function cannot take", "w/read"
    )
    reads(fault(plan.collapse(["a", "b"], name="c")), "would be computed from itself", "Also select the ops between")
    reads(fault(plan.collapse(["x", "w"], name="c")), "contains only variables, placeholders")
    reads(fault(plan.collapse(["none"], name="c")), "the ops have no output tensor")
    reads(fault(plan.collapse(["a"], name="mid")), "the name 'mid' is taken", "Type name='mid_2'")
    reads(fault(plan.collapse(["no"], name="c")), "no op is called 'no'")
    reads(fault(plan.set_attr("a", "_m", 1).collapse(["a"], name="c")), "'a' is made or changed by this plan")
    reads(fault(plan.inline("a")), "'a' is of type Neg, not a function call")
    reads(fault(plan.inline("no")), "no op is called 'no'")
    both = plan.copy(gs.open(graph).select(name=["a", "mid"]), to="c", inputs={"x:0": "x:0"})
    reads(fault(both.inline("c/a")), "'c/a' is made by this plan, together with other ops", "ed.plan().inline('c/a')")
    bare = Plan(plan.base)
    reads(fault(bare.collapse(["a"], name="c")), "this plan was made without TensorFlow")
    reads(fault(bare.inline("a")), "this plan was made without TensorFlow")
