"""What an editor explains: why, why not, what blocks, and what looks alike."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError
from tests.graphs import model, tiny
from tests.refusal import refuses

tf1 = tf.compat.v1


def test_why_and_why_not_by_name_and_by_object():
    made = model("ref", "adam")
    ed = gs.open(made.graph)
    path = ed.why(made.w, made.loss)
    assert (path.op, path.end) == ("net/w", "loss")
    assert path.names[1] == "net/w/read"
    assert ed.why("net/w/Adam", ed.select(name="train").ancestors()).end == "train"
    assert ed.why_not("net/w/Adam", made.loss).reason == "apart"
    assert ed.why_not(made.loss, made.y).reason == "below"
    cut = ed.why_not("net/w", ed.select(inputs="net/y:0", outputs="loss:0"))
    assert (cut.reason, cut.tensors) == ("cut", ("net/y:0",))


def test_what_holds_the_op_of_a_model():
    made = model("resource", None)
    ed = gs.open(made.graph)
    held = ed.blocks("net/w")
    assert ("net/w", "trainable_variables") in held.collections
    assert ("net/w", "mine") in held.collections
    assert {reader for _, reader, _ in held.data} >= {"net/w/Assign", "net/MatMul/ReadVariableOp"}
    assert ed.blocks(made.w.initializer).variables == (("net/w/Assign", "net/w"),)
    assert not ed.blocks(ed.select(name=["loss*", "SquaredDifference"])).data


def test_a_loop_is_held_by_what_stays_of_it():
    with tf.Graph().as_default() as graph:
        tf1.disable_control_flow_v2()
        try:
            tf1.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
        finally:
            tf1.enable_control_flow_v2()
    ed = gs.open(graph)
    assert ed.blocks("while/add").contexts
    assert not ed.blocks(ed.select(scope="while")).contexts


def test_what_is_to_be_placed_with_an_op():
    with tf.Graph().as_default() as graph:
        a = tf.constant(1.0, name="a")
        with tf1.colocate_with(a.op):
            tf.constant(2.0, name="b")
    assert gs.open(graph).blocks("a").colocated == (("a", "b"),)


def test_patterns_of_every_kind():
    ed = gs.open(tiny())
    assert ed.match(lambda x: tf.square(x))[0].names == ["y"]
    assert ed.match(ed.select(name="y"))[0].names == ["y"]
    with tf.Graph().as_default() as small:
        tf.square(tf1.placeholder(tf.float32, name="v"), name="s")
    for given in (small, gs.open(small), gs.open(small).snapshot):
        assert ed.match(given).table() == [{"s": "y"}]
    with refuses(SelectionError, "match(3)", "int is not a pattern", "a function of tensors"):
        ed.match(3)


def test_conditions_by_op():
    ed = gs.open(tiny())

    def square(x):
        return tf.square(x, name="s")

    assert ed.match(square, where={"s": {"shape": (None, 2), "dtype": "float32"}})
    assert not ed.match(square, where={"s": lambda op: op.name == "other"})
    assert not ed.match(square, within=ed.select(name="z"))
    with refuses(SelectionError, "where('t')", "no op is called 't'"):
        ed.match(square, where={"t": {"dtype": "float32"}})


def test_in_a_network_of_keras():
    import keras

    keras.utils.set_random_seed(1)
    net = keras.Sequential([keras.layers.Input([4]), *(keras.layers.Dense(4, activation="relu") for _ in range(5))])
    ed = gs.open(net, inline=True)
    matrix = tf.TensorSpec([None, None], tf.float32)
    found = ed.match(lambda x, w, b: tf.nn.relu(tf.matmul(x, w) + b), inputs={"x": matrix, "w": matrix})
    if not found:
        found = ed.match(
            lambda x, w, b: tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b)), inputs={"x": matrix, "w": matrix}
        )
    assert len(found) == 5, str(found)
