"""Trust: what came from a file is known as that, in all that is made from it, until somebody trusts it."""

from __future__ import annotations

from types import SimpleNamespace

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.security import GraphOrigin, add_origins, clear_origins, inherit_origins, may_reach_out, origins

WRITES = Graph.from_ops([("x", "Const", []), ("w", "WriteFile", ["x", "x"]), ("y", "Identity", ["x"])])


def test_only_what_can_reach_out_has_an_origin():
    assert may_reach_out(WRITES)
    assert not may_reach_out(Graph.from_ops([("x", "Const", []), ("y", "Identity", ["x"])]))
    assert may_reach_out(WRITES, [0, 1])
    assert not may_reach_out(WRITES, [0, 2])


def test_origins_go_where_the_ops_go():
    first, second, third = SimpleNamespace(), SimpleNamespace(), SimpleNamespace()
    one, two = GraphOrigin(WRITES), GraphOrigin(WRITES)
    add_origins(first, [one])
    add_origins(second, [two])
    inherit_origins(third, first, second, first)
    assert origins(third) == (one, two)
    assert origins(first) == (one,)
    inherit_origins(first, third)
    assert origins(first) == (one, two)
    clear_origins(first)
    assert origins(first) == ()
    inherit_origins(second, SimpleNamespace())
    assert origins(second) == (two,)


def test_trust_is_of_bytes():
    one, same, other = GraphOrigin(WRITES), GraphOrigin(WRITES), GraphOrigin(WRITES)
    one.key = same.key = b"bytes of test_trust_is_of_bytes"
    assert [each.trusted for each in (one, same, other)] == [False] * 3
    one.trust()
    assert [each.trusted for each in (one, same, other)] == [True, True, False]


def test_what_an_origin_never_had_is_none_of_its_risks():
    mixed = Graph.from_ops([("w", "WriteFile", []), ("p", "PyFunc", [])])
    assert [one.op for one in GraphOrigin(WRITES).risks_in(mixed)] == ["w"]
    assert not GraphOrigin(WRITES).risks_in(Graph.from_ops([("p", "PyFunc", [])]))
    assert [one.op for one in GraphOrigin(WRITES).risks] == ["w"]
