"""A part of a graph as a TF2 callable: numbers, gradients, training, saving, and what it refuses."""

from __future__ import annotations

import gc
import warnings

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import function

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from tests.graphs import KINDS, look, model, tiny
from tests.refusal import refuses
from tests.tf2 import FEEDS, ROWS, Loop, Net, Words, gained, keras_model

tf1 = tf.compat.v1
TWO = np.array([[1.0, 2.0]], np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_graph_with_its_values(kind):
    m = model(kind)
    m.train_steps()
    before, feed = look(m.graph), m.feed()
    f = gs.open(m.session).function([m.x, m.target], {"y": m.y, "loss": m.loss})
    assert look(m.graph) == before
    got = f(feed[m.x], feed[m.target])
    np.testing.assert_array_equal(got["y"], m.session.run(m.y, feed))
    assert got["loss"].numpy() == m.session.run(m.loss, feed)
    assert [v.name for v in f.trainable_variables] == ["net/w:0", "net/b:0"]
    assert all(isinstance(v, tf.Variable) for v in f.variables)
    with tf.GradientTape() as tape:
        loss = f(feed[m.x], target=feed[m.target])["loss"]
    with m.graph.as_default():
        made = tf1.gradients(m.loss, [m.w, m.b])
    with tf1.Session(graph=m.graph) as fresh:
        for variable in (m.w, m.b):
            fresh.run(variable.initializer, {variable.initializer.inputs[1]: m.session.run(variable)})
        want = fresh.run(made, feed)
    for a, b in zip(tape.gradient(loss, f.trainable_variables), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
    assert repr(f) == "<GraphFunction function(x: float32 (?, 2), target: float32 (?, 3)), 2 variables>"


def test_only_what_the_outputs_need():
    m = model("ref", "adam")
    f = gs.open(m.session).function(m.x, m.y)
    concrete = f.__dict__["__call__"].get_concrete_function()
    types = {op.type for op in concrete.graph.get_operations()}
    assert "ReadVariableOp" in types
    assert not types & {"VariableV2", "Assign", "ApplyAdam", "SquaredDifference"}
    assert len(f.variables) == 2


def test_two_functions_are_independent():
    m = model()
    ed = gs.open(m.session)
    a, b = ed.function(m.x, m.y), ed.function(m.x, m.y)
    a.variables[0].assign(np.zeros((2, 3)))
    x = m.feed()[m.x]
    np.testing.assert_array_equal(b(x), m.session.run(m.y, m.feed()))
    assert (a(x).numpy() != b(x).numpy()).any()


def test_values_may_be_given():
    m = model()
    ed = gs.open(m.graph)
    given = {"net/w": np.ones((2, 3)), "net/b": np.zeros(3)}
    np.testing.assert_array_equal(ed.function(m.x, m.y, values=given).variables[0], np.ones((2, 3)))
    m.train_steps()
    for values in (m.session, gs.open(m.session)):
        f = ed.function(m.x, m.y, values=values)
        np.testing.assert_array_equal(f.variables[0], m.session.run(m.w))
    with refuses(PlanError, "function(values=...)", "values= has no value for variable 'net/b'"):
        ed.function(m.x, m.y, values={"net/w": np.ones((2, 3))})
    with refuses(PlanError, "function(values=...)", "has no value in the session given"):
        ed.function(m.x, m.y, values=tf1.Session(graph=m.graph))


def test_forms_of_inputs_and_outputs():
    ed = gs.open(tiny())
    assert ed.function("x:0", "z:0")(TWO).numpy().tolist() == [[2.0, 5.0]]
    assert [t.numpy().tolist() for t in ed.function(["x"], ["y:0", "z:0"])(TWO)] == [[[1.0, 4.0]], [[2.0, 5.0]]]
    f = ed.function({"rows": ed.tensor("x:0")}, {"sum": "z:0", "rows": "x:0"}, name="my net")
    got = f(rows=TWO)
    assert got["sum"].numpy().tolist() == [[2.0, 5.0]]
    assert got["rows"].numpy().tolist() == [[1.0, 2.0]]
    assert f.name == "my_net"
    assert ed.function("y:0", "z:0")(TWO).numpy().tolist() == [[2.0, 3.0]]  # the middle of the graph is an input too
    with tf.Graph().as_default() as graph:
        tf.constant(7.0, name="seven")
        a = tf1.placeholder(tf.float32, [], name="a/lambda")
        b = tf1.placeholder(tf.float32, [], name="b/lambda")
        tf.subtract(a, b, name="arg_lambda")
    ed = gs.open(graph)
    assert ed.function((), "seven:0")().numpy() == 7.0
    f = ed.function(["a/lambda", "b/lambda"], "arg_lambda:0")
    assert f(arg_lambda=5.0, lambda_2=3.0).numpy() == 2.0


@pytest.mark.parametrize("kind", FEEDS)
def test_keras_models(kind):
    keras, x = keras_model(kind), FEEDS[kind]
    f = gs.open(keras).function()

    def one(found):
        return found["out"] if kind == "sub" else found

    # No tape first: the branches of loops must be known to the process by themselves.
    np.testing.assert_array_equal(one(f(x)), one(keras(x)))
    with tf.GradientTape() as tape:
        y = one(f(x))
    with tf.GradientTape() as other:
        want = one(keras(x))
    named = {v.path: v.value for v in keras.trainable_variables}
    wanted = other.gradient(want, [named[v.name[:-2]] for v in f.trainable_variables])
    for a, b in zip(tape.gradient(y, f.trainable_variables), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert len(f.variables) == len([v for v in keras.variables if "seed" not in v.path])  # inference needs no seeds


def test_trained_without_touching_the_model():
    import keras

    source = keras_model("conv")
    before = [v.numpy() for v in source.variables]
    f = gs.open(source).function()
    optimizer, target = keras.optimizers.SGD(0.01), np.ones((2, 2), np.float32)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(f(FEEDS["conv"]) - target))
        optimizer.apply_gradients(zip(tape.gradient(loss, f.trainable_variables), f.trainable_variables, strict=True))
        return loss

    losses = [float(step()) for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert all((a == b.numpy()).all() for a, b in zip(before, source.variables, strict=True))


def test_in_a_keras_training_loop():
    import keras

    f = gs.open(keras_model("dense")).function()

    class Outer(keras.Model):
        """A Keras model around the function, trained by `fit`."""

        def call(self, x):
            return f(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
            self.optimizer.apply_gradients(
                zip(tape.gradient(loss, f.trainable_variables), f.trainable_variables, strict=True)
            )
            return {"loss": loss}

    outer = Outer()
    outer.compile(optimizer=keras.optimizers.SGD(0.1))
    history = outer.fit(ROWS, np.ones((3, 3), np.float32), epochs=4, verbose=0).history["loss"]
    assert history == sorted(history, reverse=True)


@pytest.mark.parametrize("make", [lambda: gs.open(keras_model("lstm")), lambda: gs.open(_NET.forward)])
def test_saved_and_loaded(tmp_path, make):
    ed = make()
    f = ed.function()
    x = FEEDS["lstm"] if "output" in ed.outputs else ROWS
    want = [t.numpy() for t in tf.nest.flatten(f(x))]
    tf.saved_model.save(f, str(tmp_path))
    del f
    gc.collect()
    loaded = tf.saved_model.load(str(tmp_path))
    for got in (loaded(x), loaded.signatures["serving_default"](tf.constant(x))):
        for a, b in zip(tf.nest.flatten(got), want, strict=True):
            np.testing.assert_array_equal(a, b)
    with tf.GradientTape() as tape:
        y = tf.add_n([tf.reduce_sum(t) for t in tf.nest.flatten(loaded(x))])
    assert all(g is not None for g in tape.gradient(y, list(loaded._variables)))
    again = gs.open(tmp_path, signature="serving_default")
    got = again.session().run(again.outputs, {again.inputs["x"]: x})
    for a, b in zip(tf.nest.flatten(got), want, strict=True):
        np.testing.assert_array_equal(a, b)


_NET = Net()


def test_there_and_back_again():
    """Opened, made a function, opened: the names stay."""
    net = Net()
    first = gs.open(net.forward)
    f = first.function()
    second = gs.open(f.__dict__["__call__"])
    assert set(first.outputs) == set(second.outputs)
    assert {"out", "layer/w", "layer/b", "StatefulPartitionedCall"} <= set(second.snapshot.names)
    got = second.session().run(second.outputs, {"x:0": ROWS})
    np.testing.assert_array_equal(got["y"], net.forward(ROWS)["y"])
    assert gs.open(f).outputs == second.outputs


def test_loops_and_calls():
    loop = Loop()
    f = gs.open(loop, function="__call__").function()
    for x in (0.3, 2.5):
        with tf.GradientTape() as tape:
            y = f(x)
        with tf.GradientTape() as other:
            want = loop(x)
        assert y.numpy() == want.numpy()
        np.testing.assert_allclose(tape.gradient(y, f.trainable_variables)[0], other.gradient(want, loop.w), rtol=1e-6)


def test_a_table_comes_along(tmp_path):
    words = Words()
    f = gs.open(words, function="__call__").function()
    given = tf.constant(["b", "?", "a"])
    want = words(given)
    tf.saved_model.save(f, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    for g in (f, loaded):
        got = g(given)
        np.testing.assert_array_equal(got[0], want[0])
        np.testing.assert_array_equal(got[1], want[1])
    # Values in a mapping say nothing of tables: what fills one in the graph does.
    vectors = words.vectors.numpy() + 1.0
    look = gs.open(words, function="__call__").function({"words": "words:0"}, "Identity:0", values={"vectors": vectors})
    np.testing.assert_array_equal(look(given), want[0] + 1.0)


@pytest.mark.parametrize("kind", ["single", "tuple", "dict", "nested", "ragged"])
def test_a_keras_model_is_a_function_that_returns_what_the_model_returns(kind):
    import keras

    class Model(keras.Model):
        def call(self, x):
            if kind == "ragged":
                return {"rows": tf.RaggedTensor.from_row_lengths(x[0], [1, 1]), "x": x}
            made = {"single": x, "tuple": (x, x + 1.0), "dict": {"b": x, "a": x + 1.0}}
            return made.get(kind, {"list": [x, {"deep": x * 2.0}], "none": None, "pair": (x + 3.0,)})

    model = Model()
    model(ROWS)
    got, want = gs.open(model).function()(ROWS), model(tf.constant(ROWS))
    tf.nest.assert_same_structure(got, want, expand_composites=True)
    for a, b in zip(*(tf.nest.flatten(t, expand_composites=True) for t in (got, want)), strict=True):
        assert a is b is None or np.array_equal(a, b)
    # Whoever names outputs gets these, in the form they are named in.
    ed = gs.open(model)
    assert isinstance(ed.function(ed.inputs, ed.outputs)(ROWS), dict)


def test_saved_models(tmp_path):
    source = keras_model("lstm")
    source.export(str(tmp_path), verbose=False)
    f = gs.open(tmp_path).function()
    np.testing.assert_array_equal(f(FEEDS["lstm"])["output_0"], source(FEEDS["lstm"]))
    assert len(f.trainable_variables) == 5
    with tf.GradientTape() as tape:
        y = f(FEEDS["lstm"])["output_0"]
    assert all(g is not None for g in tape.gradient(y, f.trainable_variables))


def test_edits_are_in_it():
    """The edited graph is what runs: here a part of another model in place of the head."""
    net = Net()
    ed = gs.open(net.forward)
    done = gained(ed)
    f = ed.function(ed.inputs, done["gained:0"])
    np.testing.assert_array_equal(f(ROWS), net.forward(ROWS)["y"] * [2.0, 3.0, 4.0])
    assert sorted(v.name for v in f.variables) == ["layer/b:0", "layer/w:0", "more/gain:0"]


def averaged():
    """Returns a graph that keeps an average of what it squares."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        mean = tf1.get_variable("mean", initializer=0.0, trainable=False, use_resource=True)
        y = tf.square(x, name="y")
        tf.raw_ops.AssignVariableOp(resource=mean.handle, value=0.5 * mean + 0.5 * tf.reduce_mean(y), name="keep")
    return graph


def test_ops_run_along_where_that_is_asked_for():
    ed = gs.open(averaged())
    f = ed.function("x:0", "y:0", also=["keep"])
    for wanted in (2.0, 3.0):
        assert f([2.0]).numpy().tolist() == [4.0]
        assert f.variables[0].numpy() == wanted
    assert ed.function("x:0", "y:0", also=[ed.op("keep")]).variables
    with refuses(SelectionError, "function(outputs='y:0')", "no op is called 'kep'", "Did you mean 'keep'?"):
        ed.function("x:0", "y:0", also=["kep"])
    assert ed.function("x:0", "y:0", also="keep").variables


def test_updates_that_do_not_run_are_named():
    ed = gs.open(averaged())
    said = r"function\(outputs='y:0'\): 'keep' keep averages or counts .* do not run.*also=\['keep'\]"
    with pytest.warns(UserWarning, match=said):
        f = ed.function("x:0", "y:0")
    assert not f.variables
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ed.function("x:0", "y:0", also="keep")


def test_keras_layers_are_ends_by_their_names():
    ed = gs.open(keras_model("conv"))
    first = keras_model("conv").layers[0].name
    f = ed.function("x", first)
    np.testing.assert_array_equal(f(x=FEEDS["conv"]), keras_model("conv").layers[0](FEEDS["conv"]))
    found = ed.function({"given": first}, [first, ed.outputs["output"]])
    assert repr(found).startswith("<GraphFunction function(given: float32")
    with refuses(SelectionError, "function(outputs='conv2d_99')", "Did you mean"):
        ed.function("x", "conv2d_99")


def test_in_a_keras_model_that_does_not_see_it():
    import keras

    f = gs.open(keras_model("conv")).function(name="inner")

    class Outer(keras.Model):
        def __init__(self):
            super().__init__(name="outer")
            self.inner, self.dense = f, keras.layers.Dense(2)

        def call(self, x):
            return self.dense(self.inner(x))

    outer = Outer()
    outer.compile("sgd", "mse")
    before = [v.numpy() for v in f.variables]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        outer(FEEDS["conv"])
    said = r"inner\(...\) in the Keras model 'outer': Keras does not track its 4 variables, for example '.*', and fit"
    with pytest.warns(UserWarning, match=said):
        outer.fit(FEEDS["conv"], np.ones((2, 2)), verbose=0)
    assert all((a == b.numpy()).all() for a, b in zip(before, f.variables, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        outer.fit(FEEDS["conv"], np.ones((2, 2)), verbose=0)


def test_keras_2_trains_it_as_a_part_of_its_layers():
    import tf_keras

    f = gs.open(keras_model("conv")).function()

    class Outer(tf_keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.inner = f

        def call(self, x):
            return self.inner(x)

    model = tf_keras.Sequential([Outer()])
    model.compile("sgd", "mse")
    before = [v.numpy() for v in f.variables]
    model.fit(FEEDS["conv"], np.zeros((2, 2)), verbose=0)
    assert all((a != b.numpy()).any() for a, b in zip(before, f.variables, strict=True))


def test_made_inside_a_graph():
    ed = gs.open(tiny())
    with tf.Graph().as_default() as around:
        f = ed.function("x:0", "z:0")
    assert not around.get_operations()
    assert f(TWO).numpy().tolist() == [[2.0, 5.0]]


def test_resource_assignments_act_on_its_own_variables():
    net = Net()
    f = gs.open(net.counted).function()
    assert [f(ROWS).numpy()[0, 0] / ROWS[0, 0] for _ in range(3)] == pytest.approx([1.0, 2.0, 3.0])
    assert net.steps.numpy() == 0


def test_loops_of_tf1_run_but_have_no_tape_gradient():
    with tf.Graph().as_default() as graph:
        tf1.disable_control_flow_v2()
        try:
            x = tf1.placeholder(tf.float32, [], name="x")
            w = tf1.get_variable("w", initializer=1.5)
            tf.identity(tf1.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * w), [0, x])[1], name="out_loop")
            tf.identity(tf1.cond(x > 1.0, lambda: x * w, lambda: x - w), name="out_cond")
        finally:
            tf1.enable_control_flow_v2()
    ed = gs.open(graph)
    f, g = ed.function("x:0", "out_loop:0"), ed.function("x:0", "out_cond:0")
    assert (f(2.0).numpy(), g(2.0).numpy(), g(0.5).numpy()) == (6.75, 3.0, -1.0)
    with tf.GradientTape() as tape:
        y = g(2.0)
    assert tape.gradient(y, g.trainable_variables)[0].numpy() == 2.0
    with refuses(PlanError, "the gradient of 'function': it has a while_loop of TF1, which TensorFlow does not",
                 "Differentiate in the graph with tf.compat.v1.gradients"), tf.GradientTape():  # fmt: skip
        f(2.0)
    with ed.graph.as_default():
        ends = [ed.graph.get_tensor_by_name(name) for name in ("out_loop:0", "x:0")]
        (slope,) = tf1.gradients(*ends)
    assert ed.function("x:0", slope)(2.0).numpy() == 1.5**3  # as the message suggests


def test_loops_of_tf1_with_state_run_from_a_file_that_does_not_say_which_ops_are_in_them(tmp_path):
    with tf.Graph().as_default() as graph:
        tf1.disable_control_flow_v2()
        try:
            x = tf1.placeholder(tf.float32, [2], name="x")

            def body(i, held):
                (_, total) = tf1.while_loop(lambda j, _: j < 2, lambda j, t: (j + 1, t + x), [0, x])
                tossed = tf.random.uniform([2], minval=1.0, maxval=1.0 + 1e-6)
                return i + 1, held.write(i, tf1.cond(i > 0, lambda: total * tossed, lambda: total))

            held = tf1.TensorArray(tf.float32, 3, element_shape=[2])
            _, held = tf1.while_loop(lambda i, _: i < 3, body, [0, held])
            tf.identity(held.stack(), name="y")
        finally:
            tf1.enable_control_flow_v2()
    (tmp_path / "f.pb").write_bytes(graph.as_graph_def().SerializeToString())
    ed = gs.open(tmp_path / "f.pb")
    wanted = np.array([[3.0, 6.0]] * 3, np.float32)
    np.testing.assert_allclose(ed.function("x:0", "y:0")([1.0, 2.0]).numpy(), wanted, rtol=1e-5)
    done = ed.save(tmp_path / "two", format="saved_model_tf2", inputs=["x:0"], outputs=["y:0"])
    assert not [note for note in done.notes if "not run" in note]
    served = tf.saved_model.load(str(tmp_path / "two")).signatures["serving_default"]
    (got,) = served(tf.constant([1.0, 2.0])).values()
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5)


def test_what_is_refused():
    ed = gs.open(tiny())
    with refuses(SelectionError, "function(outputs='q:0')", "there is no tensor 'q:0'"):
        ed.function("x:0", "q:0")
    with refuses(PlanError, "function(outputs='z:0'): it needs 'x:0', which is not an input",
                 "Type inputs=['x:0']"):  # fmt: skip
        ed.function([], "z:0")
    with refuses(SelectionError, "function(outputs='z:0')", "'k:0' does not lead to 'z:0'"):
        ed.function("k:0", "z:0")
    with refuses(PlanError, "no outputs are given", "outputs='softmax:0'"):
        ed.function("x:0")
    m = model("ref", "sgd")
    with refuses(PlanError, "writes to the reference variable", "a function has only resource variables",
                 "assign to the function's variables from outside"), m.graph.as_default():  # fmt: skip
        after = tf1.assign_add(m.w, tf.ones_like(m.w), name="more")
        gs.open(m.session).function([], after)
    with m.graph.as_default(), tf.control_dependencies([after]):
        tf.identity(m.x, name="late")
    ed = gs.open(m.session)
    with refuses(PlanError, "writes to the reference variable", "remove the control input") as caught:
        ed.function("x:0", "late:0")
    exec(caught.value.suggestion.partition("outside: ")[2], {"ed": ed})
    assert ed.function("x:0", "late:0")([[1.0, 2.0]]).numpy().tolist() == [[1.0, 2.0]]
    with tf.Graph().as_default() as graph:
        queue = tf1.FIFOQueue(3, tf.float32, name="queue")
        size = tf.identity(queue.size(), name="size")
        iterator = tf1.data.make_initializable_iterator(tf1.data.Dataset.range(3))
        tf.identity(iterator.get_next(), name="next")
    with refuses(PlanError, f"function(outputs='{size.name}'): it needs 'queue' of type FIFOQueueV2, whose state "
                 "exists only in a session", "Make the tensors that are read from it inputs instead"):  # fmt: skip
        gs.open(graph).function((), size)
    with refuses(PlanError, "it needs 'IteratorGetNext:0', which is not an input"):
        gs.open(graph).function((), "next:0")


def test_what_tensorflow_refuses(monkeypatch):
    from graphsurgeon.tf.functions import graph_function

    def refuse(*args, **options):
        raise tf.errors.InvalidArgumentError(None, None, "no such thing")

    monkeypatch.setattr(graph_function, "copy_into", refuse)
    with refuses(PlanError, "function(outputs='z:0'): TensorFlow refuses the function: ", "no such thing",
                 "Choose other inputs or outputs"):  # fmt: skip
        gs.open(tiny()).function("x:0", "z:0")


def test_a_gradient_that_only_the_graph_names_is_refused_with_what_keeps_it(tmp_path):
    with tf.Graph().as_default() as graph:

        @function.Defun(tf.float32, tf.float32, func_name="half_of_cube")
        def gradient(x, dy):
            return 0.5 * dy

        @function.Defun(tf.float32, func_name="cube", grad_func=gradient)
        def cube(x):
            return x * x * x

        @function.Defun(tf.float32, func_name="outer")
        def outer(x):
            return tf1.gradients(cube(x), x)[0]

        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf.identity(cube(x), name="y")
        tf.identity(tf1.gradients(y, x)[0], name="slope")
        tf.identity(outer(x), name="inside")
    ed = gs.open(graph)
    assert ed.function("x:0", "y:0")(2.0).numpy() == 8.0
    said = (
        "is the gradient of the function 'cube', for which the graph names 'half_of_cube'",
        "another gradient",
        "Save it in a TF1 format: format='saved_model', or a .pb or .meta file; or run it in ed.session()",
    )
    for end in ("slope", "inside"):
        with refuses(PlanError, f"function(outputs='{end}:0'): ", *said):
            ed.function("x:0", f"{end}:0")
        with refuses(PlanError, f"save('{tmp_path / 'no'}', format='saved_model_tf2'): ", *said):
            ed.save(tmp_path / "no", inputs="x:0", outputs=f"{end}:0", format="saved_model_tf2")
        for name, format in (("kept", "saved_model"), ("kept.pb", None), ("kept.meta", None)):
            path = ed.save(tmp_path / f"{end}{name}", inputs="x:0", outputs=f"{end}:0", format=format).path
            assert gs.open(path).session().run(f"{end}:0", {"x:0": 2.0}) == 0.5
    assert not (tmp_path / "no").exists()


def test_functions_of_tf1_in_a_function_are_differentiated_each_by_its_own_gradient(tmp_path):
    with tf.Graph().as_default() as graph:

        @function.Defun(tf.float32, tf.float32, func_name="hundredth")
        def hundredth(x, dy):
            return dy * x / 100.0

        @function.Defun(tf.float32, func_name="named", grad_func=hundredth)
        def named(x):
            return x * x

        @function.Defun(tf.float32, func_name="python", python_grad_func=lambda op, dy: dy * 55.0)
        def python(x):
            return x * 3.0

        @function.Defun(tf.float32, func_name="derived")
        def derived(x):
            return x * x * x, x + 1.0

        @function.Defun(tf.float32, func_name="around")
        def around(x):
            return named(x) * 2.0

        x = tf1.placeholder(tf.float32, [], name="x")
        for made in (named, python, around):
            tf.identity(made(x), name=f"by_{made.name}")
        tf.add(*derived(x), name="by_derived")
    path = gs.open(graph).save(tmp_path / "g.pb").path
    slopes = {"named": 0.02, "python": 55.0, "derived": 13.0, "around": 0.04}
    for ed, kinds in ((gs.open(graph), slopes), (gs.open(path), slopes.keys() - {"python"})):  # no file keeps Python
        for kind in kinds:
            made = ed.function("x:0", f"by_{kind}:0")
            v = tf.constant(2.0)
            with tf.GradientTape() as tape:
                tape.watch(v)
                y = made(v)
            np.testing.assert_allclose(tape.gradient(y, v), slopes[kind], rtol=1e-6)


@pytest.mark.parametrize("call", ["function", "keras_layer"])
def test_ends_that_are_wrong_are_told_as_in_a_selection_under_the_argument_they_came_in(call):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 2], name="img")
        tf.square(tf.exp(x, name="act"), name="gap")
    ed = gs.open(graph)
    make = getattr(ed, call)
    with refuses(
        SelectionError,
        f"{call}(outputs='act",
        "'gap:0' does not lead to 'act:0'",
        "Inputs and outputs seem to be swapped",
    ):
        make("gap", "act")
    with refuses(SelectionError, f"{call}(inputs='imgg')", "there is no tensor 'imgg:0'", "Did you mean 'img'?"):
        make("imgg", "gap")
    with refuses(SelectionError, f"{call}(inputs=5)", "5 is of type int, neither a text nor an object with a name"):
        make(5, "gap")
    with refuses(SelectionError, f"{call}(outputs=5)", "5 is of type int"):
        make("img", 5)
    assert make("act", "gap") is not None
