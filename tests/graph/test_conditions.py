"""What a graph becomes where a condition is known, from its edges alone."""

from __future__ import annotations

from graphsurgeon.graph.conditions import fix_predicate, implied_predicates
from graphsurgeon.graph.graph import Graph

COND = [
    ("x", "Placeholder", []), ("p", "Placeholder", []), ("id", "Identity", ["p"]), ("s", "Switch", ["x", "id"]),
    ("off", "Neg", ["s:0"]), ("on", "Exp", ["s:1"]), ("late", "NoOp", ["^off"]), ("m", "Merge", ["off", "on"]),
    ("y", "Abs", ["m"]),
]  # fmt: skip


def names(graph, mask):
    return [graph.names[i] for i in mask.nonzero()[0].tolist()]


def test_one_side_can_never_run_nor_what_waits_for_it():
    graph = Graph.from_ops(COND)
    found = fix_predicate(graph, (1, 0), True)
    assert names(graph, found.dead) == ["off", "late"]
    assert found.substitutes == {(3, 1): (0, 0), (7, 0): (5, 0)}
    assert found.switches == [3]
    other = fix_predicate(graph, (1, 0), False)
    assert names(graph, other.dead) == ["on"]
    assert other.substitutes == {(3, 0): (0, 0), (7, 0): (4, 0)}


def test_a_loop_on_the_dead_side_goes_whole():
    loop = [
        ("in", "Enter", ["s:0"]), ("turn", "Merge", ["in", "next"]), ("c", "LoopCond", ["turn"]),
        ("w", "Switch", ["turn", "c"]), ("next", "NextIteration", ["w:1"]), ("out", "Exit", ["w:0"]),
    ]  # fmt: skip
    graph = Graph.from_ops([*COND[:4], *loop, ("m", "Merge", ["out", "s:1"])])
    assert names(graph, fix_predicate(graph, (1, 0), True).dead) == ["in", "turn", "c", "w", "next", "out"]
    assert not fix_predicate(graph, (1, 0), False).dead.any()


def test_what_is_asked_is_followed_through_copies():
    graph = Graph.from_ops(
        [*COND, ("not", "LogicalNot", ["id"]), ("t", "Switch", ["y", "not"]), ("and", "And", ["p", "p"])]
    )
    known = implied_predicates(graph, (1, 0), True)
    assert {graph.names[op]: value for (op, _), value in known.items()} == {"p": True, "id": True, "not": False}
    assert fix_predicate(graph, (1, 0), True).switches == [3, 10]
    assert fix_predicate(graph, (0, 0), True).switches == []
