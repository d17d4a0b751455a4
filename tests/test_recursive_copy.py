"""The copier of 2016: its two examples, and what it used to get wrong."""

from __future__ import annotations

import warnings
from types import MappingProxyType

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from tests.graphs import KINDS, collections, look, model, put, run
from tests.refusal import refuses

tf1 = tf.compat.v1


def fit_a_plane():
    """Returns the example of the copier: 100 points on a plane, gradient descent with rate 0.5."""
    rng = np.random.RandomState(0)
    x_data = np.float32(rng.rand(2, 100))
    y_data = np.dot([0.100, 0.200], x_data).astype(np.float32) + np.float32(0.300)
    graph = tf.Graph()
    with graph.as_default(), tf1.variable_scope("", use_resource=False):
        b = tf1.Variable(tf.zeros([1]), name="b", use_resource=False)
        w = tf1.Variable(tf1.random_uniform([1, 2], -1.0, 1.0, seed=1), name="W", use_resource=False)
        y = tf.matmul(w, x_data) + b
        loss = tf.reduce_mean(tf.square(y - y_data))
        train = tf1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")
    return graph, w, b, train


def test_fit_a_plane():
    graph, w, b, train = fit_a_plane()
    before = look(graph)
    to_graph = tf.Graph()
    copied = {}
    copy = gs.copy_to_graph(train, to_graph, copied, "CopiedOps")
    assert look(graph) == before
    assert (copy.name, copy.type, copy.graph) == ("CopiedOps/train", "NoOp", to_graph)
    assert sorted(copied) == ["CopiedOps/W:0", "CopiedOps/b:0"]
    w1, b1 = gs.get_copied(w, to_graph, copied, "CopiedOps"), gs.get_copied(b, to_graph, copied, "CopiedOps")
    assert (w1, b1) == (copied["CopiedOps/W:0"], copied["CopiedOps/b:0"]) or w1 is copied["CopiedOps/W:0"]
    assert [v.name for v in to_graph.get_collection("variables")] == ["CopiedOps/b:0", "CopiedOps/W:0"]
    with to_graph.as_default(), tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        for _ in range(201):
            session.run(copy)
        np.testing.assert_allclose(session.run(w1), [[0.1, 0.2]], atol=1e-3)
        np.testing.assert_allclose(session.run(b1), [0.3], atol=1e-3)


def test_a_feed_and_a_constant():
    graph = tf.Graph()
    with graph.as_default():
        a = tf1.placeholder(tf.float32, name="a")
        total = tf.add(a, tf.constant(3.0), name="total")
    to_graph = tf.Graph()
    new = gs.copy_to_graph(total, to_graph, namespace="CopiedOps")
    fed = gs.get_copied(a, to_graph, namespace="CopiedOps")
    assert fed.name == "CopiedOps/a:0"
    assert run(to_graph, new, {fed: 5.0}) == 8.0


@pytest.mark.parametrize("kind", KINDS)
def test_copying_a_variable(kind):
    m = model(kind)
    to_graph, copied = tf.Graph(), {}
    new = gs.copy_variable_to_graph(m.w, to_graph, "N", copied)
    assert (new.name, new.shape, type(new)) == ("N/net/w:0", m.w.shape, type(m.w))
    assert copied == {"N/net/w:0": new} or copied["N/net/w:0"] is new
    assert gs.get_copied(m.w, to_graph, copied, "N") is new
    assert gs.get_copied(m.w, to_graph, namespace="N") is new
    assert {k: len(v) for k, v in collections(to_graph).items()} == {
        "variables": 1, "trainable_variables": 1, "N/mine": 1,
    }  # fmt: skip
    assert gs.copy_variable_to_graph(m.w, to_graph, "N", copied) is new
    assert len(to_graph.get_collection("variables")) == 1


def test_other_collections_get_the_namespace():
    m = model("ref")
    to_graph = tf.Graph()
    gs.copy_to_graph(m.train, to_graph, namespace="N")
    gs.copy_to_graph(m.loss, to_graph, namespace="N")
    names = set(to_graph.get_all_collection_keys())
    assert {"variables", "trainable_variables", "N/mine", "N/losses", "N/train_op", "N/global_step"} <= names
    assert not {"mine", "losses", "train_op"} & names


