"""What is listed while a tensor is dragged: what `connect` would accept, by box."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from tests.refusal import refuses
from tests.screen.screens import row_of_ops, traits

tf1 = tf.compat.v1


def _fits(reported: dict) -> dict[str, list[tuple[str, int]]]:
    fits = {
        box: [(t["op"], t["input"]) for t in inputs if not t["reason"]] for box, inputs in reported["boxes"].items()
    }
    return {box: inputs for box, inputs in fits.items() if inputs}


def test_inputs_by_box_and_of_a_fold_those_that_read_something_outside():
    screen = row_of_ops()
    screen.fold("in/")
    reported = screen.input_candidates("e:0")
    assert (reported["tensor"], reported["text"], reported["pane"]) == ("e:0", "float32 (2,)", "source")
    assert _fits(reported) == {"in/": [("in/b", 0)], "d": [("d", 0)]}
    why = "that makes a cycle: 'e:0' is computed from it"
    assert reported["boxes"]["e"] == [
        {"op": "e", "input": 0, "current_input": "a:0", "reason": why, "adaptable": False}
    ]
    screen.unfold("in/")
    assert _fits(screen.input_candidates("e:0")) == {"in/b": [("in/b", 0)], "in/c": [("in/c", 0)], "d": [("d", 0)]}


def test_a_box_that_one_tensor_leaves_stands_for_it():
    screen = row_of_ops()
    assert screen.input_candidates("in/")["tensor"] == "in/c:0"
    with refuses(SelectionError, "input_candidates('nix:0')"):
        screen.input_candidates("nix:0")


def test_what_is_told_to_fit_is_connected():
    screen = row_of_ops()
    for box, inputs in screen.input_candidates("e:0")["boxes"].items():
        for one in inputs:
            screen.connect("e:0", to=one["op"], input=one["input"])
            assert bool(screen.draft.check()) == (one["reason"] != ""), (box, one)
            screen.undo()


def test_of_a_plan_the_boxes_are_those_after_it():
    screen = row_of_ops()
    screen.select(["in/"])
    screen.copy("copy")
    reported = screen.input_candidates("e:0")
    assert reported["pane"] == "destination"
    assert any(box.startswith("copy/") for box in _fits(reported))
    assert traits(screen)["plan"]["steps"]


def test_what_does_not_fit_by_dtype_or_shape_can_be_adapted_as_it_says():
    graph = tf.Graph()
    with graph.as_default():
        tf.identity(tf1.placeholder(tf.uint8, [None, 28, 28], name="pixels"), name="raw")
        tf.exp(tf1.placeholder(tf.float32, [None, 784], name="x"), name="y")
    screen = gs.open(graph).screen
    (one,) = screen.input_candidates("raw:0")["boxes"]["y"]
    assert one["adaptable"], one
    assert not screen.input_candidates("x:0")["boxes"]["y"][0]["adaptable"]
    first, *_ = screen.adapters("raw:0", "y", 0)
    assert first == {"kinds": ["reshape"], "text": "cast to float32, then reshape to (?, 784)"}
    screen.adapt("raw:0", "y", one["input"], first["kinds"])
    assert not screen.draft.check()
    assert screen.draft.to_code().count(".adapt('raw:0', to='y', input=0, kinds='reshape')") == 1
    assert screen.adapters("y:0", "y", 0) == []
    with refuses(PlanError, "adapters('raw:0', 'y', 4)", "has no input 4"):
        screen.adapters("raw:0", "y", 4)


def test_of_another_graph_the_copy_is_meant():
    source, target = tf.Graph(), tf.Graph()
    with source.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        tf.negative(x, name="y")
    with target.as_default():
        tf.exp(tf1.placeholder(tf.float32, [2], name="a"), name="b")
    ed = gs.open(target, title="B")
    ed.view(gs.open(source, title="A"))
    screen = ed.screen
    screen.select(["y"])
    screen.copy("new")
    reported = screen.input_candidates("y:0")
    assert (reported["tensor"], reported["pane"], reported["copies"]) == ("new/y:0", "destination", 0)
    assert ("b", 0) in _fits(reported)["b"]
    screen.connect(reported["tensor"], to="b", input=0)
    assert not screen.draft.check()


def two(shape=(2,)):
    """Returns a screen of graph A, whose tensor `y:0` is `shape`, at the left of graph B."""
    source, target = tf.Graph(), tf.Graph()
    with source.as_default():
        x = tf1.placeholder(tf.float32, shape, name="x")
        tf.exp(x, name="other")
        tf.negative(tf.multiply(x, tf.constant(3.0, name="w"), name="m"), name="y")
    with target.as_default():
        a = tf1.placeholder(tf.float32, [2], name="a")
        tf.exp(a, name="b")
        tf.negative(a, name="c")
    ed = gs.open(target, title="B")
    ed.view(gs.open(source, title="A"))
    return ed.screen


def test_a_tensor_of_another_graph_fits_where_its_copy_would():
    screen = two()
    reported = screen.input_candidates("y:0")
    assert (reported["tensor"], reported["text"], reported["pane"], reported["copies"]) == (
        "y:0",
        "float32 (2,)",
        "destination",
        4,
    )
    assert _fits(reported) == {"b": [("b", 0)], "c": [("c", 0)]}
    assert not screen.draft.steps, "it is only looked at"
    screen.copy_and_connect("y:0", "b", 0)
    assert not screen.draft.check()
    assert screen.draft.after().input_names(screen.draft.after().index["b"]) == ["copy/y:0"]
    assert {"copy/x", "copy/w", "copy/m", "copy/y"} <= set(screen.draft.after().names)
    assert "copy/other" not in screen.draft.after().index
    assert traits(screen)["status"]["text"] == ("4 new ops; copy/y:0 will feed input 0 of b, in a new graph")
    assert len(screen.draft.steps) == 2
    assert screen.input_candidates("y:0")["copies"] == 0


def test_a_tensor_of_another_graph_takes_the_place_of_a_placeholder():
    screen = two()
    screen.copy_and_connect("y:0", "a")
    after = screen.draft.after()
    assert [after.input_names(after.index[op]) for op in ("b", "c")] == [["copy/y:0"]] * 2


def test_a_tensor_of_another_graph_is_adapted_in_one_verb():
    screen = two((1, 2))
    (one,) = screen.input_candidates("y:0")["boxes"]["b"]
    assert one["adaptable"]
    first, *_ = screen.adapters("y:0", "b", 0, pane="source")
    screen.copy_and_connect("y:0", "b", 0, kinds=first["kinds"])
    assert not screen.draft.check()
    screen.undo()
    assert not screen.draft.steps


def test_of_an_output_of_the_boundary_the_region_is_copied():
    screen = two()
    screen.mark_input("m:0")
    screen.mark_output("y:0")
    assert screen.input_candidates("y:0")["copies"] == 2
    screen.copy_and_connect("y:0", "b")
    new = screen.draft.after().names[3:]
    assert sorted(new) == ["copy/m", "copy/y"]


def test_nothing_of_another_graph_that_is_not_there_is_copied():
    screen = two()
    for act in (screen.input_candidates, lambda tensor: screen.copy_and_connect(tensor, "b")):
        with refuses(SelectionError, "nix:0"):
            act("nix:0")
    with refuses(SelectionError, "copy_and_connect('y:0', 'nix')"):
        screen.copy_and_connect("y:0", "nix")
