"""The picture of a pane, also of an empty graph, and where there is none."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import LayoutError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.ui import pane
from graphsurgeon.view.plan_marks import MEANINGS, SIGNS, STATES
from tests.pictures import meaning
from tests.refusal import refuses
from tests.screen.screens import chain_of_ops, opened, row_of_ops, traits


def test_pictures_and_words():
    _, ed, screen = opened()
    assert ed.to_svg().startswith("<svg")
    assert "net" in ed.to_svg(open_folds=["net/"])
    assert "digraph" in ed.to_dot().source
    screen.mark_output("loss")
    screen.copy("t")
    text = screen.describe()
    assert text.splitlines()[0].startswith(f"graph: {ed.snapshot.size:,} ops, ")
    assert "Boundary: 0 in, 1 out" in text
    assert "plan for graph" in text
    assert screen.svg().startswith("<svg")


def test_an_empty_graph_has_a_picture():
    ed = gs.open(tf.Graph())
    assert ed.to_svg().startswith("<svg")
    assert isinstance(ed.snapshot, Graph)


def test_a_picture_that_cannot_be_drawn_leaves_the_folds(monkeypatch):
    _, _, screen = opened()
    before, closed = screen.unfolded, "gradients/"

    def no(*args, **options):
        raise LayoutError("unfold('gradients/')", "900 boxes are too many", "Fold something")

    assert closed not in before
    traits(screen)
    monkeypatch.setattr(pane, "place", no)
    with refuses(LayoutError, "900 boxes are too many"):
        screen.unfold(closed)
    monkeypatch.undo()
    assert screen.unfolded == before
    assert traits(screen)["scenes"]["source"]["boxes"]


def test_a_preview_has_the_folds_the_direction_and_the_order_of_its_source():
    screen = row_of_ops()
    screen.rename("e", to="other")
    scenes = traits(screen)["scenes"]
    assert "in/" in {group["name"] for group in scenes["destination"]["groups"]}
    assert scenes["destination"]["direction"] == scenes["source"]["direction"]
    screen.undo()
    screen.fold("in/")
    screen.mark_output("d")
    screen.copy()
    scenes = traits(screen)["scenes"]
    assert {box["name"] for box in scenes["source"]["boxes"]} < {box["name"] for box in scenes["destination"]["boxes"]}


def test_a_preview_without_room_keeps_the_folds_and_folds_the_copies():
    screen = row_of_ops()
    screen.set_budget(6)
    screen.select(["in/", "d"])
    screen.copy("twin")
    names = {box["name"] for box in traits(screen)["scenes"]["destination"]["boxes"]}
    assert {"in/b", "in/c", "twin/"} <= names
    assert "twin/in/b" not in names
    screen.undo()
    screen.set_budget(20)
    screen.copy("twin")
    assert "twin/in/b" in {box["name"] for box in traits(screen)["scenes"]["destination"]["boxes"]}


def test_the_direction_stays_until_it_is_chosen(monkeypatch):
    screen, asked = row_of_ops(), []
    place = pane.place

    def reported(scene, **options):
        asked.append((options["direction"], (options["previous"] or {}).get("direction")))
        return place(scene, **options)

    monkeypatch.setattr(pane, "place", reported)
    first = traits(screen)["scenes"]["source"]["direction"]
    screen.fold("in/")
    screen.set_direction("LR")
    screen.set_direction("auto")
    assert asked == [("auto", None), ("auto", first), ("LR", None), ("auto", None)]


def test_a_step_back_shows_the_last_layout_again(monkeypatch):
    screen = row_of_ops()
    first = traits(screen)["scenes"]["source"]
    screen.fold("in/")
    folded = traits(screen)["scenes"]["source"]
    monkeypatch.delattr(pane, "place")
    for again in (first, folded):
        (screen.unfold if again is first else screen.fold)("in/")
        assert traits(screen)["scenes"]["source"] == again


def test_the_picture_to_which_a_user_returns_each_time_stays(monkeypatch):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        for number in range(pane.LAYOUTS + 1):
            with tf.name_scope(f"s{number}"):
                x = tf.tanh(tf.exp(x))
    screen = gs.open(graph).screen
    for number in range(pane.LAYOUTS + 1):
        screen.fold(f"s{number}/")
    first = traits(screen)["scenes"]["source"]
    for number in range(pane.LAYOUTS + 1):
        screen.unfold(f"s{number}/")
        traits(screen)
        with monkeypatch.context() as without_layout:
            without_layout.delattr(pane, "place")
            screen.fold(f"s{number}/")
            assert traits(screen)["scenes"]["source"] == first


def shown(plan):
    """Returns what the picture of a plan shows, pane by pane."""
    return panes_of(plan._repr_mimebundle_()["image/svg+xml"])


def panes_of(svg):
    lines = meaning(svg)
    starts = [i for i, line in enumerate(lines) if line.startswith("picture ")]
    return [lines[a:b] for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]


def test_what_a_plan_removes_is_a_ghost_in_its_picture_as_on_screen():
    graph = chain_of_ops()
    plan = gs.open(graph, title="row").plan().remove("in/c", stitch=True)
    whole, before, after = shown(plan)
    assert whole[0] == "picture row, row after the plan"
    removed, changed = (f" | {SIGNS[state]} {' '.join(STATES[state]).strip()}" for state in ("removed", "changed"))
    assert f"box in/c · Neg: c | Neg{removed}" in before
    assert f"text {MEANINGS['removed']}" in before
    assert not any("in/c" in line for line in after)
    assert f"box d · Neg: d | Neg{changed}" in after
    assert f"text {MEANINGS['changed']}" in after
    screen = gs.open(graph, title="row").screen
    screen.remove(["in/c"], stitch=True)
    drawn = [[line for line in lines if not line.startswith("text ")] for lines in panes_of(screen.svg())]
    assert drawn == [[line for line in lines if not line.startswith("text ")] for lines in (whole, before, after)]


def test_a_plan_that_removes_nothing_is_one_picture(monkeypatch):
    ed = gs.open(chain_of_ops(), title="row")
    assert len(shown(ed.plan().reroute("in/b:0", to="e:0"))) == 1
    plan = ed.plan().remove("in/c", stitch=True)
    monkeypatch.setattr(pane, "MAX_BOXES", 3)
    (after,) = shown(plan)  # too much for one layout of both
    assert after[0] == "picture row after the plan"