def test_the_order_of_collections_is_kept():
    graph = tf.Graph()
    with graph.as_default():
        made = [tf1.get_variable(name, [1], use_resource=False) for name in ("c", "a", "d", "b")]
        for v in (made[3], made[0], made[2], made[1]):
            graph.add_to_collection("order", v)
        total = tf.add_n([v.read_value() for v in made], name="total")
    to_graph = tf.Graph()
    gs.copy_to_graph(total, to_graph, namespace="N")
    assert [v.op.name for v in to_graph.get_collection("variables")] == ["N/c", "N/a", "N/d", "N/b"]
    assert [v.op.name for v in to_graph.get_collection("N/order")] == ["N/b", "N/c", "N/d", "N/a"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["copy_to_graph", "copy_variable_to_graph"])
def test_values_on_request(kind, way):
    m = model(kind)
    start = m.session.run(m.w)
    m.train_steps()
    now = m.session.run(m.w)
    for values, want in ((None, start), (m.session, now)):
        to_graph = tf.Graph()
        if way == "copy_to_graph":
            gs.copy_to_graph(m.y, to_graph, namespace="N", values=values)
        else:
            gs.copy_variable_to_graph(m.w, to_graph, "N", values=values)
        new = gs.get_copied(m.w, to_graph, namespace="N")
        with to_graph.as_default(), tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            np.testing.assert_array_equal(session.run(new), want)


@pytest.mark.parametrize("kind", KINDS)
def test_several_calls_build_one_copy(kind):
    m = model(kind)
    to_graph, copied = tf.Graph(), {}
    new_w = gs.copy_variable_to_graph(m.w, to_graph, "N", copied)
    new_y = gs.copy_to_graph(m.y, to_graph, copied, "N")
    new_loss = gs.copy_to_graph(m.loss, to_graph, copied, "N")
    train = gs.copy_to_graph(m.train, to_graph, copied, "N")
    assert copied["N/net/w:0"] is new_w
    names = [op.name for op in to_graph.get_operations()]
    assert len(names) == len(set(names))
    assert {n.removeprefix("N/") for n in names} <= {op.name for op in m.graph.get_operations()}
    again = gs.copy_to_graph(m.loss, to_graph, copied, "N")
    assert again is new_loss
    assert [op.name for op in to_graph.get_operations()] == names
    feed = m.feed()
    with to_graph.as_default(), tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        moved = {gs.get_copied(k, to_graph, copied, "N"): v for k, v in feed.items()}
        np.testing.assert_array_equal(session.run(new_y, moved), m.session.run(m.y, feed))
        for _ in range(3):
            session.run(train, moved)
            m.session.run(m.train, feed)
        assert session.run(new_loss, moved) == m.session.run(m.loss, feed)


def test_variables_the_caller_brings_are_used():
    m = model("ref", optimizer=None)
    to_graph = tf.Graph()
    with to_graph.as_default(), tf1.variable_scope("N/net", use_resource=False):
        mine = tf1.get_variable("w", [2, 3], initializer=tf1.ones_initializer())
    gs.copy_to_graph(m.y, to_graph, {"N/net/w:0": mine}, "N")
    assert [v.op.name for v in to_graph.get_collection("variables")] == ["N/net/w", "N/net/b"]
    assert gs.get_copied(m.w, to_graph, {"N/net/w:0": mine}, "N") is mine


def test_another_graph_into_the_same_namespace_is_refused():
    one, two, to_graph = model("ref", optimizer=None), model("ref", optimizer=None), tf.Graph()
    gs.copy_to_graph(one.y, to_graph, namespace="N")
    before = look(to_graph)
    with refuses(PlanError, "is there already and is not a copy of", "Choose another namespace"):
        gs.copy_to_graph(two.y, to_graph, namespace="N")
    assert look(to_graph) == before
    gs.copy_to_graph(two.y, to_graph, namespace="M")
    with to_graph.as_default():
        assert len(tf1.global_variables()) == 4


def test_without_a_namespace():
    m = model("resource", optimizer=None)
    to_graph = tf.Graph()
    new = gs.copy_to_graph(m.y, to_graph)
    assert new.name == m.y.name
    assert gs.get_copied(m.y, to_graph) is new
    assert set(to_graph.get_all_collection_keys()) == {"variables", "trainable_variables", "mine"}
    assert gs.copy_to_graph(m.y, to_graph) is new


