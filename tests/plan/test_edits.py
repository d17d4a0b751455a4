"""Edits of what is there, worked out from snapshots alone: edges, order, removal, and every fault."""

from __future__ import annotations

import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.calls import call
from graphsurgeon.plan.plan import Plan
from graphsurgeon.plan.sources import Sources
from tests.plain import plain, variable
from tests.refusal import reads, refuses

F2, F3, I2 = ("float32", (2,)), ("float32", (3,)), ("int32", (2,))


def net() -> Graph:
    """a, b, wide (3), whole (int); y = -a; z = a + y; end waits for z."""
    kinds = {"a": [F2], "b": [F2], "wide": [F3], "whole": [I2], "y": [F2], "z": [F2], "end": []}
    return plain(
        ("a", "Placeholder", []), ("b", "Placeholder", []), ("wide", "Placeholder", []), ("whole", "Placeholder", []),
        ("y", "Neg", ["a"]), ("z", "Add", ["a", "y"]), ("end", "NoOp", ["^z"]), outputs=kinds,
    )  # fmt: skip


def after(plan: Plan) -> dict[str, list[str]]:
    """Returns the inputs of each op after a plan that has no fault."""
    assert plan.check() == (), [str(f) for f in plan.check()]
    g = plan.after()
    return {n: [*g.input_names(i), *("^" + c for c in g.control_names(i))] for i, n in enumerate(g.names)}


def test_reroute_all_consumers_or_some():
    g = net()
    assert after(Plan(g).reroute("a", to="b"))["z"] == ["b:0", "y:0"]
    only = after(Plan(g).reroute("a:0", to="b:0", only="y"))
    assert (only["y"], only["z"]) == (["b:0"], ["a:0", "y:0"])
    but = after(Plan(g).reroute("a:0", to="b:0", exclude=select(g, name="y")))
    assert (but["y"], but["z"]) == (["a:0"], ["b:0", "y:0"])
    plan = Plan(g).reroute("a:0", to="b:0")
    assert plan.mode == "materialise"
    assert [(c.to, c.input, c.was) for c in plan.effect.connections] == [("y", 0, "a:0"), ("z", 0, "a:0")]
    assert str(plan.preview()).splitlines()[1] == "  1. reroute the consumers of a:0 to b:0"


def test_swap_and_bypass():
    g = net()
    swapped = after(Plan(g).reroute("a:0", to="b:0", only="z").swap("a:0", "b:0"))
    assert (swapped["y"], swapped["z"]) == (["b:0"], ["a:0", "y:0"])
    assert after(Plan(g).bypass("y"))["z"] == ["a:0", "a:0"]
    assert after(Plan(g).bypass("y"))["y"] == ["a:0"]


def test_detach():
    g = net()
    cut = after(Plan(g).detach("z", side="inputs"))
    assert cut["z"] == ["a_0_detached:0", "y_0_detached:0"]
    cut = after(Plan(g).detach(["y"]))
    assert (cut["y"], cut["z"]) == (["a_0_detached:0"], ["a:0", "y_0_detached:0"])
    plan = Plan(g).detach("y", side="outputs")
    info = plan.after().info(*plan.after().tensor("y_0_detached:0"))
    assert str(info) == "float32 (2,)"


def test_insert():
    g = net()
    put = after(Plan(g).insert("Identity", on="a:0", name="mid"))
    assert (put["mid"], put["y"], put["z"]) == (["a:0"], ["mid:0"], ["mid:0", "y:0"])
    some = after(Plan(g).insert("Relu", on="a:0", name="mid", only="y"))
    assert (some["y"], some["z"]) == (["mid:0"], ["a:0", "y:0"])


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


def test_order():
    g = net()
    assert after(Plan(g).add_control("end", "b"))["end"] == ["^z", "^b"]
    assert after(Plan(g).remove_control("end", "z"))["end"] == []
    assert after(Plan(g).remove_control("end"))["end"] == []
    change = Plan(g).add_control("end", ["a", "b"]).effect.changes["end"]
    assert list(change.waits) == ["a", "b"]


def test_attributes_and_devices():
    effect = (
        Plan(net()).set_attr("y", "_mark", b"x").set_device(["y", "z"], "/cpu:0").set_attr("z", "_old", None).effect
    )
    assert effect.mode == "materialise"
    assert effect.changes["y"].attributes == {"_mark": b"x"}
    assert effect.changes["z"].attributes == {"_old": None}
    assert {effect.changes[n].device for n in "yz"} == {"/cpu:0"}


