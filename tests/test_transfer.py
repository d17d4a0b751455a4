"""Transferring: values by name, by mapping and by layer, between all that holds values; no op is added."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import OpenError, PlanError
from tests.graphs import KINDS, look, model
from tests.refusal import refuses

tf1 = tf.compat.v1


def deep(kind, prefix="", start=0.0, wide=2):
    """Returns a session of a net of three layers, with Adam."""
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=kind == "resource"):
        h = x = tf1.placeholder(tf.float32, [None, 2], name="x")
        for i in range(3):
            with tf1.variable_scope(f"{prefix}layer{i}"):
                w = tf1.get_variable("w", [2, wide if i == 2 else 2], initializer=tf1.constant_initializer(start + i))
                b = tf1.get_variable("b", [wide if i == 2 else 2], initializer=tf1.constant_initializer(-start))
                h = tf.matmul(h, w) + b
        tf.identity(h, name="out")
        tf1.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.square(h - x[:, :1])), name="train")
        session = tf1.Session(graph=graph)
        session.run(tf1.global_variables_initializer())
    return session


def value(session, name):
    """Returns the value of a variable."""
    return session.run(gs.open(session).snapshot.state.variables[name].snapshot)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_the_first_layers_each_cycle_while_both_train(kind, other):
    a, b = deep(kind, "teacher/", 1.0), deep(other, "", 5.0, wide=3)
    before = look(a.graph), look(b.graph)
    report = gs.transfer(a, b, first=2)
    assert (look(a.graph), look(b.graph)) == before
    assert dict(report.pairs) == {f"teacher/layer{i}/{n}": f"layer{i}/{n}" for i in (0, 1) for n in "wb"}
    feed = {"x:0": np.ones([4, 2], np.float32)}
    for _ in range(3):
        a.run("train", feed)
        b.run("train", feed)
        b.run("train", feed)
        assert not np.array_equal(value(a, "teacher/layer0/w"), value(b, "layer0/w"))
        assert report.again() is report
        for i in (0, 1):
            np.testing.assert_array_equal(value(a, f"teacher/layer{i}/w"), value(b, f"layer{i}/w"))
    assert value(b, "layer2/w").shape == (2, 3)


def test_the_values_are_not_shared_afterwards():
    a, b = deep("resource", "", 1.0), deep("resource", "", 5.0)
    gs.transfer(a, b, first=3)
    kept = value(a, "layer0/w")
    b.run("train", {"x:0": np.ones([4, 2], np.float32)})
    np.testing.assert_array_equal(value(a, "layer0/w"), kept)


def test_by_name_and_by_pattern():
    a, b = deep("ref", "", 1.0), deep("resource", "", 5.0)
    report = gs.transfer(a, b)
    assert "layer1/w/Adam" in dict(report.pairs)
    assert not report.missing
    c = deep("ref", "student/", 0.0)
    assert len(gs.transfer(a, c, names={"layer*/w": "student/layer*/w"})) == 3
    assert value(c, "student/layer2/w").tolist() == [[3, 3], [3, 3]]
    assert value(c, "student/layer2/b").tolist() == [0, 0]
    assert len(gs.transfer(a, c, names={"layer0/w:0": "student/layer1/w:0"})) == 1


def test_between_keras_and_a_graph():
    first = tf.keras.Sequential([tf.keras.Input([2]), *(tf.keras.layers.Dense(2) for _ in range(3))])
    session = deep("ref", "", 4.0)
    report = gs.transfer(first, session)
    assert len(report) == 6
    np.testing.assert_array_equal(value(session, "layer1/w"), first.layers[1].kernel.numpy())
    session.run("train", {"x:0": np.ones([4, 2], np.float32)})
    gs.transfer(session, first, first=1)
    np.testing.assert_array_equal(value(session, "layer0/w"), first.layers[0].kernel.numpy())
    second = tf.keras.models.clone_model(first)
    gs.transfer(first, second, first=3)
    for a, b in zip(first.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    gs.transfer(first.layers[0], second.layers[2])
    np.testing.assert_array_equal(first.layers[0].kernel.numpy(), second.layers[2].kernel.numpy())


def test_from_a_checkpoint_and_from_arrays_into_a_module(tmp_path):
    session = deep("ref", "", 4.0)
    ed = gs.open(session)
    ed.save(tmp_path / "c.ckpt")
    session.run("train", {"x:0": np.ones([4, 2], np.float32)})
    f = ed.function("x:0", "out:0")
    assert not np.array_equal(f.variables[0].numpy(), [[4, 4], [4, 4]])
    gs.transfer(tmp_path / "c.ckpt", f)
    np.testing.assert_array_equal(f.variables[0].numpy(), [[4, 4], [4, 4]])
    mine = np.full([2, 2], 9, np.float32)
    gs.transfer({"layer0/w": mine}, session, names={"layer0/w": "layer0/w"})
    mine[:] = 1
    assert value(session, "layer0/w").tolist() == [[9, 9], [9, 9]]
    gs.transfer({"layer0/w:0": mine}, f, partial=True)
    assert f.variables[0].numpy().tolist() == [[1, 1], [1, 1]]


def test_within_one_session():
    session = deep("resource", "", 4.0)
    gs.transfer(session, session, names={"layer0/w": "layer1/w"})
    assert value(session, "layer1/w").tolist() == [[4, 4], [4, 4]]


def test_while_another_thread_trains():
    a, b = deep("resource", "", 1.0), deep("resource", "", 5.0)
    feed, stop = {"x:0": np.ones([4, 2], np.float32)}, threading.Event()

    def train():
        while not stop.is_set():
            b.run("train", feed)

    thread = threading.Thread(target=train)
    thread.start()
    try:
        report = gs.transfer(a, b, first=2)
        for _ in range(5):
            report.again()
    finally:
        stop.set()
        thread.join()
    assert np.isfinite(value(b, "layer0/w")).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"names": {"layer0/v": "layer0/w"}}, ["the source (the session) has no variable 'layer0/v'", "Did you mean"]),
        ({"names": {"layer0/w": "layer0/v"}}, ["the target (the session) has no variable 'layer0/v'", "Did you mean"]),
        (
            {"names": {"layer0/w": "layer0/b"}},
            ["'layer0/w' of the source is float32 (2, 2), but 'layer0/b' of the target is float32 (2,)"],
        ),
        ({"names": {"l*/*": "l*/*"}}, ["'l*/*' and 'l*/*' do not both have exactly one *", "{'old/*': 'new/*'}"]),
        ({"names": {"layer*/w": "layer0/w"}}, ["'layer*/w' and 'layer0/w' do not both have exactly one *"]),
        ({"names": {"layer?/*": "layer?/*"}}, ["has no variable 'layer?/*'"]),
        ({"first": 4}, ["the source (the session) has 3 layers with weights: layer0, layer1, layer2", "names="]),
        ({"first": 0}, ["the source (the session) has 3 layers"]),
        ({"first": "two"}, ["first='two' is not a number of layers", "first=2"]),
        ({"names": ["layer0/w"]}, ["names=['layer0/w'] is not a mapping", "{'source': 'target'}"]),
        ({"first": 1, "names": {}}, ["names= and first= exclude each other"]),
        ({"first": 3}, ["'layer2/w' of the source is float32 (2, 2), but 'layer2/w' of the target is float32 (2, 3)"]),
    ],
)
def test_what_does_not_fit_changes_nothing(options, words):
    a, b = deep("ref", "", 1.0), deep("ref", "", 5.0, wide=3)
    before = value(b, "layer0/w")
    with refuses(PlanError, *words):
        gs.transfer(a, b, **options)
    np.testing.assert_array_equal(value(b, "layer0/w"), before)


def test_more_that_does_not_fit(tmp_path):
    a = deep("ref")
    with refuses(PlanError, "the source (the session) has no value for 2 of", "partial=True"):
        with tf.Graph().as_default() as graph:
            for name in ("layer0/w", "new/w", "new/b"):
                tf1.get_variable(name, [2, 2])
        gs.transfer(a, gs.open(graph))
    with refuses(PlanError, "layer 'layer0' of the source has 2 variables, and layer 'dense_only' of the target has 1"):
        net = tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Dense(2, use_bias=False, name="dense_only")])
        gs.transfer(a, net, first=1)
    with refuses(PlanError, "nothing can be written to the target (the arrays)"):
        gs.transfer(a, {"a": 1})
    with refuses(PlanError, "an object of type int holds no values"):
        gs.transfer(3, a)
    with refuses(OpenError, "there is no checkpoint"):
        gs.transfer(str(tmp_path / "none"), a)
    m = model("resource", optimizer=None)
    graph_def = tf1.GraphDef(node=[n for n in m.graph.as_graph_def().node if n.op == "VarHandleOp"])
    with refuses(PlanError, "no op of the graph sets 'net/w'"):
        gs.transfer(m.session, gs.open(graph_def), names={"net/w": "net/w"})
    with refuses(PlanError, "variable 'net/w' has no value in the session given"):
        gs.transfer(tf1.Session(graph=m.graph), m.session, names={"net/w": "net/w"})


def test_arrays_of_another_dtype_or_none_at_all():
    b = deep("ref")
    given = {"layer0/w": np.ones([2, 2])}
    with refuses(
        PlanError,
        "'layer0/w' of the source is float64 (2, 2), but 'layer0/w' of the target is float32",
        "value.astype('float32')",
    ):
        gs.transfer(given, b, partial=True)
    gs.transfer({"layer0/w": given["layer0/w"].astype("float32")}, b, partial=True)
    np.testing.assert_array_equal(value(b, "layer0/w"), given["layer0/w"])
    with refuses(PlanError, "the source (the arrays) has 0 layers with weights.", "names="):
        gs.transfer({}, b)
