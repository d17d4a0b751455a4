"""The plan that is made by hand: applied, undone, redone, and its policies."""

from __future__ import annotations

import numpy as np

import graphsurgeon as gs
from tests.graphs import look, model
from tests.screen.screens import opened, traits


def test_copy_apply_undo_redo():
    m, ed, screen = opened()
    before = look(m.graph)
    screen.mark_input("x:0")
    screen.mark_output("net/y:0")
    screen.copy("copy")
    wanted = ed.plan().copy(ed.select(inputs="x:0", outputs="net/y:0"), to="copy", unmapped="placeholder", values=ed)
    assert ed.draft.after().fingerprint == wanted.after().fingerprint
    assert ed.draft.to_code() == wanted.to_code()
    assert look(m.graph) == before
    shown = traits(screen)
    assert shown["plan"]["ready"]
    assert shown["plan"]["counts"] == wanted.preview().counts
    assert shown["plan"]["code"] == wanted.to_code()
    assert [v["name"] for v in shown["plan"]["variables"]] == ["copy/net/w", "copy/net/b"]
    assert {v["values"] for v in shown["plan"]["variables"]} == {"current value"}
    assert shown["plan"]["new"][0] == {"name": "copy/x", "was": "x:0", "op": "Placeholder"}
    assert shown["titles"]["destination"] == "graph after the plan"
    states = {b["state"] for b in shown["scenes"]["destination"]["boxes"]}
    assert "new" in states
    screen.undo()
    assert len(ed.draft) == 0
    assert traits(screen)["plan"]["redo"] == 1
    assert traits(screen)["scenes"]["destination"] is None
    screen.redo()
    assert len(ed.draft) == 1
    result = screen.apply()
    assert result["applied"] == f"applied: {wanted.preview().counts['ops']} new ops under copy/, 2 variables"
    assert len(ed.history) == 1
    assert len(ed.draft) == 0
    feed = m.feed()[m.x]
    got = ed.session().run(["net/y:0", "copy/net/y:0"], {"x:0": feed, "copy/x:0": feed})
    np.testing.assert_array_equal(*got)
    assert traits(screen)["plan"]["applied"] == result["applied"]
    screen.undo()
    assert ed.history[0].undone
    assert "orphan" in {b["state"] for b in traits(screen)["scenes"]["source"]["boxes"]}
    screen.redo()
    assert not ed.history[0].undone


def test_policies_of_variables_are_set_on_screen():
    _, ed, screen = opened()
    screen.mark_input("x:0")
    screen.mark_output("net/y:0")
    screen.copy("copy")
    screen.set_policy(0, "net/w", "freeze")
    screen.set_policy(0, "*", "share")
    rows = traits(screen)["plan"]["variables"]
    assert [(v["was"], v["name"], v["policy"], v["values"], v["step"]) for v in rows] == [
        ("net/w", "copy/net/w", "freeze", "current value", 0), ("net/b", "net/b", "share", "the original's", 0)
    ]  # fmt: skip
    assert "variables={'*': 'share', 'net/w': 'freeze'}" in ed.draft.to_code()
    screen.apply()
    assert ed.graph.get_operation_by_name("copy/net/w").type == "Const"


def test_a_policy_that_cannot_be_stays_on_screen_to_be_changed():
    m = model("resource", optimizer=None)
    ed = gs.open(m.graph)
    screen = ed.screen
    screen.mark_input("x:0")
    screen.mark_output("net/y:0")
    screen.copy("copy")
    screen.set_policy(0, "net/w", "freeze")
    shown = traits(screen)["plan"]
    assert "no value to freeze 'net/w' at" in shown["faults"][0]["wrong"]
    assert [(v["was"], v["policy"]) for v in shown["variables"]] == [("net/w", "freeze"), ("net/b", "copy")]
    screen.set_policy(0, "net/w", "initial")
    assert traits(screen)["plan"]["faults"] == []
