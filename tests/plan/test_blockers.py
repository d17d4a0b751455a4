"""What prevents the removal of ops, each kind by its words."""

from __future__ import annotations

from types import SimpleNamespace

from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.graph.variables import CollectionEntry, GraphState
from graphsurgeon.plan.removal import find_removal_blockers
from tests.plain import net, plain
from tests.refusal import refuses


def test_what_prevents_removal():
    g = net()
    held = find_removal_blockers(g, "net/mm")
    assert held.data == (("net/mm:0", "net/drop", 0), ("net/mm:0", "parts", 0))
    assert held.collections == (("net/mm", "mine"),)
    assert held.counts["control"] == 0
    assert str(held).splitlines() == [
        "the removal of 'net/mm' is prevented by",
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
    assert find_removal_blockers(g, "side").control == (("side", "out"),)


def test_parts_of_a_variable_are_held_by_it_until_it_goes_too():
    g = net()
    assert find_removal_blockers(g, "net/w/Assign").variables == (("net/w/Assign", "net/w"),)
    assert find_removal_blockers(g, "net/w/read").variables == (("net/w/read", "net/w"),)
    whole = find_removal_blockers(g, select(g, name=["net/w", "net/w/*"]))
    assert whole.variables == ()
    assert whole.collections == (("net/w", "variables"), ("net/w", "trainable_variables"))


def test_nothing_prevents_the_removal_of_the_end():
    g = net()
    assert not find_removal_blockers(g, "parts")
    assert str(find_removal_blockers(g, select(g, name="parts"))) == "nothing prevents the removal of 'parts'"


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
    state = GraphState(
        collections={
            "saved": (CollectionEntry("structure", "Saver", ("fill", "near")), CollectionEntry("other", "fill"))
        },
        contexts=(frozenset({"in", "loop"}),),
        init_ops={"table": ("fill",)},
    )
    g = Graph.from_nodes(nodes, state_of=lambda: state)
    assert find_removal_blockers(g, "fill").init_ops == (("fill", "table"),)
    assert find_removal_blockers(g, "fill").collections == (("fill", "saved"),)
    assert find_removal_blockers(g, "table").colocated == (("table", "near"),)
    assert find_removal_blockers(g, "loop").contexts == (("loop", "in"),)
    assert find_removal_blockers(g, ["in", "loop"]).contexts == ()
    text = str(find_removal_blockers(g, ["fill", "loop"]))
    assert "loop is a part of the same loop or cond as in, which stays" in text
    assert "fill fills table, which stays" in text
    assert "near is colocated with table" in str(find_removal_blockers(g, "table"))


def test_blocks_refuses_nothing_and_strangers():
    g = net()
    with refuses(SelectionError, "blocks(selection)", "the selection is empty", "at least one op"):
        find_removal_blockers(g, select(g, op="Relu") - select(g, op="Relu"))
    with refuses(SelectionError, "of another graph, other", "Select from net"):
        find_removal_blockers(g, select(plain(("x", "Const", []), title="other")))
    with refuses(SelectionError, "blocks('y')", "no op is called 'y'"):
        find_removal_blockers(g, "y")


def test_long_lists_are_cut_short_and_counted():
    g = Graph.from_ops([("a", "Const", []), *((f"b{i}", "Neg", ["a"]) for i in range(9))])
    assert str(find_removal_blockers(g, "a")).splitlines()[-1] == "  … and 3 more of that kind"


def test_signatures_hold_what_they_take_and_give():
    g = net()
    held = find_removal_blockers(g, "parts", {"parts:0": "the output 'scores'", "gone:0": "an input"})
    assert str(held).splitlines()[1:] == ["  parts:0 is the output 'scores' of a signature"]
    assert held.counts["signatures"] == 1
