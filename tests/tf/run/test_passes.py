"""passes: a run in parts gives what one run gives, and no part holds more than it may."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.tf.open.snapshot import snapshot
from graphsurgeon.tf.run import run_graph as module
from graphsurgeon.tf.run.run_graph import changes_state
from tests.corpus import corpus_ids
from tests.graphs import tf1
from tests.refusal import refuses


def alike(one, other):
    """Asserts that two traces are the same. AddN adds in the order in which its inputs come: not to the last bit."""
    held, others = ({(note.tensor, note.rounds): note for note in trace.stats} for trace in (one, other))
    assert held.keys() == others.keys()
    assert len(one.stats) == len(other.stats)
    for key, note in held.items():
        assert note.dtype == others[key].dtype
        for numbers, again in ((note.numbers, others[key].numbers), (note.sample, others[key].sample)):
            np.testing.assert_allclose(again, numbers, rtol=1e-5, atol=1e-6, err_msg=str(key))
    assert (one.stop_reason, one.unrecorded, one.aliases, one.added_ops) == (
        other.stop_reason,
        other.unrecorded,
        other.aliases,
        other.added_ops,
    )
    assert one.results.keys() == other.results.keys()
    for name, value in one.results.items():
        if value is not None:
            np.testing.assert_allclose(other.results[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.fixture
def parts(monkeypatch):
    """The tensors of each pass, and their sizes together."""
    seen, real = [], module.run_with_probes

    def watched(session, base, wanted, fed, probed, *about, probes=None, **more):
        if probes is not None:  # None: a run in one pass
            seen.append([probed.tensors[number][0] for number in probes])
        return real(session, base, wanted, fed, probed, *about, probes=probes, **more)

    monkeypatch.setattr(module, "run_with_probes", watched)
    return seen


def by_chance(seed):
    """A graph of random ops of all kinds: some draw, some set variables, some stand in loops and branches."""
    rng = np.random.RandomState(seed)
    tf1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            tensors = [tf1.placeholder(tf.float32, [None, 8], name="x"), tf.ones([4, 8], name="ones")]
            w = tf1.get_variable("w", initializer=rng.standard_normal([8, 8]).astype(np.float32))
            for _ in range(14):
                a, b = (tensors[rng.randint(len(tensors))] for _ in range(2))
                turn = lambda i, v, a=a: (i + 1, tf.tanh(v + a))  # noqa: E731
                made = [
                    lambda a=a, b=b: a + b,
                    lambda a=a: tf.matmul(a, w),
                    lambda a=a: tf.nn.dropout(a, 0.5),
                    lambda a=a: a + tf.random.normal([8]),
                    lambda a=a, t=turn: tf1.while_loop(lambda i, _: i < 3, t, [0, a])[1],
                    lambda a=a, b=b: tf1.cond(tf.reduce_sum(a) > 0, lambda: tf.exp(b), lambda: tf.sqrt(b)),
                    lambda a=a: tf.cast(tf.cast(a, tf.float16), tf.float32),
                ][rng.randint(7)]
                tensors.append(made())
            y = tf.reduce_sum(tf.stack([tf.reduce_mean(one, 0) for one in tensors]), 0, name="y")
            tf1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y * 0.001), name="train")
    finally:
        tf1.enable_control_flow_v2()
    return graph


@pytest.mark.parametrize("seed", range(4))
def test_many_passes_give_what_one_gives(seed, parts):
    ed, feeds = gs.open(by_chance(seed)), {"x:0": np.random.RandomState(seed).standard_normal([4, 8])}
    wanted = ["y:0", "train"] if seed % 2 else "y:0"
    whole = ed.trace(feeds, wanted)
    assert not parts
    alike(whole, ed.trace(feeds, wanted, memory=40_000 if seed % 2 else 8_000))
    assert len(parts) > 2
    names = [name for part in parts for name in part]
    assert len(names) == len(set(names))
    parts.clear()
    alike(whole, ed.trace(feeds, wanted, memory=1 << 30))
    assert len(parts) <= 2  # those whose shapes are known, and the rest


def test_a_pass_holds_no_more_than_it_may(parts):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 1000], name="x")
        known = tf.zeros([100, 1000], name="known") + 1.0
        for k in range(6):
            x, known = tf.add(x, 1.0, name=f"x_{k}"), tf.add(known, 1.0, name=f"known_{k}")
        tf.add(tf.reduce_sum(x), tf.reduce_sum(known), name="y")
    sizes = {f"{lead}_{k}:0": 400_000 for lead in ("x", "known") for k in range(6)}
    trace = gs.open(graph).trace({"x:0": np.zeros([100, 1000])}, "y:0", memory=1_300_000)
    assert {name for part in parts for name in part} == {name for name in trace if trace[name].dtype != ""} - {
        name for name in trace if trace.graph.types[trace.graph.index[name.partition(":")[0]]] == "Const"
    }
    assert len(parts) >= 4
    assert all(sum(sizes.get(name, 0) for name in part) <= 1_300_000 for part in parts)
    parts.clear()
    gs.open(graph).trace({"x:0": np.zeros([100, 1000])}, "y:0", memory=1)  # each has a pass of its own
    assert max(map(len, parts)) == 1


@pytest.mark.parametrize("id", corpus_ids(lambda item: item["id"] in ("dl4j_while_nested", "kws_ds_cnn_s")))
def test_a_real_graph_gives_the_same_in_passes(corpus, id):
    feeds, want = corpus.golden(id)
    ed = gs.open(corpus.path(id))
    whole, parts = ed.trace(feeds, list(want)), ed.trace(feeds, list(want), memory=200_000)
    assert set(whole) == set(parts)
    assert (whole.stop_reason, whole.unrecorded, whole.aliases, whole.added_ops) == (
        parts.stop_reason,
        parts.unrecorded,
        parts.aliases,
        parts.added_ops,
    )
    for name in whole:  # sums of real convolutions differ in their last bits from run to run
        for one, other in zip(whole.rounds(name), parts.rounds(name), strict=True):
            known = (one.rounds, one.dtype, one.shape, one.nans, one.infinite)
            assert known == (other.rounds, other.dtype, other.shape, other.nans, other.infinite), name
            mine, theirs = ([note.min, note.max, note.mean, note.std] for note in (one, other))
            np.testing.assert_allclose(mine, theirs, 1e-4, 1e-5, err_msg=name)
            np.testing.assert_allclose(one.sample, other.sample, 1e-4, 1e-5, err_msg=name)
    for name, value in want.items():
        np.testing.assert_allclose(parts.results[name], value, 1e-4, 1e-5, err_msg=name)


@pytest.mark.parametrize("memory", [0, -5, 1.5, "1 MB", True])
def test_a_limit_that_is_none_is_refused(memory):
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="y")
    with refuses(PlanError, f"trace(memory={memory!r}): the value is not a number of bytes", "memory=200 << 20"):
        gs.open(graph).trace(memory=memory)


def failing():
    """A variable that is counted up, and an op that fails after that."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        w = tf1.get_variable("w", initializer=1.0, use_resource=True)
        up = w.assign_add(x, name="up")
        with tf.control_dependencies([up]):
            now = tf.identity(w.read_value(), name="now")
        drawn = tf.random.uniform([3], name="drawn")
        with tf.control_dependencies([now, drawn, tf.debugging.Assert(now > 9.0, [now], name="must")]):
            tf.identity(now, name="after")
        with tf.control_dependencies([tf.debugging.Assert(now > 8.0, [now], name="too")]):
            tf.identity(now, name="other")
        tf.add(now, tf.reduce_sum(drawn, name="sum"), name="beside")
    return graph


