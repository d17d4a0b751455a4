"""The body of a traced function as a plain graph: names, variables, values, numbers, gradients."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import OpenError
from graphsurgeon.tf.functions import trace
from tests.refusal import refuses
from tests.tf2 import FEEDS, ROWS, Loop, Net, Words, gained, keras_model, values

tf1 = tf.compat.v1


def results(ed, *feeds, session=None):
    return (session or ed.session()).run(ed.outputs, dict(zip(ed.inputs.values(), feeds, strict=True)))


def gradients(ed, output, *feeds):
    """Gradients of a result by its trainable variables, by variable name, in a session of their own."""
    with ed.graph.as_default():
        variables = tf1.trainable_variables()
        made = tf1.gradients(ed.tensor(ed.outputs[output]), variables)
    feed = dict(zip(ed.inputs.values(), feeds, strict=True))
    found = {v.op.name: g for v, g in zip(variables, made, strict=True) if g is not None}
    return ed.session().run(found, feed)


def test_a_concrete_function_is_a_plain_graph():
    net = Net()
    concrete = net.forward.get_concrete_function()
    body, before = concrete.graph.as_graph_def().SerializeToString(deterministic=True), values(net)
    ed = gs.open(concrete)
    assert type(ed.graph) is tf.Graph
    assert (ed.title, ed.inputs, ed.outputs) == ("forward", {"x": "x:0"}, {"twice": "Identity:0", "y": "Identity_1:0"})
    own = {op.name for op in concrete.graph.get_operations()}
    captured = {t.op.name for t in concrete.graph.inputs[1:]}
    assert own - captured <= set(ed.snapshot.names)
    with ed.graph.as_default():
        assert {v.name: v.trainable for v in tf1.global_variables()} == {"layer/w:0": True, "layer/b:0": True}
        assert [v.op.type for v in tf1.trainable_variables()] == ["VarHandleOp"] * 2
    want = net.forward(ROWS)
    got = results(ed, ROWS)
    assert {k: v.tobytes() for k, v in got.items()} == {k: v.numpy().tobytes() for k, v in want.items()}
    # The function is as it was, and does not follow what is done to the graph.
    start = ed.graph.get_collection("variables")[0].initializer
    ed.session().run(start, {"layer/w/Initializer/Const:0": np.ones((2, 3))})
    assert concrete.graph.as_graph_def().SerializeToString(deterministic=True) == body
    assert all((a == b).all() for a, b in zip(values(net), before, strict=True))
    assert "ed = gs.open(function)" in ed.plan().to_code()


def test_values_are_those_of_opening():
    net = Net()
    net.b.assign([5.0, 6.0, 7.0])
    ed = gs.open(net.forward)
    net.b.assign([0.0, 0.0, 0.0])
    np.testing.assert_array_equal(ed.session().run("layer/b/Read/ReadVariableOp:0"), [5.0, 6.0, 7.0])
    with tf1.Session(graph=ed.graph) as plain, ed.graph.as_default():
        plain.run(tf1.global_variables_initializer())
        np.testing.assert_array_equal(plain.run("layer/b/Read/ReadVariableOp:0"), [5.0, 6.0, 7.0])


def test_large_values_stay_out_of_the_graph(monkeypatch):
    monkeypatch.setattr(trace, "CONSTANT_BYTES", 20)
    net = Net()
    ed = gs.open(net.forward)
    assert ed.op("layer/w/Initializer/value").type == "Placeholder"
    np.testing.assert_array_equal(results(ed, ROWS)["y"], net.forward(ROWS)["y"])
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(ed.select(), to="n", values=ed))
    got = dst.session().run(done[ed.outputs["y"]], {done["x:0"]: ROWS})
    np.testing.assert_array_equal(got, net.forward(ROWS)["y"])


def test_opened_inside_a_graph():
    net = Net()
    with tf.Graph().as_default() as around:
        ed = gs.open(net, function="forward")
    assert not around.get_operations()
    np.testing.assert_array_equal(results(ed, ROWS)["y"], net.forward(ROWS)["y"])


def test_gradients_equal_those_of_the_tape():
    net = Net()
    ed = gs.open(net.forward)
    with tf.GradientTape() as tape:
        y = net.forward(ROWS)["twice"]
    want = tape.gradient(y, net.w)
    got = gradients(ed, "twice", ROWS)
    np.testing.assert_allclose(got["layer/w"], want, rtol=1e-6)


@pytest.mark.parametrize("turn", [0, 1])
def test_loops_and_conds_twice_with_gradients(turn):
    """Branches get names of their own: differentiating one graph leaves the other, and the module, differentiable."""
    loop = Loop()
    eds = [gs.open(loop.__call__), gs.open(loop.__call__)]
    for ed in eds[::-1] if turn else eds:
        for x in (0.3, 2.5):
            assert results(ed, x, session=None)["output"] == loop(x).numpy()
        again = gs.open(loop.__call__)
        with tf.GradientTape() as tape:
            y = loop(0.3)
        np.testing.assert_allclose(gradients(again, "output", 0.3)["w"], tape.gradient(y, loop.w), rtol=1e-6)


def test_a_captured_table():
    words = Words()
    ed = gs.open(words, function="__call__")
    given = ["b", "?", "a"]
    want = words(tf.constant(given))
    got = results(ed, given)
    np.testing.assert_array_equal(got["output_0"], want[0])
    np.testing.assert_array_equal(got["output_1"], want[1])
    assert len(ed.select(op="HashTableV2")) == 1


def test_a_table_that_changes():
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    wide = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0])
    table.insert(["a"], [7])
    wide.insert([7], [[1.0, 2.0]])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="key")])
    def read(key):
        table.insert(["new"], [3])
        return wide.lookup(table.lookup(key)), table.lookup(tf.constant(["new"]))

    ed = gs.open(read)
    got = results(ed, ["a", "b"])
    assert got["output_0"].tolist() == [[1.0, 2.0], [0.0, 0.0]]
    assert got["output_1"].tolist() == [3]
    assert table.lookup(tf.constant(["new"])).numpy().tolist() == [-1]


def test_what_no_graph_can_hold():
    data = iter(tf.data.Dataset.range(3))
    with refuses(OpenError, "open(function): it captures ", "which is not a variable, constant or table",
                 "IteratorGetNext", "Make it an argument of the function"):  # fmt: skip
        gs.open(tf.function(lambda: next(data), autograph=False), signature=[])


def test_names_that_are_taken():
    """A variable does not take the name of an op of the body, nor one where an op stands in the place of a scope."""
    a, b, c = (tf.Variable(float(i), name=n) for i, n in enumerate(["x", "Mul/deep", "odd name"]))
    d, e = tf.Variable(3.0, name="same"), tf.Variable(4.0, name="same")

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="x")])
    def f(x):
        return tf.multiply(x, a, name="Mul") + b + c + d * 10.0 + e

    ed = gs.open(f)
    names = [v.op.name for v in ed.graph.get_collection("variables")]
    assert names == ["x_1", "Mul_2/deep", "odd_name", "same", "same_1"]
    assert results(ed, 2.0)["output"] == f(2.0).numpy()


def test_arguments_and_results_have_names():
    @tf.function
    def f(pair, *, flag, unused):
        return {"sum": pair["a"] + pair["b"], "parts": (pair["a"], [flag])}

    spec = tf.TensorSpec([], tf.float32)
    ed = gs.open(f, signature={"pair": {"a": spec, "b": spec}, "flag": tf.TensorSpec([], tf.bool), "unused": spec})
    assert set(ed.inputs) >= {"flag", "unused"}
    assert list(ed.outputs) == ["parts_0", "parts_1_0", "sum"]
    assert len(ed.inputs) == 4


@pytest.mark.parametrize("kind", FEEDS)
def test_keras_models(kind):
    model, x = keras_model(kind), FEEDS[kind]
    before = values(model)
    ed = gs.open(model)
    assert ed.title == model.name
    want = model(x)
    want = {k: v.numpy() for k, v in want.items()} if isinstance(want, dict) else {"output": want.numpy()}
    got = results(ed, x)
    for key, value in want.items():
        np.testing.assert_array_equal(got[key], value)
    assert {v.op.name for v in ed.graph.get_collection("trainable_variables")} == {
        v.path for v in model.trainable_variables
    }
    with tf.GradientTape() as tape:
        y = model(x)
        y = y["out"] if isinstance(y, dict) else y
    again = gs.open(model)
    own = gradients(again, "out" if "out" in again.outputs else "output", x)
    for variable, gradient in zip(
        model.trainable_variables, tape.gradient(y, [v.value for v in model.trainable_variables]), strict=True
    ):
        np.testing.assert_allclose(own[variable.path], gradient, rtol=2e-5, atol=1e-6)
    assert all((a == b).all() for a, b in zip(values(model), before, strict=True))


def test_keras_for_training_changes_its_own_averages():
    model = keras_model("dense")
    before = values(model)
    ed = gs.open(model, training=True)
    mean = next(v for v in ed.graph.get_collection("variables") if v.name.endswith("moving_mean:0"))
    read = ed.session().run(mean)
    results(ed, ROWS)
    assert (ed.session().run(mean) != read).any()
    assert all((a == b).all() for a, b in zip(values(model), before, strict=True))
    assert "training=True" in ed.plan().to_code()


def test_a_keras_model_with_several_inputs():
    model = keras_model("several")
    a, b = ROWS, np.ones((3, 3), np.float32)
    ed = gs.open(model)
    assert set(ed.inputs) == {"a", "b"}
    got = ed.session().run(ed.outputs, {ed.inputs["a"]: a, ed.inputs["b"]: b})
    for key, want in zip(["output_0", "output_1"], model({"a": a, "b": b}), strict=True):
        np.testing.assert_array_equal(got[key], want)


# -- opened functions in plans ---------------------------------------------------------------------


def test_copies_to_a_plain_graph_twice_are_independent():
    net = Net()
    ed = gs.open(net.forward)
    dst = gs.open(tf.Graph())
    a = dst.apply(dst.plan().copy(ed.select(), to="a", values=ed))
    b = dst.apply(dst.plan().copy(ed.select(), to="b", values=ed))
    session = dst.session()
    session.run(a["layer/w"].initializer, {a["layer/w"].initializer.inputs[1]: np.zeros((2, 3), np.float32)})
    want = net.forward(ROWS)["y"].numpy()
    y = ed.outputs["y"]
    assert (session.run(a[y], {a["x:0"]: ROWS}) != want).any()
    np.testing.assert_array_equal(session.run(b[y], {b["x:0"]: ROWS}), want)
    np.testing.assert_array_equal(results(ed, ROWS)["y"], want)


def test_a_model_on_top_of_another():
    """A part of one opened model reads a part of another, in one plan."""
    net, lstm = Net(), keras_model("dense")
    first, second = gs.open(net.forward), gs.open(lstm)
    sup = gs.open(tf.Graph())
    done = sup.apply(sup.plan().copy(first.select(), to="net", values=first))
    cut = first.outputs["y"]
    with sup.graph.as_default():
        two = tf.identity(done[cut][:, :2], name="two")
    plan = sup.plan().copy(second.select(inputs=["x:0"], outputs=second.outputs.values()), to="head",
                           inputs={"x:0": two}, values=second)  # fmt: skip
    head = sup.apply(plan)
    got = sup.session().run(head[second.outputs["output"]], {done["x:0"]: ROWS})
    np.testing.assert_allclose(got, lstm(net.forward(ROWS)["y"][:, :2]), rtol=1e-6)


def test_a_plain_part_goes_into_an_opened_function():
    net = Net()
    ed = gs.open(net.forward)
    done = gained(ed)
    want = net.forward(ROWS)["y"] * [2.0, 3.0, 4.0]
    np.testing.assert_array_equal(ed.session().run(done["gained:0"], {"x:0": ROWS}), want)


def test_trained_in_the_graph():
    net = Net()
    ed = gs.open(net.forward)
    with ed.graph.as_default():
        loss = tf.reduce_mean(tf.square(ed.tensor(ed.outputs["y"])))
        train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
    session = ed.session()
    losses = [session.run([loss, train], {"x:0": ROWS})[0] for _ in range(4)]
    assert losses == sorted(losses, reverse=True)


class Composites(tf.Module):
    """Functions whose results are made of several tensors."""

    @tf.function(input_signature=[tf.TensorSpec([6], tf.float32, name="x")])
    def named(self, x):
        once = tf.RaggedTensor.from_row_lengths(x, [1, 3, 2])
        return {
            "loss": tf.reduce_sum(x),
            "ragged": once,
            "sparse": tf.sparse.from_dense(x),
            "twice": tf.RaggedTensor.from_row_lengths(once, [1, 2]),
            "slices": tf.IndexedSlices(x, tf.range(6)),
        }

    @tf.function(input_signature=[tf.TensorSpec([6], tf.float32, name="x")])
    def listed(self, x):
        return [x, tf.sparse.from_dense(x)]

    @tf.function(input_signature=[tf.TensorSpec([6], tf.float32, name="x")])
    def alone(self, x):
        return tf.RaggedTensor.from_row_lengths(x, [1, 3, 2])


NAMED = ["loss", "ragged_values", "ragged_row_splits", "slices_values", "slices_indices", "sparse_indices",
         "sparse_values", "sparse_dense_shape", "twice_values", "twice_row_splits_0", "twice_row_splits_1"]  # fmt: skip


def test_results_made_of_several_tensors_are_called_by_their_keys_and_parts():
    module = Composites()
    assert list(gs.open(module, function="named").outputs) == NAMED
    assert list(gs.open(module, function="listed").outputs) == [
        "output_0", "output_1_indices", "output_1_values", "output_1_dense_shape",
    ]  # fmt: skip
    assert list(gs.open(module, function="alone").outputs) == ["output_values", "output_row_splits"]


@pytest.mark.parametrize("format", ["saved_model", "saved_model_tf2"])
def test_a_saved_model_keeps_the_keys_of_composite_results_when_opened_and_saved(tmp_path, format):
    module, x = Composites(), np.float32([0, 1, 2, 3, 0, 5])
    tf.saved_model.save(module, str(tmp_path / "old"), signatures={"serving_default": module.named})
    ed = gs.open(str(tmp_path / "old"), signature="serving_default")
    assert list(ed.outputs) == NAMED
    ed.save(tmp_path / "new", format=format)
    found = tf.saved_model.load(str(tmp_path / "new")).signatures["serving_default"](x=tf.constant(x))
    assert sorted(found) == sorted(NAMED)
    want = module.named(tf.constant(x))
    assert found["ragged_values"].numpy().tolist() == want["ragged"].values.numpy().tolist()
    assert found["ragged_row_splits"].numpy().tolist() == [0, 1, 4, 6]
    assert found["sparse_indices"].numpy().tolist() == want["sparse"].indices.numpy().tolist()
    assert found["sparse_dense_shape"].numpy().tolist() == [6]
    assert found["twice_row_splits_0"].numpy().tolist() == want["twice"].nested_row_splits[0].numpy().tolist()
    assert found["slices_indices"].numpy().tolist() == list(range(6))