@pytest.mark.parametrize("namespace", ["a/b", "a/b/"])
def test_deep_namespaces(namespace):
    m = model("ref", optimizer=None)
    to_graph = tf.Graph()
    assert gs.copy_to_graph(m.loss, to_graph, namespace=namespace).name == "a/b/loss:0"
    assert gs.get_copied(m.loss, to_graph, namespace=namespace).name == "a/b/loss:0"


def test_ops_tensors_and_variables_give_their_like():
    m = model("ref")
    to_graph = tf.Graph()
    assert isinstance(gs.copy_to_graph(m.loss, to_graph, namespace="N"), tf.Tensor)
    assert isinstance(gs.copy_to_graph(m.loss.op, to_graph, namespace="N"), tf.Operation)
    assert isinstance(gs.copy_to_graph(m.w, to_graph, namespace="N"), tf.Variable)


def test_only_ancestors_are_copied_control_inputs_included():
    graph = tf.Graph()
    with graph.as_default():
        first = tf.constant(1.0, name="first")
        with tf.control_dependencies([first]):
            second = tf.constant(2.0, name="second")
        tf.constant(3.0, name="other")
    to_graph = tf.Graph()
    new = gs.copy_to_graph(second, to_graph, namespace="N")
    assert [c.name for c in new.op.control_inputs] == ["N/first"]
    assert [op.name for op in to_graph.get_operations()] == ["N/first", "N/second"]


def test_twenty_thousand_ops_in_a_row():
    node = tf1.GraphDef()
    node.node.add(name="op0", op="Const").attr["value"].tensor.CopyFrom(tf.make_tensor_proto(1.0))
    node.node[0].attr["dtype"].type = 1
    for i in range(1, 20_000):
        made = node.node.add(name=f"op{i}", op="Neg", input=[f"op{i - 1}"])
        made.attr["T"].type = 1
    graph = gs.open(node).graph
    to_graph = tf.Graph()
    new = gs.copy_to_graph(graph.get_tensor_by_name("op19999:0"), to_graph, namespace="N")
    assert new.name == "N/op19999:0"
    assert len(to_graph.get_operations()) == 20_000


# -- what an op was made for -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_op_brings_what_its_gradients_were_made_for(kind):
    m = model(kind)
    to_graph = tf.Graph()
    gs.copy_to_graph(m.train, to_graph, namespace="N")
    new_loss = gs.get_copied(m.loss, to_graph, namespace="N")
    assert (new_loss.name, new_loss.graph) == ("N/loss:0", to_graph)
    ops = [op for op in m.graph.get_operations() if op._original_op is not None]
    assert m.loss.op in {op._original_op for op in ops}
    copied = {op.name for op in to_graph.get_operations()}
    held = [op for op in ops if f"N/{op.name}" in copied]
    assert len(held) > 5
    for op in held:
        new = to_graph.get_operation_by_name(f"N/{op.name}")
        assert new._original_op is to_graph.get_operation_by_name(f"N/{op._original_op.name}")
    plain = [op for op in m.graph.get_operations() if op._original_op is None and f"N/{op.name}" in copied]
    assert all(to_graph.get_operation_by_name(f"N/{op.name}")._original_op is None for op in plain)


def test_an_op_made_for_another_that_was_copied_before_says_so():
    m = model("ref", optimizer="sgd")
    to_graph = tf.Graph()
    gs.copy_to_graph(m.loss, to_graph, namespace="N")
    gs.copy_to_graph(m.train, to_graph, namespace="N")
    made_for_loss = [op for op in m.graph.get_operations() if op._original_op is m.loss.op]
    loss = to_graph.get_operation_by_name("N/loss")
    assert made_for_loss
    assert all(to_graph.get_operation_by_name(f"N/{op.name}")._original_op is loss for op in made_for_loss)


def test_long_rows_of_ops_made_for_each_other():
    graph = tf.Graph()
    with graph.as_default():
        ops = [tf.constant(0.0, name="op0").op]
        for i in range(1, 3_000):
            ops.append(tf.constant(0.0, name=f"op{i}").op)
            ops[-1]._original_op = ops[-2]
    to_graph = tf.Graph()
    last = gs.copy_to_graph(ops[-1], to_graph, namespace="N")
    assert len(to_graph.get_operations()) == 3_000
    assert last._original_op.name == "N/op2998"


# -- names and orders of arguments -------------------------------------------------------------------------


