"""Patterns from plain Python functions, found in real graphs."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from graphsurgeon.graph.pattern import Pattern
from graphsurgeon.graph.pattern_match import match
from graphsurgeon.tf.edit.patterns import array_of, as_pattern, pattern_of
from tests.graphs import look
from tests.refusal import refuses

tf1 = tf.compat.v1
MATRIX = tf.TensorSpec([None, None], tf.float32)


def dense(x, w, b):
    return tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w, name="product"), b), name="act")


def net() -> tf.Graph:
    """Returns three dense layers, the last without Relu, and a swish written the other way round."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        for i in range(3):
            with tf1.variable_scope(f"layer{i}"):
                w = tf1.get_variable("w", [4, 4])
                x = tf.nn.bias_add(tf.matmul(x, w, transpose_b=i == 1), tf1.get_variable("b", [4]))
                x = tf.nn.relu(x) if i < 2 else x
        tf.multiply(tf.sigmoid(x), x, name="swish")
        tf.add(x * 0.5, 3.0, name="scaled")
    return graph


def find(function, **about):
    return match(gs.open(net()).snapshot, pattern_of(function, **about))


def test_a_layer_is_found_wherever_it_is():
    found = find(dense, inputs={"x": MATRIX, "w": MATRIX})
    assert [m.ops["act"] for m in found] == ["layer0/Relu", "layer1/Relu"]
    assert found[1].inputs == {
        "x": "layer0/Relu:0",
        "w": "layer1/MatMul/ReadVariableOp:0",
        "b": "layer1/BiasAdd/ReadVariableOp:0",
    }
    assert found[1].outputs == {"act": "layer1/Relu:0"}
    assert found[1].external_consumers == ()


def test_conditions_by_name():
    wanted = pattern_of(dense, {"x": MATRIX, "w": MATRIX})
    g = gs.open(net()).snapshot
    turned = wanted.where("product", attributes={"transpose_b": True, "T": "float32"})
    assert [m.ops["act"] for m in match(g, turned)] == ["layer1/Relu"]
    assert match(g, wanted.where("product", attributes={"T": tf.float32}, shape=(None, 4)))
    no = match(g, wanted.where("product", attributes={"T": "float64"}))
    assert "does not fit: its attribute 'T' is not 'float64'" in str(no.best_partial)
    assert match(g, wanted.where("act", lambda op: op.name.startswith("layer0/")))[0].names[-1] == "layer0/Relu"


def test_attributes_of_all_kinds():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [1, 8, 8, 3], name="x")
        tf.nn.conv2d(x, tf.zeros([3, 3, 3, 4]), 2, "SAME", name="conv")
        tf.nn.leaky_relu(x, 0.3, name="leaky")
    g = gs.open(graph).snapshot

    def has(op: str, **attributes) -> bool:
        inner = Pattern.from_selection(gs.open(graph).select(name=op))
        return bool(match(g, inner.where(op, attributes=attributes)))

    assert has("conv", strides=[1, 2, 2, 1], padding="SAME", data_format=b"NHWC", use_cudnn_on_gpu=True)
    assert not has("conv", strides=[1, 2, 2])
    assert not has("conv", strides=[1, 1, 1, 1])
    assert has("conv", explicit_paddings=[])
    assert has("leaky", alpha=0.3)
    assert not has("leaky", alpha=0.31)
    assert has("x", shape=(1, 8, 8, 3), dtype="float32")
    assert not has("x", shape=(1, 8, 8, None))


def test_the_two_inputs_of_a_product_in_any_order():
    assert [m.ops["mul"] for m in find(lambda x: x * tf.sigmoid(x))] == ["swish"]


def test_constants():
    def half(x):
        return tf.add(x * 0.5, 3.0, name="end")

    def third(x):
        return tf.add(x * 0.3, 3.0, name="end")

    assert find(half)
    assert find(third)
    assert find(half, constants="equal")
    no = find(third, constants="equal")
    assert "it has another value" in str(no.best_partial)
    wild = find(third, constants="input")
    assert ["mul", "scaled"] in [m.names for m in wild]
    assert ["layer0/w/Initializer/random_uniform/mul", "layer0/w/Initializer/random_uniform"] in [m.names for m in wild]


def test_equal_constants_may_be_written_in_two_ways():
    def graph(proto) -> tf.Graph:
        definition = tf1.GraphDef()
        node = definition.node.add(name="c", op="Const")
        node.attr["dtype"].type = tf.float32.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(proto)
        with tf.Graph().as_default() as made:
            tf.import_graph_def(definition, name="")
            tf.exp(made.get_tensor_by_name("c:0"), name="e")
        return made

    short = tf.make_tensor_proto(0.0, tf.float32, [2, 2])
    short.ClearField("tensor_content")
    short.float_val[:] = [1.5]
    long = tf.make_tensor_proto(np.full([2, 2], 1.5, np.float32))
    long.ClearField("float_val")
    long.tensor_content = np.full([2, 2], 1.5, np.float32).tobytes()
    a, b = gs.open(graph(short)).snapshot, gs.open(graph(long)).snapshot
    assert match(a, Pattern.from_graph(b, constants="equal", read_array=array_of))


def test_what_a_function_may_return():
    assert pattern_of(lambda x: [tf.exp(x, name="e"), tf.abs(x, name="a")]).outputs.keys() == {"e", "a"}
    assert pattern_of(lambda x: {"up": tf.exp(x)}).outputs.keys() == {"up"}
    assert str(pattern_of(tf.function(lambda x: tf.exp(x)))).startswith("pattern of")


