"""Another shape, batch size or dtype of an input."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.recipes.models import numbers, ran, refusal

tf1 = tf.compat.v1


def image_net(batch=1, *, size=8, head="flat"):
    """A small frozen network for images, with the batch and the size in its reshapes."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [batch, size, size, 3], name="x")
        h = tf.nn.relu(tf.nn.conv2d(x, tf.constant(numbers(3, 3, 3, 4)), 2, "SAME"), name="h")
        if head == "flat":
            v = tf.reshape(h, [batch, size * size], name="flat")
            y = tf.matmul(v, tf.constant(numbers(size * size, 5)), name="logits")
        elif head == "pool":
            y = tf.reshape(tf.reduce_mean(h, [1, 2], keepdims=True), [batch, 4], name="flat")
        else:
            filters = tf.constant(numbers(2, 2, 6, 4))
            y = tf.nn.conv2d_transpose(h, filters, [batch, size, size, 6], 2, "SAME", name="up")
            y = tf.reshape(y, [batch, size * size, 6], name="flat")
        tf.nn.softmax(y, name="y")
    return gs.open(graph)


@pytest.mark.parametrize(("batch", "new"), [(1, None), (1, 6), (4, None), (4, 8), (None, 4)])
def test_another_batch(batch, new):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [batch, 8, 8, 3], name="x")
        v = tf.reshape(tf.nn.relu(x), [-1 if batch is None else batch, 192], name="flat")
        tf.matmul(v, tf.constant(numbers(192, 5)), name="y")
    ed = gs.open(graph)
    x = numbers(batch or 2, 8, 8, 3)
    before = ran(ed, x=x)
    ed.apply(gs.recipes.set_input(ed, "x:0", [new, 8, 8, 3]))
    rows = new or 3 * (batch or 1)
    assert ed.graph.get_tensor_by_name("y:0").shape.as_list() == [new, 5]
    many = numbers(rows, 8, 8, 3, seed=1)
    many[: min(len(x), rows)] = x[:rows]
    np.testing.assert_allclose(ran(ed, x=many)[: min(len(x), rows)], before[:rows], rtol=1e-4, atol=1e-5)
    ed.undo()
    assert ed.graph.get_tensor_by_name("y:0").shape.as_list() == [batch, 5]


def test_another_size_where_nothing_else_is_made_for_it():
    ed = image_net(head="pool")
    ed.apply(gs.recipes.set_input(ed, "x:0", [1, 20, 12, 3]))
    assert ran(ed, x=numbers(1, 20, 12, 3)).shape == (1, 4)
    assert ed.value("flat/shape").tolist() == [1, 4]  # it said nothing of the size


def test_both_and_a_transposed_convolution():
    ed = image_net(head="up")
    ed.apply(gs.recipes.set_input(ed, "x:0", [2, 16, 12, 3]))
    assert ed.graph.get_tensor_by_name("up:0").shape.as_list() == [2, 16, 12, 6]
    assert ran(ed, x=numbers(2, 16, 12, 3)).shape == (2, 192, 6)


def test_a_transposed_convolution_says_numbers():
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(image_net(head="up"), "x:0", [None, 8, 8, 3]))
    assert said.startswith("set_input('x:0'): 'up' (Conv2DBackpropInput) has its size as a constant, which would be")
    assert "Replace each None by a number" in said


def test_weights_for_the_old_size_are_named():
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(image_net(), "x:0", [1, 16, 16, 3]))
    assert said.startswith("set_input('x:0'): its consumers do not accept the new size: ")
    assert "'logits'" in said
    assert said.endswith("retrain it, or keep the size."), said


def test_pixels_as_bytes():
    ed = image_net()
    pixels = np.random.RandomState(0).randint(0, 256, (1, 8, 8, 3)).astype(np.uint8)
    before = ran(ed, x=pixels.astype(np.float32))
    ed.apply(gs.recipes.set_input(ed, "x:0", dtype=tf.uint8))
    assert ed.graph.get_tensor_by_name("x:0").dtype == tf.uint8
    np.testing.assert_allclose(ran(ed, x=pixels), before, rtol=1e-6)


def test_a_shape_that_several_read_is_parted():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2, 6], name="x")
        to = tf.constant([2, 6, 1], name="to")
        a = tf.reshape(x, to, name="a")
        tf.add(a, tf.reshape(tf.constant(numbers(12)), to, name="b"), name="y")
        tf.identity(tf.reshape(tf.nn.relu(x), to, name="c"), name="z")
    ed = gs.open(graph)
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(ed, "x:0", [4, 6]))
    assert "'y'" in said
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2, 6], name="x")
        to = tf.constant([2, 6, 1], name="to")
        tf.reshape(tf.constant(numbers(12)), to, name="b")
        tf.reshape(tf.nn.relu(x), to, name="c")
    ed = gs.open(graph)
    done = ed.apply(gs.recipes.set_input(ed, "x:0", [None, 6]))
    assert ed.value("to").tolist() == [2, 6, 1]
    assert ed.value("c_size").tolist() == [-1, 6, 1]
    assert done.graph.get_tensor_by_name("c:0").shape.as_list() == [None, 6, 1]


