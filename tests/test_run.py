"""run: a trace says what every tensor held, where the first NaN arises, and leaves the graph as it is."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from graphsurgeon.graph.trace import Trace
from tests import fresh
from tests.corpus import corpus_cases
from tests.graphs import look, tf1
from tests.refusal import refuses

RNG = np.random.RandomState(3)


def test_the_numbers_are_those_of_the_arrays():
    values = RNG.standard_normal((3, 700)).astype(np.float32)
    values[0, :5], values[1, 3], values[2, 7] = 0.0, np.nan, np.inf
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 700], name="x")
        tf.negative(x, name="y")
    trace = gs.open(graph).trace({"x:0": values})
    note, y = trace["y:0"], -values
    finite = y[np.isfinite(y)].astype(np.float64)
    assert (note.shape, note.dtype, note.nans, note.infinite, note.zeros) == ((3, 700), "float32", 1, 1, 5)
    assert np.allclose([note.min, note.max], [finite.min(), finite.max()])
    assert np.allclose([note.mean, note.std], [finite.mean(), finite.std()], rtol=1e-5)
    assert set(note.sample[np.isfinite(note.sample)].tolist()) <= set(y.ravel().tolist())
    counts, edges = note.histogram
    assert counts.sum() == np.isfinite(note.sample).sum()
    assert len(edges) == 17
    assert np.array_equal(trace.results["y:0"], y, equal_nan=True)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64", "uint32", "uint64", "bool"]
)
def test_any_dtype_has_its_numbers(dtype):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [4], name="x")
        tf.identity(tf.cast(x, dtype), name="y")
    note = gs.open(graph).trace({"x:0": [0.0, 1.0, 1.0, 0.0]})["y:0"]
    assert (note.dtype, note.min, note.max, note.zeros) == (dtype, 0.0, 1.0, 2)


def test_text_and_complex_numbers():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.string, [2, 1], name="x")
        tf.strings.join([x, x], name="y")
        tf.complex(3.0, 4.0, name="c")
    trace = gs.open(graph).trace({"x:0": [["a"], ["b"]]}, ["y:0", "c:0"])
    assert (trace["y:0"].shape, trace["y:0"].numeric, repr(trace["y:0"])) == ((2, 1), False, "y:0  string (2, 1)")
    assert trace["c:0"].max == 5.0


def test_each_round_of_loops_in_loops():
    with tf.Graph().as_default() as graph, v1_loops():
        x = tf1.placeholder(tf.float32, [], name="x")

        def outer(i, a):
            _, b = tf1.while_loop(lambda j, _: j < 2, lambda j, b: (j + 1, tf.add(b, 1.0, name="up")), [0, a])
            return i + 1, tf.multiply(b, 2.0, name="twice")

        tf.identity(tf1.while_loop(lambda i, _: i < 3, outer, [0, x], name="outer")[1], name="y")
    trace = gs.open(graph).trace({"x:0": 1.0})
    want, a = {}, 1.0
    for i in range(3):
        for j in range(2):
            a += 1.0
            want[i, j] = a
        a *= 2.0
    (up,) = [name for name in trace if name.endswith("/up:0")]
    assert {note.rounds: note.mean for note in trace.rounds(up)} == want
    assert [note.rounds for note in trace.rounds("outer/twice:0")] == [(0,), (1,), (2,)]
    assert trace["y:0"].mean == a
    assert trace[up].rounds == (2, 1)


def v1_loops():
    """Loops and conds as TF1 makes them."""
    from contextlib import contextmanager

    @contextmanager
    def made():
        on = tf1.control_flow_v2_enabled()
        tf1.disable_control_flow_v2()
        try:
            yield
        finally:
            if on:
                tf1.enable_control_flow_v2()

    return made()


def test_of_many_rounds_the_first_are_kept_and_what_is_not_finite():
    with tf.Graph().as_default() as graph, v1_loops():
        x = tf1.placeholder(tf.float32, [], name="x")
        step = lambda i, _: (i + 1, tf.divide(x, tf.cast(i - 40, tf.float32), name="div"))  # noqa: E731
        tf.identity(tf1.while_loop(lambda i, _: i < 60, step, [0, x], name="loop")[1], name="y")
    trace = gs.open(graph).trace({"x:0": 1.0}, rounds=10)
    (div,) = [name for name in trace if name.startswith("loop/div") and trace[name].bad]
    assert [note.rounds for note in trace.rounds(div)] == [*((k,) for k in range(10)), (40,)]
    assert trace.first_bad().rounds == (40,)
    assert trace.first_bad().op == div.partition(":")[0]


def test_what_is_in_a_branch_that_is_not_taken_did_not_run():
    with tf.Graph().as_default() as graph, v1_loops():
        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf1.cond(x > 0.0, lambda: tf.sqrt(x, name="root"), lambda: tf.square(x, name="square"))
        tf.identity(y, name="y")
    trace = gs.open(graph).trace({"x:0": 4.0})
    assert trace["cond/root:0"].mean == 2.0
    assert "cond/square:0" not in trace
    with refuses(SelectionError, "trace['cond/square:0']", "a branch that was not taken"):
        trace["cond/square:0"]
    assert "cond/square" not in trace.costs


def towers(fault: int | None = 5) -> tf.Graph:
    """Eight calls of one function with a loop in it, whose body takes a logarithm; of one tower that of zero."""

    @tf.function
    def tower(x, start):
        def body(i, a):
            return i + 1, a + tf.math.log(tf.maximum(start - tf.cast(i, tf.float32), 0.0), name="ln")

        _, a = tf.while_loop(lambda i, _: i < 4, body, [0, x], name="loop")
        return a

    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        ends = []
        for k in range(8):
            with tf.name_scope(f"tower_{k}"):
                ends.append(tower(x, 3.0 if k == fault else 20.0))
        tf.multiply(tf.add_n(ends), 0.0, name="loss")
    return graph


def test_a_logarithm_of_zero_in_a_loop_in_a_function_in_one_of_eight_towers_is_found_in_one_call():
    found = gs.open(towers()).trace({"x:0": [1.0, 2.0]}).first_bad()
    assert found.op.startswith("tower_5/")
    assert found.op.endswith("/loop/body/ln")
    assert (found.type, found.rounds, found.stats.infinite) == ("Log", (3,), 1)
    assert [note.zeros for note in found.inputs] == [1]
    assert found.path[0] == found.op
    assert not any("/flow/" in name for name in found.path)  # how the loop turns is no op of this graph
    assert found.first_nan is not None
    assert found.first_nan.tensor == "loss:0"
    assert "by Log" in repr(found)
    assert "then NaN in loss:0" in repr(found)


def test_the_picture_is_colored_by_what_a_trace_tells():
    ed = gs.open(towers())
    trace = ed.trace({"x:0": [1.0, 2.0]})
    ed.paint(trace, "not finite")
    reported = {box["name"]: box["paint"]["text"] for box in ed.screen.traits()["scenes"]["source"]["boxes"]}
    assert ed.screen.traits()["scenes"]["source"]["legend"]["title"].startswith("not finite")
    bad = [name for name, words in reported.items() if words and not words.startswith("0 ")]
    assert any(name.startswith("tower_5") for name in bad)
    assert not any(name.startswith(("tower_4", "tower_6")) for name in bad)
    ed.paint(trace)
    assert ed.screen.traits()["scenes"]["source"]["legend"]["title"].startswith("ms")  # times say how they are added up


def test_where_all_is_finite_there_is_no_first_bad():
    trace = gs.open(towers(None)).trace({"x:0": [1.0]})
    assert trace.first_bad() is None
    assert "all is finite" in repr(trace)


def test_a_nan_that_passes_through_hundreds_of_ops_is_found_where_it_arises():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [3], name="x")
        w = tf1.get_variable("w", initializer=[1.0, -1.0, 1.0], use_resource=True)
        y = x
        for k in range(400):
            y = tf.sqrt(y * w, name="root") if k == 150 else tf.add(y, 0.001 * k)
        tf.reduce_sum(y, name="y")
    ed = gs.open(graph)
    found = ed.trace({"x:0": [1.0, 1.0, 1.0]}).first_bad()
    assert (found.op, found.type, found.stats.nans, found.source) == ("root", "Sqrt", 1, "")
    assert found.path[0] == "root"
    assert found.path[-1] in ("x", "w")


def test_a_nan_that_is_fed_or_held_says_so():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        w = tf1.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
        tf.multiply(x, w, name="y")
    ed = gs.open(graph)
    assert ed.trace({"x:0": [np.nan, 1.0]}).first_bad().source == "feed"
    session = ed.session()
    with graph.as_default():
        session.run(tf1.assign(graph.get_collection("variables")[0], [np.inf, np.nan]))
    found = gs.open(session).trace({"x:0": [0.0, 1.0]}).first_bad()
    assert found.source == "variable"


def test_an_infinity_that_is_masked_is_no_cause_where_there_is_a_nan():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        mask = tf.math.log(tf.constant([0.0, 1.0]), name="mask")
        soft = tf.nn.softmax(x + mask, name="soft")
        tf.divide(soft - soft, soft - soft, name="fault")
    found = gs.open(graph).trace({"x:0": [1.0, 2.0]}).first_bad()
    assert found.op == "fault"


def test_what_tensorflow_leaves_unset_is_not_noted():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, (2, 4, 4, 3), name="x")
        ones = [tf.ones(3)] * 4
        held = tf.compat.v1.nn.fused_batch_norm(x, *ones, is_training=False, name="held")
        batch = tf.compat.v1.nn.fused_batch_norm(x, *ones[:2], is_training=True, name="batch")
        tf.add(held[0], batch[0], name="y")
    trace = gs.open(graph).trace({"x": np.ones((2, 4, 4, 3), np.float32)}, fetches="y")
    for port in (3, 4, 5):
        with pytest.raises(gs.SelectionError, match="does not set it with is_training=False"):
            trace[f"held:{port}"]
    assert trace["batch:3"].shape == (3,)


def test_gradients_in_loops_are_followed():
    with tf.Graph().as_default() as graph, v1_loops():
        x = tf1.placeholder(tf.float32, [], name="x")
        step = lambda i, a: (i + 1, tf.sqrt(a * tf.cast(i, tf.float32), name="root"))  # noqa: E731
        y = tf1.while_loop(lambda i, _: i < 2, step, [0, x], name="loop")[1]
        tf.identity(tf.gradients(y, x)[0], name="g")
    found = gs.open(graph).trace({"x:0": 1.0}, "g:0").first_bad()
    assert found.op.startswith("gradients/")
    assert not any(note.bad for note in found.inputs)


@pytest.mark.parametrize("taken", [True, False], ids=["taken", "left"])
def test_branches_of_tf2_are_followed(taken):
    @tf.function
    def choose(x, big):
        return tf.cond(big, lambda: tf.math.log(x, name="ln"), lambda: tf.square(x, name="square"))

    with tf.Graph().as_default() as graph:
        x, big = tf1.placeholder(tf.float32, [], name="x"), tf1.placeholder(tf.bool, [], name="big")
        tf.negative(choose(x, big), name="y")
    trace = gs.open(graph).trace({"x:0": 0.0, "big:0": taken})
    found = trace.first_bad()
    assert any(name.endswith("/ln:0") for name in trace) is taken
    assert any(name.endswith("/square:0") for name in trace) is not taken
    assert (found and (found.type, found.op.rpartition("/")[2])) == (("Log", "ln") if taken else None)


def test_gradients_of_loops_of_tf2_are_followed():
    @tf.function
    def slope(x):
        step = lambda i, a: (i + 1, tf.sqrt(a * tf.cast(i, tf.float32), name="root"))  # noqa: E731
        _, y = tf.while_loop(lambda i, _: i < 2, step, [0, x], name="loop")
        return tf.gradients(y, x)[0]

    function = slope.get_concrete_function(tf.TensorSpec([], name="x"))
    assert not any(op.type in ("Enter", "Exit") for op in function.graph.get_operations())
    trace = gs.open(function).trace({"x": 1.0})
    found = trace.first_bad()
    assert "/loop_grad/" in found.op or "gradients" in found.op
    assert found.stats.bad
    assert not any(note.bad for note in found.inputs)


def test_a_signature_is_run_under_its_layers_names(tmp_path):
    import keras

    x = keras.Input((8,), name="x")
    model = keras.Model(x, keras.layers.Dense(2, "relu", name="head")(x), name="net")
    model.export(tmp_path / "served", verbose=False)
    rows = RNG.standard_normal((3, 8)).astype(np.float32)
    ed = gs.open(tmp_path / "served")
    trace = ed.trace({"x": rows})
    (value,) = trace.results.values()
    assert np.allclose(value, model(rows).numpy(), atol=1e-6)
    (out,) = ed.layer("head").outputs
    assert trace[out].shape == (3, 2)
    assert "head" in out


def test_runs_of_two_dtypes_are_told_apart_by_a_tolerance():
    def net(dtype):
        with tf.Graph().as_default() as graph:
            x = tf.cast(tf1.placeholder(tf.float32, [4], name="x"), dtype)
            tf.multiply(tf.exp(x, name="up"), 3.0, name="y")
        return graph

    feeds = {"x:0": [0.1, 0.2, 0.3, 0.4]}
    whole, half = (gs.open(net(dtype)).trace(feeds, "y:0") for dtype in (tf.float32, tf.float16))
    assert whole.first_difference(half, 0.01) is None
    found = whole.first_difference(half, 1e-6)
    assert found.op == "up"
    assert 1e-6 < found.difference < 1e-2
    assert 0 < whole.differences(half)["y"] < 1e-2


@pytest.mark.deep
def test_a_run_of_another_machine_is_compared_by_its_file(tmp_path):
    script = """
