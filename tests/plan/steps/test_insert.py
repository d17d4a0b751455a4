"""An op between a tensor and those that read it."""

from __future__ import annotations

from graphsurgeon.plan.plan import Plan
from tests.plan.edits import after, net


def test_insert():
    g = net()
    put = after(Plan(g).insert("Identity", on="a:0", name="mid"))
    assert (put["mid"], put["y"], put["z"]) == (["a:0"], ["mid:0"], ["mid:0", "y:0"])
    some = after(Plan(g).insert("Relu", on="a:0", name="mid", only="y"))
    assert (some["y"], some["z"]) == (["mid:0"], ["a:0", "y:0"])
