"""Before and after a plan: one layout, the same folds, and the verb that says what of it is seen."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.ui import pane
from tests.refusal import refuses
from tests.screen.screens import tf1, traits
from tests.widget.subject import plain_screen


def boxes(screen, which):
    scene = traits(screen)["scenes"][which]
    return {thing["name"]: thing for thing in (*scene["boxes"], *scene["groups"])}


def places(screen, which):
    return {name: (b["x"], b["y"], b["w"], b["h"]) for name, b in boxes(screen, which).items()}


def test_what_the_plan_leaves_stands_at_one_place_before_and_after():
    screen = plain_screen(destination=None)
    screen.unfold("mixed/")
    screen.insert("Relu6", on="split:0", name="clip")
    screen.bypass("softmax2")
    screen.rename("head/BiasAdd", to="head/logits")
    was, now = places(screen, "source"), places(screen, "destination")
    assert "clip" in now
    assert len(was) > 8
    assert {name: now[name] for name in was} == was
    scenes = traits(screen)["scenes"]
    assert [(scenes[p]["w"], scenes[p]["h"]) for p in scenes] == [(scenes["source"]["w"], scenes["source"]["h"])] * 2


def drawn(screen, which):
    """Returns the state of each edge that has one, by the names of its ends."""
    scene = traits(screen)["scenes"][which]
    names = {box["id"]: box["name"] for box in scene["boxes"]}
    return {(names[e["from"]], names[e["to"]]): e["state"] for e in scene["edges"] if "state" in e}


def test_a_rewiring_is_drawn_on_both_sides():
    screen = plain_screen(destination=None)
    screen.unfold("head/")
    screen.connect("head/MatMul:0", to="softmax2", input=0)
    assert drawn(screen, "source") == {("head/BiasAdd", "softmax2"): "removed"}
    assert drawn(screen, "destination") == {("head/MatMul", "softmax2"): "joined"}
    assert boxes(screen, "destination")["head/BiasAdd"]["state"] == "orphan"
    screen.undo()
    assert drawn(screen, "source") == {}


def test_a_removal_that_reconnects_is_drawn_on_both_sides():
    screen = plain_screen(destination=None)
    screen.unfold("head/")
    screen.remove(["head/BiasAdd"], stitch=True)
    lost = {("head/MatMul", "head/BiasAdd"): "removed", ("head/BiasAdd", "softmax2"): "removed"}
    assert drawn(screen, "source") == lost
    assert drawn(screen, "destination") == {("head/MatMul", "softmax2"): "joined"}


def test_a_rewiring_beside_a_rename_and_a_control_edge_is_drawn():
    screen = plain_screen(destination=None)
    screen.unfold("head/")
    screen.rename("softmax2", to="prob")
    screen.add_control("head/BiasAdd", after="keep_prob")
    screen.connect("head/MatMul:0", to="prob", input=0)
    assert drawn(screen, "source") == {("head/BiasAdd", "softmax2"): "removed"}
    assert drawn(screen, "destination") == {("head/MatMul", "prob"): "joined", ("keep_prob", "head/BiasAdd"): "joined"}


def test_a_copy_into_another_graph_is_new_and_joined_to_what_feeds_it():
    screen = plain_screen()
    screen.mark_input("images:0")
    screen.mark_output("split:0")
    screen.copy("grafted", "placeholder")
    screen.set_input(0, "images:0", "scale:0")
    screen.unfold("grafted/", pane="destination")
    screen.unfold("grafted/conv0/", pane="destination")
    found = drawn(screen, "destination")
    assert found["scale", "grafted/conv0/Conv2D"] == "joined"
    assert found["grafted/conv0/Conv2D", "grafted/conv0/FusedBatchNorm"] == "new"
    assert drawn(screen, "source") == {}


def test_edges_inside_an_unfolded_call_are_compared():
    graph = tf.Graph()
    with graph.as_default():
        a = tf1.placeholder(tf.float32, [2], name="a")
        b = tf1.placeholder(tf.float32, [2], name="b")
        tf1.identity(tf.function(lambda v: tf.negative(v, name="neg"))(a), name="c")
        tf.exp(b, name="d")
    screen = gs.open(graph).screen
    call = next(box["name"] for box in traits(screen)["scenes"]["source"]["boxes"] if box["kind"] == "call")
    screen.unfold(f"{call}/")
    screen.connect("b:0", to=call, input=0)
    assert drawn(screen, "source") == {("a", f"{call}/neg"): "removed"}
    assert drawn(screen, "destination") == {("b", f"{call}/neg"): "joined"}


def test_what_is_opened_and_closed_on_one_side_is_on_the_other():
    screen = plain_screen(destination=None)
    screen.rename("mixed/", to="blend/")
    screen.unfold("head/", pane="destination")
    assert "head/MatMul" in boxes(screen, "source")
    screen.fold("head/")
    assert "head/MatMul" not in boxes(screen, "destination")
    screen.unfold("blend/", pane="destination")
    assert {"mixed/concat", "mixed/"} <= set(boxes(screen, "source"))
    assert screen.unfolded >= {"mixed/"}
    screen.fold("blend/", pane="destination")
    assert "mixed/concat" not in boxes(screen, "source")
    screen.unfold("mixed/")
    assert {"blend/concat", "blend/"} <= set(boxes(screen, "destination"))
    assert places(screen, "source")["mixed/concat"] == places(screen, "destination")["blend/concat"]


def test_a_scope_that_only_the_plan_makes_is_opened_after_it_alone():
    screen = plain_screen(destination=None)
    screen.select(["head/"])
    screen.copy("twin")
    screen.fold("twin/", pane="destination")
    before = screen.unfolded
    screen.unfold("twin/", pane="destination")
    assert screen.unfolded == before
    assert any(name.startswith("twin/head") for name in boxes(screen, "destination"))
    screen.undo()
    assert traits(screen)["scenes"]["destination"] is None


def test_pictures_too_large_for_one_layout_are_laid_out_apart(monkeypatch):
    screen = plain_screen(destination=None)
    screen.remove(["softmax2", "init"])
    monkeypatch.setattr(pane, "MAX_BOXES", len(boxes(screen, "source")) - 1)
    screen.set_device(["images"], "/cpu:0")
    traits(screen)
    assert "images" in boxes(screen, "destination")
    placed = []
    monkeypatch.setattr(pane, "place", lambda *args, **options: placed.append(args))
    traits(screen)
    assert not placed, "what cannot be laid out as one is not tried again"


def test_the_stage_is_chosen_by_the_verb_and_shown_by_the_static_picture():
    screen = plain_screen(destination=None)
    with refuses(PlanError, "set_plan_view('after'): there is no plan", "Copy or edit something first"):
        screen.set_plan_view("after")
    screen.insert("Relu6", on="split:0", name="clip")
    reported = []
    for show in ("before", "after", "both"):
        screen.set_plan_view(show)
        svg = screen.svg()
        reported.append(
            (traits(screen)["look"]["plan_view"], svg.count("<svg"), "clip" in svg, traits(screen)["status"]["text"])
        )
    assert reported == [
        ("before", 1, False, "Before: the current graph"),
        ("after", 1, True, "After: the graph with the plan applied"),
        ("both", 3, True, "Both: the current graph, and the graph with the plan applied"),
    ]
    screen.undo()
    assert not screen.draft.steps, "a look is nothing to take back"


def test_two_graphs_have_no_stages():
    screen = plain_screen()
    screen.select(["head/"])
    screen.copy("twin")
    with refuses(PlanError, "set_plan_view('before'): the plan joins two graphs", "make the plan in one graph"):
        screen.set_plan_view("before")


def test_what_gives_other_shapes_below_a_change_is_lit():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        pool = tf.nn.max_pool2d(x, 2, 2, "SAME", name="pool")
        relu = tf.nn.relu(pool, name="relu")
        tf.nn.relu(x, name="beside")
        tf.reduce_mean(relu, axis=[1, 2, 3], name="mean")
    screen = gs.open(graph).screen
    screen.set_attr(["pool"], "strides", [1, 4, 4, 1])
    states = {name: box["state"] for name, box in boxes(screen, "destination").items()}
    assert states == {"x": "", "pool": "changed", "relu": "shape", "beside": "", "mean": ""}
    (after,) = screen.edge_tensors("relu", "mean", pane="destination")["tensors"]
    assert after == {"tensor": "relu:0", "text": "float32 (?, 2, 2, 3)"}
    (before,) = screen.edge_tensors("relu", "mean")["tensors"]
    assert before == {"tensor": "relu:0", "text": "float32 (?, 4, 4, 3)"}
    screen.apply()
    assert {box["state"] for box in boxes(screen, "source").values()} == {""}