import sys, numpy as np, tensorflow as tf, graphsurgeon as gs
graph = tf.Graph()
with graph.as_default():
    x = tf.compat.v1.placeholder(tf.float32, [2, 2], name="x")
    a = tf.matmul(x, [[1.0, 2.0], [3.0, float(sys.argv[2])]], name="a")
    tf.nn.relu(a, name="y")
gs.open(graph).trace({"x:0": np.eye(2)}).save(sys.argv[1])
"""
    traces = []
    for value in ("4", "4", "5"):
        file = tmp_path / f"{len(traces)}.npz"
        fresh.process(script, file, value).check_returncode()
        traces.append(Trace.load(file))
    here, same, other = traces
    assert here.first_difference(same, 0.0) is None
    assert here.first_difference(other).op == "a/b"
    assert here.first_difference(other).type == "Const"


def test_the_graph_and_its_values_stay_as_they_are_when_a_step_is_run():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        w = tf1.get_variable("w", initializer=[1.0, 2.0])
        loss = tf.reduce_sum(tf.square(x * w), name="loss")
        tf1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
    ed = gs.open(graph)
    session = ed.session()
    before, proto = look(graph), graph.as_graph_def().SerializeToString(deterministic=True)
    trace = ed.trace({"x:0": [1.0, 1.0]}, ["loss:0", "train"])
    assert trace.results["loss:0"] == 5.0
    assert "train/update_w/ResourceApplyGradientDescent" in trace.costs or any("train" in op for op in trace.costs)
    assert session.run("w/Read/ReadVariableOp:0").tolist() == [1.0, 2.0]
    assert look(graph) == before
    assert graph.as_graph_def().SerializeToString(deterministic=True) == proto


def test_the_values_of_now_are_taken():
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=[1.0, 2.0])
        tf.multiply(w, 3.0, name="y")
        session = tf1.Session()
        session.run(tf1.global_variables_initializer())
        session.run(tf1.assign(w, [5.0, 6.0]))
    assert gs.open(session).trace(fetches="y:0").results["y:0"].tolist() == [15.0, 18.0]
    assert gs.open(graph).trace(fetches="y:0", session=session).results["y:0"].tolist() == [15.0, 18.0]


def test_a_tensor_in_the_middle_can_be_fed():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        a, b = tf.split(x, 2, name="parts")
        tf.add(tf.negative(a, name="a"), b, name="y")
    trace = gs.open(graph).trace({"a:0": [7.0], "parts:1": [1.0]})
    assert trace.results["y:0"].tolist() == [8.0]
    assert "x:0" not in trace


def test_functions_are_in_the_open_under_their_names():
    @tf.function
    def inner(v):
        return tf.exp(v, name="up")

    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        tf.identity(inner(inner(x)), name="y")
    trace = gs.open(graph).trace({"x:0": [0.0]})
    ups = sorted(name for name in trace if name.endswith("up:0"))
    assert [trace[name].mean for name in ups] == pytest.approx([1.0, np.e])
    assert all("PartitionedCall" in name for name in ups)


def test_a_keras_model_and_a_concrete_function():
    import keras

    x = keras.Input((8,), name="x")
    model = keras.Model(x, keras.layers.Dense(2, "relu", name="head")(x), name="net")
    rows = RNG.standard_normal((3, 8)).astype(np.float32)
    ed = gs.open(model)
    trace = ed.trace({"x": rows})
    (value,) = trace.results.values()
    assert np.allclose(value, model(rows).numpy(), atol=1e-6)
    assert trace[ed.layer("head").outputs[0]].shape == (3, 2)
    function = tf.function(lambda v: tf.math.log(v, name="ln")).get_concrete_function(tf.TensorSpec([2], name="v"))
    assert gs.open(function).trace({"v": [0.0, 1.0]}).first_bad().op.endswith("ln")


def test_made_up_feeds_are_the_same_for_a_seed():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 3], name="x")
        tf.identity(x, name="y")
    ed = gs.open(graph)
    one, two, other = (ed.trace(random=seed).results["y:0"] for seed in (1, 1, 2))
    assert one.shape == (1, 3)
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_feeds_from_a_file(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.square(tf1.placeholder(tf.float32, [2], name="x"), name="y")
    np.savez(tmp_path / "feeds.npz", **{"x:0": np.array([2.0, 3.0])})
    assert gs.open(graph).trace(tmp_path / "feeds.npz").results["y:0"].tolist() == [4.0, 9.0]
    with refuses(PlanError, "none.npz", "cannot be read", "np.savez"):
        gs.open(graph).trace(tmp_path / "none.npz")


def test_what_cannot_be_run_is_refused_with_what_to_type():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 3], name="x")
        tf.identity(x, name="y")
        tf1.placeholder(tf.string, name="words")
    ed = gs.open(graph)
    with refuses(PlanError, "trace()", "'x:0' (float32 (?, 3)) needs a feed", "feeds={'x:0': array}"):
        ed.trace(fetches="y:0")
    with refuses(PlanError, "the shape (3,)", "(?, 3) of float32"):
        ed.trace({"x:0": [1.0, 2.0, 3.0]})
    with refuses(SelectionError, "trace('z:0')", "no op has that name"):
        ed.trace({"z": 1.0})
    with refuses(PlanError, "trace(feeds=3)", "not a mapping", "Give {'x:0': array}"):
        ed.trace(3)
    with refuses(PlanError, "trace(fetches=[]): the list is empty", "Name a tensor or an op, or leave out fetches="):
        ed.trace(random=0, fetches=[])
    with refuses(SelectionError, "trace(fetches='nope:0')"):
        ed.trace(random=0, fetches="nope:0")
    with refuses(SelectionError, "trace(random='x')", "not a seed"):
        ed.trace(random="x")
    with refuses(PlanError, "'words:0' (string (...)) needs a feed"):
        ed.trace(random=0, fetches="words:0")
    for problem, said in (
        (True, "the value is not a seed"),
        (1.5, "the value is not a seed"),
        (-1, "between 0 and 4294967295"),
    ):
        for argument in ("random", "seed"):
            with refuses(SelectionError, f"trace({argument}={problem!r})", said, f"{argument}=0"):
                ed.trace({"x:0": [[1.0, 2.0, 3.0]]}, "y:0", **{argument: problem})
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=1.0)
        w.assign_add(1.0)
    with refuses(PlanError, "trace()", "set variables or write files", "fetches=[...]"):
        gs.open(graph).trace()


def test_all_that_needs_a_feed_is_named_at_once():
    with tf.Graph().as_default() as graph:
        x, n, words = (tf1.placeholder(dtype, [None], name=dtype.name) for dtype in (tf.float32, tf.int32, tf.string))
        with tf.control_dependencies([words]):
            tf.add(x, tf.cast(n, tf.float32), name="y")
    ed = gs.open(graph)
    problem = "'float32:0' (float32 (?)), 'int32:0' (int32 (?)), 'string:0' (string (?)) need feeds."
    with refuses(
        PlanError, problem, "Give feeds={'float32:0': array, 'int32:0': array, 'string:0': array}, or random=0"
    ):
        ed.trace(fetches="y:0")
    problem = "'string:0' (string (?)) needs a feed: random values need a numeric dtype and a known rank"
    with refuses(PlanError, problem, "Give feeds={'string:0': array}."):
        ed.trace(fetches="y:0", random=0)


@pytest.mark.parametrize(
    ("limit", "problem", "suggestion"),
    [
        ({"timeout": -1}, "the value is not a time", "Give seconds, for example timeout=60"),
        ({"timeout": 0}, "the value is not a time", "Give seconds, for example timeout=60"),
        ({"timeout": "1"}, "the value is not a time", "Give seconds, for example timeout=60"),
        ({"timeout": float("nan")}, "the value is not a time", "Give seconds, for example timeout=60"),
        ({"rounds": 0}, "the value is not a number of rounds", "Give 1 or more, for example rounds=1000"),
        ({"rounds": 1.5}, "the value is not a number of rounds", "Give 1 or more, for example rounds=1000"),
        ({"rounds": True}, "the value is not a number of rounds", "Give 1 or more, for example rounds=1000"),
        (
            {"watch": 3},
            "the value cannot be called",
            "Give a function, for example watch=lambda done, total: done < 500",
        ),
        ({"memory": 0.5}, "the value is not a number of bytes", "memory=200 << 20"),
    ],
)
def test_a_limit_that_is_none_is_refused(limit, problem, suggestion):
    ((name, value),) = limit.items()
    with refuses(PlanError, f"trace({name}={value!r}): {problem}", suggestion):
        gs.open(towers()).trace({"x:0": [1.0, 2.0]}, **limit)


def test_a_variable_without_a_value_is_named_in_the_words_of_a_run():
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=1.0, use_resource=True)
        tf.negative(w, name="y")
    with tf1.Session(graph=graph) as session:
        ed = gs.open(session)
        values = "session.run(variable.initializer), or gs.open(session).restore(checkpoint)"
        suggestion = f"{values}; or feed its consumers: feeds={{...}}."
        with refuses(PlanError, "trace(): variable 'w' has no value in the session given", suggestion):
            ed.trace()
        assert ed.trace({ed.op("y").inputs[0].name: 3.0}).results == {"y:0": -3.0}


def test_an_op_without_a_kernel_is_named_and_the_rest_runs():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [1, 1, 1], name="x")
        before = tf.exp(x, name="before")
        given = {"input": before, "input_h": x, "input_c": x, "params": tf.zeros([16])}
        out = tf.raw_ops.CudnnRNN(**given, is_training=False, name="rnn")
        tf.add(out.output, 1.0, name="after")
        tf.negative(before, name="beside")
    trace = gs.open(graph).trace({"x:0": [[[0.0]]]}, ["after:0", "beside:0"])
    assert "'rnn' (CudnnRNN)" in trace.stop_reason
    assert trace["before:0"].mean == 1.0
    assert trace["beside:0"].mean == -1.0
    assert list(trace.results) == ["beside:0"]
    with refuses(SelectionError, "the run stopped before it", "rnn"):
        trace["after:0"]


@pytest.mark.deep
def test_a_run_that_takes_too_long_keeps_what_ran():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf.exp(x, name="before")
        queue = tf.queue.FIFOQueue(1, tf.float32, shapes=[[]], name="empty")
        tf.add(queue.dequeue(name="waits"), y, name="after")
    trace = gs.open(graph).trace({"x:0": 0.0}, "after:0", timeout=5.0)
    assert trace.stop_reason == "it took longer than 5 s"
    assert trace["before:0"].mean == 1.0
    assert trace.results == {}


def test_two_runs_are_told_apart_where_they_first_differ():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2, 3], name="x")
        for name in ("a", "b", "c"):
            w = tf1.get_variable(name, initializer=np.eye(3, dtype=np.float32), use_resource=True)
            x = tf.tanh(tf.matmul(x, w, name=f"{name}_mul"), name=f"{name}_out")
        session = tf1.Session()
        session.run(tf1.global_variables_initializer())
        feeds = {"x:0": np.arange(6).reshape(2, 3) / 6}
        ed = gs.open(session)
        before = ed.trace(feeds, "c_out:0")
        assert before.first_difference(ed.trace(feeds, "c_out:0"), 0.0) is None
        session.run(tf1.assign(graph.get_collection("variables")[1], 1.01 * np.eye(3)))
    found = before.first_difference(ed.trace(feeds, "c_out:0"))
    assert found.op.startswith("b")
    assert found.type == "ReadVariableOp"
    assert 0.005 < found.difference < 0.02


def drawn() -> tf.Graph:
    """Random ops without a seed: in the open, in a loop, inside of a function, and dropout with its gradient."""

    @tf.function
    def noise(v):
        return v + tf.random.normal(tf.shape(v), name="noise")

    with tf.Graph().as_default() as graph, v1_loops():
        x = tf1.placeholder(tf.float32, [64], name="x")
        kept = tf.nn.dropout(x, 0.5, name="kept")
        turn = lambda i, a: (i + 1, tf.add(a, tf.random.uniform([64], name="drawn"), name="sum"))  # noqa: E731
        _, a = tf1.while_loop(lambda i, _: i < 20, turn, [0, kept], name="loop")
        tf.identity(noise(tf.random.shuffle(a, name="mixed")), name="y")
        tf.identity(tf.gradients(a, x)[0], name="g")
    return graph


def test_random_ops_draw_the_same_numbers_in_each_trace():
    graph = drawn()
    ed, feeds, wanted = gs.open(graph), {"x:0": np.ones(64)}, ["y:0", "g:0"]
    before = graph.as_graph_def().SerializeToString(deterministic=True)
    one, two, other, free = (ed.trace(feeds, wanted, seed=seed) for seed in (0, 0, 7, None))
    assert len(one.rounds("loop/sum:0")) == 20
    assert any("/noise" in name for name in one)
    assert one.first_difference(two, 0.0) is None
    assert all(np.array_equal(one.results[name], two.results[name]) for name in wanted)
    for differs in (other, free):
        assert one.first_difference(differs).type in ("RandomUniform", "RandomShuffle", "RandomStandardNormal")
    assert graph.as_graph_def().SerializeToString(deterministic=True) == before
    assert one.graph.nodes[one.graph.index["kept/random_uniform/RandomUniform"]].attr["seed2"].i == 0


def test_an_original_and_its_copy_draw_the_same_numbers():
    ed, dst = gs.open(drawn()), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(ed.select(outputs="y:0"), to="c", unmapped="placeholder"))
    outcome = gs.compare(ed, done, {"x:0": np.ones(64)}, outputs="y:0")
    assert outcome.first_difference is None
    assert "draw the same numbers in both, they agree" in outcome.reason
    assert "'kept/random_uniform/RandomUniform'" in outcome.reason


def test_what_differs_behind_random_ops_is_found():
    def noisy(scale):
        with tf.Graph().as_default() as graph:
            x = tf.random.normal([8], name="x")
            tf.multiply(tf.nn.relu(x, name="act"), tf.constant(scale, name="scale"), name="y")
        return graph

    assert gs.compare(noisy(1.0), noisy(2.0), outputs="y:0").first_difference.op == "scale"


def test_a_trace_is_kept_in_a_file(tmp_path):
    trace = gs.open(towers()).trace({"x:0": [1.0, 2.0]})
    trace.save(tmp_path / "run.npz")
    again = Trace.load(tmp_path / "run.npz")
    assert repr(again) == repr(trace)
    assert again.table() == trace.table()
    assert list(again) == list(trace)
    assert np.array_equal(again.results["loss:0"], trace.results["loss:0"], equal_nan=True)
    assert again.first_bad().op == trace.first_bad().op


def test_time_and_memory_are_those_of_tensorflow():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [500, 500], name="x")
        tf.reduce_sum(tf.matmul(x, x, name="product"), name="y")
    trace = gs.open(graph).trace(random=0)
    cost = trace.cost("product")
    assert cost.bytes >= 500 * 500 * 4
    assert cost.seconds > trace.cost("x").seconds if "x" in trace.costs else cost.seconds > 0
    assert trace.table(by="bytes").splitlines()[1].startswith("product:0")
    with refuses(SelectionError, "trace.cost('none')"):
        trace.cost("none")


@pytest.mark.parametrize("id", corpus_cases(lambda item: bool(item.get("golden")), quick=6))
def test_the_graphs_of_the_corpus_give_their_golden_outputs(corpus, id):
    feeds, want = corpus.golden(id)
    filled = bool((corpus.item(id).get("run") or {}).get("fill_rule"))
    raw = {"raw": True} if corpus.item(id)["kind"] == "savedmodel" else {}
    ed = gs.open(corpus.load(id)[1]) if filled else gs.open(corpus.path(id), **raw).trust()
    trace = ed.trace(feeds, list(want))
    if corpus.item(id)["expect"] == "imports_but_no_kernel":
        assert "cannot run here" in trace.stop_reason
        return
    assert not trace.stop_reason
    corpus.compare(id, dict(trace.results))
    assert all(trace.graph.tensor(name) for name in trace)


def endless():
    """A graph whose loop never ends."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf.exp(x, name="before")
        last = tf1.while_loop(lambda i: i >= 0, lambda i: tf.math.floormod(i + 1, 7), [tf.cast(y, tf.int32)])
    return graph, last.name