def test_a_text_in_the_place_of_variables_is_a_dictionary_without_names():
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, name="x")
        y = tf.add(x, 3.0, name="y")
    to_graph = tf.Graph()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        y1 = gs.copy_to_graph(y, to_graph, "CopiedOps")
        x1 = gs.get_copied(x, to_graph, "CopiedOps")
    assert (y1.name, x1.name, run(to_graph, y1, {x1: 5.0})) == ("y:0", "x:0", 8.0)
    assert [str(w.message) for w in said] == [
        f"{verb}('{name}', ..., 'CopiedOps'): a text instead of copied_variables names no variables, so the copy "
        "is one without a namespace. For one in 'CopiedOps', type namespace='CopiedOps'"
        for verb, name in (("copy_to_graph", "y:0"), ("get_copied", "x:0"))
    ]
    assert {w.filename for w in said} == {__file__}
    with pytest.warns(UserWarning, match="is one in the namespace 'M'"):
        assert gs.copy_to_graph(y, to_graph, "CopiedOps", "M").name == "M/y:0"


def test_a_text_is_the_namespace_where_a_copy_is_only_there():
    with tf.Graph().as_default():
        y = tf.constant(3.0, name="y")
    to_graph = tf.Graph()
    new = gs.copy_to_graph(y, to_graph, {}, "N")
    assert gs.get_copied(y, to_graph, "N") is new
    with pytest.warns(UserWarning, match="names no variables"), refuses(SelectionError, "no copy 'y:0' of it"):
        gs.get_copied(y, to_graph, "M")


@pytest.mark.parametrize("kind", KINDS)
def test_both_orders_are_understood_where_they_can_be_told_apart(kind):
    m = model(kind, optimizer=None)
    to_graph, copied = tf.Graph(), {}
    w = gs.copy_variable_to_graph(m.w, to_graph, copied, "N")
    assert list(copied) == ["N/net/w:0"]
    y = gs.copy_to_graph(m.y, to_graph, "N", copied)
    assert sorted(copied) == ["N/net/b:0", "N/net/w:0"]
    assert gs.get_copied(m.y, to_graph, "N", copied) is y is gs.get_copied_op(m.y, to_graph, "N")
    assert gs.get_copied_op(m.y, to_graph, copied, "N") is y
    assert gs.get_copied_op(m.w, to_graph, "N") is w
    assert gs.copy_op_to_graph(m.y, to_graph, "N") is y
    assert gs.copy_op_to_graph(m.y, to_graph, copied, "N") is y
    assert gs.copy_variable_to_graph(m.w, to_graph, scope="N") is w
    assert len(to_graph.get_collection("variables")) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_variables_are_known_by_the_name_they_are_given(kind):
    m = model(kind, optimizer="sgd")
    to_graph = tf.Graph()
    with to_graph.as_default():
        mine = tf1.Variable(tf.ones([2, 3]), name="mine", use_resource=kind == "resource")
    copied = {"N/net/w:0": mine}
    train = gs.copy_to_graph(m.train, to_graph, copied, "N")
    assert [v.op.name for v in to_graph.get_collection("variables")] == ["mine", "N/net/b", "N/global_step"]
    assert not any(op.name.startswith("N/net/w") for op in to_graph.get_operations())
    assert gs.get_copied(m.w, to_graph, copied, "N") is mine
    assert gs.get_copied(m.w.op, to_graph, copied, "N") is mine.op
    assert gs.get_copied(m.w.op.outputs[0], to_graph, copied, "N") is mine.op.outputs[0]
    with to_graph.as_default(), tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(train, {gs.get_copied(k, to_graph, copied, "N"): v for k, v in m.feed().items()})
        assert (session.run(mine) != 1.0).all()


def test_one_dictionary_may_serve_several_graphs():
    m, copied = model("ref", optimizer=None), {}
    one, two = tf.Graph(), tf.Graph()
    for graph in (one, two):
        gs.copy_to_graph(m.y, graph, copied, "N")
    for graph in (one, two):
        assert gs.get_copied(m.w, graph, copied, "N").graph is graph


def test_a_list_of_variables_counts_by_their_names_and_stays_as_it_is():
    m = model("resource", optimizer=None)
    to_graph = tf.Graph()
    brought = [gs.copy_variable_to_graph(m.w, to_graph)]
    gs.copy_op_to_graph(m.y, to_graph, brought)
    assert len(brought) == 1
    assert [v.op.name for v in to_graph.get_collection("variables")] == ["net/w", "net/b"]
    assert gs.copy_op_to_graph(m.y, to_graph, iter(brought)) is gs.get_copied_op(m.y, to_graph, "", brought[0])


