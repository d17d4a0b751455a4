"""Back, forward, saved views, and the outline that keeps in step with the picture."""

from __future__ import annotations

import pytest

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.graph import Graph
from tests.refusal import refuses
from tests.tf2 import tf1


@pytest.fixture
def screen():
    graph_def = tf1.GraphDef()
    for scope in "ab":
        previous = ""
        for i in range(12):
            node = graph_def.node.add(name=f"{scope}/in/op{i}", op="Placeholder" if not previous else "Neg")
            node.attr["dtype" if not previous else "T"].type = 1
            node.input.extend([previous] if previous else [])
            previous = node.name
    screen = gs.open(graph_def).screen
    screen.traits()
    screen.fold_all()
    for scope in "ab":
        screen.fold(f"{scope}/in/")
    screen.state = screen.state.with_view(back=())
    return screen


def boxes(screen):
    return {box["name"] for box in screen.traits()["scenes"]["source"]["boxes"]}


def test_back_and_forward_give_the_picture_and_the_selects_again(screen):
    first = boxes(screen)
    screen.unfold("a/in/")
    opened = boxes(screen)
    assert opened != first
    screen.reveal("b/in/op3")
    assert screen.traits()["views"] == {
        "back": 2,
        "forward": 0,
        "saved": [],
        "signatures": [],
        "signature": "",
        "undo": 1,
        "redo": 0,
        "restored": 0,
    }
    screen.back()
    assert boxes(screen) == opened
    assert screen.traits()["selected"] == []
    screen.back()
    assert boxes(screen) == first
    screen.forward()
    screen.forward()
    assert screen.traits()["selected"] == ["b/in/op3"]
    assert screen.traits()["views"] == {
        "back": 2,
        "forward": 0,
        "saved": [],
        "signatures": [],
        "signature": "",
        "undo": 1,
        "redo": 0,
        "restored": 4,
    }


def test_a_new_way_forgets_the_old_one_forward(screen):
    screen.unfold("a/in/")
    screen.back()
    screen.unfold("b/in/")
    with refuses(SelectionError, "forward(): there is no later view", "Go back first"):
        screen.forward()


def test_at_the_beginning_there_is_nothing_before(screen):
    with refuses(SelectionError, "back(): there is no earlier view", "Unfold or reveal something"):
        screen.back()


def test_a_view_is_saved_shown_and_forgotten(screen):
    screen.reveal("a/in/op2")
    assert screen.save_view("head", [1, 2.5, 0.75]) == "head"
    assert screen.save_view() == "view 1"
    seen = boxes(screen)
    screen.fold("a/in/")
    screen.select([])
    assert screen.show_view("head") == [1, 2.5, 0.75]
    assert boxes(screen) == seen
    assert screen.traits()["selected"] == ["a/in/op2"]
    assert screen.traits()["views"]["saved"] == ["head", "view 1"]
    screen.delete_view("head")
    assert list(screen.views) == ["view 1"]
    with refuses(SelectionError, "show_view('veiw 1'): no saved view has this name", "Did you mean 'view 1'?"):
        screen.show_view("veiw 1")


def test_without_views_the_refusal_says_how_to_save_one(screen):
    with refuses(
        SelectionError, "delete_view('x'): no saved view has this name", "Save one first, with save_view(name)"
    ):
        screen.delete_view("x")


def test_the_steps_back_are_bounded(screen):
    for _ in range(60):
        screen.unfold("a/in/")
        screen.fold("a/in/")
    assert screen.traits()["views"]["back"] == 100


def test_the_outline_opens_and_closes_with_the_picture(screen):
    def rows():
        return [row["name"] for row in screen.traits()["outline"]["rows"]]

    assert "a/in/op0" not in rows()
    screen.unfold("a/in/")
    assert "a/in/op0" in rows()
    screen.reveal("b/in/op5")
    assert "b/in/op5" in rows()
    screen.fold("a/in/")
    assert "a/in/op0" not in rows()
    screen.back()
    assert "a/in/op0" in rows()


def test_hits_are_counted_in_each_folded_box(screen):
    found = screen.find("a/in/*")
    assert found["total"] == 12
    # an input and an output of the model have boxes of their own beside the fold
    assert found["boxes"] == {"a/in/": 10, "a/in/op0": 1, "a/in/op11": 1}
    assert sum(screen.find("op:Neg")["boxes"].values()) == 22
    assert screen.find("attr:T=float32 op1")["total"] == 6


def test_hits_without_a_picture_have_no_boxes():
    from graphsurgeon.ui.page_data import hits_data

    graph = Graph.from_ops([("a", "NoOp", [])])
    assert hits_data(graph, [0], None)["boxes"] == {}