def test_a_run_that_is_stopped_by_hand_keeps_what_ran():
    graph, last = endless()
    asked = []

    def watch(done, total):
        asked.append((done, total))
        return done < 50

    trace = gs.open(graph).trace({"x:0": 0.0}, last, watch=watch, rounds=20)
    assert trace.stop_reason == "it was stopped by hand"
    assert "the part that ran is finite" in repr(trace)
    assert trace["before:0"].mean == 1.0
    assert trace.results == {}
    assert asked[-1][0] >= 50
    assert len({total for _, total in asked}) == 1
    assert gs.open(graph).trace({"x:0": 0.0}, "before:0", watch=lambda *_: True).stop_reason == ""


def test_a_run_that_is_interrupted_ends():
    graph, last = endless()

    def watch(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gs.open(graph).trace({"x:0": 0.0}, last, watch=watch)


def test_what_a_run_needs_is_told():
    with tf.Graph().as_default() as graph:
        a, b = tf1.placeholder(tf.float32, [None, 8], name="a"), tf1.placeholder(tf.int32, name="b")
        tf.nn.relu(a, name="y")
        tf.abs(b, name="z")
    ed = gs.open(graph)
    assert {name: str(info) for name, info in ed.feeds_needed().items()} == {
        "a:0": "float32 (?, 8)",
        "b:0": "int32 unknown shape",
    }
    assert list(ed.feeds_needed("y:0")) == ["a:0"]


# -- a plan that is not applied yet -----------------------------------------------------------------


def model() -> tf.Graph:
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        w = tf1.get_variable("w", initializer=2.0, use_resource=True)
        tf.multiply(tf.nn.relu(x, name="act"), w, name="y")
    return graph


FEED = {"x:0": [-1.0, 2.0]}


def plans(ed):
    """Plans of both modes -> what is asked for then, and what that is."""
    whole = {"inputs": {"x:0": "y:0"}, "values": {"w": 7.0}}
    return [
        (ed.plan().copy(ed.select(outputs="y:0"), to="again", **whole), "again/y:0", [0.0, 140.0]),
        (ed.plan().reroute("act:0", to="x:0"), "y:0", [-10.0, 20.0]),
        (ed.plan().remove("act", stitch=True).rename("y", "out"), "out:0", [-10.0, 20.0]),
        (ed.plan().rename("w", "v"), "y:0", [0.0, 20.0]),
        (ed.plan().insert(tf.exp, on="act:0", name="up"), "y:0", (10.0 * np.exp([0.0, 2.0])).tolist()),
    ]


@pytest.mark.parametrize("number", range(5))
def test_a_plan_is_tried_before_it_is_applied(number):
    graph = model()
    ed = gs.open(graph)
    session = ed.session()
    with graph.as_default():
        session.run(tf1.assign(graph.get_collection("variables")[0], 10.0))
    before, proto = look(graph), graph.as_graph_def().SerializeToString(deterministic=True)
    plan, wanted, value = plans(ed)[number]
    shown = str(plan)
    trace = ed.trace(FEED, wanted, plan=plan)
    assert trace.results[wanted].tolist() == pytest.approx(value)
    assert trace[wanted].shape == (2,)
    assert (look(graph), graph.as_graph_def().SerializeToString(deterministic=True)) == (before, proto)
    assert (len(ed.history), str(plan), ed.graph is graph) == (0, shown, True)
    done = ed.apply(plan)
    assert done.plan is plan
    assert ed.session(session).run(wanted, FEED).tolist() == pytest.approx(value)
    assert ed.trace(FEED, wanted).first_difference(trace, 0.0) is None


def test_a_try_takes_the_values_of_a_session_and_says_where_the_plan_parts():
    with (graph := model()).as_default():
        session = tf1.Session()
        session.run(graph.get_collection("variables")[0].assign(5.0))
    ed = gs.open(graph)
    plan = ed.plan().reroute("act:0", to="x:0")
    trace = ed.trace(FEED, "y:0", session=session, plan=plan)
    assert trace.results["y:0"].tolist() == [-5.0, 10.0]
    assert ed.trace(FEED, "y:0", session=session).first_difference(trace).op == "y"


def test_what_a_function_returns_is_known_after_a_plan_has_renamed_it():
    function = tf.function(lambda v: tf.exp(v, name="up")).get_concrete_function(tf.TensorSpec([2], name="v"))
    ed = gs.open(function)
    plan = ed.plan().rename("v", "given").rename(ed.outputs["output"].partition(":")[0], "out")
    assert list(ed.trace({"v": [0.0, 1.0]}, plan=plan).results) == ["out:0"]
    ed.apply(plan)
    assert list(ed.trace({"given:0": [0.0, 1.0]}).results) == ["out:0"]
    assert list(ed.trace({"given:0": [0.0, 1.0]}, "output").results) == ["out:0"]


def test_the_tables_of_a_file_are_filled_for_a_try(corpus_graph_with_table):
    ed, feeds, wanted = corpus_graph_with_table
    plan = ed.plan().add_control(wanted.partition(":")[0], after=next(iter(feeds)).partition(":")[0])
    assert ed.trace(feeds, wanted, plan=plan).results[wanted].tolist() == [1, -1]


@pytest.fixture
def corpus_graph_with_table(tmp_path):
    """A saved model whose table is filled when it is loaded."""

    class Model(tf.Module):
        def __init__(self):
            words = tf.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1], tf.string, tf.int64)
            self.table = tf.lookup.StaticHashTable(words, -1)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
        def look_up(self, words):
            return {"ids": tf.identity(self.table.lookup(words), name="ids")}

    made = Model()
    tf.saved_model.save(made, str(tmp_path / "model"), signatures=made.look_up)
    ed = gs.open(tmp_path / "model")
    (fed,), (wanted,) = ed.inputs.values(), ed.outputs.values()
    return ed, {fed: ["b", "z"]}, wanted


