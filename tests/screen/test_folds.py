"""What is folded, unfolded, revealed and laid out."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError
from graphsurgeon.view.helper_ops import Helpers
from tests.refusal import refuses
from tests.screen.screens import opened, traits


def test_unfold_and_fold():
    _, _, screen = opened()
    first = screen.unfolded
    boxes = {b["name"] for b in traits(screen)["scenes"]["source"]["boxes"]}
    closed = next(n for n in sorted(boxes) if n.endswith("/"))
    screen.unfold(closed)
    assert closed in screen.unfolded
    scene = traits(screen)["scenes"]["source"]
    assert closed not in {b["name"] for b in scene["boxes"]}
    assert closed in {g["name"] for g in scene["groups"]}
    screen.fold(closed)
    assert screen.unfolded == first - {closed}
    assert {b["name"] for b in traits(screen)["scenes"]["source"]["boxes"]} == boxes
    screen.unfold(closed)
    screen.fold_all()
    assert screen.unfolded == first
    with refuses(SelectionError, "unfold('nothing/'): no scope, series, block or call has this name"):
        screen.unfold("nothing/")
    with refuses(SelectionError, "unfold('loss')"):
        screen.unfold("loss")
    with refuses(SelectionError, "unfold('net')", "Did you mean 'net/'"):
        screen.unfold("net")


def test_a_graph_without_any_scope():
    ed = gs.open(tf.Graph())
    screen = ed.screen
    assert traits(screen)["scenes"]["source"]["boxes"] == []
    with refuses(SelectionError, "no scope, series, block or call has this name"):
        screen.unfold("a/")


def test_reveal_shows_and_picks():
    _, ed, screen = opened()
    deep = "gradients/net/MatMul_grad/MatMul"
    assert deep in ed.snapshot.index
    screen.reveal(deep)
    assert ed.selection.names == [deep]
    assert deep in {b["name"] for b in traits(screen)["scenes"]["source"]["boxes"]}
    screen.reveal("net/w/")
    assert "net/w/read" not in traits(screen)["selected"]
    with refuses(SelectionError, "reveal('nowhere'): no op is called 'nowhere'"):
        screen.reveal("nowhere")


def test_find_details_outline_direction():
    _, ed, screen = opened()
    found = screen.find("loss")
    assert found["hits"][0] == {"name": "loss", "label": "loss", "op": "Mean", "inside": "loss"}
    assert found["total"] == len(ed.find("loss", limit=1000))
    assert [(hit["name"], hit["op"]) for hit in screen.find("NET")["hits"][:1]] == [("net/", "41 ops")]
    hidden, first = Helpers.from_graph(ed.snapshot).kind > 0, screen.find("op:*")["hits"]
    assert hidden[: len(first)].any()
    assert not hidden[[ed.snapshot.index[hit["name"]] for hit in first]].any()  # what the picture shows comes first
    assert screen.find("no such thing") == {"hits": [], "total": 0, "boxes": {}}
    assert screen.find("loss", pane="destination")["hits"] == found["hits"]
    screen.insert("Identity", on="x:0", name="new")
    assert [hit["name"] for hit in screen.find("new", pane="destination")["hits"]] == ["new"]
    assert screen.find("new")["hits"] == []
    screen.undo()
    assert screen.details("loss")["title"] == "loss"
    screen.fold("net/")
    rows = {r["name"]: r for r in traits(screen)["outline"]["rows"]}
    assert rows["net/"]["open"] is False
    screen.outline_open("net/")
    after = {r["name"]: r for r in traits(screen)["outline"]["rows"]}
    assert after["net/"]["open"]
    assert len(after) > len(rows)
    screen.outline_close("net/")
    assert {r["name"] for r in traits(screen)["outline"]["rows"]} == set(rows)
    screen.set_direction("LR")
    assert traits(screen)["scenes"]["source"]["direction"] == "LR"
    assert traits(screen)["status"]["text"] == "left to right"
    screen.cancel()
    assert traits(screen)["status"]["text"] == ""
