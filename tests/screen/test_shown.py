"""What the page is told of a plan."""

from __future__ import annotations

import graphsurgeon as gs
from graphsurgeon.screen.shown import plan_shown
from tests.graphs import model


def test_shared_variables_are_in_the_plan_bar():
    ed = gs.open(model("resource", None).graph)
    rules = {"net/w": "share", "net/b": "initial"}
    plan = ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep", variables=rules)
    told = [(v["name"], v["was"], v["policy"], v["values"]) for v in plan_shown(plan, 0, (), "")["variables"]]
    assert told == [
        ("net/w", "net/w", "share", "the original's"),
        ("t/net/b", "net/b", "initial", "initial value"),
    ]