def test_a_plan_that_cannot_be_tried_is_refused():
    ed, other = gs.open(model()), gs.open(model())
    with refuses(PlanError, "trace(plan='copy'): this is not a plan", "ed.plan().copy(...)"):
        ed.trace(FEED, "y:0", plan="copy")
    with refuses(PlanError, "trace(plan=...): the plan is empty", "Give it a step"):
        ed.trace(FEED, "y:0", plan=ed.plan())
    with refuses(PlanError, "trace(plan=...)", "not for this graph", "Trace it with its own editor"):
        ed.trace(FEED, "y:0", plan=other.plan().rename("y", "z"))
    plan = ed.plan().remove("act")
    with refuses(PlanError, plan.check()[0].problem):
        ed.trace(FEED, "y:0", plan=plan)
    with refuses(SelectionError, "trace(fetches='y:0')", "no op has that name"):
        ed.trace(FEED, "y:0", plan=ed.plan().rename("y", "z"))


# -- some ops alone ---------------------------------------------------------------------------------


def test_of_a_selection_alone_is_noted_what_it_gives():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        with tf.name_scope("a"):
            y = tf.exp(tf.negative(x, name="neg"), name="exp")
        tf.square(tf.sqrt(tf.identity(y, name="same"), name="root"), name="last")
    ed, feeds = gs.open(graph), {"x:0": [0.0, 1.0]}
    whole, part = ed.trace(feeds), ed.trace(feeds, ops=ed.select(scope="a"))
    assert set(part) == {"a/neg:0", "a/exp:0"}
    assert list(part.results) == ["a/exp:0"]
    assert "root" not in part.costs
    assert whole.first_difference(part, 0.0) is None
    assert list(ed.trace(feeds, "last:0", ops="root")) == ["root:0"]
    assert set(ed.trace(feeds, ops=["root", graph.get_operation_by_name("a/neg")])) == {"root:0", "a/neg:0"}
    same = ed.trace(feeds, ops="same")
    assert (list(same), same["same:0"].max) == (["same:0"], 1.0)
    with refuses(SelectionError, "trace['a/exp:0']", "it is not among the ops to record"):
        same["a/exp:0"]


