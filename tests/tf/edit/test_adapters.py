"""Adapters in TensorFlow: the numbers that NumPy gives, shapes as foretold, variables that are trained and saved."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import assume, event, given
from hypothesis import strategies as st

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.graph.graph import TensorInfo
from graphsurgeon.plan.adapters import Dense, Pad, Pool, Reshape, Resize, Transpose, proposals
from graphsurgeon.plan.type_check import fits
from graphsurgeon.tf.edit.builders import adapter_builder
from tests.fresh import process
from tests.graphs import look
from tests.refusal import reads
from tests.tiers import examples

tf1 = tf.compat.v1
SIZES = st.sampled_from([None, 1, 2, 3, 4, 6, 8])
DTYPES = st.sampled_from(["float32", "float64", "int32", "uint8", "bool"])
INFOS = st.builds(TensorInfo, DTYPES, st.lists(SIZES, max_size=5).map(tuple))


def wanted(given):
    """Any tensor, or one of the same rank or the same sizes in another order, which is more often adaptable."""
    same_rank = st.lists(SIZES, min_size=len(given.shape), max_size=len(given.shape))
    shapes = (same_rank | st.permutations(given.shape)).map(tuple)
    return INFOS | st.builds(TensorInfo, DTYPES, shapes)


PAIRS = INFOS.flatmap(lambda given: st.tuples(st.just(given), wanted(given)))


def by_numpy(part, x, held):
    """What a part makes of an array, worked out by NumPy alone; `held`: the values of variables, in order."""
    match part:
        case Reshape():
            sizes = iter([x.shape[axis] for axis in part.sizes] or [-1])
            return x.reshape([next(sizes) if n is None else n for n in part.shape])
        case Transpose():
            return x.transpose(part.perm)
        case Pad():
            return np.pad(x, part.paddings, constant_values=part.value)
        case Pool(window=None):
            axes = tuple(range(2, x.ndim) if part.data_format == "NCHW" else range(1, x.ndim - 1))
            return (np.mean if part.mode == "avg" else np.max)(x, axes, keepdims=part.keep_dims)
        case Pool() | Resize() | Dense():
            last = part.data_format == "NHWC" or x.ndim < 3
            x = x if last else np.moveaxis(x, 1, -1)
            x = _of_channels(part, x, held)
            return x if last else np.moveaxis(x, -1, 1)
    return x.astype(part.dtype)


def _of_channels(part, x, held):
    if isinstance(part, Dense):
        y = x @ held.pop(0)
        return y + held.pop(0) if part.bias else y
    if isinstance(part, Resize):
        for axis, size in zip((1, 2), part.size, strict=True):
            x = _resized(x, axis, size, part.method)
        return x.astype(x.dtype if part.method == "nearest" else np.float32)
    for axis, (size, step) in enumerate(zip(part.window, part.strides, strict=True), 1):
        windows = np.lib.stride_tricks.sliding_window_view(x, size, axis)
        windows = windows.take(range(0, windows.shape[axis], step), axis)
        x = windows.mean(-1) if part.mode == "avg" else windows.max(-1)
    return x


def _resized(x, axis, size, method):
    """Bilinear or nearest, by the middles of pixels."""
    old = x.shape[axis]
    at = (np.arange(size) + 0.5) * (old / size)
    if method == "nearest":
        return x.take(np.clip(np.floor(at).astype(int), 0, old - 1), axis)
    at = np.clip(at - 0.5, 0, old - 1)
    low = np.floor(at).astype(int)
    part = (at - low).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    return x.take(low, axis) * (1 - part) + x.take(np.minimum(low + 1, old - 1), axis) * part


@examples(40)
@given(PAIRS, st.sampled_from(["", "NHWC", "NCHW"]), st.integers(0, 99))
def test_what_tensorflow_makes_of_a_proposal_is_what_was_foretold_and_what_numpy_makes(pair, data_format, seed):
    a, b = pair
    found = proposals(a, b, data_format)
    assume(found)
    random = np.random.default_rng(seed)
    value = random.integers(0, 9, [3 if n is None else n for n in a.shape]).astype(a.dtype)
    for adapter in found:
        event(" ".join(adapter.kinds))
        with tf.Graph().as_default() as graph:
            x = tf1.placeholder(a.dtype, a.shape, name="x")
            with tf1.variable_scope("fit", auxiliary_name_scope=False), tf1.name_scope("fit/"):
                y = adapter_builder(adapter)(x)
            assert y.name == "fit:0"
            assert all(op.name.startswith("fit") for op in graph.get_operations() if op is not x.op)
            reported, shape = adapter.output_info(a), None if y.shape.rank is None else tuple(y.shape.as_list())
            assert fits(TensorInfo(y.dtype.name, shape), reported), (str(adapter), y, reported)
            assert fits(TensorInfo(y.dtype.name, shape), b)
            with tf1.Session() as session:
                session.run(tf1.global_variables_initializer())
                try:
                    got, held = session.run([y, tf1.global_variables()], {x: value})
                except tf.errors.InvalidArgumentError:
                    assert None in a.shape  # a size that nobody knew had to be one
                    continue
        if b.fits(got.shape):  # an axis that was not known may be other than it is wanted
            assert b.dtype == got.dtype.name
        want = value
        for part in adapter.parts:
            want = by_numpy(part, want, held)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", ["area", "bicubic", "bilinear", "nearest"])
def test_images_are_resized_as_tensorflow_itself_does(method):
    ed = gs.open(graph())
    plan = ed.plan().adapt("images", name="fit", kinds="resize", shape=[None, 5, 9, 3], method=method)
    ed.apply(plan)
    images = np.random.default_rng(0).random([2, 8, 8, 3], np.float32)
    want = tf.image.resize(images, [5, 9], method)
    np.testing.assert_allclose(ed.session().run("fit:0", {"images:0": images}), want, rtol=1e-5)


def graph():
    """Images, features of them, and a head that reads others."""
    with tf.Graph().as_default() as made:
        images = tf1.placeholder(tf.float32, [None, 8, 8, 3], name="images")
        weights = tf1.get_variable("w", [3, 3, 3, 5], initializer=tf1.glorot_uniform_initializer(seed=1))
        tf.nn.relu(tf.nn.conv2d(images, weights, 2, "SAME", name="conv"), name="features")
        given = tf1.placeholder(tf.float32, [None, 4], name="given")
        kernel = tf1.get_variable("head/w", [4, 2], initializer=tf1.glorot_uniform_initializer(seed=2))
        tf.nn.softmax(tf.matmul(given, kernel, name="head/mm"), name="y")
    return made


IMAGES = np.random.default_rng(3).random([2, 8, 8, 3], np.float32)


def test_a_head_reads_features_through_a_dense_layer_that_is_trained_saved_and_undone(tmp_path):
    live = graph()
    ed, before = gs.open(live), look(live)
    plan = ed.plan().adapt("features", to="head/mm", kinds=["pool", "dense"], name="fit", seed=4)
    assert plan.check() == ()
    assert "2 separate variables" in str(plan)
    done = ed.apply(plan)
    assert look(live) == before
    assert gs.open(ed.graph).snapshot.input_names(ed.snapshot.index["head/mm"])[0] == "fit:0"
    assert "fit/kernel" in done.ops
    with ed.graph.as_default():
        names = [v.op.name for v in tf1.trainable_variables()]
        assert names == ["w", "head/w", "fit/kernel", "fit/bias"]
        slopes = tf.gradients(ed.graph.get_tensor_by_name("y:0")[:, 0], tf1.trainable_variables())
        session = ed.session()
        features, kernel, bias, head, got, slopes = session.run(
            ["features:0", *(v.read_value() for v in tf1.trainable_variables()[2:]), "head/w/Read/ReadVariableOp:0",
             "y:0", slopes], {"images:0": IMAGES})  # fmt: skip
    assert abs(kernel).max() <= np.sqrt(6 / 9)
    assert not bias.any()
    logits = (features.mean((1, 2)) @ kernel) @ head
    want = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(got, want, rtol=1e-5)
    assert all(np.abs(slope).max() > 0 for slope in slopes)
    ed.save(tmp_path / "net.meta")
    again = gs.open(tmp_path / "net.meta")
    np.testing.assert_array_equal(again.session().run("y:0", {"images:0": IMAGES}), got)
    after = ed.graph
    ed.undo()
    assert ed.graph is live
    ed.redo()
    assert ed.graph is after


def test_a_placeholder_gives_way_and_a_fresh_process_makes_the_same(tmp_path):
    ed = gs.open(graph())
    ed.apply(ed.plan().adapt("features", to="given", kinds=["reshape", "dense"], seed=1))
    assert ed.snapshot.input_names(ed.snapshot.index["head/mm"])[0] == "adapter:0"
    tf1.train.write_graph(graph(), str(tmp_path), "net.pb", as_text=False)
    text = gs.open(tmp_path / "net.pb").plan().adapt("features", to="given", seed=1).to_code()
    assert ".adapt('features:0', to='given', seed=1)" in text
    ran = process(f"{text}\nprint(ed.snapshot.input_names(ed.snapshot.index['head/mm'])[0])")
    assert ran.stdout.splitlines()[-1:] == ["adapter:0"], ran.stderr


def wrong_plans(ed):
    other = gs.open(graph())
    block = other.select(outputs="features", inputs="images")
    return [
        ed.plan().connect("features", to="head/mm"),
        ed.plan().reroute("given", to="features"),
        ed.plan().bypass("conv"),
        ed.plan().reroute(["given", "head/w/Read/ReadVariableOp"], to=["features", "head/w/Read/ReadVariableOp"]),
        ed.plan().copy(block, to="there", inputs={"images:0": "bytes:0"}, variables="initial"),
        ed.plan().copy(block, to="there", inputs={"images:0": "given:0"}, variables="initial"),
    ]


@pytest.mark.parametrize("number", range(6))
def test_each_cure_of_a_fault_makes_it_go_and_is_what_its_code_says(number):
    with graph().as_default() as live:
        tf1.placeholder(tf.uint8, [None, 8, 8, 3], name="bytes")
    ed = gs.open(live)
    plan = wrong_plans(ed)[number]
    fault = plan.check()[0]
    assert fault.fixes
    assert fault.fixes[0].code in str(fault)
    for cure in fault.fixes:
        better = plan.with_fix(cure)
        assert better.check() == (), (cure.code, [str(one) for one in better.check()])
        typed = eval(cure.code, {"plan": plan.with_step(0, None)})
        assert typed.steps[0] == better.steps[0]
    ed.apply(plan.with_fix(fault.fixes[0]))


def test_a_copy_reads_what_was_adapted_and_is_adapted_itself():
    ed, other = gs.open(graph()), gs.open(graph())
    block = other.select(outputs="features", inputs="images")
    plan = (
        ed.plan()
        .adapt("given", name="fit", kinds=["dense", "reshape"], shape=[None, 8, 8, 3], seed=1)
        .copy(block, to="there", inputs={"images:0": "fit:0"}, variables="initial")
        .adapt("there/features", to="head/mm", input=0, kinds=["pool", "dense"], name="back")
    )
    found = plan.check()
    assert [fault.problem for fault in found] == [], found
    ed.apply(plan)
    reads = {name: ed.snapshot.input_names(ed.snapshot.index[name])[0] for name in ("there/conv", "head/mm")}
    assert reads == {"there/conv": "fit:0", "head/mm": "back:0"}
    given = np.ones([2, 4], np.float32)
    assert ed.session().run("y:0", {"given:0": given}).shape == (2, 2)


def test_two_copies_of_an_adapter_have_variables_of_their_own():
    ed = gs.open(graph())
    ed.apply(ed.plan().adapt("features", to="head/mm", name="fit", seed=1))
    session = ed.session()
    want = session.run("y:0", {"images:0": IMAGES})
    block = ed.select(outputs="y:0", inputs="images:0")
    plan = ed.plan()
    for to in ("one", "two"):
        plan = plan.copy(block, to=to, inputs={"images:0": "images:0"}, values=session)
    ed.apply(plan)
    kernels = [name for name in ed.snapshot.state.variables if name.endswith("fit/kernel")]
    assert kernels == ["fit/kernel", "one/fit/kernel", "two/fit/kernel"]
    for got in ed.session(session).run(["one/y:0", "two/y:0"], {"images:0": IMAGES}):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_on_copies_nothing_that_exists_is_touched():
    live = graph()
    ed, nodes = gs.open(live), [op.node_def for op in live.get_operations()]
    ed.apply(ed.plan().adapt("features", to="head/mm", name="fit").on_copies(scope="new"))
    assert ed.graph is live
    assert [op.node_def for op in live.get_operations()[: len(nodes)]] == nodes
    assert ed.snapshot.input_names(ed.snapshot.index["new/head/mm"])[0] == "fit:0"


def test_in_a_loop_of_tf1_it_runs_in_the_loop_and_has_no_variables():
    with tf.Graph().as_default() as live:
        tf1.disable_control_flow_v2()
        x = tf1.placeholder(tf.float32, [2, 3], name="x")
        other = tf1.placeholder(tf.float32, [6], name="other")
        tf1.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(h + tf.reshape(other, [2, 3]), name="body")),
                       [0, x], name="loop")  # fmt: skip
        tf1.enable_control_flow_v2()
    ed = gs.open(live)
    body = next(name for name in ed.snapshot.names if name.endswith("/body"))
    inside = next(name for name in ed.snapshot.names if name.endswith("/Reshape"))
    good = ed.plan().adapt(f"{inside}:0", to=body, kinds="transpose", perm=[0, 1], name=f"{body}_fit")
    assert good.check() == (), [str(f) for f in good.check()]
    ed.apply(good)
    ed.session().run(
        [t for t in ed.graph.get_operations() if t.type == "Exit"], {"x:0": np.ones([2, 3]), "other:0": np.ones(6)}
    )
    (bad,) = gs.open(live).plan().adapt(f"{inside}:0", to=body, kinds="dense", name="fit").check()
    reads(bad, "'fit/kernel' would be a variable inside a loop", "outside")


def test_what_was_adapted_still_has_to_fit():
    ed = gs.open(graph())
    (fault,) = ed.plan().adapt("features", to="head/mm", shape=[None, 9], kinds=["pool", "dense"]).check()
    reads(fault, "adapt('features:0', to='head/mm'", "axis 1 is 9 against 4")
    assert isinstance(fault.to_error(), PlanError)
