"""Feeds: looked up, made to fit, made up; and what can be asked for where nobody says it."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from graphsurgeon.graph.open_graph import outputs_of
from graphsurgeon.running.feeds import default_fetches, random_feeds, resolve_feeds
from tests.graphs import tf1
from tests.refusal import refuses


def test_an_array_takes_the_dtype_of_its_tensor():
    with tf.Graph().as_default() as graph:
        tf1.placeholder(tf.float16, [None, 2], name="x")
    fed = resolve_feeds(gs.open(graph), {"x": [[1, 2]]}, "trace")
    assert fed["x:0"].dtype == np.float16
    with refuses(PlanError, "trace('x:0')", "the shape (2,)", "(?, 2) of float16"):
        resolve_feeds(gs.open(graph), {"x:0": [1, 2]}, "trace")


@pytest.fixture(scope="module")
def fed():
    with tf.Graph().as_default() as graph:
        tf1.placeholder(tf.float32, [None, 2], name="x")
        tf1.placeholder(tf.int32, [], name="n")
        tf1.placeholder(tf.complex64, [], name="c")
        tf1.placeholder(tf.bool, [2], name="flags")
        tf1.placeholder(tf.string, [None], name="words")
        tf1.placeholder(tf.bfloat16, [2], name="half")
        tf1.placeholder(tf.float32, name="any")
    return gs.open(graph)


@pytest.mark.parametrize(
    ("name", "value", "dtype"),
    [
        ("x", [[1, 2]], np.float32),
        ("n", 3.0, np.int32),
        ("n", True, np.int32),
        ("n", 3 + 0j, np.int32),
        ("c", 1 + 2j, np.complex64),
        ("c", 0.1, np.complex64),
        ("flags", [0, 1.0], np.bool_),
        ("half", np.array([1, 2], np.float64), tf.bfloat16.as_numpy_dtype),
        ("any", [], np.float32),
    ],
)
def test_what_says_the_same_in_the_dtype_of_its_tensor_is_taken(fed, name, value, dtype):
    array = resolve_feeds(fed, {name: value}, "trace")[f"{name}:0"]
    assert array.dtype == dtype
    assert np.array_equal(array, np.asarray(value, array.dtype if name == "c" else None))


def test_texts_are_taken_as_they_are(fed):
    for texts in (["a", "b"], np.array([b"a"]), np.array([b"a", "b"], object)):
        assert resolve_feeds(fed, {"words": texts}, "trace")["words:0"].tolist() == list(texts)


@pytest.mark.parametrize(
    ("name", "value", "problem", "suggestion"),
    [
        ("n", 2.5, "2.5 is not a value of int32", "Give numbers of int32"),
        ("n", float("nan"), "nan is not a value of int32", "Give numbers of int32"),
        ("n", 2**40, "1099511627776 is not a value of int32", "Give numbers of int32"),
        ("n", 1j, "1j is not a value of int32", "Give numbers of int32"),
        ("n", [None], "not an array of numbers (it contains NoneType), but the tensor is () of int32", "of int32"),
        ("flags", [1, 2], "2 is not a value of bool", "Give numbers of bool"),
        ("x", [[1j, 2]], "1j is not a value of float32", "Give numbers of float32"),
        ("x", [["1", "2"]], "the value is text, but the tensor is (?, 2) of float32", "Give numbers of float32"),
        ("x", [[1, 2], [3]], "the items of the list differ in shape", "Give rows of the same length"),
        ("x", tf.keras.Input([2]), "an object of type KerasTensor is not an array", "Give numbers, or an array"),
        ("x", [1, 2], "the shape (2,), but the tensor is (?, 2) of float32", "that shape, or random=0 for 'x:0' too"),
        ("words", 3, "the value is not text, but the tensor is of string", "Give text, for example ['a', 'b']"),
        ("words", "a", "the array has the shape (), but the tensor is (?) of string", "Give an array of that shape."),
    ],
)
def test_what_would_say_something_else_is_refused(fed, name, value, problem, suggestion):
    with refuses(PlanError, f"trace('{name}:0')", problem, suggestion):
        resolve_feeds(fed, {name: value}, "trace", random=True)


def test_a_name_that_is_none_is_told_what_can_be_fed(fed):
    with refuses(SelectionError, "there is no tensor 'pictures:0'", "Feed one of: 'x:0', 'n:0', 'c:0'"):
        resolve_feeds(fed, {"pictures": 1}, "trace")
    with refuses(SelectionError, "there is no tensor 'wods:0'", "Did you mean 'words'?"):
        resolve_feeds(fed, {"wods": 1}, "trace")
    with refuses(SelectionError, "there is no tensor 'pictures:0'", "No name is similar"):
        resolve_feeds(gs.open(tf.Graph()), {"pictures": 1}, "trace")


def test_what_is_no_mapping_is_refused(fed, tmp_path):
    for thing, shown, kind in ((3, "3", "int"), ([[1, 2]], "...", "list"), (np.zeros(9), "...", "ndarray")):
        problem = f"trace(feeds={shown}): an object of type {kind} is not a mapping"
        with refuses(PlanError, problem, "Give {'x:0': array}"):
            resolve_feeds(fed, thing, "trace")
    np.save(tmp_path / "one.npy", np.zeros(3))
    with refuses(PlanError, "the file contains one array without the name of a tensor", "Give {'x:0': np.load("):
        resolve_feeds(fed, tmp_path / "one.npy", "trace")


def test_what_nobody_can_ask_for_says_why(tmp_path):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        tf.identity(tf.exp(x, name="y"), name="z")
    proto = graph.as_graph_def()
    next(node for node in proto.node if node.name == "y").op = "Addons>Parse"
    (tmp_path / "odd.pb").write_bytes(proto.SerializeToString())
    ed = gs.open(tmp_path / "odd.pb")
    problem = "the ops without consumers need 1 op of a type that TensorFlow does not know here, 'Addons>Parse'"
    with refuses(PlanError, "trace()", problem, "Specify the fetches: fetches=[...], for example 'z:0'"):
        ed.feeds_needed()
    assert list(ed.feeds_needed("x:0")) == ["x:0"]


def test_what_is_made_up_has_dtype_and_shape():
    with tf.Graph().as_default() as graph:
        tf1.placeholder(tf.int64, [None, 2], name="x")
        tf1.placeholder(tf.float32, name="any")
        tf1.placeholder(tf.string, [None], name="text")
    ed = gs.open(graph)
    made = random_feeds(ed, ["x:0"], 0, "trace")["x:0"]
    assert (made.shape, made.dtype) == ((1, 2), np.int64)
    why = (
        "'any:0' (float32 (...)), 'text:0' (string (?)) need feeds: random values need a numeric dtype and a known rank"
    )
    with refuses(PlanError, why, "Give feeds={'any:0': array, 'text:0': array}."):
        random_feeds(ed, ["any:0", "x:0", "text:0"], 0, "trace")


def test_what_is_in_a_branch_is_no_output():
    on = tf1.control_flow_v2_enabled()
    tf1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = tf1.placeholder(tf.float32, [], name="x")
            tf.identity(tf1.cond(x > 0.0, lambda: tf.sqrt(x), lambda: x), name="y")
            tf1.while_loop(lambda i: i < 3, lambda i: i + 1, [0], name="loop")
    finally:
        if on:
            tf1.enable_control_flow_v2()
    found = outputs_of(gs.open(graph).snapshot)
    assert "y:0" in found
    assert all(name == "y:0" or name.startswith("loop/Exit") for name in found), found


def test_what_sets_a_variable_does_not_only_compute():
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=1.0, use_resource=True)
        with tf.control_dependencies([w.assign_add(1.0)]):
            tf.constant(1.0, name="after")
        tf.negative(w, name="y")
    assert default_fetches(gs.open(graph), "trace()", "fetches") == ["y:0"]


def test_what_checks_draws_looks_up_and_gathers_only_computes():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [3, 2], name="x")
        checked = tf1.Assert(tf.reduce_all(x > 0), [x], name="is_positive")
        with tf.control_dependencies([checked]):
            tf.identity(x, name="checked")
        tf.random.uniform([2], name="drawn")
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1.0]), 0.0)
        tf.identity(table.lookup(tf.constant(["a"])), name="looked_up")
        was = tf1.control_flow_v2_enabled()
        tf1.disable_control_flow_v2()
        try:
            cell = lambda a, b: a + b  # noqa: E731
            tf.identity(tf.scan(cell, x), name="scanned")
        finally:
            (tf1.enable_control_flow_v2 if was else tf1.disable_control_flow_v2)()
        queue = tf.queue.FIFOQueue(1, tf.float32, shapes=[[]])
        tf.identity(queue.dequeue(), name="taken")
    ed = gs.open(graph)
    assert {"TensorArrayV3", "Enter"} <= set(ed.snapshot.types)
    fetches = default_fetches(ed, "trace()", "fetches")
    for name in ("checked", "drawn/RandomUniform", "looked_up", "scanned"):
        assert f"{name}:0" in fetches, name
    assert "taken:0" not in fetches


def test_a_graph_with_a_loop_of_arrays_runs_without_being_told_what():
    was = tf1.control_flow_v2_enabled()
    tf1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            tf.identity(tf.scan(lambda a, b: a + b, tf1.placeholder(tf.float32, [3, 2], name="x")), name="y")
    finally:
        (tf1.enable_control_flow_v2 if was else tf1.disable_control_flow_v2)()
    assert gs.open(graph).trace({"x:0": np.ones([3, 2])}).results["y:0"].tolist() == [[1, 1], [2, 2], [3, 3]]


def test_a_run_and_the_proof_of_a_file_choose_outputs_by_one_rule(tmp_path):
    """The last op of the graph has an effect: a run fetches the rest, and the proof also what that op reads."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        tf.constant(1.0, name="loose")
        tf.negative(x, name="y")
        count = tf1.get_variable("count", initializer=1.0, use_resource=True)
        count.assign_add(tf.exp(x, name="step"), read_value=False)
    ed = gs.open(graph)
    assert list(ed.trace({"x:0": 0.0}).results) == ["y:0"]
    saved = ed.save(tmp_path / "m.pb")
    assert saved.proof == "opened again by TensorFlow: 2 outputs as in this graph on random values for x:0"