def test_wrapped_results_are_the_ops_they_wrap():
    with tf.Graph().as_default():
        check = tf.debugging.Assert(tf.constant(True, name="is"), ["no"])
        with tf.control_dependencies([check]):
            y = tf.constant(1.0, name="y")
    assert not issubclass(type(check), tf.Operation)
    to_graph = tf.Graph()
    new = gs.copy_to_graph(check, to_graph, namespace="N")
    assert (type(new), new.name) == (tf.Operation, f"N/{check.name}")
    assert gs.get_copied(check, to_graph, namespace="N") is new
    assert gs.copy_to_graph(y, to_graph, namespace="N").op.control_inputs == [new]
    ed = gs.open(y.graph)
    done = ed.apply(ed.plan().copy(ed.select(name=[check]).ancestors(), to="M"))
    assert (type(done[check]), done[check].name) == (tf.Operation, f"M/{check.name}")
    assert ed.plan().add_control("is", after=check).check()[0].problem.startswith("that makes a cycle")


# -- computed again ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["context", "argument", "tensor", "both"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_reads_again_after_the_variables_have_changed(kind, way):
    m = model(kind, optimizer="sgd")
    before = look(m.graph)["collections"]
    variables = len(m.graph.get_collection("variables"))
    with m.graph.as_default():
        with tf.control_dependencies([m.train]):
            then = tf.identity(1.0, name="then")
        with tf.control_dependencies([m.train] if way in ("context", "both") else []):
            after = {"context": None, "argument": [m.train], "tensor": then, "both": m.train}[way]
            loss_after = gs.copy_to_graph(m.loss, m.graph, namespace="after", after=after)
    assert loss_after.name == "after/loss:0"
    assert len(m.graph.get_collection("variables")) == variables
    assert look(m.graph)["collections"] == before
    feed = m.feed()
    for _ in range(3):
        was, now = m.session.run([m.loss, loss_after], feed)
        assert now < was
        assert m.session.run(m.loss, feed) == now  # only one step was made
    copied = {op.name for op in m.graph.get_operations() if op.name.startswith("after/")}
    assert "after/x" not in copied
    assert gs.copy_to_graph(m.loss, m.graph, namespace="after", after=m.train if after is None else after) is loss_after


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_computed_again_can_be_read_in_a_loop_and_in_a_function(kind):
    graph = tf.Graph()
    with graph.as_default(), tf1.variable_scope("", use_resource=kind == "resource"):
        w = tf1.get_variable("w", [], initializer=tf1.ones_initializer())
        tf1.disable_control_flow_v2()
        try:
            _, old = tf1.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a + w), (0, 0.0))
        finally:
            tf1.enable_control_flow_v2()
        _, new = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a + w), (0, 0.0))
        total = tf.add(old, new, name="total")
        up = tf1.assign_add(w, 10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = gs.copy_to_graph(total, graph, namespace="again", after=up)
    with tf1.Session(graph=graph) as session:
        session.run(w.initializer)
        assert session.run(again) == 66.0
        assert session.run(total) == 66.0


def test_a_function_that_is_called_once_more_is_told():
    graph = tf.Graph()
    with graph.as_default():
        w = tf1.get_variable("w", [], use_resource=True)
        y = tf.function(lambda: w * 2.0)()
        up = tf1.assign_add(w, 10.0)
    with pytest.warns(UserWarning, match=r"calls a function once more, which may set variables again") as said:
        gs.copy_to_graph(y, graph, namespace="again", after=up)
    assert {w.filename for w in said} == {__file__}


def test_what_waits_already_keeps_waiting_and_batches_are_the_same():
    graph = tf.Graph()
    with graph.as_default():
        w = tf1.get_variable("w", [], initializer=tf1.ones_initializer(), use_resource=True)
        batch = tf1.data.make_one_shot_iterator(tf.data.Dataset.range(1, 5)).get_next()
        counted = tf1.assign_add(tf1.get_variable("n", [], tf.int64, tf1.zeros_initializer()), 1).op
        with tf.control_dependencies([counted]):
            y = tf.multiply(w.read_value(), tf.cast(batch, tf.float32), name="y")
        up = tf1.assign_add(w, 9.0)
    again = gs.copy_to_graph(y, graph, namespace="again", after=[up.op])
    waits = [set(op.control_inputs) for op in graph.get_operations() if op.name.startswith("again/")]
    assert any({up.op, counted} <= found for found in waits)
    with tf1.Session(graph=graph) as session:
        session.run([v.initializer for v in graph.get_collection("variables")])
        assert session.run(again) == 10.0
        assert session.run(again) == 38.0


def test_in_another_graph_the_context_does_not_count():
    m = model("ref", optimizer=None)
    to_graph = tf.Graph()
    with to_graph.as_default(), tf.control_dependencies([tf.no_op("first")]):
        new = gs.copy_to_graph(m.y, to_graph, namespace="N")
    assert not any(op.control_inputs for op in to_graph.get_operations())
    assert new.graph is to_graph


# -- refusals ----------------------------------------------------------------------------------------------


def again(m, thing=None, **options):
    """Asks for a copy that is computed again."""
    options = {"namespace": "again", "after": m.train} | options
    return gs.copy_to_graph(m.loss if thing is None else thing, m.graph, **options)


def other_graph(what="variable"):
    """Something of another graph."""
    with tf.Graph().as_default() as graph:
        return tf1.get_variable("other", []) if what == "variable" else tf.no_op("other") if what == "op" else graph


WRONG = {
    # thing
    "copy_variable_to_graph thing": (lambda m, g: gs.copy_variable_to_graph(m.y, g, "N"), ("not a tf.Variable",)),
    "copy_to_graph thing": (lambda m, g: gs.copy_to_graph([m.y], g, {}, "N"), ("list is not a part of a graph",)),
    "copy_to_graph eager": (lambda m, g: gs.copy_to_graph(np.float32(1), g), ("float32 is not a part of a graph",)),
    "copy_op_to_graph thing": (lambda m, g: gs.copy_op_to_graph("y:0", g, []), ("str is not a part of a graph",)),
    "get_copied thing": (lambda m, g: gs.get_copied("y:0", g), ("get_copied('y:0', ...)", "not a part of a graph")),
    "get_copied_op thing": (lambda m, g: gs.get_copied_op(None, g), ("NoneType is not a part of a graph",)),
    # graph
    "copy_variable_to_graph graph": (lambda m, g: gs.copy_variable_to_graph(m.w, "g"), ("str is not a tf.Graph",)),
    "copy_to_graph graph": (lambda m, g: gs.copy_to_graph(m.y, m.session), ("Session is not a tf.Graph",)),
    "copy_op_to_graph graph": (lambda m, g: gs.copy_op_to_graph(m.y, gs.open(g), []), ("Editor is not a tf.Graph",)),
    "get_copied graph": (lambda m, g: gs.get_copied(m.y, None), ("type NoneType is not a tf.Graph", "session.graph")),
    "get_copied_op graph": (lambda m, g: gs.get_copied_op(m.y, 3), ("int is not a tf.Graph",)),
    # namespace
    "copy_variable_to_graph namespace": (
        lambda m, g: gs.copy_variable_to_graph(m.w, g, 3, {}), ("is a text, and 3 is of type int", "for none")),
    "copy_variable_to_graph scope": (
        lambda m, g: gs.copy_variable_to_graph(m.w, g, scope=None), ("a text, and None is of type NoneType",)),
    "copy_variable_to_graph both": (
        lambda m, g: gs.copy_variable_to_graph(m.w, g, "N", scope="M"), ("both namespace='N' and scope='M'", "one of")),
    "copy_to_graph namespace": (lambda m, g: gs.copy_to_graph(m.y, g, {}, 3), ("is a text, and 3 is of type int",)),
    "copy_to_graph dicts": (lambda m, g: gs.copy_to_graph(m.y, g, {}, {}), ("is a text, and {} is of type dict",)),
    "copy_op_to_graph scope": (lambda m, g: gs.copy_op_to_graph(m.y, g, [], b"N"), ("is of type bytes",)),
    "copy_op_to_graph texts": (lambda m, g: gs.copy_op_to_graph(m.y, g, "N", 3), ("copied_variables is of type int",)),
    "get_copied namespace": (lambda m, g: gs.get_copied(m.y, g, {}, 3), ("is a text, and 3 is of type int",)),
    "get_copied_op scope": (lambda m, g: gs.get_copied_op(m.y, g, 3, []), ("is a text, and 3 is of type int",)),
    # variables
    "copy_variable_to_graph variables": (
        lambda m, g: gs.copy_variable_to_graph(m.w, g, "N", 3), ("variables is of type int", "Give a dict of name")),
    "copy_variable_to_graph text": (
        lambda m, g: gs.copy_variable_to_graph(m.w, g, "N", "M"), ("a text is given for variables", "'M'")),
    "copy_to_graph variables": (lambda m, g: gs.copy_to_graph(m.y, g, 3, "N"), ("copied_variables is of type int",)),
    "copy_to_graph values of the dict": (
        lambda m, g: gs.copy_to_graph(m.y, g, {"N/net/w:0": 3}, "N"), ("holds 'N/net/w:0': 3, not a variable",)),
    "copy_to_graph keys of the dict": (
        lambda m, g: gs.copy_to_graph(m.y, g, {3: m.w}, "N"), ("holds 3: 'net/w:0', not a variable of a graph",)),
    "copy_to_graph read only": (
        lambda m, g: gs.copy_to_graph(m.y, g, MappingProxyType({}), "N"), ("mappingproxy, to which", "Give a dict")),
    "copy_op_to_graph variables": (
        lambda m, g: gs.copy_op_to_graph(m.y, g, [m.y], "N"), ("holds 'net/y:0', not a variable of a graph",)),
    "copy_op_to_graph names": (lambda m, g: gs.copy_op_to_graph(m.y, g, ["w"], "N"), ("holds 'w', not a variable",)),
    "copy_op_to_graph tensor": (lambda m, g: gs.copy_op_to_graph(m.y, g, m.y, "N"), ("not a dict of variables",)),
    "get_copied variables": (lambda m, g: gs.get_copied(m.y, g, 3, "N"), ("copied_variables is of type int",)),
    "get_copied_op variables": (lambda m, g: gs.get_copied_op(m.y, g, "N", [3]), ("holds 3, not a variable",)),
    # values
    "copy_variable_to_graph values": (
        lambda m, g: gs.copy_variable_to_graph(m.w, g, "N", values=3), ("values=3 is not a source", "session")),
    "copy_to_graph values": (lambda m, g: gs.copy_to_graph(m.y, g, values="s"), ("values='s' is not a source",)),
    "copy_to_graph values, no variables": (
        lambda m, g: gs.copy_to_graph(m.x, g, values=3), ("values=3 is not a source of values",)),
    "copy_op_to_graph values": (
        lambda m, g: gs.copy_op_to_graph(m.y, g, [], values=tf1.Session(graph=g)), ("session of another graph",)),
    # after
    "after": (lambda m, g: again(m, after=3), ("after=3 is of type int, not an op or tensor", "after=[train]")),
    "after, in a list": (lambda m, g: again(m, after=[m.train, "w"]), ("after='w' is of type str, not an op",)),
    "after of another graph": (lambda m, g: again(m, after=other_graph("op")), ("must be of one graph",)),
    "after in another graph": (
        lambda m, g: gs.copy_to_graph(m.y, g, {}, "N", after=m.train), ("must be of one graph", "leave after out")),
    "after a variable": (lambda m, g: again(m, m.w), ("a variable cannot be recomputed", "copy_to_graph(tensor")),
    "after with values": (lambda m, g: again(m, values=m.session), ("reads the variables themselves",)),
    "after without a namespace": (lambda m, g: again(m, namespace=""), ("needs a namespace",)),
    "after, no variables": (lambda m, g: again(m, m.x), ("'x' depends on no variable",)),
    "after, sets variables": (lambda m, g: again(m, m.train), ("sets a variable, and would set it again", "Choose a")),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_arguments_of_a_wrong_kind_are_refused_before_anything_changes(case):
    m, to_graph = model("ref"), tf.Graph()
    with to_graph.as_default():
        tf.constant(1.0, name="there")
    before = look(m.graph), look(to_graph)
    call, words = WRONG[case]
    with refuses(PlanError, *words):
        call(m, to_graph)
    assert (look(m.graph), look(to_graph)) == before


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tf1.Variable(tf.ones([2, 3]), use_resource=True), "its kind is resource, not reference"),
        (lambda: tf1.Variable(tf.ones([2, 3], tf.int32), use_resource=False), "its dtype is int32, not float32"),
        (lambda: tf1.Variable(tf.ones([3, 2]), use_resource=False), "its shape is (3, 2), not (2, 3)"),
    ],
)
def test_variables_that_do_not_fit_are_refused(make, words):
    m, to_graph = model("ref", optimizer=None), tf.Graph()
    with to_graph.as_default():
        mine = make()
    before = look(to_graph)
    with refuses(PlanError, "'Variable:0' cannot replace 'net/w'", words, "or leave it out"):
        gs.copy_to_graph(m.y, to_graph, {"N/net/w:0": mine}, "N")
    assert look(to_graph) == before