def test_arguments_by_default_values():
    def product(a=MATRIX, b=MATRIX, scale=2.0):
        return tf.matmul(a, b, name="p") * scale

    made = pattern_of(product)
    assert list(made.inputs) == ["a", "b"]
    assert "p (MatMul)" in str(made)
    assert "BatchMatMulV2" in str(pattern_of(lambda a, b: tf.matmul(a, b)))
    whole = pattern_of(lambda a: a + 1, {"a": tf.int64})
    assert whole.graph.info(0, 0) == ("int64", None)


def test_what_is_no_pattern_function():
    assert as_pattern(dense).source == (dense, ())
    with refuses(SelectionError, "type is not a pattern", "Give a function of tensors"):
        as_pattern(int)
    with refuses(SelectionError, "pattern(<lambda>)", "it returns float", "Return tensors made of its arguments"):
        pattern_of(lambda x: 1.0)
    with refuses(SelectionError, "it returns nothing, not a tensor"):
        pattern_of(lambda x: [])
    with refuses(SelectionError, "it contains no op to look for"):
        pattern_of(lambda x: x)
    with refuses(SelectionError, "pattern(dense)", "it has no argument 'u'", "Choose from 'x', 'w', 'b'"):
        pattern_of(dense, {"u": tf.int32})
    with refuses(SelectionError, "it has no argument 'u'", "Leave it out: it has no arguments"):
        pattern_of(lambda: tf.zeros([]), {"u": tf.int32})
    with refuses(SelectionError, "its argument 'all' has no fixed name", "Wrap it"):
        pattern_of(lambda *all: all[0])
    with refuses(SelectionError, "calling it fails: TypeError", "Give the dtypes and shapes"):
        pattern_of(lambda x: tf.cast(x, tf.int32) + x)
    with refuses(SelectionError, "its arguments cannot be read", "lambda x"):
        pattern_of(max)


def test_nothing_is_left_in_the_graph_that_is_looked_at():
    graph = net()
    before = look(graph)
    with graph.as_default():
        match(gs.open(graph).snapshot, pattern_of(dense, {"x": MATRIX, "w": MATRIX}))
    assert look(graph) == before


@pytest.mark.parametrize("reads", [1, 2])
def test_readers_outside_are_reported(reads):
    graph = net()
    with graph.as_default():
        for _ in range(reads - 1):
            tf.exp(graph.get_tensor_by_name("layer0/BiasAdd:0"), name="spy")
    found = match(gs.open(graph).snapshot, pattern_of(dense, {"x": MATRIX, "w": MATRIX}))
    assert found[0].external_consumers == ((("layer0/BiasAdd:0", "spy", 0),) if reads == 2 else ())


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x, w: tf.matmul(x, w), "'x': tf.TensorSpec([None, None], tf.float32), 'w': tf.TensorSpec([None, None]"),
        (dense, "'x': tf.TensorSpec([None, None], tf.float32), 'w': tf.TensorSpec([None, None], tf.float32)}"),
    ],
    ids=["product", "layer"],
)
def test_open_ranks_are_told_where_they_are_why_nothing_fits(function, said):
    found = find(function)
    assert not found
    about = "The ranks of its inputs are open, so TensorFlow makes other ops. Give them: inputs={"
    assert f"has no BatchMatMulV2. {about}{said}" in str(found.best_partial) or f". {about}{said}" in str(
        found.best_partial
    )
    assert str(found.best_partial) in str(found)
    inputs = eval(found.best_partial.suggestion.partition("Give them: ")[2].removeprefix("inputs="), {"tf": tf})
    assert find(function, inputs=inputs)


def test_open_ranks_are_not_blamed_for_anything_else():
    assert find(lambda x: tf.exp(x)).best_partial.suggestion == ""
    assert find(lambda x, w: tf.matmul(x, w), inputs={"x": MATRIX, "w": MATRIX}).best_partial is None
    assert find(lambda x, w: tf.exp(tf.matmul(x, w))).best_partial.suggestion == ""  # no Exp there, whatever the ranks
    with tf.Graph().as_default() as graph:
        tf.matmul(tf.zeros([2, 2]), tf.zeros([2, 2]))
        tf.exp(1.0)
    best = match(gs.open(graph).snapshot, pattern_of(lambda x, w: tf.exp(tf.matmul(x, w)))).best_partial
    assert "so TensorFlow makes other ops. Give them, for example inputs={'x': tf.TensorSpec([None, None]" in str(best)


def test_replacing_what_open_ranks_keep_from_being_found_says_so():
    ed = gs.open(net())
    plan = ed.plan().replace(lambda x, w: tf.matmul(x, w), lambda x, w: tf.matmul(w, x))
    with refuses(PlanError, "The ranks of its inputs are open, so TensorFlow makes other ops. Give them: "):
        ed.apply(plan)


def test_a_shape_that_the_graph_leaves_open_is_told_with_what_to_ask():
    with tf.Graph().as_default() as graph:
        tf.exp(tf1.placeholder(tf.float32, name="any"), name="e")
        tf.tanh(tf1.placeholder(tf.float32, [None, 3], name="row"), name="t")
    ed = gs.open(graph)
    best = ed.match(lambda x: tf.exp(x, name="e"), where={"e": {"shape": [2, 3]}}).best_partial
    assert "its rank is unknown, and the condition requires (2, 3): leave shape= out" in str(best)
    best = ed.match(lambda x: tf.tanh(x, name="t"), where={"t": {"shape": [2, 3]}}).best_partial
    assert "its shape is (?, 3), which cannot be compared with (2, 3): use shape=[None, 3]" in str(best)
    assert ed.match(lambda x: tf.tanh(x, name="t"), where={"t": {"shape": [None, 3]}})