def test_of_a_call_and_of_a_loop_all_that_is_inside_is_noted():
    ed = gs.open(towers())
    calls = [name for name in ed.snapshot.names if name.startswith("tower_5/") and "PartitionedCall" in name]
    part = ed.trace({"x:0": [1.0]}, ops=calls)
    assert part.first_bad().type == "Log"
    assert all(name.startswith(calls[0]) for name in part)
    assert len(part) < len(ed.trace({"x:0": [1.0]})) / 4
    with tf.Graph().as_default() as graph, v1_loops():
        x = tf1.placeholder(tf.float32, [], name="x")
        turn = lambda i, a: (i + 1, tf.add(a, 1.0, name="up"))  # noqa: E731
        tf.negative(tf1.while_loop(lambda i, _: i < 3, turn, [0, x], name="loop")[1], name="y")
    part = gs.open(graph).trace({"x:0": 0.0}, ops="loop/up")
    assert [note.mean for note in part.rounds("loop/up:0")] == [1.0, 2.0, 3.0]
    assert list(part) == ["loop/up:0"]
    assert part.results["y:0"] == -3.0


def test_a_selection_that_cannot_be_noted_is_refused():
    ed = gs.open(model())
    with refuses(SelectionError, "trace(ops=...): the selection is empty", "leave out ops="):
        ed.trace(FEED, ops=ed.select(name="x") - ed.select(name="x"))
    with refuses(SelectionError, "trace(ops=...): 'c' of the selection is not in", "ops=ed.select(...)"):
        ed.trace(FEED, ops=gs.open(other_graph()).select())
    with refuses(SelectionError, "'nope'"):
        ed.trace(FEED, ops="nope")


def other_graph():
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="c")
    return graph
