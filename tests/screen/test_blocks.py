"""Blocks on screen: they are opened, closed, found, selected, marked, kept in views and copied as scopes are."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError
from graphsurgeon.ui.state import Marks
from tests.refusal import refuses

tf1 = tf.compat.v1
SERIES = "~net/block_[1..6]/"


@pytest.fixture
def ed():
    """Returns an editor of six blocks whose ops have flat names."""
    graph = tf.Graph()
    with graph.as_default():
        y = tf1.placeholder(tf.float32, [2, 3], name="x")
        with tf.name_scope("net"):
            for i in range(1, 7):
                before = y
                with tf.name_scope(f"block_{i}_up"):
                    y = tf.nn.relu(tf.tanh(y))
                y = tf.exp(y, name=f"block_{i}_down")
                y = tf.add(before, y, name=f"block_{i}_add")
            tf.identity(y, name="head")
    return gs.open(graph)


def names(screen):
    return [box["name"] for box in screen.traits()["scenes"]["source"]["boxes"]]


def test_a_block_unfolds_in_its_place_and_folds_with_all_that_is_open_in_it(ed):
    screen = ed.screen
    screen.fold_all()
    assert "~net/block_4/" in names(screen)
    screen.unfold("~net/block_4/")
    screen.unfold("net/block_4_up/")
    assert {"net/block_4_up/Tanh", "net/block_4_add", "~net/block_5/"} <= set(names(screen))
    screen.fold("~net/block_4/")
    screen.unfold("~net/block_4/")
    assert {"net/block_4_up/", "net/block_4_add"} <= set(names(screen))
    screen.fold(SERIES)
    screen.unfold(SERIES)
    assert "~net/block_4/" in names(screen)


@pytest.mark.parametrize(
    ("name", "box"),
    [
        ("net/block_4_up/Tanh", "net/block_4_up/Tanh"),
        ("net/block_4_up/", "net/block_4_up/"),
        ("~net/block_4/", "~net/block_4/"),
        ("net/block_4", "~net/block_4/"),
        (SERIES, SERIES),
    ],
    ids=["op", "scope", "block", "plain", "series"],
)
def test_what_is_in_a_block_is_revealed(ed, name, box):
    screen = ed.screen
    screen.set_depth(0)
    screen.reveal(name)
    assert box in names(screen)
    assert screen.traits()["selected"] == [name]


def test_selecting_a_block_selects_its_ops(ed):
    screen = ed.screen
    screen.select(["~net/block_4/"])
    assert ed.selection.names == [f"net/block_4_{op}" for op in ("up/Tanh", "up/Relu", "down", "add")]
    assert ed.selection.boundary.inputs == ("net/block_3_add:0",)
    assert screen.details("~net/block_4/")["title"] == "net/block_4"
    assert "net/block_4_down" in screen.details("~net/block_4/")["python"]


def test_a_folded_block_is_marked_by_the_one_tensor_that_leaves_it(ed):
    ed.screen.mark_output("~net/block_4/")
    ed.screen.mark_input("~net/block_2/")
    assert ed.screen.state.marks == Marks(("net/block_2_add:0",), ("net/block_4_add:0",))
    assert ed.selection == ed.select(inputs="net/block_2_add:0", outputs="net/block_4_add:0")
    ed.screen.mark_output("net/block_5_up/")
    assert ed.screen.state.marks.outputs[-1] == "net/block_5_up/Relu:0"


def test_a_box_that_several_tensors_leave_is_not_marked():
    with tf.Graph().as_default() as graph:
        with tf.name_scope("two"):
            a, b = tf.split(tf1.placeholder(tf.float32, [2], name="x"), 2, name="parts")
        tf.add(a, b, name="y")
    screen = gs.open(graph).screen
    problem = "mark_output('two/'): 2 tensors leave 'two': 'two/parts:0', 'two/parts:1'"
    with refuses(SelectionError, problem, "Unfold it (Enter) and mark an op, or mark the boundary of the selection"):
        screen.mark_output("two/")


def test_hits_say_which_block_they_are_in(ed):
    screen = ed.screen
    screen.fold_all()
    found = screen.find("block_4_down")
    assert [hit["inside"] for hit in found["hits"]] == ["~net/block_4/"]


def test_rows_of_the_outline_hold_blocks(ed):
    screen = ed.screen
    for row in ("net/", SERIES, "~net/block_2/"):
        screen.outline_open(row)
    rows = [(row["depth"], row["name"]) for row in screen.traits()["outline"]["rows"]]
    assert {(1, SERIES), (2, "~net/block_2/"), (3, "net/block_2_add")} <= set(rows)


def test_a_saved_view_keeps_open_blocks(ed):
    screen = ed.screen
    screen.fold_all()
    screen.unfold("~net/block_4/")
    was = names(screen)
    screen.save_view("four")
    screen.set_depth(0)
    screen.show_view("four")
    assert names(screen) == was


def test_depth_opens_blocks_as_scopes(ed):
    screen = ed.screen
    screen.unfold("net/")
    screen.unfold(SERIES)
    screen.set_depth(1)
    assert SERIES in names(screen)


def test_a_copy_shows_the_blocks_that_its_source_shows(ed):
    screen = ed.screen
    screen.fold_all()
    screen.unfold("~net/block_4/")
    screen.select(["net/"])
    screen.copy("again")
    shown = [box["name"] for box in screen.traits()["scenes"]["destination"]["boxes"]]
    assert {"~again/net/block_3/", "again/net/block_4_add"} <= set(shown)
