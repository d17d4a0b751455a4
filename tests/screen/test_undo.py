"""Undo and redo by hand: steps, marks and selections in their order, then applied plans, and back the same way."""

from __future__ import annotations

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.graphs import run, tiny
from tests.refusal import refuses
from tests.screen.screens import X, chain_of_ops, row_of_ops, traits


def test_redo_goes_back_the_way_undo_came():
    ed = gs.open(tiny())
    screen = ed.screen
    screen.select(["y"])
    screen.copy("one")
    screen.apply()
    screen.select(["y"])
    screen.copy("two")
    for _ in range(3):
        screen.undo()
    assert (ed.history[0].undone, len(ed.draft)) == (True, 0)
    assert traits(screen)["views"]["redo"] == 3
    screen.redo()
    assert (ed.history[0].undone, len(ed.draft)) == (False, 0)
    screen.redo()
    assert (traits(screen)["selected"], len(ed.draft)) == (["y"], 0)
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
    screen.select(["y"])
    screen.copy("two")
    with refuses(PlanError, "redo(): no step of this plan was undone", "Apply the plan or undo its steps first"):
        screen.redo()
    screen.undo()
    ed.redo()
    assert traits(screen)["views"]["redo"] == 1
    screen.redo()
    assert [s.to for s in ed.draft.steps] == ["two"]


def test_one_can_stand_at_any_step_of_the_history_and_go_on_from_there():
    ed = gs.open(tiny())
    screen = ed.screen
    for to in ("one", "two"):
        screen.select(["y"])
        screen.copy(to)
        screen.apply()
    screen.rename("y", "end")  # a new graph
    screen.apply()
    screen.select(["x"])
    screen.mark_output("x")
    screen.bypass("end")
    steps = [one["step"] for one in traits(screen)["plan"]["history"]]

    def stood(step):
        screen.go_to_step(step)
        shown = traits(screen)
        names = {"y", "end", "one/y", "two/y"} & set(ed.snapshot.names) - ed.orphans
        return shown["status"]["text"].partition(" ")[2], names, [one["ahead"] for one in shown["plan"]["history"]]

    assert stood(0) == ("graph as it was opened", {"y"}, [True] * 3)
    assert stood(steps[1])[1:] == ({"y", "one/y", "two/y"}, [False, False, True])
    assert stood(steps[0]) == ("graph after copy 1 op of graph to one/", {"y", "one/y"}, [False, True, True])
    screen.redo()  # keys go on from there
    assert stood(steps[1])[1:] == ({"y", "one/y", "two/y"}, [False, False, True])
    assert stood(steps[2])[1:] == ({"end", "one/y", "two/y"}, [False] * 3)
    assert run(ed.graph, "two/y:0", {"two/x:0": X}).tolist() == (X**2).tolist()
    # what was planned and marked is as it was
    assert (len(ed.draft), ed.draft.check(), traits(screen)["boundary"]["outputs"][0]["tensor"]) == (1, (), "x:0")
    with refuses(PlanError, "go_to_step(9): the history has no such step", "Choose one of 0, 1, 2, 3"):
        screen.go_to_step(9)
    screen.go_to_step(steps[0])
    screen.remove_step(0)
    screen.select(["y"])
    screen.copy("three")
    screen.apply()  # from here on the history is another one
    texts = [one["text"] for one in traits(screen)["plan"]["history"]]
    assert texts == [f"copy 1 op of graph to {to}/" for to in ("one", "three")]


def test_what_the_last_applied_plan_did_is_shown_after_undo_redo_and_code_too():
    ed = gs.open(tiny())
    screen = ed.screen

    def shown():
        return traits(screen)["plan"]["applied"]

    for to in ("one", "two"):
        screen.select(["y"])
        screen.copy(to)
        screen.apply()
    assert shown().startswith("applied: ")
    assert "two/" in shown()
    screen.undo()
    assert "one/" in shown()
    screen.redo()
    assert "two/" in shown(), "it can be compared again"
    screen.go_to_step(0)
    assert shown() == ""
    ed.redo()
    assert "one/" in shown()


