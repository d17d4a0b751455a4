"""Ops that are taken out, alone or with what they read put in their place."""

from __future__ import annotations

from graphsurgeon.graph.selection import select
from graphsurgeon.plan.plan import Plan
from tests.plain import plain, variable
from tests.plan.edits import after, net
from tests.refusal import reads


def test_remove_and_stitch():
    g = net()
    assert "b" not in after(Plan(g).remove("b"))
    gone = after(Plan(g).remove("y", stitch=True))
    assert "y" not in gone
    assert gone["z"] == ["a:0", "a:0"]
    whole = after(Plan(g).remove(select(g, name=["y", "z", "end"])))
    assert list(whole) == ["a", "b", "wide", "whole"]
    plan = Plan(g).remove("z", stitch=True)
    assert after(plan)["end"] == []
    assert list(plan.effect.warnings) == ["1 control input on removed ops left out: end after z"]
    assert plan.effect.new_names == []


def test_a_stitch_goes_up_to_what_stays():
    g = plain(("a", "Placeholder", []), ("p", "Neg", ["a"]), ("q", "Neg", ["p"]), ("z", "Neg", ["q"]))
    assert after(Plan(g).remove(["p", "q"], stitch=True)) == {"a": [], "z": ["a:0"]}


def test_a_stitch_of_several_takes_what_fits_where_first_inputs_lead_elsewhere():
    # as a dropout: a mask chooses, and is the first input
    infos = {"mask": ("bool", (2,)), "shape": ("int32", (1,))}
    g = plain(
        ("a", "Placeholder", []), ("shape", "Shape", ["a"]), ("mask", "Draw", ["shape"]), ("kept", "Mul", ["a"]),
        ("out", "SelectV2", ["mask", "kept"]), ("z", "Neg", ["out"]),
        outputs={name: [infos.get(name, ("float32", (2,)))] for name in ("a", "shape", "mask", "kept", "out", "z")},
    )  # fmt: skip
    assert after(Plan(g).remove(["shape", "mask", "kept", "out"], stitch=True)) == {"a": [], "z": ["a:0"]}
    # alone, it says what does not fit
    assert "'mask:0' is bool" in Plan(g).remove("out", stitch=True).check()[0].problem


def test_what_stays_must_stay_whole():
    ops, info = variable("w")
    g = plain(*ops, variables=[info])
    reads(Plan(g).remove("w/Assign").check()[0], "'w/Assign' is a part of variable 'w', which stays", "too")
    assert Plan(g).remove(select(g)).check() == ()


def test_the_fault_of_a_removal_tells_which_step_takes_the_op_out():
    ops, info = variable("w")
    g = plain(("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Neg", ["y"]), *ops, variables=[info])
    plan = Plan(g).rename("x", to="fed").remove("z").remove("y").rename("y", to="gone").remove("w/Assign")
    assert [fault.step for fault in plan.check()] == [4]
    plan = Plan(g).rename("z", to="end").remove("y").rename("y", to="gone")
    (fault,) = plan.check()
    reads(fault, "'gone:0' is still read by end", "stitch=True")
    assert fault.step == 1
    assert plan.with_step(fault.step, None).check() == ()
