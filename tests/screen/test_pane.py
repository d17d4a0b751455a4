"""The picture of a pane, also of an empty graph, and where there is none."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import LayoutError
from graphsurgeon.graph.graph import Graph
from tests.refusal import refuses
from tests.screen.screens import opened, traits


def test_pictures_and_words():
    _, ed, screen = opened()
    assert ed.to_svg().startswith("<svg")
    assert "net" in ed.to_svg(unfolded=["net/"])
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
    from graphsurgeon.screen import pane

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