def test_marks_and_selections_are_taken_back_among_steps_one_by_one():
    screen = row_of_ops()
    screen.select(["d"])
    screen.mark_output("d")
    screen.bypass("in/b")
    screen.mark_input("a")
    screen.select(["e"], mode="add")
    screen.fold_all()  # how it looks is nothing to undo
    screen.mute_step(0)
    seen = []
    for _ in range(6):
        screen.undo()
        shown = traits(screen)
        marks = [row["tensor"] for kind in ("inputs", "outputs") for row in shown["boundary"][kind]]
        seen.append((shown["status"]["text"], shown["selected"], marks, len(screen.draft)))
    assert seen == [
        ("undone: the change of a step: muted: bypass in/b", ["d", "e"], ["a:0", "d:0"], 1),
        ("undone: select d, e", ["d"], ["a:0", "d:0"], 1),
        ("undone: the marks of a:0", ["d"], ["d:0"], 1),
        ("undone: bypass in/b", ["d"], ["d:0"], 0),
        ("undone: the marks of d:0", ["d"], [], 0),
        ("undone: select d", [], [], 0),
    ]
    assert not traits(screen)["views"]["undo"]
    screen.redo()
    screen.select(["in/c"])  # a look at something else loses nothing of what was taken back
    for _ in range(5):
        screen.redo()
    shown = traits(screen)
    assert (shown["selected"], shown["plan"]["steps"]) == (["d", "e"], [{"text": "bypass in/b", "muted": True}])
    assert shown["views"]["redo"] == 0
    screen.undo()
    screen.mark_output("in/c")
    assert traits(screen)["views"]["redo"] == 0


def test_a_plan_that_code_has_applied_is_taken_back_before_what_was_done_by_hand_until_then():
    ed = gs.open(tiny())
    ed.screen.select(["y"])
    ed.apply(ed.plan().copy(ed.select(name="y"), to="one", unmapped="placeholder"))
    ed.screen.undo()
    assert (ed.history[0].undone, traits(ed.screen)["selected"]) == (True, ["y"])
    ed.screen.undo()
    assert traits(ed.screen)["selected"] == []
    ed.screen.redo()
    ed.screen.redo()
    assert (ed.history[0].undone, traits(ed.screen)["selected"]) == (False, ["y"])


def test_what_is_selected_is_of_the_graph_as_it_is_after_each_apply_and_undo():
    screen = row_of_ops()
    screen.select(["d", "e"])
    screen.remove(["d"])
    assert traits(screen)["selected"] == ["d", "e"]
    screen.apply()
    assert traits(screen)["selected"] == ["e"]
    screen.select(["e"])
    screen.mark_output("e")
    screen.copy("twin")
    screen.apply()
    assert traits(screen)["selected"] == ["twin/"]
    screen.undo()
    assert traits(screen)["selected"] == []


def test_names_on_screen_follow_those_that_plans_give():
    ed = gs.open(chain_of_ops())
    screen = ed.screen
    screen.mark_input("in/b")
    screen.mark_output("in/c")
    screen.include("^a")
    screen.unfold("in/") if "in/" not in screen.unfolded else None
    screen.select(["in/", "in/c"])
    screen.save_view("here")
    names = lambda: [  # noqa: E731
        screen.state.view.selected, screen.state.views["here"].selected, *vars(screen.state.marks).values(),
        sorted(screen.unfolded), screen.region.names,
    ]  # fmt: skip
    before = names()
    screen.rename("in/c", "in/end")
    screen.apply()
    assert names()[0] == ("in/", "in/end")
    screen.rename("in/", "out")
    screen.apply()
    after = [
        ("out/", "out/end"), ("out/", "out/end"), ("out/b:0",), ("out/end:0",), ("^a",), ["out/"], ["a", "out/end"],
    ]  # fmt: skip
    assert (names(), traits(screen)["boundary"]["problem"]) == (after, "")
    screen.undo()
    screen.undo()
    assert names() == before
    screen.redo()
    screen.redo()
    assert names() == after
    screen.go_to_step(0)
    ed.apply(ed.plan().rename("in", to="code"))  # by code it is the same
    assert traits(screen)["selected"] == ["code/", "code/c"]
    # what is undone later is called as it is then
    screen.select(["d"])
    ed.apply(ed.plan().rename("code/c", to="code/last"))
    ed.apply(ed.plan().set_device("d", "/cpu:0"))
    for _ in range(2):
        screen.undo()
    screen.redo()
    screen.undo()
    screen.undo()
    assert traits(screen)["selected"] == ["code/", "code/c"]


def test_the_ops_of_an_undone_plan_are_not_counted():
    ed = gs.open(tiny())
    screen = ed.screen

    def counts():
        shown = traits(screen)
        return shown["scenes"]["source"]["stats"]["ops"], shown["titles"]["model"]

    before = counts()
    ed.apply(ed.plan().copy(ed.select(name=["y"]), to="copy", unmapped="keep"))
    applied = counts()
    assert applied[0] > before[0]
    ed.undo()
    assert counts() == before
    ed.redo()
    assert counts() == applied
