"""Explain: why an op is in a selection, and why it is not."""

from __future__ import annotations

import pytest

from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.explain import explain
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.removal import find_removal_blockers
from tests.cost import growth
from tests.plain import chain, net, plain
from tests.refusal import refuses


def test_the_shortest_path_leads_to_the_nearest_target():
    g = net()
    path = explain(g, "x", select(g, name=["out", "parts"]).ancestors())
    assert path.names == ["x", "net/mm", "parts"]
    assert [(link.tensor, link.input) for link in path.steps] == [("x:0", 0), ("net/mm:0", 0)]
    assert str(path).splitlines() == [
        "'x' is in the selection because 'parts' needs it",
        "  net/mm  input 0 reads x:0",
        "  parts  input 0 reads net/mm:0",
    ]


def test_a_control_edge_on_the_path_is_marked():
    g = net()
    path = explain(g, "side", "out")
    assert (path.control, path.end, len(path)) == (1, "out", 1)
    assert path.steps[0].control
    assert str(path).splitlines()[0].endswith("through 1 control edge")
    assert "out  waits for side (control)" in str(path)


def test_a_data_edge_is_named_before_a_control_edge_between_the_same_ops():
    g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a", "^a"])])
    assert explain(g, "a", "b").control == 0


def test_of_descendants_the_path_leads_up_to_where_the_walk_began():
    g = net()
    path = explain(g, "out", select(g, name="rate").descendants())
    assert (path.names[0], path.end) == ("out", "rate")
    assert len(path.names) == 3
    assert path.reason.startswith("'out' is in the selection because it needs 'rate'")


def test_a_target_is_its_own_reason():
    g = net()
    assert str(explain(g, "out", "out")) == "'out' is in the selection because it is one of the targets"
    block = select(g, inputs=["x:0"], outputs=["net/mm:0"])
    assert str(explain(g, "net/mm", block)).endswith("because it computes one of the boundary's outputs")
    assert str(explain(g, "out", select(g, op="Relu"))).endswith("because it was selected itself")
    assert str(explain(g, "out", ~select(g, op="Neg" if "Neg" in g.types else "Mul"))).endswith("selected itself")


def test_in_a_boundary_the_path_does_not_cross_an_input():
    g = Graph.from_ops(
        [("x", "Placeholder", []), ("w", "Const", []), ("a", "Add", ["x", "w"]), ("b", "Add", ["a", "c"]),
         ("c", "Neg", ["w"])]
    )  # fmt: skip
    block = select(g, inputs=["a:0"], outputs=["b:0"])
    assert explain(g, "w", block).names == ["w", "c", "b"]


def test_the_tensor_named_is_not_one_that_is_cut():
    g = Graph.from_ops([("x", "Split", []), ("y", "Add", ["x:0", "x:1"])])
    path = explain(g, "x", select(g, inputs=["x:0"], outputs=["y:0"]))
    assert [(link.tensor, link.input) for link in path.steps] == [("x:1", 1)]


def test_of_two_paths_as_short_the_one_without_control_edges_is_told():
    g = Graph.from_ops(
        [("a", "Const", []), ("b", "NoOp", ["^a"]), ("c", "Neg", ["a"]), ("e", "NoOp", ["^a"]),
         ("d", "Exp", ["c", "^b", "^e"])]
    )  # fmt: skip
    assert explain(g, "a", "d").names == ["a", "c", "d"]


def test_set_algebra_is_followed_to_the_walk():
    g = net()
    walk = select(g, name="out").ancestors()
    assert explain(g, "x", walk & select(g, op=["Placeholder", "MatMul"])).end == "out"
    assert explain(g, "x", select(g, op=["Placeholder"]) & walk).end == "out"
    assert explain(g, "x", walk - select(g, op="NoOp")).end == "out"
    assert explain(g, "x", walk | select(g, name="parts").ancestors()).end == "parts"
    assert len(explain(g, "x", walk | select(g, name="x"))) == 0


def test_why_refuses_what_is_not_there():
    g = net()
    with refuses(SelectionError, "explain('net/mn')", "no op is called 'net/mn'", "'net/mm'"):
        explain(g, "net/mn", "out")
    with refuses(SelectionError, "explain('x')", "of another graph, other", "Select from net"):
        explain(g, "x", select(plain(("x", "Const", []), title="other")))


def test_cut_at_a_boundary_input():
    g = net()
    block = select(g, inputs=["net/mm:0"], outputs=["net/drop:0"])
    found = explain(g, "x", block)
    assert (found.reason, found.tensors) == ("cut", ("net/mm:0",))
    assert [link.target for link in found.steps] == ["net/mm", "net/drop"]
    assert "only through 'net/mm:0', which is a boundary input" in str(found)
    two = select(g, inputs=["net/mm:0", "rate:0"], outputs=["net/drop:0"])
    assert explain(g, "rate", two).tensors == ("rate:0",)


def test_several_boundary_inputs_are_all_named():
    g = Graph.from_ops([("x", "Const", []), ("a", "Neg", ["x"]), ("b", "Exp", ["x"]), ("c", "Add", ["a", "b"])])
    found = explain(g, "x", select(g, inputs=["a:0", "b:0"], outputs=["c:0"]))
    assert found.tensors == ("a:0", "b:0")
    assert "'a:0', 'b:0', which are boundary inputs" in found.text


def test_what_hangs_on_a_feed_of_its_own_is_a_leak():
    g = net()
    found = explain(g, "rate", select(g, inputs=["net/mm:0"], outputs=["net/drop:0"]))
    assert found.reason == "feed"
    assert "depends on 'rate', which is not a boundary input" in str(found)
    assert found.steps[-1].target == "net/drop"


def test_only_control_edges():
    g = net()
    found = explain(g, "side", select(g, name="out").ancestors(control=False))
    assert found.reason == "control"
    assert "only control edges lead to it (1 on the shortest path)" in str(found)


def test_below_above_and_apart():
    g = net()
    assert explain(g, "parts", "net/mm").reason == "below"
    assert "it is computed from 'net/mm'" in explain(g, "parts", "net/mm").text
    above = explain(g, "x", select(g, name="net/mm").descendants())
    assert (above.reason, above.steps[0].tensor) == ("above", "x:0")
    assert "'net/mm' is computed from it" in above.text
    apart = explain(g, "parts", "rate")
    assert (apart.reason, apart.steps) == ("apart", ())
    assert "no path of data or control edges connects it with 'rate'" in str(apart)


@pytest.mark.deep
def test_a_hundred_thousand_ops_in_a_row():
    g = chain(100_000)
    path = explain(g, "op0", "op100000")
    assert len(path) == 100_000
    assert len(str(path).splitlines()) == 14
    assert explain(g, "op100000", "op5").reason == "below"
    assert len(find_removal_blockers(g, "op7").data) == 1


def test_ten_times_the_row_costs_ten_times_as_much():
    def asked(size):
        g = chain(size)
        return lambda: (explain(g, "op0", f"op{size}"), explain(g, f"op{size}", "op5"), find_removal_blockers(g, "op7"))

    assert growth(asked, 1000, 10_000) < 12
