"""Calls taken apart: the same numbers, variables, gradients and effects, with the ops in the open."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from graphsurgeon.tf.functions import definitions as functions
from tests.graphs import KINDS, look, model, put, tiny
from tests.refusal import refuses
from tests.tf2 import ROWS, Loop, Net

tf1 = tf.compat.v1
CALLS = ("PartitionedCall", "StatefulPartitionedCall")


def calls(ed):
    return [name for name, kind in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if kind in CALLS]


def both(ed):
    """The results of an editor and of its inlined flat, each in a session of its own."""
    flat = ed.inlined()
    assert not calls(flat)
    return flat


def test_nested_calls_are_taken_apart():
    net = Net()
    ed = gs.open(net.forward)
    before = look(ed.graph)
    flat = both(ed)
    # A product and a sum in the open are fused by TensorFlow's optimizer: the last bit may differ.
    assert calls(ed) == ["StatefulPartitionedCall", "StatefulPartitionedCall_1"]
    assert {"StatefulPartitionedCall/product", "StatefulPartitionedCall_1/product"} <= set(flat.snapshot.names)
    assert look(ed.graph) == before
    got, want = flat.session().run(flat.outputs, {"x:0": ROWS}), net.forward(ROWS)
    np.testing.assert_allclose(got["y"], want["y"], rtol=1e-6)
    np.testing.assert_allclose(got["twice"], want["twice"], rtol=1e-6)
    with flat.graph.as_default():
        assert [v.name for v in tf1.trainable_variables()] == ["layer/w:0", "layer/b:0"]
    assert ".inlined()" in flat.plan().to_code()
    again = gs.open(net.forward, inline=True)
    assert again.snapshot.names == flat.snapshot.names
    assert again.outputs == flat.outputs


def test_one_call_of_several():
    net = Net()
    ed = gs.open(net.forward)
    one = ed.inlined("StatefulPartitionedCall_1")
    assert calls(one) == ["StatefulPartitionedCall"]
    same = ed.inlined(ed.op("StatefulPartitionedCall"), "StatefulPartitionedCall_1")
    assert not calls(same)
    got = one.session().run(one.outputs, {"x:0": ROWS})
    np.testing.assert_allclose(got["y"], net.forward(ROWS)["y"], rtol=1e-6)


def test_gradients_go_through():
    net = Net()
    flat = gs.open(net.forward).inlined()
    with flat.graph.as_default():
        made = tf1.gradients(flat.tensor(flat.outputs["y"]), tf1.trainable_variables())
    with tf.GradientTape() as tape:
        y = net.forward(ROWS)["y"]
    for got, want in zip(flat.session().run(made, {"x:0": ROWS}), tape.gradient(y, [net.w, net.b]), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_effects_stay():
    """A result waits for what its call changes, as it did in the call."""
    net = Net()
    flat = both(gs.open(net.counted))
    session = flat.session()
    for step in (1.0, 2.0, 3.0):
        np.testing.assert_array_equal(session.run(flat.outputs["output"], {"x:0": ROWS}), ROWS * step)
    assert net.steps.numpy() == 0


def test_control_edges_into_and_out_of_a_call():
    order = tf.Variable(1.0, name="order")

    @tf.function
    def double():
        order.assign(order * 2.0)

    @tf.function(input_signature=[])
    def f():
        order.assign_add(1.0)  # (1 + 1)
        double()  # * 2
        order.assign_add(10.0)  # + 10
        return order.read_value()

    flat = both(gs.open(f))
    assert [flat.session().run(flat.outputs["output"]) for _ in range(2)] == [14.0, 40.0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_of_the_editor_gives_its_values_to_what_is_inlined(kind):
    m = model(kind)
    with m.graph.as_default():
        tf.identity(tf.function(lambda v: v * 2.0)(tf.convert_to_tensor(m.w)), name="twice")
    ed = gs.open(m.graph)
    ed.apply(ed.plan().rename("net/w", to="net/v").rename("net/b", to="net/c"))
    flat, later = ed.inlined(), ed.session(m.session)
    m.train_steps()
    w, b = m.session.run([m.w, m.b])
    with flat.session(m.session) as there:  # of the graph before the rename
        np.testing.assert_array_equal(there.run("twice:0"), w * 2.0)
        np.testing.assert_array_equal(there.run(flat.graph.get_collection("variables")[1]), b)
    put(next(v for v in ed.graph.get_collection("variables") if v.op.name == "net/v"), 3.0, later)
    with flat.session(later) as there:
        assert np.unique(there.run("twice:0")).tolist() == [6.0]
        assert "net/v" not in flat.untrained()
    with refuses(PlanError, "this is not a session of"):
        flat.session(model(kind).session)
    with refuses(PlanError, "this is not a session of"):
        ed.session(flat.session())


def test_a_variable_that_the_session_of_the_editor_does_not_hold_starts_from_its_initial_value_and_that_is_told():
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=2.0, use_resource=True)
        tf.identity(tf.function(lambda: w * 2.0)(), name="twice")
        session = tf1.Session()
        session.run(w.initializer)
    ed = gs.open(graph)
    ed.apply(ed.plan().copy(ed.select(name="w*"), to="late", variables="initial"))
    flat = ed.inlined()
    with flat.session(session) as there:
        assert there.run(["twice:0", "late/w/Read/ReadVariableOp:0"]) == [4.0, 2.0]
        assert list(flat.untrained()) == ["late/w"]


def test_loops_keep_their_functions():
    loop = Loop()
    ed = gs.open(loop, function="__call__")
    flat = ed.inlined()
    for x in (0.3, 2.5):
        assert flat.session().run(flat.outputs["output"], {"x:0": x}) == loop(x).numpy()
    first, second = ed.inlined(), ed.inlined()
    for each in (first, second):  # differentiating one leaves the other differentiable
        with each.graph.as_default():
            made = tf1.gradients(each.tensor(each.outputs["output"]), tf1.trainable_variables())
        with tf.GradientTape() as tape:
            y = loop(0.3)
        np.testing.assert_allclose(each.session().run(made, {"x:0": 0.3})[0], tape.gradient(y, loop.w), rtol=1e-6)


def test_loops_inside_calls_of_one_function():
    """Two calls of one function with a loop in it: each gets loop functions of its own."""
    w = tf.Variable(1.5, name="w")

    @tf.function
    def power(x):
        for _ in tf.range(3):
            x = x * w
        return x

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="x")])
    def f(x):
        return power(x) + power(x + 1.0)

    flat = both(gs.open(f))
    bodies = [flat.op(n).get_attr("body").name for n in flat.select(op="While")]
    assert len(set(bodies)) == 2
    with flat.graph.as_default():
        made = tf1.gradients(flat.tensor(flat.outputs["output"]), tf1.trainable_variables())
    with tf.GradientTape() as tape:
        y = f(2.0)
    session = flat.session()
    assert session.run(flat.outputs["output"], {"x:0": 2.0}) == y.numpy()
    np.testing.assert_allclose(session.run(made, {"x:0": 2.0})[0], tape.gradient(y, w), rtol=1e-6)


def test_deep_nesting_without_recursion():
    def nest(inner):
        return tf.function(lambda x: inner(x) + 1.0, autograph=False)

    f = tf.identity
    for _ in range(25):
        f = nest(f)
    ed = gs.open(f, signature=tf.TensorSpec([], tf.float32, name="x"))
    flat = both(ed)
    assert flat.session().run(flat.outputs["output"], {"x:0": 2.0}) == 27.0


def test_values_of_now_are_carried():
    ed = gs.open(Net(), function="forward")
    session = ed.session()
    variable = ed.graph.get_collection("variables")[1]
    session.run(variable.initializer, {variable.initializer.inputs[1]: np.zeros(3, np.float32)})
    flat = ed.inlined()
    np.testing.assert_array_equal(flat.session().run("layer/b/Read/ReadVariableOp:0"), np.zeros(3))


def test_a_copy_made_by_a_plan_is_carried_too():
    net = Net()
    ed = gs.open(tf.Graph())
    source = gs.open(net.forward)
    done = ed.apply(ed.plan().copy(source.select(), to="n", values=source))
    flat = ed.inlined()
    assert not calls(flat)
    name = done[source.outputs["y"]].name
    np.testing.assert_allclose(flat.session().run(name, {"n/x:0": ROWS}), net.forward(ROWS)["y"], rtol=1e-6)


def test_what_cannot_be_inlined():
    ed = gs.open(Loop(), function="__call__")
    name = next(n for n, t in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if t.endswith("If"))
    with refuses(PlanError, f"inlined({name!r}): {name!r} is a v2 If, which is not inlined together with a whole graph",
                 f"Replace it by a TF1 If: ed.plan().inline({name!r})"):  # fmt: skip
        ed.inlined(name)
    with refuses(PlanError, "'Identity' is of type Identity, not a function call"):
        ed.inlined("Identity:0")
    with refuses(PlanError, "'y' is of type Square, not a function call", "This graph calls no functions"):
        gs.open(tiny()).inlined("y")
    with refuses(PlanError, "is of type Identity, not a function call", "The calls are 'StatefulPartitionedCall'"):
        gs.open(Net(), function="forward").inlined("Identity")
    with refuses(SelectionError, "inlined('Nope')"):
        ed.inlined("Nope")


def test_functions_with_gradients_of_their_own():
    @tf.custom_gradient
    def odd(x):
        return x * 2.0, lambda dy: dy * 100.0

    inner = tf.function(lambda x: odd(x))
    ed = gs.open(tf.function(lambda x: inner(x)), signature=tf.TensorSpec([], tf.float32, name="x"))
    with refuses(PlanError, "holds a tf.custom_gradient, which would be lost", "Leave this call as it is"):
        ed.inlined("PartitionedCall")
    assert ed.inlined().snapshot.names == ed.snapshot.names


def test_a_function_that_is_missing():
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    node = graph_def.node.add(name="call", op="PartitionedCall", input=["x"])
    node.attr["Tin"].list.type.append(1)
    node.attr["Tout"].list.type.append(1)
    node.attr["f"].func.name = "round"
    with refuses(PlanError, "its function 'round' is not in the graph", "Open the file that holds the function too"):
        gs.open(graph_def).inlined("call")


def test_shapes_that_a_body_states_and_no_tensor_has_are_left_out():
    traced = tf.function(lambda x: tf.add(x, 1.0, name="more")).get_concrete_function(tf.TensorSpec([2], name="x"))
    with tf.Graph().as_default() as graph:
        tf.identity(traced(tf1.placeholder(tf.float32, [2], name="x")), name="y")
    graph_def = graph.as_graph_def()
    for node in graph_def.library.function[0].node_def:
        node.attr["_output_shapes"].list.shape.add(dim=[{"size": 2**31}] * 3)
    flat = gs.open(graph_def).inlined()
    assert flat.session().run("y:0", {"x:0": [1.0, 2.0]}).tolist() == [2.0, 3.0]


def test_a_function_that_calls_itself(monkeypatch):
    """TensorFlow crashes on one, so this one is only said to."""
    inner = tf.function(lambda x: x + 1.0)
    ed = gs.open(tf.function(lambda x: inner(x)), signature=tf.TensorSpec([], tf.float32, name="x"))
    (name,) = ed.graph._functions
    call, own = ed.op("PartitionedCall").node_def, functions.definition

    def turning(function):
        out = own(function)
        add = next(n for n in out.node_def if n.name == "add")
        add.CopyFrom(call)
        add.name, add.input[:] = "add", [out.signature.input_arg[0].name]
        for node in out.node_def:
            node.input[:] = [text.replace("add:z:0", "add:output:0") for text in node.input]
        return out

    monkeypatch.setattr(functions, "definition", turning)
    with refuses(PlanError, f"inlined('PartitionedCall/add'): its function {name!r} calls itself",
                 "Leave this call as it is"):  # fmt: skip
        ed.inlined()


def test_calls_inside_a_loop_of_tf1():
    f = tf.function(lambda x: x * 2.0)
    with tf.Graph().as_default() as graph:
        tf1.disable_control_flow_v2()
        try:
            x = tf1.placeholder(tf.float32, [], name="x")
            f.get_concrete_function(tf.TensorSpec([], tf.float32))
            out = tf1.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, f(a)), [0, x])[1]
        finally:
            tf1.enable_control_flow_v2()
    ed = gs.open(graph)
    call = calls(ed)[0]
    with refuses(PlanError, f"{call!r} is inside a while_loop or cond of TF1"):
        ed.inlined(call)
    assert ed.inlined().session().run(out.name, {"x:0": 1.0}) == 8.0


# -- SavedModels -----------------------------------------------------------------------------------


def test_saved_models_restore_all_values(tmp_path):
    net = Net()
    net.b.assign([3.0, 2.0, 1.0])
    tf.saved_model.save(net, str(tmp_path), signatures=net.forward)
    ed = gs.open(tmp_path, raw=True)
    feeds, want = {"serving_default_x:0": ROWS}, net.forward(ROWS)
    held = {n: ed.session().run(f"{n}/Read/ReadVariableOp:0") for n in ed.select(op="VarHandleOp").names}
    assert {k: v.tolist() for k, v in held.items()} == {v.name[:-2]: v.numpy().tolist() for v in net.variables}
    np.testing.assert_array_equal(ed.session().run("StatefulPartitionedCall:1", feeds), want["y"])
    flat = ed.inlined("StatefulPartitionedCall")
    product = [n for n in flat.snapshot.names if n.endswith("product")]
    assert len(product) == 2
    y = next(n for n in flat.snapshot.names if n.endswith("/Identity_1") and n.count("/") == 1)
    np.testing.assert_allclose(flat.session().run(f"{y}:0", feeds), want["y"], rtol=1e-6)


def test_a_call_in_the_body_of_a_loop_of_a_file_can_be_differentiated(tmp_path):
    w = tf.Variable(2.0, name="w")

    @tf.function
    def step(x, i):
        return tf.cond(i > 0, lambda: tf.sin(x) * w, lambda: x * x)

    @tf.function
    def rounds(x):
        return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, step(x, i)), [0, x])[1]

    module = tf.Module()
    module.w, module.rounds = w, rounds
    module.f = tf.function(lambda x: rounds(x) * 2.0, input_signature=[tf.TensorSpec([2], name="x")])
    tf.saved_model.save(module, str(tmp_path), signatures=module.f)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = module.f(x)
    wanted = tape.gradient(y, x).numpy()
    ed = gs.open(str(tmp_path))
    planned = gs.open(str(tmp_path))
    planned.apply(planned.plan().inline(planned.select(op="StatefulPartitionedCall").names))
    for one in (ed.inlined(), planned):
        with one.graph.as_default():
            (slope,) = tf1.gradients(one.tensor(*one.outputs.values()), [one.tensor("x:0")])
        np.testing.assert_allclose(one.session().run(slope, {"x:0": x.numpy()}), wanted, rtol=1e-5)