def test_what_is_not_sure_is_asked_for():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [1, 20, 10], name="x")
        tf.reduce_sum(tf.reshape(x, [20, 1, 10], name="time_first"), 0, name="y")
    ed = gs.open(graph)
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(ed, "x:0", [3, 20, 10]))
    assert said == (
        "set_input('x:0'): cannot infer the new size of 'time_first' (Reshape), which has (20, 1, 10): its input was "
        "(1, 20, 10) and would be (3, 20, 10).\nGive the size, with your numbers: sizes={'time_first': [20, 1, 10]}."
    )
    answer = {"time_first": [20, 3, 10]}
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(ed, "x:0", [3, 20, 10], sizes=answer))
    assert "'y:0' has other numbers in a batch of 3 than in the current graph" in said  # rows are mixed: a reshape does
    plan = gs.recipes.set_input(ed, "x:0", [3, 20, 10], sizes=answer, verify=False)
    assert plan.check() == ()


def test_a_slice_that_ends_where_the_axis_did_is_asked_for():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [4, 16], name="x")
        tf.identity(tf.strided_slice(x, [0, 2], [4, 16], name="part"), name="y")
    ed = gs.open(graph)
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(ed, "x:0", [4, 32]))
    assert "'part' (StridedSlice), which has (4, 16): its input was (4, 16)" in said
    ed.apply(gs.recipes.set_input(ed, "x:0", [4, 32], sizes={"part": [4, 32]}))
    assert ran(ed, x=numbers(4, 32)).shape == (4, 30)


def test_zeros_of_the_old_size_are_proposed():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2, 6], name="x")
        tf.concat([x, tf.fill([2, 4], 0.5, name="state")], 1, name="y")
    ed = gs.open(graph)
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(ed, "x:0", [6, 6]))
    assert said.endswith("give them other sizes: sizes={'state': [2, 4]}."), said
    ed.apply(gs.recipes.set_input(ed, "x:0", [6, 6], sizes={"state": [6, 4]}))
    assert ran(ed, x=numbers(6, 6)).shape == (6, 10)


def test_two_inputs_change_together():
    with tf.Graph().as_default() as graph:
        a, b = (tf1.placeholder(tf.float32, [1, 4], name=name) for name in "ab")
        tf.reshape(tf.concat([a, b], 1), [1, 2, 4], name="y")
    ed = gs.open(graph)
    assert "not accept the new size" in refusal(gs.PlanError, lambda: gs.recipes.set_input(ed, "a:0", [3, 4]))
    ed.apply(gs.recipes.set_input(ed, {"a:0": [None, 4], "b:0": [None, 4]}))
    assert ran(ed, a=numbers(5, 4), b=numbers(5, 4)).shape == (5, 2, 4)


def test_rows_that_are_mixed_are_found_by_running():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2, 4], name="x")
        tf.subtract(x, tf.reduce_mean(x, 0, keepdims=True), name="y")
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(gs.open(graph), "x:0", [None, 4]))
    assert said.startswith("set_input('x:0'): 'y:0' has other numbers in a batch of 4 than in the current graph.")


@pytest.mark.parametrize(
    ("tensor", "shape", "dtype", "why"),
    [
        (
            "h:0",
            [None, 4, 4, 4],
            None,
            "'h:0' is an output of an op of type Relu, not a placeholder.\nMake it an input first: ",
        ),
        (
            "x:0",
            [None, 8, 8],
            None,
            "'x:0' has 4 axes, (1, 8, 8, 3), and (?, 8, 8) has 3.\nGive a shape",
        ),
        (
            "x:0",
            [0, 8, 8, 3],
            None,
            "[0, 8, 8, 3] is not a shape for 'x:0'.\nType a shape, for example",
        ),
        ("x:0", [1, 8, 8, 3], None, "nothing would change.\nGive another shape, or another dtype."),
        ("x:0", None, "image", "'image' is not a dtype.\nType a dtype, for example 'uint8'."),
    ],
)
def test_what_it_cannot_be_is_refused(tensor, shape, dtype, why):
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(image_net(), tensor, shape, dtype))
    assert said.startswith(f"set_input({tensor!r}): {why}"), said


def test_a_size_is_said_to_an_op_that_says_one():
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(image_net(), "x:0", [2, 8, 8, 3], sizes={"h": [1]}))
    assert said.startswith("set_input('x:0'): 'h' is of type Relu, which does not specify a size.\nsizes= is for"), said


