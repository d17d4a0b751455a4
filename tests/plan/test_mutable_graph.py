"""A mutable graph answers queries as its snapshot does, after any changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsurgeon.graph.edges import Edges
from graphsurgeon.graph.graph import Graph, TensorInfo
from graphsurgeon.graph.rewiring import OutputTable
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.mutable_graph import MutableGraph
from graphsurgeon.plan.plan import Plan

STEP = st.tuples(
    st.sampled_from(["input", "wait", "add", "rename", "restore", "drop", "freeze"]), *[st.integers(0, 99)] * 3
)


def begin() -> Graph:
    ops = [("a", "Const", []), ("b", "Const", []), ("s/c", "Add", ["a", "b"]), ("s/d", "Neg", ["s/c", "^a"]),
           ("S/e", "Add", ["s/d", "s/d", "^a", "^b"])]  # fmt: skip
    return Graph.from_ops(ops, outputs_of=lambda i: [TensorInfo("float32", (i,))] * 2)


@given(st.lists(STEP, max_size=20))
def test_queries_agree_with_the_snapshot(steps):
    mutable, made = MutableGraph(begin()), 0
    for at, (kind, a, b, c) in enumerate(steps):
        op, other = a % mutable.size, b % mutable.size
        if kind == "input" and mutable.inputs(op):
            mutable.set_input(op, c % len(mutable.inputs(op)), (other, c % 2))
        elif kind == "wait":
            mutable.set_control_inputs(op, sorted({other, c % mutable.size} - {op}))
        elif kind == "add":
            made += 1
            data = Edges(np.array([0, 2], np.int32), np.array([op, other], np.int32), np.array([0, c % 2], np.int32))
            control = Edges(np.array([0, 1], np.int32), np.array([op], np.int32), np.zeros(1, np.int32))
            mutable.add([f"n{made}/x"], ["Add"], [None], data, control, lambda _, n=made: [TensorInfo("int32", (n,))])
        elif kind == "rename":
            mutable.rename({op: mutable.names[other], other: mutable.names[op]} if c % 2 else {op: f"r{at}/{a}"})
        elif kind == "restore" and op < begin().size and op not in mutable.dropped:
            mutable.restore(op)
        elif kind == "drop" and op >= begin().size and not mutable.data_consumers(op):
            mutable.drop([op])
        else:
            mutable.snapshot()
        same(mutable)


def same(mutable: MutableGraph) -> None:
    graph = mutable.snapshot()
    assert (list(mutable.names), list(mutable.types), mutable.size) == (
        list(graph.names),
        list(graph.types),
        graph.size,
    )
    assert graph.index == {name: i for i, name in enumerate(graph.names) if i not in mutable.dropped}
    for i, name in enumerate(graph.names):
        assert mutable.index.get(name) == (None if i in mutable.dropped else i)
        assert mutable.input_names(i) == graph.input_names(i)
        assert mutable.control_inputs(i) == graph.control.row(i).tolist()
        assert mutable.data_consumers(i) == sorted(set(graph.consumers.row(i).tolist()))
        assert mutable.control_consumers(i) == sorted(graph.control_consumers.row(i).tolist())
        assert mutable.outputs(i) == graph.outputs(i)
        assert [mutable.waits_for(i, j) for j in range(graph.size)] == graph.mask(graph.control.row(i)).tolist()
        ports = sorted(set(graph.consumers.ports(i).tolist()))
        assert mutable.consumers_by_output(i) == {port: graph.consumers_of((i, port)) for port in ports}
        for port in range(2):
            ends = [
                (op, at) for op in range(graph.size) for at, end in enumerate(graph.data.ends(op)) if end == (i, port)
            ]
            assert mutable.consumers_of((i, port)) == graph.consumers_of((i, port)) == ends
        assert (
            mutable.ops_in_scope(name.rpartition("/")[0] or "none")
            == np.flatnonzero(graph.scope_mask(name.rpartition("/")[0] or "none")).tolist()
        )
    for name in [*begin().lowercase_names, *graph.lowercase_names, "none"]:
        assert mutable.is_name_used(name.upper()) == graph.is_name_used(name)


def test_what_is_told_of_outputs_is_no_call_within_a_call_for_each_step():
    reported = OutputTable.from_graph(begin())
    for n in range(3000):
        reported = OutputTable.from_graph(Graph.from_ops([], outputs_of=reported)).with_ops(
            (5, lambda _, n=n: [TensorInfo("int32", (n,))])
        )
        reported = reported.subset(np.array([0, 1, 2, 3, 5]), 6)
    assert reported(4) == [TensorInfo("int32", (2999,))]
    assert reported(3) == begin().outputs(3)


MANY: dict[str, Any] = {
    "insert": lambda p, k: p.insert("Neg", on=f"op{k}:0", name=f"new{k}"),
    "connect": lambda p, k: p.connect("op0:0", to=f"op{k + 1}"),
    "reroute": lambda p, k: p.reroute(f"op{k}:0", to="op0:0", only=f"op{k + 1}"),
    "rename": lambda p, k: p.rename(f"op{k}", to=f"other{k}"),
    "set_attr": lambda p, k: p.set_attr(f"op{k}", "_mark", b"x"),
    "remove": lambda p, k: p.remove(f"op{k + 1}", stitch=True),
    "copy": lambda p, k: p.copy(select(p.base, name=f"op{k}"), to=f"copy{k}", unmapped="keep"),
    "control": lambda p, k: p.add_control(f"op{k + 1}", after="op0"),
    "detach": lambda p, k: p.detach(f"op{k + 1}", side="inputs"),
    "bypass": lambda p, k: p.bypass(f"op{k + 1}"),
}


def mixed(plan: Plan, k: int) -> Plan:
    kind = ("insert", "rename", "copy", "control", "set_attr")[k % 5]
    return MANY[kind](plan, k)


@pytest.fixture
def freezes(monkeypatch):
    """How often the whole graph was put together."""
    counts: list[int] = []
    whole = MutableGraph._freeze
    monkeypatch.setattr(MutableGraph, "_freeze", lambda self: (counts.append(self.size), whole(self))[1])
    return counts


@pytest.mark.parametrize("kind", [*MANY, "mixed"])
def test_of_many_steps_each_touches_only_its_own(kind, freezes):
    found = []
    for count in (20, 200):
        graph = Graph.from_ops([("op0", "Const", []), *((f"op{i}", "Neg", [f"op{i - 1}"]) for i in range(1, 402))])
        plan = Plan(graph)
        for k in range(count):
            plan = (mixed if kind == "mixed" else MANY[kind])(plan, k)
        freezes.clear()
        assert plan.check() == (), [str(f) for f in plan.check()[:3]]
        str(plan)
        assert plan.to_code()
        found.append(len(freezes))
    assert found[0] == found[1] <= 3


def test_a_plan_of_thousands_of_steps_is_no_recursion():
    graph = Graph.from_ops([("op0", "Const", []), *((f"op{i}", "Neg", [f"op{i - 1}"]) for i in range(1, 2500))])
    plan = Plan(graph)
    for k in range(2400):
        plan = plan.insert("Neg", on="op0:0" if k % 2 else f"op{k}:0", name=f"new{k}")
    assert plan.check() == ()
    assert plan.after().size == 4900
