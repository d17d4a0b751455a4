"""Functions, layers and files that are made of loops and conds of TF1: what a session runs, each of them runs."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.random_graphs import flow_version
from tests.refusal import refuses

tf1 = tf.compat.v1
ONES = np.ones([1, 2], np.float32)


def cond_of_a_variable(resource=True, twice=True):
    """Returns a session: y = x * w for a positive x, else x - w or x."""
    with tf.Graph().as_default(), flow_version("v1"):
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        w = tf1.get_variable("w", initializer=[3.0, 4.0], use_resource=resource)
        other = (lambda: x - w) if twice else (lambda: x)
        y = tf.identity(tf1.cond(tf.reduce_sum(x) > 0.0, lambda: x * w, other), name="y")
        tf.identity(tf.convert_to_tensor(tf1.gradients(y * w, w)[0]), name="slope")
        session = tf1.Session()
        session.run(w.initializer)
    return session


def without_contexts(session, path):
    """The same graph from a file of nodes alone, which does not keep the contexts."""
    path.write_bytes(session.graph.as_graph_def().SerializeToString())
    return gs.open(path)


@pytest.mark.parametrize("file", [False, True])
@pytest.mark.parametrize(("resource", "twice"), [(True, True), (True, False), (False, True)])
def test_a_cond_that_reads_a_variable_has_a_gradient_in_a_function(resource, twice, file, tmp_path):
    session = cond_of_a_variable(resource, twice)
    ed = without_contexts(session, tmp_path / "graph.pb") if file else gs.open(session)
    f = ed.function("x:0", "y:0", values={"w": np.float32([3, 4])})

    def slope(x):
        with tf.GradientTape() as tape:
            y = f(x)
        return tape.gradient(y, f.trainable_variables[0])

    for way in (slope, tf.function(slope)):
        assert way(tf.constant(ONES)).numpy().tolist() == [1.0, 1.0]
        assert way(tf.constant(-ONES)).numpy().tolist() == ([-1.0, -1.0] if twice else [0.0, 0.0])


def test_the_gradient_of_a_cond_is_the_same_in_each_form(tmp_path):
    session = cond_of_a_variable()
    ed = gs.open(session)
    ed.save(tmp_path / "tf2", format="saved_model_tf2", inputs={"x": "x:0"}, outputs={"slope": "slope:0"})
    served = tf.saved_model.load(str(tmp_path / "tf2")).signatures["serving_default"]
    f, layer = ed.function("x:0", "slope:0"), ed.keras_layer("x:0", "slope:0")
    for x in (ONES, -ONES):
        want = session.run("slope:0", {"x:0": x}).tolist()
        fed = tf.constant(x)
        assert [way.numpy().tolist() for way in (f(fed), layer(fed), served(x=fed)["slope"])] == [want] * 3


def test_a_layer_of_a_cond_of_a_variable_is_trained():
    layer = gs.open(cond_of_a_variable()).keras_layer("x:0", "y:0")
    model = tf.keras.Sequential([tf.keras.Input((2,)), layer])
    model.compile("sgd", "mse")
    model.fit(ONES, ONES, verbose=0)
    np.testing.assert_allclose(layer.weights[0].numpy(), [3.0 - 0.01 * 2.0, 4.0 - 0.01 * 3.0], rtol=1e-6)


def test_random_ops_of_both_branches_do_not_wait_for_each_other(tmp_path):
    with tf.Graph().as_default() as graph, flow_version("v1"):
        x = tf1.placeholder(tf.float32, [2], name="x")
        drawn = lambda: tf.random.uniform([2], minval=1.0, maxval=1.0 + 1e-6)  # noqa: E731
        tf.identity(tf1.cond(tf.reduce_sum(x) > 0.0, lambda: x + drawn(), lambda: x - drawn()), name="y")
    for ed in (gs.open(graph), without_contexts(tf1.Session(graph=graph), tmp_path / "graph.pb")):
        f = tf.function(ed.function("x:0", "y:0"))
        np.testing.assert_allclose([f(tf.constant([k, k])) for k in (2.0, -2.0)], [[3.0] * 2, [-3.0] * 2], rtol=1e-5)


@pytest.mark.parametrize("file", [False, True])
def test_an_op_that_runs_along_may_be_in_a_branch(file, tmp_path):
    with tf.Graph().as_default(), flow_version("v1"):
        x = tf1.placeholder(tf.float32, [], name="x")
        n = tf1.get_variable("n", initializer=0.0, use_resource=True)

        def counted():
            return (n.assign_add(1.0, name="up"), x * 2.0)[1]

        def inner():
            return tf1.cond(x > 5.0, counted, lambda: x + 0.5, name="inner")

        tf.identity(tf1.cond(x > 0.0, inner, lambda: x - 1.0, name="outer"), name="y")
        session = tf1.Session()
        session.run(n.initializer)
    ed = without_contexts(session, tmp_path / "graph.pb") if file else gs.open(session)
    f = ed.function("x:0", "y:0", also="outer/inner/up", values={"n": np.float32(0)})
    rows = [6.0, 1.0, -1.0, 7.0]
    ways = [lambda: [f(x) for x in rows], lambda: [tf.function(f)(tf.constant(x)) for x in rows],
            lambda: list(tf.data.Dataset.from_tensor_slices(rows).map(f))]  # fmt: skip
    for times, way in enumerate(ways, 1):
        assert [float(y) for y in way()] == [12.0, 1.5, -2.0, 14.0]
        assert f.variables[0].numpy() == 2.0 * times


def test_a_function_takes_of_a_cond_only_what_its_outputs_need():
    with tf.Graph().as_default() as graph, flow_version("v1"):
        x = tf1.placeholder(tf.float32, [], name="x")
        started = tf1.get_variable("started", initializer=False, use_resource=False)

        def start():
            with tf.control_dependencies([tf1.assign(started, True)]):
                return tf.identity(x)

        tf1.cond(started, lambda: x, start, name="begin")
        w, v = (tf1.get_variable(name, initializer=2.0, use_resource=False) for name in "wv")
        ends = tf1.while_loop(lambda a, b: a < 9.0, lambda a, b: (a * w, b * v), [x, x])
        tf.identity(ends[0], name="y")
        session = tf1.Session()
        session.run(tf1.global_variables_initializer())
    ed = gs.open(session)
    inside = next(op.name for op in graph.get_operations() if op.name == "begin/pred_id")
    f = ed.function((), f"{inside}:0")
    assert [v.name for v in f.variables] == ["started:0"]
    assert not f().numpy()
    f = ed.function("x:0", "y:0")
    assert [v.name for v in f.variables] == ["w:0"]
    assert f(1.0).numpy() == session.run("y:0", {"x:0": 1.0}) == 16.0


def loop(path=None):
    """Returns an editor of y = 8 x, by a loop, from a graph or a file of its nodes."""
    with tf.Graph().as_default() as graph, flow_version("v1"):
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        tf.reshape(tf1.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * 2.0), [0, x])[1], [-1, 2], name="y")
    if path is not None:
        path.write_bytes(graph.as_graph_def().SerializeToString())
    return gs.open(graph if path is None else path)


@pytest.mark.parametrize("file", [False, True])
def test_a_layer_with_a_loop_is_refused_in_training_and_works_as_the_message_suggests(file, tmp_path):
    layer = loop(tmp_path / "graph.pb" if file else None).keras_layer("x:0", "y:0", name="turns")
    before, after = tf.keras.layers.Dense(2, kernel_initializer="ones"), tf.keras.layers.Dense(1)
    x = tf.keras.Input((2,))

    def trained(y):
        model = tf.keras.Model(x, after(y))
        model.compile("sgd", "mse")
        model.fit(ONES, ONES[:, :1], verbose=0)

    with refuses(PlanError, "the gradient of 'turns': it has a while_loop of TF1", "keras.ops.stop_gradient(layer(x))"):
        trained(layer(before(x)))
    held, before.trainable = after.kernel.numpy(), False
    trained(tf.keras.ops.stop_gradient(layer(before(x))))
    assert (after.kernel.numpy() != held).all()
    assert before.kernel.numpy().tolist() == [[1.0, 1.0]] * 2
    assert layer(tf.constant(ONES)).numpy().tolist() == [[8.0, 8.0]]


@pytest.mark.parametrize("file", [False, True])
def test_a_function_with_a_loop_is_opened(file, tmp_path):
    ed = gs.open(loop(tmp_path / "graph.pb" if file else None).function("x:0", "y:0"))
    assert ed.session().run(list(ed.opened_graph.outputs.values()), {"x:0": ONES})[0].tolist() == [[8.0, 8.0]]


def test_a_loop_in_a_called_function_of_a_file_refuses_its_gradient(tmp_path):
    loop().save(tmp_path / "tf1", inputs={"x": "x:0"}, outputs={"y": "y:0"})
    module = tf.Module()
    module.loaded = tf.saved_model.load(str(tmp_path / "tf1"))
    served = module.loaded.signatures["serving_default"]
    module.run = tf.function(lambda x: served(x=x)["y"] + 1.0, [tf.TensorSpec([None, 2], tf.float32, name="x")])
    tf.saved_model.save(module, str(tmp_path / "tf2"), signatures=module.run)
    f = gs.open(tmp_path / "tf2").function()
    x = tf.constant(ONES)
    assert f(x)["output_0"].numpy().tolist() == [[9.0, 9.0]]
    with refuses(PlanError, "it has a while_loop of TF1, which TensorFlow does not"), tf.GradientTape() as tape:
        tape.watch(x)
        f(x)
