"""What must come along with a copy, and why."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.selection import select
from graphsurgeon.plan.dependencies import copy_closure, variable_parts
from tests.plain import net, plain, variable


def closed(g, s, cuts=(), policy=None, unmapped="refuse", control="refuse"):
    result = copy_closure(g, s.mask, frozenset(g.tensor(c) for c in cuts), policy or {}, unmapped, control)
    return [g.names[i] for i in result.mask.nonzero()[0]], result


@pytest.mark.parametrize("kind", ["VariableV2", "VarHandleOp"])
def test_a_variable_brings_its_parts(kind):
    ops, info = variable("v", kind)
    g = plain(*ops, ("y", "Neg", [ops[-1][0]]), ("save", "SaveV2", ["v"]), variables=[info])
    names, result = closed(g, select(g, outputs=["y:0"]))
    assert set(names) == {"v/start", "v", "v/Assign", ops[-1][0], "y"}
    assert [str(p) for p in result.dependencies] == ["2 ops: initial values and readers of 1 variable"]
    assert set(result.dependencies[0].names) == {"v/start", "v/Assign"}
    assert result.variables == [info]
    assert not result.shared.any()


def test_what_computes_an_initial_value_comes_too():
    ops, info = variable("v", deps=["seed"])
    g = plain(("seed", "Const", []), ("before", "Neg", ["seed"]), *ops, variables=[info])
    names, _ = closed(g, select(g, name=["v", "v/read"]))
    assert set(names) == {"seed", "v", "v/start", "v/Assign", "v/read"}


def test_an_initial_value_that_reads_another_variable():
    one, first = variable("a")
    two, second = variable("b", deps=["a/read"])
    g = plain(*one, *two, ("y", "Neg", ["b/read"]), variables=[first, second])
    names, result = closed(g, select(g, outputs=["y:0"]))
    assert set(names) == set(g.names)
    assert [v.op for v in result.variables] == ["a", "b"]


def test_readers_under_its_name_only():
    ops, info = variable("v")
    g = plain(*ops, ("elsewhere", "Identity", ["v"]), ("v/again", "Identity", ["v"]), ("v/neg", "Neg", ["v"]),
              variables=[info])  # fmt: skip
    parts = {g.names[i] for i in variable_parts(g, info).nonzero()[0]}
    assert parts == {"v/start", "v", "v/Assign", "v/read", "v/again"}


def test_shared_variables_stay_where_they_are():
    g = net()
    names, result = closed(g, select(g, scope="net"), policy={"net/w": "share"})
    assert set(names) == {"net/mm", "net/drop"}
    assert {g.names[i] for i in result.shared.nonzero()[0]} == {"net/w", "net/w/start", "net/w/Assign", "net/w/read"}
    assert result.dependencies == []


def test_a_replaced_initial_value_is_not_pulled_in():
    ops, info = variable("v", deps=["seed"])
    g = plain(("seed", "Const", []), *ops, variables=[info])
    names, _ = closed(g, select(g, name=["v", "v/read"]), cuts=["v/start:0"])
    assert set(names) == {"v", "v/Assign", "v/read"}


def test_include_takes_what_computes_the_inputs():
    g = net()
    names, result = closed(g, select(g, name="out"), unmapped="include")
    assert set(names) >= {"x", "rate", "net/mm", "net/drop", "out"}
    assert "side" not in names
    assert "needed by the selection, because of 'include'" in str(result.dependencies[0])
    names, _ = closed(g, select(g, name="out"), cuts=["net/drop:0"], unmapped="include")
    assert names == ["out"]


def test_include_takes_control_inputs_and_what_they_need():
    g = net()
    names, _ = closed(g, select(g, name="out"), control="include")
    assert set(names) == {"rate", "side", "out"}
    names, _ = closed(g, select(g, name="out"), unmapped="include", control="include")
    assert "side" in names
    assert "net/w/start" in names


def test_the_mask_given_stays_as_it_is():
    g = net()
    s = select(g, scope="net", op="Identity")
    before = s.mask.copy()
    copy_closure(g, s.mask, frozenset(), {}, "include", "include")
    assert (s.mask == before).all()