def test_a_proof_that_needs_a_feed_says_so():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.string, [1], name="x")
        tf.identity(x, name="y")
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(gs.open(graph), "x:0", [None]))
    assert said == (
        "set_input('x:0'): the verification cannot run: 'x:0' (string) needs a feed.\n"
        "Type feeds={'x:0': array}; or type verify=False."
    )


def one_row(kind):
    """A graph that takes one picture, and reads the first row of what it is fed."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [1, 4, 4, 3], name="x")
        if kind == "map":
            rows = tf.map_fn(lambda one: one * 2.0, x)
        elif kind == "loop":
            kept = tf.TensorArray(tf.float32, size=1, element_shape=[4, 4, 3])
            step = lambda i, held: (i + 1, held.write(i, x[i]))  # noqa: E731
            rows = tf.while_loop(lambda i, held: i < 1, step, [tf.constant(0), kept])[1].stack()
        elif kind == "index":
            rows = x[0][None]
        elif kind == "crop":
            rows = tf.image.crop_and_resize(x, [[0.0, 0.0, 1.0, 1.0]], [0], [4, 4])
        else:
            rows = tf.gather(x, [0] if kind == "gather" else tf.range(1))
        if kind == "range of noise":
            rows += tf.random.normal([1])
        tf.reduce_mean(rows, [1, 2], name="y")
    return gs.open(graph)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        *((kind, [None, 4, 4, 3]) for kind in ("map", "loop", "index", "crop", "gather", "range", "range of noise")),
        ("gather", [3, 4, 4, 3]),
        ("index", [None, None, 4, 3]),
    ],
)
def test_a_result_that_leaves_out_rows_is_refused_and_the_op_named(kind, shape):
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(one_row(kind), "x:0", shape, outputs="y:0"))
    rows = shape[0] or 2
    assert said.startswith(f"set_input('x:0'): 'y:0' has the shape (1, 3) for {rows} rows, the same as for 1"), said
    cause = {"index": "strided_slice", "crop": "CropAndResize", "gather": "GatherV2", "range": "GatherV2"}
    assert f"\nChange '{cause.get(kind, '')}" in said


@pytest.mark.parametrize("size", [None, 8])
def test_rows_are_counted_where_each_picture_has_another_size_too(size):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [1, 4, 4, 3], name="x")
        tf.reduce_mean(x, [1, 2], name="all")
        tf.reduce_mean(tf.gather(x, [0]), [1, 2], name="first")
        tf.reduce_mean(x, name="mean")
        tf.reduce_mean(x, [0, 1, 2], keepdims=True, name="kept")
        tf.zeros([1, 3], name="constant")
    for batch in (None, 3):
        shape, ed = [batch, size, size, 3], gs.open(graph)
        assert not gs.recipes.set_input(ed, "x:0", shape, outputs=["all:0", "mean:0", "kept:0", "constant:0"]).check()
        said = refusal(gs.PlanError, lambda: gs.recipes.set_input(ed, "x:0", shape, outputs="first:0"))  # noqa: B023
        assert "'first:0' has the shape (1, 3)" in said
        assert "Change 'GatherV2' (GatherV2)" in said


def test_what_is_suggested_about_rows_that_are_left_out_solves_it():
    ed = one_row("gather")
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(ed, "x:0", [3, 4, 4, 3], outputs="y:0"))
    assert said.endswith(
        "\nChange 'GatherV2' (GatherV2), which accepts no more rows than before, or keep the number of rows; "
        "or type verify=False to skip the verification."
    )
    assert len(gs.recipes.set_input(ed, "x:0", [3, 4, 4, 3], outputs="y:0", verify=False).steps) == 1
    ed.apply(ed.plan().bypass("GatherV2"))
    ed.apply(gs.recipes.set_input(ed, "x:0", [3, 4, 4, 3], outputs="y:0"))
    assert ran(ed, x=numbers(3, 4, 4, 3)).shape == (3, 3)


def test_a_result_of_another_form_is_refused():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [1, 4], name="x")
        tf.matmul(x, x, transpose_b=True, name="y")
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(gs.open(graph), "x:0", [None, 4]))
    assert "'y:0' has the shape (1, 1) for 1 rows, and (2, 2) for 2 rows" in said


def test_a_size_that_does_not_run_is_named():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [1, 4], name="x")
        tf.add(x, tf.ones([1, 4]), name="y")
    said = refusal(gs.PlanError, lambda: gs.recipes.set_input(gs.open(graph), "x:0", [None, None]))
    assert "it does not run with 'x:0' of shape (2, 8): 'y' (AddV2)" in said
    assert said.endswith("Its weights or its numbers are made for the old size: keep the size, or change the op first.")