@pytest.mark.parametrize("memory", [None, 3000])
def test_what_runs_beside_an_op_that_fails_starts_from_the_same_values(memory):
    ed, wanted = gs.open(failing()), ["after:0", "other:0", "beside:0"]
    trace = ed.trace({"x:0": 2.0}, wanted, memory=memory)
    assert "(Assert)" in trace.stop_reason
    assert list(trace.results) == ["beside:0"]
    assert trace["now:0"].mean == 3.0
    assert trace.results["beside:0"] == 3.0 + ed.trace({}, "sum:0").results["sum:0"]


@pytest.mark.deep
def test_without_memory_for_a_tensor_it_is_named_and_the_rest_is_kept():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        size = tf1.placeholder_with_default([1 << 20, 1 << 20], [2], name="size")
        tf.reduce_sum(tf.fill(size, x, name="big"), name="sum")
        tf.exp(x, name="beside")
    trace = gs.open(graph).trace({"x:0": 0.0}, ["sum:0", "beside:0"])
    said = (
        "'big' (Fill): there is no memory for 4.4e+03 GB more: a tensor of float (1048576, 1048576). Feed less data, or"
    )
    assert trace.stop_reason.startswith(said)
    assert trace["beside:0"].mean == 1.0
    assert dict(trace.results) == {"beside:0": 1.0}


def test_progress_and_time_are_those_of_all_passes():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        for k in range(5):
            x = tf.add(x, 1.0, name=f"a_{k}")
        queue = tf.queue.FIFOQueue(1, tf.float32, shapes=[[]], name="empty")
        tf.add(x, queue.dequeue(name="waits"), name="y")
    ed = gs.open(graph)
    seen = []
    trace = ed.trace({"x:0": [1.0]}, "y:0", memory=1, watch=lambda *reported: seen.append(reported) or len(seen) < 2)
    assert trace.stop_reason == "it was stopped by hand"
    assert {of for _, of in seen} == {8}
    assert ed.trace({"x:0": [1.0]}, "y:0", memory=1, timeout=2.0).stop_reason == "it took longer than 2 s"
    assert ed.trace({"x:0": [1.0]}, "a_4:0", memory=1, timeout=100.0).results["a_4:0"].tolist() == [6.0]


def test_what_a_run_changes_for_the_next_one():
    def of(made):
        tf1.disable_control_flow_v2()
        try:
            with tf.Graph().as_default() as graph:
                made()
        finally:
            tf1.enable_control_flow_v2()
        base = snapshot(graph)
        return changes_state(base, np.ones(base.size, np.bool_))

    def loop():
        x = tf1.placeholder(tf.float32, [])
        return tf.gradients(tf1.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * v), [0, x])[1], x)

    assert not of(lambda: tf.exp(tf1.placeholder(tf.float32, [])))
    assert not of(loop)
    assert of(lambda: tf.random.uniform([]))
    assert of(lambda: tf1.assign(tf1.get_variable("v", initializer=1.0, use_resource=False), 2.0))
    assert of(lambda: tf1.get_variable("v", initializer=1.0, use_resource=True).assign(2.0))
    assert of(lambda: tf.queue.FIFOQueue(1, tf.float32).dequeue())
