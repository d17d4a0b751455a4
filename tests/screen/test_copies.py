"""Boxes are held and pasted, duplicated and dragged: each is a step of the plan, the same as its call."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from graphsurgeon.ui.commands.copies import CLIPBOARD
from tests.refusal import refuses
from tests.screen.screens import row_of_ops, traits

tf1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _empty():
    CLIPBOARD.item = None


def _reads(screen) -> dict[str, list[str]]:
    graph = screen.draft.after()
    return {name: graph.input_names(i) for i, name in enumerate(graph.names)}


def _target(title: str = "B"):
    with tf.Graph().as_default() as graph:
        tf.exp(tf1.placeholder(tf.float32, [2], name="a"), name="z")
    return gs.open(graph, title=title)


def test_what_is_held_is_pasted_with_placeholders_or_with_what_it_read():
    screen = row_of_ops()
    with refuses(PlanError, "paste(): the clipboard is empty", "press Ctrl+C first"):
        screen.paste()
    screen.copy_to_clipboard(["in/"])
    assert "2 ops copied" in traits(screen)["status"]["text"]
    assert not screen.draft.steps
    screen.paste()
    screen.paste("kept", keep_inputs=True)
    reads = _reads(screen)
    assert reads["copy/in/b"] == ["copy/a:0"]
    assert reads["kept/in/b"] == ["a:0"]
    with refuses(PlanError, "copy_to_clipboard(copy/in/b): 'copy/in/b' is made by this plan", "Apply the plan first"):
        screen.copy_to_clipboard(["copy/in/b"], "destination")
    with refuses(SelectionError, "copy_to_clipboard('nix'): nothing in graph has this name"):
        screen.copy_to_clipboard(["nix"])


def test_each_is_the_call_of_a_plan():
    screen = row_of_ops()
    ed, block = screen.destination, screen.destination.select(name=["in/b", "in/c"])
    steps = {
        "paste": (lambda: screen.paste(), ed.plan().copy(block, to="copy", unmapped="placeholder")),
        "paste keep": (lambda: screen.paste(keep_inputs=True), ed.plan().copy(block, to="copy", unmapped="keep")),
        "duplicate": (lambda: screen.duplicate(["in/"]), ed.plan().copy(block, to="copy", unmapped="keep")),
        "drag": (
            lambda: screen.duplicate(["in/"], pane="source", keep_inputs=False),
            ed.plan().copy(block, to="copy", unmapped="placeholder"),
        ),
    }
    screen.copy_to_clipboard(["in/"])
    for name, (gesture, plan) in steps.items():
        gesture()
        assert screen.draft.to_code() == plan.to_code(), name
        assert not screen.draft.check()
        screen.undo()


def test_what_is_cut_goes_and_can_be_pasted():
    screen = row_of_ops()
    screen.cut(["d"])
    assert "d" not in _reads(screen)
    screen.paste("again", keep_inputs=True)
    assert _reads(screen)["again/d"] == ["in/c:0"]
    assert not screen.draft.check()
    screen.apply()
    assert "again/d" in screen.destination.snapshot.index


def test_what_is_held_on_one_screen_is_pasted_on_another():
    one, other = row_of_ops(), _target().screen
    one.copy_to_clipboard(["in/"])
    other.paste()
    other.paste("kept", keep_inputs=True)
    reads = _reads(other)
    assert reads["copy/in/b"] == ["copy/a:0"]
    assert reads["kept/in/b"] == ["a:0"]  # of the same name there
    assert not other.draft.check()
    other.apply()
    assert "kept/in/c" in other.destination.snapshot.index


def test_what_was_pasted_stays_what_it_is_whatever_the_source_has_under_its_names():
    one, target = row_of_ops(), _target()
    target.view(row_of_ops().destination)
    screen = target.screen
    one.copy_to_clipboard(["in/"])
    screen.paste()
    kept = screen.draft.steps[0].selection.graph.folded.owner
    traits(screen)
    assert screen.draft.steps[0].selection.graph.folded.owner is kept
    assert kept is one.destination.snapshot.owner


def test_boxes_of_another_graph_are_dropped_in_it_or_onto_an_edge():
    source, target = row_of_ops().destination, _target()
    target.view(source)
    screen = target.screen
    screen.duplicate(["in/"], pane="source", keep_inputs=False)
    assert _reads(screen)["copy/in/b"] == ["copy/a:0"]
    screen.undo()
    screen.insert_copy(["in/"], "a:0", pane="source")
    reads = _reads(screen)
    assert (reads["copy/in/b"], reads["z"]) == (["a:0"], ["copy/in/c:0"])
    assert not screen.draft.check()


def _net():
    """`sum` reads an axis that is a constant, `mm` a variable; both are hidden in the picture."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2, 2], name="x")
        weights = tf1.get_variable("weights", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=True)
        tf1.reduce_sum(tf.matmul(x, weights, name="mm"), axis=1, name="sum")
    return gs.open(graph, title="net")


@pytest.mark.parametrize(("box", "inputs", "read"), [
    ("sum", ["copy/mm:0", "copy/sum/reduction_indices:0"], "Const"),
    ("mm", ["copy/x:0", "copy/mm/ReadVariableOp:0"], "ReadVariableOp"),
])  # fmt: skip
@pytest.mark.parametrize("pasted", [False, True])
def test_constants_and_variables_go_along_where_nothing_else_feeds_them(box, inputs, read, pasted):
    source, target = _net(), _target()
    target.view(source)
    screen = target.screen
    if pasted:
        source.screen.copy_to_clipboard([box])
        screen.paste()
    else:
        screen.duplicate([box], pane="source", keep_inputs=False)
    assert _reads(screen)[f"copy/{box}"] == inputs
    graph = screen.draft.after()
    made = {graph.types[graph.index[name.partition(":")[0]]] for name in inputs}
    assert made == {"Placeholder", read}
    assert not screen.draft.check()


def test_a_duplicate_that_reads_the_same_has_no_constants_of_its_own():
    screen = _net().screen
    screen.duplicate(["sum"])
    assert _reads(screen)["copy/sum"] == ["mm:0", "sum/reduction_indices:0"]