def test_what_is_no_variable():
    m = model("ref", optimizer=None)
    with refuses(
        PlanError, "copy_variable_to_graph('net/y:0', ...): it is of type ", "not a tf.Variable", "copy_to_graph"
    ):
        gs.copy_variable_to_graph(m.y, tf.Graph(), "N")
    with refuses(PlanError, "copy_variable_to_graph(3, ...): it is of type int, not a tf.Variable"):
        gs.copy_variable_to_graph(3, tf.Graph(), "N")


@pytest.mark.parametrize("thing", [3, "y:0", None])
def test_what_is_nothing_of_a_graph(thing):
    words = f"copy_to_graph({thing!r}, ...): an object of type {type(thing).__name__} is not a part of a graph"
    with refuses(PlanError, words, "Give an op, a tensor or a variable"):
        gs.copy_to_graph(thing, tf.Graph(), namespace="N")


def test_what_was_not_copied():
    m = model("ref", optimizer=None)
    to_graph = tf.Graph()
    first = "Call copy_to_graph first, with the same namespace"
    with refuses(SelectionError, "get_copied('net/w:0', ...): there is no copy 'N/net/w:0' of it in that graph",
                 "Call copy_variable_to_graph first"):  # fmt: skip
        gs.get_copied(m.w, to_graph, {}, "N")
    gs.copy_to_graph(m.y, to_graph, namespace="N")
    with refuses(SelectionError, "get_copied('loss:0', ...): there is no copy 'N/loss:0' of it in that graph", first):
        gs.get_copied(m.loss, to_graph, {}, "N")
    with refuses(SelectionError, "get_copied('loss', ...): there is no copy 'N/loss' of it", first):
        gs.get_copied(m.loss.op, to_graph, {}, "N")
    for thing in (m.y, m.w, m.y.op):
        for namespace in ("M", ""):
            with refuses(SelectionError, f"get_copied({thing.name!r}, ...)", "It was copied with namespace='N': type"):
                gs.get_copied(thing, to_graph, namespace=namespace)


