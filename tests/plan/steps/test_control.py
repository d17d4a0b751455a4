"""What an op waits for."""

from __future__ import annotations

from graphsurgeon.plan.plan import Plan
from tests.plain import plain
from tests.plan.edits import after, net
from tests.refusal import reads


def test_order():
    g = net()
    assert after(Plan(g).add_control("end", "b"))["end"] == ["^z", "^b"]
    assert after(Plan(g).remove_control("end", "z"))["end"] == []
    assert after(Plan(g).remove_control("end"))["end"] == []
    change = Plan(g).add_control("end", ["a", "b"]).effect.changes["end"]
    assert list(change.added_controls) == ["a", "b"]


def test_what_waits_for_one_op_waits_for_others():
    plan = Plan(net()).reroute_control("z", to=["y", "b"])
    after = plan.after()
    assert after.control_names(after.index["end"]) == ["y", "b"]
    assert plan.effect.changes["end"].text == "after y, b, no longer after z"
    reads(Plan(net()).reroute_control("y", to="z").check()[0], "no chosen op waits for 'y'", "nothing")
    ring = Plan(plain(("p", "NoOp", []), ("q", "NoOp", ["^p"]), ("r", "NoOp", ["^q"]))).reroute_control("p", to="r")
    reads(ring.check()[0], "that makes a cycle")
