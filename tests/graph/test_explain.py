"""Explain: why an op is in a selection, why it is not, and what prevents its removal."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.causes import evaluated
from graphsurgeon.graph.explain import explain
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.graph.variables import Entry, State
from graphsurgeon.plan.blocking import blocks
from tests.cost import growth
from tests.plain import chain, net, plain
from tests.refusal import refuses


def test_the_shortest_path_leads_to_the_nearest_target():
    g = net()
    path = explain(g, "x", select(g, name=["out", "parts"]).ancestors())
    assert path.names == ["x", "net/mm", "parts"]
    assert [(link.tensor, link.input) for link in path.links] == [("x:0", 0), ("net/mm:0", 0)]
    assert str(path).splitlines() == [
        "'x' is in the selection because 'parts' needs it",
        "  net/mm  input 0 reads x:0",
        "  parts  input 0 reads net/mm:0",
    ]


def test_a_control_edge_on_the_path_is_marked():
    g = net()
    path = explain(g, "side", "out")
    assert (path.control, path.end, len(path)) == (1, "out", 1)
    assert path.links[0].control
    assert str(path).splitlines()[0].endswith("through 1 control edge")
    assert "out  waits for side (control)" in str(path)


def test_a_data_edge_is_named_before_a_control_edge_between_the_same_ops():
    g = Graph.of([("a", "Const", []), ("b", "Neg", ["a", "^a"])])
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
    g = Graph.of(
        [("x", "Placeholder", []), ("w", "Const", []), ("a", "Add", ["x", "w"]), ("b", "Add", ["a", "c"]),
         ("c", "Neg", ["w"])]
    )  # fmt: skip
    block = select(g, inputs=["a:0"], outputs=["b:0"])
    assert explain(g, "w", block).names == ["w", "c", "b"]


def test_the_tensor_named_is_not_one_that_is_cut():
    g = Graph.of([("x", "Split", []), ("y", "Add", ["x:0", "x:1"])])
    path = explain(g, "x", select(g, inputs=["x:0"], outputs=["y:0"]))
    assert [(link.tensor, link.input) for link in path.links] == [("x:1", 1)]


def test_of_two_paths_as_short_the_one_without_control_edges_is_told():
    g = Graph.of(
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
    assert [link.target for link in found.links] == ["net/mm", "net/drop"]
    assert "only through 'net/mm:0', which is a boundary input" in str(found)
    two = select(g, inputs=["net/mm:0", "rate:0"], outputs=["net/drop:0"])
    assert explain(g, "rate", two).tensors == ("rate:0",)


def test_several_boundary_inputs_are_all_named():
    g = Graph.of([("x", "Const", []), ("a", "Neg", ["x"]), ("b", "Exp", ["x"]), ("c", "Add", ["a", "b"])])
    found = explain(g, "x", select(g, inputs=["a:0", "b:0"], outputs=["c:0"]))
    assert found.tensors == ("a:0", "b:0")
    assert "'a:0', 'b:0', which are boundary inputs" in found.text


def test_what_hangs_on_a_feed_of_its_own_is_a_leak():
    g = net()
    found = explain(g, "rate", select(g, inputs=["net/mm:0"], outputs=["net/drop:0"]))
    assert found.reason == "feed"
    assert "hangs on 'rate', which is not a boundary input" in str(found)
    assert found.links[-1].target == "net/drop"


def test_only_control_edges():
    g = net()
    found = explain(g, "side", select(g, name="out").ancestors(control=False))
    assert found.reason == "control"
    assert "only control edges lead there (1 on the shortest path)" in str(found)


def test_below_above_and_apart():
    g = net()
    assert explain(g, "parts", "net/mm").reason == "below"
    assert "it is computed from 'net/mm'" in explain(g, "parts", "net/mm").text
    above = explain(g, "x", select(g, name="net/mm").descendants())
    assert (above.reason, above.links[0].tensor) == ("above", "x:0")
    assert "'net/mm' is computed from it" in above.text
    apart = explain(g, "parts", "rate")
    assert (apart.reason, apart.links) == ("apart", ())
    assert "no path, of data or control, joins it with 'rate'" in str(apart)


@pytest.mark.parametrize(
    ("query", "reason", "words"),
    [
        (lambda g: select(g, op="MatMul"), "unlisted", "of type Relu, and MatMul was asked for"),
        (lambda g: select(g, op=["MatMul", "Mul"]), "unlisted", "MatMul or Mul was asked for"),
        (lambda g: select(g, scope="net"), "unlisted", "not in the scope 'net'"),
        (lambda g: select(g, name="net/*"), "unlisted", "does not fit 'net/*'"),
        (lambda g: select(g).where(lambda op: op.type == "Mul"), "unlisted", "not among the ops listed"),
        (lambda g: select(g) - select(g, op="Relu"), "removed", "in the part that - takes out"),
        (lambda g: ~select(g, op="Relu"), "removed", "in the part that ~ takes out"),
        (lambda g: select(g, op="MatMul") - select(g, op="Mul"), "unlisted", "MatMul was asked for"),
        (lambda g: select(g, name="net/mm").ancestors() & select(g), "below", "lies below"),
        (lambda g: select(g, op="Mul") | select(g, name="net/mm").ancestors(), "below", "lies below"),
        (lambda g: select(g, op="Mul") | select(g, op="MatMul"), "unlisted", "Mul was asked for"),
    ],
)
def test_what_keeps_an_op_out_of_a_query(query, reason, words):
    g = net()
    found = explain(g, "out", query(g))
    assert found.reason == reason
    assert words in str(found)


def test_a_query_is_evaluated_as_it_was_made():
    g = net()
    walk = select(g, name="out").ancestors(control=False)
    made = (walk | select(g, op="Unpack")) - ~select(g, scope="net").descendants()
    assert np.array_equal(evaluated(g, made.query)[id(made.query)], made.mask)


def test_what_prevents_removal():
    g = net()
    held = blocks(g, "net/mm")
    assert held.data == (("net/mm:0", "net/drop", 0), ("net/mm:0", "parts", 0))
    assert held.collections == (("net/mm", "mine"),)
    assert held.counts["control"] == 0
    assert str(held).splitlines() == [
        "what prevents the removal of 'net/mm'",
        "  net/mm:0 is read by net/drop, input 0",
        "  net/mm:0 is read by parts, input 0",
        "  net/mm is in the collection 'mine'",
    ]
    assert held.table()[0] == {
        "kind": "data",
        "op": "net/mm:0",
        "by": "net/drop",
        "what": "net/mm:0 is read by net/drop, input 0",
    }
    assert blocks(g, "side").control == (("side", "out"),)


def test_parts_of_a_variable_are_held_by_it_until_it_goes_too():
    g = net()
    assert blocks(g, "net/w/Assign").variables == (("net/w/Assign", "net/w"),)
    assert blocks(g, "net/w/read").variables == (("net/w/read", "net/w"),)
    whole = blocks(g, select(g, name=["net/w", "net/w/*"]))
    assert whole.variables == ()
    assert whole.collections == (("net/w", "variables"), ("net/w", "trainable_variables"))


def test_nothing_prevents_the_removal_of_the_end():
    g = net()
    assert not blocks(g, "parts")
    assert str(blocks(g, select(g, name="parts"))) == "nothing prevents the removal of 'parts'"


def test_loops_tables_structures_and_placement():
    placed = SimpleNamespace(list=SimpleNamespace(s=[b"loc:@table"]))
    nodes = [
        SimpleNamespace(name=name, op=kind, input=inputs, attr=attr)
        for name, kind, inputs, attr in [
            ("table", "HashTableV2", [], {}),
            ("fill", "Fill", ["table"], {}),
            ("near", "NoOp", [], {"_class": placed}),
            ("in", "Enter", [], {}),
            ("loop", "LoopCond", ["in"], {}),
        ]
    ]
    state = State(
        collections={"saved": (Entry("structure", "Saver", ("fill", "near")), Entry("other", "fill"))},
        contexts=(frozenset({"in", "loop"}),),
        init_ops={"table": ("fill",)},
    )
    g = Graph.read(nodes, state_of=lambda: state)
    assert blocks(g, "fill").init_ops == (("fill", "table"),)
    assert blocks(g, "fill").collections == (("fill", "saved"),)
    assert blocks(g, "table").colocated == (("table", "near"),)
    assert blocks(g, "loop").contexts == (("loop", "in"),)
    assert blocks(g, ["in", "loop"]).contexts == ()
    text = str(blocks(g, ["fill", "loop"]))
    assert "loop is a part of a loop or cond, of which in stays" in text
    assert "fill fills table, which stays" in text
    assert "near is to be placed with table" in str(blocks(g, "table"))


def test_blocks_refuses_nothing_and_strangers():
    g = net()
    with refuses(SelectionError, "blocks(selection)", "the selection is empty", "at least one op"):
        blocks(g, select(g, op="Relu") - select(g, op="Relu"))
    with refuses(SelectionError, "of another graph, other", "Select from net"):
        blocks(g, select(plain(("x", "Const", []), title="other")))
    with refuses(SelectionError, "blocks('y')", "no op is called 'y'"):
        blocks(g, "y")


def test_long_lists_are_cut_short_and_counted():
    g = Graph.of([("a", "Const", []), *((f"b{i}", "Neg", ["a"]) for i in range(9))])
    assert str(blocks(g, "a")).splitlines()[-1] == "  … and 3 more of that kind"


def test_a_hundred_thousand_ops_in_a_row():
    g = chain(100_000)
    path = explain(g, "op0", "op100000")
    assert len(path) == 100_000
    assert len(str(path).splitlines()) == 14
    assert explain(g, "op100000", "op5").reason == "below"
    assert len(blocks(g, "op7").data) == 1


def test_ten_times_the_row_costs_ten_times_as_much():
    def asked(size):
        g = chain(size)
        return lambda: (explain(g, "op0", f"op{size}"), explain(g, f"op{size}", "op5"), blocks(g, "op7"))

    assert growth(asked, 1000, 10_000) < 12
