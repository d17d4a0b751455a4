"""Steps of the plan by hand: taken out, moved, muted, edited, each by itself."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.plan.plan import without_muted
from tests.refusal import refuses
from tests.screen.screens import row_of_ops, tf1, traits


def three_steps():
    screen = row_of_ops()
    screen.rename("e", "f")
    screen.bypass("in/b")
    screen.set_device(["f"], "/cpu:0")
    return screen, list(screen.draft.steps)


def test_a_step_is_taken_out_or_moved_by_itself():
    screen, steps = three_steps()
    screen.move_step(1, 0)
    assert list(screen.draft.steps) == [steps[1], steps[0], steps[2]]
    problem = "place f on /cpu:0 cannot be there: no op is called 'f'"
    with refuses(PlanError, "move_step(2, 0)", problem, "Move it to another place"):
        screen.move_step(2, 0)
    screen.remove_step(0)
    assert list(screen.draft.steps) == [steps[0], steps[2]]
    with refuses(PlanError, "remove_step(3): the plan has 2 steps", "They are numbered from 0"):
        screen.remove_step(3)
    for left in ([steps[1], steps[0], steps[2]], steps):
        screen.undo()
        assert list(screen.draft.steps) == left


def test_a_muted_step_stays_in_the_plan_and_is_not_done():
    screen, _ = three_steps()
    screen.mute_step(1)
    shown = traits(screen)["plan"]
    assert [row["muted"] for row in shown["steps"]] == [False, True, False]
    assert shown["steps"][1]["text"] == "bypass in/b"
    assert "    # .bypass('in/b')\n    .set_device" in shown["code"]
    assert shown["ready"]
    screen.mute_step(0)
    assert "no op is called 'f'" in traits(screen)["plan"]["faults"][0]["problem"]
    screen.mute_step(0, on=False)
    with refuses(PlanError, "mute_step(3, on=True): the plan has 3 steps", "They are numbered from 0"):
        screen.mute_step(3)
    screen.apply()
    ed = screen.destination
    assert ed.snapshot.input_names(ed.snapshot.index["in/c"]) == ["in/b:0"]
    assert ("f" in ed.snapshot.index, len(ed.history)) == (True, 1)
    assert "bypass" not in ed.to_code()


def test_a_plan_of_muted_steps_alone_is_not_applied():
    screen, _ = three_steps()
    for step in range(3):
        screen.mute_step(step)
    assert not traits(screen)["plan"]["ready"]
    assert without_muted(screen.draft).steps == ()
    with refuses(PlanError, "apply(plan)", "the plan is empty", "Give it a step"):
        screen.apply()


def test_what_is_copied_by_a_muted_step_is_still_of_the_graph_after_an_undo():
    screen = row_of_ops()
    screen.rename("e", "f")
    screen.apply()
    screen.select(["in/b"])
    screen.copy("twin")
    screen.mute_step(0)
    screen.destination.undo()
    screen.mute_step(0, on=False)
    assert screen.draft.check() == ()
    assert "twin/in/b" in screen.draft.after().index


def test_a_step_is_given_other_arguments_and_later_steps_follow_its_names():
    screen, _ = three_steps()
    assert [(row["label"], row["value"]) for row in screen.step_form(0)] == [("New name", "f")]
    screen.edit_step(0, {"names": "g"})
    assert screen.draft.steps[2].ops == ("g",)
    assert screen.draft.check() == ()
    screen.mute_step(1)
    screen.edit_step(1, {"ops": "in/c"})
    assert "# .bypass('in/c')" in screen.draft.to_code()
    screen.edit_step(2, {"device": "/gpu:0", "ops": "g, d"})
    screen.set_attr(["a"], "shape", "[3]")
    screen.edit_step(3, {"attributes": "[4]"})
    assert screen.draft.steps[2:] == screen.destination.plan().set_device(["g", "d"], "/gpu:0").steps + (
        screen.destination.plan().set_attr("a", "shape", [4]).steps
    )
    screen.undo()
    assert screen.draft.steps[3].attributes == (("shape", [3]),)
    with refuses(PlanError, "edit_step(4): the plan has 4 steps", "They are numbered from 0"):
        screen.edit_step(4, {})
    problem = "'rename e to g' has no argument 'to'"
    with refuses(PlanError, f"edit_step(0): {problem}", "Its arguments are: names"):
        screen.edit_step(0, {"to": "h"})
    screen.insert("Identity", on="a:0", name="id")
    with refuses(PlanError, "'Identitty'"):
        screen.edit_step(4, {"op": "Identitty"})
    screen.reroute("a:0", to="in/b:0")
    screen.edit_step(5, {"to": "nowhere:0"})
    assert traits(screen)["plan"]["faults"][0]["request"] == "reroute('a:0', to='nowhere:0')"


def test_an_attribute_of_a_step_has_the_choices_of_the_inspector():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        tf.nn.conv2d(x, tf.ones([3, 3, 3, 2]), 1, "VALID", name="y")
    screen = gs.open(graph).screen
    screen.set_attr(["y"], "padding", "SAME")
    rows = screen.step_form(0)
    assert (rows[1]["label"], rows[1]["value"]) == ("padding", "SAME")
    choices = [value for value, _ in rows[1]["options"]]
    assert {"SAME", "VALID"} <= set(choices)
    assert [row["choices"] for row in screen.attributes(["y"])["attributes"] if row["name"] == "padding"] == [choices]


def test_the_scope_of_a_copy_is_no_word_of_a_later_one():
    screen = row_of_ops()
    screen.select(["in/b"])
    screen.copy("copy")
    screen.select(["d"])
    screen.copy("keep", unmapped="keep")
    screen.edit_step(0, {"to": "one"})
    assert dict(screen.draft.steps[1].variables) == {"*": "copy"}
    screen.edit_step(1, {"to": "two", "unmapped": "placeholder"})
    assert (screen.draft.steps[1].to, screen.draft.steps[1].unmapped) == ("two", "placeholder")
    assert screen.draft.check() == ()


def test_what_is_no_name_is_refused_and_leaves_no_step():
    screen = row_of_ops()
    no_name = "'a b' is not a name: ' ' is not allowed in it"
    how = "Use letters, digits, '_', '.', '-' and '/' between parts, for example 'a_b'"
    for verb, args, given in [
        ("rename", ("in/", "a b"), "to"), ("insert", ("Identity", "e:0", "a b"), "name"),
        ("collapse", (["d"], "a b"), "name"), ("on_copies", ("a b",), "scope"), ("copy", ("a b",), "to"),
    ]:  # fmt: skip
        with refuses(PlanError, f"{verb}({given}='a b'): {no_name}", how):
            getattr(screen, verb)(*args)
    screen.rename("in/", "there/")
    with refuses(PlanError, f"edit_step(0, names='a b'): {no_name}", how):
        screen.edit_step(0, {"names": "a b"})
    assert traits(screen)["plan"]["ready"]


def test_a_fault_says_which_step_has_it():
    screen = row_of_ops()
    screen.set_device(["e"], "/cpu:0")
    screen.rename("e", "d")
    screen.set_device(["a"], "/cpu:0")
    screen.connect("d:0", to="in/b")  # a cycle
    assert [fault["step"] for fault in traits(screen)["plan"]["faults"]] == [1, 3]
    screen.remove_step(1)
    screen.remove_step(2)
    assert (len(screen.draft), traits(screen)["plan"]["ready"]) == (2, True)
