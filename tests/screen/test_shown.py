"""What the page shows of a plan."""

from __future__ import annotations

import pytest

import graphsurgeon as gs
from graphsurgeon.graph.graph import Graph
from graphsurgeon.ui.page_data import plan_data, scope_hits
from tests.graphs import model


def test_shared_variables_are_in_the_plan_bar():
    ed = gs.open(model("resource", None).graph)
    rules = {"net/w": "share", "net/b": "initial"}
    plan = ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep", variables=rules)
    reported = [
        (v["name"], v["original"], v["policy"], v["values"]) for v in plan_data(plan, "", ed.snapshot)["variables"]
    ]
    assert reported == [
        ("net/w", "net/w", "share", "those of the original"),
        ("t/net/b", "net/b", "initial", "initial value"),
    ]


def test_scopes_are_found_by_name_but_not_the_place_of_an_op_s_helpers():
    ops = [("y/axis", "Const", []), ("y", "Sum", ["y/axis"]), ("net/y/a", "Neg", ["y"]), ("net/y/b", "Neg", ["y"])]
    graph = Graph.from_ops(ops)
    assert [(hit["name"], hit["op"]) for hit in scope_hits(graph, "Y", graph.mask([]))] == [("net/y/", "2 ops")]
    assert scope_hits(graph, " ", graph.mask([])) == []


@pytest.mark.parametrize(
    ("hidden", "found"), [([0], ["net/dense_1/"]), ([1], ["dense/"]), ([0, 1], ["dense/", "net/dense_1/"])]
)
def test_hidden_scopes_are_found_only_if_there_are_no_others(hidden, found):
    graph = Graph.from_ops([("dense/kernel", "VarHandleOp", []), ("net/dense_1/MatMul", "MatMul", [])])
    assert [hit["name"] for hit in scope_hits(graph, "dense", graph.mask(hidden))] == found


def test_variables_have_sizes_and_the_names_that_a_later_step_gives_them():
    ed = gs.open(model("resource", None).graph)
    plan = ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep", variables="initial")
    plan = plan.rename("t/net/w", to="t/net/mine")
    reported = [
        (v["original"], v["name"], v["size"], v["values"]) for v in plan_data(plan, "", ed.snapshot)["variables"]
    ]
    assert reported == [
        ("net/w", "t/net/mine", "24 bytes", "initial value"),
        ("net/b", "t/net/b", "12 bytes", "initial value"),
    ]