def test_edits_of_what_the_plan_itself_makes_touch_nothing_else():
    g = net()
    plan = Plan(g).copy(select(g, name="y"), to="t", unmapped="keep").reroute("a:0", to="b:0", only="t/y")
    plan = plan.set_device("t/y", "/cpu:0")
    assert plan.mode == "append"
    assert after(plan)["t/y"] == ["b:0"]
    assert after(plan)["y"] == ["a:0"]


def test_steps_as_code():
    g = net()
    plan = (
        Plan(g).reroute("a", to="b", only=["y"], exclude="z").swap("a", "b").bypass("y").detach("z", side="inputs")
        .insert("Relu", on="b", name="r", T="float32").remove(["y"], stitch=True).set_attr("z", "_m", None)
        .set_device("z", "/cpu:0").add_control("end", "b").remove_control("end")
    )  # fmt: skip
    assert [call(s, "ed", Sources()) for s in plan.steps] == [
        ".reroute('a:0', to='b:0', only='y', exclude='z')", ".swap('a:0', 'b:0')", ".bypass('y')",
        ".detach('z', side='inputs')", ".insert('Relu', on='b:0', name='r', T='float32')",
        ".remove('y', stitch=True)", ".set_attr('z', '_m', None)", ".set_device('z', '/cpu:0')",
        ".add_control('end', 'b')", ".remove_control('end')",
    ]  # fmt: skip
    again = eval("Plan(g)" + "".join(call(s, "ed", Sources()) for s in plan.steps))
    assert again.steps == plan.steps


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda p: p.reroute("a", to="wide"), ("'wide:0' is float32 (3,), but 'a:0' is float32 (2,)", "would fit")),
        (lambda p: p.reroute("a", to="whole"), ("'whole:0' is int32 (2,)", "the dtypes differ")),
        (lambda p: p.reroute("a", to="z"), ("that makes a cycle: 'z:0' is computed from 'y'", "Choose a tensor above")),
        (lambda p: p.reroute("b", to="a"), ("no op reads it", "Name another tensor")),
        (lambda p: p.reroute("no", to="a"), ("there is no tensor 'no:0'",)),
        (lambda p: p.swap("a", "no"), ("swap('a:0', 'no:0')", "there is no tensor 'no:0'")),
        (lambda p: p.bypass("y", input=1), ("op 'y' has no input 1; it has 1 input", "Choose another input=")),
        (lambda p: p.bypass("no"), ("no op is called 'no'",)),
        (lambda p: p.detach("no"), ("no op is called 'no'",)),
        (lambda p: p.insert("Neg", on="a", name="y"), ("the name 'y' is taken", "Type name='inserted'")),
        (lambda p: p.remove("y"), ("'y:0' is still read by z", "Remove these too, reroute", "stitch=True")),
        (lambda p: p.remove("a", stitch=True), ("'a:0' is still read by y, z",)),
        (lambda p: p.set_device("y", "cpu zero"), ("'cpu zero' is not a device", "Type one as '/cpu:0'")),
        (lambda p: p.set_attr("y", "T", None), ("'T' is an attribute that the op type needs", "begin with '_'")),
        (lambda p: p.add_control("y", "z"), ("that makes a cycle: 'z' is computed from 'y'",)),
        (lambda p: p.remove_control("end", "a"), ("'end' does not wait for 'a'", "It waits for 'z'")),
        (lambda p: p.copy(select(p.base, name="y"), to="t", unmapped="keep").remove("t/y"),
         ("'t/y' is made by this plan", "Take the step that makes it out")),
    ],
)  # fmt: skip
def test_faults(edit, words):
    plan = edit(Plan(net()))
    reads(plan.check()[0], *words)


def test_what_stays_must_stay_whole():
    ops, info = variable("w")
    g = plain(*ops, variables=[info])
    reads(Plan(g).remove("w/Assign").check()[0], "'w/Assign' is a part of variable 'w', which stays", "too")
    assert Plan(g).remove(select(g)).check() == ()


def test_edges_into_a_loop():
    g = Graph.of(
        [("x", "Placeholder", []), ("in", "Enter", ["x"]), ("m", "Merge", ["in", "n"]), ("s", "Switch", ["m", "m"]),
         ("body", "Neg", ["s:1"]), ("n", "NextIteration", ["body"]), ("out", "Exit", ["s"]), ("z", "Neg", ["out"])]
    )  # fmt: skip
    reads(Plan(g).reroute("s:1", to="x").check()[0], "'body' is inside a loop, and the other end of the edge is not",
          "Rewire what the loop takes")  # fmt: skip
    assert Plan(g).reroute("out", to="x").check() == ()
    assert Plan(g).insert("Neg", on="s:1", name="more").check() == ()


def test_a_side_that_is_none():
    with refuses(PlanError, "detach('y')", "side='left' is not known", "Choose one of 'both', 'inputs', 'outputs'"):
        Plan(net()).detach("y", side="left")