def test_values_that_cannot_be_had():
    m = model("ref", optimizer=None)
    to_graph = tf.Graph()
    with refuses(PlanError, "copy_to_graph(..., values=...)", "has no value in the session given"):
        gs.copy_to_graph(m.y, to_graph, namespace="N", values=tf1.Session(graph=m.graph))
    assert to_graph.get_operations() == []
    assert to_graph.get_all_collection_keys() == []


@pytest.mark.parametrize("namespace", ["a b", "a//b", "-a"])
def test_a_namespace_that_is_no_scope(namespace):
    m = model("ref", optimizer=None)
    to_graph = tf.Graph()
    words = ("copy_to_graph('net/y:0', ...)", f"namespace {namespace!r} is not a name scope", "Use letters")
    with refuses(PlanError, *words):
        gs.copy_to_graph(m.y, to_graph, namespace=namespace)
    assert to_graph.get_operations() == []


@pytest.mark.parametrize("kind", KINDS)
def test_current_values_reach_each_variable_alone_where_others_read_the_tensor_of_its_initial_value(kind):
    with tf.Graph().as_default() as graph:
        start = tf.constant([1.0, 2.0], name="start")
        values = {"a": start, "b": start, "c": 0.0}
        a, b, c = (tf1.Variable(v, name=n, use_resource=kind == "resource") for n, v in values.items())
        out = tf.add_n([a, 10.0 * b, 100.0 * start, [c, c]], name="out")
    to_graph = tf.Graph()
    with tf1.Session(graph=graph) as session:
        session.run([v.initializer for v in (a, b, c)])
        for variable, value in ((a, [3.0, 4.0]), (b, [5.0, 6.0]), (c, 0.5)):
            put(variable, value, session)
        copy = gs.copy_to_graph(out, to_graph, namespace="N", values=session)
        want = session.run(out)
    with to_graph.as_default():
        start = tf1.global_variables_initializer()
    with tf1.Session(graph=to_graph) as session:
        session.run(start)
        np.testing.assert_array_equal(session.run(copy), want)
