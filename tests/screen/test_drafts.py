"""The plan that is made by hand: applied, undone, redone, and its policies."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.graphs import look, model
from tests.refusal import refuses
from tests.screen.screens import opened, traits

tf1 = tf.compat.v1


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
    assert shown["plan"]["counts"].items() <= wanted.preview().counts.items()
    assert shown["plan"]["code"] == wanted.to_code()
    assert [v["name"] for v in shown["plan"]["variables"]] == ["copy/net/w", "copy/net/b"]
    assert {v["values"] for v in shown["plan"]["variables"]} == {"current value"}
    assert shown["plan"]["new"][0] == {"name": "copy/x", "original": "x:0", "op": "Placeholder"}
    assert shown["titles"]["destination"] == "graph after the plan"
    states = {b["state"] for b in shown["scenes"]["destination"]["boxes"]}
    assert "new" in states
    screen.undo()
    assert len(ed.draft) == 0
    assert traits(screen)["views"]["redo"] == 1
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
    scene = traits(screen)["scenes"]["source"]
    assert not [b["name"] for b in scene["boxes"] if b["name"].startswith("copy")], "ghosts leave the picture"
    assert scene["stats"]["hidden"]["orphans"] == len(ed.orphans), "and are counted"
    screen.show_helpers("orphans")
    assert "orphan" in {b["state"] for b in traits(screen)["scenes"]["source"]["boxes"]}
    screen.show_helpers("orphans", on=False)
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
    assert [(v["original"], v["name"], v["policy"], v["values"], v["step"]) for v in rows] == [
        ("net/w", "copy/net/w", "freeze", "current value", 0), ("net/b", "net/b", "share", "those of the original", 0)
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
    assert "no value to freeze 'net/w' at" in shown["faults"][0]["problem"]
    assert [(v["original"], v["policy"]) for v in shown["variables"]] == [("net/w", "freeze"), ("net/b", "copy")]
    screen.set_policy(0, "net/w", "initial")
    assert traits(screen)["plan"]["faults"] == []


def test_what_feeds_a_copy_is_said_on_screen():
    _, _ed, screen = opened()
    screen.mark_input("x:0")
    screen.mark_output("net/y:0")
    screen.copy("copy")

    def rows():
        return [(r["tensor"], r["end"], r["kind"], r["source"]) for r in traits(screen)["plan"]["inputs"]]

    assert rows() == [("x:0", "in", "placeholder", "copy/x"), ("net/y:0", "out", "", "copy/net/y:0")]
    for by, kind, shown in (
        ("keep", "keep", ""), ("target:0", "tensor", "target:0"), ("[[1, 2]]", "constant", "[[1.0, 2.0]]"),
        (0.5, "constant", "0.5"), ("placeholder", "placeholder", "copy/x"),
    ):  # fmt: skip
        screen.set_input(0, "x:0", by)
        assert rows()[0][2:] == (kind, shown)
        if isinstance(by, str) and by[0] != "[":
            draft = screen.draft
            screen.set_input(0, "x:0", by)
            assert screen.draft is draft
            assert screen.state.status.text.endswith(" already")
    screen.set_scope(0, "other")
    assert traits(screen)["plan"]["scopes"] == {"0": "other"}
    assert screen.state.status.text == "the copy will be under other/"
    # of a copy that cannot be made it says what was asked for
    screen.set_input(0, "x:0", "nix:0")
    assert rows() == [("x:0", "in", "tensor", "nix:0")]
    assert "there is no tensor 'nix:0'" in screen.state.status.text
    with refuses(PlanError, "with_input(1, 'x:0', 'keep')", "step 1 is not a copy"):
        screen.set_input(1, "x:0", "keep")


def features_and_head():
    """Returns the screen of features, and of a head that reads others."""
    graph = tf.Graph()
    with graph.as_default():
        images = tf1.placeholder(tf.float32, [None, 8, 8, 3], name="images")
        tf.nn.relu(images, name="features")
        given = tf1.placeholder(tf.float32, [None, 4], name="given")
        tf.matmul(given, tf.ones([4, 2]), name="head")
    return gs.open(graph).screen


def test_a_fault_of_a_shape_goes_by_a_button_and_undo_takes_that_back():
    screen = features_and_head()
    screen.connect("features:0", to="head")
    (fault,) = traits(screen)["plan"]["faults"]
    assert fault["fixes"][0] == {"kinds": ["pool", "dense"], "text": "mean of each channel, then dense to 4"}
    assert "plan." not in fault["suggestion"]
    screen.apply_fix(0, 1)
    shown = traits(screen)
    assert shown["plan"]["ready"]
    assert [step["text"] for step in shown["plan"]["steps"]] == [
        "adapt features:0 by reshape and dense to input 0 of head"
    ]
    assert shown["status"]["text"].startswith("reshape to (?, 192), then dense to 4")
    with refuses(PlanError, "apply_fix(0, 0)", "the plan has 0 errors", "numbered from 0"):
        screen.apply_fix(0)
    screen.apply()
    assert screen.destination.snapshot.input_names(screen.destination.snapshot.index["head"])[0] == "adapter:0"


def test_what_feeds_a_copy_is_adapted_by_a_button():
    screen = features_and_head()
    screen.select(["head"])
    screen.copy("copy")
    screen.set_input(0, "given:0", "features:0")
    fault = traits(screen)["plan"]["faults"][0]
    with refuses(PlanError, "apply_fix(0, 9)", "fixes", fault["suggestion"]):
        screen.apply_fix(0, 9)
    screen.apply_fix(0)
    plan = traits(screen)["plan"]
    assert plan["ready"], plan["faults"]
    assert [row["source"] for row in plan["inputs"] if row["tensor"] == "given:0"] == ["adapter:0"]


def test_a_placeholder_gives_way_to_what_is_adapted():
    screen, code = features_and_head(), []
    for to in ("given", "given:0"):
        screen.adapt("features:0", to)
        assert not screen.draft.check()
        code.append(screen.draft.to_code())
        screen.undo()
    assert ".adapt('features:0', to='given')" in code[0]
    assert ".adapt('features:0', to='given:0')" in code[1]
