"""All alike, by hand: found and selected, the nearest miss said, and replaced by an op or a function."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from tests.refusal import refuses

tf1 = tf.compat.v1


def blocks(count=3):
    """Returns the screen of x -> (neg -> act) times `count` -> another neg -> tail."""
    graph = tf.Graph()
    with graph.as_default():
        h = tf1.placeholder(tf.float32, [2], name="x")
        for letter in "abcdefgh"[:count]:
            with tf1.name_scope(f"block{letter}"):
                h = tf.nn.relu(tf.negative(h, name="neg"), name="act")
        tf.exp(tf.negative(h, name="last"), name="tail")
    screen = gs.open(graph).screen
    screen.set_depth(0)
    return screen


def test_all_like_a_scope_are_selected_as_scopes():
    screen = blocks()
    found = screen.find_similar(["blocka/"])
    assert json.loads(json.dumps(found)) == found
    near = "1 of 2 ops fits, and the search stopped at 'blocka/act': 'tail' (Exp) is not of type Relu"
    assert found == {"count": 3, "ops": 6, "boxes": {}, "nearest_miss": near}
    shown = screen.traits()
    assert shown["selected"] == ["blocka/", "blockb/", "blockc/"]
    assert shown["status"] == {"text": f"3 places like this, 6 ops · nearest miss: {near}", "level": "info"}
    assert len(screen.selection) == 6
    assert not screen.draft.steps


def test_a_box_that_holds_more_says_how_many():
    screen = blocks()
    screen.unfold("blocka/")
    found = screen.find_similar(["blocka/act"])
    assert (found["count"], found["nearest_miss"]) == (3, "")
    assert found["boxes"] == {"blockb/": 1, "blockc/": 1}
    assert set(screen.traits()["selected"]) == {"blocka/act", "blockb/act", "blockc/act"}
    assert screen.traits()["status"]["text"] == "3 places like this, 3 ops · nothing else is similar"


def test_what_fits_by_less_than_half_is_no_near_miss_and_is_not_looked_for_where_there_is_much():
    screen = blocks(2)
    found = screen.find_similar(["blocka/", "blockb/"])
    assert (found["count"], found["nearest_miss"]) == (1, "")
    assert screen.traits()["status"]["text"] == "1 place like this, 4 ops · nothing else is similar"
    graph = tf.Graph()
    with graph.as_default():
        h = tf1.placeholder(tf.float32, [2], name="x")
        for letter in "ab":
            with tf1.name_scope(letter):
                for _ in range(101):
                    h = tf.negative(h)
    screen = gs.open(graph).screen
    assert screen.find_similar(["a/"])["count"] == 2
    assert screen.traits()["status"]["text"] == "2 places like this, 202 ops"


def test_what_is_not_there_or_falls_apart():
    screen = blocks()
    with refuses(SelectionError, "find_similar('blockz/'): nothing in graph has this name", "Did you mean"):
        screen.find_similar(["blockz/"])
    with refuses(SelectionError, "has 2 separate pieces", "Look for the pieces one by one"):
        screen.find_similar(["blocka/neg", "tail"])
    with refuses(SelectionError, "replace('blockz/'): nothing in graph has this name"):
        screen.replace(["blockz/"], "Softplus")


def calls():
    """Returns the screen of x -> f -> f -> neg -> act -> y, where f is twice (neg -> act)."""

    def body(h):
        for letter in "ab":
            with tf.name_scope(letter):
                h = tf.nn.relu(tf.negative(h, name="neg"), name="act")
        return h

    graph = tf.Graph()
    with graph.as_default():
        f = tf.function(body, input_signature=[tf.TensorSpec([2])])
        h = f(f(tf1.placeholder(tf.float32, [2], name="x")))
        tf.identity(tf.nn.relu(tf.negative(h, name="neg"), name="act"), name="y")
    return gs.open(graph).screen


def test_inside_of_a_call_all_alike_are_found_where_the_call_is_unfolded():
    screen = calls()
    first, second = (name for name in screen.destination.snapshot.names if name.startswith("Partitioned"))
    screen.unfold(f"{first}")
    screen.set_depth(9)
    found = screen.find_similar([f"{first}/a/neg", f"{first}/a/act"])
    assert (found["count"], found["ops"], found["boxes"]) == (3, 6, {})
    wanted = {f"{first}/{name}" for name in ("a/neg", "a/act", "b/neg", "b/act")} | {"neg", "act"}
    assert set(screen.traits()["selected"]) == wanted
    assert screen.selection.boundary.inputs
    screen.fold(f"{first}/")
    assert screen.find_similar([f"{first}/a/neg", f"{first}/a/act"])["count"] == 3
    assert screen.find_similar(["neg", "act"])["count"] == 1

    screen.replace([f"{first}/a/neg", f"{first}/a/act"], "Softplus")
    assert screen.traits()["status"]["text"].startswith("3 places like")
    screen.apply()
    types = screen.destination.snapshot.types
    assert (types.count("Softplus"), types.count("PartitionedCall") + types.count("StatefulPartitionedCall")) == (3, 1)
    assert second in screen.destination.snapshot.index
    x = np.array([-1.0, 2.0], np.float32)
    h = np.maximum(-np.maximum(-np.log1p(np.exp(np.log1p(np.exp(x)))), 0), 0)
    np.testing.assert_allclose(screen.destination.session().run("y:0", {"x:0": x}), np.log1p(np.exp(h)), rtol=1e-5)


def leaky(t):
    return tf.nn.leaky_relu(-t, 0.5)


@pytest.mark.parametrize(
    ("by", "wanted", "code"),
    [
        ("Softplus", lambda h: np.log1p(np.exp(h)), ".replace(ed.select(scope='blocka'), 'Softplus')"),
        (leaky, lambda h: np.where(h < 0, -h, -h / 2), ".replace(ed.select(scope='blocka'), leaky)"),
    ],
)
def test_all_like_it_give_way_to_an_op_or_a_function(by, wanted, code):
    screen = blocks()
    graph = screen.destination.graph
    screen.replace(["blocka/"], by)
    word = by if isinstance(by, str) else "leaky"
    assert (
        screen.traits()["status"]["text"]
        == f"3 places like blocka/neg, blocka/act will be replaced by {word}, in a new graph"
    )
    printed = screen.draft.to_code()
    assert code in printed
    screen.apply()
    h = x = np.array([-1.0, 2.0], np.float32)
    for _ in range(3):
        h = wanted(h)
    got = screen.destination.session().run("last:0", {"x:0": x})
    np.testing.assert_allclose(got, -h, rtol=1e-5)
    made = {"graph": graph}
    exec(printed, made)
    assert made["done"].graph.as_graph_def() == screen.destination.graph.as_graph_def()
    screen.undo()
    assert screen.destination.graph is graph


def test_places_of_which_others_read_inside_are_kept_or_left():
    screen = blocks()
    with screen.destination.graph.as_default():
        tf.identity(screen.destination.graph.get_tensor_by_name("blockb/neg:0"), name="reader")
    screen.replace(["blocka/neg", "blocka/act"], "Softplus")
    assert screen.traits()["status"]["text"].startswith("2 places like blocka/neg, blocka/act will be replaced")
    assert "blockb/neg:0 inside is read by reader" in " ".join(screen.traits()["plan"]["warnings"])
    screen.undo()
    screen.replace(["blocka/neg", "blocka/act"], "Softplus", external="keep")
    assert screen.traits()["status"]["text"].startswith("3 places like")
    assert (
        ".replace(ed.select(name=['blocka/neg', 'blocka/act']), 'Softplus', external='keep')" in screen.draft.to_code()
    )


def test_what_the_plan_makes_is_no_pattern_yet():
    screen = blocks()
    screen.insert("Relu", on="x", name="new")
    with refuses(PlanError, "replace('new'): 'new' is made by this plan", "Apply the plan first"):
        screen.replace(["new"], "Softplus")


def test_an_op_type_that_does_not_fit_is_a_fault_on_screen():
    screen = blocks()
    screen.replace(["blocka/"], "MatMul")
    assert screen.traits()["status"] == {
        "text": "replace(pattern, 'MatMul'): 'MatMul' takes a, b, but the replaced ops have 1 input: x:0",
        "level": "error",
    }
    assert "as many inputs" in screen.traits()["plan"]["faults"][0]["suggestion"]
