"""print(ed): a graph in a few lines."""

from __future__ import annotations

import keras
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.editor.export import summary
from graphsurgeon.graph.graph import Graph
from tests.graphs import model, tf1, tiny
from tests.plain import chain, net


def test_a_tiny_graph():
    assert str(gs.open(tiny())).splitlines() == [
        "graph: 5 ops, 3 edges",
        "  inputs   x  float32 (?, 2)",
        "           k  int32 (?,)",
        "  outputs  z  float32 (?, 2)",
        "  scopes   z/  2 ops",
    ]


def test_variables_collections_and_types():
    text = str(gs.open(model("resource").graph, title="net"))
    assert text.startswith("net: ")
    assert "  variables    net/w  float32 (2, 3)" in text
    assert "  collections  mine  2" in text or "trainable_variables  2" in text
    assert "  op types: " in text
    assert "more" in text


def test_control_edges_and_orphans():
    text = summary(net(), frozenset({"a"}))
    assert text.splitlines()[0] == "net: 11 ops, 9 edges, 2 control edges"
    assert text.splitlines()[-1] == "  1 orphan left by undo"


def test_an_empty_graph():
    assert str(gs.open(tf.Graph())) == "graph: 0 ops, 0 edges"
    assert summary(Graph.from_ops([("a", "Const", [])], title="one")).splitlines()[0] == "one: 1 op, 0 edges"


def test_large_numbers_are_grouped_and_it_stays_short():
    text = summary(chain(20_000))
    assert "20,001 ops, 20,000 edges" in text
    assert len(text.splitlines()) < 40


def outputs(graph):
    """Returns the lines that name the outputs, without what is known of them."""
    lines = str(graph if isinstance(graph, gs.Editor) else gs.open(graph)).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("  outputs"))
    last = next((i for i, line in enumerate(lines) if i > first and not line.startswith("   ")), len(lines))
    return [line.removeprefix("  outputs").split()[0] for line in lines[first:last]]


@pytest.mark.parametrize("old", [True, False])
def test_what_a_loop_or_cond_leaves_unread_is_no_output(old):
    (tf1.disable_control_flow_v2 if old else tf1.enable_control_flow_v2)()
    try:
        with tf.Graph().as_default() as graph:
            x = tf1.placeholder(tf.float32, [], name="x")
            y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x], name="loop")[1]
            z = tf.cond(x > 1.0, lambda: y + 1.0, lambda: y - 1.0, name="choice")
            tf.identity(z, name="z")
    finally:
        tf1.enable_control_flow_v2()
    assert outputs(graph) == ["z"]


def test_results_that_nobody_reads_are_outputs_where_all_are_so():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        tf.cond(x > 1.0, lambda: (x + 1.0, x + 2.0), lambda: (x, x), name="choice")
    assert len(outputs(graph)) == 2


def test_helpers_of_gradients_come_after_the_answers():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        tf.shape(x, name="size")
        tf.reduce_sum(x, name="answer")
    assert outputs(graph) == ["answer", "size"]


def test_what_training_leaves_unread_comes_last():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        with tf.name_scope("gradients"):
            tf.identity(tf.square(x), name="left")
        tf.shape(x, name="size")
        tf.reduce_sum(x, name="answer")
    assert outputs(graph) == ["answer", "size", "…"]


def test_empty_collections_are_not_shown():
    with tf.Graph().as_default() as graph:
        tf1.add_to_collection("mine", tf.constant(1.0))
        graph.get_collection_ref("nothing")
    assert "mine  1" in str(gs.open(graph))
    assert "nothing" not in str(gs.open(graph))


def test_names_from_strangers_are_only_text():
    g = Graph.from_ops([("a\n<b>", "Placeholder", [])])
    assert "<b>" in summary(g)


def test_a_switch_that_has_lost_an_input_is_said_like_any_other():
    g = Graph.from_ops([("p", "Const", []), ("s", "Switch", ["p"]), ("t", "Identity", ["s:1"])])
    assert "outputs  t" in summary(g)


def test_the_ends_of_a_keras_model_are_told_by_its_layers():
    x = keras.Input((5, 3), name="x")
    y = keras.layers.Dense(1, name="head")(keras.layers.LSTM(4, name="memory")(x))
    ed = gs.open(keras.Model(x, y, name="net"))
    lines = [" ".join(line.split()) for line in str(ed).splitlines()]
    assert lines[1:3] == ["inputs x float32 (?, 5, 3)", "outputs head (Identity) float32 (?, 1)"]
    assert "layers 4 (InputLayer, LSTM, LSTMCell, Dense)" in lines
    ed.apply(ed.plan().copy(ed.select(layer="head"), to="again", unmapped="placeholder"))
    outputs = str(ed).partition("outputs")[2].partition("scopes")[0]
    assert "again/" in outputs  # what was added is one more output


class Body(tf.Module):
    """A module whose body makes what it does not return."""

    @tf.function(input_signature=[tf.TensorSpec([None, 3], name="x")])
    def __call__(self, x):
        tf.reduce_sum(x, name="loose")
        return {"y": tf.nn.relu(tf.split(tf.exp(x), [1, 2], 1)[0])}


def test_of_a_function_its_results_are_the_outputs():
    ed = gs.open(Body())
    assert outputs(ed) == ["Identity"]
    ed.apply(ed.plan().copy(ed.select(outputs="Exp"), to="again"))
    assert outputs(ed) == ["Identity", "again/Exp"]  # what was added is one more
    ed.apply(ed.plan().rename({"Identity": "result", "again": "twice"}))
    assert outputs(ed) == ["result", "twice/Exp"]
    ed.apply(ed.plan().remove("result"))
    assert {"Relu", "loose", "twice/Exp"} == {*outputs(ed)}  # what it returned is gone


def test_ops_inside_of_calls_are_counted():
    graph = tf.Graph()
    with graph.as_default():
        squared = tf.function(lambda v: tf.square(v), autograph=False)  # Square and Identity
        twice = tf.function(lambda v: squared(squared(v)), autograph=False)  # two calls and Identity
        twice(tf.constant([1.0], name="x"))
    assert "  calls    1 op with 7 ops inside" in str(gs.open(graph))
    assert "calls " not in str(gs.open(tiny()))


def test_what_saves_and_trains_is_counted_beside_the_ends_of_the_model():
    m = model("resource")
    with m.graph.as_default():
        tf1.train.Saver()
    text = str(gs.open(m.graph))
    assert "save/" not in text.partition("scopes")[0]
    assert "gradients/" not in text.partition("scopes")[0]
    assert "… 2 of saving\n" in text
    assert "of saving and training\n" in text
    with tf.Graph().as_default() as graph:
        tf1.get_variable("w", [2])
        tf1.train.Saver()
    assert "save/filename" in str(gs.open(graph))  # there are no others
