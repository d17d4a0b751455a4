"""States of edges: which ones a plan adds, removes and joins, and what the drawn edge shows of them."""

from __future__ import annotations

import numpy as np

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.layout import place
from graphsurgeon.view.plan_marks import added_edges, lost_edges
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree
from tests.view.graphs import edges

BEFORE = [("x", "Placeholder", []), ("s/a", "Neg", ["x"]), ("s/b", "Neg", ["s/a"]), ("t/c", "Mul", ["s/a", "s/b"])]
AFTER = [*BEFORE[:3], ("t/c", "Mul", ["s/b", "x"]), ("n/d", "Neg", ["t/c"]), ("n/e", "Neg", ["n/d"])]


def both():
    """Returns the graph before and after, and which ops stay."""
    before, after = Graph.from_ops(BEFORE), Graph.from_ops(AFTER)
    stay = np.arange(before.size)
    return before, after, (stay, stay)


def states(graph, kinds, unfolded=()):
    """Returns the state and the label of each drawn edge by the names of its ends."""
    found = edges(build(Tree(graph), unfolded, kinds=kinds))
    return {ends: (edge.state, edge.label) for ends, edge in found.items() if edge.state}


def test_an_edge_at_an_op_that_stays_is_joined_and_one_between_new_ops_is_new():
    before, after, same = both()
    assert states(after, added_edges(after, before, same), {"s/", "t/", "n/"}) == {
        ("x", "t/c"): ("joined", ""),
        ("t/c", "n/d"): ("joined", ""),
        ("n/d", "n/e"): ("new", ""),
    }
    assert states(before, lost_edges(before, after, same), {"s/", "t/"}) == {("s/a", "t/c"): ("removed", "")}


def test_inputs_that_change_places_are_no_other_edges():
    before = Graph.from_ops([("x", "Placeholder", []), ("y", "Placeholder", []), ("z", "Sub", ["x", "y"])])
    after = Graph.from_ops([("x", "Placeholder", []), ("y", "Placeholder", []), ("z", "Sub", ["y", "x"])])
    assert not added_edges(after, before, (np.arange(3), np.arange(3))).data.any()


def test_what_a_plan_connects_is_joined_between_new_ops_too():
    before, after, same = both()
    kinds = added_edges(after, before, same, [("n/e", 0), ("n/e", 7), ("nowhere", 0), ("s/b", 0)])
    found = states(after, kinds, {"s/", "t/", "n/"})
    assert found["n/d", "n/e"] == ("joined", "")
    assert ("s/a", "s/b") not in found, "the plan changes nothing there"


def test_a_drawn_edge_of_which_a_part_changes_counts_it():
    ops = [("x", "Split", []), ("s/a", "Neg", ["x"]), ("s/b", "Neg", ["x:1"]), ("s/c", "Neg", [])]
    more = [*ops[:3], ("s/c", "Neg", ["x:2"])]
    before, after = Graph.from_ops(ops), Graph.from_ops(more)
    same = np.arange(4), np.arange(4)
    kinds = added_edges(after, before, same)
    assert states(after, kinds) == {("x", "s/"): ("changed", "+1")}
    assert states(after, kinds._replace(data=np.where(kinds.data, 2, 0))) == {("x", "s/"): ("changed", "−1")}


def test_the_counts_of_a_changed_edge_stay_where_there_is_no_room_for_a_label():
    ops = [("x", "Split", []), *((f"s/a{i}", "Neg", [f"x:{i}"]) for i in range(2))]
    before, after = Graph.from_ops([*ops, ("s/z", "Neg", [])]), Graph.from_ops([*ops, ("s/z", "Neg", ["x:5"])])
    same = np.arange(4), np.arange(4)
    placed = place(build(Tree(after), (), kinds=added_edges(after, before, same)), direction="LR")
    assert [edge.label for edge in placed.edges] == ["+1"]


def test_control_edges_have_states_too():
    ops = [("x", "Placeholder", []), ("y", "Neg", []), ("z", "Neg", ["x"])]
    before, after = Graph.from_ops(ops), Graph.from_ops([*ops[:2], ("z", "Neg", ["x", "^y"])])
    same = np.arange(3), np.arange(3)
    assert states(after, added_edges(after, before, same)) == {("y", "z"): ("joined", "")}
    assert states(after, lost_edges(after, before, same)) == {("y", "z"): ("removed", "")}


def test_ops_with_other_numbers_are_the_same_ops():
    before = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Neg", ["y"])])
    after = Graph.from_ops([("x", "Placeholder", []), ("z", "Neg", ["x"])])
    same = np.array([0, 2]), np.array([0, 1])
    assert states(after, added_edges(after, before, same)) == {("x", "z"): ("joined", "")}
    found = states(before, lost_edges(before, after, same))
    assert found == {("x", "y"): ("removed", ""), ("y", "z"): ("removed", "")}


def test_pictures_that_differ_in_their_edges_have_different_numbers():
    before, after, same = both()
    tree = Tree(after)
    assert build(tree).rev != build(tree, kinds=added_edges(after, before, same)).rev
