"""Freezing: whatever reads a variable, in a loop, a branch or a function, gives the same with a constant there."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.conversion_verdict import Unconvertible
from tests.refusal import refuses

tf1 = tf.compat.v1
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)
HELD = {"VarHandleOp", "VariableV2", "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape"}


def frozen(path):
    """Returns a frozen GraphDef; it holds no variable, nor what reads one, at any depth."""
    graph_def = tf1.GraphDef.FromString(path.read_bytes())
    nodes = [*graph_def.node, *(node for f in graph_def.library.function for node in f.node_def)]
    assert not HELD & {node.op for node in nodes}
    assert not any(arg.type == tf.resource for f in graph_def.library.function for arg in f.signature.input_arg)
    return graph_def


def plainly(graph_def, fetches, feeds):
    """Runs a GraphDef in plain TensorFlow."""
    with tf.Graph().as_default(), tf1.Session() as session:
        tf1.import_graph_def(graph_def, name="")
        return session.run(fetches, feeds)


# -- functions of TF2 ------------------------------------------------------------------------------

TABLE = tf.Variable(ROWS, name="table")
VALUES = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
CUBE = tf.Variable(VALUES, name="cube")
WORD = tf.Variable("ab", name="word")
IDS = [tf.TensorSpec([None], tf.int32, name="i")]


@tf.function
def looked_up(i):
    return tf.gather(TABLE, i)


@tf.function(input_signature=IDS)
def gathers(i):
    return looked_up(i) * 2.0


@tf.function(input_signature=IDS)
def reads_in_branches(i):
    return tf.cond(tf.reduce_sum(i) > 2, lambda: TABLE.read_value() + 1.0, lambda: TABLE[:2])


@tf.function(input_signature=IDS)
def gathers_in_a_loop(i):
    first = tf.zeros([tf.shape(i)[0], 3])
    total = tf.while_loop(lambda k, a: k < 3, lambda k, a: (k + 1, a + looked_up(i)), [0, first])[1]
    return tf.cond(tf.reduce_sum(total) > 3.0, lambda: looked_up(i) + total, lambda: total)


@tf.function(input_signature=IDS)
def conditions_read(i):
    return tf.while_loop(lambda k: k < TABLE[1, 1], lambda k: (k + CUBE[0, 0, 1],), [tf.cast(i[0], tf.float32)])


@tf.function(input_signature=IDS)
def chooses(i):
    return tf.switch_case(i[0], [lambda: TABLE[0], lambda: TABLE[1] * 2.0, lambda: tf.gather_nd(TABLE, [2])])


@tf.function(input_signature=IDS)
def in_batches(i):
    return tf.gather(CUBE, tf.stack([i, i])[:, :2], batch_dims=1) + tf.cast(tf.size(CUBE), tf.float32)


@tf.function
def in_batches_within(i):
    return tf.gather(CUBE, tf.stack([i, i])[:, :2], batch_dims=1)


@tf.function(input_signature=IDS)
def calls_in_batches(i):
    return in_batches_within(i)


@tf.function(input_signature=IDS)
def asks_for_shapes(i):
    return tf.cond(i[0] > 0, lambda: tf.shape(TABLE)[0], lambda: tf.raw_ops.VariableShape(input=TABLE.handle)[1])


@tf.function(input_signature=IDS)
def repeats_a_text(i):
    return tf.while_loop(lambda k, a: k < i[0], lambda k, a: (k + 1, tf.strings.join([a, WORD])), [0, ""])[1]


@tf.function(input_signature=IDS)
def nested(i):
    def outer(k, a):
        inner = tf.while_loop(lambda n, b: n < 2, lambda n, b: (n + 1, b + tf.reduce_sum(looked_up(i))), [0, a])[1]
        return k + 1, tf.cond(inner > 40.0, lambda: inner - CUBE[0, 1, 1], lambda: inner)

    return tf.while_loop(lambda k, a: k < 3, outer, [0, 0.0])[1]


FUNCTIONS = [gathers, reads_in_branches, gathers_in_a_loop, conditions_read, chooses, in_batches, calls_in_batches,
             asks_for_shapes, repeats_a_text, nested]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.python_function.__name__)
@pytest.mark.parametrize("ids", [[0, 1], [2, 1]])
def test_functions_of_tf2(function, ids, tmp_path):
    want = [t.numpy() for t in tf.nest.flatten(function(tf.constant(ids)))]
    ed = gs.open(function)
    ed.save(tmp_path / "f.pb", outputs=list(ed.outputs.values()), freeze=True, values="initial")
    got = plainly(frozen(tmp_path / "f.pb"), list(ed.outputs.values()), {"i:0": ids})
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_function_that_is_called_with_two_variables_is_frozen_for_each(tmp_path):
    other = tf.Variable(np.int64([7, 8, 9, 10]), name="other")

    @tf.function(input_signature=IDS)
    def both(i):
        return looked_up(i), tf.gather(other, i), looked_up(i + 1)

    ed = gs.open(both)
    ed.save(tmp_path / "f.pb", outputs=ed.outputs, freeze=True, values="initial")
    got = plainly(frozen(tmp_path / "f.pb"), list(ed.outputs.values()), {"i:0": [1]})
    assert [a.tolist() for a in got] == [[[3, 4, 5]], [8], [[6, 7, 8]]]


def test_a_frozen_graph_can_be_differentiated(tmp_path):
    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32, name="x")])
    def loop(x):
        return tf.while_loop(lambda k, a: k < 3, lambda k, a: (k + 1, tf.tanh(a * TABLE[1])), [0, x])[1]

    ed = gs.open(loop)
    ed.save(tmp_path / "f.pb", outputs=ed.outputs, freeze=True, values="initial")
    x = tf.constant([0.1, 0.2, 0.3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loop(x)
    want = tape.gradient(y, x).numpy()
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        tf1.import_graph_def(frozen(tmp_path / "f.pb"), name="")
        (end,) = ed.outputs.values()
        slope = tf1.gradients(graph.get_tensor_by_name(end), graph.get_tensor_by_name("x:0"))
        np.testing.assert_allclose(session.run(slope[0], {"x:0": [0.1, 0.2, 0.3]}), want, rtol=1e-6)


# -- control flow of TF1 ---------------------------------------------------------------------------


def of_tf1(kind, resource):
    """Returns a graph of TF1 whose loops and conds read variables."""
    graph = tf.Graph()
    tf1.disable_control_flow_v2()
    try:
        with graph.as_default():
            x = tf1.placeholder(tf.float32, [None, 3], name="x")
            w = tf1.get_variable("w", initializer=np.float32([[0.1, 0.2, 0.3]] * 3), use_resource=resource)
            cube = tf1.get_variable("cube", initializer=VALUES, use_resource=resource)

            def step(i, a):
                if kind == "batches":
                    taken = tf.gather(cube, tf.stack([[i], [i]]), batch_dims=1)
                    return i + 1, a + tf.reduce_sum(taken)
                return i + 1, tf.tanh(tf.matmul(a, w))

            if kind == "cond":
                y = tf1.cond(tf.reduce_sum(x) > 0, lambda: tf.matmul(x, w), lambda: x - tf.gather(w, 0))
            else:
                y = tf.while_loop(lambda i, a: i < 3, step, [0, x])[1]
            if kind == "differentiated":
                tf.identity(tf1.gradients(y, x)[0], name="slope")
            tf.identity(y, name="y")
    finally:
        tf1.enable_control_flow_v2()
    return graph


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("kind", ["loop", "cond", "batches", "differentiated"])
def test_control_flow_of_tf1(kind, resource, tmp_path):
    ed = gs.open(of_tf1(kind, resource))
    ends = ["y:0", "slope:0"] if kind == "differentiated" else ["y:0"]
    ed.save(tmp_path / "f.pb", outputs=ends, freeze=True, values="initial")
    graph_def = frozen(tmp_path / "f.pb")
    for x in (np.ones((2, 3), np.float32), -np.ones((1, 3), np.float32)):
        want = ed.session().run(ends, {"x:0": x})
        for a, b in zip(plainly(graph_def, ends, {"x:0": x}), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
    # TensorFlow's own converter gives the same, where it can.
    convert = inspect.unwrap(tf1.graph_util.convert_variables_to_constants)
    if kind != "batches":
        theirs = convert(ed.session(), ed.graph.as_graph_def(), [end.partition(":")[0] for end in ends])
        for a, b in zip(plainly(theirs, ends, {"x:0": x}), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_keras_lstm_in_a_graph_as_an_estimator_builds_it(tmp_path):
    """An Estimator builds Keras layers in a graph of TF1, in a session, with control flow of TF1."""
    rows = np.random.RandomState(0).rand(2, 5, 4).astype(np.float32)
    tf1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = tf1.placeholder(tf.float32, [None, 5, 4], name="x")
            kernel = tf1.get_variable("lstm/kernel", initializer=rows[0, :4, :] @ np.ones((4, 12), np.float32) / 9,
                                      use_resource=True)  # fmt: skip
            again = tf1.get_variable("lstm/recurrent", initializer=np.full([3, 12], 0.1, np.float32),
                                     use_resource=True)  # fmt: skip
            first = tf.zeros([tf.shape(x)[0], 3])
            read = tf.TensorArray(tf.float32, 5).unstack(tf.transpose(x, [1, 0, 2]))

            def step(t, h, c, out):
                z = tf.matmul(read.read(t), kernel) + tf.matmul(h, again)
                i, f, g, o = tf.split(z, 4, 1)
                c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
                h = tf.sigmoid(o) * tf.tanh(c)
                return t + 1, h, c, out.write(t, h)

            out = tf.TensorArray(tf.float32, 5, element_shape=[None, 3])
            _, h, _, out = tf.while_loop(lambda t, *_: t < 5, step, [0, first, first, out])
            tf.identity(tf.transpose(out.stack(), [1, 0, 2]), name="all")
            tf1.train.AdamOptimizer().minimize(tf.reduce_sum(tf.identity(h, name="last")))
    finally:
        tf1.enable_control_flow_v2()
    ed = gs.open(graph)
    want = ed.session().run(["last:0", "all:0"], {"x:0": rows})
    ed.save(tmp_path / "f.pb", outputs=["last:0", "all:0"], freeze=True, values="initial")
    for a, b in zip(plainly(frozen(tmp_path / "f.pb"), ["last:0", "all:0"], {"x:0": rows}), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_wide_and_deep_model_whose_branches_read_variables(tmp_path):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.wide = tf.Variable(np.linspace(-1, 1, 20, dtype=np.float32).reshape(20, 1), name="wide/weights")
            self.embedding = tf.Variable(np.linspace(0, 1, 40, dtype=np.float32).reshape(10, 4), name="deep/embedding")
            self.dense = tf.Variable(np.ones((4, 1), np.float32), name="deep/dense")

        @tf.function
        def deep(self, ids):
            return tf.matmul(tf.reduce_mean(tf.gather(self.embedding, ids), 1), self.dense)

        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.int32, name="ids"),
                                      tf.TensorSpec([], tf.bool, name="wide_only")])  # fmt: skip
        def __call__(self, ids, wide_only):
            logits = tf.reduce_sum(tf.nn.embedding_lookup(self.wide, ids), 1)
            logits += tf.cond(wide_only, lambda: self.dense.read_value()[:1] * 0.0, lambda: self.deep(ids))
            return tf.cond(wide_only, lambda: self.wide.read_value(), lambda: logits)

    model = Model()
    ed = gs.open(model, function="__call__")
    ed.save(tmp_path / "f.pb", outputs=ed.outputs, freeze=True, values="initial")
    (end,) = ed.outputs.values()
    for only in (True, False):
        ids = [[1, 2, 3], [4, 5, 6]]
        got = plainly(frozen(tmp_path / "f.pb"), end, {"ids:0": ids, "wide_only:0": only})
        np.testing.assert_allclose(got, model(tf.constant(ids), tf.constant(only)), rtol=1e-6)


# -- what cannot be frozen -------------------------------------------------------------------------


def test_what_writes_in_a_function_is_named(tmp_path):
    @tf.function
    def counted(i):
        return TABLE.assign_add(tf.ones_like(TABLE))[0] * tf.cast(i[0], tf.float32)

    @tf.function(input_signature=IDS)
    def outer(i):
        return counted(i)

    ed = gs.open(outer)
    with refuses(Unconvertible, "'AssignAddVariableOp' (AssignAddVariableOp) in a function that "
                 "'StatefulPartitionedCall' calls needs a variable, and freezing would make it a constant: 'table'.\n"
                 "Keep the variables: save a .meta file or a SavedModel."):  # fmt: skip
        ed.save(tmp_path / "f.pb", outputs=ed.outputs, freeze=True, values="initial")
    assert list(tmp_path.iterdir()) == []


def test_a_whole_graph_is_frozen_without_what_only_makes_its_variables(tmp_path):
    ed = gs.open(of_tf1("loop", True))
    report = ed.save(tmp_path / "f.pb", freeze=True, values="initial")
    graph_def = frozen(tmp_path / "f.pb")
    assert not any("Initializer" in node.name or node.name.endswith("Assign") for node in graph_def.node)
    assert report.omitted_ops == ed.snapshot.size - len({n.name for n in graph_def.node} & set(ed.snapshot.names))
    x = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(plainly(graph_def, "y:0", {"x:0": x}), ed.session().run("y:0", {"x:0": x}), rtol=1e-6)


def assigning(kind):
    """An editor of a model that assigns to `last` as it runs, and what it gives for t = 1 without that."""
    legacy = kind in ("cond of TF1", "reference")
    if legacy:
        tf1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            t = tf1.placeholder(tf.float32, [], name="t")
            last = tf1.get_variable("last", initializer=5.0, use_resource=kind != "reference")

            def assigned():
                with tf.control_dependencies([tf1.assign(last, t)]):
                    return tf.identity(last if kind == "read after" else t)

            if legacy or kind == "cond of TF2":
                y = tf.cond(tf.not_equal(t, last, name="differs"), assigned, lambda: last + 2.0, name="cond")
            elif kind == "waited for":
                with tf.control_dependencies([tf1.assign(last, t)]):
                    y = tf.identity(t + 6.0)
            else:
                y = assigned()
            tf.multiply(y, 3.0, name="y")
            session = tf1.Session(graph=graph)
            session.run(tf1.global_variables_initializer())
    finally:
        tf1.enable_control_flow_v2()
    return gs.open(session)


@pytest.mark.parametrize("kind", ["cond of TF1", "reference", "cond of TF2", "waited for"])
def test_an_assignment_that_prevents_freezing_is_taken_out_as_suggested(kind, tmp_path):
    ed, path = assigning(kind), tmp_path / "f.pb"
    with pytest.raises(Unconvertible) as refused:
        ed.save(path, outputs="y:0", freeze=True)
    assert refused.value.problem.endswith("needs a variable, and freezing would make it a constant: 'last'")
    code, _, rest = refused.value.suggestion.partition(" removes ")
    assert rest.endswith("'; or keep the variables: save a .meta file or a SavedModel")
    assert not path.exists()
    ed.apply(eval(code, {"ed": ed}))
    ed.save(path, outputs="y:0", freeze=True)
    graph_def = frozen(path)
    fed = {"t:0": 1.0} if any(node.name == "t" for node in graph_def.node) else {}
    assert plainly(graph_def, "y:0", fed) == 21.0


def test_a_read_after_an_assignment_keeps_its_variable(tmp_path):
    ed = assigning("read after")
    with refuses(Unconvertible, "'last'", "Keep the variables: save a .meta file or a SavedModel."):
        ed.save(tmp_path / "f.pb", outputs="y:0", freeze=True)
    ed.save(tmp_path / "f.meta", outputs="y:0")
    assert gs.open(tmp_path / "f.meta").session().run("y:0", {"t:0": 1.0}) == 3.0


def test_what_freezing_refuses_is_asked_of_the_recipe_that_was_called():
    with refuses(Unconvertible, "frozen(): ", "ed.plan().resolve_condition('differs:0', False) removes"):
        gs.recipes.frozen(assigning("cond of TF1"), "y:0")
