"""Undo and redo by hand: steps of the plan first, then applied plans, and back the same way."""

from __future__ import annotations

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.graphs import run, tiny
from tests.refusal import refuses
from tests.screen.screens import X, traits


def test_redo_goes_back_the_way_undo_came():
    ed = gs.open(tiny())
    screen = ed.screen
    screen.select(["y"])
    screen.copy("one")
    screen.apply()
    screen.select(["y"])
    screen.copy("two")
    screen.undo()
    screen.undo()
    assert (ed.history[0].undone, len(ed.draft)) == (True, 0)
    assert traits(screen)["plan"]["redo"] == 2
    screen.redo()
    assert (ed.history[0].undone, len(ed.draft)) == (False, 0)
    screen.redo()
    assert [s.to for s in ed.draft.steps] == ["two"]
    screen.apply()
    assert run(ed.graph, "two/y:0", {"two/x:0": X}).tolist() == (X**2).tolist()


def test_redo_leaves_the_graph_under_a_plan_alone():
    ed = gs.open(tiny())
    screen = ed.screen
    screen.select(["y"])
    screen.copy("one")
    screen.apply()
    screen.undo()
    screen.copy("two")
    with refuses(PlanError, "redo(): no step of this plan was taken back", "Apply the plan, or take its steps back"):
        screen.redo()
    screen.undo()
    ed.redo()
    assert traits(screen)["plan"]["redo"] == 1
    screen.redo()
    assert [s.to for s in ed.draft.steps] == ["two"]
